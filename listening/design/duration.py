"""How long a session takes: one estimate, of all that its rater meets, for every page and file.

Each part is a plain product of counts and seconds, so that a researcher can see where time goes.
The seconds are what practised raters take with time to spare; what raters really took replaces the
estimate once enough have finished (`listening.studies.length`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import fmean
from typing import Any

from listening.checks import check_named
from listening.design.occasions import is_between, occasions_of
from listening.design.preview_trials import ShownTrial, rated_trials_of
from listening.design.questions import QuestionKind
from listening.design.studyfile import StudyFile, TaskEntry
from listening.design.studyfile.questionnaire_tables import plans_of
from listening.design.traps import TrapPlan
from listening.methods import method_named

QUESTION_S = {key: kind.seconds for key, kind in QuestionKind.registry.items()}
WORDS_PER_MINUTE = 200.0  # read with care; Brysbaert (2019) finds 238 for silent reading
CHARACTERS_PER_MINUTE = 300.0  # of Chinese, Japanese and Korean text
CHECK_READ_S = 10.0  # a check's page, before its first sound
CHECK_TRIAL_S = 8.0  # its sound and its answer
VOLUME_S = 20.0
LISTENED_AGAIN = 1.1  # a clip is heard so often where each is heard out once
COMPARED = 2.0  # and where the clips of a screen are compared with one another
ANSWER_S = 4.0  # the first answer of a screen, and the way to the next one
FURTHER_S = 3.0  # each answer more
TEXT_S = 15.0  # a sentence of some 10 words, typed or with its errors marked
REASON_S = 15.0  # a reason in a few words
TYPED_PER_S = 3.0  # characters
BREAK_S = 30.0
UNFILLED = "{minutes}"  # in a study's texts: stands for the figure
ONE_MINUTE = {"minutes": "minute", "Minuten": "Minute", "minutos": "minuto", "minuti": "minuto"}
ONE_MINUTE |= {"minuten": "minuut"}  # the languages of our texts; others write one word for all
WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
SAID = re.compile(  # "about 15 minutes", "15-20 min", "约20分钟"
    r"(\d{1,3})(?:\s*(?:-|–|to|bis)\s*(\d{1,3}))?\s*(?:minutes?\b|mins?\b|minuten\b|分钟|分鐘|分)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class SessionLength:
    """Screens of a session, and its seconds by what they are spent on."""

    trials: int
    seconds: Mapping[str, float] = field(default_factory=dict)
    measured_minutes: float | None = None  # the median of those who finished
    measured_sessions: int = 0
    trial_s: tuple[float, ...] = ()  # of one screen of each task
    forms: int = 0  # screens of checks and questionnaires
    varies: bool = False  # a rater gets one task of several, and this is the longest

    @property
    def screens(self) -> int:
        """All screens that ask something: trials, sounds of checks, questionnaires."""
        return self.trials + self.forms

    @property
    def estimated_minutes(self) -> float:
        return sum(self.seconds.values()) / 60

    @property
    def parts(self) -> list[tuple[str, float]]:
        """Where the estimated minutes go; nothing below a twentieth of one."""
        minutes = {name: seconds / 60 for name, seconds in self.seconds.items()}
        return [(name, each) for name, each in minutes.items() if each >= 0.05]

    @property
    def minutes(self) -> int:
        """The figure that everybody is told; at least 1."""
        exact = self.measured_minutes or self.estimated_minutes
        return max(1, round(exact))

    def fill(self, text: str) -> str:
        """A study's text with the figure in the place that it keeps for it."""
        if self.minutes == 1:
            for many, one in ONE_MINUTE.items():
                text = re.sub(rf"{UNFILLED} {many}\b", f"1 {one}", text)
        return text.replace(UNFILLED, str(self.minutes))


def estimate(study: StudyFile, clip_s: Mapping[str, float]) -> SessionLength:
    """The length of a session of `study`, which holds what its settings make.

    `clip_s` has the seconds of each stimulus by its key; those it lacks count as the mean of the
    others. Where a rater gets one task of several, it is the longest.
    """
    shown = rated_trials_of(study, Random(study.key))
    mean_s = fmean(clip_s.values()) if clip_s else 0.0
    parts: dict[str, float] = {
        "reading": reading_s(study.texts.get("welcome", ""), study.texts.get("consent", "")),
        "checks": sum(check_s(check) for check in study.checks),
    }
    tasks, each_s = [], []
    for place, task in enumerate(study.tasks):
        trials = screens(task)
        one_s = trial_s(
            task, [t for t in shown if t.task == place], _mean_of(study, task, clip_s, mean_s)
        )
        tasks.append((trials, trials * one_s, reading_s(task.instructions), place + 1))
        each_s.append(one_s)
    if study.task_plan != "all" and tasks:
        tasks = [max(tasks, key=lambda each: each[1] + each[2])]
    taken = [each[3] for each in tasks]
    parts["questions"] = sum(form_s(form, study.tasks, taken) for form in study.questionnaires)
    trials = sum(each[0] for each in tasks)
    parts["reading"] += sum(each[2] for each in tasks)
    parts["clips"] = sum(each[1] for each in tasks)
    parts["breaks"] = BREAK_S * (
        max(trials - 1, 0) // study.break_every if study.break_every else 0
    )
    varies = study.task_plan != "all" and len({screens(task) for task in study.tasks}) > 1
    forms = sum(check_screens(check) for check in study.checks) + sum(
        count_occasions(form, study.tasks, taken) for form in study.questionnaires
    )
    return SessionLength(trials, parts, trial_s=tuple(each_s), forms=forms, varies=varies)


def form_s(
    questionnaire: Mapping[str, Any], tasks: Sequence[TaskEntry], taken: Sequence[int]
) -> float:
    """Seconds of a questionnaire, as often as a rater of the tasks at these places is asked it."""
    asked_s = sum(
        QUESTION_S.get(question["kind"], QuestionKind.seconds)
        for question in questionnaire["questions"]
        if not question.get("show_if")
    )
    return asked_s * count_occasions(questionnaire, tasks, taken)


def count_occasions(
    questionnaire: Mapping[str, Any], tasks: Sequence[TaskEntry], taken: Sequence[int]
) -> int:
    """How often a rater of the tasks at these places is asked a questionnaire."""
    if not is_between(questionnaire):
        return 1
    return sum(each.task in taken for each in occasions_of(questionnaire, plans_of(tasks)))


def screens(task: Any) -> int:
    """Trials of a task in one session: rated, traps, repeats and practice."""
    traps = TrapPlan.from_dict(task.traps)
    beside = traps.sets_for(task.block_size) * traps.traps_per_set
    rated = task.blocks_per_session * (task.block_size + beside)
    return int(rated + task.repeats + len(task.training))


def trial_s(task: TaskEntry, shown: Sequence[ShownTrial], clip_s: float) -> float:
    """Seconds of one rated screen: its clips, its answers, its reason."""
    clips = fmean(_clips(trial) for trial in shown) if shown else 1.0
    answers = fmean(1 + len(trial.others) for trial in shown) if shown else 1.0
    method = method_named(task.method)
    heard_s = clips * clip_s * (COMPARED if method.screen == "parallel" else LISTENED_AGAIN)
    criteria = max(len(task.criteria), 1)
    if method.needs_text(task.options) or method.marks_time(task.options):
        heard_s += TEXT_S
    return heard_s + ANSWER_S + FURTHER_S * (answers * criteria - 1) + reason_s(task.justification)


def _clips(trial: ShownTrial) -> int:
    return 1 + len(trial.others) + len(trial.context) + (trial.versus_id is not None)


def _mean_of(
    study: StudyFile, task: TaskEntry, clip_s: Mapping[str, float], mean_s: float
) -> float:
    """Of the clips that the task rates."""
    own = [
        clip_s[entry.key]
        for entry in study.stimuli
        if entry.key in clip_s
        and not entry.trap
        and (not task.conditions or entry.condition in task.conditions)
    ]
    return fmean(own) if own else mean_s


def reason_s(justification: Mapping[str, Any]) -> float:
    if not justification.get("required"):
        return 0.0
    return max(REASON_S, float(justification.get("min_chars") or 0) / TYPED_PER_S)


def check_s(check: Mapping[str, Any]) -> float:
    """One attempt at a check."""
    known = check_named(check["key"])
    if known.kind == "volume":
        return VOLUME_S
    return CHECK_READ_S + CHECK_TRIAL_S * float(check.get("trials", known.trials))


def check_screens(check: Mapping[str, Any]) -> int:
    """One attempt at a check: a screen for each sound."""
    known = check_named(check["key"])
    return 1 if known.kind == "volume" else int(check.get("trials", known.trials))


def reading_s(*texts: str) -> float:
    wide = sum(len(WIDE.findall(text)) for text in texts)
    words = sum(len(WIDE.sub(" ", text).split()) for text in texts)
    return 60 * (words / WORDS_PER_MINUTE + wide / CHARACTERS_PER_MINUTE)


def stated_minutes(text: str) -> list[tuple[int, int]]:
    """Every length that a text names, as lowest and highest minutes."""
    return [(int(low), int(high or low)) for low, high in SAID.findall(text)]


def contradicts(stated: tuple[int, int], minutes: int) -> bool:
    """Whether a rater would feel misled: a quarter and more than two minutes away."""
    low, high = stated
    return not low - max(2, 0.25 * minutes) <= minutes <= high + max(2, 0.25 * minutes)
