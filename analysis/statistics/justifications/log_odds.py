"""Which terms tell one label from the others: log-odds with a prior, clustered, p adjusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse, special

from analysis.arrays import Codes, Floats
from analysis.statistics.comparisons.p_adjustment import benjamini_hochberg
from analysis.statistics.flat_row import FlatRow
from analysis.statistics.justifications.terms import Matrix, TermTable

PRIOR = 20.0  # reasons
INTERVAL = "normal on the log-odds, the larger of its own and the two-way clustered variance"
_MOST_CELLS = 4_000_000


@dataclass(frozen=True)
class TermLogOdds(FlatRow):
    """One term and one label: how much more often reasons of that label hold the term.

    ``share`` and ``other_share`` (0..1) are of the reasons with this label and with the others;
    ``log_odds`` is the log of the ratio of the odds (0: as often, above 0: more often with this
    label), shrunk by the prior, with its interval at ``level``; ``p`` two-sided, ``p_bh`` adjusted
    over all terms and labels (Benjamini and Hochberg). ``n_raters`` use the term at all.
    """

    label: str
    term: str
    share: float
    other_share: float
    n_reasons: int
    n_with_label: int
    n_raters: int
    log_odds: float
    low: float
    high: float
    level: float
    interval: str
    z: float
    p: float
    p_bh: float


def term_log_odds(
    table: TermTable,
    label: Codes,
    labels: Sequence[str],
    rater: Codes,
    item: Codes,
    *,
    prior: float = PRIOR,
    level: float = 0.95,
) -> list[TermLogOdds]:
    """Every term of D reasons against every label, the most telling of each label first.

    ``label``, ``rater`` and ``item`` (D,) are codes, ``labels`` the names of the first. Counted per
    reason: log-odds ratio with an informative prior of ``prior`` reasons that use terms as all
    reasons do (after Monroe, Colaresi and Quinn 2008, Political Analysis 16, eq. 16 and 20, who
    count tokens). Its variance is theirs or, where larger, that clustered over raters and items
    (Cameron, Gelbach and Miller 2011), since a rater's favourite word is no evidence per use.
    Labels without a reason, or that all reasons have, are left out, and so are terms that stand in
    every reason. Empty without terms.
    """
    table = _that_vary(table)
    odds: list[tuple[int, int, float, float]] = []
    counts = np.bincount(label, minlength=len(labels))
    shares: dict[int, tuple[Floats, Floats]] = {}
    for code in range(len(labels)):
        if not 0 < counts[code] < len(label) or not table.terms:
            continue
        mine = label == code
        delta, variance, with_it, without = _log_odds(table.has, mine, rater, item, prior)
        shares[code] = (with_it, without)
        odds += [(code, v, float(delta[v]), float(variance[v])) for v in range(len(delta))]
    z = [delta / variance**0.5 for _, _, delta, variance in odds]
    p = [float(2 * special.ndtr(-abs(value))) for value in z]
    adjusted = benjamini_hochberg(p)
    half = float(special.ndtri((1 + level) / 2))
    rows = [
        TermLogOdds(
            label=labels[code],
            term=table.terms[v],
            share=float(shares[code][0][v] / counts[code]),
            other_share=float(shares[code][1][v] / (len(label) - counts[code])),
            n_reasons=int(table.n_reasons[v]),
            n_with_label=int(shares[code][0][v]),
            n_raters=int(table.n_raters[v]),
            log_odds=delta,
            low=delta - half * variance**0.5,
            high=delta + half * variance**0.5,
            level=level,
            interval=INTERVAL,
            z=score,
            p=chance,
            p_bh=float(chance_bh if chance_bh is not None else 1.0),
        )
        for (code, v, delta, variance), score, chance, chance_bh in zip(
            odds, z, p, adjusted, strict=True
        )
    ]
    order = {name: place for place, name in enumerate(labels)}
    return sorted(rows, key=lambda row: (order[row.label], -row.z, row.term))


def _that_vary(table: TermTable) -> TermTable:
    kept = np.flatnonzero((table.n_reasons > 0) & (table.n_reasons < table.has.shape[0]))
    terms = tuple(table.terms[number] for number in kept.tolist())
    return TermTable(terms, table.has[:, kept], table.n_reasons[kept], table.n_raters[kept])


def _log_odds(
    has: Matrix, mine: np.ndarray, rater: Codes, item: Codes, prior: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """The log-odds ratio (V,) of one label, its variance, and the counts with it and without."""
    sides = (mine, ~mine)
    counts = [np.asarray(has[np.flatnonzero(side)].sum(axis=0)).reshape(-1) for side in sides]
    sizes = [float(side.sum()) for side in sides]
    expected = prior * (counts[0] + counts[1]) / len(mine)
    q = [(count + expected) / (size + prior) for count, size in zip(counts, sizes, strict=True)]
    delta = special.logit(q[0]) - special.logit(q[1])
    own = sum(
        1 / (share * (size + prior)) + 1 / ((1 - share) * (size + prior))
        for share, size in zip(q, sizes, strict=True)
    )
    weight = [
        1 / ((size + prior) * share * (1 - share)) for share, size in zip(q, sizes, strict=True)
    ]
    single = sum(
        w**2 * (count * (1 - 2 * share) + size * share**2)
        for w, count, share, size in zip(weight, counts, q, sizes, strict=True)
    )  # a rater's reasons of one item as one each
    by_rater, by_item = (_clustered(has, mine, group, q, weight) for group in (rater, item))
    variance = np.maximum.reduce([own, by_rater + by_item - single, by_rater, by_item])
    return delta, np.asarray(variance, dtype=np.float64), counts[0], counts[1]


def _clustered(
    has: Matrix, mine: np.ndarray, group: Codes, q: Sequence[Floats], weight: Sequence[Floats]
) -> Floats:
    """The sum over groups of squared summed influence on the log-odds ratio, per term (V,)."""
    n_groups, n_terms = int(group.max(initial=-1)) + 1, has.shape[1]
    variance = np.empty(n_terms)
    step = max(1, _MOST_CELLS // max(1, n_groups))
    sums, sizes = [], []
    for side in (mine, ~mine):
        rows = np.flatnonzero(side)
        choose = sparse.csr_array(
            (np.ones(len(rows)), (group[rows], rows)), shape=(n_groups, len(mine))
        )
        sums.append((choose @ has).tocsc())
        sizes.append(np.bincount(group[rows], minlength=n_groups).astype(np.float64))
    for start in range(0, n_terms, step):
        part = slice(start, start + step)
        influence = np.zeros((n_groups, len(range(*part.indices(n_terms)))))
        for sign, held, size, share, w in zip((1, -1), sums, sizes, q, weight, strict=True):
            dense = held[:, part].toarray()
            influence += sign * w[part] * (dense - size[:, None] * share[part])
        variance[part] = (influence**2).sum(axis=0)
    return variance
