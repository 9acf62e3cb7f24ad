"""Classes found by their keys, one file each: methods, checks, metrics, rules and others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from importlib import import_module
from pkgutil import iter_modules
from threading import RLock
from typing import Any, ClassVar, TypeVar

from listening.common import plugins

T = TypeVar("T")


class Registry(MutableMapping[str, type[T]]):
    """The classes of one kind by their ``key``, in order; who reads it finds all of a package.

    The base class hands each subclass to `add` when it is defined. The files of ``package`` are
    imported when somebody first reads, so that a new class is one new file and no list names it.
    ``what`` names the kind in messages, ``order`` sorts (by key, where there is none). ``group``
    is that of the entry points by which other packages add classes, after those of the package
    (`listening.common.plugins`).
    """

    every: ClassVar[list[Registry[Any]]] = []  # all registries, of every kind
    base: type[T]  # the class that the registry is an attribute of

    def __init__(
        self,
        what: str,
        package: str,
        order: Callable[[type[T]], Any] | None = None,
        group: str = "",
    ) -> None:
        self.what, self.package, self.order, self.group = what, package, order, group
        Registry.every.append(self)
        self.declared: dict[str, type[T]] = {}  # so far: of files that were imported
        self._sorted: list[str] | None = None  # its keys in order, until one comes or goes
        self._lock, self._state = RLock(), "unread"

    def __set_name__(self, owner: type[T], name: str) -> None:
        self.base = owner

    __hash__ = object.__hash__  # by identity: a registry grows

    def add(self, cls: type[T]) -> bool:
        """Whether the class has a key of its own, and is registered; ValueError if it is taken."""
        key = cls.__dict__.get("key")
        if not key:
            return False
        other = self.declared.get(key)
        if other is not None and other.__qualname__ != cls.__qualname__:
            raise ValueError(
                f"two {self.what}s have the key {key}: {other.__qualname__} and "
                f"{cls.__qualname__}; rename one"
            )
        self[key] = cls
        return True

    def _all(self) -> dict[str, type[T]]:
        """All of them; a file that reads while it is imported gets those before it."""
        if self._state != "read":
            with self._lock:
                if self._state == "unread":
                    self._state = "reading"
                    try:
                        for module in iter_modules(import_module(self.package).__path__):
                            import_module(f"{self.package}.{module.name}")
                        if self.group:
                            plugins.load(self)
                    except BaseException:
                        self._state = "unread"
                        raise
                    self._state = "read"
        return self.declared

    def __getitem__(self, key: str) -> type[T]:
        return self._all()[key]

    def __iter__(self) -> Iterator[str]:
        known, order = self._all(), self.order
        keys = self._sorted
        if keys is None or len(keys) != len(known):
            keys = sorted(known, key=lambda key: (order(known[key]) if order else 0, key))
            self._sorted = keys
        return iter(keys)

    def __len__(self) -> int:
        return len(self._all())

    def __setitem__(self, key: str, cls: type[T]) -> None:
        self.declared[key] = cls
        self._sorted = None

    def __delitem__(self, key: str) -> None:
        del self.declared[key]
        self._sorted = None


class Registered:
    """A base class of classes that add themselves to its ``registry`` when they are defined."""

    registry: ClassVar[Registry[Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.registry.add(cls)
