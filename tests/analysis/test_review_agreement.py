"""Agreement of reviewers agrees with implementations that others wrote."""

import numpy as np
import pytest

from analysis.statistics.agreement import nominal
from analysis.statistics.agreement.krippendorff import krippendorff_alpha
from analysis.statistics.agreement.nominal import by_aspect

CATEGORIES = ("fit", "unfit", "unsure")


def drawn(items, reviewers, seed=1, share=1.0):
    """Reviewers who see the truth of an item seven times of ten."""
    rng = np.random.default_rng(seed)
    found = {}
    for item in range(items):
        truth = rng.integers(3)
        found[item] = {
            who: CATEGORIES[truth if rng.random() < 0.7 else rng.integers(3)]
            for who in range(reviewers)
            if rng.random() < share
        }
    return found


def test_reviewers_and_raters_have_one_alpha_and_one_interval():
    said = drawn(60, 3, share=0.8)
    rows = [(i, who, CATEGORIES.index(c)) for i, each in said.items() for who, c in each.items()]
    item, rater, score = (list(column) for column in zip(*rows, strict=True))
    unit = [f"{each:02d}" for each in item]  # units are drawn in the order of their names
    raters = krippendorff_alpha(unit, rater, score, "nominal")
    reviewers = nominal.alpha(said, CATEGORIES)
    assert (reviewers.value, reviewers.low, reviewers.high) == pytest.approx(
        (raters.value, raters.low, raters.high), abs=1e-9
    )


FLEISS = """0 0 0 0 14, 0 2 6 4 2, 0 0 3 5 6, 0 3 9 2 0, 2 2 8 1 1,
7 7 0 0 0, 3 2 6 3 0, 2 5 3 2 2, 6 5 2 1 0, 0 2 2 3 7"""  # ten items, 14 raters: kappa 0.210


@pytest.mark.medium
def test_cohens_kappa_is_that_of_scikit_learn_and_fleiss_kappa_that_of_the_known_example():
    from sklearn.metrics import cohen_kappa_score

    said = drawn(80, 3)
    for (a, b), mine in nominal.cohen_kappas(said, CATEGORIES).items():
        other = cohen_kappa_score([s[a] for s in said.values()], [s[b] for s in said.values()])
        assert mine.value == pytest.approx(other, abs=1e-12)
    rows = [[int(n) for n in row.split()] for row in FLEISS.split(",")]
    said = {n: dict(enumerate(np.repeat(list("abcde"), row))) for n, row in enumerate(rows)}
    known = nominal.fleiss_kappa(said, "abcde")
    assert known.value == pytest.approx(0.210, abs=0.0005)
    assert known.low < known.value < known.high


def test_where_nothing_varies_there_is_no_number_and_a_reason():
    nobody = nominal.alpha({1: {1: "fit"}}, CATEGORIES)
    alike = nominal.alpha({n: {1: "fit", 2: "fit"} for n in range(5)}, CATEGORIES)
    assert (nobody.value, alike.value) == (None, None)
    assert "two verdicts" in nobody.note
    assert "variation" in alike.note


def test_agreement_about_each_aspect_says_how_few_there_are():
    said = {n: {1: n < 3, 2: n < 2, 3: n < 3} for n in range(12)}
    alone = {20: {1: True}}
    few, never = by_aspect(
        {"cut": {**said, **alone}, "timbre": {n: {1: False, 2: False} for n in said}}
    )
    words = {n: {who: str(it) for who, it in each.items()} for n, each in said.items()}
    assert few.alpha.value == nominal.alpha(words, ("True", "False")).value
    assert (few.by_any, few.by_all, few.alpha.items) == (3, 2, 12)
    assert "3 items only" in few.note
    assert (never.alpha.value, never.by_any) == (None, 0)
    assert "nobody marked it" in never.note
