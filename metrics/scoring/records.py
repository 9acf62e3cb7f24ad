"""Scores as lines of JSON, one per input and output: the same of a file, of equal files, of twins.

A file that cannot be read has one line, whose metric is null.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from metrics.core.decoding import escape_path
from metrics.core.metric import Metric, Score, canonical_parameters, title_of
from metrics.scoring.inputs import InputClip
from metrics.scoring.provenance import provenance
from metrics.scoring.runner import Clip, ScoredBatch, ScoredClip, Work

OF_ATTRIBUTES = (
    *("group", "architecture", "rtf", "role", "dimension", "challenge", "speakers", "sentences"),
)
FACTS = ("run", "language", *OF_ATTRIBUTES)  # of a clip, in its lines where the manifest has them
Key = tuple[str, str, str, str, str]  # sha256, output, version, parameters as text, given
Line = tuple[Key, str, str]  # with file and stimulus: what one line is about


class Inputs:
    """The inputs of a run, by audio: equal audio may have several names."""

    def __init__(self, pairs: Iterable[tuple[InputClip, Clip]] = ()) -> None:
        self.pairs = list(pairs)
        self._by_audio: dict[str, list[tuple[InputClip, Clip]]] = {}
        for pair in self.pairs:
            self._by_audio.setdefault(pair[1].sha256, []).append(pair)

    @property
    def clips(self) -> list[Clip]:
        return [clip for _, clip in self.pairs]

    def matching(
        self, clip: Clip, needs: Iterable[str] = ()
    ) -> list[tuple[InputClip | None, Clip]]:
        """The inputs with this audio and, as far as ``needs`` go, this material; else the clip."""
        fingerprint = clip.material.fingerprint(needs)
        twins = self._by_audio.get(clip.sha256, [])
        same = [pair for pair in twins if pair[1].material.fingerprint(needs) == fingerprint]
        return [*same] or [(None, clip)]


def batch_records(
    batch: ScoredBatch, device: str, inputs: Inputs | None = None
) -> list[dict[str, Any]]:
    """A batch's scores with all that is needed to make them again: one per input and output.

    Clips that could not be read have none here: see `unread_record`.
    """
    score_provenance = provenance(batch.metric, device)
    titles = {output.key: title_of(batch.metric, output) for output in batch.metric.outputs()}
    return [
        record
        for scored in batch.clips
        if not scored.unread
        for named, clip in (inputs or Inputs()).matching(scored.clip, batch.metric.needs)
        for record in _of_clip(batch.metric, scored, named, clip, (score_provenance, titles))
    ]


def _of_clip(
    metric: Metric,
    scored: ScoredClip,
    named: InputClip | None,
    clip: Clip,
    batch_facts: tuple[Mapping[str, Any], Mapping[str, str]],  # provenance; titles by output
) -> Iterable[dict[str, Any]]:
    score_provenance, titles = batch_facts
    outputs = {output.key: output for output in metric.outputs()}
    for key, score in metric.by_output(scored.score).items():
        yield {
            **_names(clip.path, clip.sha256, named),
            "metric": key,
            "version": metric.version,
            "parameters": metric.parameters_dict(),
            "given": clip.material.fingerprint(metric.needs),
            "value": score.value,
            "reason": score.reason,
            "warnings": dict(score.warnings),
            "higher_is_better": outputs[key].higher_is_better,
            "low": outputs[key].low,
            "high": outputs[key].high,
            "title": titles[key],
            "failed": score.failed,
            "details": dict(score.details),
            "audio": scored.facts.plain() if scored.facts else None,
            "provenance": score_provenance,
        }


def _names(path: str, sha256: str, named: InputClip | None) -> dict[str, Any]:
    names = {"stimulus": named.stimulus, "condition": named.condition} if named else {}
    return {
        "file": escape_path(path),
        "sha256": sha256,
        **names,
        **(_facts(named) if named else {}),
    }


def _facts(named: InputClip) -> dict[str, str]:
    """What analyses ask of a clip, as far as its manifest says so."""
    facts = {"run": named.run, "language": named.material.language}
    facts |= {name: named.material.attribute(name) for name in OF_ATTRIBUTES}
    return {name: value for name, value in facts.items() if value}


def unread_record(named: InputClip, reason: str, sha256: str = "") -> dict[str, Any]:
    """The one line of a file that no metric can be asked about, and why."""
    names = _names(named.path, sha256, named)
    outcome: dict[str, Any] = {
        "metric": None,
        "value": None,
        "reason": reason,
        "warnings": {},
        "failed": True,
    }
    return {**names, **outcome}


def rename_record(record: Mapping[str, Any], named: InputClip) -> dict[str, Any]:
    """A stored record as that of another input with the same audio and material."""
    reason = record["reason"].replace(record["file"], escape_path(named.path))
    bare = {name: value for name, value in record.items() if name not in FACTS}
    return {**bare, **_names(named.path, record["sha256"], named), "reason": reason}


def record_line(record: Mapping[str, Any]) -> str:
    """A record as one line of JSON."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def record_key(record: Mapping[str, Any]) -> Key:
    """What names a record's number."""
    parameters = canonical_parameters(record["parameters"])
    return (
        record["sha256"],
        record["metric"],
        record["version"],
        parameters,
        record.get("given", ""),
    )


def metric_keys(metric: Metric, clip: Clip) -> list[Key]:
    """What names the numbers of a metric about a clip, its first output first."""
    parameters = canonical_parameters(metric.parameters_dict())
    fingerprint = clip.material.fingerprint(metric.needs)
    return [
        (clip.sha256, out.key, metric.version, parameters, fingerprint) for out in metric.outputs()
    ]


def line_id(record: Mapping[str, Any]) -> Line:
    """What one line is about: a number of a file under a name."""
    return record_key(record), record["file"], record.get("stimulus", "")


def record_score(record: Mapping[str, Any]) -> Score:
    """The score that a record holds."""
    details, warnings = record.get("details") or {}, record.get("warnings") or {}
    failed = record["failed"]
    return Score(record["value"], record["reason"], details, failed, warnings=warnings)


READ_AT_ONCE = 8_192  # bytes: most lines are shorter


class RecordsError(ValueError):
    """A file of records that cannot be read or written; the message names it and the remedy."""


class RecordFile:
    """What a file of records holds is known, and what is new is added to it.

    A last line that was cut by a crash is dropped. Each batch is on the disk when `add` returns,
    or nothing of it. The file is locked until `close`, or until the process ends, however it does.
    In memory is only where each record stands: files of a million are usual.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.done: dict[Key, int] = {}  # where the newest line of each key begins
        self._failed: set[Key] = set()
        self._lines: set[Any] = set()  # what has a line
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise RecordsError(f"{self.path}: cannot be written ({error.strerror})") from error
        try:
            self._lock()
            self._read()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let another process write there."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RecordsError(
                f"{self.path}: another process is writing there; wait until it is done, or write "
                "to another file"
            ) from None
        except OSError:
            pass  # a file system without locks

    def _read(self) -> None:
        good = 0
        with self.path.open("rb") as source:
            for number, line in enumerate(source, 1):
                try:
                    if not line.endswith(b"\n"):
                        break  # cut: its writer was killed
                    self._known(json.loads(line), good)
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    raise RecordsError(
                        f"{self.path}, line {number}: no record of scores ({error}); "
                        "write to another file"
                    ) from error
                good += len(line)
        if good < os.fstat(self._file).st_size:
            os.ftruncate(self._file, good)

    def _known(self, record: dict[str, Any], start: int) -> None:
        if record["metric"] is None:  # a file that could not be read: told again when it changes
            self._lines.add((record["file"], record["reason"]))
            return
        key_parts, *names = line_id(record)
        key: Any = tuple(map(sys.intern, key_parts))  # the same few words in very many lines
        self.done[key] = start
        self._lines.add((key, *map(sys.intern, names)))
        if record["failed"]:
            self._failed.add(key)
        else:
            self._failed.discard(key)

    def record(self, key: Key) -> dict[str, Any]:
        """The newest record of a key that is known, read again."""
        line, start = b"", self.done[key]
        while not line.endswith(b"\n"):
            more = os.pread(self._file, READ_AT_ONCE, start + len(line))
            whole, end, _ = more.partition(b"\n")
            line += whole + end
            if not more:
                raise RecordsError(f"{self.path}: was changed meanwhile; run the same again")
        record: dict[str, Any] = json.loads(line)
        return record

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
                keys = metric_keys(metric, clip)
                if keys[0] in seen:
                    continue
                seen.add(keys[0])
                if all(self._has(key) for key in keys):
                    stored[metric.key] += 1
                else:
                    wanted.append(metric)
            work.append((clip, tuple(wanted)))
        return work, stored

    def _has(self, key: Key) -> bool:
        return key in self.done and key not in self._failed

    def name_the_others(self, inputs: Inputs, metrics: Iterable[Metric]) -> int:
        """Give inputs whose audio was scored under another name lines of their own; how many."""
        new = [
            record
            for metric in metrics
            for named, clip in inputs.pairs
            for key in metric_keys(metric, clip)
            if self._has(key)
            and (key, escape_path(named.path), named.stimulus) not in self._lines
            and (record := rename_record(self.record(key), named))
        ]
        self.add(new)
        return len(new)

    def add(self, new_records: Iterable[dict[str, Any]]) -> None:
        """Append records, and wait until the disk has them.

        RecordsError when it cannot take them: none of them is in the file then.
        """
        new = [r for r in new_records if r["metric"] or (r["file"], r["reason"]) not in self._lines]
        if not new:
            return
        before = os.fstat(self._file).st_size
        lines = [record_line(record).encode() for record in new]
        try:
            self._write(b"".join(lines))
            os.fsync(self._file)
        except OSError as error:
            with contextlib.suppress(OSError):  # the next run drops a cut line
                os.ftruncate(self._file, before)
            raise RecordsError(
                f"{self.path}: cannot be written ({error.strerror}); its {len(self._lines)} lines "
                "are whole. Free some space and run the same command again: it continues from there"
            ) from error
        for record, line in zip(new, lines, strict=True):
            self._known(record, before)
            before += len(line)

    def _write(self, text: bytes) -> None:
        rest = memoryview(text)
        while rest:
            rest = rest[os.write(self._file, rest) :]
