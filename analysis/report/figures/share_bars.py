"""Bars of 100 %, cut into the shares of each label, in the order of the labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from analysis.report.content import Figure
from analysis.report.figures import scene
from analysis.report.figures.axis import Axis, known, legend, rows_on
from analysis.report.figures.palette import ink_on, shade

_LINE_HEIGHT = 44
_NARROWEST = 34  # px of a share that has room for its number


def shares(figure: Figure, sheet: scene.Sheet) -> scene.Scene:
    """The drawing; a share says its percentage where it has room, and in words when pointed at."""
    labels, bars = _bars(figure)
    if not bars:
        return sheet.nothing()
    last = max(len(labels) - 1, 1)  # from dark to bright, so that their order is seen without hue
    colours = {label: shade(0.08 + 0.84 * n / last) for n, label in enumerate(labels)}

    def sample(number: int, x: float, y: float) -> scene.Mark:
        return scene.Rect(x, y - 7, 16, 12, corner=2, fill=colours[labels[number]], edge=0.4)

    head, end = legend(sheet, labels, sample, 11, 22)
    top = end - 5
    most = max(max(sum(bar.values()) for bar in bars.values()), 1.0)
    rows = rows_on(sheet, bars, _LINE_HEIGHT)
    ticks = [0, 20, 40, 60, 80, 100] if most <= 1.001 else [0, 100 * most]
    percent = Axis(ticks, rows.left, rows.right)
    first = rows.first(top, 18)
    bottom = rows.bottom(first + rows.height * len(bars))
    marks = [*head, *rows.axis_below(percent, figure, top, bottom)]
    for place, (name, bar) in enumerate(bars.items()):
        y = first + rows.height * place
        marks += [*rows.name(y, name), *_bar(name, bar, colours, y + 6, percent)]
    words = (
        f"{name}: " + ", ".join(f"{label} {bar.get(label, 0) * 100:.1f} %" for label in labels)
        for name, bar in bars.items()
    )
    return sheet.scene(marks, bottom + 46, words, figure.x or "Shares in percent")


def _bars(figure: Figure) -> tuple[list[str], dict[str, dict[str, float]]]:
    """The labels in their order, and for each name the share of each label."""
    labels = list(dict.fromkeys(str(row["label"]) for row in figure.rows))
    bars: dict[str, dict[str, float]] = {}
    for row in figure.rows:
        value = known(row.get("value"))
        bars.setdefault(str(row["name"]), {})[str(row["label"])] = max(value or 0.0, 0.0)
    return labels, bars


def _bar(
    name: str, bar: Mapping[str, float], colours: Mapping[str, str], y: float, percent: Axis
) -> Iterator[scene.Mark]:
    start = 0.0
    for label, fill in colours.items():
        value = 100 * bar.get(label, 0.0)
        x, end = percent.place(start), percent.place(start + value)
        start += value
        if end <= x:
            continue
        width = scene.digits(max(end - x - 1, 0.5), 4)
        marks: list[scene.Mark] = [scene.Rect(x, y, width, 18, fill=fill, edge=0.4)]
        if end - x >= _NARROWEST:
            words, middle = f"{value:.0f} %", scene.digits((x + end) / 2)
            marks.append(scene.Text(middle, y + 13.5, words, "", "middle", 11.5, ink_on(fill)))
        yield scene.Group(marks, "plot-share", title=f"{name}, {label}: {value:.1f} %")
