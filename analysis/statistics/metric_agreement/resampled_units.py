"""What is counted: stimuli, stimuli within conditions, or conditions, found and resampled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from analysis.arrays import Codes, Floats
from analysis.statistics.correlations import in_both_orders
from analysis.statistics.intervals import multiplicities
from analysis.statistics.metric_agreement.metric_units import CONDITION, STIMULUS, WITHIN, Units

_MOST_CELLS = 600_000  # replicates times units, which bounds memory and time
FEWEST_REPLICATES = 200  # replicates where units are very many
OF_ERRORS = 300_000  # the same of errors and of tau, which take longer
_LEAST_FILLED = 0.9
_MOST_AT_ENDS = 0.25
_OUTER = 0.025
_NO_WIDTH = 1e-9
_FEWEST_GROUPS = 3


@dataclass(frozen=True)
class ResampledMeans:
    """Human means (B, S) of resampled raters, and how often each unit counts (B, S).

    ``ratings`` (B, S) are the drawn ratings behind each mean. A unit counts as often as its item
    was drawn, and not at all in replicates that drew none of its raters.
    """

    human: Floats
    weight: Floats
    ratings: Floats


def replicates_for(units: int, wanted: int, most_cells: int = _MOST_CELLS) -> int:
    """How many replicates to draw: as wanted, fewer where units are many."""
    return min(wanted, max(FEWEST_REPLICATES, most_cells // max(units, 1)))


def resample_units(units: Units, replicates: int, rng: np.random.Generator) -> ResampledMeans:
    """Raters and items drawn with replacement, independently (Owen 2007).

    A single rater, or a single item, is kept as it is: there is nothing to draw.
    """
    rater, item = (
        multiplicities(rng, n, replicates).astype(np.float64)
        for n in (units.n_raters, units.n_items)
    )
    total = np.asarray((units.total @ rater.T).T)
    ratings = np.asarray((units.count @ rater.T).T)
    held = ratings > 0
    human = np.divide(total, ratings, out=np.zeros_like(total), where=held)
    weight = np.where(held, item[:, units.item], 0.0)
    return ResampledMeans(np.round(human, 9), weight, ratings)


def centred_interval(
    value: float, drawn: Floats, level: float, kind: str = "coefficient", wider: float = 1.0
) -> tuple[float, float] | None:
    """The middle ``level`` of the replicates (B,), moved so that their median is the value.

    Means of resampled raters are noisier than those found, so replicates lie too low (of errors:
    too high); only their spread is taken. Coefficients are moved on Fisher's scale, shares
    (``kind`` share) on that of log odds, errors (``kind`` error) as they are, but not below 0.
    Where the value or many replicates stand at an end of the scale they stay in place, and the
    interval reaches to the value. Elsewhere the ends are ``wider`` times as far from the value.
    None when over 10 % of the replicates are undefined or all are one number.
    """
    known = drawn[np.isfinite(drawn)]
    if len(known) < _LEAST_FILLED * len(drawn) or np.ptp(known) <= _NO_WIDTH:
        return None
    edges = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(known, edges)
    if _is_moved(value, known, kind):
        scaled = _to_scale(known, kind)
        middle = float(_to_scale(np.array([value]), kind)[0])
        low, high = _back(middle + wider * (np.quantile(scaled, edges) - np.median(scaled)), kind)
    return min(float(low), value), max(float(high), value)


def wider_over(conditions: int) -> float:
    """By how much intervals over so many conditions are widened: sqrt(C / (C - 2)).

    The distances of C condition means from the line through them have C - 2 degrees of freedom, so
    that resampling from them, as they were found, is too narrow by this with few conditions.
    """
    return float(np.sqrt(conditions / max(conditions - 2, 1)))


def wider_of(groups: int, level: float) -> float:
    """By how much intervals of errors are widened: t over z, and sqrt(G / (G - 1)), G >= 3.

    G is the number of raters or of items, whichever is less: an error common to all clips, as
    that of the raters' level, is known only as well as so many tell it.
    """
    g = max(groups, _FEWEST_GROUPS)
    ratio = special.stdtrit(g - 1, (1 + level) / 2) / special.ndtri((1 + level) / 2)
    return float(ratio * (g / (g - 1)) ** 0.5)


def p_of(value: float, drawn: Floats, wider: float = 1.0) -> float | None:
    """Two-sided p of a coefficient against 0 from its replicates (B,); None where they tell none.

    Its z of Fisher over the spread of the replicates on that scale, normal. The spread is a robust
    one, from their median to the outer fortieth towards 0, over 1.96: p is below .05 just where the
    95 % interval of `centred_interval` leaves 0 out, and replicates at 1 do no harm. Where these
    are many, or the value is 1, p is twice the share of replicates at 0 or beyond, each plus one
    (Davison and Hinkley 1997, 4.2.3). The spread is ``wider`` times as large where the interval is.
    None when over 10 % are undefined or all are one number.
    """
    known = drawn[np.isfinite(drawn)]
    if len(known) < _LEAST_FILLED * len(drawn) or np.ptp(known) <= _NO_WIDTH:
        return None
    sign = 1.0 if value >= 0 else -1.0
    if _is_moved(value, known, "coefficient"):
        scaled = sign * _to_scale(known, "coefficient")
        middle, outer = np.quantile(scaled, [0.5, _OUTER])
        sd = wider * float(middle - outer) / float(special.ndtri(1 - _OUTER))
        if sd > _NO_WIDTH:
            return float(2 * special.ndtr(-abs(np.arctanh(value)) / sd))
    beyond = int(np.sum(sign * known <= 0))
    return min(1.0, 2 * (beyond + 1) / (len(known) + 1))


def _is_moved(value: float, known: Floats, kind: str) -> bool:
    """Whether replicates (B,) are moved onto the value: neither it nor many of them at an end."""
    at_ends = float(_at_end(known, kind).mean())
    return not _at_end(np.array([value]), kind)[0] and at_ends <= _MOST_AT_ENDS


def _at_end(values: Floats, kind: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if kind == "error":
        return np.zeros(len(values), dtype=np.bool_)
    if kind == "share":
        return (values <= _NO_WIDTH) | (values >= 1 - _NO_WIDTH)
    return np.abs(values) >= 1 - _NO_WIDTH


def _to_scale(values: Floats, kind: str) -> Floats:
    if kind == "error":
        return values
    if kind == "share":
        return np.asarray(special.logit(np.clip(values, _NO_WIDTH, 1 - _NO_WIDTH)))
    return np.arctanh(np.clip(values, -1 + _NO_WIDTH, 1 - _NO_WIDTH))


def _back(values: Floats, kind: str) -> Floats:
    if kind == "error":
        return np.maximum(values, 0.0)
    return np.asarray(special.expit(values)) if kind == "share" else np.tanh(values)


Bools = NDArray[np.bool_]
FEWEST_UNITS = 3


@dataclass
class Sample:
    """n units as found and as resampled: ``x`` (M, n) or, of conditions, (B, M, n) too.

    With ``both_orders`` every array holds each unit twice, the second time with the other sign:
    see `analysis.statistics.correlations`. ``n`` counts the units.
    """

    unit: str
    names: list[str]
    x: Floats
    y: Floats
    h: Floats  # (B, n), or (B, n) of conditions
    w: Floats
    spare: Floats  # half widths of the human intervals (n,)
    n_missing: int
    n_ratings: int
    groups: int  # raters or items, whichever are fewer, one alone left aside
    redrawn: Floats | None = None  # (B, M, n): metric means of resampled items
    places: Codes = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))
    both_orders: bool = False
    sides: tuple[tuple[str, str], ...] = ()  # of pairs of conditions, n of them

    @property
    def n(self) -> int:
        """The number of units, each counted once."""
        return len(self.y) // (2 if self.both_orders else 1)

    def twice(self) -> Sample:
        """The sample with each unit in both orders."""
        places = [self.places, self.places + len(self.y)]
        return replace(
            self,
            x=in_both_orders(self.x),
            y=in_both_orders(self.y),
            h=in_both_orders(self.h),
            w=np.concatenate([self.w, self.w], axis=1),
            spare=np.concatenate([self.spare, self.spare]),
            redrawn=None if self.redrawn is None else in_both_orders(self.redrawn),
            places=np.hstack(places) if len(self.places) else self.places,
            both_orders=True,
        )


def samples_of(
    units: Units,
    drawn: ResampledMeans,
    held: Bools,
    names: list[str],
    x: Floats,
    level: float,
    rng: np.random.Generator,
) -> Iterator[Sample]:
    """Stimuli, stimuli within conditions and conditions; pairs with sides in one order."""
    missing = int((~held).sum())
    groups = min((n for n in (units.n_raters, units.n_items) if n > 1), default=1)
    h, w = units.centred(drawn.human[:, held]), drawn.weight[:, held]
    y, ratings = units.centred(units.human[held]), units.ratings[held]
    spare = units.half_widths(level)[held]
    yield Sample(STIMULUS, names, x, y, h, w, spare, missing, int(ratings.sum()), groups)
    known, code = np.unique(units.condition[held], return_inverse=True)
    size = np.bincount(code)
    member = (code[:, None] == np.arange(len(known))).astype(np.float64)  # n, C
    if len(known) < 2:
        return
    inner = size[code] > 1
    if inner.sum() >= FEWEST_UNITS:
        own_x = x - ((x @ member) / size)[:, code]
        own_y = y - ((y @ member) / size)[code]
        means = _over(w * h @ member, w @ member)
        yield Sample(
            WITHIN,
            names,
            _round_for_ties(own_x[:, inner]),
            _round_for_ties(own_y[inner]),
            np.round(h - means[:, code], 9)[:, inner],
            w[:, inner],
            spare[inner],
            missing,
            int(ratings[inner].sum()),
            groups,
        )
    weights = w * drawn.ratings[:, held]
    human = (y * ratings) @ member / (ratings @ member)
    again = _over((weights * h) @ member, weights @ member)
    redrawn = np.stack([_over((w * own) @ member, w @ member) for own in x], axis=1)
    held_up = (weights @ member) > 0
    halves = np.array(
        [
            np.nan if low is None or high is None else (high - low) / 2
            for _, low, high in units.intervals(level)
        ]
    )[known]
    yield Sample(
        CONDITION,
        names,
        (x @ member) / size,
        human,
        np.round(again, 9),
        held_up.astype(np.float64),
        halves,
        missing,
        int(ratings.sum()),
        groups,
        redrawn,
        rng.integers(0, len(known), (len(h), len(known))),
        sides=tuple(units.sides[c] for c in known) if units.signed else (),
    )


def _over(total: Floats, count: Floats) -> Floats:
    return np.divide(total, count, out=np.zeros_like(total), where=count > 0)


def _round_for_ties(values: Floats) -> Floats:
    """Differences (…, n) to 11 digits of the largest, so that rounding breaks no tie."""
    size = np.abs(values).max(axis=-1, keepdims=True, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    return np.asarray(np.round(values / size, 11) * size, dtype=np.float64)


def without_dust(values: Floats) -> Floats:
    """Differences of equal numbers that rounding left a hair from zero, made zero again."""
    return np.where(np.abs(values) < 1e-12, 0.0, values)
