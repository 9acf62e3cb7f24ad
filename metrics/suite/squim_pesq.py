"""SQUIM: PESQ, STOI and SI-SDR predicted without the reference that they are defined by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from metrics import weights
from metrics.base import Metric, Output, ParameterError, Parameters, Score, undefined
from metrics.predictors import lengths
from metrics.predictors.inference import exact

if TYPE_CHECKING:
    import torch

WEIGHTS = "squim_objective_dns2020.pth"
SHORTEST_S = 0.5
AT_ONCE_S = {"cpu": 10.0, "cuda": 120.0}  # seconds of chunks of one length


@dataclass(frozen=True)
class SquimParameters(Parameters):
    """How long clips are cut: chunks of `chunk_s` (0: not at all), a rest of `rest_s` or more."""

    chunk_s: float = 10.0
    rest_s: float = 1.0

    def __post_init__(self) -> None:
        if self.chunk_s and not self.chunk_s >= 1:
            raise ParameterError(f"chunk_s is {self.chunk_s}; it must be 0 (whole clip) or 1 … ")
        if not SHORTEST_S <= self.rest_s <= 10:
            raise ParameterError(f"rest_s is {self.rest_s}; it must be in {SHORTEST_S} … 10")


class SquimPesq(Metric):
    """Predicted wide-band PESQ (LFS-Bench: sound fidelity), with STOI and SI-SDR."""

    key = "squim_pesq"
    version = "1"
    description = (
        "Wide-band PESQ predicted by SQUIM without a reference (LFS-Bench: sound fidelity)"
    )
    source = "Kumar et al. (2023), TorchAudio-SQUIM; torchaudio's SQUIM_OBJECTIVE and its weights"
    unit = "MOS-LQO"
    low = 1.0
    high = 4.65
    higher_is_better = True
    more_outputs = (
        Output("squim_stoi", "STOI predicted by SQUIM without a reference", "", 0.0, 1.0, True),
        Output(
            "squim_si_sdr",
            "SI-SDR predicted by SQUIM without a reference",
            "dB",
            higher_is_better=True,
        ),
    )
    packages = ("torch", "torchaudio", "numpy")
    parameters_type = SquimParameters
    parameters: SquimParameters

    def load(self, device: str = "cpu") -> None:
        """Build torchaudio's network with its weights, from the models folder or fetched once."""
        import torch
        from torchaudio import models

        super().load(device)
        path = weights_path()
        self.weights = weights.hashes([path])
        self.model = models.squim_objective_base()
        self.model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
        self.model.eval().to(device)

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """One score per wave, (samples,) at 16 kHz; equally long chunks go through together."""
        rate, rule = self.sample_rate_hz, self.parameters
        pieces = lengths.chunks(waves, round(rule.chunk_s * rate), round(rule.rest_s * rate))
        usable = [
            piece
            for piece in pieces
            if piece.samples >= SHORTEST_S * rate
            and bool(waves[piece.index][piece.start : piece.end].any())
        ]
        most = round(AT_ONCE_S[self.device] * rate)
        found = {
            piece: values
            for batch in lengths.batches(usable, most)
            for piece, values in zip(batch, self.predict(waves, batch), strict=True)
        }
        return [
            self.summary(wave, [piece for piece in pieces if piece.index == index], found)
            for index, wave in enumerate(waves)
        ]

    def predict(
        self, waves: Sequence[torch.Tensor], batch: Sequence[lengths.Piece]
    ) -> NDArray[np.float64]:
        """PESQ, STOI and SI-SDR of each piece, (pieces, 3)."""
        import torch

        with exact():
            stoi, pesq, si_sdr = self.model(lengths.stacked(waves, batch))
            return np.asarray(torch.stack([pesq, stoi, si_sdr], dim=1).double().cpu().numpy())

    def summary(
        self,
        wave: torch.Tensor,
        pieces: Sequence[lengths.Piece],
        found: dict[lengths.Piece, NDArray[np.float64]],
    ) -> Score:
        """The clip's score: the mean over its chunks, weighted by their lengths."""
        used = [piece for piece in pieces if piece in found]
        details = {"chunks_used": len(used), "chunks_total": len(pieces)}
        if len(wave) < SHORTEST_S * self.sample_rate_hz:
            return undefined(f"too short: under {SHORTEST_S} s")
        if not used:
            return undefined("silent", **details)
        values = np.stack([found[piece] for piece in used])
        pesq, stoi, si_sdr = np.average(values, axis=0, weights=[p.samples for p in used])
        also = {"squim_stoi": float(stoi), "squim_si_sdr": float(si_sdr)}
        return Score(float(pesq), also=also, details=details)


def weights_path() -> Path:
    """The file of weights: in the models folder, in torch's cache, or fetched by torchaudio."""
    import torch
    from torchaudio import pipelines

    cached = Path(torch.hub.get_dir()) / "torchaudio" / "models" / WEIGHTS
    return weights.model_file(WEIGHTS, cached, pipelines.SQUIM_OBJECTIVE.get_model)
