"""What was made last, kept in memory up to so many bytes; safe to use from threads."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """What was used longest ago goes first."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes, self.bytes = most_bytes, 0
        self.kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self.lock = Lock()

    def get(self, key: K) -> V | None:
        with self.lock:
            if key not in self.kept:
                return None
            self.kept.move_to_end(key)
            return self.kept[key][0]

    def add(self, key: K, value: V, size_bytes: int) -> None:
        with self.lock:
            if key in self.kept:  # another thread made it meanwhile
                return
            self.kept[key] = value, size_bytes
            self.bytes += size_bytes
            while self.bytes > self.most_bytes:
                _, (_, size) = self.kept.popitem(last=False)
                self.bytes -= size
