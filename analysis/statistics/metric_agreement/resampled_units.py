"""What is counted: stimuli, stimuli within conditions, or conditions, found and resampled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Codes, Floats
from analysis.statistics.both_orders import in_both_orders
from analysis.statistics.metric_agreement.metric_units import CONDITION, STIMULUS, WITHIN, Units
from analysis.statistics.metric_agreement.two_way_resampling import Resampled

Bools = NDArray[np.bool_]
FEWEST = 3


@dataclass
class Sample:
    """n units as found and as resampled: ``x`` (M, n) or, of conditions, (B, M, n) too.

    With ``both_orders`` every array holds each unit twice, the second time with the other sign:
    see `analysis.statistics.both_orders`. ``n`` counts the units.
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
    drawn: Resampled,
    held: Bools,
    names: list[str],
    x: Floats,
    level: float,
    rng: np.random.Generator,
) -> Iterator[Sample]:
    """Stimuli, stimuli within conditions and conditions; pairs with sides in both orders."""
    for sample in _samples_of(units, drawn, held, names, x, level, rng):
        yield sample.twice() if units.signed else sample


def _samples_of(
    units: Units,
    drawn: Resampled,
    held: Bools,
    names: list[str],
    x: Floats,
    level: float,
    rng: np.random.Generator,
) -> Iterator[Sample]:
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
    if inner.sum() >= FEWEST:
        own_x = x - ((x @ member) / size)[:, code]
        own_y = y - ((y @ member) / size)[code]
        means = _over(w * h @ member, w @ member)
        yield Sample(
            WITHIN,
            names,
            _tied(own_x[:, inner]),
            _tied(own_y[inner]),
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


def _tied(values: Floats) -> Floats:
    """Differences (…, n) to 11 digits of the largest, so that rounding breaks no tie."""
    size = np.abs(values).max(axis=-1, keepdims=True, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    return np.asarray(np.round(values / size, 11) * size, dtype=np.float64)


def without_dust(values: Floats) -> Floats:
    """Differences of equal numbers that rounding left a hair from zero, made zero again."""
    return np.where(np.abs(values) < 1e-12, 0.0, values)
