"""A work that reports cite: as prose names it, as a reference, and as BibTeX."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

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


def article(key: str, said: str, year: int, author: str, title: str, **more: str) -> Work:
    """An article in a journal; ``more`` are further fields of its entry."""
    fields = {"author": author, "title": title, **more, "year": str(year)}
    return Work(key, "article", said, year, fields)


def recommendation(key: str, said: str, number: str, title: str, year: int) -> Work:
    """A Recommendation of the ITU."""
    fields = {
        "author": "{International Telecommunication Union}",
        "title": title,
        "institution": "International Telecommunication Union",
        "type": "Recommendation",
        "number": number,
        "year": str(year),
        "note": f"Recommendation {number}",
    }
    return Work(key, "techreport", said, 0, fields)


def _plain(value: str) -> str:
    """A field of BibTeX as people read it."""
    for written, letter in _ACCENTS.items():
        value = value.replace(written, letter)
    return value.replace("{", "").replace("}", "").replace(" and ", "; ").rstrip(".")
