"""The steps of a run, in order of worth; each writes its figures as they come."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib.util
import math
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.gpu import card, models, speech
from benchmarks.gpu.journal import Journal
from benchmarks.gpu.models import Models

if TYPE_CHECKING:
    from metrics.core.metric import Metric
    from metrics.scoring.runner import Clip

ROOT = Path(__file__).resolve().parent.parent.parent
RATE_HZ = 16_000
SOME_S = 150.0  # of speech, where an hour would take too long


@dataclass
class Setting:
    """Where a step runs, with what, and until when."""

    device: str
    place: Path  # for audio and weights; shared by all steps
    journal: Journal
    ends: float  # by time.monotonic()
    tiny: bool

    @functools.cached_property
    def models(self) -> Models:
        """The networks of this run."""
        return Models(self.place / "models", self.device, self.tiny)

    @property
    def left_s(self) -> float:
        """Seconds until this step has to end."""
        return self.ends - time.monotonic()

    def speech(self, seconds: float) -> list[Clip]:
        """Return clips of so many seconds together, at tiny size of 30 s."""
        wanted = 12.0 if self.tiny else seconds
        return speech.write_speech(self.place / f"speech-{wanted:g}", wanted)


@contextlib.contextmanager
def row(setting: Setting, step: str, name: str) -> Iterator[dict[str, Any]]:
    """Collect the figures of one row; a failure becomes a row that says so, and memory is freed."""
    figures: dict[str, Any] = {}
    begun = time.monotonic()
    try:
        yield figures
    except ImportError as error:
        figures["not_run"] = f"package {error.name} is not installed"
    except Exception as error:
        figures["failed"] = f"{type(error).__name__}: {str(error)[:300]}"
        traceback.print_exc()
    took_s = round(time.monotonic() - begun, 1)  # with models made and loaded
    setting.journal.add(step, name, **figures, took_s=took_s)
    free_memory(setting.device)


def free_memory(device: str) -> None:
    """Let go of every model."""
    from metrics.networks.recognisers import recogniser
    from metrics.scoring import runner

    runner.forget_models()
    recogniser.load_recogniser.cache_clear()
    gc.collect()
    if device != "cpu":
        import torch

        torch.cuda.empty_cache()


# --- a: tests ----------------------------------------------------------------------------------

TESTS = (
    "test_embeddings",
    "test_dnsmos",
    "test_srmr_properties",
    "test_auto_att_model",
    "test_sharing",
)


def run_tests(setting: Setting) -> None:
    """Run every test marked gpu that needs no database, and name those that fail."""
    if importlib.util.find_spec("pytest") is None:
        setting.journal.add("tests", "all", not_run="package pytest is not installed")
        return
    files = [f"tests/metrics/{name}.py" for name in TESTS]
    command = [
        sys.executable, "-m", "pytest", "-c", "benchmarks/gpu/pytest.ini", "--rootdir", ".",
        "--confcutdir", "tests/metrics", "-p", "no:cacheprovider", "-p", "no:randomly",
        "-q", "-m", "gpu", "-rA", "--tb=short", *files,
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=max(10.0, setting.left_s)
        )
        said, code = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired as error:
        said, code = str(error.stdout), -1
    (setting.journal.folder / "tests.log").write_text(said, encoding="utf-8")
    lines = said.splitlines()
    passed = sum(line.startswith("PASSED") for line in lines)
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    skipped = [line for line in lines if line.startswith("SKIPPED")]
    setting.journal.add(
        "tests", "marked gpu", passed=passed, failed=failed, skipped=skipped, exit_code=code
    )


# --- b: each network metric ---------------------------------------------------------------------

NETWORKS = (
    *("dnsmos", "timbre_consistency", "wer", "speaker_similarity", "utmos", "nisqa", "audiobox_pq"),
    *("timbre_consistency wavlm", "squim_pesq", "distillmos", "scoreq", "emotion", "spoof"),
    *("arousal", "speech_bert_score", "clap"),
)
COMPARED, COMPARED_S = 2, 5.2  # clips that are compared with the CPU, the shortest of over 5.2 s
MODES = ("float32", "tf32", "bf16")
BATCHED = ("conv", "_convolution", "lstm", "cudnn_convolution", "_cudnn_rnn")  # operations
LARGE = ("squim_pesq", "dnsmos", "distillmos")  # networks of one size only: not for a test
ALIKE = ("timbre_consistency wavlm", "emotion", "spoof", "scoreq")  # as others: not for a test


def score_networks(setting: Setting) -> None:
    """Compare each network metric's values on CPU and GPU, and time it in every precision."""
    from metrics.core.metric import make_metric

    clips = setting.speech(SOME_S)
    for name in NETWORKS:
        if setting.tiny and name in (*LARGE, *ALIKE):
            continue
        if setting.left_s < 8 and not setting.tiny:
            setting.journal.add("networks", name, not_run="no time was left")
            continue
        with row(setting, "networks", name) as figures:
            choice = setting.models.choice(name)
            figures["weights"] = choice.weights
            parameters = choice.parameters
            if choice.key == "wer":
                parameters = setting.models.whisper("large-v3-turbo")
            metric = make_metric(choice.key, parameters)
            measure_network(setting, metric, clips, figures)
    for name in NETWORKS:  # last, for a compiler takes its time
        if setting.left_s < 30 and not setting.tiny:
            return
        with contextlib.suppress(ImportError):
            choice = setting.models.choice(name)
            metric = make_metric(choice.key, choice.parameters)
            if metric.precisions.compile is not None and not setting.tiny:
                with row(setting, "networks", f"{name} compiled") as figures:
                    compiled(setting, metric, clips, figures)


def measure_network(
    setting: Setting, metric: Metric, clips: Sequence[Clip], figures: dict[str, Any]
) -> None:
    """Fill in one metric's figures: differences first, then speed in each precision."""
    import torch

    from metrics.core.metric import make_metric
    from metrics.core.precision import Arithmetic

    device = setting.device
    waves, materials = loaded_waves(metric, clips, device)
    audio_s = sum(len(wave) for wave in waves) / metric.sample_rate_hz
    metric.load(device)
    scores, figures["batch"] = with_largest_batch(lambda: measured(metric, waves, materials))
    plain = values_of(metric, scores)
    if device != "cpu" and metric.key not in ("wer", "cer"):
        torch.set_num_threads(max(1, (os.cpu_count() or 2) // 2))
        here = make_metric(metric.key, metric.parameters_dict())
        here.load("cpu")
        long = [i for i, wave in enumerate(waves) if len(wave) > COMPARED_S * here.sample_rate_hz]
        own = sorted(long, key=lambda i: len(waves[i]))[:COMPARED]
        on_cpu = here.measure([waves[i].cpu() for i in own], [materials[i] for i in own])
        figures["gpu_differs_from_cpu"] = largest_move(
            values_of(here, on_cpu), [plain[i] for i in own]
        )
        figures["stated"] = metric.sharing.within
    for mode in MODES:
        asked = Arithmetic(mode)
        if metric.precisions.refusal(asked) or (mode == "tf32" and device == "cpu"):
            continue
        metric.arithmetic = asked
        found = timed(metric, waves, materials, setting)
        figures[f"{mode}_h_per_h"] = round(audio_s / found.seconds_each, 1)
        if mode == "float32":
            figures |= {"busy": found.busy, "peak_gib": found.peak_gib}
        else:
            figures[f"{mode}_differs"] = largest_move(plain, values_of(metric, found.scores))
            figures[f"{mode}_stated"] = metric.precisions.within(asked)


def compiled(
    setting: Setting, metric: Metric, clips: Sequence[Clip], figures: dict[str, Any]
) -> None:
    """Time a compiled network, and compare its values with those of the plain one."""
    from metrics.core.precision import Arithmetic

    waves, materials = loaded_waves(metric, clips, setting.device)
    audio_s = sum(len(wave) for wave in waves) / metric.sample_rate_hz
    metric.load(setting.device)
    plain = values_of(metric, measured(metric, waves, materials))
    metric.arithmetic = Arithmetic(compile=True)
    begun = time.monotonic()
    found = values_of(metric, measured(metric, waves, materials))
    figures["first_call_s"] = round(time.monotonic() - begun, 1)
    spent = timed(metric, waves, materials, setting)
    figures["float32_h_per_h"] = round(audio_s / spent.seconds_each, 1)
    figures["compile_differs"] = largest_move(plain, found)
    figures["compile_stated"] = metric.precisions.compile


def loaded_waves(metric: Metric, clips: Sequence[Clip], device: str) -> tuple[list[Any], list[Any]]:
    """Return the clips' waves at the metric's rate on the device, and what is known of them."""
    import torch

    from metrics.core import decoding

    waves = [
        torch.from_numpy(decoding.load_wave(clip.path, metric.sample_rate_hz)).to(device)
        for clip in clips
    ]
    return waves, [clip.material for clip in clips]


def measured(metric: Metric, waves: Sequence[Any], materials: Sequence[Any]) -> list[Any]:
    """Return the scores of waves; nothing is remembered of an earlier call."""
    forget_transcripts(metric)
    return metric.measure([wave.clone() for wave in waves], materials)


def forget_transcripts(metric: Metric) -> None:
    """Have a recogniser hear its clips again."""
    recogniser = getattr(metric, "recogniser", None)
    if recogniser is not None:
        recogniser.transcript_cache.clear()


def values_of(metric: Metric, scores: Sequence[Any]) -> list[dict[str, float | None]]:
    """Return every output's value of each clip."""
    return [{key: score.value for key, score in metric.by_output(one).items()} for one in scores]


def largest_move(
    one: Sequence[dict[str, float | None]], other: Sequence[dict[str, float | None]]
) -> float:
    """Return the largest difference, relative to the value or to 1 where it is smaller."""
    from metrics.testing import relative_change

    moves = [0.0]
    for mine, theirs in zip(one, other, strict=True):
        for key, value in mine.items():
            if (value is None) != (theirs[key] is None):
                return math.inf
            if value is not None:
                moves.append(relative_change(value, theirs[key]))  # type: ignore[arg-type]
    return float(f"{max(moves):.2g}")


@dataclass(frozen=True)
class Timed:
    """What one call took, how busy the card was, and the scores of the last call."""

    seconds_each: float
    busy: float | None
    peak_gib: float | None
    scores: Sequence[Any]


def timed(
    metric: Metric, waves: Sequence[Any], materials: Sequence[Any], setting: Setting
) -> Timed:
    """Time calls of a metric for a second, after one that is not counted."""
    measured(metric, waves, materials)
    scores: Sequence[Any] = ()
    calls = 0
    with card.watched(setting.device) as seen:
        begun = time.perf_counter()
        while not calls or time.perf_counter() - begun < least(setting, 1.0):
            scores = measured(metric, waves, materials)
            card.synchronise(setting.device)
            calls += 1
    figures = seen.figures(1.0)
    return Timed(seen.seconds / calls, figures["busy"], figures["peak_gib"], scores)


def with_largest_batch(run: Callable[[], Sequence[Any]]) -> tuple[Sequence[Any], int | None]:
    """Return what a call gives, and the largest batch of a convolution or an LSTM inside."""
    from torch.utils._python_dispatch import TorchDispatchMode

    largest = 0

    class Look(TorchDispatchMode):
        def __torch_dispatch__(
            self, operation: Any, types: Any, given: Any = (), more: Any = None
        ) -> Any:
            nonlocal largest
            if operation.overloadpacket.__name__.startswith(BATCHED):
                largest = max(largest, given[0].shape[0])
            return operation(*given, **(more or {}))

    with Look():
        found = run()
    return found, largest or None


# --- c: whole presets ---------------------------------------------------------------------------

HOUR_S = 3600.0
VERSA_CLIPS = 12
TRIAL_CLIPS = 16  # that tell how long all would take
RUNS = (  # preset, number type of networks that allow it, Whisper where it is not the preset's own
    ("tts", "", ""),
    ("tts", "bf16", "large-v3-turbo"),
    ("fast", "", ""),
    ("lfs", "", ""),
    ("lfs", "bf16", "large-v3-turbo"),
)


def score_presets(setting: Setting) -> None:
    """Score speech by whole presets from files to values, beside one metric and clip at a time."""
    clips = setting.speech(HOUR_S)
    audio_s = speech.seconds_of(clips)
    setting.journal.add("presets", "audio", clips=len(clips), audio_s=round(audio_s, 1))
    for place, (preset, numbers, recogniser) in enumerate(RUNS if not setting.tiny else RUNS[1:3]):
        name = " ".join(filter(None, (preset, numbers, recogniser)))
        if setting.left_s < 12 and not setting.tiny:
            setting.journal.add("presets", name, not_run="no time was left")
            continue
        metrics, left_out = preset_metrics(setting, preset, numbers, recogniser)
        with row(setting, "presets", name) as figures:
            figures["metrics"] = [metric.key for metric in metrics]
            if left_out:
                figures["left_out"] = left_out
            seconds = setting.left_s / (len(RUNS) - place)
            whole_preset(setting, metrics, clips, seconds, figures)
        if not numbers and setting.left_s > 12:
            with row(setting, "presets", f"{name}, VERSA's way") as figures:
                metrics, _ = preset_metrics(setting, preset, numbers, recogniser)
                one_by_one(setting, metrics, clips[:: max(1, len(clips) // VERSA_CLIPS)], figures)


def preset_metrics(
    setting: Setting, preset: str, numbers: str, recogniser: str
) -> tuple[list[Metric], dict[str, str]]:
    """Return a preset's metrics with weights that load here, and which are left out and why."""
    from metrics.core.metric import make_metric
    from metrics.core.precision import Arithmetic
    from metrics.scoring import presets

    found, left_out = [], {}
    for chosen in presets.preset(preset).choices():
        wavlm = chosen.parameters.get("embedding") == "wavlm"
        key = chosen.metric + (" wavlm" if wavlm else "")
        if setting.tiny and key in LARGE:
            left_out[key] = "it has one size only"
            continue
        try:
            choice = setting.models.choice(key)
        except ImportError as error:
            left_out[key] = f"package {error.name} is not installed"
            continue
        if key == "scoreq" and setting.device != "cpu" and not onnx_on_gpu():
            left_out[key] = "ONNX Runtime has no CUDA here"
            continue
        parameters = {**chosen.parameters, **choice.parameters}
        if chosen.metric in ("wer", "cer") and recogniser:
            parameters = setting.models.whisper(recogniser)
        metric = make_metric(chosen.metric, parameters)
        asked = Arithmetic(numbers or "float32")
        metric.arithmetic = Arithmetic() if metric.precisions.refusal(asked) else asked
        found.append(metric)
    return found, left_out


def onnx_on_gpu() -> bool:
    """Whether ONNX Runtime computes on a GPU here."""
    if importlib.util.find_spec("onnxruntime") is None:
        return False
    import onnxruntime

    return "CUDAExecutionProvider" in onnxruntime.get_available_providers()


def whole_preset(
    setting: Setting,
    metrics: Sequence[Metric],
    clips: Sequence[Clip],
    seconds: float,
    figures: dict[str, Any],
) -> None:
    """Score clips as `score_files` does, as many as fit into ``seconds``; all of them if they do.

    Models are loaded and warm before the clock starts.
    """
    from metrics.scoring import runner

    trial = [(clip, metrics) for clip in clips[:: max(1, len(clips) // TRIAL_CLIPS)]]
    list(runner.score_work(trial[:2], setting.device))
    begun = time.perf_counter()
    list(runner.score_work(trial, setting.device))
    per_clip_s = (time.perf_counter() - begun) / len(trial)
    clips = clips[: max(len(trial), int(0.7 * seconds / per_clip_s))]
    for metric in metrics:
        forget_transcripts(metric)
    scored, reasons = 0, set()
    each_s: dict[str, float] = {}
    with card.watched(setting.device) as seen:
        before = time.perf_counter()
        for batch in runner.score_work([(clip, metrics) for clip in clips], setting.device):
            now = time.perf_counter()
            each_s[batch.metric.key] = each_s.get(batch.metric.key, 0.0) + now - before
            before = now
            scored += sum(one.score.value is not None for one in batch.clips)
            reasons |= {one.score.reason for one in batch.clips if one.score.failed}
    figures |= seen.figures(speech.seconds_of(list(clips)))
    figures["scores"] = scored
    figures["seconds_each"] = {key: round(value, 2) for key, value in each_s.items()}
    if reasons:
        figures["failures"] = sorted(reasons)[:3]


def one_by_one(
    setting: Setting, metrics: Sequence[Metric], clips: Sequence[Clip], figures: dict[str, Any]
) -> None:
    """Score clips as VERSA does: one metric after the other, clip by clip, batches of one."""
    import torch

    from metrics.core import decoding

    audio_s = speech.seconds_of(list(clips))
    for metric in metrics:
        metric.load(setting.device)
    each_s: dict[str, float] = {}
    for metric in metrics:
        forget_transcripts(metric)
    with card.watched(setting.device) as seen:
        for metric in metrics:  # WER and CER share a transcript there, too
            begun = time.perf_counter()
            for clip in clips:
                wave = torch.from_numpy(decoding.load_wave(clip.path, metric.sample_rate_hz))
                metric.measure([wave.to(setting.device)], [clip.material])
            each_s[metric.key] = each_s.get(metric.key, 0.0) + time.perf_counter() - begun
    figures |= seen.figures(audio_s)
    figures["seconds_each"] = {key: round(value, 2) for key, value in each_s.items()}


# --- d: SRMR ------------------------------------------------------------------------------------


def score_srmr(setting: Setting) -> None:
    """Time SRMR of windows and of whole clips on the device, and one core of torchmetrics."""
    import torch

    from metrics.core.metric import make_metric
    from metrics.signal import srmr

    device = setting.device
    clips = setting.speech(SOME_S)
    metric = make_metric("srmr")
    waves, materials = loaded_waves(metric, clips, device)
    windows = torch.cat(waves).unfold(0, 3 * RATE_HZ, 3 * RATE_HZ)[: 2 if setting.tiny else 16]
    windows = windows.repeat(1 if setting.tiny else 32, 1)
    per_s: dict[str, float] = {}
    for variant in ("slow", "slow_norm30", "fast"):
        with row(setting, "srmr", f"{variant}, {len(windows)} windows of 3 s") as figures:
            spent = card.seconds_of(
                functools.partial(srmr.srmr, windows, variant), device, least(setting, 1.0)
            )
            per_s[variant] = spent / (windows.numel() / RATE_HZ)
            figures["s_per_s"] = float(f"{per_s[variant]:.3g}")
    with row(setting, "srmr", f"slow, {len(waves)} whole clips") as figures:
        audio_s = sum(map(len, waves)) / RATE_HZ
        metric.load(device)
        spent = timed(metric, waves, materials, setting).seconds_each
        figures["s_per_s"] = float(f"{spent / audio_s:.3g}")
    with row(setting, "srmr", "torchmetrics, one core") as figures:
        from torchmetrics.functional.audio import (
            speech_reverberation_modulation_energy_ratio as rival,
        )

        torch.set_num_threads(1)
        wave = windows[0].cpu().double()
        theirs = float(rival(wave, RATE_HZ))
        spent = card.seconds_of(lambda: rival(wave, RATE_HZ), "cpu", least(setting, 2.0))
        figures["s_per_s"] = float(f"{spent / 3:.3g}")
        figures["times_slower"] = {name: round(spent / 3 / own) for name, own in per_s.items()}
        ours = srmr.srmr(windows[:1], "slow")[0].value
        figures["differs"] = float(f"{abs(theirs / (ours or 1) - 1):.2g}")


def least(setting: Setting, seconds: float) -> float:
    """Return how long to repeat; at tiny size once is enough."""
    return 0.0 if setting.tiny else seconds


# --- e: Whisper ---------------------------------------------------------------------------------


def transcribe(setting: Setting) -> None:
    """Time Whisper large-v3-turbo's architecture with a fixed number of tokens per window."""
    clips = setting.speech(SOME_S)
    runs = (
        ("float16", 0, ""),
        ("float16", 0, "without cuDNN's attention"),  # which plans anew for every shape
        ("float16", 16, ""),
        ("float32", 0, ""),
    )
    for precision, at_once, how in runs if not setting.tiny else runs[:1]:
        if setting.left_s < 8 and not setting.tiny:
            return
        only = f"{at_once} windows at once" if at_once else ""
        name = ", ".join(filter(None, (f"transformers {precision}", only, how)))
        with row(setting, "whisper", name) as figures:
            import torch

            torch.backends.cuda.enable_cudnn_sdp(not how)
            try:
                hear(setting, "transformers", precision, at_once, clips, figures)
            finally:
                torch.backends.cuda.enable_cudnn_sdp(True)
    with row(setting, "whisper", "faster-whisper") as figures:
        import faster_whisper  # noqa: F401

        figures["not_run"] = "its weights are CTranslate2's, which cannot be made here"


def hear(
    setting: Setting,
    key: str,
    precision: str,
    at_once: int,
    clips: Sequence[Clip],
    figures: dict[str, Any],
) -> None:
    """Fill in the figures of one recogniser."""
    from metrics.core import decoding
    from metrics.networks.recognisers import recogniser

    told = setting.models.whisper("large-v3-turbo", precision)
    options = recogniser.Options(told["model"], 5, told["precision"])
    waves = [decoding.load_wave(clip.path, RATE_HZ) for clip in clips]
    audio_s = sum(map(len, waves)) / RATE_HZ
    found = recogniser.load_recogniser(key, options, setting.device)
    if at_once:
        found.windows_at_once = lambda: at_once  # type: ignore[attr-defined]
    figures["windows_at_once"] = found.windows_at_once()  # type: ignore[attr-defined]
    begun = time.perf_counter()
    found.transcribe_all(waves, "en")
    figures["first_s"] = round(time.perf_counter() - begun, 2)
    with card.watched(setting.device) as seen:
        found.transcribe_all(waves, "en")
    figures |= seen.figures(audio_s)
    figures["windows"] = len(waves)
    figures["tokens_per_window"] = 4 if setting.tiny else models.WORDS_PER_WINDOW


# --- f: Auto-ATT --------------------------------------------------------------------------------


def train_listener(setting: Setting) -> None:
    """Time training steps and inference of Auto-ATT at 0.5 B, then at Qwen2-Audio's own size."""
    for size, batch in (("0.5b", 16), ("7b", 8)) if not setting.tiny else (("tiny", 4),):
        if setting.left_s < 12 and not setting.tiny:
            setting.journal.add("auto_att", size, not_run="no time was left")
            continue
        with row(setting, "auto_att", f"{size}, batch of {batch}") as figures:
            one_size(setting, size, batch, figures)


def one_size(setting: Setting, size: str, batch: int, figures: dict[str, Any]) -> None:
    """Fill in the figures of one size of model."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from metrics.auto_att.model import Listener, ModelPlan, add_adapter
    from metrics.auto_att.train import Run, TrainingPlan, in_training

    device = setting.device
    model, processor = models.listener(size, device)
    figures["parameters"] = sum(each.numel() for each in model.parameters())
    listener = Listener(model, processor, ModelPlan(name=size, rank=32, alpha=32), device)
    clips = labelled(setting.speech(SOME_S), 4 * batch)
    waves = loaded_audio([clip.path for clip in clips[:batch]], listener.rate_hz)
    seconds = sum(map(len, waves)) / listener.rate_hz

    def infer() -> None:
        with torch.inference_mode():
            listener.scores(waves)

    spent = card.seconds_of(infer, device, least(setting, 1.5))
    with FlopCounterMode(display=False) as counted:
        infer()
    figures["inference_clips_per_s"] = round(batch / spent, 2)
    figures["inference_audio_h_per_h"] = round(seconds / spent, 1)
    figures["inference_tflops"] = round(counted.get_total_flops() / spent / 1e12, 2)
    add_adapter(listener, 0)
    in_training(listener)
    run = Run(listener, clips, TrainingPlan(batch_size=batch, epochs=1000))
    run.advance()
    with card.watched(device) as seen:
        steps = 0
        while not steps or (seen_for(steps) < 8 and setting.left_s > 4 and not setting.tiny):
            run.advance()
            steps += 1
    with FlopCounterMode(display=False) as counted:
        run.advance()
    run.waves.close()
    each_s = seen.seconds / steps
    figures["training_clips_per_s"] = round(batch / each_s, 2)
    figures["training_tflops"] = round(counted.get_total_flops() / each_s / 1e12, 2)
    figures |= {k: v for k, v in seen.figures(seconds).items() if k in ("busy", "peak_gib")}


def seen_for(steps: int) -> int:
    """Return the number of steps that were taken: eight are timed."""
    return steps


def labelled(clips: Sequence[Clip], number: int) -> list[Any]:
    """Return clips with labels by turns, as a dataset of Auto-ATT holds them."""
    from metrics.auto_att.dataset import LabelledClip
    from metrics.auto_att.model import LABELS

    few = [clips[place % len(clips)] for place in range(min(number, len(clips)))]
    return [
        LabelledClip(
            str(place), clip.path, clip.sha256, "system", "voice", str(place), "naturalness",
            "train", labels={LABELS[place % 3]: 3}, label=LABELS[place % 3],
            score=(1.0, 0.5, 0.0)[place % 3],
        )
        for place, clip in enumerate(few)
    ]  # fmt: skip


def loaded_audio(paths: Sequence[str], rate_hz: int) -> list[Any]:
    """Return files as waves, (samples,) each."""
    import torch

    from metrics.core import decoding

    return [torch.from_numpy(decoding.load_wave(path, rate_hz)) for path in paths]


# --- the order ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One step: its title, its share of the time, and what it does."""

    key: str
    title: str
    share: float
    run: Callable[[Setting], None]


STEPS = (
    Step("tests", "Tests marked gpu", 0.14, run_tests),
    Step("networks", "Each network metric, over waves in memory", 0.27, score_networks),
    Step("presets", "Whole presets, from files to scores", 0.35, score_presets),
    Step("srmr", "SRMR: seconds per second of audio", 0.04, score_srmr),
    Step("whisper", "Whisper large-v3-turbo, beam 5", 0.1, transcribe),
    Step("auto_att", "Auto-ATT", 0.1, train_listener),
)
TITLES = {"card": "The machine"} | {step.key: step.title for step in STEPS}


def prepare(setting: Setting) -> None:
    """Write all networks and all speech, while tests run: later steps only read them."""
    for name in NETWORKS:
        with contextlib.suppress(ImportError):
            setting.models.choice(name)
    for recogniser in ("large-v3-turbo", "large-v3"):
        setting.models.whisper(recogniser)
    for seconds in (SOME_S, HOUR_S):
        setting.speech(seconds)


def run_step(key: str, setting: Setting) -> None:
    """Run one step; replaces nothing that an earlier one wrote."""
    from metrics.core import weights

    weights.configure(setting.models.place, offline=True)
    if key == "prepare":
        prepare(setting)
        return
    (step,) = (step for step in STEPS if step.key == key)
    step.run(replace(setting))
