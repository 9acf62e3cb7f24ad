"""For papers: a table of shaded cells, each with its number."""

from __future__ import annotations

from analysis.report.content import Figure
from analysis.report.figures.axis import known, number_text
from analysis.report.figures.heatmap import Grid, colour_of, grid_of
from analysis.report.figures.palette import ink_on, shade
from analysis.report.figures.svg import columns_of, shortened
from analysis.report.paper.paper_style import FAINT, Sheet, label

_CELL_IN = 0.19  # height
_SHADES = 40  # of the scale below; from 50 on matplotlib would make it pixels


def heatmap(sheet: Sheet, figure: Figure) -> None:
    """Draws the figure; cells without a value stay white."""
    from matplotlib.patches import Rectangle

    found = grid_of(figure)
    if found is None:
        sheet.say_nothing()
        return
    axes = sheet.axes
    room = (sheet.width * 0.72) / len(found.across) * 72  # points of a cell's width
    longest = max(columns_of(each) for each in found.words.values())
    size = min(6.5, room / max(longest, 1) / 0.62)
    for (row, column), cell in found.cells.items():
        x, y = found.across.index(column), found.down.index(row)
        value = known(cell.get("value"))
        ground = "#ffffff" if value is None else colour_of(value, found)
        edge = FAINT if value is None else "white"
        corner = (x - 0.5, y - 0.5)
        axes.add_patch(Rectangle(corner, 1, 1, facecolor=ground, edgecolor=edge, linewidth=0.5))
        if size >= 4:
            told = found.words[row, column]
            axes.text(x, y, told, size=size, color=ink_on(ground), ha="center", va="center")
    axes.set_xlim(-0.5, len(found.across) - 0.5)
    axes.set_ylim(len(found.down) - 0.5, -0.5)
    upright = all(columns_of(name) * 4.2 <= room for name in found.across)
    names = [shortened(name, 22) for name in found.across]
    turned = {} if upright else {"rotation": 45, "ha": "left", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(names)), names, **turned)
    axes.set_yticks(
        range(len(found.down)), [shortened(name, sheet.name_columns()) for name in found.down]
    )
    axes.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False, pad=2)
    axes.xaxis.set_label_position("top")
    axes.set_xlabel(label(figure.x, sheet.width * 0.7))
    axes.set_ylabel(label(figure.y, _CELL_IN * len(found.down) + 0.4))
    for spine in axes.spines.values():
        spine.set_visible(False)
    tall = 0 if upright else min(max(columns_of(name) for name in names), 22) * 0.045
    sheet.set_height(0.55 + 0.14 * bool(figure.x) + tall + _CELL_IN * len(found.down))
    _scale(sheet, found)


def _scale(sheet: Sheet, found: Grid) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    ends, signed = found.ends, found.signed
    colours = ListedColormap([shade(n / (_SHADES - 1), signed) for n in range(_SHADES)])
    bar = sheet.drawn.colorbar(
        ScalarMappable(Normalize(*ends), colours),
        ax=sheet.axes,
        orientation="horizontal",
        fraction=0.05,
        aspect=40,
        pad=0.02,
    )
    bar.outline.set_visible(False)
    ticks = [ends[0], (ends[0] + ends[1]) / 2, ends[1]]
    bar.set_ticks(ticks, labels=[number_text(tick, found.decimals) for tick in ticks])
    bar.ax.tick_params(length=2, labelsize=6)
