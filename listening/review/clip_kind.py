"""What the kinds of reviews of clips before the test share, and what programs noticed of a clip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from listening import audio
from listening.common.signals import clip_hints
from listening.models import ReviewAssignment, ReviewJob, Stimulus
from listening.review.clip_results import clip_results
from listening.review.kinds.kind import BadSettings, Kind
from listening.review.shown_items import show_clips

CLIPPED_SHARE = 0.0001  # of the samples
LONG_SILENCE_S = 1.0
SHORT_END_S = 0.01  # sound up to the very end may be cut
LEAST_S = 0.3


def clip_hints_for(clip: Stimulus) -> list[str]:
    """Sentences from the sound itself, and from the scores that are stored."""
    responses = clip_hints.send(Stimulus, study_key=clip.study.key, sha256=clip.sha256)
    return [*_hints_from_sound(clip), *(words for _, hints in responses for words in hints or ())]


def _hints_from_sound(clip: Stimulus) -> list[str]:
    """From the file as it was uploaded."""
    try:
        facts = audio.probed(audio.local_path(clip.original))
    except (audio.AudioError, OSError):
        return ["The uploaded file cannot be read."]
    hints = []
    if facts.peak_dbfs is None:
        return ["The whole clip is silent."]
    if facts.duration_s < LEAST_S:
        hints.append(f"The clip is only {facts.duration_s:.2f} s long.")
    if facts.clipped_share > CLIPPED_SHARE:
        hints.append(f"{facts.clipped_share:.2%} of the samples are at full scale (clipping).")
    for name, silence_s in (
        ("begins", facts.leading_silence_s),
        ("ends", facts.trailing_silence_s),
    ):
        if silence_s > LONG_SILENCE_S:
            hints.append(f"The clip {name} with {silence_s:.1f} s of silence.")
    if facts.channel_fault:
        turned, fault = "The channels are in antiphase.", facts.channel_fault
        hints.append(turned if fault == "antiphase" else f"The {fault} channel is silent.")
    if facts.length_note:
        hints.append(facts.length_note)
    if facts.trailing_silence_s < SHORT_END_S:
        hints.append("There is no silence at the end, so the clip may be cut off.")
    return hints


def check_shares(share: float, pass_mark: float) -> None:
    if not 0 < share <= 1:
        raise BadSettings("The share of clips must be more than 0% and at most 100%.")
    if not 0 < pass_mark <= 1:
        raise BadSettings("The pass mark must be more than 0% and at most 100%.")


class ValidatedClips(Kind):
    """Verdicts on clips, or on groups of them, with a pass mark by system."""

    rules = ("all_agree", "majority", "adjudicated")
    consequence = "Reports state the results. You decide which clips to replace or exclude."
    verdict_names: ClassVar[Mapping[str, str]]  # what a verdict is called

    @property
    def results(self) -> str:
        return "review/results/clips.html"

    def results_of(self, job: ReviewJob) -> dict[str, Any]:
        draft = job.study.drafts.first()
        return {"results": clip_results(job, self.passing), "draft": draft}

    def show_items(
        self, job: ReviewJob, assignments: Sequence[ReviewAssignment]
    ) -> list[dict[str, Any]]:
        return show_clips(assignments, with_text=bool(job.settings.get("show_text")))

    def say(self, category: str) -> str:
        return self.verdict_names.get(category, category)
