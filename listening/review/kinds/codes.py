"""The kind for codes, which names the attributes that a reason speaks of, and where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from listening.common.signals import code_hints
from listening.models import Justification, ReviewAssignment, ReviewJob
from listening.review import codebook
from listening.review.codebook import KEYS_OF_KEYBOARD, NO_CODE, BadCodebook, Code
from listening.review.kinds.kind import BadSettings, BadVerdict
from listening.review.kinds.reasons import JustificationKind, ReasonSettings

MOST_SPANS = 60
LONGEST_REASON = 5000


@dataclass(frozen=True)
class CodeSettings(ReasonSettings):
    """The codebook with its version, how much is drawn, what reviewers hear and are suggested."""

    codebook: Sequence[Mapping[str, Any]] = field(
        default_factory=lambda: codebook.as_stored(codebook.PRESET)
    )
    version: int = 1
    suggest: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            codebook.checked(self.codes)
        except (BadCodebook, TypeError) as error:
            raise BadSettings(str(error)) from None

    @property
    def codes(self) -> tuple[Code, ...]:
        return codebook.from_stored(self.codebook)


class CodesKind(JustificationKind):
    """Attribution codes of reasons, several for each, with the words that say so."""

    key = "codes"
    title = "Justification coding"
    several = True
    consequence = "Analyses and files list the codes in the column codes."
    settings = CodeSettings
    rules = ("majority", "all_agree", "adjudicated")

    def read(self, form: Mapping[str, str]) -> dict[str, Any]:
        settings = super().read(form) | {"suggest": form.get("suggest") == "on"}
        if text := form.get("codebook_file", "").strip():
            try:
                settings["codebook"] = codebook.as_stored(codebook.from_text(text))
            except BadCodebook as error:
                raise BadSettings(str(error)) from None
        return settings

    def desk(self, settings: Any) -> dict[str, Any]:
        codes = [
            {"value": c.key, "family": c.family, "label": c.title, "words": c.words}
            for c in settings.codes
        ]
        none = {"value": NO_CODE, "family": "", "label": "None of these", "words": ""}
        keys = KEYS_OF_KEYBOARD
        choices = [{**each, "key": keys[n]} for n, each in enumerate([*codes, none])]
        return {"codes": choices, "hints": settings.suggest}

    def say(self, category: str) -> str:
        return category.replace("|", ", ").replace("_", " ")

    def checked(self, settings: Any, answer: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        known = {code.key for code in settings.codes} | {NO_CODE}
        codes, spans = answer.get("codes"), answer.get("spans", [])
        if not isinstance(codes, list) or not codes or not all(c in known for c in codes):
            raise BadVerdict("Choose at least one code of the codebook.")
        if NO_CODE in codes and len(set(codes)) > 1:
            raise BadVerdict("“None of these” cannot be combined with other codes.")
        if not isinstance(spans, list) or len(spans) > MOST_SPANS:
            raise BadVerdict(f"Mark at most {MOST_SPANS} passages.")
        checked_spans = [_span(span, codes) for span in spans]
        chosen = sorted(set(codes))
        return {"codes": chosen, "spans": checked_spans}, "|".join(chosen)

    def suggests(self, job: ReviewJob) -> bool:
        items = job.items.values_list("pk", flat=True)
        return bool(
            job.settings.get("suggest", True) or _codes_of_judges(job.settings["version"], items)
        )

    def hints(self, settings: Any, assignments: Sequence[ReviewAssignment]) -> dict[str, Any]:
        """What words suggest by rules, where the review was made so, and what a model suggests."""
        trials = [each.item.trial_id for each in assignments]
        rows = Justification.objects.filter(trial__in=trials).values_list("trial", "text")
        texts = dict(rows) if settings.suggest else {}
        known = {code.key for code in settings.codes}
        judged = _codes_of_judges(settings.version, [each.item_id for each in assignments])
        return {
            str(each.code): {
                "rules": codebook.suggested(settings.codes, texts.get(each.item.trial_id or 0, "")),
                "judge": [code for code in judged.get(each.item_id, []) if code in known],
            }
            for each in assignments
        }


def _codes_of_judges(version: int, items: Iterable[int]) -> dict[int, list[str]]:
    """By item: the codes that a judge model named under this version of the codebook."""
    responses: list[tuple[Any, Any]] = code_hints.send(
        ReviewJob, items=list(items), version=version
    )
    codes: dict[int, list[str]] = {}
    for _, named in responses:
        codes |= named or {}
    return codes


def _span(span: Any, codes: Sequence[str]) -> dict[str, Any]:
    """A place in the reason, in characters; the words themselves stay in the reason alone."""
    if not isinstance(span, Mapping) or span.get("code") not in codes:
        raise BadVerdict("A marked passage must have one of the chosen codes.")
    start, end = span.get("start"), span.get("end")
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= LONGEST_REASON:
        raise BadVerdict("A marked passage must start before it ends.")
    return {"code": span["code"], "start": start, "end": end}
