"""One figure for how long a session takes: of all that a rater meets, then of what they took."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.test import TestCase
from django.utils import timezone

from listening.design.duration import (
    SessionLength,
    check_s,
    contradicts,
    estimate,
    reading_s,
    screens,
    stated_minutes,
)
from listening.models import Rater, Session, Study, Trial
from listening.selectors import session_length
from listening.studies import check_study, length, states
from listening.studies.exporting import study_as_file
from listening.web.researcher.preview_studies import example
from tests.factories import answer_all, arrive, make_study

PLAN = {
    "placement": "outside",
    "per": 5,
    "kinds": [{"kind": "gold", "count": 1, "pass_at_least": 1, "expected": ["1"]}],
}


@pytest.fixture(autouse=True)
def nothing_kept():
    length._estimate_of.cache_clear()
    length._measured.cache_clear()


@pytest.mark.parametrize(
    ("fields", "trials"),
    [
        ({}, 5),
        ({"traps": PLAN}, 6),
        ({"repeats": 2}, 7),
        ({"training": [{"stimulus": "t1"}]}, 6),
        ({"traps": PLAN, "repeats": 2, "training": [{"stimulus": "t1"}]}, 9),
    ],
)
def test_traps_repeats_and_practice_are_screens_too(fields, trials):
    whole = {"block_size": 5, "blocks_per_session": 1, "repeats": 0, "training": [], "traps": {}}
    assert screens(SimpleNamespace(**{**whole, **fields})) == trials


def test_every_part_of_a_session_counts():
    texts = {"welcome": "word " * 200, "consent": "word " * 100}
    asked = {
        "when": "before",
        "questions": [{"kind": "text"}, {"kind": "one", "show_if": {"x": 1}}],
    }
    study = SimpleNamespace(
        key="s", texts=texts, checks=[{"key": "volume"}, {"key": "huggins", "trials": 6}],
        questionnaires=[asked], tasks=(), task_plan="all", break_every=0, stimuli=(),
    )  # fmt: skip
    found = estimate(study, {})
    assert found.seconds == {
        "reading": 90.0,
        "checks": 20 + 10 + 6 * 8,
        "questions": 25.0,
        "clips": 0.0,
        "breaks": 0.0,
    }
    assert found.minutes == 3
    assert (found.trials, found.screens) == (0, 1 + 6 + 1)
    assert check_s({"key": "volume"}) == 20


def test_chinese_is_read_by_characters():
    assert reading_s("你好吗" * 100) == pytest.approx(60.0)
    assert reading_s("one two 你好") == pytest.approx(2 * 60 / 200 + 2 * 60 / 300)


@pytest.mark.django_db
def test_the_longest_task_counts_where_a_rater_gets_one_of_them():
    study = make_study(items=12, task={"block_size": 4})
    one = estimate(study_as_file(study), {}).seconds["clips"]
    Study.objects.update(task_plan="one")
    assert estimate(study_as_file(Study.objects.get()), {}).seconds["clips"] == one
    assert not estimate(study_as_file(study), {}).varies
    slow = estimate(study_as_file(study), {s.key: 30.0 for s in study.stimuli.all()})
    assert slow.seconds["clips"] - one == pytest.approx(slow.trials * 30 * 1.1)


@pytest.mark.parametrize("name", ["att", "lfs", "long_form", "mos_zh", "mushra", "nvv", "p808"])
def test_presets_say_what_is_computed_and_nothing_else(name):
    source = example(name)
    for key in ("welcome", "consent"):
        text = source.length.fill(source.file.texts.get(key, ""))
        assert "{minutes}" not in text
        for said in stated_minutes(text):
            assert said == (source.length.minutes, source.length.minutes)
    assert 2 <= source.length.minutes <= 30


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("It takes about {minutes} minutes.", "It takes about 1 minute."),
        ("Etwa {minutes} Minuten, {minutes} Minutenangaben", "Etwa 1 Minute, 1 Minutenangaben"),
        (
            "Unos {minutes} minutos / ongeveer {minutes} minuten",
            "Unos 1 minuto / ongeveer 1 minuut",
        ),
        ("大约需要 {minutes} 分钟", "大约需要 1 分钟"),
    ],
)
def test_one_minute_is_singular(text, filled):
    assert SessionLength(1, {"clips": 20.0}).fill(text) == filled
    assert SessionLength(1, {"clips": 300.0}).fill(text) == text.replace("{minutes}", "5")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("It takes about 15 minutes.", [(15, 15)]),
        ("15-20 min, then 1 minute more", [(15, 20), (1, 1)]),
        ("about 10 to 12 minutes", [(10, 12)]),
        ("大约需要20分钟", [(20, 20)]),
        ("etwa 15 bis 20 Minuten", [(15, 20)]),
        ("It takes about {minutes} minutes; 3 miners, 24 clips, 5 mint", []),
    ],
)
def test_lengths_in_a_text_are_found(text, said):
    assert stated_minutes(text) == said


@pytest.mark.parametrize(
    ("said", "minutes", "misleads"),
    [((15, 15), 13, False), ((20, 20), 13, True), ((2, 2), 4, False), ((2, 2), 5, True),
     ((10, 20), 20, False), ((10, 20), 27, True), ((60, 60), 50, False)],
)  # fmt: skip
def test_a_text_misleads_from_a_quarter_and_two_minutes_on(said, minutes, misleads):
    assert contradicts(said, minutes) is misleads


def told(study: Study) -> list[str]:
    return [f.what for f in check_study(study) if "minutes" in f.what]


@pytest.mark.django_db
@pytest.mark.medium
def test_a_text_with_another_figure_is_named_before_raters_come():
    study = make_study(
        texts={"welcome": "About 45 minutes.", "consent": "Takes {minutes} minutes."}
    )
    study.translations = {"de": {"title": "x", "texts": {"consent": "Dauert 50 Minuten."}}}
    study.save()
    minutes = session_length(study).minutes
    (welcome, german) = told(study)
    assert welcome.startswith(
        f"The welcome text says 45 minutes, but a session takes about {minutes}"
    )
    assert german.startswith("The consent text in de says 50 minutes")
    study.texts["welcome"], study.translations = f"About {minutes} minutes.", {}
    study.save()
    assert told(study) == []


@pytest.mark.django_db
def test_the_page_fills_the_figure_into_the_studys_words(client):
    study = make_study(
        texts={"welcome": "Takes {minutes} minutes.", "consent": "{minutes} of them"}
    )
    page = client.get(f"/r/{study.link}/").content.decode()
    minutes = session_length(study).minutes
    assert minutes == 1
    assert "Takes 1 minute." in page
    assert "1 of them" in page
    assert "about 1 min" in page


def finished(study: Study, minutes: float, **fields) -> Session:
    """A session that took so long; its rater is no script unless said."""
    session = arrive(study)
    answer_all(session)
    Rater.objects.filter(pk=session.rater_id).update(simulated=fields.pop("simulated", False))
    now = timezone.now()
    began = now - timedelta(minutes=minutes)
    every = timedelta(minutes=minutes) / (session.trials.count() + 1)
    for place, trial in enumerate(session.trials.order_by("position"), start=1):
        Trial.objects.filter(pk=trial.pk).update(answered_at=began + place * every)
    Session.objects.filter(pk=session.pk).update(started_at=began, finished_at=now, **fields)
    return session


@pytest.mark.django_db
@pytest.mark.medium
def test_what_raters_took_replaces_the_estimate(monkeypatch):
    monkeypatch.setattr(length, "MEASURED_FROM", 3)
    study = make_study(items=40)
    guess = session_length(study)
    for minutes in (20, 30):
        finished(study, minutes)
    finished(study, 1, simulated=True)
    finished(study, 1, review="pace")
    length._measured.cache_clear()
    few = session_length(study)
    assert (few.minutes, few.measured_sessions) == (guess.minutes, 2)
    finished(study, 22)
    length._measured.cache_clear()
    measured = session_length(study)
    assert (measured.minutes, measured.measured_sessions) == (22, 3)
    # Who went away for half an hour did not listen for half an hour.
    away = finished(study, 20)
    Session.objects.filter(pk=away.pk).update(started_at=away.started_at - timedelta(hours=3))
    length._measured.cache_clear()
    assert session_length(study).minutes in (20, 21, 22)


@pytest.mark.django_db
def test_at_the_opening_the_estimate_is_kept_for_all_processes(monkeypatch):
    study = make_study()
    states.pause_study(study)
    with TestCase.captureOnCommitCallbacks(execute=True):
        states.open_study(study)
    length._estimate_of.cache_clear()  # as in another process
    monkeypatch.setattr(length, "_estimated", None)  # which has not to read the whole study
    assert session_length(study).minutes >= 1


def test_a_figure_is_never_nothing():
    assert SessionLength(0).minutes == 1
