"""WARP-Q: how far the sound of short patches is from the recording's, wherever they are in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.core.lazy_torch import torch
from metrics.core.metric import Parameters, Score, undefined
from metrics.core.paired_metric import PairedMetric, Wave
from metrics.signal import speech

BANDS, COEFFICIENTS, TOP_HZ, LIFTER = 128, 13, 5_000, 3
WINDOW, STEP, FFT = 512, 64, 1_024  # samples: 32 ms every 4 ms
PATCH, HOP = 92, 42  # frames: 0.4 s every 0.2 s
AROUND = 201  # frames over which coefficients are normalised: 0.84 s
TINY = 2.0**-30  # added to deviations by the authors
STRIDE = 3  # frames of the reference that a step of the path may take
AT_ONCE = 32  # patches that are warped side by side
LONGEST_S = 120.0
Frames = NDArray[np.float64]


@dataclass(frozen=True)
class WarpQParameters(Parameters):
    """`speech_only`: both are cut down to the speech that silero-vad finds in them."""

    speech_only: bool = True


class WarpQ(PairedMetric):
    """Median cost of warping patches of the clip into the reference audio, on normalised MFCC."""

    key = "warp_q"
    version = "1"
    cpu_s_per_s = 0.06
    description = "WARP-Q against the reference audio: cost of warping patches into it"
    title = "WARP-Q"
    source = "Jassim et al. (2022), WARP-Q; speech found by silero-vad instead of WebRTC's"
    low = 0.0
    higher_is_better = False
    packages = ("librosa", "scipy", "numpy", "silero-vad")
    parameters_type = WarpQParameters
    parameters: WarpQParameters
    shortest_s = 0.5

    def load(self, device: str = "cpu") -> None:
        """Load the speech detector, unless the whole clips are compared."""
        super().load(device)
        if self.parameters.speech_only:
            self.detector = speech.load_detector("cpu")
            self.weights = speech.detector_weights()

    def compare(self, wave: Wave, reference: Wave) -> Score:
        """The median cost of two waves, (samples,) at 16 kHz."""
        longest_s = max(len(wave), len(reference)) / self.sample_rate_hz
        if longest_s > LONGEST_S:
            return undefined(f"too long: {longest_s:.0f} s of at most {LONGEST_S:g} s to warp")
        if self.parameters.speech_only:
            wave, reference = self._spoken(wave), self._spoken(reference)
        for name, samples in (("the clip", wave), ("the reference audio", reference)):
            if len(samples) // STEP + 1 < PATCH:
                return undefined(f"{name} has {len(samples) / self.sample_rate_hz:.2f} s of speech")
        costs = patch_costs(features(wave), features(reference))
        return Score(float(np.median(costs)), "", {"patches": len(costs)})

    def _spoken(self, wave: Wave) -> Wave:
        (segments,) = speech.speech_segments([torch.from_numpy(wave).float()], self.detector)
        return np.concatenate([wave[start:end] for start, end in segments] or [wave[:0]])


def features(wave: Wave) -> Frames:
    """MFCC, (frames, 13), each less its mean and over its deviation in the 0.84 s around it.

    ``wave``: (samples,) at 16 kHz. Liftered; at both ends frames are mirrored.
    """
    import librosa

    cepstra = librosa.feature.mfcc(
        y=wave, sr=16_000, n_mfcc=COEFFICIENTS, n_mels=BANDS, fmax=TOP_HZ, n_fft=FFT,
        win_length=WINDOW, hop_length=STEP, lifter=LIFTER,
    )  # fmt: skip
    centred = cepstra - running_mean(cepstra)
    spread = np.sqrt(np.clip(running_mean(centred**2) - running_mean(centred) ** 2, 0, None))
    normal: Frames = (centred / (spread + TINY)).T
    return normal


def running_mean(values: Any) -> Any:
    """Running means over the last axis, mirrored at both ends."""
    from scipy.ndimage import uniform_filter1d

    return uniform_filter1d(values, AROUND, axis=-1, mode="reflect")


def patch_costs(ours: Frames, theirs: Frames) -> Frames:
    """What each patch of the clip costs per frame, warped to where it fits the reference best.

    ``ours``: (frames, 13), ``theirs``: (other frames, 13). A path may begin and end anywhere in the
    reference. Each step goes on by a frame of the patch, three of the reference, or both. Source:
    Mueller (2007), subsequence dynamic time warping; steps of Jassim et al.
    """
    starts = range(0, len(ours) - PATCH + 1, HOP)
    patches = np.stack([ours[start : start + PATCH] for start in starts])
    costs = [
        warping_costs(patches[first : first + AT_ONCE], theirs)
        for first in range(0, len(patches), AT_ONCE)
    ]
    return np.concatenate(costs) / PATCH


def warping_costs(patches: Frames, theirs: Frames) -> Frames:
    """The least cost of each of some patches, (patches, frames, 13), row by row of the patch."""
    total = frame_distances(patches[:, 0], theirs)
    for frame in range(1, PATCH):
        cost = frame_distances(patches[:, frame], theirs)
        before = total.copy()  # one frame of the patch on: from the same place, or three before
        before[:, STRIDE:] = np.minimum(total[:, STRIDE:], total[:, :-STRIDE])
        total = next_cost_row(cost, before)
    least: Frames = total.min(axis=1)
    return least


def next_cost_row(cost: Frames, before: Frames) -> Frames:
    """The row, (patches, frames): its costs on top of the row before, or of itself three before.

    Three chains of frames, each by running sums: going on along a chain adds what lies between.
    """
    total = np.empty_like(cost)
    for chain in range(STRIDE):
        own = np.cumsum(cost[:, chain::STRIDE], axis=1)
        entered = before[:, chain::STRIDE] - own + cost[:, chain::STRIDE]
        total[:, chain::STRIDE] = own + np.minimum.accumulate(entered, axis=1)
    return total


def frame_distances(ours: Frames, theirs: Frames) -> Frames:
    """Euclidean distances, (patches, frames), of (patches, 13) and (frames, 13)."""
    squares = (ours**2).sum(1)[:, None] + (theirs**2).sum(1) - 2 * ours @ theirs.T
    distances: Frames = np.sqrt(np.clip(squares, 0, None))
    return distances
