"""A share with its interval, in plain Python: the web process has no SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

Z_95 = 1.959963984540054


@dataclass(frozen=True)
class Share:
    """`count` of `of`, with Wilson's interval of 95 %; no value of none."""

    count: int
    of: int

    @property
    def value(self) -> float | None:
        return self.count / self.of if self.of else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        if not self.of:
            return None
        n, p, z = self.of, self.count / self.of, Z_95
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        low = 0.0 if self.count == 0 else middle - half
        return low, 1.0 if self.count == n else middle + half
