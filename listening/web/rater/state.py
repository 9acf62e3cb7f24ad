"""The state that a session's page gets: its stage, its trials and opaque clip addresses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from django.templatetags.static import static
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from msgspec import Struct
from msgspec.json import decode, encode

from listening import audio
from listening.audio.appearance import MEAN_PAD_S
from listening.common.languages import speaking, study_words
from listening.common.secret_seeds import rng_of
from listening.common.statements import rows_of
from listening.design.occasions import (
    Occasion,
    TrialPosition,
    asks_between,
    due_occasion,
    is_between,
    questionnaire_of,
    trials_until,
)
from listening.design.questionnaires import in_words
from listening.design.questionnaires import page as questionnaire_page
from listening.design.sources import source_named
from listening.design.traps import TRAINING
from listening.methods import Part, Scale
from listening.models import Recruitment, Session, Stimulus, Task, Trial
from listening.models.sealed import unseal
from listening.sessions.answer_statements import Clip, Read, Sitting, Upcoming, upcoming_of
from listening.sessions.answers import AHEAD, read_session
from listening.sessions.line_marks import moved
from listening.sessions.outcomes import completion_code_of, outcome_of, visit_of
from listening.sessions.stages import (
    Stage,
    attempt_of,
    check_and_settings,
    check_seed,
    next_part_of,
    stage_of,
    task_keys,
)
from listening.sessions.task_rules import parts_of, task_rules
from listening.web.rater import page_facts
from listening.web.rater.endings import end_facts

TRIALS = """
SELECT id AS pk, state, task_id, block_id, trap
FROM listening_trial WHERE session_id = %(session)s ORDER BY position
"""


@lru_cache(maxsize=2048)
def _parsed(text: str) -> Any:
    """JSON as the database keeps it; nobody changes what it returns."""
    return json.loads(text)


@dataclass(frozen=True)
class Plan:
    """A session's trials read once: what is answered, and what comes next."""

    tasks: list[int]
    answered: int
    upcoming: list[Upcoming]  # the current trial and the next ones
    left: int
    training: list[Any]
    places: list[TrialPosition]


def read_plan(read: Read) -> Plan:
    """Return what is answered and what comes next, of what was read of a session."""
    upcoming = [upcoming_of(bytes(each)) for each in read.upcoming]
    tasks = list(dict.fromkeys(read.tasks))
    return Plan(tasks, read.answered, upcoming, read.left, training=[], places=[])


def _whole_plan(read: Read, sitting: Sitting) -> Plan:
    """The same, with the places of all trials where training or questions between need them."""
    plan = read_plan(read)
    trains = TRAINING in (trial.trap for trial in plan.upcoming)
    if not trains and not asks_between(_parsed(sitting.questions)):
        return plan
    trials = rows_of(TRIALS, session=sitting.pk)
    return replace(
        plan,
        training=[t for t in trials if t.trap == TRAINING and t.state != Trial.State.GONE],
        places=[TrialPosition(task_rules(t.task_id).place, t.block_id, t.state) for t in trials],
    )


def session_state(session: Session, *, own: bool) -> dict[str, Any]:
    """The State of a session as it is stored, as the page draws it.

    ``own``: the browser may speak for the session (see `session_ownership`); any other one
    may listen and answer, but is not given the completion code.
    """
    read = read_session(session.code)
    sitting = read.sitting
    if sitting is None:
        raise Session.DoesNotExist
    if sitting.wording != sitting.wording_last:
        Session.objects.filter(pk=sitting.pk).update(wording_last=sitting.wording)
    with speaking(sitting.language):
        return planned_state(sitting, _whole_plan(read, sitting), own=own)


def planned_state(sitting: Any, plan: Plan, *, own: bool) -> dict[str, Any]:
    checks, questions = _parsed(sitting.study_checks), _parsed(sitting.questions)
    outcomes = _parsed(sitting.checks)
    words = study_words(
        sitting.title, _parsed(sitting.texts), _parsed(sitting.translations), sitting.language
    )
    texts = words["texts"]
    answered = _parsed(sitting.questionnaires)
    between = _Between(sitting.study, questions, plan.places, answered)
    stage = stage_of(sitting.status, questions, checks, answered, outcomes, between.due)
    questionnaire = _questionnaire(stage, questions, words, answered, plan)
    ahead = stage.kind == "trial" or between.due is not None
    return {
        "stage": stage.kind,
        "preview": False,
        "study": {
            "title": words["title"],
            "language": sitting.language,
            "contact": texts.get("contact", ""),
            "break_every": sitting.break_every,
        },
        "progress": {"done": plan.answered, "total": plan.answered + plan.left},
        "questionnaire": questionnaire,
        "check": _check(sitting, checks, outcomes, stage.key, words["checks"])
        if stage.kind == "check"
        else None,
        "tasks": [_task(sitting, pk, index) for index, pk in enumerate(plan.tasks)],
        "trials": _trials(sitting, plan, between.free) if ahead else [],
        "end": _end(sitting, texts, own=own) if stage.kind == "end" else None,
    }


@dataclass(frozen=True)
class _Between:
    """The questionnaires between tasks or blocks, at this point of the session."""

    study: int
    questionnaires: Sequence[Mapping[str, Any]]
    places: Sequence[TrialPosition]
    answered: Mapping[str, Any]

    @cached_property
    def tasks(self) -> dict[int, str]:
        return task_keys(self.study) if asks_between(self.questionnaires) else {}

    @cached_property
    def due(self) -> Occasion | None:
        if not self.tasks:
            return None
        return due_occasion(self.questionnaires, self.tasks, self.places, self.answered)

    @property
    def free(self) -> int:
        """How many of the upcoming trials the page may show; of the rest it only fetches clips."""
        if not self.tasks:
            return AHEAD
        return trials_until(self.questionnaires, self.tasks, self.places, self.answered, AHEAD)


def _questionnaire(
    stage: Stage,
    questions: Sequence[Mapping[str, Any]],
    words: Mapping[str, Any],
    answered: Mapping[str, Any],
    plan: Plan,
) -> dict[str, Any] | None:
    """The questionnaire that is asked just now; one between trials also says where it stands."""
    if stage.kind != "questionnaire":
        return None
    form = next(q for q in questions if q["key"] == questionnaire_of(stage.key))
    whole = in_words(form, words["questionnaires"].get(form["key"], {}))
    page = questionnaire_page(next_part_of(whole, answered.get(stage.key)), _, static)
    if not is_between(form):
        return page
    return page | page_facts.occasion_facts(stage.key, plan.answered, plan.answered + plan.left)


def _check(
    sitting: Any,
    checks: list[dict[str, Any]],
    outcomes: dict[str, Any],
    key: str,
    words: Mapping[str, Mapping[str, str]],
) -> dict[str, Any]:
    """The attempt that comes next."""
    check, settings = check_and_settings(checks, key, sitting.language)
    own_words = words.get(key, {})
    settings = replace(
        settings,
        title=own_words.get("title", settings.title),
        text=own_words.get("text", settings.text),
    )
    attempt = attempt_of(outcomes, key)
    seed = check_seed(sitting.code, key, attempt)
    return page_facts.check_facts(
        check, settings, seed, attempt, lambda place: audio.check_url(sitting, key, attempt, place)
    )


def _task(sitting: Any, pk: int, index: int) -> dict[str, Any]:
    """The task with its examples, whose addresses belong to this session."""
    examples = page_facts.example_facts(
        (audio.clip_url(served, sitting, None, place), caption)
        for place, (served, caption) in enumerate(
            task_examples(pk, sitting.language, sitting.wording)
        )
    )
    return {**task_facts(pk, index, sitting.language, sitting.wording), "examples": examples}


@lru_cache(maxsize=512)
def task_examples(pk: int, language: str, _wording: int) -> tuple[tuple[str, str], ...]:
    task = Task.objects.get(pk=pk)
    captions = task.translations.get(language, {}).get("captions", {})
    keys = [entry["stimulus"] for entry in task.examples]
    served = dict(
        Stimulus.objects.filter(study=task.study_id, key__in=keys).values_list("key", "served")
    )
    return tuple(
        (served[e["stimulus"]], captions.get(e["stimulus"], e.get("caption", "")))
        for e in task.examples
    )


@lru_cache(maxsize=512)
def task_facts(pk: int, index: int, language: str, _wording: int) -> dict[str, Any]:
    """Texts and scales of a task; of one planned, they change by a correction of wording alone."""
    task = Task.objects.get(pk=pk)
    rules = task_rules(pk)
    words = task.translations.get(language, {})
    own = words.get("criteria", {})
    return page_facts.task_facts(
        index,
        title=words.get("title") or task.title,
        instructions=words.get("instructions") or task.instructions,
        method=rules.method,
        playback=rules.playback,
        autoplay=rules.autoplay,
        criteria=[
            page_facts.criterion_words(
                c.question, c.help_text, Scale.from_dict(c.scale), own.get(c.key, {})
            )
            for c in task.criteria.order_by("order")
        ],
        justification={**task.justification, **words.get("justification", {})}
        if task.justification
        else {},
    )


def _trials(sitting: Any, plan: Plan, free: int) -> list[dict[str, Any]]:
    """The current trial and the next ones, which the page may only preload.

    Those that are `held` come after a questionnaire.
    """
    seen_by = Listener(sitting.pk, sitting.code, get_language() or "")
    index = {task: place for place, task in enumerate(plan.tasks)}
    facts = {t: task_facts(t, n, sitting.language, sitting.wording) for t, n in index.items()}
    return [
        {
            "id": trial.code,
            "position": plan.answered + place,
            "task": index[trial.task_id],
            **decode(_trial_facts_json(trial, seen_by)),
            **_kind(trial, facts[trial.task_id]),
            "training": _training(trial, plan),
            **({"held": True} if place > free else {}),
        }
        for place, trial in enumerate(plan.upcoming, start=1)
    ]


def _kind(trial: Upcoming, task: Mapping[str, Any]) -> dict[str, str]:
    """What the clip was to hold, where a question of its task names it."""
    own = next(clip for clip in trial.clips if clip.id == trial.stimulus_id)
    return page_facts.kind_facts(own.dimension, own.text, task)


class Listener(Struct, frozen=True, gc=False):
    """Whose clips' addresses are meant, and in which language the page speaks."""

    pk: int
    code: str
    language: str


@lru_cache(maxsize=32_768)  # three trials for each of 10,000 raters
def _trial_facts_json(trial: Upcoming, listener: Listener) -> bytes:
    """What is the same at each answer before the trial."""
    rules = task_rules(trial.task_id)
    clips_of = {clip.id: clip for clip in trial.clips}
    in_step = rules.method.screen == "parallel"

    def address(place: int, part: Part) -> str:
        served = clips_of[part.stimulus].served
        return audio.clip_url(served, listener, trial, place, in_step=in_step)

    parts, own = parts_of(rules.method, trial), clips_of[trial.stimulus_id]
    shown = {
        **page_facts.clip_facts(parts, address, lambda stimulus: _lines(clips_of[stimulus])),
        "text": own.text
        if page_facts.shows_text(rules.show_text, rules.traps, trial.trap)
        else None,
        "caption": own.caption if rules.show_caption else None,
    }
    alternatives = rules.alternatives_of(trial.stimulus_id, rng_of(trial.code))
    if alternatives is not None:
        shown["alternatives"] = page_facts.alternatives_facts(alternatives)
    words = rules.words_of(trial.stimulus_id)
    if words is not None:
        shown["words"] = words
    if question := rules.question_of(trial.stimulus_id):
        shown["question"] = question
    return encode(shown)


def _lines(clip: Clip) -> list[dict[str, Any]]:
    """Later by what is quiet before the sound, on average: how long in this clip is not told."""
    return moved(decode(clip.lines), MEAN_PAD_S - clip.trimmed_s)


def _training(trial: Any, plan: Plan) -> dict[str, int] | None:
    if trial.trap != TRAINING:
        return None
    own = [t.pk for t in plan.training if t.task_id == trial.task_id]
    return {"n": own.index(trial.pk) + 1, "total": len(own)}


def _end(sitting: Any, texts: dict[str, str], *, own: bool) -> dict[str, Any]:
    """How it ended: the completion code of this outcome, and the way back from here."""
    outcome = outcome_of(sitting.status, sitting.review)
    source = source_named(_parsed(sitting.sources), sitting.source)
    secret = unseal(_parsed(sitting.source_secrets).get(sitting.source, ""))
    visit = visit_of(
        source,
        owner=sitting.owner_id,
        study=sitting.study,
        identity=unseal(sitting.external_id or ""),
        submission=unseal(sitting.external_session),
        project=unseal(sitting.external_project),
    )
    code = completion_code_of(
        outcome,
        _parsed(sitting.completion_codes),
        session=sitting.code,
        from_prolific=sitting.from_prolific,
        source=source,
        visit=visit,
        secret=secret,
    )
    return end_facts(
        outcome,
        texts,
        code=code,
        from_prolific=sitting.from_prolific,
        commented=bool(sitting.comment),
        failed_check=sitting.rejected_because.startswith("check "),
        own=own,
        does=_does_there(sitting.pk, outcome) if sitting.from_prolific else "",
        back=source.return_url(outcome, visit, code=code, secret=secret) if source else "",
        platform=source.takes_codes_at if source else "",
    )


def _does_there(session: int, outcome: str) -> str:
    """What the code of this outcome does at Prolific, where the study was recruited from here."""
    if outcome != "screened_out":
        return ""
    live = Recruitment.objects.filter(study__sessions=session, state=Recruitment.State.LIVE)
    ways = live.values_list("ways", flat=True).first() or {}
    return str(ways.get(outcome, ""))
