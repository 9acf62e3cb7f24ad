"""Rubrics: what judges and raters are asked alike, as files that never change, or one's own.

A file FAMILY.VARIANT.toml holds the prompt of a judge model. What raters read of it stands there
once, for both: ``criteria`` and ``scale`` fill the blanks $criteria and $scale of the prompt, and
are a part of the instructions of a task with the option ``rubric``. So both have one version.
``raters`` holds the same words in other languages, for studies in these.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from listening.common.plain_toml import read_toml

FOLDER = Path(__file__).parent
MARK = 12  # hex digits of the SHA-256 in the name of one's own
KIND = "{dimension}"  # in a question: the clip's kind, such as the type of vocalisation
ASKED = ("key", "question", "help_text", "absent")
READ = ("criteria", "scale", "points", "asked")  # words, which raters may read in other languages
SHARED = (*READ, "step", "raters")
_MARKDOWN = re.compile(r"\*\*|^#+ ", re.MULTILINE)


class RubricError(ValueError):
    """A rubric that cannot be used; the message names the file and what to change."""


@dataclass(frozen=True)
class RubricQuestion:
    """One of several criteria, as raters are asked and as judges read it."""

    key: str
    question: str
    help_text: str = ""
    absent: str = ""  # the answer 0, apart from the scale; empty: there is none


@dataclass(frozen=True)
class Shared:
    """What raters and judges read alike; ``points`` are the words at the points of the scale."""

    criteria: str = ""
    scale: str = ""
    points: Mapping[str, str] = field(default_factory=dict)
    step: float = 1.0
    questions: tuple[RubricQuestion, ...] = ()

    @property
    def lines(self) -> str:
        """The criteria as the judge reads them: the text, or a line for each that is asked."""
        return self.criteria or "\n".join(
            f"- {each.key}: {each.question} {each.help_text}".rstrip() for each in self.questions
        )

    def instructions(self, *, scale: bool) -> str:
        """The text as raters read it, without its marks for headings and bold; with the scale."""
        parts = [self.criteria, *[self.scale] * scale]
        return "\n\n".join(_MARKDOWN.sub("", part).strip() for part in parts if part)


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


def content_of(name: str) -> tuple[str, bytes]:
    """A rubric's full name and its file; RubricError when there is none, or it cannot be read."""
    full = full_name(name)
    try:
        return full, _files()[full].read_bytes()
    except (KeyError, OSError) as error:  # of one's own: changed just now, or not to be read
        raise RubricError(f"{full}: its file cannot be read ({error})") from error


def shared_rubric(name: str, language: str = "en") -> tuple[str, Shared]:
    """A rubric's full name, and what raters read of it; RubricError where that is nothing.

    In the language where the file has words in it, else as judges read it.
    """
    full, raw = content_of(name)
    shared = _parsed(full, raw, language)
    if not shared.criteria and not shared.questions:
        raise RubricError(
            f"{full} has no part that raters could read: give it criteria, or [[asked]]"
        )
    return full, shared


def shared_of(table: Mapping[str, Any], language: str = "") -> Shared:
    """What raters and judges read alike, of a rubric's table; ValueError says what is wrong."""
    own = table.get("raters", {})
    for name, words in own.items():
        if unknown := sorted(set(words) - set(READ)):
            raise ValueError(f"raters.{name}: {', '.join(unknown)} is not known")
    table = {**table, **own.get(language, {})}
    questions = tuple(_parse_question(each) for each in table.get("asked", ()))
    points = table.get("points", {})
    if not all(isinstance(word, str) for word in points.values()):
        raise ValueError('points is a table of words, like { "5" = "…" }')
    criteria, scale = (str(table.get(name, "")).strip() for name in ("criteria", "scale"))
    return Shared(criteria, scale, dict(points), float(table.get("step", 1.0)), questions)


def _parse_question(table: Mapping[str, Any]) -> RubricQuestion:
    if unknown := sorted(set(table) - set(ASKED)):
        raise ValueError(f"asked: {', '.join(unknown)} is not known")
    if lacking := sorted({"key", "question"} - set(table)):
        raise ValueError(f"asked: lacks {', '.join(lacking)}")
    return RubricQuestion(**table)


@functools.cache
def _parsed(name: str, raw: bytes, language: str) -> Shared:
    try:
        return shared_of(read_toml(raw), language)
    except (ValueError, TypeError, AttributeError) as error:
        raise RubricError(f"{name}.toml cannot be used: {error}") from error


def _files() -> dict[str, Path]:
    """The file of each rubric, by its full name; one's own are told apart by their mark."""
    return {path.name.removesuffix(".toml"): path for path in FOLDER.glob("*.*.toml")} | dict(
        _own_files()
    )


def _own_files() -> Iterator[tuple[str, Path]]:
    for path in sorted(_Own.folder.glob("*.*.toml")) if _Own.folder else ():
        yield f"{path.name.removesuffix('.toml')}@{_mark(path)}", path


def _mark(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:MARK]
    except OSError:
        return "unreadable"
