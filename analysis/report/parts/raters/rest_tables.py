"""Each rater against the mean of the others, with bias and inconsistency: table and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from analysis.arrays import Floats
from analysis.citations import citation, cite
from analysis.formatting import counted, listed
from analysis.name_spans import family_prefix
from analysis.report.content import Column, Content, Figure, Table
from analysis.report.part import FamilyInput
from analysis.statistics.agreement import (
    SubjectModel,
    VersusRest,
    coarse_steps,
    rated_units,
    steps_of,
    subject_model,
    versus_rest,
)
from analysis.statistics.agreement.rating_units import step_names

MOST_DRAWN = 25
MANY_RATERS, VERY_MANY_RATERS = 100, 2000
ROUNDS = 300  # of the subject model; what has not settled by then is said
MANY = 10  # raters of whom the outermost tenths are not shown
AGAINST = 0.0  # agreement at or below it: as good as none
COLUMNS = (
    Column("rater", "Rater"),
    Column("n_units", "Shared", "count"),
    Column("plcc", "PLCC", "number"),
    Column("plcc_interval", "Interval", "interval"),
    Column("srcc", "SRCC", "number"),
    Column("krcc", "KRCC", "number"),
    Column("qwk", "QWK", "number"),
    Column("mae", "MAE", "number"),
    Column("bias", "Bias", "number", sign=True),
    Column("bias_interval", "Interval", "interval"),
    Column("inconsistency", "Inconsistency", "number"),
    Column("inconsistency_unbiased", "Unbiased", "number"),
    Column("note", "Note"),
)
METHODS = (
    "Each rater is compared with the mean of the other raters' ratings of the same clips: Pearson "
    "(PLCC), Spearman (SRCC), Kendall's tau-b (KRCC), quadratically weighted kappa (QWK, rounded "
    "half up to the scale's steps) and mean absolute error (MAE). Bias and inconsistency are those "
    f"of the subject model of {citation('itu_p910')} {cite('li2020')} as published, and with the "
    "unbiased step."
)


def raters_against_rest(each: FamilyInput) -> Content:
    """Every rater of one family against the rest."""
    family, title, level = each.family, each.title, each.level
    rated = rated_units(family)
    ratings = (rated.unit, rated.rater, rated.score)
    steps = steps_of(rated.score, family.estimand)
    categories = steps or coarse_steps(rated.score, family.estimand)
    if family.n_raters < 2 or len(categories) < 2:
        return Content()
    measures = versus_rest(
        *ratings,
        categories=categories,
        level=level,
        replicates=_replicates(family.n_raters),
        seed=each.inputs.options.seed,
        neutral=rated.neutral,
    )
    if all(one.value is None for one in measures):
        return Content(
            [f"{family_prefix(title)}no rater can be compared with the rest: {_why(measures)}."]
        )
    model = subject_model(*ratings, level=level, rounds=ROUNDS)
    unbiased = subject_model(*ratings, level=level, rounds=ROUNDS, unbiased=True)
    rows = merged(measures, model, unbiased)
    known = [row for row in rows if row["plcc"] is not None]
    note, heading = _note(categories, bool(steps), model), "Each rater against the rest"
    return Content(
        sentences=_sentences(title, known, family.n_raters),
        figures=_figures(title, rows),
        tables=[Table("versus-rest", heading, COLUMNS, rows, note, about=title, folded=True)],
        warnings=_warnings(title, known, level),
        methods=[METHODS],
    )


def merged(
    measures: Sequence[VersusRest], model: SubjectModel, unbiased: SubjectModel
) -> list[dict[str, Any]]:
    """A row per rater: five measures with their intervals, bias and both inconsistencies."""
    rows: dict[str, dict[str, Any]] = {}
    for one in measures:
        row = rows.setdefault(one.rater, {"rater": one.rater, "n_units": one.n_units})
        name = one.measure
        row |= {name: one.value, f"{name}_interval_low": one.low}
        row |= {f"{name}_interval_high": one.high, f"{name}_interval_made_by": one.interval}
        if one.note and one.value is None:
            row["note"] = one.note
    for rater, other in zip(model.raters, unbiased.raters, strict=True):
        row = rows[rater.rater]
        row["inconsistency_unbiased"] = other.inconsistency
        row |= {"n_ratings": rater.n_ratings, "bias": rater.bias, "bias_se": rater.bias_se}
        row |= {"bias_interval_low": rater.bias_low, "bias_interval_high": rater.bias_high}
        row |= {"inconsistency": rater.inconsistency, "inconsistency_se": rater.inconsistency_se}
        row |= {"weight": rater.weight, "bias_interval_made_by": rater.interval}
        if rater.note and not row.get("note"):
            row["note"] = rater.note
    return [{**row, "note": row.get("note", "")} for row in rows.values()]


def inner_range(values: Floats) -> tuple[float, float, float, str]:
    """Low, median and high of what raters have (R,), and which raters lie between low and high."""
    many = len(values) >= MANY
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9] if many else [0, 0.5, 1])
    return float(low), float(middle), float(high), "80 % of raters" if many else "all raters"


def _sentences(title: str, known: Sequence[Mapping[str, Any]], n_raters: int) -> list[str]:
    if not known:
        return []
    plcc = np.array([row["plcc"] for row in known])
    low, middle, high, whom = inner_range(plcc)
    text = (
        f"{family_prefix(title)}a rater's answers correlate with the mean of the others at a "
        "median of "
        f"{middle:.2f} (PLCC; {whom} between {low:.2f} and {high:.2f}; "
        f"{counted(n_raters, 'rater')})."
    )
    return [text.replace("-0", "−0")]


def _warnings(title: str, known: Sequence[Mapping[str, Any]], level: float) -> list[str]:
    """Raters who agree with nobody, beside how many would look so by chance alone."""
    n = len(known)
    opposed = [row["rater"] for row in known if row["plcc"] <= AGAINST]
    clear = [
        row["rater"]
        for row in known
        if row["plcc_interval_high"] is not None and row["plcc_interval_high"] < AGAINST
    ]
    warnings = []
    if clear:
        warnings.append(
            f"{family_prefix(title)}{len(clear)} of {n} raters "
            f"{'goes' if len(clear) == 1 else 'go'} clearly "
            "against the others (interval of PLCC "
            f"below 0; about {n * (1 - level) / 2:.0f} would by chance if no rater agreed): "
            f"{listed(clear)}. Did they take the scale the wrong way round?"
        )
    if opposed and len(opposed) > len(clear):
        warnings.append(
            f"{family_prefix(title)}{len(opposed)} of {n} raters "
            f"{'has' if len(opposed) == 1 else 'have'} a "
            "PLCC at or below 0; few shared clips "
            "make that happen to honest raters too, so look before you leave anybody out."
        )
    return warnings


def _figures(title: str, rows: Sequence[Mapping[str, Any]]) -> list[Figure]:
    known = sorted(
        (row for row in rows if row["plcc"] is not None),
        key=lambda row: (row["plcc"], row["rater"]),
    )
    figures = []
    if known:
        cut = len(known) - MOST_DRAWN
        lowest = [
            {"name": row["rater"], "value": row["plcc"]}
            | {"low": row["plcc_interval_low"], "high": row["plcc_interval_high"]}
            for row in known[:MOST_DRAWN]
        ]
        figures.append(
            Figure(
                "versus-rest",
                "Raters against the rest, the lowest first",
                "intervals",
                lowest,
                x="PLCC with the mean of the others",
                ends=(-1.0, 1.0),
                at=(0.0,),
                note=f"The {MOST_DRAWN} lowest; {cut} more are in the table." * (cut > 0),
                about=title,
            )
        )
    points = [
        {"name": row["rater"], "x": row["inconsistency"], "y": row["bias"]}
        for row in rows
        if row.get("bias") is not None
    ]
    if len(points) > 2:
        figures.append(
            Figure(
                "bias",
                "Bias and inconsistency of each rater",
                "scatter",
                points,
                x="Inconsistency (SD of the rater's noise)",
                y="Bias (score units)",
                at=(0.0,),
                note="One point per rater; above 0 the rater marks higher than the others.",
                about=title,
            )
        )
    return figures


def _note(categories: Sequence[float], own: bool, model: SubjectModel) -> str:
    names = step_names(categories)
    steps = f"QWK over the steps {', '.join(names[:3])} … {names[-1]}"
    if not own:
        steps += " (the slider cut into these)"
    texts = [
        "Shared: clips that others rated too. Bias: how far above the others the rater marks. "
        f"Inconsistency: SD of the rater's own noise as {citation('itu_p910')} has it, which is "
        f"too small, and unbiased. {steps}. Intervals are naive within a rater. This is human "
        "agreement itself, so no ceiling stands beside it."
    ]
    if not model.converged:
        texts.append(
            f"The subject model had not settled after {model.rounds} rounds (few ratings per "
            "rater, or a coarse scale): take inconsistencies as rough."
        )
    return " ".join([*texts, *([f"{model.note}."] if model.note else [])])


def _replicates(n_raters: int) -> int:
    """Of the bootstrap of each rater's QWK; with very many raters there is no time for any."""
    if n_raters <= MANY_RATERS:
        return 1000
    return 100 if n_raters <= VERY_MANY_RATERS else 0


def _why(measures: Sequence[VersusRest]) -> str:
    """The reason that most raters have."""
    notes = [one.note.removesuffix(": undefined") for one in measures if one.note]
    return max(sorted(set(notes)), key=notes.count) if notes else "too few ratings"
