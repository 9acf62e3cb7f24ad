"""Vocalisations parsed, matched and counted, by hand and against a search of all matchings."""

import itertools
import random

import pytest

from metrics.core.vocalisations import (
    TYPES,
    Comparison,
    Vocalisation,
    VocalisationError,
    canonical,
    compare,
    controllability,
    coverage,
    parse,
    parse_marked,
)


def at(*pairs):
    return tuple(Vocalisation(name, place) for name, place in pairs)


def test_the_taxonomy_has_45_types_which_name_themselves():
    assert len(TYPES) == len(set(TYPES)) == 45
    assert [canonical(name) for name in TYPES] == list(TYPES)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("Laughs", "laugh"), ("clears throat", "throat clearing"), ("quick_breath", "quick breath"),
     ("LIP-SMACK", "lipsmack"), ("laughs harder", "laugh harder"), ("whistle", "whistle")],
)  # fmt: skip
def test_names_of_systems_are_the_taxonomys(name, wanted):
    assert canonical(name) == wanted


def test_markers_stand_at_the_words_before_them():
    text, found = parse_marked("Well, [laughs] I - did<sigh>. [cough]", "en")
    assert text == "Well, I - did ."
    assert found == at(("laugh", 1), ("sigh", 3), ("cough", 3))


def test_markers_stand_at_the_characters_before_them():
    text, found = parse_marked("我[laugh]，真的【叹气】好", "zh")
    assert text == "我，真的好"
    assert found == at(("laugh", 1), ("叹气", 3))


def test_a_marker_inside_a_word_of_no_spaces_parts_it_and_closing_markers_are_dropped():
    assert parse_marked("so<laughter>funny</laughter>now", "en") == (
        "so funny now",
        at(("laugh", 1)),
    )


def test_lists_hold_types_and_places():
    assert parse("laughs@3; Sigh @ 7,cough@?", "en") == at(
        ("laugh", 3), ("sigh", 7), ("cough", None)
    )


@pytest.mark.parametrize("text", ["", "none", "I did nothing.", "write to a@b.org; or not"])
def test_a_text_without_markers_holds_none(text):
    assert parse(text, "en") == ()


def test_a_broken_list_is_refused():
    with pytest.raises(VocalisationError, match="sigh@x"):
        parse("laugh@3; sigh@x", "en")


def test_beyond_the_tolerance_a_prediction_is_spurious_and_a_miss():
    near = controllability([compare(at(("laugh", 3)), at(("laugh", 5)), 10, tolerance=2)])
    far = controllability([compare(at(("laugh", 3)), at(("laugh", 5)), 10, tolerance=1)])
    assert (near.tp, near.fp, near.fn, near.distance) == (1, 0, 0, 0.2)
    assert (far.tp, far.fp, far.fn, far.distance) == (0, 1, 1, None)
    assert (far.precision, far.recall, far.f1) == (0.0, 0.0, 0.0)


def test_other_types_and_unplaced_ones_match_nothing():
    found = compare(at(("laugh", 3)), at(("sigh", 3), ("laugh", None)), 10, tolerance=5)
    assert (found.hits, len(found.missed), len(found.spurious)) == (0, 1, 2)


def test_one_prediction_serves_one_target():
    found = compare(at(("laugh", 3), ("laugh", 4)), at(("laugh", 4)), 10, tolerance=1)
    assert found.pairs == ((Vocalisation("laugh", 4), Vocalisation("laugh", 4)),)
    assert (len(found.missed), len(found.spurious)) == (1, 0)


def brute_force(target, predicted, tolerance):
    """(most pairs, least sum of distances among those matchings)."""
    best = (0, 0)
    shorter, longer = sorted((target, predicted), key=len)
    for chosen in itertools.permutations(longer, len(shorter)):
        apart = [
            abs(a.position - b.position)
            for a, b in zip(shorter, chosen, strict=True)
            if a.type == b.type and abs(a.position - b.position) <= tolerance
        ]
        best = max(best, (len(apart), -sum(apart)))
    return best


def test_matching_has_the_most_pairs_and_then_the_least_distance():
    rng = random.Random(5)
    for _ in range(150):
        target, predicted = (
            at(
                *(
                    (rng.choice(["laugh", "sigh"]), rng.randrange(9))
                    for _ in range(rng.randrange(5))
                )
            )
            for _ in range(2)
        )
        tolerance = rng.randrange(4)
        found = compare(target, predicted, 1, tolerance)
        apart = sum(abs(a.position - b.position) for a, b in found.pairs)
        assert (found.hits, -apart) == brute_force(target, predicted, tolerance)
        assert found.hits + len(found.missed) == len(target)
        assert found.hits + len(found.spurious) == len(predicted)


def test_a_condition_sums_counts_and_averages_distance_over_matched_utterances():
    found = controllability(
        [
            compare(at(("laugh", 3)), at(("laugh", 4)), 10),  # d/L = 0.1
            compare(at(("sigh", 0)), at(("sigh", 0)), 5),  # 0
            compare(at(("cough", 2)), (), 8),
            compare(at(("laugh", 1)), at(("laugh", 1), ("snort", None)), 20),  # 0
        ]
    )
    assert (found.tp, found.fp, found.fn) == (3, 1, 1)
    assert (found.precision, found.recall, found.f1) == (0.75, 0.75, 0.75)
    assert found.distance == pytest.approx(0.1 / 3)
    assert found.target_types == ("cough", "laugh", "sigh")
    assert found.hit_types == ("laugh", "sigh")


def test_nothing_asked_and_nothing_found_is_undefined():
    nothing = controllability([Comparison()])
    assert (nothing.precision, nothing.recall, nothing.f1, nothing.distance) == (None,) * 4
    assert compare(at(("laugh", 0)), at(("laugh", 0)), 0).distance is None


def test_coverage_counts_types_of_the_taxonomy_once():
    dia = "laughs,clears throat,sighs,gasps,coughs,groans,sniffs,inhales,exhales,burps,humming"
    assert coverage([*dia.split(","), "laughter", "clapping"]) == 11 / 45
    assert coverage(["laugh", "clapping"], n_types=10) == 0.2
