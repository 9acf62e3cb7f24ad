"""Signs of how a reason was written, and which reasons are nearly the same."""

from math import exp, log
from random import Random

import pytest

from listening.review.items import Written, evidence_of, near_counts
from listening.review.shares import Odds

WORDS = (
    "the voice is flat and each word has equal weight while pauses come where no person breathes"
)


def written(text, trial=0, rater=1, keys=None, pasted=None, language="en"):
    return Written(trial, rater, text, language, len(text) if keys is None else keys, pasted)


def flags(text, **fields):
    return evidence_of([written(text, **fields)])[0].flags


@pytest.mark.medium
def test_signs_are_facts_about_the_text_and_how_it_came():
    assert flags("The rhythm is uneven at the end.") == set()
    assert flags("The rhythm is uneven.", pasted=15) == {"pasted"}
    assert flags("The rhythm is uneven.", keys=2) == {"untyped"}
    assert flags("robotic") == {"short"}
    assert flags("声音很平,没有停顿", keys=3, language="zh") == set()
    assert flags("The rhythm is uneven.", language="zh") == {"script"}
    assert flags("As an AI language model, I cannot hear.") == {"machine_like"}


@pytest.mark.medium
def test_another_language_is_told_where_it_is_sure_and_never_of_a_few_words():
    french = "Le rythme est trop régulier et la voix ne respire jamais entre les phrases"
    spanish = "El ritmo es muy uniforme y no respira nunca entre las frases"
    assert flags(french) == flags(spanish) == {"language"}
    assert flags(french, language="fr_CA") == set()
    assert flags("voice natural, good rhythm") == flags("asdf asdf asdf") == set()
    assert flags("The rhythm is too even, and no breath is taken.", language="xx-none") == set()
    assert flags("The rhythm is too even, and no breath is taken.", language="de") == {"language"}


def test_near_copies_are_counted_within_and_across_raters_and_short_ones_are_not():
    same = "The pauses are all in the wrong places here."
    rows = [
        written(same, 0, rater=1),
        written("the pauses are all in the wrong places here", 1, rater=1),
        written("The pauses are all in the wrong place here!", 2, rater=2),
        written("A breath before each sentence, as people do.", 3, rater=2),
        written("robotic", 4, rater=3),
        written("robotic", 5, rater=4),
    ]
    own, others = near_counts(rows)
    assert own == [1, 1, 0, 0, 0, 0]
    assert others == [1, 1, 2, 0, 0, 0]


@pytest.mark.medium
def test_of_pairs_with_one_letter_changed_nearly_all_are_found():
    rng, rows = Random(4), []
    for n in range(150):
        text = " ".join(rng.sample(WORDS.split(), 14))
        rows += [written(text, 2 * n, 1), written(text.replace("w", "v", 1), 2 * n + 1, 2)]
    _, others = near_counts(rows)
    assert sum(bool(each) for each in others) >= 290


def test_odds_of_a_sign_have_the_interval_of_woolf():
    from scipy.stats.contingency import odds_ratio

    odds, known = Odds(12, 5, 30, 60), odds_ratio([[12, 5], [30, 60]], kind="sample")
    assert odds.ratio == pytest.approx(known.statistic)
    assert odds.bounds == pytest.approx(tuple(known.confidence_interval(0.95)))
    assert (odds.corrected, odds.few) == (False, False)


def test_where_a_cell_is_empty_a_half_is_added_to_each_and_it_is_said():
    odds, half = Odds(3, 0, 20, 9), 1.959964 * (1 / 3.5 + 1 / 0.5 + 1 / 20.5 + 1 / 9.5) ** 0.5
    assert odds.ratio == pytest.approx(3.5 * 9.5 / (0.5 * 20.5))
    assert odds.bounds == pytest.approx([exp(log(odds.ratio) + s * half) for s in (-1, 1)])
    assert (odds.corrected, odds.few) == (True, True)
    assert (Odds(0, 4, 0, 9).ratio, Odds(0, 0, 3, 9).bounds) == (None, None)
