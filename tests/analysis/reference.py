"""The simulated reference sets of tests/data/analysis as ratings tables, with R's numbers."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.ratings.cells import COLUMNS
from analysis.ratings.estimands import estimand_of_method
from analysis.ratings.table import from_csv, from_rows, read_csv
from listening.methods import Method

DATA = Path(__file__).resolve().parents[1] / "data" / "analysis"
MOS_COLUMNS = {
    "condition": "system",
    "item": "text",
    "task": "condition",
    "position": "trial",
    "trap": "is_trap",
}
EDGE_COLUMNS = {"condition": "system", "item": "text", "trap": "is_trap"}
BLANK: dict[str, Any] = dict.fromkeys(COLUMNS, "") | {
    "study": "s",
    "task": "t",
    "method": "mos",
    "criterion": "naturalness",
    "estimand": "mos",
    "position": None,
    "trap_passed": None,
    "latency_ms": None,
    "plays": None,
    "heard_fraction": None,
    "session_status": "finished",
    "paid": False,
}


@cache
def expected(name: str) -> dict[str, Any]:
    path = DATA / f"{name}.ref.json"
    if name == "edge":
        path = DATA / "edge" / "edge.expected.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


@cache
def table_of(name: str) -> pd.DataFrame:
    if name == "att_s1":
        return from_rows(att_rows(name))
    if name == "cmos_s1":
        return read_csv(  # a note says what a positive score means
            DATA / "cmos_s1.csv.gz",
            columns={
                "condition": "system_a",
                "versus_condition": "system_b",
                "item": "text",
                "stimulus": "stimulus_a",
                "versus_stimulus": "stimulus_b",
                "position": "trial",
                "trap": "is_trap",
            },
            constants={"method": "cmos", "task": "cmos"},
            ignore=["pair", "first", "score_raw", "task"],
        ).table
    if name == "align_s1":
        constants = {"condition": "all", "method": "mos"}
        return from_csv(DATA / "align_s1.csv.gz", columns={"trap": "is_trap"}, constants=constants)
    return from_csv(
        DATA / f"{name}.csv.gz",
        columns=MOS_COLUMNS,
        constants={"method": "mos"},
        ignore=["task"],
    )


def mushra_s1(position: str = "trial") -> pd.DataFrame:
    """The MUSHRA set with hidden reference and anchors, nobody left out."""
    return from_csv(
        DATA / "mushra_s1.csv.gz",
        columns={"condition": "system", "item": "text", "position": position, "trap": "is_trap"},
        constants={"method": "mushra", "task": "mushra"},
        ignore=["task", "trial", "position"],
    )


def heard_on_headphones(name: str) -> pd.DataFrame:
    """The MOS sets as R used them: raters without headphones left out."""
    kept = {row["rater"] for row in _lines(f"{name}.csv.gz") if row["headphones"] == "1"}
    table = table_of(name)
    return table[table["rater"].isin(kept)]


def edge(name: str) -> pd.DataFrame:
    path = DATA / "edge" / f"edge_{name}.csv"
    return read_csv(path, EDGE_COLUMNS, constants={"method": "mos"}).table


def rows_of(scores: dict[tuple[str, str, str], float], **fields: Any) -> pd.DataFrame:
    """A table from {(condition, rater, item): score}; a method or an estimand tells the other."""
    if "estimand" in fields and "method" not in fields:
        declared = {each.estimand.key: key for key, each in Method.registry.items()}
        fields["method"] = declared[fields["estimand"]]
    if "method" in fields:
        fields.setdefault("estimand", estimand_of_method(fields["method"]).key)
    return from_rows(
        {
            **BLANK,
            "condition": condition,
            "rater": rater,
            "session": rater,
            "item": item,
            "stimulus": f"{condition}_{item}",
            "score": score,
            "label": f"{score:g}",
            **fields,
        }
        for (condition, rater, item), score in scores.items()
    )


def att_rows(name: str) -> Iterator[dict[str, Any]]:
    """The rows of att_s1 or att_s2 as ratings."""
    return map(_att_row, _lines(f"{name}.csv.gz"))


def _lines(name: str) -> list[dict[str, str]]:
    with gzip.open(DATA / name, "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _att_row(row: dict[str, str]) -> dict[str, Any]:
    trap = row["trap_kind"]
    return BLANK | {
        "study": "att_s1",
        "task": "att",
        "method": "att",
        "criterion": "human",
        "estimand": "hls",
        "session": row["rater"],
        "rater": row["rater"],
        "block": row["batch"],
        "position": int(row["trial"]),
        "item": row["text"],
        "dimension": row["dimension"],
        "split": row["split"],
        "condition": row["system"],
        "system": row["system"],
        "voice": row["voice"],
        "stimulus": row["stimulus"],
        "label": row["label"],
        "score": float(row["score"]),
        "trap": trap,
        "trap_passed": row["label"] == row["expected_label"] if trap else None,
        "latency_ms": int(row["rt_ms"]),
        "heard_fraction": float(row["play_frac"]),
        "paid": True,
    }
