"""Work on a wave that several metrics need: done once, and kept as long as the wave lives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@functools.cache
def _works() -> Any:
    """What is known of each wave; a wave that is let go of takes its works with it."""
    from torch.utils.weak import WeakTensorKeyDictionary

    return WeakTensorKeyDictionary()


def once(wave: torch.Tensor, name: Hashable, make: Callable[[], Any]) -> Any:
    """What `make` gives for this wave (this very tensor), made the first time it is asked for."""
    return once_each([wave], name, lambda waves: [make() for _ in waves])[0]


def once_each(
    waves: Sequence[torch.Tensor],
    name: Hashable,
    make: Callable[[Sequence[torch.Tensor]], Sequence[Any]],
) -> list[Any]:
    """What is known of each wave under ``name``; `make` gets those of which it is not known yet.

    Waves are told apart as objects, not by their samples: the runner hands the same tensors to
    every metric. What is kept must not be written into.
    """
    works = _works()
    own = [works.setdefault(wave, {}) for wave in waves]
    new = {id(wave): wave for wave, known in zip(waves, own, strict=True) if name not in known}
    if new:
        for wave, made in zip(new.values(), make(list(new.values())), strict=True):
            works[wave][name] = made
    return [known[name] for known in own]


def forget(waves: Sequence[torch.Tensor]) -> None:
    """Let go of what is known of these waves."""
    for wave in waves:
        _works().pop(wave, None)
