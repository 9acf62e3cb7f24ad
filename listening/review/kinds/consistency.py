"""The kind for groups of clips of one system, which are to have one voice, language and manner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from listening.models import Study
from listening.review.clip_kind import ValidatedClips, check_shares
from listening.review.kinds.kind import BadSettings, BadVerdict, Mark, Target, percent
from listening.review.targets import RUNS, grouped

SAME, DIFFERS, UNSURE = "same", "differs", "unsure"
SAID = {SAME: "Consistent", DIFFERS: "Not consistent", UNSURE: "Cannot say"}
ASPECTS = (  # the paper's, appendix A.2
    ("1", "timbre", "Voice", "same person: sex, age, timbre"),
    ("2", "language", "Language", "same language and accent"),
    ("3", "prosody", "Style", "matching intonation, stress and tone"),
)
NAMES = {key: name for _, key, name, _ in ASPECTS}
MOST = 6


@dataclass(frozen=True)
class ConsistencySettings:
    """How many groups of each system are drawn, and what share of them must be consistent."""

    share: float = 0.25
    size: int = 3
    references: bool = False
    show_text: bool = True
    pass_mark: float = 0.95

    def __post_init__(self) -> None:
        check_shares(self.share, self.pass_mark)
        if not 2 <= self.size <= MOST:
            raise BadSettings(f"A group must have 2 to {MOST} clips.")


class ConsistencyKind(ValidatedClips):
    """Several syntheses of one text side by side; of several texts where each has one only."""

    key = "consistency"
    title = "System consistency"
    what = "groups of clips"
    settings = ConsistencySettings
    passing, words, verdict_names = SAME, NAMES, SAID

    def lacking(self, study: Study) -> str:
        if grouped(study, 1.0, 2, 0, references=False):
            return ""
        return "No system in the study has two clips."

    def read(self, form: Mapping[str, str]) -> dict[str, Any]:
        size = form.get("size", "3")
        return {
            "share": percent(form, "share", 0.25),
            "pass_mark": percent(form, "pass_mark", 0.95),
            "size": int(size) if size.isdecimal() and len(size) < 4 else 0,
            "references": form.get("references") == "on",
            "show_text": form.get("show_text") == "on",
        }

    def targets(self, study: Study, settings: Any, seed: int) -> Sequence[Target]:
        return grouped(study, settings.share, settings.size, seed, references=settings.references)

    def desk(self, settings: Any) -> dict[str, Any]:
        return {
            "aspects": [{"key": k, "value": v, "label": n, "help": h} for k, v, n, h in ASPECTS],
            "verdicts": SAID,
            "runs": RUNS,
        }

    def checked(self, settings: Any, answer: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        judgements = {key: answer.get(key) for key in NAMES}
        if not all(value in SAID for value in judgements.values()):
            raise BadVerdict("Voice, language and style must each be same, differs or unsure.")
        odd = answer.get("odd", [])
        if not isinstance(odd, list) or not all(type(n) is int and 0 <= n < MOST for n in odd):
            raise BadVerdict("The clips that stand out must be given by their positions.")
        category = next((each for each in (DIFFERS, UNSURE) if each in judgements.values()), SAME)
        return {**judgements, "odd": sorted(set(odd))}, category

    def marks(self, answer: Mapping[str, Any]) -> list[Mark]:
        odd = tuple(answer["odd"])
        return [Mark(words, places=odd) for key, words in NAMES.items() if answer[key] == DIFFERS]

    def aspects(self, answer: Mapping[str, Any]) -> dict[str, bool]:
        return {key: answer[key] == DIFFERS for key in NAMES if answer[key] != UNSURE}
