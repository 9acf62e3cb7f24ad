"""SRMR gives the numbers of SRMRpy, and nearly those of torchmetrics."""

import warnings

import numpy as np
import pytest

from metrics.core.lazy_torch import torch
from metrics.signal import srmr
from tests.metrics import reference

# Promised where K* is not on the step. What float32 leaves out makes 2.7e-5 of it on every
# processor; sums in another order add 2e-7.
FLOAT32 = 5e-5
FLOAT64 = 1e-9
ON_THE_STEP = 0.01  # percentage points between the cumulative energy and 90 %


def compare(rows, variant, precision):
    """Relative errors of `rows` of windows.csv, and the results."""
    waves = torch.stack([reference.cut(row) for row in rows])
    results = srmr.srmr(waves, variant, precision)
    wanted = np.array([float(row[f"srmr_{variant}"]) for row in rows])
    return np.abs(np.array([result.value for result in results]) / wanted - 1), results


@pytest.mark.slow
@pytest.mark.parametrize("variant", reference.VARIANTS)
def test_float32_windows_agree_with_srmrpy(variant):
    rows = reference.rows("windows.csv")
    rows = rows[::2] if variant in ("slow", "fast") else rows[::6]
    errors, results = compare(rows, variant, "float32")
    clear = np.array([float(row[f"k90margin_{variant}"]) > ON_THE_STEP for row in rows])
    assert clear.sum() > 0.9 * len(rows)
    assert errors[clear].max() < FLOAT32
    chosen = np.array([result.k_star for result in results])
    wanted = np.array([int(row[f"kstar_{variant}"]) for row in rows])
    assert (chosen == wanted)[clear].all()
    if variant == "slow":
        assert {7, 8} <= set(wanted)  # both sides of the step are in the data


@pytest.mark.slow
@pytest.mark.parametrize("variant", reference.VARIANTS)
def test_float64_windows_agree_with_srmrpy_to_nine_digits(variant):
    rows = reference.rows("windows.csv")
    rows.sort(key=lambda row: float(row[f"k90margin_{variant}"]))
    rows = [rows[0], rows[-1]]  # the closest to the step and the farthest from it
    errors, results = compare(rows, variant, "float64")
    assert errors.max() < FLOAT64
    for result, row in zip(results, rows, strict=True):
        assert result.k_star == int(row[f"kstar_{variant}"])
        assert result.k90_margin == pytest.approx(float(row[f"k90margin_{variant}"]), abs=1e-8)


@pytest.mark.soak
@pytest.mark.no_cover
@pytest.mark.parametrize("variant", reference.VARIANTS)
def test_float64_windows_near_the_step_and_every_fourth_agree_to_nine_digits(variant):
    rows = reference.rows("windows.csv")
    rows.sort(key=lambda row: float(row[f"k90margin_{variant}"]))
    errors, _ = compare(rows[:6] + rows[6::4], variant, "float64")
    assert errors.max() < FLOAT64


@pytest.mark.slow
@pytest.mark.parametrize(("precision", "tolerance"), [("float32", FLOAT32), ("float64", FLOAT64)])
@pytest.mark.parametrize("variant", reference.VARIANTS)
def test_whole_clips_of_any_length_agree_with_srmrpy(variant, precision, tolerance):
    rows = [row for row in reference.rows("clips.csv") if int(row["n_samples"]) < 60_000]
    rows.sort(key=lambda row: int(row["n_samples"]) % 16 == 0)
    assert int(rows[0]["n_samples"]) % 16
    for row in rows[: 2 if precision == "float32" else 1]:
        waves = reference.wave(row["clip"]).unsqueeze(0)
        (result,) = srmr.srmr(waves, variant, precision)
        assert result.value == pytest.approx(float(row[f"srmr_{variant}"]), rel=tolerance)
        assert result.k_star == int(row[f"kstar_{variant}"])


@pytest.mark.slow
def test_a_clip_of_44_seconds_agrees_with_srmrpy():
    (result,) = srmr.srmr(reference.wave("long_same-human").unsqueeze(0), "slow")
    wanted = float(reference.clip_row("long_same-human")["srmr_slow"])
    assert result.value == pytest.approx(wanted, rel=FLOAT32)


@pytest.mark.slow
@pytest.mark.parametrize(("norm", "variant"), [(False, "slow"), (True, "slow_norm30")])
def test_torchmetrics_agrees_to_its_window(norm, variant):
    """torchmetrics' Hamming window has a period of 4,097 samples, hence the tolerance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torchmetrics.functional.audio import (
            speech_reverberation_modulation_energy_ratio as second_opinion,
        )

        clip = reference.wave("human-0930-rt08")[8_000:30_000].double()
        wanted = second_opinion(clip, 16_000, norm=norm).item()
    (result,) = srmr.srmr(clip.unsqueeze(0), variant, "float64")
    assert result.value == pytest.approx(wanted, rel=2e-4)
