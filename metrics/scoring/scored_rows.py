"""Rows of audio in, rows with scores out: any number of them, without Django, files or a study."""

from __future__ import annotations

import json
import math
import os
import tempfile
import urllib.request
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import soundfile

from listening.common.remote_files import ADDRESS, copy_bounded, is_web, opened, problem_at
from metrics.core.decoding import AudioError, file_sha256
from metrics.core.metric import Metric, Score
from metrics.core.precision import Arithmetic
from metrics.scoring import presets
from metrics.scoring.arithmetic import plan_arithmetic
from metrics.scoring.inputs import REFERENCES, row_material
from metrics.scoring.presets import Choice
from metrics.scoring.runner import (
    Clip,
    Missing,
    clip_from_file,
    failure,
    resolve_device,
    score_work,
)

AUDIO = "audio"
SCORES, REASONS, WARNINGS, FAILED = "scores", "reasons", "warnings", "failed"
GIVEN = (SCORES, REASONS, WARNINGS, FAILED)  # columns of a scored row
ROWS_AT_ONCE = 512  # sorted by length and scored together
BYTES_AT_ONCE = 2 * 1024**3  # of audio that is no file yet
WEB_S = 60.0  # that a web server may be silent
MOST_CHANNELS = 8  # more are a batch of clips

Row = Mapping[str, Any]
MetricChoice = str | Mapping[str, Any] | Metric


def score(
    rows: Iterable[Row],
    metrics: str | Sequence[MetricChoice] = presets.DEFAULT_PRESET,
    *,
    device: str = "auto",
    precision: str = "float32",
    compile: bool = False,
    batch_seconds: float | None = None,
    threads: int = 1,
    ordered: bool = True,
) -> Iterator[dict[str, Any]]:
    """Score each row's audio; yield each row with what the metrics say.

    ``rows`` are dictionaries, read lazily and 512 at a time. ``audio`` holds a sound:

    - a path, or an address (https, s3, gs, az, hf);
    - the bytes of a sound file;
    - samples with their rate in Hz: ``(samples, 16000)``, or as `datasets` has them
      ``{"array": samples, "sampling_rate": 16000}``. Samples have the shape (samples,) or
      (channels, samples); floating point is within [-1, 1].

    ``reference`` (a recording of the voice) and ``reference_audio`` (of the same words) are sounds
    as well. ``text``, ``transcript``, ``language``, ``speaker``, ``turns`` and every other key
    have the meaning of the columns of a manifest (docs/score-a-folder.md).

    ``metrics``: the name of a preset; or keys, ``{"metric": key, "parameters": {…}}`` and metrics.
    ``device``: auto, cpu, cuda or cuda:1. ``precision`` (float32, tf32, bf16) and ``compile``
    hold where a metric allows them; a warning says where not. ``batch_seconds``: of audio scored
    together, by default what suits the device. ``threads``: of torch. ``ordered``: False yields
    rows as they are ready.

    Each row that is yielded has what it had, but for sounds that are no path or address, and:

    - ``scores``: by output, such as ``{"srmr_norm": 4.1}``, with the unit and range of the output
      (docs/metrics-reference.md); None where there is no value;
    - ``reasons``: by output, why there is none;
    - ``failed``: the outputs that another try may give, such as after a file was unreadable;
    - ``warnings``: by code, why values may not mean what they usually do.

    Sounds that are no file lie in the folder for temporary files while they are scored. Models stay
    loaded in the process for the next call. Raises ValueError for metrics, devices and precisions
    that there are not, and for a row that is none; what is wrong with a sound is a reason.
    """
    # What is wrong with the arguments is raised by the call, and not by the first row.
    if threads < 1:
        raise ValueError(f"threads is {threads}; give 1 or more")
    place = resolve_device(device)
    chosen, notes = plan_arithmetic(_metrics(metrics), Arithmetic(precision, compile), place)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return _scored(iter(rows), chosen, place, batch_seconds, threads, ordered)


def _metrics(wanted: str | Sequence[MetricChoice]) -> list[Metric]:
    """Metrics of their own for this call: what they compute in is set on them."""
    if isinstance(wanted, str):
        return presets.make_metrics(presets.preset(wanted).choices())
    choices: list[Choice] = []
    for each in wanted:
        if isinstance(each, Metric):
            choices.append(Choice.of(each))
        elif isinstance(each, str):
            choices.append(Choice(each))
        elif isinstance(each, Mapping) and "metric" in each:
            choices.append(Choice(each["metric"], each.get("parameters", {})))
        else:
            raise ValueError(f'{each!r} is no metric; give a key, or {{"metric": key}}')
    if not choices:
        raise ValueError("metrics is empty; name a preset or at least one metric")
    return presets.make_metrics(choices)


@dataclass
class _Result:
    """A row while its metrics are at work."""

    row: dict[str, Any]
    left: int  # metrics that have not answered
    scores: dict[str, float | None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    warnings: dict[str, str] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def add(self, metric: Metric, score: Score) -> None:
        for key, each in metric.by_output(score).items():
            self.scores[key] = each.value
            if each.value is None:
                self.reasons[key] = each.reason
            if each.failed:
                self.failed.append(key)
            self.warnings |= each.warnings
        self.left -= 1

    def whole(self, keys: Sequence[str]) -> dict[str, Any]:
        """The row with its scores, in the order of these outputs."""
        scores = {key: self.scores[key] for key in keys}
        reasons = {key: self.reasons[key] for key in keys if key in self.reasons}
        own = (scores, reasons, self.warnings, self.failed)
        return self.row | dict(zip(GIVEN, own, strict=True))


def _scored(
    rows: Iterator[Row],
    metrics: Sequence[Metric],
    device: str,
    batch_s: float | None,
    threads: int,
    ordered: bool,
) -> Iterator[dict[str, Any]]:
    keys = [output.key for metric in metrics for output in metric.outputs()]
    missing: Missing = {}
    while True:
        with tempfile.TemporaryDirectory(prefix="earnest-") as folder:
            results: list[_Result] = []
            work: list[tuple[Clip, Sequence[Metric]]] = []
            sounds = _Sounds(Path(folder))
            for row in islice(rows, ROWS_AT_ONCE):
                result = _Result(_without_sounds(row), len(metrics))
                results.append(result)
                try:
                    clip = replace(_clip(row, sounds), name=str(len(results) - 1))
                    work.append((clip, metrics))
                except Exception as error:  # each kind of address and array has its own
                    for metric in metrics:
                        result.add(metric, failure(error))
                if sounds.size >= BYTES_AT_ONCE:
                    break
            if not results:
                return
            if not ordered:
                yield from (each.whole(keys) for each in results if not each.left)
            for batch in score_work(
                work, device, batch_s=batch_s, threads=threads, missing=missing
            ):
                for scored in batch.clips:
                    result = results[int(scored.clip.name)]
                    result.add(batch.metric, sounds.named(scored.clip, scored.score))
                    if not ordered and not result.left:
                        yield result.whole(keys)
        if ordered:
            yield from (each.whole(keys) for each in results)


def _without_sounds(row: Row) -> dict[str, Any]:
    """What a row keeps: sounds that are a path or an address, and everything else."""
    if not isinstance(row, Mapping):
        raise ValueError(
            f'a row is {type(row).__name__}, not a dictionary like {{"audio": "a.wav"}}'
        )
    if taken := [name for name in GIVEN if name in row]:
        raise ValueError(f"rows have {', '.join(taken)} already; rename these keys")
    sounds = (AUDIO, *REFERENCES)
    return {k: v for k, v in row.items() if k not in sounds or isinstance(v, str | os.PathLike)}


def _clip(row: Row, sounds: _Sounds) -> Clip:
    """A row as the runner takes it; raises what is wrong with its sounds."""
    if (audio := row.get(AUDIO)) is None:
        raise AudioError(f"the row has no {AUDIO}")
    references: dict[str, Any] = {}
    for name in REFERENCES:
        if not _is_empty(row.get(name)):
            path = sounds.path(row[name])
            references |= {f"{name}_path": path, f"{name}_sha256": file_sha256(path)}
    others = {k: _plain(v) for k, v in row.items() if k not in (AUDIO, *REFERENCES)}
    words = {str(k): v for k, v in others.items() if not _is_empty(v)}
    return clip_from_file(sounds.path(audio), row_material(words, references))


def _is_empty(value: Any) -> bool:
    """Whether a cell holds nothing, as pandas has it, too."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (isinstance(value, str) and not value)


def _plain(value: Any) -> Any:
    """A cell as JSON has it; None for what no metric can need, such as an array."""
    if getattr(value, "ndim", None) == 0:  # a number of NumPy or torch
        value = value.item()
    if isinstance(value, bytes | bytearray | memoryview) or hasattr(value, "__array__"):
        return None
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return str(value)  # a date, a Decimal
    return value


class _Sounds:
    """Files of sounds, those that are none yet in a folder for a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.size = 0  # bytes in the folder
        self._count = 0
        self._brought: dict[str, str] = {}  # by address: many rows name the same reference

    def path(self, sound: Any) -> str:
        """The file of a sound; ValueError where it is none."""
        if isinstance(sound, Mapping):  # as `datasets` has it, decoded or not
            if sound.get("array") is not None:
                sound = (sound["array"], sound.get("sampling_rate"))
            else:
                sound = sound["bytes"] if sound.get("bytes") is not None else sound.get("path")
        if isinstance(sound, str) and ADDRESS.match(sound):
            if sound not in self._brought:
                self._brought[sound] = self._new(lambda file: _bring(sound, file))
            return self._brought[sound]
        if isinstance(sound, str | os.PathLike):
            return os.fspath(sound)
        if isinstance(sound, bytes | bytearray | memoryview):
            return self._new(lambda file: file.write_bytes(sound))
        if isinstance(sound, tuple) and len(sound) == 2:
            return self._new(lambda file: _write(*sound, file))
        raise AudioError(
            f"a sound is {type(sound).__name__}; give a path, an address, bytes, or (samples, rate)"
        )

    def named(self, clip: Clip, score: Score) -> Score:
        """A score whose reason does not name a file that is soon gone."""
        if self.folder not in Path(clip.path).parents:
            return score
        return replace(score, reason=score.reason.replace(clip.path, AUDIO))

    def _new(self, write: Callable[[Path], object]) -> str:
        self._count += 1
        path = self.folder / str(self._count)
        write(path)
        self.size += path.stat().st_size
        return str(path)


def _bring(address: str, target: Path) -> None:
    """The file at an address."""
    try:
        web = is_web(address)
        source = urllib.request.urlopen(address, timeout=WEB_S) if web else opened(address)
        with closing(source), target.open("wb") as file:
            copy_bounded(source, file)
    except Exception as error:  # each file system has its own
        raise AudioError(problem_at(address, error)) from None


def _write(samples: Any, rate_hz: Any, target: Path) -> None:
    """Samples as a WAV file that holds them as they are."""
    import numpy as np

    if np.ndim(rate_hz) and not np.ndim(samples):
        raise AudioError("the samples come before their rate: give (samples, rate)")
    if hasattr(samples, "detach"):  # torch: bfloat16 is unknown to NumPy
        samples = samples.detach().cpu()
        samples = (
            samples.float()
            if samples.element_size() < 4 and samples.is_floating_point()
            else samples
        )
    wave = np.asarray(samples)
    rate = float(rate_hz) if isinstance(rate_hz, int | float) else math.nan
    if isinstance(rate_hz, bool) or not rate.is_integer() or rate <= 0:
        raise AudioError(f"samples need their rate in Hz, and it is {rate_hz!r}")
    if wave.ndim not in (1, 2):
        raise AudioError(
            f"samples have the shape {wave.shape}; it must be (samples,) or (channels, samples)"
        )
    if not wave.size:
        raise AudioError("there are no samples")
    if wave.ndim == 2 and len(wave) > MOST_CHANNELS:
        raise AudioError(
            f"samples have the shape {wave.shape}, which is (channels, samples); transpose "
            "(samples, channels), and give each clip of a batch a row of its own"
        )
    if wave.dtype.kind == "f":
        kind = "DOUBLE" if wave.dtype.itemsize > 4 else "FLOAT"
        wave = wave.astype(np.float64 if kind == "DOUBLE" else np.float32)
    elif wave.dtype in (np.int16, np.int32):
        kind = "PCM_16" if wave.dtype == np.int16 else "PCM_32"
    else:
        raise AudioError(f"samples are {wave.dtype}; give float32, float64, int16 or int32")
    soundfile.write(target, wave.T, int(rate), kind, format="WAV")
