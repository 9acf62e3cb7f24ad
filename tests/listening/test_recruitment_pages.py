"""The recruiting pages: every state of them, every button, and what a stranger may not do."""

from __future__ import annotations

import json
import re
import time
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from listening.models import (
    Bonus,
    BonusBatch,
    Connection,
    HookEvent,
    Occurrence,
    Recruitment,
    Study,
)
from listening.notifications import watching
from listening.recruitment import deciding, drafting, paying, syncing
from tests.factories import make_study, make_user
from tests.listening.recruited import (
    CODES,
    Person,
    make_connection,
    make_published,
    make_recruitment,
)
from tests.play_money import TOKEN, Double

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(client: Client) -> Client:
    client.force_login(make_user())
    return client


def page(client: Client, key: str, query: str = "") -> str:
    reply = client.get(reverse("recruiting", args=[key]) + query)
    assert reply.status_code == 200
    return reply.content.decode()


def do(client: Client, key: str, action: str, **fields: Any) -> str:
    """What the next page says after a button."""
    url = reverse("recruiting-do", args=[key])
    reply = client.post(url, {"action": action, **fields}, follow=True)
    assert reply.status_code in (200, 422)
    return reply.content.decode()


def hidden(text: str, name: str, action: str = "") -> str:
    """What a form of the page carries, of the one with this action."""
    form = text.partition(f'name="action" value="{action}"')[2] if action else text
    found = re.search(rf'name="{name}" value="([^"]*)"', form)
    assert found is not None
    return found[1]


FORM = {
    "name": "Rate short clips",
    "description": "<p>You need headphones.</p>",
    "places": "4",
    "hourly": "9.00",
    "budget": "",
    "approval": "review",
    "screened_out": "fixed",
    "screened_out_minor": "0.10",
}


@pytest.mark.medium
def test_the_whole_way_is_buttons(ada: Client, double: Double) -> None:
    study = make_study(items=20, completion_codes=CODES, task={"ratings_per_stimulus": 4})
    assert "Not connected" in page(ada, study.key)
    told = ada.post(reverse("prolific-do"), {"action": "connect", "token": TOKEN}, follow=True)
    assert "Connected as" in told.content.decode()
    assert TOKEN not in ada.get(reverse("prolific")).content.decode()
    assert "Make the draft" not in page(ada, study.key)
    assert "Saved. Nothing was sent." in do(ada, study.key, "save", **FORM)
    told = do(ada, study.key, "add_filter", filter="age", lower="18", upper="60")
    assert "Eligible:" in told
    assert "18 to 60" in told
    told = do(ada, study.key, "save", **FORM, send="yes")
    assert "It is free until you publish it." in told
    assert "COMPLETE1" in told
    assert "Confirm first" in do(ada, study.key, "publish")
    told = do(ada, study.key, "publish", sure="yes")
    assert "confirm it again" in told  # what was seen is not said
    told = do(ada, study.key, "publish", sure="yes", seal=hidden(told, "seal"))
    assert "is not active on Prolific yet" in told
    double.settle()
    told = do(ada, study.key, "look")
    assert "On Prolific: active" in told
    assert "No participants from Prolific yet." in told
    recruitment = Recruitment.objects.get()
    person = Person(double, recruitment).work().hand_in()
    told = do(ada, study.key, "look")
    assert "awaiting review" in told
    assert "Approve 1 for £" in told
    assert "is not the sum that was confirmed" in do(ada, study.key, "approve_all")
    assert "1 approved" in do(
        ada, study.key, "approve_all", seen=hidden(told, "seen", "approve_all")
    )
    double.settle()
    do(ada, study.key, "look")
    told = do(ada, study.key, "bonus", submission=person.row().pk, amount="1.50", purpose="thanks")
    assert "The bonus is due." in told
    assert "Cancel the bonus of £1.50 for" in told
    take_back(ada, study.key)
    do(ada, study.key, "bonus", submission=person.row().pk, amount="1.50", purpose="thanks")
    assert "Prepared on Prolific" in do(ada, study.key, "write_bonuses")
    undo, batch = BonusBatch.objects.order_by("pk")
    assert "being paid already, or was dropped" in do(ada, study.key, "pay", batch=undo.pk)
    assert "Payment was requested" in do(ada, study.key, "pay", batch=batch.pk)
    assert "being paid already" in do(ada, study.key, "pay", batch=batch.pk)
    assert "Only a batch that is written" in do(ada, study.key, "undo_batch", batch=batch.pk)
    double.settle()
    told = do(ada, study.key, "look")
    assert "£1.50" in told
    assert "differ" not in told
    assert double.ledger()["submissions"][person.submission]["bonuses"] == [150]
    ledger = ada.get(reverse("ledger", args=[study.key])).content.decode()
    assert [line.split(",")[3] for line in ledger.splitlines()[1:]] == [
        "committed",
        "committed",
        "reward",
        "bonus",
    ]


def take_back(ada: Client, key: str) -> None:
    """The one bonus, which stands in a batch that is not paid: that is undone first."""
    owed = Bonus.objects.get().pk
    assert "Prepared on Prolific" in do(ada, key, "write_bonuses")
    assert "undo it below first" in do(ada, key, "take_back", bonus=owed)
    undone = do(ada, key, "undo_batch", batch=BonusBatch.objects.get().pk)
    assert "all bonuses are due again" in undone
    assert "no longer due" in do(ada, key, "take_back", bonus=owed)
    assert "No bonuses are due." in do(ada, key, "write_bonuses")


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("name", "", "Give the study a name"),
        ("places", "many", "Give a whole number."),
        ("hourly", "5", "minimum is £6.00 per hour"),
        ("hourly", "nine", "is no amount of money"),
        ("budget", "1.234", "is no amount of money"),
        ("screened_out_minor", "0.01", "must be at least £0.10"),
    ],
)
@pytest.mark.medium
def test_what_is_wrong_stands_at_its_field_and_what_was_typed_stays(
    ada: Client, double: Double, field: str, value: str, told: str
) -> None:
    study = make_study(completion_codes=CODES)
    make_connection()
    text = do(ada, study.key, "save", **FORM | {field: value})
    assert told in text
    assert 'aria-invalid="true"' in text
    assert not Recruitment.objects.exists()
    if field != "name":
        assert 'value="Rate short clips"' in text


@pytest.mark.slow
def test_the_recommended_pay_is_prolifics_own_and_else_its_published_one(
    ada: Client, double: Double
) -> None:
    study = make_study(completion_codes=CODES)
    make_connection()
    double.set(min_reward_per_hour=650, recommended_reward_per_hour=1000, more_with_filters=250)
    double.fault("rates_bare")
    text = page(ada, study.key)
    assert "Prolific’s rates for this workspace: minimum £6.50, recommended £10.00." in text
    assert 'name="hourly" inputmode="decimal" value="10.00"' in text
    told = do(ada, study.key, "save", **FORM | {"hourly": "6.20"})
    assert "minimum is £6.50 per hour" in told
    do(ada, study.key, "save", **FORM)
    told = do(ada, study.key, "add_filter", filter="age", lower="18", upper="60")
    assert "and these filters: minimum £6.50, recommended £12.50." in told
    assert drafting.plan_of(Recruitment.objects.get()).hourly_floor == 650
    double.set(min_reward_per_hour=600, recommended_reward_per_hour=900, more_with_filters=0)
    double.fault("error_500", count=None, path="/reward-recommendations/")
    told = do(ada, study.key, "remove_filter", filter="age")
    assert "this workspace: minimum £6.50" in told  # kept for an hour
    told = do(ada, study.key, "add_filter", filter="approval_rate", lower="90")
    assert "Prolific’s published rates: minimum £6.00, recommended £9.00." in told
    assert "could not be read" in told


@pytest.mark.parametrize("bound", ["abc", "nan", "-inf", "²"])
@pytest.mark.medium
def test_a_bound_of_a_filter_that_is_no_number_is_said(
    ada: Client, double: Double, bound: str
) -> None:
    study = make_study(completion_codes=CODES)
    make_connection()
    do(ada, study.key, "save", **FORM)
    told = do(ada, study.key, "add_filter", filter="age", lower=bound)
    assert "is not a number" in told or "Give a lowest or a highest value" in told


@pytest.mark.medium
def test_every_button_refuses_nonsense_with_a_sentence(ada: Client, double: Double) -> None:
    recruitment = make_published(double)
    key = recruitment.study.key
    for action, fields, told in (
        ("nothing", {}, "Unknown action"),
        ("save", FORM, "The draft is at Prolific already"),
        ("send", {}, ""),
        ("publish", {"sure": "yes"}, "not a draft any more"),
        ("discard", {}, "Only a draft"),
        ("state", {"to": "moon"}, "Choose pause"),
        ("places", {"places": "x"}, "Enter the total number"),
        ("places", {"places": "1"}, "only be added"),
        ("decide", {"submission": "77"}, "Unknown submission"),
        ("decide", {}, "Unknown submission"),
        ("decide", {"submission": "²"}, "Unknown submission"),
        ("decide", {"submission": "9" * 40}, "Unknown submission"),
        ("places", {"places": "²"}, "Enter the total number"),
        ("agree", {"submission": "x"}, "Unknown submission"),
        ("bonus", {"submission": "1", "amount": "1"}, "Unknown submission"),
        ("pay", {"batch": "9"}, "Unknown batch"),
        ("take_back", {"bonus": "9"}, "Unknown bonus"),
        ("write_bonuses", {}, "No bonuses are due."),
        ("approve_all", {"seen": "0"}, "0 approved"),
        ("slots", {"slots": "x"}, "Enter the total number"),
        ("slots", {"slots": "1"}, "only be added"),
        ("limit", {"limit": "lots"}, "is no amount of money"),
        ("add_filter", {"filter": "no"}, "no such filter"),
    ):
        assert told in do(ada, key, action, **fields), action
    assert Recruitment.objects.get().state == "live"


@pytest.mark.medium
def test_strangers_see_and_do_nothing(client: Client, double: Double) -> None:
    recruitment = make_published(double)
    key = recruitment.study.key
    person = Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    client.force_login(make_user("mallory"))
    assert client.get(reverse("recruiting", args=[key])).status_code == 404
    assert client.get(reverse("ledger", args=[key])).status_code == 404
    fields = {"action": "decide", "decision": "approve", "submission": person.row().pk}
    assert client.post(reverse("recruiting-do", args=[key]), fields).status_code == 404
    mine = make_study(key="mine", completion_codes=CODES)
    type(mine).objects.filter(pk=mine.pk).update(owner=make_user("mallory"))
    reply = client.post(reverse("recruiting-do", args=["mine"]), fields, follow=True)
    assert "Unknown submission" in reply.content.decode()
    assert person.row().decision == ""
    client.logout()
    assert client.get(reverse("recruiting", args=[key])).status_code == 302
    assert client.post(reverse("prolific-do"), {"action": "disconnect"}).status_code == 302
    assert Connection.objects.get().token


@pytest.mark.medium
def test_the_page_stands_without_prolific(ada: Client, double: Double) -> None:
    recruitment = make_published(double)
    Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    double.fault("error_500", count=None)
    assert "awaiting review" in page(ada, recruitment.study.key)
    assert "last known state" in do(ada, recruitment.study.key, "look")
    assert "is not responding" in ada.get(reverse("prolific")).content.decode()
    fresh = make_study(key="fresh", completion_codes=CODES)
    assert "filters could not be read" not in page(ada, fresh.key)
    assert "Save the plan before" in page(ada, fresh.key)


@pytest.mark.medium
def test_no_page_shows_a_participants_id(ada: Client, double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    text = page(ada, recruitment.study.key)
    assert person.id not in text
    assert person.submission not in text


@pytest.mark.medium
def test_a_token_is_forgotten_and_what_was_paid_stays(ada: Client, double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    deciding.decide(person.row(), "approve", by="ada")
    syncing.sync(recruitment)
    ada.post(reverse("prolific-do"), {"action": "disconnect"})
    assert Connection.objects.get().token == ""
    assert "Not connected" in page(ada, recruitment.study.key)
    assert "reward" in ada.get(reverse("ledger", args=[recruitment.study.key])).content.decode()
    assert syncing.unfinished() == []


# --- Events --------------------------------------------------------------------------------------

SECRET = "test-secret"
VECTOR = (
    b'{"resource_id": "60d9aadeb86739de712faee0", "event_type": "submission.status.change", '
    b'"participant_id": "60bf9310e8dec401be6e9615", "status": "AWAITING REVIEW"}'
)


def test_the_signature_is_prolifics() -> None:
    expected = "vlQYN7aNFtQP/cl3j86Y2NqRmQ3fNxcZ7dGe4GimXNU="
    assert syncing.signature(SECRET, "1700000000", VECTOR) == expected


def send(client: Client, body: bytes, *, name: str = "e1", secret: str = SECRET, age: float = 0):
    stamp = str(int(time.time() - age))
    return client.post(
        reverse("prolific-hook", args=[Connection.objects.get().pk]),
        body,
        content_type="application/json",
        headers={
            "X-Prolific-Request-Timestamp": stamp,
            "X-Prolific-Request-Signature": syncing.signature(secret, stamp, body),
            "X-Event-ID": name,
        },
    )


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []
    monkeypatch.setattr("listening.web.researcher.prolific.sync_recruitment.delay", found.append)
    return found


@pytest.mark.medium
def test_an_event_is_believed_once_and_only_says_where_to_look(
    client: Client, double: Double, looked: list[int]
) -> None:
    recruitment = make_published(double)
    Connection.objects.update(hook_secret=SECRET)
    body = json.dumps(
        {
            "resource_id": recruitment.prolific_study,
            "event_type": "study.status.change",
            "status": "COMPLETED",
        }
    ).encode()
    assert send(client, body).status_code == 204
    assert send(client, body).status_code == 204
    assert looked == [recruitment.pk]
    assert HookEvent.objects.count() == 1
    recruitment.refresh_from_db()
    assert recruitment.status == "ACTIVE"  # what the event says is not believed


@pytest.mark.parametrize("wrong", ["secret", "old", "unsigned", "garbage", "list"])
def test_an_event_that_is_not_prolifics_does_nothing(
    client: Client, double: Double, looked: list[int], wrong: str
) -> None:
    make_connection()
    Connection.objects.update(hook_secret="" if wrong == "unsigned" else SECRET)
    reply = send(
        client,
        {"garbage": b"{", "list": b"[1]"}.get(wrong, VECTOR),
        secret="other" if wrong == "secret" else SECRET,
        age=30 * 3600 if wrong == "old" else 0,
    )
    assert reply.status_code == 401
    assert (looked, HookEvent.objects.count()) == ([], 0)


@pytest.mark.medium
def test_events_are_subscribed_to_and_a_plain_server_says_why_not(
    ada: Client, double: Double, settings: Any
) -> None:
    make_connection()
    settings.EARNEST_PUBLIC_URL = "http://localhost:8000"
    told = ada.post(reverse("prolific-do"), {"action": "events"}, follow=True).content.decode()
    assert "public https addresses only" in told
    settings.EARNEST_PUBLIC_URL = "https://earnest.example.org"
    told = ada.post(reverse("prolific-do"), {"action": "events"}, follow=True).content.decode()
    assert "Immediate updates are enabled." in told
    assert set(Connection.objects.get().hooks) == set(syncing.WANTED)


# --- In doubt ------------------------------------------------------------------------------------


@pytest.mark.medium
def test_a_payment_in_doubt_is_said_and_a_person_decides(
    ada: Client, double: Double, settings: Any
) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    paying.decide_bonus(person.row(), "thanks", 150, "ada")
    batch = paying.write_batch(recruitment)
    double.fault("drop_before", method="POST", path="/pay/")
    paying.pay(batch)
    key = recruitment.study.key
    assert "payment requested, not confirmed" in page(ada, key)
    assert "still be paying" in do(ada, key, "pay_again", batch=batch.pk)
    settings.EARNEST_PROLIFIC_SETTLED_S = 0
    assert "unconfirmed" in page(ada, key)
    assert "1 bonus is due again" in do(ada, key, "pay_again", batch=batch.pk)
    assert drafting.plan_of(recruitment).places == 4


# --- Sums ----------------------------------------------------------------------------------------


@pytest.mark.medium
def test_a_draft_that_was_edited_at_prolific_is_shown_as_it_is(ada: Client, double: Double) -> None:
    recruitment = make_recruitment(places=2)
    drafting.send_draft(recruitment)
    key = recruitment.study.key
    seal = hidden(page(ada, key), "seal")
    double.edit(recruitment.prolific_study, reward=500, total_available_places=200)
    told = do(ada, key, "publish", sure="yes", seal=seal)
    assert "The study was changed at Prolific, so it was not published." in told
    assert "Reward: £1.80 → <strong>£5.00</strong>" in told
    assert "Publish for £1,514.51" in told  # 200 × £5.00 and 2 × £0.30, with fees
    double.fault("error_500", count=None)
    told = page(ada, key)
    assert "could not be read from Prolific" in told
    assert "Publish for" not in told
    double.heal()
    double.move(recruitment.prolific_study, "PUBLISH")
    double.settle()
    assert "On Prolific: active" in page(ada, key)


@pytest.mark.medium
def test_places_and_screen_outs_are_added_for_the_sum_on_the_button(
    ada: Client, double: Double
) -> None:
    recruitment = make_published(double, places=2)
    key = recruitment.study.key
    assert "0 of 2, £0.30 each" in page(ada, key)
    told = do(ada, key, "places", places="702", seen="454")
    assert "This costs £1,907.14, which is not the sum that was confirmed." in told
    assert "Add 700 places for £1,907.14" in told
    seen = hidden(told, "seen", "places")
    assert "There are 702 places now." in do(ada, key, "places", places="702", seen=seen)
    told = do(ada, key, "slots", slots="12")
    assert "Add 10 screen-outs for £4.54" in told
    told = do(ada, key, "slots", slots="12", seen=hidden(told, "seen", "slots"))
    assert "Prolific pays 12 screen-outs now." in told
    assert "The limit of this study: £2,000.00." in do(ada, key, "limit", limit="2000")


def told_of_reviews(study: Study) -> list[Any]:
    watching.look_at_reviews(study)
    return list(Occurrence.objects.filter(over_at=None).values_list("facts", flat=True))


@pytest.mark.medium
def test_day_20_is_warned_of(ada: Client, double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    for days, is_warned in ((19, False), (20, True)):
        at = timezone.now() - timedelta(days=days, hours=1)
        recruitment.submissions.update(completed_at=at)
        warning = "Prolific approves 1 submission automatically within a day"
        assert (warning in page(ada, recruitment.study.key)) == is_warned
    assert told_of_reviews(recruitment.study) == [{"submissions": 1}]
    deciding.decide(person.row(), "approve", by="ada")
    assert warning not in page(ada, recruitment.study.key)
