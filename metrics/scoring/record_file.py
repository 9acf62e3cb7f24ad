"""A file of records that is added to by one process at a time, and resumed after any end."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from metrics.core.decoding import escape_path
from metrics.core.metric import Metric
from metrics.scoring.records import Inputs, Key, keys_of, line_id, line_of, renamed
from metrics.scoring.runner import Clip, Work

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
                        break  # cut: whoever wrote it was killed
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
        about, *names = line_id(record)
        key: Any = tuple(map(sys.intern, about))  # the same few words in very many lines
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
                keys = keys_of(metric, clip)
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
            for key in keys_of(metric, clip)
            if self._has(key)
            and (key, escape_path(named.path), named.stimulus) not in self._lines
            and (record := renamed(self.record(key), named))
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
        lines = [line_of(record).encode() for record in new]
        try:
            self._write(b"".join(lines))
            os.fsync(self._file)
        except OSError as error:
            with contextlib.suppress(OSError):  # the next run drops a cut line
                os.ftruncate(self._file, before)
            raise RecordsError(
                f"{self.path}: cannot be written ({error.strerror}); its {len(self._lines)} lines "
                "are whole. Make room and run the same again: it goes on from there"
            ) from error
        for record, line in zip(new, lines, strict=True):
            self._known(record, before)
            before += len(line)

    def _write(self, text: bytes) -> None:
        rest = memoryview(text)
        while rest:
            rest = rest[os.write(self._file, rest) :]
