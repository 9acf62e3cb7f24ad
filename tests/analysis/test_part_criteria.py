"""Criteria beside metrics: one row per system, each metric with the criterion that it predicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.ratings.metric_scores import scores_from_rows
from analysis.ratings.table import from_rows
from analysis.report.parts.criteria import COLUMNS, METRICS_OF, Criteria
from analysis.statistics.options import Options
from listening.methods import Method
from metrics.core.metric import outputs
from tests.analysis.reference import BLANK
from tests.analysis.shown_by import given_of, in_keys, table_named

TRUTH = {
    "signal": {"clean": 4.6, "a": 4.0, "b": 3.0},
    "background": {"clean": 4.7, "a": 3.0, "b": 4.2},
    "overall": {"clean": 4.5, "a": 3.4, "b": 3.1},
}


def rated(estimand: str, truth: dict[str, dict[str, float]]) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    rows: list[dict[str, Any]] = []
    for r in range(20):
        for i in range(12):
            for criterion, means in truth.items():
                for name, mean in means.items():
                    score = float(np.clip(mean + rng.normal(0, 0.3), 1, 5))
                    names = {"task": "t", "method": estimand, "estimand": estimand}
                    role = {"role": "reference" if name == "clean" else "test"}
                    own = {"criterion": criterion, "condition": name, "item": f"i{i}", **role}
                    who = {"rater": f"r{r}", "session": f"r{r}", "stimulus": f"{name}-i{i}"}
                    rows.append(BLANK | names | own | who | {"score": score})
    return from_rows(rows)


def shown(table: pd.DataFrame, values: dict[str, dict[str, float]]) -> Any:
    scores = scores_from_rows(
        {"stimulus": f"{name}-i{i}", "metric": metric, "version": "1", "value": value}
        for metric, by_name in values.items()
        for name, value in by_name.items()
        for i in range(12)
    )
    given = replace(given_of(table, Options(replicates=100)), scores=scores)
    assert Criteria().applies(given)
    return in_keys(Criteria().make(given))


@pytest.mark.medium
def test_dnsmos_stands_beside_p835() -> None:
    values = {
        "dnsmos_sig": {"clean": 3.9, "a": 3.5, "b": 2.9},
        "dnsmos_bak": {"clean": 4.1, "a": 3.2, "b": 4.0},
        "dnsmos": {"clean": 3.4, "a": 3.0, "b": 2.8},
        "clap": {"clean": 0.1, "a": 0.2, "b": 0.3},
    }
    content = shown(rated("p835", TRUTH), values)
    table = table_named(content, "systems")
    assert [c.heading for c in table.columns if c.kind == "number"] == [
        *("SIG", "BAK", "OVRL", "DNSMOS SIG", "DNSMOS BAK", "DNSMOS OVRL")
    ]  # CLAP belongs to none of the three
    rows = {row["condition"]: row for row in table.rows}
    for criterion, means in TRUTH.items():
        for name, mean in means.items():
            key = f"p835_t_{criterion}"
            assert rows[name][f"{key}_low"] <= mean <= rows[name][f"{key}_high"]
    assert rows["a"]["dnsmos_bak"] == pytest.approx(3.2)
    assert rows["b"]["p835_t_background_mark"] == "best"  # the clean recording is not ranked
    assert "b has the highest BAK of 2 systems" in content.sentences[1]
    (figure,) = content.figures
    assert {row["name"]: row["x"] for row in figure.rows}["a"] == rows["a"]["p835_t_signal"]


def test_clap_stands_beside_relevance() -> None:
    truth = {"quality": TRUTH["signal"], "relevance": TRUTH["background"]}
    values = {"clap": {"clean": 0.5, "a": 0.2, "b": 0.31}, "wer": {"clean": 0.0, "a": 0.0, "b": 0}}
    table = table_named(shown(rated("mos", truth), values), "systems")
    numbers = [column.heading for column in table.columns if column.kind == "number"]
    assert numbers == ["MOS, quality", "MOS, relevance", "CLAP"]


def test_one_criterion_needs_no_table() -> None:
    assert not Criteria().applies(given_of(rated("mos", {"quality": TRUTH["signal"]})))


def test_every_metric_of_a_criterion_has_a_column_and_exists() -> None:
    imported = {"sim_o", "sim_r"}
    for (estimand, _), keys in METRICS_OF.items():
        assert estimand in {method.estimand.key for method in Method.registry.values()}
        assert set(keys) <= set(COLUMNS)
        assert set(keys) - imported <= set(outputs())
