"""Every method of the registry keeps the contract: scales, trials, parts, orders, words, plans."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from listening.design.blocks import plan_blocks
from listening.methods import Method, PlannedTrial, Scale, StimulusRef, method_named
from listening.methods.item_groups import TOGETHER, ItemsError
from listening.methods.method import MARKS

ROLES = {"anchor": "anchor", "flite": "test", "human": "reference", "slt": "test"}
OPTIONS: dict[str, dict[str, Any]] = {"free_choice": {"choices": ["music", "speech", "noise"]}}
KEYS = sorted(Method.registry)
AFTER_REFERENCE = ("dcr", "smos", "speaker_similarity")
PAIRED = ("cmos", "preference", "ccr", "ab", "abx", "bs1116", *AFTER_REFERENCE)
SEVERAL = ("best_worst", "mushra", "rank")


def material(items: int = 4) -> list[StimulusRef]:
    return [
        StimulusRef(pk=100 * item + n, item=item, condition=condition, role=role)
        for item in range(1, items + 1)
        for n, (condition, role) in enumerate(sorted(ROLES.items()))
    ]


def scales(key: str) -> list[Scale]:
    method, options = method_named(key), OPTIONS.get(key, {})
    own = [criterion[2] for criterion in method.default_criteria] or [{}]
    return [method.scale({**options, **each}) for each in own]


def planned(key: str) -> list[PlannedTrial]:
    return list(method_named(key).trials(material(), OPTIONS.get(key, {})))


def some_label(scale: Scale) -> str:
    return scale.labels[0] if scale.labels else "1"


@pytest.mark.parametrize("key", KEYS)
def test_a_scale_comes_back_from_the_database_as_it_was(key: str) -> None:
    for scale in scales(key):
        assert Scale.from_dict(scale.as_dict()) == scale


@pytest.mark.parametrize("key", KEYS)
def test_a_scale_takes_its_labels_and_nothing_else(key: str) -> None:
    for scale in scales(key):
        for step in scale.steps:
            if scale.widget != MARKS or step.apart:  # else a step is the kind of a mark
                assert scale.score(step.label) == step.score
        for wrong in ("", " ", "99999", "-1000", "nan", "inf", "1e0", "٣", "Human ", "-0"):
            if wrong not in scale.labels and not (scale.longest and wrong.strip()):
                with pytest.raises(ValueError, match=r"scale|float"):
                    scale.score(wrong)


@pytest.mark.parametrize("key", KEYS)
def test_labels_and_hotkeys_are_there_once(key: str) -> None:
    for scale in scales(key):
        assert len(set(scale.labels)) == len(scale.labels)
        hotkeys = [step.hotkey for step in scale.steps if step.hotkey]
        assert len(set(hotkeys)) == len(hotkeys)


@pytest.mark.parametrize("key", KEYS)
def test_parts_name_every_stimulus_of_a_trial_once(key: str) -> None:
    method = method_named(key)
    for trial in planned(key):
        wanted = [*trial.rated, *([trial.versus] if trial.versus is not None else [])]
        for seed in range(20):
            for versus_first in (False, True):
                parts = method.parts(trial, versus_first=versus_first, rng=Random(seed))
                again = {"abx": "X", "bs1116": "Reference"}.get(key)  # it is there twice
                shown = [p.stimulus for p in parts if p.name != again]
                assert sorted(shown) == sorted(wanted)
                rated = [p.stimulus for p in parts if p.role == "rated"]
                assert sorted(rated) == sorted(wanted if key == "bs1116" else trial.rated)
                assert len({p.name for p in parts}) == len(parts)


@pytest.mark.parametrize("key", KEYS)
def test_what_is_heard_before_a_trial_comes_first_and_is_not_rated(key: str) -> None:
    method = method_named(key)
    trial = replace(planned(key)[0], context=(7, 8))
    parts = method.parts(trial, versus_first=True, rng=Random(1))
    assert [(p.stimulus, p.role) for p in parts[:2]] == [(7, "context"), (8, "context")]
    assert "context" not in [p.role for p in parts[2:]]


@pytest.mark.parametrize("key", KEYS)
def test_the_same_draw_gives_the_same_parts_and_the_same_score(key: str) -> None:
    method, trial = method_named(key), planned(key)[0]
    for seed in ("a", "b", "c"):
        parts = [method.parts(trial, versus_first=False, rng=Random(seed)) for _ in range(2)]
        scores = [method.stored_score(1.0, versus_first=False, rng=Random(seed)) for _ in range(2)]
        assert parts[0] == parts[1]
        assert scores[0] == scores[1]


@pytest.mark.parametrize("key", KEYS)
def test_an_answer_without_a_number_stays_without_one(key: str) -> None:
    for versus_first in (False, True):
        rng = Random("x")
        assert method_named(key).stored_score(None, versus_first=versus_first, rng=rng) is None


@pytest.mark.parametrize("key", KEYS)
def test_trials_hold_every_cell_once_and_name_its_column(key: str) -> None:
    method, options = method_named(key), OPTIONS.get(key, {})
    trials = planned(key)
    cells = Counter((t.item, t.column) for t in trials)
    columns = method.columns(material(), options)
    assert set(cells.values()) == {1}
    assert {column for _, column in cells} == set(columns)
    assert len(cells) == 4 * len(columns)
    assert (columns == [TOGETHER]) == (key in SEVERAL)


@pytest.mark.parametrize("key", KEYS)
def test_a_method_can_be_planned_in_blocks_that_balance_both_orders(key: str) -> None:
    trials = planned(key)
    blocks = list(plan_blocks(trials, block_size=4, ratings_per_stimulus=2, seed=5))
    slots = [slot for block in blocks for slot in block.slots]
    assert Counter(slot.trial for slot in slots) == Counter(dict.fromkeys(trials, 2))
    if key in PAIRED:
        assert sum(slot.versus_first for slot in slots) == len(trials)


@pytest.mark.parametrize("key", KEYS)
def test_ratings_belong_to_as_many_clips_as_are_rated(key: str) -> None:
    for trial in planned(key):
        assert (len(trial.rated) > 1) == (key in SEVERAL), "add it to SEVERAL above, or remove it"
        compares = key in (*PAIRED, "mushra")
        assert (trial.versus is not None) == compares, "add it to PAIRED above, or remove it"


@pytest.mark.parametrize("key", KEYS)
def test_a_pair_of_the_same_clip_can_be_a_trap(key: str) -> None:
    method = method_named(key)
    trap = PlannedTrial(1, "", (5,), 5)
    parts = method.parts(trap, versus_first=True, rng=Random(3))
    assert {p.stimulus for p in parts} == {5}
    assert [p.role for p in parts].count("rated") == (2 if key == "bs1116" else 1)


@pytest.mark.parametrize("key", KEYS)
def test_a_method_has_words_for_everything(key: str) -> None:
    method = method_named(key)
    assert all((method.title, method.estimand, method.standard, method.default_question))
    for criterion in method.default_criteria:
        name, question, options = criterion
        assert name.isidentifier()
        assert question.endswith(("?", "."))
        method.scale({**OPTIONS.get(key, {}), **options})


def test_estimands_are_distinct() -> None:
    estimands = [method.estimand for method in Method.registry.values()]
    assert len(set(estimands)) == len(estimands)


@pytest.mark.parametrize("key", ["mos", "att", "cmos", "dcr", "ab", "abx", "mushra", "p835"])
@pytest.mark.parametrize("names", ["good", ["a"], {"1": 2}])
def test_words_that_are_no_table_of_words_are_refused(key: str, names: Any) -> None:
    with pytest.raises(ValueError, match="names is a table of words"):
        method_named(key).scale({"names": names})


@pytest.mark.parametrize("key", ["cmos", "preference", "ccr"])
def test_the_better_clip_gets_a_score_above_0_in_both_orders(key: str) -> None:
    method = method_named(key)
    scale = method.scale({})
    trial = planned(key)[0]
    for versus_first in (False, True):
        parts = method.parts(trial, versus_first=versus_first, rng=Random(1))
        second_is_rated = parts[1].role == "rated"
        label = "2" if second_is_rated else "-2"  # the rated one is better
        stored = method.stored_score(scale.score(label), versus_first=versus_first, rng=Random(1))
        assert stored == 2.0
        assert method.presented_first(versus_first=versus_first) == parts[0].role


def test_a_tie_of_a_comparison_is_0_and_not_minus_0() -> None:
    stored = method_named("cmos").stored_score(0.0, versus_first=False, rng=Random(1))
    assert str(stored) == "0.0"


def test_ab_stores_1_for_the_condition_wherever_it_stands() -> None:
    method = method_named("ab")
    scale = method.scale({"tie": True})
    trial = planned("ab")[0]
    for versus_first in (False, True):
        parts = method.parts(trial, versus_first=versus_first, rng=Random(1))
        assert [p.name for p in parts] == ["A", "B"]
        for label in ("A", "B"):
            chosen = next(p for p in parts if p.name == label)
            stored = method.stored_score(
                scale.score(label), versus_first=versus_first, rng=Random(1)
            )
            assert stored == float(chosen.role == "rated")
        tied = method.stored_score(scale.score("tie"), versus_first=versus_first, rng=Random(1))
        assert tied == 0.5


@pytest.mark.medium
def test_abx_tells_right_from_wrong_and_x_is_each_equally_often() -> None:
    method = method_named("abx")
    scale, trial = method.scale({}), planned("abx")[0]
    seen: Counter[tuple[bool, str]] = Counter()
    for seed in range(1000):
        for versus_first in (False, True):
            code = f"t{seed}"
            a, b, x = method.parts(trial, versus_first=versus_first, rng=Random(code))
            assert [p.name for p in (a, b, x)] == ["A", "B", "X"]
            truth = "A" if x.stimulus == a.stimulus else "B"
            assert x.stimulus == {"A": a, "B": b}[truth].stimulus
            for label in ("A", "B"):
                stored = method.stored_score(
                    scale.score(label), versus_first=versus_first, rng=Random(code)
                )
                assert stored == float(label == truth)
            seen[versus_first, truth] += 1
    for versus_first in (False, True):
        assert abs(seen[versus_first, "A"] - 500) < 65  # 4.1 standard deviations, seeded


@pytest.mark.parametrize("key", AFTER_REFERENCE)
def test_an_open_reference_is_first_in_both_orders(key: str) -> None:
    method = method_named(key)
    for trial in planned(key):
        for versus_first in (False, True):
            first, second = method.parts(trial, versus_first=versus_first, rng=Random(1))
            assert (first.stimulus, first.role) == (trial.versus, "reference")
            assert (second.stimulus, second.role) == (trial.rated[0], "rated")
            assert method.presented_first(versus_first=versus_first) == "versus"


@pytest.mark.parametrize("key", ["smos", "speaker_similarity"])
def test_the_prompt_of_the_item_comes_first_and_is_called_so(key: str) -> None:
    method = method_named(key)
    prompts = [StimulusRef(100 * item + 50, item, "voice", "prompt") for item in range(1, 5)]
    trials = list(method.trials([*material(), *prompts], {}))
    assert {t.column for t in trials} == set(ROLES)  # the recording with the role reference too
    assert all(t.versus == 100 * t.item + 50 for t in trials)
    parts = method.parts(trials[0], versus_first=False, rng=Random(1))
    assert [p.name for p in parts] == ["Prompt", "Clip"]


@pytest.mark.parametrize("key", [key for key in KEYS if key not in AFTER_REFERENCE])
def test_no_other_method_plays_a_prompt(key: str) -> None:
    prompts = [StimulusRef(100 * item + 50, item, "voice", "prompt") for item in range(1, 5)]
    method, options = method_named(key), OPTIONS.get(key, {})
    assert list(method.trials([*material(), *prompts], options)) == planned(key)
    assert "voice" not in " ".join(method.columns([*material(), *prompts], options))


@pytest.mark.parametrize("role", ["prompt", "reference"])
def test_items_without_a_prompt_are_named(role: str) -> None:
    clips = [ref for ref in material() if ref.role == "test"]
    extra = [StimulusRef(50, 1, "voice", role)]
    with pytest.raises(ItemsError, match=f"3 of 4 items have no {role}") as error:
        list(method_named("smos").trials([*clips, *extra], {}))
    assert error.value.items == (2, 3, 4)


@pytest.mark.parametrize("key", SEVERAL)
def test_clips_of_one_screen_stand_in_every_order_whatever_their_condition(key: str) -> None:
    method, trial = method_named(key), planned(key)[0]
    places: Counter[tuple[str, int]] = Counter()
    orders = set()
    for seed in range(2400):
        parts = method.parts(trial, versus_first=bool(seed % 2), rng=Random(f"t{seed}"))
        rated = [p for p in parts if p.role == "rated"]
        assert [p.name for p in rated] == ["A", "B", "C", "D"]
        orders.add(tuple(p.stimulus for p in rated))
        places.update((p.name, p.stimulus) for p in rated)
    assert len(orders) == 24
    assert len(places) == 16
    assert all(abs(count - 600) < 90 for count in places.values())  # 4.2 standard deviations


def test_bs1116_stores_both_grades_and_their_difference_wherever_the_object_stands() -> None:
    method = method_named("bs1116")
    scale = method.scale({})
    places: Counter[str] = Counter()
    for block in plan_blocks(planned("bs1116"), block_size=4, ratings_per_stimulus=2, seed=3):
        for slot in block.slots:
            trial, first = slot.trial, slot.versus_first
            reference, *pair = method.parts(trial, versus_first=first, rng=Random(1))
            assert (reference.stimulus, reference.role) == (trial.versus, "reference")
            labels = ["3.4" if p.stimulus == trial.rated[0] else "5" for p in pair]
            scores = [scale.score(label) for label in labels]
            answer = method.joined_answer(labels, scores, versus_first=first)
            assert answer == ("3.4|5", -1.6)
            swapped = method.joined_answer(labels[::-1], scores[::-1], versus_first=first)
            assert swapped == ("5|3.4", 1.6)  # the reference was taken for the object
            places[next(p.name for p in pair if p.stimulus == trial.versus)] += 1
    assert places["A"] == places["B"]


def test_bs1116_wants_a_5_for_one_of_the_two() -> None:
    method = method_named("bs1116")
    method.check_labels(["5", "5"])
    with pytest.raises(ValueError, match="must have the grade 5"):
        method.check_labels(["4.9", "4.8"])
    assert "5.0" in method.labels_refused
