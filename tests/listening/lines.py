"""Hand-made manifests of lines: paragraphs, dialogues, and systems that speak them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from listening.design.settings import Derived, Recipe, derive
from listening.design.studyfile import ConditionEntry, ItemEntry, StimulusEntry, StudyFile

PAPER = ["Ri", "Ti", "Rp", "Tp", "R1R1", "R1T1", "T1T1", "Text1T1", "T2T1", "T1T2"]
CONDITIONS = (
    ConditionEntry("human", "A person", "human", "ada", "reference", {"studio": "a"}),
    ConditionEntry("tts", "Our voice", "tts", "v1"),
    ConditionEntry("old", "The old voice", "old", "v0", "anchor"),
)


def paragraph(key: str, count: int, speakers: str = "n", start: int = 1) -> list[ItemEntry]:
    """Lines key-1, key-2 … whose speakers take turns."""
    return [
        ItemEntry(
            key=f"{key}-{n}",
            text=f"Text {n} of {key}.",
            dimension="news",
            paragraph=key,
            position=n,
            speaker=speakers[k % len(speakers)],
            language="en",
            split="test",
        )
        for k, n in enumerate(range(start, start + count))
    ]


def manifest(
    items: Sequence[ItemEntry],
    settings: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    conditions: Sequence[ConditionEntry] = CONDITIONS[:2],
    without: Sequence[tuple[str, str]] = (),
) -> StudyFile:
    """A study in which every condition speaks every line, except those in `without`."""
    tables = [settings] if isinstance(settings, Mapping) else settings
    full = {"real": "human", "synthetic": ["tts"], "windows": "all", "gap_s": 0.3}
    return StudyFile(
        key="lines",
        title="Lines",
        conditions=tuple(conditions),
        items=tuple(items),
        stimuli=tuple(
            StimulusEntry(f"{c.key}/{i.key}", c.key, i.key, f"audio/{c.key}_{i.key}.flac")
            for c in conditions
            for i in items
            if (c.key, i.key) not in without
        ),
        settings=tuple({**full, **table} for table in tables),
    )


def made(*args: Any, **kwargs: Any) -> Derived:
    """What the settings make of a manifest without mistakes."""
    derived = derive(manifest(*args, **kwargs))
    assert derived.mistakes == ()
    return derived


def cells(derived: Derived, condition: str) -> list[Recipe]:
    return [recipe for recipe in derived.stimuli if recipe.entry.condition == condition]


def heard(recipe: Recipe) -> tuple[list[str], list[str]]:
    """Keys of the stimuli of context and rated part; for lines to read, their texts in quotes."""
    both: dict[str, list[str]] = {"context": [], "rated": []}
    for line in recipe.lines:
        both[line.role].append(line.stimulus or f"“{line.text}”")
    return both["context"], both["rated"]


def at(items: Sequence[ItemEntry], place: int, **fields: Any) -> list[ItemEntry]:
    """The items, one of them changed."""
    return [replace(item, **fields) if n == place else item for n, item in enumerate(items)]
