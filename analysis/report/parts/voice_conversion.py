"""Converted voices as the Voice Conversion Challenges show them: naturalness and similarity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from analysis.name_spans import condition_span
from analysis.ratings.breakdowns import Family, coded_column, families
from analysis.ratings.estimands import estimand_of, name_of
from analysis.ratings.reference import roles_of
from analysis.report.content import Column, Content, Figure, Table
from analysis.report.emphasis import LEGEND, with_best
from analysis.report.part import Part, PartInput
from analysis.report.parts.criteria import (
    COLUMNS,
    METRICS_NOTE,
    Score,
    metric_columns,
    metric_keys,
    metric_means,
    naturalness_of,
    plane,
    score_columns,
    score_rows,
    scores_of,
)
from analysis.statistics.clustered_variance import two_way_intervals
from analysis.statistics.intervals import clustered
from listening.methods.speaker_similarity import NAMES, SAME, SpeakerSimilarity

SIMILARITY = SpeakerSimilarity.estimand.key
_SYSTEM = Column("condition", "System")
_NOTE = (
    "Same: share of answers that say that the speaker is the same, sure or not. Intervals: two-way "
    "clustered over raters and items. Recordings are not ranked; a low share against the source "
    "is good. "
)
_POINTS_NOTE = (
    "1: different, absolutely sure; 4: same, absolutely sure. Intervals: two-way clustered over "
    "raters and items."
)
_METHOD = (
    "Raters heard a prompt and then a clip, and said whether both are by the same speaker on the "
    "four points of the Voice Conversion Challenges (same or different, absolutely sure or not)."
)


class VoiceConversion(Part):
    """Naturalness beside the share of answers that say “same speaker”, for each prompt."""

    key = "voice_conversion"
    version = "1"
    title = "Same speaker or not"
    order = 33

    def applies(self, inputs: PartInput) -> bool:
        return bool((inputs.ratings["estimand"] == SIMILARITY).any())

    def make(self, inputs: PartInput) -> Content:
        """Sentences, the table of systems, the answers, and naturalness against similarity."""
        every = list(families(inputs.ratings))
        judged = sorted(
            (each for each in every if each.estimand == SIMILARITY),
            key=lambda each: inputs.ordered("task", {f.group["task"] for f in every}).index(
                each.group["task"]
            ),
        )
        if not judged:
            raise ValueError("No rating of speaker_similarity is left after the exclusions.")
        natural = naturalness_of(every)
        shares = [same_shares(each, inputs.options.level) for each in judged]
        return Content(
            sentences=list(_sentences(judged, shares, inputs)),
            figures=[
                *(
                    _figure(natural[0], family, share, inputs, n)
                    for n, (family, share) in enumerate(zip(judged, shares, strict=True), start=1)
                    if natural
                ),
                *(_answers(family, inputs, n) for n, family in enumerate(judged, start=1)),
            ],
            tables=list(_tables(natural, judged, shares, inputs)),
            methods=[_METHOD],
        )


def same_shares(family: Family, level: float) -> dict[str, Score]:
    """The share of “same speaker” of each condition (0 to 1) with its clustered interval."""
    table = family.table
    condition, names = coded_column(table["condition"])
    y = (table["score"].to_numpy(dtype=np.float64) >= SAME).astype(np.float64)
    means = clustered(y, condition, family.rater, family.item, len(names), ends=(0.0, 1.0))
    bounds = [each or (None, None) for each, _ in two_way_intervals(means, level)]
    shares: dict[str, Score] = {}
    for n, (name, (low, high)) in enumerate(zip(names, bounds, strict=True)):
        shares[str(name)] = Score(float(means.value[n]), low, high, int(means.n_ratings[n]))
    return shares


def prompt_of(family: Family) -> str:
    """Whose prompt the clips were set against: the condition’s key, or the task’s."""
    prompts = sorted({str(name) for name in family.table["versus_condition"].unique()} - {""})
    return prompts[0] if len(prompts) == 1 else family.group["task"]


def recordings_of(inputs: PartInput) -> set[str]:
    """The recordings of source and target among what was rated."""
    return {name for name, role in roles_of(inputs.ratings).items() if role == "reference"}


def _tables(
    natural: Sequence[Family],
    judged: Sequence[Family],
    shares: Sequence[Mapping[str, Score]],
    inputs: PartInput,
) -> Iterator[Table]:
    """Naturalness beside the shares of “same”; and the means of the four points."""
    natures = {
        "_".join((each.estimand, *each.group.values())): (each, scores_of(each, inputs))
        for each in natural
    }
    columns: list[Column] = []
    values: dict[str, Mapping[str, Score]] = {}
    for key, (family, scores) in natures.items():
        values[key] = scores
        signed = estimand_of(family.estimand).signed
        columns += score_columns(key, name_of(family.estimand), 2, inputs, signed=signed)
    for family, share in zip(judged, shares, strict=True):
        key = f"same_percent_{family.group['task']}"
        values[key] = {name: _percent(each) for name, each in share.items()}
        columns += score_columns(key, f"Same as {prompt_of(family)}, %", 1, inputs)
    title = "Systems: naturalness and share of “same speaker”"
    metrics = metric_means([*natural, *judged], inputs)
    keys = metric_keys(metrics)
    rows = [row | metrics.get(row["condition"], {}) for row in _rows(values, inputs)]
    lowest = [key for key in keys if COLUMNS[key].lowest_is_best]
    marked = with_best(rows, [*natures, *keys], decimals=2, lowest=lowest)
    note = _NOTE + METRICS_NOTE * bool(keys) + LEGEND
    yield Table("conversion", title, [_SYSTEM, *columns, *metric_columns(keys)], marked, note)
    points = {f"mean_{each.group['task']}": each for each in judged}
    columns = [
        each
        for key, family in points.items()
        for each in score_columns(key, f"Against {prompt_of(family)}", 2, inputs)
    ]
    rows = _rows({key: scores_of(each, inputs) for key, each in points.items()}, inputs)
    title = "Mean of the four points"
    yield Table("points", title, [_SYSTEM, *columns], rows, _POINTS_NOTE)


def _percent(share: Score) -> Score:
    low, high = (None if end is None else 100 * end for end in (share.low, share.high))
    return Score(100 * share.value, low, high, share.n)


def _rows(values: Mapping[str, Mapping[str, Score]], inputs: PartInput) -> list[dict[str, Any]]:
    names = inputs.ordered("condition", {name for scores in values.values() for name in scores})
    return score_rows(values, names, recordings_of(inputs))


def _figure(
    natural: Family, family: Family, share: Mapping[str, Score], inputs: PartInput, n: int
) -> Figure:
    known = scores_of(natural, inputs)
    prompt = prompt_of(family)
    names = inputs.ordered("condition", {*known, *share})
    return plane(
        {name: (known.get(name), share.get(name)) for name in names},
        recordings_of(inputs),
        f"naturalness_same_{n}",
        (
            f"Naturalness and share of “same speaker” as {prompt}",
            name_of(natural.estimand),
            f"Share that says: same speaker as {prompt}",
        ),
        family.title,
        ends=(0.0, 1.0),
        level=inputs.options.level,
    )


def _answers(family: Family, inputs: PartInput, n: int) -> Figure:
    """The share of each of the four answers, by system."""
    table = family.table
    rows = []
    for name in inputs.ordered("condition", set(map(str, table["condition"].unique()))):
        scores = table.loc[table["condition"] == name, "score"]
        rows += [
            {"name": name, "label": words, "value": float((scores == float(point)).mean())}
            for point, words in reversed(NAMES.items())
        ]
    return Figure(
        f"answers_{n}",
        f"Answers: same speaker as {prompt_of(family)}",
        "shares",
        rows,
        x="Share of the answers",
        about=family.title,
    )


def _sentences(
    judged: Sequence[Family], shares: Sequence[Mapping[str, Score]], inputs: PartInput
) -> Iterator[str]:
    recordings = recordings_of(inputs)
    for family, share in zip(judged, shares, strict=True):
        systems = {name: each for name, each in share.items() if name not in recordings}
        if not systems:
            continue
        most = max(systems, key=lambda name: systems[name].value)
        own = systems[most]
        bounds = (
            ""
            if own.low is None or own.high is None
            else f" ({inputs.options.level:.0%} CI {100 * own.low:.0f}–{100 * own.high:.0f}%)"
        )
        yield (
            f"Against {condition_span(prompt_of(family))}, {condition_span(most)} is most often "
            f"called the same speaker: {100 * own.value:.0f}% of answers{bounds}."
        )
