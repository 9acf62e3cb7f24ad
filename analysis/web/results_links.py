"""The read-only links to a study's results, as its results page lists and offers them."""

from __future__ import annotations

from typing import Any

from analysis.models import ResultsLink

LINK_DAYS, MOST_LINK_DAYS = 30, 365


def links_of(key: str) -> list[ResultsLink]:
    """A study's links, the newest first."""
    links = ResultsLink.objects.filter(study__key=key).select_related("made_by", "run")
    return list(links.defer("run__result", "run__brief"))


def sharing(key: str) -> dict[str, Any]:
    """What `analysis/_sharing.html` shows: the study's links and what a new one starts with."""
    return {"links": links_of(key), "link_days": LINK_DAYS, "most_link_days": MOST_LINK_DAYS}
