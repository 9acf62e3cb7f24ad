"""Scores as ordered labels, not numbers: the cumulative logit model, exact, for every task."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.name_spans import family_prefix, family_span
from analysis.ratings.breakdowns import families
from analysis.report.content import Column, Content, Figure, Table, together
from analysis.report.part import Part, PartInput
from analysis.report.parts.models import (
    by_expected_rank,
    contrast_table,
    diagnostics_table,
    drawn_words,
    modelled_or_refused,
    role_cell,
    role_column,
    summary_cells,
)
from analysis.statistics.comparisons.systems_under_test import Candidates, candidates
from analysis.statistics.mixed.family_model import (
    Modelled,
    comparable,
    gaussian_draws,
    ordinal_counts,
    ordinal_draws,
)
from analysis.statistics.mixed.linear_model import RATER, RATER_CONDITION
from analysis.statistics.mixed.model_errors import NotEstimable, Refusal
from analysis.statistics.mixed.ordinal_fit import LabelShares, OrdinalFit, label_shares, ordinal_ml
from analysis.statistics.mixed.posterior import Comparison, Posterior, Summary
from analysis.statistics.mixed.sufficient_statistics import Floats
from analysis.statistics.options import Options

MOST_CONDITIONS = 40  # of exact draws: with more, few proposals fit
_ALARM = 0.1  # of the observed shares outside their 95 % intervals, that says the model is wrong


class Ordinal(Part):
    """The cumulative logit model with rater and rater-by-condition effects, by exact draws."""

    key = "ordinal"
    version = "2"
    title = "Ordinal models"
    order = 32
    sampled = True
    always = False

    def applies(self, inputs: PartInput) -> bool:
        return any(comparable(family) for family in families(inputs.ratings))

    def make(self, inputs: PartInput) -> Content:
        """Fit each family; what its ratings do not allow is said among the warnings."""
        parts: list[Content] = []
        families = modelled_or_refused(inputs)
        for place, each in enumerate(families):
            inputs.progress(place / len(families), f"ordinal model of {each.title}")
            try:
                parts.append(_OrdinalFits.fit(each, inputs.options).shown(inputs.options))
            except NotEstimable as error:
                parts.append(
                    Content(warnings=[f"{family_prefix(each.title)}no ordinal model: {error}."])
                )
        return together(parts)


@dataclass(frozen=True)
class _OrdinalFits:
    """One family's ordinal fits beside the Gaussian posterior, which checks them."""

    each: Modelled
    counts: Floats
    scores: Floats
    posterior: Posterior
    comparison: Comparison | Refusal
    ml: OrdinalFit | None
    no_ml: str
    gaussian: Summary | None
    shares: LabelShares
    among: Candidates

    @classmethod
    def fit(cls, each: Modelled, options: Options) -> _OrdinalFits:
        if len(each.names) > MOST_CONDITIONS:
            many = f"{len(each.names)} conditions are more than the {MOST_CONDITIONS}"
            raise NotEstimable(
                f"{many} that exact draws can rank",
                "compare systems rather than clips, or ask for --part general_model",
            )
        counts, scores = ordinal_counts(each)
        posterior = ordinal_draws(each, options)
        among = candidates(each.table, each.names, options.reference)
        rope, level = each.rope(options), options.level
        ml, no_ml, gaussian = None, "", None
        try:
            ml = ordinal_ml(counts)
        except NotEstimable as error:
            why = error.refusal.reason
            no_ml = re.sub(r"condition (\d+)", lambda m: each.names[int(m[1])], why)
        with suppress(NotEstimable):
            plain = gaussian_draws(each, options)
            if plain.diagnostics.refusal is None:
                gaussian = plain.summaries(level=options.level)["condition"]
        return cls(
            each,
            counts,
            scores,
            posterior,
            posterior.comparison(rope=rope, level=level, name="score", ranked=among.ranked),
            ml,
            no_ml,
            gaussian,
            label_shares(counts, posterior, level=options.level, seed=each.seed(options)),
            among,
        )

    @property
    def stem(self) -> str:
        return f"ordinal-{self.each.number}"

    @property
    def title(self) -> str:
        return self.each.title

    def shown(self, options: Options) -> Content:
        """Everything, or, where the draws are not to be trusted, the diagnostics alone."""
        names, ranked = self.each.names, self.comparison
        heading = f"Convergence of the ordinal draws, {family_span(self.title)}"
        key = f"{self.stem}-diagnostics"
        refused = isinstance(ranked, Refusal)
        diagnostics = diagnostics_table(
            key, heading, names, self.posterior, self.title, not refused
        )
        if isinstance(ranked, Refusal):
            sentence = f"{family_prefix(self.title)}no ordinal model is shown, because {ranked}."
            return Content(sentences=[sentence], tables=[diagnostics])
        drawn = self.posterior.summaries(level=options.level)
        tables = [self._means(drawn, ranked), self._thresholds(drawn), self._variation(drawn)]
        figures = self._share_figures()
        if len(names) > 1:
            order = by_expected_rank(names, ranked)
            title = f"Differences of mean scores by the ordinal model, {family_span(self.title)}"
            key = f"{self.stem}-contrasts"
            tables.append(contrast_table(key, title, names, order, None, ranked, self.title))
        return Content(
            sentences=list(self._agreement(drawn)),
            figures=figures,
            tables=[*tables, self._share_table(), diagnostics],
            warnings=list(self._warnings()),
            methods=[self._methods()],
        )

    def _means(self, drawn: dict[str, Summary], ranked: Comparison) -> Table:
        score, logit = drawn["score"], drawn["condition"]
        rows = []
        for i in by_expected_rank(self.each.names, ranked):
            row: dict[str, Any] = {"condition": self.each.names[i], **role_cell(self.among, i)}
            row |= summary_cells("score", score, i) | summary_cells("logit", logit, i)
            if self.gaussian is not None:
                row |= summary_cells("gaussian", self.gaussian, i)
                row["apart"] = row["score"] - row["gaussian"]
            if self.ml is not None:
                row["ml"], row["ml_se"] = float(self.ml.estimate[i]), float(self.ml.se[i])
            rows.append(row)
        columns = [
            Column("condition", "Condition"),
            *role_column(self.among),
            Column("score", "Mean score", "number"),
            Column("score", f"{score.level * 100:g} % HDI", "interval"),
            *[Column("gaussian", "Gaussian mean", "number")] * (self.gaussian is not None),
            *[Column("gaussian", "Its HDI", "interval")] * (self.gaussian is not None),
            Column("logit", "Logit", "number", 2),
            *[Column("ml", "Logit, max. likelihood", "number", 2)] * (self.ml is not None),
        ]
        note = (
            "Mean score: what raters drawn anew would give on average, put back onto the scale of "
            "the scores. The Gaussian mean takes the steps as equally wide. Both take texts and "
            "clips as given."
        )
        title = f"Means by the ordinal model, {family_span(self.title)}"
        return Table(f"{self.stem}-means", title, columns, rows, note, self.title)

    def _thresholds(self, drawn: dict[str, Summary]) -> Table:
        rows = []
        for k, (low, high) in enumerate(zip(self.scores[:-1], self.scores[1:], strict=True)):
            row: dict[str, Any] = {"between": f"{low:g} and {high:g}"}
            row |= summary_cells("cut", drawn["cut"], k) if "cut" in drawn else {"cut": 0.0}
            row["ml"] = None if self.ml is None else float(self.ml.cut[k])
            rows.append(row)
        columns = [
            Column("between", "Between the labels"),
            Column("cut", "Threshold", "number", 2),
            Column("cut", "HDI", "interval", 2),
            *[Column("ml", "Max. likelihood", "number", 2)] * (self.ml is not None),
        ]
        note = "Logits; thresholds add up to 0. Unequal gaps: raters do not use steps as equal."
        title = f"Thresholds between labels, {family_span(self.title)}"
        return Table(f"{self.stem}-thresholds", title, columns, rows, note, self.title, folded=True)

    def _variation(self, drawn: dict[str, Summary]) -> Table:
        rows = []
        for name, effect, words in (
            ("sd_rater", RATER, "rater"),
            ("sd_rater_condition", RATER_CONDITION, "rater × condition"),
        ):
            row: dict[str, Any] = {"effect": words, **summary_cells("sd", drawn[name], 0)}
            if self.ml is not None:
                row |= {"ml": self.ml.sds[effect], "ml_se": self.ml.sd_errors[effect]}
            rows.append(row)
        columns = [
            Column("effect", "What varies (logits)"),
            Column("sd", "SD", "number", 2),
            Column("sd", "HDI", "interval", 2),
            *[Column("ml", "Max. likelihood", "number", 2)] * (self.ml is not None),
        ]
        notes = self.ml.notes if self.ml else ()
        note = " ".join(f"{text[:1].upper()}{text[1:]}." for text in notes)
        title = f"What varies by the ordinal model, {family_span(self.title)}"
        return Table(f"{self.stem}-variation", title, columns, rows, note, self.title, folded=True)

    def _share_rows(self) -> Iterator[dict[str, Any]]:
        for i, name in enumerate(self.each.names):
            for k, score in enumerate(self.scores):
                yield {
                    "condition": name,
                    "label": f"{score:g}",
                    "observed": float(self.shares.observed[i, k]),
                    "predicted": float(self.shares.predicted[i, k]),
                    "predicted_low": float(self.shares.low[i, k]),
                    "predicted_high": float(self.shares.high[i, k]),
                }

    def _share_table(self) -> Table:
        rows = []
        for row in self._share_rows():
            inside = row["predicted_low"] <= row["observed"] <= row["predicted_high"]
            rows.append({**row, "told": "" if inside else "outside"})
        columns = [
            Column("condition", "Condition"),
            Column("label", "Score"),
            Column("observed", "Observed", "percent"),
            Column("predicted", "Predicted", "percent"),
            Column("predicted_low", "from", "percent"),
            Column("predicted_high", "to", "percent"),
            Column("told", "", "mark"),
        ]
        note = (
            f"Predicted: from ratings drawn again from the model, {self.shares.level * 100:g} % of "
            "their shares lie between from and to."
        )
        title = f"Label shares, observed and predicted, {family_span(self.title)}"
        return Table(f"{self.stem}-shares", title, columns, rows, note, self.title, folded=True)

    def _share_figures(self) -> list[Figure]:
        rows = []
        for row in self._share_rows():
            for what in ("observed", "predicted"):
                name = f"{row['condition']}, {what}"
                rows.append({"name": name, "label": row["label"], "value": row[what]})
        rows.sort(key=lambda row: str(row["name"]))
        title = f"Label shares, observed and predicted, {family_span(self.title)}"
        figure = Figure(f"{self.stem}-shares", title, "shares", rows, about=self.title)
        return [figure] if len(self.each.names) <= 12 else []

    def _agreement(self, drawn: dict[str, Summary]) -> Iterator[str]:
        if self.gaussian is None:
            return
        apart = float(np.abs(drawn["score"].mean - self.gaussian.mean).max())
        yield (
            f"{family_prefix(self.title)}means by the ordinal and by the Gaussian model differ by "
            f"at most {apart:.3f} in score."
        )

    def _warnings(self) -> Iterator[str]:
        if self.no_ml:
            yield (
                f"{family_prefix(self.title)}there is no maximum likelihood fit to "
                f"compare the posterior with: {self.no_ml}. The posterior does not depend on it."
            )
        if self.shares.outside > max(1.0, _ALARM * self.shares.observed.size):
            yield (
                f"{family_prefix(self.title)}{self.shares.outside} of "
                f"{self.shares.observed.size} label shares "
                "lie outside what the ordinal model predicts: it fits these ratings badly."
            )

    def _methods(self) -> str:
        kind = "logistic" if len(self.scores) == 2 else "cumulative logit"
        return (
            f"{family_prefix(self.title)}a Bayesian {kind} mixed model with rater and rater × "
            f"condition effects ({self.posterior.prior}); effects were integrated out by "
            f"quadrature and draws ({drawn_words(self.posterior)}) taken by independence "
            "Metropolis (all R-hat below 1.01, effective sample sizes above 400, Pareto k at most "
            "0.7). Means are averages over raters drawn anew, on the scale of the scores."
        )
