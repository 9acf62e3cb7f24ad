"""Texts made comparable, cut into words or characters, and the errors between two of them."""

from __future__ import annotations

import functools
import re
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

UNICODE, LFS_BENCH = "unicode", "lfs_bench"
NORMALISATIONS = (UNICODE, LFS_BENCH)
INSIDE_WORDS = "'’‘ʼʻ＇`´՚׳״·‧\u0640"  # apostrophes, geresh, Catalan's middle dot, Arabic's tatweel
DOTTED_I = frozenset({"tr", "az", "crh", "gag"})  # I and ı, İ and i are two letters
# Marks above and below letters that most texts leave out: niqqud, harakat, marks of the Quran
_HEBREW_POINTS = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
_ARABIC_POINTS = "\u0610-\u061a\u064b-\u0652\u0656-\u065f\u0670"
_QURANIC_MARKS = "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
VOWEL_POINTS = re.compile(f"[{_HEBREW_POINTS}{_ARABIC_POINTS}{_QURANIC_MARKS}]")
HEBREW_ABBREVIATION = re.compile('(?<=[\u05d0-\u05ea])"(?=[\u05d0-\u05ea])')  # a gershayim
ACCENTS = re.compile("[\u0300-\u036f]")
WITHOUT_ACCENT = str.maketrans(
    {**dict(zip("øłđðı", "olddi", strict=True)), "æ": "ae", "œ": "oe", "þ": "th", "ß": "ss"}
)
VARIANTS = re.compile("[\ufe00-\ufe0f\u034f]")  # selectors of glyphs, the grapheme joiner


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


def apply_unicode_rule(text: str, language: str) -> str:
    """Apply the rule "unicode" of `normalise_text`; ``language`` is a primary subtag."""
    known = "".join(character for character in text if character not in INSIDE_WORDS)
    known = VARIANTS.sub("", unicodedata.normalize("NFKC", known))
    known = HEBREW_ABBREVIATION.sub("", known)
    if language in CHINESE_LANGUAGES:
        known = simplify_chinese(known)
    if language in DOTTED_I:
        known = known.replace("I", "ı").replace("İ", "i")
    known = VOWEL_POINTS.sub("", known.lower().replace("i\u0307", "i"))
    if language == "en":
        known = ACCENTS.sub("", unicodedata.normalize("NFKD", known)).translate(WITHOUT_ACCENT)
        known = unicodedata.normalize("NFC", known)
    return "".join(map(_replace_character, known))


def _replace_character(character: str) -> str:
    """Return a letter or accent as it is, a digit as 0 to 9, what is invisible as nothing.

    All else is a space.
    """
    category = unicodedata.category(character)
    if category in ("Cf", "Me"):  # zero-width joiners, marks of direction, soft hyphens; keycaps
        return ""
    if category == "Nd":
        return str(unicodedata.decimal(character))
    return character if category[0] in "LNM" else " "


def simplify_chinese(text: str) -> str:
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
