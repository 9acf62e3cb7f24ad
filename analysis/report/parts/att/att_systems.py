"""Table 3 of the paper; the systems with tiers; and the spreads of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from analysis.name_spans import family_span
from analysis.ratings.breakdowns import Family
from analysis.ratings.estimands import family_title
from analysis.ratings.grouping import Breakdown
from analysis.report.content import Column, Table
from analysis.report.emphasis import LEGEND, UNRANKED, with_best
from analysis.report.part import PartInput
from analysis.report.parts.att.att_means import PAPER, means, references
from analysis.statistics.comparisons.tiers import tiers_of
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.mixed.family_model import Modelled, gaussian_draws
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.posterior import Posterior, summary
from analysis.statistics.mixed.table_model import arrays_of

_SD_NAMES = {
    "sd_rater": "Raters (how lenient)",
    "sd_rater_condition": "Raters by system",
    "sd_residual": "Rest",
}
_TIERS = (
    "Tiers: systems by falling mean; one joins the open tier if it does not differ from that "
    "tier's first (adjusted, two-way clustered). Two means: over labels, as the table "
    "of voices has it, and over raters, as the model has it; they differ where busy raters are "
    "harsher or milder."
)


def systems(
    family: Family, compare: str, inputs: PartInput, title: str, suffix: str
) -> list[Table]:
    """Table 3 as the paper prints it, the systems with tiers and means, and the spreads."""
    rows = _means_and_tiers(family, compare, inputs)
    model = _model(family, compare, inputs, rows)
    tables = [
        _table3(family, compare, inputs, rows, model, (title, suffix)),
        _tiers(inputs, rows, title, suffix),
    ]
    if isinstance(model, Posterior):
        tables.append(_spreads(model, inputs, title, suffix))
    return tables


def _means_and_tiers(family: Family, compare: str, inputs: PartInput) -> dict[str, dict[str, Any]]:
    """A row per system, by falling mean of labels."""
    options = inputs.options
    by_label = {row.condition: row for row in means(family.table, Breakdown(compare), inputs)}
    made = MeanScore(Breakdown(compare), ("two_way",), ("ratings",), reference=options.reference)
    pairs = [
        pair
        for pair in made.contrasts(family.table, level=options.level)
        if not pair.interval.startswith("naive")
    ]
    values = {name: row.value for name, row in by_label.items()}
    tiers = tiers_of(values, {(pair.condition, pair.versus): pair.p_adjusted for pair in pairs})
    place = {name: str(n) for n, tier in enumerate(tiers.tiers, start=1) for name in tier}
    rows: dict[str, dict[str, Any]] = {
        name: {
            "system": name,
            "tier": place[name],
            "letters": tiers.letters[name],
            "hls": by_label[name].value,
            "low": by_label[name].low,
            "high": by_label[name].high,
            "labels": by_label[name].n_ratings,
            "raters": by_label[name].n_raters,
        }
        for name in tiers.order
    }
    for row in means(family.table, Breakdown(compare), inputs, "raters"):
        rows[row.condition]["hls_raters"] = row.value
    return rows


def _table3(
    family: Family,
    compare: str,
    inputs: PartInput,
    rows: Mapping[str, dict[str, Any]],
    model: Posterior | str,
    named: tuple[str, str],
) -> Table:
    """Posterior mean (SD) and interval, by falling posterior mean; nothing but a note without."""
    title, suffix = named
    beside = references(family.table, compare)
    ordered = sorted(rows.values(), key=lambda row: -row.get("posterior_mean", row["hls"]))
    printed = with_best(
        ({**row, UNRANKED: row["system"] in beside} for row in ordered), ["posterior_mean"]
    )
    for row in printed:
        if "posterior_mean" in row:
            row["posterior_text"] = f"{row['posterior_mean']:.3f} ({row['posterior_sd']:.3f})"
            row["posterior_text_mark"] = row.get("posterior_mean_mark", "")
    columns = [
        Column("system", "System"),
        Column("posterior_text", "Posterior mean (SD)"),
        Column("posterior", f"{inputs.options.level:.0%} HDI", "interval"),
    ]
    note = model if isinstance(model, str) else LEGEND
    heading = f"Table 3 of {PAPER}: posterior summary of the systems{family_span(title, ' · {}')}"
    return Table(f"table3{suffix}", heading, columns, printed, note, title)


def _tiers(inputs: PartInput, rows: Mapping[str, dict[str, Any]], title: str, suffix: str) -> Table:
    columns = [
        Column("system", "System"),
        Column("tier", "Tier", "mark"),
        Column("letters", "Letters", "mark"),
        Column("hls", "Mean of labels", "number"),
        Column("interval", f"{inputs.options.level:.0%}, clustered", "interval"),
        Column("hls_raters", "Mean of raters", "number"),
        Column("labels", "Labels", "count"),
        Column("raters", "Raters", "count"),
    ]
    heading = f"Human-likeness of the systems{family_span(title, ' · {}')}"
    return Table(f"tiers{suffix}", heading, columns, list(rows.values()), _TIERS, title)


def _model(
    family: Family, compare: str, inputs: PartInput, rows: Mapping[str, dict[str, Any]]
) -> Posterior | str:
    """The posterior, its columns put into the rows; or why there is none."""
    options = inputs.options
    title = family_title({"estimand": "hls", **family.group})
    try:
        modelled = Modelled(0, title, family, family.table, arrays_of(family.table, compare))
        posterior = gaussian_draws(modelled, options)
    except NotEstimable as why:
        return f"No model: {why}."
    if posterior.diagnostics.refusal:
        return f"The model is not shown: {posterior.diagnostics.refusal}"
    conditions = summary(posterior.draws["condition"], level=options.level)
    for place, name in enumerate(modelled.names):
        rows[name] |= {
            "posterior_mean": float(conditions.mean[place]),
            "posterior_sd": float(conditions.sd[place]),
            "posterior_low": float(conditions.low[place]),
            "posterior_high": float(conditions.high[place]),
        }
    return posterior


def _spreads(posterior: Posterior, inputs: PartInput, title: str, suffix: str) -> Table:
    rows = []
    for name, words in _SD_NAMES.items():
        spreads = summary(posterior.draws[name], level=inputs.options.level)
        rows.append(
            {
                "what": words,
                "sd": float(np.ravel(spreads.mean)[0]),
                "low": float(np.ravel(spreads.low)[0]),
                "high": float(np.ravel(spreads.high)[0]),
            }
        )
    columns = [
        Column("what", "Spread of"),
        Column("sd", "SD", "number"),
        Column("interval", f"{inputs.options.level:.0%} HDI", "interval"),
    ]
    return Table(
        f"spreads{suffix}",
        f"Random effects{family_span(title, ' · {}')}",
        columns,
        rows,
        about=title,
    )
