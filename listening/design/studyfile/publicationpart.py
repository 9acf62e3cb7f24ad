"""[study.publication] of study.toml read: licences, and what raters agreed may be published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.reader import read_table


def read_publication(
    table: Any, texts: Mapping[str, str], notes: Notebook
) -> dict[str, str | bool]:
    """What may leave; what is not said is left out of it, and does not."""
    fields = read_table(table, "study.publication", "study.publication", notes)
    said = {name: value for name, value in fields.items() if value}
    covered = [name for name in said if name.startswith("consent_covers_")]
    if covered and not texts.get("consent"):
        what = "There is no consent text that could cover it."
        remedy = "Write it in [study.texts], consent."
        notes.toml(f"study.publication.{covered[0]}", what, remedy)
    if said.get("consent_covers_words") and not said.get("consent_covers_ratings"):
        what = "Raters’ words are published with their ratings, or not at all."
        notes.toml(
            "study.publication.consent_covers_words", what, "Write consent_covers_ratings = true."
        )
    return said
