"""The kind for reasons, which says whether what a rater wrote fits the label that they chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from listening.models import ReviewAssignment, ReviewJob, Study
from listening.review.kinds.kind import BadSettings, BadVerdict, Kind, Target, percent
from listening.review.shown_items import show_reasons
from listening.review.targets import reason_targets, reasons_of

FIT, UNFIT, UNSURE = "fit", "unfit", "unsure"
CHOICES = (("1", FIT, "Fits"), ("2", UNFIT, "Does not fit"), ("3", UNSURE, "Cannot say"))


@dataclass(frozen=True)
class ReasonSettings:
    """How much of the reasons is drawn, and whether the clip can be heard."""

    share: float = 1.0
    hear_clip: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise BadSettings("The share of justifications must be more than 0% and at most 100%.")


class JustificationKind(Kind):
    """What reviews of justifications share: which are drawn, and what reviewers see and hear."""

    what = "justifications"

    def lacking(self, study: Study) -> str:
        return "" if reasons_of(study).exists() else "No rater has justified a rating yet."

    def read(self, form: Mapping[str, str]) -> dict[str, Any]:
        return {"share": percent(form, "share", 1.0), "hear_clip": form.get("hear_clip") == "on"}

    def hears(self, job: ReviewJob) -> bool:
        return bool(job.settings.get("hear_clip"))

    def targets(self, study: Study, settings: Any, seed: int) -> Sequence[Target]:
        return reason_targets(study, settings.share, seed)

    def show_items(
        self, job: ReviewJob, assignments: Sequence[ReviewAssignment]
    ) -> list[dict[str, Any]]:
        return show_reasons(assignments, with_clip=self.hears(job))


class ReasonsKind(JustificationKind):
    """The review of the Audio Turing Test's authors, for any method that asks for reasons."""

    key = "reasons"
    title = "Justification validity"
    consequence = (
        "Analyses exclude ratings with unfit justifications (rule “review”) and report the "
        "effect. Files list the outcome in the column review."
    )
    settings = ReasonSettings
    rules = ("all_agree", "majority", "adjudicated")

    def desk(self, settings: Any) -> dict[str, Any]:
        return {"choices": [{"key": k, "value": v, "label": words} for k, v, words in CHOICES]}

    def say(self, category: str) -> str:
        return next((words for _, value, words in CHOICES if value == category), category)

    def checked(self, settings: Any, answer: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        verdict = answer.get("verdict")
        if set(answer) != {"verdict"} or verdict not in {value for _, value, _ in CHOICES}:
            raise BadVerdict("A verdict must be fit, unfit or unsure.")
        return {"verdict": verdict}, str(verdict)
