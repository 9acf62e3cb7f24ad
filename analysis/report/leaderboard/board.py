"""A leaderboard as content: scores with metrics, differences, links, and what may be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.citations import cite
from analysis.formatting import counted, enumerated, listed, number, p_phrase
from analysis.ratings.metric_scores import directions, of_metrics, titles
from analysis.report.content import Column, Content, Figure, Table, together
from analysis.report.emphasis import LEGEND, with_best
from analysis.report.leaderboard.anchor_drift import (
    NO_ANCHORS,
    Anchors,
    Drift,
    drift_of,
    drift_tables,
    drift_warnings,
)
from analysis.report.leaderboard.gathering import (
    Question,
    StudyInput,
    linked_strengths,
    question_set,
)
from analysis.report.leaderboard.standings import (
    INTERVAL,
    MOST_COMPARED,
    Standing,
    contrast_cells,
    difference_rows,
    score_rows,
    standing_of,
)
from analysis.report.leaderboard.style_control import style_tables
from analysis.report.win_matrix import NOTE as WIN_NOTE
from analysis.report.win_matrix import win_matrix, win_rows
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.linking.linked_strengths import PRIOR_SD
from analysis.statistics.linking.linked_studies import PRIOR_SHARE, Component, components_of
from analysis.statistics.pairs.pair_ratings import PairRatings

KEY = "leaderboard"
MEANS_METHOD = (
    "Systems of several studies were put on one scale by clips that the studies share: the mean "
    "of a system in a study is the sum of a study effect, a system effect and a deviation of the "
    "system in that study, fitted by weighted least squares. Variances are clustered by raters and "
    "items, each study with its own degrees of freedom. The prior of the SD of the deviations has "
    f"{PRIOR_SHARE:.0%} of the scale as its scale."
)
STRENGTHS_METHOD = (
    "Comparisons of two systems (with a term for the clip heard second), rankings and best-worst "
    "choices were fitted within each study by a model of strengths, bias-reduced by Jeffreys' "
    f"prior {cite('firth1993')}. "
    "Variances are clustered by raters and items through each answer's influence on each strength."
)
LINKED_STRENGTHS_METHOD = (
    "A system's strength in a study is the sum of a study effect, a system effect and a deviation "
    f"of the system in that study. The prior of the SD of the deviations has {PRIOR_SD:g} standard "
    "deviations of one comparison as its scale."
)
LINKING_METHOD = (
    f"The SD of a system's deviations between studies has a half-t prior {cite('gelman2006')}; its "
    "posterior comes from the weighted residual sum of squares, whose test is an ANOVA-type one "
    f"{cite('brunner1997')}. Intervals across studies are quantiles over this posterior, so they "
    "contain the error of linking; those of systems that only one study rated, and the same, do "
    "not."
)
DRIFT_METHOD = (
    "Anchors are systems whose audio stays the same. Their changes since the first period were "
    f"tested together by an ANOVA-type statistic {cite('brunner1997')}, with variances clustered "
    "by raters and items."
)
NOTE = "Scores are means over clips, each clip with the same weight."
LETTERS = "Systems that share a letter do not differ significantly (all pairs, Holm)."


def leaderboard(
    studies: Sequence[StudyInput],
    reference: str = "",
    anchors: Anchors = NO_ANCHORS,
) -> Content:
    """The leaderboard of these studies; scores are on the scale of the first one that it links."""
    collection = question_set(studies)
    several = len(collection.questions) > 1
    parts = [
        _of_question(question, studies, reference, anchors, f"_{n + 1}" if several else "")
        for n, question in enumerate(collection.questions)
    ]
    contents = together(parts)
    left_out = [f"On no leaderboard: {each}" for each in collection.left_out]
    warnings = [*contents.warnings, *collection.notes, *collection.same.notes, *left_out]
    return replace(
        contents,
        tables=[*contents.tables, *_exclusions(studies)],
        warnings=list(dict.fromkeys(warnings)),
        methods=list(dict.fromkeys(contents.methods)),
    )


def _of_question(
    question: Question,
    studies: Sequence[StudyInput],
    reference: str,
    anchors: Anchors,
    suffix: str,
) -> Content:
    try:
        scores = _scores_of(question)
    except Undefined as why:
        return Content(warnings=[f"{question.title}: no scores: {why}."])
    standings = [standing_of(each, reference) for each in scores.components]
    metrics = metric_columns(studies, question.clips)
    figures = [_figure(question, scores, standings, suffix)]
    tables = [
        _scores(question, scores, standings, metrics, suffix),
        _differences(question, scores, standings, suffix),
        _studies(question, suffix),
    ]
    if scores.pairs is not None:
        order = [each.component.systems[place] for each in standings for place in each.order]
        about = question.title
        figures += win_matrix(scores.pairs, order, f"wins{suffix}", about)
        tables.append(_wins(scores.pairs, order, suffix, about))
    if question.estimand.in_pairs:
        tables += style_tables(question, studies, standings, suffix)
    if sum(len(each.component.units) for each in standings) > 1:
        tables += _links(question, standings, suffix, shifts=scores.pairs is None)
    drift = drift_of(question, anchors)
    tables += drift_tables(question, drift, suffix)
    return Content(
        sentences=[f"{question.title}: {text}" for text in map(said_of, standings) if text],
        figures=figures,
        tables=tables,
        warnings=[
            *(
                f"{question.title}: {text}"
                for text in (*warnings_of(standings), *question.notes, *scores.notes)
            ),
            *metrics.notes,
            *_absent(question, standings, reference),
            *drift_warnings(question, drift, anchors),
        ],
        methods=list(_methods(question, scores, drift)),
    )


def _methods(question: Question, scores: _Scores, drift: Drift) -> Iterator[str]:
    linked = len(question.units) > 1
    if scores.pairs is not None:
        yield STRENGTHS_METHOD
    if linked:
        yield MEANS_METHOD if scores.pairs is None else LINKED_STRENGTHS_METHOD
        yield LINKING_METHOD
    if drift.rows:
        yield DRIFT_METHOD


@dataclass(frozen=True)
class _Scores:
    """What a question's scores are: means of ratings, or strengths behind ``pairs``."""

    components: Sequence[Component]
    heading: str
    axis: str
    note: str
    decimals: int
    ends: tuple[float, float] | None = None
    pairs: PairRatings | None = None
    notes: Sequence[str] = ()


def _scores_of(question: Question) -> _Scores:
    """The scores of a question's systems; Undefined where no study gives any."""
    if question.estimand.in_pairs or question.estimand.among_others:
        linked = linked_strengths(question, question.ratings, question.units)
        note = f"Strengths: {linked.model}; {linked.scale}; the mean of all systems is 0."
        return _Scores(
            linked.components,
            "Strength",
            f"strength, {linked.scale.partition(' (')[0]}",
            note,
            decimals=2,
            pairs=linked.pairs,
            notes=linked.notes,
        )
    width = question.ends[1] - question.ends[0] if question.ends else None
    components = components_of(question.ratings, question.units, width)
    estimand = question.estimand
    return _Scores(components, estimand.name, estimand.axis, NOTE, estimand.decimals, question.ends)


def _absent(question: Question, standings: Sequence[Standing], reference: str) -> Iterator[str]:
    without = [each.heading(True) for each in standings if each.reference is None]
    if reference and without:
        yield f"{question.title}: the reference {reference} is not in: {'; '.join(without)}."


def _scores(
    question: Question,
    scores: _Scores,
    standings: Sequence[Standing],
    metrics: MetricColumns,
    suffix: str,
) -> Table:
    rows: list[dict[str, Any]] = []
    decimals = scores.decimals
    lettered = any(standing.letters for standing in standings)
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
        Column("score", scores.heading, "number", decimals),
        Column("score", INTERVAL, "interval", decimals),
        *([Column("letters", "Letters", "mark")] if lettered else []),
        *map(metrics.column, metrics.names),
        Column("studies", "Rated in"),
        Column("ratings", "Ratings", "count"),
        Column("raters", "Raters", "count"),
        Column("clips", "Clips", "count"),
    ]
    metric_note = " Metrics: means over the clips that people rated." if metrics.names else ""
    title = f"Leaderboard: {question.title}"
    note = " ".join([scores.note + metric_note, *[LETTERS] * lettered, LEGEND])
    group = "group" if any(row["group"] for row in rows) else ""
    about = question.title
    return Table(f"{KEY}{suffix}", title, columns, rows, note, about=about, group=group)


def _differences(
    question: Question, scores: _Scores, standings: Sequence[Standing], suffix: str
) -> Table:
    several = len(standings) > 1
    rows = [
        row
        | {"group": f"{standing.heading(several)}: {row['family']}" if several else row["family"]}
        for standing in standings
        for row in difference_rows(standing)
    ]
    decimals = scores.decimals
    columns = [
        Column("system", "System"),
        Column("versus", "Minus"),
        Column("difference", "Difference", "number", decimals, sign=True),
        Column("difference", INTERVAL, "interval", decimals),
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


def _studies(question: Question, suffix: str) -> Table:
    """What each study brought: answers, raters and systems, and from when to when."""
    rows = []
    for unit in question.units:
        own = question.ratings[question.ratings["unit"] == unit]
        days = sorted(set(own["day"]) - {""})
        rows.append(
            {
                "study": unit,
                "ratings": len(own),
                "raters": own["rater"].nunique(),
                "systems": len(set(own["system"]) | set(own.get("versus", ()))),
                "first": days[0] if days else "",
                "last": days[-1] if days else "",
            }
        )
    columns = [
        Column("study", "Study"),
        Column("ratings", "Ratings", "count"),
        Column("raters", "Raters", "count"),
        Column("systems", "Systems", "count"),
        Column("first", "First day"),
        Column("last", "Last day"),
    ]
    title = f"Studies: {question.title}"
    return Table(f"studies{suffix}", title, columns, rows, about=question.title, folded=True)


def _exclusions(studies: Sequence[StudyInput]) -> Iterator[Table]:
    """What each study's rules of screening left out of all its questions; none without any."""
    rows = [
        {"study": study.facts["key"], "what": each["what"], "ratings": each["ratings_told"]}
        | {"raters": each["raters"]}
        for study in studies
        for each in study.exclusions
        if each["ratings_told"]
    ]
    if not any(study.exclusions for study in studies):
        return
    columns = [
        Column("study", "Study"),
        Column("what", "Left out"),
        Column("ratings", "Ratings", "count"),
        Column("raters", "Raters", "count"),
    ]
    note = "Each rating is counted at the first rule that leaves it out."
    yield Table("exclusions", "Exclusions", columns, rows, note, about="Exclusions")


def _wins(ratings: PairRatings, order: Sequence[str], suffix: str, about: str) -> Table:
    rows = [row for row in win_rows(ratings, order) if row["n"]]
    columns = [
        Column("row", "System"),
        Column("column", "Against"),
        Column("value", "Share won", "number"),
        Column("n", "Comparisons", "count"),
    ]
    title = f"Shares won: {about}"
    return Table(f"wins{suffix}", title, columns, rows, WIN_NOTE, about=about, folded=True)


def _links(
    question: Question, standings: Sequence[Standing], suffix: str, shifts: bool
) -> list[Table]:
    decimals = question.estimand.decimals
    pairs = [
        Column("one", "Study"),
        Column("other", "And"),
        Column("may", "May be compared"),
        Column("systems", "Shared systems"),
        Column("clips", "Shared clips", "count"),
        Column("shift", "Second − first", "number", decimals, sign=True),
        Column("shift", INTERVAL, "interval", decimals),
    ]
    systems = [
        Column("pair", "Studies"),
        Column("system", "Shared system"),
        Column("shift", "Difference", "number", decimals, sign=True),
        Column("shift", INTERVAL, "interval", decimals),
        Column("clips", "Shared clips", "count"),
    ]
    note = (
        "A shared clip is the same audio, whatever it is called. Intervals are by sampling alone."
    )
    about, title = question.title, f"Studies and their links: {question.title}"
    every = list(link_rows(standings, shifts))
    if not shifts:  # strengths have no level of their own that could be shifted
        pairs = [column for column in pairs if column.key not in ("shift", "clips")]
        return [Table(f"links{suffix}", title, pairs, every, about=about)]
    each, of_systems = list(shift_rows(standings)), f"Shared systems, study by study: {about}"
    key = f"shared-systems{suffix}"
    return [
        Table(f"links{suffix}", title, pairs, every, note, about=about),
        Table(key, of_systems, systems, each, note, about=about, folded=True),
    ]


def _figure(
    question: Question, scores: _Scores, standings: Sequence[Standing], suffix: str
) -> Figure:
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
        x=scores.axis,
        ends=scores.ends,
        at=() if scores.pairs is None else (0.0,),
        about=question.title,
        decimals=scores.decimals,
    )


ALPHA = 0.05  # of the test that shared systems stand alike
Row = dict[str, Any]


def link_rows(standings: Sequence[Standing], shifts: bool) -> Iterator[Row]:
    """Every two studies: linked by shared systems, by others between them, or not at all.

    With ``shifts``, how much higher shared systems stand in the second one.
    """
    homes = {unit: each for each in standings for unit in each.component.units}
    for one, other in combinations(homes, 2):
        same = homes[one] is homes[other]
        yield {
            "one": one,
            "other": other,
            "may": "through other studies" if same else "no: no clip in common",
            **(_link_row(homes[one], one, other, shifts) if same else {}),
        }


def _link_row(standing: Standing, one: str, other: str, shifts: bool) -> Row:
    component = standing.component
    a, b = component.units.index(one), component.units.index(other)
    shared = component.shared(a, b)
    if not shared:
        return {}
    linked = {"may": "yes", "systems": listed([component.systems[each] for each in shared], 4)}
    if not shifts:
        return linked
    rows, clips = zip(*(component.shift_row(a, b, system) for system in shared), strict=True)
    row: Floats = np.mean(rows, axis=0)
    return linked | {"clips": sum(clips), **contrast_cells("shift", component, row)}


def shift_rows(standings: Sequence[Standing]) -> Iterator[Row]:
    """Every shared system of every two studies, and how much higher it stands in the later one."""
    for standing in standings:
        component = standing.component
        for a, b in combinations(range(len(component.units)), 2):
            for system in component.shared(a, b):
                row, clips = component.shift_row(a, b, system)
                yield {
                    "pair": f"{component.units[b]} − {component.units[a]}",
                    "system": component.systems[system],
                    **contrast_cells("shift", component, row),
                    "clips": clips,
                }


def said_of(standing: Standing) -> str:
    """How differently shared systems stand, in a sentence; empty of a study alone."""
    tau = standing.component.heterogeneity
    if tau is None:
        return ""
    spread = f"SD {number(tau.median)} (95 % posterior upper bound {number(tau.at(0.95))})"
    if tau.p is None:
        return f"{_units(standing)}: the difference between studies is taken to have {spread}."
    return (
        f"{_units(standing)}: shared systems differ between studies beyond their common shift by "
        f"{spread}; test that they do not: F = {number(tau.statistic)}, {p_phrase(tau.p)}, "
        f"{counted(tau.contrasts, 'contrast')}."
    )


def warnings_of(standings: Sequence[Standing]) -> Iterator[str]:
    """Why a comparison across studies is weak, or may not be made at all."""
    if len(standings) > 1:
        groups = "; ".join(enumerated(each.component.units) for each in standings)
        yield (
            f"These may not be compared with one another: {groups}. No clip is the same audio in "
            "both, so ranks and marks hold within each group only. To link them, rate clips of one "
            "system again in the other study."
        )
    for each in standings:
        if len(each.order) > MOST_COMPARED:
            yield (
                f"{_units(each)} rank {len(each.order)} systems: letters are for {MOST_COMPARED} "
                "at most. See the table of differences, or split the leaderboard. To compare "
                "each system with one of your choice, set it under “Compare with”."
            )
        heterogeneity = each.component.heterogeneity
        if heterogeneity is None:
            continue
        if heterogeneity.p is None:
            yield (
                f"{_units(each)} hang together by single systems: whether these stand alike in "
                "both studies cannot be tested, and the error of linking is an assumption "
                f"(half-t, scale {number(heterogeneity.scale)}). Share two systems or more."
            )
        elif heterogeneity.p < ALPHA:
            yield (
                f"{_units(each)}: shared systems do not stand alike in these studies "
                f"({p_phrase(heterogeneity.p)}). Differences across studies carry this; those "
                "within a study do not."
            )


def _units(standing: Standing) -> str:
    return enumerated(standing.component.units)


@dataclass(frozen=True)
class MetricColumns:
    """Means by (metric, system), which metrics are better when lower or have no direction."""

    names: Sequence[str]
    means: Mapping[tuple[str, str], float]
    direction: Mapping[str, bool | None]
    titles: Mapping[str, str]
    notes: Sequence[str]

    def key(self, metric: str) -> str:
        """The column's key in the rows."""
        return f"metric {metric}"

    def column(self, metric: str) -> Column:
        """The column, with an arrow to where a better system stands."""
        up, title = self.direction[metric], self.titles[metric]
        arrow = "" if up is None else " ↑" if up else " ↓"
        return Column(self.key(metric), f"{title}{arrow}", "number")


def metric_columns(studies: Sequence[StudyInput], clips: pd.DataFrame) -> MetricColumns:
    """The scores that exist of these clips of systems; a clip of several studies counts once."""
    scores = _by_audio(studies)
    joined = clips.merge(scores, on="clip", how="inner")
    valued = joined.dropna(subset=["value"])
    once = valued.groupby(["metric", "system", "clip"], sort=True)["value"].mean()
    means = once.groupby(level=["metric", "system"]).mean()
    pairs = zip(means.index.to_list(), means.to_list(), strict=True)
    names = list(dict.fromkeys(once.index.get_level_values("metric")))
    direction: dict[str, bool | None] = {}
    for study in studies:
        direction |= {name: up for name, up in directions(study.scores).items() if up is not None}
    called = titles_of(studies, names)
    return MetricColumns(
        names=names,
        means={(str(key[0]), str(key[1])): float(each) for key, each in pairs},
        direction={name: direction.get(name) for name in names},
        titles=called,
        notes=[*_versions(joined, called), *_gaps(clips, once, called)],
    )


def titles_of(studies: Sequence[StudyInput], names: Sequence[str]) -> dict[str, str]:
    """What each metric is called by the studies; its name where they differ or two are alike."""
    titles_said: dict[str, set[str]] = {name: set() for name in names}
    for study in studies:
        for name, title in titles(study.scores).items():
            if name in titles_said and title:
                titles_said[name].add(title)
    one = {name: next(iter(several)) for name, several in titles_said.items() if len(several) == 1}
    often = Counter(one.values())
    return {name: one[name] if often[one.get(name, "")] == 1 else name for name in names}


def _by_audio(studies: Sequence[StudyInput]) -> pd.DataFrame:
    parts = []
    for study in studies:
        audio = {clip["stimulus"]: clip["sha256"] for clip in study.facts["clips"]}
        own = of_metrics(study.scores)
        parts.append(
            pd.DataFrame(
                {
                    "clip": own["stimulus"].map(audio),
                    "metric": own["metric"].astype(str),
                    "version": own["version"].astype(str),
                    "value": own["value"],
                }
            ).dropna(subset=["clip"])
        )
    return pd.concat(parts, ignore_index=True)


def _versions(joined: pd.DataFrame, called: Mapping[str, str]) -> Iterator[str]:
    """Metrics whose numbers are of several versions."""
    for name, title in called.items():
        versions = sorted(set(joined.loc[joined["metric"] == name, "version"]))
        if len(versions) > 1:
            yield f"{title} was computed by several versions ({', '.join(versions)}): score again."


def _gaps(clips: pd.DataFrame, once: pd.Series, called: Mapping[str, str]) -> Iterator[str]:
    """Metrics that lack some clips."""
    there = once.groupby(level=["metric", "system"]).size()
    wanted = clips.groupby("system").size()
    for name, title in called.items():
        of_systems = [(str(s), int(there.get((name, s), 0)), int(n)) for s, n in wanted.items()]
        short = [f"{system} {has} of {n}" for system, has, n in of_systems if has < n]
        if short:
            more = f" and {len(short) - 6} more" if len(short) > 6 else ""
            yield f"{title} is not there for every clip: {'; '.join(short[:6])}{more}."
