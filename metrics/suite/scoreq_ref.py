"""SCOREQ with a reference: how far a clip lies from clean speech in a space of quality."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metrics.core.metric import (
    WIDE_BAND_HZ,
    Accepts,
    ParameterError,
    Parameters,
    Score,
    undefined,
)
from metrics.core.paired_metric import PairedMetric, Wave
from metrics.core.published_models import PublishedModel
from metrics.networks.predictors.onnx import OnnxMetric
from metrics.suite.scoreq import DOMAINS, STEP, published

LONGEST_S = 60.0  # the network attends over all of a wave


@dataclass(frozen=True)
class ScoreqRefParameters(Parameters):
    """What the network learnt from ("synthetic" speech or "telephone" calls), and its file."""

    domain: str = "synthetic"
    model: str = ""  # empty: scoreq/fixed_nmr_DOMAIN.onnx of the folder of models

    def __post_init__(self) -> None:
        if self.domain not in DOMAINS:
            raise ParameterError(f"domain is {self.domain!r}; choose {' or '.join(DOMAINS)}")


class ScoreqRef(OnnxMetric, PairedMetric):
    """Distance of two unit vectors, 0 to 2, by an ONNX file of SCOREQ's authors.

    The reference need not say the same words: the authors compare with any clean recording.
    """

    key = "scoreq_ref"
    version = "1"
    description = "SCOREQ with reference: distance from a clean recording"
    title = "SCOREQ with reference"
    source = "Ragano et al. (2024), SCOREQ; fixed_nmr_synthetic.onnx"
    low = 0.0
    high = 2.0
    higher_is_better = False
    accepts = Accepts(WIDE_BAND_HZ)
    parameters_type = ScoreqRefParameters
    parameters: ScoreqRefParameters

    def models(self) -> list[PublishedModel]:
        """The network's file."""
        return [published("fixed_nmr", self.parameters)]

    def compare(self, wave: Wave, reference: Wave) -> Score:
        """The distance of two waves, (samples,) at 16 kHz."""
        longest_s = max(len(wave), len(reference)) / self.sample_rate_hz
        if longest_s > LONGEST_S:
            return undefined(f"too long: {longest_s:.0f} s of at most {LONGEST_S:g} s")
        return Score(float(np.linalg.norm(self._vector(wave) - self._vector(reference))))

    def _vector(self, wave: Wave) -> Wave:
        filled = np.pad(wave.astype(np.float32), (0, -len(wave) % STEP))
        name = self.session.get_inputs()[0].name
        vector: Wave = np.asarray(self.session.run(None, {name: filled[None]})[0], np.float64)
        return vector.reshape(-1)
