"""SVG by the piece: text, lines, signs, and the frame that says everything in words."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from analysis.report.figures.palette import STYLE

WIDTH = 380
LEFT, RIGHT = 14, WIDTH - 14
MOST_SPOKEN = 60
_STANDALONE = (
    "svg{color:#1c2024;background:#fff}"
    "@media (prefers-color-scheme:dark){svg{color:#ebe9e4;background:#1c1f22}}" + STYLE
)
_SIGNS = (  # one path each, about one unit from the middle; scaled and moved
    "M-1 0A1 1 0 1 0 1 0A1 1 0 1 0 -1 0Z",
    "M-.9 -.9H.9V.9H-.9Z",
    "M0 -1.15L1.05 .8H-1.05Z",
    "M0 -1.25L1.25 0L0 1.25L-1.25 0Z",
    "M0 1.15L1.05 -.8H-1.05Z",
    "M-.4 -1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
)


@dataclass(frozen=True)
class Canvas:
    """What a drawing gives: its pieces, its height and width in px, and its numbers in words."""

    body: Sequence[str]
    height: float
    told: str
    width: float = WIDTH


def framed(canvas: Canvas, key: str, title: str, standalone: bool = False) -> str:
    """The whole SVG, with ids that begin with the key (letters, digits, hyphens)."""
    width, height = (round(edge, 1) for edge in (canvas.width, canvas.height))
    wide = width > WIDTH
    size = f' width="{2 * width:g}" height="{2 * height:g}"' if standalone else ""
    if wide and not standalone:
        size = f' width="{width:g}" height="{height:g}"'
    style = f"<style>{_STANDALONE}</style>" if standalone else ""
    kind = "plot plot-wide" if wide else "plot"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}"{size}'
        f' class="{kind}" role="img" aria-labelledby="{key}-title {key}-told">'
        f'<title id="{key}-title">{clean(title)}</title>'
        f'<desc id="{key}-told">{clean(canvas.told)}</desc>{style}{"".join(canvas.body)}</svg>'
    )


def nothing(words: str = "Nothing to show") -> Canvas:
    """A drawing of nothing, which says so."""
    return Canvas([text(LEFT, 24, words)], 40, "No values.")


def text(
    x: float, y: float, words: str, name: str = "", anchor: str = "start", size: float = 13.5
) -> str:
    """A text in the colour of its surroundings; ``name`` is its class."""
    kind = f' class="{name}"' if name else ""
    return (
        f'<text{kind} x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}"'
        f' fill="currentColor">{clean(words)}</text>'
    )


def grid(path: str) -> str:
    """A thin line behind the data."""
    return (
        f'<path class="plot-grid" d="{path}" fill="none" stroke="currentColor"'
        ' stroke-opacity="0.15"/>'
    )


def hair(path: str) -> str:
    """A line at a value that matters, such as zero."""
    return (
        f'<path class="plot-hair" d="{path}" fill="none" stroke="currentColor"'
        ' stroke-opacity="0.55" stroke-dasharray="3 3"/>'
    )


def stroke(path: str, name: str = "", width: float = 1.5, dashes: str = "") -> str:
    """A line of the data."""
    kind = f' class="{name}"' if name else ""
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<path{kind} d="{path}" fill="none" stroke="currentColor"'
        f' stroke-width="{width:g}"{dashed}/>'
    )


def sign(number: int, x: float, y: float, size: float = 4.5, filled: bool = True) -> str:
    """The sign of the series with that number: circle, square, triangle, and so on; then again."""
    fill = "" if filled else ' fill-opacity="0.14"'
    width = 1.2 / size if not filled else 0
    return (
        f'<path class="plot-sign" d="{_SIGNS[number % len(_SIGNS)]}"'
        f' transform="translate({x:g} {y:g}) scale({size:g})" fill="currentColor"{fill}'
        f' stroke="currentColor" stroke-width="{width:.3g}"/>'
    )


def spoken(parts: Iterable[str], axis: str = "") -> str:
    """Numbers in words, the first sixty; the rest is in the table."""
    every = list(parts)
    told = "; ".join(every[:MOST_SPOKEN]) or "no values"
    more = len(every) - MOST_SPOKEN
    rest = f"; and {more} more in the table" if more > 0 else ""
    return f"{axis}. {told}{rest}." if axis else f"{told}{rest}."


def columns_of(words: str) -> int:
    """How many columns a text takes; East Asian wide letters take two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in words)


def shortened(words: str, width: int) -> str:
    """The text, cut with an ellipsis to that many columns; East Asian wide letters take two."""
    used = 0
    for at, letter in enumerate(words):
        used += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if used > width:
            return words[: max(at - 1, 1)] + "…"
    return words


def clean(words: str) -> str:
    """Escaped text without the control characters that XML forbids."""
    return escape("".join(c if c >= " " and c not in "\ufffe\uffff" else " " for c in words))
