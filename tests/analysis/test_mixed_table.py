"""Mixed models of a ratings table: names, effects that fit the design, and edge cases in words."""

import numpy as np
import pytest

from analysis.statistics.mixed.family_model import model_draws, modelled
from analysis.statistics.mixed.model_errors import NotEstimable, Refusal
from analysis.statistics.mixed.table_model import arrays_of, mixed_model
from analysis.statistics.options import Options
from analysis.statistics.screening.screened import DEFAULT, screen
from tests.analysis.mixed_data import values
from tests.analysis.reference import edge, expected, heard_on_headphones, rows_of, table_of


@pytest.fixture(scope="module")
def isolation():
    table = heard_on_headphones("mos_s2")
    return table[table["task"] == "isolation"]


@pytest.mark.slow
def test_a_screened_study_gives_rs_means_under_its_names():
    table = screen(table_of("att_s1")).kept(DEFAULT)
    result = mixed_model(table, items=False)
    r = expected("att_s1")["lmm_att"]
    assert [f"system{name}" for (name,) in result.names] == list(r["fixef"])
    np.testing.assert_allclose(result.means.value, values(r["fixef"]), rtol=2e-8)
    crossed = mixed_model(table, by=("dimension",), items=False)
    r = expected("att_s1")["lmm_dimension"]
    assert [f"sysdim{'|'.join(name)}" for name in crossed.names] == list(r["fixef"])
    np.testing.assert_allclose(crossed.means.se, values(r["se"]), rtol=1e-6)


@pytest.mark.slow
def test_items_add_text_and_stimulus(isolation):
    result = mixed_model(isolation)
    r = expected("mos_s2")["lmm_isolation"]
    np.testing.assert_allclose(result.means.se, values(r["se"]), rtol=1e-6)
    assert result.fit.sds["item"] == pytest.approx(r["sd"]["text"], rel=1e-5)
    assert result.notes == ()


def test_items_that_conditions_do_not_share_alike_are_no_difference_of_conditions():
    """A is mostly rated on easy items, B on hard ones: without items A seems much better."""
    rng = np.random.default_rng(4)
    easy = np.linspace(-1, 1, 12)
    scores = {
        (c, f"r{r}", f"i{i:02}"): 3 + easy[i] + float(rng.normal(0, 0.3))
        for c in "AB"
        for r in range(9)
        for i in range(12)
        if (i + r) % 4 == 0 or (i > 7) == (c == "A")
    }
    table = rows_of(scores)
    (seeming,) = mixed_model(table, items=False).pairs.value
    (adjusted,) = mixed_model(table).pairs.value
    assert seeming > 0.4
    assert abs(adjusted) < 0.15


@pytest.mark.medium
def test_the_order_of_rows_changes_nothing(isolation):
    once, again = mixed_model(isolation), mixed_model(isolation.sample(frac=1, random_state=3))
    assert once.names == again.names
    np.testing.assert_allclose(once.means.value, again.means.value, rtol=1e-9)
    np.testing.assert_allclose(once.pairs.se, again.pairs.se, rtol=1e-6)


@pytest.mark.soak
def test_gaussian_and_ordinal_posteriors_tell_nearly_the_same_story(isolation):
    gaussian = mixed_model(isolation, bayesian=True, scale=(1, 5), rope=0.1)
    ordinal = mixed_model(isolation, "ordinal", bayesian=True, rope=0.1)
    scores = ordinal.posterior.summaries()["score"].mean
    np.testing.assert_allclose(gaussian.posterior.summaries()["condition"].mean, scores, atol=0.05)
    np.testing.assert_allclose(gaussian.comparison.p_best, ordinal.comparison.p_best, atol=0.06)
    assert gaussian.posterior.prior.startswith("means ~ Normal(3, 2)")


@pytest.mark.slow
def test_binary_counts_scores_above_a_bound(isolation):
    result = mixed_model(isolation, "binary", above=3.5)
    assert (np.diff(result.means.value) < 0).all()
    share = [
        (isolation["score"] > 3.5)[isolation["condition"] == n].mean() for (n,) in result.names
    ]
    assert np.corrcoef(share, result.means.value)[0, 1] > 0.98


def test_stimuli_of_two_conditions_are_not_mixed_up_by_name():
    table = rows_of({(c, f"r{r}", f"i{i}"): 1.0 for c in "AB" for r in range(2) for i in range(3)})
    table["stimulus"] = table["item"]
    assert len(np.unique(arrays_of(table).stimulus)) == 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("empty", "there are no ratings; collect some first"),
        ("one_rating", "there is one rater"),
        ("one_rater", "there is one rater.* collect ratings with more than one"),
        ("all_equal", "all the same: no variation to model; report the means without a test"),
        ("separated", "all the same: no variation to model; report the means without a test"),
    ],
)
@pytest.mark.parametrize("bayesian", [False, True])
def test_what_no_model_can_say_is_refused_in_words(name, said, bayesian):
    with pytest.raises(NotEstimable, match=said) as caught:
        mixed_model(edge(name), bayesian=bayesian)
    assert isinstance(caught.value.refusal, Refusal)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["empty", "one_rating", "one_rater", "all_equal", "separated"])
@pytest.mark.parametrize("options", [{"items": True}, {"kind": "ordinal"}])
def test_the_other_models_refuse_them_too(name, options):
    with pytest.raises(NotEstimable, match=";"):
        mixed_model(edge(name), **options)


@pytest.mark.slow
def test_separated_scores_have_an_ordinal_posterior():
    result = mixed_model(edge("separated"), "ordinal", bayesian=True)
    assert result.fit is result.means is None
    assert "no maximum likelihood fit: condition 0 got one extreme label" in result.notes[-1]
    assert result.comparison.p_best[0] > 0.95


@pytest.mark.medium
def test_one_condition_has_a_mean_and_no_pairs():
    result = mixed_model(edge("single_system"), bayesian=True)
    assert result.means.value == pytest.approx([2.667], abs=0.001)
    assert len(result.pairs.value) == 0
    assert result.comparison.p_best.tolist() == [1.0]


def test_raters_apart_widen_the_difference_and_a_note_says_what_was_left_out():
    result = mixed_model(edge("disjoint_raters"))
    welch = expected("edge")["disjoint_raters"]["welch"]["A - B"]
    assert result.pairs.value == pytest.approx([welch["diff"]])
    assert result.pairs.se[0] > 1.6 * welch["diff"] / welch["t"]
    assert result.pairs.degrees[0] == pytest.approx(6, rel=1e-4)
    assert result.notes[0].startswith("rater:condition was left out: no rater rated two conditions")


@pytest.mark.medium
def test_missing_scores_are_dropped_and_names_survive():
    assert len(arrays_of(edge("missing")).y) == 56  # of 57: a row of 58 stands there twice
    assert mixed_model(edge("unicode")).names == (('Sys "B", v2',), ("系统甲",))


def test_an_unknown_kind_is_refused(isolation):
    with pytest.raises(ValueError, match="choose gaussian, ordinal or binary"):
        mixed_model(isolation, "poisson")
    with pytest.raises(ValueError, match="binary needs above"):
        mixed_model(isolation, "binary")


@pytest.mark.parametrize("scores", [{"A": 1, "B": 3, "C": 5}, {"A": 0.1, "B": 0.7, "C": 1.1}])
def test_scores_that_are_all_the_same_are_known_whatever_their_rounding(scores):
    """Least squares leave 1e-16: draws of a variance of nothing took minutes and were refused."""
    ratings = {(c, f"r{r}", f"i{i}"): scores[c] for c in scores for r in range(7) for i in range(4)}
    table = rows_of(ratings)
    (family,) = modelled(table)
    with pytest.raises(NotEstimable, match="all the same: no variation to model"):
        model_draws(family, Options())
    with pytest.raises(NotEstimable, match="all the same: no variation to model"):
        mixed_model(table)


@pytest.mark.slow
def test_effects_that_explain_every_score_leave_no_residual_to_draw():
    ratings = {
        (c, f"r{r}", f"i{i}"): (4 if (c == "B") == (r > 1) else 2) + i % 2
        for c in "AB"
        for r in range(5)
        for i in range(6)
    }
    (family,) = modelled(rows_of(ratings))
    with pytest.raises(NotEstimable, match="explain every score exactly: no residual variation"):
        model_draws(family, Options())
