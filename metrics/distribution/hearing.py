"""Clips of a set, heard by every feature: each is decoded once, and nothing of it is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from metrics.core import decoding, shared_work
from metrics.distribution.feature import Feature
from metrics.distribution.score import GROUPS
from metrics.distribution.speaking_rate import CLIPS
from metrics.distribution.spread import Spread, pooled, spread_of

if TYPE_CHECKING:
    import torch

Say = Callable[[str], None]
ByFeature = dict[str, list[list[Spread]]]


class HeardSet:
    """A set's clips: how many could be read, what names them, and what each feature keeps."""

    def __init__(self, paths: Sequence[Path | str], features: Sequence[Feature], say: Say) -> None:
        self.clips = 0
        self.groups: ByFeature = {each.key: [[] for _ in range(GROUPS)] for each in features}
        marks = []
        for path in paths:
            waves = read(path, {each.rate_hz for each in features}, say)
            if waves is None:
                continue
            group = self.clips % GROUPS
            self.clips += 1
            marks.append(decoding.file_sha256(path))
            for each in features:
                rows = each.of(waves[each.rate_hz])
                if len(rows):
                    kept = self.groups[each.key][group]
                    kept[:] = [spread for spread in [pooled([*kept, spread_of(rows)])] if spread]
            shared_work.forget(list(waves.values()))
        self.sha256 = hashlib.sha256("\n".join(sorted(marks)).encode()).hexdigest()

    def whole(self) -> dict[str, Spread]:
        """What each feature keeps of all clips; features that heard nothing are not in it."""
        found = {
            key: pooled([part for group in groups for part in group])
            for key, groups in self.groups.items()
        }
        return {key: spread for key, spread in found.items() if spread is not None}


def read(path: Path | str, rates_hz: set[int], say: Say) -> dict[int, torch.Tensor] | None:
    """A clip's wave at each rate, (samples,); None, said why, where it cannot be used."""
    import torch

    try:
        waves = decoding.load_waves(path, tuple(sorted(rates_hz)))
    except decoding.AudioError as error:
        say(f"left out: {error}")
        return None
    if not all(len(wave) and np.isfinite(wave).all() for wave in waves.values()):
        say(f"left out: {path}: no samples, NaN or infinity")
        return None
    return {rate: torch.from_numpy(wave) for rate, wave in waves.items()}


def learnt(features: Sequence[Feature], paths: Sequence[Path | str], say: Say) -> None:
    """Let each feature learn of the recordings what it has to."""

    def waves(rate_hz: int) -> Iterator[torch.Tensor]:
        for path in islice(paths, CLIPS):
            found = read(path, {rate_hz}, lambda _: None)  # it is said when the set is heard
            if found is not None:
                yield found[rate_hz]

    for each in features:
        if type(each).learn is not Feature.learn:
            each.learn(waves(each.rate_hz))


def by_feature(sets: Mapping[str, HeardSet]) -> dict[str, dict[str, Spread]]:
    """Of each feature the sets that it heard something of, by name."""
    found: dict[str, dict[str, Spread]] = {}
    for name, heard in sets.items():
        for key, spread in heard.whole().items():
            found.setdefault(key, {})[name] = spread
    return found
