"""Spans of names and citations in sentences, resolved when the text is written.

A sentence is made before it is known what a reader will call a condition or a family. A span keeps
the key apart from the words around it, so that nothing is searched for in prose. Every writer
resolves the spans of what it writes, once. A citation keeps the key of its work in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field

from analysis.formatting import SPAN_CLOSE, SPAN_OPEN, quote_name

CONDITION, FAMILY, CITATION = "c", "f", "w"
OPEN, CLOSE, BETWEEN = SPAN_OPEN, SPAN_CLOSE, "\ue0f2"
_SPAN = re.compile(f"{OPEN}(.){BETWEEN}([^{BETWEEN}]*){BETWEEN}([^{CLOSE}]*){CLOSE}")
_MARKS = re.compile(f"[{OPEN}{CLOSE}{BETWEEN}]")
VERSUS = " · versus "  # between a family and what its conditions are compared with
PREFIX = "{}: "


@dataclass(frozen=True)
class Names:
    """What spans become: labels by the keys of conditions, and by the titles of families.

    ``omitted`` are families that need not be named, as on a page about one: their spans vanish,
    with their punctuation.
    """

    conditions: Mapping[str, str] = field(default_factory=dict)
    families: Mapping[str, str] = field(default_factory=dict)
    omitted: Container[str] = ()


KEYS = Names()  # every name is its key


def condition_span(name: str) -> str:
    """A condition's name in a sentence."""
    return _span(CONDITION, "{}", name)


def family_span(title: str, form: str = "{}") -> str:
    """A family's title in a sentence; ``form`` is what vanishes with it, such as "{}: "."""
    return _span(FAMILY, form, title)


def family_prefix(title: str) -> str:
    """A family's title and a colon, before what is said of it."""
    return family_span(title, PREFIX)


def citation_span(key: str, written: str) -> str:
    """A work in a sentence as it is written there, with its key in the bibliography."""
    return _span(CITATION, written, key)


def resolve(text: str, names: Names = KEYS) -> str:
    """The text with a label, or a key where there is none, in the place of each span."""
    if OPEN not in text:
        return text
    resolved = _SPAN.sub(lambda match: _label(match, names), text)
    first = _SPAN.match(text)
    if first and first[1] == FAMILY and first[3] in names.omitted and resolved.startswith("of "):
        return f"O{resolved[1:]}"
    return resolved


def _label(match: re.Match[str], names: Names) -> str:
    kind, form, key = match.groups()
    if kind == CITATION:
        return form
    if kind == CONDITION:
        return quote_name(names.conditions.get(key, key))
    if form != "{}" and key in names.omitted:
        return ""
    if key in names.families:
        return form.format(names.families[key])
    family, versus, condition = key.partition(VERSUS)
    other = names.conditions.get(condition, condition)
    return form.format(f"{names.families.get(family, family)}{versus}{other}")


def starts_with_family(text: str, titles: Container[str]) -> bool:
    """Whether a text is said of one of these families: its title and a colon come first."""
    first = _SPAN.match(text)
    if first is None or first[1] != FAMILY or first[3] not in titles:
        return False
    return first[2] == PREFIX or text.startswith(":", first.end())


def names_in(text: str) -> list[str]:
    """The keys of the conditions that a text names."""
    return [key for kind, _, key in _SPAN.findall(text) if kind == CONDITION]


def split_at_citations(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield (text before, work as written, its key) per citation; the rest last, without a key."""
    at = 0
    for match in _SPAN.finditer(text):
        if match[1] == CITATION:
            yield text[at : match.start()], match[2], match[3]
            at = match.end()
    yield text[at:], "", ""


def _span(kind: str, form: str, key: str) -> str:
    return f"{OPEN}{kind}{BETWEEN}{form}{BETWEEN}{_MARKS.sub('', key)}{CLOSE}"
