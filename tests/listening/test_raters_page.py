"""The table of raters, one rater's page, and what is decided about many at once."""

import re
from datetime import timedelta

import numpy as np
import pytest
from django.db import connection
from django.http import QueryDict
from django.utils import timezone

from listening.models import (
    Block,
    Rater,
    Rating,
    Session,
    SessionSummary,
    StudyEvent,
    Trial,
)
from listening.models.study_log import note
from listening.sessions import lifecycle, rejection, session_summaries
from listening.web.researcher.raters_plot import raters_plot
from listening.web.researcher.raters_table import raters_table, rows_of
from tests.factories import (
    ATT_TRAPS,
    an_answer,
    answer_all,
    arrive,
    current,
    make_study,
    make_user,
)
from tests.listening.test_researcher_pages import messages_of, page_of, person_took, words_of
from tests.own_cache import empty_cache

pytestmark = pytest.mark.django_db
RATERS_PAGE, JUDGE = "/studies/voices/raters/", "/studies/voices/raters/judge/"


@pytest.fixture(autouse=True)
def _empty_cache():
    empty_cache()


@pytest.fixture
def study():
    return make_study(key="voices")


@pytest.fixture
def owner(client, study):
    client.force_login(study.owner)
    return client


def found(study, query: str) -> list[int]:
    """The sessions that the table shows, in its order."""
    shown = raters_table(study, sees_ids=True).read(rows_of(study), QueryDict(query))
    assert not shown.ignored
    return [session.pk for session in shown.page]


def judge(owner, to: str, *chosen, reason: str = "slept", **fields):
    pks = [session.pk for session in chosen]
    form = {"session": pks, "to": to, "reason": reason, **fields}
    return owner.post(JUDGE, form, follow=True)


# --- The table -----------------------------------------------------------------------------------


@pytest.mark.medium
def test_a_row_shows_state_device_trials_traps_and_time(owner, study):
    session = person_took(study, device="phone")
    text = words_of(page_of(owner, RATERS_PAGE))
    assert f"{session.rater.code} finished phone 5 / 5 – – 1.0 s –" in text
    assert "1 session" in text


@pytest.mark.medium
def test_a_session_whose_places_went_to_others_is_shown_as_dropped_out(owner, study):
    session = arrive(study)
    Block.objects.filter(session=session).update(state=0, session=None, lease_until=None)
    code = session.rater.code
    assert code in page_of(owner, f"{RATERS_PAGE}?state=expired")
    assert code not in page_of(owner, f"{RATERS_PAGE}?state=started")
    assert f"{code} dropped out" in words_of(page_of(owner, RATERS_PAGE))


@pytest.mark.medium
def test_the_table_filters_and_sorts_by_what_sessions_came_to(study):
    slow, quick, new = (arrive(study, device=device) for device in ("phone", "desktop", "phone"))
    for session, latency in ((slow, 9000), (quick, 1200)):
        while (trial := current(session)) is not None:
            lifecycle.record_answer(session, an_answer(trial, latency_ms=latency))
    Rater.objects.filter(pk=quick.rater_id).update(simulated=False)
    session_summaries.bring_up_to_date(study.pk)
    assert found(study, "sort=time") == [quick.pk, slow.pk, new.pk]  # none comes last
    assert found(study, "sort=-time") == [slow.pk, quick.pk, new.pk]
    assert found(study, "below=5") == [quick.pk]
    assert found(study, "device=phone&state=finished") == [slow.pk]
    assert found(study, "who=people") == [quick.pk]
    assert found(study, f"q={slow.rater.code[4:9]}") == [slow.pk]
    assert found(study, f"q=s{new.pk}") == [new.pk]


def test_what_of_the_address_is_not_understood_narrows_nothing_and_is_named(owner, study):
    session = arrive(study)
    html = page_of(owner, f"{RATERS_PAGE}?below=fast&state=gone&sort=shoes&page=x")
    text = words_of(html)
    assert session.rater.code in text
    assert "Time per trial below (s) “fast” narrows nothing: type a number." in text
    assert "State “gone” narrows nothing: choose one of in progress, finished," in text
    assert "There is no column “shoes” to sort by." in text


@pytest.mark.medium
def test_every_column_sorts_and_every_filter_narrows_without_a_fault(study):
    answer_all(arrive(study))
    session_summaries.bring_up_to_date(study.pk)
    table = raters_table(study, sees_ids=True)
    for column in table.columns:
        for sign in ("", "-"):
            assert found(study, f"sort={sign}{column.name}")
    for each in table.filters:
        for value in [value for value, _ in each.choices] or ["1"]:
            found(study, f"{each.name}={value}")


@pytest.mark.medium
def test_ids_of_participants_are_shown_and_searched_by_whom_may_see_them_only(client, study):
    session = arrive(study, prolific_id="5f1c0a", prolific_session="subm-9", simulated=False)
    one = f"{RATERS_PAGE}{session.pk}/"
    client.force_login(study.owner)
    for url in (RATERS_PAGE, one, f"{RATERS_PAGE}?q=5f1c0a"):
        assert "5f1c0a</code>" in page_of(client, url)
    client.force_login(make_user("root", is_superuser=True, is_staff=True))
    for url in (RATERS_PAGE, one):
        assert "5f1c0a" not in page_of(client, url)
        assert session.code not in page_of(client, url)
    assert session.rater.code not in page_of(client, f"{RATERS_PAGE}?q=5f1c0a")
    for url in (f"rater/{session.rater_id}/change/", f"session/{session.pk}/change/", "session/"):
        html = page_of(client, f"/admin/listening/{url}")
        assert "5f1c0a" not in html
        assert session.code not in html


@pytest.mark.medium
def test_many_sessions_come_in_pages_with_few_queries(owner, study, django_assert_max_num_queries):
    for _ in range(52):
        Session.objects.create(study=study, rater=Rater.objects.create())
    page_of(owner, RATERS_PAGE)  # counts them
    with django_assert_max_num_queries(10):
        second = page_of(owner, f"{RATERS_PAGE}?page=2&state=expired")
    assert "51–52 of 52 sessions" in second
    assert "?state=expired&amp;page=1" in second


def test_more_rows_than_can_be_paged_are_said_to_be_more(study, monkeypatch):
    for _ in range(4):
        arrive(study)
    table = raters_table(study, sees_ids=False)
    object.__setattr__(table, "most", 3)
    shown = table.read(rows_of(study), QueryDict(""))
    assert (shown.page.paginator.count, shown.page.paginator.is_capped) == (3, True)
    assert len(list(shown.page)) == 3


@pytest.mark.medium
def test_the_csv_holds_what_the_filters_leave_and_is_logged(owner, study):
    session = person_took(study)
    Session.objects.filter(pk=session.pk).update(rejected_because="=1+1")
    arrive(study)
    answer = owner.get("/studies/voices/raters.csv?state=finished")
    head, row = b"".join(answer).decode().splitlines()
    assert head.startswith("session,rater,state,rejected_because,")
    assert row.startswith(f"s{session.pk},{session.rater.code},finished,'=1+1,")
    assert StudyEvent.objects.get(what="exported").details["filters"] == "state=finished"
    assert owner.get("/studies/voices/raters.csv?state=lost").status_code == 400


# --- What sessions came to -----------------------------------------------------------------------


@pytest.mark.medium
def test_agreement_is_the_correlation_with_the_means_of_the_others():
    """Against numpy; a rejected session is nobody's other, and has others itself."""
    study = make_study(key="same", items=10, conditions=1, task={"block_size": 10})
    given = {}
    scores = ([1, 2, 3, 4, 5, 5, 4, 3, 2, 1], [1, 3, 2, 4, 5, 4, 4, 3, 1, 2])
    for labels in scores:
        session = arrive(study)
        items = sorted(session.trials.values_list("item__key", flat=True))
        for trial in session.trials.order_by("position"):
            label = str(labels[items.index(trial.item.key)])
            lifecycle.record_answer(session, an_answer(trial, label))
        given[session.pk] = labels
    first, second = given
    session_summaries.count_sessions([first, second])
    expected = float(np.corrcoef(scores[0], scores[1])[0, 1])
    for pk in given:
        summary = SessionSummary.objects.get(pk=pk)
        assert summary.agreement == pytest.approx(expected)
        assert summary.shared == 10
    rejection.reject_sessions([second], "slept")
    session_summaries.count_sessions([first, second])
    assert SessionSummary.objects.get(pk=first).agreement is None  # no other is left
    assert SessionSummary.objects.get(pk=second).agreement == pytest.approx(expected)


@pytest.mark.medium
def test_figures_are_counted_again_when_a_session_goes_on_ends_or_others_rate(study):
    session = arrive(study)
    answer_all(session, stop_after=2)
    assert session_summaries.bring_up_to_date(study.pk) == 0
    assert SessionSummary.objects.get(pk=session.pk).answered == 2
    answer_all(session)
    assert session_summaries.bring_up_to_date(study.pk) == 0
    assert SessionSummary.objects.get(pk=session.pk).answered == 5
    assert session_summaries.stale_sessions(study.pk) == []
    long_ago = timezone.now() - timedelta(hours=1)
    SessionSummary.objects.update(made_at=long_ago)
    Session.objects.update(finished_at=long_ago - timedelta(hours=1))
    assert session_summaries.count_stale_summaries() == [
        "voices"
    ]  # answers came after the figures were made
    assert session_summaries.count_stale_summaries() == []
    Trial.objects.update(answered_at=long_ago - timedelta(hours=1))
    session_summaries.count_sessions([session.pk])
    SessionSummary.objects.update(made_at=long_ago)
    assert session_summaries.count_stale_summaries() == []  # nothing changed since
    note(study, "rejected", "somebody", raters=["r-another"])
    assert session_summaries.count_stale_summaries() == ["voices"]


@pytest.mark.medium
def test_more_sessions_than_a_page_waits_for_are_said_to_be_counted_later(
    owner, study, monkeypatch
):
    monkeypatch.setattr(session_summaries, "AT_ONCE", 2)
    for _ in range(3):
        arrive(study)
    assert "figures of 1 session are still being updated" in words_of(page_of(owner, RATERS_PAGE))


@pytest.mark.medium
def test_a_withdrawal_takes_its_figures_along(study):
    session = arrive(study)
    answer_all(session)
    session_summaries.bring_up_to_date(study.pk)
    lifecycle.withdraw(session)
    assert not SessionSummary.objects.exists()


def test_who_is_deleted_is_not_looked_for_in_every_trial_and_rating():
    """PostgreSQL asks for the rows that refer to a deleted one: an index must lead with each."""
    referring = {
        "listening_trial": ("stimulus_id", "versus_id", "item_id", "rater_id", "slot_id"),
        "listening_rating": ("stimulus_id", "slot_id", "trial_id"),
        "listening_slot": ("stimulus_id", "versus_id", "block_id"),
    }
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename, indexdef FROM pg_indexes")
        indexes = cursor.fetchall()
    for table, columns in referring.items():
        whole = [
            text
            for of, text in indexes
            if of == table and (" WHERE " not in text or "IS NOT NULL)" in text)
        ]
        for column in columns:
            assert any(re.search(rf"\({column}[,)]", text) for text in whole), (table, column)


# --- Rejected and restored -----------------------------------------------------------------------


@pytest.mark.medium
def test_many_are_rejected_with_one_reason_and_restored_again(owner, study):
    first, second, third = (arrive(study) for _ in range(3))
    for session in (first, second):
        answer_all(session)
    assert Rating.objects.filter(counts=True).count() == 10
    ended = Session.objects.get(pk=first.pk).finished_at
    answer = judge(owner, "rejected", first, second, third)
    assert "Rejected 3 sessions." in messages_of(answer)[0]
    assert Rating.objects.count() == 10
    assert not Rating.objects.filter(counts=True).exists()
    assert not Block.objects.exclude(state=Block.State.OPEN).exists()
    first.refresh_from_db()
    assert (first.status, first.rejected_because) == ("rejected", "slept")
    assert first.finished_at == ended  # it is no longer for having been judged
    event = StudyEvent.objects.get(what="rejected")
    assert event.details["sessions"] == 3
    assert sorted(event.details["raters"]) == sorted(s.rater.code for s in (first, second, third))

    answer = judge(owner, "restored", first, second, third, reason="the traps were faulty")
    assert "Restored 3 sessions." in messages_of(answer)[0]
    assert Rating.objects.filter(counts=True).count() == 10
    states = Session.objects.order_by("pk").values_list("status", "rejected_because")
    assert list(states) == [("finished", ""), ("finished", ""), ("started", "")]
    answer_all(lifecycle.refresh(Session.objects.get(pk=third.pk)))  # who was not through goes on
    assert Rating.objects.filter(counts=True).count() == 15


@pytest.mark.medium
def test_a_restored_rating_whose_place_was_given_away_stays_and_does_not_count(client):
    study = make_study(key="voices", conditions=1, items=5, task={"ratings_per_stimulus": 1})
    client.force_login(study.owner)
    first = arrive(study)
    answer_all(first)
    lifecycle.reject(first, "slept")
    answer_all(arrive(study))
    answer = judge(client, "restored", first)
    assert "5 of their ratings do not count" in messages_of(answer)[1]
    assert Rating.objects.filter(trial__session=first, counts=False).count() == 5
    assert Rating.objects.filter(counts=True).count() == 5


@pytest.mark.medium
def test_blocks_that_failed_their_traps_do_not_count_after_a_restoration():
    task = {"method": "att", "traps": ATT_TRAPS, "reopen_invalid": True}
    study = make_study(traps={"flawed": 2, "human": 3}, task=task)
    failed, passed = arrive(study), arrive(study)
    answer_all(failed, pass_traps=False)
    answer_all(passed)
    counted = set(Rating.objects.filter(counts=True).values_list("pk", flat=True))
    assert counted
    rejection.reject_sessions([failed.pk, passed.pk], "slept")
    rejection.restore_sessions([failed.pk, passed.pk])
    assert set(Rating.objects.filter(counts=True).values_list("pk", flat=True)) == counted


@pytest.mark.medium
def test_all_that_the_filters_leave_are_judged_unless_others_came_meanwhile(owner, study):
    phones = [arrive(study, device="phone") for _ in range(2)]
    arrive(study, device="desktop")
    every = {"query": "device=phone", "all": "2"}
    arrive(study, device="phone")
    answer = judge(owner, "rejected", **every)
    assert "3 sessions match now" in messages_of(answer)[0]
    answer = judge(owner, "rejected", **{**every, "all": "3"})
    assert "Rejected 3 sessions." in messages_of(answer)[0]
    assert answer.redirect_chain[-1][0].endswith("?device=phone")
    assert set(Session.objects.values_list("device", "status")) == {
        ("phone", "rejected"),
        ("desktop", "started"),
    }
    assert Session.objects.get(pk=phones[0].pk).rejected_because == "slept"


@pytest.mark.medium
def test_nothing_is_judged_without_a_reason_a_choice_or_by_halves(owner, study):
    session = arrive(study)
    other = arrive(make_study(key="other"))
    for form, why in (
        ({"session": session.pk, "to": "rejected", "reason": " "}, "for a reason"),
        ({"to": "rejected", "reason": "slept"}, "Choose at least one"),
        (
            {"session": [session.pk, other.pk], "to": "rejected", "reason": "x"},
            "no longer belong to this study",
        ),
        ({"session": session.pk, "to": "sold", "reason": "x"}, "rejected or restored"),
        ({"all": "1", "query": "state=odd", "to": "rejected", "reason": "x"}, "narrows nothing"),
    ):
        assert why in messages_of(owner.post(JUDGE, form, follow=True))[0]
    assert set(Session.objects.values_list("status", flat=True)) == {"started"}
    assert not StudyEvent.objects.filter(what="rejected").exists()


@pytest.mark.medium
def test_who_was_judged_before_is_left_as_before_and_counted(owner, study):
    session, withdrawn = arrive(study), arrive(study)
    lifecycle.withdraw(withdrawn)
    judge(owner, "rejected", session, reason="x" * 400)
    assert len(Session.objects.get(pk=session.pk).rejected_because) == 300
    answer = judge(owner, "rejected", session, withdrawn)
    assert "2 not changed: already withdrawn, screened out or rejected." in messages_of(answer)


# --- One rater -----------------------------------------------------------------------------------


@pytest.mark.medium
def test_one_raters_page_shows_every_trial_beside_the_others_with_few_queries(
    client, django_assert_max_num_queries
):
    task = {"method": "att", "traps": ATT_TRAPS, "block_size": 10, "ratings_per_stimulus": 3}
    study = make_study(key="voices", traps={"flawed": 2, "human": 3}, task=task)
    client.force_login(study.owner)
    for _ in range(6):
        answer_all(arrive(study))
    session = arrive(study)
    answer_all(session, pass_traps=False)
    Trial.objects.filter(session=session, position=1).update(playback={"pointer_jumps": 3})
    with django_assert_max_num_queries(30):
        text = words_of(page_of(client, f"{RATERS_PAGE}{session.pk}/"))
    trials = session.trials.count()
    assert f"all trials {trials} traps 3" in text
    assert text.count("trap “human”, failed") == 2
    assert "human 0 of 2" in text
    assert "Guess rate per block: 19 %." in text
    assert "the rhythm is unlike a person&#x27;s" in text
    assert "3 clicks where the mouse had not moved" in text
    assert "1.0 s (audio 5.0 s) · 1 play · heard 100 %" in text
    traps = words_of(page_of(client, f"{RATERS_PAGE}{session.pk}/?show=traps"))
    assert traps.count("Correct answer: Human") == 2


@pytest.mark.medium
def test_an_answer_far_from_the_others_is_marked(client):
    task = {"ratings_per_stimulus": 8, "block_size": 5}
    study = make_study(key="voices", conditions=1, items=5, task=task)
    client.force_login(study.owner)
    for label in ("4", "5", "4", "5", "4", "5"):
        session = arrive(study)
        for trial in session.trials.order_by("position"):
            lifecycle.record_answer(session, an_answer(trial, label))
    odd = arrive(study)
    for trial in odd.trials.order_by("position"):
        lifecycle.record_answer(odd, an_answer(trial, "1"))
    text = words_of(page_of(client, f"{RATERS_PAGE}{odd.pk}/"))
    assert "mean of others 4.50 (n = 6), difference -3.50" in text
    assert "outliers 5" in text


def test_the_plot_has_a_point_per_session_within_its_frame(study):
    sessions = [arrive(study) for _ in range(4)]
    figures = ((900, 0.8, 0), (30_000, -0.4, 2), (4_000, 0.1, 0), (None, None, 0))
    for session, (median_ms, agreement, failed) in zip(sessions, figures, strict=True):
        SessionSummary.objects.update_or_create(
            session=session,
            defaults={
                "median_ms": median_ms,
                "agreement": agreement,
                "traps_failed": failed,
                "made_at": timezone.now(),
            },
        )
    plot = raters_plot(rows_of(study))
    assert [point.session for point in plot.points] == [each.pk for each in sessions[2::-1]]
    assert all(0 < point.x < plot.width for point in plot.points)
    assert all(0 < point.y < plot.height for point in plot.points)
    slow = plot.points[1]
    assert (slow.seconds, slow.traps_failed) == (30, 2)
    assert slow.x == max(point.x for point in plot.points)
    assert slow.y == max(point.y for point in plot.points)  # the least agreement is lowest
    assert [value for value, _ in plot.across] == [1, 2, 5, 10, 20]
    assert raters_plot(rows_of(study).filter(pk=sessions[0].pk)) is None


@pytest.mark.medium
def test_the_plot_comes_when_it_is_unfolded_and_follows_the_filters(owner, study):
    for device in ("phone", "phone", "desktop"):
        SessionSummary.objects.update_or_create(
            session=person_took(study, device=device),
            defaults={"median_ms": 900, "agreement": 0.5, "made_at": timezone.now()},
        )
    page = page_of(owner, f"{RATERS_PAGE}?device=phone")
    assert 'data-box="/studies/voices/raters/plot/?device=phone"' in page
    assert page_of(owner, f"{RATERS_PAGE}plot/?device=phone").count("<circle") == 2
    assert "at least two sessions" in page_of(owner, f"{RATERS_PAGE}plot/?device=desktop")


@pytest.mark.medium
def test_decisions_so_far_stand_on_the_page_of_the_rater(owner, study):
    session, other = arrive(study), arrive(study)
    judge(owner, "rejected", session, other)
    answer = judge(owner, "restored", session, reason="by mistake", **{"from": str(session.pk)})
    assert answer.redirect_chain[-1][0] == f"{RATERS_PAGE}{session.pk}/"
    text = words_of(answer.content.decode())
    assert "Session rejected by researcher" in text
    assert "slept (with 1 other session)" in text
    assert "by mistake" in text


@pytest.mark.medium
def test_rules_that_would_leave_the_rater_out_are_named_with_their_reason(client):
    task = {"method": "att", "traps": ATT_TRAPS, "block_size": 10}
    study = make_study(key="voices", traps={"flawed": 2, "human": 3}, task=task)
    client.force_login(study.owner)
    failed, passed = arrive(study), arrive(study)
    answer_all(failed, pass_traps=False)
    answer_all(passed)
    address = f"{RATERS_PAGE}{failed.rater.code}/rules/"
    assert address in page_of(client, f"{RATERS_PAGE}{failed.pk}/")
    said = words_of(page_of(client, address))
    assert "flawed" in said
    assert "10 of 10 ratings" in said
    assert "No available rule" in page_of(client, f"{RATERS_PAGE}{passed.rater.code}/rules/")
    assert "no ratings that a rule could" in page_of(client, f"{RATERS_PAGE}r-nobody/rules/")
