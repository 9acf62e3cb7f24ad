"""One way to open a sound: to its end, whatever its header says; differences are named."""

import shutil
import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import soundfile

from listening.audio import AudioError, probed
from listening.audio.store import write_plain_flac
from listening.common import sound_files
from listening.common.sound_files import EXTENSIONS, LengthReport, open_sound
from metrics.core import decoding as metrics_audio

DATA = Path(__file__).resolve().parents[1] / "data" / "sound_files"
RATE = 8_000
STREAMED = "The header states no length"
JOINED = "The file holds 2 sounds joined to one"
VARIES = "The bit rate varies and no header states the length"
WRITTEN = [  # by other programs: seconds of sound, and how the note about the length begins
    ("pipe_ffmpeg.wav", 0.5, STREAMED),
    ("pipe_ffmpeg.w64", 0.5, STREAMED),
    ("float_ffmpeg.w64", 0.5, ""),
    ("pipe_float_ffmpeg.w64", 0.5, STREAMED),
    ("pipe_sox.aiff", 0.5, STREAMED),
    ("pipe_ffmpeg.au", 0.5, STREAMED),
    ("pipe_ffmpeg.aiff", 0.5, STREAMED),
    ("pipe_ffmpeg.caf", 0.5, STREAMED),
    ("alac.caf", 0.5, ""),
    ("sphere.sph", 0.5, ""),
    ("joined.wav", 1.0, f"{JOINED} (0.50 + 0.50 s). All 1.00 s are used"),
    ("joined.flac", 1.0, JOINED),
    ("joined.mp3", 2.0, JOINED),
    ("chained.ogg", 2.0, JOINED),
    ("chained.opus", 2.0, JOINED),
    ("pipe.flac", 0.5, ""),
    ("flac.oga", 0.5, ""),
    ("vbr_without_xing.mp3", 1.08, VARIES),
    ("free_rate.mp3", 1.08, ""),
    ("edited.m4a", 0.532, ""),
    ("fragments.mp4", 1.064, ""),
    ("pipe.webm", 1.0043, ""),
]


def test_every_format_that_is_read_is_found_in_folders_by_its_ending() -> None:
    assert {name.rpartition(".")[2] for name, *_ in WRITTEN} | {"spx"} <= set(EXTENSIONS)


def read(path: Path) -> tuple[np.ndarray, LengthReport]:
    with open_sound(path) as sound:
        blocks = list(sound.blocks(1_000, "float32"))
        samples = np.concatenate([np.zeros((0, sound.channels), np.float32), *blocks])
        return samples, sound.length_report()


@pytest.fixture(scope="module")
def pcm() -> np.ndarray:
    return np.random.default_rng(5).integers(-9_000, 9_000, 4_000, np.int16)


@pytest.mark.parametrize(("name", "seconds", "note"), WRITTEN)
def test_what_other_programs_write_is_read_to_its_end(
    tmp_path: Path, name: str, seconds: float, note: str
) -> None:
    facts = probed(DATA / name)
    assert facts.duration_s == pytest.approx(seconds, abs=0.001)
    assert facts.length_note.startswith(note)
    assert bool(facts.length_note) == bool(note)
    write_plain_flac(DATA / name, tmp_path / "served.flac")
    assert soundfile.info(tmp_path / "served.flac").duration == pytest.approx(facts.duration_s)
    measured = metrics_audio.decode(DATA / name, (16_000,))
    assert measured.facts.duration_s == facts.duration_s
    assert measured.facts.length_note == facts.length_note
    assert len(measured.waves[16_000]) == pytest.approx(16_000 * facts.duration_s, abs=2)
    assert metrics_audio.duration_s(DATA / name) == pytest.approx(facts.duration_s, abs=0.01)


def test_joined_parts_are_the_same_samples_twice() -> None:
    for name in ("joined.wav", "joined.flac", "joined.mp3"):
        samples, report = read(DATA / name)
        half = len(samples) // 2
        assert np.array_equal(samples[:half], samples[half:])
        assert report.stated_s == pytest.approx(len(samples) / (16_000 if "mp3" in name else RATE))


def test_flac_of_unknown_length_holds_the_samples_of_the_whole_one() -> None:
    assert np.array_equal(read(DATA / "pipe.flac")[0], read(DATA / "joined.flac")[0][:4_000])
    assert np.array_equal(read(DATA / "flac.oga")[0], read(DATA / "pipe.flac")[0])


def test_w64_of_floats_is_no_noise() -> None:
    """libsndfile takes these floats for whole numbers of 32 bit."""
    plain = read(DATA / "pipe_ffmpeg.wav")[0]
    for name in ("float_ffmpeg.w64", "pipe_float_ffmpeg.w64", "pipe_sox.aiff"):
        assert np.array_equal(read(DATA / name)[0], plain)


def test_joined_sounds_of_two_rates_are_refused(tmp_path: Path) -> None:
    for rate in (8_000, 16_000):
        soundfile.write(tmp_path / f"{rate}.wav", np.zeros(800), rate)
    both = b"".join((tmp_path / f"{rate}.wav").read_bytes() for rate in (8_000, 16_000))
    (tmp_path / "both.wav").write_bytes(both)
    with pytest.raises(AudioError, match="changes within the sound"):
        open_sound(tmp_path / "both.wav")


def test_a_file_of_very_many_sounds_opens_no_thousand_files(tmp_path: Path) -> None:
    (tmp_path / "many.wav").write_bytes((DATA / "joined.wav").read_bytes() * 40)
    with pytest.raises(AudioError, match="holds more than 64 sounds"):
        open_sound(tmp_path / "many.wav")


# --- Headers of WAV -------------------------------------------------------------------------------


def chunk(name: bytes, data: bytes, size: int | None = None, pad: bool = True) -> bytes:
    odd = b"\0" if len(data) % 2 and pad else b""
    return name + struct.pack("<I", len(data) if size is None else size) + data + odd


def riff(*chunks: bytes, size: int | None = None, mark: bytes = b"RIFF") -> bytes:
    form = chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, RATE, 2 * RATE, 2, 16))
    first, *rest = chunks
    before = [first, form] if first[:4] in (b"ds64", b"JUNK") else [form, first]
    body = b"WAVE" + b"".join([*before, *rest])
    return mark + struct.pack("<I", len(body) if size is None else size) + body


def ds64(*sizes: int) -> bytes:
    return chunk(b"ds64", struct.pack("<QQQI", *sizes, 0))


INFO = chunk(b"LIST", b"INFOISFT\x05\0\0\0Lavf\0\0")
TAG = b"TAG" + b"x" * 125
HEADERS = {  # WAV as programs write it, by what is peculiar about it: bytes of sound -> file
    "size 0": lambda d: riff(chunk(b"data", d, 0), size=0),
    "data 0": lambda d: riff(chunk(b"data", d, 0)),
    "LIST, then data 0": lambda d: riff(INFO, chunk(b"data", d, 0), size=0),
    "size -1": lambda d: riff(chunk(b"data", d, 0xFFFFFFFF), size=0xFFFFFFFF),
    "size -1 less a header": lambda d: riff(chunk(b"data", d, 0xFFFFFFFF - 44), size=0xFFFFFFF7),
    "two GB": lambda d: riff(chunk(b"data", d, 0x80000000), size=0x80000024),
    "sox": lambda d: riff(chunk(b"data", d, 0x7FFFF000), size=0x7FFFF024),
    "RF64 without sizes": lambda d: riff(
        ds64(0, 0, 0), chunk(b"data", d, 0xFFFFFFFF), size=0xFFFFFFFF, mark=b"RF64"
    ),
    "RF64 of size -1": lambda d: riff(
        ds64(2**64 - 1, 2**64 - 1, 0), chunk(b"data", d, 0xFFFFFFFF), mark=b"RF64"
    ),
}
WHOLE = {
    "plain": lambda d: riff(chunk(b"data", d)),
    "chunks around": lambda d: riff(
        chunk(b"JUNK", bytes(28)), chunk(b"data", d), INFO, chunk(b"smpl", bytes(36))
    ),
    "odd chunk before": lambda d: riff(chunk(b"LIST", b"odd"), chunk(b"data", d)),
    "odd data": lambda d: riff(chunk(b"data", d + b"x"), INFO),
    "odd data without pad": lambda d: riff(chunk(b"data", d + b"x", pad=False), INFO),
    "ID3v1 after": lambda d: riff(chunk(b"data", d)) + TAG,
    "ID3v2 before": lambda d: b"ID3\x03\0\0\0\0\0\x10" + bytes(16) + riff(chunk(b"data", d)),
    "zeros after": lambda d: riff(chunk(b"data", d)) + bytes(512),
    "RF64": lambda d: riff(
        ds64(len(d) + 72, len(d), len(d) // 2), chunk(b"data", d, 0xFFFFFFFF), mark=b"RF64"
    ),
}


@pytest.mark.parametrize("kind", HEADERS)
def test_wav_without_length_is_read_to_the_end_of_the_file(
    tmp_path: Path, pcm: np.ndarray, kind: str
) -> None:
    (tmp_path / "a.wav").write_bytes(HEADERS[kind](pcm.tobytes()))
    samples, report = read(tmp_path / "a.wav")
    assert np.array_equal(samples[:, 0] * 32_768, pcm)
    assert report.stated_s is None
    assert report.note.startswith(STREAMED)
    assert report.missing == ""


@pytest.mark.parametrize("kind", WHOLE)
def test_whole_wav_has_no_note(tmp_path: Path, pcm: np.ndarray, kind: str) -> None:
    (tmp_path / "a.wav").write_bytes(WHOLE[kind](pcm.tobytes()))
    samples, report = read(tmp_path / "a.wav")
    assert np.array_equal(samples[: len(pcm), 0] * 32_768, pcm)
    assert (report.note, report.missing) == ("", "")


def test_wav_that_is_empty_indeed_plays_none_of_its_chunks(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(riff(chunk(b"data", b""), INFO))
    with pytest.raises(AudioError, match="0 samples"):
        probed(tmp_path / "a.wav")


def test_bytes_after_the_stated_sound_are_named(tmp_path: Path, pcm: np.ndarray) -> None:
    (tmp_path / "a.wav").write_bytes(riff(chunk(b"data", pcm.tobytes(), 4_000)))
    samples, report = read(tmp_path / "a.wav")
    assert len(samples) == 2_000
    assert report.note == (
        "The header states 0.25 s; the 4,000 bytes after that (0.25 s if they are sound) are "
        "not read."
    )


# --- What is lost ---------------------------------------------------------------------------------


def cut(tmp_path: Path, name: str, share: float = 0.6) -> Path:
    whole = (DATA / name).read_bytes()
    path = tmp_path / name
    path.write_bytes(whole[: int(len(whole) * share)])
    return path


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("vbr_without_xing.mp3", "The file ends in the middle of a frame."),
        ("joined.mp3", "Its header states"),
        ("chained.ogg", "The file is damaged, or its end is missing"),  # in the head of the second
        ("pipe.flac", "The file is damaged, or its end is missing"),
        ("joined.flac", "no sound that can be read"),
        ("joined.wav", "Its header states"),
        ("pipe.webm", "The file ends in the middle of a block."),
        ("fragments.mp4", "Its header states"),
        ("alac.caf", "damaged"),
        ("sphere.sph", "Its header states"),
    ],
)
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(AudioError, match=words):
        probed(cut(tmp_path, name))


def test_an_mp3_with_rubbish_within_is_refused_and_tags_are_no_rubbish(tmp_path: Path) -> None:
    whole = (DATA / "vbr_without_xing.mp3").read_bytes()
    path = tmp_path / "a.mp3"
    seconds = len(read(DATA / "vbr_without_xing.mp3")[0]) / 16_000
    ape = struct.pack("<8sIIII8x", b"APETAGEX", 2_000, 32, 0, 0xA0000000)
    for after in (TAG, ape, ape + TAG, bytes(3_000)):
        path.write_bytes(b"ID3\x03\0\0\0\0\0\x7f" + bytes(127) + whole + after)
        assert probed(path).duration_s == pytest.approx(seconds)
    path.write_bytes(whole[:2_000] + b"rubbish" * 99 + whole[2_000:])
    with pytest.raises(AudioError, match=r"Within the sound, .* bytes are damaged"):
        probed(path)


def test_a_page_of_ogg_that_is_lost_or_changed_is_named(tmp_path: Path) -> None:
    whole = bytearray((DATA / "chained.opus").read_bytes())
    at = whole.index(b"OggS", len(whole) // 4)
    whole[at + 60] ^= 1
    (tmp_path / "a.opus").write_bytes(whole)
    with pytest.raises(AudioError, match=r"1 page is damaged or missing|Its header states"):
        probed(tmp_path / "a.opus")


def test_a_frame_that_is_lost_in_flac_of_unknown_length_is_named(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.flac", np.random.default_rng(1).normal(0, 0.1, 40_000), RATE)
    whole = bytearray((tmp_path / "a.flac").read_bytes())
    whole[21:26] = bytes([whole[21] & 0xF0]) + bytes(4)  # no total
    (tmp_path / "a.flac").write_bytes(whole)
    assert probed(tmp_path / "a.flac").duration_s == 5.0
    whole[len(whole) // 2] ^= 0x55
    (tmp_path / "a.flac").write_bytes(whole)
    with pytest.raises(AudioError, match="damaged"):
        probed(tmp_path / "a.flac")


@pytest.mark.medium
@pytest.mark.parametrize("name", [name for name, _, _ in WRITTEN])
def test_damage_raises_nothing_but_an_audio_error(tmp_path: Path, name: str) -> None:
    whole = (DATA / name).read_bytes()
    rng = np.random.default_rng(8)
    path = tmp_path / name
    for _ in range(12):
        spoilt = bytearray(whole)
        for _ in range(3):
            at = int(rng.integers(0, rng.choice([64, 400, len(whole)])))
            spoilt[at : at + 4] = rng.choice([b"\0\0\0\0", b"\xff\xff\xff\xff", rng.bytes(4)])
        path.write_bytes(spoilt)
        with suppress(AudioError):
            assert len(read(path)[0]) < 10**7


# --- Files that nobody put there ------------------------------------------------------------------


def test_a_resource_fork_beside_a_clip_does_not_stand_for_it(tmp_path: Path) -> None:
    """libsndfile looks for ._NAME beside NAME where it gets a name."""
    for path in (DATA / "mac").iterdir():
        shutil.copy(path, tmp_path)
    assert probed(tmp_path / "clip.mp3").duration_s == pytest.approx(2.5, abs=0.01)
    assert metrics_audio.duration_s(tmp_path / "clip.mp3") == pytest.approx(2.5, abs=0.01)


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("._clip.mp3", True),
        ("audio/._clip.mp3", True),
        ("audio/.DS_Store", True),
        ("Thumbs.db", True),
        ("a/DESKTOP.INI", True),
        ("__MACOSX/audio/clip.wav", True),
        ("clip._.wav", False),
        ("audio/thumbs.wav", False),
    ],
)
def test_files_of_the_system_are_known_by_name(path: str, is_one: bool) -> None:
    assert sound_files.is_system_file(path) == is_one
