"""A session's trials laid out: practice first, traps with what passes them, repeats at the end."""

from random import Random
from typing import Any

import pytest

from listening.design.traps import TrapPlan, passing_labels
from listening.methods import method_named
from listening.methods.method import Scale, Step
from listening.models import Block, Criterion, Rating, Session, Stimulus, Study, Trial
from listening.sessions import allocation, leases, lifecycle
from tests.factories import add_task, an_answer, answer_all, arrive, current, make_study

pytestmark = pytest.mark.django_db

TRAINING = [
    {"stimulus": "trap_training-1", "expected": ["5"], "right": "Just so.", "wrong": "Not so."},
    {"stimulus": "trap_training-0"},
]


def gold(**fields: Any) -> dict[str, Any]:
    kind = {"kind": "gold", "count": 2, "expected": ["5"], "pass_at_least": 1, **fields}
    return {"placement": "outside", "per": 5, "kinds": [kind]}


def of_kind(session: Session, trap: str) -> list[Trial]:
    return list(session.trials.filter(trap=trap).order_by("position"))


# --- Training ------------------------------------------------------------------------------------


def trained_study(**fields: Any) -> Study:
    task = {"training": TRAINING, "traps": gold(), "blocks_per_rater": 2}
    return make_study(traps={"gold": 4, "training": 2}, task=task, sessions_per_rater=3, **fields)


def test_practice_comes_first_in_the_order_of_the_study():
    session = arrive(trained_study())
    first = list(session.trials.order_by("position"))
    assert [t.trap for t in first[:2]] == ["training", "training"]
    assert [t.stimulus.key for t in first[:2]] == ["trap_training-1", "trap_training-0"]
    assert [t.slot for t in first[:2]] == [None, None]
    assert not [t for t in first[2:] if t.trap == "training"]
    assert [t.position for t in first] == list(range(1, 2 + 5 + 2 + 1))


@pytest.mark.medium
def test_a_rater_practises_a_task_once():
    study = trained_study()
    first = arrive(study)
    answer_all(first)
    again = arrive(study, rater=first.rater)
    assert again.pk != first.pk
    assert of_kind(again, "training") == []
    assert len(of_kind(arrive(study), "training")) == 2


def lose_first_block(session: Session) -> Block:
    """Its lease runs out, somebody else gets it, and the rater comes back."""
    first = session.trials.order_by("position")[0].block
    leases.give_back([first.pk])
    other = arrive(session.study)
    lifecycle.withdraw(other)
    other.status = Session.Status.STARTED
    other.save()
    Block.objects.filter(pk=first.pk).update(
        state=Block.State.LEASED, session=other, lease_until="2999-01-01T00:00Z"
    )
    lifecycle.refresh(session)
    return first


def test_practice_that_was_lost_with_its_block_comes_with_the_next_one():
    session = arrive(trained_study())
    lose_first_block(session)
    planned = session.trials.filter(state="planned").order_by("position")
    assert [t.trap for t in planned][:3].count("training") == 2


@pytest.mark.medium
def test_practice_that_was_answered_before_a_block_was_lost_does_not_come_again():
    session = arrive(trained_study())
    for label in ("5", "1", "3"):
        lifecycle.record_answer(session, an_answer(current(session), label))
    lose_first_block(session)
    assert not session.trials.filter(state="planned", trap="training").exists()
    assert session.trials.filter(state="planned").exists()


def test_every_task_has_its_own_practice():
    study = trained_study()
    add_task(study, key="second", training=[TRAINING[1]])
    allocation.plan_study(study)
    trials = arrive(study).trials.order_by("position")
    assert [t.task.key for t in trials.filter(trap="training")] == ["mos", "mos", "second"]
    second = [t.trap for t in trials.filter(task__key="second")]
    assert second == ["training", "", "", "", "", ""]


@pytest.mark.parametrize(
    ("label", "right", "text"), [("5", True, "Just so."), ("2", False, "Not so.")]
)
def test_practice_is_answered_with_the_words_of_the_study(label, right, text):
    session = arrive(trained_study())
    answer = an_answer(current(session), label)
    for repeat in (False, True):  # the first reply may be lost on its way
        stored = lifecycle.record_answer(session, answer)
        assert stored.repeat == repeat
        assert stored.feedback == {"right": right, "text": text, "expected": ["Excellent"]}
    stored = lifecycle.record_answer(session, an_answer(current(session), "1"))
    assert stored.feedback == {"right": None, "text": "", "expected": []}
    stored = lifecycle.record_answer(session, an_answer(current(session), "1"))
    assert stored.feedback is None


@pytest.mark.medium
def test_practice_fills_no_place_and_judges_no_block():
    study = trained_study()
    study.tasks.update(reopen_invalid=True)
    session = arrive(study)
    while (trial := current(session)) is not None:
        label = {"training": "1", "gold": "5"}.get(trial.trap, "3")
        lifecycle.record_answer(session, an_answer(trial, label))
    practice = Rating.objects.filter(trial__trap="training")
    assert practice.count() == 2
    assert not practice.exclude(counts=False, slot=None).exists()
    assert Rating.objects.filter(counts=True).count() == 5
    assert Block.objects.filter(state=Block.State.DONE).count() == 1


# --- Repeats -------------------------------------------------------------------------------------


def repeating(repeats: int, **fields: Any) -> Session:
    task = {"block_size": 4, "blocks_per_session": 2, "blocks_per_rater": 2, "repeats": repeats}
    return arrive(make_study(items=12, task={**task, **fields}))


def shown(trial: Trial) -> tuple[Any, ...]:
    return (trial.stimulus_id, trial.versus_id, trial.versus_first, *trial.others, trial.item_id)


def test_repeats_stand_at_the_end_and_are_drawn_from_the_first_half():
    session = repeating(3)
    trials = list(session.trials.order_by("position"))
    rated, again = trials[:8], trials[8:]
    assert all(t.slot_id for t in rated)
    assert [(t.slot_id, t.meets, t.trap, t.task_id) for t in again] == [
        (None, None, "", rated[0].task_id)
    ] * 3
    assert len({shown(t) for t in again}) == 3
    assert {shown(t) for t in again} <= {shown(t) for t in rated[:4]}


def test_a_repeated_comparison_has_the_order_of_the_first_time():
    session = repeating(4, method="cmos", options={"versus": "cond-0"})
    trials = list(session.trials.order_by("position"))
    assert {shown(t) for t in trials[8:]} <= {shown(t) for t in trials[:8]}
    assert {t.versus_first for t in trials[:8]} == {True, False}


@pytest.mark.parametrize(("asked", "given"), [(0, 0), (6, 6), (50, 8)])
def test_there_are_as_many_repeats_as_asked_and_never_more_than_trials(asked, given):
    session = repeating(asked)
    assert session.trials.count() == 8 + given


@pytest.mark.medium
def test_repeats_are_stored_and_never_count():
    session = repeating(3)
    assert answer_all(session) == 11
    assert session.status == "finished"
    assert Rating.objects.filter(counts=True).count() == 8
    assert Rating.objects.filter(counts=False, slot=None).count() == 3
    assert Rating.objects.count() == 11
    assert Block.objects.filter(state=Block.State.DONE).count() == 2


@pytest.mark.medium
def test_a_block_that_takes_the_place_of_a_lost_one_brings_no_more_repeats():
    session = repeating(3)
    first = lose_first_block(session)
    planned = session.trials.filter(state="planned").order_by("position")
    assert [t for t in planned if t.block_id == first.pk] == []
    assert (planned.filter(slot__isnull=False).count(), planned.count()) == (8, 8 + 3)


# --- What passes a trap --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "tolerance", "passing"),
    [
        ({}, 0, ["5"]),
        ({}, 1, ["4", "5"]),
        ({"step": 0.5}, 1, ["4", "4.5", "5"]),
        ({"step": 0.5}, 0.4, ["5"]),
    ],
)
def test_a_gold_trap_is_passed_within_its_tolerance(options, tolerance, passing):
    task = {"options": options, "traps": gold(tolerance=tolerance)}
    study = make_study(traps={"gold": 2}, task=task)
    for trial in of_kind(arrive(study), "gold"):
        assert trial.expected == passing
    labels = study.tasks.get().criteria.get().scale["steps"]
    outcomes = {label["label"]: passed_with(study, label["label"]) for label in labels}
    assert [label for label, passed in outcomes.items() if passed] == passing


def passed_with(study: Study, label: str) -> bool:
    """What an answer to the first trap comes to; nobody keeps a place."""
    session = arrive(study)
    while (trial := current(session)).trap != "gold":
        lifecycle.record_answer(session, an_answer(trial))
    lifecycle.record_answer(session, an_answer(trial, label))
    trial.refresh_from_db()
    lifecycle.withdraw(session)
    return bool(trial.trap_passed)


def test_what_a_row_expects_stands_above_what_its_kind_expects():
    study = make_study(traps={"gold": 2}, task={"traps": gold(tolerance=0)})
    own = Stimulus.objects.get(key="trap_gold-0")
    own.attributes = {"expected": " 1 | 2 "}
    own.save()
    found = {t.stimulus.key: t.expected for t in of_kind(arrive(study), "gold")}
    assert found == {"trap_gold-0": ["1", "2"], "trap_gold-1": ["5"]}


def test_a_trap_is_judged_on_the_criterion_that_its_kind_names():
    study = make_study(traps={"gold": 2}, task={"traps": gold(criterion="absence")})
    scale = Scale((Step("no", 0.0), Step("yes", 1.0)))
    Criterion.objects.create(
        task=study.tasks.get(), key="absence", order=1, question="?", scale=scale.as_dict()
    )
    study.tasks.update(traps=gold(criterion="absence", expected=["yes"]))
    session = arrive(study)
    assert {tuple(t.expected) for t in of_kind(session, "gold")} == {("yes",)}
    answers = iter(["yes", "no"])
    while (trial := current(session)) is not None:
        second = next(answers) if trial.trap else "no"
        answer = an_answer(trial, "1")
        lifecycle.record_answer(
            session, type(answer)(**{**vars(answer), "labels": {"0": "1", "1": second}})
        )
    assert [t.trap_passed for t in of_kind(session, "gold")] == [True, False]


def test_a_label_without_a_number_passes_only_where_it_is_expected():
    scale = Scale((Step("bad", 0.0), Step("good", 1.0), Step("no idea", None)))
    assert passing_labels(scale, ["bad"]) == ["bad"]
    assert passing_labels(scale, ["bad"], 1.0) == ["bad", "good"]
    assert passing_labels(scale, ["no idea"]) == ["no idea"]


# --- Traps that compare --------------------------------------------------------------------------

PAIRS = [
    ("cmos", {}, "2", 1.0),
    pytest.param("cmos", {}, "0", 0.0, marks=pytest.mark.soak),
    pytest.param("preference", {}, "-2", 0.0, marks=pytest.mark.soak),
    ("ccr", {"reference": "cond-0"}, "-3", 1.0),
    ("ab", {"tie": True}, "A", 0.0),
    pytest.param("ab", {}, "B", 0.0, marks=pytest.mark.soak),
    ("abx", {}, "A", 0.0),
]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "options", "expected", "tolerance"), PAIRS)
def test_a_comparing_trap_passes_in_both_orders_just_when_the_stored_score_is_near(
    method, options, expected, tolerance
):
    """Two traps a session; sessions take one label after the other until both orders had all."""
    options = options if "reference" in options else {"versus": "cond-0", **options}
    task = {"method": method, "options": options, "ratings_per_stimulus": 20}
    traps = gold(expected=[expected], tolerance=tolerance)
    study = make_study(conditions=2, items=5, traps={"gold": 2}, task={**task, "traps": traps})
    versus = Stimulus.objects.get(key="cond-0_item-0")
    Stimulus.objects.filter(key="trap_gold-0").update(attributes={"versus": versus.key})
    scale = Scale.from_dict(study.tasks.get().criteria.get().scale)
    wanted = scale.score(expected) or 0.0
    seen: set[tuple[str, bool]] = set()
    for number in range(10 * len(scale.labels)):
        session = arrive(study)
        left = 0
        for trial in of_kind(session, "gold"):
            own = versus.pk if trial.stimulus.key == "trap_gold-0" else trial.stimulus_id
            assert trial.versus_id == own
            left += 1
        label = scale.labels[number % len(scale.labels)]
        while left and (trial := current(session)) is not None:  # what follows traps tells nothing
            lifecycle.record_answer(session, an_answer(trial, label if trial.trap else ""))
            left -= bool(trial.trap)
        for trial in of_kind(session, "gold"):
            if trial.state == "answered":
                score = trial.ratings.get().score
                assert score is not None
                assert trial.trap_passed is (abs(score - wanted) <= tolerance)
                seen.add((label, trial.versus_first))
        lifecycle.withdraw(session)
        if len(seen) == 2 * len(scale.labels):
            return
    raise AssertionError(f"only {sorted(seen)} came up")


@pytest.mark.parametrize("method", ["cmos", "ab"])
def test_the_two_orders_of_one_trap_expect_opposite_answers(method):
    scale = method_named(method).scale({})
    best = scale.labels[-1] if method == "cmos" else "A"

    def passing(versus_first: bool) -> list[str]:
        turned = method_named(method).stored_score
        return passing_labels(
            scale, [best], 0.0, lambda s: turned(s, versus_first=versus_first, rng=Random(1))
        )

    assert passing(True) != passing(False)
    assert len(passing(True)) == len(passing(False)) == 1


def test_a_plan_in_the_database_says_what_it_said_in_the_folder():
    plan = TrapPlan.from_dict(gold(tolerance=0.5, criterion="absence"))
    (kind,) = plan.kinds
    assert (kind.tolerance, kind.criterion, kind.expected) == (0.5, "absence", ("5",))
