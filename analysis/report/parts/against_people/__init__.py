"""Every metric against every human estimate: correlations, errors, ceilings, preferences."""

from __future__ import annotations

from analysis.name_spans import family_prefix
from analysis.ratings.breakdowns import families
from analysis.ratings.metric_scores import metrics_of
from analysis.report.content import Content, titled, together
from analysis.report.part import Part, PartInput
from analysis.report.parts.against_people.ceiling_tables import ceiling_table, ceilings_of
from analysis.report.parts.against_people.metric_data import Gathered, gathered
from analysis.report.parts.against_people.metric_figures import figures
from analysis.report.parts.against_people.metric_narrative import sentences, unscored, warnings
from analysis.report.parts.against_people.metric_tables import (
    correlation_table,
    mapped_table,
    number_table,
    point_table,
)
from analysis.report.parts.against_people.preference_table import preferences
from analysis.statistics.metric_agreement.metric_correlations import FEWEST

METHODS = (
    "Metrics were compared with mean human scores per clip, per clip within conditions and per "
    "condition (SRCC, PLCC, KRCC: Spearman, Pearson, Kendall's tau-b). Intervals are percentiles "
    "of a bootstrap that draws raters and items with replacement, independently (Owen 2007), and "
    "computes the human means anew; it is centred on the value found, because means of drawn "
    "raters are noisier: coefficients on Fisher's scale (PLCC over n conditions widened by the "
    "root of n / (n - 2)), errors as they are, widened by t over z for few raters or items. "
    "p values are adjusted over the metrics of a task and criterion (Holm 1979). The noise "
    "ceiling is the root of the Spearman-Brown corrected correlation between halves of the "
    "raters, over the clips that a metric scored. Errors are given after a monotonic third-order "
    f"mapping (ITU-T P.1401) where at least {FEWEST} scores allow one."
)
METHODS_OF_PAIRS = (
    "Coefficients of comparisons of pairs, and their noise ceiling, count each pair in both "
    "orders: the difference of the metric and the mean preference, and both with the other sign. "
    "They do not depend on which system is named first. Their intervals are widened as for the "
    "fewer of raters and items (t over z), per pair of conditions also by the root of S / (S - 2) "
    "for S systems; p per pair of conditions is from exchanging systems."
)


class AgainstPeople(Part):
    """Each metric's correlation with people, with intervals, noise ceiling, errors and plots."""

    key = "against_people"
    version = "5"
    title = "Metrics and human scores"
    order = 45

    def applies(self, inputs: PartInput) -> bool:
        return len(inputs.kept) > 0 and bool(metrics_of(inputs.scores))

    def make(self, inputs: PartInput) -> Content:
        every = list(families(inputs.kept))
        made = []
        for place, family in enumerate(every):
            inputs.progress(place / len(every), str(family.group["criterion"]))
            made.append(
                _of_family(gathered(family, inputs), inputs, f"_{place + 1}" * (len(every) > 1))
            )
        if not any(each.tables for each in made):
            raise ValueError(
                "No stimulus that was rated has a metric score: score the study's clips, or name "
                "them in the file of scores as in the ratings (column stimulus)."
            )
        shown = together(made)
        return titled(shown) if len(every) > 1 else shown


def _of_family(of: Gathered, inputs: PartInput, suffix: str) -> Content:
    if not of.values:
        return Content(
            warnings=[f"{family_prefix(of.title)}no clip that was rated here has a metric score."]
        )
    ceilings = ceilings_of(of, inputs)
    preferred = preferences(of, ceilings, inputs, suffix)
    level = inputs.options.level
    tables = [
        correlation_table(of, ceilings.of, suffix),
        *preferred.tables,
        *mapped_table(of, suffix),
        *ceiling_table(of, ceilings, suffix),
        point_table(of, level, suffix),
        number_table(of, ceilings.of, suffix),
    ]
    return Content(
        sentences=[*sentences(of, ceilings.of), *preferred.sentences],
        figures=list(figures(of, level, ceilings.of, suffix)),
        tables=tables,
        warnings=[*warnings(of, inputs), *unscored(of, inputs)],
        methods=[METHODS, *[METHODS_OF_PAIRS] * of.units.signed],
    )
