"""Tables of a family's mixed models: means beside the clustered ones, what varies, and cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from analysis.formatting import enumerated
from analysis.name_spans import family_span
from analysis.ratings.estimands import estimand_of, family_title
from analysis.report.content import Column, Table
from analysis.report.parts.models.model_fits import ALONE, CellModel, Fits
from analysis.statistics.mixed import linear_model
from analysis.statistics.mixed.model_contrasts import Means
from analysis.statistics.mixed.nuts import RESIDUAL, SD_NAMES
from analysis.statistics.mixed.posterior import Summary

IN_WORDS = {
    linear_model.RATER: "rater",
    linear_model.RATER_CONDITION: "rater × condition",
    linear_model.ITEM: "item (text)",
    linear_model.STIMULUS: "stimulus (clip)",
    "residual": "residual (rating to rating)",
}
_DRAWS = {**SD_NAMES, "residual": RESIDUAL}
CLUSTERED = "two-way clustered"
SPREAD = (
    "Spread, in the posterior: how much the ratings of a condition vary, 1 on average; those near "
    "an end of the scale vary less."
)


def means_table(key: str, fits: Fits, clustered: Mapping[str, Mapping[str, Any]]) -> Table:
    """The model's means, the posterior's, and the plain mean of the ratings, the highest first.

    ``clustered`` gives the report's own estimate of each condition.
    """
    names, made = fits.of.names, fits.means
    drawn = fits.posterior.summaries() if fits.posterior and fits.compared else None
    rows = []
    for i in fits.falling:
        plain = clustered.get(names[i], {})
        row: dict[str, Any] = {"condition": names[i], **_mean_cells(made, i)}
        row |= {"role": fits.among.roles[i]} if fits.among.told else {}
        row |= {} if fits.ranks is None else {"p_best": float(fits.ranks.p_best[i])}
        if drawn is not None:
            row |= _summary_cells("bayes", drawn["condition"], i)
            row |= {"spread": float(drawn["spread"].mean[i])} if "spread" in drawn else {}
        row |= {"plain": plain.get("value"), "ratings": plain.get("n_ratings")}
        row |= {"plain_low": plain.get("low"), "plain_high": plain.get("high")}
        rows.append(row)
    level = _percent(made.level if made else None)
    columns = [Column("condition", "Condition")] + [Column("role", "Role")] * bool(fits.among.told)
    partly = made is None or bool(np.isnan(made.value).any())
    decimals = estimand_of(fits.of.family.estimand).decimals
    if made is not None:
        columns.append(Column("mean", "Mean (model)", "number", decimals))
        columns.append(Column("mean", f"{level} interval", "interval", decimals))
    if drawn is not None:
        columns += [Column("bayes", "Posterior mean", "number", decimals)] * partly
        columns.append(Column("bayes", "Posterior HDI", "interval", decimals))
        columns += [Column("spread", "Spread", "number", 2)] * ("spread" in drawn)
    columns += [Column("p_best", "P(best)", "percent", 3)] * (fits.ranks is not None)
    columns += [
        Column("plain", "Mean of ratings", "number", decimals),
        Column("plain", "Clustered interval", "interval", decimals),
        Column("ratings", "Ratings", "count"),
    ]
    note = (
        "The model's mean is that of a rater drawn at random; the mean of the ratings counts busy "
        "raters more. HDI: the narrowest interval that holds that much of the posterior."
    )
    if made is not None and partly:
        note += f" {ALONE}."
    if drawn is not None and "spread" in drawn:
        note += f" {SPREAD}"
    return Table(
        key,
        f"Means by the mixed model, {family_span(fits.of.title)}",
        columns,
        rows,
        note,
        fits.of.title,
    )


def clustered_of(report: Mapping[str, Any], title: str) -> dict[str, Mapping[str, Any]]:
    """The report's overall two-way clustered estimates of a family, by condition."""
    return {
        row["condition"]: row
        for row in report.get("estimates", [])
        if row["breakdown"] == "condition:"
        and row["weighting"] == "ratings"
        and row["interval"].startswith(CLUSTERED)
        and family_title(row) == title
    }


def variation_table(key: str, fits: Fits) -> Table:
    """The standard deviation of every random effect, its share of the variance, its posterior."""
    drawn = fits.posterior.summaries() if fits.posterior and fits.compared else {}
    known = {name: None for name, draws in _DRAWS.items() if draws in drawn}
    sds: Mapping[str, float | None] = fits.reml.sds if fits.reml else known
    total = sum(sd**2 for sd in sds.values() if sd is not None)
    rows = []
    for name in sorted(sds, key=list(IN_WORDS).index):
        sd = sds[name]
        row: dict[str, Any] = {"effect": IN_WORDS[name], "sd": sd}
        row["share"] = sd**2 / total if sd is not None and total else None
        if _DRAWS.get(name) in drawn:
            row |= _summary_cells("bayes", drawn[_DRAWS[name]], 0)
        rows.append(row)
    columns = [
        Column("effect", "What varies"),
        Column("sd", "SD", "number"),
        Column("share", "Share of variance", "percent"),
    ]
    if drawn:
        columns.append(Column("bayes", "Posterior mean", "number"))
        columns.append(Column("bayes", "Posterior HDI", "interval"))
    notes = [f"{_capital(note)}." for note in (fits.reml.notes if fits.reml else ())]
    note = " ".join(notes)
    return Table(
        key, f"What varies, {family_span(fits.of.title)}", columns, rows, note, fits.of.title
    )


def cell_table(key: str, title: str, model: CellModel, decimals: int) -> Table:
    """The mean of each cell, then each condition's average of its cells."""
    by = model.breakdown.by
    rows: list[dict[str, Any]] = []
    for i, name in enumerate(model.names):
        place = {column: value or "(none)" for column, value in zip(by, name[1:], strict=True)}
        rows.append({"condition": name[0], **place, **_mean_cells(model.means, i)})
        rows[-1]["ratings"] = model.counts[i]
    for i, owner in enumerate(model.averaged):
        every = dict.fromkeys(by, "all, weighing the same")
        rows.append({"condition": owner, **every, **_mean_cells(model.average, i)})
    columns = [
        Column("condition", model.breakdown.compare.capitalize()),
        *(Column(name, name.capitalize()) for name in by),
        Column("mean", "Mean (model)", "number", decimals),
        Column("mean", f"{_percent(model.means.level)} interval", "interval", decimals),
        Column("ratings", "Ratings", "count"),
    ]
    note = " ".join(_capital(f"{text}.") for text in model.notes)
    heading = f"Means by {' and '.join(by)} in one model, {family_span(title)}"
    return Table(key, heading, columns, rows, note, title, folded=True)


def variation_sentence(fits: Fits) -> list[str]:
    """How much raters differ, in words."""
    if fits.reml is None:
        return []
    sds = fits.reml.sds
    total = sum(sd**2 for sd in sds.values())
    parts = [
        f"{sds[name] ** 2 / total * 100:.0f} % {_THINGS[name]} (SD {sds[name]:.2f})"
        for name in IN_WORDS
        if name != "residual" and sds.get(name)
    ]
    if not parts:
        return []
    return [
        f"{family_span(fits.of.title)}, of the variance within conditions: {enumerated(parts)}."
    ]


_THINGS = {
    linear_model.RATER: "between lenient and harsh raters",
    linear_model.RATER_CONDITION: "between raters in what they like",
    linear_model.ITEM: "between texts",
    linear_model.STIMULUS: "between clips",
}


def _mean_cells(made: Means | None, i: int) -> dict[str, float]:
    if made is None:
        return {}
    return {
        "mean": float(made.value[i]),
        "mean_low": float(made.low[i]),
        "mean_high": float(made.high[i]),
        "se": float(made.se[i]),
        "df": float(made.degrees[i]),
    }


def _summary_cells(key: str, made: Summary, i: int) -> dict[str, float]:
    return {
        key: float(made.mean[i]),
        f"{key}_sd": float(made.sd[i]),
        f"{key}_low": float(made.low[i]),
        f"{key}_high": float(made.high[i]),
    }


def _percent(level: float | None) -> str:
    return "" if level is None else f"{level * 100:g} %"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
