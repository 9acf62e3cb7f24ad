"""Which places of study.toml were changed when and by whom, so that two people can edit a draft."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Journal = Mapping[str, Any]  # place -> [revision, user name] of its last change


def changed_places(before: Any, after: Any, place: str = "") -> Iterator[str]:
    """Each place, like tasks.0.title, that differs; a list of another length is one place."""
    if isinstance(before, dict | None) and isinstance(after, dict | None):
        old, new = before or {}, after or {}
        for name in {**old, **new}:
            inside = f"{place}.{name}" if place else name
            yield from changed_places(old.get(name), new.get(name), inside)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for n, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from changed_places(old, new, f"{place}.{n}")
    elif before != after:
        yield place


def add_to_journal(
    journal: Journal, places: Iterable[str], revision: int, by: str
) -> dict[str, Any]:
    """The journal with these changes; what lay inside a place that changed as a whole goes."""
    changed = list(places)
    entries = {k: v for k, v in journal.items() if not any(_inside(k, p) for p in changed)}
    return entries | {place: [revision, by] for place in changed}


def changed_since(journal: Journal, revision: int) -> dict[str, str]:
    """Place -> who changed it after that revision."""
    return {place: by for place, (at, by) in journal.items() if at > revision}


def who_changed(journal: Journal, place: str, revision: int) -> str | None:
    """Who changed this place, a part of it or what it lies in after that revision."""
    for other, by in changed_since(journal, revision).items():
        if other == place or _inside(other, place) or _inside(place, other):
            return by
    return None


def last_by(journal: Journal) -> str:
    """Who made the newest change; empty where nobody has made one."""
    return str(max(journal.values(), default=[0, ""])[1])


def _inside(place: str, other: str) -> bool:
    return place.startswith(f"{other}.")
