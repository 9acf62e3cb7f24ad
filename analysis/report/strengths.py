"""Strengths of conditions by models of pairs, rankings and best-worst choices, as content."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgWarning

from analysis.formatting import beware
from analysis.name_spans import condition_span
from analysis.report.content import (
    INTERVAL_CELLS,
    Figure,
    Table,
    column,
    columns_of,
    pick_cells,
    pick_fields,
    row_from,
    table_row,
)
from analysis.report.part import FamilyInput
from analysis.statistics.comparisons.pairwise_contrasts import Comparison
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.comparisons.tiers import tiers_of
from analysis.statistics.pairs.ability_fit import CLUSTERED, MODEL, Ability, AbilityFit
from analysis.statistics.pairs.comparison_graph import Infinite

NO_INTERVAL = "no clustered interval: one rater or item only, or their sums cancel"


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


STRENGTHS_SHOWN = ("name", "value", "low", "mark", "naive_low")


@dataclass(frozen=True)
class StrengthFit:
    """One model of one group of conditions that share a scale; ``why`` where it has no fit.

    ``contrasts`` are None where there is no test of differences.
    """

    key: str
    group: tuple[str, ...]
    fit: AbilityFit | None = None
    contrasts: Sequence[Comparison] | None = None
    rows: Sequence[StrengthRow] = ()
    why: str = ""


def fit_strengths(
    key: str, model: Callable[[bool], AbilityFit], names: Sequence[str], level: float
) -> StrengthFit:
    """A model's fit, bias-reduced where it has no other; or why there is none.

    ``model`` takes whether the bias is to be reduced, and ``names`` are the conditions of a group.
    """
    group = tuple(names)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", LinAlgWarning)  # then the fit says why there is none
            try:
                fit = model(False)
            except Infinite:
                fit = model(True)
    except Undefined as why:
        return StrengthFit(key, group, why=str(why))
    try:
        contrasts = fit.contrasts(level=level)
    except Undefined:
        contrasts = None
    rows = _rows(fit, group, contrasts, level)
    return StrengthFit(key, group, fit, contrasts, rows)


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
            **pick_cells(broad, "low", "high"),
            naive_low=narrow.low,
            naive_high=narrow.high,
            mark=letters.get(narrow.condition, ""),
            **pick_cells(fit, "model", "scale", "log_likelihood"),
            group=", ".join(group),
            note=fit.note if broad else NO_INTERVAL,
        )
        for broad, narrow in zip(*_abilities(fit, level), strict=True)
    ]
    return sorted(rows, key=lambda row: (-round(row.value, 9), row.name))


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


def order_sentence(one: StrengthFit) -> str:
    """The conditions by falling strength, and whether letters tell any apart."""
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


def strength_figures(shown: Sequence[StrengthFit], each: FamilyInput) -> list[Figure]:
    """The strengths with their intervals; none where no model has a fit."""
    names = ["name", *INTERVAL_CELLS, "mark"]
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
            pick_fields(rows, names),
            x=rows[0].scale,
            at=(0.0,),
            note=note,
            about=each.title,
        )
    ]


def strength_tables(
    fits: Sequence[StrengthFit],
    shown: Sequence[StrengthFit],
    each: FamilyInput,
    methods: Mapping[str, str],
) -> list[Table]:
    """Strengths and their differences by the model ``shown``, and by every model.

    ``methods`` say what each model is, by its key.
    """
    rows = [row for one in shown for row in one.rows]
    every = [row for one in fits for row in one.rows]
    tables = []
    if rows:
        note = f"{methods[shown[0].key]}: {rows[0].model}; {rows[0].scale}; the mean is 0."
        note = f"{note} {beware(row.note for row in rows)}".strip()
        names = [*["group"] * (len(shown) > 1), *STRENGTHS_SHOWN]
        tables = [_strengths("strengths", "Strengths", rows, names, note, each)]
        tables.append(_differences(shown, each))
    if len(every) > len(rows):
        several = len({row.group for row in every}) > 1
        names = ["model", *["group"] * several, *STRENGTHS_SHOWN, "scale"]
        title = "Strengths by every model"
        table = _strengths("strengths_by_model", title, every, names, _terms(fits), each)
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
    return each.table(StrengthRow, key, title, rows, columns=columns, note=note)


def _differences(shown: Sequence[StrengthFit], each: FamilyInput) -> Table:
    rows = [
        row_from(DifferenceRow, one, name=f"{one.condition} − {one.versus}")
        for fitted in shown
        for one in fitted.contrasts or ()
    ]
    key, title = "strength_differences", "Differences of strength"
    return each.table(DifferenceRow, key, title, rows, folded=True)


def _terms(fits: Sequence[StrengthFit]) -> str:
    """The parameters beside strengths, and why a model has none, in words."""
    phrases = [
        f"{one.fit.model}: "
        + ", ".join(f"{term.name} {term.value:.3f} (SE {term.se:.3f})" for term in one.fit.terms)
        for one in fits
        if one.fit is not None and one.fit.terms
    ]
    phrases += [f"{one.key.replace('_', ' ')} has no fit: {one.why}" for one in fits if one.why]
    return ". ".join(dict.fromkeys(phrases)) + "." * bool(phrases)
