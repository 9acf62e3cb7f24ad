"""Pairs with covariates: strengths without and with them, and what each does to a preference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from analysis.arrays import Floats
from analysis.citations import cite
from analysis.formatting import counted, enumerated, interval_text, number
from analysis.name_spans import condition_span, family_prefix
from analysis.ratings.breakdowns import Family
from analysis.ratings.covariate_columns import Covariates, covariate_columns
from analysis.ratings.estimands import estimand_of, keys_where
from analysis.ratings.metric_scores import newest_scores, titles
from analysis.report.content import Content, column, pick_cells, row_from, table_row
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.pairs.ability_fit import Ability, AbilityFit
from analysis.statistics.pairs.covariates import (
    SIDE,
    CovariateEffect,
    CovariateModel,
    fit_covariates,
)
from analysis.statistics.pairs.pair_ratings import PairRatings, pairs_of
from listening.common.covariate_levels import INSTEAD, coded_values

if TYPE_CHECKING:
    import pandas as pd

    from analysis.statistics.options import Options

USUAL = ("length_s", "loudness_lufs")  # where the part is asked for and no covariate is named
UNITS = {"s": "1 s", "lufs": "1 LU", "db": "1 dB", "hz": "1 Hz"}  # by the end of a name
METHOD = (
    f"Strengths with covariates: the model of Bradley and Terry {cite('bradley1952')}, ties as "
    "half a win to each, with the differences of covariates between both clips as further terms "
    f"{cite('springall1973')}, by maximum likelihood; standard errors by the jackknife, two-way "
    "clustered over raters and items. Public leaderboards call this style control."
)
EFFECTS_NOTE = (
    "Log odds per unit by which the first clip exceeds the second. Points: by how much one unit "
    "moves a preference of 50 %. Effects are associations: listeners were not assigned to them."
)
STRENGTHS_NOTE = (
    "Log odds of winning; the mean is 0. Strengths with covariates are those of clips that do not "
    "differ in them. Quote the main result unless you declared the covariates before the study."
)


@table_row
class AdjustedRow:
    """The strength of a condition without and with covariates."""

    name: str = column("Condition")
    without: float = column("Without covariates", "number", sign=True)
    without_low: float | None = column("{level}", "interval", key="without")
    without_high: float | None
    value: float = column("With covariates", "number", sign=True)
    low: float | None = column("{level}", "interval", key="interval")
    high: float | None
    change: float = column("Change", "number", sign=True)


@table_row
class EffectRow:
    """What a covariate does to a preference."""

    name: str = column("Covariate")
    unit: str = column("Per")
    value: float = column("Log odds", "number", sign=True)
    low: float | None = column("{level}", "interval", key="interval")
    high: float | None
    points: float = column("Points at 50 %", "number", 1, sign=True)
    points_low: float | None = column("{level}", "interval", 1, key="points")
    points_high: float | None
    p: float | None = column("p", "p")
    sd: float = column("SD of differences", "number")


class PairCovariates(FamilyPart):
    """Strengths of pairs that hold what clips differ in besides: side, length, loudness."""

    key = "pair_covariates"
    version = "2"
    title = "Pairs with covariates"
    order = 24
    always = False

    @classmethod
    def asked_by(cls, options: Options) -> bool:
        return bool(options.covariates) or super().asked_by(options)

    def applies(self, inputs: PartInput) -> bool:
        named = inputs.ratings["versus_condition"] != ""
        return bool((inputs.ratings["estimand"].isin(keys_where("prefers")) & named).any())

    def families(self, inputs: PartInput) -> Iterable[Family]:
        return [each for each in super().families(inputs) if estimand_of(each.estimand).prefers]

    def make(self, inputs: PartInput) -> Content:
        known, asked = _covariates(inputs), inputs.options.covariates
        missing = [name for name in asked if name not in {SIDE, *known}]
        waiting = [name for name in missing if name in USUAL and inputs.facts is not None]
        unusable = _unusable(inputs)
        unknown = [name for name in missing if name not in {*waiting, *unusable}]
        there = enumerated([SIDE, *known])
        remedy = (
            f"no covariate {enumerated(unknown)}; there are {there}. Score the clips with the "
            "metric, give its scores (--scores), declare the column of stimuli.csv under "
            "covariates in study.toml, or give the file of ratings columns like "
            f"{enumerated(covariate_columns(unknown[:1]))}"
        )
        problems = [remedy] * bool(unknown) + list(unusable.values())
        if problems and len(missing) == len(asked):
            raise ValueError(problems[0])
        content = super().make(inputs)
        said = [f"Without {enumerated(waiting)}: score the clips with these metrics."]
        said = [*said * bool(waiting), *(f"{each[0].upper()}{each[1:]}." for each in problems)]
        return replace(content, warnings=[*content.warnings, *said])

    def of_family(self, each: FamilyInput) -> Content:
        asked, covariates = each.inputs.options.covariates, _covariates(each.inputs)
        known = {
            name: one
            for covariate in asked or USUAL
            for name, one in covariates.get(covariate, {}).items()
        }
        names = list(known)
        table = each.family.table
        alone = (table["versus_condition"] == "") | (
            table["condition"] == table["versus_condition"]
        )
        use = table[~alone]
        try:
            ratings = pairs_of(use)
            columns = {name: _differences(use, known[name].values) for name in names}
            empty = [name for name, own in columns.items() if not np.isfinite(own).any()]
            columns = {name: own for name, own in columns.items() if name not in empty}
            side = SIDE in asked or not asked
            model = fit_covariates(ratings, columns, side, each.level)
        except Undefined as why:
            return Content(warnings=[f"{family_prefix(each.title)}{why}."])
        called = {SIDE: "Heard second", **{name: known[name].title for name in names}}
        content = _content(ratings, model, called, each, side)
        if not empty:
            return content
        lacking = enumerated([called[name] for name in empty])
        said = f"{family_prefix(each.title)}No pair has values of {lacking}. It is in no fit."
        return replace(content, warnings=[*content.warnings, said])


@dataclass(frozen=True)
class _Known:
    """The values of a covariate by stimulus, and what it is called."""

    values: Mapping[str, float]
    title: str


def _covariates(inputs: PartInput) -> dict[str, dict[str, _Known]]:
    """By name the terms of each covariate: outputs of metrics, voices, what the study declared."""
    unusable = _unusable(inputs)
    coded = {
        name: {term: _Known(own, term) for term, own in coded_values(name, values).items()}
        for name, values in _texts(inputs).items()
        if name not in unusable
    }
    return {name: {name: one} for name, one in _values_by_metric(inputs).items()} | coded


def _unusable(inputs: PartInput) -> dict[str, str]:
    """By name the problem of each covariate that was asked for and cannot be a number."""
    problems = {}
    for name, values in _texts(inputs).items():
        try:
            coded_values(name, values)
        except ValueError as error:
            problems[name] = str(error)
    return problems


def _texts(inputs: PartInput) -> Covariates:
    """By name and clip the covariates that were asked for and are voices or declared.

    They have the clips of the table alone: the most frequent word, with which others are
    compared, is then the same for a study and for its exported ratings.
    """
    sides = ("stimulus", "versus_stimulus")
    rated_clips = inputs.once(
        ("pair_covariates", "clips"),
        lambda: {str(clip) for side in sides for clip in inputs.table[side].unique()},
    )
    texts = {"voice": _voices(inputs.ratings), **inputs.covariates}
    rated = {
        name: {clip: own[clip] for clip in own if own[clip] and clip in rated_clips}
        for name, own in texts.items()
        if name in inputs.options.covariates
    }
    return {name: own for name, own in rated.items() if own}


def _voices(ratings: pd.DataFrame) -> dict[str, str]:
    """The voice of each clip by its condition."""
    voices = dict(zip(ratings["condition"].astype(str), ratings["voice"].astype(str), strict=True))
    sides = (("stimulus", "condition"), ("versus_stimulus", "versus_condition"))
    return {
        str(clip): voices.get(str(condition), "")
        for side, of in sides
        for clip, condition in zip(ratings[side], ratings[of], strict=True)
        if clip
    }


def _values_by_metric(inputs: PartInput) -> dict[str, _Known]:
    """The newest scores of each output of a metric, length included."""
    scores = inputs.scores
    if scores is None or not len(scores):
        return {}
    return inputs.once(("pair_covariates", "values"), lambda: _newest_values(scores))


def _newest_values(scores: pd.DataFrame) -> dict[str, _Known]:
    called = titles(scores)
    return {
        str(metric): _Known(
            dict(zip(own["stimulus"].astype(str), own["value"].tolist(), strict=True)),
            called.get(str(metric)) or str(metric),
        )
        for metric, own in newest_scores(scores).groupby("metric", sort=True)
    }


def _differences(use: pd.DataFrame, values: Mapping[str, float]) -> Floats:
    """The value of the condition's clip minus that of the other one (n,), NaN where unknown."""
    sides = (use["stimulus"].astype(str), use["versus_stimulus"].astype(str))
    one, other = (side.map(values).to_numpy(dtype=np.float64) for side in sides)
    return np.asarray(one - other, dtype=np.float64)


def _content(
    ratings: PairRatings,
    model: CovariateModel,
    titles_of: Mapping[str, str],
    each: FamilyInput,
    side: bool,
) -> Content:
    effects = [_effect_row(one, titles_of[one.name]) for one in model.effects]
    rows, title = _strength_rows(model, each.level), "Strengths without and with covariates"
    strengths = each.table(AdjustedRow, "adjusted_strengths", title, rows, note=STRENGTHS_NOTE)
    title = "What covariates do to a preference"
    table = each.table(EffectRow, "covariate_effects", title, effects, note=EFFECTS_NOTE)
    prefix = family_prefix(each.title) if each.n_families > 1 else ""
    return Content(
        sentences=[
            f"{prefix}{text}" for text in (_effects_sentence(effects, each), _order_sentence(model))
        ],
        tables=[table, strengths],
        warnings=[f"{prefix}{text}" for text in _warnings(ratings, model, titles_of, side)],
        methods=[METHOD],
    )


def _strength_rows(model: CovariateModel, level: float) -> list[AdjustedRow]:
    without, adjusted = (_abilities(fit, level) for fit in (model.without, model.adjusted))
    rows = []
    for name, value in zip(model.adjusted.names, model.adjusted.ability.tolist(), strict=True):
        before = float(model.without.ability[model.without.names.index(name)])
        one, other = without.get(name), adjusted.get(name)
        rows.append(
            AdjustedRow(
                name=name,
                without=before,
                without_low=one.low if one else None,
                without_high=one.high if one else None,
                value=value,
                **pick_cells(other, "low", "high"),
                change=value - before,
            )
        )
    return sorted(rows, key=lambda row: (-round(row.without, 9), row.name))


def _abilities(fit: AbilityFit, level: float) -> dict[str, Ability]:
    """The abilities by name; none with one rater or item only."""
    try:
        return {one.condition: one for one in fit.abilities(level=level)}
    except Undefined:
        return {}


def _effect_row(one: CovariateEffect, title: str) -> EffectRow:
    unit = UNITS.get(one.name.rpartition("_")[2], "1")
    if one.name == SIDE or INSTEAD in one.name:
        unit = "second place" if one.name == SIDE else "this value"
    return row_from(EffectRow, one, name=title, unit=unit)


def _effects_sentence(rows: Iterable[EffectRow], each: FamilyInput) -> str:
    """Which covariates move a preference significantly, and by how much."""
    every = list(rows)
    clear = [row for row in every if row.p is not None and row.p < 1 - each.level]
    if not clear:
        names = enumerated([row.name for row in every])
        return f"No covariate moves a preference significantly ({names})."
    phrases = []
    for row in clear:
        ends = ""
        if row.points_low is not None and row.points_high is not None:
            ends = f" {interval_text(row.points_low, row.points_high, None, 1)}"
        per = "" if row.unit in ("second place", "this value") else f" per {row.unit}"
        phrases.append(f"{row.name} {number(row.points, True, 1)} points{per}{ends}")
    return f"A preference of 50 % moves by: {'; '.join(phrases)}."


def _order_sentence(model: CovariateModel) -> str:
    before, after = model.without.order(), model.adjusted.order()
    if before == after:
        return "The order by strength is the same with covariates."
    named = (" > ".join(map(condition_span, names)) for names in (before, after))
    return "The order by strength changes: {} without covariates, {} with them.".format(*named)


def _warnings(
    ratings: PairRatings, model: CovariateModel, titles_of: Mapping[str, str], side: bool
) -> Iterable[str]:
    if side and all(one.name != SIDE for one in model.effects):
        yield (
            "Which clip was heard second is unknown or never varied, so side is in no fit: give "
            "the column presented_first (rated or versus)."
        )
    if model.n_left_out:
        left_out = counted(model.n_left_out, "rating")
        yield f"{left_out} of {len(ratings.y)} lack a covariate and are in neither fit."
    if model.confounded:
        names = enumerated([titles_of[name] for name in model.confounded])
        yield (
            f"{names}: no variation beyond systems and other covariates, so no effect can be told "
            "from strengths. Not in the fit."
        )
