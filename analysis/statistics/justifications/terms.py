"""The words of reasons: words and pairs of words, or runs of characters where no spaces are."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from analysis.ratings.breakdowns import JOINT

# Closed classes: articles, pronouns, auxiliaries, prepositions, conjunctions. Words that may
# describe a voice (no, not, too, very, like, up, down, off) are not among them.
_ENGLISH = """
    a an the this that these those there here
    i me my mine we us our you your he him his she her it its they them their one ones
    am is are was were be been being have has had having do does did doing
    can could will would shall should may might must
    it's i'm i've that's there's
    and or but if because as while although though since when where which who whom whose what
    of to in on at by for from with about into onto through between than then so
    just also only some any each such
"""
_CHINESE = "的 了 是 在 有 和 就 也 都 我 你 他 她 它 这 那 很 这个 那个 一个 我觉得"
FUNCTION_WORDS = frozenset(f"{_ENGLISH} {_CHINESE}".split())


def is_function_word(term: str) -> bool:
    """Whether every word of a term (lower case, words parted by spaces) is a function word."""
    return all(word in FUNCTION_WORDS for word in term.split())


FEWEST_REASONS = 5
FEWEST_RATERS = 3
MOST_TERMS = 1500
GRAMS = (2, 3)  # characters that stand for a word where words have no spaces between
_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # Chinese characters
)
_RUNS = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_BREAK = "|"
_MOST_JOINED = 40  # terms of one phrase; more are a text that was pasted again and again
Matrix = Any  # a scipy csr_array of 0 and 1


@dataclass(frozen=True)
class TermTable:
    """Which of V terms each of D reasons holds: ``has`` is a sparse (D, V) of 0 and 1.

    ``n_reasons`` and ``n_raters`` (V,) count the reasons and raters that use a term.
    """

    terms: tuple[str, ...]
    has: Matrix
    n_reasons: NDArray[np.int64]
    n_raters: NDArray[np.int64]


class _Letters(dict[int, str]):
    """For str.translate: letters stay, what joins a word stays, a space parts, the rest breaks."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kind = unicodedata.category(char)
        if kind[0] in "LM":
            self[code] = char
        elif char in "'’‘`ʼ":
            self[code] = "'"
        elif char in "-‐‑":
            self[code] = "-"
        else:
            self[code] = " " if char.isspace() else f" {_BREAK} "
        return self[code]


_LETTERS = _Letters()


def terms_of(text: str) -> frozenset[str]:
    """The different terms of one reason, in lower case (Unicode NFKC, case folded).

    Where words have spaces between: words of two letters or more, and pairs of neighbours that no
    punctuation parts. In Chinese, Japanese, Thai, Lao, Burmese and Khmer: every two and three
    characters in a row, a single one where it stands alone. Digits are no terms.
    """
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_LETTERS)
    terms: set[str] = set()
    before = ""
    for token in plain.split():
        if token == _BREAK:
            before = ""
            continue
        for run in _RUNS.findall(token):
            if _IS_UNSPACED.match(run):
                terms |= _grams(run)
                before = ""
                continue
            word = run.strip("'-")
            if not word:
                continue
            if len(word) > 1:
                terms.add(word)
            if before:
                terms.add(f"{before} {word}")
            before = word
    return frozenset(terms)


def term_table(
    texts: Sequence[str],
    rater: NDArray[np.int64],
    *,
    fewest_reasons: int = FEWEST_REASONS,
    fewest_raters: int = FEWEST_RATERS,
) -> TermTable:
    """The terms of D reasons, ``rater`` (D,) codes, that enough reasons and raters use.

    Of more than 1500 those that most raters use.

    Terms that stand in exactly the same reasons are one term: the longest, or the phrase that they
    make together ("hard to" and "to say": "hard to say"). Terms are sorted as text. Function words
    alone (the, is, it …) are left out; see `function_words`.
    """
    known: dict[str, frozenset[str]] = {}
    per_text = [known.setdefault(text, known.get(text) or terms_of(text)) for text in texts]
    counts = Counter(term for terms in per_text for term in terms)
    often = (term for term, count in counts.items() if count >= fewest_reasons)
    terms = sorted(term for term in often if not is_function_word(term))
    return _without_doubles(_table(terms, per_text, rater), texts, fewest_raters)


def code_table(codes: Sequence[str], rater: NDArray[np.int64]) -> TermTable:
    """The codes ("a|b") of D reasons, ``rater`` (D,) codes: every code, sorted as text."""
    per_text = [
        frozenset(code.strip() for code in text.split(JOINT) if code.strip()) for text in codes
    ]
    return _table(sorted({code for each in per_text for code in each}), per_text, rater)


def _grams(run: str) -> set[str]:
    if len(run) < min(GRAMS):
        return {run}
    return {run[i : i + n] for n in GRAMS for i in range(len(run) - n + 1)}


def _table(
    terms: Sequence[str], per_text: Sequence[frozenset[str]], rater: NDArray[np.int64]
) -> TermTable:
    place = {term: number for number, term in enumerate(terms)}
    rows, columns = [], []
    for row, held in enumerate(per_text):
        for term in held:
            column = place.get(term)
            if column is not None:
                rows.append(row)
                columns.append(column)
    has = sparse.csr_array(
        (np.ones(len(rows)), (np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64))),
        shape=(len(per_text), len(terms)),
    )
    has.sort_indices()
    return TermTable(tuple(terms), has, *_counts(has, rater))


def _counts(has: Matrix, rater: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    cells = has.tocoo()
    width = max(1, has.shape[1])
    pairs = np.unique(rater[cells.coords[0]] * width + cells.coords[1])
    n_raters = np.bincount(pairs % width, minlength=has.shape[1])[: has.shape[1]]
    n_reasons = np.bincount(cells.coords[1], minlength=has.shape[1])[: has.shape[1]]
    return n_reasons.astype(np.int64), n_raters.astype(np.int64)


def _without_doubles(table: TermTable, texts: Sequence[str], fewest_raters: int) -> TermTable:
    columns = table.has.tocsc()
    alike: dict[bytes, list[int]] = {}
    for number in np.flatnonzero(table.n_raters >= fewest_raters).tolist():
        held = columns.indices[columns.indptr[number] : columns.indptr[number + 1]]
        alike.setdefault(np.sort(held).tobytes(), []).append(number)
    named = {}
    for numbers in alike.values():
        first = texts[int(columns.indices[columns.indptr[numbers[0]]])]
        named[_phrase([table.terms[number] for number in numbers], first)] = numbers[0]
    used = {
        term: (-int(table.n_raters[at]), -int(table.n_reasons[at])) for term, at in named.items()
    }
    terms = sorted(sorted(named, key=lambda term: (*used[term], term))[:MOST_TERMS])
    kept = [named[term] for term in terms]
    return TermTable(tuple(terms), table.has[:, kept], table.n_reasons[kept], table.n_raters[kept])


def _phrase(terms: Sequence[str], text: str) -> str:
    """The longest of the terms, or what two or more of them make where the text holds that."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    best = max(terms, key=lambda term: (len(term), term))
    if len(terms) == 1 or len(terms) > _MOST_JOINED:
        return best
    for start in sorted(terms):
        grown, left = start, [term for term in sorted(terms) if term != start]
        while (longer := _grown(grown, left, plain)) is not None:
            grown = longer
        if len(grown) > len(best):
            best = grown
    return best


def _grown(phrase: str, left: list[str], plain: str) -> str | None:
    """The phrase and the next term that it runs on into, in the text; that term leaves the list."""
    for term in left:
        for shared in range(min(len(term), len(phrase)) - 1, 0, -1):
            if phrase[-shared:] == term[:shared] and phrase + term[shared:] in plain:
                left.remove(term)
                return phrase + term[shared:]
    return None
