"""Audio files named on a command line, in a folder, or in a manifest with what is known of them.

Several machines may score parts of the same files: every machine gets the same files or manifest
and its own number; nobody has to talk to anybody.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from listening.common.remote_files import ADDRESS
from listening.common.sound_files import is_system_file
from listening.common.speaker_turns import turns_of
from listening.common.spreadsheets import (
    TableError,
    clean_name,
    decoded,
    holds_json,
    json_records,
    located,
    raw_bytes,
    read_table,
)
from metrics.core import decoding
from metrics.core.decoding import escape_path
from metrics.core.metric import REFERENCE_AUDIO, Material
from metrics.core.vocalisations import TARGET, has_marks

TABLES = (".csv", ".jsonl")
COLUMNS = ("file", "stimulus", "condition", "item", "text", "language", "speaker", "turns", "run")
REFERENCES = ("reference", REFERENCE_AUDIO)  # a voice; a recording of the same words
KNOWN = (*COLUMNS, "transcript", *REFERENCES)
ELSEWHERE = (
    "is an address, and files of this machine are scored here: use score_dataset or earnest.score, "
    "or fetch_audio first"
)
MOST_KINDS = 5  # endings that are named


class InputError(ValueError):
    """Files or manifests that cannot be used; a line per problem, with its remedy."""


@dataclass(frozen=True)
class InputClip:
    """A file to be scored, with its names and its material."""

    path: str
    stimulus: str
    condition: str = ""
    item: str = ""
    material: Material = field(default_factory=Material)
    run: str = ""  # of the synthesis; empty: nobody said
    dimension: str = ""  # of a study's clip


def read_clips(places: Sequence[Path | str], notes: list[str] | None = None) -> list[InputClip]:
    """The clips of audio files, folders (with those inside) and manifests, in their order.

    A folder's clips have its subfolders as conditions. A manifest is CSV or JSONL with the column
    ``file`` (from the manifest's folder), any of `KNOWN`, and attributes under other names. Raises
    InputError with every problem at once. ``notes`` gets a line for what a folder holds beside
    clips, and for names that are no text.
    """
    clips: list[InputClip] = []
    problems: list[str] = []
    for name in map(str, places):
        place = Path(name)
        if ADDRESS.match(name):
            problems.append(f"{name} {ELSEWHERE}")
        elif place.is_dir():
            beside: list[str] = []
            inside = folder_clips(place, beside)
            if (
                not inside and place.suffix.lower() in decoding.SUFFIXES
            ):  # as among a folder's files
                inside = [InputClip(str(place), _name(place.stem))]
            if not inside:
                found = "".join(beside).removeprefix(f"{escape_path(place)}: ")
                what_to_do = f"{found}; save these as WAV or FLAC" if found else "name another one"
                problems.append(f"{place}: no audio files in this folder; {what_to_do}")
            elif notes is not None:
                notes += beside
            clips += inside
        elif place.suffix.lower() in TABLES:
            from_manifest, wrong = manifest_clips(place)
            clips, problems = clips + from_manifest, problems + wrong
        else:
            clips.append(InputClip(str(place), _name(place.stem)))
    if problems:
        raise InputError("\n".join(map(escape_path, problems)))
    if notes is not None and (
        odd := [clip for clip in clips if escape_path(clip.path) != clip.path]
    ):
        names = f"{len(odd)} names are" if len(odd) > 1 else "1 name is"
        notes.append(f"{names} no UTF-8, and written with \\x: {escape_path(odd[0].path)}")
    return clips


def folder_clips(folder: Path, notes: list[str] | None = None) -> list[InputClip]:
    """Every audio file in the folder and below, by name; the subfolder is the condition.

    What is called like audio and is no file (a folder, a pipe, a link to nothing) is a clip, too,
    and so is a folder that cannot be opened: reading it says what it is. ``notes`` gets a line for
    what is left out.
    """
    clips: list[InputClip] = []
    others: Counter[str] = Counter()
    paths, closed = everything_in(folder)
    for path in sorted({*paths, *closed}):
        named_audio = path.suffix.lower() in decoding.SUFFIXES
        if is_system_file(path.name):
            others["of macOS or Windows"] += path.is_file()
        elif path.name.startswith("."):
            others["hidden"] += path.is_file()
        elif path in closed:
            clips.append(InputClip(str(path), _name(path.relative_to(folder.parent))))
        elif named_audio:
            inside = path.relative_to(folder)
            condition = _name(inside.parent) if path.parent != folder else ""
            clips.append(InputClip(str(path), _name(inside.with_suffix("")), condition))
        elif path.is_file():
            others[escape_path(path.suffix.lower()) or "without an ending"] += 1
    if notes is not None and any(others.values()):
        kinds = ", ".join(f"{count} {kind}" for kind, count in others.most_common(MOST_KINDS))
        notes.append(
            f"{escape_path(folder)}: {sum(others.values())} other files are left out ({kinds})"
        )
    return clips


def _name(path: Path | str) -> str:
    """A clip's or condition's name by a path, in NFC: some file systems take letters apart."""
    return unicodedata.normalize("NFC", escape_path(path))


def everything_in(folder: Path) -> tuple[list[Path], list[Path]]:
    """All that lies in the folder and below, behind links too; and the folders nobody can open."""
    paths: list[Path] = []
    closed: list[Path] = []

    def unopened(error: OSError) -> None:
        closed.append(Path(error.filename))

    for name, folders, files in os.walk(folder, onerror=unopened, followlinks=True):
        place = Path(name)
        above = [up for up in place.parents if up.is_relative_to(folder)]
        if any(up.samefile(place) for up in above):  # a link back up has nothing new
            folders.clear()
        else:
            paths += [place / inside for inside in (*folders, *files)]
    return paths, closed


def manifest_clips(path: Path) -> tuple[list[InputClip], list[str]]:
    """The clips of a manifest, and what is wrong with it: file, row and remedy in a line each."""
    clips: list[InputClip] = []
    problems: list[str] = []
    seen: dict[str, str] = {}
    hashes: dict[str, str] = {}  # of references: many rows name the same one
    try:
        rows = list(table_rows(path))
    except InputError as error:
        return [], [str(error)]
    for where, row in rows:
        try:
            clip = _row_clip(path.parent, row, hashes)
        except (InputError, decoding.AudioError, ValueError) as error:
            problems.append(f"{where}: {error}")
            continue
        except OSError as error:  # a name too long, a folder that is not ours
            problems.append(f"{where}: the file cannot be looked for ({error.strerror})")
            continue
        if clip.stimulus in seen:
            problems.append(
                f"{where}: the stimulus {clip.stimulus!r} is at {seen[clip.stimulus]} already; "
                "give each row a name of its own in the column stimulus"
            )
        seen[clip.stimulus] = where.removeprefix(f"{path}, ")
        clips.append(clip)
    if not rows:
        problems.append(f"{path}: no rows; add one per audio file")
    return clips, problems


def table_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row of a table or of lines of JSON with where it is; blanks around cells removed.

    Raises InputError when the file cannot be read as that.
    """
    try:
        text, _ = decoded(raw_bytes(path))
        if path.suffix.lower() == ".jsonl" or holds_json(text):
            for number, row in json_records(text):
                where = f"{path}, line {number}"
                if not isinstance(row, dict):
                    raise InputError(f'{where}: must be a JSON object, such as {{"file": "a.wav"}}')
                yield where, {str(name).strip(): value for name, value in row.items()}
            return
        for number, cells in read_table(text, short_rows=True).records():
            yield f"{path}, row {number}", {n: c.strip() for n, c in cells.items() if n}
    except TableError as error:
        raise InputError("\n".join(located(path, line) for line in error.problems)) from None


def _row_clip(folder: Path, row: Mapping[str, Any], hashes: dict[str, str]) -> InputClip:
    file = _text(row.get("file"))
    if not file:
        raise InputError("names no file; fill the column file with a path from the manifest on")
    path = _file_there(folder, "file", file)
    references: dict[str, Any] = {}
    for column in REFERENCES:
        references |= _recording(folder, column, _text(row.get(column)), hashes)
    if (same := _text(row.get(REFERENCE_AUDIO))) and (folder / same).samefile(path):
        references = {k: v for k, v in references.items() if not k.startswith(REFERENCE_AUDIO)}
        references["is_reference_audio"] = True
    material = row_material(row, references)
    name = clean_name(_text(row.get("stimulus")) or str(Path(file).with_suffix("")))
    names = (clean_name(_text(row.get(column))) for column in ("condition", "item", "run"))
    condition, item, run = names
    return InputClip(str(path), name, condition, item, material, run)


def row_material(row: Mapping[str, Any], references: Mapping[str, Any]) -> Material:
    """What a row says of its clip; ``references`` are the fields of its recordings.

    Raises ValueError for turns that cannot be read.
    """
    cell = row.get("turns")
    turns = turns_of(cell if isinstance(cell, str) else json.dumps(cell) if cell else "")
    attributes = {n: _text(v) for n, v in row.items() if n not in KNOWN and _text(v)}
    if TARGET not in attributes and has_marks(_text(row.get("text"))):
        attributes[TARGET] = _text(row.get("text"))
    return Material(
        text=_text(row.get("transcript")) or _text(row.get("text")),
        language=_text(row.get("language")),
        speaker=_text(row.get("speaker")),
        turns=turns,
        attributes=attributes,
        **references,
    )


def _recording(folder: Path, column: str, name: str, hashes: dict[str, str]) -> dict[str, str]:
    """Material's path and hash of the recording that a column names; nothing when it is empty."""
    if not name:
        return {}
    path = _file_there(folder, column.replace("_", " "), name)
    if name not in hashes:
        hashes[name] = decoding.file_sha256(path)
    return {f"{column}_path": str(path), f"{column}_sha256": hashes[name]}


def _file_there(folder: Path, what: str, name: str) -> Path:
    """The file that a row names; InputError where there is none."""
    if ADDRESS.match(name):
        raise InputError(f"{name} {ELSEWHERE}")
    path = folder / name
    if not path.is_file():
        raise InputError(f"there is no {what} {name}; it is looked for in {folder}")
    return path


def _text(value: Any) -> str:
    """A cell as text: a list or an object of a JSONL row as JSON, nothing as empty."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    return json.dumps(value, ensure_ascii=False)


PART = re.compile(r"(\d{1,6})/(\d{1,6})")


@dataclass(frozen=True)
class FilePart:
    """Part ``number`` of ``count``, counted from 1."""

    number: int
    count: int

    def select(self, clips: Sequence[InputClip]) -> list[InputClip]:
        """The clips of this part, by a hash of their names: the same on every machine."""
        return [clip for clip in clips if part_index(clip, self.count) == self.number - 1]

    def path(self, out: Path | str) -> Path:
        """Where this part is written: scores.jsonl is scores.part-2-of-8.jsonl."""
        whole = Path(out)
        digits = len(str(self.count))
        named = f"{whole.stem}.part-{self.number:0{digits}d}-of-{self.count}{whole.suffix}"
        return whole.with_name(named)


def parse_part(text: str) -> FilePart | None:
    """NUMBER/COUNT such as 2/8; None of an empty text. ValueError of anything else."""
    if not text:
        return None
    match = PART.fullmatch(text.strip())
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(f"--part {text!r} is not understood; give NUMBER/COUNT from 1/8 to 8/8")
    return FilePart(int(match[1]), int(match[2]))


def part_index(clip: InputClip, count: int) -> int:
    """The place of a clip among ``count`` parts, from 0."""
    name = f"{clip.condition}\x1e{clip.stimulus}".encode("utf-8", "surrogateescape")
    return int(hashlib.sha256(name).hexdigest()[:8], 16) % count
