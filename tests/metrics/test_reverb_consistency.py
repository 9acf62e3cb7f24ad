"""Reverb consistency: windows with speech, their SRMR, its standard deviation, and why not."""

import json

import pytest

from metrics.core.lazy_torch import torch
from metrics.core.metric import ParameterError, make_metric
from metrics.signal import speech
from tests.metrics import reference


@pytest.fixture(scope="module")
def detector():
    return speech.load_detector()


@pytest.fixture(scope="module")
def scores():
    """Both metrics over the long clips in one batch."""
    waves = [reference.wave(clip) for clip in reference.LONG]
    found = {}
    for key, variant in (
        ("reverb_consistency", "slow"),
        ("reverb_consistency_norm", "slow_norm30"),
    ):
        metric = make_metric(key)
        metric.load("cpu")
        found[variant] = dict(zip(reference.LONG, metric.measure(waves), strict=True))
    return found


@pytest.mark.slow
def test_segments_are_those_of_silero_alone_and_side_by_side(detector):
    wanted = reference.segments()
    waves = [reference.wave(clip) for clip in wanted]
    assert speech.speech_segments(waves, detector) == list(wanted.values())
    short = "human-0880-clean"
    assert speech.speech_segments([reference.wave(short)], detector) == [wanted[short]]


def test_loading_the_detector_leaves_the_threads_as_they_are():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        speech.load_detector()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["slow", "slow_norm30"])
@pytest.mark.parametrize("clip", reference.LONG)
def test_long_clips_agree_with_the_reference(scores, clip, variant):
    score, row = scores[variant][clip], reference.clip_row(clip)
    assert score.value == pytest.approx(float(row[f"reverb_std_{variant}"]), rel=1e-4)
    assert score.details["sd_ddof1"] == pytest.approx(float(row[f"reverb_sd1_{variant}"]), rel=1e-4)
    assert score.details["mean"] == pytest.approx(float(row[f"reverb_mean_{variant}"]), rel=5e-5)
    assert score.details["n_windows"] == int(row["n_windows"])
    assert score.details["n_valid"] == int(row["n_valid_silero"])


@pytest.mark.slow
def test_windows_without_speech_are_dropped_and_the_rest_keep_their_places(scores):
    details = scores["slow"]["long_pauses-human"].details
    rows = [row for row in reference.rows("windows.csv") if row["clip"] == "long_pauses-human"]
    kept = [row for row in rows if row["valid_silero"] == "1"]
    assert 2 < len(kept) < len(rows)
    assert details["window_starts_s"] == [int(row["start"]) / 16_000 for row in kept]
    wanted = [float(row["srmr_slow"]) for row in kept]
    assert details["window_srmr"] == pytest.approx(wanted, rel=5e-5)


@pytest.mark.slow
def test_the_normalised_variant_sees_the_room_and_the_published_one_the_voice(scores):
    """One voice against two voices in one room: the room does not change."""
    same, dialogue = "long_same-human", "long_dialog-human-flite_slt"
    slow, norm = scores["slow"], scores["slow_norm30"]
    assert slow[dialogue].value > 5 * slow[same].value
    assert norm[dialogue].value < 1.1 * norm[same].value


@pytest.mark.slow
def test_a_batch_gives_what_its_clips_give_alone(scores):
    metric = make_metric("reverb_consistency")
    metric.load("cpu")
    (alone,) = metric.measure([reference.wave("long_same-human")])
    assert alone.value == pytest.approx(scores["slow"]["long_same-human"].value, rel=1e-5)


@pytest.mark.slow
def test_clips_without_two_windows_have_a_reason_and_their_counts():
    metric = make_metric("reverb_consistency")
    metric.load("cpu")
    long = reference.wave("long_same-human")
    scores = metric.measure(
        [long[: 5 * 16_000 - 1], torch.zeros(6 * 16_000), long[:100], torch.full((9,), torch.nan)]
    )
    assert [score.value for score in scores] == [None] * 4
    assert scores[0].reason == "too short: 5.00 s, two windows need 5.0 s"
    assert scores[1].reason == "silent"
    assert scores[2].details["n_windows"] == 0
    assert scores[3].reason == "audio holds NaN or infinity; export it again, as 16 or 24 bit"


@pytest.mark.medium
def test_windows_can_be_chosen():
    metric = make_metric("reverb_consistency", {"window_s": 1.0, "hop_s": 0.5})
    metric.load("cpu")
    (score,) = metric.measure([reference.wave("human-0880-clean")])
    assert score.details["n_windows"] == 4
    assert score.value > 0


def test_full_windows_only():
    assert list(speech.window_starts(112_000, 48_000, 32_000)) == [0, 32_000, 64_000]
    assert list(speech.window_starts(111_999, 48_000, 32_000)) == [0, 32_000]
    assert list(speech.window_starts(47_999, 48_000, 32_000)) == []


def test_non_speech_share_by_hand():
    parts = [(0, 10), (50, 80)]
    assert speech.non_speech_share(parts, 0, 100) == pytest.approx(0.6)
    assert speech.non_speech_share(parts, 5, 55) == pytest.approx(0.8)
    assert speech.non_speech_share([], 0, 10) == 1.0
    assert speech.non_speech_share(parts, 10, 50) == 1.0
    assert speech.non_speech_share(parts, 60, 70) == 0.0


def test_a_window_with_exactly_60_percent_of_non_speech_stays():
    metric = make_metric("reverb_consistency", {"window_s": 1.0, "hop_s": 1.0})
    assert metric.windows(16_000, [(0, 6_400)]) == [0]
    assert metric.windows(16_000, [(0, 6_399)]) == []


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"variant": "loud"}, "slow_norm30"),
        ({"window_s": 0.1}, "window_s"),
        ({"hop_s": 0}, "hop_s"),
        ({"max_non_speech": 1.5}, "max_non_speech"),
        ({"stride": 2}, "stride"),
        ({"window_s": float("nan")}, "window_s"),
    ],
)
def test_wrong_parameters_are_refused_by_name(parameters, named):
    with pytest.raises(ParameterError, match=named):
        make_metric("reverb_consistency", parameters)


@pytest.mark.slow
def test_details_are_plain_json(scores):
    json.dumps([dict(score.details) for score in scores["slow"].values()], allow_nan=False)
