"""The plain link, which names nobody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from listening.design.providers.provider import Mistake, Provider

if TYPE_CHECKING:
    from listening.design.sources import Source


class Link(Provider):
    key = "link"
    title = "Plain link"
    order = 1
    found_without_name = True

    @classmethod
    def mistakes(cls, source: Source) -> Iterator[Mistake]:
        if source.participant or source.own_ids or source.signature:
            remedy = 'Use kind = "panel" for your own ids, else "other".'
            yield Mistake("kind", "A plain link carries no ids.", remedy)
