"""Wide rows as one row for each answer, and conditions out of the names of clips."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from analysis.ratings.categorical import Categorical, Columns, constant
from analysis.ratings.cells import trap_kind
from analysis.ratings.header import ColumnMapping, Trap
from analysis.ratings.problems import RatingsError, some
from listening.common.spreadsheets import clean_name, strict_number


def long_columns(raw: Columns, mapping: ColumnMapping) -> tuple[Columns, ColumnMapping]:
    """The columns with a row for each answer that is not empty, and the mapping that fits them.

    What an answer gives stands in columns of the names that the ratings table has.
    """
    wide = mapping.wide
    assert wide is not None
    length = len(raw.numbers)
    ours = sorted({name for answer in wide.answers for name in (*answer.theirs, *answer.constants)})
    parts: dict[str, list[Categorical]] = {name: [] for name in ours}
    for answer in wide.answers:
        for name in ours:
            if name in answer.theirs:
                parts[name].append(raw.cells[answer.theirs[name]])
            else:
                parts[name].append(constant(answer.constants.get(name, ""), length))
    repeated = np.tile(np.arange(length), len(wide.answers))
    rest = {name: each for name, each in raw.cells.items() if name not in wide.used}
    cells = {name: each.taken(repeated) for name, each in rest.items()}
    cells |= {name: _stacked(columns) for name, columns in parts.items()}
    for trap in wide.traps:
        cells |= _trapped(cells, trap, raw.cells, repeated)
    there = np.lexsort((np.arange(len(repeated)), repeated))  # as in the file, row by row
    there = there[~cells["score"].having(lambda cell: not str(cell).strip())[there]]
    made = Columns(cells, raw.numbers[repeated], raw.notes).taken(there)
    taken = [name for name in ("trap", "trap_passed") if name in cells]
    theirs = {**mapping.theirs, **{name: name for name in (*ours, *taken)}}
    return made, replace(mapping, theirs=theirs, wide=None)


def _stacked(columns: list[Categorical]) -> Categorical:
    """Columns of cells one below the other."""
    values = list(dict.fromkeys(str(value) for each in columns for value in each.values))
    places = {value: place for place, value in enumerate(values)}
    codes = [
        np.array([places[str(value)] for value in each.values], dtype=np.int32)[each.codes]
        for each in columns
    ]
    return Categorical(np.concatenate(codes), values)


def _trapped(
    cells: Mapping[str, Categorical],
    trap: Trap,
    wide: Mapping[str, Categorical],
    repeated: np.ndarray,
) -> dict[str, Categorical]:
    """The columns trap and trap_passed where an answer is about the clip of a trap."""
    clip, expected = (wide[name].taken(repeated) for name in (trap.stimulus, trap.expected))
    clips = [_text(cells["stimulus"], row) for row in range(len(repeated))]
    hit = [bool(name) and name == _text(clip, row) for row, name in enumerate(clips)]
    kinds, passed = [], []
    for row, is_trap in enumerate(hit):
        before = _text(cells["trap"], row) if "trap" in cells else ""
        kinds.append(trap.kind if is_trap else before)
        right = _text(cells["trap_passed"], row) if "trap_passed" in cells else ""
        if is_trap:
            given, wanted = (
                strict_number(_text(cells["score"], row)),
                strict_number(_text(expected, row)),
            )
            right = ""
            if given is not None and wanted is not None:
                right = str(abs(given - wanted) <= trap.within).lower()
        passed.append(right)
    return {"trap": _column(kinds), "trap_passed": _column(passed)}


def _text(column: Categorical, row: int) -> str:
    return str(column.values[column.codes[row]]).strip()


def _column(texts: list[str]) -> Categorical:
    values = list(dict.fromkeys(texts))
    places = {value: place for place, value in enumerate(values)}
    return Categorical(np.array([places[text] for text in texts], dtype=np.int32), values)


def conditions_of_names(cells: Mapping[str, Categorical], pattern: str) -> dict[str, Categorical]:
    """The columns condition (and item) that a pattern finds in the names of stimuli.

    The group ``item`` is the item; all other groups are the condition, joined by hyphens.
    Raises RatingsError where the pattern does not fit.
    """
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise RatingsError([f"--condition-pattern {pattern}: no pattern ({error})"]) from None
    if not set(range(1, expression.groups + 1)) - set(expression.groupindex.values()) and not (
        set(expression.groupindex) - {"item"}
    ):
        raise RatingsError([f"--condition-pattern {pattern}: put the condition in ( )"])
    rated = ~cells["trap"].having(lambda value: bool(trap_kind(value)))
    asked = np.bincount(cells["stimulus"].codes[rated], minlength=len(cells["stimulus"].values))
    names = [str(v) if n else "" for v, n in zip(cells["stimulus"].values, asked, strict=True)]
    found = [expression.search(name) for name in names]
    odd = [name for name, match in zip(names, found, strict=True) if match is None and name]
    if odd:
        raise RatingsError([f"--condition-pattern {pattern}: does not fit {some(odd)}"])
    item = expression.groupindex.get("item", 0)
    conditions = [
        "-".join(
            group for place, group in enumerate(match.groups(), start=1) if group and place != item
        )
        if match
        else ""
        for match in found
    ]
    made = {"condition": cells["stimulus"].renamed([clean_name(each) for each in conditions])}
    if item:
        items = [clean_name(match[item] or "") if match else name for match, name in
                 zip(found, map(str, cells["stimulus"].values), strict=True)]  # fmt: skip
        made["item"] = cells["stimulus"].renamed(items)
    return made
