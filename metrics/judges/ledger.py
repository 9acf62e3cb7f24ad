"""What judges have cost this month, so that a limit can stop them; one file for all processes."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from metrics.judges.cost import Prices, Usage


class Ledger:
    """FOLDER/spent-YYYY-MM.jsonl: a line per answer that was paid for, unusable ones too.

    Months are those of UTC. Processes of one machine share the file; workers on other machines
    have a folder, and thus a limit, of their own.
    """

    def __init__(
        self,
        folder: Path,
        prices: Prices | None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.folder, self.prices, self.now = folder, prices, now
        self._read: dict[Path, tuple[int, float]] = {}  # how far each file was read, and its sum
        self._lock = threading.Lock()

    def path(self) -> Path:
        """This month's file."""
        return self.folder / f"spent-{self.now():%Y-%m}.jsonl"

    def spent(self) -> float:
        """Money of this month, by all processes; a line that is half written counts later."""
        path = self.path()
        with self._lock:
            start, total = self._read.get(path, (0, 0.0))
            try:
                with open(path, "rb") as file:
                    file.seek(start)
                    new = file.read()
            except FileNotFoundError:
                return 0.0
            whole = new[: new.rfind(b"\n") + 1]
            total += sum(float(json.loads(line)["cost"]) for line in whole.splitlines())
            self._read[path] = start + len(whole), total
            return total

    def add(self, model: str, usage: Usage) -> None:
        """Note an answer; without prices nothing is known to note."""
        if self.prices is None:
            return
        line = {
            "at": f"{self.now():%Y-%m-%dT%H:%M:%SZ}",
            "model": model,
            "tokens_in": usage.tokens_in,
            "tokens_audio_in": usage.audio_in,
            "tokens_out": usage.tokens_out,
            "cost": self.prices.cost(usage),
        }
        path = self.path()
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(file, json.dumps(line).encode() + b"\n")  # at once: no line between others
        finally:
            os.close(file)
