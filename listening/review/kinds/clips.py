"""The kind for clips, which says whether each was synthesised at all as it was to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from listening.models import ReviewAssignment, Stimulus, Study
from listening.review.clip_kind import ValidatedClips, check_shares, clip_hints_for
from listening.review.clip_marks import marks_of, region
from listening.review.kinds.kind import BadVerdict, Mark, Target, percent
from listening.review.targets import clips_of, sampled

OK, FLAWED, UNSURE = "ok", "flawed", "unsure"
SAID = {OK: "Synthesised well", FLAWED: "Defective", UNSURE: "Cannot say"}
DEFECTS = (  # the paper's, appendix A.2
    ("1", "audio", "Sound defects", "robotic noise, jitter, clicks, distortion"),
    ("2", "cut", "Too short or cut", "the words are cut off, or there is silence"),
    ("3", "language", "Wrong language", "for some or all of the words"),
    ("4", "timbre", "Mixed voices", "the voice changes within the clip"),
    ("5", "unintelligible", "Unintelligible", "the words cannot be understood"),
    ("6", "other", "Other", "describe it in a note"),
)
NAMES = {key: name for _, key, name, _ in DEFECTS}


@dataclass(frozen=True)
class ClipSettings:
    """How much of each system's clips is drawn, and what share of them must be well."""

    share: float = 0.25
    by_dimension: bool = False
    references: bool = False
    show_text: bool = True
    hints: bool = True
    pass_mark: float = 0.95

    def __post_init__(self) -> None:
        check_shares(self.share, self.pass_mark)


class ClipsKind(ValidatedClips):
    """Synthesis success, as the Audio Turing Test's authors looked at it before their test."""

    key = "clips"
    title = "Clip validation"
    what = "clips"
    settings = ClipSettings
    marks_times = True
    passing, words, verdict_names = OK, NAMES, SAID

    @property
    def script(self) -> str:
        return "js/review/validate.js"

    def lacking(self, study: Study) -> str:
        return "" if clips_of(study, references=False) else "The study has no system clips yet."

    def read(self, form: Mapping[str, str]) -> dict[str, Any]:
        return {
            "share": percent(form, "share", 0.25),
            "pass_mark": percent(form, "pass_mark", 0.95),
            **{
                name: form.get(name) == "on"
                for name in ("by_dimension", "references", "show_text", "hints")
            },
        }

    def targets(self, study: Study, settings: Any, seed: int) -> Sequence[Target]:
        return sampled(
            study,
            settings.share,
            seed,
            by_dimension=settings.by_dimension,
            references=settings.references,
        )

    def desk(self, settings: Any) -> dict[str, Any]:
        return {
            "defects": [{"key": k, "value": v, "label": n, "help": h} for k, v, n, h in DEFECTS],
            "verdicts": SAID,
            "hints": settings.hints,
        }

    def hints(self, settings: Any, assignments: Sequence[ReviewAssignment]) -> dict[str, Any]:
        """What programs noticed of a clip; where nothing, the reviewer goes on at once."""
        if not settings.hints:
            return {}
        rows = Stimulus.objects.filter(pk__in=[each.item.stimulus_id for each in assignments])
        clips = {clip.pk: clip for clip in rows.select_related("study")}
        all_hints = {
            str(each.code): clip_hints_for(clips[each.item.stimulus_id])
            for each in assignments
            if each.item.stimulus_id in clips
        }
        return {code: words for code, words in all_hints.items() if words}

    def checked(self, settings: Any, answer: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        verdict = answer.get("verdict")
        if verdict not in SAID:
            raise BadVerdict("A verdict must be ok, flawed or unsure.")
        defects = [
            {"what": self._what(m), "seconds": region(m)} for m in marks_of(answer, "defects")
        ]
        if defects and verdict != FLAWED:
            raise BadVerdict(
                "A clip with marked defects must be flawed. Remove the marks or change the verdict."
            )
        return {"verdict": verdict, "defects": defects}, str(verdict)

    def marks(self, answer: Mapping[str, Any]) -> list[Mark]:
        return [
            Mark(NAMES[each["what"]], tuple(each["seconds"]) if each["seconds"] else None)
            for each in answer["defects"]
        ]

    def aspects(self, answer: Mapping[str, Any]) -> dict[str, bool]:
        """Each defect as a question of its own; who cannot say of the clip says of none."""
        if answer["verdict"] == UNSURE:
            return {}
        defects = {each["what"] for each in answer["defects"]}
        return {key: key in defects for key in NAMES}

    def _what(self, mark: Mapping[str, Any]) -> str:
        what = mark.get("what")
        if what not in NAMES:
            raise BadVerdict("A defect must be one of those listed on the page.")
        return str(what)
