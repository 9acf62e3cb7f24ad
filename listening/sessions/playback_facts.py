"""What a page may report of how the clips of a trial were played, and what stays after an erasure.

Anything else that a page sends under ``playback`` is not stored: neither a key that is not listed
here, nor a value of another type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

LARGEST = 1e12  # far beyond any count or any time in milliseconds
MOST_CLIPS = 100  # in one trial
SKIPPED_BECAUSE = "skipped_because"  # which the server adds


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MOST_CLIPS and all(map(_is_number, value))


def _is_mixer(value: Any) -> bool:
    return value in ("", "buffers", "elements")


OF_DEVICE: dict[str, Callable[[Any], bool]] = {
    "sample_rate_hz": _is_number,
    "channels": _is_number,
    "mixer": _is_mixer,
}
OF_LISTENING: dict[str, Callable[[Any], bool]] = {
    "blocked": _is_number,
    "decode_errors": _is_number,
    "device_changes": _is_number,
    "driven": _is_flag,
    "duration_s": _are_numbers,
    "first_rated_ms": _is_number,
    "heard_s": _are_numbers,
    "hidden_ms": _is_number,
    "load_failures": _is_number,
    "loop_s": _are_numbers,
    "loops": _is_number,
    "plays_each": _are_numbers,
    "pointer_jumps": _is_number,
    "reference_heard_ms": _is_number,
    "rate": _is_number,
    "reloads": _is_number,
    "scripted_events": _is_number,
    "silent": _is_number,
    "skips": _is_number,
    "stalled_ms": _is_number,
    "stalls": _is_number,
    "starts_each": _are_numbers,
    "streamed": _is_flag,
    "switches": _is_number,
    "translated": _is_flag,
}
KNOWN = OF_DEVICE | OF_LISTENING
AFTER_ERASURE = (*OF_LISTENING, SKIPPED_BECAUSE)


def known_facts(sent: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a page that are stored."""
    return {name: value for name, value in sent.items() if name in KNOWN and KNOWN[name](value)}
