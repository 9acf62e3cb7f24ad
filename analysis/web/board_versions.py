"""Dated versions of a leaderboard: what it showed, with a digest, and which systems came and left.

A version is kept whenever other systems or studies are on the leaderboard than before, and when
somebody asks for one. Its file goes where a rater in it withdraws or a study in it is deleted; its
date, systems and digest stay.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from analysis.models import Leaderboard, LeaderboardVersion
from analysis.report.content import Content


@dataclass(frozen=True)
class Change:
    """A version beside the one before it."""

    version: LeaderboardVersion
    entered: Sequence[str]
    left: Sequence[str]


@dataclass(frozen=True)
class Entered:
    """A system that was on the leaderboard at some time."""

    system: str
    first: datetime
    last: datetime | None  # the first version without it; None: it is there


KEY = "leaderboard"  # with which the keys of tables of ranks begin


def systems_of(content: Content) -> list[str]:
    """The systems that a leaderboard ranks, in alphabetical order."""
    tables = (table for table in content.tables if table.key.startswith(KEY))
    return sorted({str(row["system"]) for table in tables for row in table.rows})


def keep_version(board: Leaderboard, content: Content, note: str = "") -> LeaderboardVersion | None:
    """The version, if it is a new one: other systems, other studies, or ``note`` says why.

    The caller holds the leaderboard's row and has stored the content.
    """
    systems, keys = systems_of(content), board.keys
    last = board.versions.first()
    if last is None and not systems:
        return None
    if last and not note and (last.systems, last.studies) == (systems, keys):
        return None
    number = last.number + 1 if last else 1
    taken_at = timezone.now()
    text = json.dumps(
        {
            "leaderboard": board.title,
            "version": number,
            "taken_at": taken_at.isoformat(timespec="seconds"),
            "studies": keys,
            "systems": systems,
            "note": note,
            "content": content.plain(),
        },
        ensure_ascii=False,
        indent=1,
    )
    return LeaderboardVersion.objects.create(
        board=board,
        number=number,
        taken_at=taken_at,
        studies=keys,
        systems=systems,
        note=note,
        text=text,
        digest=hashlib.sha256(text.encode()).hexdigest(),
    )


def forget_versions(study_key: str) -> None:
    """Deletes the files of versions with this study: ratings in them, or the study, are gone."""
    with_study = LeaderboardVersion.objects.filter(studies__contains=[study_key])
    with_study.exclude(text="").update(text="", deleted_at=timezone.now())


def changes(board: Leaderboard) -> list[Change]:
    """All versions, the newest first, each with the systems that came and left."""
    return list(_changes(list(board.versions.order_by("number"))))[::-1]


def _changes(versions: Sequence[LeaderboardVersion]) -> Iterator[Change]:
    before: list[str] = []
    for version in versions:
        entered = [system for system in version.systems if system not in before]
        left = [system for system in before if system not in version.systems]
        yield Change(version, entered, left)
        before = version.systems


def ever_entered(changes: Sequence[Change]) -> list[Entered]:
    """Every system that any version has, those that left too, in alphabetical order."""
    first: dict[str, datetime] = {}
    last: dict[str, datetime | None] = {}
    for change in reversed(changes):
        for system in change.entered:
            first.setdefault(system, change.version.taken_at)
            last[system] = None
        last |= dict.fromkeys(change.left, change.version.taken_at)
    return [Entered(system, first[system], last[system]) for system in sorted(first)]
