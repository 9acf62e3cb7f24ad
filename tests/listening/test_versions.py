"""Definitions frozen at opening, wording corrected with a trace, versions in a chain."""

import io
import zipfile
from dataclasses import fields
from pathlib import Path

import pytest
from django.db import IntegrityError, transaction

from listening import studies
from listening.design.definition import definition_of, kind_of, patterns
from listening.design.kinds import Kind
from listening.design.studyfile.entries import CriterionEntry, StudyFile, TaskEntry
from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.study_toml import read_study_toml
from listening.drafts.folder import change
from listening.drafts.making import is_made, make
from listening.methods.marking import KINDS
from listening.methods.marks import NO_ERRORS
from listening.methods.transcript_scores import NOTHING
from listening.models import Draft, Session, StudyDefinition, StudyEvent
from listening.studies import (
    StudyError,
    StudyProblems,
    correct_wording,
    correcting,
    create_study,
)
from listening.web.rater.state import session_state
from tests.factories import answer_all, arrive, make_user
from tests.listening.folders import CONDITIONS, STUDY, make_folder
from tests.listening.test_researcher_pages import page_of, words_of

pytestmark = pytest.mark.django_db
PRESET_FOLDER = Path(__file__).resolve().parents[2] / "demo" / "presets"
PRESETS = [each for each in PRESET_FOLDER.iterdir() if (each / "study.toml").exists()]
WORDS = """
[study.texts]
welcome = "Welcom."
consent = "You agree."
consent_version = "1"
"""
TASK = """
[[tasks]]
key = "mos"
method = "mos"
block_size = 2
ratings_per_stimulus = 3
title = "Naturalness"
instructions = "Listen, then rate."
options = { absent = "No speech" }

[[tasks.criteria]]
key = "naturalness"
question = "How natural?"

[[questionnaires]]
key = "about"
when = "after"

[[questionnaires.questions]]
key = "often"
question = "How offen?"
kind = "one"
options = ["Daily", "Never"]
"""
TOML = STUDY + WORDS + CONDITIONS + TASK
QUESTION = "tasks/mos/criteria/naturalness/question"
CHOICE = "questionnaires/about/questions/often/options/Daily/text"


@pytest.fixture
def study(tmp_path):
    made = create_study(make_folder(tmp_path / "a", TOML), make_user())
    studies.open_study(made, anyway=True, by="ada")
    return made


def corrected(study, words: dict[str, str], **fields) -> StudyDefinition:
    given = {"by": "ada", "reason": "a slip", "same_meaning": True, **fields}
    return correct_wording(study, words, **given)


# --- Every field is declared ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "inside", "of_clips"),
    [
        (StudyFile, (), {"items", "stimuli"}),
        (TaskEntry, ("tasks", "*"), {"key", "options"}),  # the name; part of each criterion
        (CriterionEntry, ("tasks", "*", "criteria", "*"), {"key", "options"}),
    ],
)
def test_every_field_of_a_study_is_declared(entry, inside, of_clips):
    """Who adds a field says what it is: a study that has it could not be opened otherwise."""
    heads = {pattern[: len(inside) + 1] for pattern, _ in patterns()}
    whole = {(*inside, "**"), (*inside[:-1], "**")}
    named = {each.name for each in fields(entry)} - of_clips
    missing = {name for name in named if (*inside, name) not in heads}
    assert not missing or whole & {pattern for pattern, _ in patterns()}


def test_what_decides_a_number_is_measured_and_what_is_only_read_is_wording():
    for path, kind in {
        "tasks.t.criteria.c.scale.steps.5.score": Kind.MEASURED,
        "tasks.t.criteria.c.options.step": Kind.MEASURED,
        "tasks.t.criteria.c.words.5": Kind.ASKED,
        "tasks.t.traps.kinds.gold.expected": Kind.MEASURED,
        "tasks.t.ratings_per_stimulus": Kind.PLAN,
        "questionnaires.q.questions.age.options.18-24.text": Kind.ASKED,
        "questionnaires.q.questions.age.screen_out": Kind.PLAN,
        "checks.huggins.title": Kind.WORDING,
        "checks.huggins.attempts": Kind.MEASURED,
        "texts.consent": Kind.WORDING,
        "translations.zh.questionnaires.q.questions.age.question": Kind.ASKED,
    }.items():
        assert kind_of(tuple(path.split("."))) == kind, path
    with pytest.raises(KeyError, match=r"says nothing of tasks\.t\.new"):
        kind_of(("tasks", "t", "new"))


# --- Frozen --------------------------------------------------------------------------------------


@pytest.mark.medium
def test_the_first_opening_freezes_the_definition_and_no_later_one(study):
    frozen = study.definitions.get()
    assert (frozen.revision, frozen.by, frozen.ratings, frozen.changes) == (0, "ada", 0, [])
    assert 'question = "How natural?"' in frozen.toml
    clip = study.stimuli.get(key="a1")
    assert f"{clip.sha256},{clip.served_sha256}" in frozen.clips
    studies.pause_study(study)
    studies.open_study(study)
    assert study.definitions.count() == 1
    opened = StudyEvent.objects.filter(what="opened").order_by("pk")
    assert [each.details.get("definition_sha256") for each in opened] == [frozen.sha256, None]


@pytest.mark.medium
def test_codes_that_pay_are_not_in_what_is_frozen(study):
    frozen = study.definitions.get()
    assert not any(code in frozen.toml for code in study.completion_codes.values())


@pytest.mark.medium
def test_the_database_lets_nobody_change_or_delete_a_definition(study):
    frozen = study.definitions.get()
    for attempt in (
        lambda: study.definitions.update(toml="another"),
        lambda: study.definitions.all().delete(),
    ):
        with pytest.raises(IntegrityError, match="frozen"), transaction.atomic():
            attempt()
    frozen.refresh_from_db()
    assert "How natural?" in frozen.toml
    studies.close_study(study)
    studies.delete_study(study, "small")  # all of it goes, the definition too
    assert not StudyDefinition.objects.exists()


# --- Corrected -----------------------------------------------------------------------------------


@pytest.mark.medium
def test_a_correction_reaches_raters_from_then_on_and_sessions_tell_which_words_they_read(study):
    early = arrive(study)
    asked = session_state(early, own=True)["tasks"][0]["criteria"][0]
    assert (asked["question"], asked["scale"]["steps"][-1]["text"]) == ("How natural?", "No speech")
    answer_all(early, stop_after=1)
    words = {
        QUESTION: "How natural is it?",
        "tasks/mos/criteria/naturalness/words/0": "No speech in it",
        "tasks/mos/criteria/naturalness/words/5": "Splendid",
        CHOICE: "Every day",
    }
    frozen = corrected(study, words)
    assert (frozen.revision, frozen.ratings, study.wording) == (1, 1, 1)
    late = arrive(study)
    for session in (early, late):
        scale = session_state(session, own=True)["tasks"][0]["criteria"][0]
        texts = [step["text"] for step in scale["scale"]["steps"]]
        assert scale["question"] == "How natural is it?"
        assert texts[-2:] == ["Splendid", "No speech in it"]
    answer_all(early)  # labels stay what they were
    read = Session.objects.order_by("pk").values_list("wording_first", "wording_last")
    assert list(read) == [(0, 1), (1, 1)]
    assert study.questionnaires[0]["questions"][0]["options"][0] == {
        "value": "Daily",
        "text": "Every day",
    }


@pytest.mark.medium
def test_the_log_and_the_definition_keep_before_and_after(study):
    frozen = corrected(study, {"texts/welcome": "Welcome."}, same_meaning=False)
    change = {"place": "texts › welcome", "before": "Welcom.", "after": "Welcome."}
    assert (frozen.changes, frozen.reason) == ([change], "a slip")
    event = StudyEvent.objects.get(what="corrected")
    assert event.details["texts › welcome"] == {"from": "Welcom.", "to": "Welcome."}
    first, second = study.definitions.all()
    assert first.sha256 != second.sha256
    assert 'welcome = "Welcom."' in first.toml


@pytest.mark.medium
@pytest.mark.parametrize(
    ("words", "fields", "reason"),
    [
        ({"tasks/mos/ratings_per_stimulus": "9"}, {}, "Copy the study as the next version"),
        ({"tasks/mos/criteria/naturalness/words/6": "Better"}, {}, "next version"),
        ({"tasks/mos/method": "cmos"}, {}, "questions and scales stay as they are"),
        ({QUESTION: "How pleasant?"}, {"same_meaning": False}, "another measurement"),
        ({"texts/consent": "You agree to more."}, {}, "Give it another one"),
        ({"texts/welcome": "  "}, {}, "would be empty"),
        ({"texts/welcome": "Welcome."}, {"reason": " "}, "Say why"),
        ({"texts/welcome": "Welcom."}, {}, "Nothing was changed"),
        ({"texts/welcome": "Welcome."}, {"seen": 3}, "else corrected the wording"),
    ],
)
def test_what_is_no_correction_of_wording_is_refused_with_the_way_out(study, words, fields, reason):
    with pytest.raises(StudyError, match=reason):
        corrected(study, words, **fields)
    assert study.definitions.count() == 1


@pytest.mark.medium
def test_words_pass_the_same_import_as_a_folder(study):
    with pytest.raises(StudyProblems, match="200"):
        corrected(study, {"title": "x" * 201})
    corrected(study, {"texts/consent": "You agree now.", "texts/consent_version": "2"})
    assert arrive(study).consent_version == "2"


@pytest.mark.medium
def test_who_reads_while_the_words_change_reads_them_again(client, study):
    corrected(study, {"texts/welcome": "Welcome."})
    page = client.post(f"/r/{study.link}/", {"consent": "yes", "wording": "0"})
    assert (page.status_code, Session.objects.count()) == (422, 0)
    assert "Please read them again" in page.content.decode()
    client.post(f"/r/{study.link}/", {"consent": "yes", "wording": "1"})
    assert Session.objects.get().wording_first == 1


# Sliders, questions about a kind of sound, four tasks, kinds of errors
SHORT = {"mushra", "nvv", "p808", "error_marking", "intelligibility"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in SHORT else pytest.mark.soak)
        for name in sorted(each.name for each in PRESETS)
    ],
)
@pytest.mark.medium
def test_every_place_that_is_offered_can_be_corrected(name):
    """All at once, through the import, in every preset: labels stay, words change."""
    file = read_study_toml((PRESET_FOLDER / name / "study.toml").read_bytes(), Notebook())
    places = [
        correcting.CorrectableText(path, str(words), kind_of(path))
        for path, words in correcting.correctable(file).items()
    ]
    wanted = {place.path: f"{place.words[:30]} x" for place in places}
    after = definition_of(correcting._corrected(file, [(p, wanted[p.path]) for p in places]))
    assert {path: after[path] for path in wanted} == wanted
    labels = {path[-1] for path in wanted if len(path) == 6 and path[-2] == "words"}
    assert not labels & {NO_ERRORS, NOTHING, *KINDS}  # Earnest's own words, as in every study
    assert labels or name in ("error_marking", "intelligibility", "rhyme_test")


# --- In the browser ------------------------------------------------------------------------------


@pytest.mark.medium
def test_the_pages_correct_show_and_give_out_what_was_frozen(client, study):
    client.force_login(study.owner)
    page = page_of(client, "/studies/small/wording/")
    assert "How natural?" in page
    form = {f"words:{QUESTION}": "How natural is it?", "reason": "a slip", "seen": "0"}
    refused = client.post("/studies/small/wording/", form)
    assert refused.status_code == 422
    said = refused.content.decode()
    assert "another measurement" in said
    assert "How natural is it?" in said  # what was typed is still there
    client.post("/studies/small/wording/", form | {"same_meaning": "on"})
    shown = words_of(page_of(client, "/studies/small/versions/"))
    assert "a slip researcher" in shown
    assert "How natural? How natural is it ?" in shown  # “is it” is marked
    with zipfile.ZipFile(io.BytesIO(client.get("/studies/small/versions/0.zip").content)) as file:
        assert 'question = "How natural?"' in file.read("study.toml").decode()
        assert file.read("clips.csv").decode().count("\n") == 5
    assert "corrected 1 time" in words_of(page_of(client, "/studies/small/"))
    assert "How natural? → How natural is it?" in words_of(page_of(client, "/studies/small/log/"))


@pytest.mark.medium
def test_versions_are_shown_in_a_chain_on_each_of_them(client, study):
    client.force_login(study.owner)
    later = studies.copy_study(study, study.owner, as_version=True)
    for key in (study.key, later.key):
        shown = words_of(page_of(client, f"/studies/{key}/versions/"))
        assert "Version 1" in shown
        assert "Version 2" in shown
    assert not later.definitions.exists()
    assert "not open yet" in words_of(page_of(client, f"/studies/{later.key}/versions/"))
    assert later.wording == 0


@pytest.mark.medium
def test_the_next_version_opens_as_a_draft_to_change_and_stays_a_version(client, study):
    client.force_login(study.owner)
    form = {"action": "copy", "as": "version", "key": "small-v2", "earlier": "let_in"}
    answer = client.post("/studies/small/manage/do/", form, follow=True)
    draft = Draft.objects.get()
    assert answer.redirect_chain[-1][0] == f"/drafts/{draft.code}/"
    assert is_made(draft)
    change(draft, lambda top, _: top["tasks"][0].update(ratings_per_stimulus=8), draft.revision)
    made = make(draft, study.owner)
    assert (made.key, made.version, made.version_of, made.state) == ("small-v2", 2, study, "draft")
    assert made.tasks.get().ratings_per_stimulus == 8
    again = client.post("/studies/small-v2/manage/do/", {"action": "change"})
    assert again.url == f"/drafts/{draft.code}/"
    change(draft, lambda top, _: top["study"].update(key="another"), draft.revision)
    with pytest.raises(StudyError, match="write that key"):
        make(draft, study.owner)
