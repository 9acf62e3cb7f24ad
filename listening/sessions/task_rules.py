"""What a task asks of an answer, the clips of a trial under it, and why an answer is refused.

Rules are read once per process. A refusal has a code for the page and a sentence for the rater.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from random import Random
from typing import Any

from listening import audio
from listening.common.secret_seeds import rng_of
from listening.design.occasions import asks_between
from listening.design.traps import TrapPlan
from listening.methods import Method, Part, PlannedTrial, Playback, Scale, Step, method_named
from listening.methods.error_spans import HeardPart, uploaded_times
from listening.methods.marking import spans_in_words
from listening.methods.method import ALTERNATIVES, QUESTION, gettext_noop
from listening.methods.transcript_scores import SpokenText
from listening.models import Stimulus, Study, Task

InWords = Callable[[str], str]


@dataclass(frozen=True)
class Refusal:
    """The sentence is English, with places like %(n)s for numbers; the door translates it."""

    code: str
    message: str


UNKNOWN_TRIAL = Refusal(
    "unknown_trial", gettext_noop("This clip is not part of your session. Reload the page.")
)
SESSION_OVER = Refusal(
    "session_over", gettext_noop("This session has ended, so the answer was not stored.")
)
NOT_READY = Refusal(
    "not_ready", gettext_noop("There are questions or sound tests to do before the clips.")
)
LEASE_LOST = Refusal(
    "lease_lost",
    gettext_noop(
        "You were away for a while, so this clip went to somebody else. "
        "Please go on with the next one."
    ),
)
WRONG_ORDER = Refusal(
    "wrong_order", gettext_noop("Another clip comes first. Please answer that one.")
)
CRITERION_MISSING = Refusal("criterion_missing", gettext_noop("One question has no answer yet."))
OUTSIDE_SCALE = Refusal(
    "outside_scale", gettext_noop("That answer is not on the scale. Please choose again.")
)
MORE_THAN_ASKED = Refusal(
    "malformed", gettext_noop("The answer holds more than was asked. Reload the page.")
)
REASON_MISSING = Refusal("justification_required", gettext_noop("Please give your reason."))
REASON_TOO_SHORT = Refusal(
    "justification_required",
    gettext_noop("Please give your reason in at least %(n)s characters."),
)
NOT_FETCHED = Refusal(
    "not_fetched", gettext_noop("This clip has not reached you yet. Please listen to it again.")
)
NOT_HEARD = Refusal("not_heard", gettext_noop("Please listen to the whole clip before you answer."))
REFERENCE_LATER = Refusal(  # the page lets the trial be listened to anew, as for what was not heard
    NOT_HEARD.code, gettext_noop("Please listen to the reference first, then to the other clips.")
)


class Refused(Exception):
    """An answer that is not stored, and why; `numbers` belong into the sentence."""

    def __init__(self, refusal: Refusal, **numbers: int) -> None:
        super().__init__(refusal.message % numbers)
        self.code = refusal.code
        self.message = refusal.message
        self.numbers = numbers


@dataclass(frozen=True)
class CriterionRules:
    """A criterion as answers are checked against it."""

    pk: int
    key: str
    scale: Scale


@dataclass(frozen=True)
class ServedClip:
    """The storage name of a clip's served copy, and which part of the upload it holds."""

    served: str
    heard: HeardPart

    def later_s(self, trial: int, place: int) -> float:
        """By how much the clip sounds later at this place of a trial than in the upload."""
        return audio.lead_in_s(self.served, trial, place) - self.heard.start_s


@dataclass(frozen=True)
class TaskRules:
    """What a task asks of an answer; of one whose blocks are planned, only words may change."""

    method: Method
    playback: Playback
    criteria: tuple[CriterionRules, ...]
    justification: Mapping[str, Any]
    traps: TrapPlan
    reopen_invalid: bool
    show_text: bool
    show_caption: bool
    autoplay: bool
    options: Mapping[str, Any]
    lease_s: int
    attributes: Mapping[int, Mapping[str, Any]]  # by stimulus, of those that bring alternatives
    place: int  # of the task in its study, from 1
    asks_between: bool  # whether the study has questionnaires between tasks or blocks
    spoken: Mapping[int, SpokenText] = field(default_factory=dict)  # by stimulus
    clips: Mapping[int, ServedClip] = field(default_factory=dict)  # by stimulus: times are marked

    def score_answer(self, stimulus: int, label: str) -> float | None:
        """The score of a stored answer with the text or the length of its clip.

        None where the task takes neither. ValueError where the answer does not fit the text.
        """
        if clip := self.clips.get(stimulus):
            return self.method.time_score(label, clip.heard)
        spoken = self.spoken.get(stimulus)
        return None if spoken is None else self.method.text_score(label, spoken, self.options)

    def stored_label(self, stimulus: int, label: str, trial: int, place: int) -> str:
        """The answer as it is stored: its times are those of the clip as it was uploaded.

        ValueError where it names a time behind the clip.
        """
        clip = self.clips.get(stimulus)
        if clip is None:
            return label
        return uploaded_times(label, clip.heard, audio.lead_in_s(clip.served, trial, place))

    def expected_words(self, stimulus: int, trial: int, scale: Scale) -> InWords | None:
        """How feedback says an expected answer; None where it is one of the steps."""
        if clip := self.clips.get(stimulus):
            return partial(spans_in_words, scale=scale, later_s=clip.later_s(trial, 0))
        spoken = self.spoken.get(stimulus)
        if spoken is None or self.method.compares_text:
            return None
        return partial(self.method.in_words, scale=scale, spoken=spoken)

    def words_of(self, stimulus: int) -> list[str] | None:
        """The words of this clip that raters mark; None where they mark none."""
        spoken = self.spoken.get(stimulus)
        return None if spoken is None else self.method.words_to_mark(spoken)

    @property
    def judges_blocks(self) -> bool:
        """Whether a block whose traps failed goes to somebody else."""
        return self.reopen_invalid and bool(self.traps.kinds)

    def scale_of(self, criterion: CriterionRules, stimulus: int) -> Scale:
        """The scale on which this clip is rated."""
        return criterion.scale.of_clip(self.attributes.get(stimulus, {}))

    def alternatives_of(self, stimulus: int, rng: Random) -> tuple[Step, ...] | None:
        """The alternatives of this clip in the order of its trial; None where none brings any."""
        if not self.attributes:
            return None
        scale = Scale(widget=ALTERNATIVES).of_clip(self.attributes.get(stimulus, {}))
        return self.method.ordered_alternatives(scale, self.options, rng)

    def question_of(self, stimulus: int) -> str:
        """The question that this clip brings beside its alternatives; empty where it has none."""
        return str(self.attributes.get(stimulus, {}).get(QUESTION, "")).strip()


@lru_cache(maxsize=512)
def task_rules(task: int) -> TaskRules:
    row = Task.objects.select_related("study").get(pk=task)
    criteria = tuple(
        CriterionRules(c.pk, c.key, Scale.from_dict(c.scale))
        for c in row.criteria.order_by("order")
    )
    method = method_named(row.method)
    return TaskRules(
        method,
        method.playback(row.options),
        criteria,
        row.justification,
        TrapPlan.from_dict(row.traps),
        row.reopen_invalid,
        row.show_text,
        row.show_caption,
        row.autoplay,
        row.options,
        row.study.lease_s,
        _attributes(row.study_id, criteria),
        row.order + 1,
        asks_between(row.study.questionnaires),
        spoken_texts(row.study) if method.needs_text(row.options) else {},
        served_clips(row.study_id) if method.marks_time(row.options) else {},
    )


def _attributes(study: int, criteria: Sequence[CriterionRules]) -> dict[int, Mapping[str, Any]]:
    """What clips of the study bring to the answers, where the task's clips bring any."""
    if all(each.scale.widget != ALTERNATIVES for each in criteria):
        return {}
    clips = Stimulus.objects.filter(study=study, attributes__has_key=ALTERNATIVES)
    return dict(clips.values_list("pk", "attributes"))


def served_clips(study: int) -> dict[int, ServedClip]:
    """The served copy of each clip of a study, by its number."""
    clips = Stimulus.objects.filter(study=study, derived=False)
    rows = clips.values_list("pk", "served", "trimmed_s", "duration_s")
    return {pk: ServedClip(served, HeardPart(*heard)) for pk, served, *heard in rows}


def spoken_texts(study: Study) -> dict[int, SpokenText]:
    """What each clip of a study says, by its number; they are fixed once the study has opened."""
    clips = Stimulus.objects.filter(study=study).values_list(
        "pk", "item__text", "item__transcript", "item__language", "attributes"
    )
    return {
        pk: SpokenText(
            transcript or text, language or study.language, str(attributes.get("keywords", ""))
        )
        for pk, text, transcript, language, attributes in clips
    }


def parts_of(method: Method, trial: Any, draws: str = "") -> list[Part]:
    """The clips of a trial as its rater meets them; a preview brings draws of its own."""
    planned = PlannedTrial(
        item=trial.item_id,
        column="",
        rated=(trial.stimulus_id, *trial.others),
        versus=trial.versus_id,
        context=tuple(trial.context),
    )
    rng = Random(draws) if draws else rng_of(trial.code)
    return method.parts(planned, versus_first=trial.versus_first, rng=rng)
