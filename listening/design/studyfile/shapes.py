"""Fields of a TOML table, declared: their kind, limits and default; and a table read by them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from listening.design.studyfile.problems import Notebook, did_you_mean, quoted

SLUG = re.compile(r"[-a-zA-Z0-9_]+")
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")
CODE = re.compile(r"[A-Za-z0-9_-]+")
INVISIBLE = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
LONGEST_TEXT = 20_000
TEXTS = "[study.texts]"
ELSEWHERE = {  # (table, field) -> where newcomers look for it, and where it is
    **{
        ("study", key): TEXTS
        for key in (
            *("welcome", "consent", "consent_version", "end", "contact", "debrief"),
            "comment_prompt",
        )
    },
    ("study", "method"): "[[tasks]]",
    ("study", "conditions"): "[[conditions]] tables of their own",
    ("study", "options"): "[tasks.options]",
}


class Wrong(ValueError):
    """A value that does not fit its field: what is wrong, and the remedy."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what, remedy)
        self.what, self.remedy = what, remedy


@dataclass(frozen=True)
class Field:
    """One key of a table; `kind` turns the value into ours or raises Wrong."""

    kind: Callable[[Any, Field], Any]
    default: Any = None
    required: bool = False
    longest: int = LONGEST_TEXT
    low: float = 0
    high: float = 2**31 - 1
    choices: tuple[str, ...] = ()


Shape = Mapping[str, Field]


def read_table(table: Any, shape: Shape, where: str, notes: Notebook) -> dict[str, Any]:
    """Every field of the shape, checked; a missing or wrong one has its default."""
    if not isinstance(table, dict):
        notes.toml(where, f"This is {_kind_of(table)} and no table.", f"Write it as [{where}].")
        table = {}
    for key in table:
        if key not in shape:
            where_else = ELSEWHERE.get((where, key))
            remedy = f"It belongs into {where_else}." if where_else else did_you_mean(key, shape)
            notes.toml(path(where, key), f"There is no field “{key}”.", remedy)
    return {key: _read_field(table, key, field, where, notes) for key, field in shape.items()}


def path(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _read_field(table: dict[str, Any], key: str, field: Field, where: str, notes: Notebook) -> Any:
    if key not in table:
        if field.required:
            notes.toml(path(where, key), "This field is missing.", f"Add {key} = …")
        return field.default
    try:
        return field.kind(table[key], field)
    except Wrong as wrong:
        own = path(re.sub(r"\[\d+\]", "", where), key)
        remedy = wrong.remedy.replace("[table]", f"[{own}]").replace("[[tables]]", f"[[{own}]]")
        notes.toml(path(where, key), wrong.what, remedy)
        return field.default


def text(value: Any, field: Field) -> str:
    """Words for people: no control characters, trimmed, in Unicode's composed form (NFC)."""
    if not isinstance(value, str):
        raise Wrong(f"This is {_kind_of(value)} and no text.", 'Put it in quotes: "…".')
    clean = composed(value)
    check_characters(clean)
    if len(clean) > field.longest:
        raise Wrong(
            f"The text has {len(clean):,} characters; {field.longest:,} are allowed.", "Shorten it."
        )
    if field.required and not clean:
        raise Wrong("The text is empty.", "Fill it in.")
    return clean


def identifier(value: Any, field: Field) -> str:
    """A name in any script, on one line, with nothing invisible in it."""
    clean = text(value, field)
    if not clean:
        raise Wrong("The name is empty.", "Fill it in.")
    if "\n" in clean or "\t" in clean or INVISIBLE.search(clean):
        raise Wrong(
            f"The name {clean!a} holds a line break, a tab or an invisible character.",
            "Type the name anew.",
        )
    return clean


def slug(value: Any, field: Field) -> str:
    clean = identifier(value, field)
    if not SLUG.fullmatch(clean):
        raise Wrong(
            f"“{clean}” may hold only letters a-z and A-Z, digits, - and _ (it stands in URLs and "
            "tables).",
            "Choose such a key; the title may hold any characters.",
        )
    return clean


def language(value: Any, field: Field) -> str:
    clean = text(value, field)
    if clean and not LANGUAGE.fullmatch(clean):
        raise Wrong(f"“{clean}” is no language tag.", 'Write one like "en", "de" or "zh-Hans".')
    return clean


def code(value: Any, field: Field) -> str:
    clean = text(value, field)
    if not CODE.fullmatch(clean):
        raise Wrong(
            f"“{clean}” is no completion code.", "Use letters, digits, - and _, like “C1A2B3D4”."
        )
    return clean


def choice(value: Any, field: Field) -> str:
    if value not in field.choices:
        shown = value if isinstance(value, str) else repr(value)
        raise Wrong(f"“{shown}” is none of {quoted(field.choices)}.", "Choose one of them.")
    return str(value)


def whole(value: Any, field: Field) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Wrong(f"This is {_kind_of(value)} and no whole number.", "Write digits only.")
    _check_range(value, field)
    return int(value)


def number(value: Any, field: Field) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Wrong(f"This is {_kind_of(value)} and no number.", "Write a number.")
    if not math.isfinite(value):
        raise Wrong(f"“{value}” is no number that can be used.", "Write a number.")
    _check_range(value, field)
    return int(value) if float(value).is_integer() else float(value)


def flag(value: Any, field: Field) -> bool:
    if not isinstance(value, bool):
        raise Wrong(f"This is {_kind_of(value)}.", "Write true or false, without quotes.")
    return value


def day(value: Any, field: Field) -> date:
    """A date, with or without quotes."""
    with suppress(ValueError):
        value = date.fromisoformat(value) if isinstance(value, str) else value
    if isinstance(value, datetime) or not isinstance(value, date):
        raise Wrong(f"This is {_kind_of(value)} and no date.", "Write it as 2027-06-30.")
    return value


def texts(value: Any, field: Field) -> tuple[str, ...]:
    """A list of texts, none empty, none twice."""
    if not isinstance(value, list):
        raise Wrong(f"This is {_kind_of(value)} and no list.", 'Write it as ["…", "…"].')
    one = Field(text, required=True, longest=field.longest)
    clean = tuple(text(entry, one) for entry in value)
    if twice := [word for word in clean if clean.count(word) > 1]:
        raise Wrong(
            f"{quoted(dict.fromkeys(twice))} stands in the list twice.", "Keep one of them."
        )
    if field.required and not clean:
        raise Wrong("The list is empty.", "Name at least one.")
    return clean


def table(value: Any, field: Field) -> dict[str, Any]:
    """A table without a shape, as it may be kept as JSON."""
    return {composed(key): plain(inner, field) for key, inner in raw_table(value, field).items()}


def words(value: Any, field: Field) -> dict[str, str]:
    """A table of texts; numbers and true/false are taken as written."""
    return {
        identifier(key, field): text(_as_written(inner), field)
        for key, inner in raw_table(value, field).items()
    }


def raw_table(value: Any, field: Field) -> dict[str, Any]:
    """A table whose values its own shape checks later."""
    if not isinstance(value, dict):
        raise Wrong(f"This is {_kind_of(value)} and no table.", "Write it as a [table].")
    return value


def raw_tables(value: Any, field: Field) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise Wrong(f"This is {_kind_of(value)} and no list of tables.", "Write it as [[tables]].")
    if field.required and not value:
        raise Wrong("The list is empty.", "Write at least one.")
    return value


def composed(value: str) -> str:
    """Trimmed, with \\n as the only line end, in Unicode's composed form."""
    return unicodedata.normalize("NFC", value.replace("\r\n", "\n").replace("\r", "\n").strip())


def check_characters(value: str) -> None:
    for place, char in enumerate(value):
        if char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cs"):
            name = "a NUL character" if char == "\0" else f"the control character {char!r}"
            raise Wrong(f"There is {name} at place {place + 1} of the text.", "Delete it.")


def plain(value: Any, field: Field) -> Any:
    """A value that JSON keeps as it is."""
    if isinstance(value, dict):
        return {composed(key): plain(inner, field) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner, field) for inner in value]
    if isinstance(value, str):
        clean = composed(value)
        check_characters(clean)
        return clean
    if isinstance(value, float) and not math.isfinite(value):
        raise Wrong(f"{value} is no number that can be kept.", "Write a finite number.")
    if isinstance(value, bool | int | float):
        return value
    raise Wrong(f"A value is {_kind_of(value)}.", 'Put it in quotes: "…".')


def _as_written(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"{value}"
    raise Wrong(f"A value is {_kind_of(value)} and no text.", 'Put it in quotes: "…".')


def _check_range(value: float, field: Field) -> None:
    if not field.low <= value <= field.high:
        raise Wrong(
            f"{value} is outside {field.low:,} to {field.high:,}.", "Choose a number in between."
        )


def _kind_of(value: Any) -> str:
    kinds = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "a table",
    }
    return kinds.get(type(value), "a date or time")
