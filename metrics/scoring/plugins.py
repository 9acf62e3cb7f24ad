"""Metrics of other packages: discover, check and register them; broken ones keep their error."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.metadata
import inspect
import json
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from metrics.core.metric import Material, Metric

log = logging.getLogger(__name__)

GROUP = "earnest.metrics"  # of entry points
SETTING = "EARNEST_METRIC_MODULES"
KEY = re.compile(r"[a-z][a-z0-9_]*")
ATTRIBUTE = "attributes."


@dataclass(frozen=True)
class Plugin:
    """One entry point or one module of the setting, and what came of it."""

    target: str  # module, or module:class
    package: str = ""  # the distribution that it came with; empty: named in the setting
    version: str = ""
    keys: tuple[str, ...] = ()
    error: str = ""  # why none of its metrics is there

    @property
    def origin(self) -> str:
        """Where it comes from, such as "lab-metrics 1.2" or "lab.py of EARNEST_METRIC_MODULES"."""
        return f"{self.package} {self.version}" if self.package else f"{self.target} of {SETTING}"


@dataclass
class _State:
    modules: tuple[str, ...] = ()
    plugins: dict[str, Plugin] = dataclasses.field(default_factory=dict)  # by target


_state = _State()


class Unfit(ValueError):
    """A plug-in that cannot be used; the message says what to change."""


def configure(modules: Sequence[str]) -> None:
    """Say which modules bring metrics, beside the entry points; before the registry is read."""
    _state.modules = tuple(name.strip() for name in modules if name.strip())


def load() -> None:
    """Register the metrics of every plug-in that is not read yet; a broken one is noted."""
    for target, package, version, get in _sources():
        if target not in _state.plugins:
            plugin = _read(Plugin(target, package, version), get)
            _state.plugins[target] = plugin
            if plugin.error:
                Metric.registry.left_out[plugin.origin] = plugin.error
                log.error("metrics of %s are left out: %s", plugin.origin, plugin.error)


def all_plugins() -> list[Plugin]:
    """Every plug-in, broken ones too, in the order in which they were read."""
    list(Metric.registry)  # the first access reads them
    return list(_state.plugins.values())


def broken_plugins() -> list[Plugin]:
    """Those whose metrics are left out, each with its error."""
    return [plugin for plugin in all_plugins() if plugin.error]


def plugin_of(metric: type[Metric]) -> Plugin | None:
    """The plug-in that a metric came with; None for a built-in one."""
    return next((each for each in all_plugins() if metric.key in each.keys), None)


def origin_of(metric: type[Metric]) -> str:
    """The package and version that a metric came with; empty for a built-in metric."""
    plugin = plugin_of(metric)
    return plugin.origin if plugin else ""


def code_of(metric: type[Metric]) -> list[Path]:
    """The Python files beside a metric's own: its package's, or the one file of its module."""
    file = Path(inspect.getfile(metric))
    if "." in metric.__module__ or file.name == "__init__.py":
        return sorted(file.parent.rglob("*.py"), key=lambda path: (len(path.parts), path))
    return [file]


def _sources() -> Iterator[tuple[str, str, str, Callable[[], Any]]]:
    for entry in sorted(importlib.metadata.entry_points(group=GROUP)):
        package, version = (entry.dist.name, entry.dist.version) if entry.dist else ("", "")
        yield entry.value, package, version, entry.load
    for name in _state.modules:
        yield name, "", "", functools.partial(importlib.import_module, name)


def _read(plugin: Plugin, get: Callable[[], Any]) -> Plugin:
    """The plug-in with its keys; with an error, and none of its metrics, when anything is wrong."""
    declared = Metric.registry.declared
    before = dict(declared)
    try:
        _register(get())
        new = {key: cls for key, cls in declared.items() if before.get(key) is not cls}
        if duplicates := sorted(set(new) & set(before)):
            raise Unfit(
                f"there is a metric {', '.join(duplicates)} already; give yours another key"
            )
        if not new:
            raise Unfit("it brings no metric: a subclass of metrics.core.metric.Metric with a key")
        for cls in new.values():
            if problems := description_problems(cls):
                raise Unfit(f"{cls.__name__}: {'; '.join(problems)}")
    except (Exception, SystemExit) as error:
        for key in set(declared) - set(before):
            del Metric.registry[key]
        for key, cls in before.items():
            Metric.registry[key] = cls
        message = str(error) if isinstance(error, Unfit) else f"{type(error).__name__}: {error}"
        return dataclasses.replace(plugin, error=message)
    return dataclasses.replace(plugin, keys=tuple(sorted(new)))


def _register(loaded: Any) -> None:
    """Add what was imported before, so that its classes did not register themselves just now."""
    candidates = vars(loaded).values() if isinstance(loaded, ModuleType) else [loaded]
    for each in candidates:
        ours = isinstance(each, type) and issubclass(each, Metric) and each.__dict__.get("key")
        if ours and each.__module__.partition(".")[0] != "metrics":
            Metric.registry.add(each)


def description_problems(cls: type[Metric]) -> list[str]:
    """What a metric says wrongly of itself, in words; empty when all is well."""
    wrong = []
    if not KEY.fullmatch(cls.key):
        wrong.append(f"key {cls.key!r} must be lower-case letters, digits and _")
    for name, least in (("version", 1), ("description", 20), ("source", 10)):
        if not isinstance(text := getattr(cls, name), str) or len(text) < least:
            wrong.append(f"{name} must be a text of {least} characters or more, is {text!r}")
    if not isinstance(cls.sample_rate_hz, int) or cls.sample_rate_hz <= 0:
        wrong.append(f"sample_rate_hz must be a whole number above 0, is {cls.sample_rate_hz!r}")
    if cls.higher_is_better not in (True, False, None):
        wrong.append("higher_is_better must be True, False or None")
    columns = {field.name for field in dataclasses.fields(Material)} - {"attributes"}
    if unknown := [n for n in cls.needs if n not in columns and not n.startswith(ATTRIBUTE)]:
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
    return [] if again.parameters == metric.parameters else ["parameters differ after JSON"]
