"""Strengths on a leaderboard of pairs, controlled for length, loudness and declared covariates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from analysis.ratings.metric_scores import newest_scores
from analysis.report.content import Column, Table
from analysis.report.leaderboard.gathering import Question, StudyInput
from analysis.report.leaderboard.standings import INTERVAL, LEVEL, Standing, score_rows, standing_of
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.intervals import t_interval
from analysis.statistics.linking.linked_strengths import LinkedStrengths, link_pairs, pairs_in_unit
from analysis.statistics.pairs.ability_fit import AbilityFit, Term
from analysis.statistics.pairs.covariates import identified
from analysis.statistics.pairs.win_models import LOG_ODDS, ORDER
from listening.common.covariate_levels import INSTEAD, coded_values

COVARIATES = {"length_s": ("Length", "1 s"), "loudness_lufs": ("Loudness", "1 LU")}
SIDE = ("Heard second", "second place")
STRENGTHS_NOTE = (
    "The same model with the differences of both clips in covariates as terms. Ranks stay "
    "those of the leaderboard."
)
EFFECTS_NOTE = (
    "By how many percentage points one unit more moves a preference of 50 %, in each study. "
    "Loudness is that of the files; raters hear clips as the study says."
)
Row = dict[str, Any]


def style_tables(
    question: Question, studies: Sequence[StudyInput], standings: Sequence[Standing], suffix: str
) -> list[Table]:
    """Strengths without and with covariates, and their effects; none where clips lack scores."""
    ratings, names = _with_differences(question.ratings, studies)
    if not names or not len(ratings):
        return []
    try:
        adjusted = link_pairs(ratings, question.units, names)
    except Undefined:
        return []
    strengths = [
        Column("system", "System"),
        Column("without", "Without", "number", 2, sign=True),
        Column("without", INTERVAL, "interval", 2),
        Column("adjusted", "With covariates", "number", 2, sign=True),
        Column("adjusted", INTERVAL, "interval", 2),
    ]
    effects = [
        Column("study", "Study"),
        Column("covariate", "Covariate"),
        Column("unit", "Per"),
        Column("points", "Points at 50 %", "number", 1, sign=True),
        Column("points", INTERVAL, "interval", 1),
    ]
    about = question.title
    return [
        Table(
            f"controlled{suffix}",
            f"Strengths controlled for style: {about}",
            strengths,
            list(_strength_rows(standings, adjusted)),
            STRENGTHS_NOTE,
            about=about,
            folded=True,
        ),
        Table(
            f"covariates{suffix}",
            f"What moves a preference: {about}",
            effects,
            list(_effect_rows(adjusted, names)),
            EFFECTS_NOTE,
            about=about,
            folded=True,
        ),
    ]


def _with_differences(
    ratings: pd.DataFrame, studies: Sequence[StudyInput]
) -> tuple[pd.DataFrame, list[str]]:
    """The ratings with the difference of both clips in each covariate that all of them have."""
    values = _values_by_audio(studies)
    table = ratings
    names: list[str] = []
    for name, known in values.items():
        difference = ratings["clip"].map(known) - ratings["versus_clip"].map(known)
        if difference.notna().all() and float(difference.abs().max()) > 0:
            table, names = table.assign(**{name: difference.astype("float64")}), [*names, name]
    return table, _estimable(table, names)


def _estimable(table: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """The covariates that every study tells from strengths and from one another."""
    left = list(names)
    for _, own in table.groupby("unit", sort=False):
        columns = {name: own[name].to_numpy(dtype=np.float64) for name in left}
        left, _ = identified(pairs_in_unit(own), columns, with_side=True)
    return left


def _values_by_audio(studies: Sequence[StudyInput]) -> dict[str, dict[str, float]]:
    """By covariate, the newest score of each clip (SHA-256)."""
    values: dict[str, dict[str, float]] = {name: {} for name in COVARIATES}
    for study in studies:
        audio = {clip["stimulus"]: clip["sha256"] for clip in study.facts["clips"]}
        scores = study.scores[study.scores["metric"].isin(list(COVARIATES))].dropna(subset="value")
        newest = newest_scores(scores)
        for stimulus, metric, value in zip(
            newest["stimulus"], newest["metric"], newest["value"], strict=True
        ):
            if stimulus in audio:
                values[str(metric)][audio[stimulus]] = float(value)
    return values | _declared(studies)


def _declared(studies: Sequence[StudyInput]) -> dict[str, dict[str, float]]:
    """The covariates that studies declare, by what they are called and clip (SHA-256)."""
    texts: dict[str, dict[str, str]] = {}
    for study in studies:
        audio = {clip["stimulus"]: clip["sha256"] for clip in study.facts["clips"]}
        for name, own in study.facts.get("covariates", {}).items():
            known = texts.setdefault(name, {})
            known |= {audio[clip]: text for clip, text in own.items() if clip in audio}
    columns: dict[str, dict[str, float]] = {}
    for name, known in texts.items():
        with suppress(ValueError):  # more words than can be told apart, in several studies
            columns |= coded_values(name, known)
    return columns


def _strength_rows(standings: Sequence[Standing], adjusted: LinkedStrengths) -> Iterator[Row]:
    known: Mapping[str, Row] = {
        row["system"]: row
        for component in adjusted.components
        for row in score_rows(standing_of(component, ""))
    }
    for standing in standings:
        for row in score_rows(standing):
            own = known.get(row["system"], {})
            yield {"system": row["system"]} | {
                f"{name}{end}": source.get(f"score{end}")
                for name, source in (("without", row), ("adjusted", own))
                for end in ("", "_low", "_high")
            }


def _effect_rows(adjusted: LinkedStrengths, names: Sequence[str]) -> Iterator[Row]:
    chance = special.expit if adjusted.scale == LOG_ODDS else special.ndtr
    for unit, fit in adjusted.fits:
        for term in fit.terms:
            if term.name in (ORDER, *names):
                other = (term.name, "this value" if INSTEAD in term.name else "1")
                title, per = SIDE if term.name == ORDER else COVARIATES.get(term.name, other)
                points = [
                    None if each is None else 100 * (float(chance(each)) - 0.5)
                    for each in (term.value, *_bounds(fit, term))
                ]
                keys = ("points", "points_low", "points_high")
                row = {"study": unit, "covariate": title, "unit": per}
                yield row | dict(zip(keys, points, strict=True))


def _bounds(fit: AbilityFit, term: Term) -> tuple[float | None, float | None]:
    """The clustered t interval of a term; none with one rater or item."""
    if term.se_clustered is None:
        return None, None
    return t_interval(term.value, term.se_clustered, min(fit.n_raters, fit.n_items) - 1, LEVEL)
