"""Sona Systems: students who take part for credit, known by a survey code of each sign-up.

Source: Sona's help, "External Study Credit Granting": the study URL holds %SURVEY_CODE%, and
whoever opens the completion URL with this code has the credit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from listening.design.providers.provider import Mistake, Provider

if TYPE_CHECKING:
    from listening.design.sources import Source


class Sona(Provider):
    key = "sona"
    title = "Sona"
    participant = "id"
    placeholders = {"id": "%SURVEY_CODE%"}
    enter_as = "study URL"

    @classmethod
    def mistakes(cls, source: Source) -> Iterator[Mistake]:
        for outcome, address in source.return_urls.items():
            if "survey_code=" in address and "survey_code={participant}" not in address:
                what = "Sona’s completion URL has no survey code of the rater."
                remedy = "Write survey_code={participant} in place of survey_code=XXXX."
                yield Mistake(f"return_urls.{outcome}", what, remedy)
