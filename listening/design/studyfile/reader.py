"""A table of study.toml read by the schema: each field checked, each mistake with its remedy."""

from __future__ import annotations

import re
from typing import Any

from listening.design.studyfile.problems import Notebook, did_you_mean
from listening.design.studyfile.values import Wrong, kind_of

# Kind of a pydantic error -> what is wrong, and the remedy. Our own values raise Wrong themselves.
MESSAGES = {
    "int_type": ("This is {type} and no whole number.", "Write digits only."),
    "float_type": ("This is {type} and no number.", "Write a number."),
    "finite_number": ("“{value}” is no number that can be used.", "Write a number."),
    "greater_than_equal": ("{value} is outside {ge:,} to {le:,}.", "Choose a number in between."),
    "less_than_equal": ("{value} is outside {ge:,} to {le:,}.", "Choose a number in between."),
    "bool_type": ("This is {type}.", "Write true or false, without quotes."),
}
ELSEWHERE = {  # what newcomers look for in [study], and where it is
    "method": "[[tasks]]",
    "conditions": "[[conditions]] tables of their own",
    "options": "[tasks.options]",
}


def read_table(raw: Any, schema_path: str, where: str, notes: Notebook) -> dict[str, Any]:
    """Every field of a table of the schema, checked; a missing or wrong one has its default.

    `schema_path` names the table as the schema does ("tasks.criteria"), `where` as the file does
    ("tasks[1].criteria[2]").
    """
    from pydantic import ValidationError  # a process that reads no study does without

    from listening.design.studyfile.schema import TABLES, bounds, default_of

    table = TABLES[schema_path]
    if not isinstance(raw, dict):
        notes.toml(where, f"This is {kind_of(raw)} and no table.", f"Write it as [{where}].")
        raw = {}
    for key in raw:
        if key in table.model_fields or table.model_config.get("extra") == "allow":
            continue
        remedy = did_you_mean(key, table.model_fields)
        if where == "study":
            texts = dict.fromkeys(fields_of("study.texts"), "[study.texts]")
            if elsewhere := (texts | ELSEWHERE).get(key):
                remedy = f"It belongs into {elsewhere}."
        notes.toml(_path(where, key), f"There is no field “{key}”.", remedy)
    values = {}
    empty = table.model_construct()
    for key, field in table.model_fields.items():
        values[key] = default_of(field)
        if key not in raw:
            if field.is_required():
                what, remedy = "This field is missing.", f"Add {key} = …"
                notes.toml(_path(where, key), what, remedy, "Fill it in.")
            continue
        try:
            read = table.__pydantic_validator__.validate_assignment(empty, key, raw[key])
            values[key] = getattr(read, key)
        except ValidationError as error:
            (first, *_) = error.errors(include_url=False)
            notes.toml(_path(where, key), *_message(first, where, key, bounds(field)))
    return values


def _message(error: Any, where: str, key: str, limits: dict[str, float]) -> tuple[str, str]:
    """What is wrong with a field, and the remedy."""
    wrong = error.get("ctx", {}).get("error")
    if isinstance(wrong, Wrong):
        own = _path(re.sub(r"\[\d+\]", "", where), key)
        remedy = wrong.remedy.replace("[table]", f"[{own}]")
        return wrong.what, remedy.replace("[[tables]]", f"[[{own}]]")
    value = error["input"]
    what, remedy = MESSAGES[error["type"]]
    return what.format(value=value, type=kind_of(value), **limits), remedy


def _path(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def fields_of(schema_path: str) -> tuple[str, ...]:
    """The names of the fields of a table, in the order in which they are written."""
    from listening.design.studyfile.schema import TABLES

    return tuple(TABLES[schema_path].model_fields)
