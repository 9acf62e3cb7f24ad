"""What a running study may say: verdicts, forecasts, and bounds that hold at every look."""

import numpy as np
import pytest

from analysis.report.planning.interim_narrative import box
from analysis.statistics.planning.interim import interim
from analysis.statistics.planning.study_design import PlanningError
from tests.analysis.simulation import sizes

RATERS, CONDITIONS = 60, 3


def means_of(scores, names=None, ratings=5):
    """Rater means from an array (R, C), raters in their order."""
    names = names or [f"c{c}" for c in range(scores.shape[1])]
    return [
        {
            "rater": f"r{r}",
            "condition": name,
            "versus_condition": "",
            "score": float(scores[r, c]),
            "ratings": ratings,
        }
        for r in range(len(scores))
        for c, name in enumerate(names)
        if not np.isnan(scores[r, c])
    ]


def planned(names, ratings):
    return [{"condition": n, "versus_condition": "", "ratings": ratings} for n in names]


def drawn(means, raters, seed=1, sd=0.4):
    rng = np.random.default_rng(seed)
    y = (
        np.asarray(means)
        + rng.normal(0, 0.3, (raters, 1))
        + rng.normal(0, sd, (raters, len(means)))
    )
    return np.clip(y, 1, 5)


def test_a_clear_difference_is_decided_and_close_systems_are_not():
    found = interim(means_of(drawn([3.0, 3.05, 4.0], 80)), (1, 5))
    verdicts = {(line.condition, line.versus): line.verdict for line in found.lines}
    assert verdicts == {("c0", "c1"): "never", ("c0", "c2"): "decided", ("c1", "c2"): "decided"}
    assert found.kind == "pairs"
    assert found.each == pytest.approx(1 - 0.05 / 3)
    line = found.lines[1]
    assert line.low < line.value < line.high < 0
    assert line.raters == 80


def test_the_plan_shares_the_level_not_what_happens_to_be_rated():
    means = means_of(drawn([3.0, 4.0], 30))
    assert interim(means, (1, 5)).each == pytest.approx(0.95)
    whole = interim(means, (1, 5), columns=planned(["c0", "c1", "c2", "c3"], 150))
    assert whole.each == pytest.approx(1 - 0.05 / 6)
    assert [line.verdict for line in whole.lines if "c3" in (line.condition, line.versus)] == [
        "early"
    ] * 3


def test_a_forecast_tells_how_many_raters_decide_it():
    y = drawn([3.0, 3.35], 400, seed=4)
    room = planned(["c0", "c1"], 400 * 5)
    (line,) = interim(means_of(y[:40]), (1, 5), columns=room).lines
    assert line.verdict == "later"
    (end,) = interim(means_of(y[: line.needed * 2]), (1, 5), columns=room).lines
    assert end.verdict == "decided"
    assert 40 < line.needed < 400
    small = interim(means_of(y[:40]), (1, 5), columns=planned(["c0", "c1"], 41 * 5))
    assert small.planned == 41
    assert small.lines[0].verdict == "never"
    over = interim(means_of(y[:40]), (1, 5), columns=planned(["c0", "c1"], 40 * 5))
    assert over.lines[0].verdict == "never"


def test_no_difference_that_matters_is_a_decision_too():
    y = drawn([3.0, 3.0], 300, seed=5, sd=0.2)
    assert interim(means_of(y), (1, 5), matters=0.4).lines[0].verdict == "equal"
    assert interim(means_of(y), (1, 5)).lines[0].verdict == "never"


def test_a_reference_is_what_the_others_are_compared_with():
    found = interim(means_of(drawn([3, 3, 3, 4], 30)), (1, 5), references=["c3"])
    assert [(line.condition, line.versus) for line in found.lines] == [
        ("c0", "c3"),
        ("c1", "c3"),
        ("c2", "c3"),
    ]


def test_comparisons_are_bounded_around_the_middle_of_the_scale():
    rng = np.random.default_rng(6)
    rows = [
        {
            "rater": f"r{r}",
            "condition": "a",
            "versus_condition": "b",
            "score": float(np.clip(1 + rng.normal(0, 0.7), -3, 3)),
            "ratings": 10,
        }
        for r in range(60)
    ]
    found = interim(rows, (-3, 3), estimand="cmos")
    assert (found.kind, found.neutral) == ("versus", 0.0)
    assert found.lines[0].verdict == "decided"
    shares = [row | {"score": 0.5 + row["score"] / 6} for row in rows]
    ab = interim(shares, (0, 1), estimand="abx")
    assert ab.neutral == 0.5
    told = {"title": "t", "criterion": "", "labels": {}, "estimand": "abx"}
    assert box(ab, told)["lines"][0]["words"] == "Raters can tell a and b apart."


def test_clips_against_an_open_reference_are_clips():
    rows = [row | {"versus_condition": "ref"} for row in means_of(25 * drawn([2, 3], 40) - 25)]
    found = interim(rows, (0, 100), estimand="mushra")
    assert found.kind == "pairs"
    assert [(line.condition, line.versus) for line in found.lines] == [("c0", "c1")]


def test_many_conditions_or_raters_of_one_condition_give_bounds_of_means():
    many = interim(means_of(drawn(np.linspace(2, 4, 12), 30)), (1, 5))
    assert many.kind == "means"
    assert many.each == pytest.approx(1 - 0.05 / 12)
    y = drawn([2.0, 4.0], 80)
    y[::2, 0], y[1::2, 1] = np.nan, np.nan
    between = interim(means_of(y), (1, 5))
    assert between.kind == "means"
    low, high = between.lines
    assert low.raters == high.raters == 40
    assert low.high < high.low
    assert {line.verdict for line in between.lines} == {"later"}


def test_few_raters_and_none_are_told_so():
    few = interim(means_of(drawn([3, 4], 4)), (1, 5))
    assert few.lines[0].verdict == "early"
    none = interim([], (1, 5), columns=planned(["c0", "c1"], 50))
    assert (none.raters, none.planned) == (0, None)
    assert none.lines[0].value is None
    assert interim([], (1, 5)).lines == []


def test_wrong_arguments_are_told_in_words():
    with pytest.raises(PlanningError, match="above 0"):
        interim([], (1, 5), matters=0)
    with pytest.raises(PlanningError, match="end"):
        interim([], (5, 5))
    with pytest.raises(PlanningError, match="outside"):
        interim(means_of(np.tile([9.0, 1.0], (6, 1))), (1, 5))


def test_words_name_conditions_as_pages_do():
    labels = {"c0": "Ossian", "c1": "Vela"}
    told = {"title": "Naturalness", "criterion": "n", "labels": labels, "estimand": "mos"}
    made = box(interim(means_of(drawn([3, 4], 60)), (1, 5)), told)
    (line,) = made["lines"]
    assert line["name"] == "Ossian − Vela"
    assert line["words"] == "Vela scores higher than Ossian."
    assert line["value"].startswith("−")
    assert (made["decided"], made["comparisons"]) == (1, 1)


@pytest.mark.slow
@sizes(200, 1000)
def test_all_bounds_hold_at_all_looks_and_plain_intervals_do_not(runs):
    """Scores 0, .5 or 1 with rare successes; peeking after every rater, all pairs at once."""
    rng = np.random.default_rng(20261122)
    share = np.array([0.05, 0.1, 0.15])
    held = plain = 0
    n = np.arange(1, RATERS + 1)
    for _ in range(runs):
        y = (rng.random((RATERS, CONDITIONS, 3)) < share[:, None]).mean(axis=2)
        # the bounds only ever narrow (running intersection): the last ones hold if all do
        lines = interim(means_of(y), (0, 1)).lines
        held += all(
            line.low <= share[int(line.condition[1])] - share[int(line.versus[1])] <= line.high
            for line in lines
        )
        x = y[:, 0] - y[:, 2]
        mean = np.cumsum(x) / n
        sd = np.sqrt(np.maximum(np.cumsum(x**2) / n - mean**2, 0) * n / np.maximum(n - 1, 1))
        plain += bool((np.abs(mean + 0.1) <= 1.99 * sd / np.sqrt(n))[9:].all())
    assert held / runs >= 0.95 - 3 * (0.95 * 0.05 / runs) ** 0.5
    assert plain / runs < 0.85
