"""Citations in sentences, and the works of `references.bib` that they cite.

A sentence cites a work by its key, and the citation is a span (`analysis.name_spans`): writers
collect the keys of what they write for lists of references. Nothing is searched for in prose.
``shortauthor`` is how prose names a work; its other fields are those of the written entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from analysis.name_spans import citation_span, split_at_citations

_BIBLIOGRAPHY = Path(__file__).with_name("references.bib")
_ENTRY = re.compile(r"^@(\w+)\{(\w+),\n(.*?)^\}$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)

_ACCENTS = {
    r"{\v{S}}": "Š",
    r"{\v{s}}": "š",
    r"{\v{e}}": "ě",
    r"{\H{o}}": "ő",
    r"{\'a}": "á",
    r"{\'e}": "é",
    r"{\ss}": "ß",
    r"{\O}": "Ø",
    r"{\&}": "&",
}


@dataclass(frozen=True)
class Work:
    """A work as prose names it (``author`` and ``year``), and the fields of its BibTeX entry.

    ``year`` is 0 for a Recommendation, which prose names by its number alone.
    """

    key: str
    kind: str
    author: str
    year: int
    fields: dict[str, str] = field(hash=False)

    @property
    def citation(self) -> str:
        """As it stands in a sentence: Owen 2007."""
        return f"{self.author} {self.year}" if self.year else self.author

    @property
    def reference(self) -> str:
        """As in a list of references, in plain words."""
        fields = self.fields
        where = (
            fields.get("journal")
            or fields.get("booktitle")
            or fields.get("institution")
            or fields.get("publisher", "")
        )
        numbers = f"{fields['volume']}({fields['number']})" if "volume" in fields else ""
        pages = fields.get("pages", "").replace("--", "–")
        tail = ", ".join(
            filter(None, [f"{where} {numbers}".strip(), pages, fields.get("note", "")])
        )
        year = fields.get("year", "")
        author = _plain(fields["author"].replace(" and ", "; "))
        title, tail = (_plain(each).rstrip(".") for each in (fields["title"], tail))
        return f"{author} ({year}). {title}. {tail}."

    @property
    def bibtex(self) -> str:
        """The entry for a .bib file, in ASCII."""
        lines = "".join(f"  {name} = {{{value}}},\n" for name, value in self.fields.items())
        return f"@{self.kind}{{{self.key},\n{lines}}}\n"


def _plain(value: str) -> str:
    """A field of BibTeX as people read it."""
    for written, letter in _ACCENTS.items():
        value = value.replace(written, letter)
    return value.replace("{", "").replace("}", "")


def _works(bibliography: str) -> Iterator[Work]:
    """The entries of a BibTeX file with a field a line, in their order."""
    for kind, key, body in _ENTRY.findall(bibliography):
        fields = dict(_FIELD.findall(body))
        author = fields.pop("shortauthor")
        year = 0 if fields.get("type") == "Recommendation" else int(fields["year"])
        yield Work(key, kind, author, year, fields)


WORKS = tuple(_works(_BIBLIOGRAPHY.read_text("utf-8")))
_BY_KEY = {work.key: work for work in WORKS}


def work_of(key: str) -> Work:
    """The work with this key; KeyError where there is none."""
    if key not in _BY_KEY:
        raise KeyError(f"references.bib has no entry '{key}'. Add it, or fix the spelling.")
    return _BY_KEY[key]


def citation(key: str, edition: str = "") -> str:
    """A work within a sentence or brackets: Owen 2007, or ITU-R BS.1534-3 by its edition."""
    return citation_span(key, work_of(key).citation + edition)


def cite(*keys: str) -> str:
    """Citations in one pair of brackets: (Owen 2007; Holm 1979)."""
    return f"({'; '.join(map(citation, keys))})"


def cite_author(key: str, possessive: bool = False) -> str:
    """A work whose author is part of the sentence: Owen (2007), or Owen's (2007)."""
    work = work_of(key)
    author = f"{work.author}'s" if possessive else work.author
    return citation_span(key, f"{author} ({work.year})")


def works_in(texts: Iterable[str]) -> list[Work]:
    """The works that texts cite, each once, in the order of their first citation."""
    keys = [key for text in texts for _, _, key in split_at_citations(text) if key]
    return [work_of(key) for key in dict.fromkeys(keys)]
