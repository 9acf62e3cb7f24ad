"""How quickly sounds follow each other in a clip."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from metrics.distribution.feature import Array
from metrics.distribution.hidden_states import HiddenStates

if TYPE_CHECKING:
    import torch

CLUSTERS, SEED, CLIPS, ROUNDS = 100, 42, 100, 50


class SpeakingRate(HiddenStates):
    """Runs of equal units per second; units are clusters of HuBERT's frames of the recordings."""

    key = "speaking_rate"
    factor = "prosody"
    source = "HuBERT base, layer 7, 100 clusters of the reference, as in TTSDS2; k-means of SciPy"
    default_model = "facebook/hubert-base-ls960"
    kind = "HubertModel"
    layer = 7

    def learn(self, waves: Iterable[torch.Tensor]) -> None:
        """Find the clusters in the first hundred recordings."""
        from scipy.cluster.vq import kmeans2

        heard = [frames for wave in waves if len(frames := self.frames(wave))]
        if not heard:
            self.centres = np.empty((0, 1))
            return
        given = np.concatenate(heard)
        count = min(CLUSTERS, len(given))
        self.centres, _ = kmeans2(given, count, iter=ROUNDS, minit="++", seed=SEED)

    def of(self, wave: torch.Tensor) -> Array:
        """One number, (1, 1), per second of the clip."""
        frames = self.frames(wave)
        if not len(frames) or not len(self.centres):
            return np.empty((0, 1))
        squares = (self.centres**2).sum(1) - 2 * frames @ self.centres.T
        units = squares.argmin(axis=1)
        runs = 1 + int((units[1:] != units[:-1]).sum())
        return np.array([[runs * self.rate_hz / len(wave)]])
