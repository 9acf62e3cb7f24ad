"""Score by bit rate: the monotone curve, the equivalent rate, and how often its interval holds."""

from __future__ import annotations

from dataclasses import replace
from math import inf, log
from typing import Any

import numpy as np
import pytest

from analysis.ratings.table import from_rows
from analysis.report.parts.rate_curve import RateCurve
from analysis.statistics.options import Options
from analysis.statistics.rate_curve import equivalent_rate, monotone_fit, rate_interval
from tests.analysis.part_of import given_of
from tests.analysis.reference import BLANK

RATES = {"codec8": 8.0, "codec12": 12.0, "codec16": 16.0, "codec24": 24.0}
TRUE = {"codec8": 30.0, "codec12": 50.0, "codec16": 65.0, "codec24": 80.0}
OTHERS = {"ref": 95.0, "other": 57.5, "poor": 10.0, "good": 92.0}
AT = float(np.sqrt(12 * 16))  # where the true curve is 57.5: half way in log rate


def facts(rates: dict[str, Any] = RATES) -> Any:
    conditions = [
        {"condition": name, "label": "", "system": "codec", "attributes": {"bitrate_kbps": rate}}
        for name, rate in rates.items()
    ]
    plain = [{"condition": n, "label": "", "system": n, "attributes": {}} for n in OTHERS]
    return {"conditions": [*conditions, *plain]}


def ratings(seed: int, raters: int = 16, items: int = 8, noise: float = 12.0) -> Any:
    """MUSHRA scores with effects of raters, items and their tastes around the true means."""
    rng = np.random.default_rng(seed)
    truth = {**TRUE, **OTHERS}
    rater, item = rng.normal(0, 4, raters), rng.normal(0, 4, items)
    taste = rng.normal(0, 4, (raters, len(truth)))
    fit = rng.normal(0, 4, (items, len(truth)))
    rows = [
        {
            **{"rater": f"r{r}", "session": f"r{r}", "item": f"i{i}", "condition": name},
            **{"method": "mushra", "estimand": "mushra", "stimulus": f"{name}_{i}"},
            "role": "reference" if name == "ref" else "test",
            "score": mean + rater[r] + item[i] + taste[r, c] + fit[i, c] + rng.normal(0, noise),
        }
        for r in range(raters)
        for i in range(items)
        for c, (name, mean) in enumerate(truth.items())
    ]
    return from_rows([{**BLANK, **row} for row in rows])


def made(table: Any, rates: dict[str, Any] = RATES, replicates: int = 300) -> Any:
    inputs = replace(given_of(table, Options(replicates=replicates)), facts=facts(rates))
    assert RateCurve().applies(inputs)
    return RateCurve().make(inputs)


def test_the_curve_pools_what_falls_as_by_hand() -> None:
    """Pool adjacent violators: 3 and 1 with weights 1 and 3 make 1.5, which is below 2."""
    fitted = monotone_fit(np.array([3.0, 1.0, 2.0, 5.0]), np.array([1.0, 3.0, 1.0, 1.0]))
    assert fitted.tolist() == [1.5, 1.5, 2.0, 5.0]


def test_the_equivalent_rate_is_linear_in_log_rate_and_says_when_it_is_outside() -> None:
    rates, fitted = np.array([8.0, 16.0, 32.0]), np.array([20.0, 60.0, 60.0])
    assert equivalent_rate(rates, fitted, 40.0) == pytest.approx(np.sqrt(8 * 16))
    assert equivalent_rate(rates, fitted, 20.0) == 8.0
    assert equivalent_rate(rates, fitted, 60.0) == 16.0  # the lowest that reaches it
    assert equivalent_rate(rates, fitted, 19.9) == -inf
    assert equivalent_rate(rates, fitted, 60.1) == inf
    assert np.isnan(equivalent_rate(rates, fitted, np.nan))


def test_ends_of_an_interval_may_be_outside_and_none_are_made_up() -> None:
    found = rate_interval(np.array([-inf] * 5 + [10.0] * 90 + [inf] * 5), 0.95)
    assert found == (-inf, inf)
    assert rate_interval(np.array([9.0, *[10.0] * 97, inf, inf]), 0.9) == (10.0, 10.0)
    assert rate_interval(np.array([np.nan] * 20 + [1.0] * 80), 0.95) is None


@pytest.mark.medium
def test_the_report_has_the_curve_and_the_rate_of_each_other_condition() -> None:
    content = made(ratings(3))
    curve, equivalent = content.tables
    assert [row["condition"] for row in curve.rows] == list(RATES)
    fitted = [row["fitted"] for row in curve.rows]
    assert fitted == sorted(fitted)
    for row in curve.rows:
        assert row["low"] < row["value"] < row["high"]
        assert row["value"] == pytest.approx(TRUE[row["condition"]], abs=8)
    found = {row["condition"]: row for row in equivalent.rows}
    assert set(found) == {"other", "poor", "good"}  # the reference is at no rate
    assert found["other"]["rate_low"] < AT < found["other"]["rate_high"]
    assert (found["poor"]["equivalent"], found["poor"]["interval"]) == ("below 8", "below 8")
    assert (found["good"]["equivalent"], found["good"]["rate"]) == ("above 24", None)
    (sentence,) = content.sentences
    assert "kbit/s (95% CI: " in sentence
    (figure,) = content.figures
    assert {row["group"] for row in figure.rows} == {"codec"}  # the means rise by themselves


@pytest.mark.medium
def test_means_that_fall_are_pooled_and_both_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TRUE, "codec16", 40.0)
    content = made(ratings(4))
    by_name = {row["condition"]: row for row in content.tables[0].rows}
    assert by_name["codec16"]["value"] < by_name["codec12"]["value"]
    pooled = (by_name["codec12"]["value"] + by_name["codec16"]["value"]) / 2  # equal weights
    assert by_name["codec12"]["fitted"] == pytest.approx(pooled)
    assert by_name["codec16"]["fitted"] == pytest.approx(pooled)
    groups = {row["group"] for row in content.figures[0].rows}
    assert groups == {"codec", "codec, monotone curve"}


@pytest.mark.medium
def test_there_is_no_curve_of_two_rates_or_of_words() -> None:
    table = ratings(1, raters=3, items=2)
    for rates in ({"codec8": "8", "codec12": "12"}, dict.fromkeys(RATES, "fast"), {}):
        assert not RateCurve().applies(replace(given_of(table), facts=facts(rates)))
    assert not RateCurve().applies(given_of(table))


def coverage(studies: int) -> float:
    """How often the interval holds the true equivalent rate."""
    hits = 0
    for seed in range(studies):
        (row,) = [
            each
            for each in made(ratings(1000 + seed)).tables[1].rows
            if each["condition"] == "other"
        ]
        low = row["rate_low"] if row["rate_low"] is not None else 0.0
        high = row["rate_high"] if row["rate_high"] is not None else inf
        hits += log(low or 1e-9) <= log(AT) <= (log(high) if high < inf else inf)
    return hits / studies


@pytest.mark.slow
def test_the_interval_of_the_equivalent_rate_holds_in_most_simulated_studies() -> None:
    assert coverage(30) >= 0.85


@pytest.mark.soak
def test_the_interval_of_the_equivalent_rate_is_not_too_narrow() -> None:
    """Over raters and items drawn together the bootstrap is conservative (Owen 2007)."""
    assert 0.94 <= coverage(400) <= 1.0
