"""The SOS hypothesis of one family: how the spread of opinions goes with their mean."""

from __future__ import annotations

import numpy as np

from analysis.arrays import Floats
from analysis.formatting import interval_text
from analysis.name_spans import family_prefix
from analysis.report.content import Column, Content, Figure, Table
from analysis.report.part import FamilyInput
from analysis.report.parts.raters.order_tables import plain_row
from analysis.statistics.agreement import rated_units, scale_ends, sos_parameter, steps_of

MOST_DRAWN = 200
FEWEST_STEPS = 4  # on three or two the mean alone fixes most of the variance
CURVE = 21  # points of the parabola
COLUMNS = (
    Column("measure", "Parameter"),
    Column("value", "Value", "number"),
    Column("interval", "Interval", "interval"),
    Column("n_units", "Clips", "count"),
    Column("n_ratings", "Ratings", "count"),
    Column("note", "Note"),
)
METHODS = (
    "The SOS parameter a (Hossfeld et al. 2011) is fitted by least squares through the origin: the "
    "variance of a clip's ratings against (mean - low)(high - mean), bootstrap over clips."
)


def spread_of_opinions(each: FamilyInput) -> Content:
    """The parameter a with its parabola; nothing for comparisons and scales without ends."""
    rated, options, title = rated_units(each.family), each.inputs.options, each.title
    ends = scale_ends(rated.score, each.family.estimand)
    steps = steps_of(rated.score, each.family.estimand)
    if rated.compared or ends is None or 0 < len(steps) < FEWEST_STEPS:
        return Content()
    fit = sos_parameter(
        rated.unit,
        rated.rater,
        rated.score,
        ends=ends,
        level=options.level,
        replicates=min(500, options.replicates),
        seed=options.seed,
    )
    row = {**plain_row(fit.a), "measure": "SOS parameter a"}
    table = Table("sos", "Spread of opinions (SOS)", COLUMNS, [row], about=title)
    if fit.a.value is None:
        return Content(tables=[table])
    interval = ""
    if fit.a.low is not None and fit.a.high is not None:
        interval = f" {interval_text(fit.a.low, fit.a.high, None, 3)}"
    return Content(
        sentences=[
            f"{family_prefix(title)}the SOS parameter a is {fit.a.value:.3f}{interval}; the "
            "larger it is, the "
            "less raters are of one mind about a clip."
        ],
        figures=[_figure(title, fit.mean, fit.variance, fit.parabola, fit.a.value)],
        tables=[table],
        methods=[METHODS],
    )


def _figure(title: str, mean: Floats, variance: Floats, parabola: Floats, a: float) -> Figure:
    order = np.lexsort((variance, mean))
    note = "One point per clip with two ratings or more."
    if len(order) > MOST_DRAWN:
        order = order[np.unique(np.linspace(0, len(order) - 1, MOST_DRAWN).round().astype(int))]
        note = f"{len(order)} of {len(mean)} clips, evenly chosen by their mean."
    rows = [
        {"name": f"mean {x:.2f}", "x": float(x), "y": float(y), "group": "clips"}
        for x, y in zip(mean[order], variance[order], strict=True)
    ]
    step = max(1, (len(parabola) - 1) // (CURVE - 1))
    name = f"a = {a:.3f}"
    rows += [
        {"name": name, "x": float(x), "y": float(y), "group": f"parabola, {name}"}
        for x, y in parabola[::step]
    ]
    return Figure(
        "sos",
        "Variance of a clip's ratings against their mean",
        "scatter",
        rows,
        x="Mean of the clip",
        y="Variance",
        note=note,
        about=title,
    )
