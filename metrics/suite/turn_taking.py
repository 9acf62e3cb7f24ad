"""When speakers of a dialogue take turns: floor-transfer offset, gaps, overlaps, interruptions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from listening.common.speaker_turns import Turn
from metrics.core.metric import (
    Input,
    Material,
    Metric,
    Output,
    Parameters,
    Score,
    Sharing,
    Take,
    check_bounds,
    undefined,
)
from metrics.signal import turns

OFFSET = "floor_transfer_offset_s"  # what an attribute of a single turn says


@dataclass(frozen=True)
class TurnTakingParameters(Parameters):
    """``pause_s``: shorter silences within a speaker are none. ``interruption_s``: see `Floor`."""

    pause_s: float = 0.2
    interruption_s: float = 0.2

    def __post_init__(self) -> None:
        check_bounds(self, "pause_s", 0)
        check_bounds(self, "interruption_s", 0)


@dataclass(frozen=True)
class Floor:
    """What happens between the speakers of a dialogue; all times in seconds.

    ``offsets_s``: of each change of speaker, the start of the next speaker's speech after the end
    of the previous speaker's; above 0 a gap, below 0 an overlap (de Ruiter et al. 2006).
    ``overlapped_s``: how long two or more speak at once, ``spoken_s``: how long anybody speaks,
    ``span_s``: from the first speech to the last.
    """

    offsets_s: tuple[float, ...]
    overlapped_s: float
    spoken_s: float
    span_s: float


def floor_of(known: Sequence[Turn], pause_s: float = 0.2) -> Floor:
    """Joint silences and overlaps of turns, told apart by who speaks before and after them.

    A joint silence between two speakers is a gap, within one speaker a pause. An overlap after
    which the other speaker goes on alone is a change of speaker; an overlap within the speech of
    one is none. Silences within a speaker shorter than ``pause_s`` are filled first. Source:
    Heldner and Edlund (2010), Pauses, gaps and overlaps in conversations, Journal of Phonetics 38.
    Raises ValueError without turns.
    """
    if not known:
        raise ValueError("there are no turns")
    speech = {
        name: _joined([(t.start_s, t.end_s) for t in known if t.speaker == name], pause_s)
        for name in {turn.speaker for turn in known}
    }
    edges = sorted({edge for spans in speech.values() for span in spans for edge in span})
    states = [
        (start, end, frozenset(n for n, spans in speech.items() if _speaks(spans, start, end)))
        for start, end in pairwise(edges)
    ]
    offsets_s, before, between = [], "", 0.0
    for start, end, speakers in states:
        if len(speakers) == 1:
            (speaker,) = speakers
            if before and speaker != before:
                offsets_s.append(between)
            before, between = speaker, 0.0
        elif speakers:
            between -= end - start
        else:  # what overlapped before it is over
            between = end - start
    return Floor(
        tuple(offsets_s),
        math.fsum(end - start for start, end, speakers in states if len(speakers) > 1),
        math.fsum(end - start for start, end, speakers in states if speakers),
        edges[-1] - edges[0],
    )


def _joined(spans: Iterable[tuple[float, float]], pause_s: float) -> list[tuple[float, float]]:
    """Spans in order, without those silences between them that are shorter than ``pause_s``."""
    joined: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if joined and start - joined[-1][1] < pause_s:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _speaks(spans: Iterable[tuple[float, float]], start: float, end: float) -> bool:
    return any(first <= start and end <= last for first, last in spans)


class TurnTaking(Metric):
    """Timing of a dialogue out of its turns; of a single turn, its own floor-transfer offset."""

    key = "turn_taking"
    version = "1"
    cpu_s_per_s = 0
    description = "Median floor-transfer offset: start of a turn after the end of the turn before"
    title = "Floor-transfer offset"
    source = "Heldner and Edlund (2010); de Ruiter, Mitterer and Enfield (2006)"
    unit = "s"
    more_outputs = (
        Output("turn_gap_s", "Median of the gaps between speakers", "s", 0.0, title="Gap"),
        Output(
            "turn_overlap_s",
            "Median length of the overlaps at which the speaker changes",
            "s",
            0.0,
            title="Overlap at a change of speaker",
        ),
        Output(
            "interruptions_per_minute",
            "Changes of speaker at which both speak for 0.2 s or more, per minute",
            "1/min",
            0.0,
            title="Interruptions per minute",
        ),
        Output(
            "overlapped_speech",
            "Share of the time of speech in which both speak",
            low=0.0,
            high=1.0,
            title="Overlapped speech",
        ),
    )
    sharing = Sharing(Input.ALONE, 0.0, "it reads the turns, not the sound")
    needs = ("turns", f"attributes.{OFFSET}")
    packages = ()
    parameters_type = TurnTakingParameters
    parameters: TurnTakingParameters

    def score_takes(self, takes: Sequence[Take]) -> list[Score]:
        return [self.timing(take.material) for take in takes]

    def timing(self, material: Material) -> Score:
        """The timing of a clip by what is known of its turns."""
        if own := material.attribute(OFFSET):
            return Score(float(own), also=self.lengths([float(own)]))
        try:
            known = turns.known_turns(material)
        except ValueError as error:
            return undefined(str(error))
        if not turns.have_times(known):
            return undefined("no turns with times")
        floor = floor_of(known, self.parameters.pause_s)
        if not floor.offsets_s:
            return undefined("the speaker never changes")
        interrupted = [each for each in floor.offsets_s if each <= -self.parameters.interruption_s]
        details: dict[str, Any] = {
            "n_changes": len(floor.offsets_s),
            "offsets_s": [round(each, 6) for each in floor.offsets_s],
        }
        also = {
            **self.lengths(floor.offsets_s),
            "interruptions_per_minute": len(interrupted) / floor.span_s * 60,
            "overlapped_speech": floor.overlapped_s / floor.spoken_s,
        }
        return Score(median(floor.offsets_s), "", details, also=also)

    def lengths(self, offsets_s: Sequence[float]) -> Mapping[str, float | None]:
        """Medians of gaps and of overlaps; None where there are none."""
        gaps = [each for each in offsets_s if each > 0]
        overlaps = [-each for each in offsets_s if each < 0]
        return {
            "turn_gap_s": median(gaps) if gaps else None,
            "turn_overlap_s": median(overlaps) if overlaps else None,
        }
