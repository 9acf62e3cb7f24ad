"""Scores of clips summed up per condition: counts, mean, deviation, interval, pooled numbers.

Of clips in memory, over the runs of a synthesis, and of a study's stored scores by the database.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev
from typing import Any

from django.db import connection, transaction

from metrics.core.metric import Metric, Output, Score, canonical_parameters, outputs
from metrics.models import MetricScore
from metrics.scoring.selectors import IMPORTED, Keys, Series, series_of, study_mark

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
    by_condition = over_runs((condition, fmean(values)) for (condition, _), values in runs.items())
    return [replace(each, over_runs=by_condition.get(each.condition)) for each in summaries]


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
        pooled=pooled_numbers(metric, details),
        reasons=dict(Counter(s.reason for s in scores if s.value is None).most_common()),
    )


def pooled_numbers(metric: Metric | None, details: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The metric's pooled numbers; none where the stored details are of an older shape."""
    if metric is None or not details:
        return {}
    try:
        return metric.pooled(details)
    except (KeyError, TypeError):
        return {}


def interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Student's t interval of the mean at 95 %, (low, high); None twice below two values."""
    if len(values) < 2:
        return None, None
    return student_interval(fmean(values), stdev(values), len(values))


def student_interval(
    mean: float | None, sd: float | None, n: int
) -> tuple[float | None, float | None]:
    """Student's t interval of the mean of ``n`` values; (None, None) with fewer than two.

    ``sd`` divides by n - 1.
    """
    if mean is None or sd is None or n < 2:
        return None, None
    half = quantile((1 + LEVEL) / 2, n - 1) * sd / math.sqrt(n)
    return mean - half, mean + half


@functools.lru_cache(maxsize=4096)
def quantile(p: float, freedom: int) -> float:
    """Student's t quantile."""
    from scipy.stats import t

    return float(t.ppf(p, freedom))


def summary_lines(
    label: str, summaries: Iterable[Summary], output: Output | None = None
) -> list[str]:
    """The summaries as lines of text, conditions below one another; ``output``: of whose range."""
    head = f"{label:<34} {'n':>6} {'no value':>8} {'failed':>6} {'mean':>10} {'sd':>10}"
    lines = [f"{head} {'95 % interval':>23}"]
    for each in summaries:
        span = format_interval(each, output) or "-"
        lines.append(
            f"  {each.condition or '(all)':<32} {each.n:>6} {each.n_undefined:>8} "
            f"{each.n_failed:>6} {format_number(each.mean):>10} "
            f"{format_number(each.sd):>10} {span:>23}"
        )
        lines += [f"    {name}: {format_number(value)}" for name, value in each.pooled.items()]
        lines += [f"    {each.over_runs.words}"] if each.over_runs else []
    return lines


def format_interval(summary: Summary, output: Output | None, digits: str = ".4g") -> str:
    """The interval as text; empty where there is none.

    An end past what the output can be is written as the most that it can be, and marked.
    """
    if summary.low is None or summary.high is None:
        return ""
    low, high = clip_to_range(summary.low, output), clip_to_range(summary.high, output)
    below, above = low > summary.low, high < summary.high
    return f"{PAST_LOW * below}{low:z{digits}} to {high:z{digits}}{PAST_HIGH * above}"


def clip_to_range(value: float, output: Output | None) -> float:
    """A value, or the end of what the output can be where it lies beyond that."""
    if output and output.low is not None and value < output.low - DUST:
        return output.low
    if output and output.high is not None and value > output.high + DUST:
        return output.high
    return value


def runs_past(span: str) -> bool:
    """Whether an interval's text has a mark."""
    return PAST_LOW in span or PAST_HIGH in span


def format_number(value: float | None) -> str:
    """A number with four digits, or a dash."""
    return "-" if value is None else f"{value:.4g}"


FIRST = "1"  # the run of a clip that names none


@dataclass(frozen=True)
class OverRuns:
    """Mean and standard deviation (n - 1) of the runs' means; each run counts once."""

    runs: int
    mean: float
    sd: float

    @property
    def words(self) -> str:
        """Such as "2 runs: 3.412 ± 0.021"."""
        return f"{self.runs} runs: {self.mean:.4g} ± {self.sd:.2g}"


def over_runs(means: Iterable[tuple[str, float]]) -> dict[str, OverRuns]:
    """By condition, from (condition, one run's mean); conditions with one run are left out."""
    known: dict[str, list[float]] = {}
    for condition, mean in means:
        known.setdefault(condition, []).append(mean)
    return {
        condition: OverRuns(len(values), fmean(values), stdev(values))
        for condition, values in known.items()
        if len(values) > 1
    }


def run_name(value: object) -> str:
    """Return the name of a run; an empty one is 1."""
    return str(value or "").strip() or FIRST


MOST_VALUE = 1e100  # larger ones have no mean in double precision; nothing real is

Name = tuple[str, str, str, str]  # output, version, parameters as canonical text, origin
NUMBERS = re.compile(r"\d+(\.\d+)?")
FOREIGN = -1  # the kind of scores that were imported into the study

JOINED = """
    FROM metrics_metricscore s
    LEFT JOIN unnest(%(metrics)s::text[], %(kinds)s::int[]) AS known (metric, kind)
        ON known.metric = s.metric AND s.origin = 'computed'
    LEFT JOIN clip ON clip.sha256 = s.sha256 AND clip.given = s.given
        AND clip.kind = CASE WHEN s.origin = 'computed' THEN known.kind ELSE -1 END
    WHERE s.sha256 = ANY(%(hashes)s::text[]) AND (s.origin = 'computed' OR s.given = %(mark)s)
        AND (%(only)s = '' OR s.metric = %(only)s)
"""
CLIPS = """
    WITH clip AS MATERIALIZED (
        SELECT * FROM unnest(
            %(conditions)s::int[], %(clips)s::text[], %(clip_kinds)s::int[], %(given)s::text[],
            %(first)s::bool[]
        ) AS c (condition, sha256, kind, given, is_first)
    )
"""
SUMS = rf"""
    {CLIPS}
    SELECT s.metric, s.version, s.parameters::text, s.origin, clip.condition,
        s.failed, min(s.reason), count(*) FILTER (WHERE clip.is_first), count(*), count(s.value),
        avg(s.value) FILTER (WHERE abs(s.value) < {MOST_VALUE}),
        stddev_samp(s.value) FILTER (WHERE abs(s.value) < {MOST_VALUE})
    {JOINED}
    GROUP BY s.metric, s.version, s.parameters, s.origin, clip.condition, s.failed,
        CASE WHEN s.reason <> '' THEN regexp_replace(s.reason, '\d+(\.\d+)?', '#', 'g') END
"""
WORK_MEM = "64MB"  # all keys of some ten thousand clips in one hash table


@dataclass
class Sums:
    """One output over a study's conditions; each clip counts once per condition."""

    scored: int = 0  # of the clips that are wanted, with a score, failed ones too
    wanted: int = 0
    by_condition: dict[str, Summary] = field(default_factory=dict)
    reasons: dict[tuple[str, bool], int] = field(default_factory=dict)  # reason, failed: count

    def add(
        self,
        condition: str,
        failed: bool,
        reason: str,
        count: int,
        n: int,
        mean: float | None,
        sd: float | None,
    ) -> None:
        """``count`` scores of a condition: all have a value (``n``), or all lack it alike."""
        summary = self.by_condition.get(condition, Summary(condition, 0, 0, 0))
        if n:
            low, high = student_interval(mean, sd, n)
            summary = replace(summary, n=n, mean=mean, sd=sd, low=low, high=high)
        elif failed:
            summary = replace(summary, n_failed=summary.n_failed + count)
        else:
            summary = replace(summary, n_undefined=summary.n_undefined + count)
        if not n:
            alike = self._alike(reason)
            self.reasons[alike, failed] = self.reasons.get((alike, failed), 0) + count
        self.by_condition[condition] = summary

    def _alike(self, reason: str) -> str:
        """The reason under which others are counted that differ in their numbers only."""
        return self._first.setdefault(NUMBERS.sub("#", reason), reason)

    _first: dict[str, str] = field(default_factory=dict, repr=False)


STATE = """
    SELECT count(*), count(value), max(id),
        sum((date_part('epoch', computed_at) * 1000)::bigint)
    FROM metrics_metricscore WHERE sha256 = ANY(%s::text[])
"""
FORM = 7  # of what the page keeps; another one whenever its classes change


def table_mark(study: str) -> str:
    """A mark that changes when a study's stimuli, their scores, or the metrics change."""
    from listening.selectors import stimuli_mark

    mark, hashes = stimuli_mark(study)
    with connection.cursor() as cursor:
        cursor.execute(STATE, [literal(hashes)])
        state = cursor.fetchone()
    versions = [f"{key} {metric.version}" for key, metric in Metric.registry.items()]
    text = repr((FORM, study, mark, state, versions))
    return hashlib.sha256(text.encode()).hexdigest()


def study_sums(keys: Keys, hashes: Collection[str], only: str = "") -> dict[Name, Sums]:
    """Every stored output of these audio files (or only one), summed up over the keys' stimuli.

    Reasons that differ in their numbers only are counted together. An output of which only other
    audio or other material has scores is there without a condition.
    """
    conditions = sorted({row["condition"] for row, _ in keys.stimuli})
    parameters, wanted = _query_values(keys, hashes, conditions, only)
    by_name: dict[Name, Sums] = {}
    kinds = dict(zip(parameters["metrics"], parameters["kinds"], strict=True))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL work_mem = '{WORK_MEM}'; SET LOCAL enable_mergejoin = off")
        cursor.execute(SUMS, parameters)
        for *identity, place, failed, reason, first, count, n, mean, sd in cursor.fetchall():
            metric, version, text, origin = identity
            name = (metric, version, canonical_parameters(json.loads(text)), origin)
            sums = by_name.setdefault(name, Sums())
            sums.wanted = wanted.get(FOREIGN if name[3] == IMPORTED else kinds.get(name[0]), 0)
            if place is not None:
                sums.scored += first
                sums.add(conditions[place], failed, reason, count, n, mean, sd)
    return by_name


def _query_values(
    keys: Keys, hashes: Collection[str], conditions: Sequence[str], only: str
) -> tuple[dict[str, Any], Mapping[int | None, int]]:
    """Return the queries' parameters, and how many clips each kind of metric wants.

    Metrics are of one kind when their numbers depend on the same material.
    """
    known = {name: metric for name, metric in outputs().items() if only in ("", name)}
    stored = _stored(known)
    needs = sorted({tuple(sorted(known[name].needs)) for name in stored})
    columns: list[list[Any]] = [[], [], [], [], []]
    wanted: dict[int | None, int] = {}
    places = {name: place for place, name in enumerate(conditions)}
    for kind, need in [(FOREIGN, None), *enumerate(needs)]:
        rows: dict[tuple[int, str, str], bool] = {}
        seen: set[tuple[str, str]] = set()
        for (row, _), key in zip(keys.stimuli, keys.by_needs(need), strict=True):
            rows.setdefault((places[row["condition"]], *key), key not in seen)
            seen.add(key)
        wanted[kind] = len(seen)
        for (place, sha256, fingerprint), first in rows.items():
            for column, value in zip(
                columns, (place, sha256, kind, fingerprint, first), strict=True
            ):
                column.append(value)
    names = ("conditions", "clips", "clip_kinds", "given", "first")
    return {
        **{name: literal(column) for name, column in zip(names, columns, strict=True)},
        "metrics": stored,
        "kinds": [needs.index(tuple(sorted(known[name].needs))) for name in stored],
        "hashes": literal(sorted(hashes)),
        "mark": study_mark(keys.study),
        "only": only,
    }, wanted


def literal(values: Iterable[Any]) -> str:
    """Numbers, truths and hashes as a PostgreSQL array: quicker than quoting them one by one."""
    return "{" + ",".join(str(value) or '""' for value in values) + "}"


def _stored(names: Collection[str]) -> list[str]:
    """Those of the outputs of which anything at all is stored, for any audio."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM unnest(%s::text[]) AS name WHERE EXISTS "
            "(SELECT 1 FROM metrics_metricscore s WHERE s.metric = name)",
            [sorted(names)],
        )
        return [name for (name,) in cursor.fetchall()]


def summed_series(
    keys: Keys, hashes: Collection[str], only: str = ""
) -> Iterator[tuple[Series, Sums]]:
    """Each output that is known, without its scores, in the registry's order, with its sums."""
    by_name = study_sums(keys, hashes, only)
    own = MetricScore.objects.filter(origin=IMPORTED, given=study_mark(keys.study))
    details_by_metric = {}
    for name in {name[0] for name in by_name if name[3] == IMPORTED}:
        details_by_metric[name] = (
            own.filter(metric=name).values_list("details", flat=True).first() or {}
        )
    empty: dict[Name, Any] = {name: {} for name in by_name}
    for series in series_of(empty, details_by_metric):
        parameters = canonical_parameters(series.metric.parameters_dict() if series.metric else {})
        yield series, by_name[series.output.key, series.version, parameters, series.origin]
