"""A result of plain values, as a row of a table or a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FlatRow:
    """The base of results whose fields are all plain values."""

    def row(self) -> dict[str, Any]:
        """The fields as one flat row."""
        return dict(vars(self))
