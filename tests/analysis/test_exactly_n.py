"""After the default screening of a finished study every stimulus has exactly its N ratings."""

from collections import Counter

import pytest
from django.utils import timezone

from analysis.ratings.table import from_study
from analysis.statistics.screening.screened import DEFAULT, screen
from analysis.statistics.screening.single_ratings import NotCounted
from listening.models import Block, Session
from listening.sessions import leases, lifecycle
from tests.factories import ATT_TRAPS, answer_all, arrive, current, make_study

N = 2
TASK = {
    "method": "att",
    "key": "turing",
    "block_size": 10,
    "ratings_per_stimulus": N,
    "traps": ATT_TRAPS,
    "reopen_invalid": True,
}


@pytest.fixture
def study(db):
    return make_study(conditions=3, items=10, traps={"flawed": 2, "human": 4}, task=TASK)


def run_out_of_time(session: Session) -> None:
    leased = Block.objects.filter(session=session, state=Block.State.LEASED)
    leased.update(lease_until=timezone.now() - timezone.timedelta(seconds=1))
    assert leases.return_expired_leases() == 1


def leave_after_the_traps(session: Session) -> int:
    """Answer all but the last clip of a session that ends on a rated one; how many were rated."""
    count = session.trials.count()
    assert answer_all(session, stop_after=count - 1) == count - 1
    assert current(session).trap == ""
    return int(session.trials.filter(state="answered", trap="").count())


def finish(study) -> None:
    """Honest raters come until there is nothing left to rate."""
    task = study.tasks.get()
    for _ in range(60):
        if not Block.objects.filter(task=task).exclude(state=Block.State.DONE).exists():
            return
        answer_all(arrive(study))
    raise AssertionError("the study does not come to an end")


def ratings_per_stimulus(table) -> Counter:
    return Counter(table["stimulus"])


@pytest.mark.slow
def test_careless_raters_a_leaver_and_a_rejected_session_leave_exactly_n(study):
    careless = [arrive(study) for _ in range(2)]
    for session in careless:
        answer_all(session, pass_traps=False)
    leaver = arrive(study)
    answer_all(leaver, stop_after=6)
    run_out_of_time(leaver)
    rejected = arrive(study)
    answer_all(rejected)
    lifecycle.reject(rejected, "answered while the sound was off")
    finish(study)
    table = from_study(study.key)
    screened = screen(table, DEFAULT)
    assert ratings_per_stimulus(table[table["trap"] == ""]).total() > 3 * 10 * N
    kept = ratings_per_stimulus(screened.kept(DEFAULT))
    assert len(kept) == 30
    assert set(kept.values()) == {N}
    told = {row["rule"]: row["ratings_told"] for row in screened.counts()}
    assert told["session_status"] == 10
    assert told["att_traps"] >= 20


@pytest.mark.slow
def test_half_a_block_that_passed_its_traps_does_not_come_on_top(study):
    """No other column tells this one: the traps are passed and the session is not judged."""
    for _ in range(20):
        leaver = arrive(study)
        last = leaver.trials.order_by("position").last()
        if not last.trap:
            break
        answer_all(leaver)
    rated = leave_after_the_traps(leaver)
    run_out_of_time(leaver)
    finish(study)
    screened = screen(from_study(study.key), DEFAULT)
    others = [rule for rule in DEFAULT if rule != NotCounted()]
    assert set(ratings_per_stimulus(screened.kept(DEFAULT)).values()) == {N}
    assert set(ratings_per_stimulus(screened.kept(others)).values()) == {N, N + 1}
    told = {row["rule"]: row["ratings_told"] for row in screened.counts()}
    assert told["not_counted"] == rated == 9


@pytest.mark.slow
def test_the_leaver_who_comes_back_in_time_counts_again(study):
    leaver = arrive(study)
    answer_all(leaver, stop_after=6)
    run_out_of_time(leaver)
    assert set(from_study(study.key)["counts"]) == {False}
    lifecycle.refresh(leaver)
    answer_all(leaver)
    finish(study)
    table = from_study(study.key)
    assert table[table["trap"] == ""]["counts"].all()
    assert set(ratings_per_stimulus(screen(table).kept(DEFAULT)).values()) == {N}


@pytest.mark.medium
def test_traps_never_count(study):
    answer_all(arrive(study))
    table = from_study(study.key)
    assert not table[table["trap"] != ""]["counts"].any()
    assert set(table[table["trap"] != ""]["role"]) == {""}
    assert set(table[table["trap"] == ""]["role"]) == {"test"}
    assert table[table["trap"] == ""]["counts"].all()
