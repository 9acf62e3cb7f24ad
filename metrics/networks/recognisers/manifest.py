"""Transcripts that were made elsewhere: the attribute `hypothesis` of a clip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metrics.networks.recognisers.recogniser import Recogniser, Transcript

if TYPE_CHECKING:
    from metrics.core.metric import Take


class Manifest(Recogniser):
    """No recogniser: what the manifest says was heard; "<empty>" says that nothing was."""

    key = "manifest"

    def transcripts(self, takes: Sequence[Take]) -> list[Transcript]:
        """The stored hypothesis of each take."""
        return [self._stored(take) for take in takes]

    def _stored(self, take: Take) -> Transcript:
        text = take.material.attribute("hypothesis")
        if not text:
            return Transcript(None, "no hypothesis: the clip has no attribute hypothesis")
        return Transcript("" if text == "<empty>" else text)
