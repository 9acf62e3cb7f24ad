"""Mixed models of every task: means, what varies, differences, and the ranking by a posterior."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from analysis.formatting import enumerated, listed
from analysis.name_spans import family_prefix, family_span
from analysis.ratings.breakdowns import Breakdown, families
from analysis.ratings.estimands import estimand_of, family_title
from analysis.report.content import Column, Content, Figure, Table
from analysis.report.part import Part, PartInput
from analysis.report.parts.models.model_fits import (
    ALONE,
    TOO_NARROW,
    CellModel,
    Fits,
    cell_model,
    fits_of,
    sized,
)
from analysis.report.parts.models.posterior_ranking import (
    best_sentence,
    contrast_table,
    diagnostics_table,
    drawn_words,
    rank_heatmap,
    rank_table,
    summary_cells,
)
from analysis.statistics.mixed import linear_model
from analysis.statistics.mixed.family_model import Modelled, comparable, modelled
from analysis.statistics.mixed.model_contrasts import Means
from analysis.statistics.mixed.model_errors import NotEstimable, Refusal
from analysis.statistics.mixed.nuts import RESIDUAL, SD_NAMES
from analysis.statistics.options import Options

__all__ = ["Models"]

BY_THE_ANSWER = (
    "Ranks are drawn from the variances of the clustered intervals, widened as those of all "
    "comparisons at once are, so that no condition is the best with more than 97.5 % unless its "
    "difference from every other one is claimed (at a level of 95 %)."
)
NOTHING = "No condition has two ratings yet: there is nothing to model."


class Models(Part):
    """The Gaussian mixed model by REML, and its exact posterior, for every task and criterion."""

    key = "models"  # as fits.MODELS
    version = "2"
    title = "Mixed models and ranking"
    order = 30
    late = True

    def applies(self, inputs: PartInput) -> bool:
        """Whether some ratings are about one condition each."""
        return any(comparable(family) for family in families(inputs.kept))

    def make(self, inputs: PartInput) -> Content:
        """Fit each family; what a family's ratings do not allow is said among the warnings."""
        shown = _Gathered()
        models = sized(inputs)
        if not models:
            raise ValueError(NOTHING)
        for place, (each, effects) in enumerate(models):
            inputs.progress(place / len(models), f"mixed model of {each.title}")
            shown.add(fits_of(each, effects, inputs.options), inputs)
        return shown.shown()


def modelled_or_refused(inputs: PartInput) -> list[Modelled]:
    """The families that a mixed model can be made of; ValueError where there are none."""
    families = list(modelled(inputs.kept))
    if not families:
        raise ValueError(NOTHING)
    return families


class _Gathered:
    """What the families give, in lists."""

    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.figures: list[Figure] = []
        self.tables: list[Table] = []
        self.warnings: list[str] = []
        self.fitted: list[Fits] = []

    def add(self, fits: Fits, inputs: PartInput) -> None:
        """One family's figures and tables, or the reasons why there are none."""
        each, title = fits.of, fits.of.title
        self.warnings += [f"{family_prefix(title)}{note}." for note in fits.notes]
        if fits.reml is None and fits.posterior is None:
            return
        self.fitted.append(fits)
        stem = f"models-{each.number}"
        self.sentences += best_sentence(family_prefix(title), each.names, fits.ranks, fits.among)
        if isinstance(fits.comparison, Refusal):
            self.warnings.append(
                f"{family_prefix(title)}no posterior is shown, because {fits.comparison}."
            )
        self.sentences += variation_sentence(fits)
        if fits.reml is not None or fits.compared is not None:
            plain = clustered_of(inputs.report, title)
            self.tables += [means_table(f"{stem}-means", fits, plain)]
            self.tables += [variation_table(f"{stem}-variation", fits)]
        self._add_ranking(stem, fits)
        self._add_cells(stem, each, inputs.options)
        if fits.too_large:
            self.warnings.append(f"{family_prefix(title)}{TOO_NARROW}.")

    def _add_ranking(self, stem: str, fits: Fits) -> None:
        each, names, title = fits.of, fits.of.names, fits.of.title
        compared, ranks = fits.compared, fits.ranks
        if len(names) > 1 and (fits.pairs is not None or compared is not None):
            self.tables.append(
                contrast_table(
                    f"{stem}-contrasts",
                    f"Differences by the mixed model, {family_span(title)}",
                    names,
                    fits.falling,
                    fits.pairs,
                    compared,
                    title,
                )
            )
        if ranks is not None:
            heading = f"Probability of each rank, {family_span(title)}"
            self.figures += rank_heatmap(f"{stem}-ranks", heading, names, ranks, title)
            key = f"{stem}-ranks"
            self.tables.append(
                rank_table(key, heading, names, ranks, title, fits.among, BY_THE_ANSWER)
            )
        if fits.posterior is not None:
            heading = f"Convergence of the draws, {family_span(title)}"
            refused = isinstance(fits.comparison, Refusal)
            key = f"{stem}-diagnostics"
            made = diagnostics_table(key, heading, each.names, fits.posterior, title, not refused)
            self.tables.append(made)

    def _add_cells(self, stem: str, each: Modelled, options: Options) -> None:
        for breakdown in _crossings(each, options):
            try:
                model = cell_model(each, breakdown, options.level)
            except NotEstimable as error:
                name = " and ".join(breakdown.by)
                self.warnings.append(f"{family_prefix(each.title)}no model by {name}: {error}.")
                continue
            key = f"{stem}-by-{'-'.join(breakdown.by)}"
            decimals = estimand_of(each.family.estimand).decimals
            self.tables.append(cell_table(key, each.title, model, decimals))

    def shown(self) -> Content:
        """All families together."""
        return Content(
            sentences=self.sentences,
            figures=self.figures,
            tables=self.tables,
            warnings=self.warnings,
            methods=list(_methods(self.fitted)),
        )


def _crossings(each: Modelled, options: Options) -> Iterator[Breakdown]:
    """The crossings that were asked for; if nothing was, that by dimension where there are some."""
    asked = [b for b in options.breakdowns if b.by and b.compare == "condition"]
    table = each.table
    if not options.breakdowns and table["dimension"].nunique() > 1:
        asked = [Breakdown(by=("dimension",))]
    for breakdown in asked:
        if table.groupby(list(breakdown.by)).ngroups > 1:
            yield breakdown


def _methods(fitted: list[Fits]) -> Iterator[str]:
    for fits in fitted:
        if fits.reml is not None:
            effects = [IN_WORDS[name] for name in IN_WORDS if name in fits.reml.sds]
            yield (
                f"{family_prefix(fits.of.title)}a linear mixed model with a mean per condition "
                "and random "
                f"effects of {listed(effects[:-1]) or 'nothing'} was fitted by REML; t intervals "
                "and tests use Satterthwaite's degrees of freedom, and p values are adjusted over "
                "all pairs by Holm's method."
            )
        if fits.compared is not None:
            yield _posterior_methods(fits)
        if fits.ranks is not None:
            yield f"{family_prefix(fits.of.title)}{BY_THE_ANSWER}"


def _posterior_methods(fits: Fits) -> str:
    assert fits.posterior is not None
    drawn = fits.posterior.draws
    effects = [IN_WORDS[name] for name, key in SD_NAMES.items() if key in drawn]
    more = ", and a spread of each condition" if "spread" in drawn else ""
    how = fits.posterior.approximation
    return (
        f"{family_prefix(fits.of.title)}the posterior is that of the Bayesian form of that "
        "model with effects "
        f"of {listed(effects)}{more} ({fits.posterior.prior}); means and effects were integrated "
        "out in closed form, "
        + (f"the likelihood was interpolated {how}, " if how else "")
        + f"and draws ({drawn_words(fits.posterior)}) were taken by independence Metropolis "
        "(all R-hat below 1.01, all effective sample sizes above 400, Pareto k at most 0.7)."
    )


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
            row |= summary_cells("bayes", drawn["condition"], i)
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
            row |= summary_cells("bayes", drawn[_DRAWS[name]], 0)
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


def _percent(level: float | None) -> str:
    return "" if level is None else f"{level * 100:g} %"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
