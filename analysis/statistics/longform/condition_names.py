"""What the name of a condition says, as Clark et al. (2019) write it: Ri, Tp, R1T1, Text1T1."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from analysis.name_spans import condition_span

ISOLATION, PARAGRAPH, CONTEXT = "isolation", "paragraph", "context"
SETTINGS = (ISOLATION, PARAGRAPH, CONTEXT)
REAL, SYNTHETIC, TEXT = "R", "T", "Text"
UNKNOWN = "context"  # of a context whose voice no name tells
_NAME = re.compile(
    r"(?:(?P<key>.*\S) )?"
    r"(?:(?P<whole>[RT])(?P<part>[ip])"
    r"|(?P<before>R|Text|T)(?P<context_lines>[1-9][0-9]?)(?P<rated>[RT])(?P<lines>[1-9][0-9]?))"
    r"(?: \((?P<system>.+)\))?"
)


@dataclass(frozen=True)
class Form:
    """What is rated, and what is heard or read before it.

    ``key`` names the material (empty where there is one kind), ``voice`` is R (real), T (synthetic)
    or empty (unknown); ``system`` tells several synthetic ones apart. ``context`` is R, T, Text,
    ``context`` (unknown) or empty (none). ``lines`` are rated: 0 for the whole paragraph.
    """

    name: str
    setting: str
    voice: str = ""
    system: str = ""
    key: str = ""
    lines: int = 1
    context: str = ""
    context_lines: int = 0

    @property
    def speaker(self) -> str:
        """Whose speech is rated: R, T, ``T (flite)``, or the system alone where no name tells."""
        if not self.voice:
            return self.system
        return f"{self.voice} ({self.system})" if self.system else self.voice

    @property
    def before(self) -> str:
        """What comes before, in words."""
        if not self.context:
            return "no context"
        if self.context == UNKNOWN:
            return "context"
        number = f"{self.context_lines} line{'s' * (self.context_lines > 1)}"
        return f"{number} {_WORDS[self.context]}"


_WORDS = {REAL: "of real speech", SYNTHETIC: "of synthetic speech", TEXT: "of text"}

_SPOKEN = {REAL: "real speech (R)", SYNTHETIC: "synthetic speech (T)"}


def in_words(speaker: str) -> str:
    """A speaker of `Form.speaker` as people say it: ``synthetic speech (T)``, ``flite (T)``."""
    if speaker in _SPOKEN:
        return _SPOKEN[speaker]
    if speaker.startswith("T (") and speaker.endswith(")"):
        return f"{condition_span(speaker[3:-1])} (T)"
    return speaker


def over(form: Form, other: Form) -> Form | None:
    """The form of a comparison of the two, seen from the first; None of different settings."""
    if (form.setting, form.lines, form.key) != (other.setting, other.lines, other.key):
        return None
    if form.name.partition(" (")[0] == other.name.partition(" (")[0]:
        systems = f"{form.system} over {other.system}"
        return replace(form, name=f"{form.name.partition(' (')[0]} ({systems})", system=systems)
    names = f"{form.name} over {other.name}"
    return replace(form, name=names, voice="", system=f"{form.speaker} over {other.speaker}")


def form_of(condition: str) -> Form | None:
    """The form that a condition's name asks for; None for any other name.

    A name may have a key in front and a system behind: ``talk T1T1 (flite)``. In a condition such
    as ``R1T1 (flite)`` the system is that of the rated T.
    """
    match = _NAME.fullmatch(condition)
    if match is None:
        return None
    key, system = match["key"] or "", match["system"] or ""
    name = condition.removeprefix(f"{key} ") if key else condition
    if match["whole"]:
        alone = match["part"] == "i"
        voice = match["whole"]
        mine = system if voice == SYNTHETIC else ""
        setting = ISOLATION if alone else PARAGRAPH
        return Form(name, setting, voice, mine, key, int(alone))
    voice = match["rated"]
    return Form(
        name,
        CONTEXT,
        voice,
        system if voice == SYNTHETIC else "",
        key,
        int(match["lines"]),
        match["before"],
        int(match["context_lines"]),
    )
