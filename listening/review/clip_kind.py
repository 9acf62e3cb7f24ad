"""What the kinds of reviews of clips before the test share, and what programs noticed of a clip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from listening import audio
from listening.common.signals import clip_hints
from listening.models import ReviewAssignment, ReviewJob, Stimulus
from listening.review.clip_results import clip_results
from listening.review.kinds.kind import BadSettings, Kind
from listening.review.shown_items import seen_clips

CLIPPED_SHARE = 0.0001  # of the samples
LONG_SILENCE_S = 1.0
SHORT_END_S = 0.01  # sound up to the very end may be cut
LEAST_S = 0.3


def hints_about(clip: Stimulus) -> list[str]:
    """Sentences from the sound itself, and from the scores that are stored."""
    heard = clip_hints.send(Stimulus, study_key=clip.study.key, sha256=clip.sha256)
    return [*_of_sound(clip), *(words for _, found in heard for words in found or ())]


def _of_sound(clip: Stimulus) -> list[str]:
    """From the file as it was uploaded."""
    try:
        facts = audio.probed(audio.local_path(clip.original))
    except (audio.AudioError, OSError):
        return ["The uploaded file cannot be read."]
    found = []
    if facts.peak_dbfs is None:
        return ["The whole clip is silent."]
    if facts.duration_s < LEAST_S:
        found.append(f"The clip is only {facts.duration_s:.2f} s long.")
    if facts.clipped_share > CLIPPED_SHARE:
        found.append(f"{facts.clipped_share:.2%} of the samples are at full scale (clipping).")
    for name, silence_s in (
        ("begins", facts.leading_silence_s),
        ("ends", facts.trailing_silence_s),
    ):
        if silence_s > LONG_SILENCE_S:
            found.append(f"The clip {name} with {silence_s:.1f} s of silence.")
    if facts.channel_fault:
        turned, fault = "The channels are in antiphase.", facts.channel_fault
        found.append(turned if fault == "antiphase" else f"The {fault} channel is silent.")
    if facts.length_note:
        found.append(facts.length_note)
    if facts.trailing_silence_s < SHORT_END_S:
        found.append("There is no silence at the end, so the clip may be cut off.")
    return found


def check_shares(share: float, pass_mark: float) -> None:
    if not 0 < share <= 1:
        raise BadSettings("The share of clips must be more than 0% and at most 100%.")
    if not 0 < pass_mark <= 1:
        raise BadSettings("The pass mark must be more than 0% and at most 100%.")


class ValidatedClips(Kind):
    """Verdicts on clips, or on groups of them, with a pass mark by system."""

    rules = ("all_agree", "majority", "adjudicated")
    taken = "Reports state the results. You decide which clips to replace or exclude."
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
