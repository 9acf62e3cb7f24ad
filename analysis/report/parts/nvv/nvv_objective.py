"""Table 3: objective results of each system, mean and standard deviation over synthesis runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from analysis.formatting import enumerated
from analysis.ratings.breakdowns import Family
from analysis.report.content import Column, Content, Table
from analysis.report.emphasis import LEGEND, UNRANKED, with_best
from analysis.report.part import PartInput
from analysis.report.parts.nvv.nvv_inventory import Inventory
from analysis.report.parts.nvv.nvv_means import Tasks

if TYPE_CHECKING:
    from analysis.report.parts.nvv.nvv_means import Row

ERRORS, F1, PRECISION, RECALL, COVERAGE = "errors", "f1", "precision", "recall", "coverage"
DECIMALS = {  # of the columns of the paper's table, in its order
    ERRORS: 2,
    "sig": 2,
    "bak": 2,
    "ovrl": 2,
    "clap": 2,
    COVERAGE: 2,
    PRECISION: 3,
    RECALL: 3,
    F1: 3,
    "ntd": 4,
}
HEADINGS = (
    *("WER/CER %", "SIG", "BAK", "OVRL", "CLAP"),
    *("Coverage", "Precision", "Recall", "F1", "NTD"),
)
SOURCES = {  # metrics that stand in a column; the first that there is
    "sig": ("dnsmos_sig",),
    "bak": ("dnsmos_bak",),
    "ovrl": ("dnsmos",),
    "clap": ("clap",),
    PRECISION: ("nvv_precision", "judge_nvv_precision"),
    RECALL: ("nvv_recall", "judge_nvv_present"),
    "ntd": ("nvv_distance", "judge_nvv_distance"),
}
LOWEST = (ERRORS, "ntd")
IN_CHARACTERS = ("zh", "ja", "ko", "th", "yue")  # languages whose errors are counted so
_NOTE = (
    "Mean over the clips of each synthesis run (column run of stimuli.csv); ± is the standard "
    "deviation over runs, and absent with one run. WER, and CER in languages without spaces, in "
    "per cent. F1 of a run is that of its precision and recall. A clip without a value is left "
    "out of its mean. Coverage is of the inventory (attribute nvv_types). Marks hold within a "
    "group and language; clips without NVV are not ranked. "
)
_WHY_NOT = (
    "Table 3 is not there: no score says its clip's condition. Score the clips (page Metrics); a "
    "CSV of scores needs the columns condition, language and run."
)


def objective(
    tasks: Tasks, pairs: Sequence[Family], known: Mapping[str, Inventory], inputs: PartInput
) -> Content:
    """The table; where there are scores that it cannot use, why it is not there."""
    scores = inputs.scores
    if scores is None or not len(scores):
        return Content()
    if "condition" not in scores:
        return Content(warnings=[_WHY_NOT])
    groups, plain = groups_of(tasks, pairs, scores)
    scores = scores[scores["condition"].astype(str).isin(groups)]
    taken = _taken(scores["metric"].unique())
    runs = _by_run(scores, taken)
    heads = "group" if "group" in scores and any(scores["group"] != "") else "task"
    rows: list[Row] = []
    places = list(dict.fromkeys(groups.values()))
    languages = inputs.ordered("language", {language for _, language in runs})
    order = inputs.ordered("condition", groups)
    for group in places:
        for language in languages:
            mine = [name for name in order if groups[name] == group and (name, language) in runs]
            made = [
                {heads: group, "condition": name, "language": language, UNRANKED: name in plain}
                | _summed(runs[name, language], known.get(name), name in plain)
                for name in sorted(mine, key=lambda name: name in plain)
            ]
            rows += _marked(made)
    if not rows:
        return Content()
    others = sorted(label for key, label in taken.items() if key != label)
    return Content(tables=[_table(rows, heads, others)])


def _table(rows: Sequence[Row], group: str, others: Sequence[str]) -> Table:
    there = [name for name in DECIMALS if any(name in row for row in rows)]
    headings = dict(zip(DECIMALS, HEADINGS, strict=True))
    columns = [Column("condition", "System"), Column("language", "Language")]
    columns += [Column(f"{name}_text", headings[name]) for name in there]
    n = sorted({row["runs"] for row in rows})
    many = " to ".join(map(str, dict.fromkeys((n[0], n[-1]))))
    told = f"Measured with settings of their own: {', '.join(others)}. " if others else ""
    absent = [headings[name] for name in DECIMALS if name not in there]
    if absent:
        told += f"Without scores: {enumerated(absent)}. "
    note = f"{many} {'run' if many == '1' else 'runs'}. {_NOTE}{told}{LEGEND}"
    title = "Objective results over synthesis runs"
    return Table("table3", title, columns, rows, note, group=group)


def groups_of(
    tasks: Tasks, pairs: Sequence[Family], scores: pd.DataFrame
) -> tuple[dict[str, str], set[str]]:
    """Each condition's group: what the study says, else its task; and those without NVV.

    Those are in no task but as what pairs compare with, and stand in the group of their system.
    """
    groups = {
        str(name): task
        for task, found in tasks.items()
        for family in found
        for name in family.table["condition"].unique()
    }
    plain: set[str] = set()
    for family in pairs:
        both = family.table[["condition", "versus_condition"]].drop_duplicates()
        for condition, versus in both.itertuples(index=False):
            if str(versus) not in groups and str(condition) in groups:
                groups[str(versus)] = groups[str(condition)]
                plain.add(str(versus))
    if "group" in scores:
        said = scores[["condition", "group"]].astype(str).drop_duplicates()
        groups |= {c: g for c, g in said.itertuples(index=False) if g and c in groups}
    return groups, plain


def _taken(labels: Iterable[str]) -> dict[str, str]:
    """Of each metric the scores that are used: of its usual settings, else of the first others."""
    taken: dict[str, str] = {}
    for label in sorted(map(str, labels)):  # "wer" comes before "wer[beam=1]"
        taken.setdefault(label.partition("[")[0], label)
    return taken


Runs = dict[str, dict[str, float]]  # the means of each column by run


def _by_run(scores: pd.DataFrame, taken: Mapping[str, str]) -> dict[tuple[str, str], Runs]:
    """The mean over clips of every column, by condition and language, then by run."""
    table = scores[scores["metric"].isin(taken.values())].dropna(subset=["value"])
    language = table["language"].astype(str) if "language" in table else ""
    run = table["run"].astype(str).replace("", "1") if "run" in table else "1"
    table = table.assign(language=language, run=run, condition=table["condition"].astype(str))
    keys = ["condition", "language", "run", "metric"]
    means = table.groupby(keys, observed=True)["value"].mean().reset_index()
    found: dict[tuple[str, str], Runs] = {}
    for condition, lang, number, metric, value in means.itertuples(index=False):
        of_run = found.setdefault((condition, lang), {}).setdefault(number, {})
        of_run[str(metric).partition("[")[0]] = float(value)
    return {
        (condition, lang): {number: _columns(of_run, lang) for number, of_run in runs.items()}
        for (condition, lang), runs in found.items()
    }


def _columns(means: Mapping[str, float], language: str) -> dict[str, float]:
    """The paper's columns of one run."""
    made = {
        name: means[metric]
        for name, metrics in SOURCES.items()
        for metric in reversed(metrics)
        if metric in means
    }
    error = "cer" if language.split("-")[0] in IN_CHARACTERS else "wer"
    if error in means:
        made[ERRORS] = 100 * means[error]
    precision, recall = made.get(PRECISION), made.get(RECALL)
    if precision is not None and recall is not None and precision + recall > 0:
        made[F1] = 2 * precision * recall / (precision + recall)
    return made


def _summed(runs: Runs, inventory: Inventory | None, plain: bool) -> Row:
    """Mean and standard deviation over runs of each column, as numbers and in words."""
    row: Row = {"runs": len(runs)}
    for name, decimals in DECIMALS.items():
        values = pd.Series([of_run[name] for of_run in runs.values() if name in of_run])
        if not len(values):
            continue
        row[name] = float(values.mean())
        sd = float(values.std()) if len(values) > 1 else None
        row[f"{name}_sd"], row[f"{name}_runs"] = sd, len(values)
        text = f"{row[name]:.{decimals}f}" + (f" ± {sd:.{decimals}f}" if sd is not None else "")
        row[f"{name}_text"] = text.replace(" ", "\u00a0")
    if inventory is not None and not plain:
        row[COVERAGE] = inventory.coverage
        row[f"{COVERAGE}_text"] = f"{inventory.coverage:.{DECIMALS[COVERAGE]}f}"
    return row


def _marked(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """The rows of one group and language with the best and second best of each column."""
    made: list[dict[str, Any]] = list(rows)
    for name, decimals in DECIMALS.items():
        made = with_best(made, [name], decimals=decimals, lowest=LOWEST)
    for row in made:
        yield row | {f"{name}_text_mark": row.get(f"{name}_mark", "") for name in DECIMALS}
