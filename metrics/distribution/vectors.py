"""The embeddings of clips, window by window, for distances of sets."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from metrics.core import decoding
from metrics.core.silence import silence
from metrics.distribution.set_metric import Array
from metrics.networks.embeddings import SpeakerEmbedding
from metrics.signal.speech import window_starts


def clip_vectors(
    path: Path | str, embedding: SpeakerEmbedding, window_s: float, hop_s: float
) -> Array:
    """Unit vectors, (windows, dimensions), of a clip's windows that are not silent.

    A clip shorter than a window is one window, if the embedding takes it; else (0, 0). Raises
    audio.AudioError for a file that cannot be read.
    """
    import torch

    rate_hz = embedding.rate_hz
    wave = torch.from_numpy(decoding.load_wave(path, rate_hz))
    size, hop = round(window_s * rate_hz), round(hop_s * rate_hz)
    starts: Iterable[int] = window_starts(len(wave), size, hop) or [0]
    windows = [wave[start : start + size] for start in starts]
    least = embedding.shortest_s * rate_hz
    windows = [each for each in windows if len(each) >= least and not silence(each, rate_hz)]
    if not windows:
        return np.empty((0, 0))
    vectors: Array = embedding.embed(torch.stack(windows)).cpu().numpy()
    return vectors
