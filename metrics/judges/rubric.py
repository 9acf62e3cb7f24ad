"""Rubrics: what a judge is told and must answer, as versioned files that never change."""

from __future__ import annotations

import functools
import hashlib
import string
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from metrics.judges.schema import Field

FOLDER = Path(__file__).parent / "rubrics"


@dataclass(frozen=True)
class Rubric:
    """One version of one rubric: NAME.vN.toml."""

    name: str  # with its version: expressive_richness.v1
    system: str
    user: str  # $text, $language … are filled in
    fields: tuple[Field, ...]
    sha256: str  # of the file
    caps: tuple[Cap, ...] = field(default=())

    def prompt(self, **known: str) -> str:
        """The user's text with its blanks filled; KeyError for a blank that is not known."""
        return string.Template(self.user).substitute(known)


@dataclass(frozen=True)
class Cap:
    """The most that a criterion can get when an artefact was heard."""

    artefact: str
    criterion: str
    most: float


def names() -> list[str]:
    """Every rubric, with its version."""
    return sorted(path.name.removesuffix(".toml") for path in FOLDER.glob("*.v*.toml"))


@functools.cache
def rubric(name: str) -> Rubric:
    """The rubric of that name and version; a KeyError that lists those there are."""
    if name not in names():
        raise KeyError(f"no rubric is called {name!r}; there are {', '.join(names())}")
    raw = (FOLDER / f"{name}.toml").read_bytes()
    said = tomllib.loads(raw.decode("utf-8"))
    fields = [
        Field(**{**part, "choices": tuple(part.get("choices", ()))}) for part in said["fields"]
    ]
    caps = [Cap(**part) for part in said.get("caps", [])]
    return Rubric(
        name,
        said["system"].strip(),
        said["user"].strip(),
        tuple(fields),
        hashlib.sha256(raw).hexdigest(),
        tuple(caps),
    )
