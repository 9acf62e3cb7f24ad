"""Who speaks when in a recording of several people: the column ``turns`` of stimuli.csv."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from listening.common.plain_json import JsonError, read_json

STRETCH = re.compile(r"(?P<speaker>\S.*?)\s+(?P<start>\d+(?:\.\d+)?)\s*-\s*(?P<end>\d+(?:\.\d+)?)")
KNOWN = ("speaker", "start_s", "end_s", "text")


@dataclass(frozen=True)
class Excerpt:
    """A part of a sound, in seconds; ``sound`` is its path, or how long it lasts."""

    sound: Path | float
    start_s: float
    end_s: float

    @property
    def duration_s(self) -> float:
        return self.end_s - self.start_s


@dataclass(frozen=True)
class Turn:
    """One speaker's stretch of a clip, in seconds from its start."""

    speaker: str
    start_s: float
    end_s: float
    text: str = ""


def turns_of(text: str) -> tuple[Turn, ...]:
    """The turns that a manifest's attribute ``turns`` tells; none of an empty text.

    Either stretches in seconds, "A 0-2.5; B 2.85-6.1", or a JSON list of objects with ``speaker``,
    ``start_s``, ``end_s`` and ``text``; without the times (both 0) when only the texts are known.
    Raises ValueError that quotes what cannot be read.
    """
    text = text.strip()
    if not text:
        return ()
    if text.startswith("["):
        return tuple(_turn_of_json(part) for part in _json_list(text))
    parts = [part.strip() for part in re.split(r"[;\n]", text)]
    return tuple(_turn_of_stretch(part) for part in parts if part)


def _turn_of_stretch(part: str) -> Turn:
    match = STRETCH.fullmatch(part)
    if not match:
        raise ValueError(f'turns: {part!r} is not "SPEAKER START-END" in seconds')
    return _check_turn(Turn(match["speaker"], float(match["start"]), float(match["end"])), part)


def _json_list(text: str) -> list[Any]:
    try:
        parts = read_json(text)
    except JsonError as error:
        raise ValueError(f"turns: no JSON ({error})") from error
    return list(parts)


def _turn_of_json(part: Any) -> Turn:
    if not isinstance(part, dict) or not isinstance(part.get("speaker"), str):
        raise ValueError(f"turns: {json.dumps(part)} is not an object with a speaker")
    if unknown := sorted(set(part) - set(KNOWN)):
        raise ValueError(f"turns: {', '.join(unknown)} is not one of {', '.join(KNOWN)}")
    try:
        times = float(part.get("start_s", 0)), float(part.get("end_s", 0))
    except (TypeError, ValueError):
        raise ValueError(f"turns: {json.dumps(part)} has a time that is no number") from None
    turn = Turn(part["speaker"].strip(), *times, str(part.get("text", "")).strip())
    if times == (0.0, 0.0) and turn.text and turn.speaker:
        return turn
    return _check_turn(turn, json.dumps(part))


def _check_turn(turn: Turn, text: str) -> Turn:
    if not turn.speaker:
        raise ValueError(f"turns: {text} names no speaker")
    if not 0 <= turn.start_s < turn.end_s < math.inf:
        raise ValueError(f"turns: {text} does not end after its start")
    return turn


def turns_text(turns: Iterable[Turn]) -> str:
    """Turns as the column ``turns`` holds them, "A 0-2.5; B 2.85-6.1", to the millisecond."""
    return "; ".join(f"{t.speaker} {t.start_s:.3f}-{t.end_s:.3f}" for t in turns)
