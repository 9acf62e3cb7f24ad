"""The files of a draft: received in pieces, unpacked, and known by what is in them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.db import transaction

from listening import audio
from listening.audio import probe
from listening.audio.long_sounds import NotDecoded
from listening.common.input_limits import WEB_FILES
from listening.common.plain_json import JsonError, read_json
from listening.common.sound_files import EXTENSIONS
from listening.design.studyfile import CSV, TOML, study_folder, unpack_upload
from listening.design.studyfile.files import check_relative
from listening.design.studyfile.problems import Problem
from listening.drafts.folder import folder_of, place_of
from listening.models import Draft

LONGEST_PATH = 500  # that is remembered of a file that cannot be used
SOUNDS = "audio"
MEASURED_AT_ONCE_S = 2.0  # before the page is told how far it is
MEASURED_TOGETHER = 8
Facts = dict[str, Any]


class WrongPiece(Exception):
    """The piece does not continue what was received: `received` bytes are there."""

    def __init__(self, received: int) -> None:
        self.received = received
        super().__init__(received)


def receive(draft: Draft, path: str, size: int, offset: int, piece: bytes) -> bool:
    """Adds a piece of a file; whether it is whole now. Wrong says why the name is refused.

    A file comes to its place when it is whole, so that no page ever sees a part of one.
    """
    check_relative(path)
    part, target = _part(draft, path, size), _target(draft, path)
    received = received_of(draft, path, size)
    if offset != received or received + len(piece) > size:
        raise WrongPiece(received)
    if received < size:
        with part.open("r+b" if part.exists() else "wb") as file:
            file.seek(offset)  # the same piece twice at once lies on itself
            file.write(piece)
    if received + len(piece) < size:
        return False
    if part.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(part, target)
    return True


def received_of(draft: Draft, path: str, size: int) -> int:
    """Bytes that are here of a file that is not whole; all, of an archive not unpacked yet."""
    part, target = _part(draft, path, size), _target(draft, path)
    if not part.exists() and is_zip(path) and target.is_file() and target.stat().st_size == size:
        return size
    return part.stat().st_size if part.exists() else 0


def _part(draft: Draft, path: str, size: int) -> Path:
    folder = place_of(draft) / "parts"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / hashlib.sha256(f"{size}/{path}".encode()).hexdigest()


def _target(draft: Draft, path: str) -> Path:
    return folder_of(draft) / SOUNDS / path


def is_zip(path: str) -> bool:
    return path.casefold().endswith(".zip")


def unzip(draft: Draft, path: str) -> list[Problem]:
    """Unpacks an archive that was received among the sounds, and takes it away.

    Whoever is stopped in between finds the archive still there, and does it again.
    """
    archive = _target(draft, path)
    space = place_of(draft) / "unpacked" / hashlib.sha256(path.encode()).hexdigest()
    shutil.rmtree(space, ignore_errors=True)
    space.mkdir(parents=True)  # of this archive: pages send several at once
    try:
        ignored: list[str] = []
        problems = unpack_upload(archive, space, ignored)
        ignore(draft, ignored)
        if not problems:
            _move_all(space, folder_of(draft) / SOUNDS)
        archive.unlink(missing_ok=True)  # another request may have moved the whole folder
    finally:
        shutil.rmtree(space, ignore_errors=True)
    return problems


def ignore(draft: Draft, paths: Sequence[str]) -> None:
    """Remembers files that macOS or Windows put among the sounds: they are named, not stored."""
    if paths:
        names = sorted({*ignored_of(draft), *paths})
        _ignored_file(draft).write_text(json.dumps(names), "utf-8")


def ignored_of(draft: Draft) -> list[str]:
    """The names of files that were left out because macOS or Windows made them."""
    try:
        return list(read_json(_ignored_file(draft).read_bytes()))
    except (FileNotFoundError, JsonError):  # a full disk may have cut it off
        return []


def _ignored_file(draft: Draft) -> Path:
    return place_of(draft) / "ignored.json"


def note_problem(draft: Draft, path: str, problem: str) -> None:
    """Remembers why an uploaded file cannot be used; an empty problem: it can."""
    file = _problem_file(draft, path)
    if problem:
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps([path[:LONGEST_PATH], problem]), "utf-8")
    else:
        file.unlink(missing_ok=True)


def problems_of(draft: Draft) -> dict[str, str]:
    """Uploaded files that cannot be used, each with why; until the same name comes again."""
    problems = {}
    for file in sorted((place_of(draft) / "problems").glob("*.json")):
        with contextlib.suppress(FileNotFoundError, JsonError):  # it came again just now
            path, problem = read_json(file.read_bytes())
            problems[path] = problem
    return dict(sorted(problems.items()))


def forget_problems(draft: Draft) -> None:
    shutil.rmtree(place_of(draft) / "problems", ignore_errors=True)


def _problem_file(draft: Draft, path: str) -> Path:
    """One for each file: several are sent at once."""
    return place_of(draft) / "problems" / f"{hashlib.sha256(path.encode()).hexdigest()}.json"


def adopt(draft: Draft) -> bool:
    """A whole study folder among what was uploaded becomes the draft; whether there was one.

    Whoever is stopped in between leaves it in one place, from where the next call brings it.
    """
    adopted, sounds = place_of(draft) / "adopted", folder_of(draft) / SOUNDS
    with transaction.atomic():
        Draft.objects.select_for_update().get(pk=draft.pk)  # pages ask several times at once
        has_folder = adopted.exists()
        if has_folder:
            _move_all(adopted, folder_of(draft))
            shutil.rmtree(adopted)
        sounds.mkdir(parents=True, exist_ok=True)
        inside = study_folder(sounds)
        if (inside / TOML).exists():
            has_folder = True
            inside.rename(adopted)
            sounds.mkdir(exist_ok=True)
            _move_all(adopted, folder_of(draft))
        if has_folder:
            Draft.objects.filter(pk=draft.pk).update(wishes=None)
    shutil.rmtree(adopted, ignore_errors=True)
    return has_folder


def _move_all(source: Path, target: Path) -> None:
    for path in sorted(p for p in source.rglob("*") if p.is_file() and not p.is_symlink()):
        to = target / path.relative_to(source)
        to.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, to)


# --- What is known of them ------------------------------------------------------------------------


def uploaded(draft: Draft) -> dict[str, tuple[int, str]]:
    """Every uploaded file with its bytes, and its SHA-256 where that is known already."""
    prefix, place = f"{SOUNDS}/", str(place_of(draft))
    return {
        name.removeprefix(prefix): (size, str((_cached_facts(place, name) or {}).get("sha256", "")))
        for name, size in names_of(draft).items()
        if name.startswith(prefix)
    }


def measure_some(draft: Draft, seconds: float = MEASURED_AT_ONCE_S) -> int:
    """Measures sounds that are not known yet, for a while; how many are left."""
    endings = tuple(f".{each}" for each in EXTENSIONS)
    names = [name for name in names_of(draft) if name.casefold().endswith(endings)]
    new = [name for name in names if _cached_facts(str(place_of(draft)), name) is None]
    until = time.monotonic() + seconds
    while new and time.monotonic() < until:
        facts_of(draft, new[:MEASURED_TOGETHER])
        new = new[MEASURED_TOGETHER:]
    return len(new)


def names_of(draft: Draft) -> dict[str, int]:
    """Every file of the folder but its tables, relative to it, with its bytes."""
    top = str(folder_of(draft))
    sizes: dict[str, int] = {}
    waiting = [""]
    while waiting:
        before = waiting.pop()
        with contextlib.suppress(FileNotFoundError), os.scandir(f"{top}/{before}") as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{before}{entry.name}/")
                else:
                    sizes[before + entry.name] = entry.stat().st_size
    return {name: size for name, size in sizes.items() if name not in (TOML, CSV)}


def facts_of(draft: Draft, names: Sequence[str]) -> dict[str, Facts]:
    """What each file holds, or {"problem": …}; measured once for each content."""
    place = str(place_of(draft))
    known = {name: _cached_facts(place, name) for name in names}
    new = [name for name, facts in known.items() if facts is None]
    paths = [folder_of(draft) / name for name in new]
    there = [(name, path) for name, path in zip(new, paths, strict=True) if path.is_file()]
    for (name, path), each in zip(there, audio.probed_all([p for _, p in there]), strict=True):
        wrong = isinstance(each, audio.AudioError)
        facts = {"problem": str(each)} if isinstance(each, audio.AudioError) else asdict(each)
        known[name] = facts | ({"sha256": audio.sha256_of(path)} if wrong else {})
        if isinstance(each, NotDecoded):
            continue  # the next look may find a server that is less busy
        facts_file = Path(_facts_file(place, name))
        facts_file.parent.mkdir(exist_ok=True)
        facts_file.write_text(json.dumps([_mark(path), known[name]]))
    return {name: facts or {"problem": "The file is not there."} for name, facts in known.items()}


def is_full(draft: Draft) -> bool:
    """Whether it holds so many sounds that no more are taken; cheap, as it is asked for each."""
    facts = place_of(draft) / "facts"
    return facts.is_dir() and len(os.listdir(facts)) >= WEB_FILES


def _cached_facts(place: str, name: str) -> Facts | None:
    """What is known of a file that has not changed since; `place` is that of the draft."""
    try:
        status = os.stat(f"{place}/study/{name}")
        with open(_facts_file(place, name), "rb") as file:
            mark, facts = json.load(file)
    except (FileNotFoundError, ValueError):  # a full disk may have cut it off
        return None
    return facts if mark == [status.st_size, status.st_mtime_ns, probe.VERSION] else None


def _mark(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, probe.VERSION]


def _facts_file(place: str, name: str) -> str:
    return f"{place}/facts/{hashlib.sha256(name.encode()).hexdigest()}.json"
