"""Columns of a table as codes and their different values, read fast from CSV and sorted fast."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from analysis.arrays import distinct_codes
from analysis.ratings.problems import RatingsError
from listening.common.parquet_tables import is_parquet, parquet_columns
from listening.common.spreadsheets import (
    SAMPLE_BYTES,
    Layout,
    TableError,
    clean_name,
    decoded,
    located,
    omitted_row_notes,
    raw_bytes,
    read_table,
)

BLOCK_BYTES = 16 * 1024**2
ROWS_AT_ONCE = 4_096


@dataclass(frozen=True)
class Categorical:
    """A column of n cells: for each the place of its value (n,) among the different values."""

    codes: NDArray[np.int32]
    values: list[Any]

    def __len__(self) -> int:
        return len(self.codes)

    def mapped(self, values: list[Any]) -> Categorical:
        """The same cells with other values, one for each that there is."""
        return Categorical(self.codes, values)

    def renamed(self, values: list[Any]) -> Categorical:
        """As `mapped`, where several of the values may be the same now."""
        known = {value: place for place, value in enumerate(dict.fromkeys(values))}
        places = np.array([known[value] for value in values], dtype=np.int32)
        return Categorical(places[self.codes] if len(places) else self.codes, list(known))

    def taken(self, rows: NDArray[Any]) -> Categorical:
        """Some of the cells: a mask (n,) or places (m,)."""
        return Categorical(self.codes[rows], self.values)

    def having(self, fits: Callable[[Any], bool]) -> NDArray[np.bool_]:
        """Which cells (n,) hold a value that fits."""
        wanted = np.array([fits(value) for value in self.values], dtype=bool)
        return wanted[self.codes] if len(wanted) else np.zeros(len(self), dtype=bool)

    def counts(self) -> NDArray[np.int64]:
        """How many cells hold each value."""
        return np.bincount(self.codes, minlength=len(self.values)).astype(np.int64)

    def used(self) -> list[Any]:
        """The values that a cell holds: of cells that were taken, others may be left over."""
        return [self.values[code] for code in np.flatnonzero(self.counts())]


def distinct_pairs(
    first: Categorical, second: Categorical
) -> tuple[list[tuple[Any, Any]], NDArray[np.int32]]:
    """The different pairs of values that stand side by side, and which each row has (n,)."""
    count = len(second.values)
    both, codes = distinct_codes(first.codes.astype(np.int64) * count + second.codes)
    places = (divmod(each, count) for each in both.tolist())
    return [(first.values[a], second.values[b]) for a, b in places], codes.astype(np.int32)


def constant(value: Any, length: int) -> Categorical:
    """The same value in every cell."""
    return Categorical(np.zeros(length, dtype=np.int32), [value])


def join_texts(columns: Sequence[Categorical]) -> Categorical:
    """Texts of several columns as one, the empty ones left out and a blank between the others."""
    whole = constant((), len(columns[0]))
    for column in columns:
        pairs, codes = distinct_pairs(whole, column)
        whole = Categorical(codes, [(*before, str(own)) for before, own in pairs])
    return whole.mapped([" ".join(filter(None, texts)) for texts in whole.values])


@dataclass(frozen=True)
class Columns:
    """The columns of a file by name, the number of each row (n,) in the file, and notes."""

    cells: dict[str, Categorical]
    numbers: NDArray[np.int64]
    notes: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """What is counted: a row, or a rating where rows of the file hold several."""
        return "row" if len(np.unique(self.numbers)) == len(self.numbers) else "rating"

    def taken(self, rows: NDArray[Any]) -> Columns:
        """The same columns with some of the rows: a mask (n,) or places (m,)."""
        cells = {name: column.taken(rows) for name, column in self.cells.items()}
        return Columns(cells, self.numbers[rows], self.notes)


def columns_of(path: Path, layout: Layout, encoding: str = "") -> Columns:
    """The columns of a CSV or Parquet file in the layout that its first rows have.

    Raises RatingsError with the rows and a remedy.
    """
    columns = _columns_of(path, layout, encoding)
    pa.default_memory_pool().release_unused()  # Arrow would keep what it read with, as much again
    return columns


def _columns_of(path: Path, layout: Layout, encoding: str) -> Columns:
    try:
        if is_parquet(path):
            columns = {
                name: Categorical(codes, texts) for name, codes, texts in parquet_columns(path)
            }
            return _rows_of_data(columns, [], layout.header_row)
        try:
            return _quickly(path, layout, encoding)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # the slow reader names the row
            text, note = decoded(raw_bytes(path), encoding)
            table = read_table(text, layout=layout)
            cells = categoricals(layout.names, table.rows)
            notes = [note] * bool(note) + [n for n in table.notes if n not in layout.notes()]
            return Columns(cells, np.asarray(table.numbers, dtype=np.int64), tuple(notes))
    except TableError as error:
        raise RatingsError([located(path.name, line) for line in error.problems]) from None


def _quickly(path: Path, layout: Layout, encoding: str) -> Columns:
    """As `columns_of`, by Arrow; raises ArrowInvalid where the file is not plain rows of UTF-8.

    A file that is not packed is never in memory as a whole.
    """
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    source: Any = io.BytesIO(raw_bytes(path)) if packed else path.open("rb")
    with source:
        quotes = sum(block.count(b'"') for block in iter(partial(source.read, BLOCK_BYTES), b""))
        source.seek(0)
        data = source.read(SAMPLE_BYTES)
        source.seek(0)
        return _by_arrow(source, data, quotes, layout, encoding)


def _by_arrow(source: Any, data: bytes, quotes: int, layout: Layout, encoding: str) -> Columns:
    """As `_quickly`; ``data`` are the first bytes, ``quotes`` those of the whole file."""
    if not layout.plain or layout.delimiter == " " or encoding or quotes % 2:
        raise pa.ArrowInvalid("laid out otherwise")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data:
        raise pa.ArrowInvalid("not UTF-8")
    lines = data.removeprefix(b"\xef\xbb\xbf").splitlines()
    if lines[int(layout.separator_line)].count(b'"') % 2:
        raise pa.ArrowInvalid("the header has several lines")
    width = max(layout.width, len(layout.names))
    places = [str(place) for place in range(width)]
    text = pa.dictionary(pa.int32(), pa.string())
    table = arrow_csv.read_csv(
        pa.PythonFile(source, mode="r"),
        read_options=arrow_csv.ReadOptions(
            block_size=BLOCK_BYTES, skip_rows=1 + layout.separator_line, column_names=places
        ),
        parse_options=arrow_csv.ParseOptions(
            delimiter=layout.delimiter, newlines_in_values=True, ignore_empty_lines=False
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(places, text), strings_can_be_null=False
        ),
    )
    columns = {}
    for place in places:
        column = table[place].unify_dictionaries()
        pieces = column.chunks
        codes = [piece.indices.to_numpy(zero_copy_only=False) for piece in pieces]
        values = pieces[0].dictionary.to_pylist() if pieces else []
        all_codes = np.concatenate(codes) if codes else np.zeros(0, dtype=np.int32)
        columns[place] = Categorical(all_codes.astype(np.int32, copy=False), values)
    several = [value for each in columns.values() for value in each.values if "\n" in value]
    if quotes and any(value.count(layout.delimiter) >= width - 1 for value in several):
        raise pa.ArrowInvalid("a quote may be open")  # a cell that holds rows
    named = {name: columns[str(n)] for n, name in enumerate(layout.names)}
    beyond = [columns[place] for place in places[len(layout.names) :]]
    return _rows_of_data(named, beyond, layout.header_row)


def _rows_of_data(
    named: dict[str, Categorical], beyond: list[Categorical], header_row: int
) -> Columns:
    """The columns without rows of empty cells and those that repeat the header, which are noted.

    Raises ArrowInvalid where cells stand beyond the last column, or a row names the columns in
    another order.
    """
    length = len(next(iter(named.values())))
    numbers = np.arange(length, dtype=np.int64) + header_row + 1
    if any(column.having(lambda text: bool(text.strip())).any() for column in beyond):
        raise pa.ArrowInvalid("cells beyond the last column")
    empty, header = np.ones(length, dtype=bool), np.ones(length, dtype=bool)
    names = set(named)
    for name, column in named.items():
        if empty.any():
            empty &= column.having(lambda text: not text.strip())
        if header.any():
            header &= column.having(partial(_is_called, name))
    first = next(iter(named.values())).having(lambda text: clean_name(text) in names)
    for row in np.flatnonzero(first & ~header) if len(names) > 1 else ():
        cells = {clean_name(column.values[column.codes[row]]) for column in named.values()}
        if cells == names:
            raise pa.ArrowInvalid("names in another order")
    notes = omitted_row_notes(numbers[empty].tolist(), numbers[header].tolist())
    columns = Columns(named, numbers, tuple(notes))
    return columns.taken(~(empty | header)) if (empty | header).any() else columns


def _is_called(name: str, text: str) -> bool:
    return clean_name(text) == name


def categoricals(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, Categorical]:
    """Columns of rows of cells, a cell for each name; values of another type are other values."""
    known: list[dict[tuple[type, Any], int]] = [{} for _ in names]
    codes: list[list[int]] = [[] for _ in names]
    rows = iter(rows)
    while batch := list(islice(rows, ROWS_AT_ONCE)):
        cells = zip(*batch, strict=True)
        for column, seen, values in zip(codes, known, cells, strict=True):
            typed = list(zip(map(type, values), values, strict=True))
            for value in dict.fromkeys(typed):
                seen.setdefault(value, len(seen))
            column.extend(map(seen.__getitem__, typed))
    return {
        name: Categorical(np.asarray(column, dtype=np.int32), [value for _, value in seen])
        for name, column, seen in zip(names, codes, known, strict=True)
    }


def lines_of(columns: Iterable[Categorical]) -> pa.Array:
    """The rows (n,) as text, their cells (text) joined by the unit separator."""
    separator = pa.scalar("\x1f", pa.large_string())
    return pc.binary_join_element_wise(*(arrow_text(each) for each in columns), separator)


def arrow_text(column: Categorical) -> pa.Array:
    """A column of texts as an Arrow array (large strings: over 2 GB of text is no harm)."""
    return pa.array(column.values, type=pa.large_string()).take(pa.array(column.codes))


def in_order(lines: pa.Array) -> list[str]:
    """The texts (n,) sorted by code point."""
    texts: list[str] = lines.take(pc.array_sort_indices(lines)).to_pylist()
    return texts


def order_of(keys: Mapping[str, Any]) -> NDArray[np.int64]:
    """The places (n,) of the rows sorted by the keys, the first key first; texts by code point."""
    table = pa.table(dict(keys))
    order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in keys])
    return np.asarray(order.to_numpy(), dtype=np.int64)
