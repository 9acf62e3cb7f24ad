"""Character error rate of a recogniser's transcript, for any language."""

from __future__ import annotations

from metrics.suite.wer import ErrorRate


class CharacterErrorRate(ErrorRate):
    """(substitutions + deletions + insertions) / characters of the text; can exceed 1."""

    key = "cer"
    version = "2"
    description = "Character error rate of a speech recogniser's transcript against the text"
    title = "CER"
    by_character = True
    unit_name = "characters"
