"""Clips of random lengths scored one by one, by batches of equal length, and as they share batches.

    python benchmarks/bench_batches.py [--clips 200] [--metrics spoof,wer]
    python benchmarks/bench_batches.py --metrics distillmos --ways shared --numbers bf16,compile

Each metric gets the same clips (`--least` to `--most` seconds, to the sample) by the runner, on one
thread, three times: every clip in a batch of its own; with batches of exactly one length, which is
all there was before; and as the metric declares it. Networks of transformers have the published
size (WavLM base, or as large with `--large`) and random weights, which changes no time; Whisper is
`tiny.en`, which a development environment carries. The table has CPU milliseconds per clip, how
many inputs a call of the network had on average and at most, and by how much a value moved against
the clip alone. `--numbers` adds a row for each of `bf16`, `compile` and `bf16+compile`, batches as
declared and networks compiled before the clock starts; what the metric does not allow is said.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.gpu.models import save_wavlm  # noqa: E402
from tests.metrics.reference import tiny_whisper  # noqa: E402

if TYPE_CHECKING:
    from metrics.core.metric import Metric
    from metrics.scoring.runner import Clip

RATE_HZ = 16_000
SPEECH = ROOT / "tests/data/metrics/audio/long_same-human.flac"
TEXT = "he was not an ill disposed young man unless to be rather cold hearted is to be ill disposed"
KEYS = ("spoof", "speech_bert_score", "wer", "plcmos")
DEVICE = "cpu"  # on a GPU: benchmarks/gpu
WAYS = ("alone", "equal lengths", "shared")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clips", type=int, default=200)
    parser.add_argument("--least", type=float, default=1.0, help="seconds")
    parser.add_argument("--most", type=float, default=6.0, help="seconds")
    parser.add_argument("--metrics", default=",".join(KEYS))
    parser.add_argument("--similar", type=float, help="longest over shortest in a batch")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--numbers", default="", help="tf32, bf16, compile, bf16+compile")
    parser.add_argument("--large", action="store_true", help="a WavLM of 24 layers")
    given = parser.parse_args()
    import torch

    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    if given.similar:
        from metrics.networks.predictors import pretrained

        pretrained.SIMILAR |= {"cpu": given.similar}
    with tempfile.TemporaryDirectory() as place:
        clips = random_clips(Path(place), given.clips, given.least, given.most)
        span = f"{given.least:g} to {given.most:g} s"
        print(f"{given.clips} clips of {span}, {machine()}")
        print("| metric | way | ms per clip | inputs per call | at most | moved by |")
        print("| --- | --- | --- | --- | --- | --- |")
        for key in given.metrics.split(","):
            metric = made(key, Path(place), given.large)
            alone: dict[str, float | None] = {}
            for way in given.ways.split(","):
                ms, sizes, values = timed(metric, clips, way)
                alone = alone or values
                moved = largest_move(alone, values)
                told = f"{ms:.1f} | {sum(sizes) / len(sizes):.1f} | {max(sizes)}"
                print(f"| `{key}` | {way} | {told} | {moved:.1e} |", flush=True)
            for number in filter(None, given.numbers.split(",")):
                metric = made(key, Path(place), given.large)
                if said := ask_for(metric, number):
                    print(f"| `{key}` | {number} | {said} | | | |", flush=True)
                    continue
                ms, sizes, values = timed(metric, clips, "shared")
                told = f"{ms:.1f} | {sum(sizes) / len(sizes):.1f} | {max(sizes)}"
                moved = largest_move(alone, values)
                print(f"| `{key}` | {number} | {told} | {moved:.1e} |", flush=True)


def ask_for(metric: Metric, number: str) -> str:
    """Have a metric compute in "bf16", "compile" or "bf16+compile"; why it does not, else empty."""
    from metrics.core import precision

    words = number.split("+")
    numbers = [word for word in words if word != "compile"] or ["float32"]
    asked = precision.Arithmetic(numbers[0], "compile" in words)
    if said := metric.precisions.refusal(asked) or precision.unsupported_reason(asked, DEVICE):
        return said
    metric.arithmetic = asked
    return ""


def random_clips(folder: Path, number: int, least_s: float, most_s: float) -> list[Clip]:
    """Stretches of real speech of lengths drawn with a seed, each beside the stretch before."""
    import numpy as np
    import soundfile

    from metrics.core import decoding
    from metrics.core.metric import Material
    from metrics.scoring import runner

    speech = decoding.load_wave(SPEECH, RATE_HZ)
    draw = np.random.default_rng(20)
    clips: list[Clip] = []
    for place in range(number):
        size = int(draw.integers(round(least_s * RATE_HZ), round(most_s * RATE_HZ)))
        start = int(draw.integers(0, len(speech) - size))
        path = folder / f"{place:05d}.wav"
        soundfile.write(path, speech[start : start + size], RATE_HZ)
        beside = clips[-1].path if clips else str(path)
        known = Material(TEXT, "en", reference_audio_path=beside)
        clips.append(runner.clip_from_file(path, known))
    return clips


def made(key: str, folder: Path, large: bool) -> Metric:
    """The metric, with a network of the published size where its own cannot be had."""
    from metrics.core.metric import make_metric

    if key in ("wer", "cer"):
        return make_metric(key, {"model": tiny_whisper()})
    if key == "speech_bert_score":
        return make_metric(key, {"model": str(wavlm(folder, "WavLMModel", large)), "layer": 9})
    if key in ("spoof", "emotion"):
        listener = wavlm(folder, "WavLMForSequenceClassification", large)
        return make_metric(key, {"model": str(listener)})
    return make_metric(key)


def wavlm(folder: Path, kind: str, large: bool) -> Path:
    place = folder / f"{kind}-{large}"
    save_wavlm(place, kind, large)
    return place


def timed(
    metric: Metric, clips: Sequence[Clip], way: str
) -> tuple[float, list[int], dict[str, float | None]]:
    """Milliseconds per clip, the sizes of the network's calls, and the values by path."""
    from metrics.networks.recognisers import recogniser
    from metrics.scoring import runner

    sizes: list[int] = []
    with ExitStack() as stack:
        stack.enter_context(by_way(way))
        list(runner.score_clips(metric, clips[:1], DEVICE))  # loads, warms up
        stack.enter_context(counted(runner._LOADED, metric, sizes))
        for heard in (recogniser.load_recogniser,) if metric.key in ("wer", "cer") else ():
            heard(
                "faster_whisper", recogniser.Options(tiny_whisper()), DEVICE
            ).transcript_cache.clear()
        cpu = time.process_time()
        scored = list(runner.score_clips(metric, clips, DEVICE))
        cpu = time.process_time() - cpu
    values = {each.clip.path: each.score.value for each in scored}
    return 1e3 * cpu / len(clips), sizes or [1], values


@contextmanager
def by_way(way: str) -> Iterator[None]:
    """Batches as they are formed one by one, of equal lengths, or as declared."""
    from metrics.networks.predictors import pretrained
    from metrics.networks.recognisers import faster_whisper
    from metrics.scoring import runner

    with ExitStack() as stack:
        if way == "alone":
            batch = runner.score_batch

            def each(metric: Metric, clips: Sequence[Any], device: str) -> list[Any]:
                return [score for clip in clips for score in batch(metric, [clip], device)]

            stack.enter_context(mock.patch.object(runner, "score_batch", each))
        if way != "shared":
            never = {"cpu": 1.0}
            stack.enter_context(mock.patch.object(pretrained, "SIMILAR", never))
            whole = faster_whisper.FasterWhisper.transcribe
            one = lambda self, waves, language: [whole(self, wave, language) for wave in waves]  # noqa: E731
            stack.enter_context(
                mock.patch.object(faster_whisper.FasterWhisper, "transcribe_all", one)
            )
        yield


@contextmanager
def counted(loaded: Any, metric: Metric, sizes: list[int]) -> Iterator[None]:
    """Notes how many inputs each call of a metric's network has."""
    there = next(
        each
        for each in loaded.values()
        if type(each) is type(metric) and each.arithmetic == metric.arithmetic
    )
    with ExitStack() as stack:
        if hasattr(there, "loaded"):
            network = there.loaded.masked.network
            stack.enter_context(noting(network, "forward", lambda given: len(given[0]), sizes))
        elif hasattr(there, "recogniser"):
            model = there.recogniser.network.model
            proxy = Noting(model, sizes)
            stack.enter_context(mock.patch.object(there.recogniser.network, "model", proxy))
        yield


@contextmanager
def noting(owner: Any, name: str, size: Callable[[Any], int], sizes: list[int]) -> Iterator[None]:
    plain = getattr(owner, name)

    def called(*given: Any, **more: Any) -> Any:
        sizes.append(size(given))
        return plain(*given, **more)

    setattr(owner, name, called)
    try:
        yield
    finally:
        setattr(owner, name, plain)


class Noting:
    """A CTranslate2 model that notes how many windows it is given at once."""

    def __init__(self, model: Any, sizes: list[int]) -> None:
        self._model, self._sizes = model, sizes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def generate(self, heard: Any, prompts: Any, **more: Any) -> Any:
        self._sizes.append(len(prompts))
        return self._model.generate(heard, prompts, **more)


def largest_move(alone: dict[str, float | None], values: dict[str, float | None]) -> float:
    """The largest relative difference from the clip alone."""
    moves = [0.0]
    for path, value in values.items():
        other = alone[path]
        if (value is None) != (other is None):
            return math.inf
        if value is not None and other is not None and value != other:
            moves.append(abs(value - other) / max(abs(other), 1e-12))
    return max(moves)


def machine() -> str:
    import torch

    return f"one CPU thread, load {os.getloadavg()[0]:.1f}, torch {torch.__version__}"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
