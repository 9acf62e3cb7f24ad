"""What a field of a study is: may it change after opening, must versions agree in it."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    WORDING = "wording"  # raters read it; it may be corrected
    ASKED = "asked"  # raters read it as the question or an answer: corrected if the meaning stays
    MEASURED = "measured"  # how it was measured: never changed, and the same in what is combined
    PLAN = "plan"  # of what, how often, in which order: never changed, may differ by version
    RECORD = "record"  # neither read nor measured: not part of the definition
