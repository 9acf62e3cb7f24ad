"""The best and the second best of a column: marked once, bold and underlined by every writer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

BEST, SECOND = "best", "second"
UNRANKED = "unranked"  # a row that has this key, and something true there, is neither
LEGEND = "Bold: the best of its column; underlined: the second best; equal numbers share a mark."


class Emphasised(str):
    """A cell's text with its mark, `BEST` or `SECOND`; else a text like any other."""

    mark: str

    @classmethod
    def with_mark(cls, text: str, mark: str) -> str:
        """The text with the mark; the bare text where the mark is none of the two."""
        if mark not in (BEST, SECOND):
            return text
        emphasised = cls(text)
        emphasised.mark = mark
        return emphasised


def marks_of(values: Mapping[Any, float], lowest: bool = False) -> dict[Any, str]:
    """The best and the second best of values by their names; equal ones share a place."""
    distinct = sorted(set(values.values()), reverse=not lowest)[:2]
    places = dict(zip(distinct, (BEST, SECOND), strict=False))
    return {name: places[value] for name, value in values.items() if value in places}


def with_best(
    rows: Iterable[Mapping[str, Any]],
    keys: Sequence[str],
    *,
    decimals: int = 3,
    lowest: Collection[str] = (),
) -> list[dict[str, Any]]:
    """The rows with ``KEY_mark`` beside the best and second best number of each of the columns.

    Numbers that are equal as printed, with ``decimals``, share a mark. Of the columns ``lowest``
    the lowest is best. A single number is not marked: it is best of nothing. The writers
    (`part_html.cell`) read the marks, the CSV holds them; say `LEGEND` in the table's note.
    """
    marked = [dict(row) for row in rows]
    for key in keys:
        values = {
            place: round(row[key], decimals)
            for place, row in enumerate(marked)
            if row.get(key) is not None and not row.get(UNRANKED)
        }
        marks = marks_of(values, key in lowest) if len(values) > 1 else {}
        for place, mark in marks.items():
            marked[place][f"{key}_mark"] = mark
    return marked
