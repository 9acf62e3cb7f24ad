"""A section of a report's page."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

ANSWER = "answer"  # the key of the part that stands first


@dataclass(frozen=True)
class Section:
    """One part of a report: an id for links, a heading, and its HTML.

    ``folded`` ones are closed at first, with a ``line`` that says what is in them; a ``headline``
    is no heading of a part but the answer itself.
    """

    id: str
    title: str
    html: Markup
    folded: bool = False
    line: str = ""
    headline: str = ""
