"""What a study was: words, scales, traps, checks, ways in, pay, dates, and who took part, counted.

No rater's code, id or text leaves here. Counts are exact: whoever publishes them hides small ones.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from statistics import median
from typing import Any, NotRequired, TypedDict

from django.db import connection
from django.utils.translation import gettext

from listening.checks import check_named
from listening.common.languages import name_of, speaking
from listening.design.occasions import is_between
from listening.design.questionnaires import default_title
from listening.design.questions import part_key, question_kind
from listening.design.sources import sources_of
from listening.design.studyfile.drawing import drawn_of
from listening.design.traps import TrapPlan
from listening.methods import Scale, method_named
from listening.methods.paired import Paired, rule_in_words
from listening.methods.transcription import spelling_rules
from listening.models import LedgerEntry, Recruitment, Study, Task
from listening.models.material import covariate_values
from listening.recruitment.plan import Plan, whole_minor
from listening.recruitment.terms import terms_of
from listening.selectors.analysis_rules import (
    HypothesisFacts,
    RuleFacts,
    SparedFacts,
    analysis_rules,
    hypotheses,
    spared_raters,
)
from listening.selectors.definitions import CorrectionFacts, corrections_of
from listening.selectors.pay_of_sessions import PayFacts, pay_facts
from listening.selectors.progress import (
    TaskProgress,
    check_counts,
    odds_of_traps,
    questionnaire_counts,
    study_progress,
)
from listening.selectors.ratings import SESSION_FACTS
from listening.selectors.reviews import (
    ClipReviewFacts,
    LeftOutFacts,
    ReasonReviewFacts,
    VocalisationReviewFacts,
    clip_reviews,
    exclusion_facts,
    reason_reviews,
    vocalisation_reviews,
)
from listening.selectors.session_rows import rater_answers
from listening.selectors.stop_rule import StopFacts, stop_facts_of
from listening.selectors.studies import PlannedTrap, trap_plans
from listening.sessions.leases import ANSWERED
from listening.sessions.task_rules import served_clips, spoken_texts
from listening.studies.erasure import rule_of
from listening.studies.length import session_length


class RecruitmentFacts(TypedDict):
    """A study at Prolific; money in minor units."""

    places: int
    minutes: float
    hourly_minor: int
    reward_minor: int
    currency: str
    devices: list[str]
    filters: list[str]
    published_on: str
    rewards: int  # how many were paid
    bonuses: int
    bonuses_minor: float


def recruitment_facts(each: Recruitment) -> RecruitmentFacts:
    plan, terms, kind = Plan.from_dict(each.plan), terms_of(each), LedgerEntry.Kind
    is_as_planned = terms.reward_minor == plan.reward_minor and terms.minutes == plan.minutes
    hourly = plan.hourly_minor if is_as_planned else round(terms.hourly_minor(terms.minutes))
    paid = LedgerEntry.objects.filter(recruitment=each)
    bonuses = list(paid.filter(kind=kind.BONUS).values_list("minor", flat=True))
    return RecruitmentFacts(
        places=each.places or plan.places,
        minutes=terms.minutes,
        hourly_minor=hourly,
        reward_minor=whole_minor(terms.reward_minor),
        currency=each.currency or plan.currency,
        devices=list(terms.devices),
        filters=[str(words) for words in plan.words.values()],
        published_on=each.published_at.date().isoformat() if each.published_at else "",
        rewards=paid.filter(kind=kind.REWARD).count(),
        bonuses=len(bonuses),
        bonuses_minor=float(sum(bonuses)),
    )


class ConditionFacts(TypedDict):
    """A condition with its attributes, such as the types of vocalisation that it supports."""

    condition: str
    label: str
    system: str
    attributes: dict[str, str]


def condition_facts(study: Study) -> list[ConditionFacts]:
    """The conditions that a study names, in its order; without those made of lines."""
    return [
        ConditionFacts(
            condition=row.key,
            label=row.label,
            system=row.system,
            attributes=dict(row.attributes),
        )
        for row in study.conditions.filter(derived=False).order_by("pk")
    ]


class ScaleFacts(TypedDict):
    """A criterion as raters read it, in the study's language."""

    criterion: str  # its key
    question: str
    help: str
    widget: str
    steps: list[tuple[str, str]]  # what is stored, and the words
    span: list[float] | None  # low, high, step
    longest: int


class TrapFacts(TypedDict):
    kind: str
    count: int
    pass_at_least: int
    answered: int
    passed: int


class TaskFacts(TypedDict):
    task: str
    title: str
    method: str
    instructions: str
    criteria: list[ScaleFacts]
    heard: float | None  # share of every clip before an answer; None: its first two seconds
    show_text: bool
    show_caption: bool
    rubric: str  # of a judge, whose words raters read too; "": none
    drawn: str  # in words: the rule, the seed and what was left out; "": all was rated
    parallel: NotRequired[bool]  # several clips on one screen, played together
    pairs_drawn: NotRequired[str]  # the rule by which the two systems of a trial are drawn
    examples: int
    training: int
    repeats: int
    justification: dict[str, Any]
    ratings_per_stimulus: int
    min_raters: int | None  # of each condition
    trials_per_block: int
    planned: int
    filled: int
    traps: list[TrapFacts]
    traps_per: int
    guessed: float | None  # chance that a guesser passes a set of the traps
    not_guessed_because: str
    reopens: bool  # blocks that fail their traps are given to others
    voids: str  # what a failed set makes invalid: "set" or "session"


class CheckFacts(TypedDict):
    key: str
    title: str
    trials: int  # 0: nobody can fail
    pass_at_least: int
    attempts: int
    on_fail: str
    guessed: float
    passed: int
    failed: int
    screened: int


class QuestionFacts(TypedDict):
    """A question around the trials; ``counts`` by answer, of raters with ratings."""

    key: str
    question: str
    kind: str
    counts: dict[str, int]
    numbers: list[float]
    answered: int


class FormFacts(TypedDict):
    title: str
    when: str
    answered: int
    screened: int
    questions: list[QuestionFacts]


class SourceFacts(TypedDict):
    name: str
    kind: str
    quota: int
    invited_only: bool


class PeopleFacts(TypedDict):
    """Raters with an answered clip; the last session of each, but for times."""

    raters: int
    scripted: int
    devices: dict[str, int]
    headphones: dict[str, int]
    languages: dict[str, int]
    sources: dict[str, int]
    timed: int  # finished sessions of people, of which the medians are
    minutes: float | None
    clips: float | None


class TranscriptionFacts(TypedDict):
    """How a task in which raters type what they hear is scored, and what its clips say."""

    task: str
    plays: int  # allowed of each clip
    options: dict[str, Any]  # of the task: unit, dialect, typos and homophones are read
    typos: bool  # one wrong letter in words of 5 or more is right
    homophones: list[str]
    spoken: dict[str, tuple[str, str, str]]  # by stimulus: text, language, keywords


class MarkingFacts(TypedDict):
    """What raters of a task mark: the words of its clips, and the kinds of errors."""

    task: str
    kinds: dict[str, dict[str, str]]  # by criterion: the kinds and their words
    words: dict[str, list[str]]  # by stimulus: the words as they were shown
    heard: dict[str, tuple[float, float]]  # by stimulus: start and length in s; of waveforms only


class StudyFacts(TypedDict):
    """All that a report card of the method says of a study; dates are days in UTC."""

    study: str
    version: int
    definition_sha256: str  # as opened; "": not frozen
    corrections: list[CorrectionFacts]
    title: str
    state: str
    language: str
    translations: list[str]
    texts: dict[str, str]
    created_on: str
    opened_on: str
    closed_on: str
    first_answer_on: str
    last_answer_on: str
    erasing: str  # the rule by which what names raters is erased
    erased_on: str
    sample_rate_hz: int | None
    low_cut_hz: int  # below it, served clips hold nothing
    loudness_lufs: float | None
    sessions: dict[str, int]
    conditions: list[ConditionFacts]
    tasks: list[TaskFacts]
    trap_plans: dict[str, list[PlannedTrap]]
    checks: list[CheckFacts]
    forms: list[FormFacts]
    sources: list[SourceFacts]
    recruitments: list[RecruitmentFacts]
    people: PeopleFacts
    pay: PayFacts
    clip_reviews: list[ClipReviewFacts]
    left_out: list[LeftOutFacts]
    reason_reviews: NotRequired[list[ReasonReviewFacts]]  # in use
    rules: NotRequired[list[RuleFacts]]  # of analysis, ended ones among them
    spared: NotRequired[list[SparedFacts]]
    hypotheses: NotRequired[list[HypothesisFacts]]  # ended ones among them
    covariates: NotRequired[dict[str, dict[str, str]]]  # by name, and clip or rater, as declared
    speakers: NotRequired[dict[str, str]]  # of items, where the study says who speaks
    transcriptions: NotRequired[list[TranscriptionFacts]]
    vocalisation_reviews: NotRequired[list[VocalisationReviewFacts]]  # in use
    markings: NotRequired[list[MarkingFacts]]
    stop: NotRequired[StopFacts | None]  # its stop rule


PEOPLE = f"""
SELECT s.rater_id, s.device, coalesce(nullif(s.language, ''), st.language), s.source, r.simulated,
    w.headphones, s.questionnaires::text, count(*),
    CASE WHEN s.status = 'finished' AND NOT r.simulated
        THEN extract(epoch FROM s.finished_at - s.started_at)::float8 / 60 END,
    min(t.answered_at), max(t.answered_at)
FROM listening_session s JOIN sessions w ON w.id = s.id
JOIN listening_rater r ON r.id = s.rater_id JOIN listening_study st ON st.id = s.study_id
JOIN listening_trial t ON t.session_id = s.id AND t.{ANSWERED} AND t.trap = ''
GROUP BY s.id, r.id, st.id, w.headphones ORDER BY s.id
"""
TEXTS = ("welcome", "consent", "consent_version", "payment")
HEADPHONES = {True: "headphones", False: "loudspeakers, or a headphone check failed"}


def method_facts(study: str) -> StudyFacts:
    """The study as it stands now; words in its own language."""
    row = Study.objects.get(key=study)
    with connection.cursor() as cursor:
        cursor.execute(SESSION_FACTS + PEOPLE, [study])
        sessions = cursor.fetchall()
    progress = study_progress(study)
    last = {each[0]: each for each in sessions}
    frozen = row.definitions.defer("toml", "clips").order_by("revision").first()
    answers = [json.loads(each[6]) for each in last.values()]
    with speaking(row.language):
        return StudyFacts(
            study=row.key,
            version=row.version,
            definition_sha256=frozen.sha256 if frozen else "",
            corrections=corrections_of(row),
            title=row.title,
            state=row.state,
            language=name_of(row.language),
            translations=[name_of(tag) for tag in row.translations],
            texts=_texts(row),
            created_on=_day(row.created_at),
            opened_on=_day(row.opened_at),
            closed_on=_day(row.closed_at),
            first_answer_on=_day(min((each[9] for each in sessions), default=None)),
            last_answer_on=_day(max((each[10] for each in sessions), default=None)),
            erasing=str(rule_of(row)),
            erased_on=_day(row.erased_at),
            sample_rate_hz=row.sample_rate_hz,
            low_cut_hz=row.low_cut_hz,
            loudness_lufs=row.loudness_lufs,
            sessions=progress["sessions"],
            tasks=[
                _task(task, done)
                for task, done in zip(row.tasks.order_by("order"), progress["tasks"], strict=True)
            ],
            conditions=condition_facts(row),
            trap_plans=trap_plans(study),
            checks=_checks(row),
            forms=_forms(row, answers),
            sources=[
                SourceFacts(
                    name=source.name,
                    kind=source.provider.title,
                    quota=source.quota,
                    invited_only=source.invited_only,
                )
                for source in sources_of(row.sources)
            ],
            recruitments=[recruitment_facts(each) for each in row.recruitments.order_by("pk")],
            people=_people(row, sessions, list(last.values())),
            pay=pay_facts(row),
            clip_reviews=clip_reviews(row),
            left_out=exclusion_facts(row),
            reason_reviews=reason_reviews(row),
            rules=analysis_rules(study),
            spared=spared_raters(study),
            hypotheses=hypotheses(study),
            covariates={**covariate_values(study), **rater_answers(study)},
            speakers=dict(row.items.exclude(speaker="").values_list("key", "speaker")),
            transcriptions=transcription_facts(row),
            vocalisation_reviews=vocalisation_reviews(row),
            markings=marking_facts(row),
            stop=stop_facts_of(row),
        )


def transcription_facts(study: Study) -> list[TranscriptionFacts]:
    """The tasks of a study in which raters type what they hear."""
    tasks = [
        task for task in study.tasks.order_by("order") if method_named(task.method).compares_text
    ]
    if not tasks:
        return []
    keys = dict(study.stimuli.values_list("pk", "key"))
    spoken = {
        keys[pk]: (each.text, each.language, each.keywords)
        for pk, each in spoken_texts(study).items()
    }
    facts = []
    for task in tasks:
        rules = spelling_rules(task.options)
        facts.append(
            TranscriptionFacts(
                task=task.key,
                plays=method_named(task.method).playback(task.options).plays or 0,
                options=dict(task.options),
                typos=rules.typos,
                homophones=list(rules.homophones),
                spoken=spoken,
            )
        )
    return facts


def marking_facts(study: Study) -> list[MarkingFacts]:
    """The tasks of a study in which raters mark errors."""
    facts = []
    for task in study.tasks.order_by("order"):
        method = method_named(task.method)
        if not method.marks_errors:
            continue
        keys = dict(study.stimuli.values_list("pk", "key"))
        words = {keys[pk]: method.words_to_mark(each) for pk, each in spoken_texts(study).items()}
        timed = served_clips(study.pk) if method.marks_time(task.options) else {}
        heard = {keys[pk]: (c.heard.start_s, c.heard.duration_s) for pk, c in timed.items()}
        kinds = {
            each.key: {
                step.label: step.text or step.label
                for step in Scale.from_dict(each.scale).steps
                if not step.apart
            }
            for each in task.criteria.order_by("order")
        }
        known = {key: own for key, own in words.items() if own}
        facts.append(MarkingFacts(task=task.key, kinds=kinds, words=known, heard=heard))
    return facts


def _texts(row: Study) -> dict[str, str]:
    length = session_length(row)
    return {name: length.fill(row.texts[name]) for name in TEXTS if row.texts.get(name)}


def _day(at: datetime | None) -> str:
    return at.strftime("%Y-%m-%d") if at else ""


def _task(task: Task, done: TaskProgress) -> TaskFacts:
    plan = TrapPlan.from_dict(task.traps)
    odds, trouble = odds_of_traps(task, plan) if plan.kinds else (None, "")
    met = {trap["kind"]: trap for trap in done["traps"]}
    method = method_named(task.method)
    return TaskFacts(
        task=task.key,
        title=task.title or task.key,
        method=method.title,
        instructions=task.instructions,
        criteria=[
            ScaleFacts(
                criterion=each.key,
                question=_translate(each.question),
                help=each.help_text,
                widget=each.scale["widget"],
                steps=[(step["label"], _translate(step["text"])) for step in each.scale["steps"]],
                span=each.scale.get("span"),
                longest=each.scale.get("longest", 0),
            )
            for each in task.criteria.order_by("order")
        ],
        heard=method.playback(task.options).share,
        show_text=task.show_text,
        show_caption=task.show_caption,
        rubric=str(task.options.get("rubric", "")),
        drawn=drawn_of(task),
        parallel=method.screen == "parallel",
        pairs_drawn=rule_in_words(task.options) if isinstance(method, Paired) else "",
        examples=len(task.examples),
        training=len(task.training),
        repeats=task.repeats,
        justification=task.justification,
        ratings_per_stimulus=task.ratings_per_stimulus,
        min_raters=task.min_raters,
        trials_per_block=task.block_size,
        planned=done["planned"],
        filled=done["rated"],
        traps=[
            TrapFacts(
                kind=kind.kind,
                count=kind.count,
                pass_at_least=kind.pass_at_least,
                answered=met[kind.kind]["answered"] if kind.kind in met else 0,
                passed=met[kind.kind]["passed"] if kind.kind in met else 0,
            )
            for kind in plan.kinds
        ],
        traps_per=plan.per,
        guessed=odds.guessing if odds else None,
        not_guessed_because=trouble,
        reopens=task.reopen_invalid,
        voids=plan.voids,
    )


def _translate(words: str) -> str:
    return gettext(words) if words else ""


def _checks(row: Study) -> list[CheckFacts]:
    counts, facts = check_counts(row.pk) if row.checks else {}, []
    for entry in row.checks:
        check, count = check_named(entry["key"]), counts.get(entry["key"])
        settings = check.settings(entry, language=row.language)
        facts.append(
            CheckFacts(
                key=check.key,
                title=f"{_translate(settings.title)} ({check.key})",
                trials=settings.trials,
                pass_at_least=settings.pass_at_least,
                attempts=settings.attempts,
                on_fail=settings.on_fail,
                guessed=check.odds(settings) if settings.trials else 1.0,
                passed=count.passed if count else 0,
                failed=count.failed if count else 0,
                screened=count.screened if count else 0,
            )
        )
    return facts


def _forms(row: Study, answers: list[dict[str, Any]]) -> list[FormFacts]:
    counts = questionnaire_counts(row.pk) if row.questionnaires else {}
    facts = []
    for form in row.questionnaires:
        count, between = counts.get(form["key"]), is_between(form)
        answers_of_form = [each.get(form["key"], {}).get("answers", {}) for each in answers]
        facts.append(
            FormFacts(
                title=form["title"] or _translate(default_title(form.get("use", ()))),
                when="between trials" if between else f"{form['when']} the trials",
                answered=count.answered if count else 0,
                screened=count.screened if count else 0,
                questions=[]
                if between
                else [
                    facts
                    for question in form["questions"]
                    for facts in _questions(question, answers_of_form)
                ],
            )
        )
    return facts


def _questions(
    question: Mapping[str, Any], answers: Iterable[Mapping[str, Any]]
) -> Iterator[QuestionFacts]:
    """What was answered to each part of a question."""
    given = [a for each in answers if (a := each.get(question["key"])) is not None]
    words = {option["value"]: _translate(option["text"]) for option in question["options"]}
    kind = question_kind(question)
    others = "text" if kind.free_text else "many" if kind.several else kind.key
    for part, asked in kind.parts(question).items():
        values = [v for answer in given if (v := kind.part_of(answer, part)) is not None]
        chosen = [v for a in values for v in (a if isinstance(a, list) else [a])]
        counts = Counter(words[str(value)] for value in chosen if str(value) in words)
        yield QuestionFacts(
            key=part_key(question, part),
            question=_translate(asked),
            kind="number" if kind.measured else others,
            counts={text: counts[text] for text in words.values() if counts[text]},
            numbers=[float(a) for a in values if kind.measured and not isinstance(a, str)],
            answered=len(values),
        )


def _people(
    row: Study, sessions: list[tuple[Any, ...]], last: list[tuple[Any, ...]]
) -> PeopleFacts:
    names = {source.key: source.name for source in sources_of(row.sources)}
    timed = [(each[8], each[7]) for each in sessions if each[8] is not None]
    return PeopleFacts(
        raters=len(last),
        scripted=sum(each[4] for each in last),
        devices=Counter(each[1] or "not known" for each in last),
        headphones=Counter(HEADPHONES.get(each[5], "not asked") for each in last),
        languages=Counter(name_of(each[2]) for each in last),
        sources=Counter(names.get(each[3], "the study's link or Prolific") for each in last),
        timed=len(timed),
        minutes=median(minutes for minutes, _ in timed) if timed else None,
        clips=median(clips for _, clips in timed) if timed else None,
    )
