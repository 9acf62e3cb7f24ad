"""The preset `lfs` without judges: CPU seconds per second of audio, cost per clip, peak memory.

    python benchmarks/bench_scoring.py [--asr MODEL] [--clips 10,100,1000,10000] [--seconds 2]

First each metric of the preset alone over one-minute clips, as the runner scores them, on one
thread. The recogniser is faster-whisper's `--asr` (default
`tiny.en`, which a development environment carries; large-v3 is what a paper would use). SQUIM and
WavLM have the size of the published models and random weights, which changes no time. Then the
cost per clip of the quick metrics over ever more short clips, each number of clips in a process of
its own, with its peak memory.
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
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.gpu.models import save_wavlm  # noqa: E402
from tests.metrics.reference import tiny_whisper  # noqa: E402

RATE_HZ = 16_000
AUDIO = ROOT / "tests/data/metrics/audio"
LONG = ("long_same-human", "long_dialog-human-flite_slt")
QUICK = ("srmr", "length_s")
TEXT = "he was not an ill disposed young man unless to be rather cold hearted is to be ill disposed"


def long_clips(folder: Path) -> tuple[list[Any], float]:
    """Real speech of a minute per clip, with a text and two turns; and its seconds together."""
    import numpy as np
    import soundfile

    from metrics.core import decoding
    from metrics.core.metric import Material, Turn
    from metrics.scoring import runner

    clips, total_s = [], 0.0
    for name in LONG:
        wave = decoding.load_wave(AUDIO / f"{name}.flac", RATE_HZ)
        minute = np.resize(wave, 60 * RATE_HZ)
        path = folder / f"{name}.wav"
        soundfile.write(path, minute, RATE_HZ)
        turns = (Turn("a", 0.0, 30.0), Turn("b", 30.0, 60.0))
        told = {"synthesis_s": "12"}
        known = Material(TEXT, "en", "", turns, str(path), decoding.file_sha256(path), told)
        clips.append(runner.clip_from_file(path, known))
        total_s += len(minute) / RATE_HZ
    return clips, total_s


def random_squim(folder: Path) -> None:
    """Weights of the published size for SQUIM, random, where the real ones cannot be had."""
    import torch
    from torchaudio.models import squim_objective_base

    from metrics.suite.squim_pesq import MODEL

    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(squim_objective_base().state_dict(), folder / MODEL.name)


def preset_rows(asr: str) -> list[tuple[str, float, float, str]]:
    """(metric, CPU s, wall s) per second of audio for each metric of the preset, and remarks."""
    from metrics.core import weights
    from metrics.core.metric import make_metric
    from metrics.networks.embeddings.wavlm import WavlmXvector
    from metrics.scoring import presets, runner

    rows = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        clips, total_s = long_clips(folder)
        weights.configure(folder / "models", offline=True)
        random_squim(folder / "models")
        voices = folder / "models" / WavlmXvector.published_model.name
        save_wavlm(voices, "WavLMForXVector", large=False)
        for choice in presets.preset("lfs").choices():
            own = {"model": asr} if choice.metric in ("wer", "cer") else {}
            metric = make_metric(choice.metric, {**choice.parameters, **own})
            list(runner.score_clips(metric, clips[:1], "cpu"))  # loads, warms up
            cpu, wall = time.process_time(), time.perf_counter()
            scored = list(runner.score_clips(metric, clips, "cpu"))
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            remark = next((s.score.reason for s in scored if s.score.value is None), "")
            name = "".join(f" {v}" for v in choice.parameters.values())
            rows.append((choice.metric + name, cpu / total_s, wall / total_s, remark))
    return rows


def made_clips(folder: Path, number: int, seconds: float) -> list[Path]:
    """Short clips that all differ: a stretch of real speech at a place of its own."""
    import numpy as np
    import soundfile

    from metrics.core import decoding

    wave = decoding.load_wave(AUDIO / f"{LONG[0]}.flac", RATE_HZ)
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
    parser.add_argument("--asr", default=tiny_whisper())
    parser.add_argument("--clips", default="10,100,1000,10000")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--one", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.one:
        print(json.dumps(one_size(given.one, given.seconds)))
        return
    import torch

    torch.set_num_threads(1)
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"\nPreset lfs on one CPU thread, one-minute clips, ASR {given.asr}\n")
    print("| metric | CPU s per s | wall s per s | no value |\n| --- | --- | --- | --- |")
    rows = preset_rows(given.asr)
    for metric, cpu, wall, remark in rows:
        print(f"| `{metric}` | {cpu:.4f} | {wall:.4f} | {remark[:60]} |")
    print(f"| all | {sum(r[1] for r in rows):.3f} | {sum(r[2] for r in rows):.3f} | |")
    print(f"\n{' and '.join(QUICK)} over clips of {given.seconds:g} s, one CPU thread\n")
    print("| clips | CPU ms per clip | wall ms per clip | peak memory, MB |")
    print("| --- | --- | --- | --- |")
    for number in map(int, given.clips.split(",")):
        found = in_own_process(number, given.seconds)
        told = f"{found['cpu_ms']:.1f} | {found['wall_ms']:.1f} | {found['peak_mb']:.0f}"
        print(f"| {number} | {told} |", flush=True)


if __name__ == "__main__":
    main()
