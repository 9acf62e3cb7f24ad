"""What a condition's name says of its role (a reference, an anchor), and names without one."""

from __future__ import annotations

import re

_ANCHOR = re.compile(r"\banchor|anchor\b")
_LOW_PASS = re.compile(r"(.* )?(low ?pass|lp) ?\d.*$")
_REFERENCE = frozenset(
    {
        *("reference", "ref", "hidden reference", "hidden ref", "open reference"),
        *("human", "humans", "human speech", "human recording", "human recordings"),
        *("natural", "natural speech", "recording", "recordings", "recorded speech"),
        *("ground truth", "groundtruth", "gt", "original", "real", "real speech"),
    }
)


def is_reference_name(name: str) -> bool:
    """Whether a condition is called as references are: Ground_Truth is, NaturalSpeech is not."""
    return _plain(name) in _REFERENCE


def is_anchor_name(name: str, low_pass: bool = False) -> bool:
    """Whether a condition is called an anchor; with ``low_pass`` also lowpass35 or LP 7."""
    plain = _plain(name)
    return bool(_ANCHOR.search(plain) or (low_pass and _LOW_PASS.match(plain)))


def without_condition(name: str, match: re.Match[str]) -> str:
    """The name of a file without the groups of a match, which tell its condition."""
    characters = list(name)
    for group in range(1, match.re.groups + 1):
        start, end = match.span(group)
        for place in range(max(start, 0), min(end, len(name))):
            characters[place] = ""
    return "".join(characters)


def _plain(name: str) -> str:
    """Return a name without case, and with a space for each mark between its words."""
    return re.sub(r"[\s_.\-]+", " ", name).strip().casefold()
