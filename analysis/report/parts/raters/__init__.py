"""Each rater: against the rest, bias, use of the scale, speed, fatigue, and self-consistency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from analysis.arrays import Floats
from analysis.citations import cite
from analysis.formatting import counted, first_of, interval_text
from analysis.name_spans import family_prefix
from analysis.ratings.breakdowns import Family
from analysis.report.content import Column, Content, Figure, Table, titled, together
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.report.parts.raters.order_tables import (
    answer_times,
    before_rules,
    effects_of_order,
    plain_row,
)
from analysis.report.parts.raters.rest_tables import raters_against_rest
from analysis.statistics.agreement import (
    ScaleUse,
    SelfConsistency,
    coarse_steps,
    rated_units,
    repeat_pairs,
    scale_ends,
    scale_use,
    self_consistency,
    sos_parameter,
    steps_of,
)
from analysis.statistics.agreement.kappa import rounded_half_up
from analysis.statistics.agreement.rating_units import step_names
from analysis.statistics.intervals import holm

EQUAL = 1e-9  # means that differ by less are one
REPEAT_COLUMNS = (
    Column("rater", "Rater"),
    Column("n_pairs", "Pairs", "count"),
    Column("agreement", "Same answer", "percent"),
    Column("agreement_percent", "Interval, %", "interval", 0),
    Column("correlation", "Correlation", "number"),
    Column("noise_sd", "Noise SD", "number"),
    Column("shift", "Second − first", "number", sign=True),
    Column("shift", "Interval", "interval"),
    Column("note", "Note"),
)
REPEAT_METHODS = (
    "Self-consistency on repeated clips: the share of second answers within one step of the first, "
    f"and the SD of one answer, SD(second - first) / sqrt 2 {cite('bland1996')}."
)


def answers_to_repeats(each: FamilyInput) -> Content:
    """First and second answers of one family, from the table before any rule took repeats away.

    Sessions that the rules leave out altogether do not count.
    """
    family, title = each.family, each.title
    table = before_rules(each.inputs.table, family)
    pairs = repeat_pairs(table[table["session"].isin(family.table["session"].unique())])
    if not len(pairs):
        return Content()
    step = _step(family)
    by_rater = self_consistency(
        pairs["rater"].to_numpy(dtype=object),
        pairs["first"].to_numpy(dtype=np.float64),
        pairs["second"].to_numpy(dtype=np.float64),
        tolerance=step,
        level=each.level,
    )
    rows = [
        plain_row(one)
        | {
            "agreement_percent_low": one.agreement_low * 100,
            "agreement_percent_high": one.agreement_high * 100,
        }
        for one in by_rater
    ]
    note = (
        f"Same answer: within {step:g} of the first. Repeats enter no estimate. Intervals take "
        "pairs as independent. The correlation is of raters with themselves, so no "
        "ceiling stands beside it."
    )
    return Content(
        sentences=[_sentence(title, by_rater[0])],
        tables=[
            Table("repeats", "Clips asked twice", REPEAT_COLUMNS, rows, note, title, folded=True)
        ],
        methods=[REPEAT_METHODS],
    )


def _step(family: Family) -> float:
    """One step of the scale; a twentieth of its range on a slider."""
    score = family.table["score"].to_numpy(dtype=np.float64)
    steps = steps_of(score, family.estimand)
    if len(steps) > 1:
        return float(steps[1] - steps[0])
    return float(np.ptp(score)) / 20


def _sentence(title: str, all_raters: SelfConsistency) -> str:
    same = (
        f"{family_prefix(title)}asked again, raters gave the same answer within "
        f"{all_raters.tolerance:g} in "
        f"{all_raters.agreement:.0%} of {all_raters.n_pairs} cases"
    )
    if all_raters.noise_sd is None:
        return f"{same}."
    noise = f"one answer has a noise of SD {all_raters.noise_sd:.2f}"
    if all_raters.noise_sd_low is not None and all_raters.noise_sd_high is not None:
        noise += f" {interval_text(all_raters.noise_sd_low, all_raters.noise_sd_high, None, 2)}"
    return f"{same}; {noise}."


SCALE_MOST_DRAWN = 30
HALF = 0.5
FEW = 10  # ratings; below, one step throughout says little
SCALE_COLUMNS = (
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
    columns = (*SCALE_COLUMNS, *(HALVES if halves else ()))
    return Content(
        sentences=_sentences(title, uses, halves, adjusted),
        figures=[_scale_figure(title, uses, names)],
        tables=[Table("use", "Use of the scale", columns, rows, note, about=title, folded=True)],
        warnings=_warnings(title, uses),
        methods=["Use of the scale is shown as each rater's share of ratings on each step."],
    )


def _row(use: ScaleUse, names: Sequence[str]) -> dict[str, Any]:
    row = use.row()
    shares = row.pop("shares")
    row["mean_low"], row["mean_high"] = row.pop("low"), row.pop("high")
    return row | {f"share_{name}": share for name, share in zip(names, shares, strict=True)}


def _scale_figure(title: str, uses: Sequence[ScaleUse], names: Sequence[str]) -> Figure:
    """Raters from the harshest to the mildest; evenly chosen where there are too many to read."""
    ordered = sorted(uses, key=lambda use: (use.mean, use.rater))
    note = "From the lowest mean to the highest."
    if len(ordered) > SCALE_MOST_DRAWN:
        places = np.unique(np.linspace(0, len(ordered) - 1, SCALE_MOST_DRAWN).round().astype(int))
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
    about = family_prefix(title)
    if np.ptp(means) <= EQUAL:  # of one rater, or of ranks
        whose = "the rater's own mean" if len(means) == 1 else "every rater's own mean"
        sentences = [f"{about}{whose} is {means[0]:.2f}."]
    else:
        sentences = [
            f"{about}raters' own means lie between {means.min():.2f} and {means.max():.2f} "
            f"(SD {np.std(means, ddof=1):.2f} over {len(means)} raters)."
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
    f"The SOS parameter a {cite('hossfeld2011')} is fitted by least squares through the origin: "
    "the variance of a clip's ratings against (mean - low)(high - mean), bootstrap over clips."
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


STEPS = (
    raters_against_rest,
    use_of_scale,
    effects_of_order,
    spread_of_opinions,
    answers_to_repeats,
)


class Raters(FamilyPart):
    """Each rater against the others, bias and noise, use of the scale, speed, fatigue, repeats."""

    key = "raters"
    version = "2"
    title = "Raters"
    order = 72

    def applies(self, inputs: PartInput) -> bool:
        return len(inputs.kept) > 0

    def of_family(self, each: FamilyInput) -> Content:
        """The sentences about a family are one paragraph, its title said once."""
        contents = []
        for step, make in enumerate(STEPS):
            each.progress(step / len(STEPS))
            contents.append(make(each))
        content = together(contents)
        texts = [text.removeprefix(family_prefix(each.title)) for text in content.sentences]
        paragraph = " ".join(text[:1].upper() + text[1:] for text in texts)
        return replace(
            content, sentences=[f"{family_prefix(each.title)}{paragraph}"] if texts else []
        )

    def of_all(self, contents: Sequence[Content], inputs: PartInput) -> Content:
        inputs.progress(0.9, "answer times")
        content = together([*contents, *answer_times(inputs)])
        if not content.tables and not content.sentences:
            return Content(["There are too few ratings to say anything of single raters."])
        return titled(content) if len(contents) > 1 else content
