"""What the mean of a method's scores is: its name, scale, neutral point and how it is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ONE_CLIP = "one clip"
BESIDE_REFERENCE = "one clip with an open reference"
PREFERENCE = "one clip over another"
DISCRIMINATION = "two clips told apart"
FREE_ANSWER = "an answer with a score or without"
COMPARISONS = (ONE_CLIP, BESIDE_REFERENCE, PREFERENCE, DISCRIMINATION, FREE_ANSWER)


@dataclass(frozen=True)
class Estimand:
    """All that statistics, figures and words know of a score's mean; a method declares its own.

    ``key`` stands in tables and files and is never renamed. ``ends`` are the lowest and the
    highest score of the scale, None where each study has its own. ``neutral`` is the score that
    favours neither side, of comparisons of two clips; ``reach`` is how far scores go from it where
    a study may have fewer steps. ``equivalence`` is the half width of the
    region in which a difference does not matter, in units of the score; None: 2.5 % of the range.
    ``scores`` are the only scores that there are, where a file with others must be wrong.
    ``answers`` are words for the scores of a comparison, seen from the condition.
    """

    key: str
    name: str  # as in headings: MOS
    phrase: str  # as in a methods section: the mean opinion score (MOS)
    axis: str  # as on a figure's axis, with what its ends mean
    ends: tuple[float, float] | None = None
    absent: float | None = None  # a score apart from the scale: what was asked about is not there
    neutral: float | None = None
    reach: float | None = None
    comparison: str = ONE_CLIP
    decimals: int = 2
    equivalence: float | None = None
    lowest_is_best: bool = False
    in_places: bool = False  # scores are places among other clips, 1 the best
    best_and_worst: bool = False  # 1 the best clip of its screen, -1 the worst, 0 another one
    continuous: bool = False  # so many steps that the score is a number, not a category
    ceilings: bool = True  # whether many ratings at an end of the scale are worth a warning
    scores: tuple[float, ...] = ()
    answers: Mapping[float, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.comparison not in COMPARISONS:
            raise ValueError(f"{self.key} compares {self.comparison!r}; known are {COMPARISONS}")
        if self.in_pairs != (self.neutral is not None):
            raise ValueError(
                f"{self.key}: comparisons of two clips, and they alone, have a neutral"
            )

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def in_pairs(self) -> bool:
        """Whether a score is about two clips, not about one (maybe beside an open reference)."""
        return self.comparison in (PREFERENCE, DISCRIMINATION)

    @property
    def prefers(self) -> bool:
        """Whether a score says which of two clips is the better one."""
        return self.comparison == PREFERENCE

    @property
    def discriminates(self) -> bool:
        """Whether a score says that two clips were told apart, whichever is the better one."""
        return self.comparison == DISCRIMINATION

    @property
    def maybe_without_score(self) -> bool:
        """Whether some answers have no number."""
        return self.comparison == FREE_ANSWER

    @property
    def among_others(self) -> bool:
        """Whether a score says where a clip stands among the others of its screen."""
        return self.in_places or self.best_and_worst

    @property
    def signed(self) -> bool:
        """Whether values are written with a sign: around a neutral 0."""
        return self.neutral == 0

    @property
    def higher(self) -> str:
        """What a better system scores, or where it is ranked: higher, lower or better."""
        if self.in_places:
            return "better"
        return "lower" if self.lowest_is_best else "higher"

    @property
    def lower(self) -> str:
        """What a worse system scores, or where it is ranked: lower, higher or worse."""
        if self.in_places:
            return "worse"
        return "higher" if self.lowest_is_best else "lower"

    def verb(self, systems: int = 1) -> str:
        """What so many systems do before `higher` or `lower`: score, or are ranked."""
        if self.in_places:
            return "is ranked" if systems == 1 else "are ranked"
        return "scores" if systems == 1 else "score"

    def verb_denied(self, systems: int = 1) -> str:
        """What so many systems do not do: does not score, or are not ranked."""
        if self.in_places:
            return "is not ranked" if systems == 1 else "are not ranked"
        return "does not score" if systems == 1 else "do not score"

    def leads(self, systems: int = 1) -> str:
        """What the best one or several do: score highest or lowest, or are ranked first."""
        best = "lowest" if self.lowest_is_best else "highest"
        return f"{self.verb(systems)} {'first' if self.in_places else best}"

    def centred(self, score: Any) -> Any:
        """Score(s) around 0 as the one that favours neither side."""
        return score - (self.neutral or 0.0)

    def mirrored(self, score: Any) -> Any:
        """The same comparison(s) seen from the other side."""
        if not self.prefers or self.neutral is None:
            return score
        return 2 * self.neutral - score

    def ends_for(self, low: float, high: float) -> tuple[float, float] | None:
        """The ends of the scale, if it has known ones and scores from low to high fit between.

        The low end is `absent` where a score is.
        """
        if self.ends is None or high > self.ends[1]:
            return None
        if low == self.absent:
            return low, self.ends[1]
        return self.ends if low >= self.ends[0] else None

    def scale_for(self, low: float, high: float) -> tuple[float, float] | None:
        """The ends of the scale that scores from low to high are on, for intervals; None: unknown.

        Of comparisons that a study may give fewer steps, as far as anybody answered; of ranks, to
        the last place; where scores pass the known ends, as far as they do.
        """
        known = self.ends_for(low, high)
        if known is not None:
            return known
        if self.neutral is not None and self.ends is None:
            reach = max(abs(low - self.neutral), abs(high - self.neutral)) or self.reach or 0.0
            return (self.neutral - reach, self.neutral + reach) if reach else None
        if self.in_places:
            return (min(1.0, low), high) if high > 1 else None
        return None if self.ends is None else (min(low, self.ends[0]), max(high, self.ends[1]))
