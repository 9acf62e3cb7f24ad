"""Check and the registry of checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt


class Check:
    """A test before the trials; a subclass registers itself by its `key`."""

    key: ClassVar[str]
    title: ClassVar[str]
    text: ClassVar[str]
    sample_rate_hz: ClassVar[int] = 44_100
    registry: ClassVar[dict[str, type[Check]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.key in Check.registry:
            raise ValueError(f"two checks claim the key “{cls.key}”")
        Check.registry[cls.key] = cls

    def page(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """What the rater's page shows; the study may word it itself."""
        return {
            "key": self.key,
            "title": settings.get("title", self.title),
            "text": settings.get("text", self.text),
            "clip": f"/checks/{self.key}.wav",
        }

    def signal(self) -> npt.NDArray[np.float32]:
        """The sound of the check: (samples,) mono or (samples, 2), in [-1, 1]."""
        raise NotImplementedError

    def result(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """What is kept of the rater's answer; ValueError when it is none."""
        raise NotImplementedError


def check_named(key: str) -> Check:
    """The check with this key; KeyError lists those there are."""
    try:
        return Check.registry[key]()
    except KeyError:
        known = ", ".join(sorted(Check.registry))
        raise KeyError(f"no check “{key}”; there are: {known}") from None
