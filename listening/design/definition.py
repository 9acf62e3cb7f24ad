"""What a study's definition is made of, field by field: what raters read, and what was measured.

One table says of every field of study.toml whether it may be corrected once raters have answered,
and whether two versions of a study must agree in it for their ratings to be of one kind.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import Any

from listening.design.studyfile.drawing import rule_of
from listening.design.studyfile.entries import StudyFile
from listening.methods import method_named

Path = tuple[str, ...]


class Kind(StrEnum):
    WORDING = "wording"  # raters read it; it may be corrected
    ASKED = "asked"  # raters read it as the question or an answer: corrected if the meaning stays
    MEASURED = "measured"  # how it was measured: never changed, and the same in what is combined
    PLAN = "plan"  # of what, how often, in which order: never changed, may differ by version
    RECORD = "record"  # neither read nor measured: not part of the definition


FIELDS: tuple[tuple[str, Kind], ...] = (  # the first that fits says it; * is one name, ** the rest
    ("key", Kind.RECORD),
    ("completion_codes.**", Kind.RECORD),
    ("publication.**", Kind.RECORD),
    ("ethics.**", Kind.RECORD),  # what raters read of it stands in the consent
    ("payment.**", Kind.RECORD),
    ("sources.**", Kind.RECORD),
    ("erase_after_days", Kind.RECORD),
    ("erase_on", Kind.RECORD),
    ("erase_reasons", Kind.RECORD),
    ("conditions.*.label", Kind.RECORD),  # for researchers
    ("title", Kind.WORDING),
    ("texts.*", Kind.WORDING),
    ("languages", Kind.MEASURED),
    ("language", Kind.MEASURED),
    ("loudness_lufs", Kind.MEASURED),
    ("sample_rate_hz", Kind.MEASURED),
    ("ends", Kind.MEASURED),
    ("settings.**", Kind.MEASURED),
    ("checks.*.title", Kind.WORDING),
    ("checks.*.text", Kind.WORDING),
    ("checks.**", Kind.MEASURED),
    ("questionnaires.*.title", Kind.WORDING),
    ("questionnaires.*.text", Kind.WORDING),
    ("questionnaires.*.questions.*.question", Kind.ASKED),
    ("questionnaires.*.questions.*.help", Kind.ASKED),
    ("questionnaires.*.questions.*.options.*.text", Kind.ASKED),
    ("questionnaires.**", Kind.PLAN),
    ("translations.*.title", Kind.WORDING),
    ("translations.*.texts.*", Kind.WORDING),
    ("translations.*.checks.*.*", Kind.WORDING),
    ("translations.*.questionnaires.*.questions.**", Kind.ASKED),
    ("translations.*.questionnaires.*.*", Kind.WORDING),
    ("conditions.**", Kind.PLAN),
    ("seed", Kind.PLAN),
    ("task_plan", Kind.PLAN),
    ("sessions_per_rater", Kind.PLAN),
    ("lease_minutes", Kind.PLAN),
    ("break_every", Kind.PLAN),
    ("analysis_rules.**", Kind.PLAN),
    ("hypotheses", Kind.PLAN),
    ("tasks.*.title", Kind.WORDING),
    ("tasks.*.instructions", Kind.ASKED),
    ("tasks.*.method", Kind.MEASURED),
    ("tasks.*.show_text", Kind.MEASURED),
    ("tasks.*.show_caption", Kind.MEASURED),
    ("tasks.*.autoplay", Kind.MEASURED),
    ("tasks.*.examples.*.caption", Kind.WORDING),
    ("tasks.*.examples.**", Kind.MEASURED),
    ("tasks.*.training.*.right", Kind.WORDING),
    ("tasks.*.training.*.wrong", Kind.WORDING),
    ("tasks.*.training.**", Kind.MEASURED),
    ("tasks.*.justification.prompt", Kind.ASKED),
    ("tasks.*.justification.good.*", Kind.WORDING),
    ("tasks.*.justification.poor.*", Kind.WORDING),
    ("tasks.*.justification.**", Kind.MEASURED),
    ("tasks.*.traps.**", Kind.MEASURED),
    ("tasks.*.criteria.*.question", Kind.ASKED),
    ("tasks.*.criteria.*.help_text", Kind.ASKED),
    ("tasks.*.criteria.*.words.*", Kind.ASKED),
    ("tasks.*.criteria.**", Kind.MEASURED),
    ("tasks.*.translations.*.title", Kind.WORDING),
    ("tasks.*.translations.*.instructions", Kind.ASKED),
    ("tasks.*.translations.*.justification.prompt", Kind.ASKED),
    ("tasks.*.translations.*.criteria.**", Kind.ASKED),
    ("tasks.*.translations.**", Kind.WORDING),
    ("tasks.*.place", Kind.PLAN),
    ("tasks.*.conditions", Kind.PLAN),
    ("tasks.*.dimensions", Kind.PLAN),
    ("tasks.*.draw.**", Kind.PLAN),
    ("tasks.*.block_size", Kind.PLAN),
    ("tasks.*.ratings_per_stimulus", Kind.PLAN),
    ("tasks.*.blocks_per_session", Kind.PLAN),
    ("tasks.*.blocks_per_rater", Kind.PLAN),
    ("tasks.*.repeat_items", Kind.PLAN),
    ("tasks.*.allow_missing", Kind.PLAN),
    ("tasks.*.reopen_invalid", Kind.PLAN),
    ("tasks.*.repeats", Kind.PLAN),
)
PATTERNS = tuple((tuple(pattern.split(".")), kind) for pattern, kind in FIELDS)
READ = (Kind.WORDING, Kind.ASKED)
IDS = ("key", "stimulus", "value", "kind")  # what names an entry of a list
WORD_OPTIONS = ("names", "absent", "tie", "choices")  # of a scale, which says them by label
Definition = dict[Path, Any]  # every field that is not a table, by its path


def kind_of(path: Path) -> Kind:
    """What a field is; KeyError for one that the table does not know."""
    for pattern, kind in PATTERNS:
        if _fits(pattern, path):
            return kind
    raise KeyError(f"listening.design.definition.FIELDS says nothing of {'.'.join(path)}")


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


def of_kinds(definition: Mapping[Path, Any], *kinds: Kind) -> Definition:
    return {path: value for path, value in definition.items() if kind_of(path) in kinds}


def measured(definition: Mapping[Path, Any], task: str) -> Definition:
    """All that must be the same where ratings of a task are to be of one kind."""
    found = of_kinds(definition, Kind.MEASURED)
    return {path: v for path, v in found.items() if path[0] != "tasks" or path[1] == task}


def digest(part: Mapping[Path, Any]) -> str:
    """SHA-256 of fields and their values, in an order of its own."""
    lines = sorted(json.dumps([*path, value], ensure_ascii=False) for path, value in part.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def changes(before: Mapping[Path, Any], after: Mapping[Path, Any]) -> dict[Path, tuple[Any, Any]]:
    """The fields that differ, with both values; one that is absent is None."""
    paths = [*before, *(path for path in after if path not in before)]
    pairs = {path: (before.get(path), after.get(path)) for path in paths}
    return {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}


def place_of(path: Path) -> str:
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
        yield from _of_list(list(value), path)
    elif value not in (None, ""):
        yield path, value


def _of_list(values: list[Any], path: Path) -> Iterator[tuple[Path, Any]]:
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
