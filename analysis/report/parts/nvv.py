"""The tables of NVV-SuperBench: inventories, objective results, MOS, judges, heat maps, CMOS."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import pandas as pd

from analysis.formatting import counted, enumerated, words_of
from analysis.name_spans import condition_span
from analysis.ratings.breakdowns import Family, families
from analysis.ratings.estimands import estimand_of
from analysis.ratings.grouping import Breakdown
from analysis.ratings.metric_scores import newest_scores, reasons
from analysis.report.content import (
    Column,
    Content,
    Figure,
    Table,
    column,
    columns_of,
    interval_cells,
    row_from,
    table_row,
    together,
)
from analysis.report.emphasis import LEGEND, UNRANKED, with_best
from analysis.report.part import Part, PartInput
from analysis.report.parts.att import means, system_column
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.intervals import t_interval
from listening.common.command_name import command
from listening.methods.text_units import in_characters

if TYPE_CHECKING:
    from analysis.statistics.estimator import Estimate


PAPER = "NVV-SuperBench"
PRINTED = 2  # decimals of the paper's table
MEAN_HEADINGS = {  # of the preset's criteria, in the paper's abbreviations
    "nvv_effect": "NVV PE",
    "instruction_following": "IF",
    "nvv_instruction": "NVV IF",
    "nvv_accuracy": "NVV accuracy",
}
_MEANS_NOTE = (
    "Mean and, after ±, half of the naive interval, as the paper prints it: it takes every rating "
    "as independent and is usually too narrow. The CSV has the interval that lets raters and items "
    "vary. A dash: the criterion is not asked of this task. PE: perceptual effect; IF: instruction "
    "following. Marks hold within a task and language. "
)
Row = dict[str, Any]
Tasks = Mapping[str, Sequence[Family]]


def means_table(tasks: Tasks, inputs: PartInput) -> Content:
    """Tasks as groups, in each the languages, in each the systems, all in the study's order."""
    every = list(chain.from_iterable(tasks.values()))
    if not every:
        return Content()
    criteria = list(dict.fromkeys(map(name_of, every)))
    rows: list[Row] = []
    compare = system_column(pd.concat([each.table for each in every]))
    for task, task_families in tasks.items():
        for language in languages_of(task_families, inputs):
            mine = list(_mean_rows(task, language, task_families, compare, inputs))
            rows += [
                _word_row(row, criteria) for row in with_best(mine, criteria, decimals=PRINTED)
            ]
    columns = _text_columns(criteria, compare)
    title = f"Table 4 of {PAPER}: MOS by system and language"
    return Content(
        tables=[Table("table4", title, columns, rows, _MEANS_NOTE + LEGEND, group="task")]
    )


def _mean_rows(
    task: str, language: str, task_families: Sequence[Family], compare: str, inputs: PartInput
) -> Iterator[Row]:
    rows: dict[str, Row] = {}
    for family in task_families:
        table = family.table[family.table["language"] == language]
        if not len(table):
            continue
        name = name_of(family)
        references = set(table[compare][table["role"] == "reference"])
        for system, (own, naive) in _means(table, compare, inputs).items():
            row = rows.setdefault(system, {"task": task, compare: system, "language": language})
            row[UNRANKED] = system in references
            row |= interval_cells(name, own)
            row |= {f"{name}_half": _half(naive), f"{name}_n": own.n_ratings}
    for system in inputs.ordered(compare, rows):
        yield rows[system]


def _means(table: Any, compare: str, inputs: PartInput) -> dict[str, tuple[Estimate, Estimate]]:
    """The clustered and the naive estimate of each system."""
    estimator = MeanScore(Breakdown(compare), ("two_way",), ("ratings",))
    estimates = estimator.fit(table, level=inputs.options.level, seed=inputs.options.seed)
    naive = {row.condition: row for row in estimates if row.interval.startswith("naive")}
    own = (row for row in estimates if not row.interval.startswith("naive"))
    return {row.condition: (row, naive[row.condition]) for row in own}


def _word_row(row: Row, criteria: Sequence[str]) -> Row:
    for name in criteria:
        if name in row:
            row[f"{name}_text"] = _with_spread(row[name], row[f"{name}_half"], PRINTED)
            row[f"{name}_text_mark"] = row.get(f"{name}_mark", "")
    return row


def _with_spread(value: float, spread: float | None, decimals: int) -> str:
    """The value with its spread after ±, if it has one, never broken over two lines."""
    text = f"{value:.{decimals}f}"
    return text if spread is None else f"{text}\u00a0±\u00a0{spread:.{decimals}f}"


def _text_columns(criteria: Sequence[str], compare: str = "condition") -> list[Column]:
    """The columns of a paper's table: system, language, and each criterion in words."""
    columns = [Column(compare, "System"), Column("language", "Language")]
    return columns + [Column(f"{name}_text", heading_of(name)) for name in criteria]


def _half(row: Estimate) -> float | None:
    return None if row.low is None or row.high is None else (row.high - row.low) / 2


def name_of(family: Family) -> str:
    """What a column of the family is called: its criterion."""
    return family.group["criterion"] or family.estimand


def heading_of(criterion: str) -> str:
    """What a table calls a criterion: as the paper does, else its key in words."""
    return MEAN_HEADINGS.get(criterion) or words_of(criterion)


def task_title(task: str, inputs: PartInput) -> str:
    """What the study calls a task; of a file, its key in words."""
    tasks = inputs.facts.get("tasks", ()) if inputs.facts else ()
    return next((t["title"] for t in tasks if t["task"] == task and t["title"]), words_of(task))


def languages_of(members: Sequence[Family], inputs: PartInput) -> list[str]:
    """The languages of these families' ratings, in the study's order."""
    return inputs.ordered(
        "language", {str(name) for each in members for name in each.table["language"].unique()}
    )


ERRORS, CLAP, COVERAGE = "errors", "clap", "coverage"
PRECISION, RECALL, F1, DISTANCE = "precision", "recall", "f1", "ntd"
DECIMALS = {  # of the columns of the paper's table, in its order
    **dict.fromkeys((ERRORS, "sig", "bak", "ovrl", CLAP, COVERAGE), 2),
    **dict.fromkeys((PRECISION, RECALL, F1), 3),
    DISTANCE: 4,
}
_NAMED = ("WER/CER %", "SIG", "BAK", "OVRL", "CLAP", "Coverage", "Precision", "Recall", "F1", "NTD")
OBJECTIVE_HEADINGS = dict(zip(DECIMALS, _NAMED, strict=True))
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
    "of a run first (section 2.4.1). NTD: mean over the clips with a match. Then the mean ± "
    "standard deviation of the runs (none with one run). Coverage is of the "
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
class Verifier:
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
    verified, others = _choose_verifier(scores)
    labels = sorted(map(str, scores["metric"].unique()))
    taken = _choose_scores(labels)
    runs = _by_run(scores, taken, verified, systems)
    rows: list[Row] = []
    for places in by_group(runs, systems, inputs):
        cells = [
            place
            | _summarise_runs(runs[place["condition"], place["language"]])
            | _coverage(known.get(place["condition"]), systems.empty(place["condition"]))
            for place in sorted(places, key=lambda place: place[UNRANKED])
        ]
        rows += _mark_best(cells, DECIMALS, LOWEST)
    if not rows:
        return Content()
    settings = [f"{key}: {label}" for key, label in taken.items() if key != label]
    notes = [
        f"Measured with settings of their own: {enumerated(sorted(settings))}. " * bool(settings),
        _who_verified(verified, others) if verified else _uncounted_note(labels),
        _without(scores, runs, taken, verified),
    ]
    return Content(tables=[_table(rows, systems.heads, "".join(notes))])


def by_group(
    there: Collection[tuple[str, str]], systems: Systems, inputs: PartInput
) -> Iterator[list[Row]]:
    """The first cells of the rows of each group and language, in the study's order."""
    languages = inputs.ordered("language", {language for _, language in there})
    order = inputs.ordered("condition", {name for name, _ in there})
    for group in dict.fromkeys(systems.group.values()):
        for language in languages:
            yield [
                {systems.heads: group, "condition": name, "language": language}
                | {UNRANKED: name in systems.plain}
                for name in order
                if systems.group.get(name) == group and (name, language) in there
            ]


def _table(rows: Sequence[Row], group: str, note_of_settings: str) -> Table:
    there = [name for name in DECIMALS if any(name in row for row in rows)]
    columns = [Column("condition", "System"), Column("language", "Language")]
    columns += [Column(f"{name}_text", OBJECTIVE_HEADINGS[name]) for name in there]
    n = sorted({row["runs"] for row in rows})
    many = " to ".join(map(str, dict.fromkeys((n[0], n[-1]))))
    absent = [OBJECTIVE_HEADINGS[name] for name in DECIMALS if name not in there]
    if absent:
        note_of_settings += f"Without scores: {enumerated(absent)}. "
    note = f"{many} {'run' if many == '1' else 'runs'}. {_OBJECTIVE_NOTE}{note_of_settings}{LEGEND}"
    return Table("table3", f"Table 3 of {PAPER}: {TITLE}", columns, rows, note, group=group)


def systems_of(tasks: Tasks, pairs: Sequence[Family], scores: pd.DataFrame) -> Systems:
    """Each condition's group (what the study says, else its task), and what kind it is of.

    Conditions without NVV are in no task but as what pairs compare with, and stand in the group
    of their system. What a task asks says whether its systems follow tags or descriptions.
    """
    groups: dict[str, str] = {}
    criteria_of: dict[str, set[str]] = {}
    for task, task_families in tasks.items():
        for family in task_families:
            for name in family.table["condition"].unique():
                groups[str(name)] = task
                criteria_of.setdefault(str(name), set()).add(family.group["criterion"])
    plain: set[str] = set()
    for family in pairs:
        both = family.table[["condition", "versus_condition"]].drop_duplicates()
        for condition, versus in both.itertuples(index=False):
            if str(versus) not in groups and str(condition) in groups:
                groups[str(versus)] = groups[str(condition)]
                criteria_of[str(versus)] = criteria_of[str(condition)]
                plain.add(str(versus))
    named = "group" in scores and bool((scores["group"] != "").any())
    if named:
        group_of = scores[["condition", "group"]].astype(str).drop_duplicates()
        groups |= {c: g for c, g in group_of.itertuples(index=False) if g and c in groups}
    tagged = frozenset(name for name, criteria in criteria_of.items() if criteria & TAG_CRITERIA)
    prompted = frozenset(
        name for name, criteria in criteria_of.items() if criteria & PROMPT_CRITERIA
    )
    heads = "group" if named else "task"
    return Systems(groups, heads, frozenset(plain), tagged - prompted, prompted - tagged)


def _choose_verifier(scores: pd.DataFrame) -> tuple[Verifier | None, list[str]]:
    """The verifier with values for the most clips, judges first; and the labels of all others."""
    values = scores.dropna(subset=["value"]).groupby("metric")["stimulus"].nunique()
    counts: dict[Verifier, int] = {}
    for key in VERIFIERS:
        for label in sorted(map(str, values.index)):
            name, bracket, rest = label.partition("[")
            if name == f"{key}_{PARTS[0]}":
                counts[Verifier(key, bracket + rest)] = int(values[label])
    if not counts:
        return None, []
    best = max(counts, key=lambda each: counts[each])
    return best, [f"{each.key}{each.settings}" for each in counts if each != best]


def _uncounted_note(labels: Sequence[str]) -> str:
    """Scores of releases that stored no counts, with the remedy."""
    old = [each for each in labels if each.partition("[")[0] in VERIFIERS]
    if not old:
        return ""
    return (
        f"{enumerated(old)} has no counts (_tp, _fp, _fn). Score the clips with it again; a judge "
        "answers from its cache. "
    )


def _who_verified(verified: Verifier, others: Sequence[str]) -> str:
    sentence = (
        f"Vocalisations found: by {VERIFIERS[verified.key]} ({verified.key}{verified.settings})"
    )
    return f"{sentence}; not used: {enumerated(others)}. " if others else f"{sentence}. "


def _choose_scores(labels: Sequence[str]) -> dict[str, str]:
    """Of each metric the scores that are used: of its usual settings, else of the first others."""
    taken: dict[str, str] = {}
    for label in labels:  # "wer" comes before "wer[beam=1]"
        name = label.partition("[")[0]
        if name in (*MEANS.values(), WORDS, CHARACTERS):
            taken.setdefault(name, label)
    return taken


def _by_run(
    scores: pd.DataFrame, taken: Mapping[str, str], verified: Verifier | None, systems: Systems
) -> dict[tuple[str, str], Runs]:
    """The columns of every run, by condition and language."""
    names = {label: name for name, label in taken.items()}
    if verified:
        names |= {verified.label(name): name for name in PARTS}
    table = scores[scores["metric"].isin(names)].dropna(subset=["value"])
    language = table["language"].astype(str) if "language" in table else ""
    run = table["run"].astype(str).replace("", "1") if "run" in table else "1"
    table = table.assign(language=language, run=run, condition=table["condition"].astype(str))
    runs: dict[tuple[str, str], Runs] = {}
    for place, clips in table.groupby(["condition", "language", "run"], observed=True):
        condition, lang, number = map(str, place)
        by_metric = clips["metric"].map(names)
        values = clips.groupby(by_metric, observed=True)["value"]
        means, sums = (
            {str(name): float(value) for name, value in aggregate.items()}
            for aggregate in (values.mean(), values.sum())
        )
        columns = _columns(means, sums, lang)
        columns_kept = {k: v for k, v in columns.items() if k not in systems.empty(condition)}
        runs.setdefault((condition, lang), {})[number] = columns_kept
    return runs


def _columns(
    means: Mapping[str, float], sums: Mapping[str, float], language: str
) -> dict[str, float]:
    """The paper's columns of one run, from means and sums over its clips."""
    row = {name: means[metric] for name, metric in MEANS.items() if metric in means}
    error = CHARACTERS if in_characters(language) else WORDS
    if error in means:
        row[ERRORS] = 100 * means[error]
    if "tp" in sums:
        tp, fp, fn = (sums[name] for name in ("tp", "fp", "fn"))
        shares = {PRECISION: (tp, tp + fp), RECALL: (tp, tp + fn), F1: (2 * tp, 2 * tp + fp + fn)}
        row |= {name: part / whole for name, (part, whole) in shares.items() if whole}
    if "distance" in means:
        row[DISTANCE] = means["distance"]
    return row


def _summarise_runs(runs: Runs) -> Row:
    """Mean and standard deviation over runs of each column, as numbers and in words."""
    row: Row = {"runs": len(runs)}
    for name, decimals in DECIMALS.items():
        values = pd.Series([of_run[name] for of_run in runs.values() if name in of_run])
        if not len(values):
            continue
        row[name] = float(values.mean())
        sd = float(values.std()) if len(values) > 1 else None
        row[f"{name}_sd"], row[f"{name}_runs"] = sd, len(values)
        row[f"{name}_text"] = _with_spread(row[name], sd, decimals)
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
    verified: Verifier | None,
) -> str:
    """Clips of these systems that have no value where others of theirs have, and why."""
    lang = scores["language"].astype(str) if "language" in scores else pd.Series("", scores.index)
    lacking_texts = []
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
                lacking_texts.append(
                    f"{OBJECTIVE_HEADINGS[name]} of {which}: {len(lacking)} of "
                    f"{counted(len(clips), 'clip')} ({why})"
                )
    return f"Left out, as they have no value: {'; '.join(lacking_texts)}. " if lacking_texts else ""


def _mark_best(
    rows: list[Row], decimals_of: Mapping[str, int], lowest: Collection[str] = ()
) -> Iterator[Row]:
    """The rows of one group and language with the best and second best of each column."""
    for name, decimals in decimals_of.items():
        rows = with_best(rows, [name], decimals=decimals, lowest=lowest)
    for row in rows:
        yield row | {f"{name}_text_mark": row.get(f"{name}_mark", "") for name in decimals_of}


ATTRIBUTE = "nvv_types"  # of a condition: "laugh; sigh; cough"
_INVENTORY_NOTE = (
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

    types_of: dict[str, list[str]] = {}
    for each in inputs.facts["conditions"] if inputs.facts else ():
        types = [name.strip() for name in each["attributes"].get(ATTRIBUTE, "").split(";")]
        for name in dict.fromkeys((each["condition"], each["system"])) if any(types) else ():
            if name:
                types_of.setdefault(name, []).extend(filter(None, types))
    return {
        name: Inventory(
            tuple(dict.fromkeys(types)), frozenset(map(type_name, types)), coverage_of(types)
        )
        for name, types in types_of.items()
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
    return Content(
        tables=[Table.from_rows(InventoryRow, "table2", title, rows, note=_INVENTORY_NOTE)]
    )


def families_by_task(inputs: PartInput) -> tuple[dict[str, list[Family]], list[Family]]:
    """The families of ratings of one condition, by task; and those of pairs."""
    scored: dict[str, list[Family]] = {}
    pairs: list[Family] = []
    for family in families(inputs.ratings):
        if family.in_pairs:
            pairs.append(family)
        else:
            scored.setdefault(family.group["task"], []).append(family)
    return scored, pairs


NOTHING = "no ratings with scores: collect some, or name the column of scores"


class Nvv(Part):
    """Tables 2 to 6 of NVV-SuperBench and its heat maps of systems by vocalisation."""

    key = "nvv"
    version = "4"
    title = "NVV-SuperBench: the paper's tables"
    order = 46
    always = False
    presets = frozenset({"nvv"})

    def make(self, inputs: PartInput) -> Content:
        """The paper's tables, every task and language in one; and its figures."""
        scored, pairs = families_by_task(inputs)
        if not scored and not pairs:
            raise ValueError(NOTHING)
        _check_studies([*pairs, *chain.from_iterable(scored.values())])
        tasks = {
            task: by_criterion(scored[task], inputs) for task in inputs.ordered("task", scored)
        }
        known = inventories(inputs)
        contents = [
            _draws(inputs),
            inventory_table(known, inputs),
            objective(tasks, pairs, known, inputs),
        ]
        inputs.progress(0.3, "Means by system and language")
        contents.append(means_table(tasks, inputs))
        contents.append(judge_tables(tasks, pairs, inputs))
        inputs.progress(0.7, "Heat maps")
        contents.append(heatmaps(tasks, known, inputs))
        contents.append(cmos(by_criterion(pairs, inputs), inputs))
        return together(contents)


def _draws(inputs: PartInput) -> Content:
    """What the study's tasks drew of the material."""
    tasks = inputs.facts["tasks"] if inputs.facts else ()
    return Content([task["drawn"] for task in tasks if task["drawn"]])


def _check_studies(members: Sequence[Family]) -> None:
    """Studies of one file are joined by language: a row is of a system in a language."""
    study_of: dict[str, str] = {}
    for family in members:
        study = family.group.get("study", "")
        for language in family.table["language"].unique():
            other = study_of.setdefault(str(language), study)
            if other != study:
                raise ValueError(
                    f"the studies {other} and {study} both hold ratings of the language "
                    f"“{language}”, and these tables have one row per system and language: "
                    "analyse each study by itself, or join studies of different languages"
                )


def by_criterion(members: list[Family], inputs: PartInput) -> list[Family]:
    """Families in the study's order of criteria."""
    places = inputs.ordered("criterion", {family.group["criterion"] for family in members})
    return sorted(members, key=lambda family: places.index(family.group["criterion"]))


PANEL = "judge_panel_"  # how the metrics of `manage.py judge_study` begin; then the criterion
NOT_THERE = (
    f"Table 5 is not there: no judges’ scores. {command('judge_study')} asks them, import_scores "
    "takes its CSV."
)
_JUDGE_NOTE = (
    f"Judges are audio language models ({command('judge_study')}): a clip's score is the mean over "
    "its judges. Mean over clips and, after ±, half of Student's interval over clips: it holds for "
    "these judges, not for others. A dash: no score. Marks hold within a group and language. "
)
_DIFFERENCE_NOTE = (
    "On the clips that both judges and raters scored; means over clips. Whether judges order clips "
    "as people do is in the part on metrics and human scores."
)


@table_row
class JudgeDifferenceRow:
    """A criterion of a system in one language, by judges and by raters."""

    task: str = column("Task")
    language: str = column("Language")
    condition: str = column("System")
    criterion: str = column("Criterion")
    raters: float = column("Raters", "number", PRINTED)
    judges: float = column("Judges", "number", PRINTED)
    difference: float = column("Judges − raters", "number", PRINTED, sign=True)
    clips: int = column("Clips", "count")


def judge_tables(tasks: Tasks, pairs: Sequence[Family], inputs: PartInput) -> Content:
    """The judges' table and their difference from raters; or that there are no judges' scores."""
    scores = inputs.scores
    if scores is None or "condition" not in scores:
        return Content([NOT_THERE])
    mine = scores[scores["metric"].str.startswith(PANEL)].dropna(subset=["value"])
    if not len(mine):
        return Content([NOT_THERE])
    systems = systems_of(tasks, pairs, scores)
    clips = _by_clip(mine[mine["condition"].astype(str).isin(systems.group)])
    names = dict.fromkeys(map(name_of, chain.from_iterable(tasks.values())))
    there = set(clips["criterion"])
    criteria = [name for name in names if name in there] + sorted(there - set(names))
    rows = list(_rows(clips, systems, criteria, inputs))
    columns = _text_columns(criteria)
    title = f"Table 5 of {PAPER}: judges’ scores by system and language"
    tables = [Table("table5", title, columns, rows, _JUDGE_NOTE + LEGEND, group=systems.heads)]
    differences = [
        row
        for task, task_families in tasks.items()
        for row in _judge_differences(task, task_families, clips, inputs)
    ]
    if differences:
        title = "Judges and raters"
        tables.append(
            Table.from_rows(
                JudgeDifferenceRow, "judges", title, differences, note=_DIFFERENCE_NOTE, folded=True
            )
        )
    return Content(tables=tables, warnings=list(_two_instruments(tasks, clips, inputs)))


def _two_instruments(tasks: Tasks, clips: pd.DataFrame, inputs: PartInput) -> Iterator[str]:
    """Tasks whose raters did not read the rubric by which their clips were judged."""
    for task, task_families in tasks.items():
        own = {str(name) for each in task_families for name in each.table["stimulus"].unique()}
        judged_by = clips["version"][clips["stimulus"].isin(own)].unique()
        yield from inputs.two_instruments(task, task_title(task, inputs), map(str, judged_by))


def _by_clip(scores: pd.DataFrame) -> pd.DataFrame:
    """One row per clip and criterion: the newest version of its score."""
    newest = newest_scores(scores)
    language = newest["language"].astype(str) if "language" in newest else ""
    return pd.DataFrame(
        {
            "stimulus": newest["stimulus"].astype(str),
            "condition": newest["condition"].astype(str),
            "language": language,
            "criterion": newest["metric"].str.removeprefix(PANEL),
            "version": newest["version"].astype(str),
            "value": newest["value"],
        }
    )


def _rows(
    clips: pd.DataFrame, systems: Systems, criteria: Sequence[str], inputs: PartInput
) -> Iterator[Row]:
    """Groups in their order, in each the languages, in each the systems with their marks."""
    by_system = clips.groupby(["condition", "language"], sort=False)
    own = {(str(name), str(language)): rows for (name, language), rows in by_system}
    for places in by_group(own, systems, inputs):
        cells = [place | _cells(own[place["condition"], place["language"]]) for place in places]
        yield from _mark_best(cells, dict.fromkeys(criteria, PRINTED))


def _cells(table: pd.DataFrame) -> Row:
    """Of each criterion the mean over clips, half of its interval, and both in words."""
    row: Row = {}
    for name, values in table.groupby("criterion")["value"]:
        mean, n = float(values.mean()), len(values)
        half = None
        if n > 1:
            low, high = t_interval(mean, float(values.std() / n**0.5), n - 1, 0.95)
            half = (high - low) / 2
        text = _with_spread(mean, half, PRINTED)
        row |= {f"{name}": mean, f"{name}_half": half, f"{name}_n": n, f"{name}_text": text}
    return row


def _judge_differences(
    task: str, task_families: Sequence[Family], clips: pd.DataFrame, inputs: PartInput
) -> Iterator[JudgeDifferenceRow]:
    for family in task_families:
        judges = clips[clips["criterion"] == name_of(family)].set_index("stimulus")["value"]
        raters = family.table.groupby("stimulus", observed=True)["score"].mean()
        facts = family.table.drop_duplicates("stimulus").set_index("stimulus")
        facts = facts.assign(raters=raters, judges=judges).dropna(subset=["judges"])
        places = facts.groupby(["language", "condition"], observed=True)[["raters", "judges"]]
        means, counts = places.mean(), places.size()
        for language in inputs.ordered("language", map(str, facts["language"].unique())):
            mine = {str(c) for lang, c in means.index if lang == language}
            for system in inputs.ordered("condition", mine):
                place = (language, system)
                human = float(means["raters"][place])
                judge, n = float(means["judges"][place]), int(counts[place])
                criterion = name_of(family)
                yield JudgeDifferenceRow(
                    task, language, system, criterion, human, judge, judge - human, n
                )


UNSUPPORTED, UNRATED = "–", "?"  # in cells without a value
ABOUT = "nvv"  # in the names of criteria about vocalisations, whose scale has a 0 for absent
_HEATMAP_NOTE = (
    "Types in the study's order; systems by falling mean of their row. Colours run over the whole "
    "scale, so that panels can be compared."
)
_CELLS = f" {UNSUPPORTED}: the system does not support the type; {UNRATED}: supported, not rated."
_UNTOLD = (
    f" {UNRATED}: not rated. No inventory says which types a system supports: give its condition "
    "the attribute nvv_types."
)


def heatmaps(tasks: Tasks, known: Mapping[str, Inventory], inputs: PartInput) -> Content:
    """A panel for each language, criterion about vocalisations (or any), and task."""
    figures = []
    for language in languages_of(list(chain.from_iterable(tasks.values())), inputs):
        for task, task_families in tasks.items():
            about_vocalisations = [each for each in task_families if ABOUT in name_of(each).lower()]
            for family in about_vocalisations or task_families:
                figures += _panel(task, language, family, known, inputs)
    return Content(figures=figures)


def _panel(
    task: str, language: str, family: Family, known: Mapping[str, Inventory], inputs: PartInput
) -> list[Figure]:
    table = family.table[family.table["language"] == language]
    table = table[table["dimension"] != ""]
    if table["dimension"].nunique() < 2:
        return []
    criterion = name_of(family)
    grid = (
        table.groupby([system_column(table), "dimension"], observed=True)["score"].mean().unstack()
    )
    kinds = inputs.ordered("dimension", map(str, grid.columns))
    place = {
        name: at
        for at, name in enumerate(inputs.ordered(system_column(table), map(str, grid.index)))
    }
    means = grid.mean(axis=1)
    systems = sorted(map(str, grid.index), key=lambda name: (-means[name], place[name]))
    rows = [_cell(s, kind, grid.loc[s, kind], known.get(s)) for s in systems for kind in kinds]
    own = [name for name in systems if name in known]
    at = f" · {language}" if language else ""
    key = "-".join(part for part in ("heatmap", task, criterion, language) if part)
    title = f"Figure 2 of {PAPER}: mean {heading_of(criterion)} by type"
    title += f" · {task_title(task, inputs)}{at}"
    ends = _ends(family, criterion)
    note = _HEATMAP_NOTE + (_CELLS if own else _UNTOLD)
    return [Figure(key, title, "heatmap", rows, "Type", "System", ends, note=note)]


def _cell(system: str, kind: str, mean: Any, inventory: Inventory | None) -> dict[str, Any]:
    """A cell; without a value it says why: not supported, or not rated."""
    row: dict[str, Any] = {"row": system, "column": kind, "value": None}
    if not pd.isna(mean):
        return {**row, "value": float(mean)}
    supported = inventory is None or inventory.holds(kind)
    return {**row, "text": UNRATED if supported else UNSUPPORTED}


def _ends(family: Family, criterion: str) -> tuple[float, float] | None:
    """The ends of the scale, with the 0 for an absent vocalisation."""
    absent = ABOUT in criterion.lower()
    scores = family.table["score"]
    scores = scores[scores > 0] if absent else scores  # the 0 is no point of the scale
    if not len(scores):
        return None
    ends = estimand_of(family.estimand).ends_for(float(scores.min()), float(scores.max()))
    return (0.0, ends[1]) if ends and absent else ends


_COMPARISON_NOTE = (
    "Above 0: the system is better than what it is compared with, here its clips without NVV."
)
_BEHIND = "Two-way clustered intervals."


@table_row
class CmosRow:
    """The comparative mean score of a condition against another one, in one language."""

    language: str = column("Language")
    condition: str = column("System")
    versus: str = column("Against")
    criterion: str = column("Criterion")
    cmos: float = column("CMOS", "number", 2, sign=True)
    low: float | None = column("{percent}", "interval", 2, key="interval")
    high: float | None
    ratings: int = column("Ratings", "count")
    raters: int = column("Raters", "count")


def cmos(pairs: Sequence[Family], inputs: PartInput) -> Content:
    """The paper's table, and its numbers with intervals behind it."""
    if not pairs:
        return Content()
    rows = [
        row
        for language in languages_of(pairs, inputs)
        for family in pairs
        for row in _against(family, language, inputs)
    ]
    criteria = list(dict.fromkeys(row.criterion for row in rows))
    several = len({(r.language, r.condition, r.versus) for r in rows}) > len(
        {(r.language, r.condition) for r in rows}
    )
    columns = [Column("language", "Language"), Column("condition", "System")]
    columns += [Column("versus", "Against")] if several else []
    columns += [Column(name, heading_of(name), "number", 2, sign=True) for name in criteria]
    level = f"{inputs.options.level:.0%}"
    title = f"Table 6 of {PAPER}: CMOS with against without"
    return Content(
        tables=[
            Table("table6", title, columns, _wide(rows, inputs), _COMPARISON_NOTE),
            Table.from_rows(
                *(CmosRow, "cmos", f"{title}, with intervals", rows),
                columns=columns_of(CmosRow, percent=level),
                note=_BEHIND,
                folded=True,
            ),
        ]
    )


def _wide(rows: Sequence[CmosRow], inputs: PartInput) -> list[dict[str, Any]]:
    """A row per language and system, a column per criterion."""
    row_of: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        key = (row.language, row.condition, row.versus)
        wide = row_of.setdefault(
            key, dict(zip(("language", "condition", "versus"), key, strict=True))
        )
        wide[row.criterion] = row.cmos
        wide[f"{row.criterion}_low"], wide[f"{row.criterion}_high"] = row.low, row.high
    languages = list(dict.fromkeys(language for language, _, _ in row_of))
    order = inputs.ordered("condition", {condition for _, condition, _ in row_of})
    keys = sorted(row_of, key=lambda key: (languages.index(key[0]), order.index(key[1]), key[2]))
    return [row_of[key] for key in keys]


def _against(family: Family, language: str, inputs: PartInput) -> list[CmosRow]:
    """CMOS of each condition against another one, in one language."""
    table = family.table[family.table["language"] == language]
    return [
        row_from(
            CmosRow,
            row,
            language=language,
            versus=row.group.get("versus_condition", ""),
            criterion=name_of(family),
            cmos=row.value,
            ratings=row.n_ratings,
            raters=row.n_raters,
        )
        for row in (means(table, Breakdown(), inputs) if len(table) else ())
    ]
