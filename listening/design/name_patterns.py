"""Patterns such as ``{system}/{sentence}.wav``, matched against file names without backtracking.

A pattern is cut at its slashes: a place holds no slash, so each part of it meets one folder or file
name. Of each part, the positions from which the rest matches are found from right to left (as bits
of an integer), then the places are filled from left to right. The time grows with the length of the
name times the number of places, whatever both hold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from listening.common.input_limits import LONGEST_PATTERN, MOST_PLACES

PLACE = re.compile(r"\{(system|sentence|\*)(?::([1-9]))?\}")
NAMES = ("system", "sentence")
ANYTHING = "*"


class PatternError(ValueError):
    """A pattern that cannot be used; the message says why and what to write."""


@dataclass(frozen=True)
class _Piece:
    """Literal text, or a place where ``text`` is empty.

    ``name`` is what it belongs to: system, sentence, ``*``, or nothing. A counted place has so many
    ``words`` with the separator between them, and none in them.
    """

    text: str = ""
    name: str = ""
    separator: str = ""
    words: int = 1

    def steps(self) -> list[_Piece]:
        """The place word by word."""
        word, gap = replace(self, words=1), _Piece(self.separator, self.name)
        return [word, *[gap, word] * (self.words - 1)]


class MatchedNames(NamedTuple):
    """What a pattern finds in a path; ``system`` is empty where the pattern has no place for it."""

    system: str
    sentence: str
    others: tuple[str, ...]  # what each ``{*}`` stands for


class NamePattern:
    """A pattern of file names; PatternError where it has no place for the sentence.

    A name ends at the first position where it can, and ``{*}`` at the last one. A name that stands
    twice is the same text at both places; at one of them it must fill a folder or file name.
    """

    def __init__(self, pattern: str) -> None:
        places = list(PLACE.finditer(pattern))
        _check(pattern, places)
        self.parts = _pieces_of(pattern, places)
        self.sources = _sources(pattern, places, self.parts)

    def match(self, path: str) -> MatchedNames | None:
        """The names in a path; None where it does not fit.

        The path may have more folders around those of the pattern.
        """
        texts = path.split("/")[-len(self.parts) :]
        if len(texts) < len(self.parts):
            return None
        values: dict[str, str] = {}
        for name, place in self.sources.items():
            found = _filled(self.parts[place], texts[place])
            if found is None:
                return None
            values[name] = found[0][name]
        known = dict(values)
        others: list[str] = []
        for part, text in zip(self.parts, texts, strict=True):
            if any(p.words > 1 and not _fits(p, known[p.name]) for p in part if p.name in known):
                return None
            found = _filled([_Piece(known[p.name]) if p.name in known else p for p in part], text)
            if found is None:
                return None
            values |= found[0]
            others += found[1]
        return MatchedNames(values.get("system", ""), values["sentence"], tuple(others))


def _check(pattern: str, places: list[re.Match[str]]) -> None:
    if len(pattern) > LONGEST_PATTERN:
        raise PatternError(
            f"The pattern has {len(pattern):,} characters; {LONGEST_PATTERN} are allowed. Leave "
            "out the outer folders."
        )
    if "sentence" not in {place[1] for place in places}:
        raise PatternError(
            f"The pattern “{pattern}” must hold {{sentence}}, and {{system}} where there are "
            "several, like {system}/{sentence}.wav."
        )
    if len(places) > MOST_PLACES:
        raise PatternError(
            f"The pattern “{pattern}” has {len(places)} places; {MOST_PLACES} are allowed. Write "
            "one {*} for all that does not matter."
        )


def _pieces_of(pattern: str, places: list[re.Match[str]]) -> list[list[_Piece]]:
    """The pieces of each folder name, and of the file name."""
    between = [pattern[a.end() : b.start()] for a, b in pairwise(places)]
    parts: list[list[_Piece]] = [[]]
    _add_text(parts, pattern[: places[0].start()])
    seen = set()
    for n, place in enumerate(places):
        words = 0 if place[1] in seen else int(place[2] or 0)
        separator = [*between[n : n + 1], *between[n - 1 : n], ""][0] if words else ""
        if words and (not separator or "/" in separator):
            raise PatternError(
                f"In the pattern “{pattern}”, no sign follows {place[0]} that could separate its "
                f"words. Write one, like {{{place[1]}:2}}_, or leave the number out."
            )
        parts[-1].append(_Piece("", place[1], separator, max(words, 1)))
        seen |= {place[1]} - {ANYTHING}
        _add_text(parts, between[n] if n < len(between) else pattern[place.end() :])
    return parts


def _add_text(parts: list[list[_Piece]], text: str) -> None:
    """Literal text, in which each slash begins a new part."""
    first, *others = text.split("/")
    parts[-1] += [_Piece(first)] if first else []
    parts += [[_Piece(other)] if other else [] for other in others]


def _sources(
    pattern: str, places: list[re.Match[str]], parts: list[list[_Piece]]
) -> dict[str, int]:
    """The part that tells the text of each name that stands twice."""
    sources: dict[str, int] = {}
    for name in NAMES:
        if [place[1] for place in places].count(name) < 2:
            continue
        single = [n for n, part in enumerate(parts) if [p.name for p in part if p.name] == [name]]
        if not single:
            raise PatternError(
                f"In the pattern “{pattern}”, {{{name}}} stands twice and fills no folder or file "
                "name. Write {*} at one of its places."
            )
        sources[name] = single[0]
    return sources


# --- One folder or file name ----------------------------------------------------------------------


def _filled(part: list[_Piece], text: str) -> tuple[dict[str, str], list[str]] | None:
    """The text at each named place of a part, and at each ``{*}``; None where it does not fit."""
    steps = [
        (step, n)
        for n, piece in enumerate(part)
        for step in ([piece] if piece.text else piece.steps())
    ]
    fits = [1 << len(text)]  # bit p: from position p on, the text fits the steps from here on
    for step, _ in reversed(steps):
        fits.append(_starts(step, text, fits[-1]))
    if not fits.pop() & 1:
        return None
    at, texts = 0, [""] * len(part)
    for step, n in steps:
        end = _end(step, text, at, fits.pop())
        texts[n] += text[at:end]
        at = end
    found = [(piece.name, texts[n]) for n, piece in enumerate(part) if piece.name]
    named = {name: value for name, value in found if name != ANYTHING}
    return named, [value for name, value in found if name == ANYTHING]


def _fits(place: _Piece, text: str) -> bool:
    return _filled([place], text) is not None


def _starts(piece: _Piece, text: str, ends: int) -> int:
    """The positions at which a piece can start so that it ends at one of `ends`."""
    if piece.text:
        return _positions(text, piece.text) & (ends >> len(piece.text))
    if not piece.separator:
        last = ends.bit_length() - 1 - (piece.name != ANYTHING)
        return (2 << last) - 1 if last >= 0 else 0
    starts, low = 0, 0
    for high in [*_places(text, piece.separator), len(text)]:  # words lie between separators
        last = (ends & ((2 << high) - 1)).bit_length() - 2
        if last >= low:
            starts |= (2 << last) - (1 << low)
        low = high + 1
    return starts


def _end(piece: _Piece, text: str, start: int, ends: int) -> int:
    """Where a piece that starts here ends: at one of `ends`."""
    if piece.text:
        return start + len(piece.text)
    if piece.separator:
        stop = text.find(piece.separator, start)
        ends &= (2 << (stop if stop >= 0 else len(text))) - 1
    elif piece.name != ANYTHING:
        ends &= -(2 << start)
        return (ends & -ends).bit_length() - 1
    return ends.bit_length() - 1


def _places(text: str, sought: str) -> list[int]:
    found, at = [], text.find(sought)
    while at >= 0:
        found.append(at)
        at = text.find(sought, at + 1)
    return found


def _positions(text: str, sought: str) -> int:
    return sum(1 << at for at in _places(text, sought))
