"""How a derived stimulus is made of lines: what is joined, and when each line is heard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from listening.design.studyfile.entries import StimulusEntry

Sound = TypeVar("Sound")


@dataclass(frozen=True)
class Line:
    """One line of a derived stimulus; `stimulus` is empty when the line is read, not heard."""

    stimulus: str
    item: str
    role: Literal["context", "rated"]
    text: str
    start_s: float = 0.0
    end_s: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        return {
            "stimulus": self.stimulus,
            "item": self.item,
            "role": self.role,
            "start_s": self.start_s,
            "end_s": self.end_s,
            "text": self.text,
        }


@dataclass(frozen=True)
class Recipe:
    """A derived stimulus: its entry (without a file), its lines, and the silence between them."""

    entry: StimulusEntry
    lines: tuple[Line, ...]
    gap_s: float
    context_gap_s: float

    @property
    def rated(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.role == "rated")

    @property
    def heard(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.stimulus)

    def parts(self, sound: Callable[[str], Sound]) -> list[Sound | float]:
        """All that raters hear, in order: the sound of each line, seconds of silence between."""
        return self._parts(self.heard, sound)

    def rated_parts(self, sound: Callable[[str], Sound]) -> list[Sound | float]:
        """What is rated alone."""
        return self._parts(self.rated, sound)

    def _parts(self, lines: Sequence[Line], sound: Callable[[str], Sound]) -> list[Sound | float]:
        parts: list[Sound | float] = []
        for before, line in zip((None, *lines), lines, strict=False):
            if before is not None:
                gap_s = self.gap_s if before.role == line.role else self.context_gap_s
                parts += [gap_s] if gap_s else []
            parts.append(sound(line.stimulus))
        return parts

    def timeline(self, spans: Sequence[tuple[float, float]]) -> list[dict[str, Any]]:
        """The lines as they are stored, with the times of those that are heard."""
        times = iter(spans)
        timed = []
        for line in self.lines:
            if line.stimulus:
                start_s, end_s = next(times)
                line = replace(line, start_s=round(start_s, 6), end_s=round(end_s, 6))
            timed.append(line.as_dict())
        if next(times, None) is not None:
            raise ValueError("there are more times than lines that are heard")
        return timed
