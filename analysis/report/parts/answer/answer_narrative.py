"""The answer in words: who is rated highest, who cannot be told apart, and the reference."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from analysis.formatting import interval_text, listed, number
from analysis.name_spans import condition_span
from analysis.ratings.reference import Reference
from analysis.report.ranking import Difference, Ranking

MOST_NAMED = 6
MOST_NEAR = 3
NO_PROOF = "That is no proof that they are equal."


def answer(s: Ranking, reference: Reference) -> str:
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
        f"Nothing can be said of other raters or items than these: {'; '.join(notes)}. "
        f"Here the means run from {_valued(s, s.means[0].condition, s.name)} to "
        f"{_valued(s, s.means[-1].condition)}."
    )


def _no_test(s: Ranking) -> str:
    y = s.cell.y
    if y.min() == y.max():
        return f"Every rating is {y.min():g}: these ratings do not tell the conditions apart."
    notes = dict.fromkeys(s.between(a, b).note for a, b in combinations(s.tested, 2))
    values = listed([_valued(s, name) for name in s.tested])
    return f"{s.name}: {values}. No difference can be tested: {'; '.join(filter(None, notes))}."


def _order(s: Ranking, others: Sequence[str]) -> str:
    """The sentence of who is best; ``others`` are tested, the best first, without the reference."""
    best = others[0]
    near = [name for name in others[1:] if not s.differ(best, name)]
    far = [name for name in others[1:] if s.differ(best, name)]
    how = f"(adjusted p < {s.alpha:.2g})"
    if not near:
        return _alone(s, others, how)
    if not far:
        return _undivided(s, others)
    top = [best, *near]
    clear = [name for name in far if all(_above(s, other, name) for other in top)]
    part = [name for name in far if name not in clear]
    alike = not any(s.differ(a, b) for a, b in combinations(top, 2))
    values = listed([number(s.by_name[name].value, False, s.decimals) for name in top])
    if alike:
        sentence = f"{_listed(top)} are {first(s)} ({s.name} {values}) and cannot be told apart; "
    else:
        sentence = f"{_valued(s, best, s.name)} is {first(s)}, and cannot be told apart from "
        sentence += f"{listed([_valued(s, name) for name in near])}, which are not all alike; "
    every = "both" if len(top) == 2 else f"all {len(top)}"
    if not clear:
        sentence += f"{condition_span(best)} is {over(s)} {_listed(far)}"
        return f"{sentence}, but {_listed(near)} {_are(near)} not {over(s)} all of these {how}."
    sentence += f"{every} are {over(s)} {_listed(clear)}"
    sentence += f"; {condition_span(best)} is {over(s)} {_listed(part)} too" if part else ""
    return f"{sentence} {how}."


def _alone(s: Ranking, others: Sequence[str], how: str) -> str:
    best, rest = others[0], others[1:]
    sentence = f"{_valued(s, best, s.name)} is {first(s)}, "
    if len(rest) == 1:
        return f"{sentence}{over(s)} {_valued(s, rest[0])} {how}."
    follow = listed([_valued(s, name) for name in rest])
    if all(s.differ(a, b) for a, b in combinations(others, 2)) and len(rest) <= MOST_NAMED:
        return f"{sentence}then {follow}; every one differs from every other {how}."
    sentence += f"{over(s)} all {len(rest)} others, next of which is "
    return f"{sentence}{_valued(s, rest[0])} {how}."


def _undivided(s: Ranking, others: Sequence[str]) -> str:
    best, last = others[0], others[-1]
    if any(s.differ(a, b) for a, b in combinations(others, 2)):
        return (
            f"{_valued(s, best, s.name)} is {first(s)} but cannot be told apart from any other; "
            "some of the others differ (see the letters)."
        )
    widest = s.between(best, last)
    gap = with_bounds(widest.value, widest.low_all, widest.high_all, s.decimals)
    if len(others) == 2:
        sentence = f"{_valued(s, best, s.name)} and {_valued(s, last)} cannot be told apart"
        return f"{sentence}: they differ by {gap}. {NO_PROOF}"
    sentence = f"None of the {len(others)} conditions can be told apart from another"
    sentence += f" (adjusted p ≥ {s.alpha:.2g})"
    span = f"{_valued(s, best, s.name)} to {_valued(s, last)}"
    return f"{sentence}: from {span}, a difference of {gap}. {NO_PROOF}"


def _against(s: Ranking, others: Sequence[str], reference: Reference) -> str:
    """The sentence about the reference."""
    gaps = [s.between(name, reference.name) for name in others]
    better = [gap.condition for gap in gaps if gap.claimed and _is_better(s, gap)]
    worse = [gap for gap in gaps if gap.claimed and not _is_better(s, gap)]
    same = [gap for gap in gaps if not gap.claimed]
    parts = []
    if better:
        parts.append(f"{_listed(better)} {_are(better)} {over(s)} it")
    if same:
        some = listed([_with_gap(s, gap) for gap in same], MOST_NEAR)
        parts.append(f"{some} cannot be told apart from it, which does not show that they equal it")
    if worse:
        names = [gap.condition for gap in worse]
        every = "both" if len(names) == 2 else f"all {len(names)}"
        all_ = every if len(names) == len(others) > 1 else _listed(names)
        nearest = f", nearest {_with_gap(s, worse[0])}" if len(worse) > 1 else ""
        if len(worse) == 1:
            all_ = _with_gap(s, worse[0])
        parts.append(f"{all_} {_are(names)} {under(s)} it{nearest}")
    return f"Against {_valued(s, reference.name, s.name)}, {reference.why}: {'; '.join(parts)}."


def _outside(s: Ranking) -> list[str]:
    anchors = [name for name in s.tested if name in s.anchors]
    named = listed([_valued(s, name) for name in anchors])
    sentence = (
        [f"{named} {_are(anchors)} made worse on purpose and in no comparison."] if anchors else []
    )
    return sentence + [
        f"{_valued(s, mean.condition)} stands outside the order ({mean.note})."
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


def _valued(s: Ranking, name: str, what: str = "") -> str:
    value = number(s.by_name[name].value, False, s.decimals)
    text = f"{what} {value}" if what else value
    return f"{condition_span(name)} ({text})"


def _listed(names: Sequence[str]) -> str:
    return listed(list(map(condition_span, names)))


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _article(word: str) -> str:
    return "an" if word[:1] in "AEIOMHRS" and word.isupper() else "a"


def first(s: Ranking) -> str:
    """How the best one stands, by ratings or ranks."""
    return "ranked first" if s.low_is_best else "rated highest"


def over(s: Ranking) -> str:
    """How one that is better stands to the other."""
    return "ranked before" if s.low_is_best else "above"


def under(s: Ranking) -> str:
    """How one that is worse stands to the other."""
    return "ranked after" if s.low_is_best else "below"
