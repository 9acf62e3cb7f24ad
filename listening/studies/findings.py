"""Finding: something that a researcher should know before raters come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SOUNDS, RATERS = "draft", "draft-raters"  # pages of a draft


@dataclass(frozen=True)
class Finding:
    """One thing found: a problem stops the launch, a warning does not."""

    level: Literal["problem", "warning"]
    what: str
    remedy: str
    at: str = ""  # the page of a draft that changes it
    on_page: str = ""  # the remedy in words of that page, where it is another than in a folder

    @property
    def page_remedy(self) -> str:
        """What to do in the browser: fields and buttons instead of places of study.toml."""
        return self.on_page or self.remedy

    def __str__(self) -> str:
        return f"{self.what} {self.remedy}"
