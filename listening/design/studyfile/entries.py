"""A study as plain objects: what a study folder says, without Django and without audio."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Any

OUTCOMES = (  # each has its code
    "complete",
    "screened_out",
    "partial",
    "needs_review",
    "no_consent",
)
MOST_HYPOTHESES, LONGEST_HYPOTHESIS = 30, 1000
LOW_CUTS_HZ = (50, 20)  # for speech; for music and other sounds with bass
USUAL_LOW_CUT_HZ = LOW_CUTS_HZ[0]


@dataclass(frozen=True)
class ConditionEntry:
    key: str
    label: str = ""
    system: str = ""
    voice: str = ""
    role: str = "test"
    attributes: dict[str, str] = field(default_factory=dict)
    derived: bool = False  # made by the study's settings; not written back


@dataclass(frozen=True)
class ItemEntry:
    key: str
    text: str = ""
    dimension: str = ""
    paragraph: str = ""
    position: int | None = None
    speaker: str = ""
    language: str = ""
    split: str = ""
    transcript: str = ""  # what is spoken; empty: the text
    derived: bool = False


@dataclass(frozen=True)
class StimulusEntry:
    key: str
    condition: str
    item: str
    file: str  # relative to the folder, with forward slashes
    trap: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    run: int = 1  # of the synthesis; raters get the first


@dataclass(frozen=True)
class CriterionEntry:
    key: str
    question: str
    help_text: str = ""
    options: dict[str, Any] = field(default_factory=dict)  # of its own scale, over the task's


@dataclass(frozen=True)
class TaskEntry:
    key: str
    method: str
    block_size: int
    ratings_per_stimulus: int
    min_raters: int | None = None  # of each condition; None: none
    title: str = ""
    instructions: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()  # empty: all that have rated stimuli
    dimensions: tuple[str, ...] = ()  # empty: all
    draw: dict[str, Any] = field(default_factory=dict)  # see studyfile.drawing
    blocks_per_session: int = 1
    blocks_per_rater: int = 1
    repeat_items: bool = False
    allow_missing: bool = False
    show_text: bool = False
    show_caption: bool = False
    autoplay: bool = False
    reopen_invalid: bool = False
    repeats: int = 0
    examples: tuple[dict[str, Any], ...] = ()  # {"stimulus", "caption"}
    training: tuple[dict[str, Any], ...] = ()  # {"stimulus", "expected", "right", "wrong"}
    justification: dict[str, Any] = field(default_factory=dict)  # empty: not asked
    traps: dict[str, Any] = field(default_factory=dict)  # empty: none
    criteria: tuple[CriterionEntry, ...] = ()
    translations: dict[str, dict[str, Any]] = field(default_factory=dict)  # language -> words

    @property
    def material(self) -> dict[str, Any]:
        """What is rated: conditions, dimensions, what was drawn; a part not named has no limit."""
        parts = {
            "conditions": list(self.conditions),
            "dimensions": list(self.dimensions),
            "draw": self.draw,
        }
        return {name: keys for name, keys in parts.items() if keys}


@dataclass(frozen=True)
class StudyFile:
    key: str
    title: str
    language: str = "en"
    seed: int = 0
    task_plan: str = "all"
    sessions_per_rater: int = 1
    lease_minutes: float = 30
    break_every: int = 0
    loudness_lufs: float | None = None
    sample_rate_hz: int | None = None
    low_cut_hz: int = USUAL_LOW_CUT_HZ
    erase_after_days: int | None = None
    erase_on: date | None = None
    erase_reasons: bool = False
    ends: str = "alike"  # of the clips that raters hear: "alike", or "as_is"
    texts: dict[str, str] = field(default_factory=dict)
    translations: dict[str, dict[str, Any]] = field(default_factory=dict)  # language -> words
    completion_codes: dict[str, str] = field(default_factory=dict)
    publication: dict[str, Any] = field(default_factory=dict)  # what is not named does not leave
    ethics: dict[str, str] = field(default_factory=dict)  # what a board asks: design.consent
    payment: dict[str, Any] = field(default_factory=dict)  # by whom, per_hour, currency
    checks: tuple[dict[str, Any], ...] = ()
    questionnaires: tuple[dict[str, Any], ...] = ()
    settings: tuple[dict[str, Any], ...] = ()
    sources: tuple[dict[str, Any], ...] = ()
    hypotheses: tuple[str, ...] = ()  # what is expected, a sentence each
    covariates: tuple[str, ...] = ()  # of clips in the model of comparisons
    analysis_rules: tuple[dict[str, str], ...] = ()  # rule, why: what analyses leave out
    stop: dict[str, Any] = field(default_factory=dict)  # see listening.design.stop_rule
    conditions: tuple[ConditionEntry, ...] = ()
    tasks: tuple[TaskEntry, ...] = ()
    items: tuple[ItemEntry, ...] = ()
    stimuli: tuple[StimulusEntry, ...] = ()
