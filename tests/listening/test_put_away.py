"""Studies named, tagged, found, archived, copied and deleted: in the browser and by commands."""

import json
from datetime import timedelta

import pytest
from django.core.management import CommandError
from django.db import IntegrityError, transaction
from django.utils import timezone

from config.run.command_help import Commands
from listening import audio, studies
from listening.models import (
    Condition,
    Connection,
    LedgerEntry,
    Rater,
    Rating,
    Recruitment,
    Session,
    Stimulus,
    Study,
    StudyEvent,
)
from listening.selectors.study_overview import overviews
from listening.sessions.lifecycle import NoRoom
from tests.factories import answer_all, arrive, make_study, make_user
from tests.listening.test_import_command import run
from tests.listening.test_researcher_pages import messages_of, page_of, words_of
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


def do(client, action: str, key: str = "voices", **fields: str) -> list[str]:
    url = f"/studies/{key}/manage/do/"
    return messages_of(client.post(url, {"action": action, **fields}, follow=True))


def keys_in(html: str) -> list[str]:
    return [key for key in ("voices", "tones", "old") if f'href="/studies/{key}/"' in html]


# --- Names, tags, archive ------------------------------------------------------------------------


@pytest.mark.medium
def test_a_name_for_colleagues_stands_beside_the_title_that_raters_see(owner, study):
    assert do(owner, "name", name=" Pilot,  spring ", tags="Pilot, zh, pilot,") == ["Saved."]
    text = words_of(page_of(owner, "/studies/"))
    assert "Pilot, spring Raters see: A study" in text
    study.refresh_from_db()
    assert (study.title, study.tags) == ("A study", ["pilot", "zh"])
    assert "Pilot, spring" not in page_of(owner, f"/r/{study.link}/")
    assert do(owner, "name", name="Pilot, spring", tags="pilot, zh") == ["Nothing was changed."]
    assert "at most 12 tags" in do(owner, "name", tags=",".join(map(str, range(13))))[0]
    study.refresh_from_db()
    assert (study.name, study.tags) == ("", ["pilot", "zh"])


@pytest.mark.medium
def test_studies_are_found_by_words_state_tag_and_archive(owner, study):
    make_study(key="tones", name="Chinese tones", tags=["pilot"])
    old = make_study(key="old")
    Study.objects.filter(pk=old.pk).update(state="closed")
    for query, keys in {
        "": ["voices", "tones", "old"],
        "?q=chinese+TONE": ["tones"],
        "?q=pilot": ["tones"],
        "?q=researcher": ["voices", "tones", "old"],
        "?state=closed": ["old"],
        "?tag=pilot": ["tones"],
        "?q=nothing": [],
        "?state=nonsense&sort=nonsense": ["voices", "tones", "old"],
    }.items():
        assert keys_in(page_of(owner, f"/studies/{query}")) == keys, query
    assert "Archived. " in do(owner, "archive", "old")[0]
    assert keys_in(page_of(owner, "/studies/")) == ["voices", "tones"]
    assert keys_in(page_of(owner, "/studies/?archived=yes")) == ["old"]
    assert "Pause or close it before" in do(owner, "archive")[0]
    assert do(owner, "unarchive", "old") == ["Restored to the list."]
    assert keys_in(page_of(owner, "/studies/?sort=oldest")) == ["voices", "tones", "old"]


@pytest.mark.medium
def test_the_list_tells_the_pace_and_what_was_paid(owner, study):
    for _ in range(5):
        answer_all(arrive(study))
    Rater.objects.update(simulated=False)
    Study.objects.update(opened_at=timezone.now() - timedelta(days=2))
    study.refresh_from_db()
    (row,) = overviews([study])
    assert row.full_in is not None
    # 25 of 60 ratings came in 2 days: the other 35 take 2.8 days.
    assert row.full_in / timedelta(days=1) == pytest.approx(2.8, abs=0.01)
    assert row.full_in_words == "3 days"
    assert row.paid == ()
    recruitment = Recruitment.objects.create(
        study=study,
        connection=Connection.objects.create(owner=study.owner, token="t"),
        currency="GBP",
    )
    for kind, minor in (("committed", 90000), ("reward", 1200), ("bonus", 100)):
        LedgerEntry.objects.create(
            recruitment=recruitment, key=kind, kind=kind, minor=minor, fees_minor=minor / 4
        )
    text = words_of(page_of(owner, "/studies/"))
    by = (timezone.now() + timedelta(days=3)).strftime("%Y-%m-%d")
    assert f"complete in 3 days (by {by} UTC) at the rate of the last 3 days" in text
    assert "Ratings per hour since" in text
    assert "£16.25" in text
    Session.objects.update(finished_at=timezone.now() - timedelta(days=4))
    assert overviews([study])[0].full_in is None
    assert "no forecast yet" in words_of(page_of(owner, "/studies/"))


# --- Copies --------------------------------------------------------------------------------------


@pytest.mark.medium
def test_a_copy_asks_the_same_of_the_same_clips_and_holds_no_answers(owner, study):
    answer_all(arrive(study))
    assert "Made a copy: “voices-copy”, a draft" in do(owner, "copy", **{"as": "copy"})[0]
    copy = Study.objects.get(key="voices-copy")
    same, made = studies.study_as_file(study), studies.study_as_file(copy)
    assert (made.tasks, made.stimuli, made.conditions) == (
        same.tasks,
        same.stimuli,
        same.conditions,
    )
    assert (copy.state, copy.version, copy.version_of) == ("draft", 1, None)
    assert copy.link != study.link
    assert set(copy.completion_codes.values()).isdisjoint(study.completion_codes.values())
    assert not copy.sessions.exists()
    assert studies.open_study(copy, anyway=True) == 60
    for key, words in {"voices-copy": "already", "Two words": "is no key"}.items():
        fields = {"action": "copy", "as": "copy", "key": key}
        answer = owner.post("/studies/voices/manage/do/", fields, follow=True)
        assert words in messages_of(answer)[0]


@pytest.mark.parametrize("earlier", ["keep_out", "let_in"])
@pytest.mark.medium
def test_who_took_part_in_version_1_is_kept_out_of_version_2_or_let_in(
    client, owner, study, earlier
):
    arrive(study, prolific_id="5f" * 12, prolific_session="5d" * 12, simulated=False)
    do(owner, "copy", earlier=earlier, **{"as": "version"})
    second = Study.objects.get(key="voices-v2")
    assert (second.version, second.version_of) == (2, study)
    studies.open_study(second, anyway=True)
    third = studies.copy_study(second, second.owner, as_version=True, keep_out=True)
    assert (third.key, third.version) == ("voices-v3", 3)
    page = f"/r/{second.link}/?PROLIFIC_PID={'5f' * 12}&SESSION_ID={'5e' * 12}"
    if earlier == "let_in":
        assert "taken part in this study before" not in page_of(client, page)
        assert arrive(second, prolific_id="5f" * 12, simulated=False).study == second
        return
    assert "You have taken part in this study before" in page_of(client, page)
    with pytest.raises(NoRoom, match="came_before"):
        arrive(second, prolific_id="5f" * 12, simulated=False)
    assert arrive(second, prolific_id="another", simulated=False).study == second


@pytest.mark.medium
def test_a_browser_that_began_version_1_is_known_at_the_door_of_version_2(client, study):
    client.post(f"/r/{study.link}/", {"consent": "yes"})
    second = studies.copy_study(study, study.owner, as_version=True)
    studies.open_study(second, anyway=True)
    answer = client.post(f"/r/{second.link}/", {"consent": "yes"})
    assert "You have taken part in this study before" in answer.content.decode()
    assert not second.sessions.exists()


# --- Deleting ------------------------------------------------------------------------------------


@pytest.mark.medium
def test_a_study_with_ratings_is_deleted_by_its_key_and_a_record_remains(owner, study):
    answer_all(arrive(study))
    elsewhere = make_study(key="tones")
    both = arrive(study)
    Session.objects.create(study=elsewhere, rater=both.rater)
    assert "Close it first" in do(owner, "delete", typed="voices")[0]
    studies.close_study(study)
    text = words_of(page_of(owner, "/studies/voices/manage/"))
    assert "Sessions 2" in text
    assert "Raters without other studies 1" in text
    assert "Ratings 5" in text
    assert "type the key “voices”" in do(owner, "delete", typed="voice")[0]
    assert Rating.objects.count() == 5
    assert "with 2 sessions and 5 ratings" in do(owner, "delete", typed="voices")[0]
    assert list(Study.objects.all()) == [elsewhere]
    assert list(Rater.objects.all()) == [both.rater]
    assert not Rating.objects.exists()
    assert not Condition.objects.exclude(study=elsewhere).exists()
    text = words_of(page_of(owner, "/deleted-studies/"))
    assert "voices" in text
    assert "ratings: 5" in text
    owner.force_login(make_user("stranger"))
    assert "voices" not in page_of(owner, "/deleted-studies/")


@pytest.mark.medium
def test_what_was_paid_is_not_deleted_with_a_study(owner, study):
    studies.close_study(study)
    recruitment = Recruitment.objects.create(
        study=study, connection=Connection.objects.create(owner=study.owner, token="t")
    )
    entry = LedgerEntry.objects.create(
        recruitment=recruitment, key="reward:1", kind="reward", minor=900
    )
    assert "Archive it" in do(owner, "delete", typed="voices")[0]
    assert "Raters were paid" in words_of(page_of(owner, "/studies/voices/manage/"))
    LedgerEntry.objects.filter(pk=entry.pk).delete()
    Recruitment.objects.update(state="draft")
    assert "Discard the draft" in do(owner, "delete", typed="voices")[0]
    Recruitment.objects.update(state="planned")
    assert "Deleted “voices”" in do(owner, "delete", typed="voices")[0]


@pytest.mark.medium
def test_audio_that_a_copy_uses_stays(study, monkeypatch, django_capture_on_commit_callbacks):
    forgotten: list[str] = []
    monkeypatch.setattr(audio, "forget", forgotten.extend)
    Study.objects.update(state="draft")
    copy = studies.copy_study(study, study.owner)
    names = {name for pair in study.stimuli.values_list("original", "served") for name in pair}
    for key in ("voices", copy.key):
        assert forgotten == []
        with django_capture_on_commit_callbacks(execute=True):
            studies.delete_study(Study.objects.get(key=key), key)
    assert set(forgotten) == names
    assert not Stimulus.objects.exists()


# --- The log -------------------------------------------------------------------------------------


@pytest.mark.medium
def test_the_log_says_who_did_what_and_can_be_taken_out(owner, study):
    session = arrive(study)
    owner.post("/studies/voices/state/", {"to": "paused"})
    judged = {"session": session.pk, "to": "rejected", "reason": "=too fast"}
    owner.post("/studies/voices/raters/judge/", judged)
    do(owner, "name", name="Pilot")
    run("open_study", "voices")
    text = words_of(page_of(owner, "/studies/voices/log/"))
    for line in (
        "Paused researcher",
        f"Session rejected researcher raters: {session.rater.code}, reason: =too fast, sessions: 1",
        "Renamed researcher name: none → Pilot",
        "Opened command line",
    ):
        assert line in text
    lines = owner.get("/studies/voices/log.csv").content.decode().splitlines()
    assert lines[0] == "time_utc,study,by,what,details"
    assert lines[1].endswith(",voices,researcher,Paused,")
    assert len(lines) == 5


@pytest.mark.parametrize("change", [lambda rows: rows.update(by="x"), lambda rows: rows.delete()])
def test_the_database_lets_nobody_change_the_log(study, change):
    studies.pause_study(study, by="ada")
    with pytest.raises(IntegrityError, match="only added to"), transaction.atomic():
        change(StudyEvent.objects.all())
    assert StudyEvent.objects.get().by == "ada"


# --- Commands ------------------------------------------------------------------------------------


@pytest.mark.medium
def test_commands_list_watch_pause_close_copy_archive_and_delete(study):
    answer_all(arrive(study))
    assert "voices                   open            5 of 60" in run("list_studies")
    facts = json.loads(run("list_studies", "--json", "voices"))
    assert (facts["rated"], facts["simulated"], facts["owner"]) == (5, 1, "researcher")
    assert run("list_studies", "--tag", "none") == "No study matches.\n"
    said = run("study_status", "voices")
    assert f"/r/{study.link}/" in said
    assert "Sessions: 1 finished, 1 simulated" in said
    arrive(study)
    assert "Sessions: 1 in progress, 1 finished" in run("study_status", "voices")
    assert json.loads(run("study_status", "voices", "--json"))["progress"]["state"] == "open"
    with pytest.raises(CommandError, match="Pause or close it"):
        run("archive_study", "voices")
    assert "Paused" in run("pause_study", "voices")
    with pytest.raises(CommandError, match="only an open one"):
        run("pause_study", "voices")
    assert "Closed" in run("close_study", "voices")
    assert "Made “voices-v2”, version 2" in run("copy_study", "voices", "--as-version")
    with pytest.raises(CommandError, match="add --as-version"):
        run("copy_study", "voices", "--let-in")
    assert "is archived" in run("archive_study", "voices")
    assert "voices-v2 " in run("list_studies")
    assert "is in the list" in run("archive_study", "voices", "--undo")
    said = run("delete_study", "voices")
    assert "5 ratings" in said
    assert "--confirm voices" in said
    with pytest.raises(CommandError, match="type the key"):
        run("delete_study", "voices", "--confirm", "voice")
    assert "Deleted “voices”" in run("delete_study", "voices", "--confirm", "voices")
    assert Study.objects.get().key == "voices-v2"


@pytest.mark.medium
def test_the_commands_of_earnest_stand_first_in_the_help():
    lines = Commands(["manage.py", "help"]).main_help_text().splitlines()
    ours = lines[: lines.index("Of Django and its packages:")]
    assert any("delete_study" in line and "--confirm KEY" in line for line in ours)
    assert not any("createsuperuser" in line for line in ours)
