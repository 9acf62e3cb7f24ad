"""Vocalisations by people's ears: shares of counts, the corrected share, and their tables."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.name_spans import resolve
from analysis.ratings.table import from_rows
from analysis.report.content import Table
from analysis.report.part import PartInput
from analysis.report.parts.vocalisations import Vocalisations
from analysis.statistics.corrected_share import ALWAYS, Counted, rogan_gladen
from analysis.statistics.count_shares import effective_clips, mean_on_scale, share_of_sums
from analysis.statistics.options import Options
from analysis.statistics.screening.screened import DEFAULT, screen
from tests.analysis.reference import BLANK

TEXT = "so that is what you call a good one"  # nine words; laughs are asked for before the third


def test_the_corrected_share_is_that_of_the_published_example() -> None:
    """23 of 150 cows, sensitivity 96 %, specificity 89 %: 5.1 %, 0 to 13 (manual of R's epiR)."""
    found = rogan_gladen(Counted(23 / 150, 150), Counted(0.96, inf), Counted(0.11, inf))
    assert found is not None
    assert found.value == pytest.approx(0.051, abs=5e-4)
    assert (found.low, round(found.high, 2)) == (0.0, 0.13)


def test_the_corrected_share_by_hand() -> None:
    found = rogan_gladen(Counted(0.6, 100), Counted(0.9, 40), Counted(0.2, 50))
    assert found is not None
    assert found.value == pytest.approx((0.6 - 0.2) / (0.9 - 0.2))
    z2 = 1.959963984540054**2  # Lang and Reiczigel (2014), eq. 6, 7, 15 to 17
    n, p = 100 + z2, (60 + z2 / 2) / (100 + z2)
    se, sp, n_se, n_sp = 37 / 42, 41 / 52, 42, 52
    pi = (p + sp - 1) / (se + sp - 1)
    moved = 2 * z2 * (pi * se * (1 - se) / n_se - (1 - pi) * sp * (1 - sp) / n_sp)
    variance = p * (1 - p) / n + pi**2 * se * (1 - se) / n_se + (1 - pi) ** 2 * sp * (1 - sp) / n_sp
    half = (z2 * variance) ** 0.5 / (se + sp - 1)
    assert (found.low, found.high) == pytest.approx((pi + moved - half, pi + moved + half))


def test_a_share_beyond_what_the_rates_allow_does_not_fit() -> None:
    above = rogan_gladen(Counted(0.9, 300), Counted(0.6, 200), Counted(0.1, 200))
    assert above is not None
    assert (above.value, above.fits) == (1.0, False)
    near = rogan_gladen(Counted(0.62, 50), Counted(0.6, 200), Counted(0.1, 200))
    assert near is not None
    assert (near.value, near.fits) == (1.0, True)


def test_a_judge_that_tells_nothing_is_not_corrected() -> None:
    assert rogan_gladen(Counted(0.5, 50), Counted(0.3, 20), Counted(0.3, 20)) is None
    sure = rogan_gladen(Counted(0.5, 50), ALWAYS, Counted(0.0, inf))
    assert sure is not None
    assert sure.value == 0.5


def test_an_interval_of_single_clips_is_wilsons_and_counts_are_summed() -> None:
    heard, alone = np.array([1.0] * 30 + [0.0] * 10), np.arange(40)
    share = share_of_sums(heard, np.ones(40), alone)
    assert share is not None
    t, n, p = 2.0226909, 39, 0.75  # Student's of 39; the variance of a mean has n - 1
    root = t * (p * (1 - p) / n + t**2 / (4 * n**2)) ** 0.5
    expected = ((p + t**2 / (2 * n) - root) / (1 + t**2 / n), None)
    assert share.low == pytest.approx(expected[0], abs=1e-6)
    tp, fp = np.array([1.0, 0, 2]), np.array([0.0, 1, 1])
    precision = share_of_sums(tp, tp + fp, np.arange(3))
    assert precision is not None
    assert precision.value == 3 / 5
    assert share_of_sums(np.zeros(3), np.zeros(3), np.arange(3)) is None


def test_runs_of_one_sentence_count_as_one_where_they_agree() -> None:
    heard = np.repeat([1.0, 0.0, 1.0, 1.0, 0.0, 1.0], 3)
    assert effective_clips(heard, np.repeat(np.arange(6), 3)) == pytest.approx(
        18 / 3.4
    )  # 6/5 * 12 by 18/17 * 4
    assert effective_clips(heard, np.arange(18)) == 18
    assert effective_clips(np.ones(18), np.repeat(np.arange(6), 3)) == 6
    wide = share_of_sums(heard, np.ones(18), np.repeat(np.arange(6), 3))
    narrow = share_of_sums(heard, np.ones(18), np.arange(18))
    assert wide is not None
    assert narrow is not None
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)  # type: ignore[operator]


def covered(studies: int, seed: int = 5) -> dict[str, float]:
    """Shares of simulated studies whose intervals hold the truth: clips of one system each."""
    rng = np.random.default_rng(seed)
    hits = dict.fromkeys(("corrected", "precision", "recall", "f1", "ntd", "runs"), 0)
    for _ in range(studies):
        truth, sensitivity, imagined = rng.uniform([0.1, 0.6, 0.02], [0.9, 0.98, 0.4])
        n, n_present, n_absent = 90, 60, 40
        apparent = truth * sensitivity + (1 - truth) * imagined
        corrected = rogan_gladen(
            Counted(rng.binomial(n, apparent) / n, n),
            Counted(rng.binomial(n_present, sensitivity) / n_present, n_present),
            Counted(rng.binomial(n_absent, imagined) / n_absent, n_absent),
        )
        hits["corrected"] += corrected is None or corrected.low <= truth <= corrected.high
        recall, others = rng.uniform([0.3, 0.05], [0.9, 0.6])
        tp = rng.binomial(1, recall, n).astype(float)
        fp = rng.poisson(others, n) + (1 - tp) * rng.binomial(1, 0.3, n)
        wrong = others + 0.3 * (1 - recall)
        expected = {
            "precision": (tp, tp + fp, recall / (recall + wrong)),
            "recall": (tp, np.ones(n), recall),
            "f1": (2 * tp, tp + fp + 1, 2 * recall / (recall + wrong + 1)),
        }
        for name, (part, whole, value) in expected.items():
            share = share_of_sums(part, whole, np.arange(n))
            assert share is not None
            hits[name] += share.low <= value <= share.high
        units, late = rng.integers(6, 15, n), rng.uniform(0.1, 0.6)
        distance = mean_on_scale(rng.binomial(1, late, n) / units, np.arange(n), 1 / 6)
        assert distance is not None
        value = late * float(np.mean(1 / np.arange(6, 15)))
        hits["ntd"] += distance.low <= value <= distance.high  # type: ignore[operator]
        by_item = rng.beta(2, 2, n // 3)  # three runs of a sentence have its difficulty in common
        again = rng.binomial(1, np.repeat(by_item, 3)).astype(float)
        share = share_of_sums(again, np.ones(n), np.repeat(np.arange(n // 3), 3))
        assert share is not None
        hits["runs"] += share.low <= 0.5 <= share.high  # type: ignore[operator]
    return {name: count / studies for name, count in hits.items()}


def test_few_simulated_studies_have_the_truth_in_their_intervals() -> None:
    assert all(0.85 <= share <= 1 for share in covered(100).values())


@pytest.mark.soak
def test_intervals_hold_the_truth_in_95_of_100_simulated_studies() -> None:
    assert all(0.94 <= share <= 0.965 for share in covered(4000).values())


def clip(condition: str, n: int, heard: list[tuple[str, int]]) -> dict[str, Any]:
    return {
        "stimulus": f"{condition}-{n}",
        "item": f"i{n}",
        "condition": condition,
        "text": TEXT,
        "language": "en",
        "target": "laugh@2",
        "heard": heard,
    }


def judge_rows(condition: str, n: int, tp: int, fp: int, present: float) -> list[dict[str, Any]]:
    values = {"tp": tp, "fp": fp, "fn": 1 - tp, "present": present, "distance": 0.0 if tp else None}
    return [
        {"stimulus": f"{condition}-{n}", "metric": f"judge_nvv_{name}[model=j]", "version": "1"}
        | {"value": value, "condition": condition, "language": "en"}
        for name, value in values.items()
    ]


def made(
    clips: list[dict[str, Any]], scores: list[dict[str, Any]], ratings: list[dict[str, Any]]
) -> tuple[list[str], dict[str, Table]]:
    table = from_rows(
        BLANK | {"rater": "r", "session": "s", "code": f"c{n}", "language": "en"} | row
        for n, row in enumerate(ratings)
    )
    screened = screen(table)
    review = {"title": "Ears", "unblinded": True, "tolerance": 1, "rule": "", "reviewed": 9}
    facts: Any = {"vocalisation_reviews": [review | {"clips": clips}], "tasks": []}
    inputs = PartInput(
        screened.kept(DEFAULT), screened, Options(seed=1), pd.DataFrame(scores), facts=facts
    )
    part = Vocalisations()
    assert part.applies(inputs)
    content = part.make(inputs)
    return [resolve(each) for each in content.sentences], {t.key: t for t in content.tables}


def rating(condition: str, n: int, score: float, rater: str = "r") -> dict[str, Any]:
    return {
        "task": "tags",
        "criterion": "nvv_accuracy",
        "estimand": "mos",
        "method": "mos",
        "condition": condition,
        "stimulus": f"{condition}-{n}",
        "item": f"i{n}",
        "score": score,
        "rater": rater,
    }


def pair(n: int) -> dict[str, Any]:
    return rating("Dia", n, 1.0) | {
        "task": "pairs",
        "criterion": "naturalness",
        "estimand": "cmos",
        "method": "cmos",
        "versus_condition": "Without",
        "versus_stimulus": f"Without-{n}",
    }


@pytest.mark.medium
def test_peoples_table_stands_beside_the_judges_and_its_share_is_corrected() -> None:
    """Of 20 clips people hear 12 laughs (2 a word late) and 4 sighs; the judge imagines a fifth."""
    heard = [[("laugh", 2)]] * 10 + [[("laugh", 3)]] * 2 + [[("sigh", 4)]] * 4 + [[]] * 4
    clips = [clip("Dia", n, list(each)) for n, each in enumerate(heard)]
    scores = [row for n in range(20) for row in judge_rows("Dia", n, int(n < 14), 0, float(n < 14))]
    scores += [row for n in range(20) for row in judge_rows("Without", n, 0, 0, float(n < 4))]
    ratings = [rating("Dia", n, 3.0) for n in range(20)] + [pair(n) for n in range(20)]
    sentences, tables = made(clips, scores, ratings)
    assert "Reviewers decided 20 clips (“Ears”)." in sentences
    people, judge = tables["controllability"].rows
    assert (people["heard_by"], judge["heard_by"]) == ("people", "judge_nvv[model=j]")
    assert people["precision"] == 12 / 16
    assert people["recall"] == 12 / 20
    assert people["f1"] == pytest.approx(24 / 36)
    assert people["ntd"] == pytest.approx(2 / 9 / 12)
    assert people["f1_low"] < 24 / 36 < people["f1_high"]
    assert judge["recall"] == 14 / 20
    (row,) = tables["presence"].rows
    sensitivity, imagined = 12 / 12, (4 + 2) / (20 + 8)
    assert (row["judge"], row["people"]) == (0.7, 0.6)
    assert row["corrected"] == pytest.approx((0.7 - imagined) / (sensitivity - imagined))
    assert row["corrected_low"] < row["people"] < row["corrected_high"]
    rates = {each["rate"]: each for each in tables["presence_rates"].rows}
    assert rates["false presence"]["controls"] == 20
    assert rates["false presence"]["share"] == pytest.approx(imagined)


@pytest.mark.medium
def test_raters_who_may_say_that_the_sound_is_absent_verify_it_too() -> None:
    """Three raters a clip: in clips 0 to 5 two of them hear it, in 6 to 9 one does."""
    ratings = [
        rating("Dia", n, 4.0 if r < (2 if n < 6 else 1) else 0.0, f"r{r}")
        for n in range(10)
        for r in range(3)
    ]
    ratings += [pair(n) for n in range(10)]
    scores = [row for n in range(10) for row in judge_rows("Dia", n, int(n < 7), 0, float(n < 7))]
    sentences, tables = made([], scores, ratings)
    assert "controllability" not in tables
    assert "For 10 clips, raters said whether the sound is there." in sentences[0]
    (row,) = tables["presence"].rows
    assert (row["judge"], row["people"], row["verified"]) == (0.7, 0.6, 10)
    assert row["corrected"] == pytest.approx((0.7 - 1 / 4) / (1 - 1 / 4))


@pytest.mark.medium
def test_controls_alone_give_a_lower_limit() -> None:
    scores = [row for n in range(10) for row in judge_rows("Dia", n, int(n < 7), 0, float(n < 7))]
    scores += [row for n in range(10) for row in judge_rows("Without", n, 0, 0, float(n < 2))]
    _, tables = made([], scores, [rating("Dia", 0, 3.0), pair(0)])
    (row,) = tables["presence"].rows
    assert row["corrected"] == pytest.approx((0.7 - 0.2) / (1 - 0.2))
    assert "lower limit" in tables["presence"].note
