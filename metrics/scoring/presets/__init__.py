"""Lists of metrics by name: those that ship beside this file, and YAML files of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from listening.common.plain_yaml import YamlError, read_yaml
from metrics.core.metric import Metric, ParameterError, make_metric

FOLDER = Path(__file__).parent
DEFAULT_PRESET = "fast"
KNOWN = ("description", "metrics", "judges")
ENTRY = ("metric", "parameters")


class PresetError(ValueError):
    """A list of metrics that cannot be used; the message names file, entry and remedy."""


@dataclass(frozen=True)
class Choice:
    """One metric with the parameters that differ from its defaults."""

    metric: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, metric: Metric) -> Choice:
        """What makes this metric again, with what its networks compute in."""
        return cls(metric.key, metric.parameters_dict())

    def plain(self) -> dict[str, Any]:
        """As stored with a run."""
        return {"metric": self.metric, "parameters": dict(self.parameters)}


@dataclass(frozen=True)
class Preset:
    """A named list of metrics; its judges run only when they are asked for."""

    name: str
    description: str
    metrics: tuple[Choice, ...]
    judges: tuple[Choice, ...] = ()

    def choices(self, judges: bool = False) -> list[Choice]:
        """Its metrics, and its judges when asked for."""
        return [*self.metrics, *(self.judges if judges else ())]


def shipped_presets() -> dict[str, Preset]:
    """The presets that come with Earnest, by name."""
    return {path.stem: read_preset(path) for path in sorted(FOLDER.glob("*.yaml"))}


def preset(name: str) -> Preset:
    """A preset that comes with Earnest; PresetError names those that there are."""
    presets = shipped_presets()
    if name not in presets:
        raise PresetError(f"no preset is called {name!r}; there are {', '.join(presets)}")
    return presets[name]


def read_preset(path: Path | str) -> Preset:
    """The metrics that a YAML file lists; PresetError names file, entry and remedy.

    Either a list of entries, or a mapping with ``description``, ``metrics`` and ``judges``. An
    entry is a metric's key, or a mapping with ``metric`` and ``parameters``.
    """
    try:
        content = read_yaml(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise PresetError(f"{path}: cannot be read ({error.strerror})") from error
    except (YamlError, UnicodeDecodeError) as error:
        raise PresetError(f"{path}: no YAML ({error})") from error
    if isinstance(content, list):
        content = {"metrics": content}
    if not isinstance(content, dict) or not isinstance(content.get("metrics"), list):
        raise PresetError(f"{path}: needs a list of metrics, such as `metrics: [srmr, srmr_norm]`")
    if unknown := sorted(set(map(str, content)) - set(KNOWN)):
        raise PresetError(f"{path}: {', '.join(unknown)} is not known; use {', '.join(KNOWN)}")
    metrics, judges = _choices(path, content, "metrics"), _choices(path, content, "judges")
    if not metrics and not judges:
        raise PresetError(f"{path}: the list is empty; name at least one metric")
    return Preset(Path(path).stem, str(content.get("description") or ""), metrics, judges)


def _choices(path: Path | str, content: Mapping[str, Any], name: str) -> tuple[Choice, ...]:
    entries = content.get(name) or []
    if not isinstance(entries, list):
        raise PresetError(f"{path}: {name} must be a list")
    choices: list[Choice] = []
    for number, entry in enumerate(entries, 1):
        where = f"{path}, {name} entry {number}"
        choice = _choice(where, entry)
        if any(is_same_choice(choice, other) for other in choices):
            raise PresetError(f"{where}: {choice.metric} is listed twice; remove one")
        choices.append(choice)
    return tuple(choices)


def _choice(where: str, entry: Any) -> Choice:
    if isinstance(entry, str):
        entry = {"metric": entry}
    if not isinstance(entry, dict) or not isinstance(entry.get("metric"), str):
        raise PresetError(f"{where}: needs a metric's key, or `metric:` and `parameters:`")
    if unknown := sorted(set(map(str, entry)) - set(ENTRY)):
        raise PresetError(f"{where}: {', '.join(unknown)} is not known; use {', '.join(ENTRY)}")
    parameters = entry.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise PresetError(f"{where}: parameters must be a mapping, such as {{variant: slow}}")
    try:
        make_metric(entry["metric"], parameters)
    except (ParameterError, TypeError) as error:
        raise PresetError(f"{where}: {error}") from error
    return Choice(entry["metric"], parameters)


def is_same_choice(one: Choice, other: Choice) -> bool:
    """Whether two choices give the same numbers."""
    return one.metric == other.metric and (
        make_metric(one.metric, one.parameters).parameters_dict()
        == make_metric(other.metric, other.parameters).parameters_dict()
    )


def make_metrics(choices: Sequence[Choice]) -> list[Metric]:
    """The metrics of the choices, each once."""
    once: list[Choice] = []
    for choice in choices:
        if not any(is_same_choice(choice, other) for other in once):
            once.append(choice)
    return [make_metric(choice.metric, choice.parameters) for choice in once]
