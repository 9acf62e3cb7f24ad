"""Mistakes of a study folder as a draft's pages say them: by page, field and file, with a link.

An import names places of study.toml and stimuli.csv; who has only pages looks for a field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from listening.design.draft_questionnaires import PLACEHOLDER
from listening.design.studyfile import CSV, TOML
from listening.design.studyfile.problems import Mistake
from listening.studies.findings import Finding, warning
from listening.web.researcher.draft_places import (
    CRITERION,
    FORM,
    NOWHERE,
    PAGES,
    QUESTION,
    SOUNDS,
    TASK,
    field_at,
)

UPLOAD = "No page changes this. Correct it in your study.toml and upload that here again."


@dataclass(frozen=True)
class ShownMistake:
    """One mistake: the page and field that change it, and what is wrong."""

    page: str  # a route
    page_name: str
    field: str  # as its label says, and of which task or clip
    anchor: str
    words: str


def shown_mistakes(
    grouped: Sequence[Mistake], top: Mapping[str, Any], rows: Sequence[Mapping[str, str]]
) -> list[ShownMistake]:
    return [_shown_mistake(each, top, rows) for each in grouped]


def placeholder_findings(top: Mapping[str, Any]) -> list[Finding]:
    """Questions that still have the words with which a button added them."""
    lists = [(f"tasks[{n}].criteria", task.get("criteria")) for n, task in _entries(top, "tasks")]
    forms = _entries(top, "questionnaires")
    lists += [(f"questionnaires[{n}].questions", form.get("questions")) for n, form in forms]
    places = [
        f"{name}[{n}].question"
        for name, questions in lists
        for n, each in enumerate(questions or (), start=1)
        if isinstance(each, dict) and each.get("question") == PLACEHOLDER
    ]
    what = f"Raters would read “{PLACEHOLDER}”."
    return [warning(what, "Write the question, or remove it.", place) for place in places]


def _entries(top: Mapping[str, Any], name: str) -> list[tuple[int, Mapping[str, Any]]]:
    entries = enumerate(top.get(name, ()), start=1)
    return [(n, each) for n, each in entries if isinstance(each, dict)]


def shown_at_fields(findings: Sequence[Finding], top: Mapping[str, Any]) -> list[ShownMistake]:
    """Findings as their fields have them."""
    shown = []
    for finding in findings:
        page, label, anchor = field_at(finding.place)
        field = ", ".join(filter(None, [_part(top, finding.place), label]))
        words = f"{finding.what} {finding.page_remedy}"
        shown.append(ShownMistake(page, PAGES[page], field, anchor, words))
    return shown


def _shown_mistake(
    mistake: Mistake, top: Mapping[str, Any], rows: Sequence[Mapping[str, str]]
) -> ShownMistake:
    file, place, words = mistake.first.file, mistake.first.place, mistake.first.page_words
    if file == CSV and not rows:
        return ShownMistake(SOUNDS, PAGES[SOUNDS], "", "add", "Add audio of your systems.")
    if file == CSV:
        return ShownMistake(SOUNDS, PAGES[SOUNDS], _clips(mistake, rows), "systems", words)
    if file != TOML:
        return ShownMistake(SOUNDS, PAGES[SOUNDS], file, "", words)
    page, label, anchor = field_at(place)
    if place and (page, label) == NOWHERE:
        in_file = f"{mistake.first.what} {mistake.first.remedy}".rstrip()
        field = f"{TOML}, {place}"
        return ShownMistake(SOUNDS, PAGES[SOUNDS], field, "add", f"{in_file} {UPLOAD}")
    field = ", ".join(filter(None, [_part(top, place), label]))
    return ShownMistake(page, PAGES[page], field, anchor, words)


def _part(top: Mapping[str, Any], place: str) -> str:
    """The task or question that a place is in; empty where that is clear."""
    if named := re.match(QUESTION, place):
        return f"question {named['q']} of questionnaire {named['n']}"
    if named := re.match(FORM, place):
        return f"questionnaire {named['n']}"
    named = re.match(CRITERION, place) or re.match(TASK, place)
    return _task(top, named.groupdict()) if named else ""


def _task(top: Mapping[str, Any], named: Mapping[str, str]) -> str:
    """The task by its heading or key and the number of its question, where there are several."""
    tasks, number = top.get("tasks", []), named["n"]
    try:
        task = tasks[int(number) - 1]
    except IndexError:
        return ""
    title = f"task “{task.get('title') or task.get('key', number)}”" if len(tasks) > 1 else ""
    several = "c" in named and len(task.get("criteria", [])) > 1
    return ", ".join(filter(None, [title, f"question {named['c']}" if several else ""]))


def _clips(mistake: Mistake, rows: Sequence[Mapping[str, str]]) -> str:
    """The files of the rows that are wrong; a row of the table counts its header."""
    named = [rows[row - 2].get("file", "") for row in mistake.rows if 2 <= row < len(rows) + 2]
    shown, more = ", ".join(f"“{name}”" for name in named[:3] if name), len(named) - 3
    return shown + (f" and {more} more" if more > 0 else "")
