"""What is known of how a reason was written: facts to sort and filter by, and never verdicts."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from zlib import crc32

import numpy as np

from listening.review.reason_language import is_in_another

NEAR = 0.8  # Jaccard similarity of the sets of three letters, from which two reasons are near
SHINGLE = 3
HASHES, ROWS = 48, 4  # MinHash: 12 bands of 4; a pair at 0.8 is missed once in 600
PRIME = (1 << 31) - 1
LONG_ENOUGH = 12  # characters; shorter ones are alike by chance
SHORT = 8
MOST_PAIRS = 400  # of one band's bucket; more are the same few words over and over
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
CJK_LANGUAGES = ("zh", "ja", "ko")
MACHINE_LIKE = re.compile(
    r"as an ai\b|language model|i cannot (hear|listen)|\*\*|^\s*[-*•] |^#|in conclusion"
    r"|overall, the|作为(一个)?(ai|人工智能)|语言模型|综上所述",
    re.IGNORECASE | re.MULTILINE,
)
FLAGS = {  # what can be filtered, in words
    "copied": "Nearly the same as a reason of another rater",
    "repeated": "Nearly the same as another reason of this rater",
    "pasted": "Half of it or more was pasted",
    "untyped": "Hardly a key was pressed, and nothing pasted",
    "short": f"Shorter than {SHORT} characters",
    "script": "In another script than the session’s language",
    "language": "Surely in another language than the session’s",
    "machine_like": "Turns of phrase of a language model",
}


@dataclass(frozen=True)
class Written:
    """A reason as it was stored, with how it was typed."""

    trial: int
    rater: int
    text: str
    language: str
    keystrokes: int | None
    pasted_chars: int | None


@dataclass(frozen=True)
class Evidence:
    """What is known of one reason: its flags, and how many others are nearly the same."""

    flags: frozenset[str]
    chars: int
    near_own: int
    near_others: int


def evidence_of(reasons: Sequence[Written]) -> dict[int, Evidence]:
    """By trial."""
    own, others = near_counts(reasons)
    return {
        each.trial: Evidence(
            flags=frozenset(_flags(each, own[n], others[n])),
            chars=len(each.text.strip()),
            near_own=own[n],
            near_others=others[n],
        )
        for n, each in enumerate(reasons)
    }


def _flags(each: Written, own: int, others: int) -> Iterable[str]:
    text = each.text.strip()
    pasted, keys = each.pasted_chars or 0, each.keystrokes
    cjk = bool(CJK.search(text))
    if others:
        yield "copied"
    if own:
        yield "repeated"
    if pasted * 2 >= len(text) > 0:
        yield "pasted"
    elif keys is not None and not cjk and keys * 4 < len(text):  # who types Chinese presses fewer
        yield "untyped"
    if len(text) < (SHORT // 2 if cjk else SHORT):
        yield "short"
    if any(c.isalpha() for c in text) and cjk != each.language.startswith(CJK_LANGUAGES):
        yield "script"
    elif is_in_another(text, each.language):
        yield "language"
    if MACHINE_LIKE.search(text):
        yield "machine_like"


# --- Near-duplicates ------------------------------------------------------------------------------


def plain(text: str) -> str:
    """Letters and figures alone, in small ones."""
    kept = unicodedata.normalize("NFKC", text).casefold()
    return "".join(c for c in kept if c.isalnum())


def near_counts(reasons: Sequence[Written]) -> tuple[list[int], list[int]]:
    """For each reason how many others of its own rater, and of other raters, are near it."""
    words = [plain(each.text) for each in reasons]
    where: dict[str, list[int]] = defaultdict(list)
    for n, text in enumerate(words):
        if len(text) >= (LONG_ENOUGH // 2 if CJK.search(text) else LONG_ENOUGH):
            where[text].append(n)
    texts = list(where)
    near = _near_pairs(texts)
    by_rater = {text: Counter(reasons[n].rater for n in where[text]) for text in texts}
    own, others = [0] * len(reasons), [0] * len(reasons)
    for text in texts:
        counts = sum((by_rater[other] for other in near[text]), by_rater[text])
        total = counts.total()
        for n in where[text]:
            own[n] = counts[reasons[n].rater] - 1
            others[n] = total - counts[reasons[n].rater]
    return own, others


def _near_pairs(texts: Sequence[str]) -> dict[str, list[str]]:
    """Texts that share enough of their threes of letters: candidates by MinHash, then counted."""
    found: dict[str, list[str]] = {text: [] for text in texts}
    shingles = [_shingles(text) for text in texts]
    seen: set[tuple[int, int]] = set()
    buckets: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    for n, signature in enumerate(_signatures(shingles)):
        for band in range(HASHES // ROWS):
            piece = signature[band * ROWS : (band + 1) * ROWS]
            buckets[band, piece.tobytes()].append(n)
    for members in buckets.values():
        for pair in list(combinations(members, 2))[:MOST_PAIRS]:
            if pair not in seen:
                seen.add(pair)
                a, b = (shingles[n] for n in pair)
                if len(a & b) >= NEAR * len(a | b):
                    found[texts[pair[0]]].append(texts[pair[1]])
                    found[texts[pair[1]]].append(texts[pair[0]])
    return found


def _shingles(text: str) -> frozenset[int]:
    return frozenset(
        crc32(text[n : n + SHINGLE].encode()) & PRIME for n in range(len(text) - SHINGLE + 1)
    )


def _signatures(shingles: Sequence[frozenset[int]]) -> Iterable[np.ndarray]:
    rng = np.random.default_rng(20_261_125)  # the same pairs for the same reasons
    a, b = rng.integers(1, PRIME, (2, HASHES, 1), dtype=np.int64)
    for each in shingles:
        hashes = np.fromiter(each, dtype=np.int64, count=len(each))
        yield ((a * (hashes % (1 << 31)) + b) % PRIME).min(axis=1)
