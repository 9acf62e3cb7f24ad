"""Scores of clips summed up per condition: counts, mean, deviation, interval, pooled numbers."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev
from typing import Any

from metrics.core.metric import Metric, Output, Score
from metrics.web.synthesis_runs import OverRuns, over_runs

LEVEL = 0.95
PAST_LOW, PAST_HIGH = "◂", "▸"  # of an interval that runs past what there can be
DUST = 1e-9  # of rounding: no end of a range is passed by so little


@dataclass(frozen=True)
class Summary:
    """What one output says of one condition. The interval is of the mean, over clips.

    It treats the clips as drawn at random from those that the condition could have made; clips of
    one sentence or one speaker are more alike than that, and the interval is then too narrow.
    """

    condition: str
    n: int  # clips with a value
    n_undefined: int  # clips of which the metric has no value, with a reason
    n_failed: int  # clips that could not be scored: another run tries them again
    mean: float | None = None
    sd: float | None = None  # divides by n - 1
    low: float | None = None  # Student's t at 95 %; None with fewer than two values
    high: float | None = None
    pooled: Mapping[str, float] = field(default_factory=dict)
    reasons: Mapping[str, int] = field(default_factory=dict)
    over_runs: OverRuns | None = None  # None: one run of the synthesis


def summarise(
    scores: Iterable[tuple[str, Score]], metric: Metric | None = None, output: str = ""
) -> list[Summary]:
    """One Summary per condition, in alphabetical order, of (condition, score of one clip).

    ``metric`` pools the details of its own first output (word errors over all words).
    """
    by_condition: dict[str, list[Score]] = {}
    for condition, score in scores:
        by_condition.setdefault(condition, []).append(score)
    pools = metric is not None and output in ("", metric.key)
    return [
        _summary(condition, condition_scores, metric if pools else None)
        for condition, condition_scores in sorted(by_condition.items())
    ]


def with_runs(
    summaries: Iterable[Summary], scores: Iterable[tuple[str, str, float | None]]
) -> list[Summary]:
    """The summaries with mean ± sd over runs, of (condition, run, value of one clip)."""
    runs: dict[tuple[str, str], list[float]] = {}
    for condition, run, value in scores:
        if value is not None:
            runs.setdefault((condition, run), []).append(value)
    found = over_runs((condition, fmean(values)) for (condition, _), values in runs.items())
    return [replace(each, over_runs=found.get(each.condition)) for each in summaries]


def _summary(condition: str, scores: Sequence[Score], metric: Metric | None) -> Summary:
    values = [score.value for score in scores if score.value is not None]
    failed = sum(score.failed for score in scores)
    details = [score.details for score in scores if score.value is not None]
    low, high = interval(values)
    return Summary(
        condition=condition,
        n=len(values),
        n_undefined=len(scores) - len(values) - failed,
        n_failed=failed,
        mean=fmean(values) if values else None,
        sd=stdev(values) if len(values) > 1 else None,
        low=low,
        high=high,
        pooled=pooled(metric, details),
        reasons=dict(Counter(s.reason for s in scores if s.value is None).most_common()),
    )


def pooled(metric: Metric | None, details: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The metric's pooled numbers; none where the stored details are of an older shape."""
    if metric is None or not details:
        return {}
    try:
        return metric.pooled(details)
    except (KeyError, TypeError):
        return {}


def interval(values: Sequence[float], level: float = LEVEL) -> tuple[float | None, float | None]:
    """Student's t interval of the mean, (low, high); (None, None) with fewer than two values."""
    if len(values) < 2:
        return None, None
    return student(fmean(values), stdev(values), len(values), level)


def student(
    mean: float | None, sd: float | None, n: int, level: float = LEVEL
) -> tuple[float | None, float | None]:
    """Student's t interval of the mean of ``n`` values; (None, None) with fewer than two.

    ``sd`` divides by n - 1.
    """
    if mean is None or sd is None or n < 2:
        return None, None
    half = quantile((1 + level) / 2, n - 1) * sd / math.sqrt(n)
    return mean - half, mean + half


@functools.lru_cache(maxsize=4096)
def quantile(p: float, freedom: int) -> float:
    """Student's t quantile."""
    from scipy.stats import t

    return float(t.ppf(p, freedom))


def table(label: str, summaries: Iterable[Summary], output: Output | None = None) -> list[str]:
    """The summaries as lines of text, conditions below one another; ``output``: of whose range."""
    head = f"{label:<34} {'n':>6} {'no value':>8} {'failed':>6} {'mean':>10} {'sd':>10}"
    lines = [f"{head} {'95 % interval':>23}"]
    for each in summaries:
        span = span_of(each, output) or "-"
        lines.append(
            f"  {each.condition or '(all)':<32} {each.n:>6} {each.n_undefined:>8} "
            f"{each.n_failed:>6} {shown(each.mean):>10} {shown(each.sd):>10} {span:>23}"
        )
        lines += [f"    {name}: {shown(value)}" for name, value in each.pooled.items()]
        lines += [f"    {each.over_runs.words}"] if each.over_runs else []
    return lines


def span_of(summary: Summary, output: Output | None, digits: str = ".4g") -> str:
    """The interval as text; empty where there is none.

    An end past what the output can be is written as the most that it can be, and marked.
    """
    if summary.low is None or summary.high is None:
        return ""
    low, high = within(summary.low, output), within(summary.high, output)
    below, above = low > summary.low, high < summary.high
    return f"{PAST_LOW * below}{low:z{digits}} to {high:z{digits}}{PAST_HIGH * above}"


def within(value: float, output: Output | None) -> float:
    """A value, or the end of what the output can be where it lies beyond that."""
    if output and output.low is not None and value < output.low - DUST:
        return output.low
    if output and output.high is not None and value > output.high + DUST:
        return output.high
    return value


def runs_past(span: str) -> bool:
    """Whether an interval's text has a mark."""
    return PAST_LOW in span or PAST_HIGH in span


def shown(value: float | None) -> str:
    """A number with four digits, or a dash."""
    return "-" if value is None else f"{value:.4g}"
