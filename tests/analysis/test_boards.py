"""Leaderboards: who sees them, when they are made again, their files and read-only links."""

import gzip
import hashlib
import io
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from django.core.cache import cache
from django.test import Client

from analysis.models import Leaderboard, LeaderboardLink
from analysis.ratings import table
from analysis.report.leaderboard.answers_file import ABOUT
from analysis.statistics.linking.linked_strengths import link_pairs
from analysis.statistics.linking.linked_studies import components_of
from analysis.web.board_jobs import content_of, forget_input, make_leaderboard
from analysis.web.board_versions import changes
from listening import studies as kept_studies
from listening.common.signals import withdrawn
from listening.models import (
    Condition,
    Membership,
    Project,
    Rater,
    Rating,
    Session,
    Stimulus,
    Study,
    StudyEvent,
)
from listening.selectors import RATER_CODE
from listening.sessions import lifecycle
from listening.studies.analysis_rules import add_rule
from tests.factories import (
    an_answer,
    answer_all,
    arrive,
    current,
    labels_of,
    make_study,
    make_user,
)
from tests.own_cache import empty_cache
from tests.shared_rows import shared_rows

pytestmark = pytest.mark.django_db


def same_audio(*keys):
    """Two studies of one owner, which share all their audio."""
    studies = [make_study(key=key, conditions=2, items=2) for key in keys]
    for stimulus in Stimulus.objects.filter(study=studies[0]):
        same = Stimulus.objects.filter(study=studies[1], key=stimulus.key)
        assert same.update(sha256=stimulus.sha256)
    return studies


@pytest.fixture(scope="module")
def rated_two(django_db_setup, django_db_blocker):
    """Two such studies with all their answers; what a test changes is rolled back."""
    with shared_rows(django_db_blocker):
        studies = same_audio("one", "two")
        for study in studies:
            for _ in range(2):
                answer_all(arrive(study))
        yield [study.pk for study in studies]


@pytest.fixture
def two(rated_two, db):
    for key in ("one", "two"):
        forget_input(key)
    return [Study.objects.get(pk=pk) for pk in rated_two]


def new(client, **more):
    form = {"title": "Voices", "study": ["one", "two"], "first": "two", **more}
    return client.post("/leaderboards/", form, follow=True)


def made(client):
    """The only leaderboard, after its job has run."""
    board = Leaderboard.objects.get()
    make_leaderboard(board.pk)
    board.refresh_from_db()
    assert board.error == ""
    return client.get(f"/leaderboards/{board.pk}/").content.decode()


@pytest.mark.medium
def test_a_leaderboard_is_made_changed_and_taken_out(client, two):
    client.force_login(two[0].owner)
    assert "is being computed" in new(client).content.decode()
    board = Leaderboard.objects.get()
    assert board.keys == ["two", "one"]
    told = StudyEvent.objects.filter(what="analysed").values_list("key", "details__options")
    assert set(told) == {(key, "leaderboard “Voices”") for key in ("one", "two")}
    page = made(client)
    assert "May be compared" in page
    assert "may not be compared" not in page
    assert "is being" not in page
    file = client.get(f"/leaderboards/{board.pk}/leaderboard.csv")
    assert 'filename="voices-leaderboard-mos-naturalness.csv"' in file["Content-Disposition"]
    lines = file.content.decode().splitlines()
    assert lines[0].startswith("group,rank,system,score,score_low,score_high")
    assert len(lines) == 3
    tex = client.get(f"/leaderboards/{board.pk}/leaderboard.tex").content.decode()
    assert "\\textbf" in tex
    assert f"/leaderboards/{board.pk}/references.bib" in page
    works = client.get(f"/leaderboards/{board.pk}/references.bib").content.decode()
    assert re.findall(r"@article{(\w+)", works) == ["gelman2006", "brunner1997"]
    assert client.get(f"/leaderboards/{board.pk}/nothing.csv").status_code == 404
    answer_all(arrive(two[0]))
    assert "being updated" in client.get(f"/leaderboards/{board.pk}/").content.decode()
    client.post(f"/leaderboards/{board.pk}/do/", {"title": "V", "study": ["one"]})
    board.refresh_from_db()
    assert (board.title, board.keys, board.result) == ("V", ["one"], "")
    client.post(f"/leaderboards/{board.pk}/do/", {"do": "delete"})
    assert not Leaderboard.objects.exists()


@pytest.mark.medium
def test_only_a_study_that_changed_is_read_again(client, two, monkeypatch):
    empty_cache()
    read = []

    def counted(key):
        read.append(key)
        return from_study(key)

    from_study = table.from_study
    monkeypatch.setattr(table, "from_study", counted)
    client.force_login(two[0].owner)
    new(client)
    made(client)
    first = content_of(Leaderboard.objects.get())
    assert sorted(read) == ["one", "two"]
    made(client)
    assert content_of(Leaderboard.objects.get()) == first
    assert len(read) == 2  # neither changed
    answer_all(arrive(two[0]))
    made(client)
    assert read[2:] == ["one"]
    rows = [row["ratings"] for row in content_of(Leaderboard.objects.get()).tables[0].rows]
    assert sum(rows) == Rating.objects.count()  # those that came, with those that were kept
    add_rule(two[1], "headphones", "many wore none")
    page = client.get(f"/leaderboards/{Leaderboard.objects.get().pk}/").content.decode()
    assert "being updated" in page
    made(client)
    assert read[3:] == ["two"]
    withdrawn.send(__name__, study_id=two[0].pk, study_key="one")
    assert cache.get("leaderboards/input/one") is None
    assert cache.get("leaderboards/input/two") is not None


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"title": " "}, "name of 1 to 120"),
        ({"study": []}, "0 are selected"),
        ({"project": "7"}, "not a member of this project"),
    ],
)
@pytest.mark.medium
def test_a_wrong_form_says_what_to_do(client, two, form, said):
    client.force_login(two[0].owner)
    assert said in new(client, **form).content.decode()
    assert not Leaderboard.objects.exists()


@pytest.mark.medium
def test_one_that_cannot_be_made_says_so_and_shows_what_was(client, two, monkeypatch):
    client.force_login(two[0].owner)
    new(client, study=["one"])
    assert "Leaderboard: MOS" in made(client)
    board = Leaderboard.objects.get()

    def broken(*_any):
        raise MemoryError("too large")

    monkeypatch.setattr("analysis.web.board_jobs.leaderboard_content", broken)
    make_leaderboard(board.pk)
    page = client.get(f"/leaderboards/{board.pk}/").content.decode()
    assert "it broke (MemoryError: too large)" in page
    assert "The leaderboard below is the previous one. Earnest tries again" in page
    assert "Leaderboard: MOS" in page
    assert "Nothing to rank" not in page


@pytest.mark.medium
def test_only_who_may_analyse_every_study_sees_it(client, two):
    lab = Project.objects.create(name="Lab")
    people = {role: make_user(role) for role in ("viewer", "analyst", "editor")}
    for role, user in people.items():
        Membership.objects.create(project=lab, user=user, role=role)
    Study.objects.update(project=lab)
    client.force_login(people["analyst"])
    new(client, project=lab.pk)
    board = Leaderboard.objects.get()
    make_leaderboard(board.pk)
    paths = [f"/leaderboards/{board.pk}/", f"/leaderboards/{board.pk}/leaderboard.csv"]
    acts = [f"/leaderboards/{board.pk}/{each}/" for each in ("do", "links", "links/1/end")]
    seen = {}
    for who in (*people, "stranger", "nobody"):
        asks = Client()
        if who != "nobody":
            asks.force_login(make_user(who))
        seen[who] = [asks.get(path).status_code for path in paths]
        seen[who] += [asks.post(path, {"days": "x"}).status_code for path in acts]
        assert ("Voices" in asks.get("/leaderboards/").content.decode()) is (
            who in ("analyst", "editor")
        )
    assert seen["viewer"] == seen["stranger"] == [404] * 5
    assert seen["analyst"] == [200, 200, 403, 403, 403]
    assert seen["editor"] == [200, 200, 302, 400, 404]
    assert seen["nobody"] == [302] * 5
    Study.objects.filter(key="two").update(project=None)  # its owner's alone again
    client.force_login(people["editor"])
    assert client.get(paths[0]).status_code == 404


@pytest.mark.medium
def test_a_read_only_link_shows_it_until_it_is_ended(client, two):
    client.force_login(two[0].owner)
    new(client, study=["one"])
    made(client)
    board = Leaderboard.objects.get()
    page = client.post(f"/leaderboards/{board.pk}/links/", {"days": "3", "name": "Reviewer"})
    path = re.search(r'value="http://testserver(/shared/[^"]+)"', page.content.decode())[1]
    assert "Reviewer" in client.get(f"/leaderboards/{board.pk}/").content.decode()
    shown = Client().get(path)
    assert "Leaderboard:" in shown.content.decode()
    assert ".csv" not in shown.content.decode()
    assert shown["X-Robots-Tag"].startswith("noindex")
    link = LeaderboardLink.objects.get()
    assert link.opened == 1
    client.post(f"/leaderboards/{board.pk}/links/{link.pk}/end/")
    assert Client().get(path).status_code == 410
    assert Client().get("/shared/leaderboards/nothing/").status_code == 404


@pytest.mark.medium
def test_what_was_made_of_a_rater_who_withdrew_or_of_a_deleted_study_goes(client, two):
    client.force_login(two[0].owner)
    new(client)
    made(client)
    withdrawn.send(__name__, study_id=two[0].pk, study_key="one")
    board = Leaderboard.objects.get()
    assert (board.result, board.state) == ("", "empty")
    made(client)
    Study.objects.filter(key="two").update(state=Study.State.CLOSED)
    kept_studies.delete_study(two[1], "two")
    board.refresh_from_db()
    assert (board.result, board.keys) == ("", ["one"])


@pytest.mark.medium
def test_a_version_is_kept_when_systems_come_or_leave(client, two):
    client.force_login(two[0].owner)
    newcomer = Condition.objects.get(study=two[1], key="cond-1")
    Condition.objects.filter(pk=newcomer.pk).update(label="Newcomer", key="newcomer")
    for place, clip in enumerate(Stimulus.objects.filter(condition=newcomer)):
        Stimulus.objects.filter(pk=clip.pk).update(sha256=f"{place:064}")
    new(client, study=["one"])
    board = Leaderboard.objects.get()
    made(client)
    made(client)  # nothing changed: no version
    client.post(f"/leaderboards/{board.pk}/do/", {"title": "V", "study": ["one", "two"]})
    made(client)
    client.post(f"/leaderboards/{board.pk}/do/", {"title": "V", "study": ["one"]})
    page = made(client)
    came = [(len(each.entered), list(each.left)) for each in reversed(changes(board))]
    assert came == [(2, []), (1, []), (0, ["Newcomer"])]
    assert "Systems ever entered (3)" in page
    digests = re.findall(r"<code>([0-9a-f]{64})</code>", page)
    for number, digest in zip((3, 2, 1), digests, strict=True):
        file = client.get(f"/leaderboards/{board.pk}/version-{number}.json").content
        assert hashlib.sha256(file).hexdigest() == digest
        assert json.loads(file)["version"] == number
    client.post(f"/leaderboards/{board.pk}/do/", {"do": "version", "note": "as in the paper"})
    made(client)
    made(client)  # asked for once, kept once
    assert board.versions.count() == 4
    assert board.versions.first().note == "as in the paper"
    assert client.get(f"/leaderboards/{board.pk}/version-9.json").status_code == 404


@pytest.mark.medium
def test_the_owner_sees_what_a_version_would_change_before_making_it(client, two):
    client.force_login(two[0].owner)
    new(client, study=["one"])
    made(client)
    board = Leaderboard.objects.get()
    again = {"title": "V", "study": ["one"], "anchor": ["cond-0"], "first_day": "2020-01-01"}
    client.post(f"/leaderboards/{board.pk}/do/", again)
    assert 'value="cond-0" checked' in made(client)
    answer_all(arrive(two[0]))
    client.post(f"/leaderboards/{board.pk}/do/", again | {"study": ["two"], "note": "moved on"})
    board.refresh_from_db()
    keep = board.version_note
    Leaderboard.objects.update(version_note="")
    page = client.get(f"/leaderboards/{board.pk}/").content.decode()
    assert "Make version 2" not in page  # nothing is shown yet
    Leaderboard.objects.update(version_note=keep)
    page = made(client)
    first = board.versions.first()
    assert (first.number, first.note, first.studies) == (2, "moved on", ["two"])
    assert "Make version 3" in page
    assert re.search(r"<dt>Ratings</dt><dd>(\d+), \1 in the last version", page)
    client.post(f"/leaderboards/{board.pk}/do/", again | {"first_day": "2999-12-31"})
    page = made(client)
    assert "answers before 2999-12-31, which are set apart" in page
    assert "Left (UTC)" in page
    wrong = client.post(f"/leaderboards/{board.pk}/do/", again | {"first_day": "2026-13-01"})
    assert "There is no such day" in client.get(wrong["Location"]).content.decode()


@pytest.mark.medium
def test_versions_of_a_shared_leaderboard_go_with_ratings_but_not_their_digests(client, two):
    client.force_login(two[0].owner)
    new(client, study=["one"])
    board = Leaderboard.objects.get()
    made(client)
    answer = client.post(f"/leaderboards/{board.pk}/links/", {"days": "9"}).content.decode()
    shared = re.search(r"/shared/leaderboards/[^/\"<]+/", answer)[0]
    stranger = Client()
    file = stranger.get(f"{shared}version-1.json").content
    digest = hashlib.sha256(file).hexdigest()
    assert digest in stranger.get(shared).content.decode()
    withdrawn.send(__name__, study_id=two[0].pk, study_key="one")
    page = stranger.get(shared).content.decode()
    assert digest in page
    assert "withdrawn" in page
    assert stranger.get(f"{shared}version-1.json").status_code == 404
    made(client)  # without the rater's ratings, the same systems: no version of its own
    assert board.versions.count() == 1


def test_a_leaderboard_tells_what_rules_left_out(client, two):
    client.force_login(two[0].owner)
    add_rule(two[0], "answer_time:minimum_ms=3600000", "nobody may be so quick")
    new(client, study=["one"])
    page = made(client)
    assert "Each rating is counted at the first rule that leaves it out." in page


COLUMNS = Path("docs/files-and-columns.md").read_text("utf-8")
OPEN = {"ratings_licence": "CC-BY-4.0", "consent_covers_ratings": True}


def shared_path(client, board):
    page = client.post(f"/leaderboards/{board.pk}/links/", {"days": "9"}).content.decode()
    return re.search(r"/shared/leaderboards/[^/\"<]+/", page)[0]


def answers_of(client, path):
    """The answers of version 1 as a table, after their digests were checked."""
    response = client.get(f"{path}version-1-answers.csv")
    text = b"".join(response.streaming_content)
    facts = json.loads(client.get(f"{path}version-1.json").content)["answers"]
    assert hashlib.sha256(text).hexdigest() == facts["sha256"]
    packed = client.get(f"{path}version-1-answers.csv", headers={"accept-encoding": "gzip"})
    assert gzip.decompress(packed.content) == text
    answers = pd.read_csv(io.BytesIO(text), keep_default_na=False)
    assert facts["answers"] == len(answers)
    assert facts["counted"] == (answers["left_out_by"] == "").sum()
    return answers, facts


def answer_differently(study, raters):
    """Raters who answer, and not the same to each clip."""
    count = 0
    for session in [arrive(study) for _ in range(raters)]:
        while trial := current(session):
            labels = labels_of(trial)
            count += 1
            label = labels[count * count % len(labels)]
            lifecycle.record_answer(session, an_answer(trial, label))
    assert count


@pytest.mark.medium
def test_scores_of_a_version_follow_from_its_public_answers_alone(client):
    studies = same_audio("three", "four")
    Study.objects.update(publication=OPEN)
    Study.objects.filter(key="four").update(publication=OPEN | {"audio_licence": "CC0-1.0"})
    add_rule(studies[0], "answer_time:minimum_ms=3600000", "nobody may be so quick")
    for study in studies:
        answer_differently(study, raters=2)
    client.force_login(studies[0].owner)
    new(client, study=["three", "four"], first="four")
    board = Leaderboard.objects.get()
    made(client)
    stranger = Client()
    answers, _ = answers_of(stranger, shared_path(client, board))
    assert list(answers) == list(ABOUT)
    assert all(f"| `{name}` | {about} |\n" in COLUMNS for name, about in ABOUT.items())
    out = answers[answers["left_out_by"] != ""]
    assert set(out["unit"]) == {"three"}
    assert set(out["left_out_by"]) == {"answer_time"}
    counted = answers[answers["left_out_by"] == ""]
    (component,) = components_of(counted, ["four"], 4.0)
    again = {name: component.score(at).value for at, name in enumerate(component.systems)}
    rows = content_of(Leaderboard.objects.get()).tables[0].rows
    assert again == pytest.approx({row["system"]: row["score"] for row in rows}, abs=1e-12)
    hidden = re.compile("item-[0-9a-f]{12}")  # one study's audio has no licence
    assert all(map(hidden.fullmatch, answers["item"]))


@pytest.mark.medium
def test_strengths_of_pairs_follow_from_public_answers(client):
    study = make_study(key="pairs", task={"method": "ab"}, conditions=3, items=3)
    Study.objects.update(publication=OPEN | {"audio_licence": "CC0-1.0"})
    answer_differently(study, raters=4)
    client.force_login(study.owner)
    client.post("/leaderboards/", {"title": "Voices", "study": ["pairs"], "first": "pairs"})
    board = Leaderboard.objects.get()
    made(client)
    answers, _ = answers_of(client, f"/leaderboards/{board.pk}/")
    (component,) = link_pairs(answers[answers["left_out_by"] == ""], ["pairs"]).components
    again = {name: component.score(at).value for at, name in enumerate(component.systems)}
    rows = content_of(Leaderboard.objects.get()).tables[0].rows
    assert again == pytest.approx({row["system"]: row["score"] for row in rows}, abs=1e-12)
    assert set(answers["item"]) <= {f"pairs/item-{n}" for n in range(3)}


@pytest.mark.medium
def test_public_answers_hold_nothing_personal_and_no_study_without_consent(client, two):
    Study.objects.filter(key="one").update(publication=OPEN)
    rater = Rater.objects.filter(sessions__study=two[0]).first()
    Rater.objects.filter(pk=rater.pk).update(external_id="5f0a1b2c3d4e5f6a7b8c9d0e")
    rejected = Session.objects.filter(study=two[0]).last()
    Session.objects.filter(pk=rejected.pk).update(status="rejected")
    client.force_login(two[0].owner)
    for title in ("Voices", "Others"):
        new(client, title=title)
    pages, codes = [], []
    for board in Leaderboard.objects.order_by("pk"):
        make_leaderboard(board.pk)
        answers, facts = answers_of(client, f"/leaderboards/{board.pk}/")
        pages.append(client.get(f"/leaderboards/{board.pk}/").content.decode())
        codes.append(set(answers["rater"]))
        assert set(answers["unit"]) == {"one"}
        assert facts["withheld"] == {"of sessions that were rejected": 2}
        text = answers.to_csv()
        assert "5f0a1b2c3d4e5f6a7b8c9d0e" not in text
        assert not RATER_CODE.search(text)
        for clip in Stimulus.objects.all():
            assert clip.sha256 not in text
            assert clip.item.key not in set(answers["item"])
        for session in Session.objects.all():
            assert session.code not in text
    assert len(codes[0]) == 1
    assert not codes[0] & codes[1]
    assert "two: study.toml names no licence of the ratings (ratings_licence)." in pages[0]
    withdrawn.send(__name__, study_id=two[0].pk, study_key="one")
    board = Leaderboard.objects.first()
    assert board.versions.get().answers is None
    assert client.get(f"/leaderboards/{board.pk}/version-1-answers.csv").status_code == 404
