"""Words right and edits of typed answers, against jiwer and against answers counted by hand."""

from __future__ import annotations

from random import Random

import pytest

from listening.methods import method_named
from listening.methods.transcript_scores import (
    NOTHING,
    SpellingRules,
    SpokenText,
    is_typo,
    score_transcript,
)

GLUE = SpokenText("Glue the sheet to the dark blue background.", "en")  # IEEE, list 1
KEYED = SpokenText(GLUE.text, "en", "glue sheet dark blue background")


@pytest.mark.parametrize(
    ("typed", "right", "edits"),
    [
        ("glue the sheet to the dark blue background", 8, 0),
        ("GLUE, the Sheet -- to the dark-blue background!!", 8, 0),
        ("the sheet to dark blue", 5, 3),
        ("glue the sheep to the dark blue back ground", 6, 3),
        ("well glue the sheet", 3, 6),
        (NOTHING, 0, 8),
        ("", 0, 8),
    ],
)
def test_words_right_and_edits_are_those_counted_by_hand(typed, right, edits):
    score = score_transcript(typed, GLUE)
    assert (score.right, score.units, score.edits) == (right, 8, edits)
    assert score.share == right / 8


def test_only_keywords_count_where_there_are_some():
    score = score_transcript("glue a sheet to a dark background", KEYED)
    assert (score.right, score.units) == (4, 5)
    assert (score.edits, score.length) == (3, 8)  # the error rate is of all words
    again = score_transcript("the", SpokenText("the cat saw the dog", "en", "the the dog"))
    assert (again.right, again.units) == (1, 3)
    with pytest.raises(ValueError, match="keyword “dogs” is not in the text"):
        score_transcript("the", SpokenText("the dog", "en", "dogs"))


def test_typos_and_homophones_are_right_by_a_rule_alone():
    typed = "glue the shet two the dark blew backgrond"
    plain = score_transcript(typed, GLUE)
    assert (plain.right, plain.typos) == (4, 0)
    rules = SpellingRules(True, ("to two too", "blue blew"))
    score = score_transcript(typed, GLUE, rules)
    assert (score.right, score.typos, score.edits) == (8, 2, 0)
    assert score_transcript("dork", SpokenText("dark", "en"), rules).right == 0  # 4 letters
    assert [is_typo("sheet", word) for word in ("sheets", "shoet", "heet")] == [True] * 3
    assert [is_typo("sheet", word) for word in ("sheet", "sehet", "ship")] == [False] * 3


def test_chinese_is_compared_by_characters_in_either_script():
    score = score_transcript("今天天氣好", SpokenText("今天天气很好。", "zh-Hans"))
    assert (score.right, score.units, score.edits) == (5, 6, 1)


def test_edits_are_those_of_jiwer_and_words_right_are_never_fewer():
    import jiwer

    rng, vocabulary = Random(7), ["a", "b", "c", "d", "e", "f"]
    more = 0
    for _ in range(600):
        text, typed = (" ".join(rng.choices(vocabulary, k=rng.randint(1, 9))) for _ in range(2))
        ours, theirs = (
            score_transcript(typed, SpokenText(text, "en")),
            jiwer.process_words(text, typed),
        )
        assert ours.error_rate == pytest.approx(theirs.wer)
        assert ours.right >= theirs.hits
        more += ours.right > theirs.hits
    assert 0 < more < 200  # of alignments with as few edits, jiwer takes any


def test_the_method_scores_what_was_typed():
    method = method_named("transcription")
    assert method.scale({}).score(NOTHING) == 0
    assert method.scale({}).score("a b") is None
    assert method.text_score("Glue the sheet", KEYED, {}) == 2 / 5
    assert method.playback({"plays": 2}).plays == 2
    for options, said in (
        ({"plays": 0}, "plays is a whole number"),
        ({"typos": "some"}, "typos is"),
        ({"homophones": ["there"]}, "homophones is a list"),
        ({"longest": 0}, "longest is a whole number"),
    ):
        with pytest.raises(ValueError, match=said):
            method.playback(options) if "plays" in options else method.scale(options)
