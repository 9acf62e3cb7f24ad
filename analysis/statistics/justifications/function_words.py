"""Words that say how, not what: a reason is not told from others by "the" or "it is"."""

from __future__ import annotations

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
