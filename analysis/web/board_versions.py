"""Dated versions of a leaderboard: what it showed, with a digest, and which systems came and left.

A version is kept whenever other systems or studies are on the leaderboard than before, and when
somebody asks for one, with the answers behind it as far as they may be published. Its files go
where a rater in it withdraws or a study in it is deleted; its date, systems and digest stay.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.utils import timezone

from analysis.models import Leaderboard, LeaderboardVersion
from analysis.report.content import Content, content_from

if TYPE_CHECKING:
    from analysis.report.leaderboard.answers_file import AnswersFile


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
    note: str = ""  # of that version


@dataclass(frozen=True)
class NextVersion:
    """What would be in a version made now, beside the last one."""

    number: int
    entered: Sequence[str]
    left: Sequence[str]
    studies_entered: Sequence[str]
    studies_left: Sequence[str]
    answers: int
    answers_before: int | None  # None: there is no earlier version, or its file was deleted


KEY, STUDIES = "leaderboard", "studies"  # with which keys of tables begin


def systems_of(content: Content) -> list[str]:
    """The systems that a leaderboard ranks, in alphabetical order."""
    tables = (table for table in content.tables if table.key.startswith(KEY))
    return sorted({str(row["system"]) for table in tables for row in table.rows})


def is_new_version(board: Leaderboard, content: Content) -> bool:
    """Whether a version is due: other systems, other studies, or somebody asked for one."""
    last = board.versions.only("systems", "studies").first()
    systems = systems_of(content)
    if last is None or board.version_note:
        return bool(systems)
    return (last.systems, last.studies) != (systems, board.keys)


def withheld_studies(keys: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The studies whose answers may not be published, with why; and those with public audio."""
    from listening.selectors import study_terms

    withheld, with_audio = {}, []
    for key in keys:
        terms = study_terms(key)
        if not terms["ratings_licence"]:
            withheld[key] = "study.toml names no licence of the ratings (ratings_licence)"
        elif not terms["consent_covers_ratings"]:
            withheld[key] = "its consent text does not cover this (consent_covers_ratings)"
        if terms["audio_licence"]:
            with_audio.append(key)
    return withheld, with_audio


def next_version(board: Leaderboard, content: Content) -> NextVersion:
    """What a version made now would change."""
    last = board.versions.defer("answers").first()
    systems, keys = systems_of(content), board.keys
    before = last.systems if last else []
    studies = last.studies if last else []
    kept = content_from(json.loads(last.text)["content"]) if last and last.text else None
    return NextVersion(
        number=last.number + 1 if last else 1,
        entered=[system for system in systems if system not in before],
        left=[system for system in before if system not in systems],
        studies_entered=[key for key in keys if key not in studies],
        studies_left=[key for key in studies if key not in keys],
        answers=_answers_in(content),
        answers_before=_answers_in(kept) if kept else None,
    )


def _answers_in(content: Content) -> int:
    tables = (table for table in content.tables if table.key.startswith(STUDIES))
    return sum(int(row["ratings"]) for table in tables for row in table.rows)


def keep_version(
    board: Leaderboard, content: Content, answers: AnswersFile | None
) -> LeaderboardVersion:
    """Store a version with the answers behind it.

    The caller holds the leaderboard's row and has stored the content.
    """
    last = board.versions.only("number").first()
    number = last.number + 1 if last else 1
    taken_at = timezone.now()
    facts = answers.facts if answers else {"left_out": withheld_studies(board.keys)[0]}
    about = {
        "studies": board.keys,
        "systems": systems_of(content),
        "note": board.version_note,
    }
    text = json.dumps(
        {
            "leaderboard": board.title,
            "version": number,
            "taken_at": taken_at.isoformat(timespec="seconds"),
            **about,
            "answers": facts,
            "content": content.plain(),
        },
        ensure_ascii=False,
        indent=1,
    )
    return LeaderboardVersion.objects.create(
        board=board,
        number=number,
        taken_at=taken_at,
        **about,
        text=text,
        digest=hashlib.sha256(text.encode()).hexdigest(),
        answers=answers.packed if answers else None,
        answers_facts=facts,
    )


def forget_versions(study_key: str) -> None:
    """Deletes the files of versions with this study: ratings in them, or the study, are gone."""
    with_study = LeaderboardVersion.objects.filter(studies__contains=[study_key])
    kept = with_study.exclude(text="")
    kept.update(text="", answers=None, answers_facts={}, deleted_at=timezone.now())


def changes(board: Leaderboard) -> list[Change]:
    """All versions, the newest first, each with the systems that came and left."""
    versions = board.versions.order_by("number").defer("text", "answers")
    return list(_changes(list(versions)))[::-1]


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
    last: dict[str, tuple[datetime | None, str]] = {}
    for change in reversed(changes):
        for system in change.entered:
            first.setdefault(system, change.version.taken_at)
            last[system] = (None, "")
        last |= dict.fromkeys(change.left, (change.version.taken_at, change.version.note))
    return [Entered(system, first[system], *last[system]) for system in sorted(first)]
