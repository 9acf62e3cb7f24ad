"""Messages on their way: tried again, signed, never into our network; and the pages of them."""

import socket
from contextlib import suppress
from datetime import timedelta
from ipaddress import ip_network
from threading import Event, Thread

import pytest
from django.core import mail
from django.utils import timezone

from listening.models import (
    Channel,
    Delivery,
    Occurrence,
    StudyEvent,
    Subscription,
)
from listening.notifications import channels, posting, sending, watching, webhook_urls
from listening.notifications.kinds import KINDS
from tests.factories import make_study, make_user
from tests.listening.test_researcher_pages import messages_of, page_of, words_of
from tests.listening.told import channel_to, fill, later, tell, verify

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study(key="voices", conditions=1, items=2, task={"block_size": 2})


# --- Sent, and sent again ------------------------------------------------------------------------


@pytest.mark.medium
def test_a_receiver_that_fails_is_asked_again_later_and_later_under_the_same_id(study, receiver):
    channel = channel_to(receiver.url)
    receiver.answers = [(500, {}), (302, {"Location": "http://169.254.169.254/"}), (200, {})]
    fill(study)
    watching.watch()
    assert tell() == ["waiting"]
    assert tell() == []
    assert "500" in Delivery.objects.get().answer
    later(minutes=1)
    assert tell() == ["waiting"]
    assert "redirects are not followed" in Delivery.objects.get().answer
    later(minutes=1)
    assert tell() == []  # five minutes are the second pause
    later(minutes=6)
    assert tell() == ["sent"]
    assert len(receiver.came) == 3
    assert len({headers["webhook-id"] for headers, _ in receiver.came}) == 1
    for headers, body in receiver.came:
        verify(channel.secret, headers, body)


def test_a_secret_is_replaced_while_both_are_good(receiver):
    channel = channel_to(receiver.url)
    old = channel.secret
    channels.replace_secret(channel)
    headers = {}
    sending._post(channel, b"{}", headers)
    keys = channels.keys_of(channel, timezone.now())
    assert keys == [channel.secret, old]
    assert old != channel.secret
    later_on = timezone.now() + timedelta(hours=25)
    assert channels.keys_of(channel, later_on) == [channel.secret]


@pytest.mark.parametrize(
    ("answers", "tries", "words"),
    [([(410, {})], 0, "send nothing more"), ([(500, {})], 9, "Nothing arrived")],
)
@pytest.mark.medium
def test_an_address_that_is_gone_is_written_to_no_more_and_the_page_says_so(
    client, study, receiver, answers, tries, words
):
    channel_to(receiver.url)
    receiver.answers = answers
    fill(study)
    watching.watch()
    sending.dispatch()
    Delivery.objects.update(tries=tries)
    assert tell() == ["failed"]
    client.force_login(study.owner)
    assert words in words_of(page_of(client, "/messages/"))
    messages = do(client, action="start", channel=Channel.objects.get().pk)
    assert messages == ["Started: waiting messages are sent within a minute."]


@pytest.mark.medium
@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.8",
        "169.254.169.254",
        "::1",
        "fd00::1",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "0.0.0.0",
        "100.64.0.1",
        "224.0.0.1",
        "2002:a00:1::",
        "fe80::1%eth0",
        "192.88.99.1",
        "::ffff:192.88.99.1",
        "64:ff9b::c058:6301",
        "2002:c058:6301::1",
        "fec0::1",
        "::7f00:1",
        "64:ff9b:1::808:808",
        "3fff::1",
        "5f00::1",
        "2001::1",
        "240.0.0.1",
        "ff0e::1",
    ],
)
def test_no_message_goes_into_a_private_network(address, monkeypatch):
    found = [(2, 1, 6, "", ("93.184.215.14", 443)), (2, 1, 6, "", (address, 443))]
    monkeypatch.setattr(webhook_urls.socket, "getaddrinfo", lambda *a, **k: found)
    with pytest.raises(webhook_urls.NotAllowed):
        webhook_urls.addresses_of("example.org", 443)
    with pytest.raises(webhook_urls.NotAllowed, match="private network"):
        posting.post("https://example.org/hook", b"{}", {})


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "2001:4860:4860::8888", "64:ff9b::808:808", "2002:808:808::1", "::ffff:8.8.8.8"],
)
def test_messages_go_to_addresses_that_are_reached_from_anywhere(address):
    assert webhook_urls.is_allowed(address)


@pytest.mark.medium
def test_a_name_that_leads_elsewhere_the_second_time_leads_nowhere(receiver, monkeypatch, settings):
    """What was checked is what is connected to: there is no second look-up."""
    asked = []

    def look_up(host, port, *rest, **options):
        asked.append(host)
        return [(2, 1, 6, "", ("127.0.0.1", receiver.server_port))]

    monkeypatch.setattr(webhook_urls.socket, "getaddrinfo", look_up)
    assert posting.post(f"http://rebind.example:{receiver.server_port}/", b"{}", {}).status == 204
    assert asked[0] == "rebind.example"
    assert set(asked[1:]) <= {"127.0.0.1"}
    assert receiver.came[0][0]["host"] == f"rebind.example:{receiver.server_port}"
    settings.EARNEST_WEBHOOK_NETWORKS = ()
    with pytest.raises(webhook_urls.NotAllowed):
        posting.post(receiver.url, b"{}", {})


# --- Pages ---------------------------------------------------------------------------------------


def do(client, url: str = "/messages/do/", **form: object) -> list[str]:
    return messages_of(client.post(url, form, follow=True))


@pytest.mark.medium
def test_a_channel_is_added_tried_and_chosen_for_one_study_on_the_pages(client, study, receiver):
    client.force_login(study.owner)
    assert "No channels yet" in page_of(client, "/messages/")
    added = {"action": "add", "kind": "webhook", "name": "Lab", "address": receiver.url}
    assert do(client, **added)[0].startswith("Added.")
    channel = Channel.objects.get()
    assert do(client, action="test", channel=channel.pk) == [
        "The test message was sent. It answered 204."
    ]
    assert do(client, action="test", channel=channel.pk)[0].startswith("Wait ten seconds")
    ((headers, body),) = receiver.came
    verify(channel.secret, headers, body)
    page = page_of(client, "/messages/")
    assert channel.secret in page
    assert "It answered 204." in page
    chosen = {"action": "choose", "on": f"{channel.pk} study.full"}
    assert do(client, url="/studies/voices/messages/do/", **chosen) == ["Saved."]
    assert Subscription.objects.get().events == ["study.full"]
    assert 'study.full" checked' in page_of(client, "/studies/voices/messages/")
    assert do(client, url="/studies/voices/messages/do/", action="choose") == ["Saved."]
    assert not Subscription.objects.exists()
    client.force_login(make_user("somebody"))
    for action in ("test", "change", "replace", "stop", "start", "remove", "confirm"):
        assert do(client, action=action, channel=channel.pk) == ["You have no such channel."]


@pytest.mark.medium
def test_limits_of_a_study_are_changed_together_or_not_at_all_and_logged(client, study):
    client.force_login(study.owner)
    form = {"action": "limits", "stalled_h": 6, "trap_percent": 20}
    form |= {"error_percent": 0, "budget_percent": 80}
    refused = do(client, url="/studies/voices/messages/do/", **form)
    assert "Playback errors (%)" in refused[0]
    assert watching.limits_of(study).stalled_h == 24
    do(client, url="/studies/voices/messages/do/", **{**form, "error_percent": 2})
    assert watching.limits_of(study).stalled_h == 6
    assert StudyEvent.objects.get().details == {"stalled_h": {"from": 24, "to": 6}}


@pytest.mark.medium
def test_mail_comes_when_its_reader_followed_the_link_as_its_owner(client, study, receiver):
    client.force_login(study.owner)
    form = {"action": "add", "kind": "mail", "address": "ada@example.org", "events": list(KINDS)}
    assert do(client, **form)[0].startswith("A confirmation email was sent")
    fill(study)
    watching.watch()
    assert tell() == []
    path = next(w for w in mail.outbox[0].body.split() if "/confirm/" in w).removesuffix(".")
    path = path.partition("/messages/")[2]
    client.force_login(make_user("somebody"))
    client.get(f"/messages/{path}")
    assert Channel.objects.get().confirmed_at is None
    client.force_login(study.owner)
    client.get(f"/messages/{path}")
    Occurrence.objects.update(over_at=timezone.now())
    watching.watch()
    assert tell() == ["sent"]
    assert mail.outbox[1].subject == "Quota reached: A study"
    assert mail.outbox[1].to == ["ada@example.org"]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("ftp://example.org/", "Enter a full web address"),
        ("https://me:word@example.org/", "Remove user name"),
        ("http://169.254.169.254/latest/", "private network"),
        ("https://localhost:8000/", "private network"),
        ("http://1.1.1.1/", "with https"),
        ("https://nowhere.invalid/", "is not known"),
    ],
)
def test_an_address_that_is_not_called_is_refused_with_the_way_out(address, words):
    with pytest.raises(channels.ChannelError, match=words):
        channels.add_channel(make_user(), "webhook", "", address)


def test_who_answers_drop_by_drop_is_not_waited_for(settings, monkeypatch):
    settings.EARNEST_WEBHOOK_NETWORKS = (ip_network("127.0.0.1/32"),)
    monkeypatch.setattr(webhook_urls, "TIMEOUT_S", 0.3)
    over = Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                while not over.wait(0.05):
                    connection.sendall(b"H")

        Thread(target=drip, daemon=True).start()
        with pytest.raises(webhook_urls.NotReached):
            posting.post(f"http://127.0.0.1:{server.getsockname()[1]}/", b"{}", {})
        over.set()


@pytest.mark.medium
def test_what_breaks_here_is_tried_again_like_what_breaks_there(study, receiver, monkeypatch):
    channel_to(receiver.url)
    fill(study)
    watching.watch()
    monkeypatch.setattr(webhook_urls, "headers", lambda *args: 1 / 0)
    assert tell() == ["waiting"]
    assert Delivery.objects.get().answer == "It broke here (ZeroDivisionError)."


@pytest.mark.medium
def test_what_is_old_is_forgotten_and_not_told_again(study, receiver):
    channel_to(receiver.url)
    fill(study)
    watching.watch()
    assert tell() == ["sent"]
    Delivery.objects.update(ended_at=timezone.now() - timedelta(days=91))
    assert sending.forget_old()
    watching.watch()
    assert tell() == []
    assert not Delivery.objects.exists()


@pytest.mark.medium
def test_what_happens_while_a_channel_is_stopped_is_told_when_it_starts(study, receiver):
    channel = channel_to(receiver.url)
    channels.stop(channel)
    fill(study)
    watching.watch()
    assert tell() == []
    channels.start(channel)
    assert tell() == ["sent"]
