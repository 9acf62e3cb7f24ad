"""Figures as SVG text: means with their intervals, and a metric against the human score.

No style attributes and no scripts, so that a strict content security policy lets them through.
Colours come from ``currentColor`` and from classes that a page may style; text is real text.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from analysis.scales import PAST_TOLD, Ends, bounds_text, past

WIDTH = 380
_LEFT, _RIGHT = 14, WIDTH - 14
_LINE_HEIGHT = 46
_MOST_KEYS = 40
_STANDALONE_STYLE = (
    "svg{color:#1c2024;background:#fff;font-family:system-ui,sans-serif}"
    "@media (prefers-color-scheme:dark){svg{color:#ebe9e4;background:#1c1f22}}"
)


@dataclass(frozen=True)
class IntervalLine:
    """One line of an interval plot; a bound is None where there is no interval."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    naive_low: float | None = None
    naive_high: float | None = None


@dataclass(frozen=True)
class Point:
    """One point of a scatter plot."""

    name: str
    x: float
    y: float


def interval_plot(
    title: str,
    lines: Sequence[IntervalLine],
    *,
    axis: str,
    key: str,
    standalone: bool = False,
    ends: Ends = None,
) -> str:
    """An SVG of means (dot), clustered intervals (thick) and naive ones (thin, just below).

    ``key`` (letters, digits, hyphens) makes the ids unique on a page; lines are drawn as given.
    With the ``ends`` of a bounded scale the axis is that scale, and an interval that runs past an
    end stops there with an arrow.
    """
    edges = [*ends] if ends else [e for line in lines for e in _edges(line)]
    ticks = nice_ticks(min(edges), max(edges)) if edges else [0.0, 1.0]
    bottom = 58 + _LINE_HEIGHT * len(lines)
    body = [*_legend(), *_axis(ticks, axis, bottom)]
    for number, line in enumerate(lines):
        body += _interval_line(line, 58 + _LINE_HEIGHT * number, ticks, ends)
    height = bottom + 46
    strokes = [stroke for line in lines for stroke in _strokes(line)]
    if standalone and any(any(past(low, high, ends)) for _, low, high, _ in strokes):
        body.append(_text(_LEFT, height + 8, PAST_TOLD, "plot-legend", "start", 11.5))
        height += 18
    told = "; ".join(_spoken(line, ends) for line in lines) or "no estimates"
    return _svg(key, title, f"{axis}. {told}.", height, body, standalone)


def scatter_plot(
    title: str, points: Sequence[Point], *, x: str, y: str, key: str, standalone: bool = False
) -> str:
    """An SVG of numbered points with a key below: a metric (x) against the human score (y)."""
    if not points:
        return _svg(key, title, "no points", 40, [_text(_LEFT, 24, "Nothing to show")], standalone)
    left, top, bottom = 54, 26, 296
    across = nice_ticks(min(p.x for p in points), max(p.x for p in points))
    up = nice_ticks(min(p.y for p in points), max(p.y for p in points))
    body = [*_frame(across, up, left, top, bottom), _text(left, 14, f"↑ {y}", "plot-axis")]
    body.append(_text(_RIGHT, bottom + 38, f"{x} →", "plot-axis", "end"))
    for number, point in enumerate(points, start=1):
        cx = _scaled(point.x, across, left + 12, _RIGHT - 12)
        cy = _scaled(point.y, up, bottom - 12, top + 12)
        body.append(
            f'<g class="plot-point"><title>{_clean(point.name)}</title>'
            f'<circle cx="{cx}" cy="{cy}" r="9" fill="currentColor" fill-opacity="0.14" '
            f'stroke="currentColor"/>{_text(cx, cy + 3.5, str(number), "", "middle", 10)}</g>'
        )
    listed = points[:_MOST_KEYS]
    for number, point in enumerate(listed, start=1):
        line = f"{number}  {shortened(point.name, 26)}  ({point.x:.3g}, {point.y:.3g})"
        body.append(_text(left, bottom + 44 + 18 * number, line, "plot-key", "start", 13))
    height = bottom + 60 + 18 * len(listed)
    told = "; ".join(f"{p.name}: {p.x:.3g}, {p.y:.3g}" for p in points)
    return _svg(key, title, f"{x} and {y}. {told}.", height, body, standalone)


def nice_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers that span low to high: about that many steps of 1, 2, 2.5 or 5 times 10^k."""
    if high <= low:
        room = max(abs(low) * 0.1, 0.1)
        low, high = low - room, high + room
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * f for f in (1, 2, 2.5, 5, 10) if power * f >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]


def shortened(text: str, width: int) -> str:
    """The text, cut with an ellipsis to that many columns; East Asian wide letters take two."""
    used = 0
    for at, letter in enumerate(text):
        used += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if used > width:
            return text[: max(at - 1, 1)] + "…"
    return text


def _interval_line(
    line: IntervalLine, y: float, ticks: Sequence[float], ends: Ends
) -> Iterator[str]:
    middle = y + 15
    yield '<g class="plot-line">'
    yield f"<title>{_clean(_spoken(line, ends))}</title>"
    yield _text(_LEFT, y, shortened(line.name, 25), "plot-name")
    told = f"{line.value:.3f}"
    if line.low is not None and line.high is not None:
        told += " " + bounds_text(line.low, line.high, ends)
    for name, low, high, width in _strokes(line):
        below = middle if name == "interval-clustered" else middle + 8
        yield _stroke(low, high, below, ticks, name, width, ends)
    yield _text(_RIGHT, y, told, "plot-value", "end")
    x = _scaled(line.value, ticks, _LEFT, _RIGHT)
    yield f'<circle class="plot-dot" cx="{x}" cy="{middle}" r="5.5" fill="currentColor"/>'
    yield "</g>"


def _strokes(line: IntervalLine) -> Iterator[tuple[str, float, float, float]]:
    """Class, low, high and width in px of each interval that the line has."""
    if line.low is not None and line.high is not None:
        yield "interval-clustered", line.low, line.high, 4
    if line.naive_low is not None and line.naive_high is not None:
        yield "interval-naive", line.naive_low, line.naive_high, 1.5


def _stroke(
    low: float,
    high: float,
    y: float,
    ticks: Sequence[float],
    name: str,
    width: float,
    ends: Ends,
) -> str:
    below, above = past(low, high, ends)
    if ends is not None:
        low, high = max(low, ends[0]), min(high, ends[1])
    x1, x2 = (_scaled(value, ticks, _LEFT, _RIGHT) for value in (low, high))
    drawn = f"M{x1} {y}H{x2}{_end(x1, y, width, below, -1)}{_end(x2, y, width, above, 1)}"
    return (
        f'<path class="{name}" d="{drawn}"'
        f' fill="none" stroke="currentColor" stroke-width="{width}"/>'
    )


def _end(x: float, y: float, width: float, runs_past: bool, side: int) -> str:
    """The end of an interval's line: a cap, or an arrow head where it runs past the scale."""
    cap = width + 1.5
    if not runs_past:
        return f"M{x} {y - cap}V{y + cap}"
    tip, back = x + side * 9, x + side * 1
    return f"M{back} {y - cap}L{tip} {y}L{back} {y + cap}"


def _legend() -> Iterator[str]:
    yield '<path class="interval-clustered" d="M14 14H40" stroke="currentColor" stroke-width="4"/>'
    yield '<circle class="plot-dot" cx="27" cy="14" r="5" fill="currentColor"/>'
    yield _text(46, 18, "raters and items crossed", "plot-legend", "start", 11.5)
    yield '<path class="interval-naive" d="M200 14H226" stroke="currentColor" stroke-width="1.5"/>'
    yield _text(232, 18, "naive, as if independent", "plot-legend", "start", 11.5)


def _axis(ticks: Sequence[float], axis: str, bottom: float) -> Iterator[str]:
    for tick in ticks:
        x = _scaled(tick, ticks, _LEFT, _RIGHT)
        yield (
            f'<path class="plot-grid" d="M{x} 34V{bottom}" fill="none" stroke="currentColor"'
            ' stroke-opacity="0.15"/>'
        )
        anchor = "start" if tick == ticks[0] else "end" if tick == ticks[-1] else "middle"
        yield _text(x, bottom + 16, f"{tick:g}", "plot-tick", anchor, 12)
    yield _text(WIDTH / 2, bottom + 36, axis, "plot-axis", "middle", 12.5)


def _frame(
    across: Sequence[float], up: Sequence[float], left: float, top: float, bottom: float
) -> Iterator[str]:
    for tick in across:
        x = _scaled(tick, across, left + 12, _RIGHT - 12)
        yield _grid_line(f"M{x} {top}V{bottom}")
        yield _text(x, bottom + 16, f"{tick:g}", "plot-tick", "middle", 12)
    for tick in up:
        y = _scaled(tick, up, bottom - 12, top + 12)
        yield _grid_line(f"M{left} {y}H{_RIGHT}")
        yield _text(left - 6, y + 4, f"{tick:g}", "plot-tick", "end", 12)


def _grid_line(path: str) -> str:
    return (
        f'<path class="plot-grid" d="{path}" fill="none" stroke="currentColor"'
        ' stroke-opacity="0.15"/>'
    )


def _scaled(value: float, ticks: Sequence[float], start: float, end: float) -> float:
    share = (value - ticks[0]) / (ticks[-1] - ticks[0])
    return round(start + share * (end - start), 2)


def _edges(line: IntervalLine) -> list[float]:
    every = (line.value, line.low, line.high, line.naive_low, line.naive_high)
    return [edge for edge in every if edge is not None]


def _spoken(line: IntervalLine, ends: Ends) -> str:
    told = f"{line.name}: {line.value:.3f}"
    if line.low is None or line.high is None:
        return f"{told}, no clustered interval"
    over = " (runs past the scale)" if any(past(line.low, line.high, ends)) else ""
    return f"{told}, from {line.low:.3f} to {line.high:.3f}{over}"


def _text(
    x: float, y: float, text: str, name: str = "", anchor: str = "start", size: float = 13.5
) -> str:
    known = f' class="{name}"' if name else ""
    return (
        f'<text{known} x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}"'
        f' fill="currentColor">{_clean(text)}</text>'
    )


def _clean(text: str) -> str:
    """Escaped text without the control characters that XML forbids."""
    return escape("".join(c if c >= " " else " " for c in text))


def _svg(
    key: str, title: str, told: str, height: float, body: Sequence[str], standalone: bool
) -> str:
    size = f' width="{2 * WIDTH}" height="{2 * height}"' if standalone else ""
    style = f"<style>{_STANDALONE_STYLE}</style>" if standalone else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"{size}'
        f' class="plot" role="img" aria-labelledby="{key}-title {key}-told">'
        f'<title id="{key}-title">{_clean(title)}</title>'
        f'<desc id="{key}-told">{_clean(told)}</desc>{style}{"".join(body)}</svg>'
    )
