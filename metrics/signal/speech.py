"""Speech segments of clips (silero-vad), windows, and the share of a window without speech."""

from __future__ import annotations

import bisect
import functools
import itertools
import warnings
from collections.abc import Sequence
from typing import Any

from metrics.core import wave_memory, weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import Input, Metric, Sharing

RATE_HZ = 16_000
STEPS_AT_ONCE = 2048  # a minute: what is stacked of long clips
STEP = 512  # samples per probability, fixed by the network
Segments = list[tuple[int, int]]  # (start, end) in samples, in order, not overlapping


@functools.cache
def load_detector(device: str = "cpu") -> Any:
    """The silero-vad network (weights inside its package) on `device`: one for all metrics."""
    threads = torch.get_num_threads()
    import silero_vad

    torch.set_num_threads(threads)  # importing silero_vad sets it to 1 for the whole process
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`torch.jit.load` is deprecated", FutureWarning)
        return silero_vad.load_silero_vad().to(device)


def detector_weights() -> dict[str, str]:
    """File name -> SHA-256 of the detector's weights, for a metric's ``weights``."""
    return weights.hashes([weights.package_file("silero_vad", "data/silero_vad.jit")])


class SpeechMetric(Metric):
    """A metric that looks for speech; ``detector`` is there once it is loaded."""

    sharing = Sharing(Input.WINDOWS, why="the speech detector hears any clips side by side")
    packages: tuple[str, ...] = ("torch", "numpy", "silero-vad")

    def load(self, device: str = "cpu") -> None:
        """Load the speech detector onto `device`."""
        super().load(device)
        self.detector = load_detector(device)
        self.weights = detector_weights()


def speech_segments(waves: Sequence[torch.Tensor], detector: Any) -> list[Segments]:
    """Segments of each wave, (samples,) at 16 kHz, by the defaults of `get_speech_timestamps`.

    The network runs once over all waves side by side; shorter ones are followed by silence,
    which changes nothing before it. What is found is kept as long as the wave lives, so that it
    runs once per clip for all metrics.
    """
    name = ("speech segments", id(detector))
    by_wave = wave_memory.compute_once_each(
        waves, name, lambda new: [(detector, s) for s in _found(new, detector)]
    )
    return [segments for _, segments in by_wave]


def _found(waves: Sequence[torch.Tensor], detector: Any) -> list[Segments]:
    from silero_vad.utils_vad import get_speech_timestamps_from_probs

    segments = []
    for wave, row in zip(waves, probabilities(waves, detector), strict=True):
        parts = get_speech_timestamps_from_probs(
            row, sampling_rate=RATE_HZ, audio_length_samples=len(wave)
        )
        segments.append([(int(part["start"]), int(part["end"])) for part in parts])
    return segments


def probabilities(waves: Sequence[torch.Tensor], detector: Any) -> list[list[float]]:
    """Probability of speech in each 512 samples of each wave; one list per wave."""
    counts = [-(-len(wave) // STEP) for wave in waves]
    rows: list[list[float]] = [[] for _ in waves]
    detector.reset_states()
    for first in range(0, max(counts), STEPS_AT_ONCE):
        start, many = first * STEP, min(STEPS_AT_ONCE, max(counts) - first)
        stacked = torch.zeros(len(waves), many, STEP, device=waves[0].device)
        for row, wave in zip(stacked.flatten(1), waves, strict=True):
            part = wave[start : start + many * STEP]
            row[: len(part)] = part
        with torch.inference_mode():
            steps = [detector(chunk, RATE_HZ) for chunk in stacked.unbind(1)]
        for wave_probabilities, more in zip(rows, torch.cat(steps, dim=1).tolist(), strict=True):
            wave_probabilities += more
        for wave in waves:
            wave_memory.release(wave)
    return [row[:count] for row, count in zip(rows, counts, strict=True)]


def window_starts(n_samples: int, window: int, hop: int) -> range:
    """Starts of the full windows; what is left at the end is dropped, never padded."""
    return range(0, n_samples - window + 1, hop)


def non_speech_share(segments: Segments, start: int, end: int) -> float:
    """Share of samples start..end outside the speech segments, in [0, 1]."""
    first = bisect.bisect_right(segments, start, key=lambda part: part[1])
    inside = 0
    for begin, stop in itertools.islice(segments, first, None):
        if begin >= end:
            break
        inside += min(end, stop) - max(start, begin)
    return 1.0 - inside / (end - start)
