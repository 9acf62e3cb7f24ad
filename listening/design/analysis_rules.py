"""Rules that leave ratings out of analyses, as a study declares them: texts that analysis reads.

What a text means is decided by `analysis`, which gives its reader here when Django
starts (`analysis.apps`); without it only the shape of the text is checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable

LONGEST = 500
_SHAPE = re.compile(r"[a-z0-9_]+(@[0-9A-Za-z.]+)?(:\S+)?")
_readers: list[Callable[[str], str]] = []


def set_rule_reader(reader: Callable[[str], str]) -> None:
    """``reader`` gives a rule's text with its version, or raises ValueError with the remedy."""
    _readers[:] = [reader]


def versioned_rule(text: str) -> str:
    """The text of a rule with its version; raises ValueError where it is none."""
    text = text.strip()
    if len(text) > LONGEST or not _SHAPE.fullmatch(text):
        raise ValueError(
            "A rule is written like correlation:minimum=0.25,shared=10, without spaces"
        )
    return _readers[0](text) if _readers else text


def key_of(text: str) -> str:
    """The rule's key: correlation of correlation@1:minimum=0.25."""
    return text.partition(":")[0].partition("@")[0]
