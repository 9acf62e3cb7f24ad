"""Where the page marks the lines of a clip: only where context is, and too coarse to tell clips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import Any

from listening.common.secret_seeds import secret_seed

Lines = Sequence[Mapping[str, Any]]
MARK_STEP_S = 0.1  # to which the place of a mark is rounded
MOST_MOVED_S = 0.2  # before that, at random: half a pause between context and what is rated
WHOLE_REST_S = 3600.0  # where the last mark ends: the clip does so before


def moved(lines: Lines, by_s: float) -> list[dict[str, Any]]:
    """Lines that are heard so much later, and not before the start."""
    times = ("start_s", "end_s")
    return [{**line, **{key: max(line[key] + by_s, 0.0) for key in times}} for line in lines]


def marked_lines(lines: Lines, clip: str) -> list[dict[str, Any]]:
    """Lines of a clip that holds context, with about where each is heard; of other clips, none.

    The exact times would tell systems and clips apart: marks touch halfway between two lines, are
    moved at random for each clip of each trial, and are rounded. Words are sent only of context
    that is read, not heard.
    """
    if not any(line["role"] == "context" for line in lines):
        return []
    heard = [line for line in lines if line["start_s"] < line["end_s"]]
    ends = iter(pairwise([0.0, *_mark_places(heard, Random(secret_seed("marks", clip)))]))
    marked = []
    for line in lines:
        is_read = line["start_s"] >= line["end_s"]
        start_s, end_s = (0.0, 0.0) if is_read else next(ends)
        text = line.get("text") if is_read else None
        marked.append({"role": line["role"], "start_s": start_s, "end_s": end_s, "text": text})
    return marked


def _mark_places(heard: Lines, rng: Random) -> list[float]:
    """Where one line gives way to the next, and the end."""
    places: list[float] = []
    for before, after in pairwise(heard):
        middle = (before["end_s"] + after["start_s"]) / 2
        moved_s = middle + rng.uniform(-MOST_MOVED_S, MOST_MOVED_S)
        steps = round(max(moved_s, places[-1] if places else 0.0) / MARK_STEP_S)
        places.append(round(steps * MARK_STEP_S, 1))
    return [*places, WHOLE_REST_S]
