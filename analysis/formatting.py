"""How numbers and lists are written for people: the one place for both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from listening.common.counted import counted as counted

NOTHING = "–"
MOST_NAMED = 8
MINUS = "−"
PAST_LOW, PAST_HIGH = "◂", "▸"
PAST_TOLD = f"{PAST_LOW} {PAST_HIGH} runs past the scale: few raters or items."
_DUST = 1e-9
SPAN_OPEN, SPAN_CLOSE = "\ue0f0", "\ue0f1"  # private use: see `analysis.name_spans`
_IN_BRACKETS = re.compile(rf"\([^()]*\)|\[[^\[\]]*\]|{SPAN_OPEN}[^{SPAN_CLOSE}]*{SPAN_CLOSE}")

Ends = Sequence[float] | None


def number(value: float | None, sign: bool = False, decimals: int = 3) -> str:
    """A number with that many decimals, a minus that is one, and no sign before 0; – for none."""
    if value is None:
        return NOTHING
    shown = f"{value:.{decimals}f}"
    if not shown.strip("-0."):
        return shown.lstrip("-")
    plus = "+" if sign and value > 0 else ""
    return f"{plus}{shown}".replace("-", MINUS)


def percent(share: float | None, decimals: int = 0) -> str:
    """A share (0 to 1) in per cent, never 0 or 100 where it is only near: under 1 %, over 99 %."""
    if share is None:
        return NOTHING
    step = 10.0**-decimals
    shown = number(share * 100, False, decimals)
    if share > 0 and float(shown) == 0:
        return f"under {step:g} %"
    if share < 1 and float(shown) == 100:
        return f"over {100 - step:g} %"
    return f"{shown} %"


def p_value(value: float | None) -> str:
    """A p value with three decimals; "< 0.001" below, "undefined" where there is none."""
    if value is None:
        return "undefined"
    return "< 0.001" if value < 0.001 else number(value, False, 3)


def p_phrase(value: float | None) -> str:
    """A p value in a sentence: "p = 0.034", "p < 0.001"."""
    text = p_value(value)
    return f"p {text}" if value is None or text.startswith("<") else f"p = {text}"


def past(low: float, high: float, ends: Ends) -> tuple[bool, bool]:
    """Does the interval run past the lower, and past the upper end of the scale?"""
    if ends is None:
        return False, False
    return low < ends[0] - _DUST, high > ends[1] + _DUST


def interval_text(low: float, high: float, ends: Ends = None, decimals: int = 3) -> str:
    """An interval in brackets; an end past the scale is written as the scale's end, marked."""
    below, above = past(low, high, ends)
    if ends is not None:
        low, high = max(low, ends[0]), min(high, ends[1])
    left, right = (number(value, False, decimals) for value in (low, high))
    return f"[{PAST_LOW * below}{left}, {right}{PAST_HIGH * above}]"


def all_of(count: int) -> str:
    """Return “both”, or “all 3”: the words before so many systems."""
    return "both" if count == 2 else f"all {count}"


def ci_words(
    low: float | None,
    high: float | None,
    level: float,
    ends: Ends = None,
    decimals: int = 3,
    kind: str = "CI",
) -> str:
    """Return what follows a value in a sentence: “, 95% CI 0.71–0.95”; empty without an interval.

    ``level`` is a share; an end past the scale is written as the scale's end.
    """
    if low is None or high is None:
        return ""
    if ends is not None:
        low, high = max(low, ends[0]), min(high, ends[1])
    between = "–" if low >= 0 else " to "
    left, right = (number(value, False, decimals) for value in (low, high))
    return f", {level * 100:g}% {kind} {left}{between}{right}"


def legend_of_marks(text: str) -> list[str]:
    """What the marks mean that intervals in a text have; none where none is marked."""
    return [PAST_TOLD] if PAST_LOW in text or PAST_HIGH in text else []


def listed(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """Names in words: A, B and C; the first few and how many more, where there are many."""
    if len(names) > most + 1:
        return f"{', '.join(map(quote_name, names[:most]))} and {len(names) - most} more"
    return enumerated([quote_name(name) for name in names] if len(names) > 1 else names)


def enumerated(phrases: Iterable[str], last: str = "and") -> str:
    """Phrases in words, as they are: a, b and c."""
    phrases = list(phrases)
    return f" {last} ".join(filter(None, [", ".join(phrases[:-1]), *phrases[-1:]]))


def quote_name(name: str) -> str:
    """A name as it stands in a sentence: in quotation marks where it could be taken for two."""
    bare = _IN_BRACKETS.sub("", name)  # what is in a span gets its own, of a label
    return f"“{name}”" if "“" not in bare and (", " in bare or " and " in bare) else name


def words_of(key: str) -> str:
    """A key in words: human_likeness is Human likeness."""
    words = key.replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]


def short(value: float) -> str:
    """A number that was given, such as a score: with as many decimals as it has."""
    return f"{value + 0.0:g}".replace("-", MINUS)


def whole_number(value: float) -> str:
    """A whole number with a narrow blank between thousands, as pages show it."""
    return f"{value:,.0f}".replace(",", "\u202f")


def beware(notes: Iterable[str], most: int | None = None) -> str:
    """What notes warn of, each once (the first ``most``), as a sentence; empty without any."""
    distinct = list(dict.fromkeys(filter(None, notes)))
    return f"Beware: {'; '.join(distinct[:most])}." if distinct else ""


def first_of(names: Sequence[str], most: int = 5, separator: str = ", ") -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{separator.join(names[:most])}{more}"
