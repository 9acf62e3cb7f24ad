"""Seeds that nobody outside can work out, though the codes in them stand on the rater's page."""

from __future__ import annotations

import hmac
from functools import cached_property
from random import Random
from typing import Any, cast

from django.conf import settings


def secret_seed(*words: object) -> str:
    """The same for the same words, and only for who holds the server's key.

    What is drawn of it (the order of clips, where traps stand, what is right) is no secret
    without: codes of sessions and trials are in the page, and how we draw is open source.
    """
    text = " ".join(map(str, words))
    return hmac.digest(settings.SECRET_KEY.encode(), text.encode(), "sha256").hex()


def draws_of(trial: str) -> str:
    """What fixes a trial's own draws, such as the letters of its clips."""
    return secret_seed("trial", trial)


def rng_of(trial: str) -> Random:
    """What a trial's own draws come from; it costs nothing where nothing is drawn."""
    return cast(Random, _Late(trial))


class _Late:
    """A `Random` that is seeded when something is first drawn."""

    def __init__(self, trial: str) -> None:
        self._trial = trial

    @cached_property
    def _random(self) -> Random:
        return Random(draws_of(self._trial))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._random, name)
