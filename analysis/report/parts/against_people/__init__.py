"""Every metric against every human estimate: correlations, errors, ceilings, preferences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from analysis.citations import cite
from analysis.formatting import listed
from analysis.name_spans import family_prefix
from analysis.ratings.breakdowns import families
from analysis.ratings.estimands import name_of
from analysis.ratings.metric_scores import reasons
from analysis.report.content import Content, Figure, add_family_titles, together
from analysis.report.part import Part, PartInput
from analysis.report.parts.against_people.metric_data import FamilyScores, family_scores, metrics_in
from analysis.report.parts.against_people.metric_tables import (
    FEW,
    NAMES,
    PLURALS,
    Ceilings,
    CeilingsFor,
    ceiling_table,
    ceilings_of,
    correlation_table,
    holm_of,
    mapped_table,
    number_table,
    order_metrics,
    point_rows,
    point_table,
    preferences,
    top_of,
    words_of,
)
from analysis.statistics.metric_agreement.metric_correlations import (
    AS_IS,
    FEW_CONDITIONS,
    FEWEST,
    MetricCorrelation,
)
from analysis.statistics.metric_agreement.metric_units import CONDITION, STIMULUS

METHODS = (
    "Metrics were compared with mean human scores per clip, per clip within conditions and per "
    "condition (SRCC, PLCC, KRCC: Spearman, Pearson, Kendall's tau-b). Intervals are percentiles "
    "of a bootstrap that draws raters and items with replacement, independently "
    f"{cite('owen2007')}, and computes the human means anew; it is centred on the value found, "
    "because means of drawn raters are noisier: coefficients on Fisher's scale (PLCC over n "
    "conditions widened by the root of n / (n - 2)), errors as they are, widened by t over z for "
    "few raters or items. p values are adjusted over the metrics of a task and criterion "
    f"{cite('holm1979')}. The noise ceiling is the root of the Spearman-Brown corrected "
    "correlation between halves of the raters, over the clips that a metric scored. Errors are "
    f"given after a monotonic third-order mapping {cite('itu_p1401')} where at least {FEWEST} "
    "scores allow one."
)
METHODS_OF_PAIRS = (
    "Coefficients of comparisons of pairs, and their noise ceiling, count each pair in both "
    "orders: the difference of the metric and the mean preference, and both with the other sign. "
    "They do not depend on which system is named first. Their intervals are widened as for the "
    "fewer of raters and items (t over z), per pair of conditions also by the root of S / (S - 2) "
    "for S systems; p per pair of conditions is from exchanging systems."
)


class AgainstPeople(Part):
    """Each metric's correlation with people, with intervals, noise ceiling, errors and plots."""

    key = "against_people"
    version = "5"
    title = "Metrics and human scores"
    order = 45
    apart = True

    def applies(self, inputs: PartInput) -> bool:
        return len(inputs.ratings) > 0 and bool(metrics_in(inputs))

    def make(self, inputs: PartInput) -> Content:
        every = list(families(inputs.ratings))
        contents = []
        for place, family in enumerate(every):
            inputs.progress(place / len(every), str(family.group["criterion"]))
            contents.append(
                _of_family(
                    family_scores(family, inputs), inputs, f"_{place + 1}" * (len(every) > 1)
                )
            )
        if not any(each.tables for each in contents):
            raise ValueError(
                "No rated stimulus has a metric score. Score the study's clips, or give them the "
                "same names in the scores as in the ratings (column stimulus)."
            )
        shown = together(contents)
        return add_family_titles(shown) if len(every) > 1 else shown


def _of_family(scores: FamilyScores, inputs: PartInput, suffix: str) -> Content:
    prefix = family_prefix(scores.title)
    if not scores.values:
        return Content(warnings=[f"{prefix}no clip that was rated here has a metric score."])
    ceilings = ceilings_of(scores, inputs)
    preferred = preferences(scores, ceilings, inputs, suffix)
    tables = [
        correlation_table(scores, ceilings.for_metric, suffix),
        *preferred.tables,
        *mapped_table(scores, suffix),
        *ceiling_table(scores, ceilings, suffix),
        point_table(scores, suffix),
        number_table(scores, ceilings.for_metric, suffix),
    ]
    own = [f"{prefix}{text}" for text in sentences(scores, ceilings.for_metric)]
    warned = [*warnings(scores, inputs), *unscored_metrics(scores, inputs)]
    return Content(
        sentences=[*own, *preferred.sentences],
        figures=list(figures(scores, ceilings.for_metric, suffix)),
        tables=tables,
        warnings=[f"{prefix}{text}" for text in warned],
        methods=[METHODS, *[METHODS_OF_PAIRS] * scores.units.signed],
    )


TOO_FEW_CONDITIONS, FEW_ITEMS = 5, 5
_MOST_NAMED = 3


def sentences(scores: FamilyScores, ceilings: CeilingsFor) -> Iterator[str]:
    """Which metric follows people most closely, how close a perfect one could come, and Holm's."""
    names = order_metrics(scores)
    first = scores.number(names[0], STIMULUS, "srcc", AS_IS)
    what = words_of(STIMULUS, scores)
    if first is None or first.value is None:
        yield f"no metric has a defined correlation with human ratings per {what}."
        return
    if first.n < FEW:
        plural = PLURALS[what]
        yield (
            f"{first.n} {plural} are too few to say how metrics correlate with human ratings: "
            f"{FEW} or more are needed. The table has their correlations and intervals."
        )
        return
    best = scores.called(names[0])
    among = f"of {len(names)} metrics, {best}" if len(names) > 1 else best
    closely = " most closely" if len(names) > 1 else ""
    sentence = f"{among} correlates{closely} with human ratings per {what}: "
    sentence += f"{_value_words(first)} over {first.n}"
    sentence += _clear(first) + _rivals(scores, names, first)
    own = ceilings(names[0])
    top = top_of(own, STIMULUS, "srcc")["ceiling"]
    if top is not None:
        sentence += f"; with this rating noise a perfect metric could reach about {top:.2f}"
    of_conditions = scores.number(names[0], CONDITION, "srcc", AS_IS)
    if of_conditions is not None and of_conditions.value is not None:
        kinds = "pairs of conditions" if scores.units.compared else "conditions"
        sentence += f". Over these {of_conditions.n} {kinds} it has {_value_words(of_conditions)}"
        sentence += _reachable(own)
        sentence += _elsewhere(of_conditions, kinds)
    yield f"{sentence}."
    if len(names) > 1:
        yield _told_apart(scores, names, what)


def _rivals(scores: FamilyScores, names: Sequence[str], first: MetricCorrelation) -> str:
    """How many other metrics may go with people as closely: their intervals reach its own."""
    if first.low is None or first.high is None or first.low <= 0 <= first.high:
        return ""
    floor = min(abs(first.low), abs(first.high))
    others = [scores.number(name, STIMULUS, "srcc", AS_IS) for name in names[1:]]
    known = [each for each in others if each and each.low is not None and each.high is not None]
    near = sum(max(abs(each.low or 0), abs(each.high or 0)) >= floor for each in known)
    if not near:
        return ""
    return f"; {near} other{'s' * (near > 1)} may as well: their intervals reach its own"


def _reachable(own: Ceilings) -> str:
    """What a perfect metric could reach per condition, or that nobody knows."""
    top = top_of(own, CONDITION, "srcc")["ceiling"]
    return " (no ceiling is known)" if top is None else f" of about {top:.2f} that can be reached"


def _told_apart(scores: FamilyScores, names: Sequence[str], what: str) -> str:
    """How many metrics go with people beyond chance, of those that have a p; and who has none."""
    adjusted = holm_of(scores.correlations)
    p = {name: adjusted.get((name, STIMULUS, "srcc")) for name in names}
    tested = [each for each in p.values() if each is not None]
    if not tested:
        return f"no metric has a p of its SRCC per {what}; {_without(scores, names)}."
    clear = sum(each < 1 - scores.level for each in tested)
    bare = [name for name in names if p[name] is None]
    return (
        f"{clear} of {len(tested)} metrics have an SRCC per {what} significantly different from 0 "
        "after Holm's adjustment over all metrics of this task and criterion"
        f"{f' ({_without(scores, bare)})' * bool(bare)}. The best of several metrics is flattered "
        "by being chosen from the same ratings."
    )


def _without(scores: FamilyScores, names: Sequence[str]) -> str:
    """Metrics that have no p, with why: they are not counted as if they did not go with people."""
    why: dict[str, list[str]] = {}
    for name in names:
        each = scores.number(name, STIMULUS, "srcc", AS_IS)
        note = each.note.removeprefix("undefined: ") if each else ""
        why.setdefault(note or "its replicates tell none", []).append(scores.called(name))
    reasons = [f"{', '.join(group)}: {note}" for note, group in why.items()]
    return f"without a p and not counted, {'; '.join(reasons)}"


def _elsewhere(each: MetricCorrelation, kinds: str) -> str:
    """With few conditions, the interval for other ones too, which is the one to read."""
    if each.n >= FEW_CONDITIONS or each.low_conditions is None or each.high_conditions is None:
        return ""
    interval = f"[{each.low_conditions:.2f}, {each.high_conditions:.2f}]".replace("-", "−")
    return f", and for other {kinds} too {interval}, as they are few"


def warnings(scores: FamilyScores, inputs: PartInput) -> Iterator[str]:
    """Few conditions, one rater, missing clips, constant metrics, metrics that go the wrong way."""
    yield from _of_the_study(scores)
    yield from _missing(scores, inputs)
    for metric in scores.metrics:
        first = scores.number(metric.name, STIMULUS, "srcc", AS_IS)
        if first is None:
            continue
        if first.value is None and first.note:
            yield f"{metric.title}: {first.note.removeprefix('undefined: ')}."
        if metric.rises is not None and _goes_against(first, metric.rises):
            ways = ("higher", "lower") if metric.rises else ("lower", "higher")
            yield (
                f"{metric.title} goes against its direction: {ways[0]} is meant to be better, and "
                f"people prefer clips where it is {ways[1]} ({_value_words(first)})."
            )


def _of_the_study(scores: FamilyScores) -> Iterator[str]:
    units = scores.units
    n = len(units.conditions)
    if n < TOO_FEW_CONDITIONS:
        one, many = ("condition", "conditions")
        if units.compared:
            one, many = ("pair of conditions", "pairs of conditions")
        why = (
            "there is no correlation over them" if n < 3 else "a correlation over them says little"
        )
        yield f"{n} {one if n == 1 else many} only, so {why}; look at the clips."
    if units.n_raters == 1:
        yield (
            "one rater only, so intervals are over items alone, there is no noise ceiling, and all "
            "is about this one person's opinion."
        )
    if units.n_items == 1:
        yield "one item only, so intervals hold for this item alone."
    elif units.n_items < FEW_ITEMS:
        yield f"{units.n_items} items only, so intervals over items are rough."
    unnamed = len(scores.family.table) - len(units.score)
    if unnamed:
        yield f"{unnamed} ratings name no stimulus and are left out here."


def _goes_against(first: MetricCorrelation, rises: bool) -> bool:
    if first.low is None or first.high is None:
        return False
    return first.high < 0 if rises else first.low > 0


def unscored_metrics(scores: FamilyScores, inputs: PartInput) -> Iterator[str]:
    """Metrics that have no value for anything that was rated here."""
    missing: dict[str, list[str]] = {}  # by why
    for metric in metrics_in(inputs):
        if metric.name not in scores.values:
            why = _reasons(scores, metric.metric, inputs)
            missing.setdefault(f" ({why})" if why else "", []).append(metric.title)
    for why, names in missing.items():
        yield f"{', '.join(names)} gave no value for any clip that was rated here{why}."


def _reasons(scores: FamilyScores, metric: str, inputs: PartInput) -> str:
    """The commonest reasons why clips have no value, each with its number."""
    assert inputs.scores is not None
    why = reasons(inputs.scores, metric, scores.units.stimuli())
    commonest = [f"{reason}: {count}" for reason, count in list(why.items())[:_MOST_NAMED]]
    return ", ".join(commonest) + (" …" if len(why) > _MOST_NAMED else "")


def _missing(scores: FamilyScores, inputs: PartInput) -> Iterator[str]:
    """Which metrics have no value for how much, and why: those alike in both in one sentence."""
    alike: dict[tuple[int, int, str], list[str]] = {}
    for metric in scores.metrics:
        first = scores.number(metric.name, STIMULUS, "srcc", AS_IS)
        if first is not None and first.n_missing:
            key = (first.n_missing, first.n, _reasons(scores, metric.metric, inputs))
            alike.setdefault(key, []).append(metric.title)
    for (missing, n, why), names in alike.items():
        inside = f" (clips, {why})" if why else ""
        have = "has" if len(names) == 1 else "have"
        yield (
            f"{listed(names)} {have} no value for {missing} of {n + missing} "
            f"{PLURALS[words_of(STIMULUS, scores)]}{inside}; they are left out."
        )


def _clear(first: MetricCorrelation) -> str:
    """Whether the interval says which way it goes."""
    if first.low is None or first.high is None:
        return ", of which nothing more can be said"
    if first.low <= 0 <= first.high:
        return ", not significantly different from 0"
    return "" if first.high > 0 else " (the higher the metric, the worse for people)"


def _value_words(each: MetricCorrelation) -> str:
    ends = "no interval" if each.low is None else f"[{each.low:.2f}, {each.high:.2f}]"
    return f"SRCC {each.value:.2f} {ends}".replace("-", "−")


MOST_OF_CONDITIONS, MOST_OF_STIMULI = 2, 1  # metrics that are drawn; tables have all
MOST_POINTS = 600
MOST_GROUPS = 8


def figures(scores: FamilyScores, ceilings: CeilingsFor, suffix: str) -> Iterator[Figure]:
    """The metrics that follow people most closely, per condition and per stimulus."""
    names = order_metrics(scores)
    human = name_of(scores.units.estimand)
    if len(scores.units.conditions) > 1:
        for place, metric in enumerate(names[:MOST_OF_CONDITIONS], start=1):
            yield _of_conditions(scores, metric, human, f"{suffix}_{place}", len(names), ceilings)
    for place, metric in enumerate(names[:MOST_OF_STIMULI], start=1):
        yield _of_stimuli(scores, metric, human, f"{suffix}_{place}", ceilings)


def _of_conditions(
    scores: FamilyScores,
    metric: str,
    human: str,
    suffix: str,
    among: int,
    ceilings: CeilingsFor,
) -> Figure:
    keys = ("x", "y", "x_low", "x_high")
    rows = [
        {"name": row["condition"], **{key: row[key] for key in keys}}
        | {"low": row["y_low"], "high": row["y_high"]}
        for row in point_rows(scores, metric)
    ]
    left = among - MOST_OF_CONDITIONS
    more = f" {left} more metrics are in the table of means." if left > 0 else ""
    level = f"{scores.level * 100:g} %"
    note = f"{level} intervals: of the metric over clips, of people over raters and items."
    return Figure(
        key=f"conditions{suffix}",
        title=f"{scores.called(metric)} and people, per condition",
        drawing="scatter",
        rows=rows,
        x=f"{scores.called(metric)}, mean" + (" difference" if scores.units.compared else ""),
        y=human,
        note=f"{_coefficients_text(scores, metric, CONDITION, ceilings)}{note}{more}",
        about=scores.title,
    )


def _of_stimuli(
    scores: FamilyScores, metric: str, human: str, suffix: str, ceilings: CeilingsFor
) -> Figure:
    units, values = scores.units, scores.values[metric]
    held = np.flatnonzero(np.isfinite(values))
    left = len(held) - MOST_POINTS
    if left > 0:
        held = held[np.unique(np.linspace(0, len(held) - 1, MOST_POINTS).round().astype(int))]
    grouped = 1 < len(units.conditions) <= MOST_GROUPS
    names = units.names()
    rows: list[dict[str, Any]] = []
    for s in sorted(held.tolist(), key=lambda s: int(units.condition[s])):
        row: dict[str, Any] = {"title": names[s], "x": float(values[s]), "y": float(units.human[s])}
        if grouped:
            row["group"] = units.conditions[units.condition[s]]
        rows.append(row)
    drawn = f" {MOST_POINTS} of {MOST_POINTS + left} are drawn." if left > 0 else ""
    return Figure(
        key=f"stimuli{suffix}",
        title=f"{scores.called(metric)} and people, per {scores.what}",
        drawing="scatter",
        rows=rows,
        x=scores.called(metric) + (", difference" if units.compared else ""),
        y=f"{human}, mean of the {scores.what}",
        note=f"{_coefficients_text(scores, metric, STIMULUS, ceilings)}"
        f"Every point is a {scores.what}.{drawn}",
        about=scores.title,
    )


def _coefficients_text(scores: FamilyScores, metric: str, unit: str, ceilings: CeilingsFor) -> str:
    """The coefficients, each beside what a perfect metric could reach."""
    coefficients = []
    for name in ("srcc", "plcc"):
        number = scores.number(metric, unit, name, AS_IS)
        if number is None or number.value is None:
            return ""
        top = top_of(ceilings(metric), unit, name)["ceiling"]
        reach = "ceiling not known" if top is None else f"ceiling {top:.2f}"
        coefficients.append(f"{NAMES[name]} {number.value:.2f} ({reach})")
    return f"{', '.join(coefficients)}. ".replace("-", "−")
