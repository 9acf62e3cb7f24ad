"""Warnings about the audio of clips, told once per kind at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from metrics.core.input_warnings import TITLES


class InputNotes:
    """Counts the clips with each kind of warning, and keeps the first one's words."""

    def __init__(self) -> None:
        self._clips: dict[str, set[str]] = {}
        self._first: dict[str, str] = {}

    def add(self, clip: str, warnings: Mapping[str, str]) -> None:
        """The warnings of one score of a clip."""
        for code, words in warnings.items():
            self._clips.setdefault(code, set()).add(clip)
            self._first.setdefault(code, f"{clip}: {words}")

    def lines(self) -> Iterator[str]:
        """A line for each kind of warning."""
        for code, clips in self._clips.items():
            count = "1 clip" if len(clips) == 1 else f"{len(clips)} clips"
            yield f"Warning, {TITLES.get(code, code)} ({code}), {count}: {self._first[code]}"
