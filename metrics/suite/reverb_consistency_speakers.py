"""Reverb consistency of each speaker's own part of a clip, averaged over speakers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metrics.core.metric import Score, Take, Turn, undefined
from metrics.core.published_models import PublishedModel
from metrics.networks.forced_alignment import MODEL as ALIGNMENT
from metrics.networks.forced_alignment import AlignmentError, TurnAligner
from metrics.signal import turns
from metrics.suite.reverb_consistency import ReverbConsistency, ReverbConsistencyParameters
from metrics.suite.srmr import check_choice

TURN_TIMES = ("given", "aligned")


@dataclass(frozen=True)
class ReverbConsistencySpeakersParameters(ReverbConsistencyParameters):
    """The parameters of reverb consistency, and whether missing turn times are aligned."""

    turn_times: str = "given"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("turn_times", self.turn_times, TURN_TIMES)


class ReverbConsistencySpeakers(ReverbConsistency):
    """Reverb consistency per speaker (turns joined without gaps), then the mean over speakers."""

    key = "reverb_consistency_speakers"
    version = "1"
    description = "Standard deviation of SRMR within each speaker, mean over speakers"
    title = "Reverb consistency per speaker"
    source = "Ours, after LFS-Bench's reverb consistency and its per-speaker timbre consistency"
    needs = ("turns",)
    parameters_type = ReverbConsistencySpeakersParameters
    parameters: ReverbConsistencySpeakersParameters

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.aligner = TurnAligner() if self.parameters.turn_times == "aligned" else None
        if self.aligner:
            self.packages = (*type(self).packages, *self.aligner.packages)

    def models(self) -> Sequence[PublishedModel]:
        """Those of what finds turns."""
        return [ALIGNMENT] if self.aligner else []

    def load(self, device: str = "cpu") -> None:
        """Load the speech detector, and what finds turns where it is asked for."""
        super().load(device)
        if self.aligner:
            self.aligner.load(device)
            self.weights = self.weights | self.aligner.weights

    def score_takes(self, takes: Sequence[Take]) -> list[Score]:
        """One mean per take; the windows of all speakers of all takes are batched."""
        known = [self.timed_turns(take) for take in takes]
        streams = [
            turns.speaker_streams(
                take.wave, () if isinstance(own, Score) else own, self.sample_rate_hz
            )
            for take, own in zip(takes, known, strict=True)
        ]
        waves = [wave for of_clip in streams for wave in of_clip.values()]
        wave_scores = iter(self.score(waves) if waves else [])
        scores = [{speaker: next(wave_scores) for speaker in of_clip} for of_clip in streams]
        return [
            own if isinstance(own, Score) else self.mean_over_speakers(own, of_clip)
            for own, of_clip in zip(known, scores, strict=True)
        ]

    def timed_turns(self, take: Take) -> Sequence[Turn] | Score:
        """The clip's turns with their times, or why there are none."""
        try:
            known = turns.known_turns(take.material)
            if not known:
                return undefined("no turns: the manifest does not say who speaks when")
            if self.aligner:
                known = self.aligner.timed_turns(take.wave, known)
        except AlignmentError as error:
            return undefined(f"turns without times: {error}")
        except ValueError as error:
            return undefined(str(error))
        return known if turns.have_times(known) else undefined("no turns with times")

    def mean_over_speakers(self, known: Sequence[Turn], scores: Mapping[str, Score]) -> Score:
        """The mean of what the speakers have; those with fewer than two windows have nothing."""
        per_speaker = {
            speaker: {"value": score.value, "reason": score.reason, **score.details}
            for speaker, score in scores.items()
        }
        values = [score.value for score in scores.values() if score.value is not None]
        details = {"per_speaker": per_speaker, "n_speakers": len(turns.speakers_of(known))}
        details["n_speakers_measured"] = len(values)
        if not values:
            return undefined("no speaker has two windows with enough speech", **details)
        return Score(float(np.mean(values)), "", details)
