"""The tables of the Audio Turing Test: systems by the model, voices by dimension, the splits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.ratings.breakdowns import Family, families
from analysis.ratings.grouping import Breakdown
from analysis.ratings.scales import family_title
from analysis.report.content import Column, Content, Figure, Table
from analysis.report.part import Part, PartInput
from analysis.statistics.comparisons.tiers import tiers_of
from analysis.statistics.estimator import Estimate
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.mixed.family_model import Modelled, gaussian_draws
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.posterior import Posterior, summary
from analysis.statistics.mixed.table_model import arrays_of
from analysis.statistics.rank_distance import rank_distance

if TYPE_CHECKING:
    import pandas as pd

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


class Att(Part):
    """Tables 3 and 6 of the Audio Turing Test, with tiers and the check between splits."""

    key = "att"
    version = "1"
    title = "Audio Turing Test: the paper's tables"
    order = 42
    always = False
    presets = frozenset({"att"})

    def applies(self, inputs: PartInput) -> bool:
        """Whether there are labels Human, Unclear, Machine."""
        return bool((inputs.kept["estimand"] == "hls").any())

    def make(self, inputs: PartInput) -> Content:
        """Table 3, Table 6 with its heat map, and the splits, for each task and criterion."""
        tables: list[Table] = []
        figures: list[Figure] = []
        sentences: list[str] = []
        found = [family for family in families(inputs.kept) if family.estimand == "hls"]
        for place, family in enumerate(found):
            title = family_title({"estimand": "hls", **family.group})
            inputs.progress(place / len(found), title)
            suffix = f"-{place + 1}" if place else ""
            compare = compared(family.table)
            tables += _systems(family, compare, inputs, title, suffix)
            voices = _voices(family, compare, inputs, title, suffix)
            if voices:
                tables.append(voices[0])
                figures.append(voices[1])
            split = _splits(family, inputs, title, suffix)
            if split:
                tables.append(split[0])
                sentences.append(split[1])
        return Content(sentences, figures, tables, methods=[_METHOD])


_METHOD = (
    "Human-likeness scores (Human 1, Unclear 0.5, Machine 0) were modelled with systems as fixed "
    "effects and random effects of raters and of raters by system; posterior means, standard "
    "deviations and 95 % highest-density intervals come from exact draws."
)


def compared(table: pd.DataFrame) -> str:
    """The column whose values are the systems: ``system`` where every rating has one."""
    return "system" if bool((table["system"] != "").all()) else "condition"


def means(
    table: pd.DataFrame, breakdown: Breakdown, inputs: PartInput, weighting: str = "ratings"
) -> list[Estimate]:
    """The means of a breakdown with the two-way clustered interval, one each."""
    options = inputs.options
    made = MeanScore(breakdown, ("two_way",), (weighting,))
    rows = made.fit(table, level=options.level, seed=options.seed)
    return [row for row in rows if not row.interval.startswith("naive")]


def _systems(
    family: Family, compare: str, inputs: PartInput, title: str, suffix: str
) -> list[Table]:
    options = inputs.options
    by_label = {row.condition: row for row in means(family.table, Breakdown(compare), inputs)}
    by_rater = means(family.table, Breakdown(compare), inputs, "raters")
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
    for row in by_rater:
        rows[row.condition]["hls_raters"] = row.value
    model = _model(family, compare, inputs, rows)
    note = _TIERS + (f" {model}" if isinstance(model, str) else "")
    columns = [
        Column("system", "System"),
        Column("tier", "Tier", "mark"),
        Column("letters", "Letters", "mark"),
        Column("posterior_mean", "Posterior mean", "number"),
        Column("posterior_sd", "SD", "number"),
        Column("posterior", f"{options.level:.0%} HDI", "interval"),
        Column("hls", "Mean of labels", "number"),
        Column("interval", f"{options.level:.0%}, clustered", "interval"),
        Column("hls_raters", "Mean of raters", "number"),
        Column("labels", "Labels", "count"),
        Column("raters", "Raters", "count"),
    ]
    name = f"Human-likeness of the systems · {title}"
    tables = [Table(f"table3{suffix}", name, columns, list(rows.values()), note, title)]
    if isinstance(model, Posterior):
        tables.append(_spreads(model, inputs, title, suffix))
    return tables


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
    told = summary(posterior.draws["condition"], level=options.level)
    for place, name in enumerate(modelled.names):
        rows[name] |= {
            "posterior_mean": float(told.mean[place]),
            "posterior_sd": float(told.sd[place]),
            "posterior_low": float(told.low[place]),
            "posterior_high": float(told.high[place]),
        }
    return posterior


def _spreads(posterior: Posterior, inputs: PartInput, title: str, suffix: str) -> Table:
    rows = []
    for name, words in _SD_NAMES.items():
        told = summary(posterior.draws[name], level=inputs.options.level)
        rows.append(
            {
                "what": words,
                "sd": float(np.ravel(told.mean)[0]),
                "low": float(np.ravel(told.low)[0]),
                "high": float(np.ravel(told.high)[0]),
            }
        )
    columns = [
        Column("what", "Spread of"),
        Column("sd", "SD", "number"),
        Column("interval", f"{inputs.options.level:.0%} HDI", "interval"),
    ]
    return Table(f"spreads{suffix}", f"Random effects · {title}", columns, rows, about=title)


def _voices(
    family: Family, compare: str, inputs: PartInput, title: str, suffix: str
) -> tuple[Table, Figure] | None:
    """Voices of systems by dimension, with averages; None where no voice or dimension is named."""
    table = family.table
    if not ((table["voice"] != "").any() and (table["dimension"] != "").any()):
        return None
    cells = means(table, Breakdown(compare, ("voice", "dimension")), inputs)
    dimensions = sorted({row.group["dimension"] for row in cells})
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for cell in cells:
        key = (cell.condition, cell.group["voice"])
        row = rows.setdefault(key, {"system": key[0], "voice": key[1]})
        row[cell.group["dimension"]] = cell.value
    for row in rows.values():
        held = [row[name] for name in dimensions if name in row]
        row["average"] = sum(held) / len(held)
    ordered = sorted(rows.values(), key=lambda row: (-row["average"], row["system"], row["voice"]))
    columns = [Column("system", "System"), Column("voice", "Voice")]
    columns += [Column(name, name, "number") for name in dimensions]
    columns.append(Column("average", "Average", "number"))
    named = f"Human-likeness of voices by dimension · {title}"
    note = (
        "Means of labels. The average is that of the dimensions, each with equal weight. With few "
        "labels in a cell its value is rough; the breakdown by voice and dimension has intervals."
    )
    drawn = [
        {"row": f"{row['system']} {row['voice']}", "column": name, "value": row.get(name)}
        for row in ordered
        for name in dimensions
    ]
    figure = Figure(
        f"voices{suffix}", named, "heatmap", drawn, "Dimension", "Voice", (0.0, 1.0), about=title
    )
    return Table(f"table6{suffix}", named, columns, ordered, note, title), figure


def _splits(family: Family, inputs: PartInput, title: str, suffix: str) -> tuple[Table, str] | None:
    """How alike the two splits order the voices (or systems); None without exactly two splits."""
    table = family.table
    splits = sorted(set(table["split"]) - {""})
    if len(splits) != 2:
        return None
    unit = "voice" if bool((table["voice"] != "").all()) else compared(table)
    found = table[table["split"] != ""].groupby([unit, "split"])["score"].mean().unstack("split")
    found = found.dropna()
    if len(found) < 2:
        return None
    apart = rank_distance(found[splits[0]].to_numpy(), found[splits[1]].to_numpy())
    rows = [
        {unit: str(name), **{split: float(row[split]) for split in splits}}
        for name, row in found.sort_values(splits[0], ascending=False).iterrows()
    ]
    columns = [Column(unit, unit.capitalize())]
    columns += [Column(split, f"HLS, {split}", "number") for split in splits]
    p = "" if apart.p is None else f" (p {apart.p:.2g} against no agreement)"
    told = (
        f"The splits {splits[0]} and {splits[1]} order the {len(found)} {unit}s with a normalised "
        f"Kendall distance of {apart.distance:.3f}{p}: 0 is the same order, 0.5 none in common."
    )
    named = f"Splits · {title}"
    return Table(f"splits{suffix}", named, columns, rows, told, title, True), told
