"""A figure drawn by matplotlib and written as PDF, SVG and PNG, always the same bytes."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from analysis.report.content import Figure
from analysis.report.figures.svg import columns_of
from analysis.report.paper.paper_boxes import boxes
from analysis.report.paper.paper_heatmap import heatmap
from analysis.report.paper.paper_intervals import intervals
from analysis.report.paper.paper_lines import lines
from analysis.report.paper.paper_scatter import scatter
from analysis.report.paper.paper_shares import shares
from analysis.report.paper.paper_style import Sheet, fonts, settings

SINGLE, DOUBLE = 3.35, 7.0  # inches: one column and two
FORMATS = ("pdf", "svg", "png")
DPI = 300
_NO_DATE: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
    "png": {"Software": None},
}
_DRAWINGS: dict[str, Callable[[Sheet, Figure], None]] = {
    "intervals": intervals,
    "scatter": scatter,
    "lines": lines,
    "heatmap": heatmap,
    "shares": shares,
    "boxes": boxes,
}


def paper_files(figure: Figure, width_in: float | None = None) -> dict[str, bytes]:
    """The figure as files by their format (pdf, svg, png); the title is left for the caption.

    ``width_in`` is `SINGLE` or `DOUBLE` or any other width in inches; None takes what fits. Raises
    KeyError for a drawing that is not known.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Drawn

    figure = _cleaned(figure)
    wide = any(columns_of(words) > len(words) for words in _texts(figure))
    with matplotlib.rc_context(settings(wide)), _no_word_of_missing_letters():
        drawn = Drawn(figsize=(width_in or width_for(figure), 2.5), layout="constrained")
        FigureCanvasAgg(drawn)
        sheet = Sheet(drawn, drawn.add_subplot())
        if figure.rows:
            _DRAWINGS[figure.drawing](sheet, figure)
        else:
            sheet.say_nothing()
        drawn.draw_without_rendering()
        drawn.set_layout_engine("none")  # places stay for all three
        return {kind: _written(drawn, kind) for kind in FORMATS}


def width_for(figure: Figure) -> float:
    """One column, or two where a heatmap has more cells side by side than one column holds."""
    across = len({str(row["column"]) for row in figure.rows}) if figure.drawing == "heatmap" else 0
    return DOUBLE if across > 8 else SINGLE


def has_fonts_for(figure: Figure) -> bool:
    """Whether this machine has letters for all names (Chinese ones need a font of their own)."""
    wide = any(columns_of(words) > len(words) for words in _texts(figure))
    return not wide or len(fonts(True)) > 1


def _cleaned(figure: Figure) -> Figure:
    """The figure without control characters, for which no font has letters."""

    def clean(value: Any) -> Any:
        return "".join(c if c >= " " else " " for c in value) if isinstance(value, str) else value

    rows = [{key: clean(value) for key, value in row.items()} for row in figure.rows]
    return replace(figure, rows=rows, x=clean(figure.x), y=clean(figure.y))


def _texts(figure: Figure) -> Iterator[str]:
    yield from (figure.x, figure.y)
    for row in figure.rows:
        yield from (value for value in row.values() if isinstance(value, str))


def _written(drawn: Any, kind: str) -> bytes:
    buffer = io.BytesIO()
    drawn.savefig(buffer, format=kind, dpi=DPI, metadata=_NO_DATE[kind])
    return buffer.getvalue()


@contextmanager
def _no_word_of_missing_letters() -> Iterator[None]:
    """Letters that no font has are drawn as boxes; `has_fonts_for` says so beforehand."""
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # else a line for each step
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        warnings.filterwarnings("ignore", message="constrained_layout not applied")
        yield
