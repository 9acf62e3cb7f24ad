"""Mel-cepstra, warping in time, and distances of spectrum, F0 and voicing."""

import math

import numpy as np
import pytest

from metrics.core.metric import ParameterError, make_metric
from metrics.signal import world
from metrics.suite import mcd
from metrics.suite.mcd import f0_differences
from tests.metrics import paired


def least_cost(first, second):
    """Of any path, cell by cell."""
    distance = np.linalg.norm(first[:, None] - second[None], axis=2)
    total = np.full((len(first) + 1, len(second) + 1), np.inf)
    total[0, 0] = 0
    for i, j in np.ndindex(distance.shape):
        total[i + 1, j + 1] = distance[i, j] + min(total[i, j], total[i, j + 1], total[i + 1, j])
    return total[-1, -1]


def test_warping_is_the_cheapest_path():
    rng = np.random.default_rng(3)
    for n, m in ((1, 1), (1, 7), (40, 61), (80, 33)):
        first, second = rng.normal(size=(n, 4)).cumsum(0), rng.normal(size=(m, 4)).cumsum(0)
        path = mcd.warping_path(first, second)
        cost = np.linalg.norm(first[path[:, 0]] - second[path[:, 1]], axis=1).sum()
        assert cost == pytest.approx(least_cost(first, second), rel=1e-12)
        assert path[0].tolist() == [0, 0]
        assert path[-1].tolist() == [n - 1, m - 1]
        assert {tuple(step) for step in np.diff(path, axis=0)} <= {(0, 1), (1, 0), (1, 1)}


def test_a_mel_cepstrum_gives_back_the_log_spectrum_at_warped_frequencies():
    size, alpha, order = 512, 0.42, 60
    omega = np.linspace(0, np.pi, size // 2 + 1)
    log_amplitude = 1.5 + np.cos(omega) - 0.3 * np.cos(3 * omega)
    (mel,) = world.mel_cepstra(np.exp(2 * log_amplitude)[None], order, alpha)
    warped = omega + 2 * np.arctan2(alpha * np.sin(omega), 1 - alpha * np.cos(omega))
    again = np.cos(np.outer(warped, np.arange(order + 1))) @ mel
    assert again == pytest.approx(log_amplitude, abs=1e-6)


def test_without_warping_the_mel_cepstrum_is_the_cepstrum():
    envelope = np.exp(np.random.default_rng(1).normal(size=(3, 257)))
    cepstra = np.fft.irfft(np.log(envelope))[:, :6]
    cepstra[:, 0] /= 2
    assert world.mel_cepstra(envelope, 5, 0.0) == pytest.approx(cepstra)


@pytest.mark.slow
def test_a_copy_is_no_distance_away_and_its_volume_does_not_count():
    metric, clean = make_metric("mcd"), paired.human(1)
    same = metric.compare(clean * 0.5, clean)
    assert same.value == pytest.approx(0, abs=1e-6)
    assert same.also["vuv_error"] == 0
    assert same.also["log_f0_rmse"] == pytest.approx(0, abs=1e-9)
    assert same.also["f0_correlation"] == pytest.approx(1)
    louder = make_metric("mcd", {"level": True, "align": "none"}).compare(clean * 0.5, clean)
    expected = 10 / math.log(10) * math.sqrt(2) * math.log(2)  # of c0 alone: a factor of two
    assert louder.value == pytest.approx(expected, rel=1e-3)


@pytest.mark.slow
def test_speech_that_is_slower_is_warped_and_a_higher_voice_is_heard():
    clean = paired.human(1)
    x = np.arange(len(clean))
    higher = np.interp(np.arange(0, len(clean), 1.25), x, clean)  # quicker, 1.25 times as high
    warped = make_metric("mcd").compare(higher, clean)
    plain = make_metric("mcd", {"align": "none"}).compare(higher, clean)
    assert warped.value < plain.value
    assert warped.also["log_f0_rmse"] == pytest.approx(math.log(1.25), abs=0.05)
    assert warped.details["length_ratio"] == pytest.approx(0.8, abs=0.01)


def test_f0_is_compared_where_both_are_voiced():
    ours = np.array([0.0, 100, 200] + [110.0, 220] * 6)
    theirs = np.array([100.0, 0, 200] + [100.0, 200] * 6)
    found = f0_differences(ours, theirs)
    assert found["vuv_error"] == pytest.approx(2 / 15)
    assert found["f0_rmse"] == pytest.approx(math.sqrt((0 + 6 * 100 + 6 * 400) / 13))
    assert found["log_f0_rmse"] == pytest.approx(math.log(1.1) * math.sqrt(12 / 13))
    assert found["f0_correlation"] == pytest.approx(np.corrcoef(ours[2:], theirs[2:])[0, 1])


@pytest.mark.medium
def test_what_f0_lacks_is_said():
    metric = make_metric("mcd")
    score = metric.compare(*(np.random.default_rng(n).normal(size=16_000) * 0.1 for n in (1, 2)))
    named = metric.by_output(score)
    assert named["mcd"].value > 0
    assert "both voice" in named["f0_rmse"].reason


@pytest.mark.parametrize(
    "wrong", [{"align": "lag"}, {"order": 0}, {"alpha": 1}, {"threshold_db": 3}, {"f0_low_hz": 900}]
)
def test_wrong_parameters_are_named(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        make_metric("mcd", wrong)


def test_a_clip_too_long_to_warp_says_so():
    wave = np.ones(121 * 16_000)
    assert "too long: 121 s" in make_metric("mcd").compare(wave, wave).reason
