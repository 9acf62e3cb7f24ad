"""Rules that tell whether conditions differ, made of the same clustered sums of many studies.

Every rule gives variances and degrees of freedom (B, m) of m contrasts of B studies; two give
critical values of their own by a bootstrap.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special, stats

from analysis.statistics.clustered_variance import Limits, limits_of
from benchmarks.simulated_ratings import Sums

PLAIN = "G: CGM, t(min G - 1)"
ONE_FACTOR = "G/(G-1): CGM, t(min G - 1)"
PRODUCT = "product: CGM, R/(R-1) I/(I-1), t(min G - 1)"
OWN = "own Satterthwaite: product, df of the contrast's own shares"
FAMILY = "family Satterthwaite: product, df of the family's shares"
COUNTED = "larger Satterthwaite: product, df of the larger shares"
EFFECTIVE = "before: the same with effective numbers of raters and items"
SHIPPED = "in force: the larger of product and pooled design effects, on the scale"
JACKKNIFE = "jackknife: two-way CV3, t(min G - 1)"
POOLED = "components pooled over conditions, by moments, Satterthwaite"
REML = "REML rater, item, rater:condition, item:condition, Satterthwaite"
LARGER = "the larger of G/(G-1) and pooled, t(min(2 min G - 2, pooled df))"
RATERS = "clustered by raters only, t(R - 1)"
WILD = "wild cluster bootstrap-t (Webb) over the fewer of raters and items"
PIGEONHOLE = "bootstrap over raters and items, max t"

ONE_VARIANCE = (POOLED, REML, LARGER)  # shared by all contrasts: a normal copula is enough

Spread = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Batch:
    """Studies with the same places: ``sums``, means (B, C), grams (B, C, C), contrasts (m, C).

    ``within`` (B, C) are variances of the scores, ``ends`` those of the scale.
    """

    sums: Sums
    mean: np.ndarray
    grams: list[np.ndarray]
    rows: np.ndarray
    within: np.ndarray
    ends: tuple[float, float]

    def quadratic(self, gram: np.ndarray, factor: np.ndarray | float = 1.0) -> np.ndarray:
        """row' gram row (B, m), each condition times a factor."""
        scaled = self.rows * factor
        return np.einsum("mc,bcd,md->bm", scaled, gram, scaled, optimize=True)

    def least(self, groups: np.ndarray) -> np.ndarray:
        """The fewest groups less one of the conditions of each contrast (m,)."""
        return np.where(self.rows != 0, groups, np.inf).min(axis=1) - 1

    @property
    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Roots of R/(R-1) and I/(I-1) of each condition (C,)."""
        raters, items = self.sums.raters, self.sums.items
        return np.sqrt(raters / (raters - 1)), np.sqrt(items / (items - 1))

    @property
    def covariance(self) -> np.ndarray:
        """What the correlation of contrasts is taken from (B, C, C)."""
        a, b = self.factors
        return self.grams[0] * np.outer(a, a) + self.grams[1] * np.outer(b, b)


def spreads_of(batch: Batch) -> dict[str, Spread]:
    """The variances and degrees of freedom of every quick rule."""
    rater, item, both = batch.grams
    a, b = batch.factors
    fewest = np.minimum(batch.least(batch.sums.raters), batch.least(batch.sums.items))
    fewest = np.broadcast_to(fewest, (len(batch.mean), len(batch.rows)))
    plain = [batch.quadratic(gram) for gram in batch.grams]
    by_rater, by_item = batch.quadratic(rater, a), batch.quadratic(item, b)
    n = batch.sums.n
    factored = [by_rater, by_item, batch.quadratic(both, np.sqrt(n / (n - 1)))]
    whole = batch.quadratic(rater + item - both, a * b)
    product = np.maximum.reduce([whole, by_rater, by_item])
    one_factor = _floored(*factored)
    found = {
        PLAIN: (_floored(*plain), fewest),
        ONE_FACTOR: (one_factor, fewest),
        PRODUCT: (product, fewest),
        OWN: (product, _satterthwaite(batch, product, by_rater, by_item, fewest)),
        FAMILY: (product, _satterthwaite(batch, product, by_rater, by_item, fewest, True)),
        COUNTED: _larger_shares(batch, batch.sums.raters, batch.sums.items),
        EFFECTIVE: _larger_shares(batch, *batch.sums.effective),
        RATERS: (by_rater, np.broadcast_to(batch.least(batch.sums.raters), fewest.shape)),
    }
    pooled, df = found[POOLED] = pooled_components(batch)
    larger = np.maximum(one_factor, pooled)
    found[LARGER] = larger, np.maximum(np.minimum(2 * fewest, df), fewest)
    return found


def _floored(rater: np.ndarray, item: np.ndarray, both: np.ndarray) -> np.ndarray:
    return np.maximum.reduce([rater + item - both, rater, item])


def _satterthwaite(
    batch: Batch,
    variance: np.ndarray,
    by_rater: np.ndarray,
    by_item: np.ndarray,
    fewest: np.ndarray,
    family: bool = False,
) -> np.ndarray:
    if family:
        by_rater, by_item, variance = (
            x.sum(axis=1, keepdims=True) for x in (by_rater, by_item, variance)
        )
    variance = np.maximum(variance, 1e-30)
    share = (by_rater / variance) ** 2 / batch.least(batch.sums.raters)
    share = share + (by_item / variance) ** 2 / batch.least(batch.sums.items)
    return np.maximum(1 / np.maximum(share, 1e-9), fewest)


def _larger_shares(batch: Batch, raters: np.ndarray, items: np.ndarray) -> Spread:
    """Satterthwaite's df by the contrast's own shares or the family's, whichever are larger."""
    dr, di = (np.maximum(groups - 1.0, 0.5) for groups in (raters, items))
    a, b = np.sqrt(1 + 1 / dr), np.sqrt(1 + 1 / di)
    rater, item, both = batch.grams
    parts = batch.quadratic(rater, a), batch.quadratic(item, b)
    whole = batch.quadratic(rater + item - both, a * b)
    variance = np.maximum(np.maximum.reduce([whole, *parts]), 1e-30)
    share = np.zeros_like(variance)
    free = [batch.least(groups + 1) for groups in (dr, di)]
    for part, degrees in zip(parts, free, strict=True):
        of_all = part.sum(axis=1, keepdims=True) / variance.sum(axis=1, keepdims=True)
        share += np.maximum(part / variance, of_all) ** 2 / degrees
    return variance, np.maximum(1 / np.maximum(share, 1e-9), np.minimum(*free))


def limits_in_force(batch: Batch, k: int) -> Limits:
    """The intervals of study k by the analysis's own code."""
    grams = [gram[k] for gram in batch.grams]
    means = batch.sums.clustered(batch.mean[k], grams, batch.within[k], batch.ends)
    return limits_of(batch.rows, means)


def pooled_components(batch: Batch) -> Spread:
    """One variance for all conditions of each effect, by moments, as a mixed model has it.

    The same sums over pairs of ratings that share a rater (an item) in one condition, and in two,
    give the components; Satterthwaite's df with (levels - conditions - shared levels + 1) each.
    """
    sums, (a, b) = batch.sums, batch.factors
    rater, item, both = (gram * np.outer(a * b, a * b) for gram in batch.grams)
    shares = sums.shares
    of_rater, of_item, of_both = (share @ share.T for share in shares)
    off = ~np.eye(sums.conditions, dtype=bool)
    rater_main, rater_own = _components(rater - both, of_rater - of_both, off)
    item_main, item_own = _components(item - both, of_item - of_both, off)
    alone = np.bincount(sums.condition, weights=sums.weight**2, minlength=sums.conditions)
    shared = both[:, off].sum(axis=1) / max(of_both[off].sum(), 1e-12) - rater_main - item_main
    shared = np.maximum(shared, 0) if of_both[off].sum() > 1e-9 else np.zeros(len(both))
    rest = np.einsum("bcc->b", both) / np.trace(of_both)
    rest = rest - rater_main - rater_own - item_main - item_own - shared
    rest = np.maximum(rest, 0) * np.trace(of_both) / alone.sum()

    def part(component: np.ndarray, gram: np.ndarray) -> np.ndarray:
        return np.outer(component, np.einsum("mc,cd,md->m", batch.rows, gram, batch.rows))

    own = part(rater_main, of_rater) + part(rater_own, np.diag(np.diag(of_rater)))
    items = part(item_main, of_item) + part(item_own, np.diag(np.diag(of_item)))
    noise = part(shared, of_both) + part(rest, np.diag(alone))
    dr, di = (
        _levels(share, gram) for share, gram in zip(shares, (of_rater, of_item), strict=False)
    )
    de = max(len(sums.condition) - sums.conditions - sum(x.shape[1] for x in shares[:2]) + 2, 1)
    variance = np.maximum(own + items + noise, 1e-30)
    spread = (own + noise) ** 2 / dr + (items + noise) ** 2 / di + noise**2 / de
    return variance, variance**2 / np.maximum(spread, 1e-60)


def _components(
    gram: np.ndarray, pairs: np.ndarray, off: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The component shared by conditions and the one of each condition (B,), not below 0."""
    nothing = np.zeros(len(gram))
    inside, between = np.trace(pairs), pairs[off].sum()
    whole = np.einsum("bcc->b", gram) / inside if inside > 1e-12 else nothing
    main = gram[:, off].sum(axis=1) / between if between > 1e-9 else nothing
    main = np.maximum(main, 0)
    return main, np.maximum(whole - main, 0)


def _levels(share: np.ndarray, gram: np.ndarray) -> float:
    """Degrees of freedom of an effect within conditions, those of shared levels taken away."""
    conditions, levels = share.shape
    off = ~np.eye(conditions, dtype=bool)
    common = min(1.0, gram[off].mean() / np.diag(gram).mean())
    return max((share > 0).sum() - conditions - (levels - 1) * common, 1.0)


def jackknife(batch: Batch, y: np.ndarray) -> Spread:
    """Means without each rater and without each item (MacKinnon, Nielsen and Webb 2024)."""
    sums = batch.sums
    rest = (y - batch.mean[:, sums.condition]) * sums.weight
    parts = []
    for group, codes, share in zip(sums.by_group, sums.groups, sums.shares, strict=True):
        moved = (rest @ group).reshape(len(y), sums.conditions, -1)
        moved = moved / np.maximum(1 - share, 1e-9)
        levels = int(codes.max()) + 1
        parts.append((levels - 1) / levels * batch.quadratic(moved @ moved.transpose(0, 2, 1)))
    fewest = np.minimum(batch.least(sums.raters), batch.least(sums.items))
    return _floored(*parts), np.broadcast_to(fewest, parts[0].shape)


def balanced_reml(batch: Batch, y: np.ndarray, raters: int, items: int) -> Spread:
    """REML of a full design: mean squares, pooled where a component would be below 0.

    For balanced data Kenward and Roger's degrees of freedom are Satterthwaite's.
    """
    cube = y.reshape(len(y), raters, items, -1)
    conditions = cube.shape[3]
    cube = cube - cube.mean(axis=(1, 2), keepdims=True)
    of_rater, of_item = cube.mean(axis=2), cube.mean(axis=1)
    rater_main, item_main = of_rater.mean(axis=2), of_item.mean(axis=2)
    total = (cube**2).sum(axis=(1, 2, 3))
    ss = {
        "r": items * conditions * (rater_main**2).sum(axis=1),
        "i": raters * conditions * (item_main**2).sum(axis=1),
        "rc": items * ((of_rater - rater_main[:, :, None]) ** 2).sum(axis=(1, 2)),
        "ic": raters * ((of_item - item_main[:, :, None]) ** 2).sum(axis=(1, 2)),
    }
    df = {"r": raters - 1.0, "i": items - 1.0}
    df |= {"rc": df["r"] * (conditions - 1), "ic": df["i"] * (conditions - 1)}
    ss["e"] = total - sum(ss.values())
    df["e"] = cube[0].size - conditions - sum(df.values())
    ms = {
        name: np.array([_pool(ss, df, k)[name] for k in range(len(y))])
        for name in ("rc", "ic", "e")
    }
    each = np.einsum("mc,mc->m", batch.rows, batch.rows) / (raters * items)
    parts = {"rc": ms["rc"][:, 0], "ic": ms["ic"][:, 0], "e": -ms["e"][:, 0]}
    variance = sum(parts.values())
    spread = sum(parts[name] ** 2 / ms[name][:, 1] for name in parts)
    same = ms["rc"][:, 2] == ms["ic"][:, 2]  # both pooled with the rest: one mean square
    spread = np.where(same, variance**2 / ms["e"][:, 1], spread)
    for name, other in (("rc", "ic"), ("ic", "rc")):
        one = (ms[name][:, 2] == ms["e"][:, 2]) & ~same
        spread = np.where(one, parts[other] ** 2 / ms[other][:, 1], spread)
    return np.outer(variance, each), np.repeat((variance**2 / spread)[:, None], len(each), axis=1)


def _pool(
    ss: dict[str, np.ndarray], df: dict[str, float], k: int
) -> dict[str, tuple[float, float, int]]:
    """Mean squares in the order e <= rc <= r, e <= ic <= i: value, df, and a mark of the pool."""
    pools = {name: (float(ss[name][k]), df[name], {name}) for name in ss}
    above = (("e", "rc"), ("e", "ic"), ("rc", "r"), ("ic", "i"))
    while True:
        wrong = [
            (pools[high][0] / pools[high][1], low, high)
            for low, high in above
            if pools[low][2] is not pools[high][2]
            and pools[high][0] / pools[high][1] < pools[low][0] / pools[low][1]
        ]
        if not wrong:
            break
        _, low, high = min(wrong)
        one, two = pools[low], pools[high]
        together = (one[0] + two[0], one[1] + two[1], one[2] | two[2])
        for name in together[2]:
            pools[name] = together
    marks = {name: min(sorted(pool[2])) for name, pool in pools.items()}
    return {
        name: (pool[0] / pool[1], pool[1], ["e", "i", "ic", "r", "rc"].index(marks[name]))
        for name, pool in pools.items()
    }


Families = dict[str, np.ndarray]


def wild(
    batch: Batch, y: np.ndarray, families: Families, rng: np.random.Generator, replicates: int
) -> dict[str, np.ndarray]:
    """Half widths (B, m) by the largest |t| of residuals whose sign and size a cluster shares."""
    sums = batch.sums
    few = 0 if sums.groups[0].max() <= sums.groups[1].max() else 1
    points = np.sqrt([1.5, 1.0, 0.5])
    webb = np.concatenate([points, -points])
    variance = spreads_of(batch)[ONE_FACTOR][0]
    found = {name: np.zeros((len(y), len(at))) for name, at in families.items()}
    for k, each in enumerate(y):
        drawn = rng.choice(webb, (replicates, int(sums.groups[few].max()) + 1))
        again = (each - batch.mean[k, sums.condition]) * drawn[:, sums.groups[few]]
        mean, grams = sums.of(again)
        other = Batch(sums, mean, grams, batch.rows, batch.within, batch.ends)
        t = np.abs(mean @ batch.rows.T) / np.sqrt(_one_factor(other))
        for name, at in families.items():
            critical = np.quantile(t[:, at].max(axis=1), 0.95)
            found[name][k] = critical * np.sqrt(variance[k, at])
    return found


def _one_factor(batch: Batch) -> np.ndarray:
    a, b = batch.factors
    n = batch.sums.n
    rater, item, both = batch.grams
    parts = batch.quadratic(rater, a), batch.quadratic(item, b)
    return np.maximum(_floored(*parts, batch.quadratic(both, np.sqrt(n / (n - 1)))), 1e-30)


def pigeonhole(
    batch: Batch, y: np.ndarray, families: Families, rng: np.random.Generator, replicates: int
) -> dict[str, np.ndarray]:
    """Half widths (B, m): raters and items drawn with replacement, the largest |t| over the SD."""
    sums = batch.sums
    found = {name: np.zeros((len(y), len(at))) for name, at in families.items()}
    for k, each in enumerate(y):
        weight = np.ones((replicates, len(each)))
        for codes in sums.groups[:2]:
            groups = int(codes.max()) + 1
            weight *= rng.multinomial(groups, [1 / groups] * groups, replicates)[:, codes]
        count = weight @ sums.by_condition
        drawn = ((weight * each) @ sums.by_condition) / np.maximum(count, 1e-9)
        off = (drawn - batch.mean[k]) @ batch.rows.T
        se = off.std(axis=0)
        for name, at in families.items():
            critical = np.quantile((np.abs(off) / se)[:, at].max(axis=1), 0.95)
            found[name][k] = critical * se[at]
    return found


@lru_cache
def _directions(dimensions: int) -> np.ndarray:
    sobol = stats.qmc.Sobol(dimensions, rng=np.random.default_rng(0)).random_base2(10)
    normal = special.ndtri(np.clip(sobol, 1e-9, 1 - 1e-9))
    return normal / np.linalg.norm(normal, axis=1, keepdims=True)


def local_alphas(covariance: np.ndarray, rows: np.ndarray, alpha: float = 0.05) -> np.ndarray:
    """Of each study (B,): the p alone that goes with an adjusted p of alpha, on a normal copula.

    The contrasts (m, C) correlate as those of independent means with the same variances.
    """
    involved = np.flatnonzero((rows != 0).any(axis=0))
    among, rows = covariance[:, involved[:, None], involved], rows[:, involved]
    many = len(involved)
    own = np.einsum("bcc->bc", among)
    if len(rows) < 2 or not np.allclose(rows.sum(axis=1), 0):  # means: Sidak's
        return np.full(len(covariance), 1 - (1 - alpha) ** (1 / len(rows)))
    if many > 2:
        sums = many * own + own.sum(axis=1, keepdims=True) - 2 * among.sum(axis=2)
        own = (sums - sums.sum(axis=1, keepdims=True) / (2 * many - 2)) / (many - 2)
    own = np.maximum(own, 1e-6 * own.max(axis=1, keepdims=True))
    root = rows * np.sqrt(own)[:, None, :]
    root /= np.linalg.norm(root, axis=2, keepdims=True)
    largest = np.abs(_directions(many) @ root.transpose(0, 2, 1)).max(axis=2)
    largest = np.sort(largest, axis=1).reshape(len(largest), 64, -1).mean(axis=2)
    low, high = np.full(len(largest), 1.0), np.full(len(largest), 6.0)
    for _ in range(24):
        z = (low + high) / 2
        over = special.chdtrc(many, (z[:, None] / largest) ** 2).mean(axis=1) > alpha
        low, high = np.where(over, z, low), np.where(over, high, z)
    return 2 * special.ndtr(-low)


def nearer_sidak(alphas: np.ndarray, many: int, df: np.ndarray, alpha: float = 0.05) -> np.ndarray:
    """The levels (B,) of ``many`` contrasts whose variances are estimated apart with df (B, m)."""
    mean = 1 / (1 / df).mean(axis=1)
    weight = mean / (mean + 10)
    return alphas**weight * (1 - (1 - alpha) ** (1 / many)) ** (1 - weight)


def holm_claims(p: np.ndarray, alpha: float = 0.05) -> np.ndarray:
    """Which of m p values (B, m) Holm's procedure rejects."""
    order = np.argsort(p, axis=1)
    m = p.shape[1]
    passed = np.take_along_axis(p, order, axis=1) <= alpha / (m - np.arange(m))
    passed = np.cumprod(passed, axis=1).astype(bool)
    result = np.zeros_like(passed)
    np.put_along_axis(result, order, passed, axis=1)
    return result
