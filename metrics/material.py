"""What is said of a clip beside its audio: text, language, speakers, attributes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


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
    attributes: Mapping[str, str] = field(default_factory=dict)  # caption, synthesis_s, nvv …

    def attribute(self, name: str) -> str:
        """The attribute's text without blanks around it; empty when there is none."""
        return str(self.attributes.get(name, "")).strip()

    def fingerprint(self, needs: Iterable[str]) -> str:
        """SHA-256 (hex) of the fields that a metric's numbers depend on; empty when it needs none.

        ``needs`` names fields of this class, or attributes as ``attributes.NAME``. The reference
        voice counts by the hash of its audio, not by its path.
        """
        names = sorted(set(needs))
        if not names:
            return ""
        plain = json.dumps({name: self._plain(name) for name in names}, sort_keys=True)
        return hashlib.sha256(plain.encode()).hexdigest()

    def said(self, name: str) -> Any:
        """What a field of `fingerprint`'s needs holds, hashable: where equal, marks are equal."""
        if name.startswith("attributes."):
            return self.attribute(name.removeprefix("attributes."))
        if name == "turns":
            return self.turns, self.attribute("turns")
        if name == "reference_path":
            return self.reference_sha256 or self.reference_path
        return getattr(self, name)

    def _plain(self, name: str) -> Any:
        if name.startswith("attributes."):
            return self.attribute(name.removeprefix("attributes."))
        if name == "turns":
            known = [[turn.speaker, turn.start_s, turn.end_s, turn.text] for turn in self.turns]
            return known or self.attribute("turns") or []  # said, even if it cannot be read
        if name == "reference_path":
            return self.reference_sha256 or self.reference_path
        return getattr(self, name)
