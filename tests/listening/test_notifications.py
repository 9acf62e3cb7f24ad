"""What is told: found once, told once, by figures that chance does not reach, to who may see it."""

import json
from datetime import timedelta
from functools import partial

import pytest
from django.core import mail
from django.utils import timezone

from analysis.models import AnalysisRun
from analysis.web.jobs import _fail
from listening.models import (
    Block,
    Channel,
    Connection,
    Delivery,
    LedgerEntry,
    Membership,
    Occurrence,
    Project,
    Rater,
    Recruitment,
    Session,
    Study,
    StudyEvent,
    Subscription,
    Telling,
    Trial,
)
from listening.notifications import channels, sending, watching
from listening.notifications.channels import audience
from listening.notifications.kinds import KINDS
from listening.notifications.watching import excess_of
from tests.factories import ATT_TRAPS, answer_all, arrive, make_study, make_user
from tests.listening.recruited import make_plan
from tests.listening.told import Killed, channel_to, fill, killed, later, tell, verify

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study(key="voices", conditions=1, items=2, task={"block_size": 2})


# --- Found once, told once -----------------------------------------------------------------------


@pytest.mark.medium
def test_a_full_study_is_told_once_and_again_when_it_fills_again(study, receiver):
    channel = channel_to(receiver.url)
    assert watching.watch()
    assert tell() == []
    assert receiver.came == []
    fill(study)
    for _ in range(3):
        watching.watch()
        tell()
    ((headers, body),) = receiver.came
    verify(channel.secret, headers, body)
    told = json.loads(body)
    assert (told["type"], told["data"]["study"], told["data"]["count"]) == (
        "study.full",
        "voices",
        1,
    )
    assert told["data"]["occurrences"][0]["text"] == "All 4 planned ratings are there."
    assert told["data"]["url"].endswith("/studies/voices/")
    Block.objects.filter(pk=Block.objects.first().pk).update(state=0, session=None)
    watching.watch()
    assert Occurrence.objects.get().over_at is not None
    Block.objects.update(state=2)
    watching.watch()
    assert tell() == []  # within the hour of the first one
    later(hours=1)
    assert tell() == ["sent"]
    assert len(receiver.came) == 2


@pytest.mark.medium
def test_who_dies_between_two_steps_leaves_what_the_next_goes_on_with(study, receiver, monkeypatch):
    channel_to(receiver.url)
    mailed = channels.add_channel(make_user(), "mail", "", "ada@example.org")
    channels.confirm(mailed.owner, channels.confirmation_link(mailed).split("/")[-2])
    channels.choose(mailed, ["study.full"])
    fill(study)
    watching.watch()
    write = sending._write
    monkeypatch.setattr(sending, "_write", killed)
    with pytest.raises(Killed):
        tell()  # it is decided who is told, and nothing is written yet
    monkeypatch.setattr(sending, "_write", write)
    monkeypatch.setattr(sending, "_note", killed)
    for _ in range(2):
        with pytest.raises(Killed):
            tell()  # sent, and not noted that it was
    monkeypatch.undo()
    assert tell() == []  # it may still be under way
    later(minutes=6)
    assert tell() == ["sent", "sent"]
    assert tell() == []
    assert len({headers["webhook-id"] for headers, _ in receiver.came}) == 1
    assert receiver.came[0][1] == receiver.came[1][1]
    first, second = mail.outbox
    assert first.extra_headers["Message-ID"] == second.extra_headers["Message-ID"]
    assert "may have reached you before" in second.body
    assert "may have" not in first.body
    assert Telling.objects.count() == Delivery.objects.count() == 2


@pytest.mark.medium
def test_a_storm_is_one_message_that_counts(study, receiver):
    channel_to(receiver.url, "slack")
    for k in range(9):
        run = AnalysisRun.objects.create(study=study, estimator="mean_score")
        _fail("broken by r-secretcode", run.pk)
        _fail("once more", run.pk)
        if k == 0:
            tell()
    tell()
    assert len(receiver.came) == 1
    later(hours=2)
    tell()
    text = json.loads(receiver.came[1][1])["text"]
    assert text.count("An analysis failed.") == 5
    assert "And 3 more of the same." in text
    assert "secretcode" not in text
    assert "/studies/voices/results/" in text


# --- What is found -------------------------------------------------------------------------------


@pytest.mark.medium
def test_a_study_stalls_when_nobody_rates_while_places_are_free(study, receiver):
    channel_to(receiver.url)
    answer_all(arrive(study))
    watching.watch()
    assert not Occurrence.objects.exists()
    ago = timezone.now() - timedelta(hours=30)
    Study.objects.update(opened_at=ago)
    Trial.objects.update(answered_at=ago)
    Session.objects.update(started_at=ago, finished_at=ago)
    watching.watch()
    found = Occurrence.objects.get()
    assert (found.event, found.facts["hours"], found.facts["left"]) == ("study.stalled", 30, 2)
    assert "No rating for 30 hours" in KINDS[found.event].says(found.facts)
    StudyEvent.objects.create(study_id=study.pk, key="voices", owner_id=1, by="x", what="opened")
    watching.watch()  # it was opened again just now
    found.refresh_from_db()
    assert found.over_at is not None


@pytest.mark.medium
def test_a_budget_is_told_of_at_its_share_and_at_its_end(study, receiver):
    channel_to(receiver.url)
    connection = Connection.objects.create(owner=study.owner, token="a token")
    recruitment = Recruitment.objects.create(
        **{"study": study, "connection": connection, "state": "live", "currency": "GBP"},
        plan=make_plan().as_dict(),
        budget_minor=100_00,
    )
    paid = partial(LedgerEntry.objects.create, recruitment=recruitment, kind="reward")
    paid(key="a", minor=60_00, fees_minor=19_50)
    watching.watch()
    assert not Occurrence.objects.exists()
    paid(key="b", minor=1_00)
    watching.watch()
    says = [KINDS[each.event].says(each.facts) for each in Occurrence.objects.all()]
    assert says == ["£80.50 are paid or owed, with fees: 80 % of the limit of £100.00."]
    paid(key="c", minor=21_00)
    watching.watch()
    assert Occurrence.objects.count() == 2


@pytest.mark.medium
def test_traps_are_unusual_by_a_bound_that_holds_at_every_look(receiver):
    study = make_study(traps={"flawed": 2, "human": 3}, task={"traps": ATT_TRAPS, "method": "att"})
    channel_to(receiver.url)
    for failing in (True, True, False, True, True, True, True):
        answer_all(arrive(study, simulated=True), pass_traps=not failing)
    watching.watch_rates()
    assert not Occurrence.objects.exists()  # simulated raters are no people
    Rater.objects.update(simulated=False)
    watching.watch_rates()
    found = Occurrence.objects.filter(event="study.traps_unusual")
    assert {each.facts["trap"] for each in found} == {"flawed", "human"}
    says = KINDS["study.traps_unusual"].says(found[0].facts)
    assert "86 % on average of 7 sessions" in says
    assert "expected were at most 20 %" in says
    assert 20 < found[0].facts["at_least_percent"] < 86


def test_what_chance_does_is_not_unusual():
    assert excess_of([1.0, 1.0], 0.02) is None  # two broken devices
    assert excess_of([1.0, 0.0, 0.0, 1.0, 0.0, 1.0], 0.2) is None
    assert excess_of([1.0] * 30 + [0.0] * 70, 0.3) is None
    found = excess_of([1.0] * 50 + [0.0] * 50, 0.3)
    assert found
    assert 0.3 < found.at_least < found.mean == 0.5


@pytest.mark.medium
def test_looking_after_every_session_is_wrong_as_seldom_as_promised():
    from random import Random

    rng, alarms = Random(7), 0
    for _ in range(300):
        shares: list[float] = []
        for _ in range(60):
            shares.append(float(rng.random() < 0.2))
            if excess_of(shares, 0.2) is not None:
                alarms += 1
                break
    assert alarms <= 8  # 1 % of 300 are 3; a bound of a single look gives 60 and more


@pytest.mark.medium
def test_clips_that_do_not_play_are_unusual_and_so_are_sessions_that_end_there(receiver):
    study = make_study(conditions=4, items=10, task={"block_size": 4})
    channel_to(receiver.url)
    for _ in range(8):
        answer_all(arrive(study), stop_after=2)
    Rater.objects.update(simulated=False)
    watching.watch_rates()
    assert not Occurrence.objects.exists()
    Trial.objects.filter(state="answered", position=2).update(state="skipped")
    Block.objects.update(state=0, session=None, lease_until=None)  # they left
    watching.watch_rates()
    found = {each.facts["what"]: each.facts for each in Occurrence.objects.all()}
    assert (found["clips"]["percent"], found["ended"]["percent"]) == (50, 100)


# --- Who is told ---------------------------------------------------------------------------------


@pytest.mark.medium
def test_only_who_may_see_it_is_told_when_it_happens_and_when_it_is_sent(study, receiver):
    project = Project.objects.create(name="Lab")
    viewer, stranger, root = make_user("viewer"), make_user("stranger"), make_user("root")
    type(root).objects.filter(pk=root.pk).update(is_superuser=True)
    root.refresh_from_db()
    member = Membership.objects.create(project=project, user=viewer, role="viewer")
    Study.objects.update(project=project)
    for user in (viewer, stranger, root):
        channel_to(receiver.url, user=user)
    fill(study)
    watching.watch()
    sending.dispatch()
    assert [each.channel.owner for each in Delivery.objects.all()] == [viewer]
    member.delete()
    assert tell() == ["failed"]
    assert receiver.came == []
    assert "no longer has access" in Delivery.objects.get().answer


def test_money_is_told_to_who_runs_the_study_only(study):
    project = Project.objects.create(name="Lab")
    Study.objects.update(project=project)
    study.refresh_from_db()
    for role in ("viewer", "analyst", "editor"):
        user = make_user(role)
        Membership.objects.create(project=project, user=user, role=role)
        made = Channel.objects.create(
            owner=user, kind="slack", name=role, address="https://x", confirmed_at=timezone.now()
        )
        Subscription.objects.create(channel=made, project=project, events=list(KINDS))
    assert [c.name for c in audience(study, "study.budget_reached")] == ["editor"]
    assert len(audience(study, "study.full")) == 3
