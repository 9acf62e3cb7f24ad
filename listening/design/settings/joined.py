"""The item that lines make together, and what an analysis may ask about a cell of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from listening.design.settings.names import Form
from listening.design.studyfile.entries import ItemEntry

UNSPACED = ("zh", "ja", "th", "lo", "km", "my", "bo")  # languages that part sentences by no space


def joined_item(lines: Sequence[ItemEntry]) -> ItemEntry:
    first, last = lines[0], lines[-1]
    to = "" if first is last else f"-{last.position}"
    return replace(
        first,
        key=f"{first.paragraph}.{first.position}{to}",
        text=_joined_text(lines),
        dimension=_common(line.dimension for line in lines),
        speaker=_common(line.speaker for line in lines),
        language=_common(line.language for line in lines),
        split=_common(line.split for line in lines),
        derived=True,
    )


def _common(values: Iterator[str]) -> str:
    """The value, if there is only one."""
    different = set(values)
    return different.pop() if len(different) == 1 else ""


def _joined_text(lines: Sequence[ItemEntry]) -> str:
    """Turns of a dialogue on lines of their own, sentences of one speaker one after the other."""
    text = ""
    for before, line in zip((None, *lines), lines, strict=False):
        if text and line.text and before is not None:
            unspaced = line.language.partition("-")[0] in UNSPACED
            text += "\n" if before.speaker != line.speaker else "" if unspaced else " "
        text += line.text
    return text


def attributes_of(form: Form, window: Sequence[ItemEntry]) -> dict[str, str]:
    """What an analysis may ask about a cell; all of it as text, as attributes are."""
    context, rated = window[: form.context_lines], window[form.context_lines :]
    attributes = {
        "setting": form.setting,
        "lines": str(len(rated)),
        "position": str(rated[0].position),
        "paragraph": rated[0].paragraph,
    }
    if context:
        others = {line.speaker for line in context} - {rated[0].speaker}
        attributes["context_lines"] = str(len(context))
        attributes["context_speaker"] = "other" if others else "same"
    return attributes
