"""Fields that two people change at once: what does not collide is merged, the rest is asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from typing import Any

from listening.design.draft_fields import field_value, put
from listening.design.draft_toml import Table
from listening.drafts.folder import Rows, change, table_of
from listening.drafts.journal import changed_since, who_changed
from listening.models import Draft


@dataclass(frozen=True)
class Theirs:
    """What somebody else wrote into a field."""

    field: str
    value: Any  # as the page shows it
    by: str


@dataclass(frozen=True)
class Merged:
    """After saving: fields that others changed meanwhile, and those where both did."""

    theirs: list[Theirs] = field(default_factory=list)
    collisions: list[Theirs] = field(default_factory=list)  # of which nothing was saved

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def save_fields(
    draft: Draft, changes: Mapping[str, Any], seen: int, over: Collection[str] | None = ()
) -> Merged:
    """Puts changed fields in, made on the revision `seen`. Those that were changed since stay as
    they are and are returned; those of `over` (None: all) are overwritten knowingly."""
    merged = Merged()
    saved: list[str] = []

    def make(top: Table, rows: Rows) -> None:
        journal = Draft.objects.values_list("changes", flat=True).get(pk=draft.pk)
        for name, value in changes.items():
            by = None if over is None or name in over else who_changed(journal, name, seen)
            if by is not None and _differs(top, name, value):
                merged.collisions.append(Theirs(name, field_value(top, name), by))
                continue
            put(top, name, value)
            saved.append(name)
        merged.theirs.extend(_others(top, journal, seen, leave=changes))

    change(draft, make, seen, anyway=True, fields=saved)
    return merged


def news(draft: Draft, seen: int) -> Merged:
    """What was changed after the revision that a page shows."""
    return Merged(_others(table_of(draft), draft.changes, seen))


def _differs(top: Table, name: str, value: Any) -> bool:
    tried = deepcopy(top)
    put(tried, name, value)
    return bool(field_value(tried, name) != field_value(top, name))


def _others(
    top: Table, journal: Mapping[str, Any], seen: int, leave: Collection[str] = ()
) -> list[Theirs]:
    since = changed_since(journal, seen)
    return [
        Theirs(name, field_value(top, name), by) for name, by in since.items() if name not in leave
    ]
