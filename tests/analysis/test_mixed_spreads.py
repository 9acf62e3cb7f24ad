"""MUSHRA's model: each condition has a spread, and the hidden reference stays on the scale."""

import numpy as np
import pytest
from scipy import stats

from analysis.statistics.comparisons.simultaneous import ranking_draws
from analysis.statistics.intervals import clustered
from analysis.statistics.mixed import exact_sampler
from analysis.statistics.mixed.exact_sampler import sd_of, slope
from analysis.statistics.mixed.family_model import (
    gaussian_prior,
    has_own_spreads,
    large_scale,
    modelled,
)
from analysis.statistics.mixed.gaussian import GaussianPrior, gaussian_posterior
from analysis.statistics.mixed.heteroscedastic import _MarginalPosterior, rounding, spread_posterior
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.nuts import Sampling, general_gaussian
from analysis.statistics.mixed.posterior import ranks_of
from analysis.statistics.mixed.sufficient_statistics import sums
from analysis.statistics.options import Options
from tests.analysis.part_of import part_of, rows_of_table
from tests.analysis.reference import rows_of
from tests.analysis.simulation import sizes

NAMES = ["ref", "A", "B", "C", "anchor70", "anchor35"]
LEVEL = np.array([103.0, 85.0, 70.0, 50.0, 30.0, 15.0])  # before the ends of the scale cut off
SPREAD = np.array([0.6, 1.0, 1.0, 1.0, 1.0, 0.7])
PRIOR = GaussianPrior(50.0, 50.0, 50.0, (0.0, 100.0))


def mushra(rng, raters, items):
    """Scores of a slider that ends at 0 and 100, raters, conditions, items."""
    rater, condition, item = (x.ravel() for x in np.indices((raters, len(LEVEL), items)))
    lean = 8 * rng.standard_normal(raters)[rater]
    lean += 5 * rng.standard_normal((raters, len(LEVEL)))[rater, condition]
    y = LEVEL[condition] + SPREAD[condition] * (lean + 10 * rng.standard_normal(len(rater)))
    return np.clip(np.rint(y), 0, 100), rater, condition, item


def table(rng, raters=12, items=4):
    scores = {
        (NAMES[c], f"r{r:02}", f"i{i}"): y
        for y, r, c, i in zip(*mushra(rng, raters, items), strict=True)
    }
    return rows_of(scores, method="mushra", estimand="mushra")


def test_the_density_is_that_of_the_normal_written_out():
    rng = np.random.default_rng(0)
    y, rater, condition, _ = mushra(rng, 4, 2)
    few = rng.random(len(y)) < 0.7
    y, rater, condition = y[few], rater[few], condition[few]
    model = _MarginalPosterior(y, rater, condition, PRIOR)
    x = rng.normal(0, 0.7, (4, 8))
    design = np.eye(6)[condition]
    same = rater[:, None] == rater
    both = same & (condition[:, None] == condition)
    exact = []
    for each in x:
        k = model.spreads(each)[condition]
        u, w, e = sd_of(each[5:], model.scale)
        v = np.outer(k, k) * (u**2 * same + w**2 * both) + design @ design.T * 50.0**2
        v += np.diag((k * e) ** 2 + 1 / 12)
        prior = -0.5 * (each[:5] ** 2).sum() - 0.5 * (u**2 + w**2 + e**2) / 50.0**2
        prior += np.log(slope(each[5:], model.scale)).sum()
        exact.append(stats.multivariate_normal(np.full(len(y), 50.0), v).logpdf(y) + prior)
    constant = model.log_density(x) - exact
    np.testing.assert_allclose(constant, constant[0], atol=1e-7)


def test_spreads_average_to_one():
    model = _MarginalPosterior(*mushra(np.random.default_rng(1), 3, 2)[:3], PRIOR)
    spreads = model.spreads(np.random.default_rng(2).normal(size=(3, 4, 8)))
    assert spreads.shape == (3, 4, 6)
    np.testing.assert_allclose(np.log(spreads).sum(axis=2), 0, atol=1e-12)


@pytest.mark.slow
def test_the_reference_varies_less_and_its_interval_stays_on_the_scale():
    y, rater, condition, _ = mushra(np.random.default_rng(3), 20, 6)
    posterior = spread_posterior(y, rater, condition, PRIOR)
    assert posterior.diagnostics.refusal is None
    said = posterior.summaries()
    width = said["condition"].high - said["condition"].low
    equal = gaussian_posterior(sums(y, rater, condition), PRIOR).summaries()["condition"]
    assert said["condition"].high.max() <= 100
    assert width[0] < 0.6 * (equal.high - equal.low)[0]
    assert said["spread"].mean[0] < 0.5 < 0.9 < said["spread"].mean[1:4].min()
    of_b = said["spread"].mean[2]  # far from both ends
    assert of_b * said["sd_rater"].mean[0] == pytest.approx(8, rel=0.35)
    assert of_b * said["sd_residual"].mean[0] == pytest.approx(10, rel=0.15)


@pytest.mark.medium
def test_a_condition_that_always_gets_the_same_score_is_known_to_a_step():
    y, rater, condition, _ = mushra(np.random.default_rng(4), 8, 3)
    y[condition == 0] = 100.0
    posterior = spread_posterior(y, rater, condition, PRIOR)
    assert posterior.diagnostics.refusal is None
    drawn = posterior.draws["condition"][:, :, 0]
    assert 99.5 < drawn.min() <= drawn.max() <= 100


def test_what_no_model_can_be_made_of_is_said():
    y, rater, condition = np.array([1.0, 2, 1, 2]), np.zeros(4, int), np.array([0, 1, 0, 1])
    with pytest.raises(NotEstimable, match="there is one rater"):
        spread_posterior(y, rater, condition, PRIOR)
    with pytest.raises(NotEstimable, match="no variation to model"):
        spread_posterior(np.ones(4), np.array([0, 1, 0, 1]), condition, PRIOR)
    with pytest.raises(NotEstimable, match="a condition has no ratings"):
        spread_posterior(y, np.array([0, 1, 0, 1]), 2 * condition, PRIOR)


def test_scores_are_rounded_to_their_smallest_step():
    assert rounding(np.array([3.0, 3.5, 5.0])) == pytest.approx(0.5 / 12**0.5)
    assert rounding(np.array([2.0, 2.0])) == 0


@pytest.mark.slow
def test_the_part_ranks_the_systems_of_mushra_alone():
    found = part_of("models", table(np.random.default_rng(5)))
    best, left = found["sentences"][:2]
    assert best.startswith("MUSHRA · t · naturalness: A is the best with a probability of ")
    assert left.endswith(
        "not ranked: anchor35 (anchor, by its name), anchor70 (anchor, by its name) and ref "
        "(reference, by its name)."
    )
    rows = {row["condition"]: row for row in rows_of_table(found, "models-1-means")}
    assert rows["ref"]["role"] == "reference"
    assert rows["ref"]["p_best"] is None
    assert rows["ref"]["mean"] is None  # REML is of the systems alone
    assert rows["ref"]["bayes_high"] <= 100
    assert rows["A"]["mean"] == pytest.approx(rows["A"]["bayes"], abs=2)
    assert rows["A"]["p_best"] > rows["B"]["p_best"] > 0 or rows["A"]["p_best"] > 0.999
    assert [row["condition"] for row in rows_of_table(found, "models-1-means")] == NAMES
    contrasts = rows_of_table(found, "models-1-contrasts")
    pairs = {(row["condition"], row["versus"]): row for row in contrasts}
    assert pairs["A", "B"]["p"] < 0.05
    assert pairs["ref", "A"]["p"] is None
    assert pairs["ref", "A"]["bayes_low"] > 0
    ranks = rows_of_table(found, "models-1-ranks")
    assert [row["condition"] for row in ranks][:3] == ["A", "B", "C"]
    assert "rank_4" not in ranks[0]
    assert any("spread of each condition" in text for text in found["methods"])


@pytest.mark.slow
def test_with_spreads_texts_and_clips_are_in_the_posterior():
    """Clips that come out better in one system make a difference as uncertain as REML has it."""
    rng = np.random.default_rng(6)
    clips = rng.normal(0, 6, (6, 2))
    scores = {
        (name, f"r{r:02}", f"i{i}"): float(
            np.clip(np.rint(65 + clips[i, c] + rng.normal(0, 8)), 0, 100)
        )
        for c, name in enumerate("AB")
        for r in range(14)
        for i in range(6)
    }
    ratings = rows_of(scores, method="mushra", estimand="mushra")
    found = part_of("models", ratings, Options(rules=()))
    (row,) = rows_of_table(found, "models-1-contrasts")
    assert row["bayes_sd"] == pytest.approx(row["se"], rel=0.4)
    assert row["se"] > 2
    assert not [text for text in found["warnings"] if "as given" in text]


@pytest.mark.medium
@pytest.mark.parametrize(("raters", "items", "what"), [(1, 8, "rater"), (8, 1, "item")])
def test_one_rater_or_one_item_gives_no_probability(raters, items, what):
    scores = {
        (name, f"r{r}", f"i{i}"): 60.0 + 20 * (name == "A") + (r + i) % 5
        for name in "AB"
        for r in range(raters)
        for i in range(items)
    }
    found = part_of("models", rows_of(scores, method="mushra", estimand="mushra"))
    assert not [text for text in found["sentences"] if "is the best" in text]
    assert not [table for table in found["tables"] if table["key"].endswith("-ranks")]
    assert any(f"there is one {what}" in text for text in found["warnings"])


@pytest.mark.slow
@sizes(20, 60)
def test_the_ranking_never_says_best_where_the_answer_finds_no_difference(runs):
    """Equal systems of MUSHRA: P(best) was 0.95 or more in half of such studies."""
    rng, sure = np.random.default_rng(3), 0
    rater, item, condition = (grid.ravel() for grid in np.indices((20, 6, 2)))
    for _ in range(runs):
        y = 65 + rng.normal(0, 4, 20)[rater] + rng.normal(0, 6, (6, 2))[item, condition]
        y = np.clip(np.rint(y + rng.normal(0, 6, len(y))), 0, 100)
        means = clustered(y, condition, rater, item, 2, ends=(0.0, 100.0))
        draws, claimed = ranking_draws(means, [0, 1])
        best = float(ranks_of(draws).limited(claimed, 0.975).p_best.max())
        assert best <= 0.975 or claimed[0, 1]
        sure += best >= 0.95
    assert sure / runs <= 0.1 + 0.1 * (60 / runs) ** 0.5  # 0.1 is expected


@pytest.mark.medium
def test_large_scales_have_spreads_and_others_none():
    (each,) = modelled(table(np.random.default_rng(6), 4, 1))
    assert has_own_spreads(each)
    assert gaussian_prior(each).ends == (0, 100)
    scores = {(c, f"r{r}", f"i{i}"): float(r + i) for c in "AB" for r in range(2) for i in range(3)}
    (mos,) = modelled(rows_of({key: 1 + value for key, value in scores.items()}))
    assert not large_scale(mos)
    assert gaussian_prior(mos).ends == (1, 5)
    (other,) = modelled(rows_of({key: 7 * value for key, value in scores.items()}))
    assert gaussian_prior(other).ends is None  # its ends are not known


@pytest.mark.soak
def test_nuts_draws_the_same_posterior():
    pytest.importorskip("nutpie")
    (each,) = modelled(table(np.random.default_rng(7)))
    arrays, prior = each.arrays, gaussian_prior(each)
    both = arrays.rater * 6 + arrays.condition
    found = general_gaussian(
        arrays.y,
        arrays.cell,
        {"rater": arrays.rater, "rater:condition": both},
        prior,
        Sampling(seed=each.seed(Options())),
        lambda words: None,
        arrays.condition,
    )
    exact = spread_posterior(arrays.y, arrays.rater, arrays.condition, prior)
    assert found.posterior.diagnostics.refusal is None
    mine, theirs = exact.summaries(), found.posterior.summaries()
    for name in ("condition", "spread", "sd_rater", "sd_rater_condition", "sd_residual"):
        sd = mine[name].sd
        np.testing.assert_allclose(mine[name].mean, theirs[name].mean, atol=0.2 * sd.max())
        np.testing.assert_allclose(sd, theirs[name].sd, rtol=0.15)
    assert theirs["condition"].high.max() <= 100


@pytest.mark.soak
@pytest.mark.no_cover
def test_intervals_hold_the_truth_about_as_often_as_they_say():
    runs = 150
    y, _, condition, _ = mushra(np.random.default_rng(9), 20_000, 2)
    truth = np.bincount(condition, y) / np.bincount(condition)
    inside, differences = np.zeros(6), []
    for seed in range(runs):
        posterior = spread_posterior(
            *mushra(np.random.default_rng(seed), 20, 6)[:3],
            PRIOR,
            exact_sampler.Sampling(seed=seed),
        )
        said = posterior.summaries()["condition"]
        assert said.high.max() <= 100
        inside += (said.low <= truth) & (truth <= said.high)
        compared = posterior.comparison(rope=2.0).difference
        apart = truth[:, None] - truth
        apart = apart[np.triu_indices(6, 1)]
        differences.append((compared.low <= apart) & (apart <= compared.high))
    error = 3 * (0.95 * 0.05 / runs) ** 0.5
    assert (inside / runs > 0.95 - error).all()
    assert np.mean(differences) == pytest.approx(0.95, abs=0.02)
