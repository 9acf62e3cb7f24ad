"""Columns of a table as codes and their different values, read fast from CSV and sorted fast."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from analysis.ratings.header import Header, header_of, opened, unreadable
from analysis.ratings.problems import RatingsError

BLOCK_BYTES = 16 * 1024**2


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


def paired(
    first: Categorical, second: Categorical
) -> tuple[list[tuple[Any, Any]], NDArray[np.int32]]:
    """The different pairs of values that stand side by side, and which each row has (n,)."""
    count = len(second.values)
    both, codes = np.unique(
        first.codes.astype(np.int64) * count + second.codes, return_inverse=True
    )
    places = (divmod(each, count) for each in both.tolist())
    return [(first.values[a], second.values[b]) for a, b in places], codes.astype(np.int32)


def constant(value: Any, length: int) -> Categorical:
    """The same value in every cell."""
    return Categorical(np.zeros(length, dtype=np.int32), [value])


def joined(columns: Sequence[Categorical]) -> Categorical:
    """Texts of several columns as one, the empty ones left out and a blank between the others."""
    whole = constant((), len(columns[0]))
    for column in columns:
        pairs, codes = paired(whole, column)
        whole = Categorical(codes, [(*before, str(own)) for before, own in pairs])
    return whole.mapped([" ".join(filter(None, texts)) for texts in whole.values])


def columns_of(path: Path, header: Header | None = None) -> dict[str, Categorical]:
    """The columns of a CSV file (UTF-8; gzip when it ends in .gz) by the names in its first row.

    Raises RatingsError with the row and a remedy.
    """
    header = header or header_of(path)
    try:
        return _quickly(path, header)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # the slow reader names the row
        try:
            with opened(path) as file:
                reader = csv.reader(file, delimiter=header.delimiter)
                return categoricals(header.names, _rows(reader, header, path.name))
        except (csv.Error, UnicodeDecodeError) as error:
            raise unreadable(path, error) from None
    except (EOFError, OSError) as error:
        raise unreadable(path, error) from None


def _quickly(path: Path, header: Header) -> dict[str, Categorical]:
    text = pa.dictionary(pa.int32(), pa.string())
    table = arrow_csv.read_csv(
        path,
        read_options=arrow_csv.ReadOptions(block_size=BLOCK_BYTES),
        parse_options=arrow_csv.ParseOptions(delimiter=header.delimiter, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(header.names, text), strings_can_be_null=False
        ),
    )
    if table.column_names != list(header.names):
        raise pa.ArrowInvalid("the header is read otherwise")
    columns = {}
    for name in header.names:
        column = table[name].unify_dictionaries().combine_chunks()
        pieces = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        codes = [piece.indices.to_numpy(zero_copy_only=False) for piece in pieces]
        values = pieces[0].dictionary.to_pylist() if pieces else []
        all_codes = np.concatenate(codes) if codes else np.zeros(0, dtype=np.int32)
        columns[name] = Categorical(all_codes.astype(np.int32, copy=False), values)
    return columns


def _rows(reader: Iterator[list[str]], header: Header, file: str) -> Iterator[list[str]]:
    """The rows below the header; raises RatingsError where one has more or fewer cells."""
    next(reader, None)
    for number, row in enumerate((row for row in reader if row), start=2):
        if len(row) != len(header.names):
            cells = f"{len(row)} cells where the header has {len(header.names)}"
            mark = {",": "a comma", ";": "a semicolon", "\t": "a tab"}[header.delimiter]
            remedy = f"quote cells that hold {mark}"
            raise RatingsError([f"{file}, row {number}: {cells}; {remedy}"])
        yield row


def categoricals(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, Categorical]:
    """Columns of rows of cells, a cell for each name; values of another type are other values."""
    known: list[dict[tuple[type, Any], int]] = [{} for _ in names]
    codes: list[list[int]] = [[] for _ in names]
    for row in rows:
        for column, seen, value in zip(codes, known, row, strict=True):
            column.append(seen.setdefault((type(value), value), len(seen)))
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
