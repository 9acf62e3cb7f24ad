"""Planned blocks: exact counts, balance in every block, uniform places, orders and sequences."""

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from listening.design.blocks import even_chunks, plan_blocks
from listening.design.traps import TrapPlan, draw_traps, weave
from listening.methods import PlannedTrial, StimulusRef, method_named
from tests.factories import ATT_TRAPS

LEVEL = 1e-4  # seeded, so these never flake: a true failure is far below


def material(items: int, conditions: int) -> list[PlannedTrial]:
    refs = [
        StimulusRef(pk=i * 100 + c, item=i, condition=f"c{c}")
        for i in range(items)
        for c in range(conditions)
    ]
    return list(method_named("mos").trials(refs, {}))


designs = st.tuples(st.integers(1, 12), st.integers(1, 9), st.integers(1, 14), st.integers(1, 4))


@pytest.mark.medium
@given(designs, st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_every_stimulus_is_planned_exactly_n_times_and_items_do_not_repeat(design, seed):
    items, conditions, block_size, ratings_per_stimulus = design
    blocks = list(
        plan_blocks(
            material(items, conditions),
            block_size=block_size,
            ratings_per_stimulus=ratings_per_stimulus,
            seed=seed,
        )
    )
    counts = Counter((s.trial.rated, b.replicate) for b in blocks for s in b.slots)
    assert set(counts.values()) == {1}
    assert len(counts) == items * conditions * ratings_per_stimulus
    for block in blocks:
        assert len(block.slots) <= block_size
        assert len({s.trial.item for s in block.slots}) == len(block.slots)
        columns = Counter(s.trial.column for s in block.slots)
        rarest = min(columns[f"c{c}"] for c in range(conditions))
        assert max(columns.values()) - rarest <= 1


@pytest.mark.parametrize("repeat_items", [False, True])
def test_blocks_of_scattered_cells_are_full_and_each_cell_comes_once(repeat_items):
    chosen = Random(3).sample(material(60, 8), 90)
    for seed in range(5):
        blocks = list(
            plan_blocks(
                chosen,
                block_size=10,
                ratings_per_stimulus=2,
                seed=seed,
                repeat_items=repeat_items,
                scattered=True,
            )
        )
        counts = Counter((s.trial.rated, b.replicate) for b in blocks for s in b.slots)
        assert set(counts.values()) == {1}
        assert len(counts) == 180
        assert [len(block.slots) for block in blocks] == [10] * 18
        for block in blocks:
            columns = Counter(s.trial.column for s in block.slots)
            assert max(columns.values()) <= 4
            if not repeat_items:
                assert len({s.trial.item for s in block.slots}) == 10


@pytest.mark.medium
@given(designs, st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_with_repeated_items_no_stimulus_repeats_and_blocks_stay_balanced(design, seed):
    items, conditions, block_size, ratings_per_stimulus = design
    trials = material(items, conditions)
    blocks = list(
        plan_blocks(
            trials,
            block_size=block_size,
            ratings_per_stimulus=ratings_per_stimulus,
            seed=seed,
            repeat_items=True,
        )
    )
    counts = Counter((s.trial.rated, b.replicate) for b in blocks for s in b.slots)
    assert set(counts.values()) == {1}
    assert len(counts) == len(trials) * ratings_per_stimulus
    for block in blocks:
        assert len({s.trial.rated for s in block.slots}) == len(block.slots)
        for axis in ("item", "column"):
            uses = Counter(getattr(s.trial, axis) for s in block.slots)
            assert max(uses.values()) <= -(-len(block.slots) // len(uses)) + 1


def test_the_same_seed_plans_the_same_and_another_seed_does_not():
    trials = material(10, 4)
    plans = [
        list(plan_blocks(trials, block_size=5, ratings_per_stimulus=2, seed=seed))
        for seed in (7, 7, 8)
    ]
    assert plans[0] == plans[1]
    assert plans[0] != plans[2]


def test_missing_cells_leave_shorter_blocks_but_exact_counts():
    trials = [t for t in material(6, 3) if (t.item + len(t.column)) % 4]
    blocks = list(plan_blocks(trials, block_size=3, ratings_per_stimulus=2, seed=3))
    counts = Counter(s.trial.rated for b in blocks for s in b.slots)
    assert set(counts.values()) == {2}
    assert len(counts) == len(trials)


def test_both_orders_of_every_pair_are_balanced_to_within_one():
    refs = [StimulusRef(i * 10 + c, i, f"c{c}") for i in range(7) for c in range(3)]
    trials = list(method_named("cmos").trials(refs, {}))
    for ratings_per_stimulus in (2, 5):
        blocks = list(
            plan_blocks(trials, block_size=4, ratings_per_stimulus=ratings_per_stimulus, seed=5)
        )
        swapped = Counter()
        by_column: dict[str, list[bool]] = {}
        for slot in (s for b in blocks for s in b.slots):
            swapped[slot.trial.rated, slot.trial.versus] += slot.versus_first
            by_column.setdefault(slot.trial.column, []).append(slot.versus_first)
        assert {n - ratings_per_stimulus / 2 for n in swapped.values()} <= {-0.5, 0, 0.5}
        for orders in by_column.values():
            assert abs(2 * sum(orders) - len(orders)) <= 1


def test_places_of_conditions_and_their_sequences_are_uniform():
    conditions, places, follows = 5, Counter(), Counter()
    for seed in range(40):
        for block in plan_blocks(material(20, 5), block_size=5, ratings_per_stimulus=2, seed=seed):
            columns = [s.trial.column for s in block.slots]
            places.update(zip(columns, range(5), strict=True))
            follows.update(pairwise(columns))
    assert len(places) == conditions * 5
    assert chisquare(list(places.values())).pvalue > LEVEL
    assert len(follows) == conditions * (conditions - 1)  # never twice in a row: each comes once
    assert chisquare(list(follows.values())).pvalue > LEVEL


@pytest.mark.medium
def test_trap_places_are_uniform_and_their_number_exact():
    plan = TrapPlan.from_dict(ATT_TRAPS)
    pool = {"flawed": [101, 102], "human": [201, 202, 203]}
    rng, places, orders = Random(11), Counter(), Counter()
    for _ in range(4000):
        traps = draw_traps(plan, pool, set(), 1, rng, Counter(), ())
        woven = weave(list(range(10)), [f"{kind.kind}" for kind, _ in traps], 1, rng)
        kinds = [x for x in woven if isinstance(x, str)]
        assert sorted(kinds) == ["flawed", "human", "human"]
        assert [x for x in woven if not isinstance(x, str)] == list(range(10))
        places.update(k for k, x in enumerate(woven) if isinstance(x, str))
        orders.update([tuple(kinds)])
    assert len(places) == 13
    assert chisquare(list(places.values())).pvalue > LEVEL
    assert chisquare(list(orders.values())).pvalue > LEVEL


def test_each_set_of_a_long_block_has_its_own_traps():
    plan = TrapPlan.from_dict({**ATT_TRAPS, "placement": "inside"})
    assert (plan.rated_per_set, plan.sets_for(14)) == (7, 2)
    traps = draw_traps(plan, {"flawed": [1], "human": [2, 3]}, set(), 2, Random(1), Counter(), ())
    woven = weave(["clip"] * 14, ["trap" for _ in traps], 2, Random(2))
    assert woven[:10].count("trap") == 3
    assert woven[10:].count("trap") == 3


def test_a_trap_kind_without_stimuli_is_an_error():
    with pytest.raises(ValueError, match="flawed"):
        draw_traps(TrapPlan.from_dict(ATT_TRAPS), {"human": [1]}, set(), 1, Random(1), {}, ())


@given(st.integers(0, 60), st.integers(1, 20))
@pytest.mark.medium
def test_even_chunks_keep_everything_and_differ_by_one_at_most(length, size):
    chunks = list(even_chunks(list(range(length)), size))
    assert [x for c in chunks for x in c] == list(range(length))
    assert all(len(c) <= size for c in chunks)
    if chunks:
        assert max(map(len, chunks)) - min(map(len, chunks)) <= 1


def test_steady_chunks_give_a_rater_disjoint_blocks_in_every_replicate():
    blocks = list(
        plan_blocks(
            material(12, 3), block_size=4, ratings_per_stimulus=5, seed=9, steady_chunks=True
        )
    )
    chunks = {frozenset(s.trial.item for s in b.slots) for b in blocks}
    assert len(chunks) == 3
    assert sum(map(len, chunks)) == 12
