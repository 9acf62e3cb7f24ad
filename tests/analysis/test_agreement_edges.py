"""Edge inputs give a sentence, never a number that is none and never a crash."""

import math

import numpy as np
import pandas as pd
import pytest

from analysis.ratings.problems import RatingsError
from analysis.ratings.table import from_rows
from analysis.statistics.agreement.agreement_result import AgreementError, coded
from analysis.statistics.agreement.answer_speed import pace_of_raters
from analysis.statistics.agreement.concordance import kendall_w
from analysis.statistics.agreement.icc import crossed_reml, icc_mixed, intraclass_correlations
from analysis.statistics.agreement.kappa import kappa
from analysis.statistics.agreement.krippendorff import krippendorff_alpha
from analysis.statistics.agreement.noise_ceiling import noise_ceiling
from analysis.statistics.agreement.order_effects import by_position, carry_over, trend
from analysis.statistics.agreement.rater_bias import subject_model
from analysis.statistics.agreement.scale_use import scale_use, sos_parameter
from analysis.statistics.agreement.self_consistency import repeat_pairs, self_consistency
from analysis.statistics.agreement.versus_rest import versus_rest
from tests.analysis.reference import BLANK, edge

SCALE = np.arange(0, 5.1, 0.5)


def everything(table):
    """Every measure that takes unit, rater and score, as flat rows."""
    three = table["stimulus"], table["rater"], table["score"]
    position = np.arange(len(table))
    found = [krippendorff_alpha(*three, metric) for metric in ("nominal", "ordinal", "interval")]
    found += intraclass_correlations(*three)
    found += icc_mixed(*three)
    found += [kendall_w(*three)]
    found += versus_rest(*three, categories=SCALE)
    found += [sos_parameter(*three, ends=(0, 5)).a]
    found += [*noise_ceiling(*three), *subject_model(*three).raters]
    found += scale_use(table["rater"], table["score"], SCALE)
    found += [trend(*three, position), carry_over(*three[:2], three[1], three[2], position)]
    found += by_position(table["condition"], table["rater"], table["score"])
    return [measure.row() for measure in found]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["empty", "one_rating", "one_rater", "all_equal", "single_system", "separated", "missing",
     "unicode", "disjoint_raters"],
)  # fmt: skip
def test_no_edge_file_gives_a_nan_or_an_empty_reason(name):
    try:
        table = edge(name)
    except RatingsError:
        table = from_rows([])
    for row in everything(table):
        for key, value in row.items():
            assert not (isinstance(value, float) and math.isnan(value)), (key, row)
        if row.get("value", 0) is None or ("low" in row and row["low"] is None):
            assert row["note"], row


def test_equal_ratings_have_no_agreement_never_1():
    table = edge("all_equal")
    three = table["stimulus"], table["rater"], table["score"]
    for metric in ("nominal", "ordinal", "interval"):
        found = krippendorff_alpha(*three, metric)
        assert found.value is None
        assert "all ratings are equal" in found.note
    for form in [*intraclass_correlations(*three), *icc_mixed(*three)]:
        assert form.value is None
        assert "equal" in form.note or "every rater" in form.note
    assert sos_parameter(*three).a.value is None
    assert kendall_w(*three).value is None


def test_one_rater_cannot_be_compared_with_others():
    table = edge("one_rater")
    three = table["stimulus"], table["rater"], table["score"]
    assert {m.value for m in versus_rest(*three)} == {None}
    assert "rated by others" in versus_rest(*three)[0].note
    assert "one rater only" in intraclass_correlations(*three)[0].note
    assert "one rater only" in icc_mixed(*three)[0].note
    assert "one rater only" in subject_model(*three).note
    assert "one rater only" in noise_ceiling(*three)[0].note
    assert "no unit has two ratings" in krippendorff_alpha(*three).note
    with pytest.raises(AgreementError, match="one rater only"):
        crossed_reml(coded(*three))


def test_raters_in_separate_groups_are_told():
    table = edge("disjoint_raters")
    model = subject_model(table["stimulus"], table["rater"], table["score"])
    assert "2 groups that share no unit" in model.note
    mine = {m.rater: m.bias for m in model.raters}
    assert sum(mine[f"r{i}"] for i in range(4)) == pytest.approx(0, abs=1e-9)
    assert sum(mine[f"r{i}"] for i in range(4, 8)) == pytest.approx(0, abs=1e-9)


@pytest.mark.medium
def test_a_missing_score_and_a_duplicate_do_no_harm():
    table = edge("missing")
    table = pd.concat([table, table[table["stimulus"] == "B_t1"].head(1)])
    ratings = coded(table["stimulus"], table["rater"], table["score"])
    assert len(ratings.y) == 57
    assert ratings.duplicates() == 1
    assert krippendorff_alpha(table["stimulus"], table["rater"], table["score"]).n_ratings == 57


def test_wrong_arguments_are_told_in_words():
    with pytest.raises(AgreementError, match="3 scores"):
        coded(["a"], ["r"], [1, 2, 3])
    with pytest.raises(AgreementError, match="infinite"):
        coded(["a"], ["r"], [math.inf])
    with pytest.raises(AgreementError, match="nominal, ordinal, interval"):
        krippendorff_alpha(["a"], ["r"], [1], "ratio")
    with pytest.raises(AgreementError, match="outside the scale"):
        sos_parameter(["a", "a"], [0, 1], [0, 3])
    with pytest.raises(AgreementError, match="steps"):
        scale_use(["a"], [1], [1])
    with pytest.raises(AgreementError, match="negative"):
        pace_of_raters(["a"], [-1])
    with pytest.raises(AgreementError, match="negative"):
        self_consistency(["a"], [1], [1], tolerance=-1)
    with pytest.raises(AgreementError, match="pearson, spearman"):
        noise_ceiling(["a"], ["r"], [1], statistic="kendall")
    with pytest.raises(AgreementError, match="1 or more"):
        icc_mixed(["a"], ["r"], [1], raters_per_unit=0)


def test_a_constant_side_has_kappa_0_and_two_equal_constants_none():
    assert kappa([3, 3, 3, 3], [1, 2, 4, 5])[0] == 0
    assert kappa([3, 3], [3, 3]) == (None, None)


def test_a_position_that_everyone_shares_with_the_clip_tells_no_trend():
    unit, rater = np.tile(np.arange(5), 4), np.repeat(np.arange(4), 5)
    found = trend(unit, rater, np.arange(20.0), unit)
    assert found.value is None
    assert "does not vary within raters and clips" in found.note


def test_a_rater_who_fits_by_chance_does_not_take_all_weight():
    rng = np.random.default_rng(2)
    unit, rater = np.repeat(np.arange(30), 6), np.tile(np.arange(6), 30)
    quality = rng.normal(3, 1, 30)
    y = quality[unit] + rng.normal(0, 0.6, len(unit))
    y[rater == 5] = y.reshape(30, 6)[:, :5].mean(axis=1)  # always the others' mean
    model = subject_model(unit, rater, y)
    assert max(m.weight for m in model.raters) < 6
    assert min(m.inconsistency for m in model.raters) > 0


def test_too_few_answers_have_no_bias_and_say_so():
    unit, rater = [0, 0, 1, 1, 2, 2, 3, 3, 0], ["a", "b"] * 4 + ["c"]
    found = {m.rater: m for m in subject_model(unit, rater, [1, 2, 2, 3, 3, 3, 4, 5, 2]).raters}
    assert found["c"].bias is None
    assert "1 of the 3" in found["c"].note
    assert found["a"].bias == pytest.approx(-found["b"].bias, abs=0.5)


def asked(session, stimulus, position, score, **more):
    return BLANK | {
        "session": session,
        "rater": session,
        "condition": "A",
        "item": "i",
        "stimulus": stimulus,
        "position": position,
        "score": score,
        **more,
    }


@pytest.mark.medium
def test_pairs_of_one_question_are_found_in_a_table():
    table = from_rows(
        [
            asked("s1", "x", 9, 4.0),
            asked("s1", "x", 2, 3.0),
            asked("s1", "y", 3, 1.0),
            asked("s1", "x", 4, 5.0, criterion="quality"),
            asked("s2", "x", 1, 2.0),
            asked("s2", "x", 5, None),
            asked("s2", "y", 1, 1.0, trap="gold", trap_passed=True),
            asked("s2", "y", 6, 2.0, trap="gold", trap_passed=True),
        ]
    )
    pairs = repeat_pairs(table)
    assert pairs.to_dict("records") == [
        {"rater": "s1", "stimulus": "x", "criterion": "naturalness", "first": 3.0, "second": 4.0}
    ]
    assert len(repeat_pairs(table.iloc[:0])) == 0
    unordered = [asked("s3", "x", None, 5.0), asked("s3", "x", None, 1.0)]
    assert len(repeat_pairs(from_rows(unordered))) == 0  # nothing says which came first
    (pair,) = repeat_pairs(from_rows([unordered[0], unordered[1] | {"counts": False}])).to_dict(
        "records"
    )
    assert (pair["first"], pair["second"]) == (5.0, 1.0)
    assert self_consistency([], [], []) == []
    (everyone, one) = self_consistency(pairs["rater"], pairs["first"], pairs["second"])
    assert (everyone.n_pairs, one.rater) == (1, "s1")
    assert "one pair only" in one.note


def test_times_that_are_unknown_are_left_out():
    found = pace_of_raters(["a", "a", "b"], pd.Series([500.0, math.nan, 2000.0]))
    assert [p.n_ratings for p in found] == [1, 1]
    assert found[0].quick == 1
    assert "one answer only" in found[0].note
    assert pace_of_raters([], []) == []
