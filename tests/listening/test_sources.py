"""Ways into a study beside each other: whose ids they are, quotas, codes, and the way back."""

import hmac
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core import signing
from django.db import connection
from django.test import Client

from listening.design.providers import Visit
from listening.design.sources import Source, sources_of
from listening.models import Block, Connection, Rater, Recruitment, Session, Study
from listening.sessions import lifecycle
from listening.sessions.lifecycle import Arrival, NoRoom
from listening.sessions.source_quotas import counts_of
from listening.studies import close_study
from listening.studies.erasure import erase
from listening.web.rater.state import session_state
from tests.factories import answer_all, make_study
from tests.listening.folders import TOML, make_folder, problems_of, the_problem

SONA = "https://lab.sona-systems.com/webstudy_credit.aspx?credit_token=t&survey_code={participant}"
SOURCES = [
    {"key": "lab", "kind": "panel", "quota": 2},
    {"key": "class", "kind": "panel", "participant": "student"},
    {"key": "mturk", "kind": "mturk"},
    {"key": "sona", "kind": "sona", "return_urls": {"complete": SONA}},
    {
        "key": "connect",
        "kind": "connect",
        "codes": {"complete": "CONNECT1"},
        "return_urls": {"no_consent": "https://connect.example/out?c={code}"},
    },
]


@pytest.fixture
def study(db) -> Study:
    return make_study(
        items=4,
        task={"block_size": 4, "ratings_per_stimulus": 12},
        sources=SOURCES,
        completion_codes={"complete": "PROLIFIC1"},
    )


def enter(study: Study, **query: str) -> Session:
    answer = Client().post(f"/r/{study.link}/", {"consent": "yes", **query})
    assert answer.status_code == 302, answer.content.decode()
    return Session.objects.get(code=answer.url.strip("/").split("/")[-1])


def door(study: Study, **query: str) -> str:
    return Client().get(f"/r/{study.link}/", query).content.decode()


def end_of(session: Session) -> dict:
    """The last page of who has answered everything; as a script, which need not hear it out."""
    Rater.objects.filter(pk=session.rater_id).update(simulated=True)
    answer_all(session)
    session.refresh_from_db()
    return session_state(session, own=True)["end"]


@pytest.mark.medium
def test_only_the_named_ways_lead_in_and_each_says_what_is_missing(study):
    assert "This address is not complete" in door(study)
    assert "This address is not complete" in door(study, source="elsewhere")
    assert "Your id is missing" in door(study, source="lab")
    assert "Your id is missing" in door(study, source="sona", id="%SURVEY_CODE%")
    assert "Your id is missing" in door(study, source="lab", participant="undefined")
    assert "Your id is missing" in door(study, source="class", student="YOUR-ID")
    looking = door(study, source="mturk", workerId="W", assignmentId="ASSIGNMENT_ID_NOT_AVAILABLE")
    assert "Accept the task first" in looking
    refused = Client().post(f"/r/{study.link}/", {"consent": "yes"})
    assert refused.status_code == 404
    assert Session.objects.count() == 0
    assert enter(study, source="class", student="YOUR-ID-7").source == "class"
    assert enter(study, simulate=signing.dumps(study.key, salt="simulate")).rater.simulated


def test_the_plain_link_is_a_way_in_where_it_is_named(db):
    study = make_study(items=2, task={"block_size": 2}, sources=[{"key": "all", "kind": "link"}])
    assert enter(study).source == "all"


@pytest.mark.medium
def test_a_made_up_id_of_prolific_gets_nobody_past_the_sources(study):
    assert "This address is not complete" in door(study, PROLIFIC_PID="a" * 24)
    first = enter(study, source="class", student="s1", PROLIFIC_PID="b" * 24)
    assert first.rater.prolific_id is None
    again = Client().post(
        f"/r/{study.link}/",
        {"consent": "yes", "source": "class", "student": "s1", "PROLIFIC_PID": "c" * 24},
    )
    assert (again.status_code, Session.objects.count()) == (403, 1)  # one person, one rater
    at_prolific = Connection.objects.create(owner=study.owner, token="play-money")
    Recruitment.objects.create(study=study, connection=at_prolific, state="live")
    assert enter(study, PROLIFIC_PID="d" * 24).rater.prolific_id == "d" * 24


def test_prolific_leads_in_where_a_source_names_it(db):
    named = [{"key": "lab", "kind": "panel"}, {"key": "there", "kind": "prolific"}]
    study = make_study(items=2, task={"block_size": 2}, sources=named)
    session = enter(study, PROLIFIC_PID="a" * 24)
    assert (session.source, session.rater.prolific_id) == ("there", "a" * 24)


@pytest.mark.medium
def test_the_researchers_own_id_is_one_person_in_all_sources_others_are_not(study):
    by_lab = enter(study, source="lab", participant="p7")
    again = Client().get(f"/r/{study.link}/", {"source": "class", "student": "p7"})
    assert again.status_code == 403  # known, and somebody else's browser: it shows no session
    assert by_lab.code not in again.content.decode()
    assert "participant id has already started" in again.content.decode()
    others = [
        enter(study, source="mturk", workerId="p7", assignmentId="x1"),
        enter(study, source="sona", id="p7"),
        enter(study, source="connect", participantId="p7"),
    ]
    assert len({s.rater_id for s in (by_lab, *others)}) == 4
    with connection.cursor() as cursor:
        cursor.execute("SELECT external_id FROM listening_rater")
        assert all(value.startswith("sealed:") for (value,) in cursor.fetchall())


@pytest.mark.medium
def test_a_submission_that_only_its_participant_knows_opens_the_session_again(study):
    session = enter(study, source="mturk", workerId="w1", assignmentId="secret")
    there = Client().get(
        f"/r/{study.link}/", {"source": "mturk", "workerId": "w1", "assignmentId": "secret"}
    )
    assert there.url == f"/s/{session.code}/"
    stranger = {"source": "mturk", "workerId": "w1", "assignmentId": "guessed"}
    assert Client().get(f"/r/{study.link}/", stranger).status_code == 403
    Block.objects.update(state=0, session=None, lease_until=None)  # they have left
    close_study(study)
    assert (erase(study).sessions, erase(study, dry_run=True).sessions) == (1, 0)
    session.refresh_from_db()
    assert (session.external_session, Rater.objects.get().external_id) == ("", None)


@pytest.mark.medium
def test_codes_and_ways_back_are_those_of_the_source(study):
    connect = end_of(enter(study, source="connect", participantId="c1"))
    assert (connect["code"], connect["return_url"]) == ("CONNECT1", None)
    mturk = [
        end_of(enter(study, source="mturk", workerId=w, assignmentId=w))["code"] for w in ("a", "b")
    ]
    assert len(set(mturk)) == 2  # of their own: a code that is passed on is worth nothing
    declined = Client().post(
        f"/r/{study.link}/", {"consent": "no", "source": "connect", "participantId": "c2"}
    )
    assert 'href="https://connect.example/out?c="' in declined.content.decode()


def test_ids_cannot_leave_their_place_in_a_return_address():
    source = Source(
        "x", "other", return_urls={"complete": "https://a.example/{participant}?c={code}"}
    )
    back = source.return_url("complete", Visit("a/../b?c=1&x={code}"), code="C")
    assert back == "https://a.example/a%2F..%2Fb%3Fc%3D1%26x%3D%7Bcode%7D?c=C"
    assert source.return_url("needs_review", Visit("p"), code="D").endswith("c=D")
    assert source.return_url("screened_out", Visit("p"), code="D") == ""


@pytest.mark.medium
def test_a_quota_counts_who_finished_and_who_listens(study):
    first = enter(study, source="lab", participant="1")
    enter(study, source="lab", participant="2")
    assert "All places are taken" in door(study, source="lab", participant="3")
    assert "All places are taken" not in door(study, source="class", student="3")
    refused = Client().post(
        f"/r/{study.link}/", {"consent": "yes", "source": "lab", "participant": "3"}
    )
    assert refused.status_code == 409
    lifecycle.withdraw(first)
    enter(study, source="lab", participant="3")
    lab = counts_of(study)[0]
    assert (lab.entered, lab.listening, lab.finished, lab.is_full) == (3, 2, 0, True)
    study.sessions.filter(status=Session.Status.STARTED).update(status=Session.Status.FINISHED)
    assert "The study is complete" in door(study, source="lab", participant="4")
    assert "The study is complete" not in door(study, source="class", student="3")


@pytest.mark.django_db(transaction=True)
@pytest.mark.medium
def test_a_quota_is_not_passed_by_who_come_at_once():
    study = make_study(
        items=2,
        task={"block_size": 2, "ratings_per_stimulus": 12},
        sources=[{"key": "lab", "kind": "panel", "quota": 3}],
    )
    (source,) = sources_of(study.sources)

    def come(number: int) -> bool:
        try:
            lifecycle.start(study, Arrival(source=source, external_id=f"own/1/{number}"))
        except NoRoom:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(come, range(8))) == 3


@pytest.mark.medium
def test_the_recruiting_page_lists_the_ways_in_and_changes_a_quota(study, client):
    client.force_login(study.owner)
    enter(study, source="lab", participant="1")
    page = client.get(f"/studies/{study.key}/recruiting/").content.decode()
    assert f"/r/{study.link}/?source=class&amp;student=YOUR-ID" in page
    assert "?source=sona&amp;id=%SURVEY_CODE%" in page
    Study.objects.update(sources=[{**SOURCES[0], "kind": "panel", "invited_only": True}])
    alone = client.get(f"/studies/{study.key}/recruiting/").content.decode()
    assert "by invitation only" in alone
    assert "YOUR-ID" not in alone  # an address that lets nobody in
    Study.objects.update(sources=study.sources)
    change = {"action": "quota", "source": "lab", "quota": "1", "anchor": "sources"}
    said = client.post(f"/studies/{study.key}/recruiting/do/", change, follow=True)
    assert "Own panel: at most 1 sessions." in said.content.decode()
    assert "quota" in re.findall(r'badge-warn">(\w+)', said.content.decode())
    wrong = client.post(
        f"/studies/{study.key}/recruiting/do/", change | {"quota": "-1"}, follow=True
    )
    assert "A quota is a whole number" in wrong.content.decode()
    study.refresh_from_db()
    assert sources_of(study.sources)[0].quota == 1


SIGNED = {
    **{"key": "panel-x", "kind": "other", "participant": "pid", "submission": "sid"},
    "signature": "sig",
}


@pytest.mark.medium
def test_a_signed_address_names_all_that_is_signed(study, client):
    Study.objects.update(sources=[SIGNED])
    study.refresh_from_db()
    client.force_login(study.owner)
    secret = {"action": "secret", "source": "panel-x", "secret": "s3cret", "anchor": "sources"}
    client.post(f"/studies/{study.key}/recruiting/do/", secret)
    page = client.get(f"/studies/{study.key}/recruiting/").content.decode()
    assert "?source=panel-x&amp;pid=…&amp;sid=…&amp;sig=HMAC-SHA256" in page

    def arrive(signed: str, **ids: str) -> str:
        signature = hmac.new(b"s3cret", signed.encode(), "sha256").hexdigest()
        return door(study, source="panel-x", sig=signature, **ids)

    refused = "This address is not complete"
    assert refused not in arrive("p7", pid="p7")
    assert refused not in arrive("p7", pid="p7", sid="…")  # never filled in: no submission
    assert refused not in arrive("p7\nx1", pid="p7", sid="x1")
    assert refused in arrive("p7\n", pid="p7")
    assert refused in arrive("p7", pid="p7", sid="x1")
    assert refused in arrive("p7\nx1", pid="p7\nx1")
    (source,) = sources_of(study.sources)
    third_line = hmac.new(b"s3cret", b"p7\n\ncomplete", "sha256").hexdigest()
    assert source.sign(Visit("p7"), "s3cret", "complete") == third_line


GOOD = """
[[sources]]
key = "lab"
kind = "panel"
quota = 20

[[sources]]
key = "sona"
kind = "sona"
[sources.return_urls]
complete = "https://lab.example/credit?survey_code={participant}"
"""


@pytest.mark.parametrize(
    ("toml", "place", "remedy"),
    [
        ('key = "a"\nkind = "mturks"', "sources[1].kind", "Choose one"),
        ('key = "a"\n[[sources]]\nkey = "b"', "sources[2].kind", "Keep one"),
        ('key = "a"\nkind = "sona"\nparticipant = "lang"', "sources[1].participant", "another"),
        ('key = "a"\nkind = "link"\nown_ids = true', "sources[1].kind", "panel"),
        (
            'key = "a"\nkind = "sona"\nreturn_urls = {complete = "https://[x"}',
            "sources[1].return_urls.complete",
            "https://",
        ),
        (
            'key = "a"\nkind = "sona"\nreturn_urls = {complete = "ftp://x"}',
            "sources[1].return_urls.complete",
            "https://",
        ),
        (
            'key = "a"\nkind = "sona"\nreturn_urls = {complete = "https://x.example/{who}"}',
            "sources[1].return_urls.complete",
            "participant",
        ),
        (
            'key = "a"\nkind = "sona"\nreturn_urls = {complete = "https://x.example/{submission}"}',
            "sources[1].return_urls.complete",
            "submission",
        ),
        ('key = "p"\nkind = "prolific"\nown_ids = true', "sources[1].own_ids", "Leave it out"),
        (
            'key = "a"\nkind = "sona"\nreturn_urls = {complete = "https://x.y/?survey_code=XXXX"}',
            "sources[1].return_urls.complete",
            "survey_code={participant}",
        ),
        ('key = "a"\nkind = "mturk"\nsignature = "hitId"', "sources[1].signature", "another"),
    ],
)
def test_what_cannot_be_is_said_with_its_place_and_remedy(tmp_path, toml, place, remedy):
    problem = the_problem(tmp_path, TOML + "\n[[sources]]\n" + toml)
    assert problem.place == place
    assert remedy in problem.remedy


def test_sources_of_a_folder_come_back_from_it(tmp_path):
    from listening.design import studyfile

    assert problems_of(tmp_path / "a", TOML + GOOD) == []
    first = studyfile.read_folder(tmp_path / "a").study
    assert first is not None
    assert [source.kind for source in sources_of(first.sources)] == ["panel", "sona"]
    second = studyfile.read_folder(make_folder(tmp_path / "b", studyfile.toml_text(first))).study
    assert second is not None
    assert second.sources == first.sources
