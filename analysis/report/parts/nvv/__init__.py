"""The tables of NVV-SuperBench: inventories, objective results, MOS, judges, heat maps, CMOS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.ratings.breakdowns import Breakdown, Family, families
from analysis.ratings.estimands import estimand_of
from analysis.ratings.metric_scores import newest_scores
from analysis.report.content import (
    Column,
    Content,
    Figure,
    Table,
    column,
    columns_of,
    table_row,
    together,
)
from analysis.report.emphasis import LEGEND, UNRANKED, with_best
from analysis.report.part import Part, PartInput
from analysis.report.parts.att import compared, means
from analysis.report.parts.nvv.nvv_means import (
    PAPER,
    PRINTED,
    Row,
    Tasks,
    heading_of,
    languages_of,
    means_table,
    name_of,
    task_title,
)
from analysis.report.parts.nvv.nvv_objective import (
    Inventory,
    Systems,
    inventories,
    inventory_table,
    objective,
    systems_of,
)
from analysis.statistics.intervals import t_interval
from listening.common.command_name import command

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
        scored: dict[str, list[Family]] = {}
        pairs: list[Family] = []
        for family in families(inputs.kept):
            if family.in_pairs:
                pairs.append(family)
            else:
                scored.setdefault(family.group["task"], []).append(family)
        if not scored and not pairs:
            raise ValueError(NOTHING)
        _check_studies([*pairs, *(each for found in scored.values() for each in found)])
        tasks = {
            task: by_criterion(scored[task], inputs) for task in inputs.ordered("task", scored)
        }
        known = inventories(inputs)
        made = [
            _draws(inputs),
            inventory_table(known, inputs),
            objective(tasks, pairs, known, inputs),
        ]
        inputs.progress(0.3, "Means by system and language")
        made.append(means_table(tasks, inputs))
        made.append(judged(tasks, pairs, inputs))
        inputs.progress(0.7, "Heat maps")
        made.append(heatmaps(tasks, known, inputs))
        made.append(cmos(by_criterion(pairs, inputs), inputs))
        return together(made)


def _draws(inputs: PartInput) -> Content:
    """What the study's tasks drew of the material."""
    tasks = inputs.facts["tasks"] if inputs.facts else ()
    return Content([task["drawn"] for task in tasks if task["drawn"]])


def _check_studies(found: Sequence[Family]) -> None:
    """Studies of one file are joined by language: a row is of a system in a language."""
    study_of: dict[str, str] = {}
    for family in found:
        study = family.group.get("study", "")
        for language in family.table["language"].unique():
            other = study_of.setdefault(str(language), study)
            if other != study:
                raise ValueError(
                    f"the studies {other} and {study} both hold ratings of the language "
                    f"“{language}”, and these tables have one row per system and language: "
                    "analyse each study by itself, or join studies of different languages"
                )


def by_criterion(found: list[Family], inputs: PartInput) -> list[Family]:
    """Families in the study's order of criteria."""
    places = inputs.ordered("criterion", {family.group["criterion"] for family in found})
    return sorted(found, key=lambda family: places.index(family.group["criterion"]))


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
_BESIDE = (
    "On the clips that both judges and raters scored; means over clips. Whether judges order clips "
    "as people do is in the part on metrics and human scores."
)


@table_row
class BesideRow:
    """A criterion of a system in one language, by judges and by raters."""

    task: str = column("Task")
    language: str = column("Language")
    condition: str = column("System")
    criterion: str = column("Criterion")
    raters: float = column("Raters", "number", PRINTED)
    judges: float = column("Judges", "number", PRINTED)
    difference: float = column("Judges − raters", "number", PRINTED, sign=True)
    clips: int = column("Clips", "count")


def judged(tasks: Tasks, pairs: Sequence[Family], inputs: PartInput) -> Content:
    """The judges' table and their difference from raters; or that there are no judges' scores."""
    scores = inputs.scores
    if scores is None or "condition" not in scores:
        return Content([NOT_THERE])
    mine = scores[scores["metric"].str.startswith(PANEL)].dropna(subset=["value"])
    if not len(mine):
        return Content([NOT_THERE])
    systems = systems_of(tasks, pairs, scores)
    clips = _by_clip(mine[mine["condition"].astype(str).isin(systems.group)])
    asked = dict.fromkeys(name_of(each) for found in tasks.values() for each in found)
    there = set(clips["criterion"])
    criteria = [name for name in asked if name in there] + sorted(there - set(asked))
    rows = list(_rows(clips, systems, criteria, inputs))
    columns = [Column("condition", "System"), Column("language", "Language")]
    columns += [Column(f"{name}_text", heading_of(name)) for name in criteria]
    title = f"Table 5 of {PAPER}: judges’ scores by system and language"
    tables = [Table("table5", title, columns, rows, _JUDGE_NOTE + LEGEND, group=systems.heads)]
    beside = [row for task, found in tasks.items() for row in _beside(task, found, clips, inputs)]
    if beside:
        title = "Judges beside raters"
        tables.append(Table.of(BesideRow, "judges", title, beside, note=_BESIDE, folded=True))
    return Content(tables=tables, warnings=list(_two_instruments(tasks, clips, inputs)))


def _two_instruments(tasks: Tasks, clips: pd.DataFrame, inputs: PartInput) -> Iterator[str]:
    """Tasks whose raters did not read the rubric by which their clips were judged."""
    for task, found in tasks.items():
        own = {str(name) for each in found for name in each.table["stimulus"].unique()}
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
    own = dict(iter(clips.groupby(["condition", "language"], sort=False)))
    languages = inputs.ordered("language", clips["language"].unique())
    order = inputs.ordered("condition", clips["condition"].unique())
    for group in dict.fromkeys(systems.group.values()):
        for language in languages:
            made = [
                {systems.heads: group, "condition": name, "language": language}
                | {UNRANKED: name in systems.plain}
                | _cells(own[name, language])
                for name in order
                if systems.group[name] == group and (name, language) in own
            ]
            for row in with_best(made, criteria, decimals=PRINTED):
                yield row | {f"{name}_text_mark": row.get(f"{name}_mark", "") for name in criteria}


def _cells(table: pd.DataFrame) -> Row:
    """Of each criterion the mean over clips, half of its interval, and both in words."""
    row: Row = {}
    for name, values in table.groupby("criterion")["value"]:
        mean, n = float(values.mean()), len(values)
        text, half = f"{mean:.{PRINTED}f}", None
        if n > 1:
            low, high = t_interval(mean, float(values.std() / n**0.5), n - 1, 0.95)
            half = (high - low) / 2
            text += f"\u00a0±\u00a0{half:.{PRINTED}f}"
        row |= {f"{name}": mean, f"{name}_half": half, f"{name}_n": n, f"{name}_text": text}
    return row


def _beside(
    task: str, found: Sequence[Family], clips: pd.DataFrame, inputs: PartInput
) -> Iterator[BesideRow]:
    for family in found:
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
                yield BesideRow(task, language, system, criterion, human, judge, judge - human, n)


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
    every = [family for found in tasks.values() for family in found]
    for language in languages_of(every, inputs):
        for task, found in tasks.items():
            about = [each for each in found if ABOUT in name_of(each).lower()]
            for family in about or found:
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
    grid = table.groupby([compared(table), "dimension"], observed=True)["score"].mean().unstack()
    kinds = inputs.ordered("dimension", map(str, grid.columns))
    place = {
        name: at for at, name in enumerate(inputs.ordered(compared(table), map(str, grid.index)))
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


_NOTE = "Above 0: the system is better than what it is compared with, here its clips without NVV."
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
            Table("table6", title, columns, _wide(rows, inputs), _NOTE),
            Table.of(
                *(CmosRow, "cmos", f"{title}, with intervals", rows),
                columns=columns_of(CmosRow, percent=level),
                note=_BEHIND,
                folded=True,
            ),
        ]
    )


def _wide(rows: Sequence[CmosRow], inputs: PartInput) -> list[dict[str, Any]]:
    """A row per language and system, a column per criterion."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        key = (row.language, row.condition, row.versus)
        wide = found.setdefault(
            key, dict(zip(("language", "condition", "versus"), key, strict=True))
        )
        wide[row.criterion] = row.cmos
        wide[f"{row.criterion}_low"], wide[f"{row.criterion}_high"] = row.low, row.high
    languages = list(dict.fromkeys(language for language, _, _ in found))
    order = inputs.ordered("condition", {condition for _, condition, _ in found})
    keys = sorted(found, key=lambda key: (languages.index(key[0]), order.index(key[1]), key[2]))
    return [found[key] for key in keys]


def _against(family: Family, language: str, inputs: PartInput) -> list[CmosRow]:
    """CMOS of each condition against another one, in one language."""
    table = family.table[family.table["language"] == language]
    return [
        CmosRow(
            language=language,
            condition=row.condition,
            versus=row.group.get("versus_condition", ""),
            criterion=name_of(family),
            cmos=row.value,
            low=row.low,
            high=row.high,
            ratings=row.n_ratings,
            raters=row.n_raters,
        )
        for row in (means(table, Breakdown(), inputs) if len(table) else ())
    ]
