"""A study as it is read in one of its languages, for the preview."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from listening.common.languages import study_words
from listening.design.questionnaires import in_words
from listening.design.studyfile import StudyFile, TaskEntry


def in_language(file: StudyFile, language: str) -> StudyFile:
    """The study with its own words of that language; what has no translation stays.

    The words of the criteria are put in where the scale is known: see `criteria_words`.
    """
    if language not in file.translations:
        return file
    words = study_words(file.title, file.texts, file.translations, language)
    return replace(
        file,
        language=language,
        title=words["title"],
        texts=words["texts"],
        checks=tuple({**each, **words["checks"].get(each["key"], {})} for each in file.checks),
        questionnaires=tuple(
            in_words(each, words["questionnaires"].get(each["key"], {}))
            for each in file.questionnaires
        ),
        tasks=tuple(
            _task_in_language(task, task.translations.get(language, {})) for task in file.tasks
        ),
    )


def _task_in_language(task: TaskEntry, words: Mapping[str, Any]) -> TaskEntry:
    feedback = words.get("training", {})
    captions = words.get("captions", {})
    reason = {**task.justification, **words.get("justification", {})}
    return replace(
        task,
        title=words.get("title") or task.title,
        instructions=words.get("instructions") or task.instructions,
        justification=reason if task.justification else {},
        training=tuple({**each, **feedback.get(each["stimulus"], {})} for each in task.training),
        examples=tuple(
            {**e, "caption": captions.get(e["stimulus"], e.get("caption", ""))}
            for e in task.examples
        ),
    )


def criteria_words(task: TaskEntry, language: str) -> Mapping[str, Mapping[str, Any]]:
    """Criterion -> its words in that language."""
    words: Mapping[str, Mapping[str, Any]] = task.translations.get(language, {}).get("criteria", {})
    return words
