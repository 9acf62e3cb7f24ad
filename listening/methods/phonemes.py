"""The phonemes of written words, by the rules and dictionaries of eSpeak NG.

The library is an optional package (`espeakng-loader`, the extra `phonemes`), loaded when phonemes
are first asked for. Each word is pronounced alone, as in a dictionary, so a word always has the
same phonemes. Stress is left out; a tone stays with its vowel.
"""

from __future__ import annotations

import ctypes
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from listening.methods.text_units import in_characters, primary

TOOL = "eSpeak NG"
_NO_SOUND, _UTF8, _NEVER_EXIT = 2, 1, 0x8000  # options of speak_lib.h
_IN_IPA = 0x02 | ord("_") << 8  # with an underscore between phonemes
# Stress, and eSpeak NG's own signs for variants of a phoneme in what is IPA otherwise
_SIGNS = str.maketrans({**dict.fromkeys('ˈˌ-"?.'), "^": "ʲ", "_": " "})
_VOWELS = frozenset("aeiouyæøœɐɑɒɔɘəɚɛɜɝɞɤɨɪɯɵɶʉʊʌʏᵻ")
GENERAL_AMERICAN = "en-us"  # the dialect of texts in "en"
# English phonemes behind what eSpeak NG writes: variants of a phoneme, and two in one symbol
_ENGLISH = {
    "ɐ": ("ə",),
    "ᵻ": ("ɪ",),
    "i": ("iː",),
    "ɔ": ("ɔː",),
    "oː": ("ɔː",),
    "ɾ": ("t",),  # the flap of "latter"; eSpeak NG writes that of "ladder" as d
    "ʔ": ("t",),  # before a syllabic n, as in "button"
    "n̩": ("ə", "n"),
    "əl": ("ə", "l"),
    "aɪə": ("aɪ", "ə"),
    "aɪɚ": ("aɪ", "ɚ"),
    "aʊɚ": ("aʊ", "ɚ"),
    "ɑːɹ": ("ɑː", "ɹ"),
    "ɔːɹ": ("ɔː", "ɹ"),
    "oːɹ": ("ɔː", "ɹ"),
    "ɛɹ": ("ɛ", "ɹ"),
    "ɪɹ": ("ɪ", "ɹ"),
    "ʊɹ": ("ʊ", "ɹ"),
}
_AMERICAN = _ENGLISH | {"iə": ("iː", "ə")}  # as in "idea"; elsewhere the vowel of "near"
_lock = threading.Lock()  # the library has one voice at a time


class LanguageError(ValueError):
    """A language or dialect without phonemes; the message says why."""


@dataclass(frozen=True)
class Voice:
    """A dialect of eSpeak NG: its name, such as "English (America)", and the library's own key.

    ``tags`` are its languages in lower case, each with its rank; the lowest is preferred.
    """

    name: str
    key: str
    tags: tuple[tuple[str, int], ...]


class _VoiceRecord(ctypes.Structure):
    """`espeak_VOICE` of speak_lib.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("languages", ctypes.c_void_p),
        ("identifier", ctypes.c_char_p),
        ("gender", ctypes.c_ubyte),
        ("age", ctypes.c_ubyte),
        ("variant", ctypes.c_ubyte),
        ("reserved", ctypes.c_ubyte),
        ("score", ctypes.c_int),
        ("spare", ctypes.c_void_p),
    )


@cache
def _library() -> Any:
    """eSpeak NG, ready to use; ModuleNotFoundError where its package is not installed."""
    import espeakng_loader

    library = ctypes.CDLL(espeakng_loader.get_library_path())
    folder = espeakng_loader.get_data_path()
    if library.espeak_Initialize(_NO_SOUND, 0, folder.encode(), _NEVER_EXIT) < 0:
        raise OSError(f"{TOOL} cannot read its data in {folder}")
    library.espeak_Info.restype = ctypes.c_char_p
    library.espeak_ListVoices.restype = ctypes.POINTER(ctypes.POINTER(_VoiceRecord))
    library.espeak_ListVoices.argtypes = [ctypes.c_void_p]
    library.espeak_TextToPhonemes.restype = ctypes.c_char_p
    library.espeak_TextToPhonemes.argtypes = [
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.c_int,
        ctypes.c_int,
    ]
    return library


def tool_version() -> str:
    """The version of eSpeak NG, such as "1.52.0"."""
    with _lock:
        return str(_library().espeak_Info(None).decode())


@cache
def voices() -> tuple[Voice, ...]:
    """Every dialect that eSpeak NG knows."""
    with _lock:
        records = _library().espeak_ListVoices(None)
        found, place = [], 0
        while records[place]:
            record = records[place].contents
            tags = tuple(_tags_at(record.languages))
            found.append(Voice(record.name.decode().strip(), record.identifier.decode(), tags))
            place += 1
    return tuple(found)


def _tags_at(address: int) -> Iterator[tuple[str, int]]:
    """Pairs of a rank (one byte) and a tag that ends with 0; a rank of 0 ends the list."""
    while rank := ctypes.string_at(address, 1)[0]:
        tag = ctypes.string_at(address + 1)
        yield tag.decode().lower(), rank
        address += len(tag) + 2


@cache
def voice_for(language: str, dialect: str = "") -> Voice:
    """Return the dialect in which words of a language are pronounced.

    Both are BCP 47 tags. Without a dialect it is the one that eSpeak NG ranks first for the tag,
    or for the tag without its last part; for "en" it is General American. Raises LanguageError
    for a language or dialect that eSpeak NG does not know, and for languages written without
    spaces between words.
    """
    if in_characters(language):
        raise LanguageError(
            f"phonemes are those of words, and “{language}” is written without spaces between them"
        )
    tag = (dialect or language).strip().lower().replace("_", "-")
    if dialect and primary(dialect) != primary(language):
        raise LanguageError(f"the dialect “{dialect}” does not belong to “{language}”")
    while tag:
        if found := _best_voice(GENERAL_AMERICAN if tag == "en" else tag):
            return found
        if dialect:
            known = ", ".join(_dialects_of(language))
            raise LanguageError(f"{TOOL} has no dialect “{dialect}”; it has {known or 'none'}")
        tag = tag.rpartition("-")[0]
    raise LanguageError(f"{TOOL} {tool_version()} does not know the language “{language}”")


def _best_voice(tag: str) -> Voice | None:
    ranked = [(dict(each.tags)[tag], each) for each in voices() if tag in dict(each.tags)]
    return min(ranked, key=lambda each: each[0])[1] if ranked else None


def _dialects_of(language: str) -> list[str]:
    own = primary(language)
    return sorted({tag for each in voices() for tag, _ in each.tags if primary(tag) == own})


@lru_cache(maxsize=100_000)
def phonemes_of(word: str, voice: Voice) -> tuple[str, ...]:
    """Return the phonemes of one word in IPA, such as ("ʃ", "iː", "t"); of a number, its words'.

    ``word`` is in lower case, with its apostrophes and without other punctuation.
    """
    with _lock:
        library = _library()
        if library.espeak_SetVoiceByName(voice.key.encode()) != 0:
            raise LanguageError(f"{TOOL} cannot load the dialect “{voice.name}”")
        text = ctypes.create_string_buffer(word.encode())
        rest, spoken = ctypes.c_void_p(ctypes.addressof(text)), []
        while rest.value:
            spoken.append(
                library.espeak_TextToPhonemes(ctypes.byref(rest), _UTF8, _IN_IPA).decode()
            )
    symbols = " ".join(spoken).translate(_SIGNS).split()
    known = _AMERICAN if "/en-US" in voice.key else _ENGLISH if "/en" in voice.key else {}
    return tuple(
        phoneme
        for symbol in symbols
        if not symbol.startswith("(")  # the name of another language, for a foreign word
        for phoneme in known.get(symbol, (symbol,))
    )


def scripts_of(word: str) -> set[str]:
    """Return the scripts of a word's letters, such as {"LATIN"}, as Unicode names them."""
    named = {unicodedata.name(char, "?").split()[0] for char in word if char.isalpha()}
    return named - {"MODIFIER", "FEMININE", "MASCULINE"}  # signs such as ʼ and ª


def is_vowel(phoneme: str) -> bool:
    """Whether a phoneme in IPA is a vowel or a diphthong."""
    return phoneme[:1] in _VOWELS
