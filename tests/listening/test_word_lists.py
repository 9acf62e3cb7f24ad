"""The DRT and the MRT: the structure that their authors describe, and folders made from them."""

from __future__ import annotations

import csv
from collections import Counter
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from listening.design.studyfile import read_folder
from listening.methods.phonemes import is_vowel, phonemes_of, voice_for
from listening.methods.word_lists import DRT_PAIRS, MRT_SETS, state_of_feature, word_list
from tests.listening.folders import write_sound

# What eSpeak NG reads otherwise than the list means: "than" unstressed, and t-h in "thole"
MISREAD = {"than": "ð æ n", "thole": "θ oʊ l"}
# Pairs of the two initial consonants, feature present and absent (Jakobson, Fant and Halle)
CONSONANTS = {
    "voicing": "v f|b p|dʒ tʃ|d t|z s|ɡ k",
    "nasality": "m b|n d",
    "sustention": "v b|ʃ tʃ|θ t|f p|ð d",
    "sibilation": "z ð|tʃ k|dʒ ɡ|s θ",
    "graveness": "w ɹ|p t|b d|f θ|m n",
    "compactness": "j w|k t|h f|ɡ d|k p|j ɹ|ɡ b|ʃ s",
}
# Of the 48 initial pairs in SITool's lists (Leschanowsky et al. 2025), which spell bean and gilt
# as "been" and "guilt"
SITOOL = """
bond-pond zoo-sue vole-foal daunt-taunt gaff-calf gin-chin dense-tense bean-peen neck-deck
meat-beat knock-dock moot-boot moss-boss note-dote mad-bad nip-dip than-dan thick-tick
fence-pence sheet-cheat vox-box shoes-choose thong-tong though-dough jaws-gauze joe-go sank-thank
jilt-gilt chair-care zee-thee chop-cop chew-coo peak-teak met-net fin-thin bank-dank fore-thor
bong-dong pool-tool wad-rod hit-fit gat-bat show-so caught-taught you-rue got-dot keg-peg
yield-wield
"""


def phonemes(word: str) -> list[str]:
    if word in MISREAD:
        return MISREAD[word].split()
    return list(phonemes_of(word, voice_for("en")))


@pytest.mark.parametrize("feature", DRT_PAIRS)
def test_words_of_a_pair_differ_in_one_feature_of_the_first_consonant(feature: str):
    allowed = {tuple(each.split()) for each in CONSONANTS[feature].split("|")}
    vowels = Counter()
    for pair in DRT_PAIRS[feature].split():
        present, absent = map(phonemes, pair.split("-"))
        assert present[1:] == absent[1:]
        assert (present[0], absent[0]) in allowed
        vowels["ɔː" if pair in ("fore-thor", "bowl-dole") else present[1]] += 1
    assert sum(vowels.values()) == 16
    assert all(map(is_vowel, vowels))


def test_pairs_of_the_drt_are_those_of_an_independent_list():
    ours = " ".join(DRT_PAIRS.values()).split()
    assert len(ours) == len(set(ours)) == 96
    theirs = SITOOL.split()
    assert len(theirs) == 48
    assert set(theirs) < set(ours)


def test_the_mrt_has_50_sets_of_six_words_of_which_half_differ_at_the_end():
    words = word_list("mrt")
    assert len(words) == len({each.item for each in words}) == 300
    assert Counter(each.dimension for each in words) == {"initial": 150, "final": 150}
    for name, sets in MRT_SETS.items():
        for words_of_set in filter(None, map(str.split, sets.replace("\n", "|").split("|"))):
            assert len(words_of_set) == len(set(words_of_set)) == 6
            parted = [parted_at_vowel(phonemes(word)) for word in words_of_set]
            constant = {rest if name == "initial" else onset for onset, rest in parted}
            assert len(constant) == 1, words_of_set


def parted_at_vowel(sounds: list[str]) -> tuple[str, str]:
    """The phonemes before the first vowel, and all others."""
    place = next(k for k, each in enumerate(sounds) if is_vowel(each))
    return " ".join(sounds[:place]), " ".join(sounds[place:])


def test_the_state_of_a_feature_is_that_of_the_spoken_word():
    assert state_of_feature(("Feel", "veal"), "veal") == "present"
    assert state_of_feature(("veal", "feel"), "Feel") == "absent"
    assert state_of_feature(("veal", "zeal"), "veal") == ""


@pytest.mark.parametrize(("name", "clips"), [("drt", 384), ("mrt", 600)])
def test_a_folder_of_synthesised_words_is_a_whole_study(tmp_path: Path, name: str, clips: int):
    folder, said = tmp_path / f"my {name}", StringIO()
    carrier = "Now choose {word}."
    call_command(
        "word_list", name, folder, systems=["vits", "flite-slt"], carrier=carrier, stdout=said
    )
    rows = list(csv.DictReader((folder / "stimuli.csv").read_text().splitlines()))
    sentences = list(csv.DictReader((folder / "words.csv").read_text().splitlines()))
    assert len(rows) == clips
    assert f"({clips} clips)" in said.getvalue()
    assert f"{2 * len(sentences)} audio files are missing" in said.getvalue()
    assert all(row["correct_answer"] in row["alternatives"].split("|") for row in rows)
    assert sentences[0]["sentence"] == carrier.replace("{word}", sentences[0]["file"][:-4])
    for system in ("vits", "flite-slt"):
        for each in sentences:
            write_sound(folder / "audio" / system / each["file"], seconds=0.1)
    read = read_folder(folder)
    assert not read.problems
    assert read.study is not None
    assert len(read.study.stimuli) == clips
    with pytest.raises(CommandError, match="is there, and was not touched"):
        call_command("word_list", name, folder, systems=["vits"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"systems": ["My System"]}, "cannot be a key"),
        ({"systems": ["vits", "espeak", "vits"]}, "names “vits” twice"),
        ({"systems": ["vits"], "carrier": "Now choose."}, r"must hold \{word\}"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(
    tmp_path: Path, options: dict, said: str
):
    with pytest.raises(CommandError, match=said):
        call_command("word_list", "drt", tmp_path / "drt", **options)
    assert not (tmp_path / "drt").exists()
