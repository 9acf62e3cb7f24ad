"""Texts made comparable before words are counted: case, punctuation, accents, Chinese variants."""

from __future__ import annotations

import functools
import re
import unicodedata
import warnings
from collections.abc import Callable

from listening.methods.text_units import CHINESE_LANGUAGES, in_characters, primary

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


def normalised_text(text: str, language: str) -> str:
    """Return a text as it is compared: lower case, no punctuation, single spaces.

    ``language`` is a BCP 47 tag. See `apply_unicode_rule`; languages written without spaces
    between words have none here.
    """
    known = apply_unicode_rule(text, primary(language))
    return ("" if in_characters(language) else " ").join(known.split())


def apply_unicode_rule(text: str, language: str) -> str:
    """Return the text by the rule "unicode"; ``language`` is a primary subtag.

    NFKC and lower case. Punctuation and symbols become spaces; marks inside words (apostrophes)
    and invisible characters are deleted. English loses accents, Arabic and Hebrew their vowel
    points, Chinese becomes simplified, and every script's digits become 0 to 9.
    """
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
