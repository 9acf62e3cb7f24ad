"""Ratings as columns: Arrow's stream and Parquet, some thousand rows in memory at once.

pyarrow alone, and only when it is asked for: the web process goes without pandas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, Any, cast

from rest_framework.exceptions import NotAcceptable

from analysis.ratings.cells import COLUMNS, INTEGERS, REALS, TRUTHS

AT_ONCE = 5000  # rows
TIMES = ("rated_at",)
Rows = Iterable[Mapping[str, Any]]


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise NotAcceptable(
            "This server lacks pyarrow, which writes Parquet and Arrow. Ask for csv or json, or "
            "have its operator install pyarrow (requirements.txt)."
        ) from None
    return pyarrow


def arrow_schema() -> Any:
    """The columns of `ratings.csv`, with their types."""
    pa = _arrow()
    kinds = {name: pa.int64() for name in INTEGERS} | {name: pa.float64() for name in REALS}
    kinds |= {name: pa.bool_() for name in TRUTHS}
    kinds |= {name: pa.timestamp("ms", tz="UTC") for name in TIMES}
    return pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS])


def _batches(rows: Rows, into: Any) -> Iterator[Any]:
    pa, waiting = _arrow(), iter(rows)
    while part := list(islice(waiting, AT_ONCE)):
        plain = [[_value(name, row[name]) for row in part] for name in into.names]
        arrays = [pa.array(values, kind) for values, kind in zip(plain, into.types, strict=True)]
        yield pa.record_batch(arrays, schema=into)


def _value(name: str, value: Any) -> Any:
    return datetime.fromisoformat(value) if name in TIMES and value else value


def arrow_stream(rows: Rows) -> Iterator[bytes]:
    """Arrow's streaming format, a batch at a time."""
    into = arrow_schema()
    return _streamed(rows, into)


def _streamed(rows: Rows, into: Any) -> Iterator[bytes]:
    pa = _arrow()
    held = _Held()
    with pa.ipc.new_stream(pa.PythonFile(held, "w"), into) as writer:
        for batch in _batches(rows, into):
            writer.write_batch(batch)
            yield held.taken()
    yield held.taken()


class _Held:
    """What Arrow writes to; what was written is taken away again."""

    closed = False

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def write(self, data: Any) -> int:
        self.parts.append(bytes(data))
        return len(self.parts[-1])

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def taken(self) -> bytes:
        parts, self.parts = self.parts, []
        return b"".join(parts)


def parquet_file(rows: Rows) -> IO[bytes]:
    """A Parquet file, which needs its end written before its beginning is read: on the disk."""
    into = arrow_schema()
    import pyarrow.parquet as parquet

    file = cast(IO[bytes], TemporaryFile())  # noqa: SIM115  closed by the response
    with parquet.ParquetWriter(file, into) as writer:
        for batch in _batches(rows, into):
            writer.write_batch(batch)
    file.seek(0)
    return file
