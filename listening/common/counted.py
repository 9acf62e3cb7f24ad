"""Numbers of things in English sentences of pages, commands and mails."""

from __future__ import annotations


def counted(count: int, one: str, many: str = "") -> str:
    """A number of things: 1 rater, 1,200 raters."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
