"""Prolific's ids are sealed in the database, and forgotten when a study says so."""

import re
from datetime import date, datetime, timedelta
from datetime import timezone as zone
from importlib import import_module
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.template import Context, Template
from django.test import Client
from django.utils import timezone

from analysis.models import AnalysisRun
from analysis.report.report_card import report_card
from listening import studies
from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.study_toml import read_study_toml
from listening.design.studyfile.writer import toml_text
from listening.models import Block, Rater, Rating, Recruitment, Session, Study, StudyEvent, Trial
from listening.models.sealed import MARK, UNREADABLE, seal, unseal
from listening.recruitment import deciding, syncing
from listening.recruitment.errors import RecruitmentError
from listening.selectors import StudyFacts, method_facts, rating_rows, ratings_state
from listening.sessions import lifecycle, stages
from listening.sessions.task_rules import Refused
from listening.studies import erasure
from listening.studies.erasure import Rule, is_looser
from tests.factories import answer_all, arrive, make_study
from tests.listening.recruited import Person, make_published
from tests.listening.test_rater_doors import enter
from tests.listening.test_researcher_pages import messages_of, words_of
from tests.play_money import Double

pytestmark = pytest.mark.django_db
IDS = {"PROLIFIC_PID": "a1" * 12, "STUDY_ID": "b2" * 12, "SESSION_ID": "c3" * 12}


def everything_stored() -> str:
    """Every column of every table, as text."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        text = []
        for table in tables:
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            text += [row[0] for row in cursor.fetchall()]
    return "\n".join(text)


def test_no_table_holds_an_id_of_prolific_in_clear():
    study = make_study()
    session = enter(Client(), study, **IDS)
    assert session.rater.prolific_id == IDS["PROLIFIC_PID"]
    assert session.prolific_session == IDS["SESSION_ID"]
    stored = everything_stored()
    assert session.code in stored
    assert not any(value in stored for value in IDS.values())


def test_a_seal_is_the_same_for_the_same_id_and_opens_with_the_same_key(settings):
    one, other = seal("a1" * 12), seal("a2" * 12)
    assert one == seal("a1" * 12) != other
    assert one.startswith(MARK)
    assert len(one) <= 160
    assert len(seal("x" * 64)) <= 160
    assert unseal(one) == "a1" * 12
    assert unseal("in clear") == "in clear"
    settings.SECRET_KEY = "another key"
    assert unseal(one) == UNREADABLE
    assert unseal(MARK + "no base64!") == UNREADABLE


def test_ids_of_before_are_sealed_and_can_be_opened_again():
    session = arrive(make_study(), prolific_id="a1" * 12, prolific_session="c3" * 12)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE listening_rater SET prolific_id = %s", ["a1" * 12])
        cursor.execute("UPDATE listening_session SET prolific_session = %s", ["c3" * 12])
    migration = import_module("listening.migrations.0008_sealed_ids_and_erasure")
    with connection.schema_editor() as editor:
        migration.seal_all(None, editor)
        migration.seal_all(None, editor)
    assert "c3" * 12 not in everything_stored()
    session.refresh_from_db()
    assert session.prolific_session == "c3" * 12
    assert Rater.objects.get(prolific_id="a1" * 12) == session.rater
    with connection.schema_editor() as editor:
        migration.unseal_all(None, editor)
    assert "c3" * 12 in everything_stored()


@pytest.mark.medium
def test_who_withdraws_leaves_no_submission_behind_and_may_not_come_again():
    study = make_study()
    session = arrive(study, prolific_id="a1" * 12, prolific_session="c3" * 12, origin="0" * 24)
    answer_all(session, stop_after=2)
    lifecycle.withdraw(session)
    session.refresh_from_db()
    assert (session.prolific_session, session.prolific_study, session.origin) == ("", "", "")
    assert arrive(study, prolific_id="a1" * 12) == session


def leave(study: Study) -> None:
    """Nobody listens any more."""
    Block.objects.filter(task__study=study, state=1).update(state=0, session=None, lease_until=None)


def closed(study: Study, days_ago: float) -> Study:
    study.state, study.closed_at = "closed", timezone.now() - timedelta(days=days_ago)
    study.save()
    return study


@pytest.mark.medium
def test_on_its_date_a_study_forgets_who_took_part_and_keeps_the_ratings():
    study = make_study(erase_after_days=30)
    session = arrive(
        study, prolific_id="a1" * 12, prolific_session="c3" * 12, origin="0" * 24, device="phone"
    )
    answer_all(session)
    ratings = Rating.objects.count()
    closed(study, 29.9)
    assert erasure.erase_due_studies() == []
    closed(study, 30.1)
    assert erasure.erase_due_studies() == [
        f"{study.key}: 1 IDs from Prolific or other sources; "
        "1 sessions: submission, address, browser, device"
    ]
    session = Session.objects.get()
    kept = (session.prolific_session, session.origin, session.device, session.rater.prolific_id)
    assert kept == ("", "", "", None)
    assert Rating.objects.count() == ratings > 0
    assert erasure.erase_due_studies() == []  # once


@pytest.mark.medium
def test_an_erasure_leaves_of_playback_what_says_nothing_of_the_device():
    study = make_study(erase_after_days=0)
    session = arrive(study)
    answer_all(session)
    stays = {"stalls": 2, "heard_s": [1.5], "driven": True, "skipped_because": "load"}
    goes = {"sample_rate_hz": 48_000, "mixer": "buffers", "name": "Tezcatlipoca", "blocked": "me"}
    goes |= {"plays_each": ["me"], "loop_s": {"me": 1}}
    first, *others = session.trials.order_by("position")
    Trial.objects.filter(pk=first.pk).update(playback=stays | goes)
    for odd in others[:1]:
        Trial.objects.filter(pk=odd.pk).update(playback={"skipped_because": "me"})
    closed(study, 1)
    assert erasure.erase(study, dry_run=True).trials == 2
    assert "2 trials: device details reported by the page" in erasure.erase_due_studies()[0]
    first.refresh_from_db()
    assert first.playback == stays
    assert "Tezcatlipoca" not in everything_stored()
    assert erasure.erase(study, dry_run=True).trials == 0


@pytest.mark.medium
def test_a_rater_of_another_study_is_still_known_there():
    study, other = make_study(erase_after_days=0), make_study(key="other")
    for each in (study, other):
        arrive(each, prolific_id="a1" * 12)
        leave(each)
    closed(study, 1)
    assert erasure.erase(study, dry_run=True).ids_kept == 1
    assert len(erasure.erase_due_studies()) == 1
    assert Rater.objects.get().prolific_id == "a1" * 12
    erasure.erase(closed(other, 1))
    assert Rater.objects.get().prolific_id is None


def test_studies_without_a_date_are_never_erased():
    arrive(closed_study := make_study(), prolific_id="a1" * 12)
    closed(closed_study, 10_000)
    assert erasure.erase_due_studies() == []


@pytest.mark.medium
def test_the_command_says_what_it_would_do_and_does_it(capsys):
    study = make_study()
    arrive(study, prolific_id="a1" * 12)
    with pytest.raises(CommandError, match="Close it first"):
        call_command("erase_personal_data", study.key)
    with pytest.raises(CommandError, match="There is no study “x”"):
        call_command("erase_personal_data", "x")
    closed(study, 0)
    with pytest.raises(CommandError, match="1 rater is still in progress"):
        call_command("erase_personal_data", study.key)
    leave(study)
    call_command("erase_personal_data", study.key, "--dry-run")
    assert Rater.objects.get().prolific_id
    call_command("erase_personal_data", study.key)
    assert Rater.objects.get().prolific_id is None
    said = capsys.readouterr().out
    assert said.count("1 IDs from Prolific") == 2
    assert "Nothing was erased. The study’s rule: no date.\nNothing stands against it." in said
    assert "Erased. The ratings of" in said


# --- Words, and what stays ------------------------------------------------------------------------

ABOUT = {
    "key": "about",
    "title": "About you",
    "when": "before",
    "questions": [
        {"key": "age", "kind": "number", "question": "Age?", "options": []},
        {"key": "job", "kind": "text", "question": "Work?", "options": []},
    ],
}
GIVEN = {
    "questionnaires": {"about": {"answers": {"age": 33, "job": "Mictlan"}}},
    "comment": "Quetzalcoatl",
    "agent": "https://agent.example/Tlaloc",
}
WORDS = ("Mictlan", "Quetzalcoatl", "Tlaloc")


def answered(**fields: object) -> Study:
    """A closed study with a rater of Prolific who said something everywhere."""
    study = make_study(key="voices", questionnaires=[ABOUT], texts={"consent": "Yes."}, **fields)
    session = arrive(study, prolific_id="a1" * 12, prolific_session="c3" * 12, device="phone")
    Session.objects.update(**GIVEN, ready=True)
    answer_all(session)
    return closed(study, 1)


def told(study: Study) -> tuple[object, ...]:
    """What an analysis reads, and the mark by which it knows that nothing changed."""
    return list(rating_rows(study.key)), ratings_state(study.key)


@pytest.mark.medium
def test_words_go_and_what_analyses_read_stays_to_the_digit():
    study = answered()
    before = told(study)
    assert all(word in everything_stored() for word in WORDS)
    would = erasure.erase(study, dry_run=True)
    assert (would.comments, would.answers_in_words, would.sessions, would.reasons) == (1, 1, 1, 0)
    assert all(word in everything_stored() for word in WORDS)
    assert erasure.erase(study, by="ada") == would
    assert not any(word in everything_stored() for word in WORDS)
    session = Session.objects.get()
    assert session.questionnaires["about"]["answers"] == {"age": 33}
    assert told(study) == before
    assert "the rhythm" in before[0][0]["justification"]
    record = erasure.record_of(study)
    assert (record.by, record.details["rule"]) == ("ada", "without justifications")
    assert erasure.erased_in(record) == would


@pytest.mark.medium
def test_reasons_go_where_the_study_says_so_and_ratings_stay(django_capture_on_commit_callbacks):
    study = answered(erase_reasons=True)
    run = AnalysisRun.objects.create(study=study, state="done", result="the rhythm")
    before = told(study)[0]
    with django_capture_on_commit_callbacks(execute=True):
        assert erasure.erase(study).reasons == len(before) > 0
    run.refresh_from_db()
    assert (run.state, run.result, run.stale_because) == ("stale", "", "reasons")
    assert told(study)[0] == [{**row, "justification": ""} for row in before]
    assert "the rhythm" not in everything_stored()


@pytest.mark.medium
def test_after_it_nothing_is_gathered_anew(client):
    study = answered()
    erasure.erase(study)
    session = Session.objects.get()
    with pytest.raises(Refused, match="has ended"):
        stages.record_comment(session, "my name is")
    assert Session.objects.get().comment == ""


@pytest.mark.medium
def test_what_is_owed_at_prolific_stops_it_and_prolific_brings_no_id_back(double: Double):
    recruitment = make_published(double)
    person = Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    study = closed(recruitment.study, 1)
    with pytest.raises(studies.StudyError, match="1 submissions at Prolific are not decided"):
        erasure.erase(study)
    assert person.row().participant
    assert deciding.decide(person.row(), "approve", by="ada") == "Approved."
    syncing.sync(recruitment)
    assert erasure.erase(study).submissions == 1
    assert recruitment.pk not in [each.pk for each in syncing.unfinished()]
    fresh = Recruitment.objects.get(pk=recruitment.pk)
    with pytest.raises(RecruitmentError, match="not asked about them any more"):
        syncing.sync(fresh)
    (row,) = fresh.submissions.all()
    assert (row.participant, row.prolific_id) == ("", f"erased {row.pk}")
    assert fresh.ledger.filter(kind="reward").count() == 1  # what was paid stays


# --- The rule -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "looser"),
    [
        (Rule(), Rule(30), False),
        (Rule(30), Rule(10), False),
        (Rule(30), Rule(31), True),
        (Rule(30), Rule(), True),
        (Rule(30), Rule(on=date(2026, 1, 1)), True),
        (Rule(on=date(2027, 1, 2)), Rule(on=date(2027, 1, 1), reasons=True), False),
        (Rule(on=date(2027, 1, 1)), Rule(on=date(2027, 1, 2)), True),
        (Rule(30, None, True), Rule(30), True),
    ],
)
def test_a_rule_that_keeps_longer_than_was_said_is_looser(old, new, looser):
    assert is_looser(new, old) is looser


def manage(client: Client, **form: object) -> str:
    return messages_of(client.post("/studies/voices/manage/do/", form, follow=True))[0]


@pytest.mark.medium
def test_the_page_sets_the_rule_raters_read_it_and_it_only_gets_stricter(client):
    study = make_study(key="voices", texts={"consent": "Yes."})
    client.force_login(study.owner)
    page = client.get("/studies/voices/manage/").content.decode()
    assert "No date is set" in page
    bad = manage(client, action="retention", when="days", days="many")
    assert bad == "Enter the number of days in digits. Nothing was changed."
    assert "Enter the date as" in manage(client, action="retention", when="day", day="soon")
    assert manage(client, action="retention", when="days", days="30") == "Saved."
    door = Client().get(f"/r/{study.link}/").content.decode()
    assert "On day 30 after the study has ended, we delete the data that identify you" in door
    arrive(study)
    refused = manage(client, action="retention", when="days", days="60")
    assert "Raters were told: 30 days after the study is closed" in refused
    assert manage(client, action="retention", when="days", days="10", reasons="yes") == "Saved."
    said = StudyEvent.objects.filter(what="retention").first().details["rule"]
    assert said == {
        "from": "30 days after the study is closed, without justifications",
        "to": "10 days after the study is closed, with justifications",
    }


@pytest.mark.medium
def test_the_page_counts_first_and_keeps_a_record(client):
    study = answered(erase_on=date(2020, 1, 1))
    client.force_login(study.owner)
    page = words_of(client.get("/studies/voices/manage/").content.decode())
    assert "This was due on 2020-01-01 00:00 UTC and will run within the hour." in page
    assert "Comments 1" in page
    assert "type the key" in manage(client, action="erase", typed="voice")
    assert Rater.objects.get().prolific_id
    assert "1 IDs from Prolific" in manage(client, action="erase", typed="voices")
    page = words_of(client.get("/studies/voices/manage/").content.decode())
    assert "by researcher, without justifications" in page
    assert "IDs from Prolific or other sources 1" in page
    assert "erased on" in report_card_words(method_facts("voices"))


def report_card_words(facts: StudyFacts) -> str:
    return str(report_card(None, facts))


def test_a_study_file_says_when_by_day_or_by_days_and_not_both():
    whole = b'[study]\nkey = "a"\ntitle = "A"\nerase_on = 2027-06-30\nerase_reasons = true\n'
    notes = Notebook()
    file = read_study_toml(whole + b"[[tasks]]\n", notes)
    assert file is not None
    assert (file.erase_on, file.erase_reasons) == (date(2027, 6, 30), True)
    assert "erase_on = 2027-06-30\nerase_reasons = true" in toml_text(file)
    for more, said in ((b"erase_after_days = 3\n", "Keep one of them."), (b"", "")):
        notes = Notebook()
        read_study_toml(whole + more, notes)
        about = [p.remedy for p in notes.in_order() if p.place == "study.erase_on"]
        assert about == ([said] if said else [])


def test_every_date_on_a_page_says_its_zone() -> None:
    """By the filter `utc`, or in the head of its column; `date` alone is for machines."""
    folder = Path(__file__).resolve().parents[2] / "templates"
    views = folder.parent / "listening" / "web" / "researcher"
    heads = {  # columns that views name
        "researcher/_rater_row.html": views / "raters_table.py",
        "researcher/ratings.html": folder.parent / "listening" / "selectors" / "ratings.py",
    }
    for path in folder.rglob("*.*"):
        page = path.read_text("utf-8")
        name = path.relative_to(folder).as_posix()
        head = heads.get(name, path).read_text("utf-8")
        assert "|utc_cell" not in page or "(UTC)" in head, name
        for plain in re.finditer(r"""\|date\b(?!:["']c["'])[^}]*""", page):
            before = page[: plain.start()]
            said = "(00:00 UTC)" in page[plain.end() : plain.end() + 60]
            field = re.search(r'type="(date|hidden)"', before[before.rfind("<") :])
            assert said or field, (name, plain[0])


def test_dates_of_pages_name_their_zone() -> None:
    moment = datetime(2026, 11, 29, 1, 59, 58, tzinfo=zone(timedelta(hours=2)))
    page = Template(
        "{{ at|utc }}, {{ at|utc:'H:i:s' }}, {{ day|utc:'Y-m-d' }}, {{ at|utc_cell }}"
        "{{ none|utc }}{{ none|utc_cell }}"
    )
    said = page.render(Context({"at": moment, "day": date(2026, 11, 28), "none": None}))
    assert said == "2026-11-28 23:59 UTC, 23:59:58 UTC, 2026-11-28 UTC, 2026-11-28 23:59"
    assert str(Rule(on=date(2027, 1, 1))) == "on 2027-01-01, 00:00 UTC, without justifications"
