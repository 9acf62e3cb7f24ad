"""Table 5: what audio language models gave as judges, laid out as Table 4; and beside raters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from analysis.ratings.breakdowns import Family
from analysis.ratings.metric_scores import newest_scores
from analysis.report.content import Column, Content, Table, column, table_row
from analysis.report.emphasis import LEGEND, UNRANKED, with_best
from analysis.report.part import PartInput
from analysis.report.parts.nvv.nvv_means import (
    PAPER,
    PRINTED,
    Row,
    Tasks,
    heading_of,
    name_of,
    task_title,
)
from analysis.report.parts.nvv.nvv_objective import Systems, systems_of
from analysis.statistics.intervals import t_interval
from listening.common.command_name import command

PANEL = "judge_panel_"  # how the metrics of `manage.py judge_study` begin; then the criterion
NOT_THERE = (
    f"Table 5 is not there: no judges’ scores. {command('judge_study')} asks them, import_scores "
    "takes its CSV."
)
_NOTE = (
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
    tables = [Table("table5", title, columns, rows, _NOTE + LEGEND, group=systems.heads)]
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
