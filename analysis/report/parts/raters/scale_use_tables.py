"""How each rater uses the scale: a heatmap of steps, and whether half steps are avoided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.formatting import counted, first_of
from analysis.name_spans import family_prefix
from analysis.report.content import Column, Content, Figure, Table
from analysis.report.part import FamilyInput
from analysis.statistics.agreement import ScaleUse, coarse_steps, rated_units, scale_use, steps_of
from analysis.statistics.agreement.kappa import rounded_half_up
from analysis.statistics.agreement.rating_units import step_names
from analysis.statistics.intervals import holm

MOST_DRAWN = 30
HALF = 0.5
FEW = 10  # ratings; below, one step throughout says little
COLUMNS = (
    Column("rater", "Rater"),
    Column("n_ratings", "Ratings", "count"),
    Column("mean", "Mean", "number"),
    Column("sd", "SD", "number"),
    Column("lowest", "Lowest", "number", 2),
    Column("highest", "Highest", "number", 2),
    Column("n_steps_used", "Steps used", "count"),
    Column("ends", "At the ends", "percent"),
)
HALVES = (
    Column("half_steps", "Half steps", "percent"),
    Column("half_steps_p_holm", "p (Holm)", "p"),
)


def use_of_scale(each: FamilyInput) -> Content:
    """The use of the scale by each rater of one family."""
    family, title = each.family, each.title
    rated = rated_units(family)
    score = family.table["score"].to_numpy(dtype=np.float64)  # as given, no pair turned round
    steps = steps_of(score, family.estimand)
    places = steps or coarse_steps(score, family.estimand)
    if len(places) < 2:
        return Content()
    on_steps = score if steps else np.array(places)[rounded_half_up(score, places)]
    uses = scale_use(rated.rater, on_steps, places, level=each.level)
    adjusted = holm([use.half_steps_p for use in uses])
    halves = bool(steps) and steps[1] - steps[0] == HALF and steps[-1] - steps[0] > 2
    names = step_names(places)
    rows = [
        _row(use, names) | {"half_steps_p_holm": p} for use, p in zip(uses, adjusted, strict=True)
    ]
    note = "" if steps else f"The slider is cut into {len(places)} steps. "
    note += "The share of each step is in the file."
    if halves:
        note += (
            " p: chance of so few half steps if the rater used them as often as the others, "
            "Holm over all raters."
        )
    columns = (*COLUMNS, *(HALVES if halves else ()))
    return Content(
        sentences=_sentences(title, uses, halves, adjusted),
        figures=[_figure(title, uses, names)],
        tables=[Table("use", "Use of the scale", columns, rows, note, about=title, folded=True)],
        warnings=_warnings(title, uses),
        methods=["Use of the scale is shown as each rater's share of ratings on each step."],
    )


def _row(use: ScaleUse, names: Sequence[str]) -> dict[str, Any]:
    row = use.row()
    shares = row.pop("shares")
    row["mean_low"], row["mean_high"] = row.pop("low"), row.pop("high")
    return row | {f"share_{name}": share for name, share in zip(names, shares, strict=True)}


def _figure(title: str, uses: Sequence[ScaleUse], names: Sequence[str]) -> Figure:
    """Raters from the harshest to the mildest; evenly chosen where there are too many to read."""
    ordered = sorted(uses, key=lambda use: (use.mean, use.rater))
    note = "From the lowest mean to the highest."
    if len(ordered) > MOST_DRAWN:
        places = np.unique(np.linspace(0, len(ordered) - 1, MOST_DRAWN).round().astype(int))
        note += f" {len(places)} of {len(ordered)} raters, evenly chosen; all are in the table."
        ordered = [ordered[place] for place in places]
    rows = [
        {"row": use.rater, "column": name, "value": share, "text": f"{share * 100:.0f}"}
        for use in ordered
        for name, share in zip(names, use.shares, strict=True)
    ]
    return Figure(
        "use",
        "How raters use the scale",
        "heatmap",
        rows,
        x="Score",
        y="Rater",
        ends=(0.0, max(share for use in ordered for share in use.shares)),
        note=f"{note} Cells: share of the rater's ratings in percent.",
        about=title,
    )


def _sentences(
    title: str, uses: Sequence[ScaleUse], halves: bool, adjusted: Sequence[float | None]
) -> list[str]:
    means = np.array([use.mean for use in uses])
    sentences = [
        f"{family_prefix(title)}raters' own means lie between {means.min():.2f} and "
        f"{means.max():.2f} "
        f"(SD {np.std(means, ddof=1) if len(means) > 1 else 0:.2f} over {len(means)} raters)."
    ]
    if halves:
        never = sum(use.half_steps == 0 and use.n_ratings >= FEW for use in uses)
        avoid = sum(p is not None and p < 0.05 for p in adjusted)
        sentences.append(
            f"{family_prefix(title)}{never} of {len(uses)} raters gave {FEW} ratings or more "
            "and never a half "
            f"step; {avoid} use half steps clearly less than the others (Holm, 5 %)."
        )
    return [text.replace(" -", " −") for text in sentences]


def _warnings(title: str, uses: Sequence[ScaleUse]) -> list[str]:
    stuck = [use.rater for use in uses if use.sd == 0 and use.n_ratings >= FEW]
    if not stuck:
        return []
    return [
        f"{family_prefix(title)}{counted(len(stuck), 'rater')} gave one score throughout, {FEW} "
        "times or more: "
        f"{first_of(stuck)}."
    ]
