"""What BS.1534-3 and P.808 print: means, intervals, medians, quartiles, votes."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from analysis.report.parts.recommendation import Recommendation
from analysis.report.pipeline import chosen_parts
from analysis.statistics.options import Options, OptionsError
from tests.analysis.reference import rows_of
from tests.analysis.shown_by import in_report, made

PARTS = ("recommendation",)


def mushra():
    rng = np.random.default_rng(1)
    means = {"ref": 98, "anchor35": 20, "A": 70, "B": 55}
    scores = {
        (name, f"r{r}", f"i{i}"): float(np.clip(round(mean + rng.normal(0, 6)), 0, 100))
        for (name, mean), r, i in product(means.items(), range(8), range(5))
    }
    return rows_of(scores, method="mushra")


def test_mushra_has_means_over_assessors_medians_and_quartiles():
    table = mushra()
    shown = made(Recommendation, table)
    (printed,), (figure,) = shown.tables, shown.figures
    rows = {row["condition"]: row for row in printed.rows}
    assert [row["role"] for row in printed.rows] == ["reference", "system", "system", "anchor"]
    mine = table[table["condition"] == "A"]
    own = mine.groupby("rater")["score"].mean()
    told = stats.ttest_1samp(own, 0).confidence_interval(0.95)
    assert rows["A"]["rater_mean"] == pytest.approx(own.mean())
    assert (rows["A"]["raters_low"], rows["A"]["raters_high"]) == pytest.approx(tuple(told))
    assert rows["A"]["median"] == mine["score"].median()
    assert (rows["A"]["q1"], rows["A"]["q3"]) == tuple(mine["score"].quantile([0.25, 0.75]))
    assert (figure.drawing, figure.ends) == ("boxes", (0.0, 100.0))


@pytest.mark.medium
def test_p808_has_votes_sd_and_the_interval_that_it_prints():
    scores = {
        (c, f"r{r}", f"i{i}"): 1 + (r + i + len(c)) % 5
        for c in ("A", "BB")
        for r, i in product(range(6), range(4))
    }
    table = rows_of(scores)
    (printed,) = made(Recommendation, table).tables
    row = next(row for row in printed.rows if row["condition"] == "A")
    y = table.loc[table["condition"] == "A", "score"]
    told = stats.ttest_1samp(y, 0).confidence_interval(0.95)
    assert (row["n_votes"], row["n_raters"], row["n_clips"]) == (24, 6, 4)
    assert row["sd"] == pytest.approx(y.std())
    assert (row["votes_low"], row["votes_high"]) == pytest.approx(tuple(told))


@pytest.mark.slow
@pytest.mark.usefixtures("answer_alone")
@pytest.mark.parametrize("preset", ["mushra", "p808"])
def test_the_presets_are_reports(preset):
    table = mushra() if preset == "mushra" else mushra().assign(method="mos", estimand="mos")
    options = Options(preset=preset, replicates=100)
    shown, _ = in_report("recommendation", table, options)
    assert shown.tables
    chosen = {part.key for part in chosen_parts(options)}
    assert ("clip_scores" in chosen) == (preset == "p808")


def test_a_preset_that_there_is_not_is_refused_with_those_there_are():
    with pytest.raises(OptionsError, match="no preset mushroom; choose att, lfs, long"):
        chosen_parts(Options(preset="mushroom"))
