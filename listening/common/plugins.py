"""Plug-ins: classes that other packages bring to a registry; a broken one is named and left out."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.metadata
import inspect
import logging
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from listening.common.registry import Registry

T = TypeVar("T")
log = logging.getLogger(__name__)

VERSION = 1  # of the contract; raised when plug-ins that worked must be changed
STATED = "PLUGIN_API_VERSION"  # in the plug-in's module; without it, version 1
GROUPS = "earnest."  # what the groups of entry points begin with, such as earnest.methods
EARNEST = frozenset({"listening", "metrics", "analysis", "rest", "config", "earnest"})
KEY = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True)
class Plugin:
    """One entry point or one module of a setting, and the keys that it adds to a registry."""

    group: str
    target: str  # module, or module:class
    package: str = ""  # the distribution that it came with; empty: named in a setting
    version: str = ""
    setting: str = ""
    keys: tuple[str, ...] = ()
    error: str = ""  # why it is left out

    @property
    def origin(self) -> str:
        """Where it comes from, such as "lab-metrics 1.2" or "lab of EARNEST_METRIC_MODULES"."""
        if self.package:
            return f"{self.package} {self.version}"
        return f"{self.target} of {self.setting}"

    @property
    def module(self) -> str:
        """The dotted name of its module."""
        return self.target.partition(":")[0].strip()

    @property
    def top(self) -> str:
        """The name of its top package."""
        return self.module.partition(".")[0]


@dataclass
class _State:
    modules: dict[str, tuple[str, tuple[str, ...]]] = dataclasses.field(default_factory=dict)
    plugins: dict[tuple[str, str], Plugin] = dataclasses.field(default_factory=dict)


_state = _State()


class Unfit(ValueError):
    """A plug-in that cannot be used; the message says what to change."""


class MissingClass(KeyError):
    """No class has this key: it is misspelt, or its plug-in is not in use any more."""

    def __init__(self, registry: Registry[Any], key: str) -> None:
        self.words = (
            f"The {registry.what} “{key}” is not in use here. Install or repair the plug-in that "
            f"brings it, then start Earnest again{left_out(registry)}."
        )
        known = ", ".join(sorted(registry)) + left_out(registry)
        super().__init__(f"no {registry.what} “{key}”; there are: {known}")


def configure(group: str, setting: str, modules: Sequence[str]) -> None:
    """Say which modules a setting names for a group; before its registry is read."""
    names = tuple(name.strip() for name in modules if name.strip())
    _state.modules[group] = setting, names


def load(registry: Registry[Any]) -> None:
    """Add the classes of every plug-in of a registry's group that is not read yet."""
    for plugin, get in sources(registry.group):
        if (plugin.group, plugin.target) not in _state.plugins:
            outcome = _read(registry, plugin, get)
            _state.plugins[plugin.group, plugin.target] = outcome
            if outcome.error:
                log.error("%s of %s is left out: %s", outcome.group, outcome.origin, outcome.error)


def plugins_of(registry: Registry[Any]) -> list[Plugin]:
    """The plug-ins of a registry, broken ones too, in the order in which they were read."""
    list(registry)  # the first access reads them
    return [each for each in [*_state.plugins.values()] if each.group == registry.group]


def broken_plugins(registry: Registry[Any]) -> list[Plugin]:
    """Those that are left out, each with its error."""
    return [plugin for plugin in plugins_of(registry) if plugin.error]


def plugin_keys(registry: Registry[Any]) -> list[str]:
    """The keys of a registry that plug-ins bring, in the order in which they were read."""
    return [key for plugin in plugins_of(registry) for key in plugin.keys]


def left_out(registry: Registry[Any]) -> str:
    """The broken plug-ins as the end of a message about an unknown key; empty without any."""
    broken = broken_plugins(registry)
    return "".join(f"; {plugin.origin} is left out: {plugin.error}" for plugin in broken)


def class_named(registry: Registry[T], key: str) -> type[T]:
    """The class with this key; MissingClass where there is none."""
    try:
        return registry[key]
    except KeyError:
        raise MissingClass(registry, key) from None


def plugin_of(cls: type) -> Plugin | None:
    """The plug-in that a class came with; None for a built-in one."""
    registry, key = getattr(cls, "registry", None), getattr(cls, "key", None)
    every = plugins_of(registry) if registry is not None and registry.group else ()
    return next((each for each in every if key in each.keys), None)


def origin_of(cls: type) -> str:
    """The package and version that a class came with; empty for a built-in one."""
    plugin = plugin_of(cls)
    return plugin.origin if plugin else ""


def packages_of(*registries: Registry[Any]) -> dict[str, str]:
    """The versions of the packages that bring plug-ins to registries, by name.

    Registries to which no package brings anything stay unread.
    """
    some = [registry for registry in registries if any(sources(registry.group))]
    every = [plugin for registry in some for plugin in plugins_of(registry)]
    return {each.package: each.version for each in every if each.package and not each.error}


def purpose_of(cls: type) -> str:
    """The sentence that the module of a class says of itself."""
    return (sys.modules[cls.__module__].__doc__ or "").split("\n", 1)[0]


def code_of(cls: type) -> list[Path]:
    """The Python files beside a class's own: its package's, or the one file of its module."""
    file = Path(inspect.getfile(cls))
    if "." in cls.__module__ or file.name == "__init__.py":
        return sorted(file.parent.rglob("*.py"), key=lambda path: (len(path.parts), path))
    return [file]


def sources(group: str) -> Iterator[tuple[Plugin, Callable[[], Any]]]:
    """The plug-ins of a group as they are declared, and what imports each."""
    for entry in sorted(_entry_points().select(group=group)):
        package, version = (entry.dist.name, entry.dist.version) if entry.dist else (entry.name, "")
        yield Plugin(group, entry.value, package, version), entry.load
    setting, modules = _state.modules.get(group, ("", ()))
    for name in modules:
        yield Plugin(group, name, setting=setting), partial(importlib.import_module, name)


def groups_declared() -> dict[str, list[str]]:
    """The groups of Earnest that installed packages name, each with these packages."""
    groups: dict[str, list[str]] = {}
    every = _entry_points()
    for group in every.groups:
        if group.startswith(GROUPS):
            names = [entry.dist.name if entry.dist else "" for entry in every.select(group=group)]
            groups[group] = sorted(set(names))
    return groups


def _entry_points() -> Any:  # Python 3.11 has another type than 3.12
    """Those of all installed packages; none where a package has a file that cannot be read."""
    try:
        return importlib.metadata.entry_points()
    except Exception:
        log.exception("The entry points of installed packages cannot be read")
        return importlib.metadata.EntryPoints(())


@cache
def _packages() -> frozenset[str]:
    """The top packages of all plug-ins."""
    return frozenset(p.top for group in groups_declared() for p, _ in sources(group))


def folders(name: str) -> dict[str, Path]:
    """The folders of this name in the packages of plug-ins, by package; nothing is imported."""
    every = {package: package_folder(package) / name for package in sorted(_packages())}
    return {package: folder for package, folder in every.items() if folder.is_dir()}


def package_folder(package: str) -> Path:
    """The folder of a top package, which is not imported; one that is not there for a module."""
    try:
        spec = find_spec(package)
    except Exception:  # a finder of another package may raise anything
        spec = None
    places = spec.submodule_search_locations if spec else None
    return Path(next(iter(places or ()), "no-such-folder"))


def file_problems(package: Path, *files: str) -> Iterator[str]:
    """Yield which static files of a plug-in's class are not in its package; "" names none."""
    for file in filter(None, files):
        folder, _, rest = file.partition("/")
        if folder != package.name or not (package / "static" / rest).is_file():
            yield f"{file} is not in the folder static of its package"


def problems_of(cls: type) -> list[str]:
    """What a class of a plug-in does against the contract; empty when all is well.

    The base class adds its own rules by a class method `contract_problems`.
    """
    key = getattr(cls, "key", None)
    if not isinstance(key, str) or not KEY.fullmatch(key):
        return [f"key {key!r} must be lower-case letters, digits and _, 40 at most"]
    rules: Callable[[], Sequence[str]] = getattr(cls, "contract_problems", list)
    return list(rules())


def _read(registry: Registry[Any], plugin: Plugin, get: Callable[[], Any]) -> Plugin:
    """The plug-in with its keys; with an error, and none of its classes, when anything is wrong."""
    before = {each: dict(each.declared) for each in registry.every}
    try:
        loaded = get()
        _check_version(plugin)
        classes = _classes(registry, plugin, loaded, before[registry])
        for key, cls in classes.items():
            if key in before[registry]:
                origin = origin_of(before[registry][key])
                owner = f" (of {origin})" if origin else ""
                raise Unfit(f"there is a {registry.what} {key} already{owner}; rename yours")
            if problems := problems_of(cls):
                raise Unfit(f"{cls.__name__}: {'; '.join(problems)}")
    except (Exception, SystemExit) as error:
        _restore(registry.every, before, keep_others=False)
        message = str(error) if isinstance(error, Unfit) else f"{type(error).__name__}: {error}"
        return dataclasses.replace(plugin, error=message)
    _restore(registry.every, before, keep_others=True)
    for key, cls in classes.items():
        registry[key] = cls
    return dataclasses.replace(plugin, keys=tuple(sorted(classes)))


def _check_version(plugin: Plugin) -> None:
    version = getattr(sys.modules.get(plugin.module), STATED, VERSION)
    if version != VERSION:
        raise Unfit(
            f"{STATED} is {version!r}, but this Earnest reads plug-ins of version {VERSION}; "
            "install the version of the package for it"
        )


def _classes(
    registry: Registry[Any], plugin: Plugin, loaded: Any, before: Mapping[str, type]
) -> dict[str, type]:
    """The classes that a plug-in brings, by key: of its module's names and those just declared."""
    base = f"{registry.base.__module__}.{registry.base.__qualname__}"
    if isinstance(loaded, ModuleType):
        declared = [cls for key, cls in registry.declared.items() if before.get(key) is not cls]
        names = [*vars(loaded).values(), *declared]
        found = [each for each in names if _is_own(each, registry) and _is_from(each, plugin)]
        if not found:
            raise Unfit(f"it brings no {registry.what}: a subclass of {base} with a key")
    elif _is_own(loaded, registry):
        found = [loaded]
    else:
        raise Unfit(f"{plugin.target} is no subclass of {base} with a key")
    classes: dict[str, type] = {}
    for cls in found:
        if classes.setdefault(cls.key, cls) is not cls:
            raise Unfit(f"two of its classes have the key {cls.key}; rename one")
    return classes


def _is_own(value: Any, registry: Registry[Any]) -> bool:
    """Whether a value is a class with a key for this registry, and not one of Earnest."""
    is_subclass = isinstance(value, type) and issubclass(value, registry.base)
    return is_subclass and bool(value.__dict__.get("key")) and _is_foreign(value)


def _is_from(cls: type, plugin: Plugin) -> bool:
    return cls.__module__.partition(".")[0] == plugin.top


def _is_foreign(cls: type) -> bool:
    return cls.__module__.partition(".")[0] not in EARNEST


def _restore(
    every: Sequence[Registry[Any]],
    before: Mapping[Registry[Any], Mapping[str, type]],
    *,
    keep_others: bool,
) -> None:
    """Take back what other packages declared since; what Earnest's own files declared stays.

    ``keep_others``: classes of registries that have no group of entry points stay, too.
    """
    for registry in every:
        classes = before.get(registry, {})  # some may be new
        if keep_others and not registry.group:
            continue
        for key, cls in list(registry.declared.items()):
            if classes.get(key) is not cls and _is_foreign(cls):
                del registry[key]
                if key in classes:
                    registry[key] = classes[key]
