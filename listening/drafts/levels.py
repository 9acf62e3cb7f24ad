"""What the clips of a draft are like, and what one loudness and one rate would change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import TypeGuard

from listening import audio
from listening.audio import gain_for
from listening.drafts.files import Facts
from listening.drafts.folder import Rows
from listening.studies.sound_findings import MeasuredClip

NAMED = 5


@dataclass(frozen=True)
class SystemLevels:
    """Of the clips of one system."""

    rates: tuple[int, ...]
    lufs: float | None  # medians
    seconds: float | None


@dataclass(frozen=True)
class Change:
    """What one loudness would do to the clips."""

    least_db: float
    most_db: float
    held: tuple[str, ...]  # files whose peaks keep them softer than the target
    unmeasured: tuple[str, ...]  # too quiet to measure: they stay as they are


def by_system(rows: Rows, facts: Mapping[str, Facts]) -> dict[str, SystemLevels]:
    levels = {}
    for system in dict.fromkeys(row["condition"] for row in rows):
        own = [facts[row["file"]] for row in rows if row["condition"] == system]
        own = [each for each in own if "sample_rate_hz" in each]
        loud = [each["loudness_lufs"] for each in own if each["loudness_lufs"] is not None]
        levels[system] = SystemLevels(
            tuple(sorted({each["sample_rate_hz"] for each in own})),
            median(loud) if loud else None,
            median(each["duration_s"] for each in own) if own else None,
        )
    return levels


def unusable(facts: Mapping[str, Facts]) -> list[tuple[str, str]]:
    """Files of the table that hold no sound that can be served, and why."""
    return [(name, each["problem"]) for name, each in facts.items() if "problem" in each]


def change_to(target_lufs: object, facts: Mapping[str, Facts]) -> Change | None:
    """None where there is no target, or no clip."""
    known = {name: each for name, each in facts.items() if "sample_rate_hz" in each}
    if not is_number(target_lufs) or not known:
        return None
    gains = {name: gain_of(target_lufs, each) for name, each in known.items()}
    loud = {
        n: each["loudness_lufs"] for n, each in known.items() if each["loudness_lufs"] is not None
    }
    held = [n for n in loud if gains[n] < target_lufs - loud[n] - 0.1]
    return Change(
        min(gains.values()),
        max(gains.values()),
        tuple(held),
        tuple(name for name in known if name not in loud),
    )


def is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def gain_of(target_lufs: float, facts: Facts) -> float:
    return gain_for(audio.Level(facts["loudness_lufs"], facts["peak_dbfs"]), float(target_lufs))


def measured(rows: Rows, facts: Mapping[str, Facts], target_lufs: object) -> list[MeasuredClip]:
    """The clips of the table whose sound is known, with the gains that they will get."""
    known = ((row["stimulus"], facts[row["file"]]) for row in rows)
    return [
        MeasuredClip(
            name, audio.Facts(**each), gain_of(target_lufs, each) if is_number(target_lufs) else 0.0
        )
        for name, each in known
        if "sample_rate_hz" in each
    ]


def resampled(rate_hz: object, facts: Mapping[str, Facts]) -> int:
    """How many clips another rate is made of."""
    known = [each["sample_rate_hz"] for each in facts.values() if "sample_rate_hz" in each]
    return sum(each != rate_hz for each in known) if isinstance(rate_hz, int) else 0
