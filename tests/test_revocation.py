"""Whoever is removed, or whose account is closed, reaches nothing, by whichever way in."""

import re
from importlib import import_module
from urllib.parse import urlsplit

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client

from analysis.models import Leaderboard, LeaderboardEntry, LeaderboardLink, ResultsLink
from listening import review
from listening.access.projects import invite
from listening.models import (
    MemberInvitation,
    Membership,
    Project,
    Reviewer,
    ReviewJob,
    Role,
    Session,
    Study,
)
from rest.models import ApiToken
from rest.tokens import READ, make_token
from tests.factories import make_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.medium]


def take_out(person):
    Membership.objects.filter(user=person).delete()


def make_viewer(person):
    Membership.objects.filter(user=person).update(role=Role.VIEWER)


def switch_off(person):
    person.is_active = False
    person.save()


def delete_account(person):
    person.delete()


ENDINGS = [take_out, switch_off, delete_account]
LESS = [make_viewer, *ENDINGS]  # of what takes more than looking


@pytest.fixture
def lab():
    return Project.objects.create(name="Lab")


@pytest.fixture
def study(lab):
    made = make_study(key="one")
    made.project = lab
    made.save()
    return made


@pytest.fixture
def holder(lab):
    """Somebody who stays: an owner of the project."""
    return member(lab, "holder", Role.OWNER)


@pytest.fixture
def editor(lab, holder):
    return member(lab, "editor", Role.EDITOR)


def member(lab, name, role):
    user = make_user(name)
    Membership.objects.create(project=lab, user=user, role=role)
    return user


def browser(person):
    client = Client()
    client.force_login(person)
    return client


def link_in(page):
    return re.search(r'value="http://testserver(/shared/[^"]+)"', page.content.decode())[1]


@pytest.mark.parametrize("end", ENDINGS)
def test_pages(study, editor, end):
    client = browser(editor)
    pages = [f"/studies/{study.key}/", f"/studies/{study.key}/results/"]
    assert [client.get(page).status_code for page in pages] == [200, 200]
    end(editor)
    assert {client.get(page).status_code for page in pages} <= {302, 404}


@pytest.mark.parametrize("end", ENDINGS)
def test_tokens(study, editor, end):
    token = make_token(editor, "script", [READ], 30)
    path, headers = f"/api/v1/studies/{study.key}", {"Authorization": f"Bearer {token}"}
    assert Client().get(path, headers=headers).status_code == 200
    assert ApiToken.objects.count() == 1
    end(editor)
    assert Client().get(path, headers=headers).status_code in (401, 404)


@pytest.mark.parametrize("end", LESS)
def test_links_to_results(study, holder, editor, end):
    page = browser(editor).post(f"/studies/{study.key}/results/links/", {"days": "9", "audio": "1"})
    path = link_in(page)
    assert Client().get(path).status_code == 200
    end(editor)
    assert Client().get(path).status_code == 410
    assert Client().get(f"{path}clips/{study.stimuli.first().key}").status_code == 404
    listed = browser(holder).get(f"/studies/{study.key}/results/").content.decode()
    assert "maker left" in listed


def test_a_link_to_results_can_be_ended_by_who_holds_the_study(study, holder, editor):
    page = browser(editor).post(f"/studies/{study.key}/results/links/", {"days": "9"})
    listed = browser(holder).get(f"/studies/{study.key}/results/").content.decode()
    assert "<td>editor</td>" in listed
    link = ResultsLink.objects.get()
    browser(holder).post(f"/studies/{study.key}/results/links/{link.pk}/end/")
    assert Client().get(link_in(page)).status_code == 410


def board_link(study, editor):
    """A link to a leaderboard of the editor's own, which nobody else can open."""
    board = Leaderboard.objects.create(title="Mine", owner=editor)
    LeaderboardEntry.objects.create(board=board, study=study, place=0)
    page = browser(editor).post(f"/leaderboards/{board.pk}/links/", {"days": "9", "name": "Press"})
    return link_in(page)


@pytest.mark.parametrize("end", [make_viewer, take_out, switch_off])
def test_links_to_leaderboards(study, holder, editor, end):
    path = board_link(study, editor)
    assert Client().get(path).status_code == 200
    end(editor)
    assert Client().get(path).status_code == 410


def test_a_link_to_a_leaderboard_is_seen_and_ended_by_who_holds_a_study_on_it(
    study, holder, editor
):
    path = board_link(study, editor)
    link = LeaderboardLink.objects.get()
    listed = browser(holder).get(f"/studies/{study.key}/results/").content.decode()
    assert "Mine, for Press, created by editor" in listed
    end = f"/studies/{study.key}/results/links/leaderboards/{link.pk}/end/"
    assert end in listed
    stranger, other = make_user("stranger"), make_study(key="other")
    Study.objects.filter(pk=other.pk).update(owner=stranger)
    assert browser(stranger).post(end).status_code == 404
    elsewhere = end.replace(study.key, other.key)
    assert browser(stranger).post(elsewhere).status_code == 404
    assert Client().get(path).status_code == 200
    assert browser(holder).post(end).status_code == 302
    assert Client().get(path).status_code == 410


@pytest.fixture
def job(study):
    fields = {"kind": "reasons", "title": "Reasons", "seed": 1, "rule": "majority"}
    return ReviewJob.objects.create(
        study=study, rule_version="1", state=ReviewJob.State.OPEN, by="editor", **fields
    )


@pytest.mark.parametrize("end", LESS)
def test_links_of_reviewers(job, holder, editor, end):
    path = urlsplit(review.invite(job, 30, by="editor", whom="A friend")).path
    assert Client().get(path).status_code == 200
    listed = browser(holder).get(f"/studies/{job.study.key}/reviews/{job.pk}/").content.decode()
    assert "invited by editor" in listed
    end(editor)
    assert Client().get(path).status_code == 404
    listed = browser(holder).get(f"/studies/{job.study.key}/reviews/{job.pk}/").content.decode()
    assert "can no longer invite" in listed


@pytest.mark.parametrize("end", ENDINGS)
def test_desks_of_members(job, editor, end):
    client, path = browser(editor), f"/review/me-{job.pk}/"
    assert client.get(path).status_code == 200
    end(editor)
    assert client.get(path).status_code == 404


@pytest.mark.parametrize("end", LESS)
def test_invitations_into_a_project(lab, holder, end):
    second = member(lab, "second", Role.OWNER)
    path = urlsplit(invite(lab, Role.OWNER, 7, by="second", whom="A friend")).path
    assert Client().get(path).status_code == 200
    assert "created by second" in browser(holder).get(f"/projects/{lab.pk}/").content.decode()
    end(second)
    friend = browser(make_user("friend"))
    assert friend.get(path).status_code == 404
    assert friend.post(path).status_code == 404
    assert not Membership.objects.filter(user__username="friend").exists()
    page = browser(holder).get(f"/projects/{lab.pk}/").content.decode()
    assert "no longer an owner, so the link does not work" in page


@pytest.mark.parametrize("end", LESS)
def test_addresses_of_pilots(study, editor, end):
    study.state = "draft"
    study.save()
    path = browser(editor).post(f"/studies/{study.key}/try/do/", {"action": "begin"}).url
    assert Client().post(path, {"consent": "yes"}).status_code == 302
    assert Session.objects.count() == 1
    end(editor)
    Client().post(path, {"consent": "yes"})
    assert Session.objects.count() == 1


def rename(person):
    """The old name is free, and somebody else takes it."""
    name = person.username
    person.username = f"{name}-renamed"
    person.save()
    make_user(name)


def hand_name_on(person):
    """The account is deleted, and somebody who holds nothing gets its name."""
    name = person.username
    person.delete()
    make_user(name)


@pytest.mark.parametrize(("end", "works"), [(rename, True), (hand_name_on, False)])
def test_links_are_of_an_account_and_not_of_a_name(lab, study, job, editor, end, works):
    study.state = "draft"
    study.save()
    second = member(lab, "second", Role.OWNER)
    links = [
        urlsplit(review.invite(job, 30, by="editor")).path,
        urlsplit(invite(lab, Role.VIEWER, 7, by="second")).path,
        browser(editor).post(f"/studies/{study.key}/try/do/", {"action": "begin"}).url,
    ]
    end(editor)
    end(second)
    assert [Client().get(link).status_code == 200 for link in links[:2]] == [works, works]
    Client().post(links[2], {"consent": "yes"})
    assert Session.objects.filter(pilot=True).exists() is works


def test_links_from_before_are_given_the_account_of_their_name(lab, job, editor):
    review.invite(job, 30, by="editor", whom="A friend")
    review.invite(job, 30, by="nobody")
    invite(lab, Role.VIEWER, 7, by="holder")
    rows = [*Reviewer.objects.all(), *MemberInvitation.objects.all()]
    before = [row.made_by for row in rows]
    Reviewer.objects.update(made_by=None)
    MemberInvitation.objects.update(made_by=None)
    import_module("listening.migrations.0043_links_know_their_makers_account").find_makers(
        apps, connection
    )
    for row in rows:
        row.refresh_from_db()
    assert [row.made_by for row in rows] == before
    assert [made and made.username for made in before] == ["editor", None, "holder"]


def test_a_try_that_somebody_began_is_seen_and_ended_by_who_holds_the_study(study, editor, holder):
    study.state = "draft"
    study.save()
    path = browser(editor).post(f"/studies/{study.key}/try/do/", {"action": "begin"}).url
    began = Client()
    session = began.post(path, {"consent": "yes"}).url
    take_out(editor)
    assert began.get(session).status_code == 200
    tries = browser(holder).get(f"/studies/{study.key}/try/").content.decode()
    assert "Deleting it ends it, even if somebody else started it." in tries
    assert f'href="{session}"' in tries
    browser(holder).post(f"/studies/{study.key}/try/do/", {"action": "delete"})
    assert began.get(session).status_code == 404
