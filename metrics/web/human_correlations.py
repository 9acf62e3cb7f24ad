"""What the metrics page says first: which metric goes with raters, how far, and where they differ.

The numbers are those of the study's newest analysis; who has it answers a signal.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.core.cache import cache

from listening.common.signals import metrics_beside_raters
from metrics.scoring.selectors import score_rows

MOST_METRICS = 8  # of one task and criterion; the results have all
MOST_CLIPS = 4  # at either end
KEPT_S = 24 * 3600

Values = Callable[[str], Mapping[str, float | None]]


def correlations_with_raters(
    study: str,
    odd: Mapping[str, Sequence[str]] | None = None,
    titles: Mapping[str, str] | None = None,
) -> dict[str, Any] | None:
    """Per task and criterion: sentences, metrics, and clips to hear; None without an analysis.

    ``odd``: what is odd about the audio of clips, by stimulus. ``titles``: of metrics that the
    analysis knows by their keys alone.
    """
    answers: list[Any] = [each for _, each in metrics_beside_raters.send(__name__, study_key=study)]
    analysis: dict[str, Any] | None = next((each for each in answers if each is not None), None)
    if analysis is None:
        return None
    run = analysis["run"]

    def values(metric: str) -> dict[str, float | None]:
        key = f"beside-values-{study}-{run}-{hashlib.sha256(metric.encode()).hexdigest()}"
        cached: dict[str, float | None] | None = cache.get_or_set(
            key, lambda: values_of(study, metric), KEPT_S
        )
        return cached or {}

    named = [with_titles(family, titles or {}) for family in analysis["families"]]
    families = [page_family(family, values) for family in named]
    for clip in (each for family in families for _, clips in family["clips"] for each in clips):
        clip["odd"] = list((odd or {}).get(clip["stimulus"], ()))
    return {**analysis, "families": families}


def with_titles(family: Mapping[str, Any], titles: Mapping[str, str]) -> dict[str, Any]:
    """A family of which metrics that have no title have those of the study's scores."""
    metrics = [
        {**each, "title": titles.get(each["metric"], each["title"])}
        if each["title"] == each["metric"]
        else each
        for each in family["metrics"]
    ]
    return {**family, "metrics": metrics}


def values_of(study: str, metric: str) -> dict[str, float | None]:
    """What the metric of this label says of each stimulus that has a score."""
    return {row["stimulus"]: row["value"] for row in score_rows(study, metric)}


def page_family(family: Mapping[str, Any], values: Values) -> dict[str, Any]:
    """One task and criterion as the page has it; ``values``: of a metric, by stimulus."""
    known = rank_metrics(family["metrics"])
    others = [each for each in family["metrics"] if each not in known]
    metrics = [*known, *sorted(others, key=lambda each: not each["directed"])]
    clips = clips_apart(points_of(family, known, values), known)
    return {
        **family,
        "sentence": sentence(family, known),
        "rivals": rivals(known),
        "metrics": [{**each, "said": format_numbers(each)} for each in metrics[:MOST_METRICS]],
        "more_metrics": max(0, len(metrics) - MOST_METRICS),
        "best": known[0]["title"] if known else "",
        "clips": clips,
        "no_clips": "" if clips or not known else why_no_clips(family),
        "cut": "are drawn" in family["drawn"],
        "described": any(each["directed"] for each in known)
        and not all(each["directed"] for each in family["metrics"]),
    }


def why_no_clips(family: Mapping[str, Any]) -> str:
    """Why no clip is named on which metric and raters differ."""
    if family["unit"] == "pair":
        return "Raters compared pairs, so clips with the largest differences are not listed."
    return (
        f"Clips with the largest differences are listed if at least {2 * MOST_CLIPS} clips have a "
        "score and ratings."
    )


def rank_metrics(metrics: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those that may be said to agree with raters, in order.

    Levels, F0 and whatever else declares no better way describe a clip and are no opinion of it:
    they come after those that do, and are ranked only where there is nothing else.
    """
    known = [each for each in metrics if each["srcc"] is not None and not each["against"]]
    return [each for each in known if each["directed"]] or known


def points_of(
    family: Mapping[str, Any], known: Sequence[Mapping[str, Any]], values: Values
) -> list[dict[str, Any]]:
    """The clips that the analysis draws, with the first metric beside what raters gave.

    It may draw another one's, which goes farther but against its direction.
    """
    if family["unit"] == "pair" or not known:
        return []
    best = known[0]["metric"]
    if family["drawn_title"] in (best, known[0]["title"]):
        return list(family["points"])
    own = values(best)
    points = ({**point, "x": own.get(point["title"])} for point in family["points"])
    return [point for point in points if point["x"] is not None]


def sentence(family: Mapping[str, Any], known: Sequence[Mapping[str, Any]]) -> str:
    """Which metric agrees best, and by how much less than raters among themselves."""
    unit = family["unit"]
    if not known:
        if any(each["against"] for each in family["metrics"]):
            return "No metric correlates with raters in the expected direction."
        return f"No metric has a defined correlation with raters per {unit}."
    best, top = known[0], known[0]["ceiling"]
    units = "pairs" if unit == "pair" else "stimuli"
    if best["n"] < family["fewest"]:
        return (
            f"{best['n']} {units} are too few to compare metrics with raters. At least "
            f"{family['fewest']} are needed."
        )
    correlation = f"SRCC {format_estimate(best['srcc'], best['srcc_low'], best['srcc_high'])} over "
    correlation += f"{best['n']} {units}"
    if best["srcc_low"] is not None and min(magnitudes(best)) <= 0:
        return (
            f"{best['title']} has the largest correlation with raters, but it is not "
            f"significantly different from 0: {correlation}.{reachable(top)}"
        )
    agrees = ""
    if len(known) > 1:
        agrees = " has the largest correlation" if rivals(known) else " correlates best"
        agrees += " with raters"
    text = f"{best['title']}{agrees}: {correlation}."
    if top is None:
        return f"{text}{reachable(None)}"
    text += " The human noise ceiling is "
    text += format_estimate(top["value"], top["low"], top["high"])
    behind = best["gap"]
    if behind is None:
        return f"{text}. The metric has no confidence interval, so the gap cannot be tested."
    apart = format_estimate(behind["value"], behind["low"], behind["high"])
    if behind["low"] > 0:
        return f"{text}. The metric is below it by {apart}."
    return f"{text}. The metric is not significantly below it (gap {apart})."


def reachable(top: Mapping[str, Any] | None) -> str:
    """What a perfect metric could reach, as a sentence after another one."""
    if top is None:
        return " There are too few raters to estimate the human noise ceiling."
    return f" The human noise ceiling is {format_estimate(top['value'], top['low'], top['high'])}."


def rivals(known: Sequence[Mapping[str, Any]]) -> list[str]:
    """The metrics that may be as good as the first: none of them is shown to be best.

    Their interval reaches that of the first, or one of both is not known.
    """
    if not known or known[0]["srcc_low"] is None:
        return [each["title"] for each in known[1:]]
    floor = min(magnitudes(known[0]))
    return [e["title"] for e in known[1:] if e["srcc_low"] is None or max(magnitudes(e)) >= floor]


def magnitudes(metric: Mapping[str, Any]) -> tuple[float, float]:
    """The ends of a coefficient's interval, turned where the coefficient is below 0."""
    way = -1 if metric["srcc"] < 0 else 1
    return way * metric["srcc_low"], way * metric["srcc_high"]


def format_numbers(metric: Mapping[str, Any]) -> dict[str, str]:
    """A metric's correlation, its ceiling and the gap between both, with their intervals."""
    if metric["srcc"] is None:
        return {}
    texts = {"srcc": format_estimate(metric["srcc"], metric["srcc_low"], metric["srcc_high"])}
    for name in ("ceiling", "gap"):
        known = metric[name]
        texts[name] = format_estimate(known["value"], known["low"], known["high"]) if known else ""
    return texts


def format_estimate(value: float, low: float | None, high: float | None) -> str:
    """A coefficient with its interval, two decimals."""
    parts = [f"{each:z.2f}" for each in (value, low, high) if each is not None]
    words = f"{parts[0]} [{parts[1]}, {parts[2]}]" if len(parts) == 3 else parts[0]
    return words.replace("-", "−")


def clips_apart(
    points: Sequence[Mapping[str, Any]], known: Sequence[Mapping[str, Any]]
) -> list[tuple[str, list[dict[str, Any]]]]:
    """The clips that the first metric ranks highest above raters, and farthest below them.

    By the difference of ranks, which is what SRCC is made of; clips that are ranked alike are not
    among them.
    """
    if not known or len(points) < 2 * MOST_CLIPS:
        return []
    from scipy.stats import rankdata  # pages without such an analysis do not need it

    way = -1.0 if known[0]["srcc"] < 0 else 1.0
    metric = rankdata([way * point["x"] for point in points])  # ties share their mean rank
    people = rankdata([point["y"] for point in points])
    apart = [
        {
            "stimulus": str(point["title"]),
            "metric": point["x"],
            "people": point["y"],
            "apart": 100 * float(m - p) / (len(points) - 1),
        }
        for point, m, p in zip(points, metric, people, strict=True)
    ]
    apart.sort(key=lambda clip: (-clip["apart"], clip["stimulus"]))
    above = [clip for clip in apart[:MOST_CLIPS] if clip["apart"] > 0]
    below = [clip for clip in reversed(apart[-MOST_CLIPS:]) if clip["apart"] < 0]
    named = [("Metric ranks higher than raters", above), ("Metric ranks lower than raters", below)]
    return [(title, clips) for title, clips in named if clips]


SPREADS = 5.0  # robust standard deviations from the median
LEAST = 0.05  # of the median: what equal clips may differ by and not be called spread
FEWEST = 8


def far_off(values: Mapping[str, float]) -> list[tuple[str, float]]:
    """The names whose value lies over 5 robust deviations from the median, the farthest first.

    The deviation is 1.4826 times the median absolute one, at least 5 % of the median. Fewer than 8
    values say nothing. Iglewicz and Hoaglin 1993, with a wider limit: lengths have long tails.
    """
    if len(values) < FEWEST:
        return []
    middle = statistics.median(values.values())
    absolute = statistics.median(abs(value - middle) for value in values.values())
    spread = max(1.4826 * absolute, LEAST * abs(middle))
    if not spread:
        return []
    far = {name: v for name, v in values.items() if abs(v - middle) > SPREADS * spread}
    return sorted(far.items(), key=lambda item: (-abs(item[1] - middle), item[0]))
