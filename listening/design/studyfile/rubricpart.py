"""A task whose raters read the rubric of a judge: its words become the task's own.

The option ``rubric`` names a file of `listening.methods.rubrics`. Instructions get its criteria,
and the scale where raters have it; questions, the words at the points and the step are the
rubric's. What the study says of these beside it is refused: judges and raters would read two
things under one name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from listening.design.studyfile.entries import TaskEntry
from listening.design.studyfile.problems import Notebook
from listening.methods.rubrics import Asked, RubricError, Shared, shared_rubric

OPTION = "rubric"
MARKED = "@"  # in the full name of one's own, which a study has once it was read
SCALED = "mos"  # the method whose scale a rubric may name; of others raters read the criteria alone
REMEDY = "Remove it here, or remove the option rubric."


def with_rubric(
    fields: Mapping[str, Any], where: str, language: str, notes: Notebook
) -> dict[str, Any]:
    """The fields of a task with the words of its rubric; as they are where it names none."""
    options = dict(fields["options"])
    named = options.get(OPTION)
    if named is None:
        return dict(fields)
    try:
        full, shared = shared_rubric(str(named), language)
    except RubricError as error:
        if MARKED in str(named) and fields["instructions"]:
            return dict(fields)  # of a file that is not here, its words already are
        notes.toml(f"{where}.options.{OPTION}", f"{error}.", "Name one of these, or remove it.")
        return dict(fields)
    scaled = fields["method"] == SCALED and bool(shared.points)
    own: dict[str, Any] = {OPTION: full}
    if scaled:
        own |= {"names": dict(shared.points), "step": shared.step}
    for name, value in own.items():
        if name != OPTION and name in options and options[name] != value:
            what = f"The rubric {full} has {name} of its own: {_told(value)}."
            notes.toml(f"{where}.options.{name}", what, REMEDY)
    return {
        **fields,
        "options": {**options, **own},
        "instructions": _instructions(fields["instructions"], shared.instructions(scale=scaled)),
        "criteria": tuple(_rubric_criteria(fields["criteria"], shared, full, where, notes)),
    }


def places_of_rubric(task: TaskEntry) -> set[tuple[str, ...]]:
    """What of a task is its rubric's, by paths below it: its words change with the rubric alone."""
    try:
        _, shared = shared_rubric(str(task.options[OPTION]))
    except (KeyError, RubricError):
        return set()
    places: set[tuple[str, ...]] = {("instructions",)} if shared.criteria else set()
    scaled = task.method == SCALED and bool(shared.points)
    for each in task.criteria if scaled else ():
        places |= {("criteria", each.key, "words", label) for label in shared.points}
    for asked in shared.asked:
        places |= {("criteria", asked.key, name) for name in ("question", "help_text")}
        places |= {("criteria", asked.key, "words", "0")} if asked.absent else set()
    return places


def _instructions(own: str, shared: str) -> str:
    """The study's instructions, then the rubric's text, unless it stands there already."""
    return own if shared in own else "\n\n".join(filter(None, [own.strip(), shared]))


def _rubric_criteria(
    tables: Any, shared: Shared, full: str, where: str, notes: Notebook
) -> Iterator[dict[str, Any]]:
    """The task's criteria, asked as the rubric asks them; without any, all of the rubric's."""
    asked = {each.key: each for each in shared.asked}
    if not tables:
        yield from (_with_question({"key": key}, each) for key, each in asked.items())
        return
    for n, table in enumerate(tables, start=1):
        each = asked.get(table.get("key", "")) if isinstance(table, Mapping) else None
        if each is None:
            yield table
            continue
        filled = _with_question(table, each)
        for name in ("question", "help_text"):
            if table.get(name) not in (None, filled[name]):
                what = f"The rubric {full} asks: “{filled[name]}”."
                notes.toml(f"{where}.criteria[{n}].{name}", what, REMEDY)
        yield filled


def _with_question(table: Mapping[str, Any], each: Asked) -> dict[str, Any]:
    options = {**table.get("options", {})}
    if each.absent:
        options["absent"] = each.absent
    return {**table, "question": each.question, "help_text": each.help_text, "options": options}


def _told(value: Any) -> str:
    return ", ".join(map(str, value.values())) if isinstance(value, Mapping) else str(value)
