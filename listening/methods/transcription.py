"""One clip, and the rater types what was said: the share of words or phonemes correct."""

from __future__ import annotations

from collections.abc import Sequence

from listening.methods.estimand import Estimand
from listening.methods.method import (
    LONGEST_LABEL,
    Method,
    Options,
    Playback,
    Scale,
    Step,
    gettext_noop,
)
from listening.methods.phoneme_scores import score_phonemes
from listening.methods.phonemes import scripts_of, voice_for
from listening.methods.transcript_scores import (
    NOTHING,
    SpellingRules,
    SpokenText,
    TranscriptScore,
    score_transcript,
)

MOST_PLAYS = 20
TYPOS = ("none", "one_letter")
WORDS, PHONEMES = UNITS = ("words", "phonemes")


class Transcription(Method):
    key = "transcription"
    title = "Transcription"
    estimand = Estimand(
        key="words_right",
        name="Words correct",
        phrase="the share of words correct",
        axis="Share of words correct (0 to 1)",
        ends=(0.0, 1.0),
        continuous=True,
        decimals=3,
    )
    other_estimands = (
        Estimand(
            key="phonemes_correct",
            name="Phonemes correct",
            phrase="the share of phonemes correct",
            axis="Share of phonemes correct (0 to 1)",
            ends=(0.0, 1.0),
            continuous=True,
            decimals=3,
        ),
    )
    standard = (
        "Words or phonemes correct, of the text or of its keywords as in IEEE (Harvard) sentences; "
        "semantically unpredictable sentences as in Benoît et al. 1996"
    )
    default_question = gettext_noop("Type the words that you heard.")
    default_criteria = (("words_heard", default_question, {}),)
    compares_text = True
    scores_by_text = True

    def scale(self, options: Options) -> Scale:
        longest = options.get("longest", 500)
        if type(longest) is not int or not 1 <= longest <= LONGEST_LABEL:
            raise ValueError(
                f"longest is a whole number from 1 to {LONGEST_LABEL}, not {longest!r}"
            )
        spelling_rules(options)
        unit_of(options)
        dialect_of(options)
        words = gettext_noop("I could not understand anything")
        return Scale((Step(NOTHING, 0.0, words, apart=True),), "transcript", longest=longest)

    def playback(self, options: Options) -> Playback:
        plays = options.get("plays", 1)
        if type(plays) is not int or not 1 <= plays <= MOST_PLAYS:
            raise ValueError(f"plays is a whole number from 1 to {MOST_PLAYS}, not {plays!r}")
        return Playback(plays=plays)

    def text_score(self, label: str, spoken: SpokenText, options: Options) -> float | None:
        return score_answer(label, spoken, options).share

    def estimand_for(self, options: Options) -> Estimand:
        """Words correct, or phonemes correct with the unit "phonemes"."""
        return self.estimands()[UNITS.index(unit_of(options))]

    def check_language(self, language: str, options: Options) -> None:
        """LanguageError where the unit is the phoneme and the language has none."""
        if unit_of(options) == PHONEMES:
            voice_for(language, dialect_of(options))

    def check_words(self, words: Sequence[str], options: Options) -> None:
        """ValueError where the unit is the phoneme and words are in several scripts."""
        scripts = {script: word for word in words for script in scripts_of(word)}
        if unit_of(options) == PHONEMES and len(scripts) > 1:
            named = ", ".join(f"“{word}” ({script})" for script, word in sorted(scripts.items()))
            raise ValueError(
                f"the words are in several scripts, {named}, and have no sure phonemes"
            )


def score_answer(label: str, spoken: SpokenText, options: Options) -> TranscriptScore:
    """Align an answer with its text in the unit of a task with these options."""
    rules = spelling_rules(options)
    if unit_of(options) == PHONEMES:
        return score_phonemes(label, spoken, rules, dialect_of(options))
    return score_transcript(label, spoken, rules)


def unit_of(options: Options) -> str:
    """What a task counts: "words" (or characters) or "phonemes"; ValueError for anything else."""
    unit = options.get("unit", WORDS)
    if unit not in UNITS:
        raise ValueError(f'unit is "words" or "phonemes", not {unit!r}')
    return str(unit)


def dialect_of(options: Options) -> str:
    """The tag of the dialect whose phonemes are compared; empty for that of the language."""
    if unit_of(options) != PHONEMES:
        return ""
    dialect = options.get("dialect", "")
    if not isinstance(dialect, str):
        raise ValueError(f'dialect is a language tag like "en-gb", not {dialect!r}')
    return dialect.strip()


def spelling_rules(options: Options) -> SpellingRules:
    """What a task counts as right beside the same word; ValueError where it is not clear."""
    typos = options.get("typos", "none")
    if typos not in TYPOS:
        raise ValueError(f'typos is "none" or "one_letter", not {typos!r}')
    groups = options.get("homophones", [])
    if not isinstance(groups, list | tuple) or not all(
        isinstance(group, str) and len(group.split()) > 1 for group in groups
    ):
        raise ValueError(
            'homophones is a list of words that sound alike, like ["their there", "to too two"]'
        )
    return SpellingRules(typos == "one_letter", tuple(groups))
