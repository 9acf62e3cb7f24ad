"""Metric scores joined to ratings, and how: what was joined by, and what found no partner."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from analysis.ratings.metric_scores import NAMES
from analysis.ratings.problems import RatingsError, some
from listening.common.spreadsheets import (
    TableError,
    clean_name,
    decoded,
    json_records,
    located,
    raw_bytes,
    read_table,
)

NAMED = 3
BY_NAME = "by the names of stimuli"
BY_FILE = "by file names without folder or ending"
BY_AUDIO = "by their audio (SHA-256)"
WAYS = (BY_NAME, BY_FILE, BY_AUDIO)  # in the order in which they are tried


class Clip(NamedTuple):
    """A clip as a file of scores names it; what it does not say is empty."""

    stimulus: str
    file: str = ""
    sha256: str = ""

    @property
    def path(self) -> str:
        """What may be the name of its file."""
        return self.file or self.stimulus

    @property
    def parts(self) -> tuple[str, str]:
        """The name of its file without folder, then without its ending too."""
        return Path(self.path).name, Path(self.path).stem


class ClipMatch(NamedTuple):
    """A clip of the scores with the stimuli that it is, and by what; none: nothing was found."""

    clip: Clip
    way: str
    stimuli: Sequence[str]


def join_scores(
    scores: pd.DataFrame, stimuli: Iterable[str], hashes: Mapping[str, str] | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """The scores with stimuli named as the ratings name them, and notes on how.

    Each clip by its stimulus' name; else by its file's, where only one file is called so; else by
    its audio, where ``hashes`` (SHA-256 by stimulus) know it: its scores are those of every
    stimulus with that audio. Raises RatingsError where nothing is joined.
    """
    rated = {name for name in stimuli if name}
    columns = [name for name in ("stimulus", *NAMES) if name in scores]
    clips = [
        Clip(**dict(zip(columns, map(str, row), strict=True)))
        for row in scores[columns].drop_duplicates().itertuples(index=False)
    ]
    crowded = _ambiguous_stimuli(clips, rated)
    by_audio: dict[str, list[str]] = {}
    for name, sha256 in sorted((hashes or {}).items()):
        if name in rated:
            by_audio.setdefault(sha256, []).append(name)
    matches = [_match_clip(clip, rated, crowded, by_audio) for clip in clips]
    if rated and clips and not any(each.stimuli for each in matches):
        raise RatingsError([_nothing(rated, clips, crowded, hashes)])
    table, twice = _each_once(_rename_stimuli(scores, columns, matches))
    return table, [*_notes(matches, rated, crowded, hashes or {}), *twice]


def _match_clip(
    clip: Clip, rated: set[str], crowded: Mapping[str, int], by_audio: Mapping[str, list[str]]
) -> ClipMatch:
    if clip.stimulus in rated:
        return ClipMatch(clip, BY_NAME, [clip.stimulus])
    for part in clip.parts:
        if part in rated and part not in crowded:
            return ClipMatch(clip, BY_FILE, [part])
    same = by_audio.get(clip.sha256.lower(), [])
    return ClipMatch(clip, BY_AUDIO if same else "", same)


def _ambiguous_stimuli(clips: Iterable[Clip], rated: set[str]) -> dict[str, int]:
    """The stimuli that several files are called like, with how many: which one is meant is open."""
    claims: dict[str, set[str]] = {}
    for clip in clips:
        names = {clip.stimulus} if clip.stimulus in rated else set(clip.parts) & rated
        for name in names:
            claims.setdefault(name, set()).add(clip.path)
    return {name: len(paths) for name, paths in claims.items() if len(paths) > 1}


def _rename_stimuli(
    scores: pd.DataFrame, columns: list[str], matches: Sequence[ClipMatch]
) -> pd.DataFrame:
    """The table with a line per score and stimulus; what was not joined keeps its name."""
    names = {
        tuple(getattr(each.clip, name) for name in columns): each.stimuli or [each.clip.stimulus]
        for each in matches
    }
    keys = zip(*(scores[name].astype(str) for name in columns), strict=True)
    called = pd.Series([names[key] for key in keys], index=scores.index, dtype=object)
    table = scores.assign(stimulus=called).explode("stimulus", ignore_index=True)
    return table.astype({"stimulus": "str"}).drop(columns=list(NAMES), errors="ignore")


def _notes(
    matches: Sequence[ClipMatch],
    rated: set[str],
    crowded: Mapping[str, int],
    hashes: Mapping[str, str],
) -> Iterator[str]:
    scored: dict[str, set[str]] = {}
    for each in matches:
        scored.setdefault(each.way, set()).update(each.stimuli)
    for way in WAYS:
        if names := scored.get(way):
            yield f"scores are joined {way}: {len(names)} of {len(rated)} stimuli have some"
    if lacking := rated - set().union(*scored.values()):
        yield f"{len(lacking)} stimuli have no score: {_some(lacking)}"
    if unrated := {each.clip.stimulus for each in matches if not each.stimuli}:
        yield f"{len(unrated)} stimuli have scores and no rating: {_some(unrated)}"
    left = {part for each in matches if not each.stimuli for part in each.clip.parts} & set(crowded)
    if left:
        listing = [f"{name} ({crowded[name]} files)" for name in sorted(left)]
        yield (
            "ambiguous, and left out: several files are called like one stimulus: "
            f"{_some(listing)}; "
            "give the scores a column stimulus, or say by --audio which audio was rated"
        )
    if shared := {name for each in matches if len(each.stimuli) > 1 for name in each.stimuli}:
        yield f"{len(shared)} stimuli share audio, and with it its scores: {_some(shared)}"
    other = {
        name
        for each in matches
        for name in each.stimuli
        if each.clip.sha256 and hashes.get(name, each.clip.sha256) != each.clip.sha256.lower()
    }
    if other:
        yield (
            f"{len(other)} stimuli are joined by name, but other audio than theirs was scored: "
            f"{_some(other)}"
        )


def _each_once(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The scores without those that repeat another one of the same stimulus, and how many.

    Raises RatingsError where a stimulus has two values: none of them may be chosen here.
    """
    key = ["stimulus", "metric", "version"]
    once = table.drop_duplicates([*key, "value"])
    if (twice := once.duplicated(key)).any():
        names = _some({f"{row.stimulus} ({row.metric})" for row in once[twice].itertuples()})
        raise RatingsError(
            [f"{names}: several files of one stimulus have different scores; name the clips in the "
             "column stimulus, each once"]
        )  # fmt: skip
    again = len(table) - len(once)
    notes = [f"{again} scores repeat another score of the same stimulus and metric"] * bool(again)
    return once.reset_index(drop=True) if again else table, notes


def _nothing(
    rated: set[str],
    clips: Sequence[Clip],
    crowded: Mapping[str, int],
    hashes: Mapping[str, str] | None,
) -> str:
    if crowded:
        name = min(crowded)
        return (
            f"{crowded[name]} files of the scores are called like the stimulus {name}: which was "
            "rated is not known; name the clips in the column stimulus as the ratings do, or say "
            "by --audio which audio was rated"
        )
    theirs = {clip.stimulus for clip in clips}
    ours, other = (", ".join(sorted(names)[:NAMED]) for names in (rated, theirs))
    how = "" if hashes else ", or say by --audio which audio was rated"
    return (
        f"no stimulus of the scores is among those of the ratings: the ratings have {ours} "
        f"({len(rated)} in all), the scores {other} ({len(theirs)}); name the clips in the column "
        f"stimulus as the ratings do{how}"
    )


def _some(names: Iterable[str]) -> str:
    names = sorted(names)
    return ", ".join(names[:NAMED]) + (" …" if len(names) > NAMED else "")


def unread_files(path: str | Path) -> list[str]:
    """A note about files that `score_files` could not read: such a line names no metric."""
    if Path(path).suffix not in (".jsonl", ".json"):
        return []
    text, _ = decoded(raw_bytes(Path(path)))
    records = json_records(text) if '"metric": null' in text else ()
    names = {str(each.get("file")) for _, each in records if each.get("metric", "") is None}
    count = len(names)
    return [f"{count} files could not be read when they were scored: {_some(names)}"] * bool(count)


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
    missing = [file for file in named.values() if not (place / file).is_file()]
    if missing:
        raise RatingsError(
            [f"{place}: there is no {some(missing)}; put the files of stimuli.csv there"]
        )
    return {name: _file_hash(place / file) for name, file in named.items()}


def _file_hash(path: Path) -> str:
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
