"""References and anchors are known by role, by name, or by their clips; they are never ranked."""

import numpy as np
import pandas as pd
import pytest

from analysis.report.parts.models import best_sentence, rank_heatmap, rank_table
from analysis.statistics.comparisons.systems_under_test import candidates
from analysis.statistics.mixed.model_errors import Refusal
from analysis.statistics.mixed.posterior import compare
from tests.analysis.reference import rows_of
from tests.analysis.shown_by import in_keys


def table(names, **fields):
    return rows_of({(name, "r1", "i1"): 1.0 for name in names}, **fields)


def roles(names, asked="", **fields):
    return dict(zip(names, candidates(table(names, **fields), names, asked).roles, strict=True))


def of_draws(means, sd=1.0, seed=0, ranked=None):
    rng = np.random.default_rng(seed)
    return compare(rng.normal(means, sd, (4, 500, len(means))), rope=0.1, ranked=ranked)


def test_references_and_anchors_are_known_by_their_names():
    found = roles(["A", "Human", "anchor35", "mid_anchor", "lowpass35", "Natural-Speech", "LP7"])
    assert found == {
        "A": "test",
        "Human": "reference",
        "anchor35": "anchor",
        "mid_anchor": "anchor",
        "lowpass35": "test",
        "Natural-Speech": "reference",
        "LP7": "test",
    }


@pytest.mark.medium
def test_in_mushra_filtered_ones_are_anchors_and_the_reference_may_be_asked_for():
    names = ["A", "lowpass35", "LP 7k", "R"]
    assert list(roles(names, "R", estimand="mushra").values()) == [
        "test",
        "anchor",
        "anchor",
        "reference",
    ]
    assert roles(["A", "R"], "R") == {"A": "test", "R": "test"}  # a baseline, not a recording


def test_the_hidden_reference_of_mushra_is_what_is_its_own_open_one():
    ratings = table(["A", "clean"], estimand="mushra").assign(versus_stimulus="clean_i1")
    found = candidates(ratings, ["A", "clean"])
    assert found.roles == ("test", "reference")
    assert in_keys(found.exclusions_text) == "clean (reference, its clips are the references)"


def test_the_column_of_roles_has_the_last_word():
    ratings = table(["human", "A", "poor"])
    ratings["role"] = ratings["condition"].map({"human": "test", "A": "test", "poor": "anchor"})
    found = candidates(ratings, ["human", "A", "poor"])
    assert found.ranked == [True, True, False]
    assert in_keys(found.exclusions_text) == "poor (anchor, by the column role)"
    ratings["role"] = ""
    assert candidates(ratings, ["human", "A", "poor"]).ranked == [False, True, True]


def test_nothing_is_left_out_where_there_is_no_reference():
    found = candidates(table(["A", "B"]), ["A", "B"])
    assert in_keys(found.exclusions_text) == ""
    assert found.ranked == [True, True]
    assert (
        candidates(
            pd.DataFrame(columns=["estimand", "stimulus", "versus_stimulus"]), []
        ).exclusions_text
        == ""
    )


def test_ranks_are_those_among_the_candidates():
    ranked = of_draws([9.0, 1.0, 2.0, 0.0], 0.01, ranked=[False, True, True, True])
    np.testing.assert_array_equal(ranked.p_best, [np.nan, 0, 1, 0])
    np.testing.assert_array_equal(ranked.expected_rank, [np.nan, 2, 1, 3])
    assert ranked.rank_probability.shape == (4, 3)
    assert ranked.difference.mean[0] == pytest.approx(8, abs=0.01)  # differences are of all


def test_the_sentence_speaks_of_the_candidates_and_names_who_is_none():
    names = ["human", "A", "B", "anchor35"]
    among = candidates(table(names), names)
    ranked = of_draws([9.0, 2.0, 1.5, -5.0], ranked=among.ranked)
    best, left = in_keys(best_sentence("MOS: ", names, ranked, among))
    assert best.startswith("MOS: A is the best with a probability of 6")
    assert "; next by expected rank is B, the best with 3" in best
    assert left == (
        "MOS: not ranked: human (reference, by its name) and anchor35 (anchor, by its name)."
    )
    rows = {row["condition"]: row for row in rank_table("k", "t", names, ranked, "", among).rows}
    assert rows["human"] == {"condition": "human", "role": "reference"}
    assert rows["A"]["role"] == "test"
    assert set(rows["A"]) >= {"p_best", "expected_rank", "rank_1", "rank_2"}
    (figure,) = rank_heatmap("k", "t", names, ranked, "")
    assert {row["row"] for row in figure.rows} == {"A", "B"}


def test_one_system_alone_has_no_rank():
    names = ["human", "A"]
    among = candidates(table(names), names)
    ranked = of_draws([2.0, 1.0], ranked=among.ranked)
    assert in_keys(best_sentence("MOS: ", names, ranked, among)) == [
        "MOS: not ranked: human (reference, by its name)."
    ]
    assert np.isnan(ranked.p_best).all()
    assert rank_heatmap("k", "t", names, ranked, "") == []


def test_who_is_next_goes_by_expected_rank_not_by_a_tie_at_0():
    names = ["A", "L", "M"]
    (told,) = in_keys(best_sentence("MOS: ", names, of_draws([9.0, 1.0, 2.0], 0.3)))
    assert told == (
        "MOS: A is the best with a probability of over 99.9 %; next by expected rank is M, the "
        "best with under 0.1 %."
    )


def test_equal_ones_share_the_next_rank_and_the_first_place():
    draws = np.tile([[9.0, 1.0, 2.0], [9.0, 2.0, 1.0]], (4, 50, 1))
    (told,) = in_keys(best_sentence("MOS: ", ["A", "L", "M"], compare(draws, rope=0.1)))
    assert told.endswith(
        "; L and M share the next expected rank (under 0.1 % and under 0.1 % to be the best)."
    )
    first = np.tile([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0]], (4, 50, 1))
    (told,) = in_keys(best_sentence("MOS: ", ["A", "L", "M"], compare(first, rope=0.1)))
    assert told == "MOS: A and L are each the best with a probability of 50.0 %."


def test_the_best_by_probability_may_not_have_the_best_expected_rank():
    """B is first or last, A always second or first."""
    draws = np.tile([[2.0, 3.0, 1.0]] * 11 + [[3.0, 1.0, 2.0]] * 9, (4, 10, 1))
    (told,) = in_keys(best_sentence("MOS: ", ["A", "B", "C"], compare(draws, rope=0.1)))
    assert told == (
        "MOS: B is the best with a probability of 55.0 %, but A has the better expected rank (1.55 "
        "against 1.90)."
    )


def test_a_refusal_is_said_as_before():
    (told,) = in_keys(best_sentence("MOS: ", ["A", "B"], Refusal("reason", "remedy")))
    assert told == "MOS: no ranking is shown, because reason; remedy."
