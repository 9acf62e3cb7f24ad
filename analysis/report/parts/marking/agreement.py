"""How far raters agree on where errors are: of all conditions and of each, and in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from analysis.formatting import ci_words, percent
from analysis.report.part import PartInput
from analysis.report.parts.marking.rates import ALL_SYSTEMS
from analysis.statistics.agreement.marked_words import MarkAgreement, agreement_of_marks

LOW_ALPHA = 0.667


class MarkedClip(Protocol):
    """A clip in pieces (words or frames) that raters marked or did not."""

    @property
    def condition(self) -> str:
        """Its system."""

    def counts(self, kinds: Sequence[str]) -> np.ndarray:
        """Raters (pieces, 1 + kinds) who did not mark each piece, and who chose each kind."""


class Agreed(Protocol):
    """A row about agreement."""

    @property
    def alpha(self) -> float | None: ...
    @property
    def alpha_low(self) -> float | None: ...
    @property
    def alpha_high(self) -> float | None: ...
    @property
    def positive(self) -> float | None: ...


C = TypeVar("C", bound=MarkedClip)


def agreements(
    clips: Sequence[C], kinds: Sequence[str], inputs: PartInput, level: float
) -> Iterator[tuple[str, list[C], MarkAgreement, float | None]]:
    """Agreement on marked pieces, and alpha of kinds, of all conditions together and of each.

    With the name and the clips.
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
        yield name, own, marked, agreement_of_marks(every, clip, replicates=0).alpha


def bounds_of(marked: MarkAgreement) -> dict[str, Any]:
    """Alpha and positive agreement with their bounds, as fields of a row."""
    alpha, positive = marked.alpha_bounds or (None, None), marked.positive_bounds or (None, None)
    return {
        "alpha": marked.alpha,
        "alpha_low": alpha[0],
        "alpha_high": alpha[1],
        "positive": marked.positive,
        "positive_low": positive[0],
        "positive_high": positive[1],
    }


def agreed(first: Agreed, pieces: str, piece: str, level: float) -> Iterator[str]:
    """How far raters agree on pieces such as words, in a sentence or two."""
    if first.alpha is None or first.positive is None:
        return
    interval = ci_words(first.alpha_low, first.alpha_high, level, None, 2)
    yield (
        f"Agreement on {pieces}: alpha {first.alpha:.2f}{interval}. Of {piece} that one rater "
        f"marked, {percent(first.positive)} of the other raters marked it, too."
    )


def low_agreement(alpha: float | None, pieces: str, piece: str) -> Iterator[str]:
    """The warning where alpha is low."""
    if alpha is not None and alpha < LOW_ALPHA:
        yield (
            f"Raters agree little on single {pieces} (alpha {alpha:.2f}, under {LOW_ALPHA:g}): "
            f"trust the rates of systems more than the marks on {piece}."
        )
