"""Distill-MOS gives its package's numbers, whatever the lengths in a batch."""

import pytest

from metrics.core.lazy_torch import torch
from metrics.core.metric import make_metric
from metrics.suite import distillmos
from tests.metrics import reference

# A float32 network that magnifies what is nearly silent: sums in another order, on another
# processor, move a value by 1.4e-5. One sample off moves it by 5e-3 and more.
ROUNDING = 2e-4
SHORT = ("human-0880-clean", "human-0930-rt08", "flite_slt-0930-pink10", "flite_rms-0920-clean")


@pytest.fixture(scope="module")
def metric():
    made = make_metric("distillmos")
    made.load("cpu")
    return made


@pytest.fixture(scope="module")
def short(metric):
    """Values of the short clips, measured in one batch."""
    return [score.value for score in metric.measure([reference.wave(clip) for clip in SHORT])]


def expected(clip):
    rows = {row["clip"]: row for row in reference.rows("predictors.csv")}
    return float(rows[clip]["distillmos"])


@pytest.mark.slow
def test_short_clips_have_the_package_s_values_in_one_batch(short):
    assert short == pytest.approx([expected(clip) for clip in SHORT], abs=ROUNDING)


@pytest.mark.slow
def test_a_clip_of_several_segments_has_the_package_s_mean_over_its_own(metric, monkeypatch):
    wave = reference.wave("long_same-human")[:123_500]
    (score,) = metric.measure([wave])
    monkeypatch.setattr(metric.model, "segmenting_in_forward", True)
    with torch.inference_mode():
        theirs = float(metric.model(wave[None]))
    assert score.value == pytest.approx(theirs, abs=ROUNDING)
    assert score.details["segments"] == 2


@pytest.mark.soak
def test_a_long_clip_has_the_package_s_value(metric):
    (score,) = metric.measure([reference.wave("long_same-human")])
    assert score.value == pytest.approx(expected("long_same-human"), abs=ROUNDING)
    assert score.details["segments"] == 37


@pytest.mark.slow
def test_batches_of_several_segments_give_the_same_values(metric, short, monkeypatch):
    monkeypatch.setitem(distillmos.AT_ONCE, "cpu", 2)
    scores = metric.measure([reference.wave(clip) for clip in SHORT[:2]])
    assert [score.value for score in scores] == pytest.approx(short[:2], abs=ROUNDING)


def test_segments_are_those_of_the_package():
    assert [p.start for p in distillmos.segments(0, 122_880)] == [0]
    assert [p.start for p in distillmos.segments(0, 122_881)] == [0, 1]
    long = distillmos.segments(3, 160_000)
    assert [p.start for p in long] == [0, 12_373, 24_746, 37_120]
    assert {p.samples for p in long} == {122_880}


@pytest.mark.slow
def test_a_human_sounds_better_than_a_synthesiser_and_than_in_a_room(short):
    human, rt08, noisy, synthesiser = short
    assert human > synthesiser > noisy
    assert human > rt08


def test_clips_without_a_value_say_why(metric):
    scores = metric.measure([torch.ones(1_000) / 2, torch.zeros(16_000)])
    assert [score.reason for score in scores] == ["too short: 0.06 s, 0.1 s are needed", "silent"]
    assert [score.value for score in scores] == [None, None]
    assert set(metric.weights) == {"distill_mos_v7.pt"}
