"""The tables and figures of the Audio Turing Test, in the order of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.formatting import enumerated
from analysis.name_spans import condition_span, family_prefix, family_span
from analysis.ratings.breakdowns import Family, families
from analysis.ratings.estimands import family_title
from analysis.ratings.grouping import Breakdown
from analysis.report.content import Column, Content, Figure, Table, together, with_titles
from analysis.report.emphasis import LEGEND, UNRANKED, with_best
from analysis.report.part import Part, PartInput
from analysis.statistics.comparisons.tiers import tiers_of
from analysis.statistics.correlations import rank_distance
from analysis.statistics.estimator import Contrast, Estimate
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.mixed.family_model import Modelled, gaussian_draws
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.posterior import Posterior, summary
from analysis.statistics.mixed.table_model import arrays_of

if TYPE_CHECKING:
    import pandas as pd


__all__ = ["Att", "means", "system_column"]

_METHOD = (
    "Human-likeness scores (Human 1, Unclear 0.5, Machine 0) were modelled with systems as fixed "
    "effects and random effects of raters and of raters by system; posterior means, standard "
    "deviations and 95 % highest-density intervals come from exact draws."
)


class Att(Part):
    """Table 3, Figures 2a and 2b and Table 6 of the Audio Turing Test, with tiers."""

    key = "att"
    version = "2"
    title = "Audio Turing Test: the paper's tables"
    order = 42
    always = False
    presets = frozenset({"att"})

    def applies(self, inputs: PartInput) -> bool:
        """Whether there are labels Human, Unclear, Machine."""
        return bool((inputs.ratings["estimand"] == "hls").any())

    def make(self, inputs: PartInput) -> Content:
        """The paper's tables and figures for each task and criterion."""
        contents: list[Content] = [Content(methods=[_METHOD])]
        of_hls = [family for family in families(inputs.ratings) if family.estimand == "hls"]
        for place, family in enumerate(of_hls):
            title = family_title({"estimand": "hls", **family.group})
            inputs.progress(place / len(of_hls), title)
            compare = system_column(family.table)
            arguments = (family, compare, inputs, title, f"-{place + 1}" * bool(place))
            of_family = [Content(tables=systems(*arguments))]
            of_family += [by_split(*arguments), by_dimension(*arguments), by_voice(*arguments)]
            contents += [_key_column(each, compare) for each in of_family]
        shown = together(contents)
        if len(of_hls) > 1:
            return shown
        return with_titles(shown, lambda each: each.title.removesuffix(_of(title)))


def _key_column(shown: Content, compare: str) -> Content:
    """The tables with systems in a column of the name of what is compared: conditions have labels.

    In figures the keys of rows are the same for both.
    """
    old = "system"

    def keyed(table: Table) -> Table:
        columns = [replace(c, key=compare) if c.key == old else c for c in table.columns]
        rows = [{compare if k == old else k: v for k, v in row.items()} for row in table.rows]
        group = compare if table.group == old else table.group
        return replace(table, columns=columns, rows=rows, group=group)

    return replace(shown, tables=[keyed(table) for table in shown.tables])


def _of(title: str) -> str:
    """The family at the end of titles, where there are several."""
    return family_span(title, " · {}")


PAPER = "the Audio Turing Test"


def system_column(table: pd.DataFrame) -> str:
    """The column that names the systems: ``system`` where every rating has one and some pool.

    Where each system has one condition, that stands for it: conditions have labels.
    """
    both = table[["system", "condition"]].drop_duplicates()
    pooled = bool((both["system"] != "").all()) and bool(both["system"].duplicated().any())
    return "system" if pooled else "condition"


def means(
    table: pd.DataFrame, breakdown: Breakdown, inputs: PartInput, weighting: str = "ratings"
) -> list[Estimate]:
    """The means of a breakdown with the two-way clustered interval, one each."""
    options = inputs.options
    estimator = MeanScore(breakdown, ("two_way",), (weighting,))
    rows = estimator.fit(table, level=options.level, seed=options.seed)
    return [row for row in rows if not row.interval.startswith("naive")]


def references(table: pd.DataFrame, compare: str) -> set[str]:
    """What stands beside the systems and is none: conditions that the study calls its reference."""
    return set(table[compare][table["role"] == "reference"].unique())


_SPLIT_NOTE = (
    "Means of labels. The difference has a two-way clustered interval of its own; the splits have "
    "different items, so it also reflects how hard they are."
)


def by_split(family: Family, compare: str, inputs: PartInput, title: str, suffix: str) -> Content:
    """The systems overall and in each split; the check needs two splits, and says so else."""
    named = family.table[family.table["split"] != ""]
    splits = inputs.ordered("split", named["split"].unique())
    overall = means(family.table, Breakdown(compare), inputs)
    overall.sort(key=lambda row: (-row.value, row.condition))
    cells = {
        (row.condition, row.group["split"]): row
        for row in (means(named, Breakdown(compare, ("split",)), inputs) if splits else [])
    }
    figure = _figure(overall, cells, splits, title, suffix)
    if len(splits) != 2:
        held = enumerated(splits) or "none"
        sentence_only = (
            f"{family_prefix(title)}no check between splits, which takes two (column split); "
            f"named: {held}."
        )
        return Content([sentence_only], [figure])
    both = [row for row in overall if all((row.condition, name) in cells for name in splits)]
    if len(both) < 2:
        sentence_only = (
            f"{family_prefix(title)}no check between splits: fewer than two systems have "
            "ratings in both."
        )
        return Content([sentence_only], [figure])
    sentence = _sentence([row.condition for row in both], cells, splits)
    differences = _differences(named, compare, inputs)
    level = inputs.options.level
    table = _table(both, cells, differences, splits, level, (title, suffix))
    return Content([sentence], [figure], [table])


def _figure(
    overall: Sequence[Estimate],
    cells: dict[tuple[str, str], Estimate],
    splits: Sequence[str],
    title: str,
    suffix: str,
) -> Figure:
    rows = []
    for each in overall:
        inside = [(split, cells.get((each.condition, split))) for split in splits]
        for name, row in [("Overall", each), *inside]:
            if row is not None:
                drawn = {"name": name, "value": row.value, "low": row.low, "high": row.high}
                rows.append(drawn | {"group": each.condition})
    heading = f"Figure 2a of {PAPER}: human-likeness of the systems, overall"
    heading += " and by split" * bool(splits)
    return Figure(
        f"figure2a{suffix}",
        f"{heading}{_of(title)}",
        "intervals",
        rows,
        x="Human-likeness score",
        ends=(0.0, 1.0),
        note="Systems by falling mean over all labels; two-way clustered intervals.",
        about=title,
    )


def _differences(named: Any, compare: str, inputs: PartInput) -> dict[str, Contrast]:
    """The difference between the two splits of each system."""
    estimator = MeanScore(Breakdown("split", (compare,)), ("two_way",), ("ratings",))
    every = estimator.contrasts(named, level=inputs.options.level, seed=inputs.options.seed)
    return {row.group[compare]: row for row in every if not row.interval.startswith("naive")}


def _sentence(
    systems: Sequence[str],
    cells: dict[tuple[str, str], Estimate],
    splits: Sequence[str],
) -> str:
    first, second = (np.array([cells[name, split].value for name in systems]) for split in splits)
    apart = rank_distance(first, second)
    p = "" if apart.p is None else f" (p {apart.p:.2g} against no agreement)"
    return (
        f"The splits {splits[0]} and {splits[1]} order the {len(systems)} systems with a "
        f"normalised Kendall distance of {apart.distance:.3f}{p}: 0 is the same order, 0.5 none in "
        "common."
    )


def _table(
    systems: Sequence[Estimate],
    cells: dict[tuple[str, str], Estimate],
    differences: dict[str, Contrast],
    splits: Sequence[str],
    level: float,
    named: tuple[str, str],
) -> Table:
    title, suffix = named
    ranks = {split: _ranks(systems, cells, split) for split in splits}
    rows = []
    for each in systems:
        name = each.condition
        row: dict[str, Any] = {"system": name, "overall": each.value}
        for number, split in enumerate(splits, start=1):
            row |= {f"split{number}": cells[name, split].value, f"rank{number}": ranks[split][name]}
        row |= _difference(differences.get(name), splits[0])
        rows.append(row)
    columns = [Column("system", "System"), Column("overall", "Overall", "number")]
    for number, split in enumerate(splits, start=1):
        columns.append(Column(f"split{number}", split, "number"))
        columns.append(Column(f"rank{number}", f"Place, {split}", "count"))
    columns.append(Column("difference", f"{splits[0]} − {splits[1]}", "number", sign=True))
    columns.append(Column("difference", f"{level:.0%}", "interval"))
    return Table(
        f"splits{suffix}",
        f"Systems by split{_of(title)}",
        columns,
        rows,
        _SPLIT_NOTE,
        title,
    )


def _ranks(
    systems: Sequence[Estimate], cells: dict[tuple[str, str], Estimate], split: str
) -> dict[str, int]:
    """Places from 1; equal means share the better one."""
    values = {row.condition: cells[row.condition, split].value for row in systems}
    return {name: 1 + sum(v > value for v in values.values()) for name, value in values.items()}


def _difference(contrast: Contrast | None, first: str) -> dict[str, Any]:
    """The difference with its interval, the first split minus the second."""
    if contrast is None:
        return {"difference": None}
    low, high = contrast.low, contrast.high
    if contrast.condition == first:
        return {"difference": contrast.value, "difference_low": low, "difference_high": high}
    turned = (None if high is None else -high, None if low is None else -low)
    return {"difference": -contrast.value} | dict(
        zip(("difference_low", "difference_high"), turned, strict=True)
    )


PRINTED = 4  # decimals of the paper's Table 6
_NOTE = (
    "Means of labels, voices and dimensions in the order of the study. With few labels in a cell "
    "its value is rough; the breakdown by voice and dimension has intervals."
)
_AVERAGES = "An average is that of the dimensions, each with equal weight; it is in the CSV."
_TAKEN = ("system", "voice", "overall", "average", UNRANKED)
Cells = dict[tuple[str, str], Estimate]


def _key(dimension: str) -> str:
    """Of the rows: the dimension's own name, unless another column has it."""
    return f"dimension {dimension}" if dimension in _TAKEN else dimension


def by_dimension(
    family: Family, compare: str, inputs: PartInput, title: str, suffix: str
) -> Content:
    """The systems in each dimension, and their order beside the one overall."""
    named = family.table[family.table["dimension"] != ""]
    if not len(named):
        sentence = (
            f"{family_prefix(title)}no dimensions are named (column dimension), so Figure 2b "
            "is not there."
        )
        return Content([sentence])
    overall = means(family.table, Breakdown(compare), inputs)
    overall.sort(key=lambda row: (-row.value, row.condition))
    estimates = means(named, Breakdown(compare, ("dimension",)), inputs)
    cells = {(row.condition, row.group["dimension"]): row for row in estimates}
    dimensions = inputs.ordered("dimension", {row.group["dimension"] for row in estimates})
    rows = [
        {"group": dimension, "name": each.condition}
        | {"value": cell.value, "low": cell.low, "high": cell.high}
        for dimension in dimensions
        for each in overall
        if (cell := cells.get((each.condition, dimension))) is not None
    ]
    figure = Figure(
        f"figure2b{suffix}",
        f"Figure 2b of {PAPER}: human-likeness of the systems in each dimension{_of(title)}",
        "intervals",
        rows,
        x="Human-likeness score",
        ends=(0.0, 1.0),
        note="In each dimension systems stand in the order of their means over all labels.",
        about=title,
    )
    table = _systems_table(family, compare, overall, cells, dimensions, title, suffix)
    return Content(list(_orders(overall, cells, dimensions)), [figure], [table])


def _systems_table(
    family: Family,
    compare: str,
    overall: Sequence[Estimate],
    cells: Cells,
    dimensions: Sequence[str],
    title: str,
    suffix: str,
) -> Table:
    reference_names = references(family.table, compare)
    rows: list[dict[str, Any]] = []
    for each in overall:
        row = {
            "system": each.condition,
            "overall": each.value,
            UNRANKED: each.condition in reference_names,
        }
        for name in dimensions:
            cell = cells.get((each.condition, name))
            row[_key(name)] = None if cell is None else cell.value
        rows.append(row)
    columns = [Column("system", "System"), Column("overall", "Overall", "number")]
    columns += [Column(_key(name), name, "number") for name in dimensions]
    marked = with_best(rows, ["overall", *map(_key, dimensions)])
    heading = f"Human-likeness of the systems by dimension{_of(title)}"
    return Table(f"dimensions{suffix}", heading, columns, marked, LEGEND, title)


def _orders(overall: Sequence[Estimate], cells: Cells, dimensions: Sequence[str]) -> list[str]:
    """How the order of the systems in each dimension differs from the one overall."""
    apart: dict[str, float] = {}
    for name in dimensions:
        both = [row for row in overall if (row.condition, name) in cells]
        if len(both) > 1:
            inside = np.array([cells[row.condition, name].value for row in both])
            distance = rank_distance(np.array([row.value for row in both]), inside)
            apart[name] = distance.distance
    if not apart:
        return []
    same = [name for name, distance in apart.items() if distance == 0]
    furthest = max(apart, key=lambda name: apart[name])
    sentence = (
        f"In {len(same)} of {len(apart)} dimensions the systems stand in the order of all labels"
    )
    if len(same) < len(apart):
        sentence += f"; furthest from it is {furthest}, with a normalised Kendall distance of "
        sentence += f"{apart[furthest]:.3f}"
    return [f"{sentence}."]


def by_voice(family: Family, compare: str, inputs: PartInput, title: str, suffix: str) -> Content:
    """Table 6, voices under their systems by dimension, with its heat map."""
    table = family.table
    lacking = [name for name in ("voice", "dimension") if not (table[name] != "").any()]
    if lacking:
        sentence = (
            f"{family_prefix(title)}Table 6 is not there, as no rating names a "
            f"{enumerated(lacking)}."
        )
        return Content([sentence])
    cells = means(table, Breakdown(compare, ("voice", "dimension")), inputs)
    dimensions = inputs.ordered("dimension", {row.group["dimension"] for row in cells})
    rows = _voice_rows(cells, compare, dimensions, table, inputs)
    rows = with_best(rows, list(map(_key, dimensions)), decimals=PRINTED)
    columns = [Column("voice", "Voice")]
    columns += [Column(_key(name), name, "number", PRINTED) for name in dimensions]
    named = f"Table 6 of {PAPER}: human-likeness of voices by dimension{_of(title)}"
    drawn = [
        {"row": f"{row['system']} {row['voice']}", "column": name, "value": row.get(_key(name))}
        for row in rows
        for name in dimensions
    ]
    figure = Figure(
        f"voices{suffix}", named, "heatmap", drawn, "Dimension", "Voice", (0.0, 1.0), about=title
    )
    note = f"{_NOTE} {_AVERAGES} {LEGEND}"
    table6 = Table(f"table6{suffix}", named, columns, rows, note, title, group="system")
    return Content(_reach(rows), [figure], [table6])


def _voice_rows(
    cells: Sequence[Estimate],
    compare: str,
    dimensions: Sequence[str],
    table: Any,
    inputs: PartInput,
) -> list[dict[str, Any]]:
    """A row per voice, in the study's order of systems and voices."""
    reference_names = references(table, compare)
    row_of: dict[tuple[str, str], dict[str, Any]] = {}
    for cell in cells:
        key = (cell.condition, cell.group["voice"])
        row = row_of.setdefault(
            key, {"system": key[0], "voice": key[1], UNRANKED: key[0] in reference_names}
        )
        row[_key(cell.group["dimension"])] = cell.value
    for row in row_of.values():
        held = [row[_key(name)] for name in dimensions if _key(name) in row]
        row["average"] = sum(held) / len(held)
    systems = inputs.ordered(compare, (system for system, _ in row_of))
    voices = inputs.ordered("voice", (voice for _, voice in row_of))
    return [row_of[s, v] for s in systems for v in voices if (s, v) in row_of]


def _reach(rows: Sequence[dict[str, Any]]) -> list[str]:
    """From which to which voice each system reaches."""
    ranges = []
    for system in dict.fromkeys(row["system"] for row in rows):
        mine = sorted((r for r in rows if r["system"] == system), key=lambda row: row["average"])
        low, high = mine[0], mine[-1]
        if len(mine) > 1:
            ranges.append(
                f"{condition_span(system)} {low['average']:.2f} ({low['voice']}) to "
                f"{high['average']:.2f} ({high['voice']})"
            )
    return [f"Voices, by the average over dimensions: {'; '.join(ranges)}."] if ranges else []


_SD_NAMES = {
    "sd_rater": "Raters (how lenient)",
    "sd_rater_condition": "Raters by system",
    "sd_residual": "Rest",
}
_TIERS = (
    "Tiers: systems by falling mean; one joins the open tier if it does not differ from that "
    "tier's first (adjusted, two-way clustered). The mean over labels is that of "
    "the table of voices, the mean over raters that of the model. They differ where busy raters "
    "are harsher or milder."
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
    estimator = MeanScore(
        Breakdown(compare), ("two_way",), ("ratings",), reference=options.reference
    )
    pairs = [
        pair
        for pair in estimator.contrasts(family.table, level=options.level)
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
    reference_names = references(family.table, compare)
    ordered = sorted(rows.values(), key=lambda row: -row.get("posterior_mean", row["hls"]))
    printed = with_best(
        ({**row, UNRANKED: row["system"] in reference_names} for row in ordered), ["posterior_mean"]
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
    heading = f"Table 3 of {PAPER}: posterior summary of the systems{_of(title)}"
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
    heading = f"Human-likeness of the systems{_of(title)}"
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
        f"Random effects{_of(title)}",
        columns,
        rows,
        about=title,
    )
