"""CPU seconds of each network metric over the time of its arithmetic alone, on one core.

    python benchmarks/bench_floor.py [--metrics KEY,KEY] [--clips 6] [--repeats 3] [--presets]

Each metric scores the same clips of 4 to 12 s by the runner, on one thread, with a network of the
published size (random weights where no package carries them; speed does not depend on them).
PyTorch counts the operations of its matrix products and convolutions; recurrent layers are added.
The floor is their time at the rate of a large float32 matrix product, which is measured before and
after each metric on the same core. Ratio: CPU seconds of scoring, from the file to the score, over
that floor. `--presets` compares whole presets with the same networks called one clip at a time:
each file decoded for each metric, each clip a batch of its own, nothing shared between metrics.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--metrics", default=",".join(KEYS))
    parser.add_argument("--clips", type=int, default=6)
    parser.add_argument("--least", type=float, default=4.0, help="seconds")
    parser.add_argument("--most", type=float, default=12.0, help="seconds")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--models", type=Path, help="keep random weights here (10 GB)")
    given = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        clips = random_clips(Path(name), given.clips, given.least, given.most)
        models = Models(given.models or Path(name) / "models", "cpu", tiny=False)
        seconds = audio_s(clips)
        print(f"{given.clips} clips, {seconds:.0f} s; {platform.machine()}, torch "
              f"{torch.__version__}, load {os.getloadavg()[0]:.1f}\n")  # fmt: skip
        print("| metric | GFLOP per s | core, GFLOP/s | floor, s per s | CPU s per s | ratio |")
        print("| --- | --- | --- | --- | --- | --- |")
        for key in given.metrics.split(","):
            print(table_row(key, models, clips, seconds, given.repeats), flush=True)


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
    return f"| `{key}` | {numbers} | {cpu_s / seconds:.4f} | {cpu_s / floor_s:.2f} |"


def made(key: str, models: Models) -> Metric:
    from metrics.core import weights
    from metrics.core.metric import make_metric

    weights.configure(models.place, offline=True)
    if key in ("wer", "cer"):
        return make_metric(key, {"model": tiny_whisper()})
    if key == "squim_pesq 0":
        return make_metric("squim_pesq", models.choice("squim_pesq").parameters)
    choice = models.choice(key)
    parameters = choice.parameters if key != "squim_pesq" else {}
    return make_metric(choice.key, parameters)


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
