"""Mistakes of a study folder as a draft's pages say them: by page, field and file, with a link.

An import names places of study.toml and stimuli.csv; who has only pages looks for a field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from listening.design.studyfile import CSV, TOML
from listening.design.studyfile.problems import Mistake
from listening.web.researcher.draft_places import (
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
    named = re.match(TASK, place)
    return _task(top, named and named["n"])


def _task(top: Mapping[str, Any], number: str | None) -> str:
    """The task by its heading or key; empty where there is only one."""
    tasks = top.get("tasks", [])
    if number is None or len(tasks) < 2:
        return ""
    try:
        task = tasks[int(number) - 1]
    except IndexError:
        return ""
    return f"task “{task.get('title') or task.get('key', number)}”"


def _clips(mistake: Mistake, rows: Sequence[Mapping[str, str]]) -> str:
    """The files of the rows that are wrong; a row of the table counts its header."""
    named = [rows[row - 2].get("file", "") for row in mistake.rows if 2 <= row < len(rows) + 2]
    shown, more = ", ".join(f"“{name}”" for name in named[:3] if name), len(named) - 3
    return shown + (f" and {more} more" if more > 0 else "")
