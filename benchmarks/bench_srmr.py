"""SRMR of Earnest against torchmetrics: CPU seconds per second of audio, in one run.

    python benchmarks/bench_srmr.py [FILE ...] [--seconds 30] [--repeats 5] [--threads 1]
        [--flat 10,100,1000]

The rival is torchmetrics (`speech_reverberation_modulation_energy_ratio`, float64, which it needs).
SRMRpy, whose numbers both reproduce, is in no package registry and therefore not run here. Rounds
measure all in turn, so that a busy machine is busy for all; a ratio is the median of the rounds'
ratios, in CPU seconds. A second table has the cost of a window and the peak memory from few windows
to many. On a GPU: benchmarks/gpu.
"""

from __future__ import annotations

import argparse
import functools
import os
import resource
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

if TYPE_CHECKING:
    import torch

RATE_HZ = 16_000
CLIPS = [
    ROOT / "tests/data/metrics/audio" / f"{name}.flac"
    for name in ("long_same-human", "long_dialog-human-flite_slt")
]
RIVAL = "torchmetrics slow float64"
WAYS = [("slow", "float32"), ("slow_norm30", "float32"), ("fast", "float32"), ("slow", "float64")]
AT_ONCE = 64  # windows in a batch, as reverb consistency has them


@dataclass(frozen=True)
class Contender:
    """A way to compute something about `audio_s` seconds of audio."""

    task: str
    name: str
    audio_s: float
    run: Callable[[], Sequence[float]]


@dataclass
class Timing:
    """What one contender took with one number of threads, and what it gave."""

    contender: Contender
    cpu_s: list[float]
    wall_s: list[float]
    values: Sequence[float]

    def per_second(self, seconds: list[float]) -> float:
        """Median seconds per second of audio."""
        return statistics.median(seconds) / self.contender.audio_s


def main() -> None:
    """Measure and print one table per number of threads."""
    options = arguments()
    wave = speech(options.files, options.seconds)
    contenders = all_contenders(wave)
    print(f"{len(wave) / RATE_HZ:g} s of speech, median of {options.repeats}; {machine()}")
    set_threads(1)
    print_flat(wave, options.flat)  # first: what the rival takes would count as our memory
    for threads in options.threads:
        set_threads(threads)
        timings = measure(contenders, options.repeats)
        print(f"\n{threads} thread{'s' * (threads > 1)}")
        print_table(timings)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("files", nargs="*", type=Path, default=CLIPS, metavar="FILE")
    parser.add_argument("--seconds", type=float, default=30.0, help="of audio, at least 3")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", default="1", type=whole_numbers, help="such as 1,2")
    parser.add_argument("--flat", default="10,100,1000", type=whole_numbers, help="windows")
    return parser.parse_args()


def whole_numbers(text: str) -> list[int]:
    """Numbers between commas."""
    return [int(part) for part in text.split(",")]


def speech(files: Sequence[Path], seconds: float) -> torch.Tensor:
    """The files one after another, cut to `seconds`."""
    import numpy as np
    import torch

    from metrics.core import decoding

    waves = [decoding.load_wave(path, RATE_HZ) for path in files]
    return torch.from_numpy(np.concatenate(waves)[: round(seconds * RATE_HZ)])


def all_contenders(wave: torch.Tensor) -> list[Contender]:
    """What is compared: 3 s windows every 2 s, the whole clip, and reverb consistency."""
    from metrics.core.metric import make_metric
    from metrics.signal.speech import window_starts

    def rival(waves: torch.Tensor) -> list[float]:
        return [float(value) for part in waves for value in torchmetrics_srmr(part)]

    starts = window_starts(len(wave), 3 * RATE_HZ, 2 * RATE_HZ)
    windows = wave.unfold(0, 3 * RATE_HZ, 2 * RATE_HZ).contiguous()
    contenders = []
    for task, waves in ((f"{len(starts)} windows of 3 s", windows), ("whole clip", wave[None])):
        seconds = waves.numel() / RATE_HZ
        for variant, precision in WAYS:
            run = functools.partial(ours, waves, variant, precision)
            contenders.append(Contender(task, f"Earnest {variant} {precision}", seconds, run))
        contenders.append(Contender(task, RIVAL, seconds, functools.partial(rival, waves)))
    metric = make_metric("reverb_consistency")
    metric.load("cpu")

    def whole() -> list[float]:
        return [float(score.value or 0) for score in metric.measure([wave])]

    name = "Earnest float32 with silero-vad"
    return [*contenders, Contender("reverb consistency", name, len(wave) / RATE_HZ, whole)]


def ours(waves: torch.Tensor, variant: str, precision: str) -> list[float]:
    """Earnest's scores of a batch."""
    from metrics.signal import srmr

    return [float(found.value or 0) for found in srmr.srmr(waves, variant, precision)]


def torchmetrics_srmr(wave: torch.Tensor) -> Any:
    """The rival's score of one wave, one at a time: its batches are slower still."""
    from torchmetrics.functional.audio import speech_reverberation_modulation_energy_ratio

    return speech_reverberation_modulation_energy_ratio(wave.double(), RATE_HZ)


def set_threads(threads: int) -> None:
    """Both sides compute with this many threads in torch; nothing else is parallel."""
    import torch

    torch.set_num_threads(threads)


def measure(contenders: Sequence[Contender], repeats: int) -> list[Timing]:
    """CPU and wall seconds of each contender, after one run to warm up, in turns."""
    timings = [Timing(each, [], [], each.run()) for each in contenders]
    for _ in range(repeats):
        for timing in timings:
            cpu_s, wall_s = time.process_time(), time.perf_counter()
            timing.contender.run()
            timing.cpu_s.append(time.process_time() - cpu_s)
            timing.wall_s.append(time.perf_counter() - wall_s)
    return timings


def print_table(timings: Sequence[Timing]) -> None:
    """One line each: seconds per second of audio, and how many times quicker than the rival."""
    print(f"{'task':<20} {'what':<34} {'CPU s/s':>9} {'wall s/s':>9} {'ratio':>7} {'differs':>9}")
    rivals = {t.contender.task: t for t in timings if t.contender.name == RIVAL}
    for timing in timings:
        each = timing.contender
        cpu_s, wall_s = timing.per_second(timing.cpu_s), timing.per_second(timing.wall_s)
        line = f"{each.task:<20} {each.name:<34} {cpu_s:9.5f} {wall_s:9.5f}"
        rival = rivals.get(each.task)
        if rival:
            pairs = zip(rival.cpu_s, timing.cpu_s, strict=True)
            line += f" {statistics.median(theirs / mine for theirs, mine in pairs):7.1f}"
        if rival and " slow float" in each.name:
            line += f" {largest_difference(timing.values, rival.values):9.1e}"
        print(line)


def print_flat(wave: torch.Tensor, counts: Sequence[int]) -> None:
    """Cost per window and peak memory from few windows to many, in batches of `AT_ONCE`."""
    import torch

    windows = wave.unfold(0, 3 * RATE_HZ, 2 * RATE_HZ)
    ours(windows[:1], "slow", "float32")
    print(f"\n{'windows':>8} {'CPU ms each':>12} {'wall ms each':>13} {'peak MB':>8}")
    for count in counts:
        cpu_s, wall_s = time.process_time(), time.perf_counter()
        for first in range(0, count, AT_ONCE):
            places = torch.arange(first, min(first + AT_ONCE, count)) % len(windows)
            ours(windows[places], "slow", "float32")
        cpu_ms = (time.process_time() - cpu_s) / count * 1e3
        wall_ms = (time.perf_counter() - wall_s) / count * 1e3
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{count:>8} {cpu_ms:12.2f} {wall_ms:13.2f} {peak_mb:8.0f}")


def largest_difference(values: Sequence[float], others: Sequence[float]) -> float:
    """The largest relative difference."""
    return max(abs(a / b - 1) for a, b in zip(values, others, strict=True))


def machine() -> str:
    """Processors and versions, for the record."""
    import torch
    import torchmetrics

    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} processors (load {load:.1f}), torch {torch.__version__}, "
        f"torchmetrics {torchmetrics.__version__}"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
