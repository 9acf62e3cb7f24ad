"""The answer of a family in one sentence of at most 30 words: the head of a report's first screen.

Names of conditions are spans (`analysis.name_spans`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from analysis.formatting import enumerated, number, percent
from analysis.name_spans import condition_span, names_in
from analysis.ratings.breakdowns import Family
from analysis.ratings.estimands import estimand_of
from analysis.report.parts.answer.answer_narrative import first, over, under
from analysis.report.parts.answer.choice_answer import label_of
from analysis.report.parts.answer.pair_answer import Pair
from analysis.report.ranking import Ranking

MOST_WORDS = 30
MOST_NAMED = 3
_NAME_WORDS = 3  # that a label takes, as a rule


def of_rankings(standing: Sequence[Ranking]) -> str:
    """Which conditions are rated highest and how they stand to the reference.

    Of conditions that were compared with several others: of the first, and how many more.
    """
    first, *more = standing
    sentence = _of_ranking(first)
    if not first.versus:
        return sentence
    against = f"Against {condition_span(first.versus)}: {sentence}"
    others = f" Comparisons with {len(more)} more are below." if more else ""
    return _fitting([f"{against}{others}", against, sentence])


def of_pairs(family: Family, pairs: Sequence[Pair], alpha: float) -> str:
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
        return _one_side(pairs, decided, draw)
    if not decided:
        return f"None of {len(tested)} pairs is decided: no preference is shown."
    clearest = max(decided, key=lambda pair: abs(pair.value - draw))
    winner, loser = clearest.condition, clearest.versus
    if clearest.value < draw:
        winner, loser = loser, winner
    return (
        f"{len(decided)} of {len(tested)} pairs are decided; clearest: {condition_span(winner)} is "
        f"preferred to {condition_span(loser)}."
    )


def of_choices(rows: Sequence[Mapping[str, Any]]) -> str:
    """Which label was chosen most, per condition where they are few."""
    if not rows:
        return "The answers have no score and too many different words to be counted."
    most = [max(mine, key=lambda row: row["value"]) for mine in _by_condition(rows)]
    shares = [
        f"“{label_of(row)}” for {condition_span(row['condition'])} ({percent(row['value'])})"
        for row in most
    ]
    chosen = sorted({str(label_of(row)) for row in most})
    same = f"“{chosen[0]}” was chosen most often, whatever the system."
    different = f"The answers chosen most often differ between the {len(most)} systems."
    short = same if len(chosen) == 1 < len(most) else different
    return _fitting([f"Chosen most often: {enumerated(shares)}.", short])


def word_count(sentence: str) -> int:
    """Words of a sentence, every name counted as three: its label is not known yet."""
    return len(sentence.split()) + (_NAME_WORDS - 1) * len(names_in(sentence))


def _of_ranking(s: Ranking) -> str:
    if len(s.means) == 1:
        return f"{_valued(s, s.means[0].condition)} is the only system: nothing to compare it with."
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
    orders, references = _orders(s, systems), _to_reference(s, systems)
    return _fitting(
        [f"{order}{after}." for order in orders for after in references]
        + [f"{order}." for order in orders]
        + [f"{len(systems)} systems were compared; the plot shows their order."]
    )


def _orders(s: Ranking, systems: Sequence[str]) -> list[str]:
    """Who is best, in full and shorter; only what is claimed of differences."""
    best, rest = systems[0], systems[1:]
    near = [name for name in rest if not s.differ(best, name)]
    far = [name for name in rest if s.differ(best, name)]
    if not far:
        return _undivided(s, systems)
    if not near:
        if len(rest) == 1:
            return [f"{_valued(s, best)} is {over(s)} {_valued(s, rest[0], named=False)}"]
        return [f"{_valued(s, best)} is {first(s)}, {over(s)} {_all(len(rest))} others"]
    top = [best, *near]
    alike = not any(s.differ(a, b) for a, b in combinations(top, 2))
    clear = [name for name in far if all(s.differ(other, name) for other in top)]
    others = f"the other {len(far)} are" if len(far) > 1 else f"{condition_span(far[0])} is"
    if alike and len(clear) == len(far):
        after = f"cannot be told apart; {others} {under(s)} {_all(len(top))}"
        named = enumerated(map(condition_span, top))
        return [
            *[f"{named} are {first(s)} and {after}"] * (len(top) <= MOST_NAMED),
            f"{len(top)} systems are {first(s)} and {after}",
        ]
    apart = condition_span(near[0]) if len(near) == 1 else f"{len(near)} others"
    rest_of = condition_span(far[0]) if len(far) == 1 else f"the other {len(far)}"
    return [
        f"{_valued(s, best)} is {first(s)} but cannot be told apart from {apart}; it is "
        f"{over(s)} {rest_of}",
        f"{_valued(s, best)} is {first(s)}, not clearly {over(s)} {apart}",
    ]


def _undivided(s: Ranking, systems: Sequence[str]) -> list[str]:
    best, last = systems[0], systems[-1]
    if any(s.differ(a, b) for a, b in combinations(systems, 2)):
        return [f"{_valued(s, best)} is {first(s)} but cannot be told apart from any other system"]
    span = f"{s.name} {_value(s, best)} to {_value(s, last)}"
    if len(systems) == 2:
        names = f"{condition_span(best)} and {condition_span(last)}"
        return [f"{names} cannot be told apart ({s.name} {_value(s, best)} and {_value(s, last)})"]
    return [f"None of the {len(systems)} systems can be told apart from another ({span})"]


def _only_system(s: Ranking, name: str) -> str:
    if not s.reference or s.reference.name not in s.tested:
        return f"{_valued(s, name)} is the only system: nothing to compare it with."
    gap = s.between(name, s.reference.name)
    other = _valued(s, s.reference.name, named=False)
    if not gap.claimed:
        return f"{_valued(s, name)} cannot be told apart from the reference, {other}."
    is_better = (gap.value < 0) if s.low_is_best else (gap.value > 0)
    word = over(s) if is_better else under(s)
    return f"{_valued(s, name)} is {word} the reference, {other}."


def _to_reference(s: Ranking, systems: Sequence[str]) -> list[str]:
    """What follows the order: how the systems stand to the reference; empty without one."""
    if s.reference.name not in s.tested:
        return [""]
    gaps = [s.between(name, s.reference.name) for name in systems]
    claimed = [gap for gap in gaps if gap.claimed]
    better = sum((gap.value < 0) if s.low_is_best else (gap.value > 0) for gap in claimed)
    counts = {
        f"{over(s)} {{}}": better,
        "not told apart from {}": len(gaps) - len(claimed),
        f"{under(s)} {{}}": len(claimed) - better,
    }
    there = {words: count for words, count in counts.items() if count}
    name = condition_span(s.reference.name)
    full = f"{name} ({_value(s, s.reference.name)})"
    if len(there) == 1:
        (words,) = there
        return [f"; {_all(len(gaps))} are {words.format(reference)}" for reference in (full, name)]
    return [_mixed(there, reference) for reference in (full, name)]


def _mixed(counts: Mapping[str, int], reference: str) -> str:
    """So many above the reference, so many below it: it is named once."""
    (first, count), *rest = counts.items()
    verb = "is" if count == 1 else "are"
    more = enumerated(f"{number_of} {words.format('it')}" for words, number_of in rest)
    return f"; {count} {verb} {first.format(reference)}, {more}"


def _heard(pairs: Sequence[Pair], decided: Sequence[Pair]) -> str:
    if len(pairs) == 1:
        pair = pairs[0]
        names = f"{condition_span(pair.condition)} and {condition_span(pair.versus)}"
        if decided:
            return f"The difference of {names} is heard ({percent(pair.value)} right answers)."
        return f"{names} were not told apart more often than by guessing ({percent(pair.value)})."
    return f"The difference is heard in {len(decided)} of {len(pairs)} pairs."


def _one_pair(family: Family, pair: Pair, decided: bool, draw: float) -> str:
    estimand = estimand_of(family.estimand)
    value = number(pair.value, estimand.signed, estimand.decimals)
    one, other = condition_span(pair.condition), condition_span(pair.versus)
    if not decided:
        return f"{one} and {other}: no preference is shown ({estimand.name} {value})."
    if pair.value < draw:
        return f"{other} is preferred to {one} ({one}: {estimand.name} {value})."
    return f"{one} is preferred to {other} ({estimand.name} {value})."


def _one_side(pairs: Sequence[Pair], decided: Sequence[Pair], draw: float) -> str:
    won = [pair.condition for pair in decided if pair.value > draw]
    lost = [pair.condition for pair in decided if pair.value < draw]
    parts = {
        "preferred": won,
        "not told apart": [pair.condition for pair in pairs if pair not in decided],
        "not as good": lost,
    }
    versus = condition_span(pairs[0].versus)
    named = [
        f"{enumerated(map(condition_span, some))} {word}" for word, some in parts.items() if some
    ]
    counts = [f"{len(some)} {word}" for word, some in parts.items() if some]
    return _fitting([f"Against {versus}: {'; '.join(each)}." for each in (named, counts)])


def _fitting(sentences: Sequence[str]) -> str:
    """The first that is short enough; else the shortest."""
    for sentence in sentences:
        if word_count(sentence) <= MOST_WORDS:
            return sentence
    return min(sentences, key=word_count)


def _by_condition(rows: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["condition"], []).append(row)
    return list(groups.values())


def _value(s: Ranking, name: str) -> str:
    return number(s.by_name[name].value, False, s.decimals)


def _valued(s: Ranking, name: str, named: bool = True) -> str:
    value = f"{s.name} {_value(s, name)}" if named else _value(s, name)
    return f"{condition_span(name)} ({value})"


def _all(count: int) -> str:
    return "both" if count == 2 else f"all {count}"
