"""Wording corrected after raters began: logged with before and after, and measured the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from listening.common.command_name import command
from listening.common.languages import speaking
from listening.design.definition import (
    IDS,
    READ,
    Definition,
    Path,
    changes,
    definition_of,
    kind_of,
    path_title,
    values_of_kinds,
)
from listening.design.kinds import Kind
from listening.design.questionnaires import PREFER_NOT
from listening.design.studyfile import CriterionEntry, StudyFile, StudyProblems, toml_text
from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.reader import fields_of
from listening.design.studyfile.study_toml import read_study_toml, rubric_paths
from listening.methods import method_named
from listening.models import Study, StudyDefinition
from listening.models.study_log import note
from listening.studies.exporting import study_as_file
from listening.studies.findings import StudyError
from listening.studies.states import freeze, freeze_when_opened

VERSION = (
    "Copy the study as the next version and change it there: Settings, General, or "
    f"{command('copy_study --as-version')}."
)


@dataclass(frozen=True)
class CorrectableText:
    """Words that raters read, and where they stand."""

    path: Path
    words: str  # as raters read them in the study's language
    kind: Kind

    @property
    def name(self) -> str:
        return "/".join(part.replace("~", "~0").replace("/", "~1") for part in self.path)

    @property
    def where(self) -> str:
        return path_title(self.path)


def correctable_texts(study: Study) -> list[CorrectableText]:
    """All words of a study that may be corrected, in the order of its definition."""
    with speaking(study.language):
        texts = [
            CorrectableText(path, _translate(path, str(words)), kind_of(path))
            for path, words in correctable(study_as_file(study)).items()
        ]
    return sorted(texts, key=_as_met)  # a stable sort: all but texts stay in their order


def correctable(file: StudyFile) -> Definition:
    """The words of a study that may be corrected, by their paths.

    Not those of a task's rubric, which judges read, too: they change with the rubric alone.
    """
    fixed = {("tasks", t.key, *place) for t in file.tasks for place in rubric_paths(t)}
    read = values_of_kinds(definition_of(file), *READ)
    return {
        path: words
        for path, words in read.items()
        if PREFER_NOT not in path and path not in fixed and _has_a_place(path, file)
    }


def _has_a_place(path: Path, file: StudyFile) -> bool:
    """False of an answer in Earnest's own words, which no option of its method holds."""
    if not _is_label(path):
        return True
    _, of_task, _, of_criterion, _, label = path
    task = next(task for task in file.tasks if task.key == of_task)
    criterion = next(each for each in task.criteria if each.key == of_criterion)
    own = dict(criterion.options)
    _put_label(own, task.options, label, "new")
    changed = method_named(task.method).scale({**task.options, **own})
    return any(step.label == label and step.text == "new" for step in changed.steps)


def _as_met(place: CorrectableText) -> tuple[int, int]:
    """Texts in the order in which raters meet them; the database keeps them in another."""
    first, *rest = place.path
    if first in ("title", "texts"):
        return 0, fields_of("study.texts").index(rest[0]) if rest else -1
    return 1, 0


def _translate(path: Path, words: str) -> str:
    """Our own words in the study's language; those of its translations are the study's."""
    return words if "translations" in path or not words else gettext(words)


@transaction.atomic
def correct_wording(
    study: Study,
    words: Mapping[str, str],
    *,
    by: str,
    reason: str = "",
    same_meaning: bool = False,
    seen: int | None = None,
) -> StudyDefinition:
    """Other words at the places of these names, from now on; StudyError says why it is refused.

    `seen` is the revision that whoever corrects looked at. What the import finds wrong with the
    words is a StudyProblems. Nothing but wording can change by it.
    """
    row = Study.objects.select_for_update().get(pk=study.pk)
    changed = _changed_texts(row, words, seen)
    _check(changed, reason, same_meaning)
    before = study_as_file(row)
    after = _corrected(before, changed)
    freeze_when_opened(row, by)
    corrections = [
        {"place": place.where, "before": place.words, "after": text} for place, text in changed
    ]
    row.wording += 1
    _store(row, after)
    frozen = freeze(row, after, by, corrections, reason.strip())
    pairs = {each["place"]: {"from": each["before"], "to": each["after"]} for each in corrections}
    note(row, "corrected", by, revision=row.wording, reason=reason.strip(), **pairs)
    study.refresh_from_db()
    return frozen


Changed = list[tuple[CorrectableText, str]]


def _changed_texts(study: Study, words: Mapping[str, str], seen: int | None) -> Changed:
    if study.state == Study.State.DRAFT:
        raise StudyError("The study is not open yet: edit the draft instead.")
    if study.state == Study.State.CLOSED:
        raise StudyError("The study is closed: its wording cannot be corrected.")
    if seen is not None and seen != study.wording:
        raise StudyError(
            "Somebody else corrected the wording. Nothing was changed: check the new version."
        )
    places = {place.name: place for place in correctable_texts(study)}
    if unknown := [name for name in words if name not in places]:
        raise StudyError(_not_wording(unknown[0]))
    clean = {name: text.replace("\r\n", "\n").strip() for name, text in words.items()}
    changed = [(places[name], text) for name, text in clean.items() if text != places[name].words]
    if not changed:
        raise StudyError("Nothing was changed.")
    return changed


def _not_wording(name: str) -> str:
    path = tuple(part.replace("~1", "/").replace("~0", "~") for part in name.split("/"))
    return (
        f"“{path_title(path)}” is not a text of this study that you can change: questions and "
        f"scales stay as they are after raters have answered. {VERSION}"
    )


def _check(changed: Changed, reason: str, same_meaning: bool) -> None:
    for place, text in changed:
        if not text:
            raise StudyError(
                f"“{place.where}” would be empty: a correction keeps the text. {VERSION}"
            )
    if not reason.strip():
        raise StudyError("Say why it is corrected: the report names the reason.")
    questions = [place.where for place, _ in changed if place.kind == Kind.ASKED]
    if questions and not same_meaning:
        raise StudyError(
            f"“{questions[0]}” is what raters are asked. Confirm that it still means the same; "
            f"another question is another measurement. {VERSION}"
        )
    paths = [place.path for place, _ in changed]
    consent = [path for path in paths if path[-2:] == ("texts", "consent")]
    if consent and ("texts", "consent_version") not in paths:
        raise StudyError(
            "The consent text changes, and consent_version does not. Give it another one: sessions "
            "keep which text they agreed to."
        )


def _corrected(before: StudyFile, changed: Changed) -> StudyFile:
    """The study with the words, as the import reads it; only these words may differ."""
    raw = asdict(before)
    for place, text in changed:
        _put(raw, place.path, text)
    written = toml_text(_as_file(raw, before))
    notes = Notebook()
    read = read_study_toml(written.encode(), notes)
    if read is None or len(notes):
        raise StudyProblems(notes.in_order())
    differ = changes(definition_of(before), definition_of(read))
    wanted = {place.path: text for place, text in changed}
    strange = [path for path in differ if path not in wanted]
    strange += [path for path, text in wanted.items() if differ.get(path, ("", ""))[1] != text]
    if strange:
        raise StudyError(
            f"“{path_title(strange[0])}” cannot be changed by a correction alone. {VERSION}"
        )
    return read


def _as_file(raw: Mapping[str, Any], before: StudyFile) -> StudyFile:
    tasks = tuple(
        replace(
            task,
            **{
                name: entry[name]
                for name in ("title", "instructions", "justification", "translations", "options")
            },
            examples=tuple(entry["examples"]),
            training=tuple(entry["training"]),
            criteria=tuple(CriterionEntry(**each) for each in entry["criteria"]),
        )
        for task, entry in zip(before.tasks, raw["tasks"], strict=True)
    )
    return replace(
        before,
        tasks=tasks,
        title=raw["title"],
        texts=raw["texts"],
        translations=raw["translations"],
        checks=tuple(raw["checks"]),
        questionnaires=tuple(raw["questionnaires"]),
    )


# --- Words into their place ----------------------------------------------------------------------


def _put(raw: Any, path: Path, text: str) -> None:
    """Writes words at their path; those of a scale into the criterion's options."""
    if _is_label(path):
        task = _entry(raw["tasks"], path[1])
        _put_label(_entry(task["criteria"], path[3])["options"], task["options"], path[5], text)
        return
    at = raw
    for name in path[:-1]:
        at = _entry(at, name)
    if isinstance(at, list):
        at[int(path[-1])] = text
    else:
        at[path[-1]] = text


def _entry(at: Any, name: str) -> Any:
    if isinstance(at, Mapping):
        return at[name]
    for each in at:
        if any(str(each.get(identity)) == name for identity in IDS if identity in each):
            return each
    raise KeyError(name)


def _is_label(path: Path) -> bool:
    return len(path) == 6 and path[2] == "criteria" and path[4] == "words"


def _put_label(own: dict[str, Any], of_task: Mapping[str, Any], label: str, text: str) -> None:
    """The words of one answer, where this scale's options have them."""
    options = {**of_task, **own}
    if "choices" in options:
        own["choices"] = [_choice(choice, label, text) for choice in options["choices"]]
    elif label == "0" and options.get("absent"):
        own["absent"] = text
    elif label == "tie" and options.get("tie"):
        own["tie"] = text
    else:
        own["names"] = {**options.get("names", {}), label: text}


def _choice(choice: Any, label: str, text: str) -> Any:
    entry = {"label": choice} if isinstance(choice, str) else dict(choice)
    return {**entry, "text": text} if entry["label"] == label else choice


# --- Into the database ---------------------------------------------------------------------------


def _store(study: Study, file: StudyFile) -> None:
    for name in ("title", "texts", "translations"):
        setattr(study, name, getattr(file, name))
    study.checks, study.questionnaires = list(file.checks), list(file.questionnaires)
    study.save()
    for row, entry in zip(study.tasks.order_by("order"), file.tasks, strict=True):
        row.title, row.instructions, row.options = entry.title, entry.instructions, entry.options
        row.examples, row.training = list(entry.examples), list(entry.training)
        row.justification, row.translations = entry.justification, entry.translations
        row.save()
        method = method_named(entry.method)
        for criterion, written in zip(row.criteria.order_by("order"), entry.criteria, strict=True):
            criterion.question, criterion.help_text = (
                written.question,
                written.help_text,
            )
            criterion.options = written.options
            criterion.scale = method.scale({**entry.options, **written.options}).as_dict()
            criterion.save()
