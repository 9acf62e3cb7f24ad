"""Table 3: objective results of each system, mean and standard deviation over synthesis runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from analysis.formatting import counted, enumerated
from analysis.name_spans import condition_span
from analysis.ratings.breakdowns import Family
from analysis.ratings.metric_scores import newest_scores, reasons
from analysis.report.content import Column, Content, Table, column, table_row
from analysis.report.emphasis import LEGEND, UNRANKED, with_best
from analysis.report.part import PartInput
from analysis.report.parts.nvv.nvv_means import PAPER, Tasks
from listening.methods.text_units import in_characters

if TYPE_CHECKING:
    from analysis.report.parts.nvv.nvv_means import Row


ERRORS, CLAP, COVERAGE = "errors", "clap", "coverage"
PRECISION, RECALL, F1, DISTANCE = "precision", "recall", "f1", "ntd"
DECIMALS = {  # of the columns of the paper's table, in its order
    ERRORS: 2,
    "sig": 2,
    "bak": 2,
    "ovrl": 2,
    CLAP: 2,
    COVERAGE: 2,
    PRECISION: 3,
    RECALL: 3,
    F1: 3,
    DISTANCE: 4,
}
HEADINGS = (
    *("WER/CER %", "SIG", "BAK", "OVRL", "CLAP"),
    *("Coverage", "Precision", "Recall", "F1", "NTD"),
)
MEANS = {"sig": "dnsmos_sig", "bak": "dnsmos_bak", "ovrl": "dnsmos", CLAP: "clap"}  # over clips
WORDS, CHARACTERS = "wer", "cer"
VERIFIERS = {  # metrics that compare vocalisations found with those asked for, and who found them
    "judge_nvv": "a judge model",
    "nvv": "the clips' attribute nvv_predicted",
}
PARTS = ("tp", "fp", "fn", "distance")  # of a verifier's outputs: counts of a clip, and its NTD
OUTPUTS = (
    *MEANS.values(),
    *(WORDS, CHARACTERS),
    *(f"{key}_{name}" for key in VERIFIERS for name in PARTS),
)
LOWEST = (ERRORS, DISTANCE)
TAGS_ONLY = (COVERAGE, PRECISION, RECALL, F1, DISTANCE)  # empty for others in the paper's table
TAG_CRITERIA = frozenset({"nvv_accuracy", "expression"})  # asked of one kind of systems alone
PROMPT_CRITERIA = frozenset({"instruction_following", "nvv_instruction"})
TITLE = "Objective results over synthesis runs"
_OBJECTIVE_NOTE = (
    "Error rates, DNSMOS and CLAP: mean over the clips of each synthesis run (column run of "
    "stimuli.csv); WER, and CER in languages written without spaces, in per cent. Precision, "
    "recall and F1: true positives, false positives and false negatives are summed over the clips "
    "of a run first (section 2.4.1). NTD: mean over the clips with a match. Then the mean over "
    "runs; ± is the standard deviation over runs, and absent with one run. Coverage is of the "
    "inventory (attribute nvv_types). A dash: not applicable, as in the paper, or no score. CLAP "
    "is of prompt-based systems; coverage to NTD of tag-based systems, and of no clips without "
    "NVV. Marks hold within a group and language; clips without NVV are not ranked. "
)
_WHY_NOT = (
    "Table 3 is not there: no score says its clip's condition. Score the clips (page Metrics); a "
    "CSV of scores needs the columns condition, language and run."
)
Runs = dict[str, dict[str, float]]  # the columns of each run


@dataclass(frozen=True)
class Systems:
    """What the table needs to know of conditions: headings, what has no NVV, what has no tags."""

    group: Mapping[str, str]
    heads: str  # what a heading is: a group that the study names, or a task
    plain: frozenset[str]
    tagged: frozenset[str]
    prompted: frozenset[str]

    def empty(self, name: str) -> frozenset[str]:
        """The columns that the paper leaves empty for a condition."""
        no_tags = name in self.plain or name in self.prompted
        return frozenset(TAGS_ONLY * no_tags + (CLAP,) * (name in self.tagged))


@dataclass(frozen=True)
class Verified:
    """Which scores say what was found: the metric, and the settings in its labels."""

    key: str
    settings: str  # such as [model=…]; empty: the usual ones

    def label(self, name: str) -> str:
        """The label of one of its outputs."""
        return f"{self.key}_{name}{self.settings}"


def objective(
    tasks: Tasks, pairs: Sequence[Family], known: Mapping[str, Inventory], inputs: PartInput
) -> Content:
    """The table; where there are scores that it cannot use, why it is not there."""
    scores = inputs.scores
    if scores is None or not len(scores):
        return Content()
    if "condition" not in scores:
        return Content(warnings=[_WHY_NOT])
    systems = systems_of(tasks, pairs, scores)
    scores = newest_scores(scores[scores["condition"].astype(str).isin(systems.group)])
    verified, others = _verified(scores)
    labels = sorted(map(str, scores["metric"].unique()))
    taken = _taken(labels)
    runs = _by_run(scores, taken, verified, systems)
    rows: list[Row] = []
    languages = inputs.ordered("language", {language for _, language in runs})
    order = inputs.ordered("condition", systems.group)
    for group in dict.fromkeys(systems.group.values()):
        for language in languages:
            there = (n for n in order if systems.group[n] == group and (n, language) in runs)
            made = [
                {systems.heads: group, "condition": name, "language": language}
                | {UNRANKED: name in systems.plain}
                | _summed(runs[name, language])
                | _coverage(known.get(name), systems.empty(name))
                for name in sorted(there, key=lambda name: name in systems.plain)
            ]
            rows += _marked(made)
    if not rows:
        return Content()
    told = [f"{key}: {label}" for key, label in taken.items() if key != label]
    notes = [
        f"Measured with settings of their own: {enumerated(sorted(told))}. " * bool(told),
        _who_verified(verified, others) if verified else _uncounted(labels),
        _without(scores, runs, taken, verified),
    ]
    return Content(tables=[_table(rows, systems.heads, "".join(notes))])


def _table(rows: Sequence[Row], group: str, told: str) -> Table:
    there = [name for name in DECIMALS if any(name in row for row in rows)]
    headings = dict(zip(DECIMALS, HEADINGS, strict=True))
    columns = [Column("condition", "System"), Column("language", "Language")]
    columns += [Column(f"{name}_text", headings[name]) for name in there]
    n = sorted({row["runs"] for row in rows})
    many = " to ".join(map(str, dict.fromkeys((n[0], n[-1]))))
    absent = [headings[name] for name in DECIMALS if name not in there]
    if absent:
        told += f"Without scores: {enumerated(absent)}. "
    note = f"{many} {'run' if many == '1' else 'runs'}. {_OBJECTIVE_NOTE}{told}{LEGEND}"
    return Table("table3", f"Table 3 of {PAPER}: {TITLE}", columns, rows, note, group=group)


def systems_of(tasks: Tasks, pairs: Sequence[Family], scores: pd.DataFrame) -> Systems:
    """Each condition's group (what the study says, else its task), and what kind it is of.

    Conditions without NVV are in no task but as what pairs compare with, and stand in the group
    of their system. What a task asks says whether its systems follow tags or descriptions.
    """
    groups: dict[str, str] = {}
    asked: dict[str, set[str]] = {}
    for task, found in tasks.items():
        for family in found:
            for name in family.table["condition"].unique():
                groups[str(name)] = task
                asked.setdefault(str(name), set()).add(family.group["criterion"])
    plain: set[str] = set()
    for family in pairs:
        both = family.table[["condition", "versus_condition"]].drop_duplicates()
        for condition, versus in both.itertuples(index=False):
            if str(versus) not in groups and str(condition) in groups:
                groups[str(versus)] = groups[str(condition)]
                asked[str(versus)] = asked[str(condition)]
                plain.add(str(versus))
    named = "group" in scores and bool((scores["group"] != "").any())
    if named:
        said = scores[["condition", "group"]].astype(str).drop_duplicates()
        groups |= {c: g for c, g in said.itertuples(index=False) if g and c in groups}
    tagged = frozenset(name for name, criteria in asked.items() if criteria & TAG_CRITERIA)
    prompted = frozenset(name for name, criteria in asked.items() if criteria & PROMPT_CRITERIA)
    heads = "group" if named else "task"
    return Systems(groups, heads, frozenset(plain), tagged - prompted, prompted - tagged)


def _verified(scores: pd.DataFrame) -> tuple[Verified | None, list[str]]:
    """The verifier with values for the most clips, judges first; and the labels of all others."""
    values = scores.dropna(subset=["value"]).groupby("metric")["stimulus"].nunique()
    found: dict[Verified, int] = {}
    for key in VERIFIERS:
        for label in sorted(map(str, values.index)):
            name, bracket, rest = label.partition("[")
            if name == f"{key}_{PARTS[0]}":
                found[Verified(key, bracket + rest)] = int(values[label])
    if not found:
        return None, []
    best = max(found, key=lambda each: found[each])
    return best, [f"{each.key}{each.settings}" for each in found if each != best]


def _uncounted(labels: Sequence[str]) -> str:
    """Scores of releases that stored no counts, with the remedy."""
    old = [each for each in labels if each.partition("[")[0] in VERIFIERS]
    if not old:
        return ""
    return (
        f"{enumerated(old)} has no counts (_tp, _fp, _fn): score the clips with it again; answers "
        "of a judge are in its cache and are not asked for again. "
    )


def _who_verified(verified: Verified, others: Sequence[str]) -> str:
    told = f"Vocalisations found: by {VERIFIERS[verified.key]} ({verified.key}{verified.settings})"
    return f"{told}; not used: {enumerated(others)}. " if others else f"{told}. "


def _taken(labels: Sequence[str]) -> dict[str, str]:
    """Of each metric the scores that are used: of its usual settings, else of the first others."""
    taken: dict[str, str] = {}
    for label in labels:  # "wer" comes before "wer[beam=1]"
        name = label.partition("[")[0]
        if name in (*MEANS.values(), WORDS, CHARACTERS):
            taken.setdefault(name, label)
    return taken


def _by_run(
    scores: pd.DataFrame, taken: Mapping[str, str], verified: Verified | None, systems: Systems
) -> dict[tuple[str, str], Runs]:
    """The columns of every run, by condition and language."""
    names = {label: name for name, label in taken.items()}
    if verified:
        names |= {verified.label(name): name for name in PARTS}
    table = scores[scores["metric"].isin(names)].dropna(subset=["value"])
    language = table["language"].astype(str) if "language" in table else ""
    run = table["run"].astype(str).replace("", "1") if "run" in table else "1"
    table = table.assign(language=language, run=run, condition=table["condition"].astype(str))
    found: dict[tuple[str, str], Runs] = {}
    for place, clips in table.groupby(["condition", "language", "run"], observed=True):
        condition, lang, number = map(str, place)
        by_metric = clips["metric"].map(names)
        values = clips.groupby(by_metric, observed=True)["value"]
        means, sums = (
            {str(name): float(value) for name, value in of.items()}
            for of in (values.mean(), values.sum())
        )
        columns = _columns(means, sums, lang)
        kept = {k: v for k, v in columns.items() if k not in systems.empty(condition)}
        found.setdefault((condition, lang), {})[number] = kept
    return found


def _columns(
    means: Mapping[str, float], sums: Mapping[str, float], language: str
) -> dict[str, float]:
    """The paper's columns of one run, from means and sums over its clips."""
    made = {name: means[metric] for name, metric in MEANS.items() if metric in means}
    error = CHARACTERS if in_characters(language) else WORDS
    if error in means:
        made[ERRORS] = 100 * means[error]
    if "tp" in sums:
        tp, fp, fn = (sums[name] for name in ("tp", "fp", "fn"))
        shares = {PRECISION: (tp, tp + fp), RECALL: (tp, tp + fn), F1: (2 * tp, 2 * tp + fp + fn)}
        made |= {name: part / whole for name, (part, whole) in shares.items() if whole}
    if "distance" in means:
        made[DISTANCE] = means["distance"]
    return made


def _summed(runs: Runs) -> Row:
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
    return row


def _coverage(inventory: Inventory | None, empty: frozenset[str]) -> Row:
    if inventory is None or COVERAGE in empty:
        return {}
    text = f"{inventory.coverage:.{DECIMALS[COVERAGE]}f}"
    return {COVERAGE: inventory.coverage, f"{COVERAGE}_text": text}


def _without(
    scores: pd.DataFrame,
    runs: Mapping[tuple[str, str], Runs],
    taken: Mapping[str, str],
    verified: Verified | None,
) -> str:
    """Clips of these systems that have no value where others of theirs have, and why."""
    headings = dict(zip(DECIMALS, HEADINGS, strict=True))
    lang = scores["language"].astype(str) if "language" in scores else pd.Series("", scores.index)
    told = []
    for (condition, language), of_runs in runs.items():
        own = scores[(scores["condition"].astype(str) == condition) & (lang == language)]
        clips = set(own["stimulus"])
        labels = {name: taken.get(metric, "") for name, metric in MEANS.items()}
        labels[ERRORS] = taken.get(CHARACTERS if in_characters(language) else WORDS, "")
        labels[F1] = verified.label(PARTS[0]) if verified else ""
        for name in dict.fromkeys(measured for columns in of_runs.values() for measured in columns):
            valued = own[(own["metric"] == labels.get(name)) & own["value"].notna()]["stimulus"]
            lacking = sorted(clips - set(valued)) if labels.get(name) else []
            if lacking:
                why = ", ".join(reasons(scores, labels[name], lacking))
                which = f"{condition_span(condition)} {language}".strip()
                told.append(
                    f"{headings[name]} of {which}: {len(lacking)} of {counted(len(clips), 'clip')} "
                    f"({why})"
                )
    return f"Left out, as they have no value: {'; '.join(told)}. " if told else ""


def _marked(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """The rows of one group and language with the best and second best of each column."""
    made: list[dict[str, Any]] = list(rows)
    for name, decimals in DECIMALS.items():
        made = with_best(made, [name], decimals=decimals, lowest=LOWEST)
    for row in made:
        yield row | {f"{name}_text_mark": row.get(f"{name}_mark", "") for name in DECIMALS}


ATTRIBUTE = "nvv_types"  # of a condition: "laugh; sigh; cough"
_NOTE = (
    f"As the attribute {ATTRIBUTE} of each system's condition says. Coverage: share of the 45 "
    "types of the paper's taxonomy; types outside of it do not count."
)


@dataclass(frozen=True)
class Inventory:
    """The types that a system supports, as written and as the taxonomy spells them."""

    written: tuple[str, ...]
    canonical: frozenset[str]
    coverage: float

    def holds(self, kind: str) -> bool:
        """Whether a type, in any known spelling, is supported."""
        from metrics.scoring.selectors import type_name

        return type_name(kind) in self.canonical


@table_row
class InventoryRow:
    """The inventory of one system."""

    condition: str = column("System")
    types: str = column("Supported types")
    count: int = column("Count", "count")
    coverage: float = column("Coverage", "number", 2)


def inventories(inputs: PartInput) -> dict[str, Inventory]:
    """The inventory of each system and condition that has one, by both of its names."""
    from metrics.scoring.selectors import coverage_of, type_name

    told: dict[str, list[str]] = {}
    for each in inputs.facts["conditions"] if inputs.facts else ():
        types = [name.strip() for name in each["attributes"].get(ATTRIBUTE, "").split(";")]
        for name in dict.fromkeys((each["condition"], each["system"])) if any(types) else ():
            if name:
                told.setdefault(name, []).extend(filter(None, types))
    return {
        name: Inventory(
            tuple(dict.fromkeys(types)), frozenset(map(type_name, types)), coverage_of(types)
        )
        for name, types in told.items()
    }


def inventory_table(known: Mapping[str, Inventory], inputs: PartInput) -> Content:
    """The systems with their types, in the study's order; nothing where no study says any.

    A system of one condition stands under that condition, which may have a label.
    """
    if not known or not inputs.facts:
        return Content()
    of_system: dict[str, list[str]] = {}
    for each in inputs.facts["conditions"]:
        if each["condition"] in known:
            of_system.setdefault(each["system"] or each["condition"], []).append(each["condition"])
    rows = []
    for system, conditions in of_system.items():
        name = conditions[0] if len(conditions) == 1 else system
        own = known[name]
        rows.append(InventoryRow(name, "; ".join(own.written), len(own.canonical), own.coverage))
    title = f"Table 2 of {PAPER}: types of vocalisation that systems support"
    return Content(tables=[Table.of(InventoryRow, "table2", title, rows, note=_NOTE)])
