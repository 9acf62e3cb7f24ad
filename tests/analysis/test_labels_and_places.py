"""Shares of labels, places of a ranking, ends of scales, and the hidden reference: by hand."""

from __future__ import annotations

from itertools import product
from typing import Any

import pandas as pd
import pytest

from analysis.ratings.breakdowns import default_breakdowns, families
from analysis.ratings.estimands import ends_of
from analysis.ratings.table import from_rows
from analysis.report.build import report_of
from analysis.report.html.page import sections
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.metric_agreement.metric_units import units_of
from analysis.statistics.options import Options
from analysis.statistics.screening.mushra_rules import HiddenReference
from analysis.statistics.screening.screened import DEFAULT, screen
from tests.analysis.reference import BLANK, rows_of

pytestmark = pytest.mark.usefixtures("answer_alone")

QUICK = Options(replicates=100)


def table(rows: list[dict[str, Any]], **fields: Any) -> pd.DataFrame:
    return from_rows({**BLANK, "session": row["rater"], **fields, **row} for row in rows)


def values(lines: Any) -> dict[tuple[str, str], float]:
    naive = [line for line in lines if line.interval.startswith("naive")]
    return {(line.condition, line.estimand): line.value for line in naive}


def compared(estimand: str, scores: list[float]) -> pd.DataFrame:
    rows = [
        {
            **{"rater": f"r{n % 4}", "item": f"i{n // 4}", "condition": "a", "stimulus": f"a{n}"},
            **{"versus_condition": "b", "versus_stimulus": f"b{n}", "score": score},
            **{"label": "A" if n % 2 else "B", "presented_first": ("rated", "versus")[n % 2]},
        }
        for n, score in enumerate(scores)
    ]
    return table(rows, method=estimand, estimand=estimand)


@pytest.mark.medium
def test_shares_of_a_comparison_are_those_of_the_condition_and_not_of_a_and_b() -> None:
    shares = values(MeanScore().shares(compared("ab", [1, 1, 0.5, 0, 1, 1, 1, 0])))
    assert shares == {
        ("a", "share of it"): 5 / 8,
        ("a", "share of a tie"): 1 / 8,
        ("a", "share of the other"): 2 / 8,
    }
    shares = values(MeanScore().shares(compared("abx", [1, 1, 0, 0, 1, 1, 1, 1])))
    assert shares == {("a", "share of right"): 6 / 8, ("a", "share of wrong"): 2 / 8}


def test_the_share_that_is_right_has_an_interval() -> None:
    right = compared("abx", [1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 0])
    two_way = next(e for e in MeanScore().fit(right) if e.interval.startswith("two-way"))
    assert two_way.value == 0.75
    assert two_way.low is not None
    assert two_way.high is not None
    assert two_way.low < 0.75 < two_way.high
    assert two_way.group["versus_condition"] == "b"


def several(labels: dict[tuple[str, str], str]) -> pd.DataFrame:
    rows = [
        {"rater": r, "item": "i", "stimulus": c, "condition": c, "label": label, "score": None}
        for (c, r), label in labels.items()
    ]
    return table(rows, method="free_choice", estimand="choice")


@pytest.mark.medium
def test_an_answer_of_several_labels_counts_for_each() -> None:
    answers = {("a", "r1"): "x|y", ("a", "r2"): "x", ("b", "r1"): "y", ("b", "r2"): "z"}
    shares = values(MeanScore().shares(several(answers)))
    assert shares["a", "share of x"] == 1.0
    assert shares["a", "share of y"] == shares["b", "share of y"] == 0.5
    assert shares["b", "share of z"] == 0.5
    assert shares["a", "share of z"] == 0.0
    assert MeanScore().fit(several(answers)) == []


@pytest.mark.slow
def test_free_text_is_neither_counted_nor_lost() -> None:
    words = several({("a", f"r{n}"): f"sounds like {n}" for n in range(12)})
    report = report_of(words, options=QUICK)
    assert report["shares"] == report["estimates"] == []
    assert report["data"]["ratings_kept"] == 12
    assert "12 answers in words" in " ".join(report["warnings"])
    long = several({("a", "r1"): "x" * 81, ("a", "r2"): "y"})
    assert report_of(long, options=QUICK)["shares"] == []


@pytest.mark.slow
def test_a_mos_without_a_score_is_still_left_out() -> None:
    rows = [{"rater": "r", "condition": "a", "item": "i", "label": "5", "score": None}]
    assert screen(table(rows), DEFAULT).kept(DEFAULT).empty
    assert MeanScore().shares(table(rows)) == []


@pytest.mark.slow
def test_the_best_place_of_a_ranking_comes_first() -> None:
    places = {"good": 1.0, "fair": 2.0, "poor": 3.0}
    scores = {(c, f"r{r}", f"i{i}"): s for (c, s), r, i in product(places.items(), "12", "12")}
    report = report_of(rows_of(scores, method="rank", estimand="rank"), options=QUICK)
    html = next(s.html for s in sections(report) if s.id == "in-full-1")
    body = html[html.index("<tbody>") :]
    assert body.index("good") < body.index("fair") < body.index("poor")
    assert "mean place, 1 is the best" in "".join(s.html for s in sections(report))
    (answer,) = (part for part in report["parts"] if part["key"] == "answer")
    assert not [text for text in answer["warnings"] if "lowest score" in text]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimand", "score", "ends"),
    [
        ("mushra", 99, [0, 100]),
        ("dmos", 4.5, [1, 5]),
        ("p835", 4.5, [1, 5]),
        ("abx", 1, [0, 1]),
        ("context_mos", 4.5, [1, 5]),
    ],
)
def test_scales_have_ends(estimand: str, score: float, ends: list[float]) -> None:
    scores = {("a", f"r{r}", f"i{i}"): score for r in range(3) for i in range(3)}
    rows = rows_of(scores, estimand=estimand)
    assert list(report_of(rows, options=QUICK)["scales"].values()) == [ends]


@pytest.mark.slow
def test_a_comparison_is_drawn_to_the_ends_of_its_scale() -> None:
    report = report_of(compared("abx", [1, 1, 1, 0, 1, 1, 1, 1]), options=QUICK)
    (row, *_) = report["estimates"]
    assert row["versus_condition"] == "b"
    assert ends_of(report, row) == [0.0, 1.0]


def mushra(hidden: dict[str, list[float]]) -> pd.DataFrame:
    """A screen per item with the hidden reference as these raters saw it, and one codec."""
    rows = [
        {
            **{"rater": rater, "item": f"i{n}", "position": n, "score": score if own else 50.0},
            **{"condition": "ref" if own else "codec", "stimulus": f"r{n}" if own else f"c{n}"},
            **{"versus_condition": "ref", "versus_stimulus": f"r{n}", "label": "x"},
        }
        for rater, scores in hidden.items()
        for n, score in enumerate(scores)
        for own in (True, False)
    ]
    return table(rows, method="mushra", estimand="mushra")


@pytest.mark.medium
def test_scores_against_an_open_reference_are_not_taken_apart_by_it() -> None:
    two = mushra({"r1": [95, 90], "r2": [100, 80]})
    two.loc[two["item"] == "i1", "versus_condition"] = "another reference"
    means = {e.condition: e.value for e in MeanScore().fit(two) if e.weighting == "ratings"}
    assert means == {"ref": 91.25, "codec": 50.0}
    assert all("versus_condition" not in e.group for e in MeanScore().fit(two))
    assert default_breakdowns(two)


@pytest.mark.medium
def test_raters_who_miss_the_hidden_reference_too_often_are_left_out() -> None:
    fine, missed = [90.0] * 20, [90.0] * 20
    fine[:3] = [89.0] * 3  # 15 % of the items, and no more
    missed[:4] = [89.0] * 4
    rows = mushra({"fine": fine, "missed": missed})
    kept = screen(rows, [HiddenReference()]).kept([HiddenReference()])
    assert set(kept["rater"]) == {"fine"}
    assert len(kept) == 40
    milder = HiddenReference(below=80)
    assert len(screen(rows, [milder]).kept([milder])) == 80


@pytest.mark.medium
def test_where_no_reference_was_open_nobody_missed_the_hidden_one() -> None:
    rows = mushra({"missed": [10.0] * 5}).assign(block="b1", role="test")
    rows.loc[rows["condition"] == "ref", "role"] = "reference"
    assert len(screen(rows, [HiddenReference()]).kept([HiddenReference()])) == 0
    closed = rows.assign(versus_condition="", versus_stimulus="")
    assert len(screen(closed, [HiddenReference()]).kept([HiddenReference()])) == 10
    assert "open_reference = false" in HiddenReference().lacking(closed)


def test_training_answers_need_no_verdict_and_enter_no_estimate() -> None:
    rows = [
        {"rater": "r", "condition": "a", "item": "i", "score": 5, "trap": "training"},
        {"rater": "r", "condition": "a", "item": "j", "score": 3, "trap": ""},
    ]
    means = [e.value for e in MeanScore().fit(table(rows))]
    assert set(means) == {3.0}


@pytest.mark.medium
def test_a_metric_is_compared_as_the_score_was_given() -> None:
    metric = pd.Series({"a0": 1.0, "b0": 4.0, "r0": 4.0, "c0": 1.5})
    (abx,) = units_of(next(families(compared("abx", [1.0])))).values(metric)
    assert abx == 3.0  # how far apart, whichever is more
    (ab,) = units_of(next(families(compared("ab", [1.0])))).values(metric)
    assert ab == -3.0
    units = units_of(next(families(mushra({"r1": [95.0]}))))
    found = {
        units.conditions[c]: v for c, v in zip(units.condition, units.values(metric), strict=True)
    }
    assert found == {"ref": 4.0, "codec": 1.5}
