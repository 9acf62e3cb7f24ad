"""Coefficients of signed pair scores: the same whichever side of a pair is named first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.ratings.breakdowns import families
from analysis.ratings.metric_scores import scores_from_file
from analysis.ratings.table import from_rows, read_csv
from analysis.report.part import PartInput
from analysis.report.parts.against_people import AgainstPeople
from analysis.report.parts.agreement import rows_of
from analysis.statistics.agreement.noise_ceiling import noise_ceiling
from analysis.statistics.agreement.rating_units import rated_units
from analysis.statistics.agreement.versus_rest import versus_rest
from analysis.statistics.correlations import in_both_orders, signed_ranks
from analysis.statistics.metric_agreement.metric_ceiling import one_against_others
from analysis.statistics.metric_agreement.metric_correlations import (
    CorrelationOptions,
    correlations,
    p_over_systems,
)
from analysis.statistics.metric_agreement.metric_units import CONDITION, STIMULUS, units_of
from analysis.statistics.options import Options
from analysis.statistics.screening.screened import screen
from tests.analysis.reference import BLANK, DATA
from tests.analysis.shown_by import in_keys

CASE = DATA / "pair_orientation"
METRIC = "judge_prosodic_coherence"
SIDES = {"condition": "versus_condition", "stimulus": "versus_stimulus"}


def flipped(table: pd.DataFrame, which: Callable[[str, str], bool], middle: float) -> pd.DataFrame:
    """The same answers, with the other side named first where ``which`` says so."""
    pairs = zip(table["condition"], table["versus_condition"], strict=True)
    turned = np.array([which(str(a), str(b)) for a, b in pairs])
    made = table.copy()
    for one, other in SIDES.items():
        made[one] = np.where(turned, table[other], table[one])
        made[other] = np.where(turned, table[one], table[other])
    made["score"] = np.where(turned, 2 * middle - table["score"], table["score"])
    return made


def preferences(method: str = "preference") -> pd.DataFrame:
    """The case's answers; as AB, ties go to the side that is named first by the alphabet."""
    table = read_csv(CASE / "preferences.csv").table
    if method == "ab":
        first = table["condition"].astype(str) < table["versus_condition"].astype(str)
        wins = (table["score"] > 0) | ((table["score"] == 0) & first)
        table = table.assign(score=wins.astype(float), estimand="ab", method="ab")
    return table


NAMINGS: dict[str, Callable[[str, str], bool]] = {
    "as given": lambda a, b: False,
    "the worse first": lambda a, b: a > b,
    "the better first": lambda a, b: a < b,
    "all turned": lambda a, b: True,
}


def numbers(table: pd.DataFrame) -> dict[str, Any]:
    """Every coefficient of the case's metric, the ceilings, and raters against the others."""
    (family,) = families(table)
    units = units_of(family)
    scores = scores_from_file(CASE / "scores.csv")
    values = {METRIC: units.values(scores.set_index("stimulus")["value"])}
    found = correlations(units, values, CorrelationOptions(replicates=300, seed=(1,), mapped=False))
    made: dict[str, Any] = {
        f"{each.unit} {each.statistic}": (each.value, each.low, each.high, each.p, each.n)
        for each in found
    }
    rated = rated_units(family)
    for statistic in ("pearson", "spearman"):
        _, _, top = noise_ceiling(
            *(units.unit, units.rater, units.score),
            statistic=statistic,
            neutral=rated.neutral,
            replicates=50,
        )
        made[f"ceiling {statistic}"] = (top.value, top.low, top.high)
    made |= {f"raters {each.statistic}": [each.value] for each in one_against_others(units)}
    rest = versus_rest(*(rated.unit, rated.rater, rated.score), neutral=rated.neutral, replicates=0)
    coefficients = [each for each in rest if each.measure in ("plcc", "srcc", "krcc")]
    made |= {f"{each.rater} {each.measure}": [each.value] for each in coefficients}
    return made


@pytest.mark.slow
@pytest.mark.parametrize(("method", "middle"), [("preference", 0.0), ("ab", 0.5)])
def test_nothing_depends_on_which_side_is_named_first(method: str, middle: float) -> None:
    """The shared case: SRCC .82 with the worse side first, .94 with sides in turn."""
    table = preferences(method)
    made = {name: numbers(flipped(table, which, middle)) for name, which in NAMINGS.items()}
    given_ = made["as given"]
    assert given_[f"{STIMULUS} srcc"][4] == 50  # pairs, each counted once
    assert given_[f"{CONDITION} srcc"][4] == 10
    for name, of in made.items():
        assert of.keys() == given_.keys(), name
        for key, value in of.items():
            assert value == pytest.approx(given_[key], abs=1e-9), (name, key)


@pytest.mark.medium
@pytest.mark.parametrize("baseline", [False, True])
def test_agreement_does_not_depend_on_the_names_of_conditions(baseline: bool) -> None:
    table = preferences()
    if baseline:  # one whose name is neither the first nor the last by the alphabet
        common = sorted(set(table["condition"]) | set(table["versus_condition"]))[2]
        table = table[(table["condition"] == common) | (table["versus_condition"] == common)]
    other_names = table.copy()
    for each in SIDES.items():
        for column in each:  # the last by the alphabet becomes the first
            other_names[column] = [f"{9 - int(text[1])}{text}" for text in table[column]]
    made = []
    for rows in (table, other_names, *(flipped(table, which, 0.0) for which in NAMINGS.values())):
        inputs = PartInput(rows, screen(rows), Options(seed=1, replicates=100))
        (family,) = families(rows)
        made.append({row["statistic"]: row["value"] for row in rows_of(family, inputs)})
    assert ("ICC1" in made[0]) is baseline
    for values in made[1:]:
        assert values == pytest.approx(made[0], abs=0.02)


@pytest.mark.medium
def test_the_coefficients_are_those_of_scipy_over_both_orders() -> None:
    (family,) = families(preferences())
    units = units_of(family)
    scores = scores_from_file(CASE / "scores.csv").set_index("stimulus")["value"]
    x = units.values(scores)
    found = correlations(
        units, {METRIC: x}, CorrelationOptions(replicates=200, seed=(1,), mapped=False)
    )
    own = {e.statistic: e.value for e in found if e.unit == STIMULUS}
    a, b = np.concatenate([x, -x]), np.concatenate([units.human, -units.human])
    assert own["srcc"] == pytest.approx(stats.spearmanr(a, b).statistic)
    assert own["krcc"] == pytest.approx(stats.kendalltau(a, b).statistic)
    cosine = float(x @ units.human) / float(np.sqrt((x @ x) * (units.human @ units.human)))
    assert own["plcc"] == pytest.approx(cosine)
    assert own["srcc"] == pytest.approx(0.948, abs=0.0005)


@pytest.mark.medium
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=12))
def test_signed_ranks_are_ranks_among_values_and_their_negatives(values: list[int]) -> None:
    v = np.array(values, dtype=np.float64)
    both = in_both_orders(v)
    ranks = stats.rankdata(both) - (len(both) + 1) / 2
    assert signed_ranks(v) == pytest.approx(ranks[: len(v)])


@pytest.mark.medium
@settings(max_examples=12, deadline=None)
@given(st.lists(st.booleans(), min_size=8, max_size=8), st.integers(0, 2**16))
def test_any_naming_gives_the_same_ceiling(turned: list[bool], seed: int) -> None:
    rng = np.random.default_rng(seed)
    score = np.clip(np.round(rng.normal(0, 1, (8, 1)) + rng.normal(0, 0.7, (8, 6))), -2, 2)
    sign = np.where(turned, -1.0, 1.0)[:, None]
    unit, rater = np.repeat(np.arange(8), 6), np.tile(np.arange(6), 8)
    made = [
        noise_ceiling(unit, rater, of.ravel(), statistic="spearman", neutral=0.0, replicates=10)
        for of in (score, sign * score)
    ]
    assert [each.value for each in made[0]] == pytest.approx([each.value for each in made[1]])


def test_ratings_that_are_all_alike_agree_in_both_orders() -> None:
    """Everyone prefers the side named first by one point: a constant, but full agreement."""
    unit, rater = np.repeat(np.arange(5), 4), np.tile(np.arange(4), 5)
    half, *_ = noise_ceiling(unit, rater, np.ones(20), neutral=0.0, replicates=10)
    assert half.value == pytest.approx(1.0)
    undecided, *_ = noise_ceiling(unit, rater, np.zeros(20), neutral=0.0, replicates=10)
    assert undecided.value is None


@pytest.mark.medium
def test_the_report_says_that_pairs_count_in_both_orders() -> None:
    table = preferences()
    scores = scores_from_file(CASE / "scores.csv")
    inputs = PartInput(table, screen(table), Options(seed=1, replicates=200), scores)
    shown = in_keys(AgainstPeople().make(inputs))
    by_key = {each.key: each for each in shown.tables}
    assert "in both orders" in by_key["correlations"].note
    assert "in both orders" in by_key["preferences"].note
    assert "in both orders" in by_key["ceiling"].note
    assert any("in both orders" in text for text in shown.methods)


def compared_systems(
    rng: np.random.Generator, alike: float, systems: int = 5, texts: int = 6, versus: str = ""
) -> float | None:
    """p per pair of systems of a metric that goes with their quality so far, or not at all (0)."""
    names = [f"s{n}" for n in range(systems)]
    quality = rng.normal(0, 1, systems)
    scores = {
        f"{name}-{t}": alike * quality[n] + rng.normal(0, 0.3)
        for n, name in enumerate(names)
        for t in range(texts)
    }
    met = [(a, b) for n, a in enumerate(names) for b in names[:n] if versus in ("", b)]
    table = from_rows(
        BLANK
        | {"method": "cmos", "estimand": "cmos", "rater": f"r{r}", "item": f"t{t}"}
        | {"condition": a, "versus_condition": b, "session": f"r{r}", "code": f"{a}{b}{t}{r}"}
        | {"stimulus": f"{a}-{t}", "versus_stimulus": f"{b}-{t}"}
        | {"score": round(quality[int(a[1:])] - quality[int(b[1:])] + rng.normal(0, 0.5), 3)}
        for a, b in met
        for t in range(texts)
        for r in range(2)
    )
    (family,) = families(table)
    units = units_of(family)
    options = CorrelationOptions(replicates=200, mapped=False)
    found = correlations(units, {"m": units.values(pd.Series(scores))}, options)
    return next(e.p for e in found if e.unit == CONDITION and e.statistic == "srcc")


@pytest.mark.medium
def test_pairs_that_share_systems_are_not_taken_for_independent() -> None:
    """A metric without any relation: exchanging pairs one by one gave p < .05 in 29 of 100."""
    rng = np.random.default_rng(1)
    pairs = [(f"s{a}", f"s{b}") for a in range(5) for b in range(a)]
    i, j = (np.array([int(pair[side][1:]) for pair in pairs]) for side in (0, 1))
    found = []
    for _ in range(400):
        metric, human = rng.normal(size=(2, 5))
        apart, told = metric[i] - metric[j], human[i] - human[j] + rng.normal(0, 0.2, len(i))
        found.append(p_over_systems("srcc", apart, told, pairs, (1,)))
    assert 0.02 <= np.mean([p is not None and p < 0.05 for p in found]) <= 0.08


@pytest.mark.slow
def test_p_of_pairs_of_systems_is_from_exchanging_systems() -> None:
    close = compared_systems(np.random.default_rng(1), 1.0)
    assert close == pytest.approx(2 / 120, abs=1 / 120)  # of 120 orders, itself and few more
    star = compared_systems(np.random.default_rng(1), 1.0, systems=6, versus="s0")
    assert star is not None  # five systems against one exchange their places: 120 orders
    assert star < 0.1
    assert compared_systems(np.random.default_rng(1), 1.0, systems=4, versus="s0") is None
    many = compared_systems(np.random.default_rng(1), 1.0, systems=8, texts=2)
    assert many is not None
    assert many < 0.01
