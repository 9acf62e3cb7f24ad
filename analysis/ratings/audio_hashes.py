"""Which audio each stimulus is: SHA-256 by stimulus, of a study folder or a table of hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path

from analysis.ratings.problems import RatingsError, some
from listening.common.spreadsheets import TableError, clean_name, located, read_table

STIMULI = "stimuli.csv"


def audio_hashes(place: str | Path, stimuli: Collection[str]) -> dict[str, str]:
    """SHA-256 (hex) of each of these stimuli's files, as far as the place knows them.

    A folder has stimuli.csv with the columns stimulus and file; a CSV has stimulus and sha256, such
    as the scores.csv of an export. Raises RatingsError.
    """
    place = Path(place)
    table = place / STIMULI if place.is_dir() else place
    wanted = "file" if place.is_dir() else "sha256"
    try:
        read = read_table(table, short_rows=True)
    except TableError as error:
        raise RatingsError([located(table, line) for line in error.problems]) from None
    absent = [name for name in ("stimulus", wanted) if name not in read.layout.names]
    if absent:
        there = ", ".join(read.layout.names)
        raise RatingsError([f"{table}: no column {', '.join(absent)}; it has {there}"])
    rows = ((clean_name(row["stimulus"]), row[wanted].strip()) for _, row in read.records())
    named = {name: text for name, text in rows if name in stimuli}
    if wanted == "sha256":
        return {name: text.lower() for name, text in named.items() if text}
    gone = [file for file in named.values() if not (place / file).is_file()]
    if gone:
        raise RatingsError(
            [f"{place}: there is no {some(gone)}; put the files of stimuli.csv there"]
        )
    return {name: _hashed(place / file) for name, file in named.items()}


def _hashed(path: Path) -> str:
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
