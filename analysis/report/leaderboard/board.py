"""A leaderboard as content: scores with metrics, differences, links, and what may be compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from analysis.report.content import Column, Content, Figure, Table, together
from analysis.report.emphasis import LEGEND, with_best
from analysis.report.leaderboard.gathering import Question, StudyInput, gathered
from analysis.report.leaderboard.links import link_rows, said_of, shift_rows, warnings_of
from analysis.report.leaderboard.metric_columns import MetricColumns, metric_columns
from analysis.report.leaderboard.standings import (
    Standing,
    difference_rows,
    score_rows,
    standing_of,
)
from analysis.report.works import cite
from analysis.statistics.linking.linked_studies import PRIOR_SHARE, components_of

KEY = "leaderboard"
METHODS = (
    "Systems of several studies were put on one scale by clips that the studies share: the mean "
    "of a system in a study is the sum of a study effect, a system effect and a deviation of the "
    "system in that study, fitted by weighted least squares. Variances are clustered by raters and "
    "items, each study with its own degrees of freedom. The SD of the deviations has a half-t "
    f"prior with {PRIOR_SHARE:.0%} of the scale as its scale {cite('gelman2006')}; its posterior "
    "comes from the weighted residual sum of squares, whose test is an ANOVA-type one "
    f"{cite('brunner1997')}. Intervals across studies are quantiles over this posterior, so they "
    "contain the error of linking; those of systems that only one study rated, and the same, do "
    "not."
)
NOTE = "Scores are means over clips, each clip with the same weight."


def leaderboard(studies: Sequence[StudyInput], reference: str = "", level: float = 0.95) -> Content:
    """The leaderboard of these studies; scores are on the scale of the first one that it links."""
    found = gathered(studies)
    several = len(found.questions) > 1
    parts = [
        _of_question(question, studies, reference, level, f"_{n + 1}" if several else "")
        for n, question in enumerate(found.questions)
    ]
    made = together(parts)
    left_out = [f"On no leaderboard: {each}" for each in found.left_out]
    return Content(
        sentences=made.sentences,
        figures=made.figures,
        tables=made.tables,
        warnings=list(dict.fromkeys([*made.warnings, *found.notes, *found.same.notes, *left_out])),
        methods=[METHODS] if len(studies) > 1 else [],
    )


def _of_question(
    question: Question, studies: Sequence[StudyInput], reference: str, level: float, suffix: str
) -> Content:
    width = question.ends[1] - question.ends[0] if question.ends else None
    made = components_of(question.ratings, question.units, width)
    standings = [standing_of(each, level, reference) for each in made]
    metrics = metric_columns(studies, question.ratings)
    tables = [
        _scores(question, standings, metrics, suffix),
        _differences(question, standings, suffix),
    ]
    if len(question.units) > 1:
        tables += _links(question, standings, suffix)
    return Content(
        sentences=[f"{question.title}: {text}" for text in map(said_of, standings) if text],
        figures=[_figure(question, standings, suffix)],
        tables=tables,
        warnings=[
            *(f"{question.title}: {text}" for text in (*warnings_of(standings), *question.notes)),
            *metrics.notes,
            *_absent(question, standings, reference),
        ],
    )


def _absent(question: Question, standings: Sequence[Standing], reference: str) -> Iterator[str]:
    without = [each.heading(True) for each in standings if each.reference is None]
    if reference and without:
        yield f"{question.title}: the reference {reference} is not in: {'; '.join(without)}."


def _scores(
    question: Question, standings: Sequence[Standing], metrics: MetricColumns, suffix: str
) -> Table:
    rows: list[dict[str, Any]] = []
    decimals = question.estimand.decimals
    marked = [name for name in metrics.names if metrics.direction[name] is not None]
    lowest = [metrics.key(name) for name in marked if not metrics.direction[name]]
    for standing in standings:
        own = [
            row
            | {"group": standing.heading(len(standings) > 1)}
            | {metrics.key(m): metrics.means.get((m, row["system"])) for m in metrics.names}
            for row in score_rows(standing)
        ]
        own = with_best(own, ["score"], decimals=decimals)
        keys = [metrics.key(name) for name in marked]
        rows += with_best(own, keys, lowest=lowest)
    columns = [
        Column("rank", "Rank", "count"),
        Column("system", "System"),
        Column("score", question.estimand.name, "number", decimals),
        Column("score", f"{standings[0].level * 100:g} %", "interval", decimals),
        *(Column(metrics.key(name), _headed(metrics, name), "number") for name in metrics.names),
        Column("studies", "Rated in"),
        Column("ratings", "Ratings", "count"),
        Column("raters", "Raters", "count"),
        Column("clips", "Clips", "count"),
    ]
    metric_note = " Metrics: means over the clips that people rated." if metrics.names else ""
    title = f"Leaderboard: {question.title}"
    note = f"{NOTE}{metric_note} {LEGEND}"
    group = "group" if any(row["group"] for row in rows) else ""
    about = question.title
    return Table(f"{KEY}{suffix}", title, columns, rows, note, about=about, group=group)


def _headed(metrics: MetricColumns, name: str) -> str:
    up, title = metrics.direction[name], metrics.titles[name]
    return title if up is None else f"{title} {'↑' if up else '↓'}"


def _differences(question: Question, standings: Sequence[Standing], suffix: str) -> Table:
    several = len(standings) > 1
    rows = [
        row
        | {"group": f"{standing.heading(several)}: {row['family']}" if several else row["family"]}
        for standing in standings
        for row in difference_rows(standing)
    ]
    decimals = question.estimand.decimals
    columns = [
        Column("system", "System"),
        Column("versus", "Minus"),
        Column("difference", "Difference", "number", decimals, sign=True),
        Column("difference", f"{standings[0].level * 100:g} %", "interval", decimals),
        Column("p_adjusted", "p (Holm)", "p"),
        Column("how", "Compared by"),
    ]
    note = (
        "Intervals are each difference’s alone; p is adjusted within its group. Differences across "
        "studies contain the error of linking."
    )
    title = f"Differences: {question.title}"
    return Table(
        f"differences{suffix}", title, columns, rows, note, about=question.title, group="group"
    )


def _links(question: Question, standings: Sequence[Standing], suffix: str) -> list[Table]:
    decimals = question.estimand.decimals
    level = f"{standings[0].level * 100:g} %"
    pairs = [
        Column("one", "Study"),
        Column("other", "And"),
        Column("may", "May be compared"),
        Column("systems", "Shared systems"),
        Column("clips", "Shared clips", "count"),
        Column("shift", "Second − first", "number", decimals, sign=True),
        Column("shift", level, "interval", decimals),
    ]
    systems = [
        Column("pair", "Studies"),
        Column("system", "Shared system"),
        Column("shift", "Difference", "number", decimals, sign=True),
        Column("shift", level, "interval", decimals),
        Column("clips", "Shared clips", "count"),
    ]
    note = (
        "A shared clip is the same audio, whatever it is called. Intervals are by sampling alone."
    )
    every, each = list(link_rows(standings)), list(shift_rows(standings))
    title = f"Studies and their links: {question.title}"
    shifts = f"Shared systems, study by study: {question.title}"
    return [
        Table(f"links{suffix}", title, pairs, every, note, about=question.title),
        Table(
            f"shared-systems{suffix}",
            shifts,
            systems,
            each,
            note,
            about=question.title,
            folded=True,
        ),
    ]


def _figure(question: Question, standings: Sequence[Standing], suffix: str) -> Figure:
    several = len(standings) > 1
    rows = [
        {
            "name": row["system"],
            "value": row["score"],
            "low": row["score_low"],
            "high": row["score_high"],
            "group": standing.heading(several),
        }
        for standing in standings
        for row in score_rows(standing)
    ]
    return Figure(
        f"scores{suffix}",
        question.title,
        "intervals",
        rows,
        x=question.estimand.axis,
        ends=question.ends,
        about=question.title,
        decimals=question.estimand.decimals,
    )
