"""Prolific, whose studies Earnest creates itself (`listening.recruitment`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from listening.design.providers.provider import Mistake, Provider

if TYPE_CHECKING:
    from listening.design.sources import Source

FIXED = ("participant", "submission", "project", "signature", "own_ids", "return_urls", "codes")


class Prolific(Provider):
    key = "prolific"
    title = "Prolific"
    order = 2
    participant, submission = "PROLIFIC_PID", "SESSION_ID"
    placeholders = {
        "PROLIFIC_PID": "{{%PROLIFIC_PID%}}",
        "STUDY_ID": "{{%STUDY_ID%}}",
        "SESSION_ID": "{{%SESSION_ID%}}",
    }
    enter_as = "link of the study"
    found_without_name = True

    @classmethod
    def mistakes(cls, source: Source) -> Iterator[Mistake]:
        remedy = "Leave it out; the codes for Prolific are in [study.completion_codes]."
        for name in FIXED:
            if getattr(source, name):
                yield Mistake(name, "For Prolific this is fixed.", remedy)
