"""What a rater typed compared with what was spoken: words right, and the edits between the two.

The alignment has the fewest edits (Levenshtein), and among those the most words right; of equal
ones it is the same each time. Both texts are normalised first (`text_normalisation`). Languages
written without spaces between words are compared by characters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from listening.methods.text_normalisation import normalised_text
from listening.methods.text_units import in_characters
from listening.methods.vocalisation_types import has_marks, marked

NOTHING = "[nothing understood]"  # the label of the button; the text of no answer is altered
TYPO_LETTERS = 5  # shorter words with one letter changed are often other words
# One cost of an alignment: the fewest edits, then the most right, then the fewest second choices
EDIT, HIT, SECOND_CHOICE = 10**8, 10**4, 1


@dataclass(frozen=True)
class SpokenText:
    """What a clip says: its text, its BCP 47 language tag, and the words that count.

    Without keywords every word counts.
    """

    text: str
    language: str
    keywords: str = ""


@dataclass(frozen=True)
class SpellingRules:
    """What counts as right beside the same word.

    ``typos``: words of 5 or more letters with one letter inserted, deleted or changed.
    ``homophones``: groups of words that sound alike, such as "their there".
    """

    typos: bool = False
    homophones: tuple[str, ...] = ()

    def sound_of(self, language: str) -> dict[str, str]:
        """The first word of each group, by every word of it."""
        groups = [normalised_text(group, language).split() for group in self.homophones]
        return {word: group[0] for group in groups for word in group}


@dataclass(frozen=True)
class UnitPair:
    """A unit of the text and what was typed for it; one is empty where a unit lacks or is new.

    A unit is a word, a character or a phoneme.
    """

    spoken: str
    typed: str
    right: bool = False
    typo: bool = False  # right by the rule about typos
    counts: bool = True  # false where there are keywords, and this is none or in none


@dataclass(frozen=True)
class TranscriptScore:
    """An answer aligned with its text, unit by unit."""

    pairs: tuple[UnitPair, ...] = field(repr=False)

    @cached_property
    def units(self) -> int:
        """Units of the text that count."""
        return sum(bool(pair.spoken) and pair.counts for pair in self.pairs)

    @cached_property
    def right(self) -> int:
        """Those of them that were typed."""
        return sum(pair.right and pair.counts for pair in self.pairs)

    @property
    def share(self) -> float | None:
        """Units right / units that count: 0 to 1; None of a text without a unit."""
        return self.right / self.units if self.units else None

    @property
    def typos(self) -> int:
        """Units that count and are right by the rule about typos."""
        return sum(pair.typo and pair.counts for pair in self.pairs)

    @property
    def length(self) -> int:
        """All units of the text, whether they count or not."""
        return sum(bool(pair.spoken) for pair in self.pairs)

    @property
    def edits(self) -> int:
        """Substitutions, deletions and insertions over all units."""
        return sum(not pair.right for pair in self.pairs)

    @property
    def error_rate(self) -> float | None:
        """Edits / all units of the text (WER, CER or PER): 0 or more, above 1 possible."""
        return self.edits / self.length if self.length else None


def spoken_units(text: str, language: str) -> list[str]:
    """The words, or characters, of a text as they are compared; marks like [laugh] are none."""
    if has_marks(text):
        text = marked(text, language)[0]
    plain = normalised_text(text, language)
    return list(plain) if in_characters(language) else plain.split()


def score_transcript(
    typed: str, spoken: SpokenText, rules: SpellingRules | None = None
) -> TranscriptScore:
    """Align what a rater typed with what was spoken.

    ``typed`` is the answer as it was sent; NOTHING and an empty text have no word right.
    """
    rules = rules or SpellingRules()
    reference = spoken_units(spoken.text, spoken.language)
    heard = typed_units(typed, spoken.language)
    places = keyword_places(reference, spoken.keywords, spoken.language)
    return score_of_pairs(align_words(reference, heard, rules, spoken.language), places)


def score_of_pairs(pairs: Sequence[UnitPair], places: frozenset[int]) -> TranscriptScore:
    """The score of an alignment in which the units at these places count; all without places."""
    if not places:
        return TranscriptScore(tuple(pairs))
    place, result = 0, []
    for pair in pairs:
        result.append(replace(pair, counts=bool(pair.spoken) and place in places))
        place += bool(pair.spoken)
    return TranscriptScore(tuple(result))


def typed_units(typed: str, language: str) -> list[str]:
    """The words, or characters, of an answer as they are compared; none of NOTHING."""
    if typed.strip() == NOTHING:
        return []
    plain = normalised_text(typed, language)
    return list(plain) if in_characters(language) else plain.split()


def keyword_places(reference: Sequence[str], keywords: str, language: str) -> frozenset[int]:
    """The places of the keywords in the text, each the first that is free; empty without keywords.

    ``reference`` is normalised. Raises ValueError for a keyword that is not in the text.
    """
    places: set[int] = set()
    for word in spoken_units(keywords, language):
        free = (k for k, each in enumerate(reference) if each == word and k not in places)
        place = next(free, None)
        if place is None:
            raise ValueError(f"the keyword “{word}” is not in the text")
        places.add(place)
    return frozenset(places)


def align_words(
    reference: Sequence[str], heard: Sequence[str], rules: SpellingRules, language: str
) -> list[UnitPair]:
    """The words of a text paired with those typed for them; all are normalised."""
    sound = rules.sound_of(language)

    def cost(spoken: str, typed: str) -> int:
        if sound.get(spoken, spoken) == sound.get(typed, typed):
            return -HIT
        return SECOND_CHOICE - HIT if rules.typos and is_typo(spoken, typed) else EDIT

    return [
        replace(pair, typo=pair.right and cost(pair.spoken, pair.typed) != -HIT)
        for pair in align(reference, heard, cost)
    ]


def align(
    reference: Sequence[str], heard: Sequence[str], cost: Callable[[str, str], int]
) -> list[UnitPair]:
    """The pairs of the cheapest alignment, in the order of the text.

    ``cost`` is that of a unit for another: below 0 for one that is right. What is left out or new
    costs EDIT.
    """
    rows = [[k * EDIT for k in range(len(heard) + 1)]]
    known = {spoken: [cost(spoken, typed) for typed in heard] for spoken in set(reference)}
    costs = [known[spoken] for spoken in reference]
    for place, own in enumerate(costs):
        above, row = rows[-1], [(place + 1) * EDIT]
        for k, step in enumerate(own):
            row.append(min(above[k] + step, above[k + 1] + EDIT, row[k] + EDIT))
        rows.append(row)
    pairs: list[UnitPair] = []
    i, j = len(reference), len(heard)
    while i or j:
        if i and j and rows[i][j] == rows[i - 1][j - 1] + costs[i - 1][j - 1]:
            i, j = i - 1, j - 1
            pairs.append(UnitPair(reference[i], heard[j], costs[i][j] < 0))
        elif i and rows[i][j] == rows[i - 1][j] + EDIT:
            i -= 1
            pairs.append(UnitPair(reference[i], ""))
        else:
            j -= 1
            pairs.append(UnitPair("", heard[j]))
    return pairs[::-1]


def is_typo(spoken: str, typed: str) -> bool:
    """Whether a typed word is one letter (inserted, deleted, changed) from a word of 5 or more."""
    if len(spoken) < TYPO_LETTERS or abs(len(spoken) - len(typed)) > 1:
        return False
    same = 0
    while same < min(len(spoken), len(typed)) and spoken[same] == typed[same]:
        same += 1
    rest, other = spoken[same:], typed[same:]
    if not rest and not other:
        return False  # the same word
    return rest[1:] == other[1:] or rest[1:] == other or rest == other[1:]
