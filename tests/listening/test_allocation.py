"""500 raters at once, some leaving, late or rejected: exact counts, no repeats, no deadlock."""

import threading
import time
from collections import Counter, deque
from itertools import pairwise
from random import Random

import pytest
from django.db import connection, connections
from django.utils import timezone

from listening.models import Block, Rating, Session, Slot, Study, Trial
from listening.selectors import study_progress
from listening.sessions import allocation, leases, lifecycle, rejection
from listening.sessions.lifecycle import NoRoom
from listening.sessions.task_rules import Refused
from tests.config.helpers import PATIENCE_S
from tests.factories import (
    ATT_TRAPS,
    add_task,
    an_answer,
    answer_all,
    arrive,
    current,
    make_stimulus,
    make_study,
)


def counting(study: Study) -> Counter:
    """Counting ratings per task and stimulus."""
    rows = Rating.objects.filter(counts=True, slot__task__study=study)
    return Counter(rows.values_list("slot__task__key", "stimulus_id"))


def assert_exact(study: Study) -> None:
    for task in study.tasks.all():
        counts = [n for (key, _), n in counting(study).items() if key == task.key]
        assert set(counts) == {task.ratings_per_stimulus}
        assert len(counts) == Slot.objects.filter(task=task, replicate=0).count()
        assert set(task.blocks.values_list("state", flat=True)) == {Block.State.DONE}


def assert_no_repeats(study: Study) -> None:
    heard = Counter(
        Trial.objects.filter(
            session__study=study, state="answered", slot__isnull=False
        ).values_list("rater_id", "task_id", "meets")
    )
    assert max(heard.values()) == 1


@pytest.mark.slow
@pytest.mark.django_db
def test_a_study_filled_one_rater_after_another_is_exact_and_then_full():
    study = make_study(conditions=4, items=12, task={"block_size": 4, "ratings_per_stimulus": 3})
    raters = 0
    while Block.objects.filter(state=Block.State.OPEN).exists():
        answer_all(arrive(study))
        raters += 1
    assert raters == 4 * 12 * 3 / 4
    with pytest.raises(NoRoom, match="full"):
        arrive(study)
    assert_exact(study)
    assert_no_repeats(study)


@pytest.mark.django_db
@pytest.mark.medium
def test_a_rater_with_several_blocks_and_sessions_never_meets_an_item_twice():
    study = make_study(
        items=20,
        sessions_per_rater=3,
        task={"block_size": 5, "blocks_per_session": 2, "blocks_per_rater": 4},
    )
    first = arrive(study)
    assert answer_all(first) == 10
    second = arrive(study, rater=first.rater)
    assert second.pk != first.pk
    answer_all(second)
    taken = second.rater.trials.values("block").distinct().count()
    assert taken == 4
    assert_no_repeats(study)
    with pytest.raises(NoRoom, match="full"):  # the cap of four blocks
        arrive(study, rater=first.rater)


@pytest.mark.django_db
@pytest.mark.medium
def test_tasks_come_in_order_or_one_each_and_evenly():
    in_order = make_study(items=6, task={"block_size": 3})
    add_task(in_order, method="att", block_size=6)
    allocation.plan_study(in_order)
    session = arrive(in_order)
    tasks = [t.task.key for t in session.trials.order_by("position")]
    assert tasks == ["mos"] * 3 + ["att"] * 6
    one_each = make_study(items=6, task_plan="one", task={"block_size": 3})
    add_task(one_each, method="att", block_size=3)
    allocation.plan_study(one_each)
    given = Counter(arrive(one_each).trials.first().task.key for _ in range(10))
    assert given == {"mos": 5, "att": 5}


@pytest.mark.django_db
def test_how_far_a_long_task_is_shows_in_any_stretch_of_its_queue(monkeypatch):
    study = make_study(items=40, task={"block_size": 2, "ratings_per_stimulus": 5})
    task = study.tasks.get()
    blocks = task.blocks.count()
    assert blocks == 300
    assert allocation.open_share(task.pk, Random(1)) == 1.0
    session = arrive(study)
    done = Block.objects.filter(pk__in=task.blocks.filter(state=0).order_by("pk")[:224])
    done.update(state=1, session=session, lease_until=timezone.now())
    assert allocation.open_share(task.pk, Random(1)) == 0.25
    monkeypatch.setattr(allocation, "SAMPLE", 100)
    seen = [allocation.open_share(task.pk, Random(k)) for k in range(200)]
    assert len(set(seen)) > 5
    assert sum(seen) / len(seen) == pytest.approx(0.25, abs=0.05)


@pytest.mark.django_db
def test_a_rater_who_arrives_again_is_in_the_same_session():
    study = make_study()
    first = arrive(study, prolific_id="5f0", simulated=False)
    again = arrive(study, prolific_id="5f0", simulated=False)
    assert again == first
    answer_all_simulated(first)
    assert arrive(study, prolific_id="5f0", simulated=False) == first  # finished: still the same


def answer_all_simulated(session: Session) -> None:
    session.rater.simulated = True
    session.rater.save()
    answer_all(session)


@pytest.mark.django_db
@pytest.mark.parametrize(("state", "reason"), [("draft", "not_open"), ("paused", "paused")])
def test_a_study_that_is_not_open_takes_nobody(state, reason):
    study = make_study()
    Study.objects.update(state=state)
    study.refresh_from_db()
    with pytest.raises(NoRoom) as no_room:
        arrive(study)
    assert no_room.value.reason == reason


@pytest.mark.django_db
@pytest.mark.medium
def test_withdrawal_reopens_places_that_others_completed():
    study = make_study(conditions=1, items=5, task={"ratings_per_stimulus": 1})
    first = arrive(study)
    answer_all(first, stop_after=2)
    Block.objects.update(lease_until=timezone.now() - timezone.timedelta(seconds=1))
    second = arrive(study)  # finds the lease run out by itself
    assert answer_all(second) == 3
    assert_exact(study)
    lifecycle.withdraw(first)
    assert Block.objects.get().state == Block.State.OPEN
    assert answer_all(arrive(study)) == 2
    assert_exact(study)


@pytest.mark.django_db
def test_simulated_raters_are_deleted_with_all_that_they_gave():
    study = make_study()
    human = arrive(study, simulated=False)
    answer_all(arrive(study))
    assert lifecycle.delete_simulated(study) == 1
    assert list(study.sessions.all()) == [human]
    assert Rating.objects.count() == 0
    assert Block.objects.filter(state=Block.State.DONE).count() == 0


GOLDEN = (5**0.5 - 1) / 2


class Crowd:
    """Many raters at once: each is a generator, and threads give them a step in turn."""

    def __init__(self, study: Study, seed: int) -> None:
        self.study, self.rng, self.lock = study, Random(seed), threading.Lock()
        self.raters: deque = deque()
        self.seen: Counter = Counter()
        self.errors: list[BaseException] = []
        self.full = threading.Event()

    def rater(self, number: int):
        kind = number * GOLDEN % 1  # evenly spread, whoever comes first
        for _ in range(number // 8):  # one after another, so that late ones find leases run out
            yield
        try:
            session = arrive(self.study)
        except NoRoom:
            self.full.set()
            self.seen["no room"] += 1
            return
        self.seen["sessions"] += 1
        leaves_at = self.rng.randrange(1, 9) if kind < 0.12 else None
        returns = kind < 0.06
        step = 0
        while (trial := current(session)) is not None:
            if step == leaves_at:
                self.seen["left"] += 1
                if not returns:
                    self.run_out(session)
                    return
                yield from self.away(session)
                self.seen["came back"] += 1
            if self.rng.random() < 0.02:
                self.run_out(session)
                self.seen["lapsed"] += 1
            step += 1
            label = trial.expected[0] if trial.trap and self.rng.random() < 0.95 else ""
            try:
                lifecycle.record_answer(session, an_answer(trial, label))
            except Refused as refused:
                self.seen[refused.code] += 1
                lifecycle.refresh(session)
            yield
        if 0.12 <= kind < 0.15:
            yield from self.judged(session, back=kind < 0.135)
        elif 0.15 <= kind < 0.16:
            lifecycle.withdraw(session)
            self.seen["withdrew"] += 1

    def judged(self, session, *, back: bool):
        lifecycle.reject(session, "a test of rejection")
        self.seen["rejected"] += 1
        if back:
            yield  # others may take its places
            rejection.restore_sessions([session.pk])
            self.seen["restored"] += 1

    def away(self, session):
        self.run_out(session)
        for _ in range(20):  # meanwhile all others take so many steps
            yield

    def run_out(self, session) -> None:
        """The lease is as if its time had passed."""
        leased = Block.objects.filter(session=session, state=Block.State.LEASED)
        leased.update(lease_until=timezone.now() - timezone.timedelta(seconds=1))

    def work(self) -> None:
        try:
            while True:
                with self.lock:
                    if not self.raters:
                        return
                    rater = self.raters.popleft()
                if next(rater, self) is not self:
                    self.raters.append(rater)
        except BaseException as error:
            self.errors.append(error)
        finally:
            connections.close_all()

    def run(self, count: int, threads: int) -> None:
        self.raters.extend(self.rater(n) for n in range(count))
        workers = [threading.Thread(target=self.work, daemon=True) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(4 * PATIENCE_S)
        assert not any(worker.is_alive() for worker in workers), "a deadlock"


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("raters", "conditions", "items", "each"),
    [(56, 4, 20, 5), pytest.param(500, 8, 40, 13, marks=pytest.mark.soak)],
)
def test_many_raters_at_once_leave_exactly_n_valid_ratings_everywhere(
    capsys, raters, conditions, items, each
):
    study = make_study(
        conditions=conditions,
        items=items,
        traps={"flawed": 3, "human": 5},
        task={
            "method": "att",
            "block_size": 10,
            "ratings_per_stimulus": each,
            "traps": ATT_TRAPS,
            "reopen_invalid": True,
        },
    )
    crowd = Crowd(study, seed=3)
    start = time.monotonic()
    crowd.run(raters, threads=24)
    late = 0
    while not crowd.full.is_set() or Block.objects.exclude(state=Block.State.DONE).exists():
        assert late < raters, "the study does not fill"
        crowd.run(20, threads=8)
        late += 20
    took_s = time.monotonic() - start
    assert crowd.errors == []
    assert_exact(study)
    assert_no_repeats(study)
    assert crowd.seen["left"] > raters / 25
    assert crowd.seen["rejected"] > raters / 100
    assert crowd.seen["restored"] > raters / 200
    stored = Rating.objects.count()
    with capsys.disabled():
        print(f"\n{raters} raters at once: {dict(crowd.seen)}; {stored} ratings in {took_s:.0f} s")


@pytest.mark.django_db
@pytest.mark.medium
def test_the_order_of_the_queue_tells_nothing_about_the_plan():
    study = make_study(conditions=4, items=40, task={"ratings_per_stimulus": 10})
    queue = list(
        Block.objects.filter(task__study=study).order_by("ord").values_list("pk", flat=True)
    )
    neighbours = sum(abs(a - b) == 1 for a, b in pairwise(queue))
    assert len(queue) > 300
    assert neighbours < 12  # 2 are expected of a random order


@pytest.mark.django_db
def test_slots_of_pairs_are_planned_once_per_replicate_with_both_orders():
    study = make_study(conditions=3, items=6, task={"method": "cmos", "block_size": 3})
    slots = Slot.objects.filter(task__study=study)
    assert slots.count() == 3 * 6 * 2
    orders = Counter(slots.values_list("stimulus", "versus", "versus_first"))
    assert set(orders.values()) == {1}  # each pair once in each order


@pytest.mark.django_db
def test_a_comparison_is_stored_as_the_condition_against_the_other():
    study = make_study(conditions=2, items=6, task={"method": "cmos", "block_size": 6})
    session = arrive(study)
    for trial in session.trials.order_by("position"):
        lifecycle.record_answer(session, an_answer(trial, "2"))
        score = Rating.objects.get(trial=trial).score
        assert score == (2 if trial.versus_first else -2)  # “the second is better by 2”


@pytest.mark.django_db
def test_material_named_by_conditions_and_dimensions_only_is_rated():
    study = make_study()
    extra = study.conditions.get(key="cond-0")
    item = study.items.create(key="other", dimension="chat")
    make_stimulus(study, extra, item)
    task = add_task(
        study,
        method="att",
        material={"conditions": ["cond-0"], "dimensions": ["chat"]},
        block_size=1,
    )
    allocation.plan_study(study)
    assert {s.stimulus.item for s in task.slots.all()} == {item}


@pytest.mark.django_db
def test_what_was_not_drawn_and_later_runs_are_not_rated():
    study = make_study(conditions=2, items=3)
    task, items = study.tasks.get(), list(study.items.order_by("pk"))
    task.material = {"draw": {"of": "items", "drawn": [items[0].key, items[2].key]}}
    study.stimuli.filter(item=items[2], condition__key="cond-1").update(run=2)
    rated = {(ref.item, ref.condition) for ref in allocation.material_of(task)}
    first, last = items[0].pk, items[2].pk
    assert rated == {(first, "cond-0"), (first, "cond-1"), (last, "cond-0")}
    one = study.stimuli.get(item=items[1], condition__key="cond-0")
    task.material = {"draw": {"of": "clips", "drawn": [one.key]}}
    assert [ref.pk for ref in allocation.material_of(task)] == [one.pk]


@pytest.mark.django_db
def test_of_pairs_only_the_drawn_are_planned():
    first = [["item-0", "cond-0 ~ cond-1"], ["item-0", "cond-1 ~ cond-2"]]
    drawn = [*first, ["item-1", "cond-0 ~ cond-2"]]
    material = {"draw": {"of": "pairs", "drawn": drawn}}
    task = {"method": "cmos", "block_size": 2, "material": material}
    task = make_study(conditions=3, items=2, task=task).tasks.get()
    pairs = {
        (slot.stimulus.item.key, f"{slot.stimulus.condition.key} ~ {slot.versus.condition.key}")
        for slot in task.slots.all()
    }
    assert pairs == set(map(tuple, drawn))


@pytest.mark.django_db
def test_a_block_at_the_very_end_of_the_queue_is_claimed():
    study = make_study(conditions=2, items=2, task={"ratings_per_stimulus": 1})
    Block.objects.filter(task__study=study).update(ord=2**31 - 1)
    session = arrive(study)
    assert session.trials.exists()


@pytest.mark.django_db
@pytest.mark.medium
def test_claims_walk_the_index_not_the_table():
    study = make_study(conditions=6, items=50, task={"ratings_per_stimulus": 20})
    with connection.cursor() as cursor:
        cursor.execute(
            f"EXPLAIN {allocation.CLAIM}",
            {
                **{"task": study.tasks.get().pk, "session": 1, "lease_s": 60},
                **{"met": [], "low": 5, "high": 2**31},
            },
        )
        plan = "\n".join(row[0] for row in cursor.fetchall())
        cursor.execute("SET LOCAL enable_seqscan = off")  # of so few blocks all would be read
        cursor.execute(f"EXPLAIN SELECT id FROM listening_block WHERE {leases.RAN_OUT}")
        expiry = "\n".join(row[0] for row in cursor.fetchall())
    assert "block_open" in plan
    assert "block_leased" in expiry


@pytest.mark.django_db
def test_progress_of_a_comparison_is_told_per_pair():
    study = make_study(conditions=3, items=4, task={"method": "cmos", "block_size": 4})
    answer_all(arrive(study))
    (task,) = study_progress(study.key)["tasks"]
    pairs = {c["condition"]: (c["planned"], c["rated"]) for c in task["conditions"]}
    assert list(pairs) == ["cond-0 ~ cond-1", "cond-0 ~ cond-2", "cond-1 ~ cond-2"]
    assert {planned for planned, _ in pairs.values()} == {8}
    assert sum(rated for _, rated in pairs.values()) == 4
