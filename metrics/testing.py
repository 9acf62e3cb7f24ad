"""The contract of a metric as one call: `check(MyMetric)` names everything that is wrong with it.

For packages that bring metrics, and for the built-in metrics: one code checks both.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from listening.common.plugins import problems_of
from metrics.core import precision
from metrics.core.lazy_torch import torch
from metrics.core.metric import Material, Metric, Score, Turn
from metrics.core.precision import PRECISIONS, Arithmetic

LONG_S, SHORT_S = 8.0, 7.0  # similar enough to share a batch, filled up
HEAVY = ("torch", "torchaudio", "transformers", "tensorflow", "jax", "onnxruntime")


class ContractBroken(AssertionError):
    """A metric does not keep the contract; the message lists all that is wrong."""


@dataclass(frozen=True)
class Case:
    """A metric that is loaded, with a clip of 8 s or more that it is to give a value."""

    metric: Metric
    wave: torch.Tensor  # (samples,) at the metric's rate
    material: Material

    def measure(self, *waves: torch.Tensor) -> list[Score]:
        """The waves' scores, in order."""
        return self.metric.measure(waves, [self.material] * len(waves))

    @functools.cached_property
    def lone_score(self) -> Score:
        """The score of the clip in a batch of its own."""
        return self.measure(self.wave)[0]


def check(
    metric: type[Metric],
    *,
    parameters: Mapping[str, Any] | None = None,
    wave: torch.Tensor | None = None,
    material: Material | None = None,
    device: str = "cpu",
) -> None:
    """Raise ContractBroken with everything that is wrong with a metric; silent when all is well.

    ``parameters``: with which it loads where the test runs, such as a small model. ``wave``:
    (samples,) at its rate, in [-1, 1], at least 8 s, of which it is to give a value; default: 10 s
    of tones shaped like speech. ``material``: what it needs beside the audio; default: a sentence.
    """
    problems = [*problems_of(metric), *heavy_imports(metric)]
    if not problems:
        case = load_case(metric(**(parameters or {})), wave, material, device)
        problems = [problem for rule in RULES for problem in rule(case)]
    if problems:
        raise ContractBroken(f"{metric.__name__}: " + "\n  - ".join(["", *problems]).strip())


def load_case(
    metric: Metric,
    wave: torch.Tensor | None = None,
    material: Material | None = None,
    device: str = "cpu",
) -> Case:
    """The metric loaded, with its clip."""
    metric.load(device)
    heard = speechlike(metric.sample_rate_hz) if wave is None else wave
    if len(heard) < LONG_S * metric.sample_rate_hz:
        raise ValueError(f"the wave has {len(heard)} samples: give {LONG_S:g} s or more")
    return Case(metric, heard.to(device), MATERIAL if material is None else material)


def heavy_imports(metric: type[Metric]) -> list[str]:
    """Packages of models that the metric's file imports on top: every page would wait for them."""
    try:
        tree = ast.parse(Path(inspect.getfile(metric)).read_text(encoding="utf-8"))
    except (OSError, TypeError):
        return []  # made in a console
    names = {
        alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names
    }
    names |= {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}
    heavy = sorted({name.partition(".")[0] for name in names} & set(HEAVY))
    return (
        [f"imports {', '.join(heavy)} at the top of its file: do so in functions"] if heavy else []
    )


def outputs_are_bounded(case: Case) -> Iterator[str]:
    """The clip has a value, which lies in the range that is claimed, and so do further outputs."""
    if case.lone_score.value is None:
        yield f"no value for the clip of the test: {case.lone_score.reason}"
    scores = case.metric.by_output(case.lone_score)
    for output in case.metric.outputs():
        value = scores[output.key].value
        low = -math.inf if output.low is None else output.low
        high = math.inf if output.high is None else output.high
        if value is not None and not low <= value <= high:
            yield f"{output.key} is {value:g}, but says {low:g} to {high:g}"
    if more := sorted(set(case.lone_score.also) - set(scores)):
        yield f"also gives {', '.join(more)}, which more_outputs does not name"


def batch_is_one_by_one(case: Case) -> Iterator[str]:
    """A clip's score does not depend on its company, and comes in its place."""
    short = case.wave[: min(int(SHORT_S * case.metric.sample_rate_hz), 3 * len(case.wave) // 4)]
    together = case.measure(short, case.wave)
    if len(together) != 2:
        yield f"{len(together)} scores for 2 waves"
        return
    for name, one, other in (
        ("first", together[0], case.measure(short)[0]),
        ("second", together[1], case.lone_score),
    ):
        if not is_near(one.value, other.value, case.metric.sharing.within):
            yield f"the {name} of two waves scores {one.value} in a batch, {other.value} alone"
    yield from (
        f"no value and no reason: {score}"
        for score in together
        if (score.value is None) != bool(score.reason)
    )


def odd_waves_have_reasons(case: Case) -> Iterator[str]:
    """Waves that nobody can score get a reason, and do not spoil the clip between them."""
    waves = broken_waves(case.metric.sample_rate_hz)
    *scores, fine = case.measure(*waves.values(), case.wave)
    for name, score in zip(waves, scores, strict=True):
        if score.value is not None or not score.reason:
            yield f"a wave that is {name} scores {score.value}, reason {score.reason!r}"
    if not is_near(fine.value, case.lone_score.value, case.metric.sharing.within):
        yield f"beside broken waves the clip scores {fine.value}, alone {case.lone_score.value}"


def too_short_is_said(case: Case) -> Iterator[str]:
    """What is shorter than the metric says that it accepts has no value, and the reason says so."""
    samples = int(case.metric.accepts.shortest_s * case.metric.sample_rate_hz) - 1
    if samples > 0:
        (score,) = case.measure(case.wave[:samples])
        if score.value is not None or not score.reason.startswith("too short"):
            yield (
                f"a clip shorter than accepts.shortest_s scores {score.value}, reason "
                f"{score.reason!r}: return undefined('too short: …')"
            )


def other_numbers_stay_near(case: Case) -> Iterator[str]:
    """In bfloat16 and TF32, where the device has them, values move by no more than is declared."""
    for name in PRECISIONS[1:]:
        if not precision.unsupported_reason(Arithmetic(name), case.wave.device.type):
            yield from changes_beyond_tolerance(case, Arithmetic(name))


def compiled_networks_stay_near(case: Case) -> Iterator[str]:
    """The same of networks that are compiled, which takes a minute where that is declared."""
    yield from changes_beyond_tolerance(case, Arithmetic(compile=True))


def changes_beyond_tolerance(case: Case, arithmetic: Arithmetic) -> Iterator[str]:
    """The outputs of the clip that move by more than is declared; none where it is not."""
    metric = case.metric
    if metric.precisions.refusal(arithmetic):
        return
    within, plain = metric.precisions.within(arithmetic), metric.by_output(case.lone_score)
    before, metric.arithmetic = metric.arithmetic, arithmetic
    try:
        other = metric.by_output(case.measure(case.wave)[0])
    finally:
        metric.arithmetic = before
    for key, score in plain.items():
        one, two = score.value, other[key].value
        if (one is None) != (two is None):
            yield f"{key} is {one} in float32 and {two} in {arithmetic.plain()}"
        elif one is not None and two is not None and relative_change(one, two) > within:
            change = f"{relative_change(one, two):.2g} in {arithmetic.plain()}"
            yield f"{key} moves by {change}, but says {within:g}"


def relative_change(plain: float, other: float) -> float:
    """How far a value is from that in float32, relative to it, or to 1 where it is smaller."""
    return abs(other - plain) / max(1.0, abs(plain))


Rule = Callable[[Case], Iterator[str]]
RULES: tuple[Rule, ...] = (
    outputs_are_bounded,
    batch_is_one_by_one,
    odd_waves_have_reasons,
    too_short_is_said,
    other_numbers_stay_near,
    compiled_networks_stay_near,
)

MATERIAL = Material(  # what any metric may need beside the audio
    text="the late owner of this estate lived to a very advanced age",
    language="en",
    speaker="human",
    turns=(Turn("a", 0.0, 7.0, "the late owner of this estate"), Turn("b", 7.0, 8.0, "lived")),
    attributes={
        "caption": "a calm reader",
        "synthesis_s": "2.5",
        "nvv_target": "laugh@11",
        "nvv_predicted": "laugh@10",
    },
)


def broken_waves(rate_hz: int) -> dict[str, torch.Tensor]:
    """What no metric can score, by what is wrong with it."""
    return {
        "empty": torch.zeros(0),
        "one sample": torch.zeros(1),
        "NaN": torch.ones(10) * torch.nan,
        "infinite": torch.full((int(SHORT_S * rate_hz),), torch.inf),
        "stereo": torch.zeros(2, rate_hz),
    }


def speechlike(rate_hz: int, seconds: float = 10.0) -> torch.Tensor:
    """A tone with harmonics whose pitch and loudness move as in speech, with pauses: (samples,)."""
    at = torch.arange(int(seconds * rate_hz), dtype=torch.float64) / rate_hz
    pitch_hz = 120 + 25 * torch.sin(2 * math.pi * 0.7 * at)
    phase = 2 * math.pi * torch.cumsum(pitch_hz, 0) / rate_hz
    harmonics = [torch.sin(k * phase) / k for k in range(1, 25) if 150 * k < rate_hz / 2]
    syllables = 0.5 - 0.5 * torch.cos(2 * math.pi * 4.0 * at)
    phrases = (at % 2.5 < 2.0).double()
    noise = torch.randn(len(at), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return (0.1 * syllables * phrases * sum(harmonics) + 1e-4 * noise).float()


def is_near(one: float | None, other: float | None, within: float) -> bool:
    """Equal to what the metric says that company may change, or both without a value."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=within, abs_tol=1e-9 if within else 0.0)
