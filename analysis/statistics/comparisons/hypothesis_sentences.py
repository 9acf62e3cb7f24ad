"""Hypotheses as sentences: better, non-inferior and equivalent, with their margins."""

from __future__ import annotations

import re
from dataclasses import dataclass

BETTER, NON_INFERIOR, EQUIVALENT = "better than", "non-inferior to", "equivalent to"
FORMS = (
    "“A is better than B”, “A is non-inferior to B within 0.2” or “A is equivalent to B within "
    "0.2”, each with “in TASK” or “for these items” behind it where that is meant"
)
_WORDS = {"noninferior to": NON_INFERIOR, "superior to": BETTER, "no worse than": NON_INFERIOR}
_SENTENCE = re.compile(
    r"^(?P<condition>.+?) is (?P<kind>better than|superior to|non-?inferior to|no worse than"
    r"|equivalent to) (?P<versus>.+?)(?: within (?P<margin>\d+(?:\.\d+)?|\.\d+))?"
    r"(?: in (?P<task>\S.*?))?(?P<items> for these items)?\.?$"
)
_MEANT = re.compile(r"\b(non-?inferior|equivalent to|no worse than)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Hypothesis:
    """What is expected of two conditions; ``margin`` is in scores, 0 for better.

    ``task`` is empty for every task that has both. ``these_items``: only the items that were rated
    are meant, not others.
    """

    text: str
    kind: str
    condition: str
    versus: str
    margin: float = 0.0
    task: str = ""
    these_items: bool = False


def hypothesis_from(text: str) -> Hypothesis | None:
    """The hypothesis in a sentence; None for one in other words.

    Raises ValueError for a sentence that speaks of non-inferiority or equivalence and cannot be
    tested as it stands, with the forms that can.
    """
    words = " ".join(text.split())
    match = _SENTENCE.match(words)
    if match is None:
        if _MEANT.search(words):
            raise ValueError(f"{words!r} cannot be tested as it stands: write {FORMS}")
        return None
    kind = _WORDS.get(match["kind"], match["kind"])
    margin = float(match["margin"] or 0.0)
    if (kind == BETTER) == (margin > 0):
        need = "needs no margin" if kind == BETTER else "needs a margin above 0"
        raise ValueError(f"{words!r} {need}: write {FORMS}")
    return Hypothesis(
        words,
        kind,
        _unquote(match["condition"]),
        _unquote(match["versus"]),
        margin,
        _unquote(match["task"] or ""),
        match["items"] is not None,
    )


def can_be_tested(text: str) -> bool:
    """Whether a sentence is in one of the forms that are tested."""
    try:
        return hypothesis_from(text) is not None
    except ValueError:
        return False


def _unquote(name: str) -> str:
    pairs = ('""', "''", "“”", "‘’")
    inside = len(name) > 2 and name[0] + name[-1] in pairs
    return name[1:-1] if inside else name
