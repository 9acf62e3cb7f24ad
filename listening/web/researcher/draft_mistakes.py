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
from listening.studies.findings import CLIPS
from listening.studies.findings import TEXTS as TEXTS_OF_CLIPS
from listening.web.researcher.draft_fields import CODES, TEXTS

SOUNDS, QUESTIONS, RATERS = "draft", "draft-questions", "draft-raters"
REVIEW = "draft-review"
NOWHERE = (REVIEW, "")  # page and label of what no page changes
UPLOAD = "No page changes this. Correct it in your study.toml and upload that here again."
PAGES = {SOUNDS: "Sounds", QUESTIONS: "Questions", RATERS: "Raters", REVIEW: "Review and open"}
TASK = r"tasks\[(?P<n>\d+)\]"
# Place in study.toml -> page, and the id of the field there; its label is that of the schema.
FIELDS: tuple[tuple[str, str, str], ...] = (
    (rf"{TASK}\.ratings_per_stimulus", RATERS, "r{n}"),
    (rf"{TASK}\.block_size", RATERS, "b{n}"),
    (rf"{TASK}\.blocks_per_session", RATERS, "bs{n}"),
    (rf"{TASK}\.blocks_per_rater", RATERS, "br{n}"),
    (rf"{TASK}\.repeats", RATERS, "rp{n}"),
    (rf"{TASK}\.traps\.placement", RATERS, "tl{n}"),
    (rf"{TASK}\.traps.*", RATERS, "tp{n}"),
    (rf"{TASK}\.title", QUESTIONS, "t{n}-title"),
    (rf"{TASK}\.instructions", QUESTIONS, "t{n}-instructions"),
    (rf"{TASK}\.criteria.*", QUESTIONS, "t{n}-c0"),
    (rf"{TASK}\.options\.points", QUESTIONS, "t{n}-points"),
    (rf"{TASK}\.options\.step", QUESTIONS, "t{n}-step"),
    (rf"{TASK}\.options\.reach", QUESTIONS, "t{n}-reach"),
    (rf"{TASK}\.options\.(versus|pairs)", QUESTIONS, "t{n}-versus"),
    (rf"{TASK}\.options\.reference", SOUNDS, "systems"),
    (rf"{TASK}\.justification\.prompt", QUESTIONS, "t{n}-prompt"),
    (rf"{TASK}\.justification\.min_chars", QUESTIONS, "t{n}-chars"),
    (rf"{TASK}\.justification.*", QUESTIONS, "t{n}-reasons"),
    (rf"{TASK}.*", QUESTIONS, "task-{n}"),
    (r"study\.key", REVIEW, "key"),
    (r"study\.title", RATERS, "title"),
    (r"study\.language", QUESTIONS, "language"),
    (r"study\.hypotheses.*", QUESTIONS, "hypotheses"),
    (r"study\.break_every", RATERS, "break"),
    (r"study\.lease_minutes", RATERS, "lease"),
    (r"study\.task_plan", RATERS, "plan"),
    (r"study\.sessions_per_rater", RATERS, "sessions"),
    (r"study\.loudness_lufs", SOUNDS, "loudness"),
    (r"study\.sample_rate_hz", SOUNDS, "rate"),
    (r"study\.low_cut_hz", SOUNDS, "low-cut"),
    (r"study\.ends", SOUNDS, "ends"),
    (r"study\.erase.*", RATERS, "erase"),
    (r"study\.payment.*", RATERS, "pay-by"),
    (r"study\.checks.*", RATERS, "before"),
    *((rf"study\.texts\.{key}.*", RATERS, key) for key in TEXTS),
    *((rf"study\.completion_codes\.{key}", RATERS, f"code-{key}") for key in CODES),
    (r"(sources|questionnaires|study).*", RATERS, ""),
    (r"(conditions|dimensions|settings).*", SOUNDS, "systems"),
    (re.escape(TEXTS_OF_CLIPS), SOUNDS, "texts"),
    (re.escape(CLIPS), SOUNDS, "systems"),
)
LABELS = {  # of what the schema does not declare: options of methods, and what is no field
    "tasks.options.points": "Highest point",
    "tasks.options.step": "Steps of the scale",
    "tasks.options.reach": "The scale reaches",
    "tasks.options.versus": "Compare",
    "tasks.options.pairs": "Compare",
    "tasks.options.reference": "Reference",
    "tasks": "",
    "dimensions": "Systems",
    TEXTS_OF_CLIPS: "Texts",
}


@dataclass(frozen=True)
class ShownMistake:
    """One mistake: the page and field that change it, and what is wrong."""

    page: str  # a route
    page_name: str
    field: str  # as its label says, and of which task or clip
    anchor: str
    words: str


def shown_mistakes(
    found: Sequence[Mistake], top: Mapping[str, Any], rows: Sequence[Mapping[str, str]]
) -> list[ShownMistake]:
    return [_shown(each, top, rows) for each in found]


def _shown(
    mistake: Mistake, top: Mapping[str, Any], rows: Sequence[Mapping[str, str]]
) -> ShownMistake:
    file, place, words = mistake.first.file, mistake.first.place, mistake.first.page_words
    if file == CSV and not rows:
        return ShownMistake(SOUNDS, PAGES[SOUNDS], "", "add", "Add the sounds of your systems.")
    if file == CSV:
        return ShownMistake(SOUNDS, PAGES[SOUNDS], _clips(mistake, rows), "systems", words)
    if file != TOML:
        return ShownMistake(SOUNDS, PAGES[SOUNDS], file, "", words)
    page, label, anchor = field_at(place)
    if place and (page, label) == NOWHERE:
        in_file = f"{mistake.first.what} {mistake.first.remedy}".rstrip()
        field = f"{TOML}, {place}"
        return ShownMistake(SOUNDS, PAGES[SOUNDS], field, "add", f"{in_file} {UPLOAD}")
    named = re.match(TASK, place)
    field = ", ".join(filter(None, [_task(top, named and named["n"]), label]))
    return ShownMistake(page, PAGES[page], field, anchor, words)


def field_at(place: str) -> tuple[str, str, str]:
    """The page that changes a place of study.toml, the label of its field, and its id there."""
    for pattern, page, anchor in FIELDS:
        if match := re.fullmatch(pattern, place):
            task = match.groupdict().get("n")
            return page, _label(place), anchor.format(n=int(task) - 1) if task else anchor
    return (*NOWHERE, "")


def _label(place: str) -> str:
    from listening.design.studyfile.schema import label_at  # pydantic takes 0.2 s to load

    plain = re.sub(r"\[\d+\]", "", place)
    return LABELS[plain] if plain in LABELS else label_at(plain)


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
