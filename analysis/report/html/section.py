"""A section of a report's page."""

from __future__ import annotations

from dataclasses import dataclass

ANSWER = "answer"  # the key of the part that stands first


@dataclass(frozen=True)
class Section:
    """One part of a report: an id for links, a heading, and its HTML."""

    id: str
    title: str
    html: str
