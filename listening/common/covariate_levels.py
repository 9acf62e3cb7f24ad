"""Covariates of clips as numbers: a column of numbers, or one for each word but one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

MOST_LEVELS = 8
INSTEAD = " instead of "  # in what the column of a word is called


def levels_of(values: Iterable[str]) -> list[str]:
    """The different words, the most frequent first; none where all values are numbers."""
    counts = Counter(value for value in values if value)
    if all(map(_is_number, counts)):
        return []
    return [value for value, _ in sorted(counts.items(), key=lambda each: (-each[1], each[0]))]


def coded_values(name: str, values: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """A covariate of clips as numbers, by what to call it and by clip.

    Words become one column for each but the most frequent, 1 where a clip has it; the only word
    becomes a column of zeros. Clips without a value are left out. Raises ValueError where there
    are more than `MOST_LEVELS` words.
    """
    filled = {clip: value for clip, value in values.items() if value}
    levels = levels_of(filled.values())
    if not levels:
        return {name: {clip: float(value) for clip, value in filled.items()}}
    if len(levels) > MOST_LEVELS:
        raise ValueError(
            f"the covariate {name} has {len(levels)} different words; give one with numbers or "
            f"with at most {MOST_LEVELS} words"
        )
    base, *others = levels
    if not others:
        return {name: dict.fromkeys(filled, 0.0)}
    return {
        f"{name}: {level}{INSTEAD}{base}": {
            clip: float(value == level) for clip, value in filled.items()
        }
        for level in others
    }


def _is_number(text: str) -> bool:
    try:
        return abs(float(text)) < float("inf")
    except ValueError:
        return False
