"""The ratings table: its columns, types, checks and hash; read from a study or from CSV.

A table is a pandas frame with exactly the columns of ``COLUMNS``, one row per rating, traps
included. Rows are kept in a canonical order, so that the same ratings give the same numbers to the
last bit, in whatever order they arrived.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
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
    cells: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    known: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        absent = [name for name in COLUMNS if name not in row]
        if absent:
            raise RatingsError(
                [f"{source}, row {number}: no column {', '.join(absent)}; give every column"]
            )
        for name in COLUMNS:
            value = row[name]
            cells[name].append(known.setdefault(value, value) if type(value) is str else value)
    return _checked(cells, source, first_row=1)


def from_csv(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    constants: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """The table of a CSV file (UTF-8, a header row; gzip when the name ends in .gz).

    ``columns`` maps a column of the table to the file's name for it, ``constants`` gives one value
    to every row. Needed are rater, condition, score and one of item and stimulus; the rest may be
    absent.
    """
    raw = _read_csv(Path(path))
    wanted = {name: name for name in COLUMNS if name in raw} | dict(columns or {})
    constants = dict(constants or {})
    problems = _column_problems(Path(path).name, raw, wanted, constants)
    if problems:
        raise RatingsError(problems)
    length = len(next(iter(raw.values())))
    cells: dict[str, list[Any]] = {}
    for name in COLUMNS:
        if name in constants:
            cells[name] = [constants[name]] * length
        elif name in wanted:
            cells[name] = unescaped(raw[wanted[name]], name)
        else:
            cells[name] = [FALLBACK_TEXT.get(name, "")] * length
    if "session" not in wanted and "session" not in constants:
        cells["session"] = list(cells["rater"])
    for name, other in (("item", "stimulus"), ("stimulus", "item")):
        if name not in wanted and name not in constants:
            cells[name] = list(cells[other])
    return _checked(cells, Path(path).name, first_row=2)


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
    for line in sorted(_canonical_lines(table)):
        digest.update(b"\x1e" + line.encode())
    return digest.hexdigest()


def rated(table: pd.DataFrame) -> pd.DataFrame:
    """The rows that may enter an estimate: not a trap, and with a score."""
    return table[(table["trap"] == "") & table["score"].notna()]


def _read_csv(path: Path) -> dict[str, list[str]]:
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            return _columns_of(csv.reader(file), path.name)
    except FileNotFoundError:
        raise RatingsError([f"{path}: there is no such file; check the path"]) from None
    except UnicodeDecodeError:
        raise RatingsError([f"{path.name}: not UTF-8; save the file as CSV UTF-8"]) from None
    except (csv.Error, EOFError, OSError) as error:
        remedy = "save it again as CSV UTF-8"
        raise RatingsError([f"{path.name}: not a readable CSV file ({error}); {remedy}"]) from None


def _columns_of(reader: Iterator[list[str]], file: str) -> dict[str, list[str]]:
    header = next(reader, [])
    if not header:
        raise RatingsError([f"{file}: empty; the first row must name the columns"])
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise RatingsError([f"{file}, row 1: {', '.join(twice)} twice; name each column once"])
    columns: list[list[str]] = [[] for _ in header]
    known: dict[str, str] = {}
    for number, row in enumerate((row for row in reader if row), start=2):
        if len(row) != len(header):
            cells = f"{len(row)} cells where the header has {len(header)}"
            raise RatingsError([f"{file}, row {number}: {cells}; quote cells that hold a comma"])
        for column, text in zip(columns, row, strict=True):
            column.append(known.setdefault(text, text))
    return dict(zip(header, columns, strict=True))


def _column_problems(
    file: str,
    raw: Mapping[str, list[str]],
    wanted: Mapping[str, str],
    constants: Mapping[str, str],
) -> list[str]:
    problems = [
        f"{file}: {name} is no column of a ratings table; known are {', '.join(COLUMNS)}"
        for name in sorted({*wanted, *constants} - set(COLUMNS))
    ]
    problems += [
        f"{file}: no column {theirs} (wanted for {ours}); it has {', '.join(raw)}"
        for ours, theirs in wanted.items()
        if theirs not in raw
    ]
    have = {*wanted, *constants}
    for needed in (("rater",), ("condition",), ("score",), ("item", "stimulus")):
        if not have.intersection(needed):
            remedy = f"add it, or say which column holds it: --column {needed[0]}=NAME"
            problems.append(f"{file}: no column {' or '.join(needed)}; {remedy}")
    return problems


def _checked(cells: dict[str, list[Any]], source: str, first_row: int) -> pd.DataFrame:
    problems: list[str] = []
    typed = {}
    for name in COLUMNS:
        typed[name] = _typed(name, cells[name], f"{source}, row", first_row, problems)
    table = pd.DataFrame(typed, columns=list(COLUMNS))
    if not problems:
        problems = _row_problems(table, f"{source}, row", first_row)
    if problems:
        raise RatingsError(problems)
    return _in_canonical_order(table)


def _typed(
    name: str, values: list[Any], where: str, first_row: int, problems: list[str]
) -> pd.Series:
    read = reader_of(name)
    known: dict[Any, Any] = {}
    result: list[Any] = []
    for number, value in enumerate(values, start=first_row):
        if value not in known:
            try:
                known[value] = read(value)
            except ValueError as error:
                problems.append(f"{where} {number}, column {name}: {value!r} {error}")
                continue
        result.append(known[value])
    series: pd.Series = pd.Series(result, dtype=dtype_of(name))
    return series


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
    lines = _canonical_lines(table)
    positions = table["position"].fillna(-1).to_numpy(dtype=np.int64)
    tasks, sessions = table["task"].tolist(), table["session"].tolist()
    order = sorted(range(len(table)), key=lambda i: (tasks[i], sessions[i], positions[i], lines[i]))
    return table.iloc[order].reset_index(drop=True)


def _canonical_lines(table: pd.DataFrame) -> list[str]:
    columns = []
    for name in COLUMNS:
        plain = _plain_cells(table[name], name)
        known = {value: canonical_cell(value) for value in set(plain)}
        columns.append([known[value] for value in plain])
    return ["\x1f".join(cells) for cells in zip(*columns, strict=True)]


def _plain_cells(column: pd.Series, name: str) -> list[Any]:
    if name in INTEGERS:
        return [None if value is pd.NA else int(value) for value in column.array]
    if name in REALS:
        return [None if math.isnan(value) else value for value in column.tolist()]
    if name in TRUTHS:
        return [None if value is pd.NA else bool(value) for value in column.array]
    return column.tolist()
