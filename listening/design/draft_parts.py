"""Parts that a draft's pages add and take away: ways in, languages, tasks."""

from __future__ import annotations

import re
from typing import Any

from listening.design.draft_toml import Table
from listening.design.sources import KINDS

LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}")


def add_source(top: Table, kind: str) -> bool:
    """A way into the study, of a kind, called after it; whether there is such a kind."""
    if kind not in KINDS:
        return False
    sources: list[dict[str, Any]] = top.setdefault("sources", [])
    taken = {source.get("key") for source in sources}
    names = (kind, *(f"{kind}-{n}" for n in range(2, len(sources) + 3)))
    sources.append({"key": next(name for name in names if name not in taken), "kind": kind})
    return True


def remove_source(top: Table, key: str) -> bool:
    """Without any way in, the study is open by its link and by Prolific again."""
    sources = top.get("sources", [])
    left = [source for source in sources if source.get("key") != key]
    found = len(left) < len(sources)
    top["sources"] = left
    if not left:
        top.pop("sources")
    return found


def add_language(top: Table, tag: str) -> bool:
    """The study is offered in one language more; its words are still to be written."""
    study = top.setdefault("study", {})
    offered = study.setdefault("translations", {})
    tag = tag.strip()
    if not LANGUAGE_TAG.fullmatch(tag) or tag in offered or tag == study.get("language", "en"):
        return False
    offered[tag] = {}
    return True


def remove_language(top: Table, tag: str) -> bool:
    """With all that was written in it."""
    found = top.get("study", {}).get("translations", {}).pop(tag, None) is not None
    for task in top.get("tasks", []):
        task.get("translations", {}).pop(tag, None)
    return found


def remove_task(top: Table, place: str) -> bool:
    """The last one stays: a study asks something."""
    tasks = top.get("tasks", [])
    if len(tasks) < 2 or not place.isdecimal() or len(place) > 9:
        return False
    if int(place) >= len(tasks):
        return False
    del tasks[int(place)]
    return True
