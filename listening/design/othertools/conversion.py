"""What was taken over of another tool's study, and what was not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from listening.common.sound_files import EXTENSIONS

Table = dict[str, Any]
NOT_IN_KEYS = re.compile(r"[^-a-zA-Z0-9_]+")
BLOCKS = ("p", "br", "div", "li", "ul", "ol", "h1", "h2", "h3", "h4", "tr")
MARKS = ("img", "a", "audio", "video", "iframe", "input", "button", "table", "script", "style")


class CannotTake(ValueError):
    """Nothing was written; the message says why, and what to do."""


@dataclass
class Conversion:
    """A study folder to be written, and what its researcher is told about it."""

    top: Table  # study.toml
    rows: list[dict[str, str]] = field(default_factory=list)  # of stimuli.csv
    sounds: dict[str, Path] = field(default_factory=dict)  # where a sound goes, and what it is of
    anchors: dict[str, tuple[Path, str]] = field(default_factory=dict)  # to be made, and of what
    guessed: list[str] = field(default_factory=list)  # what the other tool does not say
    omitted: list[str] = field(default_factory=list)  # what is not taken over, and why

    def clip(self, condition: str, item: str, source: Path, **more: str) -> str:
        """A row of a sound that is copied; its id."""
        target = f"audio/{slug(condition)}/{slug(item)}{source.suffix.lower()}"
        if self.sounds.setdefault(target, source) != source:
            target = target.replace(source.suffix.lower(), f"-{len(self.sounds)}{source.suffix}")
            self.sounds[target] = source
        return self.row(condition, item, target, **more)

    def row(self, condition: str, item: str, file: str, **more: str) -> str:
        wanted = stem = f"{slug(condition)}-{slug(item)}"[:110]
        known = {row["stimulus"] for row in self.rows}
        number = 2
        while wanted in known:
            wanted, number = f"{stem}-{number}", number + 1
        row = {"stimulus": wanted, "condition": condition, "item": item, "file": file}
        self.rows.append({**row, **more})
        return wanted


def slug(name: str) -> str:
    """As a key, an id or a part of a path may be written."""
    return NOT_IN_KEYS.sub("-", name).strip("-")[:80] or "x"


def once(name: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    """The name, with a number where it is known already."""
    number, candidate = 2, name
    while candidate in known:
        candidate, number = f"{name}-{number}", number + 1
    return candidate


def plain_text(html: str) -> tuple[str, list[str]]:
    """The words of HTML, with empty lines between paragraphs, and what of it is no words."""
    reader = _Words()
    reader.feed(html)
    reader.close()
    lines = [" ".join(line.split()) for line in "".join(reader.words).split("\n")]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return text, list(dict.fromkeys(reader.lost))


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.lost: list[str] = []
        self.inside = ""  # of what is no text

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in BLOCKS:
            self.words.append("\n" if tag in ("br", "li") else "\n\n")
        if tag in MARKS:
            self.lost.append(f"<{tag}>")
        if tag in ("script", "style"):
            self.inside = tag

    def handle_endtag(self, tag: str) -> None:
        if tag in BLOCKS and tag not in ("br", "li"):
            self.words.append("\n\n")
        if tag == self.inside:
            self.inside = ""

    def handle_data(self, data: str) -> None:
        if not self.inside:
            self.words.append(data.replace("\n", " "))


def file_below(folder: Path, path: str) -> Path | None:
    """The file of a path that stays in the folder; None where there is none."""
    if not path or path.startswith("/") or ".." in Path(path).parts:
        return None
    try:
        file = folder / path
        return file if file.is_file() else None
    except (OSError, ValueError):  # a name that no file can have
        return None


def sounds_below(folder: Path) -> dict[str, list[Path]]:
    """The sound files below a folder, by name."""
    paths: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower().lstrip(".") in EXTENSIONS and path.is_file():
            paths.setdefault(path.name, []).append(path)
    return paths


def listed(names: Sequence[str], most: int = 6) -> str:
    """So many of them, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
