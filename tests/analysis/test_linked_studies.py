"""Studies on one scale: against least squares by hand, a study's own report, and simulation."""

import numpy as np
import pandas as pd
import pytest

from analysis.statistics.intervals import t_interval
from analysis.statistics.linking.heterogeneity import bounds, p_of
from analysis.statistics.linking.linked_studies import components_of

SHIFTS = {"A": 0.0, "B": 0.6, "C": -0.4}


def study(rng, unit, systems, *, raters=16, clips=12, shift=0.0, deviations=None, noise=0.6):
    """Every rater rates every clip; items and raters have levels of their own."""
    item = np.random.default_rng(7).normal(0, 0.3, clips)  # the same texts in every study
    rows = []
    for rater, level in enumerate(rng.normal(0, 0.4, raters)):
        for system, mean in systems.items():
            taste = rng.normal(0, 0.2)
            for clip in range(clips):
                score = mean + shift + level + taste + item[clip] + rng.normal(0, noise)
                score += (deviations or {}).get(system, 0.0)
                rows.append((unit, system, f"{system}{clip}", f"i{clip}", f"{unit}{rater}", score))
    names = ["unit", "system", "clip", "item", "rater", "score"]
    return pd.DataFrame(rows, columns=names)


def joined(rng, deviations=None, tau=0.0):
    worlds = {
        "A": {"human": 4.5, "x": 3.0, "a": 3.4},
        "B": {"human": 4.5, "x": 3.0, "b": 3.9},
        "C": {"human": 4.5, "x": 3.0, "c": 2.5},
    }
    parts = []
    for unit, systems in worlds.items():
        moved = deviations or {name: rng.normal(0, tau) for name in systems} if tau else deviations
        parts.append(study(rng, unit, systems, shift=SHIFTS[unit], deviations=moved))
    return pd.concat(parts, ignore_index=True)


def test_one_study_alone_is_its_plain_means_with_their_clustered_intervals():
    from analysis.statistics.clustered_variance import variances_and_df
    from analysis.statistics.intervals import clustered

    rows = study(np.random.default_rng(1), "A", {"x": 3.0, "y": 3.5})
    (made,) = components_of(rows, ["A"], 4.0)
    assert made.heterogeneity is None
    for place, name in enumerate("xy"):
        score, mine = made.score(place), rows[rows["system"] == name]
        codes = [pd.factorize(mine[by], sort=True)[0] for by in ("system", "rater", "item")]
        means = clustered(mine["score"].to_numpy(), *codes, 1)
        (variance,), (df,) = variances_and_df(np.ones((1, 1)), means)
        assert score.value == pytest.approx(means.value[0])
        assert score.variance == pytest.approx(variance)
        low, high = t_interval(score.value, score.variance**0.5, score.df, 0.95)
        assert bounds(score, made.heterogeneity, 0.95) == pytest.approx((low, high))
        assert score.df >= df * 0.99


def test_estimates_are_least_squares_of_means_with_studies_and_systems():
    """Balanced: the reported scores equal a dummy regression over the cells' means by hand."""
    rows = joined(np.random.default_rng(3))
    (made,) = components_of(rows, ["A", "B", "C"], 4.0)
    means = rows.groupby(["unit", "system"])["score"].mean()
    columns = ["B", "C", *made.systems]
    design = np.array([[float(n in place) for n in columns] for place in means.index])
    weight = np.array([made.weight[_cell(made, *place)] for place in means.index])
    root = np.sqrt(weight)
    solved, *_ = np.linalg.lstsq(design * root[:, None], means.to_numpy() * root, rcond=None)
    got = [made.score(place).value for place in range(len(made.systems))]
    assert got == pytest.approx(solved[2:])


def _cell(made, unit, system):
    at = (made.cells.unit == made.units.index(unit)) & (
        made.cells.system == made.systems.index(system)
    )
    return int(np.flatnonzero(at)[0])


def test_only_clips_in_common_link_and_studies_without_a_chain_stand_apart():
    rng = np.random.default_rng(4)
    rows = pd.concat(
        [
            study(rng, "A", {"x": 3, "y": 4}),
            study(rng, "B", {"y": 4, "z": 2}, shift=1.0),
            study(rng, "C", {"z": 2, "w": 3}),
            study(rng, "D", {"q": 2, "r": 3}),
        ]
    )
    chain, alone = components_of(rows, ["A", "B", "C", "D"], 4.0)
    assert (chain.units, alone.units) == (["A", "B", "C"], ["D"])
    assert chain.residual.contrasts == 0, "a tree: nothing to test"
    assert chain.heterogeneity.p is None
    x, w = chain.systems.index("x"), chain.systems.index("w")
    assert [chain.systems[s] for s in chain.shared(0, 1)] == ["y"]
    assert chain.shared(0, 2) == []
    across, within = chain.difference(x, w), chain.difference(x, chain.systems.index("y"))
    assert across.of_tau == pytest.approx(6)  # three cells of x, y, z, w on each side
    assert within.value == pytest.approx(
        rows[(rows.unit == "A") & (rows.system == "x")].score.mean()
        - rows[(rows.unit == "A") & (rows.system == "y")].score.mean(),
        abs=0.2,
    )
    low, high = bounds(across, chain.heterogeneity, 0.95)
    narrow = t_interval(across.value, across.variance**0.5, across.df, 0.95)
    assert low < narrow[0], "the prior of tau is in it"
    assert high > narrow[1]


@pytest.mark.medium
def test_the_interval_is_that_of_draws_of_tau_and_t():
    """The mixture against plain Monte Carlo."""
    (made,) = components_of(joined(np.random.default_rng(5), tau=0.2), list("ABC"), 4.0)
    linked = made.difference(made.systems.index("b"), made.systems.index("c"))
    rng = np.random.default_rng(6)
    tau = rng.choice(made.heterogeneity.tau, 400_000, p=made.heterogeneity.weight)
    total = linked.variance + tau**2 * linked.of_tau
    df = linked.df * (total / linked.variance) ** 2
    drawn = linked.value + np.sqrt(total) * rng.standard_t(df)
    expected = np.quantile(drawn, [0.025, 0.975])
    assert bounds(linked, made.heterogeneity, 0.95) == pytest.approx(expected, abs=0.01)
    tail = 2 * min((drawn < 0).mean(), (drawn > 0).mean())
    assert p_of(linked, made.heterogeneity) == pytest.approx(tail, abs=0.002)


def test_clips_of_one_study_alone_move_no_link():
    """A system's further clips in one study count for its score, not for the shift of studies."""
    rng = np.random.default_rng(8)
    more = study(rng, "A", {"x": 5.0}).assign(
        clip=lambda rows: rows["clip"] + "-only-here", item=lambda rows: rows["item"] + "-more"
    )
    plain = [study(rng, "A", {"x": 3, "y": 4}), study(rng, "B", {"x": 3, "y": 4}, shift=0.5)]
    (before,) = components_of(pd.concat(plain), ["A", "B"], 4.0)
    (after,) = components_of(pd.concat([*plain, more]), ["A", "B"], 4.0)
    for made in (before, after):
        assert made.shift_row(0, 1, 0)[1] == 12
    shifts = [made.shift_row(0, 1, 0)[0] @ made.mean for made in (before, after)]
    assert shifts[0] == pytest.approx(shifts[1])
    assert after.score(0).value == pytest.approx(before.score(0).value + 1, abs=0.3)


def covered(studies, tau, seed):
    rng = np.random.default_rng(seed)
    hits, significant = [], []
    for _ in range(studies):
        (made,) = components_of(joined(rng, tau=tau), list("ABC"), 4.0)
        names = made.systems
        for one, other, truth in (("b", "a", 0.5), ("b", "c", 1.4), ("x", "c", 0.5)):
            linked = made.difference(names.index(one), names.index(other))
            low, high = bounds(linked, made.heterogeneity, 0.95)
            hits.append(low <= truth <= high)
        significant.append(made.heterogeneity.p < 0.05)
    return np.mean(hits), np.mean(significant)


@pytest.mark.parametrize(("tau", "least"), [(0.0, 0.95), (0.1, 0.95), (0.3, 0.9)])
@pytest.mark.soak
def test_intervals_cover_and_the_test_keeps_its_level(tau, least):
    """Two shared systems and tau beyond the prior's scale: a little too narrow, as documented."""
    coverage, rejected = covered(600, tau, 11)
    assert coverage >= least
    assert (rejected < 0.08) if tau == 0 else (rejected > 0.3)


@pytest.mark.medium
def test_a_few_simulated_studies_are_covered():
    coverage, _ = covered(12, 0.1, 12)
    assert coverage >= 0.8
