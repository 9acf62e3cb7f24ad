"""Metric and the registry."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import torch

REGISTRY: dict[str, type[Metric]] = {}


class ParameterError(ValueError):
    """A parameter that the metric does not have, or a value it cannot take."""


@dataclasses.dataclass(frozen=True)
class Parameters:
    """What a metric can be told; a metric with parameters subclasses this with its defaults."""


@dataclasses.dataclass(frozen=True)
class Score:
    """One clip's value, or None with the reason why there is none; and what else was learnt."""

    value: float | None
    reason: str = ""
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    failed: bool = False  # the run broke: worth another try, unlike audio that has no value


def undefined(reason: str, **details: Any) -> Score:
    """A score without a value: `reason` is a short phrase such as "too short"."""
    return Score(None, reason, details)


class Metric:
    """An objective score of one clip of audio. A subclass registers itself by its `key`."""

    key: ClassVar[str] = ""  # stored with every score: never renamed
    version: ClassVar[str] = "1"  # bumped when the numbers change
    sample_rate_hz: ClassVar[int] = 16_000
    description: ClassVar[str] = ""
    source: ClassVar[str] = ""  # the paper or code that defines the numbers
    higher_is_better: ClassVar[bool | None] = None  # None: no direction is claimed
    packages: ClassVar[tuple[str, ...]] = ("torch", "numpy")  # named in the provenance
    parameters_type: ClassVar[type[Parameters]] = Parameters

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        key = cls.__dict__.get("key")
        if not key:
            return
        if key in REGISTRY and REGISTRY[key].__qualname__ != cls.__qualname__:
            raise TypeError(f"{cls.__name__}: the metric key {key!r} is taken by {REGISTRY[key]}")
        REGISTRY[key] = cls

    def __init__(self, **parameters: Any) -> None:
        self.parameters = self._checked(parameters)
        self.device = "cpu"

    def _checked(self, given: dict[str, Any]) -> Parameters:
        allowed = [field.name for field in dataclasses.fields(self.parameters_type)]
        unknown = sorted(set(given) - set(allowed))
        if unknown:
            raise ParameterError(
                f"{self.key} has no parameter {', '.join(unknown)}; "
                f"it has {', '.join(allowed) or 'none'}"
            )
        return self.parameters_type(**given)

    def load(self, device: str = "cpu") -> None:
        """Make ready for `device` ("cpu", "cuda"): weights are fetched here, never at import."""
        self.device = device

    def score(self, waves: Sequence[torch.Tensor]) -> Sequence[Score | float]:
        """One score per wave; each wave: (samples,), floating point, mono, in [-1, 1], finite."""
        raise NotImplementedError

    def measure(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """`score`, guarded: one Score per wave, in order; a wave without a value has a reason.

        Each wave: (samples,) at `sample_rate_hz`; floating point in [-1, 1] or a signed integer
        type at full scale. Empty waves and waves with NaN or infinity never reach `score`.
        """
        ready = [as_floating(wave) for wave in waves]
        scores = [unusable(wave) for wave in ready]
        usable = [i for i, score in enumerate(scores) if score is None]
        if usable:
            given = self.score([ready[i] for i in usable])
            for i, result in zip(usable, given, strict=True):
                scores[i] = as_score(result)
        return [score for score in scores if score is not None]

    def parameters_dict(self) -> dict[str, Any]:
        """The parameters as plain JSON values, stored with every score."""
        plain: dict[str, Any] = json.loads(canonical_json(dataclasses.asdict(self.parameters)))
        return plain


def as_floating(wave: torch.Tensor) -> torch.Tensor:
    """The wave in floating point; a signed integer wave is divided by its full scale."""
    import torch

    if wave.is_floating_point():
        return wave
    return wave.to(torch.float64) / -float(torch.iinfo(wave.dtype).min)


def unusable(wave: torch.Tensor) -> Score | None:
    """The score of a wave that no metric can use; None when the wave is fine."""
    import torch

    if wave.ndim != 1:
        return undefined(f"not mono: {wave.ndim} axes, expected one")
    if wave.numel() == 0:
        return undefined("no samples")
    if not bool(torch.isfinite(wave).all()):
        return undefined("audio holds NaN or infinity")
    return None


def as_score(result: Score | float) -> Score:
    """A plain number as a Score; a value that is not finite becomes None with its reason."""
    score = result if isinstance(result, Score) else Score(float(result))
    if score.value is not None and not math.isfinite(score.value):
        return undefined(f"result is {score.value}", **score.details)
    if score.value is None and not score.reason:
        return dataclasses.replace(score, reason="the metric gave no value and no reason")
    return score


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def registry() -> dict[str, type[Metric]]:
    """Every metric by its key, in alphabetical order."""
    importlib.import_module("metrics.suite")
    return dict(sorted(REGISTRY.items()))


def make_metric(key: str, parameters: Mapping[str, Any] | None = None) -> Metric:
    """A metric of the registry with its parameters (defaults where none are given)."""
    known = registry()
    if key not in known:
        raise ParameterError(f"no metric is called {key!r}; there are {', '.join(known)}")
    return known[key](**(parameters or {}))
