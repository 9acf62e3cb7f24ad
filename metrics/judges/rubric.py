"""Rubrics: what a judge is told and must answer, as files that never change, or one's own."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import string
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metrics.judges.schema import Field

FOLDER = Path(__file__).parent / "rubrics"
MARK = 12  # hex digits of the SHA-256 in the name of one's own


class RubricError(ValueError):
    """A rubric that cannot be used; the message names the file and what to change."""


@dataclass(frozen=True)
class Rubric:
    """One wording of one rubric: FAMILY.VARIANT.toml; the family says what is asked."""

    name: str  # expressive_richness.v1; of one's own expressive_richness.lab@3f2a…
    system: str
    user: str  # $text, $language … are filled in
    fields: tuple[Field, ...]
    sha256: str  # of the file
    caps: tuple[Cap, ...] = field(default=())

    def prompt(self, **known: str) -> str:
        """The user's text with its blanks filled; KeyError for a blank that is not known."""
        return string.Template(self.user).substitute(known)

    @property
    def score_field(self) -> str:
        """The name of its only score; RubricError where it has none or several."""
        scores = [part.name for part in self.fields if part.kind == "score"]
        if len(scores) != 1:
            raise RubricError(f"{self.name}: needs exactly one field of kind score")
        return scores[0]


@dataclass(frozen=True)
class Cap:
    """The most that a criterion can get when an artefact was heard."""

    artefact: str
    criterion: str
    most: float


class _Own:
    folder: Path | None = None


def configure(folder: Path | None) -> None:
    """Say where rubrics of one's own lie; None: there are none."""
    _Own.folder = folder


def names() -> list[str]:
    """Every rubric: those shipped, and one's own, each with the mark of its file."""
    return sorted(_files())


def family(name: str) -> str:
    """What a rubric asks about, such as expressive_richness."""
    return name.partition(".")[0]


def full_name(name: str) -> str:
    """The name with its file's mark where it is one's own: part of what a score is kept under.

    Raises RubricError for a name that there is not, or whose file is another one by now.
    """
    known = _files()
    if name in known:
        return name
    marked = [each for each in known if each.partition("@")[0] == name]
    if marked:
        return marked[0]
    now = [each for each in known if each.partition("@")[0] == name.partition("@")[0]]
    changed = f"; the file has changed and is {now[0]} now" if now else ""
    alike = [each for each in known if family(each) == family(name)] or list(known)
    raise RubricError(f"rubric {name!r} is not one of {', '.join(sorted(alike))}{changed}")


def rubric(name: str) -> Rubric:
    """The rubric of that name; RubricError when there is none, or its file cannot be used."""
    full = full_name(name)
    try:
        raw = _files()[full].read_bytes()
    except (KeyError, OSError) as error:  # of one's own: changed just now, or not to be read
        raise RubricError(f"{full}: its file cannot be read ({error})") from error
    return _parsed(full, raw)


def _files() -> dict[str, Path]:
    """The file of each rubric, by its full name; one's own are told apart by their mark."""
    shipped = {path.name.removesuffix(".toml"): path for path in FOLDER.glob("*.*.toml")}
    if _Own.folder is None:
        return shipped
    own = {}
    for path in sorted(_Own.folder.glob("*.*.toml")):
        own[f"{path.name.removesuffix('.toml')}@{_mark(path)}"] = path
    return {**shipped, **own}


def _mark(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:MARK]
    except OSError:
        return "unreadable"


@functools.cache
def _parsed(name: str, raw: bytes) -> Rubric:
    try:
        said = tomllib.loads(raw.decode("utf-8"))
        if lacking := sorted({"system", "user", "fields"} - set(said)):
            raise RubricError(f"lacks {', '.join(lacking)}")
        if unknown := sorted(set(said) - {"system", "user", "fields", "caps"}):
            raise RubricError(f"{', '.join(unknown)} is not known")
        return Rubric(
            name,
            said["system"].strip(),
            said["user"].strip(),
            tuple(_field(part) for part in said["fields"]),
            hashlib.sha256(raw).hexdigest(),
            tuple(Cap(**part) for part in said.get("caps", [])),
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise RubricError(f"{name}.toml cannot be used: {error}") from error


def _field(part: dict[str, Any]) -> Field:
    allowed = {each.name for each in dataclasses.fields(Field)}
    if unknown := sorted(set(part) - allowed):
        raise RubricError(f"field {part.get('name')}: {', '.join(unknown)} is not known")
    inner = tuple(_field(each) for each in part.get("fields", ()))
    return Field(**{**part, "choices": tuple(part.get("choices", ())), "fields": inner})
