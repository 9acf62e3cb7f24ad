"""Normalised texts and their errors, against the reference and by hand."""

import json
import unicodedata

import pytest

from metrics.core import texts
from metrics.core.texts import Errors, errors, normalise_text, units
from tests.metrics import reference

ASR = json.loads((reference.DATA / "asr.json").read_text())
ZH = json.loads((reference.DATA / "zh.json").read_text())
RULES = (("lfs_bench", "N1"), ("unicode", "N2"))


def test_counts_of_every_transcript_are_those_of_the_reference():
    compared = 0
    for clip, row in ASR.items():
        for recogniser, hypothesis in row["hyp"].items():
            for name, column in RULES:
                found = errors(
                    normalise_text(row["ref"], "en", name),
                    normalise_text(hypothesis, "en", name),
                    False,
                )
                wanted = row[recogniser][column]
                assert found.as_dict() == {k: wanted[k] for k in found.as_dict()}, clip
                assert (found.rate, found.length) == (wanted["wer"], wanted["ref_words"])
                compared += 1
    assert compared == 56 * 3 * 2


@pytest.mark.parametrize("clip", ZH)
def test_chinese_texts_and_counts_are_those_of_the_reference(clip):
    row = ZH[clip]
    said, heard = (
        normalise_text(row[name], language, "lfs_bench")
        for name, language in (("ref", "zh"), ("hyp", "zh-CN"))
    )
    assert (said, heard) == (row["ref_norm"], row["hyp_norm"])
    found = errors(said, heard, by_character=True)
    assert found.rate == row["cer"]
    assert found.as_dict() == {k: row[k] for k in ("hits", "sub", "dele", "ins")}


def test_the_two_normalisations_part_at_hyphens_and_apostrophes():
    text = "  He’s a cold-hearted, “naïve” man…  "
    assert normalise_text(text, "en", "lfs_bench") == "hes a coldhearted nave man"
    assert normalise_text(text, "en", "unicode") == "hes a cold hearted naive man"


def test_other_languages_keep_their_letters():
    assert normalise_text("Größe, ÇA va?", "fr-CA") == "größe ça va"
    assert normalise_text("สวัสดี ครับ", "th") == "สวัสดีครับ"
    assert (
        normalise_text("Œuvre Øre Łódź Straße İstanbul", "nl") == "œuvre øre łódź straße istanbul"
    )
    assert (
        normalise_text("Œuvre Øre Łódź Straße İstanbul", "en") == "oeuvre ore lodz strasse istanbul"
    )
    assert normalise_text("DIŞ İÇ", "tr-TR") == normalise_text("dış iç", "az") == "dış iç"
    assert normalise_text("پایان\u200cنامه\u200f! ❤\ufe0f 1\ufe0f\u20e3", "fa") == "پایاننامه 1"


@pytest.mark.parametrize("language", ["de", "ja", "tr"])
def test_the_rule_of_lfs_bench_is_for_english_and_chinese(language):
    with pytest.raises(ValueError, match=f"{language}: normalisation lfs_bench is for English"):
        normalise_text("a", language, "lfs_bench")


def characters(*categories):
    """All characters of Unicode's first two planes of these categories that stand for one thing."""
    every = map(chr, (*range(0xD800), *range(0xE000, 0x20000)))
    plain = (c for c in every if unicodedata.category(c)[: len(categories[0])] in categories)
    return [c for c in plain if unicodedata.normalize("NFKC", c) == c]


@pytest.mark.medium
@pytest.mark.parametrize("language", ["de", "en", "tr", "ar"])
def test_letters_and_digits_of_every_script_stay_and_its_punctuation_goes(language):
    letters = characters("Lu", "Ll", "Lt", "Lo", "Nd")
    assert len(normalise_text(" ".join(letters), language).split()) == len(letters) > 40_000
    marks = characters("P", "S")
    assert normalise_text(f"a {' '.join(marks)} b", language) == "a b"
    assert len(marks) > 4000


def test_traditional_characters_count_as_their_simplified_ones():
    assert normalise_text("見，後 來。", "yue") == "见后来"
    assert normalise_text("見後來", "ja") == "見後來"


@pytest.mark.parametrize("name", texts.NORMALISATIONS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_normalising_twice_changes_nothing(name, language):
    once = normalise_text(
        "Don't — “stop”, Mr. Müller-Lüdenscheidt! 3.5 % 你好，世界", language, name
    )
    assert normalise_text(once, language, name) == once


def test_units_are_words_or_characters_without_punctuation():
    assert units("Well - it's 3 o'clock .", "en-GB") == ["Well", "it's", "3", "o'clock"]
    assert units("你好， A 世界。", "zh") == ["你", "好", "A", "世", "界"]
    assert units(" — ", "en") == []


@pytest.mark.parametrize(
    ("said", "heard", "wanted"),
    [
        ("", "", Errors(0, 0, 0, 0)),
        ("", "a b", Errors(0, 0, 0, 2)),
        ("a b", "", Errors(0, 0, 2, 0)),
        ("a b c", "a x c d", Errors(2, 1, 0, 1)),
    ],
)
def test_empty_texts_are_counted_too(said, heard, wanted):
    assert errors(said, heard, by_character=False) == wanted
    assert (wanted.rate is None) == (said == "")


def test_counts_add_up():
    assert texts.add_counts([Errors(1, 2, 3, 4), Errors(1, 0, 0, 1)]) == Errors(2, 2, 3, 5)
    assert texts.add_counts([]).rate is None


def test_an_unknown_normalisation_is_refused():
    with pytest.raises(ValueError, match="whisper"):
        normalise_text("a", "en", "whisper")
