"""Phonemes of words against the CMU dictionary, and their edits against jiwer."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from listening.methods import method_named, phonemes
from listening.methods.phoneme_scores import pronounced_words, score_phonemes
from listening.methods.phonemes import LanguageError, phonemes_of, voice_for
from listening.methods.transcript_scores import NOTHING, SpellingRules, SpokenText, spoken_units

GLUE = SpokenText("Glue the sheet to the dark blue background.", "en")  # IEEE, list 1
KEYED = SpokenText(GLUE.text, "en", "glue sheet dark blue background")

# The first pronunciation in the CMU Pronouncing Dictionary (BSD licence), without stress
CMU = """
about AH B AW T|action AE K SH AH N|afternoon AE F T ER N UW N|answer AE N S ER|apple AE P AH L
background B AE K G R AW N D|beauty B Y UW T IY|bird B ER D|blue B L UW|boy B OY
breakfast B R EH K F AH S T|bridge B R IH JH|brother B R AH DH ER|butter B AH T ER
button B AH T AH N|chair CH EH R|change CH EY N JH|children CH IH L D R AH N|city S IH T IY
clock K L AA K|dark D AA R K|dinner D IH N ER|doctor D AA K T ER|father F AA DH ER
finger F IH NG G ER|fire F AY ER|flower F L AW ER|garden G AA R D AH N|glue G L UW|green G R IY N
happy HH AE P IY|house HH AW S|hurry HH ER IY|ladder L AE D ER|letter L EH T ER|little L IH T AH L
measure M EH ZH ER|money M AH N IY|mountain M AW N T AH N|near N IH R|number N AH M B ER
paper P EY P ER|people P IY P AH L|picture P IH K CH ER|pleasure P L EH ZH ER|sheet SH IY T
singing S IH NG IH NG|thick TH IH K|thing TH IH NG|though DH OW|tomorrow T AH M AA R OW
voice V OY S|window W IH N D OW|yellow Y EH L OW
"""
ARPABET = """
ɑː AA|æ AE|ʌ AH|ə AH|ɔː AO|aʊ AW|aɪ AY|b B|tʃ CH|d D|ð DH|ɛ EH|ɚ ER|ɜː ER|eɪ EY|f F|ɡ G|h HH|ɪ IH
iː IY|dʒ JH|k K|l L|m M|n N|ŋ NG|oʊ OW|ɔɪ OY|p P|ɹ R|s S|ʃ SH|t T|θ TH|ʊ UH|uː UW|v V|w W|j Y|z Z
ʒ ZH
"""
# Two words in which eSpeak NG has a pronunciation of its own, one in which it has the second
DIFFERENT = {
    "hurry": "HH ER R IY",
    "mountain": "M AW N T IH N",
    "tomorrow": "T AH M AA R OW",
}


def test_words_have_the_phonemes_of_the_cmu_dictionary():
    voice = voice_for("en")
    words, symbols = (
        dict(each.split(" ", 1) for each in table.strip().replace("\n", "|").split("|"))
        for table in (CMU, ARPABET)
    )
    ours = {word: " ".join(symbols[p] for p in phonemes_of(word, voice)) for word in words}
    assert len(words) == 54
    assert ours == words | DIFFERENT


@pytest.mark.parametrize(
    ("typed", "right", "edits"),
    [
        ("glue the sheet to the dark blue background", 27, 0),
        ("glew the sheet two the dark blew background", 27, 0),  # sounds the same
        ("glue the sheep to the dark blue background", 26, 1),
        ("glue the seat to the duck blue background", 24, 3),
        ("glue the sheet", 8, 19),
        (NOTHING, 0, 27),
        ("", 0, 27),
    ],
)
def test_phonemes_right_and_edits_are_those_counted_by_hand(typed, right, edits):
    score = score_phonemes(typed, GLUE)
    assert (score.right, score.units, score.edits) == (right, 27, edits)


def test_only_phonemes_of_keywords_count_where_there_are_some():
    score = score_phonemes("glue a seat to a dark background", KEYED)
    # glue 3, sheet 2 of 3, dark 4, blue 0 of 3, background 8
    assert (score.right, score.units) == (17, 21)


def test_a_word_that_is_right_has_the_phonemes_of_the_text():
    """Apostrophes, typos and homophones that a task accepts are heard as the text's word."""
    text = SpokenText("I'll go; it's 12 o'clock, isn't it?", "en")
    assert score_phonemes("Ill go its twelve oclock isnt it", text).edits == 0
    typed = "glue the sheeet to the dark blue backgruond"
    assert score_phonemes(typed, GLUE).edits > 0
    rules = SpellingRules(True, ("background backgruond",))
    assert score_phonemes(typed, GLUE, rules).edits == 0
    assert (
        score_phonemes("lhomme n'est pas la", SpokenText("L’homme n’est pas là", "fr")).edits == 0
    )
    for each in (text.text, "'quoted' words’ ends ' alone", "naïve – café"):
        assert [plain for plain, _ in pronounced_words(each, "en")] == spoken_units(each, "en")


def test_vowels_stand_opposite_vowels_where_edits_allow_it():
    for said, typed in (("pat", "toss"), ("keep", "spike"), ("dog", "god")):
        pairs = score_phonemes(typed, SpokenText(said, "en")).pairs
        both = [p for p in pairs if p.spoken and p.typed]
        assert all(phonemes.is_vowel(p.spoken) == phonemes.is_vowel(p.typed) for p in both)


def test_edits_are_those_of_jiwer_over_phonemes():
    import jiwer

    rng, voice = Random(5), voice_for("en")
    words = ["bat", "pad", "tip", "ship", "chew", "jam", "vine", "thin", "lamb", "rung"]
    for _ in range(300):
        text, typed = (" ".join(rng.choices(words, k=rng.randint(1, 6))) for _ in range(2))
        ours = score_phonemes(typed, SpokenText(text, "en"))
        strings = [
            " ".join(p for word in each.split() for p in phonemes_of(word, voice))
            for each in (text, typed)
        ]
        theirs = jiwer.process_words(*strings)
        assert ours.error_rate == pytest.approx(theirs.wer)
        assert ours.right >= theirs.hits


@pytest.mark.parametrize(
    ("language", "dialect", "name"),
    [
        ("en", "", "English (America)"),
        ("en-GB", "", "English (Great Britain)"),
        ("en", "en-gb", "English (Great Britain)"),
        ("de-AT", "", "German"),
        ("pt-BR", "", "Portuguese (Brazil)"),
    ],
)
def test_a_language_has_the_dialect_of_its_tag(language: str, dialect: str, name: str):
    assert voice_for(language, dialect).name == name


@pytest.mark.parametrize(
    ("language", "dialect", "said"),
    [
        ("xx", "", "does not know the language “xx”"),
        ("zh-Hans", "", "written without spaces"),
        ("en", "de", "“de” does not belong to “en”"),
        ("en", "en-xx", "no dialect “en-xx”; it has .*en-gb"),
    ],
)
def test_what_has_no_phonemes_is_refused_with_the_reason(language: str, dialect: str, said: str):
    options = {"unit": "phonemes", "dialect": dialect}
    method = method_named("transcription")
    with pytest.raises(LanguageError, match=said):
        method.check_language(language, options)
    method.check_language(language, {})  # words


def test_words_in_several_scripts_are_refused():
    method = method_named("transcription")
    with pytest.raises(ValueError, match=r"“москва” \(CYRILLIC\), “train” \(LATIN\)"):
        method.check_words(["the", "москва", "train"], {"unit": "phonemes"})
    method.check_words(["the", "москва", "train"], {})  # scored in words
    method.check_words(["москва", "и", "я"], {"unit": "phonemes"})


@pytest.mark.parametrize(
    ("options", "said"),
    [({"unit": "syllables"}, "unit is"), ({"unit": "phonemes", "dialect": 3}, "dialect is")],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], said: str):
    with pytest.raises(ValueError, match=said):
        method_named("transcription").scale(options)
