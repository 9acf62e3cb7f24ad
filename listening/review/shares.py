"""A share and an odds ratio with intervals, in plain Python: the web process has no SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, sqrt

Z_95 = 1.959963984540054


@dataclass(frozen=True)
class Share:
    """`count` of `of`, with Wilson's interval of 95 %; no value of none."""

    count: int
    total: int

    @property
    def value(self) -> float | None:
        return self.count / self.total if self.total else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        if not self.total:
            return None
        n, p, z = self.total, self.count / self.total, Z_95
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        low = 0.0 if self.count == 0 else middle - half
        return low, 1.0 if self.count == n else middle + half


FEW = 5  # in a cell: an interval from logarithms is rough


@dataclass(frozen=True)
class Odds:
    """How many had something, with a sign and without it: `a` of `a + b`, `c` of `c + d`.

    The ratio of the odds with Woolf's interval of 95 %; where a cell is empty, a half is added to
    each (Haldane 1956, Anscombe 1956).
    """

    a: int
    b: int
    c: int
    d: int

    @property
    def comparable(self) -> bool:
        return min(self.a + self.b, self.c + self.d, self.a + self.c, self.b + self.d) > 0

    @property
    def corrected(self) -> bool:
        return min(self.a, self.b, self.c, self.d) == 0

    @property
    def few(self) -> bool:
        return min(self.a, self.b, self.c, self.d) < FEW

    @property
    def _cells(self) -> tuple[float, float, float, float]:
        more = 0.5 if self.corrected else 0.0
        return self.a + more, self.b + more, self.c + more, self.d + more

    @property
    def ratio(self) -> float | None:
        """None where all or none had it, or nobody the sign: nothing can be compared."""
        a, b, c, d = self._cells
        return a * d / (b * c) if self.comparable else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        if self.ratio is None:
            return None
        half = Z_95 * sqrt(sum(1 / cell for cell in self._cells))
        return exp(log(self.ratio) - half), exp(log(self.ratio) + half)
