"""Rankings and best-worst scaling: the strengths behind them, and how often clips were chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from analysis.citations import cite
from analysis.name_spans import family_prefix
from analysis.ratings.breakdowns import Family, coded_column, items_of
from analysis.ratings.estimands import estimand_of, keys_where
from analysis.report.content import Content, Table, column, row_from, table_row
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.report.strengths import (
    fit_strengths,
    order_sentence,
    strength_figures,
    strength_tables,
)
from analysis.report.win_matrix import win_matrix
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.linking.linked_strengths import pairs_in_unit
from analysis.statistics.pairs.ability_fit import AbilityFit
from analysis.statistics.pairs.best_worst import (
    BestWorstChoices,
    max_diff,
    sequential_best_worst,
)
from analysis.statistics.pairs.comparison_graph import connection
from analysis.statistics.pairs.means_of_pairs import means_against
from analysis.statistics.pairs.pair_ratings import PairRatings
from analysis.statistics.pairs.plackett_luce import Rankings, plackett_luce
from analysis.statistics.pairs.screens import choices_in, pairs_in, rankings_in, screen_names

METHODS = {
    "plackett_luce": f"the model of Plackett and Luce {cite('plackett1975', 'luce1959')}",
    "maxdiff": "the maxdiff model: of all ordered pairs of clips on a screen, the best and the "
    f"worst are chosen {cite('marley2005', 'flynn2014')}",
    "sequential": "the exploded logit: the best is chosen, then the worst of the others "
    f"{cite('flynn2014')}",
}
CLUSTERS = (
    "by maximum likelihood; standard errors two-way clustered over raters and items (sandwich), "
    "letters by Holm's p over all pairs."
)
COUNTS_NOTE = "Score: (best − worst) / shown, from -1 to 1, with a two-way clustered interval."
Model = Callable[[bool], AbilityFit]


@table_row
class CountRow:
    """How often clips of a condition were shown, and chosen as the best and the worst."""

    name: str = column("Condition")
    shown: int = column("Shown", "count")
    best: int = column("Best", "count")
    worst: int = column("Worst", "count")
    value: float = column("Best-worst score", "number", sign=True)
    low: float | None = column("{level} interval", "interval", key="interval")
    high: float | None
    note: str


@dataclass(frozen=True)
class _Screens:
    """What raters said of a family: each two systems as a pair, and its models for some systems."""

    pairs: PairRatings
    models: Callable[[Sequence[str]], Mapping[str, Model]]


class RankingStrengths(FamilyPart):
    """The strengths behind rankings and best-worst choices, and the counts of the choices."""

    key = "rankings"
    version = "1"
    title = "Rankings and best-worst scaling"
    order = 23
    nothing = "no rankings are left: see what the rules leave out"

    def applies(self, inputs: PartInput) -> bool:
        return bool(inputs.ratings["estimand"].isin(keys_where("among_others")).any())

    def families(self, inputs: PartInput) -> Iterable[Family]:
        return [f for f in super().families(inputs) if estimand_of(f.estimand).among_others]

    def of_family(self, each: FamilyInput) -> Content:
        best_and_worst = estimand_of(each.family.estimand).best_and_worst
        use = _use(each.family.table)
        counts = [_counts(use, each)] if best_and_worst else []
        try:
            screens = _screens(use, best_and_worst)
        except Undefined as why:
            return Content(tables=counts, warnings=[f"{family_prefix(each.title)}{why}."])
        return _content(screens, each, counts, "maxdiff" if best_and_worst else "plackett_luce")


def _use(table: pd.DataFrame) -> pd.DataFrame:
    """The ratings as `choices_in` and `pairs_in` take them."""
    return pd.DataFrame(
        {
            "unit": "",
            "system": table["condition"].astype(str).to_numpy(),
            "rater": table["rater"].astype(str).to_numpy(),
            "item": items_of(table).astype(str).to_numpy(),
            "screen": screen_names(table),
            "score": table["score"].to_numpy(dtype=np.float64),
        }
    )


def _screens(use: pd.DataFrame, best_and_worst: bool) -> _Screens:
    pairs = pd.DataFrame(list(pairs_in(use, best_and_worst)))
    if not len(pairs):
        raise Undefined("no screens with two systems or more yet")
    compared = pairs_in_unit(pairs)
    if best_and_worst:
        choices, _ = choices_in(use)
        return _Screens(compared, partial(_choice_models, choices))
    rankings, _ = rankings_in(use)
    return _Screens(compared, partial(_ranking_models, rankings))


def _choice_models(choices: BestWorstChoices, names: Sequence[str]) -> Mapping[str, Model]:
    own = choices.among(names)
    return {"maxdiff": partial(max_diff, own), "sequential": partial(sequential_best_worst, own)}


def _ranking_models(rankings: Rankings, names: Sequence[str]) -> Mapping[str, Model]:
    return {"plackett_luce": partial(plackett_luce, rankings.among(names))}


def _content(screens: _Screens, each: FamilyInput, counts: Sequence[Table], main: str) -> Content:
    graph = connection(screens.pairs)
    groups = [sorted(group) for group in graph.components if len(group) > 1]
    fits = [
        fit_strengths(key, model, names, each.level)
        for names in groups
        for key, model in screens.models(names).items()
    ]
    shown = [one for one in fits if one.key == main and one.fit is not None]
    order = [name for one in shown if one.fit is not None for name in one.fit.order()]
    warnings = []
    if len(graph.components) > 1:
        warnings.append(f"{graph.words}. Each group is shown alone.")
    elif not shown:
        warnings += [f"No strengths: {one.why}." for one in fits if one.key == main]
    elif graph.words:
        warnings.append(
            f"{graph.words}: by how much, the answers hardly say. The strengths are finite by the "
            "model alone."
        )
    return Content(
        sentences=[order_sentence(one) for one in shown],
        figures=[
            *strength_figures(shown, each),
            *(win_matrix(screens.pairs, order, f"win_matrix{each.suffix}", each.title)),
        ],
        tables=[*counts, *strength_tables(fits, shown, each, METHODS)],
        warnings=warnings,
        methods=[f"Strengths by {METHODS[main]}, {CLUSTERS}"] if shown else [],
    )


def _counts(use: pd.DataFrame, each: FamilyInput) -> Table:
    """Each condition's counts, the best score first."""
    system, names = coded_column(use["system"])
    score = use["score"].to_numpy(dtype=np.float64)
    rater, item = coded_column(use["rater"])[0], coded_column(use["item"])[0]
    means = means_against(score, system, rater, item, ends=(-1.0, 1.0), level=each.level)
    rows = [
        row_from(
            CountRow,
            mean,
            name=name,
            shown=int((system == code).sum()),
            best=int((score[system == code] == 1).sum()),
            worst=int((score[system == code] == -1).sum()),
        )
        for code, (name, mean) in enumerate(zip(names, means, strict=True))
    ]
    rows.sort(key=lambda row: (-row.value, row.name))
    return each.table(
        CountRow, "best_worst_counts", "Best and worst choices", rows, note=COUNTS_NOTE
    )
