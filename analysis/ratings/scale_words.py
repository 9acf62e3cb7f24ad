"""What the scores of a scale are called in tables: words, and numbers with words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from analysis.ratings.estimands import estimand_of_method
from analysis.ratings.reading_rules import fold_cell
from listening.common.interface_languages import INTERFACE_LANGUAGES
from listening.common.spreadsheets import strict_number
from listening.methods import Method

_NUMBERED = re.compile(  # 4 - Good, (4) Good, Good (4)
    r"\(?(?P<first>[+-]?\d+(?:[.]\d+)?)\)?\s*[-–—:=.)]?\s+(?P<after>\D.*)"
    r"|(?P<before>.*\D)\s*[(=:]\s*(?P<last>[+-]?\d+)\)?"
)
_MONTHS = (  # English, German, French, Spanish, Italian
    "jan january januar janvier ene enero gen gennaio feb february februar fév février febrero "
    "febbraio mar march mär mrz märz mars marzo apr april avr avril abr abril aprile may mai mayo "
    "mag maggio jun june juni juin junio giu giugno jul july juli juil juillet julio lug luglio "
    "aug august août aout ago agosto sep sept september septembre septiembre set settembre oct "
    "october okt oktober octobre octubre ott ottobre nov november novembre noviembre dec december "
    "dez dezember déc décembre dic diciembre dicembre"
)
# 3. May is 3.5 in a spreadsheet that takes it for a date
_MONTH = re.compile(rf"(?:{'|'.join(_MONTHS.split())})\.?(?:\W\d+)?")
_CHOICES = {  # what a button of two clips is called besides its label, by its score
    1.0: ("first", "first is better", "1", "left"),
    0.0: ("second", "second is better", "2", "right"),
    0.5: ("tie", "equal", "same", "no difference", "no preference", "both", "neither"),
}
MISSING = frozenset(  # what stands in place of a score that was not given, without case
    {
        *("na", "n/a", "n.a.", "nan", "null", "none", "-", "--", "–", "—", ".", "?", "skipped"),
        *("#n/a", "#nv", "#value!"),  # Excel's
        *("no answer", "not answered", "missing", "don't know", "don’t know", "do not know"),
    }
)
_BEGINNING = re.compile(r"^(?:second|degradation) is ")  # left out of many tables
_HUMAN = {1.0: ("real",), 0.0: ("fake", "synthetic", "generated", "ai")}
_RIGHT = {1.0: ("right", "correct", "true", "1"), 0.0: ("wrong", "incorrect", "false", "0")}


def cell_number(text: str) -> float:
    """The number that a cell holds, NaN where it is none."""
    number = strict_number(text)
    return math.nan if number is None else number


def methods_with(words: set[str]) -> list[str]:
    """The methods that have all these words, without case, on their scales; none without words."""
    return [key for key in sorted(Method.registry) if words and words <= {*scores_of_words(key)}]


@cache
def words_of_scales() -> Mapping[str, float]:
    """The score of each word on the scales on which one clip is rated, without case."""
    words: dict[str, float] = {}
    for key in sorted(Method.registry):
        estimand = estimand_of_method(key)
        if not (estimand.in_pairs or estimand.discriminates or estimand.prefers):
            words = {**scores_of_words(key), **words}
    return words


@cache
def scores_of_words(method: str) -> Mapping[str, float]:
    """The score of each label of a method, and of the words beside it, without case.

    Where criteria have scales of their own, the words of all. Also as raters' pages have them in
    other languages, unless a word has several scores there.
    """
    kind, words = Method.registry[method](), dict[str, float]()
    estimand = kind.estimand
    if estimand.discriminates or estimand.scores == tuple(sorted(_RIGHT)):
        return {word: score for score, names in _RIGHT.items() for word in names}
    named = list(_named_scores(kind))
    for word, score in named:
        words.setdefault(fold_cell(word), score)
        words.setdefault(_BEGINNING.sub("", fold_cell(word)), score)
    if "human" in words:
        words |= {word: score for score, names in _HUMAN.items() for word in names}
    if estimand.prefers and estimand.scores:
        words |= {word: score for score, names in _CHOICES.items() for word in names}
    return _translated(named) | words


def _translated(named: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The scores of words in the languages of raters' pages."""
    scores: dict[str, set[float]] = {}
    for language in INTERFACE_LANGUAGES:
        catalogue = language.catalogue()
        for word, score in named:
            scores.setdefault(fold_cell(catalogue.gettext(word)), set()).add(score)
    return {word: min(there) for word, there in scores.items() if len(there) == 1}


def _named_scores(kind: Method) -> Iterator[tuple[str, float]]:
    """Each label and text of a method's scales with its score."""
    for options in ({}, *(own for _, _, own in kind.default_criteria)):
        try:
            steps = kind.scale(options).steps
        except ValueError:
            continue
        for step in steps:
            if step.score is not None:
                yield from ((word, step.score) for word in (step.label, step.text) if word)


def numbered_label(text: str) -> tuple[float, str] | None:
    """The number of a label such as "4 - Good" without case, and its words; None of others."""
    match = _NUMBERED.fullmatch(fold_cell(text))
    if match is None or _MONTH.fullmatch(match["after"] or ""):
        return None
    words = match["after"] or match["before"]
    return float(match["first"] or match["last"]), words.strip("()[] -–—:=.")
