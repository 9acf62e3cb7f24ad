"""What all drawings for papers share: the sheet, letters, colours, signs and axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from analysis.report.content import Figure
from analysis.report.figures.axis import nice_ticks
from analysis.report.figures.palette import LIGHT
from analysis.report.figures.svg import columns_of, shortened

MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
GREY, FAINT = "#3d4247", "#d9dadb"
NAME_COLUMNS = 30
_CJK = ("Noto Sans CJK SC", "Source Han Sans SC", "WenQuanYi Zen Hei", "SimHei", "PingFang SC")


@dataclass(frozen=True)
class Sheet:
    """A matplotlib figure with its axes, and how high it is to be."""

    drawn: Any
    axes: Any

    def set_height(self, inches: float) -> None:
        """The height of the whole figure."""
        self.drawn.set_size_inches(self.drawn.get_figwidth(), inches)

    @property
    def width(self) -> float:
        """The width in inches."""
        return float(self.drawn.get_figwidth())

    def name_columns(self) -> int:
        """How many columns of text a name on the left may take: about a third of the width."""
        return round(NAME_COLUMNS * min(self.width / 3.35, 1.6) * 0.75)

    def say_nothing(self) -> None:
        """An empty figure that says so."""
        self.set_height(0.6)
        self.axes.axis("off")
        self.axes.text(0.5, 0.5, "Nothing to show", ha="center", va="center")


def settings(wide_letters: bool = False) -> dict[str, Any]:
    """Matplotlib's settings; ``wide_letters`` where there is Chinese, Japanese or Korean."""
    found = fonts(wide_letters)
    return {
        "font.family": list(found),
        "font.size": 7,
        "axes.labelsize": 7,
        "xtick.labelsize": 6.5,
        "ytick.labelsize": 6.5,
        "legend.fontsize": 6.5,
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": GREY,
        "axes.unicode_minus": True,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "lines.linewidth": 1.1,
        "legend.frameon": False,
        "text.usetex": False,
        "text.parse_math": False,
        # outlines as TrueType; the wide letters of most fonts are of another kind: as shapes
        "pdf.fonttype": 3 if len(found) > 1 else 42,
        "pdf.compression": 6,
        "svg.fonttype": "path",
        "svg.hashsalt": "earnest",
        "figure.dpi": 100,
        "savefig.facecolor": "white",
    }


@cache
def fonts(wide_letters: bool) -> tuple[str, ...]:
    """Matplotlib's own font, and one with wide letters if wanted and there is one."""
    if not wide_letters:
        return ("DejaVu Sans",)
    from matplotlib import font_manager

    known = {entry.name for entry in font_manager.fontManager.ttflist}
    similar = sorted(name for name in known if "CJK" in name and "Sans" in name)
    return ("DejaVu Sans", *[name for name in (*_CJK, *similar) if name in known][:1])


def colour(number: int) -> str:
    """The colour of the series with that number, from 0."""
    return LIGHT[number % len(LIGHT)]


def dash(number: int) -> Any:
    """Its dashes: another kind whenever colours repeat."""
    return DASHES[(number + number // len(LIGHT)) % len(DASHES)]


def marker(number: int) -> str:
    """Its sign."""
    return MARKERS[number % len(MARKERS)]


def set_span(axes: Any, figure: Figure, edges: Sequence[float], across: bool) -> None:
    """Ticks and limits of the axis of values: the scale's ends, or round numbers around all."""
    known = [*(figure.ends or edges)]
    if not known:
        return
    if figure.ends is None:
        known += figure.at
    ticks = nice_ticks(min(known), max(known))
    set_ticks, set_limits = (
        (axes.set_xticks, axes.set_xlim) if across else (axes.set_yticks, axes.set_ylim)
    )
    set_ticks(ticks)
    room = (ticks[-1] - ticks[0]) * 0.02
    set_limits(ticks[0] - room, ticks[-1] + room)
    for value in figure.at:
        line = axes.axvline if across else axes.axhline
        line(value, color=GREY, linewidth=0.6, linestyle=(0, (3, 3)), zorder=0)


def set_names(sheet: Sheet, names: Sequence[str], places: Sequence[float]) -> float:
    """Names down the left side, the first on top; how much higher lines of two rows make them."""
    axes, room = sheet.axes, sheet.name_columns()
    shown = [in_two_rows(name, room) for name in names]
    axes.set_yticks(list(places), shown)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(max(places) + 0.6, min(places) - 0.6)
    axes.grid(axis="x", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines["left"].set_visible(False)
    return 1.5 if any("\n" in name for name in shown) else 1.0


def in_two_rows(name: str, room: int) -> str:
    """The name in at most two rows of that many columns, broken at a space where there is one."""
    if columns_of(name) <= room:
        return name
    first = shortened(name, room + 1).rstrip("…")
    broken = first.rpartition(" ")[0] if " " in first else first
    if columns_of(broken) < room // 3:
        broken = first
    return f"{broken}\n{shortened(name[len(broken) :].strip(), room)}"


def label(words: str, width_in: float) -> str:
    """The words of an axis, cut to the width."""
    return shortened(words, round(width_in * 17))


def set_legend(sheet: Sheet, columns: int = 2) -> None:
    """The legend above the axes."""
    handles, names = sheet.axes.get_legend_handles_labels()
    if not handles:
        return
    room = round(sheet.width * 19 / columns) - 5
    order = [n for start in range(columns) for n in range(start, len(names), columns)]
    handles, names = [handles[n] for n in order], [names[n] for n in order]  # read row by row
    sheet.drawn.legend(
        handles,
        [shortened(name, room) for name in names],
        loc="outside upper left",
        ncols=columns,
        handlelength=2.4,
        columnspacing=1.0,
        borderaxespad=0.1,
    )
