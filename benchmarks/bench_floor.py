"""CPU seconds of each network metric over the time of its arithmetic alone, on one core.

    python benchmarks/bench_floor.py [--metrics KEY,KEY] [--presets fast,tts] [--models FOLDER]

Each metric scores the same clips of 6 to 9 s by the runner, on one thread, with a network of the
published size (random weights where no package carries them; speed does not depend on them).
PyTorch counts the operations of its matrix products, convolutions, attention and recurrent layers.
The floor is their time at the rate of float32 matrix products on the same core, measured over half
a second before and after each pass. Ratio: CPU seconds of scoring, from the file to the score, over
that floor. Operations of CTranslate2 and ONNX Runtime are not counted.

The second table has whole presets beside the same networks called one clip at a time: every metric
decodes every clip, a clip is a batch of its own, no metric uses what another found, and networks
run as they are published. Whisper is then OpenAI's, as in VERSA, if `openai-whisper` is installed,
and faster-whisper if not; the last line says which. Its last columns are Earnest with
`precision: bf16` for each metric that allows it, as `--precision bf16` asks for; the others stay in
float32.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import bench_batches, bench_packages  # noqa: E402
from benchmarks.bench_batches import random_clips  # noqa: E402
from benchmarks.gpu.models import Models  # noqa: E402
from tests.metrics.reference import tiny_whisper  # noqa: E402

if TYPE_CHECKING:
    from metrics.core.metric import Metric
    from metrics.scoring.runner import Clip

KEYS = (
    "dnsmos", "distillmos", "squim_pesq", "nisqa", "utmos", "audiobox_pq", "speaker_similarity",
    "speech_bert_score", "timbre_consistency wavlm", "emotion", "arousal", "clap", "wer",
)  # fmt: skip
SHAPES = ((512, 768, 3072), (512, 1024, 4096), (1500, 512, 2048))  # rows, inner, columns
ROUNDS = 6
RATE_HZ = 16_000
LEFT = {"scoreq"}  # its file is written by a package that is not needed otherwise
BESIDE: dict[str, Any] = {
    "reference_path": str(bench_batches.SPEECH),
    "attributes": {"caption": "a calm voice reads a story"},
}
Plain = Callable[[Any, str], float]  # of a wave at 16 kHz and its text


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--metrics", default=",".join(KEYS))
    parser.add_argument("--clips", type=int, default=4)
    parser.add_argument("--least", type=float, default=6.0, help="seconds")
    parser.add_argument("--most", type=float, default=9.0, help="seconds")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--presets", default="fast,tts")
    parser.add_argument("--models", type=Path, help="keep random weights here (10 GB)")
    given = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        clips = [
            replace(clip, material=replace(clip.material, **BESIDE))
            for clip in random_clips(Path(name), given.clips, given.least, given.most)
        ]
        models = Models(given.models or Path(name) / "models", "cpu", tiny=False)
        seconds = audio_s(clips)
        print(f"{given.clips} clips, {seconds:.0f} s; {platform.machine()}, torch "
              f"{torch.__version__}, load {os.getloadavg()[0]:.1f}\n")  # fmt: skip
        print("| metric | GFLOP per s | core, GFLOP/s | floor, s per s | CPU s per s | ratio |")
        print("| --- | --- | --- | --- | --- | --- |")
        for key in filter(None, given.metrics.split(",")):
            print(table_row(key, models, clips, seconds, given.repeats), flush=True)
        print("\n| preset | one clip at a time, CPU s per s | Earnest | times | bf16 | times |")
        print("| --- | --- | --- | --- | --- | --- |")
        for name in filter(None, given.presets.split(",")):
            print(preset_row(name, models, clips, seconds, given.repeats), flush=True)
        print(f"\nWhisper, one clip at a time: {'OpenAI’s' if has_whisper() else 'faster-whisper'}")


def preset_row(
    name: str, models: Models, clips: Sequence[Clip], seconds: float, repeats: int
) -> str:
    """A preset in one pass, and its networks called one clip at a time, in turns."""
    from metrics.scoring import presets

    keys = [choice.metric for choice in presets.preset(name).metrics if choice.metric not in LEFT]
    metrics = [made(key, models) for key in keys]
    in_bf16 = [made(key, models, "bf16") for key in keys]
    with plain_networks():
        alone = [one_at_a_time(key, models) for key in keys if key != "cer"]  # wer heard it
    for run in alone:
        run(clips[0])  # loads, warms up
    rounds = []
    for _ in range(repeats):
        with plain_networks():
            apart = cpu_s_of(lambda: [run(clip) for run in alone for clip in clips])
        rounds.append((apart, *(warm_cpu_s(each, clips) for each in (metrics, in_bf16))))
    apart, *together = (min(each) / seconds for each in zip(*rounds, strict=True))
    cells = [f"{cost:.3f} | {apart / cost:.1f}" for cost in together]
    return f"| `{name}` | {apart:.3f} | {' | '.join(cells)} |"


def warm_cpu_s(metrics: Sequence[Metric], clips: Sequence[Clip]) -> float:
    """CPU seconds of a pass over all clips, after one that loads."""
    from metrics.scoring import runner

    runner.forget_models()
    score(metrics, clips[:1])
    return cpu_s_of(lambda: score(metrics, clips))


@contextlib.contextmanager
def plain_networks() -> Iterator[None]:
    """Networks of transformers as they are published, without what Earnest leaves out of them."""
    from metrics.networks.predictors import pretrained, wavlm_original
    from metrics.suite import audiobox_pq

    with (
        mock.patch.object(pretrained, "for_inference", lambda network: network),
        mock.patch.object(wavlm_original, "for_inference", lambda network: network),
        mock.patch.object(audiobox_pq, "can_be_cut", return_value=False),
    ):
        yield


def one_at_a_time(key: str, models: Models) -> Callable[[Clip], object]:
    """Decode a clip for one metric and call its network, as programs do that share nothing."""
    import torch

    from metrics.core import decoding

    if key in PUBLISHED:
        run = PUBLISHED[key]()
        return lambda clip: run(decoding.load_wave(clip.path, RATE_HZ), clip.material.text)
    metric = made(key, models)
    metric.load("cpu")

    def measure(clip: Clip) -> object:
        wave = decoding.load_wave(clip.path, metric.sample_rate_hz)
        return metric.measure([torch.from_numpy(wave)], [clip.material])

    return measure


def reverb() -> Plain:
    """The deviation of SRMR over the windows of a clip, and the detector of speech."""
    srmr_of, detect = bench_packages.srmr(), pauses()

    def run(wave: Any, text: str) -> float:
        detect(wave, text)
        starts = range(0, len(wave) - 3 * RATE_HZ + 1, 2 * RATE_HZ)
        return float(np.std([srmr_of(wave[start : start + 3 * RATE_HZ], text) for start in starts]))

    return run


def pauses() -> Plain:
    """silero-vad, as its package calls it."""
    import silero_vad
    import torch

    network = silero_vad.load_silero_vad()
    torch.set_num_threads(1)
    return lambda wave, _: len(silero_vad.get_speech_timestamps(torch.from_numpy(wave), network))


def timbre() -> Plain:
    """Resemblyzer's network, one window of 3 s at a time."""
    import torch

    from metrics.networks.embeddings import embedding_type

    voice = embedding_type("resemblyzer")()
    voice.load()

    def run(wave: Any, _: str) -> float:
        starts = range(0, len(wave) - 3 * RATE_HZ + 1, 2 * RATE_HZ)
        windows = [torch.from_numpy(wave[start : start + 3 * RATE_HZ]) for start in starts]
        return float(torch.cat([voice.embed(window[None]) for window in windows]).mean())

    return run


def dnsmos() -> Plain:
    """Both files of DNSMOS by ONNX Runtime, one hop of 9.01 s at a time."""
    import torch

    from metrics.core import weights
    from metrics.networks.predictors import onnx
    from metrics.suite import dnsmos as own

    files = [weights.bundled_file(name) for name in (own.P835, own.P808)]
    p835, p808 = (onnx.session(str(file), "cpu") for file in files)
    networks = own.Networks(*map(onnx.read, files), "cpu")

    def run(wave: Any, _: str) -> float:
        long = own.repeat_to_hop(torch.from_numpy(wave))
        found = []
        for start in own.hops(len(long), "speechmos")[0]:
            hop = long[start * RATE_HZ :][: own.SAMPLES].numpy()[None]
            found.append(p835.run(None, {"input_1": hop})[0][0, 2])
            p808.run(None, {"input_1": networks.log_mel([long], [(0, start)])[:, 0].numpy()})
        return float(np.mean(found))

    return run


def has_whisper() -> bool:
    return find_spec("whisper") is not None


def wer() -> Plain:
    """Whisper, and jiwer on texts that are written alike."""
    if not has_whisper():
        return bench_packages.wer()
    import jiwer

    from benchmarks.openai_whisper import recogniser
    from metrics.core.texts import normalise_text

    hear = recogniser(Path(tiny_whisper()))

    def run(wave: Any, text: str) -> float:
        return float(jiwer.wer(normalise_text(text, "en"), normalise_text(hear(wave), "en")))

    return run


PUBLISHED: dict[str, Callable[[], Plain]] = {
    "srmr": bench_packages.srmr,
    "srmr_norm": bench_packages.srmr,
    "reverb_consistency_norm": reverb,
    "timbre_consistency": timbre,
    "pauses": pauses,
    "dnsmos": dnsmos,
    "wer": wer,
}


def audio_s(clips: Sequence[Clip]) -> float:
    from metrics.core import decoding

    return sum(decoding.duration_s(clip.path) for clip in clips)


def table_row(key: str, models: Models, clips: Sequence[Clip], seconds: float, repeats: int) -> str:
    """One metric; of the repeats the one with the least ratio, with the core's rate beside it."""
    from metrics.scoring import runner

    metric = made(key, models)
    score([metric], clips[:1])  # loads, warms up
    rounds = []
    for _ in range(repeats):
        before, spent = core_rate(), cpu_s_of(lambda: score([metric], clips))
        rounds.append((spent, (before + core_rate()) / 2))
    operations = count_operations(lambda: score([metric], clips))
    runner.forget_models()
    cpu_s, rate = min(rounds, key=lambda each: each[0] * each[1])
    floor_s = operations / rate
    numbers = f"{operations / seconds / 1e9:.1f} | {rate / 1e9:.0f} | {floor_s / seconds:.4f}"
    ratio = f"{cpu_s / floor_s:.2f}" if floor_s else "not counted"
    return f"| `{key}` | {numbers} | {cpu_s / seconds:.4f} | {ratio} |"


def made(key: str, models: Models, precision: str = "float32") -> Metric:
    """A metric, in that precision where it allows it."""
    from metrics.core import weights
    from metrics.core.metric import Metric, make_metric

    weights.configure(models.place, offline=True)
    name = key.partition(" ")[0]
    if name in ("wer", "cer"):
        parameters: dict[str, Any] = {"model": tiny_whisper()}
    elif key == "squim_pesq":
        parameters = {}
    else:
        parameters = dict(models.choice(name if name == "squim_pesq" else key).parameters)
    if precision != "float32" and getattr(Metric.registry[name].precisions, precision) is not None:
        parameters["precision"] = precision
    return make_metric(name, parameters)


def score(metrics: Sequence[Metric], clips: Sequence[Clip]) -> None:
    from metrics.scoring import runner

    for metric in metrics:  # what was heard a round ago costs nothing
        if recogniser := getattr(metric, "recogniser", None):
            recogniser.transcript_cache.clear()
    done = runner.score_work([(clip, tuple(metrics)) for clip in clips], "cpu")
    for batch in done:
        for scored in batch.clips:
            assert not scored.score.failed, scored.score.reason


def cpu_s_of(run: Callable[[], object]) -> float:
    """CPU seconds of this process for one call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def core_rate() -> float:
    """Operations a second of float32 matrix products on this core, over about half a second."""
    import torch

    products = [
        (torch.randn(rows, inner), torch.randn(inner, columns), torch.empty(rows, columns))
        for rows, inner, columns in SHAPES
    ]
    operations = 2.0 * ROUNDS * sum(rows * inner * columns for rows, inner, columns in SHAPES)

    def multiply() -> None:
        for _ in range(ROUNDS):
            for one, other, out in products:
                torch.mm(one, other, out=out)

    return operations / cpu_s_of(multiply)


def count_operations(run: Callable[[], object]) -> float:
    """Floating-point operations of products, convolutions, attention and recurrent layers."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

    def recurrent(x: Any, *more: Any, out_val: Any = None, **_: Any) -> int:
        steps = x[0] * x[1]
        return 2 * steps * sum(shape[0] * shape[1] for shape in more[:2])

    def attention(query: Any, key: Any, value: Any, *_: Any, **more: Any) -> int:
        return int(sdpa_flop_count(query, key, value))

    aten = torch.ops.aten
    mapping = {
        aten.mkldnn_rnn_layer: recurrent,
        aten._scaled_dot_product_flash_attention_for_cpu: attention,
    }
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # fused, and so not counted
    try:
        with FlopCounterMode(display=False, custom_mapping=mapping) as counter:
            run()
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
    return float(counter.get_total_flops())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
