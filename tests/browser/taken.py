"""A small copy of a preset taken in a browser, and whether all of it is stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from listening.audio import ClipRequest, clip_url
from listening.audio.appearance import pads_of
from listening.design.traps import TRAINING
from listening.methods import method_named
from listening.models import Session, Stimulus, Trial
from listening.sessions.outcomes import code_at_end
from listening.sessions.simulated_raters.knowledge import rater_knowledge
from listening.sessions.task_rules import parts_of
from listening.studies import create_study, open_study
from tests.browser.small import small_copy
from tests.browser.walker import REASON, Answered, Walk, Walker
from tests.browser.watch import Watch
from tests.factories import kept_keys, make_user
from tests.listening.web import WebProcess

NewPage = Callable[..., Page]
Take = Callable[..., tuple[Walk, Session]]


@pytest.fixture
def take(
    web: WebProcess, transactional_db: None, new_page: NewPage, tmp_path: Path
) -> Iterator[Take]:
    """Takes a small copy of a preset; afterwards nothing may have gone wrong behind the pages."""
    watches: list[Watch] = []

    def walk(name: str, **device: object) -> tuple[Walk, Session]:
        began_s = time.monotonic()
        study = create_study(small_copy(name, tmp_path / name), make_user())
        open_study(study, anyway=True)
        watches.append(Watch(web.url))
        page = watches[-1].over(new_page(**device))
        known = rater_knowledge(study)
        done = Walker(page, f"{web.url}/r/{study.link}/", known, seed=len(name)).take()
        session = Session.objects.get(code=done.session)
        latencies_ms = session.trials.values_list("latency_ms", flat=True)
        assert sum(latencies_ms) < 1_000 * (time.monotonic() - began_s)  # as one after the other
        return done, session

    yield walk
    assert [watch.complaints for watch in watches] == [[]] * len(watches)


def everything_is_stored(walk: Walk, session: Session) -> None:
    """What was clicked, typed and heard is what the house has, to the last label."""
    study = session.study
    assert (session.status, walk.outcome) == (Session.Status.FINISHED, "complete")
    assert walk.code == code_at_end(session)
    assert session.comment == walk.comment
    assert bool(walk.comment) == bool(study.texts.get("comment_prompt"))
    assert session.consent_version == study.texts.get("consent_version", "1")
    kept = {key: each["answers"] for key, each in session.questionnaires.items()}
    assert kept == walk.questionnaires
    assert kept.keys() == kept_keys(study)
    assert walk.checks.keys() == session.checks.keys() == {c["key"] for c in study.checks}
    assert all(result["passed"] for result in session.checks.values())
    trials = list(session.trials.order_by("position").select_related("task"))
    assert len(trials) == len(walk.answered) > 0
    facts = (session.review, session.scripts_ran, session.agent)
    assert facts == ("", True, ""), facts
    for trial, given in zip(trials, walk.answered, strict=True):
        the_answer_is_stored(trial, given)
        what_was_heard_is_plausible(trial)
    practised = sum(trial.trap == TRAINING for trial in trials)
    assert practised == sum(given.training for given in walk.answered) == len(walk.feedback)
    met = study.tasks.filter(key__in={trial.task.key for trial in trials}).order_by("order")
    assert walk.tasks == [task.title for task in met]
    assert walk.examples == sum(len(task.examples) for task in met)


def the_answer_is_stored(trial: Trial, given: Answered) -> None:
    parts = parts_of(method_named(trial.task.method), trial)
    rated = [part for part in parts if part.role == "rated"]
    stored: dict[str, str] = {}
    for rating in trial.ratings.select_related("criterion"):
        (name,) = (part.name for part in rated if part.stimulus == rating.stimulus_id)
        several = f".{name.split()[-1]}" if len(rated) > 1 else ""
        stored[f"{rating.criterion.order}{several}"] = rating.label
    assert stored == _joined(trial, given.labels)
    reason = getattr(trial, "justification", None)
    assert (reason.text if reason else "") == given.reason
    if reason:
        assert (reason.keystrokes or 0) >= len(REASON)
        assert reason.pasted_chars == 0
        assert (reason.typing_ms or 0) > 0


def _joined(trial: Trial, labels: dict[str, str]) -> dict[str, str]:
    """The labels as they are stored: of BS.1116 those of A and B as one."""
    method = method_named(trial.task.method)
    if method.key != "bs1116":
        return labels
    pair = [labels["0.A"], labels["0.B"]]
    joined = method.joined_answer(pair, [None, None], versus_first=trial.versus_first)
    return {"0.B" if trial.versus_first else "0.A": joined[0] if joined else ""}


def length_heard(trial: Trial, place: int, stimulus: int) -> float:
    """That of the served copy, and what is quiet around it in this appearance."""
    row = Stimulus.objects.get(pk=stimulus)
    in_step = method_named(trial.task.method).screen == "parallel"
    url = clip_url(row.served, trial.session, trial, place, in_step=in_step)
    token = url.rpartition("/")[2]
    clip = ClipRequest(token, Path(row.served), trial=trial.pk, place=place, in_step=in_step)
    return row.duration_s + sum(pads_of(clip))


def what_was_heard_is_plausible(trial: Trial) -> None:
    """Every clip to its end (or long enough, where it is compared), in real time, in view."""
    facts = trial.playback
    parts = parts_of(method_named(trial.task.method), trial)
    lengths = [length_heard(trial, place, part.stimulus) for place, part in enumerate(parts)]
    assert facts["duration_s"] == pytest.approx(lengths, abs=0.06)
    heard_out = method_named(trial.task.method).heard_out
    assert trial.plays is not None
    assert trial.latency_ms is not None
    for heard_s, length_s in zip(facts["heard_s"], lengths, strict=True):
        needed_s = length_s if heard_out else min(2.0, length_s)
        assert needed_s - 0.11 <= heard_s <= length_s + 0.06
    assert trial.heard_fraction == 1 or not heard_out
    assert trial.plays >= len(lengths)
    assert all(plays >= 1 for plays in facts["plays_each"])
    assert 950 * sum(facts["heard_s"]) < trial.latency_ms
    assert facts["sample_rate_hz"] >= 8_000
    assert facts["channels"] >= 1
    for fact in ("blocked", "decode_errors", "load_failures", "hidden_ms", "skips", "reloads"):
        assert facts[fact] == 0, fact
