"""Resemblyzer's voice encoder (GE2E d-vectors), batched; Earnest carries its weights."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.precision import spectra
from metrics.networks.embeddings.speaker_embedding import SpeakerEmbedding
from metrics.signal.mel import mel_filters

FFT = 400  # samples: 25 ms
STEP = 160  # samples from one frame to the next: 10 ms
MELS = 40
FRAMES = 160  # of one partial utterance: 1.6 s
SIZE = 256  # of each of the three LSTM layers, and of the vector
PER_S = 1.3  # partial utterances a second
COVERAGE = 0.75  # of the last partial utterance that must be there, else it is dropped


class Resemblyzer(SpeakerEmbedding):
    """The mean of the vectors of 1.6 s partial utterances, as `VoiceEncoder.embed_utterance`.

    The wave goes in as it is: no volume is changed and no silence is cut.
    """

    key = "resemblyzer"
    source = "Resemblyzer 0.1.4 (GE2E loss, Wan et al. 2018), VoiceEncoder.embed_utterance"
    packages = ("torch", "safetensors")
    cpu_s_per_s = 0.0027

    def load(self, device: str = "cpu") -> None:
        """Load the network onto `device`."""
        from safetensors.torch import load_file

        path = weights.bundled_file("resemblyzer.safetensors")
        state = load_file(path)
        self.lstm = torch.nn.LSTM(MELS, SIZE, num_layers=3, batch_first=True)
        self.linear = torch.nn.Linear(SIZE, SIZE)
        for name, part in (("lstm.", self.lstm), ("linear.", self.linear)):
            own = {k.removeprefix(name): v for k, v in state.items() if k.startswith(name)}
            part.load_state_dict(own)
            part.to(device).eval()
        self.weights = weights.hashes([path])

    similar = math.inf  # partial utterances of any clips share a batch

    def _embed(self, waves: Sequence[torch.Tensor]) -> torch.Tensor:
        partials, counts = [], []
        for samples, alike in itertools.groupby(waves, len):  # they come by length
            windows = torch.stack(list(alike))
            starts = partial_starts(samples)
            missing = (starts[-1] + FRAMES) * STEP - samples
            with spectra():
                mels = mel_frames(torch.nn.functional.pad(windows, (0, max(0, missing))))
            cut = torch.stack([mels[:, start : start + FRAMES] for start in starts], dim=1)
            partials.append(cut.flatten(0, 1))
            counts += [len(starts)] * len(windows)
        _, (hidden, _) = self.lstm(torch.cat(partials))
        raw = torch.relu(self.linear(hidden[-1]))
        vectors = torch.nn.functional.normalize(raw, dim=1)
        return torch.stack([own.mean(dim=0) for own in torch.split(vectors, counts)])


def partial_starts(n_samples: int) -> list[int]:
    """First frames of the partial utterances of a wave: one at least, the wave padded for it.

    From `VoiceEncoder.compute_partial_slices` with its default rate and coverage.
    """
    n_frames = math.ceil((n_samples + 1) / STEP)
    hop = round(16_000 / PER_S / STEP)
    starts = list(range(0, max(1, n_frames - FRAMES + hop + 1), hop))
    covered = (n_samples - starts[-1] * STEP) / (FRAMES * STEP)
    return starts[:-1] if covered < COVERAGE and len(starts) > 1 else starts


def mel_frames(waves: torch.Tensor) -> torch.Tensor:
    """Mel power spectra [waves, frames, 40] of waves [waves, samples]: librosa's defaults.

    No logarithm is taken; the first and the last frames reach into zeros.
    """
    spectrum = torch.stft(
        waves,
        FFT,
        STEP,
        window=torch.hann_window(FFT, device=waves.device),
        center=True,
        pad_mode="constant",
        return_complex=True,
    )
    power = spectrum.abs().square().transpose(1, 2)
    return torch.matmul(power, _mel_filters().to(waves.device))


@functools.cache
def _mel_filters() -> Any:
    """[201 bins, 40 filters] on Slaney's scale, each of unit area."""
    return torch.from_numpy(mel_filters(16_000, FFT, MELS)).T
