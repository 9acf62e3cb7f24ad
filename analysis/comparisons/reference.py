"""Which condition is the reference: the one that was named, else the one that is called so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

CALLED_SO = frozenset(
    {
        *("reference", "ref", "hidden reference", "hidden ref", "open reference"),
        *("human", "humans", "human speech", "human recording", "human recordings"),
        *("natural", "natural speech", "recording", "recordings", "recorded speech"),
        *("ground truth", "groundtruth", "gt", "original", "real", "real speech"),
    }
)
NONE_NAMED = "no reference was named and no condition is called reference, human or natural"


@dataclass(frozen=True)
class Reference:
    """The reference's name, empty if there is none; ``why`` says how it was found, or why not."""

    name: str
    why: str

    def __bool__(self) -> bool:
        return bool(self.name)


def reference_of(names: Sequence[str], asked: str = "") -> Reference:
    """The reference among condition names: the one asked for, else the only one called so.

    Names count without case, and with _ - . as spaces: Ground_Truth is recognised, and
    NaturalSpeech is not.
    """
    if asked:
        if asked in names:
            return Reference(asked, "the reference that was asked for")
        return Reference("", f"{asked}, asked for as the reference, is not among the conditions")
    found = [name for name in names if _plain(name) in CALLED_SO]
    if len(found) == 1:
        return Reference(found[0], "taken as the reference by its name")
    if found:
        several = f"{', '.join(found[:-1])} and {found[-1]} could each be the reference"
        return Reference("", f"{several}; name one with the option reference")
    return Reference("", NONE_NAMED)


def _plain(name: str) -> str:
    return re.sub(r"[\s_.\-]+", " ", name).strip().casefold()
