"""Rubrics as judges read them: instructions, the fields of an answer, and caps."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import string
from dataclasses import dataclass, field
from typing import Any

from listening.common.plain_toml import read_toml
from listening.methods.rubrics import (
    KIND,
    SHARED,
    RubricError,
    configure,
    content_of,
    family,
    full_name,
    names,
    shared_of,
)
from metrics.judges.question import Field

__all__ = ["Cap", "Rubric", "RubricError", "configure", "family", "full_name", "names", "rubric"]


@dataclass(frozen=True)
class Rubric:
    """One wording of one rubric: FAMILY.VARIANT.toml; the family is the task."""

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


def rubric(name: str) -> Rubric:
    """The rubric of that name; RubricError when there is none, or its file cannot be used."""
    return _parse_rubric(*content_of(name))


@functools.cache
def _parse_rubric(name: str, raw: bytes) -> Rubric:
    try:
        table = read_toml(raw)
        if lacking := sorted({"system", "user", "fields"} - set(table)):
            raise RubricError(f"lacks {', '.join(lacking)}")
        if unknown := sorted(set(table) - {"system", "user", "fields", "caps", *SHARED}):
            raise RubricError(f"{', '.join(unknown)} is not known")
        shared = shared_of(table)
        blanks = {"$criteria": shared.lines, "$scale": shared.scale}
        user = table["user"].strip()
        for blank, text in blanks.items():
            if blank in user and not text:
                raise RubricError(f"its user text has {blank}, and no {blank[1:]} is given")
            user = user.replace(blank, text)
        return Rubric(
            name,
            table["system"].strip(),
            user.replace(KIND, "$kind"),
            tuple(_field(part) for part in table["fields"]),
            hashlib.sha256(raw).hexdigest(),
            tuple(Cap(**part) for part in table.get("caps", [])),
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise RubricError(f"{name}.toml cannot be used: {error}") from error


def _field(part: dict[str, Any]) -> Field:
    allowed = {each.name for each in dataclasses.fields(Field)}
    if unknown := sorted(set(part) - allowed):
        raise RubricError(f"field {part.get('name')}: {', '.join(unknown)} is not known")
    inner = tuple(_field(each) for each in part.get("fields", ()))
    return Field(**{**part, "choices": tuple(part.get("choices", ())), "fields": inner})
