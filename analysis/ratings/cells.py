"""The columns of a rating: cells read and written, and plain rows as lines of CSV or JSON.

No pandas here: the web process streams a study's ratings with this module alone.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from analysis.formatting import enumerated
from listening.common.spreadsheets import FORMULA, safe_cell, strict_number

COLUMNS: tuple[str, ...] = (
    "study",
    "task",
    "method",
    "criterion",
    "estimand",
    "session",
    "rater",
    "block",
    "position",
    "item",
    "dimension",
    "paragraph",
    "language",
    "split",
    "condition",
    "role",
    "system",
    "voice",
    "stimulus",
    "versus_condition",
    "versus_stimulus",
    "presented_first",
    "context",
    "label",
    "score",
    "correct_answer",
    "alternatives",
    "trap",
    "trap_passed",
    "justification",
    "review",
    "latency_ms",
    "plays",
    "heard_fraction",
    "rated_at",
    "session_status",
    "paid",
    "counts",
    "headphones",
    "codes",
    "version",
    "recruitment_source",
    "pair_probability",
)
# What an analysis adds to the ratings that it was made of; no part of the ratings themselves
LEFT_OUT_BY = "left_out_by"
TRAP_ROW = "trap"  # stands there for answers to traps, which are in no estimate
# What is known of a scored clip, as text: columns where a row has any (see `ClipFacts`)
FACTS = (
    *("condition", "group", "architecture", "rtf", "role", "language", "dimension", "challenge"),
    *("speakers", "sentences", "run"),
)
HASHED_WHERE_FILLED = frozenset(
    {"correct_answer", "alternatives", "recruitment_source", "pair_probability"}
)  # tables of 0.1 lack them
LATER = HASHED_WHERE_FILLED | {"role", "version"}  # columns that older exports lack
INTEGERS = frozenset({"position", "latency_ms", "plays"})
REALS = frozenset({"score", "heard_fraction", "pair_probability"})
TRUTHS = frozenset({"trap_passed", "paid", "counts", "headphones"})
WHEN_EMPTY = {"paid": False, "counts": True}
WORDS: Mapping[str, tuple[str, ...]] = {  # columns that hold one of these words, or nothing
    "role": ("test", "reference", "anchor", "prompt"),
    "presented_first": ("rated", "versus"),
    "review": ("fit", "unfit"),
    "session_status": ("started", "finished", "withdrawn", "rejected", "expired", "screened"),
}
TRAP = "trap"  # stands in the column trap where a file only says that a rating is one
_NOTHING = frozenset({"", "na", "nan", "null", "none"})
_YES = frozenset({"true", "1", "1.0", "yes"})
_NO = frozenset({"false", "0", "0.0", "no"})


def csv_lines(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = COLUMNS) -> Iterator[str]:
    """CSV text of plain rows, line by line, so that a big study can be streamed.

    A text that a spreadsheet would take for a formula gets an apostrophe in front, which
    `from_csv` takes away again.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow([csv_cell(name) for name in columns])
    for row in rows:
        writer.writerow([csv_cell(row[name]) for name in columns])
        if buffer.tell() > 16_384:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def json_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A JSON array of plain rows, one row per line, so that a big study can be streamed."""
    yield "["
    separator = "\n"
    for row in rows:
        ordered = {name: json_value(row[name]) for name in COLUMNS}
        yield separator + json.dumps(ordered, ensure_ascii=False, allow_nan=False)
        separator = ",\n"
    yield "\n]\n"


def in_pieces(lines: Iterable[str], size: int = 32_768) -> Iterator[bytes]:
    """The lines as UTF-8 in pieces of about that many characters: fewer, larger writes."""
    held: list[str] = []
    length = 0
    for line in lines:
        held.append(line)
        length += len(line)
        if length >= size:
            yield "".join(held).encode()
            held, length = [], 0
    yield "".join(held).encode()


def dtype_of(name: str) -> str:
    """The pandas type of a column: Int64, float64, boolean or str."""
    if name in INTEGERS:
        return "Int64"
    if name in REALS:
        return "float64"
    return "boolean" if name in TRUTHS else "str"


def reader_of(name: str) -> Callable[[object], object]:
    """What turns a cell of a column (text or plain value) into its typed value, None when empty."""
    if name in INTEGERS:
        return _as_integer
    if name in REALS:
        return _as_real
    if name in TRUTHS:
        return partial(truth, empty=WHEN_EMPTY.get(name))
    if name in WORDS:
        return partial(_as_word, words=WORDS[name])
    return trap_kind if name == "trap" else _as_text


def _as_text(value: object) -> str:
    return "" if value is None else str(value)


def _as_word(value: object, words: Sequence[str]) -> str:
    text = "" if value is None else str(value).strip().lower()
    if text in words:
        return text
    if text in _NOTHING:
        return ""
    raise ValueError(f"is unknown; write {enumerated(words, 'or')}, or leave it empty")


def trap_kind(value: object) -> str:
    """The kind of a trap, empty where a file says no; TRAP where it only says yes."""
    text = "" if value is None else str(value)
    plain = text.strip().lower()
    if plain in _NO | _NOTHING:
        return ""
    return TRAP if plain in _YES else text


def _as_integer(value: object) -> int | None:
    if value is None or str(value).strip().lower() in _NOTHING:
        return None
    number = float(_number(value, "is no whole number; write one such as 1500, or leave it empty"))
    if not number.is_integer() or number < 0:
        raise ValueError("is no whole number from 0 up; write one such as 1500, or leave it empty")
    return int(number)


def _as_real(value: object) -> float:
    if value is None or str(value).strip().lower() in _NOTHING:
        return math.nan
    infinite = "is not finite; write a number such as 3.5, or leave it empty"
    if isinstance(value, str) and value.strip().lower().lstrip("+-") in ("inf", "infinity"):
        raise ValueError(infinite)
    number = _number(value, "is no number; write one such as 3.5, or leave it empty")
    if not math.isfinite(number):
        raise ValueError(infinite)
    return number + 0.0  # -0.0 and 0.0 are the same score


def _number(value: Any, remedy: str) -> float:
    number = strict_number(value) if isinstance(value, str) else value
    if number is None or isinstance(number, bool) or not isinstance(number, int | float):
        raise ValueError(remedy)
    return float(number)


def truth(value: object, empty: bool | None = None) -> bool | None:
    text = "" if value is None else str(value).strip().lower()
    if text in _YES:
        return True
    if text in _NO:
        return False
    if text in _NOTHING:
        return empty
    raise ValueError("is neither true nor false; write true or false, or leave it empty")


def canonical_cell(value: object) -> str:
    """A plain value as it enters the hash: text with separators escaped, numbers exactly."""
    if isinstance(value, str):
        return value.replace("\\", "\\\\").replace("\x1f", "\\f").replace("\x1e", "\\e")
    return _number_text(value)


def _number_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(float(value)) if isinstance(value, float) else str(value)


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Rows of plain values as CSV text."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(map(csv_cell, row) for row in rows)
    return buffer.getvalue()


def csv_cell(value: object) -> str:
    """A plain value as CSV text; what a spreadsheet takes for a formula gets an apostrophe."""
    return safe_cell(value) if isinstance(value, str) else _number_text(json_value(value))


def json_value(value: object) -> object:
    """A plain value that JSON can hold: no number becomes null."""
    return None if isinstance(value, float) and math.isnan(value) else value


def unescape_cells(values: list[str], name: str) -> list[str]:
    """A column of CSV cells with the apostrophes of `csv_cell` taken away again."""
    if name in INTEGERS | REALS | TRUTHS:
        return values
    escaped = {text for text in set(values) if text.startswith("'") and FORMULA.match(text)}
    return [text[1:] if text in escaped else text for text in values]
