"""A study's own words in further languages, as study.toml gives them for study and tasks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from listening.design.studyfile import values
from listening.design.studyfile.entries import CriterionEntry
from listening.design.studyfile.problems import Notebook, did_you_mean, quoted
from listening.design.studyfile.reader import read_table
from listening.design.studyfile.values import Wrong
from listening.methods import Method

Words = dict[str, Any]


def read_study_words(study: Mapping[str, Any], notes: Notebook) -> dict[str, Words]:
    """Language tag → what the study says; an empty table offers it in that language too."""
    checks = [check["key"] for check in study["checks"]]
    asked = {each["key"]: each["questions"] for each in study["questionnaires"]}

    def words(given: Any, where: str) -> Words:
        fields = read_table(given, "study.translations.*", where, notes)
        fields["texts"] = _without_blanks(
            read_table(fields["texts"], "study.translations.*.texts", f"{where}.texts", notes)
        )
        known = _Known(checks, "The study has no check", f"{where}.checks", notes)
        fields["checks"] = known.read(fields["checks"], "study.translations.*.checks.*")
        known = _Known(asked, "The study has no questionnaire", f"{where}.questionnaires", notes)
        forms = known.read(fields["questionnaires"], "study.translations.*.questionnaires.*")
        for key, form in forms.items():
            place = f"{where}.questionnaires.{key}.questions"
            _read_questions(form, asked[key], place, notes)
        return _without_blanks(fields | {"questionnaires": forms})

    translations = _by_language(study["translations"], "study.translations", notes, words)
    if study["language"] in translations:
        what = f"“{study['language']}” is the language of the study itself."
        place = f"study.translations.{study['language']}"
        on_page = "Remove this one of the further languages."
        notes.toml(place, what, "Write its words in [study].", on_page)
    return translations


def _read_questions(
    form: Words, questions: Sequence[Mapping[str, Any]], where: str, notes: Notebook
) -> None:
    values = {q["key"]: [option["value"] for option in q["options"]] for q in questions}
    known = _Known(values, "The questionnaire has no question", where, notes)
    read = known.read(
        form.pop("questions", {}), "study.translations.*.questionnaires.*.questions.*"
    )
    for key, words in read.items():
        _check_names(words.get("options", {}), values[key], f"{where}.{key}.options", notes)
    if read:
        form["questions"] = read


def read_task_words(
    task: Mapping[str, Any], where: str, method: Method | None, notes: Notebook
) -> dict[str, Words]:
    """Language tag → what the task says in that language."""
    criteria: Sequence[CriterionEntry] = task["criteria"]
    labels = {c.key: _labels(method, {**task["options"], **c.options}) for c in criteria}
    shown = [example["stimulus"] for example in task["examples"]]
    trained = [entry["stimulus"] for entry in task["training"]]

    def words(given: Any, place: str) -> Words:
        fields = read_table(given, "tasks.translations.*", place, notes)
        reason = read_table(
            fields["justification"],
            "tasks.translations.*.justification",
            f"{place}.justification",
            notes,
        )
        reason |= {name: list(reason[name]) for name in ("good", "poor")}
        for stimulus in [each for each in fields["captions"] if each not in shown]:
            what = f"“{stimulus}” is no example of this task."
            notes.toml(f"{place}.captions.{stimulus}", what, did_you_mean(stimulus, shown))
        known = _Known(trained, "The task has no training with", f"{place}.training", notes)
        fields["training"] = known.read(fields["training"], "tasks.translations.*.training.*")
        known = _Known(labels, "The task has no criterion", f"{place}.criteria", notes)
        asked = known.read(fields["criteria"], "tasks.translations.*.criteria.*")
        for key, each in asked.items():
            at = f"{place}.criteria.{key}.names"
            _check_names(each.get("names", {}), labels[key], at, notes)
        return _without_blanks(
            fields | {"justification": _without_blanks(reason), "criteria": asked}
        )

    return _by_language(task["translations"], f"{where}.translations", notes, words)


@dataclass(frozen=True)
class _Known:
    """Tables by keys that the study has; other keys are mistakes."""

    keys: Collection[str]
    lacking: str
    where: str
    notes: Notebook

    def read(self, table: Mapping[str, Any], schema_path: str) -> dict[str, Words]:
        words_by_key = {}
        for key, given in table.items():
            place = f"{self.where}.{key}"
            if key in self.keys:
                words_by_key[key] = _without_blanks(
                    read_table(given, schema_path, place, self.notes)
                )
            else:
                what = f"{self.lacking} “{key}”."
                self.notes.toml(place, what, did_you_mean(key, self.keys))
        return words_by_key


def check_offered(
    study: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]], notes: Notebook
) -> None:
    """A task speaks no language in which the study is not offered."""
    for n, translations in enumerate(tasks, start=1):
        for tag in translations:
            if tag not in study:
                what = f"The study is not offered in “{tag}”."
                remedy = f"Add a table [study.translations.{tag}]; it may be empty."
                on_page = "Add it to the further languages."
                notes.toml(f"tasks[{n}].translations.{tag}", what, remedy, on_page)


def _by_language(
    table: Any, where: str, notes: Notebook, words: Callable[[Any, str], Words]
) -> dict[str, Words]:
    by_language: dict[str, Words] = {}
    for tag, given in table.items():
        place = f"{where}.{tag}"
        try:
            clean = values.language(tag, longest=16)
        except Wrong as wrong:
            notes.toml(place, wrong.what, wrong.remedy)
            continue
        by_language[clean] = words(given, place)
    return by_language


def _labels(method: Method | None, options: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The labels of a criterion's scale; None where there is no telling."""
    try:
        return method.scale(options).labels if method else None
    except (ValueError, TypeError, KeyError):  # said where the scale is checked
        return None


def _check_names(
    names: Mapping[str, str], labels: Sequence[str] | None, where: str, notes: Notebook
) -> None:
    for label in names:
        if labels is not None and label not in labels:
            remedy = f"There are: {quoted(labels)}." if labels else "Remove it: there are none."
            notes.toml(f"{where}.{label}", f"There is no answer “{label}”.", remedy)


def _without_blanks(fields: Mapping[str, Any]) -> Words:
    return {name: value for name, value in fields.items() if value not in ("", (), [], {})}
