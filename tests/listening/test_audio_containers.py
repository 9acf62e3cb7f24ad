"""M4A, MP4, WebM and raw AAC: decoded to the sample that the container says, or refused."""

from pathlib import Path

import av
import numpy as np
import pytest
import soundfile
from av.audio.frame import AudioFrame
from av.video.frame import VideoFrame

from listening.audio import AudioError, probed
from listening.audio.store import write_plain_flac
from listening.common.sound_files import open_sound
from tests.listening.encoded import chirp, encode

RATE = 48_000


def decode(path: Path) -> np.ndarray:
    with open_sound(path) as sound:
        return np.concatenate(list(sound.blocks(5_000)))


def delay(before: np.ndarray, after: np.ndarray) -> int:
    """By how many samples `after` comes late, from the peak of the cross-correlation."""
    size = 2 ** int(np.ceil(np.log2(len(before) + len(after))))
    product = np.fft.rfft(after, size) * np.conj(np.fft.rfft(before, size))
    at = int(np.argmax(np.fft.irfft(product, size)))
    return at if at < size // 2 else at - size


def reason(path: Path) -> str:
    with pytest.raises(AudioError) as caught:
        probed(path)
    assert caught.value.remedy
    return caught.value.reason


@pytest.mark.slow
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 24_000, 44_100, 48_000, 96_000])
def test_m4a_begins_and_ends_where_its_edit_list_says(
    tmp_path: Path, rate: int, channels: int
) -> None:
    before = chirp(1.5, rate, channels)
    path = encode(tmp_path / "clip.m4a", "aac", before, rate)
    facts = probed(path)
    assert (facts.format, facts.subtype) == ("MP4", "AAC")
    assert (facts.sample_rate_hz, facts.channels) == (rate, channels)
    assert facts.duration_s == 1.5  # 23.4 AAC frames and a frame of priming
    after = decode(path)
    assert delay(before[:, 0], after[:, 0]) == 0
    assert all(np.corrcoef(before[:, n], after[:, n])[0, 1] > 0.98 for n in range(channels))


@pytest.mark.slow
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("rate", [8_000, 16_000, 24_000, 48_000])
@pytest.mark.parametrize("name", ["clip.webm", "clip.mp4", "clip.mka"])
def test_opus_is_as_long_as_what_was_encoded(
    tmp_path: Path, name: str, rate: int, channels: int
) -> None:
    path = encode(tmp_path / name, "libopus", chirp(1.251, rate, channels), rate)
    facts = probed(path)
    assert (facts.subtype, facts.sample_rate_hz, facts.channels) == ("OPUS", 48_000, channels)
    assert facts.format == ("MP4" if name == "clip.mp4" else "WEBM")
    assert facts.duration_s == pytest.approx(1.251, abs=0.001)
    late = delay(chirp(1.251, 48_000)[:, 0], decode(path)[:, 0])
    assert abs(late) <= (1 if name != "clip.mp4" or rate == 48_000 else 48)  # that muxer rounds


@pytest.mark.slow
@pytest.mark.parametrize("rate", [8_000, 22_050, 48_000, 96_000, 192_000])
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("codec", ["alac", "flac"])
def test_lossless_sound_in_mp4_is_copied_exactly(
    tmp_path: Path, codec: str, rate: int, channels: int
) -> None:
    whole = (chirp(0.3, rate, channels) * 2**23).astype(np.int32) << 8
    path = encode(tmp_path / "clip.mp4", codec, whole, rate)
    assert probed(path).sample_rate_hz == rate
    write_plain_flac(path, tmp_path / "copy.flac")
    info = soundfile.info(tmp_path / "copy.flac")
    assert (info.samplerate, info.channels) == (rate, channels)
    kept = soundfile.read(tmp_path / "copy.flac", dtype="int32", always_2d=True)[0]
    with open_sound(path) as sound:
        bits = sound.bits
    assert info.subtype == f"PCM_{bits}"
    assert np.array_equal(kept, whole) if bits == 24 else np.abs(kept - whole).max() <= 2**16


def test_alac_of_24_bits_keeps_them(tmp_path: Path) -> None:
    whole = (chirp(0.3, RATE) * 2**23).astype(np.int32) << 8
    path = encode(tmp_path / "clip.m4a", "alac", whole, RATE)
    assert probed(path).subtype == "ALAC_24"


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 44_100, 48_000])
@pytest.mark.parametrize("channels", [1, 2])
def test_mp3_goes_through_the_same_door(tmp_path: Path, rate: int, channels: int) -> None:
    path = encode(tmp_path / "clip.mp3", "libmp3lame", chirp(1.2, rate, channels), rate)
    facts = probed(path)
    assert (facts.format, facts.sample_rate_hz, facts.channels) == ("MP3", rate, channels)
    assert facts.duration_s == pytest.approx(1.2, abs=0.06)


@pytest.mark.parametrize("tag", [b"", b"ID3\x04\x00\x00\x00\x00\x01\x48" + bytes(200)])
def test_raw_aac_is_read_whole_for_it_names_no_padding(tmp_path: Path, tag: bytes) -> None:
    path = encode(tmp_path / "clip.aac", "aac", chirp(1, RATE), RATE, "adts")
    path.write_bytes(tag + path.read_bytes())
    facts = probed(path)
    assert (facts.format, facts.subtype) == ("AAC", "AAC")
    assert facts.duration_s == pytest.approx(1 + 1024 / RATE, abs=1024 / RATE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("codec", "format", "options"),
    [
        ("aac", "mp4", {"movflags": "frag_keyframe+empty_moov"}),
        ("aac", "mp4", {"movflags": "faststart"}),
        ("libopus", "webm", {"live": 1}),
        ("libmp3lame", "mp4", {}),
        ("vorbis", "webm", {}),
        ("pcm_s24le", "mov", {}),
        ("pcm_s16le", "matroska", {}),
    ],
)
def test_what_browsers_and_recorders_write_is_accepted(
    tmp_path: Path, codec: str, format: str, options: dict
) -> None:
    path = encode(tmp_path / "clip", codec, chirp(1, RATE, 2), RATE, format, **options)
    facts = probed(path)
    assert (facts.sample_rate_hz, facts.channels) == (RATE, 2)
    assert facts.duration_s == pytest.approx(1, abs=0.03)
    soundfile.write(tmp_path / "clip.wav", chirp(1, RATE, 2), RATE)
    same = probed(tmp_path / "clip.wav")
    assert facts.loudness_lufs == pytest.approx(same.loudness_lufs, abs=0.5)


@pytest.mark.medium
def test_the_facts_are_those_of_the_same_sound_as_wav(tmp_path: Path) -> None:
    late = np.concatenate([np.zeros((RATE // 2, 1)), chirp(2, RATE), np.zeros((RATE // 4, 1))])
    soundfile.write(tmp_path / "clip.wav", late, RATE)
    wav = probed(tmp_path / "clip.wav")
    m4a = probed(encode(tmp_path / "clip.m4a", "aac", late, RATE))
    assert m4a.duration_s == wav.duration_s
    assert m4a.loudness_lufs == pytest.approx(wav.loudness_lufs, abs=0.2)
    assert m4a.leading_silence_s == pytest.approx(wav.leading_silence_s, abs=0.03)
    assert m4a.clipped_share == 0
    hot = encode(tmp_path / "hot.m4a", "aac", np.clip(chirp(1, RATE, level=3), -1, 1), RATE)
    assert probed(hot).clipped_share > 0.01
    silent = probed(encode(tmp_path / "silent.m4a", "aac", np.zeros((RATE, 1)), RATE))
    assert (silent.peak_dbfs, silent.loudness_lufs, silent.duration_s) == (None, None, 1)


@pytest.mark.medium
def test_a_served_copy_of_m4a_holds_the_decoded_samples_with_24_bits(tmp_path: Path) -> None:
    path = encode(tmp_path / "clip.m4a", "aac", chirp(1, RATE, 2), RATE)
    write_plain_flac(path, tmp_path / "copy.flac")
    assert soundfile.info(tmp_path / "copy.flac").subtype == "PCM_24"
    kept = soundfile.read(tmp_path / "copy.flac")[0]
    assert np.abs(kept - decode(path)).max() < 2**-22


@pytest.mark.parametrize("frames", [1, 100, 1_024, 5_000, 10**6])
def test_blocks_have_the_wanted_size_and_lose_nothing(tmp_path: Path, frames: int) -> None:
    path = encode(tmp_path / "clip.m4a", "aac", chirp(0.25, RATE), RATE)
    with open_sound(path) as sound:
        blocks = list(sound.blocks(frames))
    assert {len(block) for block in blocks[:-1]} <= {frames}
    assert 0 < len(blocks[-1]) <= frames
    assert np.array_equal(np.concatenate(blocks), decode(path))


# --- What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["clip.m4a", "clip.mp4"])
def test_an_encrypted_file_is_refused(tmp_path: Path, name: str) -> None:
    key = {"encryption_key": "0f" * 16, "encryption_kid": "a1" * 16}
    path = encode(
        tmp_path / name, "aac", chirp(1, RATE), RATE, encryption_scheme="cenc-aes-ctr", **key
    )
    assert reason(path) == "The sound is encrypted (copy protection)."


def test_a_bought_song_is_refused(tmp_path: Path) -> None:
    path = encode(tmp_path / "song.m4p", "aac", chirp(1, RATE), RATE, "mp4")
    path.write_bytes(path.read_bytes().replace(b"mp4a", b"drms"))
    assert reason(path) == "The sound is encrypted (copy protection)."


def element(name: str, *content: bytes) -> bytes:
    """An EBML element with a length of 8 bytes."""
    body = b"".join(content)
    return bytes.fromhex(name) + (len(body) | 1 << 56).to_bytes(8) + body


@pytest.mark.parametrize("locked", [True, False])
def test_encrypted_webm_is_refused(tmp_path: Path, locked: bool) -> None:
    encoding = element("5033", b"\x01") + element(
        "5035", element("47E1", b"\x05"), element("47E2", b"k")
    )
    track = (
        *(element("D7", b"\x01"), element("73C5", b"\x01"), element("83", b"\x02")),
        *(element("86", b"A_OPUS"), element("63A2", b"OpusHead\x01\x01" + bytes(9))),
        element("E1", element("B5", bytes.fromhex("473b8000")), element("9F", b"\x01")),
        element("6D80", element("6240", encoding)) if locked else b"",
    )
    blocks = [element("A3", b"\x81\0" + bytes([20 * n]) + b"\x80\xf8\xff\xfe") for n in range(9)]
    path = tmp_path / "clip.webm"
    path.write_bytes(
        element("1A45DFA3", element("4282", b"webm"))
        + element(
            "18538067",
            element("1549A966", element("2AD7B1", b"\x0f\x42\x40")),
            element("1654AE6B", element("AE", *track)),
            element("1F43B675", element("E7", b"\0"), *blocks),
        )
    )
    if locked:
        assert reason(path) == "The sound is encrypted (copy protection)."
    else:
        assert probed(path).duration_s == pytest.approx(0.18)


def film(path: Path, sound: np.ndarray | None, tracks: int = 1) -> Path:
    with av.open(path, "w") as file:
        pictures = file.add_stream("mpeg4", rate=10)
        pictures.width = pictures.height = 32
        pictures.pix_fmt = "yuv420p"
        count = tracks if sound is not None else 0
        streams = [file.add_stream("aac", rate=RATE, layout="mono") for _ in range(count)]
        for _ in range(10):
            file.mux(pictures.encode(VideoFrame(32, 32, "yuv420p")))
        for stream in streams:
            frame = AudioFrame.from_ndarray(sound.T.astype(np.float32).copy(), "fltp", "mono")
            frame.sample_rate, frame.pts = RATE, 0
            file.mux(stream.encode(frame))
            file.mux(stream.encode(None))
        file.mux(pictures.encode(None))
    return path


@pytest.mark.parametrize("name", ["film.mp4", "film.mkv"])
def test_a_film_without_sound_is_refused(tmp_path: Path, name: str) -> None:
    assert reason(film(tmp_path / name, None)) == "The file holds only pictures."


@pytest.mark.parametrize("name", ["film.mp4", "film.mkv"])
def test_two_sound_tracks_are_refused(tmp_path: Path, name: str) -> None:
    assert "2 sound tracks" in reason(film(tmp_path / name, chirp(1, RATE), tracks=2))


@pytest.mark.parametrize("name", ["film.mp4", "film.mkv"])
def test_the_only_sound_of_a_film_is_taken(tmp_path: Path, name: str) -> None:
    facts = probed(film(tmp_path / name, chirp(1, RATE)))
    assert facts.duration_s == pytest.approx(1, abs=0.03)


def test_an_mp4_without_any_track_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.mp4"
    path.write_bytes(b"\0\0\0\x18ftypisom\0\0\0\0isommp41\0\0\0\x08free\0\0\0\x08mdat")
    assert reason(path)


def test_six_channels_are_refused(tmp_path: Path) -> None:
    path = encode(tmp_path / "six.m4a", "aac", np.zeros((RATE, 6)), RATE)
    assert "6 channels" in reason(path)


def test_a_codec_that_is_not_read_is_named(tmp_path: Path) -> None:
    path = encode(tmp_path / "clip.mp4", "ac3", chirp(1, RATE), RATE)
    assert "ac3" in reason(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("codec", "name", "options"),
    [
        ("aac", "clip.m4a", {}),
        ("aac", "clip.m4a", {"movflags": "faststart"}),
        ("aac", "clip.mp4", {"movflags": "frag_keyframe+empty_moov"}),
        ("alac", "clip.m4a", {"movflags": "faststart"}),
        ("libopus", "clip.webm", {}),
        ("libopus", "clip.mp4", {"movflags": "faststart"}),
    ],
)
@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.9])
def test_a_file_that_was_cut_off_is_refused(
    tmp_path: Path, codec: str, name: str, options: dict, share: float
) -> None:
    path = encode(tmp_path / name, codec, chirp(5, RATE), RATE, **options)
    whole = path.read_bytes()
    path.write_bytes(whole[: round(len(whole) * share)])
    said = reason(path)
    assert any(words in said for words in ("damaged", "Its header states", "no sound"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clip.m4a", "clip.webm", "clip.aac"])
def test_rubbish_in_the_middle_raises_nothing_but_an_audio_error(tmp_path: Path, name: str) -> None:
    codec = "libopus" if name == "clip.webm" else "aac"
    path = encode(tmp_path / name, codec, chirp(2, RATE), RATE)
    whole = path.read_bytes()
    rng = np.random.default_rng(5)
    refused = 0
    for _ in range(60):
        spoilt = bytearray(whole)
        at = int(rng.integers(0, len(whole) - 50))
        spoilt[at : at + 50] = rng.bytes(50)
        path.write_bytes(spoilt)
        try:
            assert probed(path).duration_s < 60
        except AudioError:
            refused += 1
    assert refused > 10


@pytest.mark.parametrize("head", [b"\0\0\0\x20ftypM4A ", b"\x1a\x45\xdf\xa3", b"\xff\xf1\x50\x80"])
def test_the_first_bytes_alone_are_no_sound(tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "clip"
    for rest in (b"", bytes(3_000), np.random.default_rng(1).bytes(3_000)):
        path.write_bytes(head + rest)
        assert reason(path)


def test_what_cannot_be_opened_at_all_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(AudioError, match="cannot be read"):
        open_sound(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "#EXTM3U\n#EXTINF:1,\n{other}\n",
        "ffconcat version 1.0\nfile '{other}'\n",
        "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=audio 9 RTP/AVP 0\n",
    ],
)
def test_a_playlist_opens_no_other_file(tmp_path: Path, text: str) -> None:
    other = encode(tmp_path / "secret.m4a", "aac", chirp(1, RATE), RATE)
    path = tmp_path / "clip.m4a"
    path.write_text(text.format(other=other))
    assert "no sound file" in reason(path)
