"""What raters' reasons say: their words and codes, and which of them go with which label."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from analysis.arrays import Codes, Floats
from analysis.ratings.breakdowns import JOINT
from analysis.ratings.estimands import estimand_of
from analysis.statistics.comparisons.p_adjustment import benjamini_hochberg
from analysis.statistics.flat_row import FlatRow
from analysis.statistics.pairs.pair_ratings import HEARD_SECOND

if TYPE_CHECKING:
    import pandas as pd


MOST_LABELS = 5
LONGEST = 40  # characters of a label; longer ones are answers in words
FIRST_OR_SECOND = ("the second is better", "no difference", "the first is better")


@dataclass(frozen=True)
class Groups:
    """For each of D ratings its group (D,), a code of ``names``; or why there are none."""

    names: tuple[str, ...]
    code: Codes
    why_not: str = ""


def label_groups(table: pd.DataFrame, estimand: str) -> Groups:
    """The groups of a family's ratings (rows of the table).

    Up to five labels as they are, from the highest score down; more are put into three groups of
    scores about as large; comparisons by which clip was heard as better, the first or the second.
    ``why_not`` is said where that cannot be: one label only, an unknown order of the clips.
    """
    score = table["score"].to_numpy(dtype=np.float64)
    label = table["label"].to_numpy(dtype=object)
    known = estimand_of(estimand)
    if known.prefers and (table["versus_condition"] != "").any():
        return _by_side(table, known.centred(score))
    if known.discriminates:
        words = [known.answers.get(each, f"{each:g}") for each in score.tolist()]
        return _choose_groups(np.asarray(words, dtype=object), score)
    distinct = set(label.tolist())
    named = "" not in distinct and max(map(len, distinct), default=0) <= LONGEST
    if named and len(distinct) <= MOST_LABELS:
        return _choose_groups(label, score)
    if known.maybe_without_score or np.isnan(score).any():
        return Groups((), np.empty(0, dtype=np.int64), "there are too many different answers")
    return _by_score(score)


def _choose_groups(label: np.ndarray, score: Floats) -> Groups:
    mean = {}
    for name in sorted(set(label.tolist())):
        known = score[label == name]
        known = known[~np.isnan(known)]
        mean[name] = float(known.mean()) if len(known) else 0.0
    names = sorted(mean, key=lambda name: (-mean[name], name))
    place = {name: number for number, name in enumerate(names)}
    return _groups(names, np.array([place[each] for each in label.tolist()], dtype=np.int64))


def _by_score(score: Floats) -> Groups:
    """Three groups about as large, from the highest scores down; two where scores are few."""
    edges = np.unique(np.quantile(score, [1 / 3, 2 / 3], method="higher"))
    edges = edges[edges < score.max()]
    group = np.searchsorted(edges, score, side="left")
    names = []
    for code in range(len(edges), -1, -1):
        held = score[group == code]
        low, high = float(held.min()), float(held.max())
        names.append(f"{low:g}" if low == high else f"{low:g} to {high:g}")
    return _groups(names, (len(edges) - group).astype(np.int64))


def _by_side(table: pd.DataFrame, y: Floats) -> Groups:
    order = table["presented_first"].map(HEARD_SECOND)
    if order.isna().any():
        why = "which clip was heard first is not known, and reasons say first and second"
        return Groups((), np.empty(0, dtype=np.int64), why)
    better = np.sign(y) * order.to_numpy(dtype=np.float64)  # 1: the second is better
    return _groups(list(FIRST_OR_SECOND), (1 - better).astype(np.int64))


def _groups(names: list[str], code: Codes) -> Groups:
    held = np.unique(code)
    if len(held) < 2:
        return Groups((), code, "all answers are alike")
    place = np.zeros(len(names), dtype=np.int64)
    place[held] = np.arange(len(held))
    return Groups(tuple(names[number] for number in held), place[code])


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
    chosen = [named[term] for term in terms]
    return TermTable(
        tuple(terms), table.has[:, chosen], table.n_reasons[chosen], table.n_raters[chosen]
    )


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


PRIOR = 20.0  # reasons
INTERVAL = "normal on the log-odds, the larger of its own and the two-way clustered variance"
_MOST_CELLS = 4_000_000


@dataclass(frozen=True)
class TermLogOdds(FlatRow):
    """One term and one label: how much more often reasons of that label hold the term.

    ``share`` and ``other_share`` (0..1) are of the reasons with this label and with the others;
    ``log_odds`` is the log of the ratio of the odds (0: as often, above 0: more often with this
    label), shrunk by the prior, with its interval at ``level``; ``p`` two-sided, ``p_bh`` adjusted
    over all terms and labels (Benjamini and Hochberg). ``n_raters`` use the term at all.
    """

    label: str
    term: str
    share: float
    other_share: float
    n_reasons: int
    n_with_label: int
    n_raters: int
    log_odds: float
    low: float
    high: float
    level: float
    interval: str
    z: float
    p: float
    p_bh: float


def term_log_odds(
    table: TermTable,
    label: Codes,
    labels: Sequence[str],
    rater: Codes,
    item: Codes,
    *,
    prior: float = PRIOR,
    level: float = 0.95,
) -> list[TermLogOdds]:
    """Every term of D reasons against every label, the most telling of each label first.

    ``label``, ``rater`` and ``item`` (D,) are codes, ``labels`` the names of the first. Counted per
    reason: log-odds ratio with an informative prior of ``prior`` reasons that use terms as all
    reasons do (after Monroe, Colaresi and Quinn 2008, Political Analysis 16, eq. 16 and 20, who
    count tokens). Its variance is theirs or, where larger, that clustered over raters and items
    (Cameron, Gelbach and Miller 2011), since a rater's favourite word is no evidence per use.
    Labels without a reason, or that all reasons have, are left out, and so are terms that stand in
    every reason. Empty without terms.
    """
    table = _that_vary(table)
    odds: list[tuple[int, int, float, float]] = []
    counts = np.bincount(label, minlength=len(labels))
    shares: dict[int, tuple[Floats, Floats]] = {}
    for code in range(len(labels)):
        if not 0 < counts[code] < len(label) or not table.terms:
            continue
        mine = label == code
        delta, variance, with_it, without = _log_odds(table.has, mine, rater, item, prior)
        shares[code] = (with_it, without)
        odds += [(code, v, float(delta[v]), float(variance[v])) for v in range(len(delta))]
    z = [delta / variance**0.5 for _, _, delta, variance in odds]
    p = [float(2 * special.ndtr(-abs(value))) for value in z]
    adjusted = benjamini_hochberg(p)
    half = float(special.ndtri((1 + level) / 2))
    rows = [
        TermLogOdds(
            label=labels[code],
            term=table.terms[v],
            share=float(shares[code][0][v] / counts[code]),
            other_share=float(shares[code][1][v] / (len(label) - counts[code])),
            n_reasons=int(table.n_reasons[v]),
            n_with_label=int(shares[code][0][v]),
            n_raters=int(table.n_raters[v]),
            log_odds=delta,
            low=delta - half * variance**0.5,
            high=delta + half * variance**0.5,
            level=level,
            interval=INTERVAL,
            z=score,
            p=chance,
            p_bh=float(chance_bh if chance_bh is not None else 1.0),
        )
        for (code, v, delta, variance), score, chance, chance_bh in zip(
            odds, z, p, adjusted, strict=True
        )
    ]
    order = {name: place for place, name in enumerate(labels)}
    return sorted(rows, key=lambda row: (order[row.label], -row.z, row.term))


def _that_vary(table: TermTable) -> TermTable:
    columns = np.flatnonzero((table.n_reasons > 0) & (table.n_reasons < table.has.shape[0]))
    terms = tuple(table.terms[number] for number in columns.tolist())
    return TermTable(
        terms, table.has[:, columns], table.n_reasons[columns], table.n_raters[columns]
    )


def _log_odds(
    has: Matrix, mine: np.ndarray, rater: Codes, item: Codes, prior: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """The log-odds ratio (V,) of one label, its variance, and the counts with it and without."""
    sides = (mine, ~mine)
    counts = [np.asarray(has[np.flatnonzero(side)].sum(axis=0)).reshape(-1) for side in sides]
    sizes = [float(side.sum()) for side in sides]
    expected = prior * (counts[0] + counts[1]) / len(mine)
    q = [(count + expected) / (size + prior) for count, size in zip(counts, sizes, strict=True)]
    delta = special.logit(q[0]) - special.logit(q[1])
    own = sum(
        1 / (share * (size + prior)) + 1 / ((1 - share) * (size + prior))
        for share, size in zip(q, sizes, strict=True)
    )
    weight = [
        1 / ((size + prior) * share * (1 - share)) for share, size in zip(q, sizes, strict=True)
    ]
    single = sum(
        w**2 * (count * (1 - 2 * share) + size * share**2)
        for w, count, share, size in zip(weight, counts, q, sizes, strict=True)
    )  # a rater's reasons of one item as one each
    by_rater, by_item = (
        _clustered_variance(has, mine, group, q, weight) for group in (rater, item)
    )
    variance = np.maximum.reduce([own, by_rater + by_item - single, by_rater, by_item])
    return delta, np.asarray(variance, dtype=np.float64), counts[0], counts[1]


def _clustered_variance(
    has: Matrix, mine: np.ndarray, group: Codes, q: Sequence[Floats], weight: Sequence[Floats]
) -> Floats:
    """The sum over groups of squared summed influence on the log-odds ratio, per term (V,)."""
    n_groups, n_terms = int(group.max(initial=-1)) + 1, has.shape[1]
    variance = np.empty(n_terms)
    step = max(1, _MOST_CELLS // max(1, n_groups))
    sums, sizes = [], []
    for side in (mine, ~mine):
        rows = np.flatnonzero(side)
        choose = sparse.csr_array(
            (np.ones(len(rows)), (group[rows], rows)), shape=(n_groups, len(mine))
        )
        sums.append((choose @ has).tocsc())
        sizes.append(np.bincount(group[rows], minlength=n_groups).astype(np.float64))
    for start in range(0, n_terms, step):
        part = slice(start, start + step)
        influence = np.zeros((n_groups, len(range(*part.indices(n_terms)))))
        for sign, held, size, share, w in zip((1, -1), sums, sizes, q, weight, strict=True):
            dense = held[:, part].toarray()
            influence += sign * w[part] * (dense - size[:, None] * share[part])
        variance[part] = (influence**2).sum(axis=0)
    return variance
