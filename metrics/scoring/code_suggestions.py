"""Suggestions of codes by a judge model: what would be sent, asked for, and stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from listening.selectors import CodesToSuggest, codes_to_suggest
from metrics.judges.client import (
    Client,
    Reply,
    ask_all,
    current_endpoint,
    required_endpoint,
    tally_replies,
)
from metrics.judges.question import MalformedAnswer, Question, check_object, object_schema
from metrics.judges.rubric import Rubric, rubric
from metrics.models import CodeSuggestion

RUBRIC = "reason_codes.v1"
MAX_TOKENS = 2000


@dataclass(frozen=True)
class ReasonToCode:
    """One reason as it is sent: nothing of rater, system or study."""

    item: int
    text: str
    labels: str
    language: str


@dataclass(frozen=True)
class CodedReason:
    """The codes that a model names; None with the reason why there are none to be had."""

    item: int
    codes: list[str] | None
    reply: Reply

    @property
    def asked_again(self) -> bool:
        """Whether the first answer could not be used."""
        return bool(self.reply.asked_again)


def ask_codes(
    reasons: Sequence[ReasonToCode], codebook: Mapping[str, str], model: str, client: Client
) -> list[CodedReason]:
    """One answer per reason, in order. ``codebook``: what each code means, by key.

    Raises weights.Unavailable as the client does.
    """
    codes_rubric = rubric(RUBRIC)
    questions = [question(each, codebook, model, codes_rubric) for each in reasons]
    return [
        CodedReason(each.item, _codes(reply), reply)
        for each, reply in zip(reasons, ask_all(questions, client), strict=True)
    ]


def _codes(reply: Reply) -> list[str] | None:
    return None if reply.answer is None else sorted(set(reply.answer["codes"]))


def question(
    reason: ReasonToCode, codebook: Mapping[str, str], model: str, codes_rubric: Rubric
) -> Question:
    fields = tuple(
        replace(each, choices=tuple(codebook)) if each.name == "codes" else each
        for each in codes_rubric.fields
    )

    def check(answer: Any) -> dict[str, Any]:
        checked = check_object(answer, fields)
        if checked["none"] != (not checked["codes"]):
            raise MalformedAnswer("codes and none contradict each other")
        return checked

    return Question(
        model=model,
        system=codes_rubric.system,
        user=codes_rubric.prompt(
            codebook="\n".join(f"{key}: {words}" for key, words in codebook.items()),
            labels=reason.labels,
            language=reason.language,
            reason=reason.text,
        ),
        sounds=(),
        schema=object_schema(fields),
        check=check,
        rubric=codes_rubric.name,
        max_tokens=MAX_TOKENS,
    )


AT_ONCE = 50  # stored together: what was answered before a server went down stays


@dataclass(frozen=True)
class CodeRequest:
    """What would be sent, and where; what is stored already."""

    review: CodesToSuggest
    model: str
    server: str  # without a password in it
    missing: list[int]  # items that have no answer of this model yet
    answered: int
    failed: dict[str, int] = field(default_factory=dict)  # reason -> items

    def details(self, reasons: int) -> dict[str, Any]:
        """For the study's log; ``reasons``: how many were sent."""
        title = self.review["title"]
        return {"review": title, "model": self.model, "server": self.server, "reasons": reasons}


def plan_request(study: str, pk: int, model: str = "") -> CodeRequest:
    """Raises weights.Unavailable where no judge is configured, Http404 for no review of codes."""
    model = model or current_endpoint().model
    server = required_endpoint(model)
    review = codes_to_suggest(study, pk)
    rows = CodeSuggestion.objects.filter(
        item__job=pk, version=review["version"], judge=model, rubric=RUBRIC
    )
    there = {row.item_id: row for row in rows}
    items = [each["item"] for each in review["reasons"]]
    answered = {item for item in items if item in there and there[item].codes is not None}
    return CodeRequest(
        review,
        model,
        server.shown,
        missing=[item for item in items if item not in answered],
        answered=len(answered),
        failed=dict(Counter(there[i].reason for i in items if i in there and i not in answered)),
    )


def store_suggestions(study: str, pk: int, model: str = "", by: str = "") -> dict[str, Any]:
    """Ask for missing codes and store them; return counts, tokens and cost.

    Raises weights.Unavailable as the client does; answers until then are stored.
    """
    code_request = plan_request(study, pk, model)
    missing = set(code_request.missing)
    reasons = [ReasonToCode(**r) for r in code_request.review["reasons"] if r["item"] in missing]
    client = Client(required_endpoint(code_request.model))
    done: list[CodedReason] = []
    for start in range(0, len(reasons), AT_ONCE):
        part = reasons[start : start + AT_ONCE]
        coded = ask_codes(part, code_request.review["codebook"], code_request.model, client)
        for each in coded:
            _store_codes(each, code_request, by)
        done += coded
    counts = tally_replies([each.reply for each in done], client.endpoint.prices)
    return {
        **counts,
        "asked_again": sum(each.asked_again for each in done),
        "model": code_request.model,
    }


def _store_codes(coded: CodedReason, code_request: CodeRequest, by: str) -> None:
    CodeSuggestion.objects.update_or_create(
        item_id=coded.item,
        version=code_request.review["version"],
        judge=code_request.model,
        rubric=RUBRIC,
        defaults={
            "rubric_sha256": rubric(RUBRIC).sha256,
            "answered_by": coded.reply.model[:200],
            "codes": coded.codes,
            "reason": coded.reply.reason[:200],
            "asked_again": coded.asked_again,
            "by": by,
        },
    )
