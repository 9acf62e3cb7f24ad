"""The scripts that languages are written in, and those that a text is written in."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache

from listening.methods.text_units import primary

# By the first word of Unicode's names of their letters. All other languages of `LATIN` use Latin.
SCRIPTS = {
    **dict.fromkeys(("zh", "cmn", "yue", "wuu", "nan", "hak"), ("CJK", "BOPOMOFO")),
    "ja": ("HIRAGANA", "KATAKANA", "CJK"),
    "ko": ("HANGUL", "CJK"),
    **dict.fromkeys(("ar", "fa", "ur", "ps", "ug", "ckb", "sd"), ("ARABIC",)),
    **dict.fromkeys(("he", "yi"), ("HEBREW",)),
    **dict.fromkeys(("ru", "uk", "be", "bg", "mk", "ky", "tg"), ("CYRILLIC",)),
    **dict.fromkeys(("sr", "kk", "mn", "uz", "az"), ("CYRILLIC", "LATIN")),
    "el": ("GREEK",),
    **dict.fromkeys(("hi", "mr", "ne", "sa"), ("DEVANAGARI",)),
    **dict.fromkeys(("bn", "as"), ("BENGALI",)),
    "pa": ("GURMUKHI", "ARABIC"),
    "gu": ("GUJARATI",),
    "or": ("ORIYA",),
    "ta": ("TAMIL",),
    "te": ("TELUGU",),
    "kn": ("KANNADA",),
    "ml": ("MALAYALAM",),
    "si": ("SINHALA",),
    "th": ("THAI",),
    "lo": ("LAO",),
    "my": ("MYANMAR",),
    "km": ("KHMER",),
    **dict.fromkeys(("bo", "dz"), ("TIBETAN",)),
    "ka": ("GEORGIAN",),
    "hy": ("ARMENIAN",),
    **dict.fromkeys(("am", "ti"), ("ETHIOPIC",)),
}
LATIN = frozenset(
    (
        *("af", "bs", "ca", "cs", "cy", "da", "de", "en", "eo", "es", "et", "eu", "fi", "fil"),
        *("fo", "fr", "ga", "gl", "ha", "hr", "ht", "hu", "id", "ig", "is", "it", "jv", "la"),
        *("lb", "lt", "lv", "mg", "mi", "ms", "mt", "nb", "nl", "nn", "no", "oc", "pl", "pt"),
        *("qu", "ro", "rw", "sk", "sl", "so", "sq", "st", "su", "sv", "sw", "tl", "tn", "tr"),
        *("vi", "wa", "xh", "yo", "zu"),
    )
)
CALLED = {"CJK": "Chinese characters", "LATIN": "Latin letters"}


def expected_scripts(language: str) -> tuple[str, ...]:
    """The scripts of a language by its tag, such as "zh-CN"; empty where they are not known.

    A tag that names another script itself, such as "zh-Latn", says nothing here.
    """
    if any(len(part) == 4 and part.isalpha() for part in language.replace("_", "-").split("-")[1:]):
        return ()
    tag = primary(language)
    return SCRIPTS.get(tag, ("LATIN",) if tag in LATIN else ())


def main_script(text: str) -> tuple[str, float]:
    """The script that most letters of a text are in and their share; "" and 0 without letters."""
    results: Counter[str] = Counter(
        script for letter in unicodedata.normalize("NFKC", text) if (script := _script(letter))
    )
    if not results:
        return "", 0.0
    script, count = results.most_common(1)[0]
    return script, count / results.total()


def share_in(text: str, scripts: tuple[str, ...]) -> float | None:
    """The share of a text's letters in these scripts; None without letters."""
    results = [s for letter in unicodedata.normalize("NFKC", text) if (s := _script(letter))]
    return sum(script in scripts for script in results) / len(results) if results else None


def script_words(script: str) -> str:
    """A script in words: Latin letters, Arabic letters."""
    return CALLED.get(script, f"{script.capitalize()} letters")


@lru_cache(maxsize=20_000)
def _script(letter: str) -> str:
    if not letter.isalpha():
        return ""
    return unicodedata.name(letter, "").partition(" ")[0]
