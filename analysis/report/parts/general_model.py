"""The general model by MCMC: every effect that the design allows, texts and clips among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from analysis.formatting import listed
from analysis.name_spans import family_prefix, family_span
from analysis.ratings.breakdowns import families
from analysis.ratings.grouping import Breakdown
from analysis.report.content import Column, Content, Table, together
from analysis.report.part import Part, PartInput
from analysis.report.parts.models import (
    IN_WORDS,
    SPREAD,
    best_sentence,
    by_expected_rank,
    clustered_of,
    contrast_table,
    diagnostics_table,
    drawn_words,
    modelled_or_refused,
    rank_heatmap,
    rank_table,
    role_cell,
    role_column,
    standing_of,
    summary_cells,
)
from analysis.statistics.comparisons.systems_under_test import Candidates, candidates
from analysis.statistics.mixed.family_model import (
    Modelled,
    comparable,
    gaussian_prior,
    has_own_spreads,
    large_scale,
    ordinal_labels,
)
from analysis.statistics.mixed.linear_model import Effects
from analysis.statistics.mixed.model_errors import NotEstimable, Refusal
from analysis.statistics.mixed.nuts import (
    RESIDUAL,
    SD_NAMES,
    SampledPosterior,
    Sampling,
    general_gaussian,
    general_ordinal,
)
from analysis.statistics.mixed.posterior import (
    Comparison,
    Posterior,
    ranks_of,
    summary,
)
from analysis.statistics.mixed.sufficient_statistics import Floats
from analysis.statistics.mixed.table_model import Arrays, allowed_effects, arrays_of
from analysis.statistics.options import Options

Tell = Callable[[str], None]


class GeneralModel(Part):
    """The ordinal model with rater, rater-by-condition, text and stimulus effects, by NUTS.

    Scales of more than 11 steps get the Gaussian one. Minutes at the size of a large study.
    """

    key = "general_model"
    version = "2"
    title = "General model with texts and clips (MCMC)"
    order = 34
    sampled = True
    always = False
    cost = "a minute, many for a large study"
    gaussian: ClassVar[bool] = False

    def applies(self, inputs: PartInput) -> bool:
        return any(comparable(family) for family in families(inputs.ratings))

    def make(self, inputs: PartInput) -> Content:
        """Sample each family, and each crossing that was asked for; cancelled between steps."""
        parts: list[Content] = []
        work = [
            (each, breakdown)
            for each in modelled_or_refused(inputs)
            for breakdown in (Breakdown(), *_crossings_wanted(each, inputs.options))
        ]
        for place, (each, breakdown) in enumerate(work):
            tell = partial(_tell, inputs, place / len(work), each.title)
            try:
                fit = fit_general_model(each, breakdown, inputs.options, self.gaussian, tell)
            except NotEstimable as error:
                parts.append(
                    Content(warnings=[f"{family_prefix(each.title)}no general model: {error}."])
                )
            else:
                parts.append(fit.shown(self.key, inputs))
        return together(parts)


class GeneralGaussian(GeneralModel):
    """The same with scores as numbers: the Gaussian model with text and stimulus effects."""

    key = "general_gaussian"
    version = "2"
    title = "General Gaussian model with texts and clips (MCMC)"
    order = 35
    gaussian = True


@dataclass(frozen=True)
class GeneralFit:
    """One sampled model of one family: of its conditions, or of the cells of a crossing."""

    each: Modelled
    breakdown: Breakdown
    arrays: Arrays
    effects: Effects
    sampled: SampledPosterior
    among: Candidates
    ordinal: bool

    @property
    def posterior(self) -> Posterior:
        return self.sampled.posterior

    @property
    def means(self) -> Floats:
        """Draws (chains, draws, C) of the mean score of each cell."""
        return self.posterior.draws["score" if self.ordinal else "condition"]

    @property
    def cells(self) -> list[str]:
        """The cells by name: condition, then the values of the crossing."""
        return [" · ".join(part or "(none)" for part in name) for name in self.arrays.names]

    def shown(self, key: str, inputs: PartInput) -> Content:
        """Everything; where the draws are not to be trusted, the diagnostics alone."""
        crossed = "-by-" + "-".join(self.breakdown.by) if self.breakdown.by else ""
        stem = f"{key}-{self.each.number}{crossed}"
        title = self.each.title
        about, prefix = family_span(title), family_prefix(title)
        if crossed:
            about += f", by {' and '.join(self.breakdown.by)}"
            prefix = f"{about}: "
        refusal = self.posterior.diagnostics.refusal
        diagnostics = diagnostics_table(
            f"{stem}-diagnostics",
            f"Convergence of the draws of the general model, {about}",
            self.cells,
            self.posterior,
            title,
            refusal is None,
        )
        if refusal is not None:
            return Content(
                sentences=best_sentence(prefix, self.cells, refusal), tables=[diagnostics]
            )
        tables = [self._cells(stem, about, inputs)] if crossed else self._tables(stem, inputs)
        ranked = self._ranked(inputs.options)
        heading = f"Probability of each rank by the general model, {family_span(title)}"
        figures = []
        if not crossed:
            figures = rank_heatmap(f"{stem}-ranks", heading, self.cells, ranked, title)
        return Content(
            sentences=[] if crossed else best_sentence(prefix, self.cells, ranked, self.among),
            figures=figures,
            tables=[*tables, diagnostics],
            methods=[self._methods(inputs.options)],
        )

    def _ranked(self, options: Options) -> Comparison:
        name = "score" if self.ordinal else "condition"
        rope, ranked = self.each.rope(options), self.among.ranked
        comparison = self.posterior.comparison(
            rope=rope, level=options.level, name=name, ranked=ranked
        )
        assert not isinstance(comparison, Refusal)
        if self.breakdown.by:
            return comparison
        ranks, claimed = standing_of(self.each, self.among, options)
        if ranks is None:  # one rater or item: nothing to rank by
            limited = ranks_of(self.means, [False] * len(self.cells))
        else:
            limited = comparison.limited(claimed, (1 + options.level) / 2)
        return replace(comparison, **vars(limited))

    def _tables(self, stem: str, inputs: PartInput) -> list[Table]:
        options, title, names = inputs.options, self.each.title, self.cells
        ranked = self._ranked(options)
        order = by_expected_rank(names, ranked)
        tables = [self._means(stem, order, ranked, inputs), self._variation(stem, options)]
        if len(names) > 1:
            heading = f"Differences of mean scores by the general model, {family_span(title)}"
            key = f"{stem}-contrasts"
            tables.append(contrast_table(key, heading, names, order, None, ranked, title))
        if ranked.rank_probability.shape[1] > 1:
            heading = f"Probability of each rank by the general model, {family_span(title)}"
            tables.append(rank_table(f"{stem}-ranks", heading, names, ranked, title, self.among))
        return tables

    def _means(self, stem: str, order: list[int], ranked: Comparison, inputs: PartInput) -> Table:
        drawn = summary(self.means, level=inputs.options.level)
        logit = summary(self.posterior.draws["condition"], level=inputs.options.level)
        plain = clustered_of(inputs.report, self.each.title)
        spread = self.posterior.draws.get("spread")
        spread = None if spread is None else spread.mean(axis=(0, 1))
        rows = []
        for i in order:
            row: dict[str, Any] = {"condition": self.cells[i], **summary_cells("mean", drawn, i)}
            row |= role_cell(self.among, i)
            row |= {} if spread is None else {"spread": float(spread[i])}
            row |= summary_cells("logit", logit, i) if self.ordinal else {}
            row |= {"p_best": float(ranked.p_best[i])}
            row |= {"expected_rank": float(ranked.expected_rank[i])}
            observed = plain.get(self.cells[i], {})
            row |= {"plain": observed.get("value"), "plain_low": observed.get("low")}
            rows.append({**row, "plain_high": observed.get("high")})
        columns = [
            Column("condition", "Condition"),
            *role_column(self.among),
            Column("mean", "Mean score", "number"),
            Column("mean", f"{drawn.level * 100:g} % HDI", "interval"),
            *[Column("p_best", "P(best)", "percent", 3)] * (len(rows) > 1),
            *[Column("expected_rank", "Expected rank", "number", 2)] * (len(rows) > 1),
            *[Column("logit", "Logit", "number", 2)] * self.ordinal,
            *[Column("spread", "Spread", "number", 2)] * (spread is not None),
            Column("plain", "Mean of ratings", "number"),
            Column("plain", "Clustered interval", "interval"),
        ]
        note = "Mean score: what raters, texts and clips drawn anew would give on average."
        note += f" {SPREAD}" if spread is not None else ""
        note = " ".join([note, *(f"{text[:1].upper()}{text[1:]}." for text in self.effects.notes)])
        heading = f"Means by the general model, {family_span(self.each.title)}"
        return Table(f"{stem}-means", heading, columns, rows, note, self.each.title)

    def _variation(self, stem: str, options: Options) -> Table:
        names = {effect: SD_NAMES[effect] for effect in self.effects.codes}
        names |= {} if self.ordinal else {"residual": RESIDUAL}
        rows = [
            {"effect": IN_WORDS[effect]}
            | summary_cells("sd", summary(self.posterior.draws[name], level=options.level), 0)
            for effect, name in names.items()
        ]
        unit = "logits" if self.ordinal else "score"
        columns = [
            Column("effect", f"What varies ({unit})"),
            Column("sd", "SD", "number"),
            Column("sd", f"{options.level * 100:g} % HDI", "interval"),
        ]
        heading = f"What varies by the general model, {family_span(self.each.title)}"
        return Table(f"{stem}-variation", heading, columns, rows, about=self.each.title)

    def _cells(self, stem: str, about: str, inputs: PartInput) -> Table:
        """Each cell's mean, and each condition's average of its cells, all weighing the same."""
        rows = [dict(row) for row in self._cell_rows(inputs.options.level)]
        columns = [
            Column("condition", "Condition"),
            *(Column(name, name.capitalize()) for name in self.breakdown.by),
            Column("mean", "Mean score", "number"),
            Column("mean", f"{inputs.options.level * 100:g} % HDI", "interval"),
        ]
        heading = f"Means by the general model, {about}"
        return Table(f"{stem}-means", heading, columns, rows, about=self.each.title, folded=True)

    def _cell_rows(self, level: float) -> Iterator[dict[str, Any]]:
        by, drawn = self.breakdown.by, summary(self.means, level=level)
        names = self.arrays.names
        for i, name in enumerate(names):
            place = {column: value or "(none)" for column, value in zip(by, name[1:], strict=True)}
            yield {"condition": name[0], **place, **summary_cells("mean", drawn, i)}
        values = {name[1:] for name in names}
        for owner in sorted({name[0] for name in names}):
            mine = [i for i, name in enumerate(names) if name[0] == owner]
            if len(mine) == len(values):
                average = summary(self.means[:, :, mine].mean(axis=2), level=level)
                every = dict.fromkeys(by, "all, weighing the same")
                yield {"condition": owner, **every, **summary_cells("mean", average, 0)}

    def _methods(self, options: Options) -> str:
        kind = "cumulative logit" if self.ordinal else "Gaussian"
        effects = listed([IN_WORDS[name] for name in self.effects.codes]) or "none"
        what = " and ".join(("condition", *self.breakdown.by))
        what += ", a spread of each condition" if "spread" in self.posterior.draws else ""
        return (
            f"{family_prefix(self.each.title)}a Bayesian {kind} mixed model with a mean per {what} "
            f"and random effects of {effects} ({self.posterior.prior}) was sampled by NUTS "
            f"({self.sampled.sampler}; {drawn_words(self.posterior)} after {_tune(options)} of "
            f"warming up; seed {self.each.seed(options)}; all R-hat below 1.01, all effective "
            "sample sizes above 400, no divergences, BFMI above 0.3)."
        )


def fit_general_model(
    each: Modelled, breakdown: Breakdown, options: Options, gaussian: bool, tell: Tell
) -> GeneralFit:
    """The general model of a family, sampled; raises NotEstimable with reason and remedy."""
    arrays = each.arrays if not breakdown.by else arrays_of(each.table, by=breakdown.by)
    if float(np.ptp(arrays.y)) == 0:
        raise NotEstimable("all scores are the same", "report the means without a model")
    if arrays.rater.max() == 0:
        raise NotEstimable("there is one rater", "collect ratings from more raters")
    effects = allowed_effects(arrays)
    sampling = Sampling(options.chains, options.draws, _tune(options), each.seed(options))
    among = candidates(each.table, [name[0] for name in arrays.names], options.reference)
    if gaussian or large_scale(each):
        condition = arrays.condition if has_own_spreads(each) else None
        prior = gaussian_prior(each)
        posterior = general_gaussian(
            arrays.y, arrays.cell, effects.codes, prior, sampling, tell, condition
        )
        return GeneralFit(each, breakdown, arrays, effects, posterior, among, ordinal=False)
    label, scores = ordinal_labels(each)
    posterior = general_ordinal(label, arrays.cell, effects.codes, scores, sampling, tell)
    return GeneralFit(each, breakdown, arrays, effects, posterior, among, ordinal=True)


def _crossings_wanted(each: Modelled, options: Options) -> Iterator[Breakdown]:
    for breakdown in options.breakdowns:
        crossed = breakdown.by and breakdown.compare == "condition"
        if crossed and each.table.groupby(list(breakdown.by)).ngroups > 1:
            yield breakdown


def _tune(options: Options) -> int:
    return max(1000, options.draws // 2)


def _tell(inputs: PartInput, share: float, title: str, words: str) -> None:
    inputs.progress(share, f"general model of {title}: {words}")
