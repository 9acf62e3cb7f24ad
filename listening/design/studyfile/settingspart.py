"""[[settings]] of study.toml read: which long-form conditions are made of the study's lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.reader import read_table


def read_settings(tables: Iterable[Any], notes: Notebook) -> tuple[dict[str, Any], ...]:
    """The settings as the database keeps them; listening.design.settings makes sense of them."""
    return tuple(
        {
            name: list(value) if isinstance(value, list) else value
            for name, value in read_table(table, "settings", f"settings[{n}]", notes).items()
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
