"""Every trial of one session in order: its clips, answers, playback facts and others' answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from listening.common.statements import rows_of
from listening.design.traps import TRAINING
from listening.methods.method import JOINT, Part, Scale
from listening.models import Criterion, Justification, Rating, Session, Stimulus, Task, Trial
from listening.sessions.task_rules import parts_of, task_rules

# What other sessions, not rejected, said of the same stimulus (versus the same, after the same).
OTHERS = """
SELECT q.id, count(o.id) AS n, avg(o.score) AS mean, stddev_samp(o.score) AS sd
FROM listening_trial t JOIN listening_rating q ON q.trial_id = t.id
JOIN listening_rating o ON o.stimulus_id = q.stimulus_id AND o.criterion_id = q.criterion_id
    AND o.score IS NOT NULL
JOIN listening_trial ot ON ot.id = o.trial_id AND ot.session_id <> t.session_id AND ot.trap = ''
    AND ot.versus_id IS NOT DISTINCT FROM t.versus_id AND ot.context = t.context
JOIN listening_session os ON os.id = ot.session_id AND os.status <> 'rejected'
WHERE t.session_id = %(session)s AND t.trap = '' AND q.score IS NOT NULL GROUP BY q.id
"""
FAR_SDS = 2.0  # of the others' own spread: from there on an answer is called far from theirs
FAR_SHARE = 1 / 3  # of the scale, too: where all others agree, a single step is not far
FAR_FROM = 5  # others: fewer have no spread that says much
EVENTS = {  # of the playback -> what it is called where it happened
    "stalls": "playing stopped to load {n} times",
    "pointer_jumps": "{n} clicks where the mouse had not moved",
    "scripted_events": "{n} clicks or keys that no device made",
}
HIDDEN_SHOWN_MS = 1000


@dataclass(frozen=True)
class HeardClip:
    """A clip of a trial under the name that its rater met."""

    name: str
    role: str  # rated, versus, reference or context
    stimulus: str
    condition: str
    item: str
    text: str


@dataclass(frozen=True)
class ShownAnswer:
    """One answer, in the words of its scale, beside those of others."""

    question: str
    clip: str  # which of several clips; "" of the only one
    label: str
    score: float | None
    span: float = 0.0  # of the scale's scores
    others: int = 0
    mean: float | None = None
    sd: float | None = None

    @property
    def distance(self) -> float | None:
        if self.score is None or self.mean is None:
            return None
        return self.score - self.mean

    @property
    def is_far(self) -> bool:
        if self.distance is None or self.sd is None or self.others < FAR_FROM:
            return False
        return abs(self.distance) > max(FAR_SDS * self.sd, FAR_SHARE * self.span)


@dataclass(frozen=True)
class ShownTrial:
    """One trial as a researcher looks at it."""

    position: int
    task_key: str
    task: str
    state: str
    trap: str  # its kind; "" of rated ones
    expected: tuple[str, ...]
    passed: bool | None
    clips: tuple[HeardClip, ...]
    answers: tuple[ShownAnswer, ...]
    reason: str
    typed: str  # how the reason came about, where that is known
    seconds: float | None
    needed_s: float | None  # that hearing the clips takes
    plays: int | None
    heard_fraction: float | None
    noticed: tuple[str, ...]  # what happened while it played

    @property
    def is_training(self) -> bool:
        return self.trap == TRAINING

    @property
    def is_trap(self) -> bool:
        return self.trap not in ("", TRAINING)

    @property
    def is_far(self) -> bool:
        return any(answer.is_far for answer in self.answers)

    @property
    def too_quick(self) -> bool:
        return self.seconds is not None and self.seconds < (self.needed_s or 0)

    @property
    def heard_percent(self) -> int:
        return round(100 * (self.heard_fraction or 0))


@dataclass(frozen=True)
class _SessionRecords:
    """What belongs to the trials of a session, read at once."""

    tasks: Mapping[int, Task]
    criteria: Mapping[int, Criterion]
    stimuli: Mapping[int, Stimulus]
    ratings: Mapping[int, list[Rating]]
    reasons: Mapping[int, Justification]
    others: Mapping[int, Any]


def session_trials(session: Session) -> list[ShownTrial]:
    """All trials but those that others took over; seven queries, however many there are."""
    trials = list(
        Trial.objects.filter(session=session).exclude(state=Trial.State.GONE).order_by("position")
    )
    records = _load_records(session, trials)
    return [_show_trial(trial, records) for trial in trials]


def _load_records(session: Session, trials: list[Trial]) -> _SessionRecords:
    wanted: set[int] = set()
    for trial in trials:
        wanted.update((trial.stimulus_id, *trial.others, *trial.context))
        wanted.update(() if trial.versus_id is None else (trial.versus_id,))
    stimuli = Stimulus.objects.filter(pk__in=wanted).select_related("condition", "item")
    criteria = Criterion.objects.filter(task__study=session.study_id).order_by("order")
    ratings: dict[int, list[Rating]] = defaultdict(list)
    for rating in Rating.objects.filter(trial__session=session).order_by("pk"):
        ratings[rating.trial_id].append(rating)
    reasons = Justification.objects.filter(trial__session=session)
    return _SessionRecords(
        tasks={task.pk: task for task in Task.objects.filter(study=session.study_id)},
        criteria={criterion.pk: criterion for criterion in criteria},
        stimuli={stimulus.pk: stimulus for stimulus in stimuli},
        ratings=ratings,
        reasons={reason.trial_id: reason for reason in reasons},
        others={row.id: row for row in rows_of(OTHERS, session=session.pk)},
    )


def _show_trial(trial: Trial, records: _SessionRecords) -> ShownTrial:
    task = records.tasks[trial.task_id]
    parts = parts_of(task_rules(trial.task_id).method, trial)
    clips = tuple(_clip(part, records.stimuli) for part in parts)
    rated = [part for part in parts if part.role == "rated"]
    names = {part.stimulus: part.name for part in rated} if len(rated) > 1 else {}
    reason = records.reasons.get(trial.pk)
    return ShownTrial(
        position=trial.position,
        task_key=task.key,
        task=task.title or task.key,
        state=trial.state,
        trap=trial.trap,
        expected=tuple(trial.expected),
        passed=trial.trap_passed,
        clips=clips,
        answers=tuple(
            _show_answer(each, records, names) for each in records.ratings.get(trial.pk, ())
        ),
        reason=reason.text if reason else "",
        typed=_typed(reason),
        seconds=None if trial.latency_ms is None else trial.latency_ms / 1000,
        needed_s=trial.needed_s,
        plays=trial.plays,
        heard_fraction=trial.heard_fraction,
        noticed=tuple(_playback_events(trial.playback)),
    )


def _clip(part: Part, stimuli: Mapping[int, Stimulus]) -> HeardClip:
    stimulus = stimuli[part.stimulus]
    return HeardClip(
        name=part.name,
        role=part.role,
        stimulus=stimulus.key,
        condition=stimulus.condition.label or stimulus.condition.key,
        item=stimulus.item.key,
        text=stimulus.item.text,
    )


def _show_answer(rating: Rating, records: _SessionRecords, names: Mapping[int, str]) -> ShownAnswer:
    criterion = records.criteria[rating.criterion_id]
    others = records.others.get(rating.pk)
    scale = Scale.from_dict(criterion.scale)
    return ShownAnswer(
        question=criterion.question,
        clip=names.get(rating.stimulus_id, ""),
        label=in_words(scale, rating.label),
        score=rating.score,
        span=_span(scale),
        others=others.n if others else 0,
        mean=others.mean if others else None,
        sd=others.sd if others else None,
    )


def _span(scale: Scale) -> float:
    """From the lowest score of a scale to the highest; 0 of one without scores."""
    if scale.span is not None:
        return scale.span[1] - scale.span[0]
    scores = [step.score for step in scale.steps if step.score is not None]
    return max(scores) - min(scores) if scores else 0.0


def in_words(scale: Scale, label: str) -> str:
    """A stored label as raters read it: “4 Good”; several, one after the other."""
    words = {step.label: step.text for step in scale.steps}
    parts = label.split(JOINT) if scale.widget == "many" else [label]
    words_of_parts = (
        part if words.get(part, part) in ("", part) else f"{part} {words[part]}" for part in parts
    )
    return ", ".join(words_of_parts)


def _typed(reason: Justification | None) -> str:
    """How the words came: pasted, or at which pace they were typed."""
    if reason is None or not reason.text:
        return ""
    if reason.pasted_chars:
        return f"{reason.pasted_chars} characters pasted"
    if reason.typing_ms:
        return f"typed at {1000 * len(reason.text) / reason.typing_ms:.1f} characters a second"
    return ""


def _playback_events(playback: Mapping[str, Any]) -> list[str]:
    events = [
        words.format(n=playback[name])
        for name, words in EVENTS.items()
        if isinstance(playback.get(name), int) and playback[name] > 0
    ]
    hidden = playback.get("hidden_ms")
    if isinstance(hidden, int | float) and hidden >= HIDDEN_SHOWN_MS:
        events.append(f"the page was out of sight for {hidden / 1000:.0f} s")
    rate = playback.get("rate")
    if isinstance(rate, int | float) and rate != 1:
        events.append(f"something forced {rate:g} times the speed on a clip")
    if playback.get("translated") is True:
        events.append("the browser had translated the page")
    if playback.get("driven") is True:
        events.append("in a browser that a program drives")
    if because := playback.get("skipped_because"):
        events.append(f"could not be played: {str(because)[:200]}")
    return events
