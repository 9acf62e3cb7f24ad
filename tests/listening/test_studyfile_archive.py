"""Zip archives are unpacked with suspicion."""

import io
import os
import stat
import struct
import zipfile
from pathlib import Path

import pytest

from listening.design.studyfile import Limits, Problem, read_folder, study_folder, unpack
from tests.listening.folders import make_folder


def make_zip(path: Path, entries: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return path


def zipped(folder: Path, path: Path, inside: str = "") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.rglob("*"):
            archive.write(file, inside + file.relative_to(folder).as_posix())
    return path


def refused(tmp_path: Path, archive: Path, limits: Limits | None = None) -> list[Problem]:
    """The problems of an archive of which nothing may be written."""
    into = tmp_path / "into"
    into.mkdir()
    found = unpack(archive, into, limits)
    assert found, "it was accepted"
    assert [p for p in tmp_path.rglob("*") if p.name.startswith("evil")] == []
    return found


@pytest.mark.parametrize("inside", ["", "my study/", "研究/"])
def test_a_zipped_folder_is_read_like_the_folder(tmp_path: Path, inside: str) -> None:
    folder = make_folder(tmp_path / "study")
    archive = zipped(folder, tmp_path / "study.zip", inside)
    into = tmp_path / "into"
    into.mkdir()
    assert unpack(archive, into) == []
    reading = read_folder(study_folder(into))
    assert reading.problems == ()
    assert reading.study == read_folder(folder).study


def test_the_litter_of_macos_and_windows_is_left_out(tmp_path: Path) -> None:
    archive = zipped(make_folder(tmp_path / "study"), tmp_path / "s.zip", "study/")
    with zipfile.ZipFile(archive, "a") as opened:
        opened.writestr("__MACOSX/study/._a1.wav", b"x")
        opened.writestr("study/.DS_Store", b"x")
        opened.writestr("study/audio/._a1.wav", b"x")
    into = tmp_path / "into"
    into.mkdir()
    ignored: list[str] = []
    assert unpack(archive, into, ignored=ignored) == []
    assert ignored == ["__MACOSX/study/._a1.wav", "study/.DS_Store", "study/audio/._a1.wav"]
    assert [p.name for p in into.iterdir()] == ["study"]
    assert not any(p.name.startswith(".") for p in into.rglob("*"))


def test_a_study_folder_is_found_beside_the_litter_of_macos(tmp_path: Path) -> None:
    make_folder(tmp_path / "into" / "study")
    (tmp_path / "into" / "__MACOSX").mkdir()
    assert study_folder(tmp_path / "into") == tmp_path / "into" / "study"


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("../evil.txt", "leads out of the folder"),
        ("a/../../evil.txt", "leads out of the folder"),
        ("/tmp/evil.txt", "absolute path"),
        ("C:/evil.txt", "absolute path"),
        ("C:\\evil.txt", "backslash"),
        ("..\\evil.txt", "backslash"),
        ("a//evil.txt", "no plain path"),
        ("a/./evil.txt", "no plain path"),
        ("/".join("abcdefghijklmn") + "/evil.txt", "folders deep"),
        ("evil\x07.txt", "control character"),
    ],
)
def test_names_that_lead_elsewhere(tmp_path: Path, name: str, what: str) -> None:
    found = refused(tmp_path, make_zip(tmp_path / "z.zip", {name: b"x"}))
    assert any(what in p.what for p in found), "\n".join(map(str, found))


def test_every_bad_entry_is_listed(tmp_path: Path) -> None:
    found = refused(
        tmp_path, make_zip(tmp_path / "z.zip", {"../evil1": b"", "/evil2": b"", "ok": b""})
    )
    assert [p.place for p in found] == ["../evil1", "/evil2"]


def test_links_and_devices_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        for name, kind in (("evil-link", stat.S_IFLNK), ("evil-pipe", stat.S_IFIFO)):
            info = zipfile.ZipInfo(name)
            info.create_system = 3
            info.external_attr = (kind | 0o777) << 16
            archive.writestr(info, "/etc/passwd")
    found = refused(tmp_path, tmp_path / "z.zip")
    assert ["a link or a device" in p.what for p in found] == [True, True]


def test_an_encrypted_entry_is_refused(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "z.zip", {"evil.txt": b"secret"}, zipfile.ZIP_STORED)
    data = bytearray(archive.read_bytes())
    data[6] |= 1  # the flag in the entry's own header
    data[data.index(b"PK\x01\x02") + 8] |= 1  # and in the table of contents
    archive.write_bytes(data)
    (problem,) = refused(tmp_path, archive)
    assert "encrypted" in problem.what
    assert "without a password" in problem.remedy


@pytest.mark.medium
def test_a_bomb_is_known_by_its_ratio_before_it_is_unpacked(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "z.zip", {"evil.wav": bytes(60 * 1024**2)})
    assert archive.stat().st_size < 100_000
    found = refused(tmp_path, archive)
    assert any("zip bomb" in p.remedy for p in found)


@pytest.mark.medium
def test_a_small_file_of_silence_is_no_bomb(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "z.zip", {"silence.wav": bytes(10 * 1024**2)})
    into = tmp_path / "into"
    into.mkdir()
    assert unpack(archive, into) == []
    assert (into / "silence.wav").stat().st_size == 10 * 1024**2


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        (Limits(entries=2), "holds 3 files"),
        (Limits(total_bytes=2_000), "GB are allowed"),
        (Limits(entry_bytes=999), "MB are allowed"),
    ],
)
def test_too_many_or_too_large(tmp_path: Path, limits: Limits, what: str) -> None:
    entries = {f"evil{n}": os.urandom(1000) for n in range(3)}
    found = refused(tmp_path, make_zip(tmp_path / "z.zip", entries), limits)
    assert any(what in p.what for p in found), "\n".join(map(str, found))


def test_overlapping_entries_are_refused(tmp_path: Path) -> None:
    """Many entries of the table of contents point at one packed piece."""
    kernel = os.urandom(2000)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("evil0", kernel)
    data = out.getvalue()
    start, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    entry = data[start:end]
    entries = b"".join(entry.replace(b"evil0", f"evil{n}".encode()) for n in range(9))
    tail = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 9, 9, len(entries), start, 0)
    (tmp_path / "z.zip").write_bytes(data[:start] + entries + tail)
    found = refused(tmp_path, tmp_path / "z.zip")
    assert any("overlap" in p.what for p in found)


def test_an_entry_that_gives_more_than_it_promises(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "z.zip", {"clip.wav": os.urandom(5000)})
    data = bytearray(archive.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.index(mark) + offset
        data[at : at + 4] = struct.pack("<L", 100)  # the size that is promised
    archive.write_bytes(data)
    into = tmp_path / "into"
    into.mkdir()
    (problem,) = unpack(archive, into)
    assert "cannot be unpacked" in problem.what
    assert (into / "clip.wav").stat().st_size <= 100


def test_damaged_data_is_named(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "z.zip", {"clip.wav": os.urandom(5000)}, zipfile.ZIP_STORED)
    data = bytearray(archive.read_bytes())
    data[2000] ^= 0xFF
    archive.write_bytes(data)
    into = tmp_path / "into"
    into.mkdir()
    (problem,) = unpack(archive, into)
    assert (problem.file, problem.place) == ("z.zip", "clip.wav")
    assert "CRC" in problem.what


@pytest.mark.parametrize("data", [b"", b"no zip", b"PK\x03\x04" + bytes(50)])
def test_a_file_that_is_no_archive(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "z.zip").write_bytes(data)
    (problem,) = refused(tmp_path, tmp_path / "z.zip")
    assert "no zip archive" in problem.what


def test_names_that_collide(tmp_path: Path) -> None:
    found = refused(tmp_path, make_zip(tmp_path / "z.zip", {"evil.wav": b"1", "Evil.wav": b"2"}))
    assert all("more than once" in p.what for p in found)


def test_utf8_names_without_the_utf8_mark_are_understood(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "z.zip", {"XXXXXX.wav": b"sound"}, zipfile.ZIP_STORED)
    data = archive.read_bytes().replace(b"XXXXXX", "你好".encode())
    archive.write_bytes(data)
    into = tmp_path / "into"
    into.mkdir()
    assert unpack(archive, into) == []
    assert [p.name for p in into.iterdir()] == ["你好.wav"]


def test_names_in_another_encoding_are_refused(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "z.zip", {"XXXX.wav": b"sound"}, zipfile.ZIP_STORED)
    archive.write_bytes(archive.read_bytes().replace(b"XXXX", "你好".encode("gbk")))
    (problem,) = refused(tmp_path, archive)
    assert "unknown encoding" in problem.what
    assert "UTF-8" in problem.remedy
