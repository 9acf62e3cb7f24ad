"""WARP-Q: the numbers of its authors' package, and its warping beside one that is written out."""

import numpy as np
import pytest

from metrics.suite import warp_q
from tests.metrics import paired, reference

PACKAGE = {  # of warpq 1.5.2 with apply_vad=False, rounded by it; np.lib.pad is numpy.pad to it
    "same": 0.606,
    "a little noise": 2.041,
    "a part": 0.614,
    "another voice": 3.3,
}


def clips():
    human = paired.human(8)
    other = reference.wave("long_drift-flite_slt").numpy()[: 6 * paired.RATE_HZ].astype(float)
    return human, {
        "same": human,
        "a little noise": paired.noisy(human, 20),
        "a part": human[8_000:40_000],
        "another voice": other,
    }


@pytest.mark.slow
def test_whole_clips_have_the_numbers_of_the_package():
    metric = paired.loaded("warp_q", speech_only=False)
    human, others = clips()
    found = {name: metric.compare(wave, human).value for name, wave in others.items()}
    assert found == pytest.approx(PACKAGE, abs=6e-4)


def test_patches_are_warped_as_the_recursion_says(monkeypatch):
    rng = np.random.default_rng(3)
    ours, theirs = rng.normal(size=(9, 2)), rng.normal(size=(14, 2))
    monkeypatch.setattr(warp_q, "PATCH", 5)
    monkeypatch.setattr(warp_q, "HOP", 4)

    def least(patch):
        cost = np.linalg.norm(patch[:, None] - theirs, axis=2)
        total = np.full(cost.shape, np.inf)
        total[0] = cost[0]
        for i in range(1, len(patch)):
            for j in range(len(theirs)):
                before = [total[i - 1, j]]
                if j >= 3:
                    before += [total[i - 1, j - 3], total[i, j - 3]]
                total[i, j] = cost[i, j] + min(before)
        return total[-1].min() / 5

    wanted = [least(ours[start : start + 5]) for start in (0, 4)]
    assert warp_q.patch_costs(ours, theirs) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.slow
def test_pauses_do_not_count_and_too_little_speech_is_a_reason(tmp_path):
    metric = paired.loaded("warp_q")
    human = paired.human(4)
    paused = np.concatenate([human[:32_000], np.zeros(24_000), human[32_000:]])
    whole, cut = (metric.compare(wave, human) for wave in (human, paused))
    assert cut.value == pytest.approx(whole.value, abs=0.05)
    assert metric.compare(human[:4_000], human).reason == "the clip has 0.00 s of speech"
    assert "too long: 121 s" in metric.compare(np.ones(121 * 16_000), human).reason
