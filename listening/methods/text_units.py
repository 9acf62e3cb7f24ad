"""What errors and places in a text are counted in: words, or characters where none are parted."""

from __future__ import annotations

import re
import unicodedata

# Primary subtags (BCP 47): Chinese, and every language written without spaces between words.
CHINESE_LANGUAGES = frozenset({"zh", "cmn", "yue", "wuu", "nan", "hak"})
CHARACTER_LANGUAGES = CHINESE_LANGUAGES | {"ja", "th", "lo", "my", "km", "bo", "dz"}


def primary(language: str) -> str:
    """The primary subtag in lower case: "en" of "en-GB"; empty for an empty text."""
    return re.split(r"[-_]", language.strip())[0].lower()


def in_characters(language: str) -> bool:
    """Whether errors and places in this language are counted in characters, not in words."""
    return primary(language) in CHARACTER_LANGUAGES


def units(text: str, language: str) -> list[str]:
    """The words of a text, or its characters in a language written without spaces.

    A unit holds a letter or a digit: punctuation counts nowhere, nor do blanks. Marks that belong
    to a letter stay with it in words and are not counted alone in characters.
    """
    if in_characters(language):
        return [character for character in text if unicodedata.category(character)[0] in "LN"]
    return [word for word in text.split() if any(map(str.isalnum, word))]
