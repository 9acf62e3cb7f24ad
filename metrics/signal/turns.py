"""Who speaks when: turns written in a manifest, and each speaker's part of a wave."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from listening.common.plain_json import JsonError, read_json
from metrics.core.metric import Material, Turn

if TYPE_CHECKING:
    import torch

STRETCH = re.compile(r"(?P<speaker>\S.*?)\s+(?P<start>\d+(?:\.\d+)?)\s*-\s*(?P<end>\d+(?:\.\d+)?)")
KNOWN = ("speaker", "start_s", "end_s", "text")


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


def known_turns(material: Material) -> tuple[Turn, ...]:
    """A clip's turns, else those that its attribute ``turns`` tells.

    Raises ValueError when these cannot be read: a dialogue is not to pass for one voice.
    """
    return material.turns or turns_of(material.attribute("turns"))


def have_times(turns: Sequence[Turn]) -> bool:
    """Whether there are turns and each of them has a time."""
    return bool(turns) and all(turn.end_s > turn.start_s for turn in turns)


def speakers_of(turns: Sequence[Turn]) -> list[str]:
    """Every speaker once, in the order of their first turns."""
    return list(dict.fromkeys(turn.speaker for turn in turns))


def speaker_streams(
    wave: torch.Tensor, turns: Sequence[Turn], rate_hz: int
) -> dict[str, torch.Tensor]:
    """Each speaker's stretches of the wave, joined without gaps: {speaker: (samples,)}.

    ``wave``: (samples,) at ``rate_hz``. Speakers come in the order of their first turns. What of a
    turn lies behind the wave's end is left out, and a sample that two turns of one speaker cover
    is taken once; a speaker of whom nothing is left has no stream.
    """
    import torch

    streams = {}
    for speaker in speakers_of(turns):
        own = [turn for turn in turns if turn.speaker == speaker]
        parts = [wave[start:stop] for start, stop in _stretches(own, rate_hz, len(wave))]
        if parts:
            streams[speaker] = torch.cat(parts)
    return streams


def _stretches(turns: Sequence[Turn], rate_hz: int, n_samples: int) -> list[tuple[int, int]]:
    """(start, stop) in samples, in order, without overlap, inside the wave, none of them empty."""
    spans = sorted((round(turn.start_s * rate_hz), round(turn.end_s * rate_hz)) for turn in turns)
    stretches: list[tuple[int, int]] = []
    reached = 0
    for start, stop in spans:
        start, stop = max(start, reached), min(stop, n_samples)
        if stop > start:
            stretches.append((start, stop))
            reached = stop
    return stretches


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
