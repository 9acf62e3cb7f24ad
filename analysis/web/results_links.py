"""The read-only links to a study's results, as its results page lists and offers them."""

from __future__ import annotations

from typing import Any, TypeVar

from analysis.models import LeaderboardLink, ReadOnlyLink, ResultsLink

LINK_DAYS, MOST_LINK_DAYS = 30, 365
Link = TypeVar("Link", bound=ReadOnlyLink)


def links_of(key: str) -> list[ResultsLink]:
    """A study's links, the newest first."""
    links = ResultsLink.objects.filter(study__key=key).select_related("made_by", "run", "study")
    return _with_makers(list(links.defer("run__result", "run__brief")))


def board_links_of(key: str) -> list[LeaderboardLink]:
    """The open links to leaderboards that show a study, whoever made them."""
    links = LeaderboardLink.objects.filter(board__entries__study__key=key, revoked_at=None)
    links_with_makers = _with_makers(list(links.select_related("made_by", "board").distinct()))
    return [link for link in links_with_makers if link.is_open]


def _with_makers(links: list[Link]) -> list[Link]:
    """The links, with what is asked once for each maker and what they show."""
    known: dict[tuple[int | None, tuple[str, ...]], bool] = {}
    for link in links:
        shown = (link.made_by_id, tuple(link.shown_keys))
        if shown not in known:
            known[shown] = link.maker_may_share
        link.maker_may_share = known[shown]
    return links


def sharing(key: str) -> dict[str, Any]:
    """What `analysis/_sharing.html` shows: the study's links and what a new one starts with."""
    return {
        "links": links_of(key),
        "board_links": board_links_of(key),
        "link_days": LINK_DAYS,
        "most_link_days": MOST_LINK_DAYS,
    }
