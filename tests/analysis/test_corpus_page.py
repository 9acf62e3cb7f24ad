"""The page Corpus: not checked, checking, checked, changed since, failed, and without a cache."""

import csv
from pathlib import Path

import pytest
from django.urls import reverse
from redis.exceptions import ConnectionError as CacheAway

from analysis.web import corpus_jobs
from analysis.web.corpus_jobs import check_stored_corpus
from analysis.web.job_states import keep_state
from listening import studies
from listening.drafts.folder import begin, folder_of
from listening.models import Item, Study
from tests.factories import make_study, make_user
from tests.own_cache import empty_cache

pytestmark = pytest.mark.django_db
DEMO = Path(__file__).resolve().parents[2] / "demo"


@pytest.fixture
def queued(monkeypatch):
    """The jobs that pages ask for; a test does them when it likes."""
    empty_cache()
    jobs = []
    monkeypatch.setattr(check_stored_corpus, "delay", lambda *given: jobs.append(given))
    monkeypatch.setattr("django.db.transaction.on_commit", lambda job: job())
    return jobs


def page_of(client, study) -> str:
    return client.get(reverse("corpus", args=[study.key])).content.decode()


@pytest.mark.slow
def test_a_draft_is_checked_in_the_background_and_shows_what_the_command_shows(client, queued):
    study = studies.create_study(DEMO, make_user("ada"))
    client.force_login(study.owner)
    assert study.state == "draft"
    assert "Not checked yet" in page_of(client, study)
    run = reverse("corpus-run", args=[study.key])
    waiting = client.post(run, follow=True).content.decode()
    assert "data-waits" in waiting
    client.post(run)
    assert len(queued) == 1  # the same clips are not checked twice at once
    name, mark = corpus_jobs._name(study.key), queued[0][1]
    keep_state(name, corpus_jobs.RUNNING, 60, mark=mark, read=50, every=74)
    assert "50 of 74 files read" in page_of(client, study)
    check_stored_corpus(*queued[0])
    page = page_of(client, study)
    assert "data-waits" not in page
    assert "condition: all 7 categories have 10 clips" in page
    assert "leave out 8 traps and prompts" in page
    assert page.count("<svg") >= 5
    file = client.get(reverse("corpus-file", args=[study.key, "clips.csv"]))
    rows = list(csv.DictReader(file.content.decode().splitlines()))
    assert len(rows) == study.stimuli.count() == 78
    assert {each["file"] for each in rows} == set(study.stimuli.values_list("file", flat=True))
    assert client.get(reverse("corpus-file", args=[study.key, "x.csv"])).status_code == 404

    Item.objects.filter(study=study, key="s0870").update(text="Mail me at a@example.org, 你好")
    assert "have changed since this check" in page_of(client, study)
    client.post(run)
    check_stored_corpus(*queued[1])
    page = page_of(client, study)
    assert "have changed since" not in page
    assert "The text holds an e-mail address: “a@e…” (13 characters)" in page
    study.delete()
    assert corpus_jobs.cache.get(corpus_jobs._name(study.key)) is None
    assert corpus_jobs.check_file(study.key, "clips.csv") is None


@pytest.mark.medium
def test_a_draft_of_the_browser_is_checked_as_its_folder_is(client, queued):
    draft = begin(make_user("ada"), "mos")
    client.force_login(draft.owner)
    page = reverse("draft-corpus", args=[draft.code])
    assert "No clips yet" in client.get(page).content.decode()
    folder = folder_of(draft)
    for name in ("human_s0880.flac", "flite-slt_s0880.flac"):
        (folder / "audio" / name).write_bytes((DEMO / "audio" / name).read_bytes())
    rows = [
        "a,human,s1,audio/human_s0880.flac,你好,en",
        "b,slt,s1,audio/flite-slt_s0880.flac,你好,en",
    ]
    header = "stimulus,condition,item,file,text,language"
    (folder / "stimuli.csv").write_text("\n".join([header, *rows, ""]), "utf-8")
    assert "Not checked yet" in client.get(page).content.decode()
    client.post(reverse("draft-corpus-run", args=[draft.code]))
    check_stored_corpus(*queued[0])
    shown = client.get(page).content.decode()
    assert "stimuli.csv, row 2: audio/human_s0880.flac" in shown
    assert "are Chinese characters" in shown
    file = reverse("draft-corpus-file", args=[draft.code, "findings.csv"])
    assert client.get(file).content.decode().count("script,") == 1
    (folder / "stimuli.csv").write_text("stimulus\nx\n")
    assert "have changed since" in client.get(page).content.decode()
    client.post(reverse("draft-corpus-run", args=[draft.code]))
    check_stored_corpus(*queued[1])
    shown = client.get(page).content.decode()
    assert "could not be checked: stimuli.csv: no column of files" in shown
    assert str(folder) not in shown
    draft.delete()
    assert corpus_jobs.cache.get(corpus_jobs._name(f"drafts/{draft.code}")) is None


@pytest.mark.medium
def test_what_went_wrong_is_said_and_can_be_tried_again(client, queued, monkeypatch):
    study = make_study(key="voices")
    client.force_login(study.owner)
    client.post(reverse("corpus-run", args=[study.key]))
    monkeypatch.setattr("analysis.corpus.study_corpus.stored_corpus", lambda _: 1 / 0)
    check_stored_corpus(*queued[0])
    page = page_of(client, study)
    assert "could not be checked: it broke (ZeroDivisionError" in page
    assert "Check again" in page

    def away(*_args, **_more):
        raise CacheAway("gone")

    monkeypatch.setattr(corpus_jobs.cache, "get", away)
    assert "cache does not respond" in page_of(client, study)


@pytest.mark.medium
def test_a_study_without_clips_says_so(client, queued):
    study = Study.objects.create(owner=make_user("ada"), key="empty", title="Empty")
    client.force_login(study.owner)
    assert "No clips yet" in page_of(client, study)
