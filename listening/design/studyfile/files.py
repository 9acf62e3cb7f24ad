"""Files that a table names, found inside the folder and never outside it."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from listening.common.sound_files import is_system_file
from listening.design.studyfile.problems import Notebook, quoted
from listening.design.studyfile.stimuli_csv import Row
from listening.design.studyfile.values import Wrong

MAX_FILES = 400_000


@dataclass(frozen=True)
class AudioUse:
    """A file that exists, and the first row that names it."""

    path: Path
    row: int


def audio_of(folder: Path, rows: Sequence[Row], notes: Notebook) -> dict[str, AudioUse]:
    """Every named file that exists inside the folder, by its name in the table."""
    shelf = Shelf(folder)
    if shelf.ignored:
        notes.remarks.append(ignored_files(shelf.ignored))
    uses: dict[str, AudioUse] = {}
    refused: dict[str, Wrong] = {}
    folded: dict[str, tuple[str, int]] = {}
    for row in rows:
        name = row.cells["file"]
        first, number = folded.setdefault(name.casefold(), (name, row.number))
        if first != name:
            what = f"“{name}” and “{first}” (row {number}) differ only in capitals."
            notes.csv(row.number, "file", what, "Rename one: many disks take them for one file.")
        if name not in uses and name not in refused:
            try:
                uses[name] = AudioUse(shelf.file(name), row.number)
            except Wrong as wrong:
                refused[name] = wrong
        if name in refused:
            notes.csv(row.number, "file", refused[name].what, refused[name].remedy)
    return uses


def ignored_files(names: Sequence[str]) -> str:
    """The sentence that names files which macOS or Windows put beside others."""
    return f"Ignored, as macOS or Windows put them there: {quoted(sorted(names))}."


class Shelf:
    """A folder whose files are found by name, whatever Unicode form the disk keeps."""

    def __init__(self, folder: Path) -> None:
        self.root = folder.resolve()
        self.names: dict[str, Path] = {}
        self.ignored: list[str] = []  # what macOS or Windows put there
        for parent, _, files in os.walk(self.root):
            below = os.path.relpath(parent, self.root)
            for file in files:
                joined = file if below == "." else f"{below}/{file}"
                name = unicodedata.normalize("NFC", joined)
                if is_system_file(name):
                    self.ignored.append(name)
                else:
                    self.names[name] = Path(parent, file)
            if len(self.names) > MAX_FILES:
                break
        self.folded = {name.casefold(): name for name in self.names}

    def file(self, name: str) -> Path:
        """The path of a file; Wrong says why there is none."""
        check_relative(name)
        if is_system_file(name):
            raise Wrong(
                f"“{name}” is a hidden file of macOS or Windows, not audio.",
                "Remove its row.",
            )
        path = self.names.get(name, self.root / name)
        if name in self.names and _is_plain(path):
            return path  # the walk follows no links, so that none leads to it
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError):
            raise Wrong(f"There is no file “{name}” in the folder.", self._hint(name)) from None
        if not real.is_relative_to(self.root):
            raise Wrong(
                f"“{name}” is a link to a place outside the folder.", "Copy the file itself."
            )
        if not real.is_file():
            raise Wrong(f"“{name}” is no file.", "Name a sound file.")
        if not os.access(real, os.R_OK):
            raise Wrong(f"“{name}” may not be read.", "Change its permissions.")
        return real

    def _hint(self, name: str) -> str:
        if name.casefold() in self.folded:
            return f"It is written “{self.folded[name.casefold()]}”: mind the capitals."
        last = name.rpartition("/")[2]
        same = [known for known in self.names if known.rpartition("/")[2] == last]
        if same:
            return f"Did you mean “{same[0]}”?"
        if near := next((known for known in self.names if _is_a_slip(known, name)), ""):
            return f"Did you mean “{near}”?"
        return "Copy it there, or correct the name."


def _is_plain(path: Path) -> bool:
    """A file that can be read, and no link to one."""
    with contextlib.suppress(OSError):
        return stat.S_ISREG(path.lstat().st_mode) and os.access(path, os.R_OK)
    return False


def _is_a_slip(known: str, name: str) -> bool:
    """Other separators, leading zeros or ending; a letter too many or too few; two exchanged.

    Another number or another system is no slip: that file belongs to another row.
    """
    one, other = sorted((_written(known), _written(name)), key=len)
    if re.findall(r"\d+", one) != re.findall(r"\d+", other) or len(other) - len(one) > 1:
        return False
    if len(one) == len(other):
        return one == other or sorted(one) == sorted(other)
    return any(other[:k] + other[k + 1 :] == one for k in range(len(other)))


@lru_cache(maxsize=4096)
def _written(name: str) -> str:
    stem = name.casefold().rpartition(".")[0] or name.casefold()
    return re.sub(r"[-_ .]+", "", re.sub(r"\d+", lambda n: str(int(n[0])), stem))


def check_relative(name: str) -> None:
    """Wrong unless the name leads, with forward slashes, to a place inside the folder."""
    if "\\" in name:
        raise Wrong(
            f"“{name}” holds a backslash.", "Write folders with a forward slash: audio/a.wav"
        )
    if name.startswith("/") or name[1:2] == ":" or name.startswith("~"):
        raise Wrong(f"“{name}” is an absolute path.", "Write it relative to the folder.")
    parts = name.split("/")
    if ".." in parts:
        raise Wrong(f"“{name}” leads out of the folder.", "Copy the file into the folder.")
    if "" in parts or "." in parts or any(part != part.strip() for part in parts):
        raise Wrong(f"“{name}” is no plain path.", "Write it like audio/clip.wav")
    if "\n" in name or "\t" in name:
        raise Wrong("The name holds a line break or a tab.", "Rename the file.")
    if any(len(part.encode()) > 255 for part in parts):
        raise Wrong("A part of the path is longer than 255 bytes.", "Shorten the name.")
