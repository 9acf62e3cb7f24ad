"""The questionnaire of webMUSHRA's last page as one after the trials."""

from __future__ import annotations

from typing import Any

from listening.common.plain_yaml import is_true
from listening.common.spreadsheets import strict_number
from listening.design.othertools.taken import Table, once, slug

KINDS = {"text": "text", "long_text": "text", "number": "number", "likert": "one"}


def questionnaire(asked: Any) -> tuple[Table, list[str]]:
    """The questionnaire, and what of it is not taken over."""
    questions: list[Table] = []
    left: list[str] = []
    for each in asked if isinstance(asked, list) else []:
        kind = KINDS.get(str(each.get("type"))) if isinstance(each, dict) else None
        if kind is None:
            left.append(f"a question of the last page ({each}): Earnest has no such kind")
            continue
        known = [q["key"] for q in questions]
        questions.append(
            _question(each, kind, once(slug(str(each.get("name") or "q")), known), left)
        )
    if not questions:
        return {}, left
    return {"key": "after", "when": "after", "questions": questions}, left


def _question(each: Table, kind: str, key: str, left: list[str]) -> Table:
    words = " ".join(str(each.get("label") or each.get("name") or key).split())
    found: Table = {"key": key[:40], "question": words[:500], "kind": kind}
    if is_true(each.get("optional")):
        found["required"] = False
    if kind == "number":
        for name, limit in (("low", "min"), ("high", "max")):
            number = strict_number(each.get(limit, ""))
            if number is not None:
                found[name] = int(number) if number.is_integer() else number
    if each["type"] == "text":
        found["longest"] = 120
    if kind == "one":
        answers = [r for r in each.get("response") or [] if isinstance(r, dict)]
        found["options"] = [
            {"value": str(r.get("value")), "text": str(r.get("label") or r.get("value"))}
            for r in answers
        ]
    if "default" in each:
        left.append(f"the default of the question “{key}”: nothing is answered before it is asked")
    return found
