"""What a run costs on this machine's processor, said before it starts."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence

from metrics.core import decoding
from metrics.core.devices import kind, torch_threads
from metrics.core.lazy_torch import torch
from metrics.core.metric import Metric
from metrics.scoring.runner import Work

TABLED_RATE = 150e9  # float32 operations a second of the core of `Metric.cpu_s_per_s`
PRODUCT = (512, 768, 3072)  # rows, inner and columns: a layer of WavLM (base) over 10 s
SAMPLE = 200  # clips, spread over all: their lengths stand for the others'
SILENT_BELOW_S = 60.0
HOUR_S = 3600.0

Lengths = Sequence[tuple[float, Sequence[Metric]]]  # seconds of a clip, metrics that it misses


def run_cost_lines(work: Sequence[Work], device: str) -> list[str]:
    """Return what to say before this work is done on a processor; nothing if under a minute.

    Nothing of a GPU, whose speed is not tabled. Clips that cannot be read here are left out.
    """
    if kind(device) != "cpu":
        return []
    step = max(1, -(-len(work) // SAMPLE))
    lengths = []
    for clip, metrics in work[step // 2 :: step]:
        try:
            lengths.append((decoding.duration_s(clip.path), metrics))
        except decoding.AudioError:
            continue
    return cost_lines(lengths, len(work) / len(lengths)) if lengths else []


def cost_lines(lengths: Lengths, clips_each: float = 1.0, audio: str = "") -> list[str]:
    """Return hours of audio and of a processor in words; nothing if under a minute.

    ``clips_each``: how many clips of a run each length stands for.
    ``audio``: what is scored, in words (default: the sum of the lengths).
    """
    by_metric, unmeasured = cpu_s_by_metric(lengths)
    tabled_s = clips_each * sum(by_metric.values())
    if tabled_s < SILENT_BELOW_S:
        return []
    cpu_s = tabled_s * TABLED_RATE / core_rate()
    longest = max(by_metric, key=lambda key: by_metric[key])
    share = clips_each * by_metric[longest] / tabled_s
    audio = audio or f"{duration_words(clips_each * sum(each for each, _ in lengths))} of audio"
    lines = [
        f"Scoring {audio} takes about {duration_words(cpu_s)} on one CPU core of this "
        f"machine. {longest} takes {share:.0%} of it."
    ]
    if unmeasured:
        lines.append(f"Not included, because their cost is not known: {', '.join(unmeasured)}.")
    if cpu_s > HOUR_S:
        lines.append("Use a machine with a GPU, or several (docs/metrics.md, Several machines).")
    return lines


def cpu_s_by_metric(lengths: Lengths) -> tuple[dict[str, float], list[str]]:
    """Return CPU seconds by metric, and the metrics whose cost is not known."""
    by_metric: dict[str, float] = {}
    unmeasured: dict[str, None] = {}
    for clip_s, metrics in lengths:
        for metric in {metric.shared_work(): metric for metric in reversed(metrics)}.values():
            cpu_s = metric.expected_cpu_s(clip_s)
            if cpu_s is None:
                unmeasured[metric.key] = None
            else:
                by_metric[metric.key] = by_metric.get(metric.key, 0.0) + cpu_s
    return by_metric, list(unmeasured)


@functools.cache
def core_rate() -> float:
    """Float32 operations a second of matrix products on one core, measured in about 0.1 s."""
    rows, inner, columns = PRODUCT
    one, other = torch.ones(rows, inner), torch.ones(inner, columns)
    spent = []
    with torch_threads(1), torch.inference_mode():
        for _ in range(6):
            start = time.process_time()
            one @ other
            spent.append(time.process_time() - start)
    return 2 * rows * inner * columns / min(spent)


def duration_words(seconds: float) -> str:
    """Return a duration such as "a minute", "5 minutes" or "3.2 hours"."""
    if seconds < 90 * 60:
        minutes = max(1, round(seconds / 60))
        return "a minute" if minutes == 1 else f"{minutes} minutes"
    return f"{seconds / HOUR_S:.1f} hours"
