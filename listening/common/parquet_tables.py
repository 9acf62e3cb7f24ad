"""Tables in Parquet files, read as the text that a CSV file of the same table would hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from listening.common.input_limits import FOREIGN_COLUMNS
from listening.common.spreadsheets import (
    PARQUET,
    SAMPLE_SHOWN,
    ForeignTable,
    Layout,
    TableError,
    clean_name,
    some,
)

if TYPE_CHECKING:
    import pyarrow.parquet as pq


def is_parquet(path: Path) -> bool:
    """Whether a file begins as Parquet files do; False where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(PARQUET)) == PARQUET
    except OSError:
        return False


def parquet_layout(path: Path) -> Layout:
    """The columns of a Parquet file and its first rows; TableError where they are no cells."""
    return _layout(_opened(path))


def parquet_columns(path: Path) -> Iterator[tuple[str, NDArray[np.int32], list[str]]]:
    """The name of each column, the code of each cell (n,), and the texts behind the codes.

    One column is in memory at a time. Raises TableError.
    """
    file = _opened(path)
    for name, stored in zip(_layout(file).names, file.schema_arrow.names, strict=True):
        yield name, *_coded(file.read(columns=[stored]).column(0))


def parquet_table(path: Path) -> ForeignTable:
    """The rows of a Parquet file, numbered as those of a CSV file; TableError."""
    layout = parquet_layout(path)
    cells = [
        np.array(texts, dtype=object)[codes].tolist() if texts else []
        for _, codes, texts in parquet_columns(path)
    ]
    rows = [list(row) for row in zip(*cells, strict=True)]
    return ForeignTable(layout, list(range(2, len(rows) + 2)), rows)


def _opened(path: Path) -> pq.ParquetFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        text = [each.name for each in file.schema_arrow if pa.types.is_string(each.type)]
        return pq.ParquetFile(path, read_dictionary=text)
    except (OSError, pa.ArrowException) as error:
        raise TableError(f"not a readable Parquet file ({error}); write it again") from None


def _layout(file: pq.ParquetFile) -> Layout:
    import pyarrow as pa

    fields = list(file.schema_arrow)
    if not fields:
        raise TableError("a Parquet file without columns; write one that has some")
    if len(fields) > FOREIGN_COLUMNS:
        raise TableError(f"{len(fields):,} columns, and {FOREIGN_COLUMNS:,} are allowed")
    nested = [each.name for each in fields if pa.types.is_nested(each.type)]
    if nested:
        raise TableError(f"column {some(nested)} holds lists or records; write one value per cell")
    names = [clean_name(each.name) or f"column {n}" for n, each in enumerate(fields, start=1)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise TableError(f"{some(twice)} twice; name each column once")
    first = next(file.iter_batches(batch_size=SAMPLE_SHOWN), None)
    cells = [] if first is None else [_texts(column) for column in first.columns]
    sample = tuple(zip(*cells, strict=True))
    width = len(names)
    return Layout(",", tuple(names), tuple(range(width)), width=width, sample=sample)


def _texts(column: Any) -> tuple[str, ...]:
    import pyarrow as pa

    codes, texts = _coded(pa.chunked_array([column]))
    return tuple(texts[code] for code in codes)


def _coded(column: Any) -> tuple[NDArray[np.int32], list[str]]:
    """Codes (n,) and texts of a chunked array; what is null is an empty text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    column = column.unify_dictionaries()
    texts: list[str] = []
    pieces = []
    for chunk in column.chunks:
        texts = texts or _written(chunk.dictionary)
        pieces.append(chunk.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False))
    codes = np.concatenate([np.zeros(0, np.int32), *pieces]).astype(np.int32, copy=False)
    return codes, [*texts, ""]


def _written(values: Any) -> list[str]:
    """Values as text; a number without decimals as an integer, as CSV files have it."""
    import pyarrow as pa

    if pa.types.is_boolean(values.type):
        return [str(value).lower() for value in values.to_pylist()]
    if pa.types.is_floating(values.type):
        numbers = values.cast(pa.float64()).to_pylist()
        return ["" if n is None or n != n else repr(n).removesuffix(".0") for n in numbers]
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        raise TableError("a column holds bytes; write text or numbers")
    return [str(text or "") for text in values.cast(pa.large_string()).to_pylist()]
