"""Finding: something that a researcher should know before raters come; and study errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

CLIPS, TEXTS = "stimuli.csv", "stimuli.csv, text"  # places beside those of study.toml


@dataclass(frozen=True)
class Finding:
    """One finding: a problem stops the launch, a warning does not.

    `what` holds for readers of the page and of the study folder alike, and names no key of
    study.toml. `remedy` is for the folder, `on_page` for the pages where it is another one.
    """

    level: Literal["problem", "warning"]
    what: str
    remedy: str
    place: str = ""  # in study.toml, or CLIPS: what changes it
    on_page: str = ""

    @property
    def page_remedy(self) -> str:
        """What to do in the browser: fields and buttons instead of places of study.toml."""
        return self.on_page or self.remedy

    def __str__(self) -> str:
        return f"{self.what} {self.remedy}"


def warning(what: str, remedy: str, place: str = "", on_page: str = "") -> Finding:
    return Finding("warning", what, remedy, place, on_page)


def problem(what: str, remedy: str, place: str = "", on_page: str = "") -> Finding:
    return Finding("problem", what, remedy, place, on_page)


class StudyError(ValueError):
    """What was asked cannot be done with this study; the message says why, and what to do."""


class ProblemsFound(StudyError):
    """The checks before launch found problems; the message has the remedies of a study folder."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(str(finding) for finding in findings))


def counting(words: str) -> Any:
    """A field of `Counts`: so many of what the words say."""
    return field(default=0, metadata={"words": words})


@dataclass(frozen=True)
class Counts:
    """How much of a study goes, or went."""

    def rows(self) -> list[tuple[str, int]]:
        return [(each.metadata["words"], getattr(self, each.name)) for each in fields(self)]
