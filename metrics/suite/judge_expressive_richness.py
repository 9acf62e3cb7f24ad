"""Expressive richness, judged on pieces of ten seconds and averaged (LFS-Bench)."""

from __future__ import annotations

from dataclasses import dataclass

from metrics.core.lazy_torch import torch
from metrics.core.metric import Score, Take, undefined
from metrics.core.silence import silence
from metrics.judges.judge import RepeatedJudge, RepeatedParameters, check_range
from metrics.judges.question import RATE_HZ
from metrics.networks.predictors.chunks import cut


@dataclass(frozen=True)
class ExpressiveRichnessParameters(RepeatedParameters):
    """How a clip is cut. The paper says nothing of the rest at the end: ``rest_s`` decides."""

    rubric: str = "expressive_richness.v1"
    longest_s: float = 3600.0
    chunk_s: float = 10.0
    rest_s: float = 5.0  # a rest at least this long is a piece too; a shorter one is left out

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("chunk_s", self.chunk_s, 1, 600)
        check_range("rest_s", self.rest_s, 0.5, self.chunk_s)


class JudgeExpressiveRichness(RepeatedJudge):
    """Mean score over non-overlapping pieces; a clip shorter than one piece is one piece."""

    key = "judge_expressive_richness"
    version = "1"
    description = "Expressive richness, 1 to 5, by an audio language model; mean over 10 s pieces"
    title = "Judge: expressive richness"
    source = "LFS-Bench (2026), appendix C.6; rubric ours, or Figure 14"
    parameters_type = ExpressiveRichnessParameters
    parameters: ExpressiveRichnessParameters

    def audio_parts(self, take: Take) -> list[torch.Tensor] | Score:
        """The clip in pieces, without silent ones."""
        unfit = self.unfit(take)
        if unfit:
            return unfit
        pieces = pieces_of(take.wave, self.parameters.chunk_s, self.parameters.rest_s)
        return [piece for piece in pieces if not silence(piece, RATE_HZ)] or undefined("silent")


def pieces_of(wave: torch.Tensor, chunk_s: float, rest_s: float) -> list[torch.Tensor]:
    """Pieces of chunk_s one after the other; the rest too where it lasts rest_s or more."""
    size, least = round(chunk_s * RATE_HZ), round(rest_s * RATE_HZ)
    return [wave[piece.start : piece.end] for piece in cut(0, len(wave), size, least)]
