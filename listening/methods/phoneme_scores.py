"""What a rater typed compared with what was spoken, phoneme by phoneme.

Typed words are first paired with the words of the text. A word that is right there, by its
spelling or by the rules about typos and homophones, has the phonemes of the text's word; all others
are pronounced as they were typed. Then the two strings of phonemes are aligned with the fewest
edits (Levenshtein), among those with the most phonemes right, and among those with vowels opposite
vowels and consonants opposite consonants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from listening.methods.phonemes import Voice, is_vowel, phonemes_of, voice_for
from listening.methods.text_normalisation import normalised_text
from listening.methods.transcript_scores import (
    EDIT,
    HIT,
    NOTHING,
    SECOND_CHOICE,
    SpellingRules,
    SpokenText,
    TranscriptScore,
    align,
    align_words,
    keyword_places,
    score_of_pairs,
)
from listening.methods.vocalisation_types import has_marks, marked

_APOSTROPHES = str.maketrans(dict.fromkeys("'’‘ʼ＇`´", "ꞌ"))  # a letter, which normalisation keeps


def score_phonemes(
    typed: str, spoken: SpokenText, rules: SpellingRules | None = None, dialect: str = ""
) -> TranscriptScore:
    """Align the phonemes of what a rater typed with those of what was spoken.

    ``typed`` is the answer as it was sent; NOTHING and an empty text have no phoneme right.
    Phonemes of keywords count, or all without keywords. ``dialect`` is a BCP 47 tag, or empty for
    that of the text's language. Raises LanguageError for a language without phonemes and
    ModuleNotFoundError where eSpeak NG is not installed.
    """
    voice = voice_for(spoken.language, dialect)
    text = marked(spoken.text, spoken.language)[0] if has_marks(spoken.text) else spoken.text
    written = pronounced_words(text, spoken.language)
    heard = [] if typed.strip() == NOTHING else pronounced_words(typed, spoken.language)
    pairs = align_words(
        [plain for plain, _ in written],
        [plain for plain, _ in heard],
        rules or SpellingRules(),
        spoken.language,
    )
    as_typed, as_written = (iter([full for _, full in words]) for words in (heard, written))
    heard_words = []
    for pair in pairs:
        word = next(as_written) if pair.spoken else ""
        if pair.typed:
            own = next(as_typed)
            heard_words.append(word if pair.right else own)
    counted = keyword_places([plain for plain, _ in written], spoken.keywords, spoken.language)
    reference: list[str] = []
    places: set[int] = set()
    for number, (_, word) in enumerate(written):
        own_phonemes = phonemes_of(word, voice)
        if number in counted:
            places.update(range(len(reference), len(reference) + len(own_phonemes)))
        reference += own_phonemes
    aligned = align(reference, list(_phonemes(heard_words, voice)), _cost)
    return score_of_pairs(aligned, frozenset(places))


def pronounced_words(text: str, language: str) -> list[tuple[str, str]]:
    """The words of a text, each as it is compared ("dont") and as it is pronounced ("don't")."""
    words = normalised_text(text.translate(_APOSTROPHES), language).split()
    full = [word.strip("ꞌ").replace("ꞌ", "'") for word in words]
    return [(word.replace("'", ""), word) for word in full if word]


def _phonemes(words: Sequence[str], voice: Voice) -> Iterator[str]:
    for word in words:
        yield from phonemes_of(word, voice)


def _cost(spoken: str, typed: str) -> int:
    if spoken == typed:
        return -HIT
    return EDIT if is_vowel(spoken) == is_vowel(typed) else EDIT + SECOND_CHOICE
