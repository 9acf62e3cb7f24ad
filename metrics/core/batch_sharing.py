"""How clips share a batch: what a metric declares of its input, and the batches that follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

# Clips that are filled up share a batch with those up to so many times longer. On a processor a
# batch gains nothing and what is filled up costs: 850 ms a clip instead of 730 (WavLM base).
SIMILAR = {"cpu": 1.0, "cuda": 1.25}
CLOSE = 1e-4  # relative: the rounding of float32 networks in batches


class Input(StrEnum):
    """What of a clip goes into a batch."""

    MASKED = "masked"  # clips of similar length, filled up; what is filled up is masked
    WINDOWS = "windows"  # pieces of one length, of any clips
    EQUAL = "equal"  # whole clips or chunks of exactly one length
    ALONE = "alone"  # nothing: clip by clip

    @property
    def words(self) -> str:
        """As it is told."""
        return {
            Input.MASKED: "clips of similar length, masked",
            Input.WINDOWS: "windows of any clips",
            Input.EQUAL: "equal lengths only",
            Input.ALONE: "none: clip by clip",
        }[self]


@dataclass(frozen=True)
class Sharing:
    """What a metric's clips share, and by how much company may move a value.

    ``within``: relative, of what the clip scores alone. ``why``: where the longer way is not gone,
    the reason in a line.
    """

    input: Input = Input.ALONE
    within: float = CLOSE
    why: str = ""

    def words(self) -> str:
        """As one line."""
        parts = [self.input.words, *([self.why] if self.why else [])]
        exact = "a clip's value is the same alone"
        near = f"a clip's value is within {self.within:g} (relative) of the one alone"
        return "; ".join([*parts, near if self.within else exact])


def buckets(sizes: Sequence[int], most: int, similar: float = 1.0) -> Iterator[list[int]]:
    """Places of inputs that share a batch, from short to long.

    ``sizes``: of each input. ``most``: of a batch filled up to its longest, or one input.
    ``similar``: how many times longer than its shortest a batch's longest may be; 1: equal ones.
    """
    bucket: list[int] = []
    for place in sorted(range(len(sizes)), key=lambda place: (sizes[place], place)):
        size = sizes[place]
        fits = bool(bucket) and size <= similar * sizes[bucket[0]]
        if bucket and not (fits and (len(bucket) + 1) * size <= most):
            yield bucket
            bucket = []
        bucket.append(place)
    if bucket:
        yield bucket
