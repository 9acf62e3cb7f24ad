"""The researcher's pages: who sees what, what they show, and what can be done with them."""

import re
from datetime import timedelta

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from redis.exceptions import ConnectionError as RedisConnectionError

from listening.models import Block, Rater, Rating, Session, Study
from tests.factories import ATT_TRAPS, answer_all, arrive, make_study, make_user
from tests.listening.sounds import give_sound
from tests.own_cache import empty_cache

pytestmark = pytest.mark.django_db


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


def page_of(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def words_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def person_took(study: Study, **fields: str) -> Session:
    """A finished session that counts as a person's; people cannot be as quick as a test is."""
    session = arrive(study, **fields)
    answer_all(session)
    Rater.objects.filter(pk=session.rater_id).update(simulated=False)
    return session


def messages_of(answer) -> list[str]:
    return [str(message) for message in answer.context["messages"]]


ACTIONS = ["/studies/voices/state/", "/studies/voices/simulated/"]


# --- Who sees what -------------------------------------------------------------------------------


def test_the_front_page_leads_to_the_log_in_or_to_the_studies(client, study):
    assert client.get("/").url == "/login/"
    client.force_login(study.owner)
    assert client.get("/").url == "/studies/"


@pytest.mark.parametrize("url", ["/studies/", "/studies/voices/"])
def test_pages_ask_for_a_log_in(client, study, url):
    assert client.get(url).url == f"/login/?next={url}"


@pytest.mark.parametrize("url", ACTIONS)
def test_actions_ask_for_a_log_in_and_change_nothing(client, study, url):
    assert client.post(url, {"to": "closed"}).url.startswith("/login/")
    assert Study.objects.get().state == "open"


@pytest.mark.medium
def test_another_researcher_gets_404_and_an_empty_list(client, study):
    session = arrive(study)
    client.force_login(make_user("somebody-else"))
    assert client.get("/studies/voices/").status_code == 404
    for url in ACTIONS:
        assert client.post(url, {"to": "closed"}).status_code == 404
    session.refresh_from_db()
    assert (Study.objects.get().state, session.status) == ("open", "started")
    assert "voices" not in page_of(client, "/studies/")


@pytest.mark.medium
def test_a_superuser_sees_every_study_with_its_owner(client, study):
    client.force_login(make_user("root", is_superuser=True))
    assert study.owner.username in words_of(page_of(client, "/studies/"))
    assert study.title in page_of(client, "/studies/voices/")


def test_actions_need_a_form_of_this_site(study):
    client = Client(enforce_csrf_checks=True)
    client.force_login(study.owner)
    for url in ACTIONS:
        assert client.post(url, {"to": "closed"}).status_code == 403
        assert client.get(url).status_code == 405
    assert Study.objects.get().state == "open"


@pytest.mark.medium
def test_a_wrong_password_is_a_sentence_and_a_right_one_leads_on(client):
    user = make_user("ada")
    user.set_password("lovelace-1843")
    user.save()
    wrong = client.post("/login/?next=/studies/", {"username": "ada", "password": "x"})
    assert "Wrong user name or password" in words_of(wrong.content.decode())
    right = {"username": "ada", "password": "lovelace-1843", "next": "/studies/"}
    assert client.post("/login/", right).url == "/studies/"
    assert client.post("/logout/").url == "/"
    assert client.get("/studies/").status_code == 302


def test_the_log_in_leads_to_no_other_site(client):
    user = make_user("ada")
    user.set_password("lovelace-1843")
    user.save()
    there = {"username": "ada", "password": "lovelace-1843", "next": "https://example.org/"}
    assert client.post("/login/", there).url == "/"


# --- The list ------------------------------------------------------------------------------------


def test_an_empty_list_says_how_to_import_a_study(client):
    client.force_login(make_user("ada"))
    assert "import_study FOLDER --owner ada" in page_of(client, "/studies/")


@pytest.mark.medium
def test_the_list_shows_ratings_sessions_and_last_activity(owner, study):
    answer_all(arrive(study), stop_after=3)
    arrive(study)
    text = words_of(page_of(owner, "/studies/"))
    assert "3 of 60" in text
    assert "2 2 simulated – just now" in text


@pytest.mark.medium
def test_last_activity_is_the_last_answer_and_not_the_arrival(owner, study):
    session = arrive(study)
    day_ago = timezone.now() - timedelta(days=1)
    Session.objects.update(started_at=day_ago)
    Block.objects.filter(session=session).update(
        lease_until=timezone.now()
        + timedelta(seconds=study.lease_s)
        - timedelta(hours=3, minutes=2)
    )
    assert "3 hours, 2 minutes ago" in words_of(page_of(owner, "/studies/").replace("\xa0", " "))


@pytest.mark.medium
def test_many_studies_come_in_pages(client):
    ada = make_user("ada")
    Study.objects.bulk_create(Study(owner=ada, key=f"s{k}", title=f"No. {k}") for k in range(53))
    client.force_login(ada)
    first, second = page_of(client, "/studies/"), page_of(client, "/studies/?page=2")
    assert (first.count('<th scope="row">'), second.count('<th scope="row">')) == (50, 3)
    assert "51–53 of 53 studies" in second
    assert client.get("/studies/?page=nonsense").status_code == 200


@pytest.mark.medium
def test_a_title_cannot_bring_markup_into_the_pages(owner, study):
    Study.objects.update(title="<script>alert(1)</script>")
    for url in ("/studies/", "/studies/voices/"):
        html = page_of(owner, url)
        assert "<script>alert" not in html
        assert "&lt;script&gt;alert" in html


# --- One study -----------------------------------------------------------------------------------


@pytest.mark.medium
def test_the_study_page_shows_progress_per_condition_and_traps(client):
    study = make_study(
        key="turing",
        traps={"flawed": 2, "human": 3},
        task={"method": "att", "traps": ATT_TRAPS, "title": "Who speaks?"},
    )
    answer_all(arrive(study))
    client.force_login(study.owner)
    html = page_of(client, "/studies/turing/")
    text = words_of(html)
    assert "5 of 60 ratings" in text
    rated = re.findall(r'<progress data-live="tasks/att/conditions/[^>]*value="(\d+)"', html)
    assert sum(map(int, rated)) == 5
    assert len(rated) == 3
    assert "flawed 100 % of 1" in text
    assert "human 100 % of 2" in text
    assert "1 done · 0 in progress · 11 open" in text
    assert f"{settings.EARNEST_PUBLIC_URL}/r/{study.link}/" in html


@pytest.mark.medium
def test_no_session_code_is_on_the_study_page(owner, study):
    session = arrive(study)
    assert session.code not in page_of(owner, "/studies/voices/")


@pytest.mark.medium
def test_the_number_of_queries_does_not_grow_with_the_sessions(
    owner, study, django_assert_max_num_queries
):
    for _ in range(8):
        arrive(study)
    empty_cache()
    with django_assert_max_num_queries(31):
        page_of(owner, "/studies/voices/")


# --- What can be done ----------------------------------------------------------------------------


@pytest.mark.medium
def test_a_study_is_paused_opened_again_and_closed_from_its_page(owner, study):
    for to in ("paused", "open", "closed"):
        answer = owner.post("/studies/voices/state/", {"to": to}, follow=True)
        assert Study.objects.get().state == to
        assert any(to in message for message in messages_of(answer))
    answer = owner.post("/studies/voices/state/", {"to": "open"}, follow=True)
    assert Study.objects.get().state == "closed"
    assert "cannot be opened again" in messages_of(answer)[0]
    assert owner.post("/studies/voices/state/", {"to": "sold"}, follow=True).status_code == 200


@pytest.mark.medium
def test_a_draft_with_missing_audio_says_so_and_stays_a_draft(owner, study):
    Study.objects.update(state="draft")
    text = words_of(page_of(owner, "/studies/voices/"))
    assert "Must be solved: The audio of" in text
    assert "Open anyway" in text
    answer = owner.post("/studies/voices/state/", {"to": "open"}, follow=True)
    assert Study.objects.get().state == "draft"
    assert "cannot be read" in messages_of(answer)[0]
    owner.post("/studies/voices/state/", {"to": "open", "anyway": "yes"})
    assert Study.objects.get().state == "open"


@pytest.mark.medium
def test_a_draft_in_order_opens_from_its_page(owner, study):
    give_sound(study)
    Study.objects.update(state="draft", texts={"consent": "Yes?", "contact": "Us."})
    page = words_of(page_of(owner, "/studies/voices/"))
    assert "Must be solved" not in page
    assert "has no traps" in page  # a small design is told what it lacks, and opens all the same
    assert "Design" in page
    owner.post("/studies/voices/state/", {"to": "open"})
    assert Study.objects.get().state == "open"


@pytest.mark.medium
def test_a_large_draft_is_checked_when_its_researcher_asks(owner, study, monkeypatch):
    monkeypatch.setattr("listening.web.researcher.study_page.CHECKED_UNASKED", 10)
    Study.objects.update(state="draft")
    assert "Check all clips now" in page_of(owner, "/studies/voices/")
    assert "Must be solved" in page_of(owner, "/studies/voices/?check")


@pytest.mark.medium
def test_simulated_raters_are_named_as_such_and_deleted_without_the_others(owner, study):
    person = person_took(study)
    hidden = r'data-live-shown="sessions/simulated" hidden'
    assert re.search(hidden, page_of(owner, "/studies/voices/"))
    answer_all(arrive(study))
    empty_cache()
    html = page_of(owner, "/studies/voices/")
    assert not re.search(hidden, html)
    assert "1 of these sessions are simulated" in words_of(html)
    answer = owner.post("/studies/voices/simulated/", follow=True)
    assert "Deleted 1 session " in messages_of(answer)[0]
    assert list(Session.objects.values_list("pk", flat=True)) == [person.pk]
    assert Rating.objects.filter(counts=True).count() == 5
    assert "5 of 60 ratings" in words_of(answer.content.decode())


@pytest.mark.medium
def test_records_in_the_admin_cannot_be_changed(client, study):
    client.force_login(make_user("root", is_superuser=True, is_staff=True))
    answer_all(arrive(study))
    for model in ("study", "task", "condition", "item", "stimulus", "rater", "session", "rating"):
        assert client.get(f"/admin/listening/{model}/").status_code == 200
        assert client.get(f"/admin/listening/{model}/add/").status_code == 403
    rating = Rating.objects.all()[0]
    url = f"/admin/listening/rating/{rating.pk}"
    assert client.get(f"{url}/change/").status_code == 200
    assert client.post(f"{url}/change/", {"score": 1}).status_code == 403
    assert client.post(f"{url}/delete/", {"post": "yes"}).status_code == 403


@pytest.mark.medium
def test_the_pages_stand_when_the_cache_is_away(owner, study, monkeypatch):
    def away(*args, **kwargs):
        raise RedisConnectionError("Valkey is being restarted")

    for name in ("get", "set", "add", "delete"):
        monkeypatch.setattr(f"django.core.cache.backends.redis.RedisCache.{name}", away)
    answer_all(arrive(study), stop_after=2)
    assert "2 of 60" in words_of(page_of(owner, "/studies/"))
    owner.post("/studies/voices/state/", {"to": "paused"})
    assert "2 of 60 ratings" in words_of(page_of(owner, "/studies/voices/"))
    assert Study.objects.get().state == "paused"
