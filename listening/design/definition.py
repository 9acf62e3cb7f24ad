"""What a study's definition is made of, field by field: what raters read, and what was measured.

The schema of study.toml says of every field whether it may be corrected once raters have answered,
and whether two versions of a study must agree in it for their ratings to be of one kind.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache, lru_cache
from typing import Any

from listening.design.kinds import Kind
from listening.design.studyfile.drawing import rule_of
from listening.design.studyfile.entries import StudyFile
from listening.methods import method_named

Path = tuple[str, ...]


MADE = (  # what a definition has beside the fields of study.toml
    (("languages",), Kind.MEASURED),
    (("tasks", "*", "place"), Kind.PLAN),
    (("tasks", "*", "criteria", "*", "words", "*"), Kind.ASKED),
)
READ = (Kind.WORDING, Kind.ASKED)
IDS = ("key", "stimulus", "value", "kind")  # what names an entry of a list
WORD_OPTIONS = ("names", "absent", "tie", "choices")  # of a scale, which says them by label
Definition = dict[Path, Any]  # every field that is not a table, by its path


@cache
def patterns() -> tuple[tuple[Path, Kind], ...]:
    """What each field is, by its path; the first that fits says it. * is one name, ** the rest."""
    from listening.design.studyfile.schema import StudyToml, kinds

    return (*MADE, *kinds(StudyToml))


@lru_cache(maxsize=10_000)  # pages ask for each field of a study, several times
def kind_of(path: Path) -> Kind:
    """What a field is; KeyError for one that the schema does not know."""
    for pattern, kind in patterns():
        if _fits(pattern, path):
            return kind
    raise KeyError(f"listening.design.studyfile.schema says nothing of {'.'.join(path)}")


def definition_of(file: StudyFile) -> Definition:
    """The study's fields by their paths, entries of lists by their own names; clips apart."""
    raw = asdict(file)
    for name in ("items", "stimuli"):
        del raw[name]
    raw["languages"] = sorted(file.translations)
    for task, entry in zip(file.tasks, raw["tasks"], strict=True):
        method, options = method_named(task.method), entry.pop("options")
        entry["draw"] = rule_of(task.draw)  # what came of it is told by the clips
        for criterion in entry["criteria"]:
            own = {**options, **criterion["options"]}
            scale = method.scale(own).as_dict()
            criterion["words"] = {step["label"]: step.pop("text") for step in scale["steps"]}
            criterion["scale"] = {**scale, "steps": [_step(step) for step in scale["steps"]]}
            criterion["options"] = {k: v for k, v in own.items() if k not in WORD_OPTIONS}
    return {path: value for path, value in _leaves(raw) if kind_of(path) != Kind.RECORD}


def values_of_kinds(definition: Mapping[Path, Any], *kinds: Kind) -> Definition:
    return {path: value for path, value in definition.items() if kind_of(path) in kinds}


def measured(definition: Mapping[Path, Any], task: str) -> Definition:
    """All that must be the same where ratings of a task are to be of one kind."""
    values = values_of_kinds(definition, Kind.MEASURED)
    return {path: v for path, v in values.items() if path[0] != "tasks" or path[1] == task}


def digest(part: Mapping[Path, Any]) -> str:
    """SHA-256 of fields and their values, in an order of its own."""
    lines = sorted(json.dumps([*path, value], ensure_ascii=False) for path, value in part.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def changes(before: Mapping[Path, Any], after: Mapping[Path, Any]) -> dict[Path, tuple[Any, Any]]:
    """The fields that differ, with both values; one that is absent is None."""
    paths = [*before, *(path for path in after if path not in before)]
    pairs = {path: (before.get(path), after.get(path)) for path in paths}
    return {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}


def path_title(path: Path) -> str:
    """A field as people read it: tasks › naturalness › criteria › mos › words › 5."""
    return " › ".join(part.replace("_", " ") for part in path)


def _fits(pattern: Path, path: Path) -> bool:
    if pattern[-1] == "**":
        head = pattern[:-1]
        return len(path) >= len(head) and _fits(head, path[: len(head)])
    same = (p in ("*", name) for p, name in zip(pattern, path, strict=False))
    return len(pattern) == len(path) and all(same)


def _step(step: Mapping[str, Any]) -> dict[str, Any]:
    return {"key": step["label"], **{k: v for k, v in step.items() if k != "label"}}


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value that is not a table, with its path."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _leaves(each, (*path, str(name)))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield from _list_leaves(list(value), path)
    elif value not in (None, ""):
        yield path, value


def _list_leaves(values: list[Any], path: Path) -> Iterator[tuple[Path, Any]]:
    tables = [each for each in values if isinstance(each, Mapping)]
    if path[-1] in ("good", "poor"):  # sentences, each by its place
        yield from (((*path, str(n)), text) for n, text in enumerate(values))
    elif not tables:
        if values:
            yield path, values
    else:
        for place, table in enumerate(tables, start=1):
            name = next((str(table[each]) for each in IDS if each in table), str(place))
            rest = {k: v for k, v in table.items() if not (k in IDS and str(v) == name)}
            yield from _leaves({**rest, "place": place}, (*path, name))
