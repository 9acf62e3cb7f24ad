"""Answers of raters as covariates: means by answer, slopes on numbers, and ratings.csv."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.ratings.breakdowns import families
from analysis.ratings.cells import COLUMNS
from analysis.ratings.table import from_rows, read_csv, to_rows
from analysis.report.exclusions import judged_csv
from analysis.report.part import Part
from analysis.report.pipeline import plain_of
from analysis.statistics.rater_answers import answer_means, answer_slope
from tests.analysis.part_of import given_of
from tests.analysis.simulation import bounds, sizes

SYSTEMS = ("A", "B", "C")
AGE, EAR = "question_about_age", "question_about_ear"
SLOPE, APART = 0.02, 0.5


def rated(seed: int, slope: float = SLOPE, apart: float = APART, raters: int = 24):
    """Ratings and two answers of each rater, who hears half of the clips of each system."""
    rng = np.random.default_rng(seed)
    ages = rng.integers(18, 70, raters)
    ears = np.where(rng.permutation(raters) < raters // 2, "good", "poor")
    items = 12
    easy, at = rng.normal(0, 0.4, items), rng.normal(0, 0.2, (items, len(SYSTEMS)))
    rows = []
    for rater in range(raters):
        own = rng.normal(0, 0.4) + slope * ages[rater] + apart * (ears[rater] == "poor")
        for item in rng.permutation(items)[: items // 2]:
            for place, system in enumerate(SYSTEMS):
                cells = {
                    **{"study": "s", "task": "t", "method": "mos", "criterion": "naturalness"},
                    **{"estimand": "mos", "session": f"r{rater}", "rater": f"r{rater}"},
                    **{"item": f"i{item}", "stimulus": f"{system}-{item}", "condition": system},
                    **{"label": "3", "paid": False, "counts": True},
                    "score": 3
                    - 0.5 * place
                    + own
                    + easy[item]
                    + at[item, place]
                    + rng.normal(0, 0.6),
                }
                rows.append(dict.fromkeys(COLUMNS, "") | cells)
    answers = {
        AGE: {f"r{n}": str(age) for n, age in enumerate(ages)},
        EAR: {f"r{n}": str(ear) for n, ear in enumerate(ears)},
    }
    return from_rows(rows), answers


def family_of(table: pd.DataFrame):
    (family,) = families(table)
    return family


def test_a_slope_is_least_squares_with_clips_and_the_jackknife_over_raters():
    table, answers = rated(1)
    found = answer_slope(family_of(table), answers[AGE])
    table = table.assign(age=table["rater"].astype(str).map(answers[AGE]).astype(float))

    def fitted(rows: pd.DataFrame) -> float:
        clips = pd.get_dummies(rows["stimulus"].astype(str), dtype=float)
        design = clips.assign(age=rows["age"]).to_numpy()
        return float(np.linalg.lstsq(design, rows["score"].to_numpy(), rcond=None)[0][-1])

    raters = table["rater"].unique()
    without = np.array([fitted(table[table["rater"] != rater]) for rater in raters])
    se = np.sqrt((len(raters) - 1) * np.var(without))
    assert found.value == pytest.approx(fitted(table), abs=1e-10)
    assert (found.high - found.low) / 2 == pytest.approx(2.0686576 * se, rel=1e-6)  # t(23), R's qt
    assert found.sd == pytest.approx(np.std(list(map(float, answers[AGE].values())), ddof=1))


def test_means_by_answer_weigh_conditions_evenly_and_are_compared_with_the_most_frequent():
    table, answers = rated(2)
    first = answers[EAR] | {"r0": "good", "r1": "good"}
    found = answer_means(family_of(table), first)
    ears = table["rater"].astype(str).map(first)
    by_cell = table.groupby([ears, "condition"], observed=True)["score"].mean().unstack()
    assert [each.answer for each in found] == ["good", "poor"]
    assert found[0].value == pytest.approx(by_cell.loc["good"].mean())
    assert found[0].effect is None
    assert found[1].effect.mean.value == pytest.approx(
        by_cell.loc["poor"].mean() - by_cell.loc["good"].mean()
    )
    assert found[1].low < found[1].value < found[1].high


def test_answers_of_a_few_raters_are_not_shown():
    table, answers = rated(3)
    rare = answers[EAR] | {"r1": "rare", "r2": "rare"}
    shown = [each.answer for each in answer_means(family_of(table), rare)]
    assert sorted(shown) == ["good", "poor"]
    assert answer_slope(family_of(table), {"r1": "20", "r2": "30", "r3": "40"}) is None
    assert answer_slope(family_of(table), dict.fromkeys(answers[AGE], "30")) is None


@sizes(25, 1_000)
def test_intervals_of_slopes_means_and_differences_cover_the_truth(runs):
    held = np.zeros(2)
    for seed in range(runs):
        table, answers = rated(seed + 100)
        slope = answer_slope(family_of(table), answers[AGE])
        held[0] += slope.low <= SLOPE <= slope.high
        table, answers = rated(seed + 100, slope=0)
        _base, other = answer_means(family_of(table), answers[EAR])
        truth = APART if other.answer == "poor" else -APART
        held[1] += other.effect.mean.low_alone <= truth <= other.effect.mean.high_alone
    low, high = bounds(0.93, 0.97, of=1_000, runs=runs)
    assert low <= min(held / runs)
    assert max(held / runs) <= high


def test_the_report_says_the_same_of_a_study_and_of_its_exported_ratings(tmp_path: Path):
    table, answers = rated(5, slope=0.05)
    part: Part = Part.registry["rater_answers"]()
    file = tmp_path / "ratings.csv"
    file.write_text("".join(judged_csv(to_rows(table), None, answers)))
    header = file.read_text().splitlines()[0].split(",")
    assert header[-2:] == [AGE, EAR]
    reading = read_csv(file)
    assert reading.columns_not_used == ()
    assert {name: dict(own) for name, own in reading.covariates.items()} == answers
    shown = [
        plain_of(part.make(replace(given_of(each), covariates=own)).plain())
        for each, own in ((table, answers), (reading.table, reading.covariates))
    ]
    assert shown[0] == shown[1]
    keys = [each["key"] for each in shown[0]["tables"]]
    assert keys == ["rater_answers", "rater_numbers"]
    for kept in shown[0]["tables"]:
        assert "interval" in [each["key"] for each in kept["columns"]]
        assert all(row["low"] < row["value"] < row["high"] for row in kept["rows"])
    assert "per unit of the answer" in " ".join(shown[0]["sentences"])
    assert not part.applies(given_of(table))
