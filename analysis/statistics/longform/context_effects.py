"""Context effects: the same lines after one context and after another, paired line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.statistics.clustered_variance import limits_of
from analysis.statistics.comparisons.p_adjustment import sidak, sidak_level
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.comparisons.two_sample_tests import paired_t
from analysis.statistics.intervals import clustered
from analysis.statistics.longform.condition_names import PARAGRAPH, Form
from analysis.statistics.longform.long_form_table import Material

ORDER = {"": 0, "Text": 1, "T": 2, "R": 3, "context": 4}
NO_LINES = "no line was rated in both"
FEW = 10


@dataclass(frozen=True)
class ContextEffect:
    """How much the same lines gain after the context of ``form`` against that of ``versus``.

    ``value`` is the mean over ``n_lines`` lines of the difference of their means; the interval is
    two-way clustered over raters and paragraphs. ``paired_p`` is the paired t test over lines,
    which takes raters as given. None where undefined; ``note`` then says why.
    """

    form: Form
    versus: Form
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    paired_t: float | None = None
    paired_df: float | None = None
    paired_p: float | None = None
    n_lines: int = 0
    n_ratings: int = 0
    n_raters: int = 0
    n_paragraphs: int = 0
    low_all: float | None = None  # these three hold for all effects at once
    high_all: float | None = None
    p_adjusted: float | None = None
    note: str = ""


def context_effects(material: Material, level: float = 0.95) -> list[ContextEffect]:
    """Every two contexts (or none) of the same speaker's lines, over the lines that both have.

    Lines weigh the same; contributions w (y - mean) summed per rater and per paragraph (Cameron,
    Gelbach and Miller 2011), as `clustered_variance.limits_of` has it; all at once
    by Šidák (1967).
    """
    pairs = _pairs(material.forms)
    effects = [_effect(material, a, b, level) for a, b in pairs]
    m = sum(one.p is not None for one in effects)
    wider = [_effect(material, a, b, sidak_level(level, m)) for a, b in pairs]
    return [
        one
        if one.p is None
        else replace(one, low_all=all_.low, high_all=all_.high, p_adjusted=sidak(one.p, m))
        for one, all_ in zip(effects, wider, strict=True)
    ]


def _pairs(forms: Sequence[Form]) -> list[tuple[int, int]]:
    """Codes of forms that rate the same number of the same speaker's lines; less context last."""
    rated = [i for i, form in enumerate(forms) if form.setting != PARAGRAPH]
    rated.sort(key=lambda i: (ORDER[forms[i].context], forms[i].context_lines))
    chosen = [
        (b, a)
        for a, b in combinations(rated, 2)
        if forms[a].speaker == forms[b].speaker and forms[a].lines == forms[b].lines
    ]
    return sorted(chosen, key=lambda pair: (forms[pair[0]].speaker, *pair))


def _effect(material: Material, a: int, b: int, level: float) -> ContextEffect:
    both = np.intersect1d(material.item[material.form == a], material.item[material.form == b])
    use = np.isin(material.form, (a, b)) & np.isin(material.item, both)
    names = (material.forms[a], material.forms[b])
    if not len(both):
        return ContextEffect(*names, note=NO_LINES)
    y, side = material.y[use], (material.form[use] == b).astype(np.int64)
    line = np.searchsorted(both, material.item[use])
    rater, cluster = material.rater[use], material.cluster[use]
    means = _line_means(y, side, line, len(both))
    count = np.bincount(side * len(both) + line, minlength=2 * len(both))
    weight = 1 / (len(both) * count[side * len(both) + line])
    sums = clustered(y, side, rater, cluster, 2, weight, material.ends)
    t, t_df, t_p = _paired(means[0], means[1], level)
    value = float(np.mean(means[0] - means[1]))
    one = ContextEffect(
        *names,
        value=value,
        paired_t=t,
        paired_df=t_df,
        paired_p=t_p,
        n_lines=len(both),
        n_ratings=len(y),
        n_raters=len(np.unique(rater)),
        n_paragraphs=len(np.unique(cluster)),
    )
    groups = min(one.n_raters, one.n_paragraphs)
    if groups < 2:
        return replace(one, note="one rater or paragraph only: no interval")
    limits = limits_of(np.array([[1.0, -1.0]]), sums)
    if not limits.known[0]:
        return replace(one, note="no variation: no interval")
    low, high = (float(end[0]) for end in limits.bounds(1 - level))
    note = f"only {groups} raters or paragraphs: a rough interval" if groups < FEW else ""
    return replace(one, low=low, high=high, p=float(limits.p_against(0.0)[0]), note=note)


def _line_means(y: Floats, side: Codes, line: Codes, lines: int) -> Floats:
    """Mean score (2, lines) of each line on each side."""
    cell = side * lines + line
    total = np.bincount(cell, weights=y, minlength=2 * lines)
    return np.asarray((total / np.bincount(cell, minlength=2 * lines)).reshape(2, lines))


def _paired(a: Floats, b: Floats, level: float) -> tuple[float | None, float | None, float | None]:
    try:
        test = paired_t(a, b, level, "items")
    except Undefined:
        return None, None, None
    return test.statistic, test.df, test.p
