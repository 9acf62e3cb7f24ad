"""Labels in place of keys, of conditions, tasks, criteria and metrics, for who reads a report."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from analysis.formatting import with_names, words_of
from analysis.ratings.estimands import name_of
from analysis.ratings.scales import bare_title
from analysis.report.report_schema import (
    EstimateRow,
    HeadlineRecord,
    PartRecord,
    PlaceRow,
    Report,
    RowsName,
    TableRecord,
)

NAMING: tuple[RowsName, ...] = ("estimates", "contrasts", "shares", "screening")
PLACES = frozenset(
    {
        *("condition", "versus", "versus_condition", "reference", "best", "other"),
        *("first", "second", "name", "row", "column"),
    }
)
DRAWN = PLACES | {"group"}  # of a figure, where lines and headings may be conditions
MINUS_BETWEEN = " − "  # between the sides of a difference
CHOICE = "choice"  # the estimand of what has labels and no score
_REFERENCE = re.compile(r"(The reference is )([^\s,]+)(?=, )")  # where any word is a key
CODE = re.compile(r"(?=.*[\d_-]).{4,}")  # a key that no sentence holds by chance


METRIC = ("metric",)  # columns that name one in the tables of parts
METRICS = {"alignment": ("who",), "williams": ("score", "versus")}  # … by how their keys begin


def labelled(report: Report, metrics: bool = True) -> Report:
    """The report with labels where it names conditions, tasks, criteria and ``metrics``.

    Of a condition the label alone, or "label (key)" where another one has it too; in sentences only
    for keys that cannot be an ordinary word. Headlines have labels throughout. Titles and sentences
    call families by their labels (`family_labels`); ``about`` stays what it is, being a key.
    """
    names = condition_names(report)
    named: Report = {**report}
    if names:
        for name in NAMING:
            rows = [_named(row, names) for row in report[name]]
            named[name] = cast("list[EstimateRow]", rows)
        if "counted" in report:
            named["counted"] = {_versus(key, names): n for key, n in report["counted"].items()}
    texts = _family_words(report)
    named["warnings"] = [_replaced(text, texts) for text in report["warnings"]]
    named["parts"] = [
        _in_families(_part(part, names), texts, report.get("task_titles", {}))
        for part in report.get("parts", ())
    ]
    if metrics and (titles := report.get("metric_titles")):
        named["parts"] = [_with_metrics(part, titles) for part in named["parts"]]
    return named


def condition_names(report: Report) -> dict[str, str]:
    """How a report calls each condition with a label, by its key: see `labelled`."""
    labels = report.get("labels") or {}
    names = {key: f"{label} ({key})" for key, label in labels.items() if label not in ("", key)}
    return _short(names, labels)


def family_labels(report: Report) -> dict[str, str]:
    """What each family is called, by its title: estimand and the task's title, as MOS · How good?

    The criterion follows where a task has several, the study where there are several.
    """
    rows = {bare_title(row): row for row in _places(report)}
    criteria: dict[tuple[str, str], set[str]] = {}
    studies = {row.get("study", "") for row in rows.values()}
    for row in rows.values():
        criteria.setdefault((row.get("study", ""), row["task"]), set()).add(row["criterion"])
    called = {}
    for title, row in rows.items():
        several = len(criteria[row.get("study", ""), row["task"]]) > 1
        parts = [name_of(row["estimand"]), row.get("study", "") * (len(studies) > 1)]
        parts.append(_task(row["task"], report.get("task_titles", {})))
        parts += [words_of(row["criterion"])] * (several or not row["task"])
        distinct = dict.fromkeys(part for part in parts if part)
        called[title] = " · ".join(distinct)
    alike = list(called.values())
    return {title: name if alike.count(name) == 1 else title for title, name in called.items()}


def _places(report: Report) -> list[PlaceRow]:
    """A row of each family, those that have labels and no score among them."""
    scored: dict[str, PlaceRow] = {bare_title(row): row for row in report["estimates"]}
    rest = {title.partition(" · ")[2] for title in scored}
    for row in report["shares"]:
        chosen = cast(PlaceRow, {**row, "estimand": CHOICE})
        if bare_title(chosen).partition(" · ")[2] not in rest:
            scored.setdefault(bare_title(chosen), chosen)
    return list(scored.values())


def _task(key: str, titles: Mapping[str, str]) -> str:
    """A task's title without the mark at its end that a sentence would not bear."""
    return titles.get(key, "").rstrip(".:") or words_of(key)


def _family_words(report: Report) -> dict[str, str]:
    """What stands in texts for families: their titles, and task and criterion as warnings say."""
    texts = {}
    for row in _places(report):
        short = ", ".join(filter(None, [row["task"], row["criterion"]]))
        if "," in short:
            texts[short] = _task(row["task"], report.get("task_titles", {}))
    several: dict[str, set[str]] = {}
    for key in texts:
        several.setdefault(key.partition(",")[0], set()).add(key)
    for key in texts:
        task, _, criterion = key.partition(", ")
        if len(several[task]) > 1:
            texts[key] += f", {words_of(criterion).lower()}"
    return texts | family_labels(report)


def _replaced(text: str, texts: Mapping[str, str]) -> str:
    for key in sorted(texts, key=len, reverse=True):
        text = text.replace(key, texts[key])
    return text


def _in_families(
    part: PartRecord, texts: Mapping[str, str], tasks: Mapping[str, str]
) -> PartRecord:
    """The part with families called by their labels, and tasks and criteria in its tables."""
    if part["problem"]:
        return part

    def placed(row: Mapping[str, Any]) -> dict[str, Any]:
        shown = dict(row)
        if isinstance(row.get("task"), str):
            shown["task"] = _task(row["task"], tasks)
        if isinstance(row.get("criterion"), str):
            shown["criterion"] = words_of(row["criterion"])
        return shown

    return {
        **part,
        "sentences": [_replaced(text, texts) for text in part["sentences"]],
        "warnings": [_replaced(text, texts) for text in part["warnings"]],
        "tables": [
            {
                **each,
                "title": _replaced(each["title"], texts),
                "rows": [placed(row) for row in each["rows"]],
            }
            for each in part["tables"]
        ],
        "figures": [{**each, "title": _replaced(each["title"], texts)} for each in part["figures"]],
    }


def _with_metrics(part: PartRecord, titles: Mapping[str, str]) -> PartRecord:
    """The part with metrics called by their titles in its tables; its sentences do so anyway."""
    if part["problem"]:
        return part

    def called(row: Mapping[str, Any], columns: tuple[str, ...]) -> dict[str, Any]:
        found = {name: titles.get(str(row[name])) for name in columns if name in row}
        return {**row, **{name: title for name, title in found.items() if title is not None}}

    def columns_of(key: str) -> tuple[str, ...]:
        return next((cols for start, cols in METRICS.items() if key.startswith(start)), METRIC)

    tables = [
        {**each, "rows": [called(row, columns_of(each["key"])) for row in each["rows"]]}
        for each in part["tables"]
    ]
    return {**part, "tables": cast("list[TableRecord]", tables)}


def _short(names: Mapping[str, str], labels: Mapping[str, str]) -> dict[str, str]:
    """The label alone where no other condition has it."""
    every = list(labels.values())
    alone = {key for key in names if every.count(labels[key]) == 1 and labels[key] not in labels}
    return {key: labels[key] if key in alone else name for key, name in names.items()}


def _named(
    row: Mapping[str, Any], names: Mapping[str, str], places: frozenset[str] = PLACES
) -> dict[str, Any]:
    if not str(row.get("breakdown", "condition")).startswith("condition"):
        return dict(row)  # it compares systems or voices, which have no labels
    return {
        k: _called(v, names) if k in places and isinstance(v, str) else v for k, v in row.items()
    }


def _called(name: str, names: Mapping[str, str]) -> str:
    """The label of a condition, or of both sides of a difference."""
    if name in names:
        return names[name]
    return MINUS_BETWEEN.join(names.get(side, side) for side in name.split(MINUS_BETWEEN))


def _versus(title: str, names: Mapping[str, str]) -> str:
    """A family's title with what it is compared with named as in the rows."""
    family, versus, key = title.rpartition(" · versus ")
    return f"{family}{versus}{names.get(key, key)}" if versus else title


def without_label(report: Report, label: str) -> Report:
    """The report of one family, whose label its sentences and titles need not repeat."""
    if not label:
        return report

    def bare(text: str) -> str:
        if text.startswith(f"{label}: of "):
            text = text.replace(": of ", ": Of ", 1)
        return (
            text.removeprefix(f"{label}: ").removesuffix(f" · {label}").replace(f" ({label})", "")
        )

    def part(each: PartRecord) -> PartRecord:
        if each["problem"]:
            return each
        return {
            **each,
            "sentences": [bare(text) for text in each["sentences"]],
            "warnings": [bare(text) for text in each["warnings"]],
            "tables": [{**table, "title": bare(table["title"])} for table in each["tables"]],
            "figures": [{**figure, "title": bare(figure["title"])} for figure in each["figures"]],
        }

    return {**report, "parts": [part(each) for each in report.get("parts", ())]}


def _headlines(part: PartRecord, short: Mapping[str, str]) -> list[HeadlineRecord]:
    return [
        {
            "about": each["about"],
            "sentence": with_names(each["sentence"], short),
            "caveats": [with_names(text, short) for text in each["caveats"]],
        }
        for each in part.get("headlines", ())
    ]


def _part(part: PartRecord, names: Mapping[str, str]) -> PartRecord:
    if part["problem"]:
        return part
    part = {**part, "headlines": _headlines(part, names)}
    if not names:
        return part
    safe = sorted((key for key in names if CODE.fullmatch(key)), key=len, reverse=True)
    pattern = "|".join(re.escape(key) for key in safe)
    keys = re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])") if safe else None

    def said(text: str) -> str:
        text = _REFERENCE.sub(lambda match: match[1] + names.get(match[2], match[2]), text)
        return keys.sub(lambda match: names[match.group()], text) if keys else text

    return {
        **part,
        "sentences": [said(text) for text in part["sentences"]],
        "warnings": [said(text) for text in part["warnings"]],
        "tables": [
            {
                **each,
                "rows": [_named(row, names) for row in each["rows"]],
                "note": said(each.get("note", "")),
            }
            for each in part["tables"]
        ],
        "figures": [
            {**each, "rows": [_named(row, names, DRAWN) for row in each["rows"]]}
            for each in part["figures"]
        ],
    }
