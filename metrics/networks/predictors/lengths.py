"""Pieces of waves in batches of bounded size, and chunks of a wave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metrics.core.metric import Score, buckets, undefined
from metrics.core.silence import silence

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Piece:
    """Samples [start, end) of the wave at `index` of a list."""

    index: int
    start: int
    end: int

    @property
    def samples(self) -> int:
        """How long it is."""
        return self.end - self.start


def unfit(wave: torch.Tensor, shortest_s: float, rate_hz: int = 16_000) -> Score | None:
    """Why a wave, (samples,), has no value: too short, or silent; None when it has one."""
    short = too_short(len(wave), shortest_s, rate_hz)
    why = "" if short else silence(wave, rate_hz)
    return undefined(why) if why else short


def too_short(samples: int, shortest_s: float, rate_hz: int = 16_000) -> Score | None:
    """The score of a wave with fewer samples than `shortest_s` seconds hold; None of others."""
    if samples >= shortest_s * rate_hz:
        return None
    return undefined(f"too short: {samples / rate_hz:.2f} s, {shortest_s} s are needed")


def whole(waves: Sequence[torch.Tensor]) -> list[Piece]:
    """Each wave as one piece."""
    return [Piece(index, 0, len(wave)) for index, wave in enumerate(waves)]


def chunks(waves: Sequence[torch.Tensor], size: int, shortest: int) -> list[Piece]:
    """Waves cut from the start into pieces of `size` samples, the rest at the end as one more.

    A rest under `shortest` samples is dropped, unless the wave has nothing else. `size` 0 cuts
    nothing.
    """
    if not size:
        return whole(waves)
    return [
        piece for index, wave in enumerate(waves) for piece in cut(index, len(wave), size, shortest)
    ]


def cut(index: int, samples: int, size: int, shortest: int) -> list[Piece]:
    """The chunks of one wave of `samples` samples."""
    pieces = [Piece(index, start, min(start + size, samples)) for start in range(0, samples, size)]
    if len(pieces) > 1 and pieces[-1].samples < shortest:
        pieces.pop()
    return pieces


def batches(
    pieces: Sequence[Piece], most_samples: int, similar: float = 1.0
) -> Iterator[list[Piece]]:
    """Pieces of similar length together, at most `most_samples` at once (or one piece)."""
    ordered = sorted(pieces, key=lambda piece: (piece.samples, piece.index, piece.start))
    for bucket in buckets([piece.samples for piece in ordered], most_samples, similar):
        yield [ordered[place] for place in bucket]


def cut_out(waves: Sequence[torch.Tensor], batch: Sequence[Piece]) -> list[torch.Tensor]:
    """The samples of each piece of a batch, float32."""
    return [waves[p.index][p.start : p.end].float() for p in batch]


def stacked(waves: Sequence[torch.Tensor], batch: Sequence[Piece]) -> torch.Tensor:
    """The samples of a batch of equally long pieces, float32, (pieces, samples)."""
    import torch

    return torch.stack(cut_out(waves, batch))
