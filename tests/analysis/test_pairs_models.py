"""Models of pairs by hand, their clustered covariance, and the cases without finite estimates."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.pairs.comparison_graph import (
    Disconnected,
    Separated,
    connection,
    parts,
    wins_of,
)
from analysis.statistics.pairs.means_of_pairs import pair_means, within_pairs
from analysis.statistics.pairs.pair_ratings import PairRatings, pair_ratings
from analysis.statistics.pairs.win_models import (
    LINKS,
    _Cumulative,
    bradley_terry,
    cumulative,
    davidson,
    least_squares,
)
from tests.analysis.pairs_of import edge_pairs, met, reference_pairs
from tests.analysis.simulation import bounds, sizes

SIX_TO_TWO = [("A", "B", 1.0)] * 6 + [("A", "B", -1.0)] * 2
WITH_TIES = [*SIX_TO_TWO, *[("A", "B", 0.0)] * 4]


def gap(fit, kind="model"):
    (one,) = fit.contrasts(kind=kind)
    return one.value, one.se


def test_bradley_terry_of_two_is_the_log_odds():
    value, se = gap(bradley_terry(met(*SIX_TO_TWO)))
    assert (value, se) == pytest.approx((np.log(3), (1 / 6 + 1 / 2) ** 0.5))
    fit = bradley_terry(met(*WITH_TIES))
    assert gap(fit)[0] == pytest.approx(np.log(8 / 4))
    assert fit.ability.sum() == pytest.approx(0)
    assert bradley_terry(met(*WITH_TIES), ties="drop").n_ratings == 8


def test_davidson_of_two_is_what_the_three_shares_say():
    fit = davidson(met(*WITH_TIES))
    assert gap(fit)[0] == pytest.approx(np.log(6 / 2))
    assert fit.term("log_nu").value == pytest.approx(np.log(4 / (6 * 2) ** 0.5))
    with pytest.raises(KeyError, match="there are log_nu"):
        fit.term("nu")


@pytest.mark.parametrize(("link", "law"), [("logit", stats.logistic), ("probit", stats.norm)])
def test_the_cumulative_model_of_three_answers_is_what_the_shares_say(link, law):
    fit = cumulative(met(*WITH_TIES), link, order=False)
    upper, lower = law.ppf(1 - 6 / 12), law.ppf(2 / 12)  # c - d and -c - d
    assert gap(fit)[0] == pytest.approx(-(upper + lower) / 2)
    assert fit.term("spacing.1").value == pytest.approx((upper - lower) / 2)
    assert fit.order() == ["A", "B"]


def test_without_a_middle_the_cut_points_stay_symmetric():
    rows = [("A", "B", y) for y in (2.0, 2.0, 1.0, 1.0, 1.0, -1.0, -1.0, -2.0)]
    fit = cumulative(met(*rows), "logit", order=False)
    assert [term.name for term in fit.terms] == ["spacing.1"]
    d, c = gap(fit)[0], fit.term("spacing.1").value

    def likelihood(d, c):
        bounds = np.array([-np.inf, -c, 0.0, c, np.inf])
        chance = np.diff(stats.logistic.cdf(bounds - d))
        return np.log(chance) @ [1, 2, 3, 2]

    best = likelihood(d, c)
    assert best == pytest.approx(fit.log_likelihood)
    for move in (1e-3, -1e-3):
        assert max(likelihood(d + move, c), likelihood(d, c + move)) < best


def test_two_answers_make_the_cumulative_logit_bradley_terry():
    rows = met(*SIX_TO_TWO, ("B", "C", 1.0), ("B", "C", 1.0), ("C", "A", 1.0), ("C", "B", 1.0))
    mine, theirs = cumulative(rows, "logit", order=False), bradley_terry(rows)
    assert mine.terms == ()
    assert mine.ability == pytest.approx(theirs.ability)
    assert mine.covariance == pytest.approx(theirs.covariance)


def test_least_squares_of_two_is_the_mean_with_its_t():
    fit = least_squares(met(*WITH_TIES), order=False)
    y = np.array([score for *_, score in WITH_TIES])
    assert gap(fit) == pytest.approx((y.mean(), y.std(ddof=1) / len(y) ** 0.5))
    assert fit.contrasts(kind="model")[0].df == len(y) - 1


def test_an_order_term_is_the_gain_of_the_second():
    rows = [("A", "B", 1.0)] * 8 + [("A", "B", -1.0)] * 2  # a second: 8 of 10; first: 4 of 10
    rows += [("A", "B", 1.0)] * 4 + [("A", "B", -1.0)] * 6
    n = len(rows)
    ratings = pair_ratings(
        ["A"] * n,
        ["B"] * n,
        [y for *_, y in rows],
        [1.0] * 10 + [-1.0] * 10,
        list("abcde") * 4,
        list("xy") * 10,
    )
    fit = bradley_terry(ratings, order=True)
    second, first = np.log(8 / 2), np.log(4 / 6)
    assert gap(fit)[0] == pytest.approx((second + first) / 2)
    assert fit.term("second_advantage").value == pytest.approx((second - first) / 2)


def test_one_order_only_drops_the_term_and_says_so():
    fit = davidson(met(*WITH_TIES, orders=(1.0,)), order=True)
    assert [term.name for term in fit.terms] == ["log_nu"]
    assert "no order term" in fit.note


@pytest.mark.parametrize("model", [bradley_terry, davidson, cumulative, least_squares])
def test_swapping_sides_changes_nothing(model):
    rows = met(*WITH_TIES, ("B", "C", 1.0), ("C", "A", -1.0), ("C", "B", 1.0), ("A", "C", -1.0))
    turned = pair_ratings(
        [rows.names[i] for i in rows.b],
        [rows.names[i] for i in rows.a],
        list(-rows.y),
        list(-rows.order),
        list(rows.rater),
        list(rows.item),
    )
    assert model(turned).ability == pytest.approx(model(rows).ability, abs=1e-8)
    assert model(turned).by_rater == pytest.approx(model(rows).by_rater, abs=1e-8)


def test_raters_who_are_heard_twice_add_nothing_to_clustered_errors():
    rows = met(*WITH_TIES, ("B", "C", 1.0), ("C", "A", -1.0), ("C", "B", 1.0))
    twice = pair_ratings(
        [rows.names[i] for i in rows.a] * 2,
        [rows.names[i] for i in rows.b] * 2,
        list(rows.y) * 2,
        list(rows.order) * 2,
        list(rows.rater) * 2,
        list(rows.item) * 2,
    )
    for model in (bradley_terry, davidson, cumulative):
        once, again = model(rows), model(twice)
        assert again.by_rater == pytest.approx(once.by_rater, rel=1e-6)
        assert again.covariance == pytest.approx(once.covariance / 2, rel=1e-6)


def test_independent_ratings_of_two_conditions_have_the_models_own_error():
    n = len(WITH_TIES)
    each = [str(i) for i in range(n)]
    ratings = pair_ratings(["A"] * n, ["B"] * n, [y for *_, y in WITH_TIES], [0.0] * n, each, each)
    fit = davidson(ratings)
    assert gap(fit, "clustered") == pytest.approx(gap(fit, "model"))
    (one,) = fit.contrasts()
    assert one.df == n - 1
    assert [a.condition for a in fit.abilities()] == ["A", "B"]
    assert fit.abilities()[0].value == pytest.approx(one.value / 2)


def test_a_circle_makes_equal_abilities():
    ratings = edge_pairs("bt_cycle")
    for model in (bradley_terry, cumulative, least_squares):
        assert model(ratings).ability == pytest.approx(np.zeros(3), abs=1e-9)


def test_the_unbeaten_are_named_and_the_others_keep_their_order():
    ratings = edge_pairs("bt_unbeaten")
    with pytest.raises(Separated, match="A was never beaten: the distance is not estimable"):
        bradley_terry(ratings)
    found = connection(ratings)
    assert (found.unbeaten, found.winless) == (("A",), ())
    assert found.groups == (("A",), ("B", "C"))
    assert [part.names for part in parts(ratings)] == [("A", "B", "C")]
    reduced = bradley_terry(ratings, bias_reduced=True)
    assert reduced.order()[0] == "A"
    assert reduced.ability[1] == pytest.approx(reduced.ability[2])


@pytest.mark.parametrize("model", [bradley_terry, cumulative, least_squares])
def test_equal_answers_are_no_more_certain_than_independent_ones(model):
    always = met(("A", "B", 3.0), ("A", "C", 3.0), ("B", "C", 3.0), repeat=30)
    fit = model(always) if model is least_squares else model(always, bias_reduced=True)
    for kind in ("contrasts", "abilities"):
        clustered, independent = getattr(fit, kind)(), getattr(fit, kind)(kind="model")
        for ours, theirs in zip(clustered, independent, strict=True):
            assert ours.se >= theirs.se * (1 - 1e-12)


@pytest.mark.parametrize("model", [bradley_terry, davidson, cumulative, least_squares])
def test_groups_that_never_met_get_no_common_ranking(model):
    ratings = edge_pairs("bt_disconnected")
    with pytest.raises(Disconnected, match=r"2 groups .* \(A, B \| C, D\)") as caught:
        model(ratings)
    assert caught.value.components == (("A", "B"), ("C", "D"))
    assert [part.names for part in parts(ratings)] == [("A", "B"), ("C", "D")]
    assert bradley_terry(parts(ratings)[1]).ability == pytest.approx(
        [np.log(3) / 2, -np.log(3) / 2]
    )


def test_only_ties_are_equal_or_undefined():
    ratings = edge_pairs("bt_all_ties")
    assert bradley_terry(ratings).ability == pytest.approx(np.zeros(3))
    for refused, words in (
        (lambda: bradley_terry(ratings, ties="drop"), "only ties: nothing is left"),
        (lambda: davidson(ratings), "only ties: all abilities are equal"),
        (lambda: cumulative(ratings), "only ties: all abilities are equal"),
        (lambda: least_squares(ratings), "no error to test them by"),
        (lambda: davidson(met(*SIX_TO_TWO)), "no ties"),
    ):
        with pytest.raises(Undefined, match=words):
            refused()


def test_a_maximum_at_infinity_is_refused_in_words():
    """One win and ties: connected both ways, and yet Davidson's likelihood has no maximum."""
    ratings = met(("A", "B", 1.0), ("A", "B", 0.0), ("A", "B", 0.0))
    with pytest.raises(Undefined, match="no finite estimates"):
        davidson(ratings)
    unbeaten = met(("A", "B", 1.0), ("A", "B", 1.0))
    for link in ("logit", "probit"):
        with pytest.raises(Undefined, match="no finite estimates"):
            cumulative(unbeaten, link)
        assert cumulative(unbeaten, link, bias_reduced=True).order() == ["A", "B"]


def test_an_unbeaten_condition_with_slight_wins_is_finite_when_grades_are_used():
    rows = [("A", "B", 1.0), ("A", "B", 0.0), ("B", "C", 2.0), ("B", "C", -1.0)] * 3
    fit = cumulative(met(*rows), order=False)
    assert np.all(np.isfinite(fit.ability))
    assert gap_of(fit, "A", "B") > 0


def gap_of(fit, a, b):
    return fit.ability[fit.names.index(a)] - fit.ability[fit.names.index(b)]


def test_one_rater_has_no_clustered_interval():
    ratings = pair_ratings(
        ["A"] * 4, ["B"] * 4, [1.0, -1.0, 1.0, 1.0], [0.0] * 4, ["r"] * 4, list("abcd")
    )
    fit = bradley_terry(ratings)
    with pytest.raises(Undefined, match="one rater only"):
        fit.contrasts()
    assert fit.contrasts(kind="model")[0].se > 0
    with pytest.raises(Undefined, match="clustered or model"):
        fit.contrasts(kind="naive")


def test_wins_are_counted_with_ties_as_asked():
    ratings = met(*WITH_TIES)
    assert wins_of(ratings).tolist() == [[0, 8], [4, 0]]
    assert wins_of(ratings, "drop").tolist() == [[0, 6], [2, 0]]
    with pytest.raises(Undefined, match="half or dropped"):
        wins_of(ratings, "win")


def test_groups_that_beat_one_another_one_way_are_told_best_first():
    ratings = met(
        *(("A", "B", 1.0), ("B", "A", 1.0), ("B", "C", 1.0), ("C", "D", 1.0), ("D", "C", 1.0))
    )
    found = connection(ratings)
    assert found.groups == (("A", "B"), ("C", "D"))
    assert "best first: A, B; then C, D" in found.words


def test_the_order_term_has_the_clustered_error_of_the_order_within_pairs():
    for ratings in (reference_pairs("cmos_s2"), met(*WITH_TIES, repeat=3)):
        term, told = least_squares(ratings).term("second_advantage"), within_pairs(ratings)
        groups = min(len(set(ratings.rater)), len(set(ratings.item)))
        assert term.value == pytest.approx(told.value)
        fewest = (groups + 2) / 2  # raters or items count as fewer where some gave more
        widest = stats.t.ppf(0.975, fewest - 1) * (fewest / (fewest - 1)) ** 0.5
        assert 1.95 <= (told.high - told.value) / term.se_clustered <= widest + 1e-9


def test_a_clustered_variance_is_not_below_that_of_raters_or_items_alone():
    """Two raters who always disagree: items cancel out, raters do not."""
    ratings = pair_ratings(
        ["A"] * 6, ["B"] * 6, [1.0, -1.0] * 3, [0.0] * 6, list("rsrsrs"), list("xxyyzz")
    )
    fit = least_squares(ratings)
    assert gap(fit, "clustered") == pytest.approx((0.0, 0.5**0.5), abs=1e-12)
    half = stats.t.ppf(0.975, 1) * 0.5**0.5
    (mean,) = pair_means(ratings)
    assert (mean.mean.low, mean.mean.high) == pytest.approx((-1, 1), abs=1e-6)  # the whole scale
    assert fit.abilities()[0].high == pytest.approx(half / 2)


def test_a_clustered_covariance_has_no_negative_direction():
    rng = np.random.default_rng(0)
    rows = [(a, b, float(rng.integers(-1, 2))) for a, b in ("AB", "BC", "CA", "AC", "BA") * 6]
    fit = cumulative(met(*rows), "logit")
    raw = np.linalg.eigvalsh(fit.by_rater + fit.by_item - fit.by_both)
    assert raw[0] < -0.01
    assert np.linalg.eigvalsh(fit.clustered_covariance()) == pytest.approx(
        np.sort(np.maximum(raw, 0)), abs=1e-12
    )


@pytest.mark.slow
@pytest.mark.no_cover
@sizes(60, 300)
def test_clustered_intervals_cover_and_the_models_do_not(runs):
    """Studies of three conditions, two of them equal; 24 raters and 24 items, 4 per pair."""
    rng = np.random.default_rng(11)
    models = {
        "bradley_terry": lambda r: bradley_terry(r, order=True),
        "davidson": lambda r: davidson(r, order=True),
        "cumulative": cumulative,
        "least_squares": least_squares,
    }
    hits = {(name, kind): 0 for name in models for kind in ("clustered", "model")}
    for _ in range(runs):
        ratings = simulated(rng)
        for name, model in models.items():
            fit = model(ratings)
            for kind in ("clustered", "model"):
                one = fit.contrasts([(1, 2)], kind=kind)[0]
                hits[name, kind] += one.low <= 0 <= one.high
    shares = {key: count / runs for key, count in hits.items()}
    low, high = bounds(0.90, 0.985, of=300, runs=runs)
    for name in models:
        assert low < shares[name, "clustered"] < high, shares
        most = 0.88 if runs == 300 else shares[name, "clustered"]
        assert shares[name, "model"] < most, shares


def simulated(rng):
    """B and C are equal; raters lean towards conditions and orders, stimuli differ in luck."""
    value, pairs = np.array([0.5, 0.1, 0.1]), [(0, 1), (0, 2), (1, 2)]
    luck, lean = rng.normal(0, 0.35, (3, 24)), rng.normal(0, 0.35, (24, 3))
    habit = 0.15 + rng.normal(0, 0.25, 24)
    columns = [
        (a, b, item, rater)
        for item in range(24)
        for a, b in pairs
        for rater in rng.choice(24, 4, replace=False)
    ]
    a, b, item, rater = np.array(columns).T
    order = rng.choice([-1.0, 1.0], len(a))
    y = value[a] + luck[a, item] + lean[rater, a] - value[b] - luck[b, item] - lean[rater, b]
    y = np.clip(np.round(y + habit[rater] * order + rng.normal(0, 0.9, len(a))), -3, 3)
    return PairRatings(("A", "B", "C"), a, b, y, order, rater, item)


@pytest.mark.parametrize(("wins", "losses", "ties"), [(7, 3, 2), (9, 0, 0), (5, 0, 4), (1, 1, 6)])
def test_bias_reduction_of_two_conditions_adds_half_an_answer_to_each_outcome(wins, losses, ties):
    """Firth (1993, section 4.1): as if Jeffreys' prior had been seen; finite whoever won."""
    answers = [("a", "b", 1.0)] * wins + [("a", "b", -1.0)] * losses + [("a", "b", 0.0)] * ties
    ratings = met(*answers)
    up, down, tied = wins + 0.5, losses + 0.5, ties + 0.5
    fit = davidson(ratings, bias_reduced=True)
    assert fit.ability[0] - fit.ability[1] == pytest.approx(np.log(up / down))
    assert fit.term("log_nu").value == pytest.approx(np.log(tied / np.sqrt(up * down)))
    decided = bradley_terry(ratings, ties="drop", bias_reduced=True)
    assert decided.ability[0] - decided.ability[1] == pytest.approx(np.log(up / down))


def test_the_penalty_of_graded_answers_has_the_slope_of_the_logarithm_of_the_determinant():
    """By central differences, at parameters away from the maximum."""
    ratings = met(("a", "b", 2.0), ("b", "c", 1.0), ("a", "c", 3.0), ("b", "c", -1.0), repeat=3)
    model = _Cumulative(ratings, LINKS["probit"], True, True)
    at = model.start() + np.linspace(-0.2, 0.3, model.size)
    step = 1e-6 * np.eye(model.size)
    slopes = [(model.objective(at + one)[0] - model.objective(at - one)[0]) / 2e-6 for one in step]
    assert model.objective(at)[1] == pytest.approx(np.array(slopes), rel=1e-5, abs=1e-6)
    fit = cumulative(ratings, bias_reduced=True)  # a beat all others: not finite without
    assert 0.5 < fit.ability[0] < 6
    with pytest.raises(Undefined):
        cumulative(ratings)


def test_bias_reduction_takes_out_what_maximum_likelihood_exaggerates():
    """Four systems, each pair asked eight times: the spread of the strengths, of the true one."""
    rng = np.random.default_rng(5)
    truth = np.array([-1.2, -0.4, 0.4, 1.2])
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    spread: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(200):
        wins = {pair: rng.binomial(8, expit(truth[pair[0]] - truth[pair[1]])) for pair in pairs}
        answers = [
            (f"s{a}", f"s{b}", 1.0 if n < won else -1.0)
            for (a, b), won in wins.items()
            for n in range(8)
        ]
        ratings = met(*answers)
        for reduced in (False, True):
            if connection(ratings).estimable:
                ability = bradley_terry(ratings, bias_reduced=reduced).ability
                spread[reduced].append(float(truth @ ability) / float(truth @ truth))
    plain, reduced = np.mean(spread[False]), np.mean(spread[True])
    assert plain - 1 > 0.06
    assert abs(reduced - 1) < 0.03
