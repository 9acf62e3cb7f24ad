"""How the clips of a trial are to be heard: the page follows it, the server checks what it can."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

WAVEFORMS = ("none", "reference")
BETRAYS = (
    'waveform = "{}" would show each clip by its silences, its level and its clipping, which tell '
    'systems apart without listening; write "reference", which is the same picture for all clips'
)


@dataclass(frozen=True)
class Playback:
    """What must be heard before an answer, and what pressing a clip does."""

    share: float | None = 1.0  # of every clip; None: its first two seconds
    restart: bool = False  # where clips play together, a press starts at the beginning
    reference_first: bool = False
    hidden_reference: bool = True  # among the rated clips, where there is an open one
    waveform: bool = False  # of the reference, on the time line

    def in_order(self, facts: Mapping[str, Any]) -> bool:
        """Whether the page says that the reference was heard before a rated clip sounded.

        `facts` are those of the answer: milliseconds of the page's own time, which goes on over a
        reload (static/js/rater/deck.js).
        """
        if not self.reference_first:
            return True
        reference, rated = facts.get("reference_heard_ms"), facts.get("first_rated_ms")
        return isinstance(reference, int) and isinstance(rated, int) and reference <= rated


def together(options: Mapping[str, Any], share: float | None) -> Playback:
    """What a study may choose wherever clips play together; `share` unless it says so."""
    return Playback(share=_share(options, share), restart=_flag(options, "restart"))


def beside_reference(options: Mapping[str, Any]) -> Playback:
    """The same, and what only an open reference allows."""
    common = together(options, None)
    return Playback(
        share=common.share,
        restart=common.restart,
        reference_first=_flag(options, "reference_first"),
        hidden_reference=hides_reference(options),
        waveform=_waveform(options),
    )


def hides_reference(options: Mapping[str, Any]) -> bool:
    """Whether the reference is among the rated clips, too."""
    return _flag(options, "hidden_reference", default=True)


def _share(options: Mapping[str, Any], default: float | None) -> float | None:
    share = options.get("heard", default)
    if share is None:
        return None
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise ValueError(f"heard is a share above 0 and up to 1, like 0.5, not {share!r}")
    return float(share)


def _flag(options: Mapping[str, Any], name: str, *, default: bool = False) -> bool:
    value = options.get(name, default)
    if not isinstance(value, bool):
        raise ValueError(f"{name} is true or false, not {value!r}")
    return value


def _waveform(options: Mapping[str, Any]) -> bool:
    wanted = options.get("waveform", "none")
    if wanted not in WAVEFORMS:
        if wanted in ("clips", "clip", "all", "each"):
            raise ValueError(BETRAYS.format(wanted))
        raise ValueError(f'waveform is "none" or "reference", not {wanted!r}')
    return bool(wanted == "reference")
