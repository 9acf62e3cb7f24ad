"""Labels of conditions put beside their keys, for people who read a report."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from analysis.report.report_schema import EstimateRow, PartRecord, Report, RowsName

NAMING: tuple[RowsName, ...] = ("estimates", "contrasts", "shares", "screening")
PLACES = frozenset(
    {
        *("condition", "versus", "versus_condition", "reference", "best", "other"),
        *("first", "second", "name", "row", "column"),
    }
)
CODE = re.compile(r"(?=.*[\d_-]).{4,}")  # a key that no sentence holds by chance


def labelled(report: Report, keys: bool = True) -> Report:
    """The report with "label (key)" where a condition with a label is named.

    In tables; in figures, sentences, and tables without ``keys``, the label alone where no other
    condition has it, and in sentences only for keys that cannot be an ordinary word.
    """
    labels = report.get("labels") or {}
    names = {key: f"{label} ({key})" for key, label in labels.items() if label not in ("", key)}
    if not names:
        return report
    short = _short(names, labels)
    names = names if keys else short
    named: Report = {**report}
    for name in NAMING:
        rows = [_named(row, names) for row in report[name]]
        named[name] = cast("list[EstimateRow]", rows)
    if "counted" in report:
        named["counted"] = {_versus(key, names): n for key, n in report["counted"].items()}
    named["parts"] = [_part(part, names, short) for part in report.get("parts", ())]
    return named


def condition_names(report: Report) -> dict[str, str]:
    """How a paper calls each condition with a label, by its key: see `labelled` without keys."""
    labels = report.get("labels") or {}
    names = {key: f"{label} ({key})" for key, label in labels.items() if label not in ("", key)}
    return _short(names, labels)


def _short(names: Mapping[str, str], labels: Mapping[str, str]) -> dict[str, str]:
    """For figures and sentences: the label alone if no other condition has it."""
    every = list(labels.values())
    alone = {key for key in names if every.count(labels[key]) == 1 and labels[key] not in labels}
    return {key: labels[key] if key in alone else name for key, name in names.items()}


def _named(row: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    if not str(row.get("breakdown", "condition")).startswith("condition"):
        return dict(row)  # it compares systems or voices, which have no labels
    return {k: names.get(v, v) if k in PLACES and isinstance(v, str) else v for k, v in row.items()}


def _versus(title: str, names: Mapping[str, str]) -> str:
    """A family's title with what it is compared with named as in the rows."""
    family, versus, key = title.rpartition(" · versus ")
    return f"{family}{versus}{names.get(key, key)}" if versus else title


def _part(part: PartRecord, names: Mapping[str, str], short: Mapping[str, str]) -> PartRecord:
    if part["problem"]:
        return part
    safe = sorted((key for key in names if CODE.fullmatch(key)), key=len, reverse=True)
    pattern = "|".join(re.escape(key) for key in safe)
    keys = re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])") if safe else None

    def said(text: str) -> str:
        return keys.sub(lambda match: short[match.group()], text) if keys else text

    return {
        **part,
        "sentences": [said(text) for text in part["sentences"]],
        "warnings": [said(text) for text in part["warnings"]],
        "tables": [
            {**each, "rows": [_named(row, names) for row in each["rows"]]}
            for each in part["tables"]
        ],
        "figures": [
            {**each, "rows": [_named(row, short) for row in each["rows"]]}
            for each in part["figures"]
        ],
    }
