"""Gallery and previews: all of it is there and sounds, as raters meet it, and nothing is stored."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import soundfile
from django.apps import apps
from django.db import connection
from django.test import Client

from listening.audio import local_path
from listening.checks import Check
from listening.design.occasions import answer_keys, asks_between
from listening.design.presets import Preset, write_preset
from listening.design.questionnaires import READY_MADE, has_screening
from listening.design.studyfile.questionnaire_tables import plans_of
from listening.methods import Method
from listening.models import Session, Stimulus, Study
from listening.sessions.allocation import plan_study
from listening.studies import create_study
from listening.web.researcher.preview_studies import (
    GALLERY,
    FolderSource,
    StoredSource,
    _tasks_without_example,
    demo_folder,
    example,
    shown_presets,
)
from tests.factories import make_study, make_user
from tests.shared_rows import shared_rows

pytestmark = pytest.mark.django_db

METHODS = sorted(Method.registry)
CHECKS = sorted(Check.registry)
PRESETS = sorted(shown_presets())
STATE = re.compile(r'<script id="state" type="application/json">(.*?)</script>', re.DOTALL)
WRITES = re.compile(r"\s*(?:WITH\b.*)?(INSERT|UPDATE|DELETE|COPY|TRUNCATE|CREATE|ALTER)\b", re.I)


@pytest.fixture
def researcher(client: Client) -> Client:
    client.force_login(make_user("ada"))
    return client


@pytest.fixture(scope="module")
def imported(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Study]:
    """The gallery's own study, imported like any other; what a test changes is rolled back."""
    folder = tmp_path_factory.mktemp("gallery") / "stored"
    write_preset(Preset(GALLERY, demo_folder() / GALLERY), demo_folder(), folder)
    with shared_rows(django_db_blocker):
        yield create_study(folder, make_user("ada"))


@pytest.fixture
def stored(imported: Study, db: None) -> Study:
    imported.refresh_from_db()
    return imported


@pytest.fixture
def no_writes(researcher: Client) -> Iterator[list[str]]:
    """Fails when anything but a read reaches the database."""
    seen: list[str] = []

    def watch(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if WRITES.match(sql):
            seen.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(watch):
        yield seen
    assert seen == []


def state_at(client: Client, url: str) -> dict[str, Any]:
    answer = client.get(url)
    assert answer.status_code == 200
    found = STATE.search(answer.content.decode())
    assert found is not None
    state: dict[str, Any] = json.loads(found[1])
    return state


def sounds_of(state: dict[str, Any]) -> set[str]:
    """Every address that the page may ask for."""
    checks = [stage["check"] for stage in state["preview_stages"] if stage["stage"] == "check"]
    return {
        *(clip for trial in state["preview_trials"] for clip in trial["clips"]),
        *(one["clip"] for task in state["tasks"] for one in task["examples"]),
        *(check["clip"] for check in checks if check["clip"]),
        *(trial["clip"] for check in checks for trial in check["trials"]),
    }


def seconds_at(client: Client, url: str) -> float:
    """How long the sound at this address is."""
    answer = client.get(url)
    assert answer.status_code == 200, url
    assert answer["Content-Type"].startswith("audio/")
    return float(soundfile.info(io.BytesIO(content_of(answer))).duration)


def content_of(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def rows_in_all_tables() -> dict[str, int]:
    return {model._meta.db_table: model._base_manager.count() for model in apps.get_models()}


def gallery_url(**part: str) -> str:
    ((name, key),) = part.items()
    return f"/preview/examples/gallery/?{name}={key}"


# --- All of it is there --------------------------------------------------------------------------


@pytest.mark.medium
def test_the_gallery_shows_every_method_check_questionnaire_and_preset(researcher: Client) -> None:
    page = researcher.get("/gallery/").content.decode()
    for part, keys in (
        ("method", METHODS),
        ("check", CHECKS),
        ("questionnaire", READY_MADE),
        ("preset", PRESETS),
    ):
        assert [key for key in keys if f'id="{part}-{key}"' not in page] == []
    for key in METHODS:
        assert gallery_url(task=key) in page, f"add a task {key} to demo/gallery/study.toml"
        assert Method.registry[key].standard.split(":")[0].split("'")[0] in page
    for key in PRESETS:
        assert f"/preview/examples/{key}/" in page
        assert f"new_study {key} my-study" in page


def test_a_method_without_an_example_gets_one_with_the_clips_of_the_first() -> None:
    source = example(GALLERY)
    assert source is not None
    others = tuple(task for task in source.file.tasks if task.method not in ("p835", "rank"))
    added = list(_tasks_without_example(replace(source.file, tasks=others)))
    assert [task.key for task in added] == ["p835", "rank"]
    assert [criterion.key for criterion in added[0].criteria] == ["signal", "background", "overall"]


def test_a_preset_is_named_beside_the_methods_that_it_uses(researcher: Client) -> None:
    methods = {m["key"]: m for m in researcher.get("/gallery/").context["methods"]}
    assert [preset["key"] for preset in methods["att"]["presets"]] == ["att", "att_zh"]
    assert "p808" in [preset["key"] for preset in methods["dcr"]["presets"]]
    assert all(method["what"].endswith(".") for method in methods.values())


@pytest.mark.slow
@pytest.mark.parametrize("key", METHODS)
def test_every_method_has_an_example_with_trials_that_sound(researcher: Client, key: str) -> None:
    state = state_at(researcher, gallery_url(task=key))
    (task,) = state["tasks"]
    trials = state["preview_trials"]
    assert state["preview"] is True
    assert [stage["stage"] for stage in state["preview_stages"]] == ["trial"]
    assert [trial["position"] for trial in trials] == list(range(1, len(trials) + 1))
    assert 2 <= len(trials) <= 6
    assert len({trial["id"] for trial in trials}) == len(trials)
    assert task["criteria"]
    assert all(c["question"] and c["scale"]["widget"] for c in task["criteria"])
    for trial in trials:
        assert len(trial["clips"]) == len(trial["parts"]) >= 1
        assert any(part["role"] == "rated" for part in trial["parts"])
    for url in sounds_of(state):
        assert url.startswith("/preview/examples/gallery/clips/")
        assert 0.7 < seconds_at(researcher, url) < 10  # a word and the silence around it, or more


@pytest.mark.parametrize("key", CHECKS)
def test_every_check_can_be_tried_with_its_sounds(researcher: Client, key: str) -> None:
    state = state_at(researcher, gallery_url(check=key))
    (stage,) = state["preview_stages"]
    assert stage["check"]["key"] == key
    assert len(stage["truths"]) == len(stage["check"]["trials"])
    assert state["preview_trials"] == state["tasks"] == []
    assert sounds_of(state)
    for url in sounds_of(state):
        assert seconds_at(researcher, url) > 0.5


def test_the_sounds_of_a_check_are_those_of_its_truths_and_other_ones_each_time(
    researcher: Client,
) -> None:
    first, second = (state_at(researcher, gallery_url(check="huggins")) for _ in range(2))
    assert sounds_of(first).isdisjoint(sounds_of(second))
    url = first["preview_stages"][0]["check"]["trials"][2]["clip"]
    seed = url.split("/")[-2]
    check = Check.registry["huggins"]()
    asked = check.settings({})
    truths = [trial.truth for trial in check.plan(asked, seed)]
    assert first["preview_stages"][0]["truths"] == truths
    heard, _ = soundfile.read(io.BytesIO(content_of(researcher.get(url))), dtype="float32")
    assert abs(heard - check.signal(asked, seed, 2)).max() < 1e-4


@pytest.mark.parametrize("key", READY_MADE)
def test_every_ready_made_questionnaire_can_be_tried(researcher: Client, key: str) -> None:
    state = state_at(researcher, gallery_url(questionnaire=key))
    (stage,) = state["preview_stages"]
    asked = [question["key"] for question in stage["questionnaire"]["questions"]]
    assert asked == [question["key"] for question in READY_MADE[key]]
    assert "screen_out" not in json.dumps(stage)


@pytest.mark.slow
@pytest.mark.usefixtures("no_writes")
@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_walked_with_all_that_surrounds_its_trials(
    researcher: Client, name: str
) -> None:
    state = state_at(researcher, f"/preview/examples/{name}/?consent=yes")
    source = example(name)
    assert source is not None
    file = source.file
    stages = [stage["stage"] for stage in state["preview_stages"]]
    assert stages.count("check") == len(file.checks)
    split = sum(has_screening(each) for each in file.questionnaires if each["when"] == "before")
    plans = plans_of(file.tasks)
    kept = [key for each in file.questionnaires for key, _ in answer_keys(each, plans)]
    assert stages.count("questionnaire") == len(kept) + split
    between = asks_between(file.questionnaires)
    assert stages.count("trial") == (len(file.tasks) if between else 1)
    assert {trial["task"] for trial in state["preview_trials"]} == set(range(len(file.tasks)))
    assert state["preview_end"]["code"] == "PREVIEW"
    assert state["preview_end"]["debrief"].startswith(file.texts["debrief"])
    assert state["study"]["language"] == file.language


# With another language, in pairs, with practice; the others begin by the same code.
BEGUN = ("mos_zh", "cmos", "p808")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *BEGUN,
        *(pytest.param(name, marks=pytest.mark.soak) for name in sorted({*PRESETS} - {*BEGUN})),
    ],
)
def test_a_walk_begins_at_the_first_page_as_raters_read_it(
    researcher: Client, name: str, tmp_path: Path
) -> None:
    write_preset(shown_presets()[name], demo_folder(), tmp_path / "mine")
    study = create_study(tmp_path / "mine", make_user("ada"))
    Study.objects.update(state=Study.State.OPEN)
    plan_study(study)
    real, shown, own = (
        researcher.get(url).context
        for url in (f"/r/{study.link}/", f"/preview/examples/{name}/", "/studies/mine/preview/")
    )
    for part in ("welcome_paragraphs", "consent_paragraphs", "screens"):
        assert real[part]
        assert shown[part] == own[part] == real[part]
    assert own["minutes"] == real["minutes"]
    assert abs(shown["minutes"] - real["minutes"]) <= 2


def test_the_words_of_a_preview_are_in_the_language_of_its_study(researcher: Client) -> None:
    page = researcher.get("/preview/examples/mos_zh/?consent=yes").content.decode()
    assert '<html lang="zh-hans"' in page


def test_training_and_every_kind_of_trap_come_up(researcher: Client) -> None:
    state = state_at(researcher, "/preview/examples/p808/?task=acr")
    trials = state["preview_trials"]
    practice = [trial["training"] for trial in trials if trial["training"]]
    assert practice == [{"n": n, "total": 3} for n in (1, 2, 3)]
    assert [bool(trial["training"]) for trial in trials] == [True] * 3 + [False] * 5
    assert trials[0]["judged"]["labels"] == ["4", "5"]
    assert trials[0]["judged"]["right"]["right"] is True
    assert trials[0]["judged"]["wrong"]["text"].startswith("Most people call this clip good")
    assert trials[2]["judged"]["right"]["right"] is None
    source = example("p808")
    assert source is not None
    traps = {s.key: s.trap for s in source.file.stimuli if s.trap}
    shown = [traps.get(clip.split("/")[-1]) for trial in trials[3:] for clip in trial["clips"]]
    assert sorted(kind for kind in shown if kind) == ["gold", "instructed"]


@pytest.mark.medium
def test_context_is_joined_and_timed_as_an_import_makes_it(stored: Study) -> None:
    folder, database = example(GALLERY), StoredSource(stored)
    assert folder is not None
    derived = dict(Stimulus.objects.filter(derived=True).values_list("key", "served"))
    assert len(derived) == 3
    made = {key: _without_words(lines) for key, lines in folder.lines(derived).items()}
    kept = {key: _without_words(lines) for key, lines in database.lines(derived).items()}
    assert made == kept
    for key, served in derived.items():
        path = folder.clip(key)
        assert path is not None
        assert database.clip(key) == local_path(served)
        ours, theirs = soundfile.read(path), soundfile.read(local_path(served))
        assert ours[1] == theirs[1]
        assert abs(ours[0] - theirs[0]).max() < 1e-6


@pytest.mark.slow
def test_a_folders_clips_have_the_loudness_and_rate_of_its_import(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    write_preset(Preset(GALLERY, demo_folder() / GALLERY), demo_folder(), folder)
    toml = (folder / "study.toml").read_text()
    numbers = 'language = "en"\nloudness_lufs = -30\nsample_rate_hz = 22050\n'
    (folder / "study.toml").write_text(toml.replace('language = "en"\n', numbers, 1))
    shown = FolderSource(folder, folder)
    kept = StoredSource(create_study(folder, make_user("ada")))
    for key in ("human-s0880", "flite-slt-s0930", "R1T1:p1.2"):
        paths = shown.clip(key), kept.clip(key)
        assert paths[0] is not None
        assert paths[1] is not None
        (ours, rate_hz), (theirs, theirs_hz) = soundfile.read(paths[0]), soundfile.read(paths[1])
        assert rate_hz == theirs_hz == 22_050
        assert abs(ours - theirs).max() < 1e-6


def _without_words(lines: Any) -> list[tuple[str, float, float]]:
    return [(line["role"], line["start_s"], line["end_s"]) for line in lines]


def test_without_the_demos_folder_the_gallery_shows_what_needs_no_sounds(
    researcher: Client, settings: Any, tmp_path: Path
) -> None:
    settings.BASE_DIR = tmp_path
    context = researcher.get("/gallery/").context
    assert context["methods"] == context["presets"] == []
    assert researcher.get("/preview/examples/gallery/").status_code == 404


# --- A study of one's own ------------------------------------------------------------------------


@pytest.mark.slow
def test_a_study_is_previewed_in_every_state(
    researcher: Client, stored: Study, subtests: pytest.Subtests
) -> None:
    tasks = set(range(stored.tasks.count()))
    for state in Study.State.values:
        with subtests.test(state=state):
            Study.objects.update(state=state)
            page = researcher.get("/studies/stored/").content.decode()
            leads_to = "try" if state == Study.State.DRAFT else "preview"
            assert f'href="/studies/stored/{leads_to}/"' in page
            shown = state_at(researcher, "/studies/stored/preview/?consent=yes")
            assert {trial["task"] for trial in shown["preview_trials"]} == tasks
            for url in sorted(sounds_of(shown))[:5]:
                assert url.startswith("/preview/studies/stored/clips/")
                assert seconds_at(researcher, url) > 1
    again = state_at(researcher, "/studies/stored/preview/?consent=yes")
    assert shown["tasks"] == again["tasks"]


@pytest.mark.slow
def test_nothing_is_stored(researcher: Client, stored: Study, no_writes: list[str]) -> None:
    before = rows_in_all_tables()
    for url in (
        "/gallery/",
        "/studies/stored/preview/",
        f"/preview/examples/{GALLERY}/?consent=yes",
    ):
        assert researcher.get(url).status_code == 200
    state = state_at(researcher, "/studies/stored/preview/?consent=yes")
    for url in sounds_of(state):
        content_of(researcher.get(url))
    assert rows_in_all_tables() == before
    assert not Session.objects.exists()


@pytest.mark.medium
def test_a_page_without_a_preview_is_not_marked_as_one(client: Client) -> None:
    study = make_study(key="voices")
    answer = client.post(f"/r/{study.link}/", {"consent": "yes"}, follow=True)
    assert answer.status_code == 200
    assert "preview-banner" not in answer.content.decode()
