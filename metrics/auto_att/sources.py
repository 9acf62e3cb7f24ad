"""Ratings and clips as Auto-ATT reads them: from a study, or from CSV files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from listening.common.spreadsheets import TableError, located, read_table
from metrics.core import decoding

NEEDED = ("stimulus", "rater", "label")
TRAINING = "training"  # stands in the column trap of training trials


class DatasetError(ValueError):
    """Ratings or files from which no dataset can be made; the message says what to change."""


@dataclass(frozen=True)
class Rating:
    """One label that one rater gave to one clip."""

    clip: str
    rater: str
    label: str
    method: str = ""
    criterion: str = ""
    set: str = ""  # session and block: the clips that a rater's traps answer for
    trap: str = ""
    trap_passed: bool | None = None
    review: str = ""


@dataclass(frozen=True)
class Source:
    """One audio file and what it is."""

    clip: str
    path: str
    sha256: str
    system: str = ""
    voice: str = ""
    item: str = ""
    dimension: str = ""
    trap: str = ""  # "human" or "flawed" for the clips with a known answer


def from_study(study: str) -> tuple[list[Rating], list[Source]]:
    """A study's ratings and clips, traps included. Needs the database."""
    from listening.selectors import bring_audio, rating_rows, stimulus_rows

    rows = list(rating_rows(study))
    by_stimulus = {row["stimulus"]: row for row in rows if row["trap"] != TRAINING}
    sources = []
    for row in stimulus_rows(study):
        rated = by_stimulus.get(row["stimulus"])
        kind = (rated["trap"] if rated else "not played yet") if row["role"] == "trap" else ""
        sources.append(
            Source(
                clip=row["stimulus"],
                path=row["path"],
                sha256=row["sha256"],
                system=row["system"] or row["condition"],
                voice=row["voice"] or row["condition"],
                item=row["item"],
                dimension=rated["dimension"] if rated else "",
                trap=kind,
            )
        )
    bring_audio(source.path for source in sources)
    return [rating_of(row) for row in rows], sources


def from_csv(ratings: Path | str, manifest: Path | str) -> tuple[list[Rating], list[Source]]:
    """Ratings and clips of two CSV files (UTF-8, header; gzip when the name ends in .gz).

    ``ratings`` has the columns of a study's ratings.csv; needed are stimulus, rater and label.
    ``manifest`` has one line per clip: stimulus and path (or file; from the manifest's folder),
    and, where the ratings do not tell them: system, voice, dimension, trap. Raises DatasetError.
    """
    rows = list(_table(Path(ratings), NEEDED))
    by_stimulus = {row["stimulus"]: row for row in rows if row.get("trap", "") != TRAINING}
    sources = []
    for row in _table(Path(manifest), ("stimulus",)):
        known = {**by_stimulus.get(row["stimulus"], {}), **{k: v for k, v in row.items() if v}}
        place = known.get("path") or known.get("file")
        if not place:
            raise DatasetError(f"{manifest}: {row['stimulus']} has no path; add a column path")
        path = Path(manifest).parent / place
        condition = known.get("condition", "")
        sources.append(
            Source(
                clip=row["stimulus"],
                path=str(path),
                sha256=decoding.file_sha256(path) if path.is_file() else "",
                system=known.get("system") or condition,
                voice=known.get("voice") or condition,
                item=known.get("item", ""),
                dimension=known.get("dimension", ""),
                trap=known.get("trap", ""),
            )
        )
    return [rating_of(row) for row in rows], sources


def rating_of(row: Mapping[str, Any]) -> Rating:
    """The rating of a plain row (RatingRow), from the database or from a file's text."""
    session, block = str(row.get("session", "")), str(row.get("block", ""))
    passed = {"true": True, "false": False}.get(str(row.get("trap_passed", "")).lower())
    return Rating(
        clip=str(row["stimulus"]),
        rater=str(row["rater"]),
        label=str(row["label"]),
        method=str(row.get("method", "")),
        criterion=str(row.get("criterion", "")),
        set=f"{session}/{block}" if block else "",
        trap=str(row.get("trap", "")),
        trap_passed=passed,
        review=str(row.get("review", "")),
    )


def _table(path: Path, needed: Iterable[str]) -> Iterator[dict[str, str]]:
    try:
        table = read_table(path, short_rows=True)
    except TableError as error:
        raise DatasetError("\n".join(located(path, line) for line in error.problems)) from None
    absent = [name for name in needed if name not in table.layout.names]
    if absent:
        raise DatasetError(f"{path}: no column {', '.join(absent)}")
    for _, row in table.records():
        yield {name: value.strip() for name, value in row.items() if name}
