"""The cost per clip of quick metrics over ever more short clips, and peak memory.

    python benchmarks/bench_scoring.py [--clips 10,100,1000,10000] [--seconds 2]

Each number of clips has a process of its own, with its peak memory. For networks see
`bench_floor.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

RATE_HZ = 16_000
AUDIO = ROOT / "tests/data/metrics/audio"
LONG = "long_same-human"
QUICK = ("srmr", "length_s")


def made_clips(folder: Path, number: int, seconds: float) -> list[Path]:
    """Short clips that all differ: a stretch of real speech at a place of its own."""
    import numpy as np
    import soundfile

    from metrics.core import decoding

    wave = decoding.load_wave(AUDIO / f"{LONG}.flac", RATE_HZ)
    size, paths = round(seconds * RATE_HZ), []
    for i in range(number):
        start = int(hashlib.sha256(str(i).encode()).hexdigest()[:8], 16) % (len(wave) - size)
        path = folder / f"{i:05d}.wav"
        soundfile.write(path, wave[start : start + size] + np.float32(1e-4 * (i % 97)), RATE_HZ)
        paths.append(path)
    return paths


def one_size(number: int, seconds: float) -> dict[str, float]:
    """CPU and wall milliseconds per clip of the quick metrics over `number` clips, and memory."""
    from metrics.core.metric import make_metric
    from metrics.scoring import runner

    metrics = tuple(make_metric(key) for key in QUICK)
    with tempfile.TemporaryDirectory() as name:
        paths = made_clips(Path(name), number, seconds)
        list(runner.score_work([(runner.clip_from_file(paths[0]), metrics)], "cpu"))  # warms up
        cpu, wall = time.process_time(), time.perf_counter()
        work = [(runner.clip_from_file(path), metrics) for path in paths]
        scored = sum(len(batch.clips) for batch in runner.score_work(work, "cpu"))
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    assert scored == number * len(QUICK), "a clip was lost"
    peak_mb = peak_kb() / 1024
    return {"cpu_ms": 1e3 * cpu / number, "wall_ms": 1e3 * wall / number, "peak_mb": peak_mb}


def peak_kb() -> int:
    """The most memory that this program held (ru_maxrss would count what started it)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1])
    raise RuntimeError("this system does not tell the peak memory of a process")


def in_own_process(number: int, seconds: float) -> dict[str, float]:
    """`one_size` in a fresh process, whose peak memory is its own."""
    words = [sys.executable, __file__, "--one", str(number), "--seconds", str(seconds)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clips", default="10,100,1000,10000")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--one", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.one:
        print(json.dumps(one_size(given.one, given.seconds)))
        return
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"\n{' and '.join(QUICK)} over clips of {given.seconds:g} s, one CPU thread\n")
    print("| clips | CPU ms per clip | wall ms per clip | peak memory, MB |")
    print("| --- | --- | --- | --- |")
    for number in map(int, given.clips.split(",")):
        found = in_own_process(number, given.seconds)
        told = f"{found['cpu_ms']:.1f} | {found['wall_ms']:.1f} | {found['peak_mb']:.0f}"
        print(f"| {number} | {told} |", flush=True)


if __name__ == "__main__":
    main()
