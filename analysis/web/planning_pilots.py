"""Whose ratings tell a plan how much scores vary: this study's, or an earlier version's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.web.planning_jobs import RUNNING, State, pilot_state, start_pilot
from listening.selectors import EarlierVersion, TaskPlan, earlier_with, ratings_state, task_plans

PILOT = "pilot:"


@dataclass(frozen=True)
class KnownPilot:
    """Components that were estimated: their value in the form, its words, and the estimates."""

    value: str
    words: str
    row: Mapping[str, Any]


@dataclass(frozen=True)
class VersionBefore:
    """The newest earlier version with ratings, and its components as far as they are known."""

    key: str
    version: int
    pilot: State | None

    @property
    def waits(self) -> bool:
        return bool(self.pilot and self.pilot["state"] == RUNNING)

    def plan_of(self, task: TaskPlan | None) -> TaskPlan | None:
        """The plan of the same task in that version."""
        plans = task_plans(self.key)
        same = [plan for plan in plans if task and plan["task"] == task["task"]]
        return next(iter(same or plans), None)


def version_before(key: str, user: Any) -> VersionBefore | None:
    """The version whose ratings are the pilot of this one; its components are estimated unasked.

    Only where they may be analysed by who looks: what is estimated says something of its ratings.
    """
    for each in earlier_with(key, user, "analyse"):
        if ratings_state(each["key"])["ratings"]:
            return _asked(each)
    return None


def _asked(each: EarlierVersion) -> VersionBefore:
    if pilot_state(each["key"]) is None:
        start_pilot(each["key"])
    return VersionBefore(each["key"], each["version"], pilot_state(each["key"]))


def known_pilots(pilot: State | None, before: VersionBefore | None) -> list[KnownPilot]:
    """The estimates there are; those of an earlier version first where this study has none."""
    own = [
        KnownPilot(f"{PILOT}{n}", f"This study: {row['title']}", row)
        for n, row in enumerate(_rows(pilot))
    ]
    if before is None:
        return own
    name = f"Version {before.version}"
    return own + [
        KnownPilot(f"{PILOT}v{before.version}:{n}", f"{name}: {row['title']}", row)
        for n, row in enumerate(_rows(before.pilot))
    ]


def _rows(pilot: State | None) -> list[dict[str, Any]]:
    done = pilot if pilot and "pilots" in pilot else (pilot or {}).get("before") or {}
    rows: list[dict[str, Any]] = done.get("pilots", [])
    return rows
