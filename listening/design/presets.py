"""Ready-made study folders: which there are, what each is for, and a copy of one to work on."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from listening.common.command_name import as_typed_here
from listening.common.sound_files import is_system_file
from listening.design.studyfile import CSV, TOML

SLUG = re.compile(r"[-a-zA-Z0-9_]{1,80}")
KEY_LINE = re.compile(r'^key = "[^"]*"', re.MULTILINE)


class PresetError(ValueError):
    """Why no folder was written, in a sentence for the researcher."""


@dataclass(frozen=True)
class Preset:
    """A folder with study.toml and stimuli.csv; its sounds lie in the demo's audio folder."""

    name: str
    folder: Path

    @property
    def purpose(self) -> str:
        """What it is for: the first line of its study.toml."""
        return self.toml.split("\n", 1)[0].lstrip("# ").strip()

    @property
    def toml(self) -> str:
        return as_typed_here((self.folder / TOML).read_text(encoding="utf-8"))

    @property
    def sentences(self) -> list[Path]:
        """Tables of sentences to record, which come with the preset."""
        return sorted(self.folder.glob("*_sentences.csv"))

    @property
    def sounds(self) -> list[str]:
        """The files that stimuli.csv names, each once, relative to the study's folder."""
        with (self.folder / CSV).open(encoding="utf-8", newline="") as table:
            return list(dict.fromkeys(row["file"] for row in csv.DictReader(table)))


def presets(demo: Path) -> dict[str, Preset]:
    """Every preset that ships with the demo, by name."""
    folders = sorted(path.parent for path in (demo / "presets").glob(f"*/{TOML}"))
    return {folder.name: Preset(folder.name, folder) for folder in folders}


def write_preset(preset: Preset, demo: Path, target: Path) -> int:
    """A study folder of the researcher's own, named like the folder; how many sounds it holds."""
    for what in _obstacles(target):
        raise PresetError(what)
    sounds = preset.sounds
    is_new = not target.exists()
    try:
        (target / "audio").mkdir(parents=True, exist_ok=True)
        for sound in sounds:
            shutil.copyfile(demo / sound, target / sound)
        shutil.copyfile(preset.folder / CSV, target / CSV)
        for table in preset.sentences:
            shutil.copyfile(table, target / table.name)
        toml = KEY_LINE.sub(f'key = "{study_key(preset, target)}"', preset.toml, count=1)
        (target / TOML).write_text(toml, encoding="utf-8", newline="\n")
    except OSError as error:
        if is_new:
            shutil.rmtree(target, ignore_errors=True)
        else:  # it was empty
            shutil.rmtree(target / "audio", ignore_errors=True)
            (target / CSV).unlink(missing_ok=True)
            (target / TOML).unlink(missing_ok=True)
            for table in preset.sentences:
                (target / table.name).unlink(missing_ok=True)
        raise PresetError(
            f"“{target}” cannot be written: {error.strerror}. The files written so far are deleted."
        ) from error
    return len(sounds)


def study_key(preset: Preset, target: Path) -> str:
    """The folder's name as far as a key may hold it, else the preset's."""
    name = re.sub(r"[^-a-zA-Z0-9_]+", "-", target.resolve().name).strip("-")
    return name if SLUG.fullmatch(name) else preset.name


def _obstacles(target: Path) -> Iterator[str]:
    if target.is_symlink() and not target.exists():
        yield f"“{target}” is a link that leads nowhere. Name a new folder."
    elif target.exists() and not target.is_dir():
        yield f"“{target}” is a file. Name a new folder."
    elif target.is_dir() and not all(is_system_file(e.name) for e in target.iterdir()):
        yield f"The folder “{target}” is not empty, and nothing in it was touched. Name a new one."
