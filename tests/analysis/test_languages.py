"""Systems rated in two languages: the mean difference, and the interaction with systems."""

import numpy as np
import pandas as pd
import pytest

from analysis.ratings.breakdowns import families
from analysis.ratings.cells import COLUMNS
from analysis.ratings.table import from_rows
from analysis.statistics.group_effects import group_effects
from tests.analysis.part_of import part_of, rows_of_table
from tests.analysis.simulation import bounds, sizes

SYSTEMS = ("A", "B", "C")
TRUTH = {"en": (4.0, 3.0, 2.5), "zh": (3.8, 2.8, 1.7)}  # C is 0.4 further apart than the mean


def rated(rng: np.random.Generator, truth=None, raters: int = 24, items: int = 16) -> pd.DataFrame:
    """Each rater speaks one language and rates every system at all its items."""
    rows = []
    for language, means in (truth or TRUTH).items():
        easy = rng.normal(0, 0.3, items)
        at = rng.normal(0, 0.2, (items, len(SYSTEMS)))
        for rater in range(raters):
            own, taste = rng.normal(0, 0.4), rng.normal(0, 0.2, len(SYSTEMS))
            for item in range(items):
                for place, system in enumerate(SYSTEMS):
                    score = means[place] + own + taste[place] + easy[item] + at[item, place]
                    cells = {
                        "study": "s",
                        "task": "t",
                        "method": "mos",
                        "criterion": "naturalness",
                        "estimand": "mos",
                        "session": f"{language}{rater}",
                        "rater": f"{language}{rater}",
                        "item": f"{language}{item}",
                        "stimulus": f"{system}-{language}{item}",
                        "condition": system,
                        "language": language,
                        "label": "3",
                        "score": score + rng.normal(0, 0.6),
                        "paid": False,
                        "counts": True,
                    }
                    rows.append(dict.fromkeys(COLUMNS, "") | cells)
    return from_rows(rows)


def effect_of(table: pd.DataFrame):
    (family,) = families(table)
    (effect,) = group_effects(family)
    return effect


def test_values_are_those_of_the_cells_means():
    table = rated(np.random.default_rng(1))
    cell = table.groupby(["condition", "language"])["score"].mean().unstack()
    apart = cell["zh"] - cell["en"]
    effect = effect_of(table)
    assert effect.mean.value == pytest.approx(apart.mean())
    assert [d.value for d in effect.conditions] == pytest.approx(list(apart[list(SYSTEMS)]))
    deviations = list((apart - apart.mean())[list(SYSTEMS)])
    assert [d.value for d in effect.interactions] == pytest.approx(deviations)


@sizes(20, 2_000)
def test_intervals_hold_and_no_interaction_is_found_where_there_is_none(runs):
    none = {"en": TRUTH["en"], "zh": tuple(mean - 0.3 for mean in TRUTH["en"])}
    held = false = found = 0
    for seed in range(runs):
        effect = effect_of(rated(np.random.default_rng(seed), none, 12, 8))
        held += effect.mean.low_alone <= -0.3 <= effect.mean.high_alone
        false += effect.p_interaction < 0.05
        found += effect_of(rated(np.random.default_rng(seed), None, 12, 8)).p_interaction < 0.05
    low, high = bounds(0.94, 0.985, of=2_000, runs=runs)  # ADR 23: 0.976 on average
    assert low <= held / runs <= high
    assert low <= 1 - false / runs
    assert found > 3 * runs / 20  # the power to find C


def test_the_report_says_for_which_system_the_languages_differ():
    shown = part_of("languages", rated(np.random.default_rng(2)))
    (sentence,) = shown["sentences"]
    assert "zh minus en, the mean of 3 conditions: -0." in sentence.replace("−", "-")
    assert "depends on the condition" in sentence
    assert sentence.endswith("for C.")
    rows = rows_of_table(shown, "languages")
    assert [row["condition"] for row in rows] == list(SYSTEMS)
    assert all(row["deviation_low"] < row["deviation"] < row["deviation_high"] for row in rows)
    assert shown["methods"]


def test_one_language_has_no_part():
    from analysis.report.part import Part
    from tests.analysis.part_of import given_of

    table = rated(np.random.default_rng(3), {"en": TRUTH["en"]}, 3, 3)
    assert not Part.registry["languages"]().applies(given_of(table))
