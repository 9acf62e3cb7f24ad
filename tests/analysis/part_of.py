"""One part of a report made of a table: what a reader of the report gets, as plain values."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from analysis.name_spans import resolve
from analysis.report.part import Part, PartInput
from analysis.report.pipeline import plain_of
from analysis.statistics.options import Options
from analysis.statistics.screening.screened import screen


def given_of(table: pd.DataFrame, options: Options | None = None) -> PartInput:
    options = options or Options()
    screened = screen(table, options.rules)
    return PartInput(screened.kept(options.rules), screened, options)


def part_of(key: str, table: pd.DataFrame, options: Options | None = None) -> dict[str, Any]:
    """What the part shows, through JSON without NaN, as the report keeps it."""
    part: Part = Part.registry[key]()
    plain = plain_of(part.make(given_of(table, options)).plain())
    found: dict[str, Any] = json.loads(
        resolve(json.dumps(plain, allow_nan=False, ensure_ascii=False))
    )
    return found


def rows_of_table(shown: dict[str, Any], key: str, about: str = "") -> list[dict[str, Any]]:
    """The rows of the first table of a key (about something that ends so)."""
    for table in shown["tables"]:
        if table["key"] == key and table["about"].endswith(about):
            return list(table["rows"])
    raise AssertionError(f"no table {key} about …{about}")
