"""Tokens of a judge's answers, what they cost at given prices, and the ledger of a month."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Usage:
    """Tokens of one answer as the server counted them; audio_in is a part of tokens_in."""

    tokens_in: int = 0
    tokens_out: int = 0
    audio_in: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.audio_in + other.audio_in,
        )


@dataclass(frozen=True)
class Prices:
    """Money per million tokens, in one currency that the reader knows."""

    tokens_in: float
    tokens_out: float
    audio_in: float

    def cost(self, usage: Usage) -> float:
        """Money for these tokens: audio at its own price, all other input at the text's."""
        text_in = usage.tokens_in - usage.audio_in
        return (
            text_in * self.tokens_in
            + usage.audio_in * self.audio_in
            + usage.tokens_out * self.tokens_out
        ) / 1e6


def parse_prices(text: str) -> Prices | None:
    """Prices from "IN,OUT" or "IN,OUT,AUDIO_IN" per million tokens; None from an empty text.

    Audio costs as much as text without a price of its own. Raises ValueError for anything else.
    """
    if not text.strip():
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 3) or not all(0 <= n < 1e9 for n in numbers):
        raise ValueError(
            f"prices {text!r} are not understood; give money per million tokens as IN,OUT or "
            "IN,OUT,AUDIO_IN, such as 2.5,10,40"
        )
    return Prices(numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else numbers[0])


def parse_budget(text: str, prices: Prices | None) -> float | None:
    """Return money per month from a text, None from an empty one; ValueError where unusable."""
    if not text.strip():
        return None
    try:
        budget = float(text)
    except ValueError:
        budget = -1.0
    if not 0 < budget < 1e9:
        raise ValueError(f"budget {text!r} is not understood; give money per month, such as 20")
    if prices is None:
        raise ValueError("a budget needs prices: set EARNEST_JUDGE_PRICES, too")
    return budget


def usage_of(reported: Any) -> Usage:
    """The usage of a chat completion; zeros where the server did not count."""
    audio = getattr(getattr(reported, "prompt_tokens_details", None), "audio_tokens", None)
    tokens_in = getattr(reported, "prompt_tokens", None) or 0
    return Usage(
        tokens_in,
        getattr(reported, "completion_tokens", None) or 0,
        min(audio or 0, tokens_in),
    )


def sum_costs(usages: Iterable[Usage], prices: Prices | None) -> dict[str, float | int | None]:
    """Sums for a score's details: tokens in, audio among them, tokens out, cost (None: unknown)."""
    total = sum(usages, Usage())
    return {
        "tokens_in": total.tokens_in,
        "tokens_audio_in": total.audio_in,
        "tokens_out": total.tokens_out,
        "cost": None if prices is None else round(prices.cost(total), 9),
    }


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
