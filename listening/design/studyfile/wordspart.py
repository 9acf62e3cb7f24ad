"""A study's own words in further languages, as study.toml gives them for study and tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from listening.design.studyfile import shapes
from listening.design.studyfile.entries import CriterionEntry
from listening.design.studyfile.problems import Notebook, did_you_mean, quoted
from listening.design.studyfile.shapes import Field, Shape, Wrong, read_table
from listening.methods import Method

TAG = Field(shapes.language, longest=16)
TEXT_KEYS = ("welcome", "consent", "end", "contact", "debrief", "comment_prompt")
TEXTS = {key: Field(shapes.text, default="") for key in TEXT_KEYS}
STUDY_WORDS = {
    "title": Field(shapes.text, default="", longest=200),
    "texts": Field(shapes.raw_table, default={}),
}
TASK_WORDS = {
    "title": Field(shapes.text, default="", longest=200),
    "instructions": Field(shapes.text, default=""),
    "justification": Field(shapes.raw_table, default={}),
    "criteria": Field(shapes.raw_table, default={}),
    "captions": Field(shapes.words, default={}, longest=500),
}
REASON_WORDS = {
    "prompt": Field(shapes.text, default="", longest=300),
    "good": Field(shapes.texts, default=(), longest=1000),
    "poor": Field(shapes.texts, default=(), longest=1000),
}
CRITERION_WORDS = {
    "question": Field(shapes.text, default="", longest=300),
    "help_text": Field(shapes.text, default=""),
    "names": Field(shapes.words, default={}, longest=300),
}
Words = dict[str, Any]


def read_study_words(table: Any, language: str, notes: Notebook) -> dict[str, Words]:
    """Language tag → title and texts; an empty table offers the study in that language too."""

    def words(given: Any, where: str) -> Words:
        fields = read_table(given, STUDY_WORDS, where, notes)
        texts = read_table(fields["texts"], TEXTS, f"{where}.texts", notes)
        return _given(fields | {"texts": _given(texts)})

    found = _by_language(table, "study.translations", notes, words)
    if language in found:
        what = f"“{language}” is the language of the study itself."
        notes.toml(f"study.translations.{language}", what, "Write its words in [study].")
    return found


def read_task_words(
    task: Mapping[str, Any], where: str, method: Method | None, notes: Notebook
) -> dict[str, Words]:
    """Language tag → what the task says in that language."""
    criteria: Sequence[CriterionEntry] = task["criteria"]
    labels = {c.key: _labels(method, {**task["options"], **c.options}) for c in criteria}
    shown = [example["stimulus"] for example in task["examples"]]

    def words(given: Any, place: str) -> Words:
        fields = read_table(given, TASK_WORDS, place, notes)
        reason = read_table(fields["justification"], REASON_WORDS, f"{place}.justification", notes)
        reason |= {name: list(reason[name]) for name in ("good", "poor")}
        for stimulus in [each for each in fields["captions"] if each not in shown]:
            what = f"“{stimulus}” is no example of this task."
            notes.toml(f"{place}.captions.{stimulus}", what, did_you_mean(stimulus, shown))
        asked = {}
        for key, each in fields["criteria"].items():
            at = f"{place}.criteria.{key}"
            if key not in labels:
                notes.toml(at, f"The task has no criterion “{key}”.", did_you_mean(key, labels))
                continue
            asked[key] = _given(read_table(each, CRITERION_WORDS, at, notes))
            _check_names(asked[key].get("names", {}), labels[key], f"{at}.names", notes)
        return _given(fields | {"justification": _given(reason), "criteria": asked})

    return _by_language(task["translations"], f"{where}.translations", notes, words)


def check_offered(
    study: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]], notes: Notebook
) -> None:
    """A task speaks no language in which the study is not offered."""
    for n, translations in enumerate(tasks, start=1):
        for tag in translations:
            if tag not in study:
                what = f"The study is not offered in “{tag}”."
                remedy = f"Add a table [study.translations.{tag}]; it may be empty."
                notes.toml(f"tasks[{n}].translations.{tag}", what, remedy)


def _by_language(
    table: Any, where: str, notes: Notebook, words: Callable[[Any, str], Words]
) -> dict[str, Words]:
    found: dict[str, Words] = {}
    for tag, given in table.items():
        place = f"{where}.{tag}"
        try:
            clean = shapes.language(tag, TAG)
        except Wrong as wrong:
            notes.toml(place, wrong.what, wrong.remedy)
            continue
        found[clean] = words(given, place)
    return found


def _labels(method: Method | None, options: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The labels of a criterion's scale; None where there is no telling."""
    try:
        return method.scale(options).labels if method else None
    except (ValueError, TypeError, KeyError):  # said where the scale is checked
        return None


def _check_names(
    names: Mapping[str, str], labels: tuple[str, ...] | None, where: str, notes: Notebook
) -> None:
    for label in names:
        if labels is not None and label not in labels:
            remedy = f"There are: {quoted(labels)}." if labels else "Remove it: there are none."
            notes.toml(f"{where}.{label}", f"The scale has no answer “{label}”.", remedy)


def _given(fields: Mapping[str, Any]) -> Words:
    return {name: value for name, value in fields.items() if value not in ("", (), [], {})}


SHAPES: dict[str, Shape] = {
    "study": STUDY_WORDS,
    "texts": TEXTS,
    "task": TASK_WORDS,
    "justification": REASON_WORDS,
    "criterion": CRITERION_WORDS,
}
