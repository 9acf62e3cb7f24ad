"""Codes that a model suggests for reasons: a question each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from metrics.judges.client import Client, Reply
from metrics.judges.judge_replies import ask_all
from metrics.judges.question import Question
from metrics.judges.rubric import Rubric, rubric
from metrics.judges.schema import Malformed, check_object, object_schema

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
class Coded:
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
) -> list[Coded]:
    """One answer per reason, in order. ``codebook``: what each code means, by key.

    Raises weights.Unavailable as the client does.
    """
    told = rubric(RUBRIC)
    questions = [question(each, codebook, model, told) for each in reasons]
    return [
        Coded(each.item, _codes(reply), reply)
        for each, reply in zip(reasons, ask_all(questions, client), strict=True)
    ]


def _codes(reply: Reply) -> list[str] | None:
    return None if reply.answer is None else sorted(set(reply.answer["codes"]))


def question(
    reason: ReasonToCode, codebook: Mapping[str, str], model: str, told: Rubric
) -> Question:
    fields = tuple(
        replace(each, choices=tuple(codebook)) if each.name == "codes" else each
        for each in told.fields
    )

    def check(answer: Any) -> dict[str, Any]:
        checked = check_object(answer, fields)
        if checked["none"] != (not checked["codes"]):
            raise Malformed("codes and none contradict each other")
        return checked

    return Question(
        model=model,
        system=told.system,
        user=told.prompt(
            codebook="\n".join(f"{key}: {words}" for key, words in codebook.items()),
            labels=reason.labels,
            language=reason.language,
            reason=reason.text,
        ),
        sounds=(),
        schema=object_schema(fields),
        check=check,
        rubric=told.name,
        max_tokens=MAX_TOKENS,
    )
