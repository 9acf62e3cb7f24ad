"""The bytes of a clip tell nothing of its system, and no two appearances of it are alike."""

import os
import time
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile

from listening.audio import ClipRequest, appearance
from listening.audio.appearance import (
    LONGEST_PAD_S,
    SHORTEST_PAD_S,
    Recent,
    appearance_of,
    clear_appearances,
    folder,
    pads_of,
)
from listening.audio.probe import probed
from listening.audio.served_sound import AFTER_S, BEFORE_S, Span, common_span, cut, span_of

RATE = 16_000
STEPS = appearance.LENGTH_STEP * appearance.PLACES  # samples that make lengths differ
HEAD_BYTES = 42  # of a file: its mark and the facts of its stream


@pytest.fixture(autouse=True)
def media(settings, tmp_path: Path, monkeypatch) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"
    settings.SECRET_KEY = "a key of the tests of appearances"
    monkeypatch.setattr(appearance, "recent_copies", Recent(appearance.KEPT_BYTES))
    monkeypatch.setattr(appearance, "beginnings", Recent(appearance.KEPT_BEGINNINGS_BYTES))


def speech(seed: int, *, lead_s: float = 0.0, room: float = 0.0, seconds: float = 1.0):
    """A modulated tone in noise, after digital silence or a room's noise."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * RATE)) / RATE
    sound = 0.3 * np.sin(2 * np.pi * (150 + 20 * seed) * t) * (0.6 + 0.4 * np.sin(9 * t))
    silence = np.zeros(round(lead_s * RATE))
    whole = np.concatenate([silence, sound, silence])
    return whole + room * rng.standard_normal(len(whole))


def clip(path: Path, samples, token: str = "t", bits: int = 16, **more) -> ClipRequest:
    soundfile.write(path, samples, RATE, subtype=f"PCM_{bits}", format="FLAC")
    return ClipRequest(token, path, **{"trial": 1, "place": 0, "in_step": False, **more})


def sound_of(clip: ClipRequest) -> np.ndarray:
    return soundfile.read(BytesIO(appearance_of(clip)), dtype="int16")[0]


def decoded_strictly(data: bytes) -> np.ndarray:
    """By FFmpeg, told to stop at the first checksum that is wrong."""
    with av.open(BytesIO(data)) as file:
        file.streams.audio[0].codec_context.options = {"err_detect": "crccheck+explode"}
        return np.concatenate([f.to_ndarray() for f in file.decode(audio=0)], axis=1)


@pytest.fixture
def all_long(monkeypatch) -> None:
    """Each clip is one of those that are decoded in parts and kept as a file."""
    monkeypatch.setattr(appearance, "LONGEST_KEPT", 1000)


# --- An appearance -------------------------------------------------------------------------------


def test_the_same_token_gets_the_same_bytes_and_another_one_others(tmp_path: Path):
    one = clip(tmp_path / "a.flac", speech(1))
    data = appearance_of(one)
    appearance.recent_copies.entries.clear()  # it is made again
    assert appearance_of(one) == data
    appearance.recent_copies.entries.clear()
    appearance.beginnings.entries.clear()
    assert appearance_of(one) == data
    others = [appearance_of(replace(one, token=f"t{n}")) for n in range(5)]
    assert len({len(each) for each in (data, *others)}) > 3
    assert len({each[-400:] for each in (data, *others)}) == 6  # the frames, too


@pytest.fixture
def no_rumble(monkeypatch) -> None:
    monkeypatch.setattr(appearance, "RUMBLE_STEPS", 0)


@pytest.mark.usefixtures("no_rumble")
def test_it_is_the_same_sound_to_a_step_of_16_bit(tmp_path: Path):
    samples = np.clip(speech(2), -1, 1)
    one = clip(tmp_path / "a.flac", samples, bits=24)
    heard = sound_of(one) / 32768
    before = round(pads_of(one)[0] * RATE)
    assert np.abs(heard[before : before + len(samples)] - samples).max() < 1.6 / 32768


@pytest.mark.usefixtures("no_rumble")
def test_the_noise_of_the_dither_is_that_of_the_textbook(tmp_path: Path):
    """Triangular noise of one step to each side, rounded: a variance of a quarter of a step."""
    one = clip(tmp_path / "a.flac", np.zeros(4 * RATE))
    assert sound_of(one).var() == pytest.approx(0.25, rel=0.05)


def test_the_noise_that_hides_rumble_is_below_hearing(tmp_path: Path):
    """In each third of an octave, where speech of -23 LUFS is played at 85 dB."""
    heard = sound_of(clip(tmp_path / "a.flac", np.zeros(4 * RATE))) / 32768
    power = np.abs(np.fft.rfft(heard)) ** 2 * 2 / len(heard) ** 2
    hz = np.fft.rfftfreq(len(heard), 1 / RATE)
    for centre_hz, threshold_db in THRESHOLD_OF_HEARING_DB.items():
        band = (hz >= centre_hz / 2 ** (1 / 6)) & (hz < centre_hz * 2 ** (1 / 6))
        assert 10 * np.log10(power[band].sum()) + 85 + 23 < threshold_db - 5, centre_hz
    assert 10 * np.log10(power[(hz > 15) & (hz < 45)].sum()) > -77  # it does hide what is left


THRESHOLD_OF_HEARING_DB = {  # ISO 389-7, free field
    **{20: 78.1, 31.5: 59.5, 40: 51.1, 50: 44.0, 63: 37.5, 80: 31.5, 100: 26.5},
    **{125: 22.1, 160: 17.9, 200: 14.4, 250: 11.4},
}


def test_both_ends_are_dither_of_a_length_drawn_at_random(tmp_path: Path):
    one = clip(tmp_path / "a.flac", np.full(RATE, 0.5))
    starts, lengths = set(), set()
    for n in range(12):
        heard = sound_of(replace(one, token=f"t{n}", trial=n))
        first, last = np.flatnonzero(np.abs(heard) > 100)[[0, -1]]
        starts.add(int(first))
        lengths.add(len(heard))
        for pad in (first, len(heard) - 1 - last):
            assert SHORTEST_PAD_S * RATE - 1 <= pad <= LONGEST_PAD_S * RATE + STEPS
    assert 1 < len(starts) <= appearance.VARIANTS
    assert len(lengths) > 9


@pytest.mark.medium
@pytest.mark.parametrize("in_step", [False, True])
def test_a_sound_that_comes_twice_in_a_trial_shares_no_bytes_and_no_length(
    tmp_path: Path, in_step: bool
):
    one = clip(tmp_path / "a.flac", speech(1, seconds=3.0), in_step=in_step)
    parts: list[set[bytes]] = []
    lengths = set()
    for place in range(4):
        data = appearance_of(replace(one, token=f"t{place}", place=place))
        lengths.add(soundfile.info(BytesIO(data)).frames)
        frames = data[HEAD_BYTES:]
        parts.append({frames[at : at + 64] for at in range(len(frames) - 64)})
    assert min(map(len, parts)) > 10_000
    assert len(set().union(*parts)) == sum(map(len, parts))
    assert len(lengths) == 4


@pytest.mark.medium
@pytest.mark.parametrize("in_step", [False, True])
def test_no_two_places_of_a_trial_have_the_same_length(tmp_path: Path, in_step: bool):
    """Whatever the key draws: 12 appearances in 20 trials."""
    one = clip(tmp_path / "a.flac", speech(1, seconds=0.3), in_step=in_step)
    for trial in range(20):
        lengths = {
            soundfile.info(
                BytesIO(appearance_of(replace(one, token=f"{trial} {n}", trial=trial, place=n)))
            ).frames
            for n in range(12)
        }
        assert len(lengths) == 12


def test_size_follows_from_length_whatever_sounds(tmp_path: Path):
    """Silence, a voice, noise of which FLAC saves little: one number of bits a sample."""
    rng = np.random.default_rng(3)
    sounds = np.zeros(RATE), speech(1), speech(1) + 5e-3 * rng.standard_normal(RATE)
    rates = []
    for sound in sounds:
        for place in range(4):
            one = clip(tmp_path / f"{len(rates)}.flac", sound, token=f"{place}", place=place)
            data = appearance_of(one)
            rates.append(8 * len(data) / soundfile.info(BytesIO(data)).frames)
    assert max(rates) - min(rates) < 0.15
    assert max(rates) < appearance.MOST_BITS + 0.1


@pytest.mark.medium
@pytest.mark.parametrize(
    ("rate_hz", "channels", "seconds"),
    [(8_000, 1, 0.1), (16_000, 1, 6.3), (22_050, 2, 3.0), (44_100, 1, 13.0), (96_000, 2, 0.5)],
)
def test_decoders_take_it_whole_with_all_its_checksums(
    tmp_path: Path, rate_hz: int, channels: int, seconds: float
):
    """At 44.1 kHz numbers of frames take two bytes."""
    samples = np.stack([speech(2, seconds=seconds * rate_hz / RATE)] * channels, axis=1)
    path = tmp_path / "a.flac"
    soundfile.write(path, samples, rate_hz, subtype="PCM_24")
    data = appearance_of(ClipRequest("t", path, trial=1, place=0, in_step=False))
    heard = decoded_strictly(data).reshape(-1, channels)
    assert len(heard) == soundfile.info(BytesIO(data)).frames
    assert (heard == soundfile.read(BytesIO(data), dtype="int16", always_2d=True)[0]).all()
    amid = data.rindex(b"\xff\xf8", 0, -60) + 40  # of a frame, past its head
    wrong = data[:amid] + bytes([data[amid] ^ 1]) + data[amid + 1 :]
    with pytest.raises(av.error.InvalidDataError):  # it does look
        decoded_strictly(wrong)


def test_clips_that_play_together_keep_in_step(tmp_path: Path):
    one = clip(tmp_path / "a.flac", speech(1), in_step=True)
    together = [replace(one, token=f"t{n}", place=n) for n in range(4)]
    befores, afters = zip(*map(pads_of, together), strict=True)
    assert len(set(befores)) == 1
    assert len(set(afters)) == 4
    assert pads_of(replace(one, trial=2))[0] != befores[0]


def test_the_head_says_nothing_of_the_frames(tmp_path: Path):
    data = appearance_of(clip(tmp_path / "a.flac", speech(1)))
    assert data[4] == 0x80  # one block of metadata and no other, so no padding
    assert data[12:18] == bytes(6)  # least and most bytes of a frame
    assert data[26:42] == bytes(16)  # the hash of the samples
    assert data[HEAD_BYTES : HEAD_BYTES + 2] == b"\xff\xf8"  # a frame begins


@pytest.mark.parametrize("channels", [1, 2])
def test_long_and_stereo_clips_are_whole(tmp_path: Path, channels: int):
    long = np.stack([speech(3, seconds=9.0)] * channels, axis=1)
    info = soundfile.info(BytesIO(appearance_of(clip(tmp_path / "a.flac", long))))
    assert info.channels == channels
    longest_s = 9 + 2 * LONGEST_PAD_S + STEPS / RATE
    assert 9 + 2 * SHORTEST_PAD_S <= info.duration <= longest_s


def test_a_copy_that_is_gone_is_an_error_that_says_so(tmp_path: Path):
    missing = ClipRequest("t", tmp_path / "missing.flac", trial=1, place=0, in_step=False)
    with pytest.raises(FileNotFoundError):
        appearance_of(missing)
    assert list(folder().glob("*/*")) == []


def test_a_long_clip_is_a_file_of_the_same_sound(tmp_path: Path, monkeypatch, settings):
    one = clip(tmp_path / "a.flac", speech(1, seconds=9.0))
    sound = sound_of(one)
    monkeypatch.setattr(appearance, "LONGEST_KEPT", 1000)
    monkeypatch.setattr(appearance, "recent_samples", Recent(0))
    appearance.recent_copies.entries.clear()
    appearance.beginnings.entries.clear()
    path = appearance_of(one)
    again = soundfile.read(path, dtype="int16")[0]
    assert len(again) == len(sound)
    assert np.abs(again.astype(int) - sound).max() <= 80  # the noise is another one
    assert not appearance.recent_samples.entries
    shut = settings.MEDIA_FILE_MODE, settings.MEDIA_FOLDER_MODE, settings.MEDIA_FOLDER_MODE
    assert tuple(p.stat().st_mode & 0o777 for p in (path, path.parent, folder())) == shut


def test_what_was_kept_is_not_served_once_the_copy_is_gone_or_another(tmp_path: Path):
    one = clip(tmp_path / "a.flac", speech(1))
    first = appearance_of(one)
    one.copy.unlink()
    with pytest.raises(FileNotFoundError):
        appearance_of(one)
    clip(tmp_path / "a.flac", speech(2))
    assert sound_of(replace(one, token="u")).std() != pytest.approx(
        soundfile.read(BytesIO(first), dtype="int16")[0].std(), rel=1e-6
    )


def test_no_more_is_kept_than_there_is_room_for():
    recent: Recent[str, str] = Recent(3000)
    for name in "abcab":
        recent.add(name, name, 1000)
        recent.get("a")
    assert recent.bytes == 3000
    recent.add("d", "d", 1000)
    assert list(recent.entries) == ["c", "a", "d"]  # b was used longest ago
    assert recent.bytes == 3000


@pytest.mark.usefixtures("all_long")
def test_a_file_that_nobody_asks_for_is_cleared_and_made_again(tmp_path: Path):
    old, new = (clip(tmp_path / f"{n}.flac", speech(n), token=f"t{n}") for n in range(2))
    data = appearance_of(old).read_bytes()
    long_ago = time.time() - 86_400
    os.utime(appearance_of(old), (long_ago, long_ago))
    appearance_of(new)
    assert clear_appearances() == 1
    assert appearance_of(old).read_bytes() == data
    long_ago_again = appearance_of(old)
    os.utime(long_ago_again, (long_ago, long_ago))
    appearance_of(old)  # asked for: kept
    assert clear_appearances() == 0


# --- Ends ----------------------------------------------------------------------------------------


def test_silence_and_noise_before_and_after_the_sound_are_cut(tmp_path: Path):
    for lead_s, room in ((0.5, 0.0), (0.5, 3e-4), (0.0, 3e-4)):
        soundfile.write(tmp_path / "a.wav", speech(1, lead_s=lead_s, room=room), RATE)
        span = span_of(probed(tmp_path / "a.wav"))
        assert span.start_s == pytest.approx(max(lead_s - BEFORE_S, 0), abs=0.02)
        assert span.end_s == pytest.approx(min(lead_s + 1 + AFTER_S, 2 * lead_s + 1), abs=0.02)


def test_a_silent_clip_stays_whole(tmp_path: Path):
    soundfile.write(tmp_path / "a.wav", np.zeros(RATE), RATE)
    assert span_of(probed(tmp_path / "a.wav")) == Span(0.0, 1.0)


def test_clips_in_step_share_the_widest_span(tmp_path: Path):
    facts = []
    for n, lead_s in enumerate((0.2, 0.6)):
        soundfile.write(tmp_path / f"{n}.wav", speech(n, lead_s=lead_s), RATE)
        facts.append(probed(tmp_path / f"{n}.wav"))
    both = common_span(facts)
    assert (both.start_s, both.end_s) == (span_of(facts[0]).start_s, span_of(facts[1]).end_s)


@pytest.mark.parametrize("size", [7, 160, 100_000])
def test_what_is_cut_does_not_depend_on_the_blocks_and_fades(size: int):
    samples = np.ones((RATE, 1))
    blocks = [samples[at : at + size] for at in range(0, RATE, size)]
    kept = np.concatenate(list(cut(blocks, RATE, Span(0.25, 0.75))))
    assert len(kept) == RATE // 2
    assert kept[0] < 1e-4
    assert kept[-1] < 1e-4
    assert kept[RATE // 4] == 1
    assert (np.diff(kept[: round(BEFORE_S * RATE), 0]) > 0).all()
