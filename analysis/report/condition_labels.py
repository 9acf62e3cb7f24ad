"""Labels in place of keys, of conditions, tasks, criteria and metrics, for who reads a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from analysis.formatting import words_of
from analysis.name_spans import OPEN, Names, resolve
from analysis.ratings.estimands import bare_title, name_of
from analysis.report.report_schema import (
    EstimateRow,
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


METRIC = ("metric",)  # columns that name one in the tables of parts
METRICS = {"alignment": ("who",), "williams": ("score", "versus")}  # … by how their keys begin


def label_report(report: Report, metrics: bool = True, without: str = "") -> Report:
    """The report with labels where it names conditions, tasks, criteria and ``metrics``.

    Of a condition the label alone, or "label (key)" where another one has it too. Titles and
    sentences call families by their labels (`family_labels`); ``about`` stays what it is, being a
    key. ``without`` is the title of a family that a page is about, which its sentences and titles
    need not repeat.
    """
    conditions = condition_names(report)
    names = Names(conditions, _family_words(report), frozenset({without} - {""}))
    named: Report = {**report}
    if conditions:
        for name in NAMING:
            rows = [_label_row(row, conditions) for row in report[name]]
            named[name] = cast("list[EstimateRow]", rows)
        if "counted" in report:
            named["counted"] = {_versus(key, conditions): n for key, n in report["counted"].items()}
    named["warnings"] = _resolve_all(report["warnings"], names)
    named["parts"] = [
        _part(part, names, report.get("task_titles", {})) for part in report.get("parts", ())
    ]
    if metrics and (titles := report.get("metric_titles")):
        named["parts"] = [_with_metrics(part, titles) for part in named["parts"]]
    return named


def condition_names(report: Report) -> dict[str, str]:
    """How a report calls each condition with a label, by its key: see `label_report`."""
    labels = report.get("labels") or {}
    names = {key: f"{label} ({key})" for key, label in labels.items() if label not in ("", key)}
    return _short(names, labels)


def names_by_role(report: Report) -> dict[str, list[str]]:
    """What has a role in the figures of the answer, such as reference, by its role."""
    called = condition_names(report)
    names: dict[str, dict[str, None]] = {}
    for part in report.get("parts", ()):
        for figure in part["figures"] if part["key"] == "answer" and not part["problem"] else ():
            for row in figure["rows"]:
                if row.get("role"):
                    names.setdefault(row["role"], {})[called.get(row["name"], row["name"])] = None
    return {role: list(own) for role, own in names.items()}


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


def _with_metrics(part: PartRecord, titles: Mapping[str, str]) -> PartRecord:
    """The part with metrics called by their titles in its tables; its sentences do so anyway."""
    if part["problem"]:
        return part

    def called(row: Mapping[str, Any], columns: tuple[str, ...]) -> dict[str, Any]:
        known_titles = {name: titles.get(str(row[name])) for name in columns if name in row}
        return {**row, **{name: title for name, title in known_titles.items() if title is not None}}

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


def _label_row(
    row: Mapping[str, Any], names: Mapping[str, str], places: frozenset[str] = PLACES
) -> dict[str, Any]:
    if not str(row.get("breakdown", "condition")).startswith("condition"):
        return dict(row)  # it compares systems or voices, which have no labels
    return {
        k: _label_of(v, names) if k in places and isinstance(v, str) else v for k, v in row.items()
    }


def _label_of(name: str, names: Mapping[str, str]) -> str:
    """The label of a condition, or of both sides of a difference."""
    if name in names:
        return names[name]
    return MINUS_BETWEEN.join(names.get(side, side) for side in name.split(MINUS_BETWEEN))


def _versus(title: str, names: Mapping[str, str]) -> str:
    """A family's title with what it is compared with named as in the rows."""
    family, versus, key = title.rpartition(" · versus ")
    return f"{family}{versus}{names.get(key, key)}" if versus else title


def _part(part: PartRecord, names: Names, tasks: Mapping[str, str]) -> PartRecord:
    """The part with every span resolved, and with labels in the columns that name something."""
    if part["problem"]:
        return {**part, "problem": resolve(part["problem"], names)}

    def text_of(value: Any) -> Any:
        return resolve(value, names) if isinstance(value, str) and OPEN in value else value

    def row_of(row: Mapping[str, Any], places: frozenset[str]) -> dict[str, Any]:
        shown = {key: text_of(value) for key, value in row.items()}
        return _label_row(shown, names.conditions, places) if names.conditions else shown

    def placed(row: Mapping[str, Any]) -> dict[str, Any]:
        shown = row_of(row, PLACES)
        if isinstance(row.get("task"), str):
            shown["task"] = _task(row["task"], tasks)
        if isinstance(row.get("criterion"), str):
            shown["criterion"] = words_of(row["criterion"])
        return shown

    def drawn(row: Mapping[str, Any]) -> dict[str, Any]:
        return row_of(row, DRAWN)

    def shown(each: Any, labelled: Callable[[Any], dict[str, Any]]) -> Any:
        return {
            **each,
            "title": resolve(each["title"], names),
            "rows": [labelled(row) for row in each["rows"]],
            "note": resolve(each.get("note", ""), names),
        }

    return {
        **part,
        "headlines": [
            {
                "about": each["about"],
                "sentence": resolve(each["sentence"], names),
                "caveats": _resolve_all(each["caveats"], names),
            }
            for each in part.get("headlines", ())
        ],
        "sentences": _resolve_all(part["sentences"], names),
        "warnings": _resolve_all(part["warnings"], names),
        "methods": _resolve_all(part["methods"], replace(names, omitted=())),
        "tables": [shown(each, placed) for each in part["tables"]],
        "figures": [shown(each, drawn) for each in part["figures"]],
    }


def _resolve_all(texts: Sequence[str], names: Names) -> list[str]:
    return [resolve(text, names) for text in texts]
