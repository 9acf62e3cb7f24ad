"""Files brought from other places into a study folder, with the source and hash of each.

What is there already is not brought again, so a run that was stopped goes on.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import unquote, urlsplit

from listening.common.input_limits import CLIP_BYTES, WEB_FILES
from listening.common.remote_files import copy_bounded, is_web, opened, problem_at, without_secrets
from listening.common.sound_files import EXTENSIONS as ENDINGS
from listening.common.sound_files import AudioError, open_sound
from listening.common.whole_files import write_whole
from listening.design.studyfile.writer import rows_text

STIMULI, SOURCES, AUDIO = "stimuli.csv", "sources.csv", "audio"
SOURCE_COLUMNS = ("file", "source", "sha256", "bytes", "address_sha256")
BEGINS = ((b"fLaC", ".flac"), (b"RIFF", ".wav"), (b"OggS", ".ogg"), (b"ID3", ".mp3"))
EXTENSIONS = frozenset(f".{ending}" for ending in ENDINGS)
FIRST_FRAMES = 4096
Download = Callable[[str, Path, int, float], None]  # address, target, most bytes, seconds
Say = Callable[[int, int], None]  # files and bytes so far


@dataclass(frozen=True)
class RemoteClip:
    """A clip and where it lies; ``content`` is its file where the source holds it."""

    stimulus: str
    source: str
    text: str = ""
    condition: str = ""
    item: str = ""
    language: str = ""
    content: IO[bytes] | None = field(default=None, repr=False)
    where: str = ""  # its row in a list or table


@dataclass(frozen=True)
class Limits:
    """What a run brings at most; a further run goes on."""

    files: int = WEB_FILES
    total_bytes: int = 20 * 1024**3
    seconds: float = 3600.0
    file_seconds: float = 3600.0  # of a file that was begun


class NotFetched(ValueError):
    """A clip that cannot be brought; the message names it and says why."""


class LimitReached(Exception):
    """A limit ended the run; the message says which."""


def fetch_into(
    folder: Path,
    clips: Iterable[RemoteClip],
    download: Download,
    *,
    limits: Limits | None = None,
    record: Path | None = None,
    progress: Say = lambda files, size: None,
) -> list[dict[str, str]]:
    """Bring clips into ``folder``/audio, and return the rows of stimuli.csv.

    ``download`` brings a web address. Each file comes to its place when it is whole, and then into
    ``record`` (sources.csv of the folder) with its address (without secrets), its SHA-256 and that
    of the whole address, which says in a later run that it is there. Raises LimitReached, and
    NotFetched for a clip that cannot be brought.
    """
    limits = limits or Limits()
    until = time.monotonic() + limits.seconds
    record = record or folder / SOURCES
    known = {row["address_sha256"]: row["file"] for row in fetched_files(folder, record)}
    files, size, rows = 0, 0, []
    names: dict[str, str] = {}
    for clip in clips:
        key = address_sha256(clip.source)
        file = known.get(key)
        if file is None:
            if files >= limits.files:
                raise LimitReached(f"{limits.files:,} files were brought, the most of a run")
            if size >= limits.total_bytes:
                raise LimitReached(f"{size / 1e9:.1f} GB were brought, the most of a run")
            left_s = until - time.monotonic()
            if left_s <= 0:
                raise LimitReached(f"{limits.seconds / 60:g} minutes are over")
            part = folder / AUDIO / ".part"
            part.parent.mkdir(parents=True, exist_ok=True)
            _bring(clip, part, download, limits.file_seconds)
            file = _file_name(clip, part, {*known.values(), *names})
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            os.replace(part, folder / file)
            files, size = files + 1, size + (folder / file).stat().st_size
            _remember(record, folder / file, file, clip.source)
            known[key] = file
            progress(files, size)
        names[file] = clip.stimulus
        rows.append(_row(clip, file))
    if not rows:
        raise NotFetched("no clips are there; check the source")
    return rows


def write_stimuli(folder: Path, rows: Sequence[dict[str, str]]) -> None:
    """Write stimuli.csv of the rows that `fetch_into` returns."""
    write_whole(folder / STIMULI, rows_text(rows).encode())


def paths_below(addresses: Iterable[str]) -> dict[str, str]:
    """Return the path of each address below what all have in common, without user and query.

    So ``system/sentence_01.wav`` stays readable as system and sentence.
    """
    paths = {each: PurePosixPath(_path_of(each)) for each in addresses}
    if not paths:
        return {}
    shared = os.path.commonpath([str(path.parent) for path in paths.values()])
    return {each: path.relative_to(shared).as_posix() for each, path in paths.items()}


def _path_of(address: str) -> str:
    """The host, or bucket, and the path of an address."""
    path = without_secrets(address).partition("://")[2].strip("/")
    return (unquote(path) if is_web(address) else path).strip("/") or "clip"


def address_sha256(address: str) -> str:
    """Return the SHA-256 of a whole address, its query included, which is not recorded."""
    return hashlib.sha256(address.encode()).hexdigest()


def _row(clip: RemoteClip, file: str) -> dict[str, str]:
    return {
        "stimulus": clip.stimulus,
        "condition": clip.condition,
        "item": clip.item or clip.stimulus,
        "file": file,
        "text": clip.text,
        "language": clip.language,
        "source": without_secrets(clip.source),
    }


def _bring(clip: RemoteClip, part: Path, download: Download, seconds: float) -> None:
    try:
        if clip.content is None and is_web(clip.source):
            download(clip.source, part, CLIP_BYTES, seconds)
        else:
            here = nullcontext(clip.content) if clip.content else opened(clip.source)
            with here as source, part.open("wb") as target:
                copy_bounded(source, target, seconds)
        check_sound(part)
    except Exception as error:  # each system of files has its own
        part.unlink(missing_ok=True)
        why = problem_at(clip.source, error)
        raise NotFetched(": ".join(filter(None, (clip.where, why)))) from None


def check_sound(path: Path) -> None:
    """Raise AudioError for a file whose beginning cannot be decoded, such as a web page."""
    with open_sound(path) as sound:
        if not any(len(block) for block in sound.blocks(FIRST_FRAMES)):
            raise AudioError("The file holds no sound.", "Copy it again from its source.")


def _file_name(clip: RemoteClip, part: Path, taken: set[str]) -> str:
    """A place in audio/ after the stimulus, with the ending of the source or of the content."""
    ending = PurePosixPath(urlsplit(clip.source).path or clip.source).suffix.lower()
    if ending not in EXTENSIONS:
        with part.open("rb") as file:
            head = file.read(4)
        ending = next((end for begin, end in BEGINS if head.startswith(begin)), ".mp3")
    parts = [re.sub(r"[^\w.-]+", "_", part) for part in clip.stimulus.split("/")]
    stem = "/".join(part for part in parts if part.strip(".")) or "clip"
    name = f"{AUDIO}/{stem}{ending}"
    if name in taken:
        name = f"{AUDIO}/{stem}-{address_sha256(clip.source)[:8]}{ending}"
    return name


def fetched_files(folder: Path, record: Path) -> list[dict[str, str]]:
    """Return the rows of ``record`` whose files are still there, and drop the others from it."""
    if not record.is_file():
        return []
    with record.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if None not in row.values()]
    whole = [
        row
        for row in rows
        if row.get("address_sha256")
        and (folder / row["file"]).is_file()
        and str((folder / row["file"]).stat().st_size) == row["bytes"]
    ]
    content = rows_text(whole, SOURCE_COLUMNS).encode()
    if record.read_bytes() != content:  # also where a line was cut off
        write_whole(record, content)
    return whole


def _remember(record: Path, place: Path, file: str, source: str) -> None:
    is_new = not record.exists()
    with place.open("rb") as content:
        sha256 = hashlib.file_digest(content, "sha256").hexdigest()
    with record.open("a", encoding="utf-8", newline="") as table:
        writer = csv.writer(table, lineterminator="\n")
        if is_new:
            writer.writerow(SOURCE_COLUMNS)
        address = address_sha256(source)
        writer.writerow([file, without_secrets(source), sha256, place.stat().st_size, address])
