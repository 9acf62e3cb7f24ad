"""ViSQOL, Google's speech and audio quality listener, by its Python port."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from metrics.core import weights
from metrics.core.metric import ParameterError, Parameters, Score, undefined
from metrics.core.paired_metric import PairedMetric, Wave

PACKAGE = "visqol-python[lattice]==3.8.0 (libsvm is built by a C++ compiler)"


@dataclass(frozen=True)
class VisqolParameters(Parameters):
    """How the similarity becomes a MOS, which changes numbers by 1 to 2 points.

    `mode`: "speech" at 16 kHz, or "audio" at 48 kHz (a support vector machine). `mapping` of
    speech: "lattice", Google's default, or "polynomial", that of its versions before 3.3.
    """

    mode: str = "speech"
    mapping: str = "lattice"

    def __post_init__(self) -> None:
        if self.mode not in ("speech", "audio"):
            raise ParameterError(f"mode is {self.mode!r}; choose speech or audio")
        if self.mapping not in ("lattice", "polynomial"):
            raise ParameterError(f"mapping is {self.mapping!r}; choose lattice or polynomial")


class Visqol(PairedMetric):
    """A predicted MOS-LQO from the similarity of two gammatone spectrograms, patch by patch."""

    key = "visqol"
    version = "1"
    cpu_s_per_s = 0.04
    description = "ViSQOL MOS-LQO against the reference audio"
    title = "ViSQOL"
    source = "Chinen et al. (2020), ViSQOL v3; package visqol-python"
    unit = "MOS"
    low = 1.0
    high = 5.0
    higher_is_better = True
    packages = ("visqol-python", "libsvm-official", "numpy")
    parameters_type = VisqolParameters
    parameters: VisqolParameters
    shortest_s = 1.0

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        if self.parameters.mode == "audio":
            self.sample_rate_hz = 48_000  # type: ignore[misc] # of this one

    def load(self, device: str = "cpu") -> None:
        """Make the comparer ready; its model lies in the package."""
        super().load(device)
        parameters = self.parameters
        weights.need_package("visqol", PACKAGE)
        lattice = parameters.mapping == "lattice" if parameters.mode == "speech" else None
        if lattice:
            weights.need_package("ai_edge_litert", PACKAGE)
        import visqol

        self.api = visqol.VisqolApi()
        self.api.create(mode=parameters.mode, use_lattice_model=lattice)

    def compare(self, wave: Wave, reference: Wave) -> Score:
        """The value of two waves, (samples,); the package aligns them, whole and by patches."""
        try:
            result = self.api.measure_from_arrays(reference, wave, self.sample_rate_hz)
        except ValueError as error:
            return undefined(f"ViSQOL finds nothing to compare: {error}")
        return Score(float(result.moslqo), details={"vnsim": float(result.vnsim)})
