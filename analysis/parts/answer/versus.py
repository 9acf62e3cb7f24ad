"""The answer where clips were compared in pairs: each pair's mean against a draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.breakdowns import Family
from analysis.comparisons.standing import DECIMALS, USUAL_DECIMALS, key_of
from analysis.intervals import clustered, has_no_width, holm, naive_interval, t_interval, t_test
from analysis.pairs import pair_means, pair_ratings
from analysis.pairs.ratings import CENTRES
from analysis.parts.answer.words import listed, with_bounds
from analysis.parts.shown import Figure
from analysis.report.plots import AXES
from analysis.report.tables import number
from analysis.scales import ENDS, bounds_text

DRAW = {"ab": 0.5, "abx": 0.5}
ABX = "abx"
IN_PAIRS = frozenset({*CENTRES, ABX})
MOST_DRAWN = 60
MORE = "More is under Comparisons of pairs."
NO_PAIRS = "no rating names two different conditions: nothing is compared"


@dataclass(frozen=True)
class Pair:
    """Two conditions that met: the mean for the first, and p against a draw, Holm's over all."""

    condition: str
    versus: str
    value: float
    low: float | None
    high: float | None
    naive_low: float | None
    naive_high: float | None
    p: float | None
    p_holm: float | None
    note: str

    @property
    def name(self) -> str:
        """Both names."""
        return f"{self.condition} versus {self.versus}"

    def turned(self, whole: float) -> Pair:
        """The same seen from the other side; both means add up to ``whole``."""
        ends = (self.high, self.low, self.naive_high, self.naive_low)
        low, high, naive_low, naive_high = (None if end is None else whole - end for end in ends)
        return replace(
            self,
            condition=self.versus,
            versus=self.condition,
            value=whole - self.value,
            low=low,
            high=high,
            naive_low=naive_low,
            naive_high=naive_high,
        )


def pairs_of(family: Family, level: float) -> list[Pair]:
    """Every pair that met, the highest mean first.

    The better one is named first, unless all met the same other one, which is named second.
    """
    table = family.table
    known = (table["versus_condition"] != "") & (table["versus_condition"] != table["condition"])
    table, rows = table[known], known.to_numpy(dtype=bool)
    found = []
    if len(table):
        make = _told_apart if family.estimand == ABX else _compared
        found = make(family, rows, level)
    if family.estimand != ABX and len({pair.versus for pair in found}) > 1:
        draw = DRAW.get(family.estimand, 0.0)
        found = [pair.turned(2 * draw) if pair.value < draw else pair for pair in found]
    return sorted(found, key=lambda pair: (-pair.value, pair.name))


def answer(family: Family, pairs: Sequence[Pair], level: float) -> str:
    """Which pairs are decided, and which are not."""
    if not pairs:
        return f"{NO_PAIRS.capitalize()}."
    alpha, draw = 1 - level, DRAW.get(family.estimand, 0.0)
    if all(pair.p is None for pair in pairs):
        notes = list(dict.fromkeys(pair.note for pair in pairs if pair.note))
        return f"No pair can be tested: {'; '.join(notes) or 'the ratings do not vary'}."
    how = f"(Holm-adjusted p < {alpha:.2g} over {len(pairs)} pairs)"
    if len(pairs) == 1:
        how = f"(p < {alpha:.2g})"
    won = [pair for pair in pairs if _decided(pair, alpha) and pair.value > draw]
    lost = [pair for pair in pairs if _decided(pair, alpha) and pair.value < draw]
    even = [pair for pair in pairs if pair not in won and pair not in lost]
    if family.estimand == ABX:
        return _heard(pairs, won, how)
    others = {pair.versus for pair in pairs}
    if len(others) == 1:
        return _one_side(family, won, even, lost, how)
    told = f"{len(won) + len(lost)} of {len(pairs)} pairs are decided {how}"
    if won or lost:
        told += f"; {_most(pairs, won, lost)}"
        clearest = max([*won, *lost], key=lambda pair: abs(pair.value - draw))
        turned = clearest if clearest.value > draw else clearest.turned(2 * draw)
        told += f"; clearest: {turned.condition} over {turned.versus} ({_value(family, turned)})"
    return f"{told}. {_more(family)}".strip()


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
        }
        for pair in pairs[:MOST_DRAWN]
    ]
    return Figure(
        key=key_of("answer", place, about),
        title=f"{about} · versus {pairs[0].versus}" if len(others) == 1 else about,
        drawing="intervals",
        rows=rows,
        x=AXES.get(family.estimand, family.estimand),
        ends=ENDS.get(family.estimand),
        at=(DRAW.get(family.estimand, 0.0),),
        note=f"* decided: Holm-adjusted p < {1 - level:.2g}.",
        about=about,
        interval="raters and items crossed",
    )


def _compared(family: Family, rows: np.ndarray, level: float) -> list[Pair]:
    """Pairs by `analysis.pairs`, which the part on pairs shows too."""
    draw, use = DRAW.get(family.estimand, 0.0), family.table[rows]
    ratings = pair_ratings(
        use["condition"].tolist(),
        use["versus_condition"].tolist(),
        (use["score"].to_numpy(dtype=np.float64) - draw).tolist(),
        [0.0] * len(use),
        [str(code) for code in family.rater[rows]],
        [str(code) for code in family.item[rows]],
    )
    found = []
    for one in pair_means(ratings, level):
        ends = (one.mean.low, one.mean.high, one.mean.naive_low, one.mean.naive_high)
        low, high, naive_low, naive_high = (None if end is None else end + draw for end in ends)
        found.append(
            Pair(
                one.condition,
                one.versus,
                one.mean.value + draw,
                low,
                high,
                naive_low,
                naive_high,
                one.mean.p,
                one.p_adjusted,
                one.mean.note,
            )
        )
    return found


def _told_apart(family: Family, rows: np.ndarray, level: float) -> list[Pair]:
    """ABX: the share of right answers of each pair, whichever of it was named first."""
    use = family.table[rows]
    sides = [sorted(pair) for pair in zip(use["condition"], use["versus_condition"], strict=True)]
    names, pair = np.unique(np.array(sides, dtype=str), axis=0, return_inverse=True)
    pair = pair.reshape(-1).astype(np.int64)
    y = use["score"].to_numpy(dtype=np.float64)
    means = clustered(y, pair, family.rater[rows], family.item[rows], len(names))
    found = []
    for code, (one, other) in enumerate(names):
        value, variance, df = float(means.value[code]), means.variance(code), means.degrees(code)
        naive_low, naive_high = naive_interval(y[pair == code], level) or (None, None)
        low: float | None = None
        high: float | None = None
        p, note = None, "one rater or item only: how they differ cannot be estimated"
        if df > 0:
            note = "the answers do not vary: a test is undefined"
            if not has_no_width(variance, y):
                (low, high), note = t_interval(value, variance**0.5, df, level), ""
                p = t_test(value - DRAW[ABX], variance**0.5, df)
        found.append(
            Pair(str(one), str(other), value, low, high, naive_low, naive_high, p, None, note)
        )
    adjusted = holm([each.p for each in found])
    return [replace(each, p_holm=p) for each, p in zip(found, adjusted, strict=True)]


def _decided(pair: Pair, alpha: float) -> bool:
    return pair.p_holm is not None and pair.p_holm < alpha


def _one_side(
    family: Family, won: Sequence[Pair], even: Sequence[Pair], lost: Sequence[Pair], how: str
) -> str:
    versus = next(iter([*won, *even, *lost])).versus
    parts = []
    if won:
        parts.append(f"{_named(family, won)} preferred")
    if even:
        verb = "cannot be told apart from it" if won or lost else f"not told apart from {versus}"
        parts.append(f"{_named(family, even)} {verb}")
    if lost:
        parts.append(f"{_named(family, lost)} not as good")
    return f"Against {versus}: {'; '.join(parts)} {how}. {_more(family)}".strip()


def _more(family: Family) -> str:
    """Where there is more: a part on pairs, but for what it does not know."""
    return MORE if family.estimand in IN_PAIRS else ""


def _most(pairs: Sequence[Pair], won: Sequence[Pair], lost: Sequence[Pair]) -> str:
    """Who won most of its pairs, and who lost most."""
    winners = [pair.condition for pair in won] + [pair.versus for pair in lost]
    losers = [pair.versus for pair in won] + [pair.condition for pair in lost]
    met = [name for pair in pairs for name in (pair.condition, pair.versus)]
    told = []
    for verb, names in (("won", winners), ("lost", losers)):
        most = max(map(names.count, names))
        first = sorted(name for name in set(names) if names.count(name) == most)
        told.append(listed([f"{name} {verb} {most} of {met.count(name)}" for name in first]))
    return ", ".join(told)


def _heard(pairs: Sequence[Pair], won: Sequence[Pair], how: str) -> str:
    """ABX: answers that are right more often than by guessing."""
    rest = [pair for pair in pairs if pair not in won]
    parts = []
    if won:
        parts.append(f"the difference is heard in {_shares(won)}")
    if rest:
        parts.append(f"answers are not clearly better than guessing in {_shares(rest)}")
    told = "; ".join(parts)
    return f"{told[:1].upper()}{told[1:]} {how}. {MORE}"


def _shares(pairs: Sequence[Pair]) -> str:
    return listed([f"{pair.name} ({pair.value:.0%} right)" for pair in pairs])


def _named(family: Family, pairs: Sequence[Pair]) -> str:
    return listed([f"{pair.condition} ({_value(family, pair)})" for pair in pairs])


def _value(family: Family, pair: Pair) -> str:
    decimals = DECIMALS.get(family.estimand, USUAL_DECIMALS)
    if family.estimand not in DRAW:
        return with_bounds(pair.value, pair.low, pair.high, decimals)
    told = number(pair.value, False, decimals)
    if pair.low is None or pair.high is None:
        return told
    return f"{told} {bounds_text(pair.low, pair.high, ENDS.get(family.estimand), decimals)}"
