"""A report made from a table of ratings (and metric scores): every number, and where it is from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from analysis.formatting import counted, first_of
from analysis.name_spans import condition_span, family_prefix
from analysis.ratings.breakdowns import (
    Family,
    countable,
    default_breakdowns,
    families,
    items_of,
    labelled_families,
    names_rated,
)
from analysis.ratings.covariate_columns import Covariates
from analysis.ratings.estimands import estimand_of
from analysis.ratings.grouping import Breakdown
from analysis.ratings.metric_scores import TITLE, metric_titles
from analysis.ratings.repeats import turn_pairs
from analysis.ratings.table import rows_where, table_hash
from analysis.report.conduct import conduct_of
from analysis.report.exclusions import exclusions_of
from analysis.report.part import PartInput, silent
from analysis.report.pipeline import in_place, made_parts, parts_apart, parts_to_make
from analysis.report.report_provenance import (
    code_revision,
    now,
    package_version,
    package_versions,
)
from analysis.report.report_schema import (
    Counts,
    EstimateRow,
    InterimRow,
    PartRecord,
    Provenance,
    Report,
    ScreeningRow,
    TaskDesign,
)
from analysis.report.second_process import Result
from analysis.statistics.estimator import Contrast, Estimate, Estimator, estimator
from analysis.statistics.one_thread import on_one_thread
from analysis.statistics.options import Options, command_line
from analysis.statistics.screening.screened import DEFAULT, STRUCTURAL, default_rules, screen
from analysis.statistics.sensitivity import sensitivity

if TYPE_CHECKING:
    from listening.selectors import StudyFacts


FORMAT = 4
MOST_CONDITIONS = 24
PARTS_FROM = 0.3  # the share of the work that is done when the parts begin
SCRIPTED = "sim-"  # how the codes of simulated raters begin


@on_one_thread
def report_of(
    table: pd.DataFrame,
    scores: pd.DataFrame | None = None,
    options: Options | None = None,
    *,
    made_at: str | None = None,
    notes: Sequence[str] = (),
    columns_not_used: Sequence[str] = (),
    progress: Callable[[float, str], None] = silent,
    grown: Callable[[Report], None] = lambda report: None,
    looking: Callable[[PartInput], list[InterimRow]] | None = None,
    order: Mapping[str, Sequence[str]] | None = None,
    facts: StudyFacts | None = None,
    covariates: Covariates | None = None,
) -> Report:
    """The report of a ratings table: plain values only, the same for the same table and options.

    ``scores`` holds metric scores (`analysis.ratings.metric_scores`); ``notes`` and
    ``columns_not_used`` are those of `analysis.ratings.table.Reading`, for ratings from a file.
    Without options, or with those that name no rules, `default_rules` hold. Only ``made_at``
    differs between two reports of the same table, scores, options and code. ``progress`` is told
    the share that is done and what is being done; it may raise to stop. ``grown`` is given the
    report after each part, the answer first: what stands in it then stays as it is, and its
    ``pending`` names the parts to come. ``looking`` makes the bounds of a study that is still open
    (`analysis.report.interim.interim_families`), which ``interim`` then holds. ``order``, ``facts``
    and ``covariates`` are for parts (`PartInput`).
    """
    options = options or Options()
    if options.rules is DEFAULT:  # nobody named any
        options = replace(options, rules=default_rules(table))
    maker = estimator(options.estimator)
    screened = screen(table, options.rules, options.spared)
    turned, notes_of_pairs = turn_pairs(table, np.zeros(len(table), dtype=bool), options.reference)
    notes = [*notes, *notes_of_pairs]
    screened = replace(screened, table=turned)
    ratings = screened.kept(options.rules)
    known = ratings
    if maker.methods is not None:
        known = rows_where(ratings, ratings["method"].isin(maker.methods))
    breakdowns = options.compared or default_breakdowns(known)
    if Breakdown() not in breakdowns:
        breakdowns.insert(0, Breakdown())
    overall = _estimator_for(options, Breakdown())
    own = covariates or (facts.get("covariates") if facts else None) or {}
    inputs = PartInput(
        known, screened, options, scores, order=order or {}, facts=facts, covariates=own
    )
    with parts_apart(inputs) as apart:
        progress(0.0, "Means and their intervals")
        estimates = _estimates(known, options, breakdowns)
        progress(0.1, "Differences between conditions")
        contrasts = _contrasts(known, options, breakdowns)
        progress(0.2, "What each rule changes")
        report: Report = {
            "format": FORMAT,
            "made_at": made_at or now(),
            "provenance": _provenance(table, scores, options, breakdowns),
            "input": {"notes": list(notes), "columns_not_used": list(columns_not_used)},
            "data": _data(turned, ratings),
            "design": task_designs(known, turned),
            "scripted": _scripted_raters(ratings),
            "scales": _scales(known),
            "warnings": [
                *notes,
                *_warnings(table, ratings, maker),
                *short_of_raters(ratings, facts),
            ],
            "exclusions": screened.counts(),
            "estimates": estimates,
            "contrasts": contrasts,
            "shares": _rows(overall.shares(known, level=options.level)),
            "left_out": exclusions_of(table, screened, options.rules),
            "screening": cast("list[ScreeningRow]", sensitivity(screened, options)),
            "parts": [],
        }
        if facts is not None:
            report["conduct"] = conduct_of(facts)
        if called := metric_titles(scores):
            report["metric_titles"] = called
        inputs = replace(inputs, report=report, progress=progress)
        if looking is not None:
            report["interim"] = looking(inputs)
        _add_parts(report, inputs, grown, apart)
        return report


def _add_parts(
    report: Report,
    inputs: PartInput,
    grown: Callable[[Report], None],
    apart: Result[list[PartRecord]] | None,
) -> None:
    """Make the parts, each in its place as soon as it is there; those made ``apart`` last."""
    chosen = parts_to_make(inputs)
    elsewhere = [kind for kind in chosen if kind.apart] if apart else []
    here = [kind for kind in chosen if kind not in elsewhere]
    report["pending"] = [kind.title for kind in [*here, *elsewhere]]

    def say(share: float, words: str) -> None:
        inputs.progress(PARTS_FROM * (1 - share) + share, words)

    def all_parts() -> Iterator[PartRecord]:
        yield from made_parts(inputs, here, say)
        if apart:
            yield from apart(lambda: say(1.0, elsewhere[0].title))

    for part in all_parts():
        in_place(report["parts"], part)
        report["pending"].pop(0)
        grown(report)
    del report["pending"]


def _estimator_for(
    options: Options,
    breakdown: Breakdown,
    intervals: Sequence[str] | None = None,
    weightings: Sequence[str] = ("ratings", "raters"),
) -> Estimator:
    return estimator(options.estimator).for_breakdown(
        breakdown,
        intervals=tuple(intervals or options.intervals),
        weightings=tuple(weightings),
        replicates=options.replicates,
        reference=options.reference,
    )


def _estimates(
    known: pd.DataFrame, options: Options, breakdowns: Iterable[Breakdown]
) -> list[EstimateRow]:
    return [
        row
        for breakdown in breakdowns
        for row in _rows(
            _estimator_for(options, breakdown).fit(known, level=options.level, seed=options.seed),
            breakdown,
        )
    ]


def _contrasts(
    known: pd.DataFrame, options: Options, breakdowns: Iterable[Breakdown]
) -> list[EstimateRow]:
    """All intervals for the overall differences; the first one only inside finer breakdowns.

    With more than MOST_CONDITIONS conditions, finer breakdowns have no contrasts (see warnings).
    """
    rows: list[EstimateRow] = []
    for breakdown in breakdowns:
        finer = bool(breakdown.by)
        if finer and known[breakdown.compare].nunique() > MOST_CONDITIONS:
            continue
        fitter = _estimator_for(
            options,
            breakdown,
            intervals=options.intervals[:1] if finer else None,
            weightings=("ratings",) if finer else ("ratings", "raters"),
        )
        contrasts = fitter.contrasts(known, level=options.level, seed=options.seed)
        rows += _rows(contrasts, breakdown)
    return rows


def _rows(
    lines: Iterable[Estimate | Contrast], breakdown: Breakdown | None = None
) -> list[EstimateRow]:
    place = {} if breakdown is None else {"breakdown": str(breakdown)}
    return [cast(EstimateRow, {**place, **line.row()}) for line in lines]


def _provenance(
    table: pd.DataFrame,
    scores: pd.DataFrame | None,
    options: Options,
    breakdowns: Iterable[Breakdown],
) -> Provenance:
    parameters = {k: v for k, v in options.parameters().items() if k not in ("estimator", "by")}
    origin = {
        "studies": sorted({str(study) for study in table["study"].unique() if study}),
        "ratings_until": max((str(at) for at in table["rated_at"].unique() if at), default=""),
        "table_hash": table_hash(table),
        "scores_hash": scores_hash(scores),
        "estimator": options.estimator,
        "estimator_version": estimator(options.estimator).version,
        **parameters,
        "breakdowns": [str(breakdown) for breakdown in breakdowns],
        "structural_rules": [rule.key for rule in STRUCTURAL],
        "code": code_revision(),
        "release": package_version(),
        "packages": package_versions(),
        "again": command_line(options, scores is not None and len(scores) > 0),
    }
    return cast(Provenance, origin)


def scores_hash(scores: pd.DataFrame | None) -> str:
    """SHA-256 (hex) of metric scores as they stand; empty without any."""
    if scores is None or not len(scores):
        return ""
    numbers = scores.drop(columns=TITLE, errors="ignore")  # what a metric is called changes nothing
    lines = numbers.to_csv(index=False, float_format=repr, lineterminator="\n")
    return hashlib.sha256(lines.encode()).hexdigest()


def _data(table: pd.DataFrame, ratings: pd.DataFrame) -> Counts:
    """Count ratings and material; of comparisons both sides are heard, and both are counted."""
    rated = table["trap"] == ""
    return {
        "ratings": int(rated.sum()),
        "ratings_kept": len(ratings),
        "trap_ratings": int((~rated).sum()),
        "raters": int(table["rater"].nunique()),
        "raters_kept": int(ratings["rater"].nunique()),
        "sessions": int(table["session"].nunique()),
        "items_kept": int(items_of(ratings).nunique()),
        "stimuli_kept": len(names_rated(ratings, "stimulus")),
        "conditions_kept": len(names_rated(ratings, "condition")),
    }


def _scales(known: pd.DataFrame) -> dict[str, list[float]]:
    """The ends of each family's scale, where the estimand has some and every score is between."""
    ends_of_families = {}
    for family in families(known):
        scores = family.table["score"]
        ends = estimand_of(family.estimand).ends_for(float(scores.min()), float(scores.max()))
        if ends:
            ends_of_families[family.title] = list(ends)
    return ends_of_families


def are_scripted(raters: pd.Series) -> pd.Series:
    """Whether each code of a rater is that of a simulated one."""
    return raters.str.startswith(SCRIPTED)


def _scripted_raters(ratings: pd.DataFrame) -> int:
    return int(are_scripted(ratings["rater"].drop_duplicates()).sum())


def _simulated_note(ratings: pd.DataFrame) -> list[str]:
    scripted = _scripted_raters(ratings)
    people = f"{scripted} of {ratings['rater'].nunique()} raters are simulated (codes {SCRIPTED}…)"
    return [f"{people}: a program generated their ratings."] if scripted else []


def short_of_raters(ratings: pd.DataFrame, facts: StudyFacts | None) -> Iterator[str]:
    """A sentence for each task with a condition below its ``min_raters``.

    ``ratings`` are those after screening; a rater counts for both conditions of a pair. A file of
    ratings has no ``facts`` and so no minimum. Clark et al. (2019, section 4.2) had 35 raters in
    the task with the fewest.
    """
    for task in facts["tasks"] if facts else ():
        least = task.get("min_raters")
        own = ratings[ratings["task"] == task["task"]]
        if not least or not len(own):
            continue
        counts = _raters_by_condition(own)
        short = [f"{condition_span(name)} ({n})" for name, n in counts.items() if n < least]
        if short:
            yield (
                f"Task {task['task']}: the study asks for at least {least:,} raters per condition. "
                f"{len(short)} of {len(counts)} conditions have fewer after exclusions: "
                f"{first_of(short)}."
            )


def _raters_by_condition(ratings: pd.DataFrame) -> dict[str, int]:
    sides = [
        ratings[["rater", name]].set_axis(["rater", "condition"], axis=1).astype(str)
        for name in ("condition", "versus_condition")
    ]
    both = pd.concat(sides)
    counts = both[both["condition"] != ""].groupby("condition")["rater"].nunique()
    return {str(name): int(n) for name, n in counts.sort_values(kind="stable").items()}


def _warnings(table: pd.DataFrame, ratings: pd.DataFrame, maker: type[Estimator]) -> list[str]:
    """What the report cannot show; where a claim is weak, the part `answer` says."""
    warnings = []
    if table.empty:
        return ["No ratings yet."]
    if ratings.empty:
        return ["The rules leave out every rating."]
    unknown = set() if maker.methods is None else set(ratings["method"]) - maker.methods
    for method in sorted(unknown):
        count = int((ratings["method"] == method).sum())
        warnings.append(f"Not shown by {maker.key}: {counted(count, 'rating')} of method {method}.")
    warnings += [*_simulated_note(ratings), *_in_words(ratings)]
    if ratings["condition"].nunique() > MOST_CONDITIONS:
        warnings.append(f"Over {MOST_CONDITIONS} conditions: differences are listed overall only.")
    return warnings


def _in_words(ratings: pd.DataFrame) -> list[str]:
    """What cannot be counted: tasks whose answers differ too much, as free text does."""
    return [
        family_prefix(f"{family.group['task']}, {family.group['criterion']}")
        + f"{len(family.table)} answers in words; read them in the file of ratings."
        for family in labelled_families(ratings)
        if not countable(family.table["label"])
    ]


_FAMILY = ["study", "task", "criterion", "estimand"]
_HEARD = ["stimulus", "versus_stimulus", "context"]


def task_designs(known: pd.DataFrame, table: pd.DataFrame) -> list[TaskDesign]:
    """One row per family of ratings (task, criterion, estimand), in the order of the page.

    ``known`` holds the ratings after screening, ``table`` all of them. Ratings per clip and per
    rater are medians; of these, a pair that was compared, or a clip after another context, counts
    as a clip of its own.
    """
    sizes = rows_where(table, table["trap"] == "").groupby(_FAMILY, sort=False).size()
    keys = [tuple(map(str, row)) for row in sizes.index.to_list()]
    of_family = dict(zip(keys, map(int, sizes), strict=True))
    return [_design(family, of_family) for family in (*families(known), *labelled_families(known))]


def _design(family: Family, given_counts: Mapping[tuple[Any, ...], int]) -> TaskDesign:
    table = family.table
    heard = [name for name in _HEARD if name in table]
    per_clip = table.groupby(heard, sort=False).size()
    scores = table["score"].dropna()
    design: TaskDesign = {
        "study": family.group.get("study", ""),
        "task": family.group["task"],
        "criterion": family.group["criterion"],
        "estimand": family.estimand,
        "method": str(table["method"].iloc[0]),
        "in_pairs": family.in_pairs,
        "ratings": len(table),
        "ratings_given": given_counts[tuple(map(str, table[_FAMILY].iloc[0]))],
        "raters": family.n_raters,
        "clips": len(names_rated(table, "stimulus")),
        "items": family.n_items,
        "conditions": len(names_rated(table, "condition")),
        "ratings_per_clip": float(per_clip.median()),
        "ratings_per_rater": float(table.groupby("rater", sort=False).size().median()),
    }
    if len(scores):
        design["span"] = [float(scores.min()), float(scores.max())]
    return design
