"""Intervals and tests of means, shares and differences of scores on a scale with two ends.

Korn and Graubard (1998): a mean that is the share p of the way from the lower end of the scale to
the upper one has Clopper and Pearson's (1934) interval of as many answers as would have its
clustered variance. Two means give the interval of their difference by the method of variance
estimates recovery (Newcombe 1998; Zou and Donner 2008). No bound leaves the scale.

Arrays in, arrays out: m is the number of means or differences; ``alpha``, two-sided, is a number or
one for each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.arrays import Bools, Codes, Floats

Bounds = tuple[Floats, Floats]
_UNSEEN = 2.0  # answers at the far end that are allowed for beside those seen
_LEAST_P, _MOST_P, _TINY = 1e-50, 0.999, 1e-300
_STEPS, _MANY = 30, 100.0
_TENTH_WIDER = 1.1**2  # as a ratio of variances
_LEVELS = -np.geomspace(0.01, -np.log(_LEAST_P), 40)  # logarithms, from near 1 downwards


class OnScale:
    """Means or differences (m,) on a scale of width 1, with bounds at any level."""

    @property
    def value(self) -> Floats:
        """The means or differences (m,)."""
        raise NotImplementedError

    def bounds(self, df: Floats, alpha: Floats | float) -> Bounds:
        """The interval of each."""
        raise NotImplementedError

    def p_against(self, null: Floats | float, df: Floats) -> Floats:
        """Two-sided p (m,) against ``null``: the level at which an interval just leaves it out.

        Near the ends of a scale an interval may be narrower at a smaller level. So the levels are
        gone through from 1 downwards: p is where an interval first holds ``null``.
        """
        below = self.value <= null
        low, high = np.full(len(below), np.log(_LEAST_P)), np.zeros(len(below))
        found = np.zeros(len(below), dtype=bool)
        for level in _LEVELS:
            if found.all():
                break
            tried = np.where(found, low, level)  # smaller ones overflow where there are few raters
            out = self._excludes(null, below, df, np.exp(tried))
            low, high = np.where(found | out, low, level), np.where(out & ~found, level, high)
            found |= ~out
        for _ in range(_STEPS):
            middle = (low + high) / 2
            out = self._excludes(null, below, df, np.exp(middle))
            high, low = np.where(out, middle, high), np.where(out, low, middle)
        return np.exp(high)

    def _excludes(self, null: Floats | float, below: Bools, df: Floats, alpha: Floats) -> Bools:
        low, high = self.bounds(df, alpha)
        return np.where(below, high < null, low > null)


@dataclass(frozen=True)
class Shares(OnScale):
    """Means as shares of the way between the ends of their scale, with their clustered variances.

    All (m,): ``share`` p in [0, 1] and its ``variance``; ``design_effect``, what that variance is
    at least over p (1 - p), which is known at an end of the scale, too; ``spread``, the variance of
    single scores on the same scale; ``answers``, how many scores (of equal weight) a mean is of;
    ``least_df``, the fewer of raters and items minus 1.
    """

    share: Floats
    variance: Floats
    design_effect: Floats
    spread: Floats
    answers: Floats
    least_df: Floats

    @property
    def value(self) -> Floats:
        """The shares (m,)."""
        return self.share

    def take(self, at: Codes) -> Shares:
        """Those at the given places."""
        return Shares(*(each[at] for each in vars(self).values()))

    def effective_answers(self, df: Floats, alpha: Floats | float) -> Floats:
        """How many independent answers, each at one end or the other, vary as the means do (m,).

        Korn and Graubard's p (1 - p) / V times (z / t(df))². It is never more than of independent
        answers that differ as those seen and two unseen ones at the far end do: where all answers
        are equal no variance can be estimated, and this is what remains. So no answers have a
        narrower interval than equal ones.
        """
        return np.asarray(1 / np.maximum(*self._needed(df, alpha)), dtype=np.float64)

    def is_widened(self, df: Floats, alpha: Floats | float) -> Bools:
        """Where the interval is a tenth wider at least than the variance gives (m,).

        There independent answers that differ as those seen, and unseen ones, take its place.
        """
        by_variance, least = self._needed(df, alpha)
        return np.asarray(least > _TENTH_WIDER * by_variance)

    def _needed(self, df: Floats, alpha: Floats | float) -> tuple[Floats, Floats]:
        """One over the effective answers (m,): by the variance, and at least."""
        both = self.share * (1 - self.share)
        seen = np.divide(self.variance, both, out=np.zeros_like(both), where=both > 0)
        most, unseen = self.most_answers(alpha), self._unseen
        one = (most * self.spread + unseen) / (most * both + unseen)
        wider = _times_wider(df, alpha)
        return wider * np.maximum(seen, self.design_effect), one / most

    def most_answers(self, alpha: Floats | float) -> Floats:
        """How many independent answers equal ones are worth (m,).

        All of them times (z / t)², with t of the most degrees of freedom that any answers of so
        many raters and items may have. Two groups, who may each be of one mind, are worth two
        answers at most, three eight, and so on.
        """
        groups = 4.0 ** np.minimum(self.least_df, _MANY) / 2
        return np.minimum(self.answers / _times_wider(most_df(self.least_df), alpha), groups)

    def assumed_variance(self, df: Floats, alpha: Floats | float) -> Floats:
        """Variances (m,) of as many independent answers, and of two unseen at the far end."""
        seen = self.share * (1 - self.share) / self.effective_answers(df, alpha)
        return np.asarray(seen + self._unseen / self.most_answers(alpha) ** 2, dtype=np.float64)

    @property
    def _unseen(self) -> Floats:
        return _UNSEEN * np.maximum(self.share, 1 - self.share) ** 2

    def bounds(self, df: Floats, alpha: Floats | float) -> Bounds:
        """Clopper and Pearson's interval of so many answers."""
        return clopper_pearson(self.share, self.effective_answers(df, alpha), alpha)


@dataclass(frozen=True)
class Gaps(OnScale):
    """Differences of two means on one scale, with variances (m,) of the differences themselves.

    What a bound of a mean is away from it takes the place of t times its standard error. The
    covariance of both means is that which their variances and the difference's imply. Their
    correlation is taken with the variances that the bounds assume: answers that were not seen have
    nothing in common. Where answers are many and both are far from the ends the interval is
    difference ± t sqrt(V).
    """

    first: Shares
    second: Shares
    variance: Floats

    @property
    def value(self) -> Floats:
        """The differences (m,), in [-1, 1]."""
        return self.first.share - self.second.share

    def bounds(self, df: Floats, alpha: Floats | float) -> Bounds:
        """The interval of each difference, in [-1, 1]."""
        (a_low, a_high), (b_low, b_high) = (
            each.bounds(df, alpha) for each in (self.first, self.second)
        )
        a, b, value = self.first.share, self.second.share, self.value
        r = self._correlation(df, alpha)
        low: Floats = np.subtract(value, _joint(a - a_low, b_high - b, r))
        high: Floats = np.add(value, _joint(a_high - a, b - b_low, r))
        return np.maximum(low, -1.0), np.minimum(high, 1.0)

    def _correlation(self, df: Floats, alpha: Floats | float) -> Floats:
        """That of the bounds of both means (m,)."""
        shared = (self.first.variance + self.second.variance - self.variance) / 2
        one, two = (each.assumed_variance(df, alpha) for each in (self.first, self.second))
        r = _times_wider(df, alpha) * shared / np.sqrt(one) / np.sqrt(two)
        return np.asarray(np.clip(r, -1.0, 1.0), dtype=np.float64)


@dataclass(frozen=True)
class Combinations(OnScale):
    """Weighted sums of means, ``weights`` (m, k) of k shares, with variances (m,) of the sums.

    Of means that vary independently a bound is as far away as their own bounds in squares, as for
    the difference of two (Zou and Donner 2008). The square grows by t² times what V is above that
    of independent means; where V is smaller, it shrinks as V does. So intervals at a smaller level
    are never narrower.
    """

    weights: Floats
    shares: Shares
    variance: Floats

    @property
    def value(self) -> Floats:
        """The sums (m,)."""
        return self.weights @ self.shares.share

    def bounds(self, df: Floats, alpha: Floats | float) -> Bounds:
        """The interval of each sum, between the lowest and the highest it can be."""
        level = np.broadcast_to(np.asarray(alpha, dtype=np.float64), df.shape)[:, None]
        low, high = self.shares.bounds(df[:, None], level)
        down, up = self.shares.share - low, high - self.shares.share
        t = special.stdtrit(df[:, None], level / 2)
        alone = self.weights**2 @ self.shares.variance
        more = (t[:, 0] ** 2) * np.maximum(self.variance - alone, 0.0)
        less = np.divide(self.variance, alone, out=np.ones_like(alone), where=alone > 0)
        less = np.minimum(less, 1.0)
        above = self.weights > 0
        sides = [np.where(above, down, up), np.where(above, up, down)]
        below, over = (more + less * ((self.weights * e) ** 2).sum(axis=1) for e in sides)
        ends = np.minimum(self.weights, 0).sum(axis=1), np.maximum(self.weights, 0).sum(axis=1)
        low, high = self.value - np.sqrt(below), self.value + np.sqrt(over)
        return np.maximum(low, ends[0]), np.minimum(high, ends[1])


def most_df(least: Floats) -> Floats:
    """The most degrees of freedom of differences, ``least`` the fewest raters or items less 1."""
    return np.asarray(2 * least, dtype=np.float64)


def _times_wider(df: Floats, alpha: Floats | float) -> Floats:
    """(t / z)² (m,): both vanish where ``alpha`` is near 1, and their ratio does not."""
    tail = np.minimum(alpha, _MOST_P) / 2
    return np.asarray((special.stdtrit(df, tail) / special.ndtri(tail)) ** 2, dtype=np.float64)


def _joint(a: Floats, b: Floats, r: Floats) -> Floats:
    """How far a bound of a difference is away (m,), by those of both means."""
    return np.asarray(np.sqrt(np.maximum(a**2 + b**2 - 2 * r * a * b, 0.0)), dtype=np.float64)


def clopper_pearson(share: Floats, n: Floats, alpha: Floats | float) -> Bounds:
    """Clopper and Pearson's (1934) interval of shares (m,) of n answers; n need not be whole."""
    x, rest = share * n, (1 - share) * n
    low = special.betaincinv(np.maximum(x, _TINY), rest + 1, alpha / 2)
    high = 1 - special.betaincinv(np.maximum(rest, _TINY), x + 1, alpha / 2)
    return np.where(x > 0, low, 0.0), np.where(rest > 0, high, 1.0)
