"""Whether a clip is in the voice that it should be in: one cosine, of whole recordings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metrics.core.lazy_torch import torch
from metrics.core.metric import (
    WIDE_BAND_HZ,
    Accepts,
    Input,
    Metric,
    Parameters,
    Score,
    Sharing,
    Take,
    check_bounds,
)
from metrics.core.published_models import PublishedModel
from metrics.networks.predictors.chunks import unfit
from metrics.networks.voices import VoiceParameters
from metrics.suite.timbre_similarity import TimbreSimilarity

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHORTEST_S = 0.5


@dataclass(frozen=True)
class SpeakerSimilarityParameters(Parameters):
    """The embedding, its model, and how much of clip and reference is heard at most."""

    embedding: str = "wavlm_large"
    model: str = ""
    longest_s: float = 60.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "longest_s", float(self.longest_s))
        VoiceParameters(self.embedding, self.model)  # refuses what there is not
        check_bounds(self, "longest_s", 1)


class SpeakerSimilarity(Metric):
    """Cosine of the clip's vector with that of the reference voice: SIM (SIM-o) of many papers."""

    key = "speaker_similarity"
    version = "1"
    description = "Cosine of the speaker embeddings of the whole clip and of a reference voice"
    title = "Speaker similarity"
    source = "SIM-o of Seed-TTS-eval and others: WavLM-large with ECAPA-TDNN, fine-tuned"
    low = -1.0
    high = 1.0
    higher_is_better = True
    needs = TimbreSimilarity.needs
    accepts = Accepts(WIDE_BAND_HZ, SHORTEST_S)
    sharing = Sharing(Input.MASKED, why="embeddings that do not mask: equal lengths")
    precisions = TimbreSimilarity.precisions
    parameters_type = SpeakerSimilarityParameters
    parameters: SpeakerSimilarityParameters

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        settings = self.parameters
        self.timbre = TimbreSimilarity(
            embedding=settings.embedding, model=settings.model, reference_s=settings.longest_s
        )
        self.packages = self.timbre.packages

    def models(self) -> Sequence[PublishedModel]:
        """Those of the embedding."""
        return self.timbre.models()

    def expected_cpu_s(self, clip_s: float) -> float | None:
        """CPU seconds of the clip, which depend on the embedding."""
        cost = self.timbre.voices.embedding.cpu_s_per_s
        return None if cost is None else cost * min(clip_s, self.parameters.longest_s)

    def load(self, device: str = "cpu") -> None:
        """Load the embedding onto `device`."""
        super().load(device)
        self.timbre.load(device)
        self.weights = self.timbre.weights

    def score_takes(self, takes: Sequence[Take]) -> list[Score]:
        """One value per take with a reference voice; waves of similar length share batches."""
        longest = round(self.parameters.longest_s * self.sample_rate_hz)
        references: list[Score | NDArray[Any]] = [
            unfit(take.wave, SHORTEST_S, self.sample_rate_hz)
            or self.timbre.reference(take.material)
            for take in takes
        ]
        usable = [i for i, each in enumerate(references) if not isinstance(each, Score)]
        heard = {i: takes[i].wave[:longest] for i in usable}
        if usable:
            embedded = self.timbre.voices.embedding.embed(list(heard.values()))
            vectors = dict(zip(usable, embedded.cpu().numpy(), strict=True))
        scores = [
            each if isinstance(each, Score) else self._score(heard[i], vectors[i], each)
            for i, each in enumerate(references)
        ]
        return self.timbre.beside_odd_voices(scores, takes)

    def _score(self, heard: torch.Tensor, vector: NDArray[Any], reference: NDArray[Any]) -> Score:
        details = {"heard_s": len(heard) / self.sample_rate_hz}
        return Score(float(vector @ reference), "", details)
