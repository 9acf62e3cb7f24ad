"""The formats in which tables leave: which is asked for; JSON, CSV, Parquet and Arrow streamed.

Arrow and Parquet take pyarrow alone, only when they are asked for, and some thousand rows in memory
at once: the web process goes without pandas.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, Any, cast

from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import NotAcceptable
from rest_framework.request import Request

from analysis.ratings.cells import COLUMNS, INTEGERS, REALS, TRUTHS
from listening.common.ages import in_last_s
from listening.models import Study, StudyEvent
from listening.models.study_log import note

JSON, CSV = "application/json", "text/csv"
PARQUET, ARROW = "application/vnd.apache.parquet", "application/vnd.apache.arrow.stream"
ANY = ("*/*", "")
NOTED_EVERY_S = 3600


def FORM(forms: Mapping[str, str]) -> OpenApiParameter:
    """The parameter that chooses one."""
    description = "Overrides the header Accept. Default: json."
    return OpenApiParameter("format", str, enum=list(forms), description=description)


def form_of(request: Request, forms: Mapping[str, str]) -> str:
    """The form that `format` or the header Accept asks for: the first, where neither does."""
    if forms_asked := request.query_params.getlist("format"):
        if len(forms_asked) == 1 and forms_asked[0] in forms:
            return forms_asked[0]
        raise NotAcceptable(
            f"Unknown format {' and '.join(map(repr, forms_asked))}. Choose "
            f"one of {', '.join(forms)}."
        )
    accepted = request.headers.get("Accept", "").split(",")
    for kind in (each.partition(";")[0].strip() for each in accepted):
        if kind in ANY or kind == "application/*":
            return next(iter(forms))
        for name, media in forms.items():
            if kind == media.partition(";")[0]:
                return name
    kinds = ", ".join(media.partition(";")[0] for media in forms.values())
    raise NotAcceptable(f"None of the types in Accept is available. Available: {kinds}.")


def json_array(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """An array, a row on each line."""
    yield "["
    separator = "\n"
    for row in rows:
        yield separator + json.dumps(row, ensure_ascii=False, allow_nan=False, default=str)
        separator = ",\n"
    yield "\n]"


def table_object(columns: Sequence[str], name: str, lines: Iterator[str]) -> Iterator[str]:
    """An object of the columns and, under ``name``, the lines of an array."""
    yield f'{{"columns": {json.dumps(columns)}, "{name}": '
    yield from lines
    yield "}\n"


def note_taken(study: Study, by: str, file: str, **more: Any) -> None:
    """For the log of the study; a script that asks every minute is noted once an hour."""
    lately = in_last_s(NOTED_EVERY_S)
    noted = StudyEvent.objects.filter(study_id=study.pk, what="exported", at__range=lately, by=by)
    if not noted.filter(details__file=file).exists():
        note(study, "exported", by, file=file, **more)


AT_ONCE = 5000  # rows
TIMES = ("rated_at",)
Rows = Iterable[Mapping[str, Any]]


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise NotAcceptable(
            "This server has no pyarrow, which writes Parquet and Arrow. Request csv or json, or "
            "ask your administrator to install pyarrow (requirements.txt)."
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
    return _stream_rows(rows, into)


def _stream_rows(rows: Rows, into: Any) -> Iterator[bytes]:
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
