"""Bars of 100 %, cut into the shares of each label, in the order of the labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analysis.report.content import Figure
from analysis.report.figures.axis import Axis, known
from analysis.report.figures.interval_plot import axis_below
from analysis.report.figures.palette import ink_on, shade
from analysis.report.figures.svg import (
    LEFT,
    RIGHT,
    Canvas,
    clean,
    nothing,
    shortened,
    spoken,
    text,
)

_LINE_HEIGHT = 44
_NARROWEST = 34  # px of a share that has room for its number


def shares(figure: Figure) -> Canvas:
    """The drawing; a share says its percentage where it has room, and in words when pointed at."""
    labels, bars = bars_of(figure)
    if not bars:
        return nothing()
    colours = dict(zip(labels, share_colours(len(labels)), strict=True))
    head, top = _legend(colours)
    most = max(max(sum(bar.values()) for bar in bars.values()), 1.0)
    percent = Axis([0, 20, 40, 60, 80, 100] if most <= 1.001 else [0, 100 * most], LEFT, RIGHT)
    bottom = top + 18 + _LINE_HEIGHT * len(bars)
    body = [*head, *axis_below(percent, figure, top, bottom)]
    for place, (name, bar) in enumerate(bars.items()):
        y = top + 18 + _LINE_HEIGHT * place
        body.append(text(LEFT, y, shortened(name, 50), "plot-name"))
        body += _bar(name, bar, labels, colours, y + 6, percent)
    told = (
        f"{name}: " + ", ".join(f"{label} {bar.get(label, 0) * 100:.1f} %" for label in labels)
        for name, bar in bars.items()
    )
    return Canvas(body, bottom + 46, spoken(told, figure.x or "Shares in percent"))


def bars_of(figure: Figure) -> tuple[list[str], dict[str, dict[str, float]]]:
    """The labels in their order, and for each name the share of each label."""
    labels = list(dict.fromkeys(str(row["label"]) for row in figure.rows))
    bars: dict[str, dict[str, float]] = {}
    for row in figure.rows:
        value = known(row.get("value"))
        bars.setdefault(str(row["name"]), {})[str(row["label"])] = max(value or 0.0, 0.0)
    return labels, bars


def share_colours(count: int) -> list[str]:
    """From dark to bright, so that the order of the labels is seen without hue."""
    return [shade(0.08 + 0.84 * n / max(count - 1, 1)) for n in range(count)]


def _legend(colours: Mapping[str, str]) -> tuple[list[str], float]:
    body, y = [], 12.0
    columns = 2 if all(len(label) <= 20 for label in colours) else 1
    for number, (label, colour) in enumerate(colours.items()):
        x, y = LEFT + (number % columns) * 176, 12 + (number // columns) * 18
        body.append(
            f'<rect x="{x}" y="{y - 8}" width="16" height="12" rx="2" fill="{colour}"'
            ' stroke="currentColor" stroke-opacity="0.4"/>'
        )
        shown = shortened(label, 20 if columns == 2 else 48)
        body.append(text(x + 22, y + 3, shown, "plot-legend", "start", 12))
    return body, y + 12


def _bar(
    name: str,
    bar: Mapping[str, float],
    labels: Sequence[str],
    colours: Mapping[str, str],
    y: float,
    percent: Axis,
) -> Iterator[str]:
    start = 0.0
    for label in labels:
        value = 100 * bar.get(label, 0.0)
        x, end = percent.place(start), percent.place(start + value)
        start += value
        if end <= x:
            continue
        yield (
            f'<g class="plot-share"><title>{clean(f"{name}, {label}: {value:.1f} %")}</title>'
            f'<rect x="{x:g}" y="{y:g}" width="{max(end - x - 1, 0.5):.4g}" height="18"'
            f' fill="{colours[label]}" stroke="currentColor" stroke-opacity="0.4"/>'
        )
        if end - x >= _NARROWEST:
            yield (
                f'<text x="{(x + end) / 2:.5g}" y="{y + 13.5:g}" font-size="11.5"'
                f' text-anchor="middle" fill="{ink_on(colours[label])}">{value:.0f} %</text>'
            )
        yield "</g>"
