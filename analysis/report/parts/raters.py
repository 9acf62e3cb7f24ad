"""Each rater: against the rest, bias, use of the scale, speed, fatigue, and self-consistency."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.citations import citation, cite
from analysis.formatting import counted, first_of, interval_text, listed, number
from analysis.name_spans import family_prefix
from analysis.ratings.breakdowns import Family
from analysis.ratings.table import TRAINING
from analysis.report.content import Column, Content, Figure, Table, add_family_titles, together
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.statistics.agreement.agreement_result import Agreement, coded
from analysis.statistics.agreement.answer_speed import Pace, pace_of_raters
from analysis.statistics.agreement.kappa import rounded_half_up
from analysis.statistics.agreement.order_effects import by_position, carry_over, trend
from analysis.statistics.agreement.rater_bias import SubjectModel, subject_model
from analysis.statistics.agreement.rating_units import (
    Rated,
    coarse_steps,
    numbers,
    rated_units,
    scale_ends,
    step_names,
    steps_of,
)
from analysis.statistics.agreement.scale_use import ScaleUse, scale_use, sos_parameter
from analysis.statistics.agreement.self_consistency import (
    SelfConsistency,
    repeat_pairs,
    self_consistency,
)
from analysis.statistics.agreement.versus_rest import VersusRest, rest_means, versus_rest
from analysis.statistics.intervals import holm

if TYPE_CHECKING:
    import pandas as pd


MOST_REST_DRAWN = 25
MANY_RATERS, VERY_MANY_RATERS = 100, 2000
ROUNDS = 300  # of the subject model; what has not settled by then is said
MANY = 10  # raters of whom the outermost tenths are not shown
AGAINST = 0.0  # agreement at or below it: as good as none
REST_COLUMNS = (
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
REST_METHODS = (
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
        return Content([f"No rater can be compared with the rest: {_why(measures)}."])
    sided = not rated.sides_by_name
    model = subject_model(*ratings, level=level, rounds=ROUNDS, sided=sided)
    unbiased = subject_model(*ratings, level=level, rounds=ROUNDS, sided=sided, unbiased=True)
    rows = merge_measures(measures, model, unbiased)
    known = [row for row in rows if row["plcc"] is not None]
    note, heading = _note(categories, bool(steps), model), "Each rater against the rest"
    if rated.sides_by_name:
        note += f" Bias is not given: {NO_SIDE}."
    return Content(
        sentences=_rest_sentences(known, family.n_raters),
        figures=_figures(title, rows),
        tables=[Table("versus-rest", heading, REST_COLUMNS, rows, note, about=title, folded=True)],
        warnings=_warnings(known, level),
        methods=[REST_METHODS],
    )


def merge_measures(
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


def _rest_sentences(known: Sequence[Mapping[str, Any]], n_raters: int) -> list[str]:
    if not known:
        return []
    plcc = np.array([row["plcc"] for row in known])
    low, middle, high, whom = inner_range(plcc)
    text = (
        f"A rater's answers correlate with the mean of the others at a median of {middle:.2f} "
        f"(PLCC; {whom} between {low:.2f} and {high:.2f}; {counted(n_raters, 'rater')})."
    )
    return [text.replace("-0", "−0")]


def _warnings(known: Sequence[Mapping[str, Any]], level: float) -> list[str]:
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
            f"{len(clear)} of {n} raters {'goes' if len(clear) == 1 else 'go'} clearly against the "
            f"others (interval of PLCC below 0; about {n * (1 - level) / 2:.0f} would by chance if "
            f"no rater agreed): {listed(clear)}. Did they take the scale the wrong way round?"
        )
    if opposed and len(opposed) > len(clear):
        warnings.append(
            f"{len(opposed)} of {n} raters {'has' if len(opposed) == 1 else 'have'} a PLCC at or "
            "below 0; few shared clips make that happen to honest raters too, so look before you "
            "leave anybody out."
        )
    return warnings


def _figures(title: str, rows: Sequence[Mapping[str, Any]]) -> list[Figure]:
    known = sorted(
        (row for row in rows if row["plcc"] is not None),
        key=lambda row: (row["plcc"], row["rater"]),
    )
    figures = []
    if known:
        cut = len(known) - MOST_REST_DRAWN
        lowest = [
            {"name": row["rater"], "value": row["plcc"]}
            | {"low": row["plcc_interval_low"], "high": row["plcc_interval_high"]}
            for row in known[:MOST_REST_DRAWN]
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
                note=f"The {MOST_REST_DRAWN} lowest; {cut} more are in the table." * (cut > 0),
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
        "agreement itself, so it has no noise ceiling."
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


NO_SIDE = "no condition is in every pair, so the scores of the pairs have no common direction"
STRETCHES = 10  # of a session, for the figure
FIFTHS = 5  # of a session, for traps
TRIALS = 10  # a trend is told per so many
NOTICEABLE = 0.05  # of the scores' range, from the first to the last trial
EFFECTS = (
    Column("measure", "Effect"),
    Column("value", "Value", "number", sign=True),
    Column("interval", "Interval", "interval"),
    Column("n_raters", "Raters", "count"),
    Column("n_ratings", "Ratings", "count"),
    Column("note", "Note"),
)
PLACES = (
    Column("place", "Trials"),
    Column("value", "Traps passed", "percent"),
    Column("passed_percent", "Interval, %", "interval", 0),
    Column("n_raters", "Raters", "count"),
    Column("n_ratings", "Traps", "count"),
    Column("note", "Note"),
)
ORDER_METHODS = (
    "The trend over trials and the carry-over from the clip before (its mean by the other raters; "
    "above 0: assimilation, below 0: contrast) are slopes within raters and clips, clustered over "
    "raters."
)


def effects_of_order(each: FamilyInput) -> Content:
    """Effects of time and order on the ratings of one family."""
    rated, level, title = rated_units(each.family), each.level, each.title
    columns = (rated.unit, rated.rater, rated.score)
    rows, sentences, warnings, figures = [], [], [], []
    if rated.sides_by_name:
        sentences.append(f"No effects of order are given: {NO_SIDE}.")
    elif not np.isnan(rated.position).all():
        slope = trend(*columns, rated.position, level=level)
        rows.append(_order_row(slope, f"Change of a rating over {TRIALS} trials", TRIALS))
        before = carry_over(
            rated.unit, rated.rater, rated.session, rated.score, rated.position, level=level
        )
        rows.append(_order_row(before, "Change per score unit that the clip before was better"))
        sentences += _trend_in_words(slope)
        warnings += _strong(slope, rated)
        figures = _order_figure(title, rated, level)
    tables = []
    if rows:
        tables.append(Table("order", "Fatigue and order", EFFECTS, rows, about=title))
    tables += _traps(each)
    return Content(sentences, figures, tables, warnings, [ORDER_METHODS] if rows else [])


def stretches(position: Floats, count: int) -> tuple[Codes, list[tuple[int, int]]]:
    """For each position (n,) its stretch of the session, and the first and last trial of each.

    Up to ``count`` stretches with about as many ratings in each: fewer raters come far.
    """
    cuts = np.quantile(position, np.arange(1, count) / count, method="higher")
    _, stretch = np.unique(np.searchsorted(cuts, position, side="right"), return_inverse=True)
    ends = []
    for code in range(int(stretch.max()) + 1):
        mine = position[stretch == code]
        ends.append((int(mine.min()), int(mine.max())))
    return stretch.astype(np.int64), ends


def _order_figure(title: str, rated: Rated, level: float) -> list[Figure]:
    """How far ratings lie from what others gave the same clips, over the session."""
    ratings = coded(rated.unit, rated.rater, rated.score)
    apart = ratings.y - rest_means(ratings)
    known = ~np.isnan(rated.position) & ~np.isnan(apart)
    if not known.any():
        return []
    stretch, ends = stretches(rated.position[known], STRETCHES)
    rows: list[dict[str, Any]] = []
    for place in by_position(stretch, rated.rater[known], apart[known], level=level):
        first, last = ends[int(place.place)]
        numbers = {"low": place.low, "high": place.high}
        counts = {"n_ratings": place.n_ratings, "n_raters": place.n_raters}
        x = (first + last) / 2
        rows.append({"group": "all raters", "x": x, "y": place.value, **numbers, **counts})
    if len(rows) < 2:
        return []
    return [
        Figure(
            "over-trials",
            "Ratings over the session",
            "lines",
            rows,
            x="Trial",
            y="Above what others gave the same clips",
            at=(0.0,),
            note="Each point holds about as many ratings; later ones fewer raters.",
            about=title,
        )
    ]


def _order_row(effect: Agreement, words: str, times: float = 1) -> dict[str, Any]:
    row = {"measure": words, **plain_row(effect)}
    for name in ("value", "low", "high"):
        row[name] = None if row[name] is None else row[name] * times
    return row


def _trend_in_words(slope: Agreement) -> list[str]:
    if slope.value is None:
        return []
    change = number(slope.value * TRIALS, True, 3)
    if slope.low is None or slope.high is None:
        return [f"Ratings change by {change} over {TRIALS} trials ({slope.note})."]
    ends = interval_text(slope.low * TRIALS, slope.high * TRIALS, None, 3)
    size = f"{change} over {TRIALS} trials {ends}"
    if slope.low <= 0 <= slope.high:
        return [f"No trend of the ratings over the session is seen ({size})."]
    way = "fall" if slope.value < 0 else "rise"
    return [f"For the same clips, ratings {way} over the session, by {size}."]


def _strong(slope: Agreement, rated: Rated) -> list[str]:
    if slope.value is None or slope.low is None or slope.high is None:
        return []
    spread, length = float(np.ptp(rated.score)), float(np.nanmax(rated.position))
    least = min(abs(slope.low), abs(slope.high)) * length
    if slope.low <= 0 <= slope.high or least < NOTICEABLE * spread:
        return []
    return [
        f"from the first to the last trial a rating moves by {least:.2f} or more. That biases no "
        "comparison as long as each rater hears the conditions in random order."
    ]


def _traps(each: FamilyInput) -> Sequence[Table]:
    """The share of traps passed over the session, once per task (its first criterion)."""
    table = before_rules(each.inputs.table, each.family)
    answered = table["trap_passed"].notna() & table["position"].notna()
    use = table[answered & ~table["trap"].isin(["", TRAINING])]
    if len(use) < FIFTHS:
        return []
    stretch, ends = stretches(numbers(use, "position"), FIFTHS)
    passed = use["trap_passed"].astype(bool).to_numpy().astype(np.float64)
    raters = use["rater"].to_numpy(dtype=object)
    rows = []
    for place in by_position(stretch, raters, passed, level=each.level):
        first, last = ends[int(place.place)]
        name = f"{first}–{last}" if last > first else str(first)
        row = plain_row(place)
        for end in ("low", "high"):  # a t interval of a share may run past its ends
            bound = row[end]
            row[f"passed_percent_{end}"] = None if bound is None else 100 * min(max(bound, 0), 1)
        rows.append({**row, "place": name})
    note = "All raters, those included whom the rules leave out. Intervals are cut at 0 and 100 %."
    about = f"Traps · {each.family.group['task']}"
    return [Table("traps", "Traps passed over the session", PLACES, rows, note, about)]


QUICK_MS = 1000.0
HASTY_SHARE = 0.2
FAR_OUT = -3.0
MOST_ORDER_DRAWN = 25
TRIAL = ["session", "rater", "block", "position"]
ORDER_COLUMNS = (
    Column("rater", "Rater"),
    Column("n_ratings", "Trials", "count"),
    Column("typical_s", "Typical, s", "number", 1),
    Column("typical_s_interval", "Interval", "interval", 1),
    Column("median_s", "Median, s", "number", 1),
    Column("quick", "Under 1 s", "percent"),
    Column("z", "Against the panel (z)", "number", 1, sign=True),
    Column("speeding_up", "Last third / first", "number", 2),
    Column("note", "Note"),
)
NOTE = (
    "Typical: geometric mean. z: log time against the panel's median in robust SDs, below 0 is "
    "faster. Last third / first: below 1 the rater got faster. A trial counts once, however many "
    "clips or criteria it has."
)
METHODS = (
    "Answer times are summarised per rater by their geometric mean; haste is the share of answers "
    "under 1 s and the robust z of the mean log time over raters (1.4826 MAD)."
)


def answer_times(inputs: PartInput) -> Iterator[Content]:
    """The pace of the raters of each task that has answer times."""
    timed = inputs.ratings[inputs.ratings["latency_ms"].notna()]
    several = timed["study"].nunique() > 1
    for (study, task), rows in timed.groupby(["study", "task"], sort=True):
        title = f"{study} · {task}" if several else str(task)
        yield _of_task(title, trials(rows), inputs.options.level)


def trials(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per trial: a trial of several clips or criteria has one answer time."""
    placed = rows["position"].notna()
    return rows[~(placed & rows.duplicated(TRIAL))]


def _of_task(title: str, rows: pd.DataFrame, level: float) -> Content:
    paces = pace_of_raters(
        rows["rater"].to_numpy(dtype=object),
        numbers(rows, "latency_ms"),
        numbers(rows, "position") if rows["position"].notna().all() else None,
        quick_ms=QUICK_MS,
        level=level,
    )
    about = f"Answer times · {title}"
    table = [
        {
            **pace.row(),
            "typical_s": pace.typical_ms / 1000,
            "typical_s_interval_low": _seconds(pace.low_ms),
            "typical_s_interval_high": _seconds(pace.high_ms),
            "median_s": pace.median_ms / 1000,
        }
        for pace in paces
    ]
    typical = np.array([pace.typical_ms for pace in paces]) / 1000
    low, middle, high, whom = inner_range(typical)
    sentences = [
        f"{family_prefix(title)}a typical answer takes {middle:.1f} s ({whom} between {low:.1f} "
        f"and {high:.1f} s)."
    ]
    changes = np.array([p.speeding_up for p in paces if p.speeding_up is not None])
    if len(changes) > 2:
        change = float(np.median(changes))
        faster = "faster" if change < 1 else "slower"
        sentences.append(
            f"{family_prefix(title)}from the first to the last third of their trials raters become "
            f"{abs(1 - change):.0%} {faster} in the median."
        )
    return Content(
        sentences=sentences,
        figures=_pace_figure(about, paces),
        tables=[
            Table("pace", "Answer times", ORDER_COLUMNS, table, NOTE, about=about, folded=True)
        ],
        warnings=_hasty(title, paces),
        methods=[METHODS],
    )


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _pace_figure(about: str, paces: Sequence[Pace]) -> list[Figure]:
    """The fastest raters; nothing where everybody takes the same time."""
    fastest = sorted(paces, key=lambda pace: (pace.typical_ms, pace.rater))
    if fastest[0].typical_ms == fastest[-1].typical_ms:
        return []
    cut = len(fastest) - MOST_ORDER_DRAWN
    note = f"The {MOST_ORDER_DRAWN} fastest; {cut} more are in the table." if cut > 0 else ""
    rows = [
        {"name": pace.rater, "value": pace.typical_ms / 1000}
        | {"low": _seconds(pace.low_ms), "high": _seconds(pace.high_ms)}
        for pace in fastest[:MOST_ORDER_DRAWN]
    ]
    title = "Typical answer time of each rater, the fastest first"
    return [Figure("pace", title, "intervals", rows, x="Seconds", note=note, about=about)]


def _hasty(title: str, paces: Sequence[Pace]) -> list[str]:
    hasty = [
        pace.rater
        for pace in paces
        if pace.quick > HASTY_SHARE or (pace.z is not None and pace.z < FAR_OUT)
    ]
    if not hasty:
        return []
    return [
        f"{family_prefix(title)}{len(hasty)} of {len(paces)} raters are hasty (over "
        f"{HASTY_SHARE:.0%} of answers under {QUICK_MS / 1000:g} s, or far faster than the "
        f"panel): {first_of(hasty)}."
    ]


class Result(Protocol):
    """What has an interval and can be a row."""

    def row(self) -> dict[str, Any]: ...


def before_rules(table: pd.DataFrame, family: Family) -> pd.DataFrame:
    """The family's rows of the whole table, with traps, repeats and what the rules leave out."""
    same = table["estimand"] == family.estimand
    for name, value in family.group.items():
        same &= table[name] == value
    return table[same]


def plain_row(result: Result) -> dict[str, Any]:
    """A result as a row, in which ``made_by`` names how its interval was made."""
    row = result.row()
    made_by = row.pop("interval")
    return {**row, "made_by": made_by}


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
        "pairs as independent. The correlation is of raters with themselves, so it "
        "has no noise ceiling."
    )
    return Content(
        sentences=[_sentence(by_rater[0])],
        tables=[Table("repeats", "Repeated clips", REPEAT_COLUMNS, rows, note, title, folded=True)],
        methods=[REPEAT_METHODS],
    )


def _step(family: Family) -> float:
    """One step of the scale; a twentieth of its range on a slider."""
    score = family.table["score"].to_numpy(dtype=np.float64)
    steps = steps_of(score, family.estimand)
    if len(steps) > 1:
        return float(steps[1] - steps[0])
    return float(np.ptp(score)) / 20


def _sentence(all_raters: SelfConsistency) -> str:
    same = (
        f"Asked again, raters gave the same answer within {all_raters.tolerance:g} in "
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
        _use_row(use, names) | {"half_steps_p_holm": p}
        for use, p in zip(uses, adjusted, strict=True)
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
        sentences=_use_sentences(uses, halves, adjusted),
        figures=[_scale_figure(title, uses, names)],
        tables=[Table("use", "Use of the scale", columns, rows, note, about=title, folded=True)],
        warnings=_use_warnings(uses),
        methods=["Use of the scale is shown as each rater's share of ratings on each step."],
    )


def _use_row(use: ScaleUse, names: Sequence[str]) -> dict[str, Any]:
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


def _use_sentences(
    uses: Sequence[ScaleUse], halves: bool, adjusted: Sequence[float | None]
) -> list[str]:
    means = np.array([use.mean for use in uses])
    if np.ptp(means) <= EQUAL:  # of one rater, or of ranks
        whose = "The rater's own mean" if len(means) == 1 else "Every rater's own mean"
        sentences = [f"{whose} is {means[0]:.2f}."]
    else:
        sentences = [
            f"Raters' own means lie between {means.min():.2f} and {means.max():.2f} "
            f"(SD {np.std(means, ddof=1):.2f} over {len(means)} raters)."
        ]
    if halves:
        never = sum(use.half_steps == 0 and use.n_ratings >= FEW for use in uses)
        avoid = sum(p is not None and p < 0.05 for p in adjusted)
        sentences.append(
            f"{never} of {len(uses)} raters gave {FEW} ratings or more and never a half step; "
            f"{avoid} use half steps clearly less than the others (Holm, 5 %)."
        )
    return [text.replace(" -", " −") for text in sentences]


def _use_warnings(uses: Sequence[ScaleUse]) -> list[str]:
    stuck = [use.rater for use in uses if use.sd == 0 and use.n_ratings >= FEW]
    if not stuck:
        return []
    return [
        f"{counted(len(stuck), 'rater')} gave one score throughout, {FEW} times or more: "
        f"{first_of(stuck)}."
    ]


MOST_SPREAD_DRAWN = 200
FEWEST_STEPS = 4  # on three or two the mean alone fixes most of the variance
CURVE = 21  # points of the parabola
SPREAD_COLUMNS = (
    Column("measure", "Parameter"),
    Column("value", "Value", "number"),
    Column("interval", "Interval", "interval"),
    Column("n_units", "Clips", "count"),
    Column("n_ratings", "Ratings", "count"),
    Column("note", "Note"),
)
SPREAD_METHODS = (
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
    table = Table("sos", "Spread of opinions (SOS)", SPREAD_COLUMNS, [row], about=title)
    if fit.a.value is None:
        return Content(tables=[table])
    interval = ""
    if fit.a.low is not None and fit.a.high is not None:
        interval = f" {interval_text(fit.a.low, fit.a.high, None, 3)}"
    return Content(
        sentences=[
            f"The SOS parameter a is {fit.a.value:.3f}{interval}; the larger it is, the less "
            "raters are of one mind about a clip."
        ],
        figures=[_spread_figure(title, fit.mean, fit.variance, fit.parabola, fit.a.value)],
        tables=[table],
        methods=[SPREAD_METHODS],
    )


def _spread_figure(
    title: str, mean: Floats, variance: Floats, parabola: Floats, a: float
) -> Figure:
    order = np.lexsort((variance, mean))
    note = "One point per clip with two ratings or more."
    if len(order) > MOST_SPREAD_DRAWN:
        order = order[
            np.unique(np.linspace(0, len(order) - 1, MOST_SPREAD_DRAWN).round().astype(int))
        ]
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
    sampled = True

    def applies(self, inputs: PartInput) -> bool:
        return len(inputs.ratings) > 0

    def of_family(self, each: FamilyInput) -> Content:
        """The sentences about a family are one paragraph, its title said once."""
        contents = []
        for step, make in enumerate(STEPS):
            each.progress(step / len(STEPS))
            contents.append(make(each))
        content = together(contents)
        prefix = family_prefix(each.title)
        return replace(
            content,
            sentences=[f"{prefix}{' '.join(content.sentences)}"] if content.sentences else [],
            warnings=[f"{prefix}{text}" for text in content.warnings],
        )

    def of_all(self, contents: Sequence[Content], inputs: PartInput) -> Content:
        inputs.progress(0.9, "answer times")
        content = together([*contents, *answer_times(inputs)])
        if not content.tables and not content.sentences:
            return Content(["There are too few ratings to say anything of single raters."])
        return add_family_titles(content) if len(contents) > 1 else content
