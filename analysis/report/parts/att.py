"""The tables and figures of the Audio Turing Test, in the order of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.formatting import enumerated
from analysis.name_spans import condition_span, family_prefix, family_span
from analysis.ratings.breakdowns import Family, families
from analysis.ratings.estimands import family_title
from analysis.ratings.grouping import Breakdown
from analysis.report.content import (
    Column,
    Content,
    Figure,
    Table,
    interval_cells,
    together,
    with_titles,
)
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
            labels = Labels(family, compare, inputs, title, f"-{place + 1}" * bool(place))
            of_family = [Content(tables=systems(labels))]
            of_family += [by_split(labels), by_dimension(labels), by_voice(labels)]
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
Row = dict[str, Any]
Cells = dict[tuple[str, str], Estimate]  # by the system, and the split or dimension


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


@dataclass(frozen=True)
class Labels:
    """The labels of one task and criterion, and what its titles and keys end in."""

    family: Family
    compare: str  # the column that names the systems
    inputs: PartInput
    title: str
    suffix: str

    @property
    def ratings(self) -> pd.DataFrame:
        return self.family.table

    @property
    def level(self) -> float:
        return self.inputs.options.level

    @property
    def references(self) -> set[str]:
        """What stands beside the systems and is none: conditions called reference by the study."""
        own = self.ratings["role"] == "reference"
        return set(self.ratings[self.compare][own].unique())

    def overall(self) -> list[Estimate]:
        """The systems by falling mean."""
        rows = means(self.ratings, Breakdown(self.compare), self.inputs)
        return sorted(rows, key=lambda row: (-row.value, row.condition))

    def cells(self, table: pd.DataFrame, by: str) -> Cells:
        """The mean of each system at each value of that column."""
        rows = means(table, Breakdown(self.compare, (by,)), self.inputs)
        return {(row.condition, row.group[by]): row for row in rows}

    def table(
        self, key: str, title: str, columns: Sequence[Column], rows: Sequence[Row], note: str = ""
    ) -> Table:
        """A table about these labels."""
        return Table(
            f"{key}{self.suffix}", title + _of(self.title), columns, rows, note, self.title
        )

    def figure(self, key: str, title: str, rows: Sequence[Row], note: str) -> Figure:
        """Figure 2a or 2b of the paper."""
        return Figure(
            f"{key}{self.suffix}",
            f"{title}{_of(self.title)}",
            "intervals",
            rows,
            x="Human-likeness score",
            ends=(0.0, 1.0),
            note=note,
            about=self.title,
        )


_SPLIT_NOTE = (
    "Means of labels. The difference has a two-way clustered interval of its own; the splits have "
    "different items, so it also reflects how hard they are."
)


def by_split(labels: Labels) -> Content:
    """The systems overall and in each split; the check needs two splits, and says so else."""
    named = labels.ratings[labels.ratings["split"] != ""]
    splits = labels.inputs.ordered("split", named["split"].unique())
    overall = labels.overall()
    cells = labels.cells(named, "split") if splits else {}
    figure = _figure(labels, overall, cells, splits)
    if len(splits) != 2:
        held = enumerated(splits) or "none"
        sentence_only = (
            f"{family_prefix(labels.title)}no check between splits, which takes two (column "
            f"split); named: {held}."
        )
        return Content([sentence_only], [figure])
    both = [row for row in overall if all((row.condition, name) in cells for name in splits)]
    if len(both) < 2:
        sentence_only = (
            f"{family_prefix(labels.title)}no check between splits: fewer than two systems have "
            "ratings in both."
        )
        return Content([sentence_only], [figure])
    sentence = _sentence([row.condition for row in both], cells, splits)
    differences = _differences(named, labels)
    return Content([sentence], [figure], [_table(labels, both, cells, differences, splits)])


def _figure(
    labels: Labels, overall: Sequence[Estimate], cells: Cells, splits: Sequence[str]
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
    note = "Systems by falling mean over all labels; two-way clustered intervals."
    return labels.figure("figure2a", heading, rows, note)


def _differences(named: pd.DataFrame, labels: Labels) -> dict[str, Contrast]:
    """The difference between the two splits of each system."""
    estimator = MeanScore(Breakdown("split", (labels.compare,)), ("two_way",), ("ratings",))
    seed = labels.inputs.options.seed
    every = estimator.contrasts(named, level=labels.level, seed=seed)
    return {row.group[labels.compare]: row for row in every if not row.interval.startswith("naive")}


def _sentence(systems: Sequence[str], cells: Cells, splits: Sequence[str]) -> str:
    first, second = (np.array([cells[name, split].value for name in systems]) for split in splits)
    apart = rank_distance(first, second)
    p = "" if apart.p is None else f" (p {apart.p:.2g} against no agreement)"
    return (
        f"The splits {splits[0]} and {splits[1]} order the {len(systems)} systems with a "
        f"normalised Kendall distance of {apart.distance:.3f}{p}: 0 is the same order, 0.5 none in "
        "common."
    )


def _table(
    labels: Labels,
    systems: Sequence[Estimate],
    cells: Cells,
    differences: Mapping[str, Contrast],
    splits: Sequence[str],
) -> Table:
    ranks = {split: _ranks(systems, cells, split) for split in splits}
    rows = []
    for each in systems:
        name = each.condition
        row: Row = {"system": name, "overall": each.value}
        for number, split in enumerate(splits, start=1):
            row |= {f"split{number}": cells[name, split].value, f"rank{number}": ranks[split][name]}
        row |= _difference(differences.get(name), splits[0])
        rows.append(row)
    columns = [Column("system", "System"), Column("overall", "Overall", "number")]
    for number, split in enumerate(splits, start=1):
        columns.append(Column(f"split{number}", split, "number"))
        columns.append(Column(f"rank{number}", f"Place, {split}", "count"))
    columns.append(Column("difference", f"{splits[0]} − {splits[1]}", "number", sign=True))
    columns.append(Column("difference", f"{labels.level:.0%}", "interval"))
    return labels.table("splits", "Systems by split", columns, rows, _SPLIT_NOTE)


def _ranks(systems: Sequence[Estimate], cells: Cells, split: str) -> dict[str, int]:
    """Places from 1; equal means share the better one."""
    values = {row.condition: cells[row.condition, split].value for row in systems}
    return {name: 1 + sum(v > value for v in values.values()) for name, value in values.items()}


def _difference(contrast: Contrast | None, first: str) -> Row:
    """The difference with its interval, the first split minus the second."""
    if contrast is None:
        return {"difference": None}
    if contrast.condition == first:
        return interval_cells("difference", contrast)
    turned = replace(contrast, low=contrast.high, high=contrast.low)
    return interval_cells("difference", turned, -1.0)


PRINTED = 4  # decimals of the paper's Table 6
_NOTE = (
    "Means of labels, voices and dimensions in the order of the study. With few labels in a cell "
    "its value is rough; the breakdown by voice and dimension has intervals."
)
_AVERAGES = "An average is that of the dimensions, each with equal weight; it is in the CSV."
_TAKEN = ("system", "voice", "overall", "average", UNRANKED)


def _key(dimension: str) -> str:
    """Of the rows: the dimension's own name, unless another column has it."""
    return f"dimension {dimension}" if dimension in _TAKEN else dimension


def by_dimension(labels: Labels) -> Content:
    """The systems in each dimension, and their order beside the one overall."""
    named = labels.ratings[labels.ratings["dimension"] != ""]
    if not len(named):
        sentence = (
            f"{family_prefix(labels.title)}no dimensions are named (column dimension), so Figure "
            "2b is not there."
        )
        return Content([sentence])
    overall, cells = labels.overall(), labels.cells(named, "dimension")
    dimensions = labels.inputs.ordered("dimension", {dimension for _, dimension in cells})
    rows = [
        {"group": dimension, "name": each.condition}
        | {"value": cell.value, "low": cell.low, "high": cell.high}
        for dimension in dimensions
        for each in overall
        if (cell := cells.get((each.condition, dimension))) is not None
    ]
    heading = f"Figure 2b of {PAPER}: human-likeness of the systems in each dimension"
    note = "In each dimension systems stand in the order of their means over all labels."
    figure = labels.figure("figure2b", heading, rows, note)
    table = _systems_table(labels, overall, cells, dimensions)
    return Content(list(_orders(overall, cells, dimensions)), [figure], [table])


def _systems_table(
    labels: Labels, overall: Sequence[Estimate], cells: Cells, dimensions: Sequence[str]
) -> Table:
    references = labels.references
    rows: list[Row] = []
    for each in overall:
        row: Row = {"system": each.condition, "overall": each.value}
        row[UNRANKED] = each.condition in references
        for name in dimensions:
            cell = cells.get((each.condition, name))
            row[_key(name)] = None if cell is None else cell.value
        rows.append(row)
    columns = [Column("system", "System"), Column("overall", "Overall", "number")]
    columns += [Column(_key(name), name, "number") for name in dimensions]
    marked = with_best(rows, ["overall", *map(_key, dimensions)])
    heading = "Human-likeness of the systems by dimension"
    return labels.table("dimensions", heading, columns, marked, LEGEND)


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


def by_voice(labels: Labels) -> Content:
    """Table 6, voices under their systems by dimension, with its heat map."""
    table, title = labels.ratings, labels.title
    lacking = [name for name in ("voice", "dimension") if not (table[name] != "").any()]
    if lacking:
        sentence = (
            f"{family_prefix(title)}Table 6 is not there, as no rating names a "
            f"{enumerated(lacking)}."
        )
        return Content([sentence])
    cells = means(table, Breakdown(labels.compare, ("voice", "dimension")), labels.inputs)
    dimensions = labels.inputs.ordered("dimension", {row.group["dimension"] for row in cells})
    rows = _voice_rows(labels, cells, dimensions)
    rows = with_best(rows, list(map(_key, dimensions)), decimals=PRINTED)
    columns = [Column("voice", "Voice")]
    columns += [Column(_key(name), name, "number", PRINTED) for name in dimensions]
    heading = f"Table 6 of {PAPER}: human-likeness of voices by dimension"
    table6 = labels.table("table6", heading, columns, rows, f"{_NOTE} {_AVERAGES} {LEGEND}")
    table6 = replace(table6, group="system")
    drawn = [
        {"row": f"{row['system']} {row['voice']}", "column": name, "value": row.get(_key(name))}
        for row in rows
        for name in dimensions
    ]
    key, ends = f"voices{labels.suffix}", (0.0, 1.0)
    figure = Figure(key, table6.title, "heatmap", drawn, "Dimension", "Voice", ends, about=title)
    return Content(_reach(rows), [figure], [table6])


def _voice_rows(labels: Labels, cells: Sequence[Estimate], dimensions: Sequence[str]) -> list[Row]:
    """A row per voice, in the study's order of systems and voices."""
    references = labels.references
    row_of: dict[tuple[str, str], Row] = {}
    for cell in cells:
        key = (cell.condition, cell.group["voice"])
        row = row_of.setdefault(
            key, {"system": key[0], "voice": key[1], UNRANKED: key[0] in references}
        )
        row[_key(cell.group["dimension"])] = cell.value
    for row in row_of.values():
        held = [row[_key(name)] for name in dimensions if _key(name) in row]
        row["average"] = sum(held) / len(held)
    systems = labels.inputs.ordered(labels.compare, (system for system, _ in row_of))
    voices = labels.inputs.ordered("voice", (voice for _, voice in row_of))
    return [row_of[s, v] for s in systems for v in voices if (s, v) in row_of]


def _reach(rows: Sequence[Row]) -> list[str]:
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


def systems(labels: Labels) -> list[Table]:
    """Table 3 as the paper prints it, the systems with tiers and means, and the spreads."""
    rows = _means_and_tiers(labels)
    model = _model(labels, rows)
    tables = [_table3(labels, rows, model), _tiers(labels, rows)]
    if isinstance(model, Posterior):
        tables.append(_spreads(labels, model))
    return tables


def _means_and_tiers(labels: Labels) -> dict[str, Row]:
    """A row per system, by falling mean of labels."""
    breakdown, table = Breakdown(labels.compare), labels.ratings
    by_label = {row.condition: row for row in means(table, breakdown, labels.inputs)}
    reference = labels.inputs.options.reference
    estimator = MeanScore(breakdown, ("two_way",), ("ratings",), reference=reference)
    p = {
        (pair.condition, pair.versus): pair.p_adjusted
        for pair in estimator.contrasts(table, level=labels.level)
        if not pair.interval.startswith("naive")
    }
    tiers = tiers_of({name: row.value for name, row in by_label.items()}, p)
    place = {name: str(n) for n, tier in enumerate(tiers.tiers, start=1) for name in tier}
    rows: dict[str, Row] = {
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
    for row in means(table, breakdown, labels.inputs, "raters"):
        rows[row.condition]["hls_raters"] = row.value
    return rows


def _table3(labels: Labels, rows: Mapping[str, Row], model: Posterior | str) -> Table:
    """Posterior mean (SD) and interval, by falling posterior mean; nothing but a note without."""
    references = labels.references
    by = "posterior_mean"
    ordered = sorted(rows.values(), key=lambda row: -row[by if by in row else "hls"])
    printed = with_best(
        ({**row, UNRANKED: row["system"] in references} for row in ordered), ["posterior_mean"]
    )
    for row in printed:
        if "posterior_mean" in row:
            row["posterior_text"] = f"{row['posterior_mean']:.3f} ({row['posterior_sd']:.3f})"
            row["posterior_text_mark"] = row.get("posterior_mean_mark", "")
    columns = [
        Column("system", "System"),
        Column("posterior_text", "Posterior mean (SD)"),
        Column("posterior", f"{labels.level:.0%} HDI", "interval"),
    ]
    note = model if isinstance(model, str) else LEGEND
    heading = f"Table 3 of {PAPER}: posterior summary of the systems"
    return labels.table("table3", heading, columns, printed, note)


def _tiers(labels: Labels, rows: Mapping[str, Row]) -> Table:
    columns = [
        Column("system", "System"),
        Column("tier", "Tier", "mark"),
        Column("letters", "Letters", "mark"),
        Column("hls", "Mean of labels", "number"),
        Column("interval", f"{labels.level:.0%}, clustered", "interval"),
        Column("hls_raters", "Mean of raters", "number"),
        Column("labels", "Labels", "count"),
        Column("raters", "Raters", "count"),
    ]
    heading = "Human-likeness of the systems"
    return labels.table("tiers", heading, columns, list(rows.values()), _TIERS)


def _model(labels: Labels, rows: Mapping[str, Row]) -> Posterior | str:
    """The posterior, its columns put into the rows; or why there is none."""
    table = labels.ratings
    try:
        arrays = arrays_of(table, labels.compare)
        modelled = Modelled(0, labels.title, labels.family, table, arrays)
        posterior = gaussian_draws(modelled, labels.inputs.options)
    except NotEstimable as why:
        return f"No model: {why}."
    if posterior.diagnostics.refusal:
        return f"The model is not shown: {posterior.diagnostics.refusal}"
    conditions = summary(posterior.draws["condition"], level=labels.level)
    for place, name in enumerate(modelled.names):
        for cell in ("mean", "sd", "low", "high"):
            rows[name][f"posterior_{cell}"] = float(getattr(conditions, cell)[place])
    return posterior


def _spreads(labels: Labels, posterior: Posterior) -> Table:
    rows = []
    for name, words in _SD_NAMES.items():
        spreads = summary(posterior.draws[name], level=labels.level)
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
        Column("interval", f"{labels.level:.0%} HDI", "interval"),
    ]
    return labels.table("spreads", "Random effects", columns, rows)
