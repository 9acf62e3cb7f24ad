"""Networks that are written to a file as a whole: for UTMOS (TorchScript) and SCOREQ (ONNX)."""

from __future__ import annotations

from typing import Any

import torch  # noqa: TID253 imported only by who needs it
from torchaudio.models import wav2vec2_base, wav2vec2_model  # noqa: TID253

TINY_LAYERS = [(8, 10, 5)] + [(8, 3, 2)] * 4 + [(8, 2, 2)] * 2


class Opinion(torch.nn.Module):
    """wav2vec 2.0 (base) under an LSTM in both directions, as UTMOS22 strong.

    Waves, (waves, samples) at 16 kHz, to scores, (waves,).
    """

    def __init__(self, tiny: bool) -> None:
        super().__init__()
        width = 16 if tiny else 768
        self.network = (
            wav2vec2_model(
                "group_norm", TINY_LAYERS, False, 16, 0.0, 8, 2, 2, 2, 0.0, 16, 0.0, 0.0, False,
                0.0, None,
            )
            if tiny
            else wav2vec2_base()
        )  # fmt: skip
        self.lstm = torch.nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)
        self.score = torch.nn.Linear(width, 1)

    def forward(self, waves: torch.Tensor) -> torch.Tensor:
        frames, _ = self.network(waves)
        return 3 + self.score(self.lstm(frames)[0]).mean(dim=1)[:, 0]


class Mean(torch.nn.Module):
    """A network of transformers, the mean over time and one matrix, as SCOREQ."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network
        self.score = torch.nn.Linear(network.config.hidden_size, 1)

    def forward(self, waves: torch.Tensor) -> torch.Tensor:
        return 3 + self.score(self.network(waves).last_hidden_state.mean(dim=1))
