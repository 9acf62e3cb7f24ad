"""Names of conditions as Clark et al. (2019) write them: Ri, Tp, R1T1, Text1T1, T2T1 and so on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Setting = Literal["isolation", "paragraph", "context"]
Voice = Literal["R", "T", "Text"]

WHOLE = re.compile(r"([RT])([ip])")
PAIR = re.compile(r"(R|Text|T)([1-9][0-9]?)([RT])([1-9][0-9]?)")
EXAMPLES = "Ri, Ti, Rp, Tp, R1R1, R1T1, T1T1, Text1T1, T2T1 or T1T2"
SHORTEST_PARAGRAPH = 2  # of one line there is nothing to compare with the line by itself


class BadName(ValueError):
    """A name that says no condition: what is wrong, and the remedy."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what} {remedy}")
        self.what, self.remedy = what, remedy


@dataclass(frozen=True)
class Form:
    """What a name asks for: lines of context and who speaks them, lines to rate and who does."""

    name: str
    setting: Setting
    rated_voice: Voice
    rated_lines: int = 1  # 0: all of the paragraph
    context_voice: Voice | None = None
    context_lines: int = 0

    @property
    def voices(self) -> set[Voice]:
        """R and T: whose recordings are needed."""
        return {self.rated_voice, self.context_voice or self.rated_voice} - {"Text"}

    @property
    def needed_lines(self) -> int:
        """Lines that a paragraph must have."""
        if self.setting == "paragraph":
            return SHORTEST_PARAGRAPH
        return self.context_lines + self.rated_lines


def form_named(name: str) -> Form:
    """What the name asks for; BadName says why it asks for nothing."""
    if whole := WHOLE.fullmatch(name):
        voice: Voice = "R" if whole[1] == "R" else "T"
        if whole[2] == "i":
            return Form(name, "isolation", voice)
        return Form(name, "paragraph", voice, rated_lines=0)
    if pair := PAIR.fullmatch(name):
        return Form(
            name,
            "context",
            rated_voice="R" if pair[3] == "R" else "T",
            rated_lines=int(pair[4]),
            context_voice=_voice(pair[1]),
            context_lines=int(pair[2]),
        )
    raise BadName(f"“{name}” names no condition.", _remedy(name))


def _voice(letters: str) -> Voice:
    return "Text" if letters == "Text" else "R" if letters == "R" else "T"


def _remedy(name: str) -> str:
    """The most likely slip, or how names are built."""
    tidy = re.sub(r"[\s_+\-]", "", name).lower()
    tidy = re.sub("text|r|t", lambda match: match[0].capitalize(), tidy)
    if tidy != name and (WHOLE.fullmatch(tidy) or PAIR.fullmatch(tidy)):
        return f"Did you mean “{tidy}”?"
    if re.fullmatch(r"Text[ip1-9].*|.*Text[0-9]+", name):
        return "Text is read before the stimulus and never rated: write it like Text1T1."
    if re.search(r"(?<![0-9])0", name):
        return "Each part has at least one line; sentences without context are Ri and Ti."
    return (
        f"Write {EXAMPLES}: R real, T synthetic, Text read; i one line, p the paragraph; or "
        "lines of context, then lines to rate."
    )
