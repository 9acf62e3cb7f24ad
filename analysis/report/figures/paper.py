"""A figure's scene as files for papers, by Matplotlib: PDF, SVG and PNG, always the same bytes.

Vector, with the fonts embedded (TrueType, as publishers want), one column (3.35 in) wide or two
(7 in). Layout is that of the page (`DRAWINGS`) on a sheet of that width, with words measured by
the fonts. Matplotlib is imported inside functions only.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from analysis.report.content import Figure
from analysis.report.figures import fonts, scene
from analysis.report.figures.draw import DRAWINGS
from analysis.report.figures.palette import BOLD, LIGHT, MUTED, SIGNS, TINT

SINGLE, DOUBLE = 3.35, 7.0  # inches: one column and two
_POINTS = 7 / 12  # of paper for a px of the sheet: ticks are 7 points high
_MARGIN = 10  # px
_HEAD = 26  # px of a panel's title
_HIGHEST_IN = 8.5  # of a figure in one column of a page
_INK = "#1c2024"
_DATES = {"pdf": "CreationDate", "svg": "Date", "png": "Software"}  # left out, as bytes are to stay


Files = dict[str, bytes]


@dataclass(frozen=True)
class Panel:
    """A figure laid out, at its place among others (px), below its title if it has one."""

    laid_out: scene.Scene
    sheet: scene.Sheet
    title: str = ""
    left: float = 0.0
    top: float = 0.0

    @property
    def head(self) -> float:
        """The height of the title, px."""
        return _HEAD if self.title else 0.0

    @property
    def height(self) -> float:
        """The height of all, px."""
        return self.laid_out.height + self.head

    def titled(self) -> Iterator[scene.Mark]:
        """The title as a mark."""
        if self.title:
            words = self.sheet.shortened(self.title, self.sheet.line(50))
            yield scene.Text(self.sheet.left, 20, words, "plot-group", size=13)


def paper_files(figure: Figure, width_in: float | None = None) -> dict[str, bytes]:
    """The figure as files by their format (pdf, svg, png); the title is left for the caption.

    ``width_in`` is `SINGLE` or `DOUBLE` or any other width in inches; None takes what fits. Raises
    KeyError for a drawing that is not known.
    """
    with _drawn_by_matplotlib([figure]):
        sheet = sheet_for(figure, width_in)
        laid_out = DRAWINGS[figure.drawing](figure, sheet)
        return _files([Panel(laid_out, sheet)], tuple(_DATES))


def panel_files(figures: Sequence[Figure], kinds: Sequence[str] = ("pdf", "svg")) -> Files:
    """Several figures as one, by format: each one column wide, below a letter and its title.

    One below the other; on both columns of the page where one column would be higher than it. A
    single figure has no letter, and its title is left for the caption.
    """
    with _drawn_by_matplotlib(figures):
        panels = []
        for place, figure in enumerate(figures):
            sheet = sheet_for(figure, SINGLE)
            laid_out = DRAWINGS[figure.drawing](figure, sheet)
            title = f"{_letter(place)}   {figure.title}" if len(figures) > 1 else ""
            panels.append(Panel(laid_out, sheet, title))
        return _files(_arrange_panels(panels), kinds)


def missing_letters(figures: Iterable[Figure]) -> str:
    """The letters that no font has, in order: they are drawn as boxes."""
    return fonts.missing_letters(text for figure in figures for text in _texts(figure))


def sheet_for(figure: Figure, width_in: float | None = None) -> scene.Sheet:
    """The sheet of that width, with the letters of the fonts that the figure takes."""
    width = (width_in or width_for(figure)) * 72 / _POINTS
    measure = fonts.measure_in(fonts.families_for(_texts(figure)))
    return scene.Sheet(width, _MARGIN, measure, paper=True)


def width_for(figure: Figure) -> float:
    """One column, or two where a heatmap has more cells side by side than one column holds."""
    across = len({str(row["column"]) for row in figure.rows}) if figure.drawing == "heatmap" else 0
    return DOUBLE if across > 8 else SINGLE


def _artists(mark: scene.Mark, ink: str, sheet: scene.Sheet) -> Iterator[Any]:
    """The mark as Matplotlib has it, in that colour unless it has one of its own."""
    from matplotlib.transforms import Affine2D

    match mark:
        case scene.Group():
            for each in mark.marks:
                yield from _artists(each, ink if mark.color is None else LIGHT[mark.color], sheet)
        case scene.Text():
            yield _words(mark, mark.ink or ink, sheet)
        case scene.Path(fill=None):
            edge = ink, mark.opacity or 1.0
            yield _shape(_outline(mark.data), "none", edge, mark.width or 1.0, mark.dashes)
        case scene.Path():
            yield _shape(_outline(mark.data), (ink, mark.fill))
        case scene.Rect():
            right, below = mark.x + mark.width, mark.y + mark.height
            corners = _outline(f"M{mark.x} {mark.y}H{right}V{below}H{mark.x}Z")
            yield _shape(corners, mark.fill or (ink, TINT), (ink, mark.edge or 0.0))
        case scene.Circle():
            yield from _artists(scene.Sign(0, mark.x, mark.y, mark.radius), ink, sheet)
        case scene.Sign():
            moved = Affine2D().scale(mark.size).translate(mark.x, mark.y)
            outline = moved.transform_path(_outline(SIGNS[mark.number % len(SIGNS)]))
            fill, width = (1.0, 0.0) if mark.filled else (0.14, 1.2)
            yield _shape(outline, (ink, fill), (ink, 1.0), width)


def _shape(outline: Any, fill: Any, edge: Any = "none", width: float = 1.0, dash: str = "") -> Any:
    from matplotlib.patches import PathPatch

    dashes = (0, [float(each) * _POINTS for each in dash.split()]) if dash else "-"
    return PathPatch(outline, fc=fill, ec=edge, lw=width * _POINTS, ls=dashes)


def _words(text: scene.Text, ink: str, sheet: scene.Sheet) -> Any:
    """The text, moved where it would leave the sheet on the left or right."""
    from matplotlib.text import Text as Words

    words, x = scene.isolate_direction(scene.plain(text.words)), text.x
    if not text.turn:
        width = sheet.columns(words) * text.size / 2
        before = {"middle": width / 2, "end": width}.get(text.anchor, 0.0)
        x = max(min(x - before, sheet.width - width), 0) + before
    return Words(
        x,
        text.y,
        words,
        size=text.size * _POINTS,
        color=(ink, 0.75 if text.name in MUTED else 1.0),
        weight="bold" if text.name in BOLD else "normal",
        ha={"middle": "center", "end": "right"}.get(text.anchor, "left"),
        rotation=-text.turn,
        rotation_mode="anchor",
    )


def _outline(data: str) -> Any:
    """SVG's path data (M, L, H, V, Z; arcs are of the unit circle) as a path of Matplotlib's."""
    from matplotlib.path import Path as Outline

    if "A" in data:
        return Outline.unit_circle()
    points, codes = [(0.0, 0.0)], []
    for code, numbers in re.findall(r"([MLHVZ])([^MLHVZ]*)", data):
        values = [float(number) for number in numbers.split()] or [0.0]
        x, y = points[-1]
        points.append((values[0] if code in "MLH" else x, values[-1] if code in "MLV" else y))
        codes.append({"M": Outline.MOVETO, "Z": Outline.CLOSEPOLY}.get(code, Outline.LINETO))
    return Outline(points[1:], codes)


def _texts(figure: Figure) -> Iterator[str]:
    """What is written in a figure, with the title that a panel has."""
    yield from (figure.title, figure.x, figure.y)
    for row in figure.rows:
        yield from (value for value in row.values() if isinstance(value, str))


def _settings(families: Sequence[str]) -> dict[Any, Any]:  # Matplotlib types keys as literals
    return {
        "font.family": list(families),
        "lines.scale_dashes": False,
        "text.parse_math": False,
        # outlines as TrueType; those of other fonts may be of another kind: as shapes
        "pdf.fonttype": 42 if fonts.TRUETYPE.issuperset(families) else 3,
        "svg.fonttype": "path",
        "svg.hashsalt": "earnest",
        "savefig.dpi": 300,
    }


@contextmanager
def _drawn_by_matplotlib(figures: Iterable[Figure]) -> Iterator[None]:
    """With the fonts that the figures need."""
    import matplotlib

    families = fonts.families_for(text for figure in figures for text in _texts(figure))
    settings = matplotlib.rc_context(_settings(families))
    with settings, _quiet_about_fonts(), fonts.without_layout_tables():
        yield


def _letter(place: int) -> str:
    """Of a panel: a to z, then aa."""
    rest, last = divmod(place, 26)
    return ("" if not rest else _letter(rest - 1)) + "abcdefghijklmnopqrstuvwxyz"[last]


def _arrange_panels(panels: Sequence[Panel]) -> list[Panel]:
    """One below the other, or in two columns of about the same height."""
    total, columns = sum(panel.height for panel in panels), 1
    if total > _HIGHEST_IN * 72 / _POINTS:
        columns = 2
    placed: list[Panel] = []
    left, top, before = 0.0, 0.0, 0.0
    for panel in panels:
        if columns == 2 and not left and placed and before + panel.height / 2 > total / 2:
            left, top = (DOUBLE - SINGLE) * 72 / _POINTS, 0.0
        placed.append(replace(panel, left=left, top=top))
        top, before = top + panel.height, before + panel.height
    return placed


def _files(panels: Sequence[Panel], kinds: Iterable[str]) -> dict[str, bytes]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Drawn
    from matplotlib.transforms import Affine2D

    inch = _POINTS / 72
    width = max(panel.left + panel.sheet.width for panel in panels)
    height = max(panel.top + panel.height for panel in panels)
    drawn = Drawn(figsize=(width * inch, height * inch))
    FigureCanvasAgg(drawn)
    for panel in panels:
        x, y = panel.left * inch, (height - panel.top) * inch
        moved = Affine2D().scale(inch, -inch).translate(x, y) + drawn.dpi_scale_trans
        for mark in panel.titled():
            for artist in _artists(mark, _INK, panel.sheet):
                artist.set_transform(moved)
                drawn.add_artist(artist)
        inside = Affine2D().translate(0, -panel.head * inch) + drawn.dpi_scale_trans
        places = Affine2D().scale(inch, -inch).translate(x, y) + inside
        for mark in panel.laid_out.marks:
            for artist in _artists(mark, _INK, panel.sheet):
                artist.set_transform(places)
                drawn.add_artist(artist)
    return {kind: _render_file(drawn, kind) for kind in kinds}


def _render_file(drawn: Any, kind: str) -> bytes:
    buffer = io.BytesIO()
    drawn.savefig(buffer, format=kind, metadata={_DATES[kind]: None})
    return buffer.getvalue()


@contextmanager
def _quiet_about_fonts() -> Iterator[None]:
    """Without lines for what is usual: steps of embedding, no bold Noto, missing letters."""
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # else a line for each step
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # no bold Noto: regular
    with fonts.no_warning_of_missing_letters():
        yield
