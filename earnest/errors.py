"""What the server refuses, in its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class EarnestError(Exception):
    """It was not done. `status` is HTTP's, 0 where no server answered; `mistakes` are listed."""

    def __init__(
        self, detail: str, status: int = 0, mistakes: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        self.status = status
        self.mistakes = [dict(each) for each in mistakes]
        more = [mistake_line(each) for each in self.mistakes if str(each.get("what")) not in detail]
        super().__init__("\n".join([detail, *more]))


def mistake_line(mistake: Mapping[str, Any]) -> str:
    """A mistake in one line: where, what, and what to do."""
    row = f"row {mistake['row']}" if mistake.get("row") else ""
    where = ", ".join(
        str(each) for each in (mistake.get("file"), row, mistake.get("field")) if each
    )
    words = f"{mistake.get('what', '')} {mistake.get('remedy') or ''}".rstrip()
    return f"  {where}: {words}" if where else f"  {words}"


def file_error_line(error: OSError) -> str:
    """Which file of this machine, and what is wrong with it."""
    return f"{error.filename or 'It could not be written'}: {error.strerror}"
