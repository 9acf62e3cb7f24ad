"""What a figure is made of: marks at places in px on a sheet, whatever renders them.

A layout (`DRAWINGS` in `analysis.report.figures.draw`) puts marks on the sheet that its caller
gives; `analysis.report.figures.svg` and `analysis.report.figures.paper` only render them. Colours
are roles: the ink around, the colour of a series, or a shade (#rrggbb) that carries a value.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from analysis.report.figures.palette import LIGHT

WIDTH = 380
INNER = 352  # px between the margins of a page's sheet, for which rooms for words are written
MOST_SPOKEN = 60


def columns_of(words: str) -> float:
    """The columns of a text on a page: East Asian wide letters take two, marks on others none."""
    return sum(map(_letter_columns, words))


def _letter_columns(letter: str) -> int:
    if _is_mark(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _is_mark(letter: str) -> bool:
    """Whether the letter takes no room of its own, such as a vowel sign above another."""
    return unicodedata.category(letter) in ("Mn", "Me", "Cf")


def isolate_direction(words: str) -> str:
    """The text so that its direction, if it runs right to left, moves nothing around it.

    Of a difference (A − B) that holds for each side, so that A stays on the left of the minus.
    """
    if not any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in words):
        return words
    parts = re.split(r"( ?− ?)", words)  # the minus signs are at odd places
    return "".join(x if at % 2 or not x else f"\u2068{x}\u2069" for at, x in enumerate(parts))


@dataclass(frozen=True)
class Sheet:
    """How wide the drawing is to be (px), and how wide words are: in columns of half an em.

    ``paper``: nothing may be wider than the sheet, as it cannot be scrolled, and rows stand close.
    ``values``: with that, numbers stand beside the rows, as they do on a page.
    """

    width: float = WIDTH
    left: float = 14
    columns: Callable[[str], float] = columns_of
    paper: bool = False
    values: bool = False

    @property
    def right(self) -> float:
        """Where words and bars end; they begin as far from the other side."""
        return self.width - self.left

    @property
    def inner(self) -> float:
        """The width between."""
        return self.right - self.left

    def line(self, columns: int) -> int:
        """So many columns on a page's sheet, as many more on a wider one."""
        return int(columns * self.inner / INNER)

    def shortened(self, words: str, columns: float) -> str:
        """The text, cut with an ellipsis to that many columns, never before a mark."""
        if self.columns(words) <= columns:
            return words
        for end in range(len(words) - 1, 1, -1):
            shown = words[:end] + "…"
            if not _is_mark(words[end]) and self.columns(shown) <= columns:
                return shown
        return words[:1] + "…"

    def scene(
        self, marks: Sequence[Mark], height: float, numbers: Iterable[str], axis: str
    ) -> Scene:
        """The figure laid out; of its numbers in words the first sixty, the table has the rest."""
        every = list(numbers)
        words = "; ".join(every[:MOST_SPOKEN]) or "no values"
        more = len(every) - MOST_SPOKEN
        rest = f"; and {more} more in the table" if more > 0 else ""
        description = f"{axis}. {words}{rest}." if axis else f"{words}{rest}."
        return Scene(marks, height, description, self.width)

    def nothing(self, words: str = "Nothing to show") -> Scene:
        """A drawing of nothing, which says so."""
        return Scene([Text(self.left, 24, words)], 40, "No values.", self.width)


PAGE = Sheet()
WIDE = Sheet(width=720, paper=True, values=True)  # of a page where there is room beside the names
CLOSE = Sheet(paper=True)  # of a phone, where there are too many rows for names above them


@dataclass(frozen=True)
class Text:
    """Words whose base line starts, ends or has its middle at a place; ``name`` is their class.

    Turned by so many degrees around it; ``mark`` follows in bold. Without ``ink``: that around.
    """

    x: float
    y: float
    words: str
    name: str = ""
    anchor: str = "start"  # "" in SVG means the same
    size: float = 13.5
    ink: str = ""
    turn: float = 0
    mark: str = ""


@dataclass(frozen=True)
class Path:
    """A line, or a filled shape (``fill``: its opacity), by SVG's path data: M, L, H, V and Z."""

    data: str
    name: str = ""
    width: float | None = 1.5  # None: one px, a line behind the data
    dashes: str = ""
    opacity: float | None = None
    fill: float | None = None


@dataclass(frozen=True)
class Rect:
    """A rectangle: a shade, "none", or without ``fill`` a tint of the ink (by the class)."""

    x: float
    y: float
    width: float
    height: float
    name: str = ""
    corner: float = 0
    fill: str = ""
    edge: float | None = None  # opacity of its outline


@dataclass(frozen=True)
class Circle:
    """A dot in the ink around."""

    x: float
    y: float
    radius: float
    name: str = ""


@dataclass(frozen=True)
class Sign:
    """The sign of the series with that number: circle, square, triangle, and so on; then again."""

    number: int
    x: float
    y: float
    size: float = 4.5
    filled: bool = True


@dataclass(frozen=True)
class Group:
    """Marks that belong together, in the colour of a series if given, with a title to point at.

    ``key`` says what they are about, to scripts.
    """

    marks: Sequence[Mark]
    name: str = ""
    series: int | None = None
    title: str | None = None
    key: str = ""

    @property
    def color(self) -> int | None:
        """Which colour the series has, from 0: six, then from the first again."""
        return None if self.series is None else self.series % len(LIGHT)


Mark = Text | Path | Rect | Circle | Sign | Group


@dataclass(frozen=True)
class Scene:
    """A figure laid out: its marks, its height and width in px, and its numbers in words."""

    marks: Sequence[Mark]
    height: float
    description: str
    width: float


def grid(data: str) -> Path:
    """A thin line behind the data."""
    return Path(data, "plot-grid", None, opacity=0.15)


def hair(data: str) -> Path:
    """A line at a value that matters, such as zero."""
    return Path(data, "plot-hair", None, "3 3", 0.55)


def digits(value: float, count: int = 5) -> float:
    """The value with that many significant digits."""
    return float(f"{value:.{count}g}")


def plain(words: str) -> str:
    """The text without the control characters that XML forbids and no font has."""
    return "".join(c if c >= " " and c not in "\ufffe\uffff" else " " for c in words)
