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
from dataclasses import dataclass
from functools import cache
from typing import Any

from analysis.report.content import Figure
from analysis.report.figures.draw import DRAWINGS
from analysis.report.figures.palette import BOLD, LIGHT, MUTED, SIGNS
from analysis.report.figures.scene import (
    Circle,
    Group,
    Mark,
    Path,
    Rect,
    Sheet,
    Sign,
    Text,
    letter_columns,
    plain,
)

SINGLE, DOUBLE = 3.35, 7.0  # inches: one column and two
FORMATS = ("pdf", "svg", "png")
_POINTS = 7 / 12  # of paper for a px of the sheet: ticks are 7 points high
_MARGIN = 10  # px
_INK = "#1c2024"
_NO_DATE: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
    "png": {"Software": None},
}
_CJK = ("Noto Sans CJK SC", "Source Han Sans SC", "WenQuanYi Zen Hei", "SimHei", "PingFang SC")
_MEASURED = 100  # points of the letters that are measured


def paper_files(figure: Figure, width_in: float | None = None) -> dict[str, bytes]:
    """The figure as files by their format (pdf, svg, png); the title is left for the caption.

    ``width_in`` is `SINGLE` or `DOUBLE` or any other width in inches; None takes what fits. Raises
    KeyError for a drawing that is not known.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Drawn
    from matplotlib.transforms import Affine2D

    families = fonts(_is_wide(figure))
    width = (width_in or width_for(figure)) * 72 / _POINTS
    sheet = Sheet(width, _MARGIN, _letter_width(families), paper=True)
    scene = DRAWINGS[figure.drawing](figure, sheet)
    inch = _POINTS / 72
    with matplotlib.rc_context(_settings(families)), _no_word_of_missing_letters():
        drawn = Drawn(figsize=(width * inch, scene.height * inch))
        FigureCanvasAgg(drawn)
        places = Affine2D().scale(inch, -inch).translate(0, scene.height * inch)
        pen = _Pen(drawn, sheet, places + drawn.dpi_scale_trans)
        for mark in scene.marks:
            pen.draw(mark, _INK)
        return {kind: _written(drawn, kind) for kind in FORMATS}


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


@dataclass(frozen=True)
class _Pen:
    """Renders marks; ``places`` takes px of the sheet to the figure."""

    drawn: Any
    sheet: Sheet
    places: Any

    def draw(self, mark: Mark, ink: str) -> None:
        """Adds the mark to the figure, in that colour unless it has one of its own."""
        from matplotlib.patches import Circle as Disc
        from matplotlib.patches import Rectangle
        from matplotlib.transforms import Affine2D

        match mark:
            case Group():
                for each in mark.marks:
                    self.draw(each, ink if mark.color is None else LIGHT[mark.color])
            case Text():
                self._text(mark, mark.ink or ink)
            case Path(fill=None):
                opacity = 1.0 if mark.opacity is None else mark.opacity
                edge = (ink, opacity), mark.width or 1.0
                self._shape(_path(mark.data), ("none", 1), *edge, dashes=mark.dashes)
            case Path():
                self._shape(_path(mark.data), (ink, mark.fill or 0.0))
            case Rect():
                corner = Rectangle((mark.x, mark.y), mark.width, mark.height)
                fill = (mark.fill, 1) if mark.fill else (ink, 0.16)
                outline = corner.get_patch_transform().transform_path(corner.get_path())
                self._shape(outline, fill, (ink, mark.edge or 0.0), 1.0 if mark.edge else 0.0)
            case Circle():
                disc = Disc((mark.x, mark.y), mark.radius)
                self._shape(disc.get_patch_transform().transform_path(disc.get_path()), (ink, 1))
            case Sign():
                moved = Affine2D().scale(mark.size).translate(mark.x, mark.y)
                outline = moved.transform_path(_sign(mark.number % len(SIGNS)))
                fill = (ink, 1 if mark.filled else 0.14)
                self._shape(outline, fill, (ink, 1), 0.0 if mark.filled else 1.2)

    def _shape(
        self,
        outline: Any,
        fill: tuple[str, float],
        edge: tuple[str, float] = ("none", 1),
        width: float = 0.0,
        dashes: str = "",
    ) -> None:
        from matplotlib.patches import PathPatch

        style = (0, [float(each) * _POINTS for each in dashes.split()]) if dashes else "-"
        self.drawn.add_artist(
            PathPatch(
                outline,
                facecolor=fill,
                edgecolor=edge,
                linewidth=width * _POINTS,
                linestyle=style,
                transform=self.places,
                clip_on=False,
            )
        )

    def _text(self, text: Text, ink: str) -> None:
        """The words, moved where they would leave the sheet on the left or right."""
        words = plain(text.words)
        if not words.strip() and not text.mark:
            return
        width = self.sheet.columns(words) * text.size / 2
        x = text.x
        if not text.turn:
            share = {"middle": 0.5, "end": 1.0}.get(text.anchor, 0.0)
            start = max(min(x - share * width, self.sheet.width - width), 0)
            x = start + share * width
        self.drawn.text(
            x,
            text.y,
            words,
            transform=self.places,
            size=text.size * _POINTS,
            color=ink,
            alpha=0.75 if text.name in MUTED else None,
            weight="bold" if text.name in BOLD else "normal",
            ha={"middle": "center", "end": "right"}.get(text.anchor, "left"),
            va="baseline",
            rotation=-text.turn,
            rotation_mode="anchor",
        )
        if text.mark:
            after = x + width + text.size / 3
            self._text(Text(after, text.y, text.mark, "plot-mark", size=text.size), ink)


@cache
def _path(data: str) -> Any:
    """SVG's path data (M, L, H, V, Z) as a path of Matplotlib's."""
    from matplotlib.path import Path as Outline

    points, codes = [(0.0, 0.0)], []
    for code, numbers in re.findall(r"([MLHVZ])([^MLHVZ]*)", data):
        values = [float(number) for number in numbers.split()]
        x, y = points[-1]
        points.append({"H": (*values, y), "V": (x, *values), "Z": (x, y)}.get(code, (*values,)))
        codes.append({"M": Outline.MOVETO, "Z": Outline.CLOSEPOLY}.get(code, Outline.LINETO))
    return Outline(points[1:], codes)


def _sign(number: int) -> Any:
    from matplotlib.path import Path as Outline

    return _path(SIGNS[number]) if number else Outline.unit_circle()


def _letter_width(families: tuple[str, ...]) -> Callable[[str], float]:
    """How many columns (half ems) a letter takes in the first of the fonts that has it."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font = get_font([findfont(FontProperties(family=[name])) for name in families])

    @cache
    def columns(letter: str) -> float:
        font.set_size(_MEASURED, 72)
        with _no_word_of_missing_letters():
            advance = font.load_char(ord(letter)).linearHoriAdvance / 65536
        return max(2 * advance / _MEASURED, letter_columns(letter) - 1)

    return columns


def _is_wide(figure: Figure) -> bool:
    texts = [figure.x, figure.y, *(value for row in figure.rows for value in row.values())]
    return any(
        letter_columns(letter) > 1 for text in texts if isinstance(text, str) for letter in text
    )


def _settings(families: tuple[str, ...]) -> dict[str, Any]:
    return {
        "font.family": list(families),
        "lines.scale_dashes": False,
        "text.usetex": False,
        "text.parse_math": False,
        # outlines as TrueType; the wide letters of most fonts are of another kind: as shapes
        "pdf.fonttype": 3 if len(families) > 1 else 42,
        "pdf.compression": 6,
        "svg.fonttype": "path",
        "svg.hashsalt": "earnest",
        "figure.dpi": 100,
        "savefig.facecolor": "white",
        "savefig.dpi": 300,
    }


def _written(drawn: Any, kind: str) -> bytes:
    buffer = io.BytesIO()
    drawn.savefig(buffer, format=kind, metadata=_NO_DATE[kind])
    return buffer.getvalue()


@contextmanager
def _no_word_of_missing_letters() -> Iterator[None]:
    """Letters that no font has are drawn as boxes; `has_fonts_for` says so beforehand."""
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # else a line for each step
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield
