"""Messages by mail, webhook and chat: found once, told once, signed, and never into our network."""

import json
import re
import socket
from contextlib import suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from analysis.models import AnalysisRun
from listening.models import (
    Block,
    Channel,
    Delivery,
    Membership,
    Occurrence,
    Project,
    Rater,
    Session,
    Study,
    StudyEvent,
    Subscription,
    Telling,
    Trial,
)
from listening.notifications import channels, dispatching, outward, rates, sending, watching
from listening.notifications.excess import excess_of
from listening.notifications.kinds import KINDS
from tests.factories import ATT_TRAPS, answer_all, arrive, make_study, make_user
from tests.listening.test_researcher_pages import messages_of, page_of, words_of
from tests.own_cache import empty_cache

pytestmark = pytest.mark.django_db
LOCMEM = {"backend": "django.core.mail.backends.locmem.EmailBackend"}


class Double(ThreadingHTTPServer):
    """A receiver: keeps what came, and answers what it is told to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.came: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[tuple[int, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"


class Receiver(BaseHTTPRequestHandler):
    server: Double

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.came.append(({k.lower(): v for k, v in self.headers.items()}, body))
        status, headers = self.server.answers.pop(0) if self.server.answers else (204, {})
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def double(settings):
    settings.EARNEST_WEBHOOK_NETWORKS = (ip_network("127.0.0.1/32"),)
    with Double() as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(autouse=True)
def _surroundings(settings):
    empty_cache()
    settings.EARNEST_MAIL, settings.DEFAULT_FROM_EMAIL = LOCMEM, "earnest@example.org"


@pytest.fixture
def study():
    return make_study(key="voices", conditions=1, items=2, task={"block_size": 2})


def channel_to(url: str, kind: str = "webhook", *, user=None, events=tuple(KINDS)) -> Channel:
    """One that is told of everything of all its owner's studies."""
    made = channels.add_channel(user or make_user(), kind, "", url)
    channels.choose(made, events)
    return made


def tell() -> list[str]:
    """What the beat does every 30 seconds; the states of what was tried."""
    dispatching.dispatch()
    return [sending.deliver(pk) for pk in sending.due()]


def fill(study: Study) -> None:
    while Block.objects.filter(task__study=study, state=0).exists():
        answer_all(arrive(study))


def later(**by: float) -> None:
    """Everything that has happened is so much longer ago."""
    gone = timedelta(**by)
    for row in Delivery.objects.all():
        Delivery.objects.filter(pk=row.pk).update(
            created_at=row.created_at - gone, next_at=row.next_at - gone
        )


def verify(secret: str, headers: dict[str, str], body: bytes) -> None:
    """By the lines that the guide gives to who receives webhooks."""
    guide = (Path(__file__).parents[2] / "docs/researcher-guide.md").read_text()
    (code,) = re.findall(r"```python\n(import base64.*?)```", guide, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["verified"](secret, headers, body)
    assert not names["verified"](secret, headers, body + b" ")


# --- Found once, told once -----------------------------------------------------------------------


def test_a_full_study_is_told_once_and_again_when_it_fills_again(study, double):
    channel = channel_to(double.url)
    assert watching.watch()
    assert tell() == []
    assert double.came == []
    fill(study)
    for _ in range(3):
        watching.watch()
        tell()
    ((headers, body),) = double.came
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
    assert len(double.came) == 2


def test_who_dies_between_two_steps_leaves_what_the_next_goes_on_with(study, double, monkeypatch):
    channel_to(double.url)
    mailed = channels.add_channel(make_user(), "mail", "", "ada@example.org")
    channels.confirm(mailed.owner, channels.confirmation_link(mailed).split("/")[-2])
    channels.choose(mailed, ["study.full"])
    fill(study)
    watching.watch()
    write = dispatching._write
    monkeypatch.setattr(dispatching, "_write", killed)
    with pytest.raises(Killed):
        tell()  # it is decided who is told, and nothing is written yet
    monkeypatch.setattr(dispatching, "_write", write)
    monkeypatch.setattr(sending, "_note", killed)
    for _ in range(2):
        with pytest.raises(Killed):
            tell()  # sent, and not noted that it was
    monkeypatch.undo()
    assert tell() == []  # it may still be under way
    later(minutes=6)
    assert tell() == ["sent", "sent"]
    assert tell() == []
    assert len({headers["webhook-id"] for headers, _ in double.came}) == 1
    assert double.came[0][1] == double.came[1][1]
    first, second = mail.outbox
    assert first.extra_headers["Message-ID"] == second.extra_headers["Message-ID"]
    assert "may have reached you before" in second.body
    assert "may have" not in first.body
    assert Telling.objects.count() == Delivery.objects.count() == 2


class Killed(BaseException):
    """Nothing catches it, as nothing catches a signal."""


def killed(*args: object, **options: object) -> None:
    raise Killed


def test_a_storm_is_one_message_that_counts(study, double):
    channel_to(double.url, "slack")
    for k in range(9):
        run = AnalysisRun.objects.create(study=study, estimator="mean_score")
        from analysis.web.jobs import _fail

        _fail(run.pk, "broken by r-secretcode")
        _fail(run.pk, "once more")
        if k == 0:
            tell()
    tell()
    assert len(double.came) == 1
    later(hours=2)
    tell()
    text = json.loads(double.came[1][1])["text"]
    assert text.count("An analysis failed.") == 5
    assert "And 3 more of the same." in text
    assert "secretcode" not in text
    assert "/studies/voices/results/" in text


# --- What is found -------------------------------------------------------------------------------


def test_a_study_stalls_when_nobody_rates_while_places_are_free(study, double):
    channel_to(double.url)
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


def test_traps_are_unusual_by_a_bound_that_holds_at_every_look(double):
    study = make_study(traps={"flawed": 2, "human": 3}, task={"traps": ATT_TRAPS, "method": "att"})
    channel_to(double.url)
    for failing in (True, True, False, True, True, True, True):
        answer_all(arrive(study, simulated=True), pass_traps=not failing)
    rates.watch_rates()
    assert not Occurrence.objects.exists()  # simulated raters are no people
    Rater.objects.update(simulated=False)
    rates.watch_rates()
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


def test_clips_that_do_not_play_are_unusual_and_so_are_sessions_that_end_there(double):
    study = make_study(conditions=4, items=10, task={"block_size": 4})
    channel_to(double.url)
    for _ in range(8):
        answer_all(arrive(study), stop_after=2)
    Rater.objects.update(simulated=False)
    rates.watch_rates()
    assert not Occurrence.objects.exists()
    Trial.objects.filter(state="answered", position=2).update(state="skipped")
    Block.objects.update(state=0, session=None, lease_until=None)  # they left
    rates.watch_rates()
    found = {each.facts["what"]: each.facts for each in Occurrence.objects.all()}
    assert (found["clips"]["percent"], found["ended"]["percent"]) == (50, 100)


# --- Who is told ---------------------------------------------------------------------------------


def test_only_who_may_see_it_is_told_when_it_happens_and_when_it_is_sent(study, double):
    project = Project.objects.create(name="Lab")
    viewer, stranger, root = make_user("viewer"), make_user("stranger"), make_user("root")
    type(root).objects.filter(pk=root.pk).update(is_superuser=True)
    root.refresh_from_db()
    member = Membership.objects.create(project=project, user=viewer, role="viewer")
    Study.objects.update(project=project)
    for user in (viewer, stranger, root):
        channel_to(double.url, user=user)
    fill(study)
    watching.watch()
    dispatching.dispatch()
    assert [each.channel.owner for each in Delivery.objects.all()] == [viewer]
    member.delete()
    assert tell() == ["failed"]
    assert double.came == []
    assert "may not see this study" in Delivery.objects.get().answer


def test_money_is_told_to_who_runs_the_study_only(study):
    project = Project.objects.create(name="Lab")
    Study.objects.update(project=project)
    study.refresh_from_db()
    from listening.notifications.audience import audience

    for role in ("viewer", "analyst", "editor"):
        user = make_user(role)
        Membership.objects.create(project=project, user=user, role=role)
        made = Channel.objects.create(
            owner=user, kind="slack", name=role, address="https://x", confirmed_at=timezone.now()
        )
        Subscription.objects.create(channel=made, project=project, events=list(KINDS))
    assert [c.name for c in audience(study, "study.budget_reached")] == ["editor"]
    assert len(audience(study, "study.full")) == 3


# --- Sent, and sent again ------------------------------------------------------------------------


def test_a_receiver_that_fails_is_asked_again_later_and_later_under_the_same_id(study, double):
    channel = channel_to(double.url)
    double.answers = [(500, {}), (302, {"Location": "http://169.254.169.254/"}), (200, {})]
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
    assert len(double.came) == 3
    assert len({headers["webhook-id"] for headers, _ in double.came}) == 1
    for headers, body in double.came:
        verify(channel.secret, headers, body)


def test_a_secret_is_replaced_while_both_are_good(double):
    channel = channel_to(double.url)
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
def test_an_address_that_is_gone_is_written_to_no_more_and_the_page_says_so(
    client, study, double, answers, tries, words
):
    channel_to(double.url)
    double.answers = answers
    fill(study)
    watching.watch()
    dispatching.dispatch()
    Delivery.objects.update(tries=tries)
    assert tell() == ["failed"]
    client.force_login(study.owner)
    assert words in words_of(page_of(client, "/messages/"))
    messages = do(client, action="start", channel=Channel.objects.get().pk)
    assert messages == ["Started: what happened meanwhile is told within a minute."]


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
    ],
)
def test_no_message_goes_into_a_private_network(address, monkeypatch):
    found = [(2, 1, 6, "", ("93.184.215.14", 443)), (2, 1, 6, "", (address, 443))]
    monkeypatch.setattr(outward.socket, "getaddrinfo", lambda *a, **k: found)
    with pytest.raises(outward.NotAllowed):
        outward.addresses_of("example.org", 443)
    with pytest.raises(outward.NotAllowed, match="private network"):
        outward.post("https://example.org/hook", b"{}", {})


def test_a_name_that_leads_elsewhere_the_second_time_leads_nowhere(double, monkeypatch, settings):
    """What was checked is what is connected to: there is no second look-up."""
    asked = []

    def look_up(host, port, *rest, **options):
        asked.append(host)
        return [(2, 1, 6, "", ("127.0.0.1", double.server_port))]

    monkeypatch.setattr(outward.socket, "getaddrinfo", look_up)
    assert outward.post(f"http://rebind.example:{double.server_port}/", b"{}", {}).status == 204
    assert asked[0] == "rebind.example"
    assert set(asked[1:]) <= {"127.0.0.1"}
    assert double.came[0][0]["host"] == f"rebind.example:{double.server_port}"
    settings.EARNEST_WEBHOOK_NETWORKS = ()
    with pytest.raises(outward.NotAllowed):
        outward.post(double.url, b"{}", {})


# --- Pages ---------------------------------------------------------------------------------------


def do(client, url: str = "/messages/do/", **form: object) -> list[str]:
    return messages_of(client.post(url, form, follow=True))


def test_a_channel_is_added_tried_and_chosen_for_one_study_on_the_pages(client, study, double):
    client.force_login(study.owner)
    assert "Nothing is sent yet" in page_of(client, "/messages/")
    added = {"action": "add", "kind": "webhook", "name": "Lab", "address": double.url}
    assert do(client, **added)[0].startswith("Added.")
    channel = Channel.objects.get()
    assert do(client, action="test", channel=channel.pk) == [
        "The test message was sent. It answered 204."
    ]
    assert do(client, action="test", channel=channel.pk)[0].startswith("Wait ten seconds")
    ((headers, body),) = double.came
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
        assert do(client, action=action, channel=channel.pk) == [
            "There is no such channel of yours."
        ]


def test_limits_of_a_study_are_changed_together_or_not_at_all_and_logged(client, study):
    client.force_login(study.owner)
    form = {"action": "limits", "stalled_h": 6, "trap_percent": 20}
    form |= {"error_percent": 0, "budget_percent": 80}
    refused = do(client, url="/studies/voices/messages/do/", **form)
    assert "Clips that do not play, %" in refused[0]
    assert watching.limits_of(study).stalled_h == 24
    do(client, url="/studies/voices/messages/do/", **{**form, "error_percent": 2})
    assert watching.limits_of(study).stalled_h == 6
    assert StudyEvent.objects.get().details == {"stalled_h": {"from": 24, "to": 6}}


def test_mail_comes_when_its_reader_has_followed_the_link_logged_in_as_its_owner(client, study):
    client.force_login(study.owner)
    form = {"action": "add", "kind": "mail", "address": "ada@example.org", "events": list(KINDS)}
    assert do(client, **form)[0].startswith("A mail is on its way")
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
    assert mail.outbox[1].subject == "Full: A study"
    assert mail.outbox[1].to == ["ada@example.org"]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("ftp://example.org/", "Give a whole web address"),
        ("https://me:word@example.org/", "Leave out user name"),
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
    monkeypatch.setattr(outward, "TIMEOUT_S", 0.3)
    over = Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                while not over.wait(0.05):
                    connection.sendall(b"H")

        Thread(target=drip, daemon=True).start()
        with pytest.raises(outward.NotReached):
            outward.post(f"http://127.0.0.1:{server.getsockname()[1]}/", b"{}", {})
        over.set()


def test_what_happens_while_a_channel_is_stopped_is_told_when_it_starts(study, double):
    channel = channel_to(double.url)
    channels.stop(channel)
    fill(study)
    watching.watch()
    assert tell() == []
    channels.start(channel)
    assert tell() == ["sent"]
