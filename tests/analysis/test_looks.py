"""Looks of a stop rule: made once each, on counted sessions, and the study ends by itself."""

import multiprocessing
import os
import random
import signal
import threading
import time
from collections import Counter
from datetime import timedelta
from unittest import mock

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections, transaction
from django.urls import reverse
from django.utils import timezone

from analysis.report.preregistration import preregistration_text
from analysis.report.writers.methods_text import methods_text
from analysis.web.first_runs import default_options
from analysis.web.look_jobs import make_look, make_looks
from analysis.web.study_tables import study_report
from listening.common.command_name import command
from listening.models import Block, Occurrence, Rater, Rating, Slot, Study, StudyEvent
from listening.notifications import watching
from listening.notifications.kinds import KINDS
from listening.selectors import (
    declared_state,
    due_looks,
    method_facts,
    stop_facts,
    study_progress,
    task_plans,
)
from listening.selectors.stop_rule import overdue_look
from listening.sessions import lifecycle
from listening.studies.stopped_systems import separable_tasks, stop_systems
from listening.studies.stopping import apply_budgets, committed_pay
from tests.config.helpers import wait_for
from tests.factories import an_answer, arrive, current, make_study

PARTS = ("stop_rule",)
pytestmark = pytest.mark.usefixtures("answer_alone")

LABELS = "12345"


def planned(stop, raters=20, conditions=2, items=4, **fields):
    """An open study, each rater hearing every clip once."""
    task = {
        "block_size": conditions * items,
        "ratings_per_stimulus": raters,
        "repeat_items": True,
    }
    return make_study(conditions=conditions, items=items, task=task, stop=stop, **fields)


def finish(session, means, shift=0.0, rng=None):
    rng = rng or random.Random(9)
    conditions = dict(session.trials.values_list("stimulus", "stimulus__condition__key"))
    while (trial := current(session)) is not None:
        score = means[conditions[trial.stimulus_id]] + shift + rng.gauss(0, 0.7)
        label = LABELS[min(max(round(score) - 1, 0), 4)]
        lifecycle.record_answer(session, an_answer(trial, label))


def rate(study, raters, means, seed=0):
    """Sessions whose answers lie around a mean of each condition."""
    rng = random.Random(seed)
    sessions = []
    for _ in range(raters):
        session = arrive(study)
        finish(session, means, rng.gauss(0, 0.3), rng)
        sessions.append(session)
    return sessions


FAR, SAME = {"cond-0": 1.5, "cond-1": 4.5}, {"cond-0": 3.0, "cond-1": 3.0}


@pytest.mark.slow
def test_a_clear_difference_ends_the_study(db):
    study = planned({"rule": "planned_looks", "looks": [0.6, 1.0]}, raters=10, items=8)
    rate(study, 5, FAR)
    assert due_looks() == []
    rate(study, 1, FAR, seed=1)
    arrive(study)
    (due,) = due_looks()
    assert (due["number"], due["planned"], due["in_progress"], due["last"]) == (1, 10, 1, False)
    assert make_looks() == [f"{study.key} 1"]
    assert make_looks() == []
    study.refresh_from_db()
    (look,) = study.looks.all()
    ((row,),) = [family["comparisons"] for family in look.families]
    assert (look.sessions, look.planned, look.in_progress) == (6, 10, 1)
    assert (row["condition"], row["versus"]) == ("cond-0", "cond-1")
    assert row["value"] < -2
    assert (row["verdict"], row["look"]) == ("significant", 1)
    assert (look.decision, study.state) == ("stop", "closed")
    events = StudyEvent.objects.filter(study_id=study.pk, by="stop rule").order_by("pk")
    assert [event.what for event in events] == ["looked", "closed"]
    assert events[0].details["ratings_sha256"] == look.data_sha256 != ""
    assert stop_facts(study.key)["by_rule"]


@pytest.mark.slow
def test_a_system_that_is_decided_receives_no_more_raters(db, client):
    stop = {"rule": "planned_looks", "looks": [0.6, 0.8, 1.0], "futility": False}
    study = planned(stop, raters=10, conditions=3, items=8)
    means = {"cond-0": 1.2, "cond-1": 3.4, "cond-2": 3.5}
    rate(study, 6, means)
    in_session, will_leave = arrive(study), arrive(study)
    assert make_looks() == [f"{study.key} 1"]
    (look,) = study.looks.all()
    assert look.decision == "go_on"
    assert look.separable == ["mos"]
    assert look.stopped == [{"task": "mos", "condition": "cond-0", "versus": ""}]
    assert StudyEvent.objects.get(what="looked").details["no_more_raters"] == "cond-0"
    finish(in_session, means)
    lifecycle.withdraw(will_leave)
    rate(study, 3, means, seed=4)
    heard = Counter(
        Rating.objects.filter(counts=True).values_list("stimulus__condition__key", flat=True)
    )
    assert heard == {"cond-0": 7 * 8, "cond-1": 10 * 8, "cond-2": 10 * 8}
    with pytest.raises(lifecycle.NoRoom):
        arrive(study)
    (task,) = study_progress(study.key)["tasks"]
    assert (task["planned"], task["rated"]) == (27 * 8, 27 * 8)
    client.force_login(study.owner)
    page = client.get(reverse("study", args=[study.key])).content.decode()
    assert '<th scope="col">No more raters for</th>' in page
    make_looks()
    study.refresh_from_db()
    assert (study.looks.last().decision, study.state) == ("end", "closed")
    _, report = study_report(study.key, default_options(study.key))
    (part,) = [each for each in report["parts"] if each["key"] == "stop_rule"]
    assert part["problem"] == ""
    words = (
        "cond-0 received no more raters after look 1 (6 sessions); sessions that began later were "
        "shorter."
    )
    assert words in part["sentences"]
    assert words in methods_text(report)
    adjusted = {(row["condition"], row["versus"]): row for row in part["tables"][2]["rows"]}
    assert adjusted["cond-0", "cond-1"]["verdict"] == "significant"
    assert adjusted["cond-1", "cond-2"]["verdict"] == "not significant"


@pytest.mark.slow
def test_a_person_may_be_asked_whether_a_system_stops(db, client):
    stop = {"rule": "planned_looks", "looks": [0.6, 0.8, 1.0], "futility": False, "act": "ask"}
    study = planned(stop, raters=10, conditions=3, items=8)
    rate(study, 6, {"cond-0": 1.2, "cond-1": 3.4, "cond-2": 3.5})
    make_looks()
    assert arrive(study).trials.count() == 3 * 8  # nothing stops unless somebody agrees
    client.force_login(study.owner)
    url = reverse("study", args=[study.key])
    assert "All comparisons of cond-0 are decided." in client.get(url).content.decode()
    state = reverse("study-state", args=[study.key])
    page = client.post(state, {"to": "stop-systems"}, follow=True).content.decode()
    assert "No more raters for cond-0." in page
    assert "are decided. If you stop" not in page
    assert arrive(study).trials.count() == 2 * 8
    (look,) = stop_facts(study.key)["made"]
    assert look["stopped"] == [{"task": "mos", "condition": "cond-0", "versus": ""}]
    event = StudyEvent.objects.get(study_id=study.pk, what="systems_stopped")
    assert (event.by, event.details["no_more_raters"]) == (study.owner.username, "cond-0")
    page = client.post(state, {"to": "stop-systems"}, follow=True).content.decode()
    assert "No system can be stopped now." in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "separable"),
    [
        ({}, ["mos"]),
        ({"block_size": 1}, []),
        ({"method": "mushra", "options": {"open_reference": False}}, []),
        ({"method": "preference", "options": {"pairs": "adaptive"}}, []),
    ],
)
def test_systems_stay_together_where_the_design_needs_them(db, task, separable):
    assert separable_tasks(make_study(task=task)) == separable


@pytest.mark.medium
def test_a_pair_stops_and_its_systems_go_on_in_others(db):
    study = make_study(task={"method": "cmos", "options": {"pairs": "all"}})
    pair = {"task": "cmos", "condition": "cond-1", "versus": "cond-0"}
    assert stop_systems(study, [pair]) == [pair]
    slots = Slot.objects.filter(task__study=study)
    stopped = slots.filter(is_stopped=True)
    assert stopped.count() == slots.count() / 3
    keys = {
        frozenset(s)
        for s in stopped.values_list("stimulus__condition__key", "versus__condition__key")
    }
    assert keys == {frozenset({"cond-0", "cond-1"})}
    rest = [pair | {"condition": "cond-2", "versus": versus} for versus in ("cond-0", "cond-1")]
    assert stop_systems(study, rest) == []  # nothing would be left to rate
    assert stopped.count() == slots.count() / 3


@pytest.mark.slow
def test_looks_that_came_due_together_are_one_and_futility_ends_it(db):
    study = planned({"rule": "planned_looks", "looks": 5, "difference": 1.5, "act": "ask"})
    rate(study, 13, SAME)
    make_looks()
    (look,) = study.looks.all()
    assert (look.number, look.sessions, look.decision) == (3, 13, "stop")
    assert look.families[0]["comparisons"][0]["verdict"] == "futile"
    study.refresh_from_db()
    assert study.state == "open"  # somebody decides
    rate(study, 3, SAME, seed=2)
    make_looks()
    assert [each.number for each in study.looks.all()] == [3, 4]


@pytest.mark.slow
def test_rejected_sessions_do_not_count_and_the_last_look_ends_it(db):
    study = planned({"rule": "planned_looks", "looks": [0.5, 1.0], "futility": False}, raters=8)
    first, *_ = rate(study, 5, SAME)
    lifecycle.reject(first, "did not listen")
    make_looks()
    (look,) = study.looks.all()
    assert (look.sessions, look.decision) == (4, "go_on")
    rate(study, 4, SAME, seed=3)
    make_looks()
    last = study.looks.last()
    assert (last.number, last.sessions, last.decision) == (2, 8, "end")
    study.refresh_from_db()
    assert study.state == "closed"


@pytest.mark.slow
def test_narrow_intervals_end_the_study(db):
    study = planned({"rule": "half_width", "target": 3.0, "looks": 2}, raters=8)
    rate(study, 4, SAME)
    make_looks()
    (look,) = study.looks.all()
    assert look.decision == "stop"
    assert look.families[0]["widest"] <= 3.0
    assert "at most the target of ± 3" in look.why


@pytest.mark.slow
def test_a_spent_budget_ends_the_study(db):
    payment = {"by": "us", "per_session": 2.5, "currency": "EUR"}
    study = planned({"rule": "budget", "amount": 10.0}, raters=8, payment=payment)
    rate(study, 2, SAME)
    arrive(study)
    Rater.objects.update(simulated=False)
    rate(study, 1, SAME)  # simulated raters cost nothing
    assert committed_pay(study) == (7.5, 2.5)
    assert apply_budgets() == 0  # exactly the budget is not more than it
    arrive(study)
    Rater.objects.update(simulated=False)
    assert apply_budgets() == 1
    study.refresh_from_db()
    (look,) = study.looks.all()
    assert study.state == "closed"
    assert look.why.startswith("Finished sessions and those in progress cost 12.50 EUR.")


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_of_several_workers_one_makes_the_look():
    study = planned({"rule": "planned_looks", "looks": 2}, raters=8)
    rate(study, 4, FAR)
    (due,) = due_looks()
    stored, start = [], threading.Barrier(4)

    def work():
        start.wait()
        try:
            stored.append(make_look(due))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(stored) == [False, False, False, True]
    assert study.looks.count() == 1
    assert StudyEvent.objects.filter(study_id=study.pk, what="looked").count() == 1


@pytest.mark.medium
def test_a_study_without_a_rule_has_no_looks(db):
    study = planned({}, raters=2)
    rate(study, 2, SAME)
    assert (due_looks(), make_looks(), stop_facts(study.key)) == ([], [], None)
    study.refresh_from_db()
    assert study.state == "open"


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_open_systems_get_what_was_planned_while_raters_come_at_once():
    study = planned({}, raters=24, conditions=3, items=2)
    start, stop_now = threading.Barrier(7), threading.Event()

    def listen(seed):
        start.wait()
        try:
            for turn in range(7):
                session = arrive(study)
                if turn == 1:
                    stop_now.set()
                finish(session, {f"cond-{n}": 3.0 for n in range(3)}, rng=random.Random(seed))
        except lifecycle.NoRoom:
            pass
        finally:
            connections.close_all()

    threads = [threading.Thread(target=listen, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    start.wait()
    assert stop_now.wait(60)
    cond_0 = {"task": "mos", "condition": "cond-0", "versus": ""}
    with transaction.atomic():
        assert stop_systems(study, [cond_0]) == [cond_0]
    for thread in threads:
        thread.join()
    counting = Rating.objects.filter(counts=True)
    heard = Counter(counting.values_list("stimulus__condition__key", flat=True))
    assert heard["cond-1"] == heard["cond-2"] == 24 * 2
    assert heard["cond-0"] < 24 * 2
    assert counting.values("slot").distinct().count() == counting.count()
    assert not Block.objects.exclude(state=Block.State.DONE).exists()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("means", "amid"),
    [
        (FAR, "listening.studies.stopping.close_study"),  # the look is written, the study open
        ({"cond-0": 1.2, "cond-1": 3.4, "cond-2": 3.5}, "listening.studies.stopping.note"),
    ],
)
def test_kill_9_amid_a_look_leaves_nothing_half_decided(means, amid):
    """In the second study the look has stopped the slots of a system, and a rater arrives."""
    stop = {"rule": "planned_looks", "looks": [0.6, 1.0], "futility": False}
    study = planned(stop, raters=10, conditions=len(means), items=8)
    rate(study, 6, means)
    connections.close_all()  # the other process has connections of its own
    context = multiprocessing.get_context("fork")
    is_amid = context.Event()
    process = context.Process(target=_hold_look, args=(amid, is_amid))
    process.start()
    assert is_amid.wait(60)
    assert process.pid is not None
    arrived = arrive(study) if len(means) > 2 else None  # no rater waits for a look
    os.kill(process.pid, signal.SIGKILL)
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    wait_for(lambda: not locked_studies())
    study.refresh_from_db()
    assert (study.state, study.looks.count()) == ("open", 0)
    assert not Slot.objects.filter(is_stopped=True).exists()
    assert not StudyEvent.objects.filter(study_id=study.pk, what="looked").exists()
    assert make_looks() == [f"{study.key} 1"]
    assert make_looks() == []
    assert StudyEvent.objects.filter(study_id=study.pk, what="looked").count() == 1
    study.refresh_from_db()
    assert study.state == ("open" if arrived else "closed")
    if arrived:
        assert arrived.trials.count() == 3 * 8  # what a rater in session was given stays
        assert arrive(study).trials.count() == 2 * 8


def _hold_look(amid, is_amid):
    """In a process of its own: a look whose transaction never gets past this function."""

    def hold(*_arguments, **_options):
        is_amid.set()
        time.sleep(600)

    with mock.patch(amid, hold):
        make_looks()


def locked_studies():
    """Whether a transaction that has changed something is still open."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND backend_xid IS NOT NULL"
        )
        return cursor.fetchone()[0]


@pytest.mark.medium
def test_a_look_that_fails_is_named_and_tried_again(db, client, monkeypatch):
    study = planned({"rule": "half_width", "target": 3.0, "looks": 2}, raters=4)
    client.force_login(study.owner)
    url = reverse("study", args=[study.key])
    rate(study, 2, SAME)
    assert "make_looks" not in client.get(url).content.decode()
    with monkeypatch.context() as patch:
        patch.setattr("analysis.report.looks.counted_input", lambda *_: 1 / 0)
        assert make_looks() == []
        study.refresh_from_db()
        since = study.look_problem["since"]
        assert due_looks() == []  # not every 30 seconds
        with pytest.raises(CommandError, match="failed: ZeroDivisionError"):
            call_command("make_looks", study.key)
        study.refresh_from_db()
        assert (study.look_problem["since"], study.look_problem["times"]) == (since, 2)
    page = client.get(url).content.decode()
    assert "failed on" in page
    assert "ZeroDivisionError: division by zero" in page
    assert f"<code>{command(f'make_looks {study.key}')}</code>" in page
    assert StudyEvent.objects.filter(study_id=study.pk, what="look_failed").count() == 1
    Study.objects.update(look_problem=study.look_problem | {"last": "2026-01-01T00:00:00+00:00"})
    assert make_looks() == [f"{study.key} 1"]
    study.refresh_from_db()
    assert (study.state, study.look_problem) == ("closed", {})


@pytest.mark.medium
def test_a_look_that_nobody_makes_is_named(db, client):
    study = planned({"rule": "half_width", "target": 3.0, "looks": 2}, raters=4)
    rate(study, 2, SAME)
    assert overdue_look(study) is None
    long_ago = timezone.now() - timedelta(hours=2)
    study.sessions.update(finished_at=long_ago)
    assert overdue_look(study) == {"number": 1, "since": long_ago, "what": ""}
    client.force_login(study.owner)
    page = client.get(reverse("study", args=[study.key])).content.decode()
    assert "has been due since" in page


@pytest.mark.slow
def test_the_report_shows_the_looks_and_adjusts_the_difference(db):
    study = planned({"rule": "planned_looks", "looks": [0.6, 1.0]}, raters=10, items=8)
    rate(study, 5, FAR)
    _, report = study_report(study.key, default_options(study.key))
    (part,) = [each for each in report["parts"] if each["key"] == "stop_rule"]
    assert "Look 1 of 2 is made at 6 complete sessions." in part["sentences"]
    rate(study, 1, FAR, seed=1)
    late = arrive(study)
    make_looks()
    study.refresh_from_db()
    assert study.state == "closed"
    finish(late, FAR)
    _, report = study_report(study.key, default_options(study.key))
    (part,) = [each for each in report["parts"] if each["key"] == "stop_rule"]
    assert part["problem"] == ""
    assert part["sentences"][0].startswith("The stop rule closed the study after 6 sessions.")
    looks, verdicts, adjusted = part["tables"]
    assert looks["rows"][0]["counted"] == "6 of 10"
    assert verdicts["rows"][0]["verdict"] == "significant"
    (row,) = adjusted["rows"]
    (contrast,) = [
        each
        for each in report["contrasts"]
        if each["interval"].startswith("two-way") and each["weighting"] == "ratings"
    ]
    assert row["plain"] == contrast["value"]  # seven sessions: the one that was late counts
    assert (row["value"], row["low"], row["high"], row["p"]) == pytest.approx(
        (contrast["value"], contrast["low"], contrast["high"], contrast["p"]), abs=1e-6
    )  # the look that stopped the study is part of the end, and there was none before
    assert row["verdict"] == "significant"
    assert part["warnings"]
    text = methods_text(report)
    assert "2 looks, with 6 and 10 complete sessions" in text
    assert "1 look was made" in text
    assert len(text.split()) <= 250
    words = preregistration_text(
        method_facts(study.key), task_plans(study.key), declared_state(study.key), []
    )
    assert "Recruiting stops when every comparison is significant or futile." in words


@pytest.mark.slow
def test_the_page_says_what_the_rule_found_and_closes_the_study(db, client, capsys):
    study = planned(
        {"rule": "planned_looks", "looks": [0.6, 1.0], "act": "ask"}, raters=10, items=8
    )
    client.force_login(study.owner)
    url = reverse("study", args=[study.key])
    page = client.get(url).content.decode()
    assert "Comparisons are tested when 6 and 10 sessions are complete." in page
    assert "If you do nothing" not in page
    rate(study, 6, FAR)
    call_command("make_looks", study.key)
    said = capsys.readouterr().out
    assert (
        said
        == f"Look 1 of “{study.key}”: Stop. Of 1 comparison, 1 significant, 0 futile, 0 open.\n"
    )
    call_command("make_looks")
    assert capsys.readouterr().out == "No look is due.\n"
    page = client.get(url).content.decode()
    assert "6 of 10" in page
    assert "If you do nothing" in page
    watching.look_if_stopped(study)
    occurrence = Occurrence.objects.get(study=study, event="study.stop_rule")
    assert not occurrence.facts["closed"]
    words = KINDS["study.stop_rule"].says(occurrence.facts)
    assert words.endswith("0 open. Close the study, or let it go on.")
    client.post(reverse("study-state", args=[study.key]), {"to": "closed"})
    study.refresh_from_db()
    assert study.state == "closed"
    assert "If you do nothing" not in client.get(url).content.decode()
