"""Errors marked on the waveform: from when to when, which kind, and how an answer writes them.

An answer is a list such as “1.240-1.530:glitch 2.100-2.400:noise”: seconds of the clip. Spans of
one kind do not overlap; spans of two kinds may.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from listening.methods.marks import MOST_FURTHER, NO_ERRORS

MOST_SPANS = 40
SHORTEST_S = 0.02
COLLAR_S = 0.2  # a span that ends so long before an expected one, or begins after it, finds it
REACH_S = 0.5  # by which a span that finds an expected one may go beyond it, on either side
SPAN = re.compile(r"(\d{1,5}\.\d{3})-(\d{1,5}\.\d{3}):([a-z0-9_-]+)")
_SLACK_S = 1.0  # by which a browser's idea of a clip's end may be late
_ROUNDING_S = 1e-6


class ErrorSpan(NamedTuple):
    """An error from ``start_s`` to ``end_s``, in seconds, and its kind."""

    start_s: float
    end_s: float
    kind: str

    def label(self) -> str:
        """The span as an answer writes it, to the millisecond."""
        return f"{self.start_s:.3f}-{self.end_s:.3f}:{self.kind}"

    def finds(self, expected: ErrorSpan) -> bool:
        """Whether the span is where the expected one is.

        It overlaps it or is at most COLLAR_S away, and goes at most REACH_S beyond it.
        """
        near = self.start_s <= expected.end_s + COLLAR_S + _ROUNDING_S
        near = near and self.end_s >= expected.start_s - COLLAR_S - _ROUNDING_S
        early = expected.start_s - self.start_s
        late = self.end_s - expected.end_s
        return near and max(early, late) <= REACH_S + _ROUNDING_S


@dataclass(frozen=True)
class HeardPart:
    """The part of an uploaded clip that raters hear: seconds of the clip as uploaded."""

    start_s: float
    duration_s: float

    @property
    def end_s(self) -> float:
        """Where it ends."""
        return self.start_s + self.duration_s


def read_spans(label: str, kinds: Collection[str] | None = None) -> tuple[ErrorSpan, ...]:
    """Return the spans of an answer in the order of time; none of NO_ERRORS.

    ``kinds`` are the known kinds of errors; None: any.
    Raises ValueError for an answer that is not written as a page writes it: unknown kinds, spans
    that are too short, overlap within a kind or are in another order, or too many spans.
    """
    if label == NO_ERRORS:
        return ()
    spans = []
    for text in label.split(" "):
        parts = SPAN.fullmatch(text)
        if parts is None:
            raise ValueError(f"“{text[:80]}” is no span; write it as 1.240-1.530:glitch")
        start, end, kind = parts.groups()
        spans.append(ErrorSpan(float(start), float(end), kind))
        if kinds is not None and kind not in kinds:
            raise ValueError(f"“{kind[:40]}” is no kind of error of this task")
    if len(spans) > MOST_SPANS:
        raise ValueError(f"an answer has at most {MOST_SPANS} spans")
    if any(span.end_s - span.start_s < SHORTEST_S - _ROUNDING_S for span in spans):
        raise ValueError(f"a span lasts at least {SHORTEST_S:g} s")
    if spans != sorted(spans):
        raise ValueError("spans follow the time at which they begin")
    if len(joined_spans(spans)) < len(spans):
        raise ValueError("spans of one kind do not overlap")
    if write_spans(spans) != label:
        raise ValueError(f"write “{write_spans(spans)}”")
    return tuple(spans)


def write_spans(spans: Sequence[ErrorSpan]) -> str:
    """Return an answer with these spans."""
    return " ".join(span.label() for span in spans) or NO_ERRORS


def joined_spans(spans: Iterable[ErrorSpan]) -> list[ErrorSpan]:
    """Return the spans in the order of time, those of one kind that overlap as one."""
    joined: list[ErrorSpan] = []
    last: dict[str, int] = {}
    for span in sorted(spans):
        place = last.get(span.kind)
        if place is not None and span.start_s < joined[place].end_s - _ROUNDING_S:
            end_s = max(joined[place].end_s, span.end_s)
            joined[place] = joined[place]._replace(end_s=end_s)
        else:
            last[span.kind] = len(joined)
            joined.append(span)
    return joined


def shifted_label(label: str, by_s: float) -> str:
    """Return the answer with all spans so much later, none before 0."""
    return write_spans(
        [
            span._replace(start_s=max(span.start_s + by_s, 0.0), end_s=max(span.end_s + by_s, 0.0))
            for span in read_spans(label)
        ]
    )


def uploaded_times(label: str, heard: HeardPart, lead_in_s: float) -> str:
    """Return an answer about a served clip with the times of the clip as it was uploaded.

    A served clip begins with ``lead_in_s`` seconds of silence, and silence may have been trimmed
    from the upload. Spans are cut to the part that raters hear, and last 20 ms at least.
    Raises ValueError for a span that begins behind the end of the served clip.
    """
    spans = []
    for span in read_spans(label):
        start_s = span.start_s - lead_in_s + heard.start_s
        end_s = span.end_s - lead_in_s + heard.start_s
        if start_s > heard.end_s + _SLACK_S:
            raise ValueError(f"the clip ends before {span.start_s:g} s")
        start_s = min(max(start_s, heard.start_s), max(heard.end_s - SHORTEST_S, heard.start_s))
        end_s = max(min(end_s, heard.end_s), start_s + SHORTEST_S)
        spans.append(ErrorSpan(round(start_s, 3), round(end_s, 3), span.kind))
    return write_spans(joined_spans(spans))


def finds_spans(spans: Sequence[ErrorSpan], expected: Sequence[ErrorSpan]) -> bool:
    """Whether an answer finds the errors of a trap: each of them, and few errors elsewhere.

    The kind does not matter. Where no error is expected, the answer may have none.
    """
    if not expected:
        return not spans
    found = all(any(span.finds(other) for span in spans) for other in expected)
    further = sum(not any(span.finds(other) for other in expected) for span in spans)
    return found and further <= MOST_FURTHER
