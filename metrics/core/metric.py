"""The metric contract: what a metric declares, is given and returns; its registry and titles."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import PurePath
from typing import Any, ClassVar

from listening.common.plugins import left_out
from listening.common.registry import Registry
from listening.common.speaker_turns import Turn as Turn
from metrics.core import precision, published_models, wave_memory
from metrics.core.lazy_torch import torch
from metrics.core.precision import FLOAT32, Arithmetic, PrecisionError, Precisions
from metrics.core.published_models import PublishedModel
from metrics.core.silence import silence

REFERENCE_AUDIO = "reference_audio"  # a column: the recording of the same words
RECORDINGS = ("reference_path", "reference_audio_path")  # fields


@dataclasses.dataclass(frozen=True)
class Material:
    """What is known of one clip; an empty value means unknown."""

    text: str = ""  # what is spoken
    language: str = ""  # BCP 47, such as en, zh, en-GB
    speaker: str = ""
    turns: tuple[Turn, ...] = ()  # of a dialogue or a long text, in order
    reference_path: str = ""  # a recording of the reference voice
    reference_sha256: str = ""
    reference_audio_path: str = ""  # a recording of the same words, which the clip is compared with
    reference_audio_sha256: str = ""
    is_reference_audio: bool = False  # the clip is itself what others are compared with
    attributes: Mapping[str, str] = dataclasses.field(
        default_factory=dict
    )  # caption, synthesis_s, nvv …

    def attribute(self, name: str) -> str:
        """The attribute's text without blanks around it; empty when there is none."""
        return str(self.attributes.get(name, "")).strip()

    def fingerprint(self, needs: Iterable[str]) -> str:
        """SHA-256 (hex) of the fields that a metric's numbers depend on; empty when it needs none.

        ``needs`` names fields of this class, or attributes as ``attributes.NAME``. A reference
        counts by the hash of its audio, not by its path.
        """
        names = sorted(set(needs))
        if not names:
            return ""
        plain = json.dumps({name: self._plain(name) for name in names}, sort_keys=True)
        return hashlib.sha256(plain.encode()).hexdigest()

    def field_value(self, name: str) -> Any:
        """What a field of `fingerprint`'s needs holds, hashable: where equal, marks are equal."""
        if name.startswith("attributes."):
            return self.attribute(name.removeprefix("attributes."))
        if name == "turns":
            return self.turns, self.attribute("turns")
        return self._field(name)

    def _plain(self, name: str) -> Any:
        if name.startswith("attributes."):
            return self.attribute(name.removeprefix("attributes."))
        if name == "turns":
            known = [[turn.speaker, turn.start_s, turn.end_s, turn.text] for turn in self.turns]
            return known or self.attribute("turns") or []  # stated, even if it cannot be read
        return self._field(name)

    def _field(self, name: str) -> Any:
        """A plain field; a recording's is the hash of its audio where that is known."""
        sha256 = getattr(self, name.replace("_path", "_sha256"), "") if name in RECORDINGS else ""
        return sha256 or getattr(self, name)


def column_of(need: str) -> str:
    """The manifest's column that fills what a metric needs: a field or ``attributes.NAME``."""
    return need.removeprefix("attributes.").removesuffix("_path")


def needed_columns(needs: Iterable[str]) -> str:
    """Return the manifest columns that a metric needs beside the audio, separated by commas."""
    return ", ".join(map(column_of, needs))


class ParameterError(ValueError):
    """A parameter that the metric does not have, or a value it cannot take."""


@dataclasses.dataclass(frozen=True)
class Parameters:
    """What a metric can be told; a metric with parameters subclasses this with its defaults."""


def check_bounds(parameters: Parameters, name: str, low: float, high: float = math.inf) -> None:
    """Raise a ParameterError where a number is below ``low`` or above ``high``."""
    value = getattr(parameters, name)
    if not (math.isfinite(value) and low <= value <= high):
        bounds = f"in {low:g}..{high:g}" if math.isfinite(high) else f"{low:g} or more"
        raise ParameterError(f"{name} is {value}; it must be {bounds}")


@dataclasses.dataclass(frozen=True)
class Output:
    """One named number of a metric: what it says, its unit, its range and its direction."""

    key: str  # stored with every score: never renamed
    description: str = ""
    unit: str = ""  # empty: a pure number
    low: float | None = None  # the least and the greatest value that there can be
    high: float | None = None
    higher_is_better: bool | None = None  # None: no direction is claimed
    title: str = ""  # what pages and reports call it; empty: its key


@dataclasses.dataclass(frozen=True)
class Hint:
    """A published threshold of an output, shown beside scores; it judges nothing."""

    output: str
    at: float
    words: str  # what the source says of values from ``at`` in the better direction
    source: str


WIDE_BAND_HZ = 6_000.0  # sound of 16 kHz recordings ends above (7.3 kHz and more, 60 dB down)


@dataclasses.dataclass(frozen=True)
class Accepts:
    """What audio a metric's numbers are meant for; other audio is scored with a warning."""

    least_bandwidth_hz: float = 0.0  # sound is expected up to here; 0: any bandwidth will do
    shortest_s: float = 0.0  # a shorter clip gets a reason instead of a value
    whole_file: bool = False  # measured on all channels at the file's own rate

    def words(self, rate_hz: int) -> str:
        """As one line: "mono at 16000 Hz …"."""
        mono = f"mono at {rate_hz} Hz (channels averaged, other rates resampled)"
        parts = ["all channels, at the file's own rate" if self.whole_file else mono]
        if self.least_bandwidth_hz:
            parts.append(f"meant for sound up to {self.least_bandwidth_hz:g} Hz")
        if self.shortest_s:
            parts.append(f"{self.shortest_s:g} s or more")
        return "; ".join(parts)


# Clips that are filled up share a batch with those up to so many times longer. On a processor a
# batch gains nothing and what is filled up costs: 850 ms a clip instead of 730 (WavLM base).
SIMILAR = {"cpu": 1.0, "cuda": 1.25}
CLOSE = 1e-4  # relative: the rounding of float32 networks in batches


class Input(StrEnum):
    """What of a clip goes into a batch."""

    MASKED = "masked"  # clips of similar length, filled up; what is filled up is masked
    WINDOWS = "windows"  # pieces of one length, of any clips
    EQUAL = "equal"  # whole clips or chunks of exactly one length
    ALONE = "alone"  # nothing: clip by clip

    @property
    def words(self) -> str:
        """Return the sentence for pages and commands."""
        return {
            Input.MASKED: "clips of similar length, masked",
            Input.WINDOWS: "windows of any clips",
            Input.EQUAL: "equal lengths only",
            Input.ALONE: "none: clip by clip",
        }[self]


@dataclasses.dataclass(frozen=True)
class Sharing:
    """What a metric's clips share, and by how much company may move a value.

    ``within``: relative, of what the clip scores alone. ``why``: where the longer way is not taken,
    the reason in a line.
    """

    input: Input = Input.ALONE
    within: float = CLOSE
    why: str = ""

    def words(self) -> str:
        """As one line."""
        parts = [self.input.words, *([self.why] if self.why else [])]
        exact = "a clip's value is the same alone"
        near = f"a clip's value is within {self.within:g} (relative) of the one alone"
        return "; ".join([*parts, near if self.within else exact])


@dataclasses.dataclass(frozen=True)
class Score:
    """One clip's value, or None with the reason why there is none; and what else was learnt.

    ``warnings``: why the value may not mean what it usually does, in words, by their codes.
    """

    value: float | None
    reason: str = ""
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    failed: bool = False  # the run broke: worth another try, unlike audio that has no value
    also: Mapping[str, float | None] = dataclasses.field(default_factory=dict)  # further outputs
    warnings: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Take:
    """A clip as a metric gets it: its wave, (samples,) at the metric's rate, and what is known."""

    wave: torch.Tensor
    material: Material = dataclasses.field(default_factory=Material)


def undefined(reason: str, **details: Any) -> Score:
    """A score without a value: `reason` is a short phrase such as "too short"."""
    return Score(None, reason, details)


class Metric:
    """An objective score of one clip of audio. A subclass registers itself by its `key`.

    It has one output, named as itself, or several (``more_outputs``: those beside the first).
    """

    key: ClassVar[str] = ""  # names the metric and its first output; never renamed
    version: ClassVar[str] = "1"  # bumped when the numbers change
    sample_rate_hz: ClassVar[int] = 16_000
    description: ClassVar[str] = ""
    title: ClassVar[str] = ""  # what pages and reports call its first output; empty: its key
    source: ClassVar[str] = ""  # the paper or code that defines the numbers
    unit: ClassVar[str] = ""
    low: ClassVar[float | None] = None
    high: ClassVar[float | None] = None
    higher_is_better: ClassVar[bool | None] = None  # None: no direction is claimed
    more_outputs: ClassVar[tuple[Output, ...]] = ()
    accepts: ClassVar[Accepts] = Accepts()
    sharing: ClassVar[Sharing] = Sharing()  # how its clips share a batch
    precisions: ClassVar[Precisions] = Precisions()  # what its networks compute in beside float32
    needs: ClassVar[tuple[str, ...]] = ()  # fields of Material (attributes.NAME) it depends on
    packages: tuple[str, ...] = ("torch", "numpy")  # named in the provenance
    published_model: ClassVar[PublishedModel | None] = None  # whose files `load` reads
    parameters_type: ClassVar[type[Parameters]] = Parameters
    lacking: ClassVar[Mapping[str, str]] = {}  # output -> why it may have no value by itself
    asked_only: ClassVar[bool] = False  # run only when named: it costs money, sends audio away
    registry: ClassVar[Registry[Metric]] = Registry(
        "metric", "metrics.suite", group="earnest.metrics"
    )
    costs: ClassVar[str] = ""  # what a run costs beside time, for who decides; empty: nothing
    # CPU seconds per second of audio on a core of 150 GFLOP/s in float32; None: not measured
    cpu_s_per_s: ClassVar[float | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not cls.__dict__.get("key"):
            return
        for other in Metric.registry.declared.values():
            taken = {o.key for o in cls.outputs()} & {o.key for o in other.outputs()}
            if taken and other.__qualname__ != cls.__qualname__:
                keys = ", ".join(sorted(taken))
                raise ValueError(f"{cls.__name__}: {other.__name__} gives {keys} already")
        Metric.registry.add(cls)

    def __init__(self, **parameters: Any) -> None:
        own, arithmetic = self._split(parameters)
        self.arithmetic, self.arithmetic_is_explicit = arithmetic or FLOAT32, arithmetic is not None
        self.parameters = self._check_parameters(own)
        self._compiled: dict[tuple[int, str], Any] = {}
        self.device = "cpu"
        self.weights: dict[str, str] = {}  # file name -> SHA-256, filled by load()
        self.device_notes: dict[str, str] = {}  # for the provenance, where load() had to give way

    @classmethod
    def contract_problems(cls) -> list[str]:
        """What it says wrongly of itself, in words; empty when all is well."""
        return description_problems(cls)

    @classmethod
    def outputs(cls) -> tuple[Output, ...]:
        """What it says of a clip, the main value first."""
        facts = (cls.description, cls.unit, cls.low, cls.high, cls.higher_is_better)
        return (Output(cls.key, *facts, title=cls.title), *cls.more_outputs)

    def _split(self, parameters: dict[str, Any]) -> tuple[dict[str, Any], Arithmetic | None]:
        """Its own parameters and what its networks are to compute in, which it must allow."""
        own = [field.name for field in dataclasses.fields(self.parameters_type)]
        try:
            rest, arithmetic = precision.split_arithmetic(parameters, own)
        except PrecisionError as error:
            raise ParameterError(f"{self.key}: {error}") from error
        if arithmetic and (refusal := self.precisions.refusal(arithmetic)):
            raise ParameterError(f"{self.key} runs {refusal}")
        return rest, arithmetic

    def _check_parameters(self, parameters: dict[str, Any]) -> Parameters:
        allowed = [field.name for field in dataclasses.fields(self.parameters_type)]
        unknown = sorted(set(parameters) - set(allowed))
        if unknown:
            raise ParameterError(
                f"{self.key} has no parameter {', '.join(unknown)}; "
                f"it has {', '.join(allowed) or 'none'}"
            )
        for field in dataclasses.fields(self.parameters_type):
            if field.name in parameters and (
                wanted := unfit(parameters[field.name], field.default)
            ):
                problem = (
                    f"{field.name} is {json.dumps(parameters[field.name])}, but must be {wanted}"
                )
                raise ParameterError(f"{self.key}: {problem}")
        return self.parameters_type(**parameters)

    def load(self, device: str = "cpu") -> None:
        """Make ready for `device` ("cpu", "cuda"): weights are fetched here, never at import.

        Fills ``weights``, and ``device_notes`` where the device lacks what was asked for; raises
        `weights.Unavailable` when a file or package is missing.
        """
        self.device = device

    def models(self) -> Sequence[PublishedModel]:
        """The models that `load` locates with these parameters; fetch_models fetches them ahead.

        Default: `published_model`, or the one that the parameter ``model`` names in its place.
        """
        own = self.published_model
        return [own.renamed(getattr(self.parameters, "model", ""))] if own else []

    def expected_cpu_s(self, clip_s: float) -> float | None:
        """CPU seconds that a clip of so many seconds takes; None where it was not measured."""
        return None if self.cpu_s_per_s is None else self.cpu_s_per_s * clip_s

    def shared_work(self) -> Hashable:
        """What is computed once for all metrics that give the same here. Default: its own."""
        return id(self)

    def score(self, waves: Sequence[torch.Tensor]) -> Sequence[Score | float]:
        """One score per wave; each wave: (samples,), floating point, mono, in [-1, 1], finite."""
        raise NotImplementedError

    def score_takes(self, takes: Sequence[Take]) -> Sequence[Score | float]:
        """One score per take; overridden instead of `score` by metrics that need the material."""
        return self.score([take.wave for take in takes])

    def measure(
        self, waves: Sequence[torch.Tensor], materials: Sequence[Material] | None = None
    ) -> list[Score]:
        """`score_takes`, guarded: one Score per wave, in order; no value comes with a reason.

        Each wave: (samples,) at `sample_rate_hz`; floating point in [-1, 1] or a signed integer
        type at full scale. Empty waves, silence (`core.silence`) and waves with NaN or infinity
        never reach `score`.
        """
        known = materials or [Material()] * len(waves)
        takes = [Take(as_floating(w), m) for w, m in zip(waves, known, strict=True)]
        scores = [self._unusable(take.wave) for take in takes]
        usable = [i for i, score in enumerate(scores) if score is None]
        if usable:
            results = self._compute([takes[i] for i in usable])
            for i, result in zip(usable, results, strict=True):
                scores[i] = as_score(result)
        return [score for score in scores if score is not None]

    def _unusable(self, wave: torch.Tensor) -> Score | None:
        """The score of a wave without anything to measure; metrics refuse short ones."""
        if (score := unusable(wave)) or len(wave) < self.accepts.shortest_s * self.sample_rate_hz:
            return score
        why = silence(wave, self.sample_rate_hz)
        return undefined(why) if why else None

    def _compute(self, takes: Sequence[Take]) -> Sequence[Score | float]:
        """`score_takes` with its networks as they were asked for."""
        if self.arithmetic.compile:
            backend = precision.backend(self.device)
            precision.compile_networks(self.compilable(), self._compiled, backend)
        with precision.running(self.arithmetic.on(self.device), self.device):
            return self.score_takes(takes)

    def compilable(self) -> Sequence[tuple[Any, str]]:
        """Objects and their attributes that `torch.compile` may take, after `load`. Default: none.

        A metric with ``precisions.compile`` names its networks: ``[(self, "model")]``.
        """
        return ()

    def by_output(self, score: Score) -> dict[str, Score]:
        """A clip's score as one score per output; details stay with the first."""
        named = {self.key: dataclasses.replace(score, also={})}
        for output in self.more_outputs:
            value = score.also.get(output.key)
            usual = f"{self.key} gave no {output.key}"
            reason = score.reason or self.lacking.get(output.key, usual)
            named[output.key] = (
                Score(None, reason, failed=score.failed, warnings=score.warnings)
                if value is None
                else Score(value, warnings=score.warnings)
            )
        return named

    def pooled(self, details: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """Further numbers of a condition from the details of its clips that have a value.

        Such as errors over words of all clips; a name here is no output. Default: none.
        """
        return {}

    def hints(self) -> list[Hint]:
        """Published thresholds that hold for these parameters. Default: none."""
        return []

    def parameters_dict(self) -> dict[str, Any]:
        """The parameters as plain JSON values, stored with every score.

        With them what its networks compute in, where that is not float32.
        """
        plain: dict[str, Any] = json.loads(canonical_json(dataclasses.asdict(self.parameters)))
        return plain | self.arithmetic.plain()


def description_problems(cls: type[Metric]) -> list[str]:
    """What a metric says wrongly of itself, in words; empty when all is well."""
    wrong = []
    for name, least in (("version", 1), ("description", 20), ("source", 10)):
        if not isinstance(text := getattr(cls, name), str) or len(text) < least:
            wrong.append(f"{name} must be a text of {least} characters or more, is {text!r}")
    if not isinstance(cls.sample_rate_hz, int) or cls.sample_rate_hz <= 0:
        wrong.append(f"sample_rate_hz must be a whole number above 0, is {cls.sample_rate_hz!r}")
    if cls.higher_is_better not in (True, False, None):
        wrong.append("higher_is_better must be True, False or None")
    columns = {each.name for each in dataclasses.fields(Material)} - {"attributes"}
    if unknown := [n for n in cls.needs if n not in columns and not n.startswith("attributes.")]:
        wrong.append(
            f"needs {', '.join(unknown)}: use {', '.join(sorted(columns))} or attributes.NAME"
        )
    return wrong + _parameter_problems(cls)


def _parameter_problems(cls: type[Metric]) -> list[str]:
    """Whether defaults serve for every parameter, and come back from JSON as they were."""
    if not dataclasses.is_dataclass(cls.parameters_type):
        return ["parameters_type must be a frozen dataclass"]
    try:
        metric = cls()
        again = cls(**json.loads(json.dumps(metric.parameters_dict())))
    except Exception as error:
        return [f"cannot be made with its default parameters ({type(error).__name__}: {error})"]
    wrong = [] if again.parameters == metric.parameters else ["parameters differ after JSON"]
    return wrong + [each for model in metric.models() for each in published_models.problems(model)]


def unfit(value: Any, usual: Any) -> str:
    """What a value must be that stands in the place of ``usual``; empty where it is that."""
    kinds = {
        bool: (bool, "true or false"),
        int: (int, "a whole number"),
        float: (int | float, "a number"),
        str: (str, "a text"),
    }
    kind, words = kinds.get(type(usual), (object, ""))
    if isinstance(value, bool) and kind is not object and kind is not bool:
        return words
    if isinstance(value, float) and not math.isfinite(value):
        return words
    return "" if isinstance(value, kind) else words


def as_floating(wave: torch.Tensor) -> torch.Tensor:
    """The wave in floating point; a signed integer wave is divided by its full scale."""
    if wave.is_floating_point():
        return wave
    return wave.to(torch.float64) / -float(torch.iinfo(wave.dtype).min)


def unusable(wave: torch.Tensor) -> Score | None:
    """The score of a wave that no metric can use; None when the wave is fine."""
    if wave.ndim != 1:
        return undefined(f"not mono: {wave.ndim} axes, expected one")
    if wave.numel() == 0:
        return undefined("no samples")
    if not all(bool(torch.isfinite(part).all()) for part in wave_memory.parts_of(wave)):
        return undefined("audio holds NaN or infinity; export it again, as 16 or 24 bit")
    return None


def as_score(result: Score | float) -> Score:
    """A plain number as a Score; a value that is not finite becomes None with its reason.

    Of the details, too, no number stays that JSON does not know.
    """
    score = result if isinstance(result, Score) else Score(float(result))
    if score.details:
        score = dataclasses.replace(score, details=without_nan(score.details))
    if score.value is not None and not math.isfinite(score.value):
        return undefined(f"result is {score.value}", **score.details)
    if score.value is None and not score.reason:
        return dataclasses.replace(score, reason="the metric gave no value and no reason")
    if any(value is not None and not math.isfinite(value) for value in score.also.values()):
        finite = {k: v for k, v in score.also.items() if v is None or math.isfinite(v)}
        return dataclasses.replace(score, also=finite)
    return score


def without_nan(value: Any) -> Any:
    """A plain value with None in place of every NaN and infinity in it."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: without_nan(part) for name, part in value.items()}
    return [without_nan(part) for part in value] if isinstance(value, list | tuple) else value


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_parameters(parameters: Mapping[str, Any]) -> str:
    """Parameters as text that tells scores apart: equal ones give equal text, 3 and 3.0 too.

    JSON, YAML and PostgreSQL each write a number in their own way.
    """
    return canonical_json(
        {
            name: int(value) if isinstance(value, float) and value.is_integer() else value
            for name, value in parameters.items()
        }
    )


def outputs() -> dict[str, type[Metric]]:
    """Every output's key with the metric that gives it."""
    return {
        output.key: metric for metric in Metric.registry.values() for output in metric.outputs()
    }


def make_metric(key: str, parameters: Mapping[str, Any] | None = None) -> Metric:
    """A metric of the registry with its parameters (defaults where none are given)."""
    known = Metric.registry
    if key not in known:
        raise ParameterError(
            f"no metric is called {key!r}; there are {', '.join(known)}{left_out(known)}"
        )
    return known[key](**(parameters or {}))


def buckets(sizes: Sequence[int], most: int, similar: float = 1.0) -> Iterator[list[int]]:
    """Places of inputs that share a batch, from short to long.

    ``sizes``: of each input. ``most``: of a batch filled up to its longest, or one input.
    ``similar``: how many times longer than its shortest a batch's longest may be; 1: equal ones.
    """
    bucket: list[int] = []
    for place in sorted(range(len(sizes)), key=lambda place: (sizes[place], place)):
        size = sizes[place]
        fits = bool(bucket) and size <= similar * sizes[bucket[0]]
        if bucket and not (fits and (len(bucket) + 1) * size <= most):
            yield bucket
            bucket = []
        bucket.append(place)
    if bucket:
        yield bucket


def title_of(metric: Metric, output: Output) -> str:
    """The output's title; with other than the default parameters, title (name value, name value).

    An output without a title is called by its key. Of a path its last part stands for it.
    """
    changes = ", ".join(
        f"{name.replace('_', ' ')} {_shorten_path(value)}"
        for name, value in changed_parameters(metric).items()
    )
    title = output.title or output.key
    return f"{title} ({changes})" if changes else title


def title_of_key(key: str) -> str:
    """What an output is called, by its key; one that there is no longer by its key."""
    kind = outputs().get(key)
    output = next((each for each in kind.outputs() if each.key == key), None) if kind else None
    return (output.title if output else "") or key


def changed_parameters(metric: Metric) -> dict[str, Any]:
    """The parameters that differ from the metric's defaults, by name."""
    usual = make_metric(metric.key).parameters_dict()
    values = metric.parameters_dict()
    return {name: values[name] for name in sorted(values) if values[name] != usual.get(name)}


def _shorten_path(value: Any) -> str:
    text = str(value)
    return PurePath(text).name or text if text.startswith(("/", "./", "../", "~")) else text
