"""The answer of a family in words: as a headline of one to three sentences, and in full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, cast

import numpy as np

from analysis.citations import cite
from analysis.formatting import (
    all_of,
    ci_words,
    counted,
    enumerated,
    interval_text,
    listed,
    number,
    percent,
)
from analysis.name_spans import VERSUS, condition_span, family_span, names_in, resolve
from analysis.ratings.breakdowns import Family
from analysis.ratings.estimands import estimand_of, family_title
from analysis.ratings.reference import Reference
from analysis.report.content import INTERVAL_CELLS, Figure, pick_cells
from analysis.report.ranking import Difference, Ranking, key_of
from analysis.statistics.pairs.means_of_pairs import Measured, pair_means, shares_right
from analysis.statistics.pairs.pair_ratings import pair_ratings, reach_of

RANKING_MOST_NAMED = 6
MOST_NEAR = 3
NO_PROOF = "This does not show that they are equal."
SAME = "not significantly different"


def ranking_sentences(s: Ranking, reference: Reference) -> str:
    """What these ratings say of the order of the conditions, and what they do not say."""
    if len(s.means) == 1:
        return _only_one(s)
    if len(s.tested) < 2:
        return _nothing_tested(s)
    if s.tiers is None or s.cell.y.min() == s.cell.y.max():
        sentences = [_no_test(s)]
    else:
        others = s.systems
        sentences = [_order(s, others)] if len(others) > 1 else []
        if reference.name in s.tested:
            sentences.append(_against(s, others, reference))
    return " ".join([*sentences, *_outside(s)])


def with_bounds(value: float, low: float | None, high: float | None, decimals: int) -> str:
    """A signed difference with its interval, if it has one."""
    text = number(value, True, decimals)
    return (
        text
        if low is None or high is None
        else f"{text} {interval_text(low, high, None, decimals)}"
    )


def _only_one(s: Ranking) -> str:
    (mean,) = s.means
    value = number(mean.value, False, s.decimals)
    sentence = f"{condition_span(mean.condition)} has {_article(s.name)} {s.name} of {value}"
    if mean.low is not None and mean.high is not None:
        sentence += f" {interval_text(mean.low, mean.high, s.ends, s.decimals)}"
        return f"{sentence}; there is no other condition to compare it with."
    return f"{sentence} ({mean.note}); there is no other condition to compare it with."


def _nothing_tested(s: Ranking) -> str:
    notes = dict.fromkeys(mean.note for mean in s.means if mean.note)
    return (
        f"Nothing can be said beyond these raters and items: {'; '.join(notes)}. "
        f"Here the means run from {_with_mean(s, s.means[0].condition, s.name)} to "
        f"{_with_mean(s, s.means[-1].condition)}."
    )


def _no_test(s: Ranking) -> str:
    y = s.cell.y
    if y.min() == y.max():
        return f"Every rating is {y.min():g}: these ratings do not tell the conditions apart."
    notes = dict.fromkeys(s.between(a, b).note for a, b in combinations(s.tested, 2))
    values = listed([_with_mean(s, name) for name in s.tested])
    return f"{s.name}: {values}. No difference can be tested: {'; '.join(filter(None, notes))}."


def _order(s: Ranking, others: Sequence[str]) -> str:
    """Who is best, in full; ``others`` are tested, the best first, without the reference."""
    best = others[0]
    near = [name for name in others[1:] if not s.differ(best, name)]
    far = [name for name in others[1:] if s.differ(best, name)]
    how = f"adjusted p < {s.alpha:.2g}"
    if not near:
        return _alone(s, others, how)
    if not far:
        return _ranking_undivided(s, others)
    top = [best, *near]
    clear = [name for name in far if all(_above(s, other, name) for other in top)]
    part = [name for name in far if name not in clear]
    if not any(s.differ(a, b) for a, b in combinations(top, 2)):
        values = listed([_value(s, name) for name in top])
        lead = f"{_list_names(top)} {_first(s, len(top))} ({s.name} {values}) and are {SAME}."
    else:
        lead = (
            f"{_with_mean(s, best, s.name)} {_first(s)} but is {SAME} from "
            f"{listed([_with_mean(s, name) for name in near])}, some of which differ "
            "from each other."
        )
    if not clear:
        denied = f"{_list_names(near)} {s.what.verb_denied(len(near))} {_higher(s)}"
        denied += " than all of these" * (len(far) > 1)
        return f"{lead} {_than_words(s, best)} than {_list_names(far)} ({how}); {denied}."
    every = all_of(len(top)).capitalize()
    also = f", and {_than_words(s, best)} than {_list_names(part)} too" if part else ""
    return f"{lead} {every} {_verb(s, _higher(s), 2)} than {_list_names(clear)}{also} ({how})."


def _alone(s: Ranking, others: Sequence[str], how: str) -> str:
    best, rest = others[0], others[1:]
    if len(rest) == 1:
        other = f"{condition_span(rest[0])} ({_value(s, rest[0])}; {how})"
        return f"{_with_mean(s, best, s.name)} {_verb(s, _higher(s), 1)} than {other}."
    lead = f"{_with_mean(s, best, s.name)} {_first(s)}"
    follow = listed([_with_mean(s, name) for name in rest])
    if all(s.differ(a, b) for a, b in combinations(others, 2)) and len(rest) <= RANKING_MOST_NAMED:
        return f"{lead}, followed by {follow}. Each differs significantly from every other ({how})."
    others_named = "both others" if len(rest) == 2 else f"all {len(rest)} others"
    return (
        f"{lead}. It {_verb(s, _higher(s), 1)} than {others_named} ({how}). "
        f"Next is {_with_mean(s, rest[0])}."
    )


def _ranking_undivided(s: Ranking, others: Sequence[str]) -> str:
    best, last = others[0], others[-1]
    if any(s.differ(a, b) for a, b in combinations(others, 2)):
        return (
            f"{_with_mean(s, best, s.name)} {_first(s)} but is {SAME} from any other system. "
            "Some of the others differ from each other (see the letters)."
        )
    widest = s.between(best, last)
    gap = with_bounds(widest.value, widest.low_all, widest.high_all, s.decimals)
    if len(others) == 2:
        both = f"{_with_mean(s, best, s.name)} and {_with_mean(s, last)}"
        return f"{both} are {SAME}: the difference is {gap}. {NO_PROOF}"
    return (
        f"None of the {len(others)} systems is significantly different from another "
        f"(adjusted p ≥ {s.alpha:.2g}). The means run from {_with_mean(s, best, s.name)} to "
        f"{_with_mean(s, last)}, a difference of {gap}. {NO_PROOF}"
    )


def _against(s: Ranking, others: Sequence[str], reference: Reference) -> str:
    """How the systems stand to the reference."""
    gaps = [s.between(name, reference.name) for name in others]
    better = [gap.condition for gap in gaps if gap.claimed and _is_better(s, gap)]
    worse = [gap for gap in gaps if gap.claimed and not _is_better(s, gap)]
    same = [gap for gap in gaps if not gap.claimed]
    parts = []
    if better:
        parts.append(f"{_list_names(better)} {_verb(s, _higher(s), len(better))}")
    if same:
        some = listed([_with_gap(s, gap) for gap in same], MOST_NEAR)
        equal = "it is equal" if len(same) == 1 else "they are equal"
        parts.append(f"{some} {_verb(s, SAME, len(same))}, which does not show that {equal}")
    if worse:
        names = [gap.condition for gap in worse]
        every = all_of(len(names))
        all_ = every if len(names) == len(others) > 1 else _list_names(names)
        nearest = f", nearest {_with_gap(s, worse[0])}" if len(worse) > 1 else ""
        if len(worse) == 1:
            all_ = _with_gap(s, worse[0])
        parts.append(f"{all_} {_verb(s, _lower(s), len(worse))}{nearest}")
    valued = _with_mean(s, reference.name, s.name)
    return f"Relative to {valued}, {reference.why}: {'; '.join(parts)}."


def _outside(s: Ranking) -> list[str]:
    """The conditions that are in no comparison, and why."""
    anchors = [name for name in s.tested if name in s.anchors]
    named = listed([_with_mean(s, name) for name in anchors])
    are, what = _are(anchors), "an anchor" if len(anchors) == 1 else "anchors"
    sentence = f"{named} {are} {what} and {are} excluded from the comparisons."
    return [sentence] * bool(anchors) + [
        f"{_with_mean(s, mean.condition)} is excluded from the comparisons ({mean.note})."
        for mean in s.means
        if mean.condition not in s.tested
    ]


def _is_better(s: Ranking, gap: Difference) -> bool:
    return (gap.value < 0) if s.low_is_best else (gap.value > 0)


def _above(s: Ranking, one: str, other: str) -> bool:
    return s.differ(one, other) and s.tested.index(one) < s.tested.index(other)


def _with_gap(s: Ranking, gap: Difference) -> str:
    return (
        f"{condition_span(gap.condition)} "
        f"({with_bounds(gap.value, gap.low_all, gap.high_all, s.decimals)})"
    )


def _with_mean(s: Ranking, name: str, what: str = "") -> str:
    """A condition with its mean in brackets, after what the mean is of."""
    value = f"{what} {_value(s, name)}" if what else _value(s, name)
    return f"{condition_span(name)} ({value})"


def _value(s: Ranking, name: str) -> str:
    return number(s.by_name[name].value, False, s.decimals)


def _list_names(names: Sequence[str]) -> str:
    return listed(list(map(condition_span, names)))


def _are(names: Sequence[object]) -> str:
    return "is" if len(names) == 1 else "are"


def _article(word: str) -> str:
    spelled = word.isupper() and word != "MUSHRA"
    return "an" if spelled and word[:1] in "AEIOMHRS" else "a"


def _first(s: Ranking, systems: int = 1) -> str:
    """How the best one or several stand, by ratings or ranks; a reference may be better still."""
    best = s.what.leads(systems)
    return f"{best} of the systems" if s.reference.name in s.tested else best


def _than_words(s: Ranking, name: str) -> str:
    """One condition that is significantly better, before “than”."""
    return f"{condition_span(name)} {_verb(s, _higher(s), 1)}"


SHARE_OF = "share of "
MOST_TOLD = 6
_DUST = 1e-9


def shares_of(family: Family, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The report's rows of label shares that are about this family, clustered intervals only."""
    about = family_title({**family.group, "estimand": ""})
    return [
        row
        for row in rows
        if family_title({**row, "estimand": "", "versus_condition": ""}) == about
        and not row["interval"].startswith("naive")
    ]


def choice_sentences(rows: Sequence[Mapping[str, Any]]) -> str:
    """What was chosen most often, of each condition."""
    if not rows:
        return "The answers have no score and too many different words to be counted."
    sentences = [_choice_most(name, mine) for name, mine in _by_condition(rows).items()]
    return f"The answers have no score; chosen most often: {listed(sentences, MOST_TOLD)}."


def choice_figure(place: int, about: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[Figure]:
    """Bars of shares, where every answer held one label (shares add up to 1)."""
    bars = [
        {
            **{"name": row["condition"], "label": label_of(row), "value": row["value"]},
            **{"low": row["low"], "high": row["high"]},
            **{"n": row["n_ratings"], "n_raters": row["n_raters"], "n_items": row["n_items"]},
        }
        for row in rows
    ]
    sums: dict[str, float] = {}
    for bar in bars:
        sums[bar["name"]] = sums.get(bar["name"], 0.0) + bar["value"]
    if bars and max(sums.values()) <= 1 + _DUST:
        key = key_of("answer", place, about)
        made_by = next((row["interval"] for row in rows if row["low"] is not None), "")
        x = "share of the answers"
        yield Figure(key, family_span(about), "shares", bars, x=x, about=about, made_by=made_by)


def _choice_most(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    row = max(rows, key=lambda row: row["value"])
    sentence = f"{label_of(row)} for {condition_span(name)} ({row['value'] * 100:.0f} %"
    if row["low"] is not None:
        sentence += f" {interval_text(row['low'] * 100, row['high'] * 100, (0, 100), 0)}"
    return f"{sentence})"


def label_of(row: Mapping[str, Any]) -> str:
    """The label that a row of shares is about."""
    return str(row["estimand"]).removeprefix(SHARE_OF)


MOST_DRAWN = 60
MORE = "See Paired comparisons."
DECIDED = "the {:g} % interval excludes a draw."
SIMULTANEOUS = f"simultaneous for all {{}} pairs {resolve(cite('sidak1967'))}"
NO_PAIRS = "no rating names two different conditions: nothing is compared"


@dataclass(frozen=True)
class Pair:
    """Two conditions that met: the mean for the first, and p against a draw.

    ``low``, ``high`` and ``p`` hold for all pairs of the family at once. None where there is no
    test: ``note`` says why.
    """

    condition: str
    versus: str
    value: float
    low: float | None
    high: float | None
    naive_low: float | None
    naive_high: float | None
    p: float | None
    note: str
    n_ratings: int
    n_raters: int
    n_items: int
    made_by: str  # how its interval was made

    @property
    def name(self) -> str:
        return f"{self.condition} versus {self.versus}"

    @property
    def spans(self) -> str:
        """Both names in a sentence."""
        return f"{condition_span(self.condition)} versus {condition_span(self.versus)}"

    def turned(self, whole: float) -> Pair:
        """The same seen from the other side; both means add up to ``whole``."""
        other = {"low": "high", "naive_low": "naive_high"}
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
        make = _told_apart if estimand_of(family.estimand).discriminates else _compare_pairs
        pairs = make(family, rows, level)
    if estimand_of(family.estimand).prefers and len({pair.versus for pair in pairs}) > 1:
        draw = _neutral(family)
        pairs = [pair.turned(2 * draw) if pair.value < draw else pair for pair in pairs]
    return sorted(pairs, key=lambda pair: (-pair.value, pair.name))


def pair_sentences(family: Family, pairs: Sequence[Pair], level: float) -> str:
    """Which pairs are decided, and which are not."""
    if not pairs:
        return f"{NO_PAIRS.capitalize()}."
    alpha, draw = 1 - level, _neutral(family)
    if all(pair.p is None for pair in pairs):
        notes = list(dict.fromkeys(pair.note for pair in pairs if pair.note))
        return f"No pair can be tested: {'; '.join(notes) or 'the ratings do not vary'}."
    tested = sum(pair.p is not None for pair in pairs)
    how = f"(p < {alpha:.2g}, adjusted for {tested} pairs)" if tested > 1 else f"(p < {alpha:.2g})"
    won = [pair for pair in pairs if _is_decided(pair, alpha) and pair.value > draw]
    lost = [pair for pair in pairs if _is_decided(pair, alpha) and pair.value < draw]
    bare = [pair for pair in pairs if pair.p is None]
    even = [pair for pair in pairs if pair not in (*won, *lost, *bare)]
    if estimand_of(family.estimand).discriminates:
        return _pair_heard(pairs, won, how)
    others = {pair.versus for pair in pairs}
    if len(others) == 1:
        return f"{_pair_one_side(family, won, even, lost, how)} {_untested_pairs(bare)}".strip()
    sentence = f"{_pairs_differ(len(won) + len(lost), tested)} {how}"
    if won or lost:
        sentence += f". {_most(pairs, won, lost)}"
        clearest = max([*won, *lost], key=lambda pair: abs(pair.value - draw))
        turned = clearest if clearest.value > draw else clearest.turned(2 * draw)
        sentence += (
            f". The largest difference is {condition_span(turned.condition)} over "
            f"{condition_span(turned.versus)} ({_pair_value(family, turned)})"
        )
    return f"{sentence}. {_more(family)} {_untested_pairs(bare)}".strip()


def pair_figure(
    place: int, family: Family, pairs: Sequence[Pair], level: float, about: str
) -> Figure:
    """The means of all pairs with their intervals."""
    others = {pair.versus for pair in pairs}
    rows = [
        {
            "name": pair.condition if len(others) == 1 else pair.name,
            **pick_cells(pair, *INTERVAL_CELLS),
            "mark": "*" if _is_decided(pair, 1 - level) else "",
            "n": pair.n_ratings,
            **pick_cells(pair, "n_raters", "n_items"),
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
        note=f"* significant: {DECIDED.format(level * 100)}",
        about=about,
        interval="raters and items crossed",
        made_by=_made_by(pairs),
    )


def _made_by(pairs: Sequence[Pair]) -> str:
    """How the intervals were made, and for how many pairs they hold at once."""
    tested = [pair for pair in pairs if pair.p is not None]
    kinds = "; ".join(dict.fromkeys(pair.made_by for pair in tested))
    return f"{kinds}, {SIMULTANEOUS.format(len(tested))}" if len(tested) > 1 else kinds


def _compare_pairs(family: Family, rows: np.ndarray, level: float) -> list[Pair]:
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
        measured.p_adjusted,
        measured.note,
        *counts,
        measured.interval,
    )


def _is_decided(pair: Pair, alpha: float) -> bool:
    return pair.p is not None and pair.p < alpha


def _pair_one_side(
    family: Family, won: Sequence[Pair], even: Sequence[Pair], lost: Sequence[Pair], how: str
) -> str:
    versus = condition_span(next(iter([*won, *even, *lost])).versus)
    parts = []
    if won:
        parts.append(f"{_pair_names(family, won)} {_are(won)} preferred {how}")
    if even:
        parts.append(f"{_pair_names(family, even)} {_are(even)} {SAME}")
    if lost:
        parts.append(f"{_pair_names(family, lost)} {_are(lost)} less preferred {how}")
    return f"Against {versus}: {'; '.join(parts)}. {_more(family)}".strip()


def _pairs_differ(clear: int, tested: int) -> str:
    """How many of the pairs that were tested differ."""
    number_of = f"{clear} of" if clear else "None of"
    verb = "differ" if clear > 1 else "differs"
    return f"{number_of} {counted(tested, 'pair')} {verb} significantly"


def _untested_pairs(pairs: Sequence[Pair]) -> str:
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
    return "; ".join(sentences)


def _pair_heard(pairs: Sequence[Pair], won: Sequence[Pair], how: str) -> str:
    """ABX: answers that are right more often than by guessing."""
    rest = [pair for pair in pairs if pair not in won]
    parts = []
    if won:
        parts.append(f"the difference is heard in {_shares(won)} {how}")
    if rest:
        parts.append(f"answers are not significantly better than guessing in {_shares(rest)}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}. {MORE}"


def _shares(pairs: Sequence[Pair]) -> str:
    return listed([f"{pair.spans} ({percent(pair.value)} right)" for pair in pairs])


def _pair_names(family: Family, pairs: Sequence[Pair]) -> str:
    return listed(
        [f"{condition_span(pair.condition)} ({_pair_value(family, pair)})" for pair in pairs]
    )


def _pair_value(family: Family, pair: Pair) -> str:
    decimals = estimand_of(family.estimand).decimals
    if estimand_of(family.estimand).signed:
        return with_bounds(pair.value, pair.low, pair.high, decimals)
    text = number(pair.value, False, decimals)
    if pair.low is None or pair.high is None:
        return text
    return (
        f"{text} {interval_text(pair.low, pair.high, estimand_of(family.estimand).ends, decimals)}"
    )


MOST_WORDS = 30  # of a sentence
MOST_NAMED = 3
_NAME_WORDS = 3  # that a label takes, as a rule


def headline_of_rankings(standing: Sequence[Ranking]) -> str:
    """Which conditions score highest and how they compare with the reference.

    Of conditions that were compared with several others: of the first, and how many more.
    """
    first, *more = standing
    sentence = _of_ranking(first)
    if not first.versus:
        return sentence
    against = f"Against {condition_span(first.versus)}: {sentence}"
    others = f" Comparisons with {len(more)} more are below." if more else ""
    return f"{against}{others}"


def headline_of_pairs(family: Family, pairs: Sequence[Pair], alpha: float) -> str:
    """How many pairs are decided, and the clearest or only one."""
    if not pairs:
        return "No rating names two different conditions: nothing is compared."
    tested = [pair for pair in pairs if pair.p is not None]
    if not tested:
        return "No pair can be tested: the ratings of each do not vary, or are too few."
    decided = [pair for pair in tested if pair.p is not None and pair.p < alpha]
    if estimand_of(family.estimand).discriminates:
        return _heard(pairs, decided)
    draw = estimand_of(family.estimand).neutral or 0.0
    if len(pairs) == 1:
        return _one_pair(family, pairs[0], bool(decided), draw)
    if len({pair.versus for pair in pairs}) == 1:
        return _one_side(family, pairs, decided, draw)
    if not decided:
        return f"{_pairs_differ(0, len(tested))}: no preference is shown."
    clearest = max(decided, key=lambda pair: abs(pair.value - draw))
    winner, loser = clearest.condition, clearest.versus
    if clearest.value < draw:
        winner, loser = loser, winner
    return (
        f"{_pairs_differ(len(decided), len(tested))}. Most clearly, {condition_span(winner)} is "
        f"preferred to {condition_span(loser)}."
    )


def headline_of_choices(rows: Sequence[Mapping[str, Any]]) -> str:
    """Which label was chosen most, per condition where they are few."""
    if not rows:
        return "The answers have no score and too many different words to be counted."
    most = [max(mine, key=lambda row: row["value"]) for mine in _by_condition(rows).values()]
    shares = [
        f"“{label_of(row)}” for {condition_span(row['condition'])} ({percent(row['value'])})"
        for row in most
    ]
    chosen = sorted({str(label_of(row)) for row in most})
    same = f"“{chosen[0]}” was chosen most often, whatever the system."
    different = f"The answers chosen most often differ between the {len(most)} systems."
    short = same if len(chosen) == 1 < len(most) else different
    return _fitting([[f"Chosen most often: {enumerated(shares)}."], [short]])


def word_count(sentence: str) -> int:
    """Words of a sentence, every name counted as three: its label is not known yet."""
    return len(sentence.split()) + (_NAME_WORDS - 1) * len(names_in(sentence))


def _of_ranking(s: Ranking) -> str:
    if len(s.means) == 1:
        only = _with_mean(s, s.means[0].condition, s.name)
        return f"{only} is the only system: nothing to compare it with."
    if len(s.tested) < 2:
        return "Too few raters or sentences to say anything beyond these very ratings."
    if s.cell.y.min() == s.cell.y.max():
        return "Every rating is the same: these ratings do not tell the systems apart."
    if s.tiers is None:
        return "No difference can be tested: see the notes below."
    systems = s.systems
    if not systems:
        return "Only the reference and anchors were rated: no system to speak of."
    if len(systems) == 1:
        return _only_system(s, systems[0])
    after = _to_reference(s, systems)
    return _fitting([[*order, *after] for order in _orders(s, systems)])


def _orders(s: Ranking, systems: Sequence[str]) -> list[list[str]]:
    """Who is best, in full and shorter, as sentences; only what is claimed of differences."""
    best, rest = systems[0], systems[1:]
    near = [name for name in rest if not s.differ(best, name)]
    far = [name for name in rest if s.differ(best, name)]
    if not far:
        return _undivided_groups(s, systems)
    if len(systems) == 2:
        values = f"({s.name} {_value(s, best)} and {_value(s, far[0])})"
        other = condition_span(far[0])
        return [[f"{condition_span(best)} {s.what.verb()} {_higher(s)} than {other} {values}."]]
    lead = _lead(s, systems)
    if not near:
        return [[f"{lead}.", f"It {s.what.verb()} {_higher(s)} than {all_of(len(rest))} others."]]
    top = [best, *near]
    alike = not any(s.differ(a, b) for a, b in combinations(top, 2))
    if alike and all(s.differ(other, name) for other in top for name in far):
        others = f"the other {len(far)}" if len(far) > 1 else condition_span(far[0])
        after = f"Each {s.what.verb()} {_higher(s)} than {others}."
        named = f"{enumerated(map(condition_span, top))} {s.what.leads(len(top))}"
        values = enumerated(_value(s, name) for name in top)
        alike_words = f"and are {SAME}."
        span = f"{s.name} {_value(s, top[-1])} to {_value(s, best)}"
        return [
            *[[f"{named} ({s.name} {values}) {alike_words}", after]] * (len(top) <= MOST_NAMED),
            [f"{len(top)} systems {s.what.leads(len(top))} ({span}) {alike_words}", after],
        ]
    rest_of = condition_span(far[0]) if len(far) == 1 else f"{len(far)} of the others"
    apart = condition_span(near[0]) if len(near) == 1 else f"the other {len(near)}"
    return [
        [f"{lead}.", f"It {s.what.verb()} {_higher(s)} than {rest_of}, but not than {apart}."],
    ]


def _undivided_groups(s: Ranking, systems: Sequence[str]) -> list[list[str]]:
    best, last = systems[0], systems[-1]
    if len(systems) == 2:
        names = f"{condition_span(best)} and {condition_span(last)}"
        return [[f"{names} are {SAME} ({s.name} {_value(s, best)} and {_value(s, last)})."]]
    if any(s.differ(a, b) for a, b in combinations(systems, 2)):
        return [[f"{_lead(s, systems)}, but not {_higher(s)} than any other."]]
    span = f"{s.name} {_value(s, best)} to {_value(s, last)}"
    return [
        [f"None of the {len(systems)} systems is significantly different from another ({span})."]
    ]


def _only_system(s: Ranking, name: str) -> str:
    if not s.reference or s.reference.name not in s.tested:
        return f"{_with_mean(s, name, s.name)} is the only system: nothing to compare it with."
    gap = s.between(name, s.reference.name)
    other = _with_mean(s, s.reference.name)
    if not gap.claimed:
        return f"{_with_mean(s, name, s.name)} is {SAME} from the reference, {other}."
    how = _higher(s) if _is_better(s, gap) else _lower(s)
    return f"{_with_mean(s, name, s.name)} {s.what.verb()} {how} than the reference, {other}."


def _to_reference(s: Ranking, systems: Sequence[str]) -> list[str]:
    """How the systems stand to the reference; empty without one."""
    if s.reference.name not in s.tested:
        return []
    gaps = [s.between(name, s.reference.name) for name in systems]
    claimed = [gap for gap in gaps if gap.claimed]
    better = sum(_is_better(s, gap) for gap in claimed)
    counts = {
        _higher(s): better,
        SAME: len(gaps) - len(claimed),
        _lower(s): len(claimed) - better,
    }
    there = {words: count for words, count in counts.items() if count}
    name = f"{condition_span(s.reference.name)}, the reference ({_value(s, s.reference.name)})"
    if len(there) > 1:
        each = [f"{count} {_verb(s, words, count)}" for words, count in there.items()]
        return [f"Relative to {name}, {enumerated(each)}."]
    ((words, count),) = there.items()
    if words == SAME:
        which = "Neither system is" if count == 2 else f"None of the {count} systems is"
        return [f"{which} significantly different from {name}."]
    return [f"{all_of(count).capitalize()} systems {s.what.verb(count)} {words} than {name}."]


def _verb(s: Ranking, words: str, count: int) -> str:
    """What so many systems do, before “than”: score significantly higher; or are not different."""
    if words == SAME:
        return f"{'is' if count == 1 else 'are'} {SAME}"
    return f"{s.what.verb(count)} {words}"


def _lead(s: Ranking, systems: Sequence[str]) -> str:
    """The best of several systems with its estimate, as the beginning of a sentence."""
    best = systems[0]
    value = f"({s.name} {_value_with_interval(s, best)})"
    return f"{condition_span(best)} {s.what.leads()} of the {len(systems)} systems {value}"


def _higher(s: Ranking) -> str:
    return f"significantly {s.what.higher}"


def _lower(s: Ranking) -> str:
    return f"significantly {s.what.lower}"


def _value_with_interval(s: Ranking, name: str) -> str:
    mean = s.by_name[name]
    value = number(mean.value, False, s.decimals)
    return f"{value}{ci_words(mean.low, mean.high, s.level, s.ends, s.decimals)}"


def _heard(pairs: Sequence[Pair], decided: Sequence[Pair]) -> str:
    if len(pairs) == 1:
        pair = pairs[0]
        names = f"{condition_span(pair.condition)} and {condition_span(pair.versus)}"
        if decided:
            return f"The difference of {names} is heard ({percent(pair.value)} right answers)."
        return (
            f"{names} were not distinguished more often than by guessing ({percent(pair.value)})."
        )
    return (
        f"Raters heard the difference in {len(decided)} of {len(pairs)} pairs of systems (more "
        "right answers than by guessing)."
    )


def _one_pair(family: Family, pair: Pair, decided: bool, draw: float) -> str:
    estimand = estimand_of(family.estimand)
    value = number(pair.value, estimand.signed, estimand.decimals)
    one, other = condition_span(pair.condition), condition_span(pair.versus)
    if not decided:
        return f"{one} and {other}: no preference is shown ({estimand.name} {value})."
    if pair.value < draw:
        return f"{other} is preferred to {one} ({one}: {estimand.name} {value})."
    return f"{one} is preferred to {other} ({estimand.name} {value})."


def _one_side(family: Family, pairs: Sequence[Pair], decided: Sequence[Pair], draw: float) -> str:
    """How all conditions compare with the one that each was heard beside."""
    estimand = estimand_of(family.estimand)
    parts = {
        "significantly preferred": [pair for pair in decided if pair.value > draw],
        SAME: [pair for pair in pairs if pair not in decided],
        "significantly less preferred": [pair for pair in decided if pair.value < draw],
    }

    def named(some: Sequence[Pair]) -> str:
        return enumerated(
            f"{condition_span(pair.condition)} "
            f"({number(pair.value, estimand.signed, estimand.decimals)})"
            for pair in some
        )

    versus = condition_span(pairs[0].versus)
    full, counts = (
        enumerated(f"{words(some)} {_are(some)} {word}" for word, some in parts.items() if some)
        for words in (named, lambda some: str(len(some)))
    )
    return _fitting([[f"Compared with {versus}, {each}."] for each in (full, counts)])


def _fitting(candidates: Sequence[Sequence[str]]) -> str:
    """The first text whose sentences are all short enough; else the shortest text."""
    for sentences in candidates:
        if all(word_count(sentence) <= MOST_WORDS for sentence in sentences):
            return " ".join(sentences)
    return min((" ".join(sentences) for sentences in candidates), key=word_count)


def _by_condition(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["condition"], []).append(row)
    return groups
