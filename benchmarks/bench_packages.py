"""Scores of Earnest beside the packages called clip by clip, as VERSA calls them.

    python benchmarks/bench_packages.py [--clips 40] [--repeats 3]

VERSA gives one file after the other to each package, which gets it at its own rate (librosa
resamples it for each of them). Here the same files, the demo's clips in all formats, go through
both ways on one core (the process is bound to it), in turns, so that a busy machine is busy for
all; models are loaded before. SRMRpy is in no package registry: torchmetrics stands for it. Two
packages are needed for this alone: pip install --no-deps Resemblyzer==0.1.4 speechmos==0.0.1.1
"""

from __future__ import annotations

import argparse
import csv
import functools
import importlib.metadata
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.metrics.reference import tiny_whisper  # noqa: E402

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metrics.core.metric import Metric
    from metrics.scoring.runner import Clip

RATE_HZ = 16_000
LONG = "tests/data/metrics/audio/long_same-human.flac"
PACKAGES = ("torch", "torchmetrics", "speechmos", "distillmos", "resemblyzer", "faster-whisper")
ASR = tiny_whisper()


@dataclass
class Pair:
    """One metric both ways: what it gave, and the CPU seconds of each round."""

    name: str
    package: Callable[[NDArray[np.float32], str], float]  # of a wave at 16 kHz and its text
    metric: Metric
    values: dict[str, list[float]] = field(default_factory=dict)
    cpu_s: dict[str, list[float]] = field(default_factory=dict)

    def median(self, way: str) -> float:
        return statistics.median(self.cpu_s[way])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clips", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    import soundfile
    import torch

    torch.set_num_threads(1)
    pairs = all_pairs()
    print(f"one core, load {os.getloadavg()[0]:.1f}; medians of {given.repeats}; {versions()}")
    for title, clips in ((f"{given.clips} clips", demo_clips(given.clips)), ("long", long_clip())):
        heads = [soundfile.info(clip.path) for clip in clips]
        seconds = sum(head.duration for head in heads)
        together = measure(pairs, clips, given.repeats)
        alike = np.array([head.samplerate == RATE_HZ for head in heads])
        print_table(f"{title}, {seconds:.0f} s", pairs, together, seconds, alike)
    print("\nDifferences are of clips at 16 kHz: two resamplers do not give the same wave.")


def demo_clips(number: int) -> list[Clip]:
    """Clips of the demo that are spread over its systems, with the text that is spoken."""
    with (ROOT / "demo/stimuli.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.get("language", "") in ("", "en")]
    step = max(1, len(rows) // number)
    return [clip_of(ROOT / "demo" / row["file"], text_of(row)) for row in rows[::step][:number]]


def text_of(row: dict[str, str]) -> str:
    return row.get("transcript") or row.get("text") or "no text is known of it"


def long_clip() -> list[Clip]:
    return [clip_of(ROOT / LONG, "no text is known of it")]


def clip_of(path: Path, text: str) -> Clip:
    from metrics.core import decoding
    from metrics.core.metric import Material
    from metrics.scoring import runner

    return runner.clip_from_file(
        path, Material(text, "en", "", (), str(path), decoding.file_sha256(path))
    )


def all_pairs() -> list[Pair]:
    from metrics.core.metric import make_metric

    whole = {"speech_only": False}
    return [
        Pair("SRMR, torchmetrics", srmr(), make_metric("srmr")),
        Pair("DNSMOS, speechmos", dnsmos(), make_metric("dnsmos")),
        Pair("Distill-MOS, distillmos", distillmos(), make_metric("distillmos")),
        Pair("timbre, resemblyzer", timbre(), make_metric("timbre_consistency", whole)),
        Pair("WER, faster-whisper", wer(), make_metric("wer", {"model": ASR})),
    ]


def measure(pairs: Sequence[Pair], clips: Sequence[Clip], repeats: int) -> list[float]:
    """Fills in values and times; the CPU seconds of all metrics of Earnest in one pass."""
    together = []
    metrics = tuple(pair.metric for pair in pairs)
    for number in range(repeats + 1):  # the first warms up
        for pair in pairs:
            timed(pair, "package", functools.partial(clip_by_clip, pair.package, clips), number)
            timed(pair, "earnest", functools.partial(ours, [pair.metric], clips), number)
        start = time.process_time()
        ours(metrics, clips)
        together.append(time.process_time() - start)
    return together[1:]


def timed(pair: Pair, way: str, run: Callable[[], list[float]], number: int) -> None:
    start = time.process_time()
    pair.values[way] = run()
    took = time.process_time() - start
    pair.cpu_s[way] = [*pair.cpu_s.get(way, []), took] if number > 1 else [took]


def clip_by_clip(
    package: Callable[[NDArray[np.float32], str], float], clips: Sequence[Clip]
) -> list[float]:
    """Each file is read and resampled for each package, as VERSA does it."""
    import librosa
    import soundfile

    values = []
    for clip in clips:
        wave, rate_hz = soundfile.read(clip.path, dtype="float32")
        if rate_hz != RATE_HZ:
            wave = librosa.resample(wave, orig_sr=rate_hz, target_sr=RATE_HZ)
        values.append(package(wave, clip.material.text))
    return values


def ours(metrics: Sequence[Metric], clips: Sequence[Clip]) -> list[float]:
    """By the runner, in the order of the clips (of the last metric, where there are several)."""
    from metrics.networks.recognisers import recogniser
    from metrics.scoring import runner

    used = recogniser.load_recogniser("faster_whisper", recogniser.Options(ASR), "cpu")
    used.transcript_cache.clear()  # what it heard a round ago costs nothing
    found: dict[str, float] = {}
    for batch in runner.score_work([(clip, metrics) for clip in clips], "cpu"):
        for scored in batch.clips:
            value = scored.score.value
            found[scored.clip.path] = np.nan if value is None else value
    return [found[clip.path] for clip in clips]


def srmr() -> Callable[[NDArray[np.float32], str], float]:
    import torch
    from torchmetrics.functional.audio import speech_reverberation_modulation_energy_ratio

    def run(wave: NDArray[np.float32], _text: str) -> float:
        return float(speech_reverberation_modulation_energy_ratio(torch.from_numpy(wave), RATE_HZ))

    return run


def dnsmos() -> Callable[[NDArray[np.float32], str], float]:
    from speechmos import dnsmos

    return lambda wave, _text: float(dnsmos.run(wave.clip(-1, 1), RATE_HZ)["ovrl_mos"])


def distillmos() -> Callable[[NDArray[np.float32], str], float]:
    import torch
    from distillmos import ConvTransformerSQAModel

    model = ConvTransformerSQAModel().eval()

    def run(wave: NDArray[np.float32], _text: str) -> float:
        with torch.inference_mode():
            return float(model(torch.from_numpy(wave)[None]))

    return run


def timbre() -> Callable[[NDArray[np.float32], str], float]:
    """The mean cosine between the windows of 3 s of a clip, one window at a time."""
    sys.modules.setdefault("webrtcvad", ModuleType("webrtcvad"))  # trims silence: not used here
    from resemblyzer import VoiceEncoder  # type: ignore[import-untyped]

    from metrics.core.metric import make_metric
    from metrics.signal.speech import window_starts

    chosen: Any = make_metric("timbre_consistency").parameters
    size, hop = round(chosen.window_s * RATE_HZ), round(chosen.hop_s * RATE_HZ)
    encoder = VoiceEncoder("cpu", verbose=False)

    def run(wave: NDArray[np.float32], _text: str) -> float:
        starts = window_starts(len(wave), size, hop)
        vectors = [encoder.embed_utterance(wave[start : start + size]) for start in starts]
        if len(vectors) < 2:
            return np.nan
        cosines = np.stack(vectors) @ np.stack(vectors).T
        return float(cosines[np.triu_indices(len(vectors), 1)].mean())

    return run


def wer() -> Callable[[NDArray[np.float32], str], float]:
    """Whisper's beam of five at temperature 0, as ours, and jiwer; words written as our texts."""
    import jiwer
    from faster_whisper import WhisperModel

    from metrics.core import texts, weights
    from metrics.networks.recognisers.faster_whisper import published

    folder = weights.locate(published(ASR))
    model = WhisperModel(str(folder), device="cpu", compute_type="float32", cpu_threads=1)

    def run(wave: NDArray[np.float32], text: str) -> float:
        parts, _ = model.transcribe(
            wave, language="en", beam_size=5, temperature=0.0, condition_on_previous_text=False
        )
        heard = " ".join(part.text.strip() for part in parts)
        return float(jiwer.wer(texts.normalise_text(text, "en"), texts.normalise_text(heard, "en")))

    return run


def print_table(
    title: str,
    pairs: Sequence[Pair],
    together: Sequence[float],
    seconds: float,
    alike: NDArray[np.bool_],
) -> None:
    """`alike`: the clips whose values are compared."""
    print(f"\n| CPU s per second of audio ({title}) | package | Earnest | ratio | difference |")
    print("| --- | --- | --- | --- | --- |")
    for pair in pairs:
        package, mine = pair.median("package"), pair.median("earnest")
        apart = np.abs(np.subtract(pair.values["package"], pair.values["earnest"]))
        most = f"{np.nanmax(apart[alike]):.1e}"
        told = f"{package / seconds:.4f} | {mine / seconds:.4f} | {package / mine:.1f}"
        print(f"| {pair.name} | {told} | {most} |")
    package, mine = sum(pair.median("package") for pair in pairs), statistics.median(together)
    told = f"{package / seconds:.4f} | {mine / seconds:.4f} | {package / mine:.1f}"
    print(f"| all, Earnest in one pass | {told} | |", flush=True)


def versions() -> str:
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
