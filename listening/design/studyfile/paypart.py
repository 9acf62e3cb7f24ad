"""[study.pay] of study.toml read: what raters are paid outside of *Recruiting*."""

from __future__ import annotations

import re
from typing import Any

from listening.design.studyfile import shapes
from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.shapes import Field, Wrong, read_table

CURRENCY = re.compile(r"[A-Z]{3}")
AMOUNTS = ("per_clip", "per_session")


def _currency(value: Any, field: Field) -> str:
    clean = shapes.text(value, field)
    if clean and not CURRENCY.fullmatch(clean):
        raise Wrong(
            f"“{clean}” is no code of a currency.", "Write three capitals, like CNY or EUR."
        )
    return clean


PAY = {
    "currency": Field(_currency, default=""),
    "per_clip": Field(shapes.number, low=0, high=1_000_000),
    "per_session": Field(shapes.number, low=0, high=1_000_000),
}


def read_pay(table: Any, notes: Notebook) -> dict[str, str | float]:
    """The currency and one amount; nothing where the table is not there."""
    if not table:
        return {}
    fields = read_table(table, PAY, "study.pay", notes)
    said = {name: value for name, value in fields.items() if value not in (None, "")}
    amounts = [name for name in AMOUNTS if name in said]
    if len(amounts) != 1:
        what = "It has both amounts." if amounts else "It has no amount."
        notes.toml("study.pay", what, "Write either per_clip or per_session.")
    if not table.get("currency"):
        notes.toml("study.pay.currency", "The currency is missing.", 'Write currency = "CNY".')
    return said
