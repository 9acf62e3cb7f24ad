"""What clips with marked words and with marked spans have in common: order, agreement, files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from analysis.formatting import ci_words, percent
from analysis.ratings.breakdowns import Family
from analysis.report.content import Content, bounds_cells, column, pick_cells, table_row
from analysis.report.part import PartInput
from analysis.report.parts.marking.rates import ALL_SYSTEMS
from analysis.statistics.agreement.marked_words import MarkAgreement, agreement_of_marks
from listening.methods.error_spans import ErrorSpan
from listening.methods.marks import Mark

LOW_ALPHA = 0.667
MOST_MAPS = 12
ANSWER = ("stimulus", "condition", "item", "language", "rater", "label")


@dataclass(frozen=True)
class MarkedClip:
    """A clip in pieces (words or frames) that raters marked or did not."""

    stimulus: str
    condition: str
    item: str
    language: str

    def counts(self, kinds: Sequence[str]) -> np.ndarray:
        """Raters (pieces, 1 + kinds) who did not mark each piece, and who chose each kind."""
        raise NotImplementedError


@table_row
class AgreementRow:
    """How far raters agree about the pieces of one condition's clips."""

    condition: str = column("System")
    alpha: float | None = column("Alpha", "number", 2)
    alpha_low: float | None = column("{level} CI", "interval", 2, key="alpha")
    alpha_high: float | None
    positive: float | None = column("Positive agreement", "number", 2)
    positive_low: float | None = column("{level} CI", "interval", 2, key="positive")
    positive_high: float | None
    kinds: float | None = column("Alpha of kinds", "number", 2)


C = TypeVar("C", bound=MarkedClip)


def answers_of(family: Family) -> Iterator[dict[str, str]]:
    """The answers of a family as texts, in the order of the table, with the columns `ANSWER`."""
    for values in family.table[list(ANSWER)].astype(str).itertuples(index=False):
        yield dict(zip(ANSWER, values, strict=True))


def in_order(clips: Sequence[C], inputs: PartInput) -> list[C]:
    """The clips by item and condition in the order of the study."""
    items, conditions = (
        {key: place for place, key in enumerate(inputs.ordered(name, keys))}
        for name, keys in (
            ("item", {clip.item for clip in clips}),
            ("condition", {clip.condition for clip in clips}),
        )
    )
    return sorted(clips, key=lambda c: (items[c.item], conditions[c.condition], c.stimulus))


def most_frequent(counts: Mapping[str, int], kinds: Mapping[str, str]) -> str:
    """The kind with the highest count, the first of the study's of several; empty without any."""
    order = list(kinds)
    return min(counts, key=lambda kind: (-counts[kind], order.index(kind)), default="")


def most_marked(marked: Counter[str], inputs: PartInput) -> list[str]:
    """The items with the most marks, of which there are maps, in the order of the study."""
    most = [item for item, count in marked.most_common(MOST_MAPS) if count]
    return inputs.ordered("item", most)


def agreements(
    clips: Sequence[C], kinds: Sequence[str], inputs: PartInput, level: float
) -> Iterator[tuple[list[C], MarkAgreement, dict[str, Any]]]:
    """Agreement on marked pieces, of all conditions together and of each.

    With the clips, and the cells of an `AgreementRow`.
    """
    conditions = inputs.ordered("condition", {clip.condition for clip in clips})
    groups = {name: [c for c in clips if c.condition == name] for name in conditions}
    for name, own in {ALL_SYSTEMS: list(clips), **groups}.items():
        counts = [clip.counts(kinds) for clip in own]
        every = np.concatenate(counts) if counts else np.zeros((0, 1 + len(kinds)))
        clip = np.repeat(np.arange(len(own)), [len(one) for one in counts])
        options = inputs.options
        both = np.column_stack([every[:, 0], every[:, 1:].sum(axis=1)])
        marked = agreement_of_marks(
            both, clip, level=level, replicates=options.replicates, seed=options.seed
        )
        cells = {
            "condition": name,
            "alpha": marked.alpha,
            **bounds_cells("alpha", marked.alpha_bounds),
            "positive": marked.positive,
            **bounds_cells("positive", marked.positive_bounds),
            "kinds": agreement_of_marks(every, clip, replicates=0).alpha,
        }
        yield own, marked, cells


def agreement_in_words(first: AgreementRow, piece: str, level: float) -> Content:
    """How far raters agree on a ``piece`` such as a word; the warning where alpha is low."""
    alpha, sentences, warnings = first.alpha, [], []
    if alpha is not None and first.positive is not None:
        interval = ci_words(first.alpha_low, first.alpha_high, level, None, 2)
        sentences.append(
            f"Agreement on {piece}s: alpha {alpha:.2f}{interval}. Of a {piece} that one rater "
            f"marked, {percent(first.positive)} of the other raters marked it, too."
        )
    if alpha is not None and alpha < LOW_ALPHA:
        warnings.append(
            f"Raters agree little on single {piece}s (alpha {alpha:.2f}, under {LOW_ALPHA:g}): "
            f"trust the rates of systems more than the marks on one {piece}."
        )
    return Content(sentences, warnings=warnings)


def clip_entry(
    clip: MarkedClip, by_rater: Mapping[str, Sequence[Mark | ErrorSpan]], **facts: Any
) -> dict[str, Any]:
    """The entry of a clip in the file of marks: the clip, ``facts`` of it, and its marks."""
    return {
        **pick_cells(clip, "stimulus", "condition", "item", "language"),
        **facts,
        "answers": [
            {"rater": rater, "marks": [mark._asdict() for mark in marks]}
            for rater, marks in by_rater.items()
        ],
    }


def marks_file(entries: Sequence[Mapping[str, Any]], kinds: Mapping[str, str]) -> str:
    """The file of marks as JSON."""
    content = {"kinds": dict(kinds), "clips": entries}
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"
