"""Waves cut into chunks, batches of them, and the mean over chunks weighted by their lengths."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.core.devices import kind
from metrics.core.lazy_torch import torch
from metrics.core.metric import (
    WIDE_BAND_HZ,
    Accepts,
    Metric,
    ParameterError,
    Parameters,
    Score,
    buckets,
    undefined,
)
from metrics.core.silence import silence
from metrics.networks.predictors.predictor import exact_inference


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


def whole_pieces(waves: Sequence[torch.Tensor]) -> list[Piece]:
    """Each wave as one piece."""
    return [Piece(index, 0, len(wave)) for index, wave in enumerate(waves)]


def chunks(waves: Sequence[torch.Tensor], size: int, shortest: int) -> list[Piece]:
    """Waves cut from the start into pieces of `size` samples, the rest at the end as one more.

    A rest under `shortest` samples is dropped, unless the wave has nothing else. `size` 0 cuts
    nothing.
    """
    if not size:
        return whole_pieces(waves)
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


Values = NDArray[np.float64]
RATE_HZ = 16_000
SHORTEST_S = 0.5  # no shorter clip or rest is given to a network


@dataclass(frozen=True)
class ChunkRule(Parameters):
    """Clips are cut into chunks of `chunk_s` (0: not at all) and a rest of `rest_s` or more."""

    chunk_s: float = 10.0
    rest_s: float = 1.0

    def __post_init__(self) -> None:
        for name in ("chunk_s", "rest_s"):  # 10 and 10.0 are stored alike
            object.__setattr__(self, name, float(getattr(self, name)))
        if self.chunk_s and not self.chunk_s >= 1:
            raise ParameterError(f"chunk_s is {self.chunk_s}; it must be 0 (whole clip), 1 or more")
        if not SHORTEST_S <= self.rest_s <= 10:
            raise ParameterError(f"rest_s is {self.rest_s}; it must be in {SHORTEST_S}..10")


@dataclass(frozen=True)
class ChunkAverage:
    """What a network says of one clip: the mean over the chunks used, or why there is none."""

    values: Values | None
    undefined: Score | None
    details: dict[str, Any]


def average_chunks(
    waves: Sequence[torch.Tensor],
    rule: ChunkRule,
    most_s: float,
    predict: Callable[[Sequence[torch.Tensor]], torch.Tensor],
    rate_hz: int = RATE_HZ,
    similar: float = 1.0,
) -> list[ChunkAverage]:
    """The mean of each wave, (samples,) at the rate, over its chunks, weighted by their lengths.

    `predict` gets chunks, (samples,) each, at most `most_s` of audio or one chunk, and returns
    (chunks, values). They are equally long, or up to ``similar`` times longer than the shortest.
    Chunks of digital silence are left out.
    """
    size, rest = round(rule.chunk_s * rate_hz), round(rule.rest_s * rate_hz)
    pieces = chunks(waves, size, rest)
    usable = [piece for piece in pieces if is_usable(waves, piece, rate_hz)]
    by_piece: dict[Piece, Values] = {}
    for batch in batches(usable, round(most_s * rate_hz), similar):
        with exact_inference():
            values = predict(cut_out(waves, batch)).double().cpu().numpy()
        by_piece |= zip(batch, values, strict=True)
    return [
        mean(len(wave), [piece for piece in pieces if piece.index == index], by_piece, rate_hz)
        for index, wave in enumerate(waves)
    ]


class ChunkedMetric(Metric):
    """A metric whose network hears chunks: its values are means over a clip's chunks."""

    accepts = Accepts(WIDE_BAND_HZ, SHORTEST_S)
    at_once_s: Mapping[str, float] = {"cpu": 60.0, "cuda": 60.0}  # seconds of audio in a batch
    similar: Mapping[str, float] = {"cpu": 1.0, "cuda": 1.0}  # as `average_chunks` takes it
    parameters: ChunkRule

    @abstractmethod
    def predict(self, batch: Sequence[torch.Tensor]) -> torch.Tensor:
        """The values of each output in order, (chunks, values), of chunks, (samples,) each."""

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """One score per wave, (samples,) at the rate; chunks of like length go through together."""
        device = kind(self.device)
        averages = average_chunks(
            waves,
            self.parameters,
            self.at_once_s[device],
            self.predict,
            self.sample_rate_hz,
            self.similar[device],
        )
        return [self._to_score(each) for each in averages]

    def _to_score(self, each: ChunkAverage) -> Score:
        if each.values is None:
            return each.undefined or Score(None, "silent")
        first, *others = map(float, each.values)
        also = dict(zip((output.key for output in self.more_outputs), others, strict=False))
        return Score(first, details=each.details, also=also)


def is_usable(waves: Sequence[torch.Tensor], piece: Piece, rate_hz: int = RATE_HZ) -> bool:
    """Whether a piece is long enough and not silent."""
    if piece.samples < SHORTEST_S * rate_hz:
        return False
    return bool(waves[piece.index][piece.start : piece.end].any())


def mean(
    samples: int, pieces: Sequence[Piece], by_piece: dict[Piece, Values], rate_hz: int = RATE_HZ
) -> ChunkAverage:
    """One clip's mean over those of its pieces that have values."""
    used = [piece for piece in pieces if piece in by_piece]
    details = {"chunks_used": len(used), "chunks_total": len(pieces)}
    if short := too_short(samples, SHORTEST_S, rate_hz):
        return ChunkAverage(None, short, {})
    if not used:
        return ChunkAverage(None, undefined("silent", **details), details)
    values = np.stack([by_piece[piece] for piece in used])
    weights = [piece.samples for piece in used]
    return ChunkAverage(np.average(values, axis=0, weights=weights), None, details)
