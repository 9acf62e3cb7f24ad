"""Every estimator of the registry keeps the contract: keys, intervals, counts, documentation."""

import json
from pathlib import Path

import pytest

from analysis.ratings.estimands import estimand_of_method
from analysis.report.part import Part
from analysis.statistics.estimator import Contrast, Estimate, Estimator, estimator
from listening.methods import Method
from tests.analysis.reference import edge, rows_of

DOCS = Path(__file__).resolve().parents[2] / "docs" / "estimators.md"
KEYS = sorted(Estimator.registry)


def ordinary(method):
    known = estimand_of_method(method).scores or (1.0, 2.0, 3.0)
    scores = {
        (c, f"r{r}", f"i{i}"): known[(r + i + len(c)) % len(known)]
        for c in ("A", "BB")
        for r in range(6)
        for i in range(6)
    }
    return rows_of(scores, method=method)


KINDS = {"ab", "att", "cmos", "mos", "mushra", "rank"}  # methods, of every kind of scores


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
def test_an_estimator_gives_estimates_with_intervals_counts_and_level(key):
    made = estimator(key)()
    for method in sorted((made.methods or set(Method.registry)) & KINDS):
        estimates = made.fit(ordinary(method), level=0.9, seed=3)
        assert {e.condition for e in estimates} == {"A", "BB"}
        for estimate in estimates:
            assert isinstance(estimate, Estimate)
            assert estimate.level == 0.9
            assert estimate.interval
            assert estimate.low is None or estimate.low <= estimate.value <= estimate.high
            assert estimate.low is not None or estimate.note
            assert (estimate.n_ratings, estimate.n_raters, estimate.n_items) == (36, 6, 6)
        assert all(isinstance(c, Contrast) for c in made.contrasts(ordinary(method)))


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.medium
def test_an_estimator_gives_the_same_numbers_for_the_same_seed(key):
    rows = [[e.row() for e in estimator(key)().fit(ordinary("mos"), seed=seed)] for seed in (1, 1)]
    assert rows[0] == rows[1]


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", ["empty", "one_rating", "one_rater", "all_equal", "missing"])
def test_an_estimator_survives_little_data_without_nan(key, name):
    made = estimator(key)()
    table = edge(name)
    lines = [*made.fit(table), *made.contrasts(table), *made.shares(table)]
    json.dumps([line.row() for line in lines], allow_nan=False)


@pytest.mark.parametrize("key", KEYS)
def test_an_estimator_has_a_heading_in_the_documentation(key):
    assert f"\n## {key}\n" in DOCS.read_text("utf-8")


def test_a_part_of_a_report_is_in_the_documentation():
    section = DOCS.read_text("utf-8").partition("## Parts of a report")[2]
    named = {key for key in Part.registry if f"\n### {key}\n" in section or f"`{key}`" in section}
    assert set(Part.registry) - named == set(), (
        "name them under Parts of a report in docs/estimators.md"
    )


def test_two_estimators_cannot_have_one_key():
    with pytest.raises(ValueError, match="two estimators have the key mean_score"):
        type("Again", (Estimator,), {"key": "mean_score"})


def test_an_unknown_key_names_the_known_ones():
    with pytest.raises(KeyError, match="known are mean_score"):
        estimator("nope")
