"""What turns a stretch of speech into a vector that tells voices apart, and the registry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from listening.registry import Registry
from metrics.metric import ParameterError
from metrics.predictors.inference import exact

if TYPE_CHECKING:
    import torch


class SpeakerEmbedding:
    """A model of voices. A subclass registers itself by its `key`."""

    key: ClassVar[str] = ""  # stored in the parameters of metrics: never renamed
    rate_hz: ClassVar[int] = 16_000
    source: ClassVar[str] = ""
    shortest_s: ClassVar[float] = 0.5  # no shorter stretch is embedded
    default_model: ClassVar[str] = ""  # as model hubs spell it; empty: there is one model only
    packages: ClassVar[tuple[str, ...]] = ()
    at_once_s: ClassVar[float] = 60.0  # seconds of audio computed together, for the memory's sake
    registry: ClassVar[Registry[SpeakerEmbedding]] = Registry(
        "speaker embedding", "metrics.embeddings"
    )

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        SpeakerEmbedding.registry.add(cls)

    def __init__(self, model: str = "") -> None:
        if model and not self.default_model:
            raise ParameterError(f"embedding {self.key} has one model only; leave model empty")
        self.model = model or self.default_model
        self.weights: dict[str, str] = {}  # file name -> SHA-256, filled by load()

    def load(self, device: str = "cpu") -> None:
        """Make ready for `device`; raises `weights.Unavailable` when the weights are missing."""
        raise NotImplementedError

    def embed(self, windows: torch.Tensor) -> torch.Tensor:
        """Unit vectors [windows, dimensions], float64, of windows [windows, samples] at `rate_hz`.

        A batch is cut so that memory stays bounded; a window's vector does not depend on the rest.
        """
        import torch

        with exact():
            vectors = torch.cat([self._embed(part.float()) for part in self._batches(windows)])
        return torch.nn.functional.normalize(vectors.double(), dim=1)

    def _embed(self, windows: torch.Tensor) -> torch.Tensor:
        """Vectors of any length, [windows, dimensions], of a batch that fits into memory."""
        raise NotImplementedError

    def _batches(self, windows: torch.Tensor) -> Iterator[torch.Tensor]:
        at_once = max(1, round(self.at_once_s * self.rate_hz / windows.shape[1]))
        for first in range(0, len(windows), at_once):
            yield windows[first : first + at_once]


def embedding_type(key: str) -> type[SpeakerEmbedding]:
    """The embedding of the registry; a ParameterError lists what there is."""
    if key not in SpeakerEmbedding.registry:
        raise ParameterError(
            f"embedding is {key!r}; choose one of {', '.join(SpeakerEmbedding.registry)}"
        )
    return SpeakerEmbedding.registry[key]
