"""DNSMOS P.835: predicted quality of speech, background and the whole, without a reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from metrics.core import weights
from metrics.core.metric import (
    WIDE_BAND_HZ,
    Accepts,
    Input,
    Metric,
    Output,
    ParameterError,
    Parameters,
    Score,
    Sharing,
)
from metrics.core.precision import Precisions
from metrics.networks.predictors import chunks, dnsmos, onnx

if TYPE_CHECKING:
    import torch

SHORTEST_S = 0.1
POLYNOMIALS = (  # of SIG, BAK and OVRL in P.835's authors' code, highest power first
    (-0.08397278, 1.22083953, 0.0052439),
    (-0.13166888, 1.60915514, -0.39604546),
    (-0.06766283, 1.11546468, 0.04602535),
)
P835, P808 = "sig_bak_ovr.onnx", "model_v8.onnx"


@dataclass(frozen=True)
class DnsmosParameters(Parameters):
    """Which hops of 9.01 s are averaged."""

    rule: str = "speechmos"

    def __post_init__(self) -> None:
        if self.rule not in dnsmos.RULES:
            raise ParameterError(f"rule is {self.rule!r}; choose {' or '.join(dnsmos.RULES)}")


class Dnsmos(Metric):
    """Predicted OVRL of P.835, with SIG, BAK and the P.808 network's MOS."""

    key = "dnsmos"
    version = "1"
    description = "DNSMOS P.835, overall quality (OVRL) predicted from the audio alone"
    title = "DNSMOS OVRL"
    source = (
        "Reddy, Gopal, Cutler (2022), DNSMOS P.835; weights and polynomials of speechmos 0.0.1.1"
    )
    unit = "MOS"
    higher_is_better = True
    more_outputs = (
        Output(
            "dnsmos_sig",
            "DNSMOS P.835, quality of the speech (SIG)",
            "MOS",
            higher_is_better=True,
            title="DNSMOS SIG",
        ),
        Output(
            "dnsmos_bak",
            "DNSMOS P.835, background noise (BAK)",
            "MOS",
            higher_is_better=True,
            title="DNSMOS BAK",
        ),
        Output(
            "dnsmos_p808",
            "DNSMOS P.808, overall quality (MOS)",
            "MOS",
            higher_is_better=True,
            title="DNSMOS P.808",
        ),
    )
    sharing = Sharing(Input.WINDOWS)
    precisions = Precisions(
        0.005, 0.02, None, "real weights", "its own code shares layers between hops"
    )
    packages = ("torch", "numpy")
    accepts = Accepts(WIDE_BAND_HZ, SHORTEST_S)
    parameters_type = DnsmosParameters
    parameters: DnsmosParameters

    def load(self, device: str = "cpu") -> None:
        """Read both networks from their files."""
        super().load(device)
        files = [weights.bundled_file(name) for name in (P835, P808)]
        self.weights = weights.hashes(files)
        p835, p808 = (onnx.read(file) for file in files)
        self.networks = dnsmos.Networks(p835, p808, device)

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """One score per wave, (samples,) at 16 kHz; hops of all waves go through in batches."""
        scores = [chunks.unfit(wave, SHORTEST_S) for wave in waves]
        usable = [i for i, score in enumerate(scores) if score is None]
        long = [dnsmos.lengthened(waves[i]) for i in usable]
        kept = [dnsmos.hops(len(wave), self.parameters.rule) for wave in long]
        wanted = [(w, start) for w, (starts, _) in enumerate(kept) for start in starts]
        values = mapped(self.networks.predict(long, wanted))
        ends = np.cumsum([len(starts) for starts, _ in kept])
        parts = np.split(values, ends[:-1]) if usable else []
        for i, (starts, total), part in zip(usable, kept, parts, strict=True):
            sig, bak, ovrl, p808 = (float(value) for value in part.mean(axis=0))
            also = {"dnsmos_sig": sig, "dnsmos_bak": bak, "dnsmos_p808": p808}
            scores[i] = Score(
                ovrl, also=also, details={"hops_used": len(starts), "hops_total": total}
            )
        return [score for score in scores if score is not None]


def mapped(raw: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return raw SIG, BAK, OVRL and P.808, (hops, 4), the first three mapped by `POLYNOMIALS`."""
    columns = [np.polyval(each, raw[:, place]) for place, each in enumerate(POLYNOMIALS)]
    return np.column_stack([*columns, raw[:, 3]])
