"""Tables that came from the server: rows, data frames, and CSV files that may grow."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from earnest.errors import EarnestError

FORMULA = re.compile(r"'*[=+\-@＝＋－＠\t\r]")  # as the server's own CSV has it
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?$")


@dataclass(frozen=True)
class Table:
    """Rows by column name; `cursor` is where to go on, where there is such a place.

    `columns` are named by the server also where there is no row yet.
    """

    rows: list[dict[str, Any]]
    cursor: str = ""
    columns: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def frame(self) -> Any:
        """A pandas data frame. Times are times; whole numbers and truths may be missing."""
        try:
            import pandas
        except ImportError:
            raise ImportError(
                "Data frames take pandas: pip install pandas. `rows` is the same as plain values."
            ) from None
        frame = pandas.DataFrame(self.rows, columns=None if self.rows else list(self.columns))
        for name in frame.columns:
            kinds = {type(row.get(name)) for row in self.rows} - {type(None)}
            if name.endswith("_at"):
                frame[name] = pandas.to_datetime(frame[name], utc=True, format="ISO8601")
            elif kinds in ({int}, {bool}):
                frame[name] = frame[name].astype("Int64" if int in kinds else "boolean")
        frame.attrs["cursor"] = self.cursor
        return frame


CURSOR = ".cursor"  # beside a file that grows: how far it goes, and its size in bytes
PART = ".part"


def write_csv(pages: Iterable[Table], out: Path | None) -> tuple[int, str]:
    """How many rows were written, and the cursor; a file that was there is replaced at the end."""
    if out is None:
        return _write_rows(pages, sys.stdout)
    part = out.with_name(out.name + PART)
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            done = _write_rows(pages, file)
        os.replace(part, out)
    finally:
        part.unlink(missing_ok=True)
    return done


class Growing:
    """A CSV file to which each run adds what came since the last one, each row once."""

    def __init__(self, out: Path) -> None:
        self.out, self.cursor_file = out, Path(f"{out}{CURSOR}")

    def since(self) -> str:
        """The cursor to ask with; EarnestError where the file is not as it was left."""
        if self.out.exists() != self.cursor_file.exists():
            raise EarnestError(
                f"{self.out} and {self.cursor_file} belong together, and one is missing: how far "
                "the file goes is not known. Take both away to begin again."
            )
        if not self.cursor_file.exists():
            return ""
        cursor, _, size = self.cursor_file.read_text("utf-8").strip().partition(" ")
        there = self.out.stat().st_size
        if size.isdecimal() and int(size) != there:
            raise EarnestError(
                f"{self.out} has {there:,} bytes, and had {int(size):,} when its last rows were "
                f"added: a run was cut off, or the file was changed since. Make it as it was "
                f"(truncate -s {size} {self.out}, where it is longer), or take it and "
                f"{self.cursor_file} away to begin again."
            )
        return cursor

    def add(self, page: Table) -> None:
        """The rows of a page, and only then how far the file goes."""
        with self.out.open("a", encoding="utf-8", newline="") as file:
            _write_lines(page, file, self._head(page), head=not self._has_rows())
            file.flush()
            os.fsync(file.fileno())
        part = Path(f"{self.cursor_file}{PART}")
        part.write_text(f"{page.cursor} {self.out.stat().st_size}\n", "utf-8")
        os.replace(part, self.cursor_file)

    def _has_rows(self) -> bool:
        return self.out.exists() and self.out.stat().st_size > 0

    def _head(self, page: Table) -> list[str]:
        columns = columns_of(page)
        if not self._has_rows():
            return columns
        with self.out.open(encoding="utf-8", newline="") as file:
            head = next(csv.reader(file), [])
        if columns and set(head) != set(columns):
            other = ", ".join(sorted(set(head) ^ set(columns)))
            raise EarnestError(
                f"{self.out} has other columns than the server gives now ({other}). Begin a new "
                "file."
            )
        return head


def columns_of(table: Table) -> list[str]:
    """As the server names them, where it does; and what else rows have."""
    return list(dict.fromkeys((*table.columns, *(name for row in table for name in row))))


def _write_rows(pages: Iterable[Table], file: IO[str]) -> tuple[int, str]:
    columns: list[str] = []
    count, cursor = 0, ""
    for page in pages:
        fresh = not columns
        columns = columns or columns_of(page)
        _write_lines(page, file, columns, head=fresh)
        count, cursor = count + len(page), page.cursor
    return count, cursor


def _write_lines(table: Table, file: IO[str], columns: Sequence[str], *, head: bool) -> None:
    writer = csv.writer(file, lineterminator="\n")
    if head and columns:
        writer.writerow(columns)
    for row in table:
        writer.writerow([_cell(row.get(name)) for name in columns])


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    danger = isinstance(value, str) and FORMULA.match(value) and not NUMBER.match(value)
    return f"'{value}" if danger else value  # a spreadsheet would run it
