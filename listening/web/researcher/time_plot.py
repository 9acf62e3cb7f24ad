"""Ratings over time as bars: what a template draws, as plain numbers, and as a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from listening.selectors.rating_times import HOUR_S, Hour, Mark

MOST_BARS = 60
SPARK_BARS = 32
FEWEST_BARS = 12  # the first rating has empty bars before it where it is not long ago
WIDTHS = {1: "hour", 3: "3 hours", 6: "6 hours", 24: "day", 7 * 24: "week", 28 * 24: "4 weeks"}
HEIGHT = 100  # of the drawing; a page stretches it


@dataclass(frozen=True)
class Bar:
    began: datetime
    ratings: int
    x: int
    height: float

    @property
    def y(self) -> float:
        return round(HEIGHT - self.height, 2)


@dataclass(frozen=True)
class Line:
    """A mark at its place among the bars."""

    mark: Mark
    x: float


@dataclass(frozen=True)
class TimePlot:
    """Bars from the first rating to now, or to the last that came, and what they are of."""

    bars: Sequence[Bar]
    per: str  # hour, day …
    total: int
    lines: Sequence[Line] = ()
    marks_left_out: int = 0

    @property
    def width(self) -> int:
        return len(self.bars)

    @property
    def height(self) -> int:
        return HEIGHT

    @property
    def most(self) -> Bar:
        return max(self.bars, key=lambda bar: bar.ratings)

    @property
    def form(self) -> str:
        """How a moment is written, as Django's filter `date` takes it."""
        return "Y-m-d H:i" if self.per.endswith(("hour", "hours")) else "Y-m-d"

    @property
    def summary(self) -> str:
        """The plot for who does not see it."""
        first = next(bar for bar in self.bars if bar.ratings)
        last = self.bars[-1]
        written = "%Y-%m-%d %H:%M" if "H" in self.form else "%Y-%m-%d"
        return (
            f"Ratings per {self.per} since {first.began:{written}} UTC: {self.total:,} in all, "
            f"most from {self.most.began:{written}} ({self.most.ratings:,}), "
            f"{last.ratings:,} from {last.began:{written}}, the last"
        )


def time_plot(
    hours: Sequence[Hour],
    until: datetime,
    marks: Sequence[Mark] = (),
    *,
    all_marks: int = 0,
    most: int = MOST_BARS,
) -> TimePlot | None:
    """The plot up to a moment; None without any rating.

    A bar is as wide as lets no more than `most` of them stand beside each other; the last may not
    be over yet.
    """
    if not hours:
        return None
    first = hours[0].hour
    last = max(hours[-1].hour, int(until.timestamp()) // HOUR_S)
    wide = next((w for w in WIDTHS if _bars(first, last, w) <= most), 28 * 24)
    begin = min(first // wide, last // wide - FEWEST_BARS + 1)
    counts = [0] * (last // wide - begin + 1)
    for hour, ratings in hours:
        counts[hour // wide - begin] += ratings
    top = max(counts)
    bars = [
        Bar(
            datetime.fromtimestamp((begin + x) * wide * HOUR_S, UTC),
            count,
            x,
            round(HEIGHT * count / top, 2),
        )
        for x, count in enumerate(counts)
    ]
    lines = [line for mark in marks if 0 <= (line := _line(mark, begin, wide)).x <= len(bars)]
    left_out = max(all_marks - len(lines), 0)
    return TimePlot(bars, WIDTHS[wide], sum(counts), lines, left_out)


def _bars(first: int, last: int, wide: int) -> int:
    return last // wide - first // wide + 1


def _line(mark: Mark, begin: int, wide: int) -> Line:
    return Line(mark, round(mark.at.timestamp() / HOUR_S / wide - begin, 3))
