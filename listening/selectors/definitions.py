"""What opened studies are defined as: corrections of their words, and two versions side by side."""

from __future__ import annotations

from typing import Any, TypedDict

from listening.access.rights import rights_in
from listening.design.definition import (
    READ,
    changes,
    definition_of,
    measured,
    path_title,
    values_of_kinds,
)
from listening.design.studyfile import TOML
from listening.models import Study
from listening.models.study import earlier_versions
from listening.studies.exporting import study_as_file


class CorrectionFacts(TypedDict):
    """Words corrected after raters began, before and after."""

    on: str
    ratings: int  # that were stored then
    reason: str
    changes: list[dict[str, str]]  # place, before, after


class EarlierVersion(TypedDict):
    """A version before a study, of which somebody may do what they want."""

    key: str
    title: str
    version: int


class VersionMatch(TypedDict):
    """Two versions of a study beside each other, as far as their definitions go."""

    versions: tuple[int, int]  # the earlier one, the later one
    tasks: list[str]  # that both ask, measured in the same way
    apart: list[str]  # tasks that only one of them asks
    refused: list[str]  # why their ratings are not of one kind, a sentence each
    wording: list[str]  # places of words that differ
    shared: list[str]  # clips that are the same sound under the same name
    changed: list[str]  # clips of the same name and condition that are another sound


def corrections_of(study: Study) -> list[CorrectionFacts]:
    corrections = study.definitions.exclude(changes=[]).defer("toml", "clips").order_by("revision")
    return [
        CorrectionFacts(
            on=each.at.strftime("%Y-%m-%d"),
            ratings=each.ratings,
            reason=each.reason,
            changes=each.changes,
        )
        for each in corrections
    ]


def definition_files(study: str) -> dict[str, str]:
    """The frozen definition as opened and after each correction, by the names of their files."""
    files: dict[str, str] = {}
    for each in Study.objects.get(key=study).definitions.order_by("revision"):
        folder = f"definition/correction-{each.revision}" if each.revision else "definition"
        files[f"{folder}/{TOML}"] = each.toml
        files[f"{folder}/clips.csv"] = each.clips
        files[f"{folder}/sha256.txt"] = f"{each.sha256}\n"
    return files


def earlier_with(study: str, user: Any, wants: str) -> list[EarlierVersion]:
    """The versions before a study, the newest first, with which this user may do that."""
    before = earlier_versions(Study.objects.get(key=study))
    return [
        EarlierVersion(key=each.key, title=each.called, version=each.version)
        for each in before
        if wants in rights_in(each, user)
    ]


def is_earlier(study: str, other: str) -> bool:
    """Whether the other study is a version before this one."""
    row = Study.objects.filter(key=study).first()
    return row is not None and other in [each.key for each in earlier_versions(row)]


def version_match(before: str, after: str) -> VersionMatch:
    """What two versions share and where they differ; `refused` is empty where they may be pooled
    as far as their definitions say."""
    studies = Study.objects.get(key=before), Study.objects.get(key=after)
    first, second = (definition_of(study_as_file(study)) for study in studies)
    task_keys = [_tasks(first), _tasks(second)]
    both = [task for task in task_keys[0] if task in task_keys[1]]
    shared, changed, objections = _clips(*studies)
    refused = [] if both else ["They have no task in common."]
    refused += [each for task in both for each in _otherwise_measured(first, second, task)]
    words = changes(values_of_kinds(first, *READ), values_of_kinds(second, *READ))
    return VersionMatch(
        versions=(studies[0].version, studies[1].version),
        tasks=both,
        apart=sorted({*task_keys[0]} ^ {*task_keys[1]}),
        refused=list(dict.fromkeys(refused)) + objections,
        wording=[path_title(path) for path in words if path[0] != "tasks" or path[1] in both],
        shared=shared,
        changed=changed,
    )


def _tasks(definition: dict[tuple[str, ...], Any]) -> list[str]:
    return list(dict.fromkeys(path[1] for path in definition if path[0] == "tasks"))


def _otherwise_measured(first: Any, second: Any, task: str) -> list[str]:
    """Each field of the measurement that is not the same, with both values."""
    differences = changes(measured(first, task), measured(second, task))
    return [
        f"“{path_title(path)}” differs: {_value(old)} in the earlier version, {_value(new)} in the "
        "later one."
        for path, (old, new) in differences.items()
    ]


def _value(value: Any) -> str:
    return "nothing" if value is None else str(value)


def _clips(before: Study, after: Study) -> tuple[list[str], list[str], list[str]]:
    """Clips that are the same, those of one name that are not, and what speaks against pooling."""
    fields = ("key", "condition__key", "condition__role", "derived", "sha256", "served_sha256")
    old, new = (
        {row[:2]: row[2:] for row in study.stimuli.filter(trap="").values_list(*fields)}
        for study in (before, after)
    )
    both = [clip for clip in old if clip in new]
    shared = [clip for clip in both if _same_sound(old[clip], new[clip])]
    objections = [
        f"The condition “{condition}” is in both and has no clip in common: another system needs "
        "another name."
        for condition in sorted({c for _, c in old} & {c for _, c in new})
        if condition not in {c for _, c in shared}
    ]
    roles = {clip[1]: (old[clip][0], new[clip][0]) for clip in both if old[clip][0] != new[clip][0]}
    objections += [
        f"“{condition}” is {role[0]} in the earlier version and {role[1]} in the later one."
        for condition, role in sorted(roles.items())
    ]
    if not shared:
        objections = ["They have no clip in common, so nothing tells what the version changed."]
    return (
        sorted(k for k, _ in shared),
        sorted({k for k, _ in both} - {k for k, _ in shared}),
        objections,
    )


def _same_sound(old: tuple[Any, ...], new: tuple[Any, ...]) -> bool:
    """The same original brought to the same level, or the same copy where lines were joined."""
    return bool(old[3] == new[3] or (not old[1] and old[2] == new[2]))
