"""Word lists of closed-response tests: the DRT (Voiers 1977) and the MRT (House et al. 1965).

The words are those of ANSI S3.2. The sets of the MRT stand as in the software of the National
Institute of Standards and Technology (github.com/usnistgov/MRT), a work of the United States
government in the public domain. Half of the pairs of the DRT were compared with the lists of SITool
(Leschanowsky et al. 2025); docs/methods.md says more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

PRESENT, ABSENT = STATES = ("present", "absent")
# Of each pair the first word has the feature, the second lacks it. Two pairs for each of 8 vowels
DRT_PAIRS = {
    "voicing": """
        veal-feel bean-peen gin-chin dint-tint zoo-sue dune-tune vole-foal goat-coat zed-said
        dense-tense vast-fast gaff-calf vault-fault daunt-taunt jock-chock bond-pond
    """,
    "nasality": """
        meat-beat need-deed mitt-bit nip-dip moot-boot news-dues moan-bone note-dote mend-bend
        neck-deck mad-bad nab-dab moss-boss gnaw-daw mom-bomb knock-dock
    """,
    "sustention": """
        vee-bee sheet-cheat vill-bill thick-tick foo-pooh shoes-choose those-doze though-dough
        then-den fence-pence than-dan shad-chad thong-tong shaw-chaw von-bon vox-box
    """,
    "sibilation": """
        zee-thee cheep-keep jilt-gilt sing-thing juice-goose chew-coo joe-go sole-thole
        jest-guest chair-care jab-gab sank-thank jaws-gauze saw-thaw jot-got chop-cop
    """,
    "graveness": """
        weed-reed peak-teak bid-did fin-thin moon-noon pool-tool bowl-dole fore-thor met-net
        pent-tent bank-dank fad-thad fought-thought bong-dong wad-rod pot-tot
    """,
    "compactness": """
        yield-wield key-tea hit-fit gill-dill coop-poop you-rue ghost-boast show-so keg-peg
        yen-wren gat-bat shag-sag yawl-wall caught-taught hop-fop got-dot
    """,
}
# By the consonant that differs
MRT_SETS = {
    "initial": """
        went sent bent dent tent rent | hold cold told fold sold gold
        kit bit fit hit wit sit | must bust gust rust dust just
        bed led fed red wed shed | pin sin tin fin din win
        not tot got pot hot lot | vest test rest best west nest
        way may say pay day gay | pig big dig wig rig fig
        shop mop cop top hop pop | coil oil soil toil boil foil
        same name game tame came fame | peel reel feel eel keel heel
        hark dark mark bark park lark | thaw law raw paw jaw saw
        pen hen men then den ten | heat neat feat seat meat beat
        dip sip hip tip lip rip | hang sang bang rang fang gang
        took cook look hook shook book | fill kill will hill till bill
        bale gale sale tale pale male | wick sick kick lick pick tick
        fun sun bun gun run nun
    """,
    "final": """
        pat pad pan path pack pass | lane lay late lake lace lame
        teak team teal teach tear tease | din dill dim dig dip did
        dug dung duck dud dub dun | sum sun sung sup sub sud
        seep seen seethe seek seem seed | pig pill pin pip pit pick
        back bath bad bass bat ban | pale pace page pane pay pave
        cane case cape cake came cave | tan tang tap tack tam tab
        fit fib fizz fill fig fin | heave hear heat heal heap heath
        cup cut cud cuff cuss cub | puff puck pub pus pup pun
        bean beach beat beak bead beam | kill kin kit kick king kid
        mass math map mat man mad | ray raze rate rave rake race
        save same sale sane sake safe | sill sick sip sing sit sin
        peace peas peak peach peat peal | bun bus but bug buck buff
        sag sat sass sack sad sap
    """,
}


@dataclass(frozen=True)
class ListedWord:
    """A word to be spoken, and what raters choose from.

    ``item`` is its key, such as "voicing-01-veal". ``dimension`` is the feature in which the words
    of a pair differ (DRT), or the consonant: initial or final (MRT). ``state`` says whether the
    spoken word has the feature: present or absent; empty in the MRT.
    """

    item: str
    word: str
    alternatives: tuple[str, ...]
    dimension: str
    state: str = ""


def word_list(name: str) -> list[ListedWord]:
    """Every word of the list "drt" (192 words) or "mrt" (300); KeyError for another name."""
    return list({"drt": _drt, "mrt": _mrt}[name]())


def _drt() -> Iterator[ListedWord]:
    for feature, text in DRT_PAIRS.items():
        for number, pair in enumerate(text.split(), start=1):
            words = tuple(pair.split("-"))
            for word, state in zip(words, STATES, strict=True):
                yield ListedWord(f"{feature}-{number:02}-{word}", word, words, feature, state)


def _mrt() -> Iterator[ListedWord]:
    for consonant, text in MRT_SETS.items():
        sets = text.replace("\n", "|").split("|")
        for number, words in enumerate(filter(None, map(str.split, sets)), start=1):
            for word in words:
                yield ListedWord(f"{consonant}-{number:02}-{word}", word, tuple(words), consonant)


WORD_LISTS = {
    "drt": "Diagnostic Rhyme Test: 96 pairs of words",
    "mrt": "Modified Rhyme Test: 50 sets of six words",
}


@cache
def _states() -> dict[tuple[frozenset[str], str], str]:
    return {(frozenset(each.alternatives), each.word): each.state for each in _drt()}


def state_of_feature(alternatives: tuple[str, ...], spoken: str) -> str:
    """Whether the spoken word of a pair of the DRT has the pair's feature; empty for other words.

    Case and the order of the alternatives do not matter.
    """
    pair = frozenset(word.casefold() for word in alternatives)
    return _states().get((pair, spoken.casefold()), "")
