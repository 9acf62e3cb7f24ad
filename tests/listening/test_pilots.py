"""A draft tried by its researchers: by the raters' doors, apart from all results, then gone."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from listening import selectors, studies
from listening.models import Block, Rater, Rating, Session, Slot, Study, StudyEvent, Trial
from listening.recruitment.places import places_needed
from listening.selectors.progress import check_counts, page_progress, questionnaire_counts
from listening.selectors.study_overview import overviews
from listening.sessions.source_quotas import counts_of
from tests.factories import ATT_TRAPS, answer_all, make_study
from tests.listening.test_researcher_pages import messages_of, page_of, words_of
from tests.own_cache import empty_cache

pytestmark = pytest.mark.django_db
TRIED = {
    "checks": {"volume": {"passed": True, "done": True}},
    "questionnaires": {"about": {"answers": {"age": "9"}}},
    "comment": "Quetzalcoatl",
}


@pytest.fixture(autouse=True)
def _empty_cache():
    empty_cache()


@pytest.fixture
def draft() -> Study:
    study = make_study(
        key="voices",
        items=20,
        traps={"flawed": 2, "human": 3},
        task={"method": "att", "block_size": 10, "traps": ATT_TRAPS},
        texts={"consent": "I agree. " * 20},
    )
    Block.objects.all().delete()
    Study.objects.update(state="draft")
    study.refresh_from_db()
    return study


@pytest.fixture
def owner(client, draft):
    client.force_login(draft.owner)
    return client


def door_of(client: Client) -> str:
    """Where the button leads."""
    answer = client.post("/studies/voices/try/do/", {"action": "begin"})
    assert answer.status_code == 302
    return answer.url


def begin(client: Client) -> Session:
    answer = client.post(door_of(client), {"consent": "yes"})
    assert answer.status_code == 302, answer.content
    return Session.objects.get(code=answer.url.strip("/").split("/")[-1])


def tried(client: Client) -> Session:
    """A try to its end, by a researcher who needs no time to listen."""
    session = begin(client)
    Rater.objects.filter(pk=session.rater_id).update(simulated=True)
    answer_all(session)
    Session.objects.filter(pk=session.pk).update(**TRIED)
    session.refresh_from_db()
    return session


def plan_of(study: Study) -> list[tuple[object, ...]]:
    """All that is planned and free, without the numbers of rows."""
    blocks = Block.objects.filter(task__study=study).order_by("ord")
    free = list(blocks.values_list("ord", "replicate", "keys", "state", "session", "lease_until"))
    slots = Slot.objects.filter(task__study=study).order_by("block__ord", "position")
    return [*free, *slots.values_list("block__ord", "position", "stimulus", "versus", "replicate")]


def what_is_told(study: Study) -> dict[str, object]:
    """All that leaves the room or is counted on a page."""
    study.refresh_from_db()
    progress = page_progress(study.key)
    facts = selectors.method_facts(study.key)
    (overview,) = overviews([study])
    return {
        "ratings": list(selectors.rating_rows(study.key)),
        "sessions": list(selectors.session_rows(study.key)),
        "questionnaires": list(selectors.questionnaire_rows(study.key)),
        "mark": selectors.ratings_state(study.key),
        "clips": selectors.clip_answers(selectors.ClipQuery("voices", "att", "naturalness"), 9),
        "interim": selectors.interim_questions(study.key),
        "progress": {name: progress[name] for name in ("sessions", "tasks", "total")},
        "facts": facts,
        "overview": (overview.rated, overview.sessions, overview.last_activity),
        "plans": selectors.task_plans(study.key),
        "places": places_needed(study),
        "checks": (check_counts(study.pk), questionnaire_counts(study.pk), counts_of(study)),
    }


@pytest.mark.medium
def test_a_try_is_told_nowhere_but_on_its_own_page(owner, draft):
    before = what_is_told(draft)
    session = tried(owner)
    assert (session.pilot, session.status, Rating.objects.count()) == (True, "finished", 13)
    begin(owner)  # and one that holds its places
    empty_cache()
    assert what_is_told(draft) == before
    page = page_of(owner, "/studies/voices/")
    assert session.rater.code not in page
    assert "Opening deletes the 2 preview sessions." in words_of(page)
    own = page_of(owner, "/studies/voices/try/")
    assert "13 screens with answers" in words_of(own)
    assert "the rhythm is unlike a person" in own


@pytest.mark.medium
def test_opening_deletes_tries_and_plans_as_if_there_had_been_none(owner, draft):
    copy = studies.copy_study(draft, draft.owner, key="twin")
    for session in (tried(owner), begin(owner)):
        assert session.rater.code.startswith("try-")
    draft.refresh_from_db()
    studies.open_study(draft, anyway=True, by="ada")
    left = [model.objects.count() for model in (Session, Rater, Trial, Rating)]
    assert left == [0, 0, 0, 0]
    studies.open_study(copy, anyway=True)
    planned = {s.key: len(plan_of(s)) for s in (draft, copy)}
    assert planned["voices"] == planned["twin"] > 100
    places = [(row[0], row[1], row[3]) for row in plan_of(draft) if len(row) == 6]
    assert places == [(row[0], row[1], row[3]) for row in plan_of(copy) if len(row) == 6]
    assert {state for *_, state in places} == {Block.State.OPEN}
    said = [(e.what, e.by, e.details) for e in StudyEvent.objects.filter(key="voices")]
    assert said[1] == ("pilots_deleted", "ada", {"tries": 2})
    answer = owner.post("/studies/voices/try/do/", {"action": "begin"}, follow=True)
    assert "Copy it to preview a draft" in messages_of(answer)[0]


@pytest.mark.medium
def test_the_button_deletes_them_and_the_draft_is_unplanned_again(owner, draft):
    tried(owner)
    assert Slot.objects.count() > 100
    answer = owner.post("/studies/voices/try/do/", {"action": "delete"}, follow=True)
    assert messages_of(answer) == ["Deleted 1 preview session with all answers."]
    left = [model.objects.count() for model in (Session, Rater, Trial, Rating, Slot, Block)]
    assert left == [0] * 6
    assert "No preview session yet" in words_of(answer.content.decode())


@pytest.mark.medium
def test_one_try_is_ended_whoever_began_it_and_the_others_stay(owner, draft):
    """An editor who is no longer in the project has begun one: whoever holds the study ends it."""
    mine, theirs = begin(owner), begin(owner)
    form = {"action": "delete", "try": theirs.code}
    answer = owner.post("/studies/voices/try/do/", form, follow=True)
    assert messages_of(answer) == ["Deleted 1 preview session with all answers."]
    assert [each.code for each in Session.objects.all()] == [mine.code]
    assert [each.pk for each in Rater.objects.all()] == [mine.rater_id]
    assert Trial.objects.exists()
    assert Slot.objects.exists()  # what is planned stays for the other
    assert owner.get(reverse("session", args=[theirs.code])).status_code == 404
    again = owner.post("/studies/voices/try/do/", form, follow=True)
    assert messages_of(again) == ["No preview sessions."]
    assert owner.get(reverse("session", args=[mine.code])).status_code == 200
    last = StudyEvent.objects.filter(key="voices", what="pilots_deleted").get()
    assert last.details == {"tries": 1}


@pytest.mark.medium
def test_the_time_it_took_stands_beside_what_raters_are_told(owner, draft):
    session = tried(owner)
    began = timezone.now() - timedelta(minutes=30)
    Trial.objects.filter(session=session).update(answered_at=began + timedelta(seconds=200))
    ended = {
        "status": "finished",
        "started_at": began,
        "finished_at": began + timedelta(seconds=250),
    }
    Session.objects.filter(pk=session.pk).update(**ended)
    length = studies.promised_s(draft, selectors.session_length(draft))
    words = words_of(page_of(owner, "/studies/voices/try/"))
    assert "Your session took 4:10" in words
    assert f"The estimate is {int(length) // 60}:{round(length) % 60:02}" in words
    assert "plus 0:12 for the first page" in words  # 40 words


@pytest.mark.medium
def test_only_a_signed_address_of_a_draft_begins_a_try(owner, draft, settings):
    door = door_of(owner)
    stranger = Client()
    page = stranger.get(door)
    assert "Preview session: stored apart" in page.content.decode()
    assert Session.objects.count() == 0  # the door stores nothing
    for address in (f"/r/{draft.link}/?pilot=made-up", door[:-1]):
        answer = stranger.post(address, {"consent": "yes"})
        assert answer.status_code == 404
        assert "This preview session is over" in answer.content.decode()
    assert stranger.post(f"/r/{draft.link}/", {"consent": "yes"}).status_code == 409
    Study.objects.update(state="open")
    assert stranger.post(door, {"consent": "yes"}).status_code == 404  # no rater by accident
    assert Session.objects.count() == 0
