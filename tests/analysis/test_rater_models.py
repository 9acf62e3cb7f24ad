"""Models of raters against what was simulated, and against a computation of their own."""

import numpy as np
import pytest
from scipy import stats

from analysis.ratings.table import from_rows
from analysis.statistics.options import Options
from analysis.statistics.rater_models import dawid_skene, severity
from analysis.statistics.screening.rule_text import rule_from
from tests.analysis.part_of import part_of, rows_of_table
from tests.analysis.reference import BLANK

UNITS, RATERS, LABELS = 60, 24, 3


@pytest.fixture(scope="module")
def crowd():
    """Labels of 24 raters, of whom the last six guess; the truth, and scores of the same crowd."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, LABELS, UNITS)
    unit, rater = np.divmod(np.arange(UNITS * RATERS), RATERS)
    careful = rater < RATERS - 6
    right = rng.random(len(unit)) < np.where(careful, 0.75, 0.0)
    label = np.where(right, truth[unit], rng.integers(0, LABELS, len(unit)))
    bias, noise = rng.normal(0, 0.4, RATERS), np.where(np.arange(RATERS) < RATERS - 6, 0.5, 1.5)
    quality = rng.normal(3, 0.7, UNITS)
    y = quality[unit] + bias[rater] + noise[rater] * rng.normal(size=len(unit))
    return {"truth": truth, "unit": unit, "rater": rater, "label": label} | {
        "y": y, "bias": bias - bias.mean(), "noise": noise, "quality": quality,
    }  # fmt: skip


def test_dawid_and_skene_is_a_fixed_point_of_their_equations(crowd):
    """Every quantity computed anew by loops from the others, as equations 2.3 to 2.5 have it."""
    unit, rater, label = crowd["unit"], crowd["rater"], crowd["label"]
    model = dawid_skene(unit, rater, label, LABELS)
    assert model.converged
    assert (model.posterior.argmax(axis=1) == crowd["truth"]).mean() > 0.95
    for r in range(0, RATERS, 7):
        for k in range(LABELS):
            own = [
                (model.posterior[u, k], g)
                for u, w, g in zip(unit, rater, label, strict=True)
                if w == r
            ]
            total = sum(weight for weight, _ in own)
            for g in range(LABELS):
                share = sum(weight for weight, given in own if given == g) / total
                assert model.confusion[r, k, g] == pytest.approx(share, abs=1e-3)
    for u in range(0, UNITS, 13):
        chance = [
            model.prior[k]
            * np.prod(
                [
                    model.confusion[r, k, g]
                    for v, r, g in zip(unit, rater, label, strict=True)
                    if v == u
                ]
            )
            for k in range(LABELS)
        ]
        assert model.posterior[u] == pytest.approx(np.array(chance) / sum(chance), abs=1e-3)


def test_who_guesses_is_found_by_the_model_of_labels(crowd):
    model = dawid_skene(crowd["unit"], crowd["rater"], crowd["label"], LABELS, pseudo=0.5)
    assert model.informedness[:-6].min() > model.informedness[-6:].max()


@pytest.mark.medium
def test_severity_and_noise_cover_what_was_simulated(crowd):
    model = severity(crowd["unit"], crowd["rater"], crowd["y"])
    inside = (model.bias_low < crowd["bias"]) & (crowd["bias"] < model.bias_high)
    assert inside.mean() > 0.8
    inside = (model.noise_low < crowd["noise"]) & (crowd["noise"] < model.noise_high)
    assert inside.mean() > 0.8
    assert model.weight[:-6].min() > model.weight[-6:].max()
    assert stats.pearsonr(model.quality, crowd["quality"]).statistic > 0.97


@pytest.mark.medium
def test_the_part_compares_models_with_rules(crowd):
    rows = [
        BLANK
        | {"session": f"r{r}", "rater": f"r{r}", "item": f"i{u}", "stimulus": f"x{u}"}
        | {"condition": f"c{u % 2}", "score": float(label + 1), "label": str(label + 1)}
        | {"latency_ms": 400 if r >= RATERS - 6 else 4000}
        for u, r, label in zip(crowd["unit"], crowd["rater"], crowd["label"], strict=True)
    ]
    options = Options(rules=(rule_from("answer_time:minimum_ms=1000"),))
    shown = part_of("rater_models", from_rows(rows), options)
    (row,) = rows_of_table(shown, "rater_models_rules")
    assert (row["rule"], row["taken"], row["kept"]) == ("answer_time", 6, RATERS - 6)
    assert row["informedness"] == 1.0
    raters = rows_of_table(shown, "rater_models_raters")
    assert {each["rater"] for each in raters[:6]} == {f"r{r}" for r in range(RATERS - 6, RATERS)}
    assert (
        "6 raters of 24 have an informedness below 0.5 (the rules take 6 of these"
        in shown["sentences"][0]
    )
