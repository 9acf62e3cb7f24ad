"""Distill-MOS: predicted quality of speech from the audio alone, by a small network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.core import weights
from metrics.core.devices import kind
from metrics.core.lazy_torch import functional, torch
from metrics.core.metric import WIDE_BAND_HZ, Accepts, Input, Metric, Score, Sharing
from metrics.core.precision import Precisions
from metrics.networks.predictors import chunks
from metrics.networks.predictors.predictor import exact_inference

SHORTEST_S = 0.1
AT_ONCE = {"cpu": 1, "cuda": 64}  # segments: alone they stay in the processor's cache


class DistillMos(Metric):
    """The mean over segments of 7.68 s, as the package distillmos cuts them."""

    key = "distillmos"
    version = "1"
    cpu_s_per_s = 0.1
    description = "Distill-MOS, speech quality predicted from the audio alone"
    title = "Distill-MOS"
    source = "Stahl, Gamper (2025), Distillation and pruning for SQA; package distillmos 0.9.1 (v7)"
    unit = "MOS"
    low = 1.0
    high = 5.0
    higher_is_better = True
    sharing = Sharing(Input.WINDOWS)
    precisions = Precisions(0.002, 0.02, 0.001, "real weights")
    accepts = Accepts(WIDE_BAND_HZ, SHORTEST_S)
    packages = ("torch", "numpy", "distillmos")

    def load(self, device: str = "cpu") -> None:
        """Build the package's network with the weights that it carries."""
        from distillmos import ConvTransformerSQAModel

        super().load(device)
        path = weights.package_file("distillmos", "weights/distill_mos_v7.pt")
        self.weights = weights.hashes([path])
        self.model = ConvTransformerSQAModel(load_weights=False, segmenting_in_forward=False)
        state = torch.load(path, map_location="cpu", weights_only=True)
        self.model.load_state_dict(state["model"])
        self.model.eval().to(device)

    def compilable(self) -> Sequence[tuple[Any, str]]:
        """The network, whose input has one length."""
        return [(self, "model")]

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """One score per wave, (samples,) at 16 kHz; segments of all waves share batches."""
        from distillmos.sqa import SEQ_LEN

        scores = [chunks.unfit(wave, SHORTEST_S) for wave in waves]
        usable = [i for i, score in enumerate(scores) if score is None]
        long = [functional.pad(waves[i], (0, max(SEQ_LEN - len(waves[i]), 0))) for i in usable]
        pieces = [piece for index, wave in enumerate(long) for piece in segments(index, len(wave))]
        values: list[list[float]] = [[] for _ in long]
        for batch in chunks.batches(pieces, AT_ONCE[kind(self.device)] * SEQ_LEN):
            for piece, value in zip(batch, self.predict(long, batch), strict=True):
                values[piece.index].append(float(value))
        for i, segment_values in zip(usable, values, strict=True):
            scores[i] = Score(
                float(np.mean(segment_values)), details={"segments": len(segment_values)}
            )
        return [score for score in scores if score is not None]

    def predict(
        self, waves: Sequence[torch.Tensor], batch: Sequence[chunks.Piece]
    ) -> NDArray[np.float64]:
        """The network's value of each segment, (segments,)."""
        with exact_inference():
            values = self.model(torch.stack(chunks.cut_out(waves, batch)))
            return np.asarray(values.reshape(-1).double().cpu().numpy())


def segments(index: int, samples: int) -> list[chunks.Piece]:
    """The segments of one wave: evenly spread from start to end, at most 1 s apart."""
    from distillmos.sqa import MAX_HOP_LEN, SEQ_LEN

    spare = samples - SEQ_LEN
    count = int(np.ceil(spare / MAX_HOP_LEN)) + 1
    starts = [int(place * spare) for place in np.linspace(0, 1, count)]
    return [chunks.Piece(index, start, start + SEQ_LEN) for start in starts]
