"""A zip archive unpacked with suspicion: no bombs, no escapes, no surprises."""

from __future__ import annotations

import os
import shutil
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from listening.common import input_limits
from listening.common.reading_process import TookTooLong, read_apart
from listening.common.sound_files import is_system_file
from listening.design.studyfile.files import check_relative
from listening.design.studyfile.problems import TOML, Problem
from listening.design.studyfile.values import Wrong

PIECE = 1024**2
ENCRYPTED = 0x1
UTF8_NAMES = 0x800
END, END_BYTES, LONGEST_COMMENT = b"PK\5\6", 22, 65_535
END64, END64_BYTES, LOCATOR64_BYTES = b"PK\6\6", 56, 20


@dataclass(frozen=True)
class Limits:
    """What an archive may at most hold; sound hardly compresses, so high ratios are bombs."""

    entries: int = input_limits.ARCHIVE_ENTRIES
    entry_bytes: int = input_limits.ARCHIVE_ENTRY_BYTES
    total_bytes: int = input_limits.ARCHIVE_BYTES
    ratio: float = input_limits.ARCHIVE_RATIO
    ratio_counts_above_bytes: int = input_limits.ARCHIVE_RATIO_FROM_BYTES
    depth: int = input_limits.ARCHIVE_DEPTH


FROM_THE_WEB = Limits(
    input_limits.WEB_FILES, input_limits.WEB_SOUND_BYTES, input_limits.WEB_ARCHIVE_BYTES
)


def unpack(
    archive: Path, into: Path, limits: Limits | None = None, ignored: list[str] | None = None
) -> list[Problem]:
    """Unpacks into an empty folder, or says all that is wrong and unpacks nothing more.

    Files that macOS or Windows put there are left out; their names are added to ``ignored``.
    """
    limits = limits or Limits()
    problems: list[Problem] = []
    try:
        if whole := _listing_problem(archive, limits):
            return [Problem(archive.name, "", *whole)]
        with zipfile.ZipFile(archive) as opened:
            problems = list(_problems(opened, archive, limits))
            if not problems:
                problems = list(_extract(opened, archive, into))
                if ignored is not None:
                    names = (_name(info) for info in opened.infolist() if not info.is_dir())
                    ignored += filter(is_system_file, names)
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError) as error:
        words = f"The file is no zip archive that can be read ({error})."
        problems.append(Problem(archive.name, "", words, "Zip the folder again."))
    return problems


def unpack_upload(archive: Path, into: Path, ignored: list[str]) -> list[Problem]:
    """Unpack what came over the web: within its limits, and apart where that may take long."""
    size = archive.stat().st_size
    listed = _listed(archive) or (0, 0)
    if size <= input_limits.APART_FROM_ARCHIVE_BYTES and listed[1] <= (
        input_limits.APART_FROM_FILES * input_limits.LISTED_BYTES
    ):
        return unpack(archive, into, FROM_THE_WEB, ignored)
    longer_s = size / input_limits.APART_BYTES_PER_S
    try:
        problems, names = read_apart(
            _unpack_apart, archive, into, cpu_s=input_limits.APART_CPU_S + longer_s
        )
    except TookTooLong as error:
        remedy = "Split it, or import the folder itself."
        return [Problem(archive.name, "", *error.explain("Unpacking the archive", remedy))]
    ignored += names
    return problems


def _unpack_apart(archive: Path, into: Path) -> tuple[list[Problem], list[str]]:
    ignored: list[str] = []
    return unpack(archive, into, FROM_THE_WEB, ignored), ignored


def study_folder(unpacked: Path) -> Path:
    """Where study.toml lies: at the top, or in the only folder there."""
    if (unpacked / TOML).exists():
        return unpacked
    inside = [
        entry for entry in unpacked.iterdir() if entry.is_dir() and not is_system_file(entry.name)
    ]
    return inside[0] if len(inside) == 1 else unpacked


def _listed(archive: Path) -> tuple[int, int] | None:
    """How many entries an archive says it has, and the bytes of their list, as zipfile reads it.

    None where there is no such record.
    """
    with archive.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        start = max(0, size - END_BYTES - LONGEST_COMMENT)
        file.seek(start)
        tail = file.read()
        at = len(tail) - END_BYTES
        if at < 0 or not (tail[at:].startswith(END) and tail.endswith(b"\0\0")):
            at = tail.rfind(END)
        if at < 0 or len(tail) < at + END_BYTES:
            return None
        entries, listed = struct.unpack("<HI", tail[at + 10 : at + 16])
        end64 = start + at - LOCATOR64_BYTES - END64_BYTES
        if end64 >= 0:
            file.seek(end64)
            record = file.read(END64_BYTES)
            if record.startswith(END64):
                entries, listed = struct.unpack("<QQ", record[32:48])
    return entries, listed


def _listing_problem(archive: Path, limits: Limits) -> tuple[str, str] | None:
    """What the end of the archive tells, before its table of contents is read."""
    entries, listed = _listed(archive) or (0, 0)
    if entries > limits.entries:
        return _too_many(entries, limits)
    if listed > limits.entries * input_limits.LISTED_BYTES:
        what = f"The archive's table of contents has {listed / 1024**2:,.0f} MB."
        return what, "Zip the folder again, with shorter names, or split the study."
    return None


def _too_many(entries: int, limits: Limits) -> tuple[str, str]:
    what = f"The archive holds {entries:,} files; {limits.entries:,} are allowed."
    return what, "Split the study."


def _problems(opened: zipfile.ZipFile, archive: Path, limits: Limits) -> Iterator[Problem]:
    """What the table of contents tells, before a byte is unpacked."""
    infos = opened.infolist()
    size, packed = sum(i.file_size for i in infos), sum(i.compress_size for i in infos)
    whole = _whole_archive_problem(len(infos), size, packed, archive.stat().st_size, limits)
    if whole:
        yield Problem(archive.name, "", *whole)
    if len(infos) > limits.entries:
        return
    names = Counter(_name(info).casefold() for info in infos if not info.is_dir())
    for info in infos:
        try:
            _check_entry(info, limits)
            if names[_name(info).casefold()] > 1 and not info.is_dir():
                raise Wrong("The archive holds this name more than once.", "Zip the folder again.")
        except Wrong as wrong:
            yield Problem(archive.name, info.filename, wrong.what, wrong.remedy)


def _whole_archive_problem(
    entries: int, size: int, packed: int, archive_size: int, limits: Limits
) -> tuple[str, str] | None:
    if entries > limits.entries:
        return _too_many(entries, limits)
    if size > limits.total_bytes:
        what = (
            f"Unpacked, the archive has {size / 1024**3:.1f} GB; "
            f"{limits.total_bytes / 1024**3:.0f} GB are allowed."
        )
        return what, "Import the folder itself, or split the study."
    if size > limits.ratio_counts_above_bytes and size > limits.ratio * max(packed, 1):
        what = f"Unpacked, the archive would be {size / max(packed, 1):,.0f} times as large."
        return what, "Sound never packs that well: this looks like a zip bomb. Import the folder."
    if packed > archive_size:
        return "Entries of the archive overlap: this is a zip bomb.", "Zip the folder again."
    return None


def _check_entry(info: zipfile.ZipInfo, limits: Limits) -> None:
    name = _name(info)
    _check_encoding(info)
    if info.flag_bits & ENCRYPTED:
        raise Wrong("This entry is encrypted.", "Zip the folder without a password.")
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise Wrong("This entry is a link or a device.", "Zip the files themselves.")
    if "\0" in info.orig_filename or any(unicodedata.category(c) == "Cc" for c in name):
        raise Wrong("The name holds a control character.", "Rename the file.")
    check_relative(name.rstrip("/"))
    if name.count("/") > limits.depth:
        raise Wrong(f"This entry lies more than {limits.depth} folders deep.", "Flatten it.")
    if info.file_size > limits.entry_bytes:
        raise Wrong(
            f"Unpacked, this file has {info.file_size / 1024**2:,.0f} MB; "
            f"{limits.entry_bytes // 1024**2} MB are allowed.",
            "Cut it, or save it as FLAC.",
        )


def _extract(opened: zipfile.ZipFile, archive: Path, into: Path) -> Iterator[Problem]:
    total = sum(info.file_size for info in opened.infolist())
    if total > shutil.disk_usage(into).free:
        what = f"There is no room for {total / 1024**2:,.0f} MB on the disk."
        yield Problem(archive.name, "", what, "Free some room.")
        return
    for info in opened.infolist():
        name = _name(info)
        if info.is_dir() or is_system_file(name):
            continue
        target = into / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            _write(opened, info, target)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
            what = f"This entry cannot be unpacked ({error})."
            yield Problem(archive.name, name, what, "Zip the folder again.")


def _write(opened: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path) -> None:
    """Stops at the promised size, whatever the packed data would go on to give."""
    left = info.file_size
    with opened.open(info) as source, target.open("xb") as file:
        while piece := source.read(min(PIECE, left + 1)):
            left -= len(piece)
            if left < 0:
                raise zipfile.BadZipFile("it holds more than it promises")
            file.write(piece)


def _name(info: zipfile.ZipInfo) -> str:
    """The entry's name; archives made without the UTF-8 mark mostly hold UTF-8 all the same."""
    name = info.orig_filename  # `filename` has slashes put in and is cut at a NUL
    if not _marked(info):
        try:
            name = name.encode("cp437").decode("utf-8")
        except UnicodeError:
            return name  # refused by _check_entry
    return unicodedata.normalize("NFC", name)


def _marked(info: zipfile.ZipInfo) -> bool:
    return bool(info.flag_bits & UTF8_NAMES) or info.orig_filename.isascii()


def _check_encoding(info: zipfile.ZipInfo) -> None:
    try:
        if not _marked(info):
            info.orig_filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        raise Wrong(
            "The name is in an unknown encoding.", "Zip the folder with names in UTF-8."
        ) from None
