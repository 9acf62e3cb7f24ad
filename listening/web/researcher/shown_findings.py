"""Findings of the checks before launch as pages say them: fields and buttons, each with a link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from listening.access.rights import EDIT, rights_in
from listening.models import Draft, Study
from listening.studies import Finding, ProblemsFound, StudyError
from listening.web.researcher.draft_places import PAGES, field_at


@dataclass(frozen=True)
class ShownFinding:
    """One finding in the words of pages, and the link to what changes it."""

    level: str
    what: str
    remedy: str
    address: str  # empty where no page changes it
    link: str


def findings_of_draft(findings: Sequence[Finding], draft: Draft) -> list[ShownFinding]:
    return [_shown(each, *_field(each.place, draft)) for each in findings]


def findings_of_study(findings: Sequence[Finding], study: Study, user: Any) -> list[ShownFinding]:
    """A study is changed as a draft; where there is none yet, a button in its settings makes it."""
    draft = study.drafts.select_related("project").first() if findings else None
    if draft is not None and EDIT in rights_in(draft, user):
        return findings_of_draft(findings, draft)
    change = (f"{reverse('manage', args=[study.key])}#change-title", "Edit draft")
    return [_shown(each, *(change if each.place else ("", ""))) for each in findings]


def lines_of(error: StudyError) -> list[str]:
    """What an error says on a page, line by line."""
    if isinstance(error, ProblemsFound):
        return [f"{each.what} {each.page_remedy}" for each in error.findings]
    return str(error).splitlines()


def _shown(finding: Finding, address: str, link: str) -> ShownFinding:
    return ShownFinding(finding.level, finding.what, finding.page_remedy, address, link)


def _field(place: str, draft: Draft) -> tuple[str, str]:
    """The address of what changes a place of study.toml, and its name."""
    if not place:
        return "", ""
    page, field, anchor = field_at(place)
    address = reverse(page, args=[draft.code]) + (f"#{anchor}" if anchor else "")
    return address, f"{PAGES[page]}: {field}" if field else PAGES[page]
