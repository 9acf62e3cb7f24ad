"""The five tabs of a study and the pages of each: the one table of where a page belongs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import template
from django.urls import reverse

from listening.access.rights import ANALYSE, EDIT

register = template.Library()


@dataclass(frozen=True)
class StudyPage:
    """A page of a study: its route, its label, the right it needs, and the routes below it."""

    route: str
    label: str
    right: str = ""
    below: tuple[str, ...] = ()


TABS: dict[str, tuple[StudyPage, ...]] = {
    "Overview": (StudyPage("study", "Progress", below=("pilot",)),),
    "Participants": (
        StudyPage("raters", "Raters", below=("rater",)),
        StudyPage("recruiting", "Recruiting and payments", EDIT, below=("invitations",)),
    ),
    "Results": (
        StudyPage("results", "Report", below=("report-card", "results-clips", "so-far")),
        StudyPage("ratings", "Ratings", ANALYSE),
        StudyPage("metrics", "Metrics", below=("metrics-metric",)),
        StudyPage(
            "reviews",
            "Reviews",
            below=(
                "review-job",
                "review-items",
                "review-agreement",
                "review-quotes",
                "review-events",
                "review-suggestions",
            ),
        ),
    ),
    "Design": (
        StudyPage("design", "Tasks"),
        StudyPage("corpus", "Corpus"),
        StudyPage("planning", "Planning"),
        StudyPage("validity", "Exclusion rules"),
        StudyPage("versions", "Versions", below=("wording",)),
    ),
    "Settings": (
        StudyPage("manage", "General", EDIT),
        StudyPage("study-messages", "Notifications"),
        StudyPage("log", "Log"),
    ),
}


@dataclass(frozen=True)
class Link:
    """A tab or a page as a link; current where the page that is shown belongs to it."""

    label: str
    address: str
    current: bool
    pages: tuple[Link, ...] = ()


@register.inclusion_tag("researcher/_tabs.html", takes_context=True)
def study_tabs(context: dict[str, Any], key: str, rights: frozenset[str]) -> dict[str, Any]:
    """The tabs of a study, as far as these rights open their pages."""
    match = context["request"].resolver_match
    tabs = tuple(_links(key, rights, match.url_name if match else ""))
    return {"tabs": tabs, "open_tab": next((tab for tab in tabs if tab.current), None)}


def _links(key: str, rights: frozenset[str], route: str) -> Iterator[Link]:
    for label, pages in TABS.items():
        links = tuple(
            Link(page.label, reverse(page.route, args=[key]), route in (page.route, *page.below))
            for page in pages
            if not page.right or page.right in rights
        )
        yield Link(label, links[0].address, any(link.current for link in links), links)
