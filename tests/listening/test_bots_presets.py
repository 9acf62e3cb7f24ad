"""Scripted raters take every preset through its pages, from consent to completion code."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from django.core import signing

from listening.design.occasions import questionnaire_of
from listening.design.presets import write_preset
from listening.design.traps import TRAINING
from listening.methods import method_named
from listening.models import Rating, Session, Study, Trial
from listening.sessions.simulated_raters import Kind, Truth, drawn_qualities, send_crowd
from listening.sessions.simulated_raters.knowledge import rater_knowledge, roles_of
from listening.sessions.simulated_raters.opinions import Opinions
from listening.sessions.simulated_raters.scripted_rater import Summary
from listening.sessions.task_rules import parts_of
from listening.studies import create_study, open_study
from tests.factories import kept_keys, make_user
from tests.listening.test_presets import DEMO, ISSUE, PRESETS, trials_of
from tests.listening.web import WebProcess

RATERS = 3


@pytest.fixture(scope="module")
def web(web: WebProcess) -> str:
    return web.url


# The others are crawled from consent to code in tests/test_no_method_leaks.py too.
ALWAYS = ("mushra",)
OTHERS = {*ISSUE, "codec", "mushra_nmr"} - {*ALWAYS}
RARELY = [pytest.param(name, marks=pytest.mark.soak) for name in sorted(OTHERS)]


@pytest.fixture(params=[*ALWAYS, *RARELY])
def study(request: pytest.FixtureRequest, transactional_db: None, tmp_path: Path) -> Study:
    folder = tmp_path / request.param
    write_preset(PRESETS[request.param], DEMO, folder)
    made = create_study(folder, make_user())
    open_study(made, anyway=True)
    return made


def send(web: str, study: Study, monkeypatch: pytest.MonkeyPatch) -> Summary:
    """Careful raters who never miss a known answer, one for each task that a rater may get."""
    monkeypatch.setattr(Opinions.__init__, "__kwdefaults__", {"attention": 1.0})
    raters = RATERS if study.task_plan == "all" else study.tasks.count()
    truth = Truth(5, drawn_qualities(roles_of(study), 5))
    token = signing.dumps(study.key, salt="simulate")
    landing, known = f"/r/{study.link}/?simulate={token}", rater_knowledge(study)
    kinds = [Kind.CAREFUL] * raters
    at_once = 3 if study.task_plan == "all" else 1  # two who arrive at once may get one task
    return asyncio.run(send_crowd(web, landing, known, truth, kinds, concurrency=at_once))


@pytest.mark.slow
def test_a_preset_is_taken_from_consent_to_completion_code(
    web: str, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = send(web, study, monkeypatch)
    assert [(r.end, r.why) for r in summary.reports] == [("complete", "")] * len(summary.reports)
    assert not summary.trouble, summary.trouble
    assert not summary.refused, summary.refused
    sessions = Session.objects.filter(study=study)
    assert {s.status for s in sessions} == {Session.Status.FINISHED}
    reached = Counter(task for s in sessions for task in {t.task.key for t in s.trials.all()})
    assert reached.keys() == set(study.tasks.values_list("key", flat=True))
    for session in sessions:
        the_session_is_whole(session)
    assert Trial.objects.filter(ratings__isnull=False).distinct().count() == len(
        summary.acknowledged
    )


def the_session_is_whole(session: Session) -> None:
    planned, promised = trials_of(session)
    assert planned == promised
    study = session.study
    assert session.consent_version == study.texts["consent_version"]
    for trial in session.trials.select_related("task"):
        assert trial.state == Trial.State.ANSWERED
        the_trial_is_whole(trial)
    asked = {each["key"]: each["questions"] for each in study.questionnaires}
    assert session.questionnaires.keys() == kept_keys(study)
    for key, given in session.questionnaires.items():
        questions = asked[questionnaire_of(key)]
        required = {q["key"] for q in questions if q["required"] and not q["show_if"]}
        assert required <= given["answers"].keys()
        assert given["at"]
    assert session.checks.keys() == {check["key"] for check in study.checks}
    assert all(result["passed"] for result in session.checks.values())


def the_trial_is_whole(trial: Trial) -> None:
    """As many ratings as its screen asks for; its trap passed; its reason there."""
    parts = parts_of(method_named(trial.task.method), trial)
    rated = sorted(part.stimulus for part in parts if part.role == "rated")
    if trial.task.method == "bs1116":  # both grades are one rating
        rated = [trial.stimulus_id]
    ratings = Rating.objects.filter(trial=trial)
    for criterion in trial.task.criteria.all():
        own = ratings.filter(criterion=criterion)
        assert sorted(own.values_list("stimulus", flat=True)) == rated
        labels = {step["label"] for step in criterion.scale["steps"]}
        assert not labels or criterion.scale.get("span") or {r.label for r in own} <= labels
    assert ratings.count() == len(rated) * trial.task.criteria.count()
    assert all(rating.counts == (trial.slot_id is not None) for rating in ratings)
    if trial.expected and trial.trap != TRAINING:
        assert trial.trap_passed, (trial.trap, trial.expected)
    required = trial.task.justification.get("required")
    assert hasattr(trial, "justification") >= bool(required)
