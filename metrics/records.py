"""Scores as lines of JSON, one per clip and output; a file of them is resumed after any crash."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from metrics.inputs import InputClip
from metrics.metric import Metric, Score, canonical_json
from metrics.provenance import provenance
from metrics.runner import Clip, ScoredBatch, Work

Key = tuple[str, str, str, str, str]  # sha256, output, version, parameters as text, given


class RecordsError(ValueError):
    """A file of records that cannot be read; the message names file, line and remedy."""


def records(
    batch: ScoredBatch, device: str, known: Mapping[str, InputClip]
) -> list[dict[str, Any]]:
    """A batch's scores with all that is needed to make them again: one record per output.

    ``known``: what was said of each file, by its path.
    """
    metric, made = batch.metric, provenance(batch.metric, device)
    batch_records = []
    for scored in batch.clips:
        clip = scored.clip
        input_clip = known.get(clip.path)
        outputs = {output.key: output for output in metric.outputs()}
        names = (
            {"stimulus": input_clip.stimulus, "condition": input_clip.condition}
            if input_clip
            else {}
        )
        for key, score in metric.by_output(scored.score).items():
            batch_records.append(
                {
                    "file": clip.path,
                    "sha256": clip.sha256,
                    **names,
                    "metric": key,
                    "version": metric.version,
                    "parameters": metric.parameters_dict(),
                    "given": clip.material.fingerprint(metric.needs),
                    "value": score.value,
                    "reason": score.reason,
                    "higher_is_better": outputs[key].higher_is_better,
                    "low": outputs[key].low,
                    "high": outputs[key].high,
                    "failed": score.failed,
                    "details": dict(score.details),
                    "provenance": made,
                }
            )
    return batch_records


def line_of(record: Mapping[str, Any]) -> str:
    """A record as one line of JSON."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


class RecordFile:
    """A file of records that is added to; what it holds already is known.

    A last line that was cut by a crash is dropped. Each batch is on the disk when `add` returns.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.done: dict[Key, dict[str, Any]] = {}  # the newest record of each key
        if self.path.exists():
            self._read()

    def _read(self) -> None:
        good = 0
        with self.path.open("rb") as source:
            for number, line in enumerate(source, 1):
                try:
                    if not line.endswith(b"\n"):
                        break  # cut: whoever wrote it was killed
                    record = json.loads(line)
                    self.done[key_of(record)] = record
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    raise RecordsError(
                        f"{self.path}, line {number}: no record of scores ({error}); "
                        "write to another file"
                    ) from error
                good += len(line)
        if good < self.path.stat().st_size:
            os.truncate(self.path, good)

    def missing(
        self, clips: Iterable[Clip], metrics: Iterable[Metric]
    ) -> tuple[list[Work], Counter[str]]:
        """Each clip with the metrics of which it has not every output, or a failed one.

        And how many clips each metric (by its key) has done. Equal clips are scored once.
        """
        kinds, stored = list(metrics), Counter[str]()
        seen: set[Key] = set()
        work: list[Work] = []
        for clip in clips:
            wanted = []
            for metric in kinds:
                keys = keys_of(metric, clip)
                if keys[0] in seen:
                    continue
                seen.add(keys[0])
                if all(key in self.done and not self.done[key]["failed"] for key in keys):
                    stored[metric.key] += 1
                else:
                    wanted.append(metric)
            work.append((clip, tuple(wanted)))
        return work, stored

    def add(self, new_records: Iterable[dict[str, Any]]) -> None:
        """Append records, and wait until the disk has them."""
        with self.path.open("a", encoding="utf-8") as file:
            for record in new_records:
                file.write(line_of(record))
                self.done[key_of(record)] = record
            file.flush()
            os.fsync(file.fileno())


def key_of(record: Mapping[str, Any]) -> Key:
    """What names a record's number."""
    parameters = canonical_json(record["parameters"])
    return (
        record["sha256"],
        record["metric"],
        record["version"],
        parameters,
        record.get("given", ""),
    )


def keys_of(metric: Metric, clip: Clip) -> list[Key]:
    """What names the numbers of a metric about a clip, its first output first."""
    parameters = canonical_json(metric.parameters_dict())
    given = clip.material.fingerprint(metric.needs)
    return [(clip.sha256, out.key, metric.version, parameters, given) for out in metric.outputs()]


def score_of(record: Mapping[str, Any]) -> Score:
    """The score that a record holds."""
    details = record.get("details") or {}
    return Score(record["value"], record["reason"], details, record["failed"])
