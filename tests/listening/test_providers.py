"""Each crowd provider from the address that is entered there to what it takes at the end."""

import hmac
import re
from hashlib import sha256
from html import unescape

import pytest
from django.test import Client

from listening.models import Session, Study
from listening.selectors.session_rows import session_rows
from listening.sessions import lifecycle
from listening.studies import check_study
from listening.web.rater.state import session_state
from tests.factories import make_study
from tests.listening.provider_doubles import (
    Clickworker,
    Connect,
    MechanicalTurk,
    Microworkers,
    Sona,
)
from tests.listening.test_sources import end_of

CREDIT = Sona.completion_url.replace("XXXX", "{participant}")
PANEL_BACK = "https://panel.example/end?p={participant}&o=full&s={signature}"
SOURCES = [
    {"key": "connect", "kind": "connect", "return_urls": {"complete": Connect.redirect}},
    {"key": "connect-code", "kind": "connect", "codes": {"complete": "CONNECT-1"}},
    {"key": "sona", "kind": "sona", "return_urls": {"complete": CREDIT}},
    {"key": "mturk", "kind": "mturk", "codes": {"quota_full": "FULL"}},
    {"key": "micro", "kind": "microworkers"},
    {"key": "click", "kind": "clickworker", "codes": {"complete": "THANKS-42"}},
    {
        "key": "signed",
        "kind": "other",
        "quota": 1,
        "participant": "pid",
        "submission": "sid",
        "signature": "sig",
        "return_urls": {"quota_full": PANEL_BACK},
    },
]


@pytest.fixture
def study(db) -> Study:
    return make_study(
        items=4,
        task={"block_size": 4, "ratings_per_stimulus": 12},
        sources=SOURCES,
        completion_codes={"complete": "OWN"},
    )


@pytest.fixture
def entered(study, client) -> dict[str, str]:
    """Source -> the address that the recruiting page shows."""
    client.force_login(study.owner)
    page = client.get(f"/studies/{study.key}/recruiting/").content.decode()
    found = re.findall(r'<code class="source-address">([^<]+)</code>', page)
    return {re.findall(r"source=([\w-]+)", url)[0]: unescape(url) for url in found}


def set_secret(client: Client, study: Study, source: str, secret: str) -> str:
    form = {"action": "secret", "source": source, "secret": secret}
    path = f"/studies/{study.key}/recruiting/do/"
    return client.post(path, form, follow=True).content.decode()


def take_part(url: str, browser: Client | None = None) -> Session:
    """Open an address in a browser and send the form that its page shows."""
    browser = browser or Client()
    page = browser.get(url)
    assert page.status_code == 200, page.content.decode()
    form = page.content.decode().split('id="consent-form"')[1]
    hidden = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form)
    fields = {name: unescape(value) for name, value in hidden}
    answer = browser.post(page.request["PATH_INFO"], {**fields, "consent": "yes"})
    assert answer.status_code == 302, answer.content.decode()
    return Session.objects.get(code=answer.url.strip("/").split("/")[-1])


@pytest.mark.medium
def test_connect_completes_by_redirect_or_by_code(study, entered):
    connect = Connect()
    assert end_of(take_part(connect.link(entered["connect"], "c1")))["return_url"] == (
        connect.redirect
    )
    end = end_of(take_part(connect.link(entered["connect-code"], "c2")))
    assert "CloudResearch Connect" in end["next"]
    assert connect.submit("c2", end["code"])
    again = Client().get(connect.link(entered["connect"], "c2"))  # the same person, by the other
    assert again.url == f"/s/{Session.objects.get(source='connect-code').code}/"
    stranger = connect.link(entered["connect"], "c2").replace("as-c2", "as-c3")
    assert Client().get(stranger).status_code == 403
    assert {s.external_project for s in Session.objects.all()} == {"A1B2"}


@pytest.mark.medium
def test_sona_grants_credit_to_the_survey_code_that_it_filled_in(study, entered):
    sona = Sona()
    assert sona.open(end_of(take_part(sona.link(entered["sona"], "4711")))["return_url"])
    hostile = "1&credit_token=x#"
    url = entered["sona"].replace("%SURVEY_CODE%", "1%26credit_token%3Dx%23")
    assert sona.open(end_of(take_part(url))["return_url"])
    assert sona.granted == ["4711", hostile]


@pytest.mark.medium
def test_microworkers_accepts_the_code_of_this_worker_alone(study, entered, client):
    micro = Microworkers()
    unset = end_of(take_part(micro.link(entered["micro"], "w0")))
    assert not micro.accepts("w0", unset["code"])  # the secret was not entered
    said = set_secret(client, study, "micro", micro.secret)
    assert "VCODE secret key is stored encrypted" in said
    assert micro.secret not in said
    study.refresh_from_db()
    assert micro.secret not in str(study.source_secrets)
    session = take_part(micro.link(entered["micro"], "w1"))
    code = end_of(session)["code"]
    assert micro.accepts("w1", code)
    assert not micro.accepts("w2", code)
    in_table = {row["session"]: row["completion_code"] for row in session_rows(study.key)}
    assert in_table[f"s{session.pk}"] == code
    screened = take_part(micro.link(entered["micro"], "w3"))
    screened.status = Session.Status.SCREENED
    screened.save()
    assert not session_state(screened, own=True)["end"]["code"].startswith("mw-")


@pytest.mark.medium
def test_clickworker_takes_the_code_that_all_share(study, entered):
    click = Clickworker()
    end = end_of(take_part(click.link(entered["click"], "123456789")))
    assert click.accepts(end["code"])
    assert Client().get(click.link(entered["click"], "")).status_code == 404


@pytest.mark.medium
def test_mturk_opens_a_window_and_submits_from_its_frame(study, entered):
    turk, browser = MechanicalTurk(), Client()
    preview = Client().get(turk.preview(entered["mturk"]))
    assert "Accept the task first" in preview.content.decode()
    framed = turk.frame(entered["mturk"], "W1", "A1")
    page = Client().get(framed)  # a frame sends no cookies
    assert "consent-form" not in page.content.decode()
    for response in (preview, page):
        policy = response.headers["Content-Security-Policy"]
        assert "frame-ancestors https://worker.mturk.com https://workersandbox.mturk.com" in policy
        assert "X-Frame-Options" not in response.headers
    (window,) = re.findall(r'href="([^"]+)" target="_blank"', page.content.decode())
    session = take_part(unescape(window), browser)
    assert "not finished yet" in Client().get(framed).content.decode()
    end = end_of(session)
    assert "Mechanical Turk" in end["next"]
    turk.submit(Client().get(framed).content.decode())
    assert turk.submitted == {"A1": {"code": end["code"], "outcome": end["outcome"]}}
    own_window = Client().get(unescape(window))  # which is known by its assignment
    assert own_window.url == f"/s/{session.code}/"


@pytest.mark.medium
def test_mturk_gives_nothing_to_strangers_in_frames_and_submits_to_mturk_alone(study, entered):
    turk = MechanicalTurk()
    session = take_part(turk.frame(entered["mturk"], "W1", "A1").split("&turkSubmitTo")[0])
    code = end_of(session)["code"]
    for assignment in ("A2", ""):
        page = Client().get(turk.frame(entered["mturk"], "W1", assignment)).content.decode()
        assert code not in page
        assert "externalSubmit" not in page
    for site in (
        *("https://evil.example", "https://www.mturk.com.evil.example", "http://www.mturk.com"),
        *("https://www.mturk.com@evil.example", "https://www.mturk.com/x", "javascript:alert(1)"),
        "https://[",
    ):
        turk.site = site
        answer = Client().get(turk.frame(entered["mturk"], "W1", "A1"))
        assert answer.status_code == 404
        assert "evil.example" not in answer.content.decode()
    turk.site = "https://workersandbox.mturk.com"
    turk.submit(Client().get(turk.frame(entered["mturk"], "W1", "A1")).content.decode())
    elsewhere = Client().get(Connect().link(entered["connect"], "c1") + "&turkSubmitTo=x")
    assert "frame-ancestors 'none'" in elsewhere.headers["Content-Security-Policy"]
    assert elsewhere.headers["X-Frame-Options"] == "DENY"


@pytest.mark.medium
def test_a_task_that_is_accepted_again_is_submitted_with_its_new_assignment(study, entered):
    turk, browser = MechanicalTurk(), Client()
    session = take_part(turk.frame(entered["mturk"], "W1", "A1").split("&turkSubmitTo")[0], browser)
    framed = turk.frame(entered["mturk"], "W1", "A2")
    (window,) = re.findall(r'href="([^"]+)" target="_blank"', Client().get(framed).content.decode())
    assert Client().get(unescape(window)).status_code == 403  # another browser proves nothing
    assert browser.get(unescape(window)).url == f"/s/{session.code}/"
    end_of(session)
    preview = browser.get(turk.preview(entered["mturk"]) + "&workerId=W1")
    assert "Accept the task first" in preview.content.decode()
    turk.submit(Client().get(framed).content.decode())
    assert list(turk.submitted) == ["A2"]


def signed(participant: str, submission: str, *outcome: str, secret: str = "s3cret") -> str:
    text = "\n".join((participant, submission, *outcome))
    return hmac.new(secret.encode(), text.encode(), sha256).hexdigest()


@pytest.mark.medium
def test_a_signed_source_lets_in_whom_it_signed_and_signs_at_a_full_quota(study, client):
    def url(pid: str, sid: str, sig: str) -> str:
        return f"/r/{study.link}/?source=signed&pid={pid}&sid={sid}&sig={sig}"

    found = [str(finding) for finding in check_study(study)]
    assert sum("No rater can start through it." in each for each in found) == 1
    right = signed("p1", "x1")
    assert Client().get(url("p1", "x1", right)).status_code == 404  # no secret is set: nobody
    set_secret(client, study, "signed", "s3cret")  # nobody has logged in
    assert Client().get(url("p1", "x1", right)).status_code == 404
    client.force_login(study.owner)
    set_secret(client, study, "signed", "s3cret")
    for pid, sid, sig in (
        ("p2", "x1", right),
        ("p1", "x2", right),
        ("p1", "x1", ""),
        ("p1", "x1", signed("p1", "x1", secret="other")),
        ("p1", "x1", "é"),
    ):
        refused = Client().get(url(pid, sid, sig))
        assert refused.status_code == 404
        assert "This address is not complete" in refused.content.decode()
    session = take_part(url("p1", "x1", right.upper()))
    assert Client().get(url("p1", "x1", right)).url == f"/s/{session.code}/"
    assert Client().get(url("p1", "x1", "")).status_code == 404  # known, but not proved
    full = Client().get(url("p2", "x2", signed("p2", "x2"))).content.decode()
    back = f"https://panel.example/end?p=p2&o=full&s={signed('p2', 'x2', 'quota_full')}"
    assert f'href="{back}"' in unescape(full)


@pytest.mark.medium
def test_who_finds_no_place_is_told_the_code_for_a_full_quota(study, entered):
    Study.objects.update(state=Study.State.CLOSED)
    page = Client().get(MechanicalTurk().frame(entered["mturk"], "W1", "A1")).content.decode()
    assert '<code class="code">FULL</code>' in page
    sona = Client().get(Sona().link(entered["sona"], "1")).content.decode()
    assert "webstudy_credit" not in sona  # no credit for who found no place


@pytest.mark.medium
def test_one_person_of_two_providers_is_known_by_the_browser(study, entered):
    """Providers do not share ids: the second is marked, or refused where the source says so."""
    browser = Client()
    first = take_part(Connect().link(entered["connect"], "c1"), browser)
    second = take_part(Clickworker().link(entered["click"], "77"), browser)
    assert second.rater_id != first.rater_id
    assert second.browser_of == first.rater.code
    strict = [{**source, "once_per_browser": source["key"] == "sona"} for source in SOURCES]
    Study.objects.update(sources=strict)
    url = Sona().link(entered["sona"], "4711")
    assert "already started this study in this browser" in browser.get(url).content.decode()
    refused = browser.post(f"/r/{study.link}/", {"source": "sona", "id": "4711", "consent": "yes"})
    assert refused.status_code == 409
    own = Client()
    third = take_part(url, own)  # who takes part for the first time here may come back
    assert own.get(url).url == f"/s/{third.code}/"
    end_of(third)
    Study.objects.update(sessions_per_rater=2)
    assert "consent-form" in own.get(url).content.decode()


@pytest.mark.medium
def test_withdrawal_and_erasure_leave_no_id_of_a_provider(study, entered):
    session = take_part(Connect().link(entered["connect"], "c1"))
    lifecycle.withdraw(session)
    session.refresh_from_db()
    assert (session.external_session, session.external_project) == ("", "")
