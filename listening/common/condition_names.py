"""What the name of a condition says of its role: a reference such as “human”, or an anchor."""

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


def _plain(name: str) -> str:
    """Return a name without case, and with a space for each mark between its words."""
    return re.sub(r"[\s_.\-]+", " ", name).strip().casefold()
