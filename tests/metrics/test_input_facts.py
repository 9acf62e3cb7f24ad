"""Audio that is damaged, loud, narrow or cancels: found while it is decoded, told with scores."""

from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr

from metrics.core import decoding, input_warnings
from metrics.core.metric import Accepts, Material, make_metric, undefined
from metrics.scoring import runner
from metrics.suite import speaker_count, srmr
from tests.metrics import reference

RATE_HZ = 16_000
WIDE = Accepts(least_bandwidth_hz=6_000)


@pytest.fixture(scope="module")
def speech():
    wave = decoding.load_wave(reference.path("human-0880-clean"), RATE_HZ)
    return wave - wave.mean()


def facts_of(path):
    return decoding.decode(path, (RATE_HZ,)).facts


def warned(tmp_path, samples, rate_hz=RATE_HZ, cut=0.0, name="a.wav", **options):
    path = tmp_path / name
    soundfile.write(path, samples, rate_hz, **options)
    if cut:
        whole = path.read_bytes()
        path.write_bytes(whole[: 200 + int((len(whole) - 200) * (1 - cut))])
    return input_warnings.input_warnings(facts_of(path), WIDE)


def test_sound_as_it_should_be_has_its_facts_and_no_warning(tmp_path, speech):
    assert warned(tmp_path, speech) == {}
    assert warned(tmp_path, np.stack([speech, speech], 1), name="two.wav") == {}
    plain = facts_of(tmp_path / "two.wav").plain()
    assert (plain["container"], plain["coding"], plain["bits"]) == ("WAV", "PCM_16", 16)
    assert (plain["rate_hz"], plain["channels"]) == (16_000, 2)
    assert plain["duration_s"] == plain["header_s"] == pytest.approx(len(speech) / RATE_HZ)
    assert plain["peak"] == pytest.approx(np.abs(speech).max(), abs=1e-4)
    assert plain["bandwidth_hz"] > 7_000


CUT = [("a.wav", "WAV"), ("a.aiff", "AIFF"), ("a.au", "AU"), ("a.w64", "W64"), ("a.wav", "RF64")]


@pytest.mark.parametrize(("name", "form"), [*CUT, ("a.mp3", "MP3")])
@pytest.mark.medium
def test_a_file_that_lost_half_of_its_sound_is_told(tmp_path, speech, name, form):
    found = warned(tmp_path, np.tile(speech, 4), cut=0.5, name=name, format=form)
    assert list(found) == ["truncated"]
    assert found["truncated"].startswith(f"its header states {4 * len(speech) / RATE_HZ:.2f} s")


@pytest.mark.parametrize(("name", "form"), [*CUT, ("a.mp3", "MP3"), ("a.ogg", "OGG")])
def test_a_whole_file_lost_nothing(tmp_path, speech, name, form):
    assert "truncated" not in warned(tmp_path, speech, name=name, format=form)


@pytest.mark.parametrize("whole_pages", [False, True])
def test_an_ogg_that_lost_its_end_is_told(tmp_path, speech, whole_pages):
    path = tmp_path / "a.ogg"
    soundfile.write(path, np.tile(speech, 4), RATE_HZ, format="OGG")
    whole = path.read_bytes()
    half = whole[: len(whole) // 2]
    path.write_bytes(half[: half.rindex(b"OggS")] if whole_pages else half)
    (said,) = input_warnings.input_warnings(facts_of(path), Accepts()).items()
    assert said[0] == "truncated"
    ends = "before its stream does" if whole_pages else "in the middle of a page"
    assert said[1].startswith(f"the file ends {ends}")


def webm(path, wave, film=False):
    """Opus in WebM as a program writes it that knows how long it will be."""
    import av

    with av.open(path, "w", format="webm") as file:
        stream = file.add_stream("libopus", rate=48_000, layout="mono")
        if film:
            picture = file.add_stream("libvpx", rate=1, width=16, height=16, pix_fmt="yuv420p")
            for at in range(20):
                still = av.VideoFrame(16, 16, "yuv420p")
                still.pts = at
                file.mux(picture.encode(still))
            file.mux(picture.encode(None))
        samples = soxr.resample(wave, RATE_HZ, 48_000).astype(np.float32)
        for start in range(0, len(samples), 960):
            part = np.ascontiguousarray(samples[None, start : start + 960])
            frame = av.AudioFrame.from_ndarray(part, format="flt", layout="mono")
            frame.sample_rate, frame.pts = 48_000, start
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return path


@pytest.mark.medium
def test_a_webm_that_lost_half_of_its_sound_is_told_and_a_whole_one_lost_nothing(tmp_path, speech):
    path = webm(tmp_path / "a.webm", speech)
    facts = facts_of(path)
    assert facts.header_s == pytest.approx(facts.duration_s, abs=0.05)
    assert input_warnings.input_warnings(facts, Accepts()) == {}
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    said = input_warnings.input_warnings(facts_of(path), Accepts())["truncated"]
    assert said.startswith(f"its header states {facts.header_s:.2f} s")


@pytest.mark.medium
def test_pictures_that_go_on_after_the_sound_make_it_no_cut_one(tmp_path, speech):
    facts = facts_of(webm(tmp_path / "a.webm", speech, film=True))
    assert facts.header_s == pytest.approx(facts.duration_s, abs=0.05)  # that of the sound alone
    assert input_warnings.input_warnings(facts, Accepts()) == {}


def test_a_wav_that_was_streamed_states_no_length(tmp_path, speech):
    path = tmp_path / "a.wav"
    soundfile.write(path, speech, RATE_HZ)
    whole = bytearray(path.read_bytes())
    place = whole.index(b"data") + 4
    whole[place : place + 4] = b"\xff" * 4
    path.write_bytes(whole)
    facts = facts_of(path)
    assert facts.header_s is None
    assert facts.duration_s == pytest.approx(len(speech) / RATE_HZ)
    (said,) = input_warnings.input_warnings(facts, Accepts()).items()
    assert said[0] == "no_length"
    assert said[1].startswith(
        "the header states no length, as of a file that was written to a pipe"
    )


def test_level_offset_and_clipping_are_told(tmp_path, speech):
    loud = warned(tmp_path, speech * 20, subtype="FLOAT")
    assert list(loud) == ["over_full_scale"]
    assert "dB over full scale" in loud["over_full_scale"]
    assert list(warned(tmp_path, np.clip(speech * 5, -1, 1))) == ["clipped"]
    offset = warned(tmp_path, speech + 0.4)
    assert offset == {"dc_offset": "its mean is 0.4 of full scale, that of sound is 0"}


def test_one_sample_at_full_scale_is_no_clipping(tmp_path, speech):
    assert warned(tmp_path, speech / np.abs(speech).max()) == {}


def test_a_narrow_band_is_told_whatever_the_rate_of_the_file(tmp_path, speech):
    narrow = soxr.resample(speech, RATE_HZ, 8_000, "VHQ")
    assert "rate of 8000 Hz" in warned(tmp_path, narrow, 8_000)["narrow_band"]
    wide_again = soxr.resample(narrow, 8_000, 48_000, "VHQ")
    found = warned(tmp_path, wide_again, 48_000)
    assert "sound ends at about 4" in found["narrow_band"]
    assert "upsampled" in found["narrow_band"]
    facts = facts_of(tmp_path / "a.wav")
    assert input_warnings.input_warnings(facts, Accepts()) == {}  # not every metric minds


LEARNT_FROM_16_KHZ = """arousal audiobox_pq distillmos dnsmos dnsmos_pro emotion emotion2vec
emotion_similarity nisqa plcmos scoreq scoreq_ref speaker_similarity speech_bert_score spoof
speaker_count squim_mos squim_pesq timbre_consistency timbre_similarity utmos"""


@pytest.mark.parametrize("key", LEARNT_FROM_16_KHZ.split())
def test_what_learnt_from_wide_bands_says_so(key):
    assert make_metric(key).accepts.least_bandwidth_hz == 6_000


def test_two_clicks_do_not_hide_a_narrow_band(tmp_path, speech):
    narrow = soxr.resample(soxr.resample(speech, RATE_HZ, 8_000), 8_000, RATE_HZ)
    narrow[[0, len(narrow) // 2]] += 0.5
    assert list(warned(tmp_path, narrow)) == ["narrow_band"]


def test_channels_that_cancel_are_told_and_not_called_silent(tmp_path, speech):
    path = tmp_path / "anti.wav"
    soundfile.write(path, np.stack([speech, -speech], 1), RATE_HZ, subtype="FLOAT")
    metric = make_metric("length_s")
    (scored,) = runner.score_clips(metric, [runner.clip_from_file(path)], "cpu")
    assert scored.score.reason.startswith("channels cancel: the mean of its 2 channels")
    assert list(scored.score.warnings) == ["channels_cancel"]
    beside = undefined("silent: no 25 ms of it are above -90 dBFS")
    facts = facts_of(path)
    assert input_warnings.add_input_warnings(beside, facts, Accepts()).reason.startswith(
        "channels cancel: "
    )
    unlike = np.stack([speech, np.roll(speech, 4_000)], 1)
    assert warned(tmp_path, unlike) == {}


def test_a_channel_without_sound_is_told_with_what_it_costs(tmp_path, speech):
    """Also one with an offset or noise in its last bit: 16-bit files of headsets have these."""
    noise = np.random.default_rng(0).integers(-1, 2, len(speech)) / 2**15
    for other in (0 * speech, 0 * speech + 0.01, noise):
        found = warned(tmp_path, np.stack([speech, other], 1))
        assert list(found) == ["silent_channel"]
        assert found["silent_channel"].startswith("channel 2 of 2 without sound: ")
        assert "is 6.0 dB below" in found["silent_channel"]
    four = np.stack([0 * speech, speech, noise, speech], 1)
    assert warned(tmp_path, four)["silent_channel"].startswith("channels 1, 3 of 4 without")
    assert facts_of(tmp_path / "a.wav").plain()["silent_channels"] == [1, 3]
    assert warned(tmp_path, np.stack([0 * speech] * 2, 1)) == {}  # has a reason, not a warning


QUIET = {
    "zeros": (0.0, "silent"),
    "constant": (1 / 32768, "silent: every sample has the value 3.05e-05"),
    "offset": (0.5, "silent: every sample has the value 0.5"),
    "last bit": (None, "silent: no 25 ms of it are above -96 dBFS"),
}


@pytest.mark.medium
@pytest.mark.parametrize("kind", QUIET)
def test_no_metric_has_a_value_for_what_holds_no_sound(tmp_path, kind):
    """SRMR of a constant of 1/32768 was 20 (speech: 5), DNSMOS 2.0."""
    value, reason = QUIET[kind]
    noise = np.random.default_rng(0).integers(-1, 1, 4 * RATE_HZ) / 2**15
    samples = noise if value is None else np.full(4 * RATE_HZ, value)
    soundfile.write(tmp_path / "a.wav", samples, RATE_HZ)
    clip = runner.clip_from_file(tmp_path / "a.wav")
    metrics = tuple(make_metric(key) for key in ("srmr", "dnsmos", "pauses", "loudness_lufs"))
    for batch in runner.score_work([(clip, metrics)], "cpu"):
        (scored,) = batch.clips
        assert scored.score.value is None, batch.metric.key
        assert scored.score.reason.startswith(reason), batch.metric.key


def test_samples_that_are_no_numbers_are_counted(tmp_path, speech):
    bad = speech.copy()
    bad[100:103] = np.nan
    warned(tmp_path, bad, subtype="FLOAT")
    facts = facts_of(tmp_path / "a.wav")
    assert facts.not_finite == 3
    assert facts.peak == pytest.approx(np.nanmax(np.abs(bad)))


def test_digital_silence_has_no_bandwidth_and_no_warning(tmp_path):
    assert warned(tmp_path, np.zeros(8_000)) == {}
    assert facts_of(tmp_path / "a.wav").bandwidth_hz is None


@pytest.mark.medium
def test_warnings_go_with_every_output(tmp_path, speech):
    path = tmp_path / "cut.wav"
    soundfile.write(path, np.tile(speech, 4), RATE_HZ)
    path.write_bytes(path.read_bytes()[:150_000])
    metric = make_metric("pauses")
    (scored,) = runner.score_clips(metric, [runner.clip_from_file(path)], "cpu")
    for score in metric.by_output(scored.score).values():
        assert list(score.warnings) == ["truncated"]


def test_every_warning_has_a_title():
    sources = [input_warnings.__file__, srmr.__file__, speaker_count.__file__]
    text = "".join(Path(source).read_text("utf-8") for source in sources)
    assert all(text.count(f'"{code}"') > 1 for code in input_warnings.TITLES)


@pytest.mark.parametrize("key", ["si_sdr", "timbre_similarity"])
@pytest.mark.medium
def test_what_is_odd_about_a_reference_goes_with_the_scores_beside_it(tmp_path, speech, key):
    long = np.tile(speech, 3)
    path, good, bad = (tmp_path / f"{name}.wav" for name in ("clip", "good", "bad"))
    for place, level in ((path, 0.5), (good, 1), (bad, 1)):
        soundfile.write(place, level * long, RATE_HZ)
    whole = bad.read_bytes()
    bad.write_bytes(whole[: len(whole) * 2 // 3])
    about = [
        Material(reference_path=str(each), reference_audio_path=str(each)) for each in (good, bad)
    ]
    metric = make_metric(key)
    clips = [runner.clip_from_file(path, material) for material in about]
    scores = [each.score for each in runner.score_clips(metric, clips, "cpu")]
    assert [score.value is not None for score in scores] == [True, True]
    assert scores[0].warnings == {}
    assert list(scores[1].warnings) == ["odd_reference"]
    assert scores[1].warnings["odd_reference"].startswith("its reference audio: its header states")


def test_a_reference_whose_channels_cancel_is_told_and_not_only_called_silent(tmp_path, speech):
    path = tmp_path / "two.wav"
    soundfile.write(path, np.stack([speech, -speech], 1), RATE_HZ)
    soundfile.write(tmp_path / "a.wav", speech, RATE_HZ)
    clip = runner.clip_from_file(tmp_path / "a.wav", Material(reference_audio_path=str(path)))
    (scored,) = runner.score_clips(make_metric("si_sdr"), [clip], "cpu")
    assert "channels lies" in scored.score.reason
    assert list(scored.score.warnings) == ["odd_reference"]
