"""How often the claims stand: under other rules, without one rater or item, in other analyses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from analysis.formatting import enumerated
from analysis.name_spans import family_prefix
from analysis.ratings.breakdowns import coded_column
from analysis.report.content import Content, titled, together
from analysis.report.part import Part, PartInput
from analysis.report.parts.robustness.claim_rows import Standing, standing_of
from analysis.report.parts.robustness.claim_tables import (
    claims_table,
    closest_figure,
    shares_figure,
    variants_table,
)
from analysis.report.parts.robustness.claim_words import sentences, warnings
from analysis.report.parts.screening import one_rule_more
from analysis.report.ranking import Ranking, on_one_footing, rankings
from analysis.statistics.robustness import Variant, comparison_of
from analysis.statistics.robustness.variants import (
    MORE,
    MOST_LEFT_OUT,
    RULES,
    in_other_ways,
    left_out,
    of_intervals,
    under_rules,
)
from analysis.statistics.sensitivity import Scheme, in_force, schemes

if TYPE_CHECKING:
    import pandas as pd

    from analysis.statistics.screening import Screened

RATER_MODELS = "rater_models"  # the part that asks for models of raters
METHOD = (
    "Every claimed difference was decided again under each other set of rules, in other analyses "
    "(a multiverse analysis, Steegen, Tuerlinckx, Gelman and Vanpaemel 2016), and without each "
    "rater and each item in turn, where the adjustment for the family is that of the main analysis."
)


class Robustness(Part):
    """Each claimed difference in every other analysis: whether it stands there."""

    key = "robustness"
    version = "2"
    title = "How often the conclusion stands"
    order = 66

    def applies(self, inputs: PartInput) -> bool:
        return len(inputs.kept) > 0

    def make(self, inputs: PartInput) -> Content:
        every = rankings(inputs)
        compared = on_one_footing(every)
        apart = list(_not_followed(every, compared))
        if not compared:
            none = "No two conditions can be compared, so no difference is claimed."
            return Content(apart or [none])
        by_rules = _by_rules(inputs)
        contents = []
        for place, ranking in enumerate(compared):
            inputs.progress(0.4 + 0.6 * place / len(compared), ranking.title)
            variants, same = by_rules
            contents.append(_of_one(inputs, ranking, variants.get(ranking.title, []), same))
        content = together(contents)
        whole = titled(content) if len(contents) > 1 else content
        return replace(whole, sentences=[*whole.sentences, *apart])


def _not_followed(every: Sequence[Ranking], compared: Sequence[Ranking]) -> Iterator[str]:
    """Why comparisons in pairs are not here: no differences of means are claimed of them."""
    here = {ranking.family_key for ranking in compared}
    met: dict[int, list[Ranking]] = {}
    for ranking in every:
        if ranking.versus and ranking.family_key not in here:
            met.setdefault(ranking.family_key, []).append(ranking)
    for some in met.values():
        title = some[0].title.removesuffix(f" · versus {some[0].versus}")
        pairs = sum(len(ranking.means) for ranking in some)
        why = "one pair was compared, which is held against no difference"
        if len(some) > 1 or pairs > 1:
            why = (
                f"{pairs} pairs were compared, not all with the same other condition, so their "
                "means have no common footing"
            )
        yield (
            f"{family_prefix(title)}not followed through other analyses, as {why}. Each pair "
            "has its interval "
            "in “Comparisons of pairs”; what each rule leaves out, and the results under each, is "
            "in “What was left out”."
        )


def _of_one(
    inputs: PartInput, ranking: Ranking, under: Sequence[Variant], same: Sequence[str]
) -> Content:
    options = inputs.options
    comparison = comparison_of(ranking.cell, options.reference, options.level)
    table = ranking.family.table
    items = table["item"].where(table["item"] != "", table["stimulus"])
    names = {"rater": coded_column(table["rater"])[1], "item": coded_column(items)[1]}

    def tell(share: float) -> None:
        inputs.progress(0.4 + 0.6 * share, ranking.title)

    variants = [
        *under,
        *left_out(comparison, names, options.seed, tell),
        *in_other_ways(comparison, RATER_MODELS in options.parts),
        *of_intervals(inputs.report.get("contrasts", ()), ranking.title),
    ]
    standing = standing_of(ranking, comparison, variants)
    return Content(
        sentences=sentences(standing),
        figures=[*shares_figure(standing), *closest_figure(standing)],
        tables=[*claims_table(standing), *variants_table(standing, same)],
        warnings=[*warnings(standing), *_drawn(standing)],
        methods=[METHOD] if standing.claims else [],
    )


def _by_rules(inputs: PartInput) -> tuple[dict[str, list[Variant]], list[str]]:
    """Other schemes of rules by family; and those left away, as they keep what another keeps."""
    rules, options = inputs.options.rules, inputs.options
    main = in_force(rules)
    seen = {inputs.kept.index.to_numpy().tobytes()}
    known = [scheme for scheme in schemes(rules) if scheme[0] != main]
    more, added = one_rule_more(inputs)
    same: list[str] = []
    found: dict[str, list[Variant]] = {}
    for kind, screened, some in ((RULES, inputs.screened, known), (MORE, more, added)):
        distinct = _distinct(screened, some, seen, same)
        made = under_rules(distinct, kind, options.reference, options.level)
        for title, variants in made.items():
            found.setdefault(title, []).extend(variants)
    return found, same


def _distinct(
    screened: Screened, some: Sequence[Scheme], seen: set[bytes], same: list[str]
) -> Iterator[tuple[Scheme, pd.DataFrame]]:
    for scheme in some:
        kept = screened.kept(scheme[1])
        mark = np.asarray(kept.index).tobytes()
        if mark in seen:
            same.append(scheme[0])
        elif len(kept):
            seen.add(mark)
            yield scheme, kept


def _drawn(standing: Standing) -> Iterator[str]:
    cell = standing.comparison.cell
    many = [
        f"{MOST_LEFT_OUT:,} of {len(np.unique(codes)):,} {what}"
        for codes, what in ((cell.rater, "raters"), (cell.item, "items"))
        if len(np.unique(codes)) > MOST_LEFT_OUT
    ]
    if many:
        yield f"Only {enumerated(many)} were left out one by one, drawn by the seed."
