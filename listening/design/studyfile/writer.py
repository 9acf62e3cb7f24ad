"""A study written back as study.toml and stimuli.csv, so that reading them gives it again."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import tomli_w

from listening.design.studyfile.drawing import rule_of
from listening.design.studyfile.entries import StudyFile, TaskEntry
from listening.design.studyfile.questionnaire_tables import questionnaire_table
from listening.design.studyfile.reader import fields_of
from listening.design.studyfile.stimuli_csv import COLUMNS, ITEM_COLUMNS
from listening.design.studyfile.study_toml import AS_IS, setting_table, usual_ends

LATER = ("transcript", "run")  # columns that a table has only where something stands in them


def toml_text(study: StudyFile) -> str:
    """study.toml; what equals its default is left out where it can be."""
    minutes = study.lease_minutes
    head = {name: getattr(study, name) for name in fields_of("study")} | {
        "lease_minutes": int(minutes) if float(minutes).is_integer() else minutes,
        "break_every": study.break_every or None,
        "erase_reasons": study.erase_reasons or None,
        "ends": study.ends if AS_IS in (study.ends, usual_ends(study)) else None,
        "hypotheses": list(study.hypotheses),
        "covariates": list(study.covariates),
        "checks": list(study.checks),
    }
    tables = {
        "study": _filled(head),
        "conditions": [_filled(asdict(c)) for c in study.conditions if not c.derived],
        "settings": [setting_table(s) for s in study.settings],
        "sources": list(study.sources),
        "analysis_rules": list(study.analysis_rules),
        "stop": dict(study.stop),
        "questionnaires": [questionnaire_table(q) for q in study.questionnaires],
        "tasks": [_task_table(t) for t in study.tasks],
    }
    top = {name: tables[name] for name in fields_of("")}
    return tomli_w.dumps(_filled(top), multiline_strings=True)


def csv_text(study: StudyFile) -> str:
    """stimuli.csv: our columns in their order, then the attributes by name."""
    items = {item.key: item for item in study.items}
    attributes = sorted({name for s in study.stimuli for name in s.attributes})
    rows = []
    for s in study.stimuli:
        item = asdict(items[s.item])
        cells: dict[str, Any] = {column: item[column] for column in ITEM_COLUMNS}
        cells |= {"stimulus": s.key, "condition": s.condition, "item": s.item, "file": s.file}
        run = s.run if s.run != 1 else ""
        rows.append({**cells, "trap": s.trap, "run": run, **s.attributes})
    unsaid = {name for name in LATER if not any(row[name] for row in rows)}
    return rows_text(rows, [name for name in (*COLUMNS, *attributes) if name not in unsaid])


def rows_text(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """Rows as CSV; without names of columns, all that the rows have."""
    columns = columns or list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        cells = (row.get(column) for column in columns)
        writer.writerow(["" if cell is None else cell for cell in cells])
    return out.getvalue()


def _task_table(task: TaskEntry) -> dict[str, Any]:
    values = asdict(task)
    table = {name: values[name] for name in fields_of("tasks")}
    table["conditions"], table["dimensions"] = list(task.conditions), list(task.dimensions)
    table["draw"] = rule_of(task.draw)
    table["examples"], table["training"] = list(task.examples), list(task.training)
    table["repeats"] = task.repeats or None
    table["criteria"] = [_filled(asdict(c)) for c in task.criteria]
    for part in ("justification", "traps"):
        table[part] = _filled(table[part])
    return {key: value for key, value in _filled(table).items() if value is not False}


def _filled(table: Mapping[str, Any]) -> dict[str, Any]:
    plain = {key: value for key, value in table.items() if key != "derived"}
    return {key: value for key, value in plain.items() if value not in ("", None, {}, [], ())}
