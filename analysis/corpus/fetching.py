"""Clips brought from where they lie into a study folder, with the source and hash of each.

A source is a list of addresses, a table with a column of files or addresses, Kaldi's ``wav.scp``,
LJSpeech's table, a folder (`analysis.corpus.sources`), Parquet files with an audio column as the
library ``datasets`` writes them, WebDataset shards (.tar), or an address of fsspec of any of the
last two or of a folder of audio files (``s3://bucket/clips``, ``hf://datasets/…/*.parquet``).

What is there already is not brought again, so a run that was stopped goes on.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit, urlunsplit

from analysis.corpus.sources import COLUMNS, CorpusError, read_corpus
from listening.common.input_limits import CLIP_BYTES, WEB_FILES
from listening.common.sound_files import EXTENSIONS as ENDINGS
from listening.common.spreadsheets import decoded, raw_bytes
from listening.common.whole_files import write_whole
from listening.design.studyfile.writer import rows_text

STIMULI, SOURCES, AUDIO = "stimuli.csv", "sources.csv", "audio"
SOURCE_COLUMNS = ("file", "source", "sha256", "bytes")
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
OF_CLIPS = ("wav", "wavs", "audio", "clips")  # names of folders that are no conditions
WEB = ("http://", "https://")
BEGINS = ((b"fLaC", ".flac"), (b"RIFF", ".wav"), (b"OggS", ".ogg"), (b"ID3", ".mp3"))
EXTENSIONS = frozenset(f".{ending}" for ending in ENDINGS)
PIECE_BYTES = 1024**2
Download = Callable[[str, Path, int, float], None]  # address, target, most bytes, seconds
Say = Callable[[int, int], None]  # files and bytes so far


@dataclass(frozen=True)
class RemoteClip:
    """A clip and where it lies; ``content`` are its bytes where the source holds them."""

    stimulus: str
    source: str
    text: str = ""
    condition: str = ""
    item: str = ""
    language: str = ""
    content: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Limits:
    """What a run brings at most; a further run goes on."""

    files: int = WEB_FILES
    total_bytes: int = 20 * 1024**3
    seconds: float = 3600.0


class LimitReached(Exception):
    """A limit ended the run; the message says which."""


def fetch_into(
    folder: Path,
    clips: Iterable[RemoteClip],
    download: Download,
    *,
    limits: Limits | None = None,
    progress: Say = lambda files, size: None,
) -> list[dict[str, str]]:
    """Bring clips into ``folder``/audio, and return the rows of stimuli.csv.

    ``download`` brings a web address. Each file comes to its place when it is whole, and then into
    sources.csv with its address (without secrets) and SHA-256. Raises LimitReached, and CorpusError
    for a clip that cannot be brought.
    """
    limits = limits or Limits()
    until = time.monotonic() + limits.seconds
    known = _known(folder)
    files, size, rows = 0, 0, []
    names: dict[str, str] = {}
    for clip in clips:
        source = without_secrets(clip.source)
        file = known.get(source)
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
            _bring(clip, part, download, left_s)
            file = _file_name(clip, part, {*known.values(), *names})
            os.replace(part, folder / file)
            files, size = files + 1, size + (folder / file).stat().st_size
            _remember(folder, file, source)
            known[source] = file
            progress(files, size)
        names[file] = clip.stimulus
        rows.append(_row(clip, file))
    if not rows:
        raise CorpusError("no clips are there; check the source")
    return rows


def write_stimuli(folder: Path, rows: Sequence[dict[str, str]]) -> None:
    """Write stimuli.csv of the rows that `fetch_into` returns."""
    write_whole(folder / STIMULI, rows_text(rows).encode())


def without_secrets(address: str) -> str:
    """Return a web address without user, password and query, which may hold keys."""
    if not address.startswith(WEB):
        return address
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


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


def _bring(clip: RemoteClip, part: Path, download: Download, left_s: float) -> None:
    try:
        if clip.content is not None:
            part.write_bytes(clip.content)
        elif clip.source.startswith(WEB):
            download(clip.source, part, CLIP_BYTES, left_s)
        else:
            with opened(clip.source) as source, part.open("wb") as target:
                _copy(source, target, left_s)
    except (OSError, ValueError) as error:
        part.unlink(missing_ok=True)
        raise CorpusError(f"{without_secrets(clip.source)}: {error}") from None


def _copy(source: IO[bytes], target: IO[bytes], left_s: float) -> None:
    until, size = time.monotonic() + left_s, 0
    while piece := source.read(PIECE_BYTES):
        size += len(piece)
        if size > CLIP_BYTES:
            raise ValueError(f"is larger than {CLIP_BYTES // 1024**2} MB; shorten it")
        if time.monotonic() > until:
            raise ValueError("takes longer than the time of this run")
        target.write(piece)


def _file_name(clip: RemoteClip, part: Path, taken: set[str]) -> str:
    """A place in audio/ after the stimulus, with the ending of the source or of the content."""
    ending = PurePosixPath(urlsplit(clip.source).path or clip.source).suffix.lower()
    if ending not in EXTENSIONS:
        with part.open("rb") as file:
            head = file.read(4)
        ending = next((end for begin, end in BEGINS if head.startswith(begin)), ".mp3")
    stem = re.sub(r"[^\w.-]+", "_", clip.stimulus)
    name = f"{AUDIO}/{stem}{ending}"
    if name in taken:
        name = f"{AUDIO}/{stem}-{hashlib.sha256(clip.source.encode()).hexdigest()[:8]}{ending}"
    return name


def _known(folder: Path) -> dict[str, str]:
    """Source -> file, of what an earlier run brought and is still there; other rows are dropped."""
    path = folder / SOURCES
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if None not in row.values()]
    whole = [
        row
        for row in rows
        if (folder / row["file"]).is_file()
        and str((folder / row["file"]).stat().st_size) == row["bytes"]
    ]
    write_whole(path, rows_text(whole, SOURCE_COLUMNS).encode())
    return {row["source"]: row["file"] for row in whole}


def _remember(folder: Path, file: str, source: str) -> None:
    path, place = folder / SOURCES, folder / file
    is_new = not path.exists()
    with place.open("rb") as content:
        sha256 = hashlib.file_digest(content, "sha256").hexdigest()
    with path.open("a", encoding="utf-8", newline="") as table:
        writer = csv.writer(table, lineterminator="\n")
        if is_new:
            writer.writerow(SOURCE_COLUMNS)
        writer.writerow([file, source, sha256, place.stat().st_size])


# --- Where clips lie ------------------------------------------------------------------------------


def clips_of(source: str, *, condition: str = "", language: str = "") -> Iterator[RemoteClip]:
    """Yield the clips of a source, with ``condition`` and ``language`` where they have none.

    Raises CorpusError where it cannot be read.
    """
    for clip in _clips_of(source, language):
        yield replace(
            clip, condition=clip.condition or condition, language=clip.language or language
        )


def _clips_of(source: str, language: str) -> Iterator[RemoteClip]:
    if source.startswith(WEB):
        raise CorpusError(f"{source}: write web addresses into a file, one a line")
    if ADDRESS.match(source):
        places = _listed(source)
    else:
        path = Path(source)
        inside = sorted(path.glob("**/*.parquet")) if path.is_dir() else []
        places = [str(each) for each in inside] or [source]
    for place in places:
        if place.endswith(".parquet"):
            yield from _of_parquet(place)
        elif place.endswith((".tar", ".tar.gz", ".tgz")):
            yield from _of_shard(place)
        elif ADDRESS.match(place):
            yield RemoteClip(PurePosixPath(place).stem, place)
        else:
            yield from _of_corpus(Path(place), language)


def _listed(address: str) -> list[str]:
    """The files of an address of fsspec: itself, those of a pattern, or audio below a folder."""
    import fsspec

    try:
        system, path = fsspec.core.url_to_fs(address)
        if "*" in path:
            found = system.glob(path)
        elif system.isfile(path):
            found = [path]
        else:
            found = [each for each in system.find(path) if Path(each).suffix.lower() in EXTENSIONS]
    except ImportError as error:
        raise CorpusError(f"{address}: {error}") from None
    except Exception as error:  # each system of files has its own
        raise CorpusError(f"{address}: cannot be read ({error})") from None
    if not found:
        raise CorpusError(f"{address}: no audio files; check the address")
    protocol = address.partition("://")[0]
    return [f"{protocol}://{each.removeprefix('/')}" for each in sorted(found)]


def opened(place: str) -> Any:
    """Return a file or an address of fsspec, opened for reading bytes."""
    if not ADDRESS.match(place):
        return Path(place).open("rb")
    import fsspec

    return fsspec.open(place, "rb").open()


def _of_corpus(path: Path, language: str) -> Iterator[RemoteClip]:
    if addresses := _addresses(path):
        for address in addresses:
            yield RemoteClip(PurePosixPath(urlsplit(address).path).stem or address, address)
        return
    for clip in read_corpus(path, language=language).clips:
        source = clip.file if ADDRESS.match(clip.file) else clip.path
        if not source:
            raise CorpusError(f"{clip.where}: names no file")
        stimulus = PurePosixPath(urlsplit(clip.stimulus).path).name if (
            ADDRESS.match(clip.stimulus)
        ) else clip.stimulus  # fmt: skip
        condition = "" if clip.condition in OF_CLIPS else clip.condition
        yield RemoteClip(stimulus, source, clip.text, condition, clip.item, clip.language)


def _addresses(path: Path) -> list[str]:
    """The lines of a file that holds nothing but addresses."""
    if not path.is_file() or path.suffix.lower() not in (".txt", ".lst", ".list"):
        return []
    lines = [line.strip() for line in decoded(raw_bytes(path))[0].splitlines() if line.strip()]
    return lines if all(map(ADDRESS.match, lines)) else []


def _of_parquet(place: str) -> Iterator[RemoteClip]:
    """Rows with an audio column: a struct of ``bytes`` and ``path``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with opened(place) as file:
        table = pq.ParquetFile(file)
        audio = next(
            (
                each.name
                for each in table.schema_arrow
                if pa.types.is_struct(each.type) and each.type.get_field_index("bytes") >= 0
            ),
            None,
        )
        if audio is None:
            raise CorpusError(f"{place}: no column of audio, with bytes and path")
        names = {name.casefold(): name for name in table.schema_arrow.names if name != audio}
        ours = {
            key: next((names[each] for each in others if each in names), None)
            for key, others in COLUMNS.items()
            if key != "file"
        }
        number = 0
        for batch in table.iter_batches(batch_size=16):
            for row in batch.to_pylist():
                sound = row[audio] or {}
                if not sound.get("bytes"):
                    raise CorpusError(f"{place}, row {number}: no audio in it")
                cells = {key: str(row[name] or "") for key, name in ours.items() if name}
                path = PurePosixPath(sound.get("path") or f"{PurePosixPath(place).stem}_{number}")
                yield RemoteClip(
                    cells.get("stimulus") or path.stem,
                    f"{place}#{number}/{path.name}",
                    cells.get("text") or cells.get("transcript", ""),
                    cells.get("condition", ""),
                    cells.get("item", ""),
                    cells.get("language", ""),
                    sound["bytes"],
                )
                number += 1


def _of_shard(place: str) -> Iterator[RemoteClip]:
    """Members of one key stand together: ``key.flac``, ``key.txt``, ``key.json``."""
    with opened(place) as file, tarfile.open(fileobj=file, mode="r|*") as shard:
        key, parts = "", dict[str, bytes]()
        for member in shard:
            if not member.isfile():
                continue
            name = PurePosixPath(member.name)
            first, _, ending = name.name.partition(".")
            if member.size > CLIP_BYTES:
                raise CorpusError(f"{place}, {name}: is larger than {CLIP_BYTES // 1024**2} MB")
            content = shard.extractfile(member)
            stem = str(name.parent / first)
            if stem != key:
                yield from _of_sample(place, key, parts)
                key, parts = stem, {}
            parts[f".{ending.lower()}"] = content.read() if content else b""
        yield from _of_sample(place, key, parts)


def _of_sample(place: str, key: str, parts: dict[str, bytes]) -> Iterator[RemoteClip]:
    ending = next((each for each in parts if each in EXTENSIONS), None)
    if ending is None:
        return
    text = decoded(parts[".txt"])[0].strip() if ".txt" in parts else ""
    source = f"{place}#{key}{ending}"
    yield RemoteClip(PurePosixPath(key).name, source, text, content=parts[ending])
