"""Tokens of a judge's answers, and what they cost at given prices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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

    Audio costs as much as text when its price is not given. Raises ValueError for anything else.
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
    """Money per month from a text; None from an empty one. ValueError where it cannot be kept."""
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


def bill(usages: Iterable[Usage], prices: Prices | None) -> dict[str, float | int | None]:
    """Sums for a score's details: tokens in, audio among them, tokens out, cost (None: unknown)."""
    total = sum(usages, Usage())
    return {
        "tokens_in": total.tokens_in,
        "tokens_audio_in": total.audio_in,
        "tokens_out": total.tokens_out,
        "cost": None if prices is None else round(prices.cost(total), 9),
    }
