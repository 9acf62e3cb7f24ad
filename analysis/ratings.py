"""The ratings table: its columns, types, checks and hash; read from a study or from CSV.

A table is a pandas frame with exactly the columns of ``COLUMNS``, one row per rating, traps
included. Rows are kept in a canonical order, so that the same ratings give the same numbers to the
last bit, in whatever order they arrived.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.cells import (
    COLUMNS,
    INTEGERS,
    REALS,
    TRUTHS,
    canonical_cell,
    csv_lines,
    dtype_of,
    reader_of,
    unescaped,
)
from analysis.coded import (
    Coded,
    FileProblem,
    arrow_text,
    columns_of,
    constant,
    in_order,
    joined,
    lines_of,
    order_of,
)

__all__ = [
    "COLUMNS",
    "RatingsError",
    "from_csv",
    "from_rows",
    "from_study",
    "rated",
    "table_hash",
    "to_csv",
    "to_rows",
]
HLS_SCORES = (0.0, 0.5, 1.0)
MOST_PROBLEMS_TOLD = 20
TRAINING = "training"  # stands in the column trap for training trials, which may pass nothing
FALLBACK_TEXT = {"task": "task", "method": "mos", "estimand": "mos"}


class RatingsError(ValueError):
    """What is wrong with a set of ratings: every problem with its row, column and remedy."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        told = problems[:MOST_PROBLEMS_TOLD]
        if len(problems) > len(told):
            told = [*told, f"... and {len(problems) - len(told)} more"]
        super().__init__("\n".join(told))


def from_rows(rows: Iterable[Mapping[str, Any]], *, source: str = "ratings") -> pd.DataFrame:
    """The table of plain rows (RatingRow); raises RatingsError with all that is wrong."""
    known: list[dict[tuple[type, Any], int]] = [{} for _ in COLUMNS]
    codes: list[list[int]] = [[] for _ in COLUMNS]
    for number, row in enumerate(rows, start=1):
        absent = [name for name in COLUMNS if name not in row]
        if absent:
            raise RatingsError(
                [f"{source}, row {number}: no column {', '.join(absent)}; give every column"]
            )
        for name, seen, places in zip(COLUMNS, known, codes, strict=True):
            value = row[name]
            places.append(seen.setdefault((type(value), value), len(seen)))
    cells = {
        name: Coded(np.asarray(places, dtype=np.int32), [value for _, value in seen])
        for name, seen, places in zip(COLUMNS, known, codes, strict=True)
    }
    return _checked(cells, source, first_row=1)


def from_csv(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    constants: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """The table of a CSV file (UTF-8, a header row; gzip when the name ends in .gz).

    ``columns`` maps a column of the table to the file's name for it, ``constants`` gives one value
    to every row. Needed are rater, condition, score and one of item and stimulus; the rest may be
    absent: without stimuli, a stimulus is an item of a condition (and voice).
    """
    try:
        raw = columns_of(Path(path))
    except FileProblem as problem:
        raise RatingsError([str(problem)]) from None
    wanted = {name: name for name in COLUMNS if name in raw} | dict(columns or {})
    constants = dict(constants or {})
    problems = _column_problems(Path(path).name, list(raw), wanted, constants)
    if problems:
        raise RatingsError(problems)
    length = len(next(iter(raw.values())))
    cells: dict[str, Coded] = {}
    for name in COLUMNS:
        if name in constants:
            cells[name] = constant(constants[name], length)
        elif name in wanted:
            given = raw[wanted[name]]
            cells[name] = given.mapped(unescaped(given.values, name))
        else:
            cells[name] = constant(FALLBACK_TEXT.get(name, ""), length)
    for name in ("session", "item", "stimulus", "versus_stimulus"):
        if name not in wanted and name not in constants:
            cells[name] = _stand_in(name, cells)
    return _checked(cells, Path(path).name, first_row=2)


def _stand_in(name: str, cells: Mapping[str, Coded]) -> Coded:
    """What stands for a column that a file does not have: a clip is a text by a condition."""
    if name == "session":
        return cells["rater"]
    if name == "item":
        return cells["stimulus"]
    if name == "stimulus":
        return joined([cells["condition"], cells["voice"], cells["item"]])
    of = cells["versus_condition"]
    compared = np.array([bool(name) for name in of.values], dtype=bool)[of.codes]
    clips = joined([of, cells["item"]])
    places = np.where(compared, clips.codes, len(clips.values)).astype(np.int32)
    return Coded(places, [*clips.values, ""])


def from_study(slug: str) -> pd.DataFrame:
    """The table of a study of this installation, traps included."""
    from listening.selectors import rating_rows

    return from_rows(rating_rows(slug), source=f"study {slug}")


def to_rows(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The table's rows as plain values (RatingRow), in the table's order."""
    columns = [_plain_cells(table[name], name) for name in COLUMNS]
    for values in zip(*columns, strict=True):
        yield dict(zip(COLUMNS, values, strict=True))


def to_csv(table: pd.DataFrame, path: str | Path) -> None:
    """Write the table so that `from_csv` reads it back with the same hash."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        file.writelines(csv_lines(to_rows(table)))


def table_hash(table: pd.DataFrame) -> str:
    """SHA-256 (hex) of the table's canonical form: the same for the same ratings in any order."""
    digest = hashlib.sha256("\x1f".join(COLUMNS).encode())
    lines = _canonical_lines(table)
    for line in in_order(lines):
        digest.update(b"\x1e" + line.encode())
    return digest.hexdigest()


def rated(table: pd.DataFrame) -> pd.DataFrame:
    """The rows that may enter an estimate: not a trap, and with a score."""
    return table[(table["trap"] == "") & table["score"].notna()]


def _column_problems(
    file: str,
    there: Sequence[str],
    wanted: Mapping[str, str],
    constants: Mapping[str, str],
) -> list[str]:
    problems = [
        f"{file}: {name} is no column of a ratings table; known are {', '.join(COLUMNS)}"
        for name in sorted({*wanted, *constants} - set(COLUMNS))
    ]
    problems += [
        f"{file}: no column {theirs} (wanted for {ours}); it has {', '.join(there)}"
        for ours, theirs in wanted.items()
        if theirs not in there
    ]
    have = {*wanted, *constants}
    for needed in (("rater",), ("condition",), ("score",), ("item", "stimulus")):
        if not have.intersection(needed):
            remedy = f"add it, or say which column holds it: --column {needed[0]}=NAME"
            problems.append(f"{file}: no column {' or '.join(needed)}; {remedy}")
    return problems


def _checked(cells: Mapping[str, Coded], source: str, first_row: int) -> pd.DataFrame:
    problems: list[str] = []
    typed = {}
    for name in COLUMNS:
        typed[name] = _typed(name, cells[name], f"{source}, row", first_row, problems)
    table = pd.DataFrame(typed, columns=list(COLUMNS))
    told = {problem.partition(":")[0] for problem in problems}  # row and column
    more = _row_problems(table, f"{source}, row", first_row)
    problems += [problem for problem in more if problem.partition(":")[0] not in told]
    if problems:
        raise RatingsError(problems)
    return _in_canonical_order(table)


def _typed(name: str, cells: Coded, where: str, first_row: int, problems: list[str]) -> pd.Series:
    read = reader_of(name)
    values: list[Any] = []
    for code, value in enumerate(cells.values):
        try:
            values.append(read(value))
        except ValueError as error:
            values.append(read(None))
            problems += [
                f"{where} {first_row + int(row)}, column {name}: {value!r} {error}"
                for row in np.flatnonzero(cells.codes == code)
            ]
    different: pd.Series = pd.Series(values, dtype=dtype_of(name))
    return different.take(cells.codes).reset_index(drop=True)


def _row_problems(table: pd.DataFrame, where: str, first_row: int) -> list[str]:
    trap = table["trap"] != ""
    wrong = [
        (table["rater"] == "", "rater", "is empty; every rating needs its rater's code"),
        (~trap & (table["condition"] == ""), "condition", "is empty; name what was rated"),
        (
            ~trap & (table["item"] == "") & (table["stimulus"] == ""),
            "item",
            "and stimulus are empty; name the item or the stimulus",
        ),
        (
            trap & (table["trap"] != TRAINING) & table["trap_passed"].isna(),
            "trap_passed",
            "is empty; a trap's row says true or false",
        ),
        (
            (table["estimand"] == "hls")
            & ~trap
            & table["score"].notna()
            & ~table["score"].isin(HLS_SCORES),
            "score",
            "must be 0, 0.5 or 1 for the estimand hls; turn labels into those scores",
        ),
        (table["heard_fraction"] < 0, "heard_fraction", "is negative; write 0 to 1"),
    ]
    problems = []
    for mask, column, remedy in wrong:
        at = np.flatnonzero(mask.to_numpy(dtype=bool))
        problems += [f"{where} {first_row + int(i)}, column {column}: {remedy}" for i in at]
    return problems


def _in_canonical_order(table: pd.DataFrame) -> pd.DataFrame:
    keys = {
        "task": arrow_text(_canonical(table, "task")),
        "session": arrow_text(_canonical(table, "session")),
        "position": table["position"].fillna(-1).to_numpy(dtype=np.int64),
        "line": _canonical_lines(table),
    }
    return table.take(order_of(keys)).reset_index(drop=True)


def _canonical_lines(table: pd.DataFrame) -> Any:
    """The rows (n,) as one text each: equal rows have equal texts."""
    return lines_of(_canonical(table, name) for name in COLUMNS)


def _canonical(table: pd.DataFrame, name: str) -> Coded:
    codes, values = pd.factorize(table[name], use_na_sentinel=False)
    plain = _plain_cells(pd.Series(values, dtype=dtype_of(name)), name)
    return Coded(codes.astype(np.int32), [canonical_cell(value) for value in plain])


def _plain_cells(column: pd.Series, name: str) -> list[Any]:
    if name in INTEGERS:
        return [None if value is pd.NA else int(value) for value in column.array]
    if name in REALS:
        return [None if math.isnan(value) else value for value in column.tolist()]
    if name in TRUTHS:
        return [None if value is pd.NA else bool(value) for value in column.array]
    return column.tolist()
