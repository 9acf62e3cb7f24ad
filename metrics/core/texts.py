"""Texts made comparable, cut into words or characters, and the errors between two of them."""

from __future__ import annotations

import functools
import string
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from listening.methods.text_normalisation import apply_unicode_rule as apply_unicode_rule
from listening.methods.text_normalisation import simplify_chinese as simplify_chinese
from listening.methods.text_units import CHARACTER_LANGUAGES as CHARACTER_LANGUAGES
from listening.methods.text_units import CHINESE_LANGUAGES as CHINESE_LANGUAGES
from listening.methods.text_units import in_characters as in_characters
from listening.methods.text_units import primary as primary
from listening.methods.text_units import units as units

UNICODE, LFS_BENCH = "unicode", "lfs_bench"
NORMALISATIONS = (UNICODE, LFS_BENCH)


def normalise_text(text: str, language: str, normalisation: str = UNICODE) -> str:
    """Return the text as it is compared: lower case, single spaces (none in Chinese …).

    ``language`` is a BCP 47 tag. "unicode": NFKC, punctuation and symbols of every script become
    spaces, marks inside words (apostrophes) and invisible characters are deleted. Every letter
    stays: English loses accents (é is e), Arabic and Hebrew their vowel points, Chinese becomes
    simplified, and every script's digits become 0 to 9.

    "lfs_bench": the rule of LFS-Bench (appendix C.4) and lower case, for English and Chinese.
    English: what is not ASCII is dropped, letters too, and the marks of `string.punctuation` and
    zhon are deleted, which joins "cold-hearted". Chinese: zhconv to zh-cn, the same marks and all
    blanks deleted. Raises ValueError for another name or language.
    """
    if normalisation not in NORMALISATIONS:
        raise ValueError(f"normalisation {normalisation!r} is not one of {NORMALISATIONS}")
    if why := unsupported_reason(language, normalisation):
        raise ValueError(why)
    by_rule = apply_lfs_bench_rule if normalisation == LFS_BENCH else apply_unicode_rule
    return ("" if in_characters(language) else " ").join(by_rule(text, primary(language)).split())


def unsupported_reason(language: str, normalisation: str) -> str:
    """Return why a normalisation is not for a language; empty when it is."""
    if normalisation != LFS_BENCH or primary(language) in {"en", *CHINESE_LANGUAGES}:
        return ""
    return f"language {language}: normalisation lfs_bench is for English and Chinese; use unicode"


def apply_lfs_bench_rule(text: str, language: str) -> str:
    """Apply the rule of LFS-Bench, appendix C.4; ``language`` is a primary subtag."""
    known = unicodedata.normalize("NFC", text)
    if language in CHINESE_LANGUAGES:
        known = simplify_chinese(known)
    else:
        known = known.encode("ascii", "ignore").decode("ascii")
    return known.lower().translate(deleted_marks())


@functools.cache
def deleted_marks() -> dict[int, None]:
    """The marks that LFS-Bench deletes: `string.punctuation` and `zhon.hanzi.punctuation`."""
    from zhon import hanzi

    return dict.fromkeys(map(ord, string.punctuation + hanzi.punctuation))


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


def add_counts(counts: Iterable[Errors]) -> Errors:
    """The counts of several texts added up."""
    known = list(counts)
    return Errors(
        sum(c.hits for c in known),
        sum(c.sub for c in known),
        sum(c.dele for c in known),
        sum(c.ins for c in known),
    )
