"""Strengths behind all pairs: Bradley-Terry, Davidson, Thurstone, least squares; the win matrix."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import LinAlgWarning

from analysis.arrays import Floats
from analysis.citations import cite, cite_author
from analysis.formatting import beware
from analysis.name_spans import condition_span
from analysis.report.content import Content, Figure, Table, column, columns_of, picked, table_row
from analysis.report.part import FamilyInput
from analysis.statistics.comparisons.pairwise_contrasts import Comparison
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.comparisons.tiers import tiers_of
from analysis.statistics.pairs.ability_fit import CLUSTERED, MODEL, Ability, AbilityFit
from analysis.statistics.pairs.comparison_graph import Connection, connection, parts, wins_of
from analysis.statistics.pairs.pair_ratings import PairRatings
from analysis.statistics.pairs.win_models import bradley_terry, cumulative, davidson, least_squares

FEWEST = 3  # two conditions have one pair, whose mean says it all
MOST_IN_MATRIX = 30
MODELS: dict[str, Callable[[PairRatings], AbilityFit]] = {
    "thurstone": partial(cumulative, link="probit", order=True),
    "davidson": partial(davidson, order=True),
    "bradley_terry": partial(bradley_terry, ties="half", order=True),
    "least_squares": partial(least_squares, order=True),
}
METHODS = {
    "thurstone": "Thurstone's case V for graded answers: cumulative probit, symmetric cut points "
    f"{cite('agresti1992')}",
    "davidson": f"{cite_author('davidson1970', possessive=True)} model of wins and ties",
    "bradley_terry": f"{cite_author('bradley1952', possessive=True)} model, ties as half a win to "
    "each",
    "least_squares": f"{cite_author('scheffe1952', possessive=True)} least squares on the scores",
}
NO_INTERVAL = "no clustered interval: one rater or item only, or their sums cancel"
ALL_TIES = (
    "Every answer is a tie: nobody is ahead. Strengths are equal; models that drop ties have no "
    "data left, and with Davidson's the chance of a tie is 1."
)


@table_row
class StrengthRow:
    """The strength of a condition by one model, clustered and as if ratings were independent."""

    name: str = column("Condition")
    value: float = column("Strength", "number", sign=True)
    low: float | None = column("{level} interval", "interval", key="interval")
    high: float | None
    naive_low: float = column("Ratings as if independent", "interval", key="naive")
    naive_high: float
    mark: str = column("Letters", "mark")
    model: str = column("Model")
    scale: str = column("Scale")
    group: str = column("Compared with one another")
    log_likelihood: float
    note: str


@table_row
class DifferenceRow:
    """The difference of the strengths of two conditions."""

    name: str = column("Difference")
    condition: str
    versus: str
    value: float = column("Strength", "number", sign=True)
    low: float | None = column("{level} interval", "interval", key="interval")
    high: float | None
    p: float | None = column("p", "p")
    p_adjusted: float | None = column("p (Holm)", "p")


SHOWN = ("name", "value", "low", "mark", "naive_low")


@dataclass(frozen=True)
class Fitted:
    """One model of one group of conditions that share a scale; ``why`` where it has no fit.

    ``contrasts`` are None where there is no test of differences.
    """

    key: str
    group: tuple[str, ...]
    fit: AbilityFit | None = None
    contrasts: Sequence[Comparison] | None = None
    rows: Sequence[StrengthRow] = ()
    why: str = ""


def strengths(ratings: PairRatings, each: FamilyInput) -> Content:
    """Strengths with intervals where conditions have a common scale, and who beat whom."""
    if len(ratings.names) < FEWEST:
        return Content()
    if not np.any(ratings.y):
        return Content(sentences=[ALL_TIES])
    graph, main = connection(ratings), main_model(ratings)
    fits = _fits(ratings, graph, main, each.level)
    shown = [one for one in fits if one.key == main and one.fit is not None]
    order = _order(ratings, shown, graph)
    return Content(
        sentences=[_in_order(one) for one in shown],
        figures=[*_strength_figure(shown, each), *_matrix_figure(ratings, order, each)],
        tables=_tables(fits, shown, each),
        warnings=_warnings(graph, fits, main, shown),
        methods=[_method(shown, main)] if shown else [],
    )


def main_model(ratings: PairRatings) -> str:
    """Graded answers: Thurstone's; wins, ties and losses: Davidson's; no ties: Bradley-Terry."""
    sizes = np.unique(np.abs(ratings.y))
    if np.sum(sizes > 0) > 1:
        return "thurstone"
    return "davidson" if np.any(ratings.y == 0) else "bradley_terry"


def _fits(ratings: PairRatings, graph: Connection, main: str, level: float) -> list[Fitted]:
    """Every model's fit: of the whole, else of what has a scale."""
    whole = []
    if len(graph.components) == 1:
        whole = [_fitted(key, ratings, level) for key in MODELS]
    if any(one.fit is not None for one in whole if one.key == main):
        return whole
    of_parts = [_fitted(key, part, level) for part in parts(ratings) for key in MODELS]
    fitted = [one for one in whole if one.fit is not None]
    taken = {(one.key, one.group) for one in fitted}
    return [*fitted, *(one for one in of_parts if (one.key, one.group) not in taken)]


def _fitted(key: str, ratings: PairRatings, level: float) -> Fitted:
    """A model's fit, or why these ratings have none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", LinAlgWarning)  # then the fit says why there is none
            fit = MODELS[key](ratings)
    except Undefined as why:
        return Fitted(key, ratings.names, why=str(why))
    try:
        contrasts = fit.contrasts(level=level)
    except Undefined:
        contrasts = None
    return Fitted(key, ratings.names, fit, contrasts, _rows(fit, ratings.names, contrasts, level))


def _abilities(fit: AbilityFit, level: float) -> tuple[list[Ability | None], list[Ability]]:
    """Clustered where there is more than one rater and item, and model-based."""
    plain = fit.abilities(MODEL, level)
    try:
        wide: list[Ability | None] = list(fit.abilities(CLUSTERED, level))
    except Undefined:
        return [None] * len(plain), plain
    return [one if one is not None and one.se > 1e-9 else None for one in wide], plain


def _rows(
    fit: AbilityFit, group: Sequence[str], contrasts: Sequence[Comparison] | None, level: float
) -> list[StrengthRow]:
    letters = _letters(fit, contrasts, level)
    rows = [
        StrengthRow(
            name=narrow.condition,
            value=narrow.value,
            low=broad.low if broad else None,
            high=broad.high if broad else None,
            naive_low=narrow.low,
            naive_high=narrow.high,
            mark=letters.get(narrow.condition, ""),
            model=fit.model,
            scale=fit.scale,
            group=", ".join(group),
            log_likelihood=fit.log_likelihood,
            note=fit.note if broad else NO_INTERVAL,
        )
        for broad, narrow in zip(*_abilities(fit, level), strict=True)
    ]
    return sorted(rows, key=lambda row: (-row.value, row.name))


def _letters(
    fit: AbilityFit, contrasts: Sequence[Comparison] | None, level: float
) -> dict[str, str]:
    """Conditions that share a letter do not differ (Holm, clustered); none without a test."""
    if contrasts is None:
        return {}
    try:
        p = {(one.condition, one.versus): one.p_adjusted for one in contrasts}
        values = dict(zip(fit.names, fit.ability.tolist(), strict=True))
        return dict(tiers_of(values, p, 1 - level).letters)
    except Undefined:
        return {}


def _order(ratings: PairRatings, shown: Sequence[Fitted], graph: Connection) -> list[str]:
    """All conditions, the strongest first as far as there is an order."""
    ranked = [name for one in shown if one.fit is not None for name in one.fit.order()]
    if len(set(ranked)) == len(ratings.names):
        return ranked
    won = graph.wins.sum(axis=1) / np.maximum((graph.wins + graph.wins.T).sum(axis=1), 1)
    return [ratings.names[i] for i in np.argsort(-won, kind="stable")]


def _in_order(one: Fitted) -> str:
    if one.fit is None:
        return ""
    if float(np.ptp(one.fit.ability)) < 1e-6:
        names = ", ".join(map(condition_span, one.fit.names))
        return f"All strengths are equal ({names}): no order fits these comparisons."
    order = " > ".join(map(condition_span, one.fit.order()))
    letters = {row.mark for row in one.rows} - {""}
    marked = (
        " (those that share a letter in the table do not differ significantly)" if letters else ""
    )
    if len(letters) == 1:
        marked = ", but none differs significantly from another"
    return f"Order by strength: {order}{marked}."


def _strength_figure(shown: Sequence[Fitted], each: FamilyInput) -> list[Figure]:
    names = ["name", "value", "low", "high", "naive_low", "naive_high", "mark"]
    names += ["group"] * (len(shown) > 1)
    rows = [row for one in shown for row in one.rows]
    if not rows:
        return []
    note = "Relative to the mean of all conditions" + (" of a group." * (len(shown) > 1) or ".")
    return [
        Figure(
            f"strengths{each.suffix}",
            "Strengths",
            "intervals",
            picked(rows, names),
            x=rows[0].scale,
            at=(0.0,),
            note=note,
            about=each.title,
        )
    ]


def _matrix_figure(ratings: PairRatings, order: Sequence[str], each: FamilyInput) -> list[Figure]:
    if len(order) > MOST_IN_MATRIX:
        return []
    wins = wins_of(ratings)
    met = wins + wins.T
    place = {name: i for i, name in enumerate(ratings.names)}
    rows = [_cell(row, column, wins, met, place) for row in order for column in order]
    note = "Percent of the comparisons that the row won against the column, a tie counting half."
    key, title = f"win_matrix{each.suffix}", "Who beats whom"
    return [Figure(key, title, "heatmap", rows, "against", note=note, about=each.title)]


def _cell(
    row: str, column: str, wins: Floats, met: Floats, place: dict[str, int]
) -> dict[str, Any]:
    i, j = place[row], place[column]
    n = float(met[i, j])
    share = float(wins[i, j]) / n if n else None
    text = f"{share * 100:.0f}" if share is not None else ""
    return {"row": row, "column": column, "value": share, "text": text, "n": round(n)}


def _tables(fits: Sequence[Fitted], shown: Sequence[Fitted], each: FamilyInput) -> list[Table]:
    rows = [row for one in shown for row in one.rows]
    every = [row for one in fits for row in one.rows]
    tables = []
    if rows:
        note = f"{METHODS[shown[0].key]}: {rows[0].model}; {rows[0].scale}; the mean is 0."
        note = f"{note} {beware(row.note for row in rows)}".strip()
        names = [*["group"] * (len(shown) > 1), *SHOWN]
        tables = [_strengths(f"strengths{each.suffix}", "Strengths", rows, names, note, each)]
        tables.append(_differences(shown, each))
    if len(every) > len(rows):
        key, title = f"strengths_by_model{each.suffix}", "Strengths by every model"
        names = ["model", *["group"] * (len({row.group for row in every}) > 1), *SHOWN, "scale"]
        table = _strengths(key, title, every, names, _terms(fits), each)
        tables.append(replace(table, folded=True))
    return [table for table in tables if table.rows]


def _strengths(
    key: str,
    title: str,
    rows: Sequence[StrengthRow],
    names: Sequence[str],
    note: str,
    each: FamilyInput,
) -> Table:
    columns = columns_of(StrengthRow, *names, level=each.level)
    return Table.of(StrengthRow, key, title, rows, columns=columns, note=note, about=each.title)


def _differences(shown: Sequence[Fitted], each: FamilyInput) -> Table:
    rows = [
        DifferenceRow(
            name=f"{one.condition} − {one.versus}",
            condition=one.condition,
            versus=one.versus,
            value=one.value,
            low=one.low,
            high=one.high,
            p=one.p,
            p_adjusted=one.p_adjusted,
        )
        for fitted in shown
        for one in fitted.contrasts or ()
    ]
    key, title = f"strength_differences{each.suffix}", "Differences of strength"
    return Table.of(
        DifferenceRow, key, title, rows, level=each.level, about=each.title, folded=True
    )


def _terms(fits: Sequence[Fitted]) -> str:
    """The parameters beside strengths, and why a model has none, in words."""
    phrases = [
        f"{one.fit.model}: "
        + ", ".join(f"{term.name} {term.value:.3f} (SE {term.se:.3f})" for term in one.fit.terms)
        for one in fits
        if one.fit is not None and one.fit.terms
    ]
    phrases += [f"{one.key.replace('_', ' ')} has no fit: {one.why}" for one in fits if one.why]
    return ". ".join(dict.fromkeys(phrases)) + "." * bool(phrases)


def _warnings(
    graph: Connection, fits: Sequence[Fitted], main: str, shown: Sequence[Fitted]
) -> list[str]:
    lines = []
    if len(graph.components) > 1:
        groups = " | ".join(", ".join(map(condition_span, group)) for group in graph.components)
        lines.append(
            f"{len(graph.components)} groups were never compared with one another ({groups}): "
            "they have no common scale and no common ranking. Each is shown alone."
        )
    elif graph.words:
        rest = "those that did win and lose are shown alone" if shown else "no strengths are shown"
        if any(set(one.group) == set(graph.names) for one in shown):
            rest = "the graded answers still give finite strengths, which lean on the model"
        lines.append(
            f"{graph.describe(condition_span)}: by how much cannot be said (infinitely, for a "
            f"model); {rest}."
        )
    if not shown and not lines:
        why = next((one.why for one in fits if one.key == main and one.why), "")
        lines.append(f"No strengths: {why}.")
    return lines


def _method(shown: Sequence[Fitted], main: str) -> str:
    order = any("order term" in one.fit.model for one in shown if one.fit is not None)
    term = ", with a term for the clip heard second" if order else ""
    return (
        f"Strengths by {METHODS[main]}{term}, by maximum likelihood; standard errors two-way "
        "clustered over raters and items (sandwich), letters by Holm's p over all pairs."
    )
