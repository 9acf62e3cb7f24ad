"""A figure's scene as files for papers, by Matplotlib: PDF, SVG and PNG, always the same bytes.

Vector, with the fonts embedded (TrueType, as publishers want), one column (3.35 in) wide or two
(7 in). Layout is that of the page (`DRAWINGS`) on a sheet of that width, with letters measured by
the font. Matplotlib is imported inside functions only.
"""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from analysis.report.content import Figure
from analysis.report.figures import scene
from analysis.report.figures.draw import DRAWINGS
from analysis.report.figures.palette import BOLD, LIGHT, MUTED, SIGNS, TINT

SINGLE, DOUBLE = 3.35, 7.0  # inches: one column and two
_POINTS = 7 / 12  # of paper for a px of the sheet: ticks are 7 points high
_MARGIN = 10  # px
_INK = "#1c2024"
_DATES = {"pdf": "CreationDate", "svg": "Date", "png": "Software"}  # left out, as bytes are to stay
_CJK = ("Noto Sans CJK SC", "Source Han Sans SC", "WenQuanYi Zen Hei", "SimHei", "PingFang SC")


def paper_files(figure: Figure, width_in: float | None = None) -> dict[str, bytes]:
    """The figure as files by their format (pdf, svg, png); the title is left for the caption.

    ``width_in`` is `SINGLE` or `DOUBLE` or any other width in inches; None takes what fits. Raises
    KeyError for a drawing that is not known.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Drawn
    from matplotlib.transforms import Affine2D

    inch, sheet = _POINTS / 72, sheet_for(figure, width_in)
    with matplotlib.rc_context(_settings(_is_wide(figure))), _no_word_of_missing_letters():
        laid_out = DRAWINGS[figure.drawing](figure, sheet)
        drawn = Drawn(figsize=(sheet.width * inch, laid_out.height * inch))
        FigureCanvasAgg(drawn)
        places = Affine2D().scale(inch, -inch).translate(0, laid_out.height * inch)
        for artist in (each for mark in laid_out.marks for each in _artists(mark, _INK, sheet)):
            artist.set_transform(places + drawn.dpi_scale_trans)
            drawn.add_artist(artist)
        return {kind: _written(drawn, kind) for kind in _DATES}


def sheet_for(figure: Figure, width_in: float | None = None) -> scene.Sheet:
    """The sheet of that width, with the letters of the fonts that the figure takes."""
    width = (width_in or width_for(figure)) * 72 / _POINTS
    return scene.Sheet(width, _MARGIN, _letter_width(fonts(_is_wide(figure))), paper=True)


def width_for(figure: Figure) -> float:
    """One column, or two where a heatmap has more cells side by side than one column holds."""
    across = len({str(row["column"]) for row in figure.rows}) if figure.drawing == "heatmap" else 0
    return DOUBLE if across > 8 else SINGLE


def has_fonts_for(figure: Figure) -> bool:
    """Whether this machine has letters for all names (Chinese ones need a font of their own)."""
    return not _is_wide(figure) or len(fonts(True)) > 1


@cache
def fonts(wide_letters: bool) -> tuple[str, ...]:
    """Matplotlib's own font, and one with wide letters if wanted and there is one."""
    if not wide_letters:
        return ("DejaVu Sans",)
    from matplotlib import font_manager

    known = {entry.name for entry in font_manager.fontManager.ttflist}
    similar = sorted(name for name in known if "CJK" in name and "Sans" in name)
    return ("DejaVu Sans", *[name for name in (*_CJK, *similar) if name in known][:1])


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

    words, x = scene.plain(text.words), text.x
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


def _letter_width(families: tuple[str, ...]) -> Callable[[str], float]:
    """How many columns (half ems) a letter takes in the first of the fonts that has it."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    known = [get_font(findfont(FontProperties(family=[name]))) for name in families]

    @cache
    def columns(letter: str) -> float:
        font = next((each for each in known if each.get_char_index(ord(letter))), known[0])
        font.set_size(100, 72)
        with _no_word_of_missing_letters():
            return float(font.load_char(ord(letter)).linearHoriAdvance / 65536 / 50)

    return columns


def _is_wide(figure: Figure) -> bool:
    words = [figure.x, figure.y, *(value for row in figure.rows for value in row.values())]
    letters = {letter for each in words if isinstance(each, str) for letter in each}
    return any(scene.letter_columns(letter) > 1 for letter in letters)


def _settings(wide_letters: bool) -> dict[str, Any]:
    families = fonts(wide_letters)
    return {
        "font.family": list(families),
        "lines.scale_dashes": False,
        "text.parse_math": False,
        # outlines as TrueType; the wide letters of most fonts are of another kind: as shapes
        "pdf.fonttype": 3 if len(families) > 1 else 42,
        "svg.fonttype": "path",
        "svg.hashsalt": "earnest",
        "savefig.dpi": 300,
    }


def _written(drawn: Any, kind: str) -> bytes:
    buffer = io.BytesIO()
    drawn.savefig(buffer, format=kind, metadata={_DATES[kind]: None})
    return buffer.getvalue()


@contextmanager
def _no_word_of_missing_letters() -> Iterator[None]:
    """Letters that no font has are drawn as boxes; `has_fonts_for` says so beforehand."""
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # else a line for each step
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield
