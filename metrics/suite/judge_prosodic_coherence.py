"""Prosodic coherence of a whole clip as an audio language model judges it (LFS-Bench)."""

from __future__ import annotations

from dataclasses import dataclass

from metrics.core.lazy_torch import torch
from metrics.core.metric import Hint, Output, Score, Take, undefined
from metrics.judges.judge import RepeatedJudge, RepeatedParameters

PUBLISHED = "LFS-Bench (2026), appendix D.3, for its own prompt and SpeechJudge"


@dataclass(frozen=True)
class ProsodicCoherenceParameters(RepeatedParameters):
    """Ten repeats with seeds of their own; warm enough for them to differ."""

    rubric: str = "prosodic_coherence.v1"
    temperature: float = 0.7
    repeats: int = 10


class JudgeProsodicCoherence(RepeatedJudge):
    """Mean score over the repeats, from the whole clip and its text."""

    key = "judge_prosodic_coherence"
    version = "1"
    description = "Prosodic coherence, 1 to 5, by an audio language model; mean of the repeats"
    title = "Judge: prosodic coherence"
    source = "LFS-Bench (2026), appendix C.5; rubric ours, or Figure 12"
    needs = ("text", "language")
    more_outputs = (
        Output(
            "judge_prosodic_coherence_sd",
            "Standard deviation of judge_prosodic_coherence over its repeats (ddof 1)",
            low=0.0,
            higher_is_better=False,
            title="Judge: deviation of prosodic coherence",
        ),
    )
    parameters_type = ProsodicCoherenceParameters
    parameters: ProsodicCoherenceParameters

    def audio_parts(self, take: Take) -> list[torch.Tensor] | Score:
        """The whole clip; no value without a text."""
        return super().audio_parts(take) if take.material.text.strip() else undefined("no text")

    def prompt_blanks(self, take: Take) -> dict[str, str]:
        return {"text": take.material.text, "language": take.material.language or "not said"}

    def also(self, sd: float | None) -> dict[str, float | None]:
        """The spread of the repeats as an output."""
        return {"judge_prosodic_coherence_sd": sd}

    def hints(self) -> list[Hint]:
        """The paper's thresholds, for the paper's judge and prompt only."""
        theirs = self.parameters.rubric == "prosodic_coherence.lfs_figure_12"
        if not theirs or "speechjudge" not in self.parameters.model.lower():
            return []
        return [
            Hint(self.key, 4.0, "competent prosody", PUBLISHED),
            Hint(self.key, 4.5, "hard to distinguish from real speech", PUBLISHED),
        ]
