"""Labels of conditions put beside their keys, for people who read a report."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

ROWS = ("estimates", "contrasts", "shares", "screening")
PLACES = frozenset(
    {
        *("condition", "versus", "versus_condition", "reference", "best", "other"),
        *("first", "second", "name", "row", "column"),
    }
)
CODE = re.compile(r"(?=.*[\d_-]).{4,}")  # a key that no sentence holds by chance


def labelled(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """The report with "label (key)" where a condition with a label is named.

    In tables; in figures and sentences the label alone, where no other condition has it, and in
    sentences only for keys that cannot be an ordinary word.
    """
    told = report.get("labels") or {}
    names = {key: f"{label} ({key})" for key, label in told.items() if label not in ("", key)}
    if not names:
        return report
    rows: dict[str, Any] = {name: [_named(row, names) for row in report[name]] for name in ROWS}
    if "counted" in report:
        rows["counted"] = {_versus(key, names): n for key, n in report["counted"].items()}
    short = _short(names, told)
    parts = [_part(part, names, short) for part in report.get("parts", ())]
    return {**report, **rows, "parts": parts}


def _short(names: Mapping[str, str], told: Mapping[str, str]) -> dict[str, str]:
    """For figures and sentences: the label alone if no other condition has it."""
    labels = list(told.values())
    alone = {key for key in names if labels.count(told[key]) == 1 and told[key] not in told}
    return {key: told[key] if key in alone else name for key, name in names.items()}


def _named(row: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    if not str(row.get("breakdown", "condition")).startswith("condition"):
        return dict(row)  # it compares systems or voices, which have no labels
    return {k: names.get(v, v) if k in PLACES and isinstance(v, str) else v for k, v in row.items()}


def _versus(title: str, names: Mapping[str, str]) -> str:
    """A family's title with what it is compared with named as in the rows."""
    family, versus, key = title.rpartition(" · versus ")
    return f"{family}{versus}{names.get(key, key)}" if versus else title


def _part(
    part: Mapping[str, Any], names: Mapping[str, str], short: Mapping[str, str]
) -> dict[str, Any]:
    if part["problem"]:
        return dict(part)
    safe = sorted((key for key in names if CODE.fullmatch(key)), key=len, reverse=True)
    pattern = "|".join(re.escape(key) for key in safe)
    found = re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])") if safe else None

    def said(text: str) -> str:
        return found.sub(lambda match: short[match.group()], text) if found else text

    return {
        **part,
        **{name: [said(text) for text in part[name]] for name in ("sentences", "warnings")},
        "tables": [
            {**each, "rows": [_named(row, names) for row in each["rows"]]}
            for each in part["tables"]
        ],
        "figures": [
            {**each, "rows": [_named(row, short) for row in each["rows"]]}
            for each in part["figures"]
        ],
    }
