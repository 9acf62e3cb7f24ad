"""A study of another tool written as a study folder: copied, anchors made, all or nothing."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import tomli_w

from listening.audio import AudioError
from listening.audio.anchors import write_made
from listening.common.sound_files.names import is_system_file
from listening.design.othertools import CannotTake, Taken
from listening.design.studyfile import CSV, TOML, Problem, read_folder
from listening.design.studyfile.writer import rows_text


def write_taken(taken: Taken, target: Path) -> tuple[Problem, ...]:
    """Writes the folder; what an import would say of it. CannotTake where nothing was written."""
    if target.exists() and not target.is_dir():
        raise CannotTake(f"“{target}” is a file. Name a new folder.")
    if target.is_dir() and not all(is_system_file(e.name) for e in target.iterdir()):
        raise CannotTake(f"The folder “{target}” is not empty, and nothing in it was touched.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".taken-") as made:
        folder = Path(made) / "study"
        _write(taken, folder)
        if target.is_dir():
            shutil.rmtree(target)
        folder.rename(target)
    return tuple(read_folder(target).problems)


def _write(taken: Taken, folder: Path) -> None:
    (folder / "audio").mkdir(parents=True)
    for name, source in taken.sounds.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, folder / name)
    for name, (source, anchor) in taken.anchors.items():
        try:
            write_made(source, folder / name, anchor)
        except AudioError as error:
            raise CannotTake(f"No anchor can be made of {source}: {error}") from None
    (folder / TOML).write_text(tomli_w.dumps(taken.top, multiline_strings=True), "utf-8")
    (folder / CSV).write_text(rows_text(taken.rows), "utf-8", newline="")
