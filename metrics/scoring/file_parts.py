"""Files scored in parts by several machines: which clips are whose, and where each part is written.

Every machine gets the same files or manifest and its own number; nobody has to talk to anybody.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from metrics.scoring.inputs import InputClip

PART = re.compile(r"(\d{1,6})/(\d{1,6})")


@dataclass(frozen=True)
class FilePart:
    """Part ``number`` of ``count``, counted from 1."""

    number: int
    count: int

    def select(self, clips: Sequence[InputClip]) -> list[InputClip]:
        """The clips of this part, by a hash of their names: the same on every machine."""
        return [clip for clip in clips if place_of(clip, self.count) == self.number - 1]

    def path(self, out: Path | str) -> Path:
        """Where this part is written: scores.jsonl is scores.part-2-of-8.jsonl."""
        given = Path(out)
        digits = len(str(self.count))
        named = f"{given.stem}.part-{self.number:0{digits}d}-of-{self.count}{given.suffix}"
        return given.with_name(named)


def part_of(text: str) -> FilePart | None:
    """NUMBER/COUNT such as 2/8; None of an empty text. ValueError of anything else."""
    if not text:
        return None
    found = PART.fullmatch(text.strip())
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise ValueError(f"--part {text!r} is not understood; give NUMBER/COUNT from 1/8 to 8/8")
    return FilePart(int(found[1]), int(found[2]))


def place_of(clip: InputClip, count: int) -> int:
    """The place of a clip among ``count`` parts, from 0."""
    name = f"{clip.condition}\x1e{clip.stimulus}".encode("utf-8", "surrogateescape")
    return int(hashlib.sha256(name).hexdigest()[:8], 16) % count
