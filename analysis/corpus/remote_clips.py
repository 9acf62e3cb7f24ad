"""The clips of a source: addresses, tables, corpora, Parquet files and shards, wherever they lie.

A source is a list of addresses, a table with a column of files or addresses, Kaldi's ``wav.scp``,
LJSpeech's table, a folder (`analysis.corpus.sources`), Parquet files with an audio column as the
library ``datasets`` writes them, WebDataset shards (.tar), or an address of fsspec of any of the
last two or of a folder of audio files (``s3://bucket/clips``, ``hf://datasets/…/*.parquet``).
"""

from __future__ import annotations

import tarfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from math import inf
from pathlib import Path, PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import IO, Any
from urllib.parse import urlsplit

from analysis.corpus.sources import COLUMNS, CorpusError, read_corpus
from listening.audio.fetching import (
    ADDRESS,
    EXTENSIONS,
    PIECE_BYTES,
    WEB,
    LimitReached,
    RemoteClip,
    address_sha256,
    copy_bounded,
    opened,
)
from listening.common.input_limits import CLIP_BYTES, SHARD_TEXT_BYTES
from listening.common.spreadsheets import decoded, raw_bytes

OF_CLIPS = ("wav", "wavs", "audio", "clips")  # names of folders that are no conditions
SHARD_TEXTS = {".txt", ".json"}
EXTENDED_HEADERS = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
)


def clips_of(
    source: str, *, condition: str = "", language: str = "", until: float = inf
) -> Iterator[RemoteClip]:
    """Yield the clips of a source, with ``condition`` and ``language`` where they have none.

    The ``content`` of a clip holds until the next one. Raises CorpusError where the source cannot
    be read, and LimitReached where a shard is read after ``until`` (`time.monotonic`).
    """
    names = set[str]()
    for clip in _clips_of(source, language, until):
        named = _with_own_name(clip, names)
        names.add(named.stimulus)
        yield replace(
            named, condition=clip.condition or condition, language=clip.language or language
        )


def _with_own_name(clip: RemoteClip, taken: set[str]) -> RemoteClip:
    """The clip, after its condition or its address where another one has its name."""
    if clip.stimulus not in taken:
        return clip
    name = f"{clip.condition}/{clip.stimulus}"
    if clip.condition and name not in taken:
        return replace(clip, stimulus=name, item=clip.item or clip.stimulus)
    return replace(clip, stimulus=f"{clip.stimulus}-{address_sha256(clip.source)[:8]}")


def _clips_of(source: str, language: str, until: float) -> Iterator[RemoteClip]:
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
            yield from _of_shard(place, until)
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
    return list(dict.fromkeys(lines)) if all(map(ADDRESS.match, lines)) else []


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
        columns = [audio, *filter(None, ours.values())]
        for batch in table.iter_batches(batch_size=1, columns=columns):  # a row may have 500 MB
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
                    BytesIO(sound["bytes"]),
                )
                number += 1


class _TimedFile:
    """A file that is read until a time (`time.monotonic`): decompressing may take for ever."""

    def __init__(self, file: IO[bytes], until: float) -> None:
        self.file, self.until = file, until

    def read(self, size: int = -1) -> bytes:
        if time.monotonic() > self.until:
            raise LimitReached("The time of this run is over")
        return self.file.read(size)


class _BoundedMember(tarfile.TarInfo):
    """A member whose extended headers, which tarfile reads whole, have a limit of size."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in EXTENDED_HEADERS and self.size > SHARD_TEXT_BYTES:
            raise tarfile.ReadError(f"a header is larger than {SHARD_TEXT_BYTES // 1024**2} MB")
        return super()._proc_member(archive)  # type: ignore[misc]


def _of_shard(place: str, until: float) -> Iterator[RemoteClip]:
    """Members of one key stand together: ``key.flac``, ``key.txt``, ``key.json``.

    Other members are passed over without being kept, and a clip is kept on disk.
    """
    mode: Any = "r|" if place.endswith(".tar") else "r|gz"
    try:
        with (
            opened(place) as file,
            tarfile.open(
                fileobj=_TimedFile(file, until), mode=mode, tarinfo=_BoundedMember
            ) as shard,
        ):
            yield from _samples(place, shard)
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise CorpusError(f"{place}: cannot be read ({error}); copy it again") from None


def _samples(place: str, shard: tarfile.TarFile) -> Iterator[RemoteClip]:
    key, ending = "", ""
    with SpooledTemporaryFile(max_size=PIECE_BYTES) as audio:
        texts = dict[str, bytes]()
        while member := shard.next():
            shard.members = []  # which tarfile would keep, one for each member
            name = PurePosixPath(member.name)
            first, _, rest = name.name.partition(".")
            stem, part = str(name.parent / first), f".{rest.lower()}"
            if not member.isfile() or part not in EXTENSIONS | SHARD_TEXTS:
                continue
            if stem != key:
                yield from _of_sample(place, key, ending, audio, texts)
                key, ending, texts = stem, "", {}
                audio.seek(0)
                audio.truncate()
            if part in EXTENSIONS and ending:
                continue  # the same clip in another format
            most = CLIP_BYTES if part in EXTENSIONS else SHARD_TEXT_BYTES
            if member.size > most:
                raise CorpusError(f"{place}, {name}: is larger than {most // 1024**2} MB")
            content = shard.extractfile(member)
            assert content is not None
            if part in EXTENSIONS:
                ending = part
                copy_bounded(content, audio)
            else:
                texts[part] = content.read()
        yield from _of_sample(place, key, ending, audio, texts)


def _of_sample(
    place: str, key: str, ending: str, audio: IO[bytes], texts: dict[str, bytes]
) -> Iterator[RemoteClip]:
    if not ending:
        return
    audio.seek(0)
    text = decoded(texts[".txt"])[0].strip() if ".txt" in texts else ""
    yield RemoteClip(PurePosixPath(key).name, f"{place}#{key}{ending}", text, content=audio)
