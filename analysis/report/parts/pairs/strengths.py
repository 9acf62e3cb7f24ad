"""Strengths behind all pairs: Bradley-Terry, Davidson, Thurstone, least squares; the win matrix."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import LinAlgWarning

from analysis.arrays import Floats
from analysis.report.content import Column, Content, Figure, Table
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.comparisons.tiers import tiers_of
from analysis.statistics.pairs.ability_fit import CLUSTERED, MODEL, Ability, AbilityFit
from analysis.statistics.pairs.comparison_graph import Connection, connection, parts, wins_of
from analysis.statistics.pairs.graded_pairs import cumulative, least_squares
from analysis.statistics.pairs.pair_ratings import PairRatings
from analysis.statistics.pairs.win_models import bradley_terry, davidson

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
    "(Agresti 1992)",
    "davidson": "Davidson's (1970) model of wins and ties",
    "bradley_terry": "Bradley and Terry's (1952) model, ties as half a win to each",
    "least_squares": "Scheffé's (1952) least squares on the scores",
}
NO_INTERVAL = "no clustered interval: one rater or item only, or their sums cancel"
ALL_TIES = (
    "Every answer is a tie: nobody is ahead. Strengths are equal; models that drop ties have no "
    "data left, and with Davidson's the chance of a tie is 1."
)


@dataclass(frozen=True)
class Fitted:
    """One model of one group of conditions that share a scale; ``why`` where it has no fit."""

    key: str
    group: tuple[str, ...]
    fit: AbilityFit | None
    why: str = ""


def strengths(ratings: PairRatings, about: str, suffix: str, level: float) -> Content:
    """Strengths with intervals where conditions have a common scale, and who beat whom."""
    if len(ratings.names) < FEWEST:
        return Content()
    if not np.any(ratings.y):
        return Content(sentences=[ALL_TIES])
    found = connection(ratings)
    main, fits = _fits(ratings, found)
    shown = [one for one in fits if one.key == main and one.fit is not None]
    order = _order(ratings, shown, found)
    sentences = [_in_order(one, level) for one in shown]
    return Content(
        sentences=[text for text in sentences if text],
        figures=[
            *_strength_figure(shown, about, suffix, level),
            *_matrix_figure(ratings, order, about, suffix),
        ],
        tables=_tables(fits, shown, about, suffix, level),
        warnings=_warnings(found, fits, main, shown),
        methods=[_method(shown, main)] if shown else [],
    )


def main_model(ratings: PairRatings) -> str:
    """Graded answers: Thurstone's; wins, ties and losses: Davidson's; no ties: Bradley-Terry."""
    sizes = np.unique(np.abs(ratings.y))
    if np.sum(sizes > 0) > 1:
        return "thurstone"
    return "davidson" if np.any(ratings.y == 0) else "bradley_terry"


def _fits(ratings: PairRatings, found: Connection) -> tuple[str, list[Fitted]]:
    """The main model's key and every model's fit: of the whole, else of what has a scale."""
    main = main_model(ratings)
    whole = [_fitted(key, ratings) for key in MODELS] if len(found.components) == 1 else []
    if any(one.fit is not None for one in whole if one.key == main):
        return main, whole
    each = [_fitted(key, part) for part in parts(ratings) for key in MODELS]
    fitted = [one for one in whole if one.fit is not None]
    taken = {(one.key, one.group) for one in fitted}
    return main, [*fitted, *(one for one in each if (one.key, one.group) not in taken)]


def _fitted(key: str, ratings: PairRatings) -> Fitted:
    """A model's fit, or why these ratings have none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", LinAlgWarning)  # then the fit says why there is none
            return Fitted(key, ratings.names, MODELS[key](ratings))
    except Undefined as why:
        return Fitted(key, ratings.names, None, str(why))


def _abilities(fit: AbilityFit, level: float) -> tuple[list[Ability | None], list[Ability]]:
    """Clustered where there is more than one rater and item, and model-based."""
    plain = fit.abilities(MODEL, level)
    try:
        wide: list[Ability | None] = list(fit.abilities(CLUSTERED, level))
    except Undefined:
        return [None] * len(plain), plain
    return [one if one is not None and one.se > 1e-9 else None for one in wide], plain


def _rows(one: Fitted, level: float) -> list[dict[str, Any]]:
    fit = one.fit
    if fit is None:
        return []
    wide, plain = _abilities(fit, level)
    letters = _letters(fit, level)
    rows = [
        {
            "name": narrow.condition,
            "value": narrow.value,
            "low": broad.low if broad else None,
            "high": broad.high if broad else None,
            "naive_low": narrow.low,
            "naive_high": narrow.high,
            "mark": letters.get(narrow.condition, ""),
            "model": fit.model,
            "scale": fit.scale,
            "group": ", ".join(one.group),
            "log_likelihood": fit.log_likelihood,
            "note": fit.note if broad else NO_INTERVAL,
        }
        for broad, narrow in zip(wide, plain, strict=True)
    ]
    return sorted(rows, key=lambda row: (-row["value"], row["name"]))


def _letters(fit: AbilityFit, level: float) -> dict[str, str]:
    """Conditions that share a letter do not differ (Holm, clustered); none without a test."""
    try:
        compared = fit.contrasts(level=level)
        p = {(one.condition, one.versus): one.p_adjusted for one in compared}
        values = dict(zip(fit.names, fit.ability.tolist(), strict=True))
        return dict(tiers_of(values, p, 1 - level).letters)
    except Undefined:
        return {}


def _order(ratings: PairRatings, shown: Sequence[Fitted], found: Connection) -> list[str]:
    """All conditions, the strongest first as far as there is an order."""
    ranked = [name for one in shown if one.fit is not None for name in one.fit.order()]
    if len(set(ranked)) == len(ratings.names):
        return ranked
    won = found.wins.sum(axis=1) / np.maximum((found.wins + found.wins.T).sum(axis=1), 1)
    return [ratings.names[i] for i in np.argsort(-won, kind="stable")]


def _in_order(one: Fitted, level: float) -> str:
    if one.fit is None:
        return ""
    if float(np.ptp(one.fit.ability)) < 1e-6:
        names = ", ".join(one.fit.names)
        return f"All strengths are equal ({names}): no order fits these comparisons."
    told = " > ".join(one.fit.order())
    letters = _letters(one.fit, level)
    marked = " (those that share a letter in the table do not differ clearly)" if letters else ""
    if len(set(letters.values())) == 1:
        marked = ", but none differs clearly from another"
    return f"Order by strength: {told}{marked}."


def _strength_figure(
    shown: Sequence[Fitted], about: str, suffix: str, level: float
) -> list[Figure]:
    keys = ("name", "value", "low", "high", "naive_low", "naive_high", "mark")
    several = len(shown) > 1
    rows = [
        {key: row[key] for key in keys} | ({"group": row["group"]} if several else {})
        for one in shown
        for row in _rows(one, level)
    ]
    scales = [one.fit.scale for one in shown if one.fit is not None]
    if not rows:
        return []
    note = "Relative to the mean of all conditions" + (" of a group." if several else ".")
    return [
        Figure(
            f"strengths{suffix}",
            "Strengths",
            "intervals",
            rows,
            x=scales[0],
            at=(0.0,),
            note=note,
            about=about,
        )
    ]


def _matrix_figure(
    ratings: PairRatings, order: Sequence[str], about: str, suffix: str
) -> list[Figure]:
    if len(order) > MOST_IN_MATRIX:
        return []
    wins = wins_of(ratings)
    met = wins + wins.T
    place = {name: i for i, name in enumerate(ratings.names)}
    rows = [_cell(row, column, wins, met, place) for row in order for column in order]
    note = "Percent of the comparisons that the row won against the column, a tie counting half."
    title = "Who beats whom"
    return [
        Figure(f"win_matrix{suffix}", title, "heatmap", rows, "against", "", note=note, about=about)
    ]


def _cell(
    row: str, column: str, wins: Floats, met: Floats, place: dict[str, int]
) -> dict[str, Any]:
    i, j = place[row], place[column]
    n = float(met[i, j])
    share = float(wins[i, j]) / n if n else None
    text = f"{share * 100:.0f}" if share is not None else ""
    return {"row": row, "column": column, "value": share, "text": text, "n": round(n)}


def _tables(
    fits: Sequence[Fitted], shown: Sequence[Fitted], about: str, suffix: str, level: float
) -> list[Table]:
    interval = f"{level * 100:g} % interval"
    columns = [
        Column("name", "Condition"),
        Column("value", "Strength", "number", sign=True),
        Column("interval", interval, "interval"),
        Column("mark", "Letters", "mark"),
        Column("naive", "Ratings as if independent", "interval"),
    ]
    rows = [row for one in shown for row in _rows(one, level)]
    if len(shown) > 1:
        columns.insert(0, Column("group", "Compared with one another"))
    every = [row for one in fits for row in _rows(one, level)]
    wide = [Column("model", "Model"), *columns[-5:], Column("scale", "Scale")]
    if len({row["group"] for row in every}) > 1:
        wide.insert(1, Column("group", "Compared with one another"))
    tables = []
    if rows:
        noted = list(dict.fromkeys(row["note"] for row in rows if row["note"]))
        first = rows[0]
        note = f"{METHODS[shown[0].key]}: {first['model']}; {first['scale']}; the mean is 0."
        note += f" Beware: {'; '.join(noted)}." if noted else ""
        tables.append(Table(f"strengths{suffix}", "Strengths", columns, rows, note, about))
        tables.append(_contrasts(shown, about, suffix, level))
    if len(every) > len(rows):
        title = "Strengths by every model"
        key = f"strengths_by_model{suffix}"
        tables.append(Table(key, title, wide, every, _terms(fits), about, folded=True))
    return [table for table in tables if table.rows]


def _contrasts(shown: Sequence[Fitted], about: str, suffix: str, level: float) -> Table:
    rows: list[dict[str, Any]] = []
    for one in shown:
        try:
            compared = one.fit.contrasts(level=level) if one.fit is not None else []
        except Undefined:
            continue
        rows += [
            {
                "name": f"{each.condition} − {each.versus}",
                "condition": each.condition,
                "versus": each.versus,
                "value": each.value,
                "low": each.low,
                "high": each.high,
                "p": each.p,
                "p_adjusted": each.p_adjusted,
            }
            for each in compared
        ]
    columns = [
        Column("name", "Difference"),
        Column("value", "Strength", "number", sign=True),
        Column("interval", f"{level * 100:g} % interval", "interval"),
        Column("p", "p", "p"),
        Column("p_adjusted", "p (Holm)", "p"),
    ]
    key = f"strength_differences{suffix}"
    return Table(key, "Differences of strength", columns, rows, about=about, folded=True)


def _terms(fits: Sequence[Fitted]) -> str:
    """The parameters beside strengths, and why a model has none, in words."""
    told = [
        f"{one.fit.model}: "
        + ", ".join(f"{term.name} {term.value:.3f} (SE {term.se:.3f})" for term in one.fit.terms)
        for one in fits
        if one.fit is not None and one.fit.terms
    ]
    told += [f"{one.key.replace('_', ' ')} has no fit: {one.why}" for one in fits if one.why]
    return ". ".join(dict.fromkeys(told)) + "." * bool(told)


def _warnings(
    found: Connection, fits: Sequence[Fitted], main: str, shown: Sequence[Fitted]
) -> list[str]:
    told = []
    if len(found.components) > 1:
        groups = " | ".join(", ".join(group) for group in found.components)
        told.append(
            f"{len(found.components)} groups were never compared with one another ({groups}): "
            "they have no common scale and no common ranking. Each is shown alone."
        )
    elif found.words:
        rest = "those that did win and lose are shown alone" if shown else "no strengths are shown"
        if any(set(one.group) == set(found.names) for one in shown):
            rest = "the graded answers still give finite strengths, which lean on the model"
        told.append(f"{found.words}: by how much cannot be said (infinitely, for a model); {rest}.")
    if not shown and not told:
        why = next((one.why for one in fits if one.key == main and one.why), "")
        told.append(f"No strengths: {why}.")
    return told


def _method(shown: Sequence[Fitted], main: str) -> str:
    order = any("order term" in one.fit.model for one in shown if one.fit is not None)
    term = ", with a term for the clip heard second" if order else ""
    return (
        f"Strengths by {METHODS[main]}{term}, by maximum likelihood; standard errors two-way "
        "clustered over raters and items (sandwich), letters by Holm's p over all pairs."
    )
