"""The answer where clips were compared in pairs: each pair's mean against a draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from analysis.formatting import interval_text, listed, number, percent
from analysis.name_spans import VERSUS, condition_span, family_span
from analysis.ratings.breakdowns import Family
from analysis.ratings.estimands import estimand_of
from analysis.report.content import Figure
from analysis.report.parts.answer.answer_narrative import with_bounds
from analysis.report.ranking import key_of
from analysis.statistics.pairs.means_of_pairs import Measured, pair_means, shares_right
from analysis.statistics.pairs.pair_ratings import pair_ratings, reach_of

MOST_DRAWN = 60
MORE = "More is under Comparisons of pairs."
DECIDED = "the {:g} % interval leaves a draw out."
SIMULTANEOUS = "simultaneous for all {} pairs (Šidák 1967)"
NO_PAIRS = "no rating names two different conditions: nothing is compared"


@dataclass(frozen=True)
class Pair:
    """Two conditions that met: the mean for the first, and p against a draw.

    ``low``, ``high`` and ``p`` hold for all pairs of the family at once; ``alone_low`` and
    ``alone_high`` for this one alone. None where there is no test: ``note`` says why.
    """

    condition: str
    versus: str
    value: float
    low: float | None
    high: float | None
    naive_low: float | None
    naive_high: float | None
    alone_low: float | None
    alone_high: float | None
    p: float | None
    note: str
    n_ratings: int
    n_raters: int
    n_items: int
    made_by: str  # how its interval was made

    @property
    def name(self) -> str:
        """Both names."""
        return f"{self.condition} versus {self.versus}"

    @property
    def spans(self) -> str:
        """Both names in a sentence."""
        return f"{condition_span(self.condition)} versus {condition_span(self.versus)}"

    def turned(self, whole: float) -> Pair:
        """The same seen from the other side; both means add up to ``whole``."""
        other = {"low": "high", "naive_low": "naive_high", "alone_low": "alone_high"}
        other |= {high: low for low, high in other.items()}
        ends = {name: getattr(self, other[name]) for name in other}
        return replace(
            self,
            condition=self.versus,
            versus=self.condition,
            value=whole - self.value,
            **cast(Any, {n: None if end is None else whole - end for n, end in ends.items()}),
        )


def pairs_of(family: Family, level: float) -> list[Pair]:
    """Every pair that met, the highest mean first.

    The better one is named first, unless all met the same other one, which is named second.
    """
    table = family.table
    known = (table["versus_condition"] != "") & (table["versus_condition"] != table["condition"])
    table, rows = table[known], known.to_numpy(dtype=bool)
    pairs = []
    if len(table):
        make = _told_apart if estimand_of(family.estimand).discriminates else _compared
        pairs = make(family, rows, level)
    if estimand_of(family.estimand).prefers and len({pair.versus for pair in pairs}) > 1:
        draw = _neutral(family)
        pairs = [pair.turned(2 * draw) if pair.value < draw else pair for pair in pairs]
    return sorted(pairs, key=lambda pair: (-pair.value, pair.name))


def answer(family: Family, pairs: Sequence[Pair], level: float) -> str:
    """Which pairs are decided, and which are not."""
    if not pairs:
        return f"{NO_PAIRS.capitalize()}."
    alpha, draw = 1 - level, _neutral(family)
    if all(pair.p is None for pair in pairs):
        notes = list(dict.fromkeys(pair.note for pair in pairs if pair.note))
        return f"No pair can be tested: {'; '.join(notes) or 'the ratings do not vary'}."
    tested = sum(pair.p is not None for pair in pairs)
    how = f"(p < {alpha:.2g}, adjusted for {tested} pairs)" if tested > 1 else f"(p < {alpha:.2g})"
    won = [pair for pair in pairs if _decided(pair, alpha) and pair.value > draw]
    lost = [pair for pair in pairs if _decided(pair, alpha) and pair.value < draw]
    bare = [pair for pair in pairs if pair.p is None]
    even = [pair for pair in pairs if pair not in (*won, *lost, *bare)]
    if estimand_of(family.estimand).discriminates:
        return _heard(pairs, won, how)
    others = {pair.versus for pair in pairs}
    if len(others) == 1:
        return f"{_one_side(family, won, even, lost, how)} {_untested(bare)}".strip()
    sentence = f"{len(won) + len(lost)} of {tested} pairs are decided {how}"
    if won or lost:
        sentence += f"; {_most(pairs, won, lost)}"
        clearest = max([*won, *lost], key=lambda pair: abs(pair.value - draw))
        turned = clearest if clearest.value > draw else clearest.turned(2 * draw)
        sentence += (
            f"; clearest: {condition_span(turned.condition)} over {condition_span(turned.versus)} "
            f"({_value(family, turned)})"
        )
    return f"{sentence}. {_more(family)} {_untested(bare)}".strip()


def figure(place: int, family: Family, pairs: Sequence[Pair], level: float, about: str) -> Figure:
    """The means of all pairs with their intervals."""
    others = {pair.versus for pair in pairs}
    rows = [
        {
            "name": pair.condition if len(others) == 1 else pair.name,
            "value": pair.value,
            "low": pair.low,
            "high": pair.high,
            "naive_low": pair.naive_low,
            "naive_high": pair.naive_high,
            "mark": "*" if _decided(pair, 1 - level) else "",
            "n": pair.n_ratings,
            "n_raters": pair.n_raters,
            "n_items": pair.n_items,
        }
        for pair in pairs[:MOST_DRAWN]
    ]
    return Figure(
        key=key_of("answer", place, about),
        title=family_span(f"{about}{VERSUS}{pairs[0].versus}" if len(others) == 1 else about),
        drawing="intervals",
        rows=rows,
        x=estimand_of(family.estimand).axis,
        decimals=estimand_of(family.estimand).decimals,
        ends=estimand_of(family.estimand).ends,
        at=(_neutral(family),),
        note=f"* decided: {DECIDED.format(level * 100)}",
        about=about,
        interval="raters and items crossed",
        made_by=_made_by(pairs),
    )


def _made_by(pairs: Sequence[Pair]) -> str:
    """How the intervals were made, and for how many pairs they hold at once."""
    tested = [pair for pair in pairs if pair.p is not None]
    kinds = "; ".join(dict.fromkeys(pair.made_by for pair in tested))
    return f"{kinds}, {SIMULTANEOUS.format(len(tested))}" if len(tested) > 1 else kinds


def _compared(family: Family, rows: np.ndarray, level: float) -> list[Pair]:
    """Pairs by `analysis.statistics.pairs`, which the part on pairs shows too."""
    draw, use = _neutral(family), family.table[rows]
    ratings = pair_ratings(
        use["condition"].tolist(),
        use["versus_condition"].tolist(),
        (use["score"].to_numpy(dtype=np.float64) - draw).tolist(),
        [0.0] * len(use),
        [str(code) for code in family.rater[rows]],
        [str(code) for code in family.item[rows]],
        reach_of(estimand_of(family.estimand), family.table["score"].to_numpy(dtype=np.float64)),
    )
    return [
        _pair(
            (one.condition, one.versus),
            one.mean.moved(draw),
            (one.n_ratings, one.n_raters, one.n_items),
        )
        for one in pair_means(ratings, level)
    ]


def _told_apart(family: Family, rows: np.ndarray, level: float) -> list[Pair]:
    """ABX: the share of right answers of each pair, whichever of it was named first."""
    use = family.table[rows]
    sides = [sorted(pair) for pair in zip(use["condition"], use["versus_condition"], strict=True)]
    names, pair = np.unique(np.array(sides, dtype=str), axis=0, return_inverse=True)
    y, pair = use["score"].to_numpy(dtype=np.float64), pair.reshape(-1)
    rater, item = family.rater[rows], family.item[rows]
    shares = shares_right(y, pair, rater, item, level)
    pairs = []
    for code, ((a, b), one) in enumerate(zip(names, shares, strict=True)):
        mine = pair == code
        counts = int(mine.sum()), len(np.unique(rater[mine])), len(np.unique(item[mine]))
        pairs.append(_pair((str(a), str(b)), one, counts))
    return pairs


def _pair(names: tuple[str, str], measured: Measured, counts: tuple[int, int, int]) -> Pair:
    return Pair(
        *names,
        measured.value,
        measured.low_all,
        measured.high_all,
        measured.naive_low,
        measured.naive_high,
        measured.low,
        measured.high,
        measured.p_adjusted,
        measured.note,
        *counts,
        measured.interval,
    )


def _decided(pair: Pair, alpha: float) -> bool:
    return pair.p is not None and pair.p < alpha


def _one_side(
    family: Family, won: Sequence[Pair], even: Sequence[Pair], lost: Sequence[Pair], how: str
) -> str:
    versus = condition_span(next(iter([*won, *even, *lost])).versus)
    parts = []
    if won:
        parts.append(f"{_named(family, won)} preferred {how}")
    if even:
        verb = "cannot be told apart from it" if won or lost else f"not told apart from {versus}"
        parts.append(f"{_named(family, even)} {verb}")
    if lost:
        parts.append(f"{_named(family, lost)} not as good {how}")
    return f"Against {versus}: {'; '.join(parts)}. {_more(family)}".strip()


def _untested(pairs: Sequence[Pair]) -> str:
    """The pairs of which nothing can be said, and why."""
    if not pairs:
        return ""
    notes = "; ".join(dict.fromkeys(pair.note for pair in pairs if pair.note))
    return f"No test of {listed([pair.spans for pair in pairs])}: {notes}."


def _neutral(family: Family) -> float:
    """The score that favours neither side."""
    return estimand_of(family.estimand).neutral or 0.0


def _more(family: Family) -> str:
    """Where there is more: a part on pairs, but for what it does not know."""
    return MORE if estimand_of(family.estimand).in_pairs else ""


def _most(pairs: Sequence[Pair], won: Sequence[Pair], lost: Sequence[Pair]) -> str:
    """Who won most of its pairs, and who lost most."""
    winners = [pair.condition for pair in won] + [pair.versus for pair in lost]
    losers = [pair.versus for pair in won] + [pair.condition for pair in lost]
    met = [name for pair in pairs for name in (pair.condition, pair.versus)]
    sentences = []
    for verb, names in (("won", winners), ("lost", losers)):
        most = max(map(names.count, names))
        first = sorted(name for name in set(names) if names.count(name) == most)
        sentences.append(
            listed([f"{condition_span(name)} {verb} {most} of {met.count(name)}" for name in first])
        )
    return ", ".join(sentences)


def _heard(pairs: Sequence[Pair], won: Sequence[Pair], how: str) -> str:
    """ABX: answers that are right more often than by guessing."""
    rest = [pair for pair in pairs if pair not in won]
    parts = []
    if won:
        parts.append(f"the difference is heard in {_shares(won)} {how}")
    if rest:
        parts.append(f"answers are not clearly better than guessing in {_shares(rest)}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}. {MORE}"


def _shares(pairs: Sequence[Pair]) -> str:
    return listed([f"{pair.spans} ({percent(pair.value)} right)" for pair in pairs])


def _named(family: Family, pairs: Sequence[Pair]) -> str:
    return listed([f"{condition_span(pair.condition)} ({_value(family, pair)})" for pair in pairs])


def _value(family: Family, pair: Pair) -> str:
    decimals = estimand_of(family.estimand).decimals
    if estimand_of(family.estimand).signed:
        return with_bounds(pair.value, pair.low, pair.high, decimals)
    text = number(pair.value, False, decimals)
    if pair.low is None or pair.high is None:
        return text
    return (
        f"{text} {interval_text(pair.low, pair.high, estimand_of(family.estimand).ends, decimals)}"
    )
