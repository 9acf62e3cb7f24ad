"""Mixed models of every task: means, what varies, differences, and the ranking by a posterior."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.formatting import listed
from analysis.name_spans import family_prefix, family_span
from analysis.ratings.breakdowns import families
from analysis.ratings.estimands import estimand_of
from analysis.ratings.grouping import Breakdown
from analysis.report.content import Content, Figure, Table
from analysis.report.part import Part, PartInput
from analysis.report.parts.models.model_fits import (
    TOO_NARROW,
    Fits,
    cell_model,
    fits_of,
    sized,
)
from analysis.report.parts.models.model_tables import (
    IN_WORDS,
    cell_table,
    clustered_of,
    means_table,
    variation_sentence,
    variation_table,
)
from analysis.report.parts.models.posterior_ranking import (
    best_sentence,
    contrast_table,
    diagnostics_table,
    drawn_words,
    rank_heatmap,
    rank_table,
)
from analysis.statistics.mixed.family_model import Modelled, comparable, modelled
from analysis.statistics.mixed.model_errors import NotEstimable, Refusal
from analysis.statistics.mixed.nuts import SD_NAMES
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
            heading = f"Whether the draws can be trusted, {family_span(title)}"
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
