"""The clips of a source: addresses, tables, corpora, Parquet files and shards, wherever they lie.

A source is a list of addresses, a table with a column of files or addresses, Kaldi's ``wav.scp``,
LJSpeech's table, a folder (`analysis.corpus.sources`), Parquet files with an audio column as the
library ``datasets`` writes them, WebDataset shards (.tar), or an address of fsspec of any of the
last two or of a folder of audio files (``s3://bucket/clips``, ``hf://datasets/…/*.parquet``).
"""

from __future__ import annotations

import tarfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from io import BytesIO
from math import inf
from pathlib import Path, PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from analysis.corpus.clips import CorpusClip
from analysis.corpus.sources import CorpusError, named_columns, read_corpus
from listening.audio.fetching import (
    EXTENSIONS,
    LimitReached,
    RemoteClip,
    address_sha256,
    paths_below,
)
from listening.common.input_limits import CLIP_BYTES, SHARD_TEXT_BYTES
from listening.common.plain_json import read_json
from listening.common.remote_files import (
    ADDRESS,
    PIECE_BYTES,
    check_address,
    copy_bounded,
    is_web,
    opened,
    problem_at,
    storage_of,
    without_secrets,
)
from listening.common.spreadsheets import decoded, raw_bytes
from listening.design.scanning import UnclearNames, scan

OF_CLIPS = ("wav", "wavs", "audio", "clips")  # names of folders that are no conditions
SHARD_TEXTS = {".txt", ".json"}
EXTENDED_HEADERS = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
)


def clips_of(
    source: str,
    *,
    condition: str = "",
    language: str = "",
    audio: Path | None = None,
    until: float = inf,
) -> Iterator[RemoteClip]:
    """Yield the clips of a source, with ``condition`` and ``language`` where they have none.

    Local files that a table names lie in ``audio``, or in the folder of the table. Addresses are
    those of the web and of `listening.common.remote_files.STORAGE`.

    The ``content`` of a clip holds until the next one. Raises CorpusError where the source cannot
    be read, and LimitReached where a shard is read after ``until`` (`time.monotonic`).
    """
    names = set[str]()
    for clip in _clips_of(source, language, audio, until):
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


def _clips_of(source: str, language: str, audio: Path | None, until: float) -> Iterator[RemoteClip]:
    if is_web(source):
        raise CorpusError(f"{without_secrets(source)}: write web addresses into a file, one a line")
    if ADDRESS.match(source):
        places = _listed(source)
    else:
        path = Path(source)
        inside = sorted(path.glob("**/*.parquet")) if path.is_dir() else []
        places = [str(each) for each in inside] or [source]
    layout = _Layout([place for place in places if ADDRESS.match(place)])
    for place in places:
        if place.endswith(".parquet"):
            yield from _readable(place, _of_parquet(place))
        elif place.endswith((".tar", ".tar.gz", ".tgz")):
            yield from _readable(place, _of_shard(place, until))
        elif ADDRESS.match(place):
            yield layout.clip(place)
        else:
            yield from _of_corpus(Path(place), language, audio)


def _readable(place: str, clips: Iterator[RemoteClip]) -> Iterator[RemoteClip]:
    """The clips of a file; CorpusError where it is missing, damaged or none of its kind."""
    try:
        yield from clips
    except (CorpusError, LimitReached):
        raise
    except Exception as error:  # each system of files has its own
        why = f"cannot be read ({error}); check it, or copy it again"
        raise CorpusError(problem_at(place, why)) from None


def _listed(address: str) -> list[str]:
    """The files of an address of fsspec: itself, those of a pattern, or audio below a folder."""
    try:
        system, path = storage_of(address)
        if "*" in path:
            found = system.glob(path)
        elif system.isfile(path):
            found = [path]
        else:
            found = [each for each in system.find(path) if Path(each).suffix.lower() in EXTENSIONS]
    except Exception as error:  # each system of files has its own
        raise CorpusError(problem_at(address, error)) from None
    if not found:
        raise CorpusError(problem_at(address, "no audio files; check the address"))
    protocol = address.partition("://")[0]
    return [f"{protocol}://{each.removeprefix('/')}" for each in sorted(found)]


def _of_corpus(path: Path, language: str, audio: Path | None) -> Iterator[RemoteClip]:
    if addresses := _addresses(path):
        layout = _Layout(addresses.values())
        for where, address in addresses.items():
            _check_address(where, address)
            yield replace(layout.clip(address), where=where)
        return
    clips = read_corpus(path, language=language, audio=audio).clips
    layout = _Layout(clip.file for clip in clips if ADDRESS.match(clip.file))
    for clip in clips:
        condition = "" if clip.condition in OF_CLIPS else clip.condition
        named = RemoteClip(
            *(clip.stimulus, clip.path, clip.text, condition, clip.item, clip.language),
            where=clip.where,
        )
        if ADDRESS.match(clip.file):
            _check_address(clip.where, clip.file)
            yield layout.completed(named, clip.file)
        elif clip.path:
            _check_path(clip, audio or (path if path.is_dir() else path.parent))
            yield named
        else:
            raise CorpusError(f"{clip.where}: names no file")


class _Layout:
    """What the folders of addresses say of system and sentence, as `scan_audio` reads them.

    Where that is unclear, and files of several folders have one name, the folder is the system.
    """

    def __init__(self, addresses: Iterable[str]) -> None:
        self.paths = paths_below(addresses)
        paths = {path: PurePosixPath(path) for path in sorted({*self.paths.values()})}
        self.cells: dict[str, tuple[str, str]] = {}
        try:
            cells = {path: cell for cell, path in scan(paths).cells.items()}
            if all(cell[0] in paths[path].parent.parts for path, cell in cells.items()):
                self.cells = cells
        except UnclearNames:
            if len({path.stem for path in paths.values()}) < len(paths):
                self.cells = {
                    name: ("-".join(folders), path.stem)
                    for name, path in paths.items()
                    if (folders := _folders_of_systems(path))
                }
        if len({condition for condition, _ in self.cells.values()}) < 2:
            self.cells = {}

    def clip(self, address: str) -> RemoteClip:
        """The clip of an address, after its path."""
        path = self.paths[address]
        condition, item = self.cells.get(path, ("", ""))
        stimulus = PurePosixPath(path).with_suffix("").as_posix()
        return RemoteClip(stimulus, address, condition=condition, item=item)

    def completed(self, clip: RemoteClip, address: str) -> RemoteClip:
        """The clip of a row that names an address, with what only the path says."""
        own = self.clip(address)
        return replace(
            clip,
            source=address,
            stimulus=own.stimulus if ":/" in clip.stimulus else clip.stimulus,  # no id of its own
            condition=clip.condition or own.condition,
            item=clip.item or own.item,
        )


def _folders_of_systems(path: PurePosixPath) -> list[str]:
    return [folder for folder in path.parent.parts if folder not in OF_CLIPS]


def _check_address(where: str, address: str) -> None:
    try:
        check_address(address)
    except ValueError as error:
        raise CorpusError(f"{where}: {without_secrets(address)}: {error}") from None


def _check_path(clip: CorpusClip, folder: Path) -> None:
    """A table that comes from elsewhere names no files of this machine but those beside it."""
    if not Path(clip.path).resolve().is_relative_to(folder.resolve()):
        raise CorpusError(
            f"{clip.where}: “{clip.file}” lies outside the folder {folder}. Name the folder that "
            "holds the files: --audio FOLDER"
        )


def _addresses(path: Path) -> dict[str, str]:
    """Row -> address, of a file that holds nothing but addresses; each once."""
    if not path.is_file() or path.suffix.lower() not in (".txt", ".lst", ".list"):
        return {}
    lines = [line.strip() for line in decoded(raw_bytes(path))[0].splitlines()]
    rows = {line: f"{path.name}, line {number}" for number, line in enumerate(lines, 1) if line}
    return {where: row for row, where in rows.items()} if all(map(ADDRESS.match, rows)) else {}


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
        others = [name for name in table.schema_arrow.names if name != audio]
        columns = [audio, *named_columns(others).values()]
        number = 0
        for batch in table.iter_batches(batch_size=1, columns=columns):  # a row may have 500 MB
            for row in batch.to_pylist():
                sound = row.pop(audio) or {}
                if not sound.get("bytes"):
                    raise CorpusError(f"{place}, row {number}: no audio in it")
                path = PurePosixPath(sound.get("path") or f"{PurePosixPath(place).stem}_{number}")
                clip = RemoteClip(
                    path.stem, f"{place}#{number}/{path.name}", content=BytesIO(sound["bytes"])
                )
                yield _with_cells(clip, row)
                number += 1


def _with_cells(clip: RemoteClip, row: Mapping[str, Any]) -> RemoteClip:
    """The clip with what the columns of a row, or the keys of an object, say of it."""
    cells = {ours: row[name] for ours, name in named_columns(row).items()}
    said = {
        ours: str(value).strip() for ours, value in cells.items() if isinstance(value, str | int)
    }
    return replace(
        clip,
        stimulus=said.get("stimulus") or clip.stimulus,
        text=said.get("text") or said.get("transcript") or clip.text,
        condition=said.get("condition") or clip.condition,
        item=said.get("item") or clip.item,
        language=said.get("language") or clip.language,
    )


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
        return super()._proc_member(archive)  # type: ignore[misc, no-any-return]


def _of_shard(place: str, until: float) -> Iterator[RemoteClip]:
    """Members of one key stand together: ``key.flac``, ``key.txt``, ``key.json``.

    The JSON has the columns of a table, and the folder of a key is its system.
    Other members are passed over without being kept, and a clip is kept on disk.
    """
    mode: Any = "r|" if place.endswith(".tar") else "r|gz"
    with opened(place) as file:
        timed: Any = _TimedFile(file, until)
        with tarfile.open(None, mode, timed, tarinfo=_BoundedMember) as shard:
            yield from _samples(place, shard)


def _samples(place: str, shard: tarfile.TarFile) -> Iterator[RemoteClip]:
    key, ending = "", ""
    with SpooledTemporaryFile(max_size=PIECE_BYTES) as audio:
        texts = dict[str, bytes]()
        while member := shard.next():
            shard.members = []  # type: ignore[attr-defined]  # which tarfile would keep, one for each member
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
    path = PurePosixPath(key)
    clip = RemoteClip(key, f"{place}#{key}{ending}", content=audio)
    if folders := _folders_of_systems(path):
        clip = replace(clip, condition=folders[-1], item=path.name)
    if ".json" in texts:
        facts = read_json(texts[".json"], finite=False)
        clip = _with_cells(clip, facts if isinstance(facts, dict) else {})
    if text := decoded(texts.get(".txt", b""))[0].strip():
        clip = replace(clip, text=text)
    yield clip
