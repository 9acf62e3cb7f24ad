"""Options that remember what a method asked of them, so that those it does not use are named."""

from __future__ import annotations

from typing import Any


class WatchedOptions(dict[str, Any]):
    """Options that remember what was asked of them, so that unused ones can be named."""

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        self.asked: dict[str, None] = {}

    def __getitem__(self, key: str) -> Any:
        self.asked[key] = None
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.asked[key] = None
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.asked[str(key)] = None
        return super().__contains__(key)


class Layered(dict[str, Any]):
    """A criterion's own options over those of its task; each notes what was asked of it."""

    def __init__(self, own: WatchedOptions, shared: WatchedOptions) -> None:
        super().__init__({**shared, **own})
        self.layers = (own, shared)

    def __getitem__(self, key: str) -> Any:
        return self.get(key) if key in self else super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        values = [layer.get(key) for layer in self.layers if key in layer]
        return values[0] if values else default

    def __contains__(self, key: object) -> bool:
        return any(layer.__contains__(key) for layer in self.layers)
