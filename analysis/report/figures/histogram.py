"""Histograms on one axis, a panel for each group, with a dashed line at each group's mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.report.content import Figure
from analysis.report.figures import scene
from analysis.report.figures.axis import Axis, axis_of, frame, known, left_of_plot, nice_ticks

_PANEL = 96  # px of the bars of one panel
_HEAD = 22  # of its heading
_GAP = 30  # for what stands below it


def histogram(figure: Figure, sheet: scene.Sheet) -> scene.Scene:
    """The drawing; all panels have the same axes, so that groups can be compared."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in figure.rows:
        if all(known(row.get(key)) is not None for key in ("low", "high", "value")):
            groups.setdefault(str(row.get("group") or ""), []).append(row)
    if not groups:
        return sheet.nothing()
    edges = [float(row[key]) for rows in groups.values() for row in rows for key in ("low", "high")]
    most = max(float(row["value"]) for rows in groups.values() for row in rows)
    counts = nice_ticks(0.0, max(most, 1.0), 3)
    across = axis_of(edges, 0, 1, figure.ends)
    marks: list[scene.Mark] = []
    top = 0.0
    for number, (group, rows) in enumerate(groups.items()):
        last = number == len(groups) - 1
        up = Axis(counts, top + 38 + _HEAD + _PANEL, top + 38 + _HEAD)
        left = left_of_plot(sheet, up)
        across = Axis(across.ticks, left + 6, sheet.right - 6)
        words = (figure.x if last else "", figure.y if number == 0 else "")
        marks += frame(sheet, across, up, words, ())
        heading = sheet.shortened(group, sheet.line(50))
        marks.append(scene.Text(sheet.right, up.end - 18, heading, "plot-group", "end", 12.5))
        marks += _bars(rows, number, across, up)
        top = up.start + _GAP - 12
    spoken = (
        f"{group + ', ' if group else ''}{row['low']:g} to {row['high']:g}: {row['value']:g}"
        for group, rows in groups.items()
        for row in rows
        if row["value"]
    )
    axis = f"{figure.y} by {figure.x}".strip()
    return sheet.scene(marks, top + 36, spoken, axis)


def _bars(
    rows: Sequence[Mapping[str, Any]], number: int, across: Axis, up: Axis
) -> Iterator[scene.Mark]:
    drawn: list[scene.Mark] = []
    ground = up.place(0.0)
    for row in rows:
        left, right = across.place(row["low"]), across.place(row["high"])
        if row["value"]:
            height = up.place(row["value"])
            data = f"M{left + 0.5:g} {ground:g}V{height:g}H{right - 0.5:g}V{ground:g}Z"
            drawn.append(scene.Path(data, "plot-bin", fill=0.6))
    mean = known(rows[0].get("mean"))
    if mean is not None:
        x = across.place(mean)
        drawn.append(scene.Path(f"M{x:g} {ground:g}V{up.end - 6:g}", "plot-mean", 2, "5 3"))
    title = "" if mean is None else f"mean {mean:.4g}"
    yield scene.Group(drawn, "plot-histogram", number, title or None)
