"""Predictors of Earnest against the packages whose networks they run: CPU seconds per second.

    python benchmarks/bench_predictors.py [--repeats 3]

Everything runs on one core (the process is bound to it), in turns, so that a busy machine is busy
for all. speechmos and distillmos are called as their documentation says: one clip at a time.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

if TYPE_CHECKING:
    import torch

RATE_HZ = 16_000
AUDIO = ROOT / "tests/data/metrics/audio"
SHORT = (
    "human-0880-clean",
    "human-0930-rt08",
    "flite_rms-0920-clean",
    "flite_slt-0930-pink10",
)
LONG = "long_same-human"

Waves = Sequence["torch.Tensor"]


@dataclass
class Contender:
    """A way to score some clips, what it gave, and the CPU seconds of each repeat."""

    task: str
    name: str
    run: Callable[[], Sequence[float]]
    audio_s: float
    rival: bool = False
    values: Sequence[float] = ()
    cpu_s: list[float] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        """Median CPU seconds per second of audio."""
        return statistics.median(self.cpu_s) / self.audio_s


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    import torch

    torch.set_num_threads(1)
    contenders = [each for task, waves in tasks() for each in all_contenders(task, waves)]
    for each in contenders:
        each.values = each.run()
    for _ in range(repeats):
        for each in contenders:
            start = time.process_time()
            each.run()
            each.cpu_s.append(time.process_time() - start)
    print(f"one core (load {os.getloadavg()[0]:.1f}), median of {repeats}; {versions()}")
    print_table(contenders)


def tasks() -> list[tuple[str, Waves]]:
    """Short clips together, and a long one."""
    import torch

    from metrics import audio

    def wave(name: str) -> torch.Tensor:
        return torch.from_numpy(audio.load_wave(AUDIO / f"{name}.flac", RATE_HZ))

    short, long = [wave(name) for name in SHORT], wave(LONG)
    lengths_s = [len(each) / RATE_HZ for each in short]
    title = f"{len(short)} clips of {min(lengths_s):.0f}-{max(lengths_s):.0f} s"
    return [(title, short), (f"one clip of {len(long) / RATE_HZ:.0f} s", [long])]


def all_contenders(task: str, waves: Waves) -> list[Contender]:
    """DNSMOS by either rule and by speechmos; Distill-MOS by us and by its package."""
    audio_s = sum(len(wave) for wave in waves) / RATE_HZ

    def made(name: str, run: Callable[[], Sequence[float]], rival: bool = False) -> Contender:
        return Contender(task, name, run, audio_s, rival)

    return [
        made("DNSMOS, speechmos", speechmos_package(waves), rival=True),
        made("DNSMOS, Earnest", ours("dnsmos", waves)),
        made("DNSMOS, Earnest, all hops", ours("dnsmos", waves, rule="all_hops")),
        made("Distill-MOS, distillmos", distillmos_package(waves), rival=True),
        made("Distill-MOS, Earnest", ours("distillmos", waves)),
    ]


def ours(key: str, waves: Waves, **parameters: Any) -> Callable[[], list[float]]:
    """A metric of Earnest on all waves in one call."""
    from metrics.metric import make_metric

    metric = make_metric(key, parameters)
    metric.load("cpu")
    return lambda: [float(score.value or 0) for score in metric.measure(waves)]


def speechmos_package(waves: Waves) -> Callable[[], list[float]]:
    """OVRL by speechmos, one clip at a time."""
    from speechmos import dnsmos

    samples = [wave.numpy() for wave in waves]
    return lambda: [float(dnsmos.run(each, RATE_HZ)["ovrl_mos"]) for each in samples]


def distillmos_package(waves: Waves) -> Callable[[], list[float]]:
    """Distill-MOS by its package, one clip at a time."""
    import torch
    from distillmos import ConvTransformerSQAModel

    model = ConvTransformerSQAModel().eval()

    def run() -> list[float]:
        with torch.inference_mode():
            return [float(model(wave[None])) for wave in waves]

    return run


def print_table(contenders: Sequence[Contender]) -> None:
    """One line each: CPU seconds per second, times quicker than the package, difference."""
    print("\n| what | on | CPU s/s | times quicker | largest difference |")
    print("| --- | --- | --- | --- | --- |")
    rivals: dict[str, Contender] = {}
    for each in contenders:
        kind = each.name.split(",")[0] + each.task
        line = f"| {each.name} | {each.task} | {each.per_second:.4f} |"
        if each.rival:
            rivals[kind] = each
            print(line, "| |")
            continue
        rival = rivals[kind]
        pairs = zip(each.values, rival.values, strict=True)
        difference = max(abs(ours - theirs) for ours, theirs in pairs)
        quicker = rival.per_second / each.per_second
        print(line, f"{quicker:.1f} | {difference:.1e} |")


def versions() -> str:
    """Packages and versions, for the record."""
    names = ("torch", "onnxruntime", "speechmos", "distillmos")
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
