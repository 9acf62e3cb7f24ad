"""The works that reports cite, as `references.bib` beside this module has them.

``shortauthor`` is how prose names a work; its other fields are those of the written entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

_BIBLIOGRAPHY = Path(__file__).with_name("references.bib")
_ENTRY = re.compile(r"^@(\w+)\{(\w+),\n(.*?)^\}$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)
_POSSESSIVE = r"(?:'s)?(?: [a-z]+)?"  # Davidson's (1970), Krippendorff's alpha (2019


_ACCENTS = {
    r"{\v{S}}": "Š",
    r"{\v{s}}": "š",
    r"{\v{e}}": "ě",
    r"{\'a}": "á",
    r"{\'e}": "é",
    r"{\ss}": "ß",
    r"{\&}": "&",
}


@dataclass(frozen=True)
class Work:
    """A work as prose names it (``said`` and ``year``), and the fields of its BibTeX entry.

    ``year`` is 0 for a Recommendation, which prose names by its number alone.
    """

    key: str
    kind: str
    said: str
    year: int
    fields: dict[str, str] = field(hash=False)

    @property
    def citation(self) -> str:
        """As it stands in a sentence: Owen 2007."""
        return f"{self.said} {self.year}" if self.year else self.said

    @property
    def pattern(self) -> str:
        """Finds it in prose, with or without brackets around the year."""
        if not self.year:
            series, _, number = self.said.partition(" ")
            return rf"(?:{series} )?\b{re.escape(number)}(?:-\d+)?(?!\d)"
        return rf"{re.escape(self.said)}{_POSSESSIVE},? (?:\({self.year}\)|\(?{self.year}\b)"

    @property
    def reference(self) -> str:
        """As in a list of references, in plain words."""
        told = self.fields
        where = (
            told.get("journal")
            or told.get("booktitle")
            or told.get("institution")
            or told.get("publisher", "")
        )
        numbers = f"{told['volume']}({told['number']})" if "volume" in told else ""
        pages = told.get("pages", "").replace("--", "–")
        tail = ", ".join(filter(None, [f"{where} {numbers}".strip(), pages, told.get("note", "")]))
        year = told.get("year", "")
        return f"{_plain(told['author'])} ({year}). {_plain(told['title'])}. {_plain(tail)}."

    @property
    def bibtex(self) -> str:
        """The entry for a .bib file, in ASCII."""
        lines = "".join(f"  {name} = {{{value}}},\n" for name, value in self.fields.items())
        return f"@{self.kind}{{{self.key},\n{lines}}}\n"


def _plain(value: str) -> str:
    """A field of BibTeX as people read it."""
    for written, letter in _ACCENTS.items():
        value = value.replace(written, letter)
    return value.replace("{", "").replace("}", "").replace(" and ", "; ").rstrip(".")


def _works(bibliography: str) -> Iterator[Work]:
    """The entries of a BibTeX file with a field a line, in their order."""
    for kind, key, body in _ENTRY.findall(bibliography):
        fields = dict(_FIELD.findall(body))
        said = fields.pop("shortauthor")
        year = 0 if fields.get("type") == "Recommendation" else int(fields["year"])
        yield Work(key, kind, said, year, fields)


WORKS = tuple(_works(_BIBLIOGRAPHY.read_text("utf-8")))
_BY_KEY = {work.key: work for work in WORKS}


def work_named(key: str) -> Work:
    """The work with this key; KeyError where there is none."""
    return _BY_KEY[key]


def cite(*keys: str) -> str:
    """Citations in one pair of brackets: (Owen 2007; Holm 1979)."""
    return f"({'; '.join(_BY_KEY[key].citation for key in keys)})"


def found_in(text: str) -> Iterator[tuple[Work, re.Match[str]]]:
    """Each citation of a work of the table in prose, in the order of the text."""
    hits = [(work, hit) for work in WORKS for hit in re.finditer(work.pattern, text)]
    return iter(sorted(hits, key=lambda found: found[1].start()))


def works_in(texts: Iterable[str]) -> list[Work]:
    """The works that texts cite, each once, in the order of their first citation."""
    return list(dict.fromkeys(work for text in texts for work, _ in found_in(text)))
