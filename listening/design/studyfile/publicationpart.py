"""[study.publication] of study.toml read: licences, and what raters agreed may be published."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from listening.design.studyfile import shapes
from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.shapes import Field, Wrong, read_table

LICENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")


def _licence(value: Any, field: Field) -> str:
    """A licence's short name, as SPDX and archives of data write it."""
    clean = shapes.text(value, field)
    if clean and not LICENCE.fullmatch(clean):
        raise Wrong(
            f"“{clean}” is no short name of a licence.",
            "Write it as spdx.org/licenses does, like CC-BY-4.0.",
        )
    return clean


PUBLICATION = {
    "audio_licence": Field(_licence, default="", longest=60),
    "ratings_licence": Field(_licence, default="", longest=60),
    "consent_covers_ratings": Field(shapes.flag, default=False),
    "consent_covers_words": Field(shapes.flag, default=False),
}


def read_publication(
    table: Any, texts: Mapping[str, str], notes: Notebook
) -> dict[str, str | bool]:
    """What may leave; what is not said is left out of it, and does not."""
    fields = read_table(table, PUBLICATION, "study.publication", notes)
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
