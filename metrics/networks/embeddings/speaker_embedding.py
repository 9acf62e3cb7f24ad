"""What turns a stretch of speech into a vector that tells voices apart, and the registry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from listening.common.registry import Registered, Registry
from metrics.core.lazy_torch import torch
from metrics.core.metric import ParameterError, buckets
from metrics.core.published_models import PublishedModel
from metrics.networks.predictors.predictor import exact_inference


class SpeakerEmbedding(Registered):
    """A model of voices. A subclass registers itself by its `key`."""

    key: ClassVar[str] = ""  # stored in the parameters of metrics: never renamed
    rate_hz: ClassVar[int] = 16_000
    source: ClassVar[str] = ""
    shortest_s: ClassVar[float] = 0.5  # no shorter stretch is embedded
    published_model: ClassVar[PublishedModel | None] = None  # None: Earnest carries its weights
    packages: ClassVar[tuple[str, ...]] = ()
    cpu_s_per_s: ClassVar[float | None] = None  # as `Metric.cpu_s_per_s`, of what is heard
    at_once_s: float = 60.0  # seconds of audio computed together, for the memory's sake
    similar: float = 1.0  # how many times longer than a batch's shortest its longest may be
    registry: ClassVar[Registry[SpeakerEmbedding]] = Registry(
        "speaker embedding", "metrics.networks.embeddings"
    )

    def __init__(self, model: str = "") -> None:
        if model and not self.published_model:
            raise ParameterError(f"embedding {self.key} has one model only; leave model empty")
        self.model = model
        self.weights: dict[str, str] = {}  # file name -> SHA-256, filled by load()

    def models(self) -> list[PublishedModel]:
        """The models that `load` locates."""
        return [self.published_model.renamed(self.model)] if self.published_model else []

    def load(self, device: str = "cpu") -> None:
        """Make ready for `device`; raises `weights.Unavailable` when the weights are missing."""
        raise NotImplementedError

    def embed(self, waves: Sequence[torch.Tensor] | torch.Tensor) -> torch.Tensor:
        """Unit vectors [waves, dimensions], float64, of waves, (samples,) each, at `rate_hz`.

        A batch is cut so that memory stays bounded; a wave's vector does not depend on the rest.
        """
        floats = [wave.float() for wave in waves]
        most = round(self.at_once_s * self.rate_hz)
        rows: dict[int, torch.Tensor] = {}
        with exact_inference():
            for places in buckets([len(wave) for wave in floats], most, self.similar):
                rows |= zip(places, self._embed([floats[place] for place in places]), strict=True)
        vectors = torch.stack([rows[place] for place in range(len(floats))])
        return torch.nn.functional.normalize(vectors.double(), dim=1)

    def _embed(self, waves: Sequence[torch.Tensor]) -> torch.Tensor:
        """Vectors of any length, [waves, dimensions], of a batch that fits into memory.

        The waves are ordered by length; the longest is at most `similar` times the shortest.
        """
        raise NotImplementedError


def embedding_type(key: str) -> type[SpeakerEmbedding]:
    """The embedding of the registry; a ParameterError lists what there is."""
    if key not in SpeakerEmbedding.registry:
        raise ParameterError(
            f"embedding is {key!r}; choose one of {', '.join(SpeakerEmbedding.registry)}"
        )
    return SpeakerEmbedding.registry[key]
