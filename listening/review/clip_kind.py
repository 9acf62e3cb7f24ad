"""What the kinds of reviews of clips before the test have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from listening.models import ReviewAssignment, ReviewJob
from listening.review.clip_results import clip_results
from listening.review.kinds.kind import BadSettings, Kind
from listening.review.seen_clips import seen_clips


def check_shares(share: float, pass_mark: float) -> None:
    if not 0 < share <= 1:
        raise BadSettings("Draw more than 0 and at most 100 % of the clips.")
    if not 0 < pass_mark <= 1:
        raise BadSettings("The pass mark is more than 0 and at most 100 %.")


class ValidatedClips(Kind):
    """Verdicts on clips, or on groups of them, with a pass mark by system."""

    rules = ("all_agree", "majority", "adjudicated")
    taken = "Reports tell it. Which clips are replaced, or left out, is yours to say."
    said: ClassVar[Mapping[str, str]]  # what a verdict is called

    @property
    def results(self) -> str:
        return "review/results/clips.html"

    def results_of(self, job: ReviewJob) -> dict[str, Any]:
        draft = job.study.drafts.first()
        return {"results": clip_results(job, self.passing), "draft": draft}

    def seen(self, job: ReviewJob, given: Sequence[ReviewAssignment]) -> list[dict[str, Any]]:
        return seen_clips(given, with_text=bool(job.settings.get("show_text")))

    def say(self, category: str) -> str:
        return self.said.get(category, category)
