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
PAGES = {SOUNDS: "Sounds", QUESTIONS: "Questions", RATERS: "Raters", REVIEW: "Review and open"}
TASK = r"tasks\[(?P<n>\d+)\]"
# Place in study.toml -> page, label of the field, and its id on that page.
FIELDS: tuple[tuple[str, str, str, str], ...] = (
    (rf"{TASK}\.ratings_per_stimulus", RATERS, "Ratings per clip", "r{n}"),
    (rf"{TASK}\.block_size", RATERS, "Screens in a block, traps apart", "b{n}"),
    (rf"{TASK}\.blocks_per_session", RATERS, "Blocks in one sitting", "bs{n}"),
    (rf"{TASK}\.blocks_per_rater", RATERS, "Blocks of one person at most", "br{n}"),
    (rf"{TASK}\.repeats", RATERS, "Clips asked twice at the end", "rp{n}"),
    (rf"{TASK}\.traps\.per", RATERS, "Clips of one set", "tp{n}"),
    (rf"{TASK}\.traps\.placement", RATERS, "Traps come", "tl{n}"),
    (rf"{TASK}\.traps.*", RATERS, "Traps", "tp{n}"),
    (rf"{TASK}\.title", QUESTIONS, "Heading", "t{n}-title"),
    (rf"{TASK}\.instructions", QUESTIONS, "Instructions", "t{n}-instructions"),
    (rf"{TASK}\.criteria.*", QUESTIONS, "Question", "t{n}-c0"),
    (rf"{TASK}\.options\.points", QUESTIONS, "Highest point", "t{n}-points"),
    (rf"{TASK}\.options\.step", QUESTIONS, "Steps of the scale", "t{n}-step"),
    (rf"{TASK}\.options\.reach", QUESTIONS, "The scale reaches", "t{n}-reach"),
    (rf"{TASK}\.options\.(versus|pairs)", QUESTIONS, "Compare", "t{n}-versus"),
    (rf"{TASK}\.options\.reference", SOUNDS, "Reference", "systems"),
    (rf"{TASK}\.justification\.prompt", QUESTIONS, "Question for the reason", "t{n}-prompt"),
    (rf"{TASK}\.justification\.min_chars", QUESTIONS, "Characters at least", "t{n}-chars"),
    (rf"{TASK}\.justification.*", QUESTIONS, "A reason for each answer", "t{n}-reasons"),
    (rf"{TASK}\.show_text", QUESTIONS, "Show the words of the sentence", "task-{n}"),
    (rf"{TASK}.*", QUESTIONS, "", "task-{n}"),
    (r"study\.key", REVIEW, "Key", "key"),
    (r"study\.title", RATERS, "Title", "title"),
    (r"study\.language", QUESTIONS, "Language of the pages and the speech", "language"),
    (r"study\.hypotheses.*", QUESTIONS, "Hypotheses", "hypotheses"),
    (r"study\.break_every", RATERS, "A break is offered after so many screens", "break"),
    (r"study\.lease_minutes", RATERS, "Minutes away until others get the rest", "lease"),
    (r"study\.task_plan", RATERS, "A rater gets", "plan"),
    (r"study\.sessions_per_rater", RATERS, "Sittings per person at most", "sessions"),
    (r"study\.loudness_lufs", SOUNDS, "One loudness for all, in LUFS", "loudness"),
    (r"study\.sample_rate_hz", SOUNDS, "One sampling rate for all, in Hz", "rate"),
    (r"study\.ends", SOUNDS, "Ends of clips", "ends"),
    (r"study\.erase.*", RATERS, "Days after the end until personal data is erased", "erase"),
    (r"study\.payment.*", RATERS, "Raters are paid", "pay-by"),
    (r"study\.checks.*", RATERS, "Checks before the study", "before"),
    *((rf"study\.texts\.{key}.*", RATERS, words, key) for key, words, _ in TEXTS),
    *(
        (rf"study\.completion_codes\.{key}", RATERS, f"Code of {words}", f"code-{key}")
        for key, words in CODES.items()
    ),
    (r"(study\.)?(translations|.*\.translations).*", RATERS, "Further languages", ""),
    (r"(sources|questionnaires|study).*", RATERS, "", ""),
    (r"(conditions|dimensions|settings).*", SOUNDS, "Systems", "systems"),
    (re.escape(TEXTS_OF_CLIPS), SOUNDS, "Texts", "texts"),
    (re.escape(CLIPS), SOUNDS, "", "systems"),
)


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
    file, place = mistake.first.file, mistake.first.place
    if file == CSV and not rows:
        return ShownMistake(SOUNDS, PAGES[SOUNDS], "", "add", "Add the sounds of your systems.")
    if file == CSV:
        return ShownMistake(SOUNDS, PAGES[SOUNDS], _clips(mistake, rows), "systems", mistake.words)
    if file != TOML:
        return ShownMistake(SOUNDS, PAGES[SOUNDS], file, "", mistake.words)
    page, label, anchor = field_at(place)
    named = re.match(TASK, place)
    field = ", ".join(filter(None, [_task(top, named and named["n"]), label]))
    return ShownMistake(page, PAGES[page], field, anchor, mistake.words)


def field_at(place: str) -> tuple[str, str, str]:
    """The page that changes a place of study.toml, the label of its field, and its id there."""
    for pattern, page, label, anchor in FIELDS:
        if match := re.fullmatch(pattern, place):
            task = match.groupdict().get("n")
            return page, label, anchor.format(n=int(task) - 1) if task else anchor
    return REVIEW, "", ""


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
