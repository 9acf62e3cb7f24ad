"""[[settings]] of study.toml read: which long-form conditions are made of the study's lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from listening.design.studyfile import shapes
from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.shapes import Field, read_table

LONGEST_GAP_S = 60
MOST_LINES = 99  # two digits, as in the names of conditions
WINDOWS = ("all", "first", "last")


def _one_or_several(value: Any, field: Field) -> list[str]:
    return _list([value] if isinstance(value, str) else value, field)


def _list(value: Any, field: Field) -> list[str]:
    return list(shapes.texts(value, field))


SETTING = {
    "key": Field(shapes.slug, default="", longest=40),
    "real": Field(shapes.text, default="", longest=80),
    "synthetic": Field(_one_or_several, default=[], longest=80),
    "conditions": Field(_list, required=True, default=[], longest=20),
    "windows": Field(shapes.choice, default="all", choices=WINDOWS),
    "first_lines": Field(shapes.whole, low=1, high=MOST_LINES),
    "gap_s": Field(shapes.number, default=0.3, low=0, high=LONGEST_GAP_S),
    "context_gap_s": Field(shapes.number, low=0, high=LONGEST_GAP_S),
    "dimensions": Field(_list, default=[], longest=80),
    "allow_missing": Field(shapes.flag, default=False),
}


def read_settings(tables: Iterable[Any], notes: Notebook) -> tuple[dict[str, Any], ...]:
    """The settings as the database keeps them; listening.design.settings makes sense of them."""
    return tuple(
        {
            name: list(value) if isinstance(value, list) else value
            for name, value in read_table(table, SETTING, f"settings[{n}]", notes).items()
        }
        for n, table in enumerate(tables, start=1)
    )


def setting_table(setting: Mapping[str, Any]) -> dict[str, Any]:
    """The table of study.toml from which `read_settings` makes this setting again."""
    return {
        name: value
        for name, value in setting.items()
        if value not in ("", None, []) and value is not False
    }
