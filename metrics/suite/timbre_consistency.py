"""How alike a voice stays within a clip: mean cosine of its windows' speaker embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metrics.core.lazy_torch import torch
from metrics.core.metric import Hint, Score, Take, undefined
from metrics.core.precision import RECURRENT, Precisions
from metrics.core.published_models import PublishedModel
from metrics.networks import voices
from metrics.networks.forced_alignment import MODEL as ALIGNMENT
from metrics.networks.forced_alignment import AlignmentError, TurnAligner
from metrics.networks.voices import VoiceMetric, VoiceParameters, Voices, VoiceWindows
from metrics.signal import turns
from metrics.suite.srmr import check_choice

PER_SPEAKER = ("auto", "aligned", "never")
PAPER = "LFS-Bench, for WavLM x-vectors in windows of 3 s every 2 s"
ALL = ""  # the name under which a wave of nobody in particular goes


@dataclass(frozen=True)
class TimbreConsistencyParameters(VoiceParameters):
    """The windows and their embedding; and whether the speakers of a dialogue count apart."""

    per_speaker: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("per_speaker", self.per_speaker, PER_SPEAKER)


class TimbreConsistency(VoiceMetric):
    """Mean cosine over all pairs of windows; of several speakers, the mean of their values."""

    key = "timbre_consistency"
    version = "1"
    description = "Mean cosine of speaker embeddings over all pairs of 3 s windows of a speaker"
    title = "Timbre consistency"
    source = "LFS-Bench: timbre consistency; the embedding is a parameter (resemblyzer 0.1.4)"
    low = -1.0
    high = 1.0
    higher_is_better = True
    precisions = Precisions(0.002, 0.02, None, "Resemblyzer's weights", RECURRENT)
    needs = ("turns",)
    parameters_type = TimbreConsistencyParameters
    parameters: TimbreConsistencyParameters

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.voices = Voices(self.parameters)
        self.packages = self.voices.packages
        self.aligner = TurnAligner() if self.parameters.per_speaker == "aligned" else None
        if self.aligner:
            self.packages = tuple(dict.fromkeys((*self.packages, *self.aligner.packages)))

    def models(self) -> Sequence[PublishedModel]:
        """Those of the embedding, and of what finds turns."""
        return [*super().models(), *([ALIGNMENT] if self.aligner else [])]

    def load(self, device: str = "cpu") -> None:
        """Load the embedding, and what finds speech or turns where it is asked for."""
        super().load(device)
        if self.aligner:
            self.aligner.load(device)
            self.weights |= self.aligner.weights

    def score_takes(self, takes: Sequence[Take]) -> list[Score]:
        """One value per take; the windows of all takes and speakers are batched."""
        streams = [self.streams(take) for take in takes]
        waves = [wave for own in streams if isinstance(own, dict) for wave in own.values()]
        windows = iter(self.voices.windows(waves))
        return [
            self.summary({speaker: next(windows) for speaker in own})
            if isinstance(own, dict)
            else own
            for own in streams
        ]

    def streams(self, take: Take) -> dict[str, torch.Tensor] | Score:
        """Each speaker's wave; the whole one without several speakers; or why there is none."""
        if self.parameters.per_speaker == "never":
            return {ALL: take.wave}
        try:
            own = turns.known_turns(take.material)
        except ValueError as error:
            return undefined(str(error))
        if len(turns.speakers_of(own)) < 2:
            return {ALL: take.wave}
        try:
            if self.aligner:
                own = self.aligner.timed_turns(take.wave, own)
        except AlignmentError as error:
            return undefined(f"turns without times: {error}")
        if not turns.have_times(own):
            return undefined(
                "turns without times: give them, or set per_speaker to aligned or never"
            )
        return turns.speaker_streams(take.wave, own, self.sample_rate_hz) or undefined(
            "the turns lie behind the end of the clip"
        )

    def summary(self, by_speaker: dict[str, VoiceWindows]) -> Score:
        """The mean over the speakers who have two windows or more."""
        each = {speaker: self.speaker_score(windows) for speaker, windows in by_speaker.items()}
        if ALL in each and len(each) == 1:
            return each[ALL]
        values = [score.value for score in each.values() if score.value is not None]
        details = {
            "n_speakers": len(each),
            "n_speakers_used": len(values),
            "speakers": {
                speaker: {"value": score.value, "reason": score.reason, **score.details}
                for speaker, score in each.items()
            },
        }
        if not values:
            return undefined("no speaker has two windows that can be used", **details)
        return Score(sum(values) / len(values), "", details)

    def speaker_score(self, windows: VoiceWindows) -> Score:
        """The mean over all pairs of windows, with each window's mean beside it."""
        details = windows.details(self.sample_rate_hz)
        if windows.n_windows < 2:
            length_s = windows.n_samples / self.sample_rate_hz
            needed_s = self.parameters.window_s + self.parameters.hop_s
            return undefined(
                f"too short: {length_s:.2f} s, two windows need {needed_s} s", **details
            )
        if windows.n_windows - windows.n_silent < 2:
            return undefined("silent", **details)
        if len(windows.starts) < 2:
            usable = f"{len(windows.starts)} of {windows.n_windows} windows can be used"
            return undefined(f"too little speech: {usable}", **details)
        similarities = voices.mean_similarities(windows.vectors)
        details["window_similarities"] = similarities.tolist()
        return Score(float(similarities.mean()), "", details)

    def hints(self) -> list[Hint]:
        """The paper's thresholds; only for the paper's embedding and windows."""
        own = self.parameters
        if (own.embedding, own.model, own.window_s, own.hop_s) != ("wavlm", "", 3.0, 2.0):
            return []
        return [
            Hint(self.key, 0.85, "acceptable up to 0.90; below 0.85 significant drift", PAPER),
            Hint(self.key, 0.90, "above the acceptable range; no word for 0.90 to 0.93", PAPER),
            Hint(
                self.key,
                0.93,
                "as steady as recordings of people (printed as “< 0.93”, against its context)",
                PAPER,
            ),
        ]
