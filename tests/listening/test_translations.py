"""A study in several languages: read with its mistakes, written back, chosen at the door, kept."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.test import Client

from listening import studies
from listening.common.languages import name_of
from listening.design.studyfile import CSV, TOML, csv_text, read_folder, toml_text
from listening.models import Session, Study
from listening.sessions import lifecycle
from listening.sessions.lifecycle import Arrival
from tests.factories import answer_all, make_user
from tests.listening.folders import CONDITIONS, STUDY, TASK, make_folder, problems_of

WORDS = """
[study.texts]
welcome = "Hello."
contact = "lab@example.org"

[study.translations.zh-Hans]
title = "小研究"
texts = { welcome = "您好。", end = "谢谢参加。" }
checks.volume = { title = "先调音量", text = "请播放。" }

[study.translations.zh-Hans.questionnaires.you]
title = "关于您"
questions.tea = { question = "喝茶吗？", options = { yes = "喝" } }
questions.gender = { question = "性别？" }

[study.translations.de]

[[study.checks]]
key = "volume"
"""
FORM = """
[[questionnaires]]
key = "you"
title = "You"
use = ["demographics"]

[[questionnaires.questions]]
key = "tea"
question = "Do you drink tea?"
kind = "one"
options = [{ value = "yes", text = "I do" }, { value = "no", text = "I do not" }]
"""
TASK_WORDS = """
title = "How natural?"
instructions = "Listen, then rate."
justification = { required = true, min_chars = 3, prompt = "Why?", good = ["It breathes."] }

[[tasks.examples]]
stimulus = "t1"
caption = "A good one."

[[tasks.training]]
stimulus = "t1"
expected = ["5"]
right = "Right."
wrong = "Listen again."

[[tasks.criteria]]
key = "naturalness"
question = "How natural is it?"
help_text = "Listen to the breath."

[tasks.translations.zh-Hans]
title = "有多自然？"
instructions = "请听完后评分。"
justification = { prompt = "为什么？", good = ["有换气声。"] }
captions = { t1 = "很好的例子。" }
training.t1 = { right = "对了。", wrong = "再听听。" }

[tasks.translations.zh-Hans.criteria.naturalness]
question = "这段语音有多自然？"
help_text = "注意换气声。"
names = { 1 = "差", 5 = "好" }
"""
WHOLE = STUDY + WORDS + FORM + CONDITIONS + TASK + TASK_WORDS
ROWS = (
    "stimulus,condition,item,file,trap",
    "t1,sys-a,i3,audio/a1.wav,training",
    "a1,sys-a,i1,audio/a1.wav,",
    "a2,sys-a,i2,audio/a2.wav,",
    "b1,sys-b,i1,audio/b1.wav,",
    "b2,sys-b,i2,audio/b2.wav,",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "study", WHOLE.replace("block_size = 2", "block_size = 1"),
                       "\n".join(ROWS) + "\n")  # fmt: skip


@pytest.fixture
def study(folder: Path, db: None) -> Study:
    made = studies.create_study(folder, make_user())
    studies.open_study(made, anyway=True)
    made.refresh_from_db()
    return made


def test_a_study_in_several_languages_is_read_and_written_back(
    folder: Path, tmp_path: Path
) -> None:
    first = read_folder(folder)
    assert first.problems == ()
    study = first.study
    assert study is not None
    assert list(study.translations) == ["zh-Hans", "de"]
    assert study.translations["de"] == {}
    words = study.tasks[0].translations["zh-Hans"]
    assert words["criteria"]["naturalness"]["names"] == {"1": "差", "5": "好"}
    again = make_folder(tmp_path / "again")
    (again / TOML).write_text(toml_text(study), "utf-8")
    (again / CSV).write_text(csv_text(study), "utf-8")
    assert read_folder(again).study == study


@pytest.mark.parametrize(
    ("written", "place", "words"),
    [
        ("[study.translations.de.checks.volum]\ntitle = 'x'", "study.translations.de.checks.volum",
         "has no check “volum”"),
        ("[study.translations.de.questionnaires.you]", "study.translations.de.questionnaires.you",
         "has no questionnaire"),
        ("[study.translations.'Chinese!']", "study.translations.Chinese!", "is no language tag"),
        ("[study.translations.en]", "study.translations.en", "the language of the study itself"),
        ("[study.translations.de]\ntitel = 'x'", "study.translations.de.titel", "“title”"),
        ("[study.translations]\nde = 'Titel'", "study.translations.de", "no table"),
        ("[study.translations.de.texts]\nwelcom = 'x'", "study.translations.de.texts.welcom",
         "“welcome”"),
    ],
)  # fmt: skip
def test_mistakes_in_the_studys_words_are_named(
    tmp_path: Path, written: str, place: str, words: str
) -> None:
    (problem,) = problems_of(tmp_path, STUDY + written + CONDITIONS + TASK)
    assert problem.place == place
    assert words in f"{problem.what} {problem.remedy}"


@pytest.mark.parametrize(
    ("written", "place", "words"),
    [
        ("[tasks.translations.fr]", "tasks[1].translations.fr", "[study.translations.fr]"),
        ("[tasks.translations.de.criteria.natural]", "tasks[1].translations.de.criteria.natural",
         "“naturalness”"),
        ("[tasks.translations.de.criteria.naturalness]\nnames = { 9 = 'x' }",
         "tasks[1].translations.de.criteria.naturalness.names.9", "no answer “9”"),
        ("[tasks.translations.de]\njustification = { min_chars = 3 }",
         "tasks[1].translations.de.justification.min_chars", "no field"),
        ("[tasks.translations.de]\ntraining.zz.right = 'x'", "tasks[1].translations.de.training.zz",
         "no training with"),
        ("[tasks.translations.de]\ncaptions = { zz = 'x' }", "tasks[1].translations.de.captions.zz",
         "no example"),
        ("[tasks.translations.de]\ntitle = 3", "tasks[1].translations.de.title", "no text"),
    ],
)  # fmt: skip
def test_mistakes_in_a_tasks_words_are_named(
    tmp_path: Path, written: str, place: str, words: str
) -> None:
    offered = STUDY + "[study.translations.de]\n"
    (problem,) = problems_of(tmp_path, offered + CONDITIONS + TASK + written)
    assert problem.place == place
    assert words in f"{problem.what} {problem.remedy}"


@pytest.mark.medium
def test_the_door_offers_the_languages_and_keeps_who_arrived(study: Study) -> None:
    page = Client().get(f"/r/{study.link}/?PROLIFIC_PID={'5f' * 12}").content.decode()
    assert "Hello." in page
    links = re.findall(r'href="\?([^"]+)" lang="([^"]+)"[^>]*>([^<]+)<', page)
    assert [(tag, name) for _query, tag, name in links] == [
        ("en", "English"),
        ("de", "Deutsch"),
        ("zh-Hans", "简体中文"),
    ]
    assert links[2][0].replace("&amp;", "&") == f"PROLIFIC_PID={'5f' * 12}&lang=zh-Hans"
    page = Client().get(f"/r/{study.link}/?PROLIFIC_PID={'5f' * 12}&lang=zh-Hans").content.decode()
    assert '<html lang="zh-hans">' in page
    assert "您好。" in page
    assert "小研究" in page
    assert '<input type="hidden" name="lang" value="zh-Hans">' in page


@pytest.mark.medium
def test_the_preview_speaks_each_language_as_the_session_does(study: Study) -> None:
    client = Client()
    client.force_login(study.owner)
    door = client.get(f"/studies/{study.key}/preview/").content.decode()
    assert 'href="?lang=zh-Hans" lang="zh-Hans"' in door
    door = client.get(f"/studies/{study.key}/preview/?lang=zh-Hans").content.decode()
    assert "您好。" in door
    assert '<input type="hidden" name="lang" value="zh-Hans">' in door
    shown = client.get(f"/studies/{study.key}/preview/", {"consent": "yes", "lang": "zh-Hans"})
    preview = shown.context["state"]
    session = lifecycle.start(study, Arrival(simulated=True, language="zh-Hans"))
    stored = state_of(session)
    assert preview["study"] == stored["study"]
    for part in ("title", "instructions", "criteria", "justification"):
        assert preview["tasks"][0][part] == stored["tasks"][0][part]
    assert preview["tasks"][0]["examples"][0]["caption"] == "很好的例子。"
    kinds = [stage["stage"] for stage in preview["preview_stages"]]
    assert kinds == ["questionnaire", "check", "trial"]
    assert preview["preview_stages"][0]["questionnaire"]["title"] == "关于您"
    assert preview["preview_stages"][1]["check"]["title"] == "先调音量"
    assert preview["preview_trials"][0]["judged"]["right"]["text"] == "对了。"
    assert preview["preview_end"]["text"] == "谢谢参加。"


@pytest.mark.medium
@pytest.mark.parametrize("tag", ["fr", "zh", "<script>", "", "en"])
def test_a_language_that_is_not_offered_leaves_the_studys_own(study: Study, tag: str) -> None:
    page = Client().get(f"/r/{study.link}/", {"lang": tag}).content.decode()
    assert "Hello." in page
    Client().post(f"/r/{study.link}/", {"consent": "yes", "lang": tag})
    assert Session.objects.get().language == ""
    assert Session.objects.get().spoken == "en"


def arrived(study: Study, **query: str) -> Session:
    Client().post(f"/r/{study.link}/", {"consent": "yes", **query})
    return Session.objects.latest("pk")


def enter(study: Study, **query: str) -> Session:
    """A session that has its questions and checks behind it."""
    session = arrived(study, **query)
    session.ready = True
    session.checks = {"volume": {"done": True}}
    session.questionnaires = {"you": {}}
    session.save()
    return session


def state_of(session: Session) -> dict:
    return Client().get(f"/api/s/{session.code}/").json()


@pytest.mark.medium
def test_questions_and_checks_speak_the_chosen_language(study: Study) -> None:
    session = arrived(study, lang="zh-Hans")
    form = state_of(session)["questionnaire"]
    assert form["title"] == "关于您"
    questions = {each["key"]: each for each in form["questions"]}
    assert questions["tea"]["question"] == "喝茶吗？"
    assert [o["text"] for o in questions["tea"]["options"]] == ["喝", "I do not"]
    assert questions["gender"]["question"] == "性别？"
    assert questions["gender"]["options"][0]["text"] == "女"
    session.questionnaires = {"you": {}}
    session.save()
    check = state_of(session)["check"]
    assert (check["title"], check["text"]) == ("先调音量", "请播放。")
    assert state_of(arrived(study))["questionnaire"]["title"] == "You"


@pytest.mark.parametrize(("label", "words"), [("5", "对了。"), ("1", "再听听。")])
@pytest.mark.medium
def test_practice_answers_in_the_chosen_language(study: Study, label: str, words: str) -> None:
    session = enter(study, lang="zh-Hans")
    session.rater.simulated = True  # nobody needs to hear it
    session.rater.save()
    trial = session.trials.get(trap="training")
    body = {"trial": trial.code, "answers": {"0": label}, "latency_ms": 9, "plays": 1}
    body |= {"heard_fraction": 1.0, "justification": {"text": "有换气声"}}
    reply = Client().post(
        f"/api/s/{session.code}/answers/", json.dumps(body), content_type="application/json"
    )
    assert reply.json()["feedback"]["text"] == words


@pytest.mark.medium
def test_a_session_keeps_its_language_and_others_have_theirs(study: Study) -> None:
    chinese, english = enter(study, lang="zh-Hans"), enter(study)
    told = state_of(chinese)
    assert told["study"]["language"] == "zh-Hans"
    assert told["study"]["title"] == "小研究"
    assert told["study"]["contact"] == "lab@example.org"
    (task,) = told["tasks"]
    assert (task["title"], task["instructions"]) == ("有多自然？", "请听完后评分。")
    assert task["examples"][0]["caption"] == "很好的例子。"
    assert task["examples"][0]["name"] == "示例 1"
    assert task["justification"]["prompt"] == "为什么？"
    assert task["justification"]["min_chars"] == 3
    assert task["justification"]["good"] == ["有换气声。"]
    (criterion,) = task["criteria"]
    assert (criterion["question"], criterion["help"]) == ("这段语音有多自然？", "注意换气声。")
    steps = criterion["scale"]["steps"]
    assert [step["label"] for step in steps] == ["1", "2", "3", "4", "5"]
    assert [step["text"] for step in steps] == ["差", "较差", "一般", "较好", "好"]
    told = state_of(english)
    assert told["tasks"][0]["criteria"][0]["question"] == "How natural is it?"
    assert told["tasks"][0]["examples"][0]["caption"] == "A good one."
    assert told["study"]["title"] == "A small study"


@pytest.mark.medium
def test_the_page_refusals_and_the_end_speak_the_chosen_language(study: Study) -> None:
    session = enter(study, lang="zh-Hans")
    page = Client().get(f"/s/{session.code}/").content.decode()
    assert '<html lang="zh-hans">' in page
    body = {"trial": "nothing", "answers": {"0": "1"}, "latency_ms": 9, "plays": 1}
    reply = Client().post(
        f"/api/s/{session.code}/answers/",
        json.dumps(body | {"heard_fraction": 1.0}),
        content_type="application/json",
    )
    assert reply.json()["message"] == "这段音频不属于您的任务，请重新载入页面。"
    Client().post(f"/api/s/{session.code}/loaded/", {}, content_type="application/json")
    session.rater.simulated = True
    session.rater.save()
    answer_all(session)
    end = state_of(session)["end"]  # not its browser: no code
    assert (end["text"], end["code"]) == ("谢谢参加。", "")
    assert end["next"].startswith("完成代码")


@pytest.mark.medium
def test_a_language_without_words_of_its_own_shows_the_studys(study: Study) -> None:
    session = enter(study, lang="de")
    told = state_of(session)
    assert told["study"]["language"] == "de"
    assert told["tasks"][0]["title"] == "How natural?"


@pytest.mark.medium
def test_the_study_as_exported_has_its_languages(study: Study, tmp_path: Path) -> None:
    studies.export_study(study, tmp_path / "out")
    found = read_folder(tmp_path / "out").study
    assert found is not None
    assert found.translations == study.translations
    assert found.tasks[0].translations == study.tasks.get().translations


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        ("en", "English"),
        ("zh-CN", "简体中文"),
        ("zh_Hans", "简体中文"),
        ("ar", "العربيّة"),
        ("xx", "xx"),
    ],
)
def test_languages_have_the_names_that_their_speakers_use(tag: str, name: str) -> None:
    assert name_of(tag) == name
