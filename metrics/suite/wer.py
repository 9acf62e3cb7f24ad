"""Word error rate of a recogniser's transcript, for languages with spaces between words."""

from __future__ import annotations

from metrics.core import texts
from metrics.networks.error_rates import ErrorRate


class WordErrorRate(ErrorRate):
    """(substitutions + deletions + insertions) / words of the text; can exceed 1."""

    key = "wer"
    version = "2"
    description = "Word error rate of a speech recogniser's transcript against the text"
    title = "WER"
    by_character = False
    unit_name = "words"

    def other_metric(self, language: str) -> str:
        """Languages written without spaces have no words to count."""
        return f"language {language}: use cer" if texts.in_characters(language) else ""
