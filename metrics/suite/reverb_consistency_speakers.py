"""Reverb consistency of each speaker's own part of a clip, averaged over speakers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from metrics import turns
from metrics.base import Score, Take, undefined
from metrics.suite.reverb_consistency import ReverbConsistency


class ReverbConsistencySpeakers(ReverbConsistency):
    """Reverb consistency per speaker (turns joined without gaps), then the mean over speakers."""

    key = "reverb_consistency_speakers"
    version = "1"
    description = "Standard deviation of SRMR within each speaker, mean over speakers"
    source = "Ours, after LFS-Bench's reverb consistency and its per-speaker timbre consistency"
    needs = ("turns",)

    def score_takes(self, takes: Sequence[Take]) -> list[Score]:
        """One mean per take; the windows of all speakers of all takes are batched."""
        streams = [
            turns.speaker_streams(take.wave, take.material.turns, self.sample_rate_hz)
            for take in takes
        ]
        waves = [wave for of_clip in streams for wave in of_clip.values()]
        found = iter(self.score(waves) if waves else [])
        return [
            self.mean_over_speakers(take, {speaker: next(found) for speaker in of_clip})
            for take, of_clip in zip(takes, streams, strict=True)
        ]

    def mean_over_speakers(self, take: Take, scores: Mapping[str, Score]) -> Score:
        """The mean of what the speakers have; those with fewer than two windows have nothing."""
        known = take.material.turns
        if not known:
            return undefined("no turns: the manifest does not say who speaks when")
        if not turns.timed(known):
            return undefined("no turns with times")
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
