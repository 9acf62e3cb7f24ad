"""Distances of sets: closed forms, intervals over clips, and the command that prints them."""

import io

import numpy as np
import pytest
import soundfile
from django.core.management import CommandError, call_command

from metrics.distribution import SetMetric, distances
from tests.metrics import paired

PRDC = {"density": 1.655, "coverage": 0.99}
FAD, KID = SetMetric.registry["fad"](), SetMetric.registry["kid"]()


def test_the_frechet_distance_of_normal_sets_is_its_closed_form():
    from scipy.linalg import sqrtm

    rng = np.random.default_rng(4)
    ours = rng.normal(size=(300, 6)) @ rng.normal(size=(6, 6)) + 1
    theirs = rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6))
    one, other = np.cov(ours, rowvar=False), np.cov(theirs, rowvar=False)
    apart = ours.mean(0) - theirs.mean(0)
    by_hand = apart @ apart + np.trace(one + other - 2 * sqrtm(one @ other).real)
    assert FAD.distance(ours, theirs) == pytest.approx(by_hand, rel=1e-9)
    assert FAD.distance(ours, ours) == pytest.approx(0, abs=1e-9)
    assert FAD.distance(ours + 3, ours) == pytest.approx(54, rel=1e-9)


def test_the_kernel_distance_is_its_definition_and_nought_on_average():
    rng = np.random.default_rng(5)
    ours, theirs = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)) + 1

    def mean(one, other, same):
        values = [
            (x @ y / 3 + 1) ** 3
            for i, x in enumerate(one)
            for j, y in enumerate(other)
            if not (same and i == j)
        ]
        return sum(values) / len(values)

    by_hand = mean(ours, ours, True) + mean(theirs, theirs, True) - 2 * mean(ours, theirs, False)
    assert KID.distance(ours, theirs) == pytest.approx(by_hand, rel=1e-12)
    equal = [KID.distance(*rng.normal(size=(2, 20, 3))) for _ in range(400)]
    assert abs(np.mean(equal)) < 4 * np.std(equal) / 20


@pytest.mark.medium
def test_density_and_coverage_are_their_definition():
    """The numbers are those of the authors' package (prdc 0.2), for these vectors."""
    rng = np.random.default_rng(0)
    ours = rng.normal(size=(80, 12))
    theirs = rng.normal(size=(100, 12)) * 1.2 + 0.3
    density, coverage = SetMetric.registry["density"](), SetMetric.registry["coverage"]()
    assert density.distance(ours, theirs) == pytest.approx(PRDC["density"], abs=1e-12)
    assert coverage.distance(ours, theirs) == pytest.approx(PRDC["coverage"], abs=1e-12)
    assert (density.distance(ours + 9, theirs), coverage.distance(ours + 9, theirs)) == (0, 0)
    assert coverage.distance(theirs, theirs) == 1
    equal = [density.distance(*rng.normal(size=(2, 200, 3))) for _ in range(20)]
    assert np.mean(equal) == pytest.approx(1, abs=0.05)
    spread = distances(coverage, [row[None] for row in ours], [row[None] for row in theirs])
    assert 0 <= spread.low <= spread.value <= spread.high == 1
    assert "9 vectors: 50" in coverage.few_vectors_warning(ours[:9], theirs)


def test_the_divergence_of_normal_sets_is_its_closed_form():
    """Of many vectors the shrinkage vanishes; two spheres have a form without matrices."""
    rng = np.random.default_rng(1)
    kl = SetMetric.registry["kl"]()
    ours, theirs = rng.normal(size=(40_000, 3)) * 2, rng.normal(size=(40_000, 3)) + 1
    by_hand = (3 * 4 - 3 + 3 - 3 * np.log(4)) / 2  # variances 4 and 1, means 1 apart in each
    assert kl.distance(ours, theirs) == pytest.approx(by_hand, rel=0.03)
    assert kl.distance(theirs, ours) == pytest.approx(
        (3 / 4 - 3 + 3 / 4 + 3 * np.log(4)) / 2, rel=0.03
    )
    assert kl.distance(ours, ours) == pytest.approx(0, abs=1e-9)
    assert (
        distances(kl, [ours[:1]] * 4, [theirs[:9]] * 3).warning == "too few vectors, or all alike"
    )
    few = rng.normal(size=(6, 20))  # fewer than dimensions: shrunk, not infinite
    assert 0 < kl.distance(few, theirs[:6] @ np.ones((3, 20))) < np.inf


@pytest.mark.medium
def test_the_interval_is_over_clips_and_small_sets_are_warned_of():
    rng = np.random.default_rng(6)
    clips = [rng.normal(size=3) + 0.01 * rng.normal(size=(30, 3)) for _ in range(8)]
    found = distances(FAD, clips, [clip + 1 for clip in clips])
    assert (found.clips, found.vectors, found.warning) == (8, 240, "")
    assert found.low < found.value < found.high
    windows = [row[None] for row in np.concatenate(clips)]  # as if each window were a clip
    narrow = distances(FAD, windows, [row + 1 for row in windows])
    assert narrow.high - narrow.low < (found.high - found.low) / 2
    assert "3 vectors for 3 dimensions: 6" in distances(FAD, windows[:3], windows[:3]).warning
    assert distances(FAD, windows[:1], windows).value is None


@pytest.mark.parametrize("metric", [KID, FAD])
@pytest.mark.medium
def test_the_interval_is_as_wide_as_distances_spread(metric):
    rng = np.random.default_rng(7)

    def drawn():
        clips = [rng.normal(size=3) + 0.3 * rng.normal(size=(2, 3)) for _ in range(20)]
        return distances(metric, clips, [rng.normal(size=(2, 3)) + 2 for _ in range(20)])

    found = [drawn() for _ in range(60)]
    spread = np.std([one.value for one in found])
    margin = np.median([one.high - one.value for one in found])
    assert margin == pytest.approx(1.96 * spread, rel=0.35)


@pytest.mark.slow
def test_conditions_are_compared_with_a_reference_and_what_is_left_out_is_named(tmp_path):
    wave = paired.human(8)
    noisy = paired.noisy(wave, 0)
    for condition, samples in (("human", wave), ("again", wave), ("noisy", noisy)):
        (tmp_path / condition).mkdir()
        for n in range(3):
            part = samples[n * 40_000 : (n + 1) * 40_000]
            soundfile.write(tmp_path / condition / f"{n}.wav", part, 16_000)
    soundfile.write(tmp_path / "noisy" / "silent.wav", np.zeros(16_000), 16_000)
    out, err = io.StringIO(), io.StringIO()
    call_command("compare_sets", str(tmp_path), reference="human", stdout=out, stderr=err)
    lines = {
        tuple(line.split()[:2]): float(line.split()[2]) for line in out.getvalue().splitlines()
    }
    assert lines["again", "fad[resemblyzer]"] == pytest.approx(0, abs=1e-6)
    assert lines["noisy", "fad[resemblyzer]"] > 0.1
    assert lines["noisy", "kid[resemblyzer]"] > lines["again", "kid[resemblyzer]"]
    assert " vectors for 256 dimensions" in out.getvalue()
    assert "silent.wav: silent or too short" in err.getvalue()
    with pytest.raises(CommandError, match=r"no condition \(again, human, noisy\) and no file"):
        call_command("compare_sets", str(tmp_path), reference="gone")
