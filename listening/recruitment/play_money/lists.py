"""Lists in pages: by page and page_size, or by limit and offset; past the last page is a 404."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from listening.recruitment.play_money.state import ApiError, Json, State

USUAL = 20


def paged(state: State, path: str, query: dict[str, str], entries: Sequence[Json]) -> Json:
    base = f"{state.links['api']}/api/v1{path}"
    if "page" not in query and ("limit" in query or "offset" in query):
        return _by_offset(state, base, query, entries)
    size = min(_positive(query, "page_size", USUAL), state.setting("max_page_size"))
    page, count = _positive(query, "page", 1), len(entries)
    last = max(1, -(-count // size))
    if page > last:
        raise ApiError(404, "Invalid page.")

    def link(number: int | None) -> str | None:
        asked = {**query, "page": str(number), "page_size": str(size)}
        return None if number is None else f"{base}?{urlencode(asked)}"

    following = page + 1 if page < last else None
    links = (page, following, page - 1 if page > 1 else None, last)
    return _envelope(entries[(page - 1) * size : page * size], count, [link(n) for n in links])


def _by_offset(state: State, base: str, query: dict[str, str], entries: Sequence[Json]) -> Json:
    size = min(_positive(query, "limit", USUAL), state.setting("max_page_size"))
    offset, count = _positive(query, "offset", 0, least=0), len(entries)

    def link(number: int | None) -> str | None:
        asked = {**query, "limit": str(size), "offset": str(number)}
        return None if number is None else f"{base}?{urlencode(asked)}"

    following = offset + size if offset + size < count else None
    before = max(0, offset - size) if offset else None
    last = max(0, (count - 1) // size * size)
    links = [link(n) for n in (offset, following, before, last)]
    return _envelope(entries[offset : offset + size], count, links)


def _positive(query: dict[str, str], name: str, usual: int, least: int = 1) -> int:
    text = query.get(name, str(usual))
    if not text.isdigit() or int(text) < least:
        raise ApiError(404 if name == "page" else 400, f"Invalid {name}.")
    return int(text)


def _envelope(results: Sequence[Json], count: int, hrefs: list[str | None]) -> Json:
    titles = {"self": "Current", "next": "Next", "previous": "Previous", "last": "Last"}
    links: dict[str, Any] = {
        name: {"href": href, "title": title}
        for (name, title), href in zip(titles.items(), hrefs, strict=True)
    }
    return {"results": list(results), "_links": links, "meta": {"count": count}}
