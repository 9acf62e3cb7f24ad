"""SCOREQ: quality by contrastive regression, without a reference or as a distance from one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metrics.core.lazy_torch import torch
from metrics.core.metric import Input, ParameterError, Sharing
from metrics.core.published_models import PublishedModel
from metrics.networks.predictors import chunks
from metrics.networks.predictors.onnx import OnnxMetric

if TYPE_CHECKING:
    from metrics.suite.scoreq_ref import ScoreqRefParameters

STEP = 320  # samples of a frame of wav2vec 2.0: waves are filled up to whole frames
DOMAINS = ("synthetic", "telephone")
ZENODO = "https://zenodo.org/records/15739280"


@dataclass(frozen=True)
class ScoreqParameters(chunks.ChunkRule):
    """What the network learnt from ("synthetic" speech or "telephone" calls); its file; chunks."""

    chunk_s: float = 30.0
    domain: str = "synthetic"
    model: str = ""  # empty: scoreq/adapt_nr_DOMAIN.onnx of the folder of models

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.domain not in DOMAINS:
            raise ParameterError(f"domain is {self.domain!r}; choose {' or '.join(DOMAINS)}")


def published(kind: str, parameters: ScoreqParameters | ScoreqRefParameters) -> PublishedModel:
    """The ONNX file of a kind ("adapt_nr", "fixed_nmr") that the parameters name."""
    file = f"{kind}_{parameters.domain}.onnx"
    own = PublishedModel(f"scoreq/{file}", source=f"{ZENODO}/files/{file}", page=ZENODO)
    return own.renamed(parameters.model)


class Scoreq(OnnxMetric, chunks.ChunkedMetric):
    """A predicted MOS by the ONNX file of the package scoreq's authors."""

    key = "scoreq"
    version = "1"
    description = "SCOREQ without reference: predicted MOS of synthetic speech"
    title = "SCOREQ"
    source = "Ragano et al. (2024), SCOREQ; adapt_nr_synthetic.onnx"
    unit = "MOS"
    higher_is_better = True
    sharing = Sharing(Input.ALONE, 0.0, "its file takes one wave at a time")
    parameters_type = ScoreqParameters
    parameters: ScoreqParameters

    def models(self) -> list[PublishedModel]:
        """The network's file."""
        return [published("adapt_nr", self.parameters)]

    def predict(self, batch: Sequence[torch.Tensor]) -> torch.Tensor:
        """The network's scores, (waves, 1), of equally long waves."""
        name = self.session.get_inputs()[0].name
        filled = [np.pad(wave.cpu().numpy(), (0, -len(wave) % STEP)) for wave in batch]
        scores = [self.session.run(None, {name: wave[None]})[0].item() for wave in filled]
        return torch.tensor(scores)[:, None]
