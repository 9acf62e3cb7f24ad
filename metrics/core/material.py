"""What is said of a clip beside its audio: text, language, speakers, attributes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

REFERENCE_AUDIO = "reference_audio"  # a column: the recording of the same words
RECORDINGS = ("reference_path", "reference_audio_path")  # fields


@dataclass(frozen=True)
class Turn:
    """One speaker's stretch of a clip, in seconds from its start."""

    speaker: str
    start_s: float
    end_s: float
    text: str = ""


@dataclass(frozen=True)
class Material:
    """What is known of one clip; an empty value means that nobody said."""

    text: str = ""  # what is spoken
    language: str = ""  # BCP 47, such as en, zh, en-GB
    speaker: str = ""
    turns: tuple[Turn, ...] = ()  # of a dialogue or a long text, in order
    reference_path: str = ""  # a recording of the reference voice
    reference_sha256: str = ""
    reference_audio_path: str = ""  # a recording of the same words, which the clip is compared with
    reference_audio_sha256: str = ""
    is_reference_audio: bool = False  # the clip is itself what others are compared with
    attributes: Mapping[str, str] = field(default_factory=dict)  # caption, synthesis_s, nvv …

    def attribute(self, name: str) -> str:
        """The attribute's text without blanks around it; empty when there is none."""
        return str(self.attributes.get(name, "")).strip()

    def fingerprint(self, needs: Iterable[str]) -> str:
        """SHA-256 (hex) of the fields that a metric's numbers depend on; empty when it needs none.

        ``needs`` names fields of this class, or attributes as ``attributes.NAME``. A reference
        counts by the hash of its audio, not by its path.
        """
        names = sorted(set(needs))
        if not names:
            return ""
        plain = json.dumps({name: self._plain(name) for name in names}, sort_keys=True)
        return hashlib.sha256(plain.encode()).hexdigest()

    def field_value(self, name: str) -> Any:
        """What a field of `fingerprint`'s needs holds, hashable: where equal, marks are equal."""
        if name.startswith("attributes."):
            return self.attribute(name.removeprefix("attributes."))
        if name == "turns":
            return self.turns, self.attribute("turns")
        return self._field(name)

    def _plain(self, name: str) -> Any:
        if name.startswith("attributes."):
            return self.attribute(name.removeprefix("attributes."))
        if name == "turns":
            known = [[turn.speaker, turn.start_s, turn.end_s, turn.text] for turn in self.turns]
            return known or self.attribute("turns") or []  # said, even if it cannot be read
        return self._field(name)

    def _field(self, name: str) -> Any:
        """A plain field; a recording's is the hash of its audio where that is known."""
        sha256 = getattr(self, name.replace("_path", "_sha256"), "") if name in RECORDINGS else ""
        return sha256 or getattr(self, name)


def column_of(need: str) -> str:
    """The manifest's column that fills what a metric needs: a field or ``attributes.NAME``."""
    return need.removeprefix("attributes.").removesuffix("_path")


def needed_columns(needs: Iterable[str]) -> str:
    """Return the manifest columns that a metric needs beside the audio, separated by commas."""
    return ", ".join(map(column_of, needs))
