"""HTML tables of a report, and how its numbers are written for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.report.pivot import Line

NOTHING = "–"


@dataclass(frozen=True)
class Column:
    """A column: its heading, the text of its cell for a row, and whether that is a number."""

    heading: str
    text: Callable[[Any], str]
    numeric: bool = False


def table(
    rows: Iterable[Any], columns: Sequence[Column], caption: str = "", scroll: bool = False
) -> str:
    """An HTML table whose first column heads its rows; all text is escaped here."""
    head = "".join(f'<th scope="col"{_class(c)}>{escape(c.heading)}</th>' for c in columns)
    body = "".join(f"<tr>{_cells(row, columns)}</tr>" for row in rows)
    told = f"<caption>{escape(caption)}</caption>" if caption else ""
    place = ' class="table-wrap table-scroll" tabindex="0"' if scroll else ' class="table-wrap"'
    return (
        f'<div{place}><table class="table-compact">{told}<thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def number(value: float | None, sign: bool = False) -> str:
    """Three decimals; a dash for no number."""
    if value is None:
        return NOTHING
    return f"{value:+.3f}".replace("-", "−") if sign else f"{value:.3f}".replace("-", "−")


def bounds(interval: Mapping[str, Any] | None) -> str:
    """An interval in brackets; words where there is none."""
    if interval is None:
        return NOTHING
    if interval["low"] is None:
        return "no interval"
    return f"[{number(interval['low'])}, {number(interval['high'])}]"


def probability(interval: Mapping[str, Any] | None, name: str) -> str:
    """A p value: three decimals, < 0.001 below, "undefined" where there is none."""
    value = interval.get(name) if interval else None
    if value is None:
        return "undefined"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def percent(line: Line | None) -> str:
    """A share in percent with its interval."""
    if line is None:
        return NOTHING
    share = f"{line.row['value'] * 100:.1f} %"
    main = line.main
    if main is None or main["low"] is None:
        return share
    return f"{share} [{max(main['low'], 0) * 100:.1f}, {min(main['high'], 1) * 100:.1f}]"


def _cells(row: Any, columns: Sequence[Column]) -> str:
    cells = []
    for place, column in enumerate(columns):
        text = escape(column.text(row))
        if place == 0:
            cells.append(f'<th scope="row">{text}</th>')
        else:
            cells.append(f"<td{_class(column)}>{text}</td>")
    return "".join(cells)


def _class(column: Column) -> str:
    return ' class="number"' if column.numeric else ""
