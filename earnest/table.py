"""Rows that came from the server: plain, or as a data frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


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
