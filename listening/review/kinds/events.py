"""The kind for vocalisations: which ones are heard in a clip, and where in its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from listening.methods.vocalisation_types import canonical
from listening.models import ReviewAssignment, ReviewJob, Study
from listening.review.clip_marks import NOTHING, event_types, events_of, marks_of, region
from listening.review.kinds.kind import BadSettings, BadVerdict, Kind, Target, percent
from listening.review.shown_items import show_events
from listening.review.targets import clips_of, sampled

UNSURE = "unsure"
LONGEST_NAME = 40
MOST_UNITS = 20_000


@dataclass(frozen=True)
class EventSettings:
    """How much of each system's clips is drawn, and how far apart two places may be."""

    share: float = 1.0
    references: bool = True
    tolerance: int = 1  # words, or characters; as in the metrics of vocalisations

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise BadSettings("The share of clips must be more than 0% and at most 100%.")
        if not 0 <= self.tolerance <= 20:
            raise BadSettings("The position tolerance must be 0 to 20 words or characters.")


class EventsKind(Kind):
    """As NVV-SuperBench had its data annotated: three people, a majority, and a fourth."""

    key = "events"
    title = "Vocalisation annotation"
    what = "clips"
    consequence = "The marks page compares judge models and reviewers with the outcomes."
    settings = EventSettings
    marks_times = True
    rules = ("majority_third", "majority", "all_agree")
    per_item = 3
    resolving = "third"

    @property
    def results(self) -> str:
        return "review/results/events.html"

    def lacking(self, study: Study) -> str:
        return "" if clips_of(study, references=True) else "The study has no clips yet."

    def read(self, form: Mapping[str, str]) -> dict[str, Any]:
        tolerance = form.get("tolerance", "1")
        return {
            "share": percent(form, "share", 1.0),
            "references": form.get("references") == "on",
            "tolerance": int(tolerance) if tolerance.isdecimal() and len(tolerance) < 4 else -1,
        }

    def targets(self, study: Study, settings: Any, seed: int) -> Sequence[Target]:
        references = settings.references
        return sampled(study, settings.share, seed, by_dimension=False, references=references)

    def desk(self, settings: Any) -> dict[str, Any]:
        return {"unsure": UNSURE}

    def show_items(
        self, job: ReviewJob, assignments: Sequence[ReviewAssignment]
    ) -> list[dict[str, Any]]:
        return show_events(job.study, assignments)

    def say(self, category: str) -> str:
        return {UNSURE: "Cannot say", NOTHING: "Nothing heard"}.get(category, category)

    def checked(self, settings: Any, answer: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        events = [self._event(mark) for mark in marks_of(answer, "events")]
        unsure = answer.get("unsure", False)
        if not isinstance(unsure, bool) or (unsure and events):
            raise BadVerdict("Mark what you hear, or choose “Cannot say”.")
        checked_answer = {"events": events, "unsure": unsure}
        return checked_answer, UNSURE if unsure else event_types(events_of(checked_answer))

    def _event(self, mark: Mapping[str, Any]) -> dict[str, Any]:
        name, position = mark.get("type"), mark.get("position")
        if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME:
            raise BadVerdict(f"A vocalisation has a type of at most {LONGEST_NAME} characters.")
        if set(name) & set("@;,|"):
            raise BadVerdict("A type must not contain the characters @ ; , |.")
        whole = type(position) is int and 0 <= position <= MOST_UNITS
        seconds = region(mark)
        if not whole and (position is not None or seconds is None):
            raise BadVerdict("A vocalisation needs a position between words, or a time.")
        return {"type": canonical(name), "position": position, "seconds": seconds}
