"""Tiers by both rules equal the reference's, hide no difference, and make none up."""

import itertools
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.comparisons.tiers import tiers_of
from tests.analysis.coded import expected

PLACES = [
    ("mos_s1", "lmm_isolation"),
    ("mos_s1", "lmm_isolation_simple"),
    ("mos_s2", "lmm_isolation"),
    ("mos_s2", "lmm_isolation_simple"),
    ("mushra_s1", "lmm"),
    ("att_s1", "lmm_att"),
]


def names_of(contrast):
    return tuple(name.strip("()") for name in contrast.split(" - "))


@pytest.mark.parametrize(("name", "fit"), PLACES)
def test_tiers_and_letters_are_the_references(name, fit):
    told = expected(name)["groups"][fit]
    values = {row["system"]: row["emmean"] for row in expected(name)[fit]["emmeans"]}
    p = {names_of(row["contrast"]): row["p.value"] for row in expected(name)[fit]["pairs_holm"]}
    found = tiers_of(values, p)
    assert list(found.order) == told["order"]
    assert [list(tier) for tier in found.leader_tiers] == told["tiers"]
    assert [list(group) for group in found.letter_groups] == told["letter_groups"]
    assert dict(found.letters) == told["letters"]


def test_two_sets_that_overlap_share_a_letter():
    p = {("a", "b"): 0.3, ("b", "c"): 0.2, ("a", "c"): 0.01}
    found = tiers_of({"a": 3.0, "b": 2.0, "c": 1.0}, p)
    assert found.leader_tiers == (("a", "b"), ("c",))
    assert found.tiers == (("a", "b", "c"),)
    assert found.letters == {"a": "a", "b": "ab", "c": "b"}
    turned = tiers_of({"a": 3.0, "b": 2.0, "c": 1.0}, p, low_is_best=True)
    assert turned.order == ("c", "b", "a")
    assert turned.leader_tiers == (("c", "b"), ("a",))
    assert turned.tiers == (("c", "b", "a"),)


def test_a_pair_without_a_test_is_told():
    found = tiers_of({"a": 1.0, "b": 0.0}, {("b", "a"): None})
    assert found.tiers == (("a", "b"),)
    assert found.note == "without a test, taken as not different: a and b"


def test_a_missing_pair_is_refused():
    with pytest.raises(Undefined, match="no comparison of a and c"):
        tiers_of({"a": 1.0, "b": 0.0, "c": 0.5}, {("a", "b"): 0.5, ("b", "c"): 0.5})


def test_one_condition_and_none_are_trivial():
    assert tiers_of({"a": 1.0}, {}).letters == {"a": "a"}
    assert tiers_of({}, {}).tiers == ()


def test_more_groups_than_letters_still_differ():
    names = [f"{i:03d}" for i in range(60)]
    values = {name: -float(name) for name in names}
    found = tiers_of(values, dict.fromkeys(combinations(names, 2), 0.0))
    assert len(set(found.letters.values())) == 60
    assert found.letters["059"] == "(60)"


@pytest.mark.slow
@given(st.integers(1, 7), st.data())
def test_two_share_a_letter_exactly_if_they_do_not_differ(n, data):
    names = "abcdefg"[:n]
    p = {pair: data.draw(st.sampled_from([0.01, 0.9])) for pair in combinations(names, 2)}
    found = tiers_of({name: float(-i) for i, name in enumerate(names)}, p)
    for (a, b), value in p.items():
        assert bool(set(found.letters[a]) & set(found.letters[b])) == (value > 0.05)
    groups = [set(group) for group in found.letter_groups]
    assert not any(one < other for one in groups for other in groups)
    for tiers in (found.tiers, found.leader_tiers):
        assert sorted(name for tier in tiers for name in tier) == list(names)
    tier_of = {name: n for n, tier in enumerate(found.tiers) for name in tier}
    for group in groups:
        assert len({tier_of[name] for name in group}) == 1, "a tier separates a letter"
    for above, below in itertools.pairwise(found.tiers):
        assert all(p[pair] < 0.05 for pair in itertools.product(above, below))
