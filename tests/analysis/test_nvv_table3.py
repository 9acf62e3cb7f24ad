"""Table 3 of NVV-SuperBench from the stored outputs of the real metrics, a double as judge."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis.name_spans import resolve
from analysis.ratings.breakdowns import families
from analysis.ratings.metric_scores import NO_METRICS, metrics_of, scores_from_rows
from analysis.ratings.table import from_rows
from analysis.report.content import Table
from analysis.report.emphasis import BEST, SECOND
from analysis.report.part import PartInput
from analysis.report.parts.lfs import MEASURES, chosen_label, rubric_of, settings_of
from analysis.report.parts.nvv import OUTPUTS, VERIFIERS, objective
from analysis.report.parts.nvv import PARTS as PARTS_OF
from analysis.statistics.options import Options
from analysis.statistics.screening.screened import DEFAULT, screen
from metrics.core.metric import Material, Metric, Output, make_metric, outputs
from metrics.scoring.selectors import label_of
from tests.analysis.reference import BLANK
from tests.analysis.stored_outputs import judged, stored, tagged, verified

TEXT = "so that is what you call a good one"  # nine words; laughs are asked for before the third
AT_PLACE, ELSEWHERE, ABSENT = 2, 7, None


def rated(systems: dict[str, str], plain: dict[str, str] | None = None) -> pd.DataFrame:
    """One rating per system; ``systems``: its criterion; ``plain``: compared with its system."""
    rows = [
        {"task": f"by {criterion}", "condition": name, "criterion": criterion}
        for name, criterion in systems.items()
    ] + [
        {"task": "pairs", "method": "cmos", "estimand": "cmos", "criterion": "naturalness"}
        | {"condition": name, "versus_condition": without, "versus_stimulus": "x"}
        for without, name in (plain or {}).items()
    ]
    return from_rows(
        BLANK
        | {"rater": "r", "item": "i", "session": "s", "code": f"c{n}", "stimulus": f"s{n}"}
        | {"language": "en", "score": 1.0}
        | row
        for n, row in enumerate(rows)
    )


def table_3(table: pd.DataFrame, *scores: pd.DataFrame) -> Table:
    screened = screen(table)
    order = {"condition": list(dict.fromkeys([*table["condition"], *table["versus_condition"]]))}
    inputs = PartInput(
        screened.kept(DEFAULT), screened, Options(seed=1), pd.concat(scores, ignore_index=True)
    )
    tasks: dict[str, list[Any]] = {}
    pairs = []
    for family in families(inputs.ratings):
        if family.in_pairs:
            pairs.append(family)
        else:
            tasks.setdefault(family.group["task"], []).append(family)
    (shown,) = objective(tasks, pairs, {}, replace(inputs, order=order)).tables
    return shown


def clips(condition: str, answers: list[Any], run: str = "1", **more: Any) -> list[dict[str, Any]]:
    """Clips that ask for a laugh; each answer is a place, or a place and other types heard."""
    made = []
    for n, answer in enumerate(answers):
        at, others = answer if isinstance(answer, tuple) else (answer, ())
        made.append(
            {"stimulus": f"{condition}-{run}-{n}", "condition": condition, "language": "en"}
            | {"run": run, "material": tagged(TEXT, "laugh", 2)}
            | {"answer": verified(TEXT, "laugh", at, others)}
            | more
        )
    return made


def texts(row: dict[str, Any]) -> dict[str, str]:
    return {name: row[f"{name}_text"] for name in ("precision", "recall", "f1", "ntd")}


@pytest.mark.medium
def test_counts_of_a_judge_are_summed_and_presence_is_no_recall(tmp_path: Path) -> None:
    """The shared case: the one that laughs at the wrong place had a recall of 1, in bold."""
    systems = {"Exact": [AT_PLACE, AT_PLACE, 3, ABSENT], "Late": [ELSEWHERE, AT_PLACE] * 2}
    systems["Busy"] = [(AT_PLACE, ("sigh", "cough")), AT_PLACE, (ABSENT, ("cough",)), AT_PLACE]
    asked = [each for name, answers in systems.items() for each in clips(name, answers)]
    shown = table_3(
        rated(dict.fromkeys(systems, "nvv_accuracy")), judged("judge_nvv", asked, tmp_path)
    )
    rows = {row["condition"]: row for row in shown.rows}
    assert texts(rows["Exact"]) == {  # TP 3, FP 0, FN 1; one of three a word of nine late
        "precision": "1.000",
        "recall": "0.750",
        "f1": "0.857",
        "ntd": f"{1 / 27:.4f}",
    }
    assert texts(rows["Late"]) == {  # TP 2, FP 2, FN 2
        "precision": "0.500",
        "recall": "0.500",
        "f1": "0.500",
        "ntd": "0.0000",
    }
    assert texts(rows["Busy"]) == {  # TP 3, FP 3, FN 1: the mean of clips' precision is 0.583
        "precision": "0.500",
        "recall": "0.750",
        "f1": "0.600",
        "ntd": "0.0000",
    }
    assert [rows[name]["recall_text_mark"] for name in systems] == [BEST, SECOND, BEST]
    assert "by a judge model (judge_nvv[model=a-judge])" in shown.note
    assert shown.title.startswith("Table 3 of NVV-SuperBench: ")


@pytest.mark.medium
def test_counts_of_people_are_summed_too() -> None:
    """100 clips: 50 found at their place, 20 with a sound that nobody asked for, 30 missed."""
    found = ["laugh@2"] * 50 + ["laugh@2; sigh@5"] * 20 + ["none"] * 30
    asked = [
        {"stimulus": f"s{n}", "condition": "Dia", "language": "en", "run": "1"}
        | {"material": tagged(TEXT, "laugh", 2, each)}
        for n, each in enumerate(found)
    ]
    (row,) = table_3(rated({"Dia": "expression"}), stored(make_metric("nvv"), asked)).rows
    assert texts(row) == {  # 70 / 90, 70 / 100, 140 / 190; the means of clips are .857 and .633
        "precision": "0.778",
        "recall": "0.700",
        "f1": "0.737",
        "ntd": "0.0000",
    }


@pytest.mark.medium
def test_runs_are_summed_each_and_then_averaged(tmp_path: Path) -> None:
    runs = {"1": [AT_PLACE, ABSENT], "2": [AT_PLACE, AT_PLACE], "3": [AT_PLACE, ELSEWHERE]}
    asked = [each for run, answers in runs.items() for each in clips("Dia", answers, run)]
    shown = table_3(rated({"Dia": "expression"}), judged("judge_nvv", asked, tmp_path))
    (row,) = shown.rows
    assert row["recall_text"] == "0.667\u00a0±\u00a00.289"  # 1/2, 1 and 1/2
    assert row["precision_text"] == "0.833\u00a0±\u00a00.289"  # 1, 1 and 1/2
    assert shown.note.startswith("3 runs.")


@pytest.mark.medium
def test_what_the_paper_leaves_empty_stays_empty(tmp_path: Path) -> None:
    """Clips without NVV have no controllability, captions have none, tags have no CLAP."""
    asked = clips("Tags", [AT_PLACE, ABSENT]) + clips("Tags without", [ABSENT, ABSENT])
    asked += clips("Captions", [AT_PLACE, AT_PLACE])
    judge = judged("judge_nvv", asked, tmp_path)
    clap = judge[judge["metric"] == "judge_nvv_tp[model=a-judge]"].assign(metric="clap", value=0.4)
    systems = {"Tags": "nvv_accuracy", "Captions": "instruction_following"}
    shown = table_3(rated(systems, {"Tags without": "Tags"}), judge, clap)
    rows = {row["condition"]: row for row in shown.rows}
    there = {
        name: {key.removesuffix("_text") for key in row if key.endswith("_text")}
        for name, row in rows.items()
    }
    assert there == {
        "Tags": {"precision", "recall", "f1", "ntd"},
        "Tags without": set(),
        "Captions": {"clap"},
    }
    assert rows["Tags without"]["unranked"]


@pytest.mark.medium
def test_clips_without_a_value_are_named_with_their_reason(tmp_path: Path) -> None:
    silent = {"material": Material(text=TEXT, language="en"), "answer": None}
    asked = (
        clips("Dia", [AT_PLACE, ABSENT])
        + clips("Dia", [None], run="2")
        + [{"stimulus": "odd", "condition": "Dia", "language": "en", "run": "1"} | silent]
    )
    note = table_3(rated({"Dia": "expression"}), judged("judge_nvv", asked, tmp_path)).note
    note = resolve(note)
    assert "Left out, as they have no value: F1 of Dia en: 1 of 4 clips" in note
    assert "the clip has no attribute nvv_target" in note


@pytest.mark.medium
def test_of_two_verifiers_and_two_versions_one_is_taken_and_named(tmp_path: Path) -> None:
    asked = [
        {**each, "material": tagged(TEXT, "laugh", 2, "none")}
        for each in clips("Dia", [AT_PLACE, AT_PLACE, ABSENT])
    ]
    judge, people = judged("judge_nvv", asked, tmp_path), stored(make_metric("nvv"), asked)
    older = judge.assign(version="0", value=0.0)
    shown = table_3(rated({"Dia": "expression"}), older, judge, people)
    assert shown.rows[0]["recall_text"] == "0.667"
    assert "not used: nvv. " in shown.note
    few = judge[judge["stimulus"] == "Dia-1-0"]
    note = table_3(rated({"Dia": "expression"}), people, few).note
    assert "nvv_predicted (nvv); not used: judge_nvv[model=a-judge]" in note


@pytest.mark.medium
def test_scores_without_counts_are_not_taken_for_recall(tmp_path: Path) -> None:
    """Scores of releases before the counts: the table says how to get them."""
    judge = judged("judge_nvv", clips("Dia", [AT_PLACE]), tmp_path)
    old = judge[~judge["metric"].str.contains(r"_(?:tp|fp|fn)\[")]
    clap = old.assign(metric="wer", value=0.1).drop_duplicates("stimulus")
    shown = table_3(rated({"Dia": "expression"}), old, clap)
    assert "recall" not in shown.rows[0]
    assert "judge_nvv[model=a-judge] has no counts (_tp, _fp, _fn). Score the clips" in shown.note


@pytest.mark.medium
def test_counts_are_no_metrics_that_could_follow_people(tmp_path: Path) -> None:
    scores = judged("judge_nvv", clips("Dia", [AT_PLACE]), tmp_path)
    named = {each.metric.partition("[")[0] for each in metrics_of(scores)}
    assert named == {"judge_nvv", "judge_nvv_present", "judge_nvv_distance"}


PARTS = Path(__file__).resolve().parents[2] / "analysis" / "report" / "parts"
NO_OUTPUTS = {  # words that begin as an output does: criteria, an attribute, a prefix, a command
    *("nvv_effect", "nvv_accuracy", "nvv_instruction", "nvv_types"),
    *("judge_", "judge_panel_", "judge_study"),
}


def named_outputs() -> set[str]:
    """Whatever stands in the code of parts and begins as an output of a metric does."""
    starts = (*(f"{key}_" for key in Metric.registry), "judge_")
    constants = (
        node.value
        for path in PARTS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return {
        text
        for text in constants
        if text.startswith(starts) and re.fullmatch(r"[a-z0-9_]+(\[\S+\])?", text)
    } - NO_OUTPUTS


@pytest.mark.medium
def test_tables_name_outputs_that_metrics_register() -> None:
    """No table waits for a score that nothing stores; labels are what metrics are called."""
    named = named_outputs() | set(OUTPUTS) | {each for m in MEASURES for each in m.scores}
    assert {"judge_nvv_tp", "squim_pesq[chunk_s=0.0]", "dnsmos_sig"} <= named
    known = outputs()
    assert {each for each in named if each.partition("[")[0] not in known} == set()
    for label in named:
        output, settings = settings_of(label)
        told = dict(each.split("=") for each in settings)
        typed = {k: float(v) if k == "chunk_s" else v for k, v in told.items()}
        metric = make_metric(known[output].key, typed)
        (own,) = (each for each in metric.outputs() if each.key == output)
        assert label_of(metric, own) == label


def test_counts_that_are_summed_are_no_metrics_of_reports() -> None:
    counted = {f"{key}_{name}" for key in VERIFIERS for name in PARTS_OF if name != "distance"}
    assert counted < NO_METRICS
    assert all(each.higher_is_better is None for each in every_output() if each.key in counted)


def every_output() -> list[Output]:
    return [each for metric in Metric.registry.values() for each in metric.outputs()]


def test_a_measure_takes_the_papers_settings_whatever_judge_there_was() -> None:
    """Where no judge is configured, labels name the model too."""
    asked = "rubric=expressive_richness.lfs_figure_14"
    labels = ["judge_expressive_richness[model=g]", f"judge_expressive_richness[model=g,{asked}]"]
    richness = next(each for each in MEASURES if each.key == "richness")
    assert chosen_label(richness, [*labels, "judge_expressive_richness_sd"]) == labels[1]
    assert chosen_label(richness, labels[:1]) == labels[0]
    assert chosen_label(richness, ["expressive_richness"]) == ""


def test_the_usual_rubric_of_a_judge_is_the_one_that_its_label_leaves_out() -> None:
    for measure in MEASURES:
        for label in measure.scores:
            if label.startswith("judge_"):
                key, settings = settings_of(label)
                told = dict(each.split("=") for each in settings)
                assert rubric_of(label) == make_metric(key, told).parameters_dict()["rubric"]


def test_a_study_without_scores_has_no_metrics() -> None:
    assert metrics_of(scores_from_rows([])) == ()
