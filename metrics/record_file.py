"""A file of records that is added to by one process at a time, and resumed after any end."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from metrics.clips import Clip, Work
from metrics.metric import Metric
from metrics.records import Inputs, Key, key_of, keys_of, line_id, line_of, renamed


class RecordsError(ValueError):
    """A file of records that cannot be read or written; the message names it and the remedy."""


class RecordFile:
    """What a file of records holds is known, and what is new is added to it.

    A last line that was cut by a crash is dropped. Each batch is on the disk when `add` returns,
    or nothing of it. The file is locked until `close`, or until the process ends, however it does.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.done: dict[Key, dict[str, Any]] = {}  # the newest record of each key
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
                    self._known(json.loads(line))
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    raise RecordsError(
                        f"{self.path}, line {number}: no record of scores ({error}); "
                        "write to another file"
                    ) from error
                good += len(line)
        if good < os.fstat(self._file).st_size:
            os.ftruncate(self._file, good)

    def _known(self, record: dict[str, Any]) -> None:
        if record["metric"] is None:  # a file that could not be read: told again when it changes
            self._lines.add((record["file"], record["reason"]))
            return
        self.done[key_of(record)] = record
        self._lines.add(line_id(record))

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
        return key in self.done and not self.done[key]["failed"]

    def name_the_others(self, inputs: Inputs, metrics: Iterable[Metric]) -> int:
        """Give inputs whose audio was scored under another name lines of their own; how many."""
        new = [
            record
            for metric in metrics
            for named, clip in inputs.pairs
            for key in keys_of(metric, clip)
            if self._has(key)
            and line_id(record := renamed(self.done[key], named)) not in self._lines
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
        try:
            self._write("".join(map(line_of, new)).encode())
            os.fsync(self._file)
        except OSError as error:
            with contextlib.suppress(OSError):  # the next run drops a cut line
                os.ftruncate(self._file, before)
            raise RecordsError(
                f"{self.path}: cannot be written ({error.strerror}); its {len(self._lines)} lines "
                "are whole. Make room and run the same again: it goes on from there"
            ) from error
        for record in new:
            self._known(record)

    def _write(self, text: bytes) -> None:
        rest = memoryview(text)
        while rest:
            rest = rest[os.write(self._file, rest) :]
