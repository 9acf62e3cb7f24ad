"""Texts made comparable, cut into words or characters, and the errors between two of them."""

from __future__ import annotations

import functools
import string
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

from listening.methods.text_units import CHARACTER_LANGUAGES as CHARACTER_LANGUAGES
from listening.methods.text_units import CHINESE_LANGUAGES as CHINESE_LANGUAGES
from listening.methods.text_units import in_characters as in_characters
from listening.methods.text_units import primary as primary
from listening.methods.text_units import units as units

NORMALISATIONS = ("paper", "spaced")
APOSTROPHES = "'’‘ʼ＇`´"


def normalised(text: str, language: str, normalisation: str = "paper") -> str:
    """The text as it is compared: lower case, no punctuation, single spaces (none in Chinese …).

    "paper": the recipe of LFS-Bench (appendix C.4) and lower case. English: what is not ASCII is
    dropped and the marks of `string.punctuation` and zhon are deleted, which joins "cold-hearted".
    Chinese: zhconv to zh-cn, the same marks and all blanks deleted. Other languages keep their
    letters. "spaced": apostrophes are deleted, every other mark of Unicode becomes a space.
    """
    if normalisation not in NORMALISATIONS:
        raise ValueError(f"normalisation {normalisation!r} is not one of {NORMALISATIONS}")
    known = unicodedata.normalize("NFC", text)
    if primary(language) in CHINESE_LANGUAGES:
        known = simplified(known)
    elif normalisation == "paper" and primary(language) == "en":
        known = known.encode("ascii", "ignore").decode("ascii")
    known = known.lower()
    known = known.translate(deleted_marks()) if normalisation == "paper" else spaced(known)
    return ("" if in_characters(language) else " ").join(known.split())


def simplified(text: str) -> str:
    """Chinese in simplified characters, by zhconv's table for mainland China."""
    return str(_converter()(text, "zh-cn"))


@functools.cache
def _converter() -> Callable[[str, str], str]:
    """zhconv's function, its tables read (it leaves their file to be closed by Python)."""
    import zhconv

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        zhconv.convert("後", "zh-cn")
    convert: Callable[[str, str], str] = zhconv.convert
    return convert


@functools.cache
def deleted_marks() -> dict[int, None]:
    """The marks that LFS-Bench deletes: `string.punctuation` and `zhon.hanzi.punctuation`."""
    from zhon import hanzi

    return dict.fromkeys(map(ord, string.punctuation + hanzi.punctuation))


def spaced(text: str) -> str:
    """The text without apostrophes, every other punctuation mark or symbol made a space."""
    kept = (character for character in text if character not in APOSTROPHES)
    return "".join(" " if unicodedata.category(c)[0] in "PS" else c for c in kept)


@dataclass(frozen=True)
class Errors:
    """Edit operations that turn a reference into a hypothesis, in words or characters."""

    hits: int
    sub: int
    dele: int
    ins: int

    @property
    def length(self) -> int:
        """Units of the reference."""
        return self.hits + self.sub + self.dele

    @property
    def rate(self) -> float | None:
        """Errors / units of the reference: 0 or more, above 1 possible; None without a unit."""
        return (self.sub + self.dele + self.ins) / self.length if self.length else None

    def as_dict(self) -> dict[str, int]:
        """The four counts by name."""
        return asdict(self)


def errors(reference: str, hypothesis: str, by_character: bool) -> Errors:
    """Fewest edits between two normalised texts, by words or by characters (jiwer).

    Spaces that normalisation has left count as characters. Both texts may be empty.
    """
    import jiwer

    if not reference:
        inserted = list(hypothesis) if by_character else hypothesis.split()
        return Errors(0, 0, 0, len(inserted))
    process = jiwer.process_characters if by_character else jiwer.process_words
    out = process(reference, hypothesis)
    return Errors(out.hits, out.substitutions, out.deletions, out.insertions)


def summed(counts: Iterable[Errors]) -> Errors:
    """The counts of several texts added up."""
    known = list(counts)
    return Errors(
        sum(c.hits for c in known),
        sum(c.sub for c in known),
        sum(c.dele for c in known),
        sum(c.ins for c in known),
    )
