"""Metrics against people: scipy's and R's numbers, known truth, and bad cases in words."""

import csv
import gzip

import numpy as np
import pytest
from scipy import optimize, stats

from analysis.ratings.breakdowns import families
from analysis.ratings.table import from_rows
from analysis.statistics.agreement.kappa import kappa
from analysis.statistics.agreement.noise_ceiling import noise_ceiling
from analysis.statistics.correlations import fisher_interval
from analysis.statistics.metric_agreement import weighted_correlations as by_weight
from analysis.statistics.metric_agreement.machine_detection import (
    area_interval,
    detection,
    f1_curve,
)
from analysis.statistics.metric_agreement.metric_ceiling import (
    condition_ceiling,
    one_against_others,
)
from analysis.statistics.metric_agreement.metric_correlations import (
    AS_IS,
    MAPPED,
    CorrelationOptions,
    correlations,
    monotonic_cubic,
)
from analysis.statistics.metric_agreement.metric_units import CONDITION, STIMULUS, WITHIN, units_of
from analysis.statistics.metric_agreement.preference_accuracy import preferred_share
from analysis.statistics.metric_agreement.resampled_units import (
    centred_interval,
    p_of,
    wider_of,
)
from analysis.statistics.metric_agreement.weighted_correlations import of_conditions
from tests.analysis.reference import BLANK, DATA, expected, rows_of, table_of
from tests.analysis.simulation import bounds, sizes

FIVE = (1.0, 2.0, 3.0, 4.0, 5.0)
QUICK = CorrelationOptions(replicates=300)


def units(table):
    return units_of(next(families(table)))


def by_key(found):
    return {(e.unit, e.statistic, e.mapping): e for e in found}


@pytest.fixture(scope="module")
def aligned():
    own = units(table_of("align_s1"))
    with gzip.open(DATA / "align_s1.pred.csv.gz", "rt") as file:
        rows = {row.pop("stimulus"): row for row in csv.DictReader(file)}
    names = next(iter(rows.values())).keys()
    values = {name: np.array([float(rows[s][name]) for s in own.own]) for name in names}
    wanted = CorrelationOptions(replicates=1000, same_scale=frozenset(names), steps=FIVE)
    found = correlations(own, values, wanted)
    return {name: by_key(e for e in found if e.metric == name) for name in names}


@pytest.mark.medium
@pytest.mark.parametrize(
    "metric", ["judge_best", "judge_mid", "judge_weak", "mosnet_a", "mosnet_b"]
)
def test_numbers_are_rs(aligned, metric):
    told = expected("align_s1")["predictors"][metric]
    for name, theirs in (("plcc", "pearson"), ("srcc", "spearman"), ("krcc", "kendall_b")):
        each = aligned[metric][STIMULUS, name, AS_IS]
        assert each.value == pytest.approx(told[theirs], abs=1e-12)
        assert each.n == told["n"] == 200
        assert each.n_ratings == 2000
    for name in ("qwk", "mae"):
        each = aligned[metric][STIMULUS, name, AS_IS]
        assert each.value == pytest.approx(told[name], abs=1e-12)
    # R drew clips alone: raters add a little, and never take half away
    low, high = told["boot_spearman"]
    srcc = aligned[metric][STIMULUS, "srcc", AS_IS]
    assert 0.85 < (srcc.high - srcc.low) / (high - low) < 1.3


@pytest.mark.medium
def test_a_constant_metric_says_so(aligned):
    for name in ("srcc", "plcc", "krcc"):
        each = aligned["judge_const"][STIMULUS, name, AS_IS]
        assert (each.value, each.low, each.high, each.p) == (None, None, None, None)
        assert each.note == "undefined: the metric is constant"
    assert aligned["judge_const"][STIMULUS, "qwk", AS_IS].value == 0
    assert "nothing can be mapped" in aligned["judge_const"][STIMULUS, "rmse", MAPPED].note


@pytest.mark.parametrize("name", ["pearson", "spearman", "kendall"])
def test_weighted_coefficients_are_scipys_of_repeated_units(name):
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=(2, 30)), 1)
    h, w = np.round(rng.normal(size=(25, 30)), 1), rng.poisson(1, (25, 30)).astype(float)
    more = (by_weight.pairs_of(30, rng),) if name == "kendall" else ()
    found = getattr(by_weight, name)(x, h, w, *more)
    scipys = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
    for b in range(25):
        times = w[b].astype(int)
        for m in range(2):
            one, other = np.repeat(x[m], times), np.repeat(h[b], times)
            assert found[b, m] == pytest.approx(scipys[name](one, other).statistic, abs=1e-12)


def test_weighted_kappa_is_that_of_repeated_units():
    rng = np.random.default_rng(1)
    x, h = rng.integers(0, 5, (2, 20)), rng.integers(0, 5, (10, 20))
    w = rng.poisson(1, (10, 20)).astype(float)
    found = by_weight.weighted_kappa(x, h, w, 5)
    for b in range(10):
        times = w[b].astype(int)
        pair = (np.repeat(x[1], times) + 1.0, np.repeat(h[b], times) + 1.0)
        value, _ = kappa(*pair, "quadratic", FIVE, 0.95, 0, 0)
        assert found[b, 1] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(("conditions", "within"), [(6, 1e-12), (120, 0.05)])
def test_tau_of_conditions_is_scipys_in_every_replicate(conditions, within):
    rng = np.random.default_rng(4)
    h = rng.normal(size=(3, conditions)).round(1)
    x = (h[:, None] + rng.normal(size=(3, 2, conditions))).round(1)
    pairs = by_weight.pairs_of(conditions, rng)  # of 120, only some are tried
    found = of_conditions("krcc", x, h, np.ones(h.shape), pairs)
    wanted = [[stats.kendalltau(own, h[b]).statistic for own in x[b]] for b in range(3)]
    assert found == pytest.approx(np.array(wanted), abs=within)


def test_tau_of_many_units_is_about_that_of_all_pairs():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(1, 800))
    h = x + rng.normal(size=(1, 800))
    pairs = by_weight.pairs_of(800, rng)
    assert len(pairs[0]) == by_weight.MOST_PAIRS < 800 * 799 / 2
    found = by_weight.kendall(x, h, np.ones((1, 800)), pairs)[0, 0]
    assert found == pytest.approx(stats.kendalltau(x[0], h[0]).statistic, abs=0.02)


def study(rng, rho_noise=0.5, raters=12, conditions=4, items=12, each=6):
    """Ratings with known clip qualities, and a metric that is quality and noise."""
    quality = np.linspace(-0.8, 0.8, conditions)[:, None] + rng.normal(0, 0.6, (conditions, items))
    lenient = rng.normal(0, 0.4, raters)
    rows, metric = [], {}
    for c in range(conditions):
        for i in range(items):
            metric[f"c{c}_i{i}"] = 3 + quality[c, i] + rng.normal(0, rho_noise)
            for r in rng.choice(raters, each, replace=False):
                score = np.clip(np.round(3 + quality[c, i] + lenient[r] + rng.normal()), 1, 5)
                names = {"rater": f"r{r}", "session": f"r{r}", "item": f"i{i}"}
                clip = {"stimulus": f"c{c}_i{i}", "condition": f"c{c}", "score": float(score)}
                rows.append({**BLANK, **names, **clip})
    return from_rows(rows), metric, quality


def fixed_study(rng, conditions):
    """The same conditions each time, their metric off by 0.4 and not quite in line."""
    table, metric, quality = study(rng, conditions=conditions)
    away = 0.2 * np.sin(3.0 * np.arange(conditions)) + 0.4
    return table, {n: v + away[int(n[1 : n.index("_")])] for n, v in metric.items()}, quality


def values_of(own, metric):
    return np.array([metric.get(name, np.nan) for name in own.own])


@pytest.mark.slow
@pytest.mark.no_cover
@sizes(8, 60)
def test_intervals_cover_what_other_raters_and_items_would_give(runs):
    held, every = [], []
    for seed in range(runs):
        table, metric, _ = study(np.random.default_rng(seed))
        own = units(table)
        wanted = CorrelationOptions(replicates=300, mapped=False)
        each = by_key(correlations(own, {"m": values_of(own, metric)}, wanted))
        every.append([each[STIMULUS, name, AS_IS].value for name in ("srcc", "plcc")])
        held.append([(e.low, e.high) for n in ("srcc", "plcc") if (e := each[STIMULUS, n, AS_IS])])
    truth = np.tanh(np.arctanh(np.array(every)).mean(axis=0))
    ends = np.array(held)
    covered = ((ends[..., 0] <= truth) & (truth <= ends[..., 1])).mean(axis=0)
    assert (covered >= bounds(0.9, 1, of=60, runs=runs)[0]).all()
    spread = 3.92 * np.std(every, axis=0)
    width = (ends[..., 1] - ends[..., 0]).mean(axis=0)
    assert (width < 1.5 * (60 / runs) ** 0.25 * spread).all()


@pytest.mark.medium
def test_the_best_metric_has_a_p_that_agrees_with_its_interval():
    """Some replicates of a metric that follows people closely are 1 throughout."""
    table, metric, _ = study(np.random.default_rng(1), 0.05, raters=20, items=6, conditions=2)
    own = units(table)
    values = {"best": values_of(own, metric), "order": np.arange(12.0)}
    values["near"] = values["best"] + np.sin(np.arange(12.0))
    for each in correlations(own, values, CorrelationOptions(replicates=1000, mapped=False)):
        if each.unit != CONDITION:
            assert each.p is not None, each.metric
            assert (each.p < 0.05) == (not each.low <= 0 <= each.high)
    best = by_key(e for e in correlations(own, values, QUICK) if e.metric == "best")
    assert best[STIMULUS, "srcc", AS_IS].p < 0.01


def test_one_replicate_at_the_end_changes_p_by_little():
    rng = np.random.default_rng(5)
    drawn = np.tanh(1.7 + 0.4 * rng.normal(size=2000))
    usual = p_of(0.94, drawn)
    assert usual == pytest.approx(2 * stats.norm.sf(np.arctanh(0.94) / 0.4), rel=0.5)
    drawn[:20] = 1.0
    assert p_of(0.94, drawn) == pytest.approx(usual, rel=0.5)
    assert p_of(-0.94, -drawn) == p_of(0.94, drawn)
    drawn[:700] = 1.0  # as of few clips: then by how many are at 0 or beyond
    assert p_of(0.94, drawn) == pytest.approx(2 / 2001)
    assert p_of(1.0, np.where(np.arange(2000) < 30, -0.1, 1.0)) == pytest.approx(2 * 31 / 2001)
    assert p_of(0.9, np.full(200, 0.9)) is None
    assert p_of(0.9, np.where(np.arange(200) < 30, np.nan, 0.9)) is None


@pytest.mark.slow
@sizes(6, 60)
def test_metrics_of_chance_are_told_apart_as_often_as_they_should_be(runs):
    p = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        own = units(study(rng, conditions=2, raters=20, each=8)[0])
        values = {f"m{k}": rng.normal(size=len(own.own)) for k in range(10)}
        wanted = CorrelationOptions(replicates=400, mapped=False)
        p += [
            each.p
            for each in correlations(own, values, wanted)
            if (each.unit, each.statistic) == (STIMULUS, "srcc")
        ]
    assert len(p) == 10 * runs
    assert np.mean(np.array(p) < 0.05) < 0.05 + 3 * (0.05 * 0.95 / len(p)) ** 0.5


@pytest.mark.medium
def test_within_conditions_is_what_is_left_without_their_means():
    human, metric = {}, {}
    for c in range(4):
        for i in range(5):
            for r in range(2):
                human[f"c{c}", f"r{r}", f"i{i}"] = c + 0.1 * i + 0.01 * r
            metric[f"c{c}_i{i}"] = c - 0.1 * i
    own = units(rows_of(human))
    found = by_key(correlations(own, {"m": values_of(own, metric)}, QUICK))
    assert found[STIMULUS, "plcc", AS_IS].value > 0.9
    assert found[CONDITION, "plcc", AS_IS].value == pytest.approx(1)
    assert found[WITHIN, "plcc", AS_IS].value == pytest.approx(-1)
    assert found[CONDITION, "srcc", AS_IS].n == 4
    assert found[CONDITION, "srcc", AS_IS].p == pytest.approx(2 / 24)  # two of all orders


@pytest.mark.medium
def test_ties_within_conditions_are_ties_whatever_rounding_does():
    rng = np.random.default_rng(11)
    human = {(f"c{c}", f"r{r}", f"i{i}"): float(rng.integers(1, 6))
             for c in range(5) for i in range(7) for r in range(3)}  # fmt: skip
    own = units(rows_of(human))
    values = rng.integers(1, 6, len(own.own)).astype(float)
    found = by_key(correlations(own, {"m": values}, QUICK))
    member = own.condition[:, None] == np.arange(5)
    apart = [np.round(v - (v @ member / 7)[own.condition], 9) for v in (values, own.human)]
    wanted = stats.spearmanr(*apart).statistic
    assert found[WITHIN, "srcc", AS_IS].value == pytest.approx(wanted, abs=1e-12)


@pytest.mark.medium
def test_two_conditions_and_missing_values_are_said_and_counted():
    rng = np.random.default_rng(3)
    table, metric, _ = study(rng, conditions=2)
    metric.pop("c0_i3")
    own = units(table)
    found = by_key(correlations(own, {"m": values_of(own, metric)}, QUICK))
    assert found[CONDITION, "srcc", AS_IS].value is None
    assert "2 conditions, and 3 or more are needed" in found[CONDITION, "srcc", AS_IS].note
    assert (found[STIMULUS, "srcc", AS_IS].n, found[STIMULUS, "srcc", AS_IS].n_missing) == (23, 1)
    few = {name: metric[name] for name in list(metric)[:2]}
    (told,) = correlations(own, {"m": values_of(own, few)}, QUICK)
    assert told.note == "undefined: values for 2 of the 3 or more needed"


@pytest.mark.medium
def test_one_rater_gives_intervals_over_items_and_the_same_seed_the_same():
    table, metric, _ = study(np.random.default_rng(4), raters=1, each=1)
    own = units(table)
    made = [correlations(own, {"m": values_of(own, metric)}, QUICK) for _ in range(2)]
    assert made[0] == made[1]
    assert by_key(made[0])[STIMULUS, "srcc", AS_IS].low is not None
    assert condition_ceiling(own)[0].ceiling is None
    assert one_against_others(own) == []


def test_intervals_are_centred_on_the_value():
    rng = np.random.default_rng(5)
    low, high = centred_interval(0.8, np.tanh(rng.normal(0.6, 0.1, 4000)), 0.95)
    middle = np.arctanh(0.8)
    assert np.arctanh([low, high]) == pytest.approx([middle - 0.196, middle + 0.196], abs=0.02)
    errors = rng.normal(0.6, 0.1, 4000)  # errors are moved as they are, and never below 0
    assert centred_interval(0.4, errors, 0.95, "error") == pytest.approx((0.204, 0.596), abs=0.02)
    assert centred_interval(0.1, errors, 0.95, "error")[0] == 0
    assert centred_interval(0.4, errors, 0.95, "error", 2.0)[1] == pytest.approx(0.79, abs=0.02)
    assert wider_of(20, 0.95) == pytest.approx(2.093 / 1.96 * (20 / 19) ** 0.5, abs=1e-3)
    assert centred_interval(0.5, np.full(100, 0.5), 0.95) is None
    assert centred_interval(0.5, np.full(100, np.nan), 0.95) is None


@pytest.mark.parametrize("value", [1.0, -1.0])
def test_an_interval_of_a_perfect_order_reaches_it(value):
    drawn = value * np.random.default_rng(5).uniform(0.8, 0.99, 1000)
    low, high = centred_interval(value, drawn, 0.95)
    assert low <= value <= high
    assert high - low > 0.15


def test_fishers_interval_is_that_of_scipy():
    x, y = np.random.default_rng(6).normal(size=(2, 6))
    told = stats.pearsonr(x, y)
    both = told.confidence_interval(0.95)
    assert fisher_interval("pearson", told.statistic, 6, 0.95) == pytest.approx(
        (both.low, both.high)
    )
    assert fisher_interval("pearson", 0.5, 3, 0.95) is None
    assert fisher_interval("pearson", 1.0, 6, 0.95) is None


@pytest.mark.slow
@sizes(10, 100)
@pytest.mark.parametrize("conditions", [4, 8])
def test_intervals_per_condition_hold_what_other_raters_and_items_give(conditions, runs):
    """Simulated before: MAE 0.87 to 0.94 on the scale of logarithms."""
    made = []
    for seed in range(runs):
        table, metric, _ = fixed_study(np.random.default_rng(seed), conditions)
        own = units(table)
        wanted = CorrelationOptions(replicates=200, same_scale=frozenset({"m"}), mapped=False)
        found = by_key(correlations(own, {"m": values_of(own, metric)}, wanted))
        made.append([found[CONDITION, name, AS_IS] for name in ("plcc", "mae", "rmse")])
    for each in zip(*made, strict=True):
        truth = np.median([one.value for one in each])
        least, _ = bounds(0.9, 1, of=100, runs=runs)
        assert np.mean([one.low <= truth <= one.high for one in each]) >= least
    plcc = found[CONDITION, "plcc", AS_IS]
    low, high = fisher_interval("pearson", plcc.value, conditions, 0.95)
    assert (plcc.low_conditions, plcc.high_conditions) == (low, high)


@pytest.mark.parametrize("rising", [True, False])
def test_the_mapping_is_the_best_monotonic_cubic(rising):
    rng = np.random.default_rng(6)
    sign, grid = (1 if rising else -1), np.linspace(-1, 1, 201)
    slopes = np.stack([0 * grid, 0 * grid + 1, 2 * grid, 3 * grid**2], axis=1) * sign
    for _ in range(10):
        x = rng.normal(20, 5, 25)
        y = rng.normal(size=25) + sign * 0.1 * x * rng.integers(-1, 2)
        made = monotonic_cubic(x, y, rising)
        assert (slopes @ made.coefficients).min() > -1e-8
        t = (x - (x.min() + x.max()) / 2) / (np.ptp(x) / 2)
        powers = np.vander(t, 4, increasing=True)

        def loss(c, powers=powers, y=y):
            return float(np.sum((powers @ c - y) ** 2))

        rule = {"type": "ineq", "fun": lambda c: slopes @ c}
        best = optimize.minimize(loss, [y.mean(), sign, 0, 0], constraints=rule, method="SLSQP")
        assert np.sum((made(x) - y) ** 2) == pytest.approx(best.fun, rel=2e-3)
    with pytest.raises(ValueError, match="7 of the 8"):
        monotonic_cubic(x[:7], y[:7])


@pytest.mark.medium
def test_a_mapping_that_fits_makes_errors_vanish_and_leaves_ranks():
    x = np.linspace(-1, 1, 40)
    made = monotonic_cubic(10 + 5 * x, 3 + x**3)
    assert made(10 + 5 * x) == pytest.approx(3 + x**3, abs=1e-6)
    assert made(np.array([-100.0, 100.0])) == pytest.approx([2, 4], abs=1e-6)  # held at the ends
    table, metric, _ = study(np.random.default_rng(7))
    own = units(table)
    found = by_key(correlations(own, {"m": values_of(own, metric) * 9 - 4}, QUICK))
    assert found[STIMULUS, "rmse", MAPPED].value < 0.8
    assert found[STIMULUS, "rmse_star", MAPPED].value < found[STIMULUS, "rmse", MAPPED].value
    assert (STIMULUS, "rmse", AS_IS) not in found  # not on the raters' scale
    assert "4 of the 8" in found[CONDITION, "rmse", MAPPED].note


@pytest.mark.medium
def test_the_ceiling_is_what_the_true_qualities_reach():
    table, _, quality = study(np.random.default_rng(8), conditions=12, raters=40, each=8)
    own = units(table)
    (srcc, plcc) = condition_ceiling(own, seed=1)
    true = np.array([quality[int(name[1:])].mean() for name in own.conditions])
    means = np.array([each[0] for each in own.intervals(0.95)])
    assert plcc.ceiling == pytest.approx(np.corrcoef(true, means)[0, 1], abs=0.03)
    assert plcc.split_half < plcc.reliability < plcc.ceiling <= 1
    assert srcc.n == 12


@pytest.mark.medium
def test_the_ceiling_within_conditions_is_that_of_what_is_left():
    """Conditions far apart raise the ceiling per stimulus, and leave that within them alone."""
    rng = np.random.default_rng(10)
    quality = rng.normal(0, 0.7, (6, 30))
    scores = {
        (f"c{c}", f"r{r}", f"i{i}"): 2.0 * c + quality[c, i] + rng.normal()
        for c in range(6)
        for i in range(30)
        for r in range(8)
    }
    own = units(rows_of(scores))
    inside = own.condition[own.unit]
    given = (own.unit, own.rater, own.score)
    whole = noise_ceiling(*given, splits=20, replicates=20)[2].value
    left = noise_ceiling(*given, splits=20, replicates=20, within=inside)[2].value
    means = quality[own.condition, [int(n.split("_i")[1]) for n in own.own]]
    apart = [v - np.array([v[own.condition == c].mean() for c in range(6)])[own.condition]
             for v in (means, own.human)]  # fmt: skip
    assert left == pytest.approx(np.corrcoef(*apart)[0, 1], abs=0.03)
    assert whole > 0.99 > left
    alone = noise_ceiling(*given, splits=5, replicates=5, within=own.unit)[2]
    assert alone.value is None
    assert "share a group" in alone.note


def test_one_rater_against_the_others_by_hand():
    rng = np.random.default_rng(9)
    scores = {("c", f"r{r}", f"i{i}"): float(i + rng.normal()) for r in range(3) for i in range(8)}
    told = {each.statistic: each for each in one_against_others(units(rows_of(scores)))}
    by = np.array([[scores["c", f"r{r}", f"i{i}"] for i in range(8)] for r in range(3)])
    wanted = [stats.spearmanr(by[r], np.delete(by, r, 0).mean(axis=0)).statistic for r in range(3)]
    assert told["srcc"].value == pytest.approx(np.mean(wanted))
    assert told["srcc"].n_raters == 3


def compared(scores):
    """Pairs (a_i, b_i), both ways round: scores by item are for a."""
    rows = []
    for n, (i, score) in enumerate((i, s) for i, each in scores.items() for s in each):
        sides = [{"condition": side, "stimulus": f"{side}{i}"} for side in "ab"]
        own, other = sides if n % 3 else sides[::-1]
        names = {"rater": f"r{n % 4}", "session": f"r{n % 4}", "item": i}
        versus = {f"versus_{key}": value for key, value in other.items()}
        signed = score if n % 3 else -score
        fields = {"method": "cmos", "estimand": "cmos", "score": float(signed)}
        rows.append({**BLANK, **names, **own, **versus, **fields})
    return from_rows(rows)


def test_preferred_pairs_are_counted_and_ties_left_out():
    scores = {f"i{i}": [1.0, 2.0] for i in range(6)} | {"i6": [-1.0, -2.0], "i7": [1.0, -1.0]}
    own = units(compared(scores))
    assert own.conditions == ("a ~ b",)
    assert dict(zip(own.own, own.human, strict=True))["ai6"] == -1.5
    metric = {f"a{i}": 2.0 for i in scores} | {f"b{i}": 1.0 for i in scores}
    metric |= {"bi0": 2.0, "bi1": 3.0}
    values = np.array([metric[a] - metric[b] for a, b in zip(own.own, own.other, strict=True)])
    (told,) = preferred_share(own, {"m": values}, replicates=300)
    assert (told.n, told.ties_human, told.ties_metric) == (6, 1, 1)
    assert told.share == pytest.approx(4 / 6)
    assert told.low < told.share < told.high
    (turned,) = preferred_share(own, {"m": values}, lower_is_better=frozenset({"m"}))
    assert turned.share == pytest.approx(2 / 6)
    (none,) = preferred_share(own, {"m": np.full(len(values), np.nan)})
    assert none.share is None
    assert "no pair" in none.note


def test_detection_by_hand():
    human, other = np.array([0.9, 0.8, 0.4]), np.array([0.6, 0.2])
    found = detection(human, other, threshold=0.5)
    assert (found.precision, found.recall) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert found.f1 == pytest.approx(2 / 3)
    assert found.auc == pytest.approx(5 / 6)
    assert (found.best, found.f1_best) == (pytest.approx(0.4), pytest.approx(6 / 7))
    falls = detection(-human, -other, threshold=-0.5, falls=True)
    assert (falls.f1, falls.auc, falls.best) == (found.f1, found.auc, -0.4)
    edges, curve = f1_curve(human, other)
    assert edges.tolist() == [0.2, 0.4, 0.6, 0.8, 0.9]
    assert curve == pytest.approx([6 / 8, 6 / 7, 4 / 6, 4 / 5, 2 / 4])
    assert "no other clip" in detection(human, np.array([])).note


def test_the_interval_of_the_area_has_width_at_its_ends():
    low, high = area_interval(1.0, 5, 3, 0.95)
    assert 0.4 < low < 0.7
    assert high == 1
    assert area_interval(0.0, 5, 3, 0.95) == pytest.approx((0, 1 - low), abs=1e-6)
    area = stats.mannwhitneyu([3.0, 5, 6, 9], [1.0, 2, 4]).statistic / 12
    found = detection(np.array([3.0, 5, 6, 9]), np.array([1.0, 2, 4]))
    assert found.auc == pytest.approx(area)
    assert found.auc_low < area < found.auc_high
