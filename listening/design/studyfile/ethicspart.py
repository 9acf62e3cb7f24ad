"""[study.ethics] and [study.payment] of study.toml read: what boards ask, what raters are paid."""

from __future__ import annotations

import re
from typing import Any

from listening.design.consent import ETHICS
from listening.design.studyfile import shapes
from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.shapes import Field, Wrong, read_table

CURRENCIES = ("GBP", "USD")  # of Prolific
CURRENCY = re.compile(r"[A-Z]{3}")
AMOUNTS = ("per_hour", "per_session", "per_clip")
PAID_BY = ("prolific", "us", "nobody")
ETHICS_FIELDS = {name: Field(shapes.text, default="", longest=2000) for name in ETHICS}


def _currency(value: Any, field: Field) -> str:
    clean = shapes.text(value, field)
    if not CURRENCY.fullmatch(clean):
        raise Wrong(f"“{clean}” is no code of a currency.", "Write three capitals, like CNY.")
    return clean


PAYMENT = {
    "by": Field(shapes.choice, default="prolific", choices=PAID_BY),
    "per_hour": Field(shapes.number, low=0, high=1_000_000),
    "per_session": Field(shapes.number, low=0, high=1_000_000),
    "per_clip": Field(shapes.number, low=0, high=1_000_000),
    "currency": Field(_currency, default="GBP"),
}


def read_ethics(table: Any, notes: Notebook) -> dict[str, str]:
    """What is said; the consent text is composed of it where its researcher asks for that."""
    fields = read_table(table, ETHICS_FIELDS, "study.ethics", notes)
    return {name: value for name, value in fields.items() if value}


def read_payment(table: Any, notes: Notebook) -> dict[str, Any]:
    """Who pays raters, and how much for what; empty where nothing is said."""
    if not table:
        return {}
    fields = read_table(table, PAYMENT, "study.payment", notes)
    said = {name: value for name, value in fields.items() if value is not None}
    amounts = [name for name in AMOUNTS if name in said]
    if len(amounts) > 1:
        what = f"It has {' and '.join(amounts)}."
        notes.toml("study.payment", what, "Keep one amount; the results tell the others.")
    if said["by"] == "prolific" and {"per_session", "per_clip"} & set(amounts):
        remedy = 'Write per_hour, or by = "us" where you pay in another way.'
        notes.toml(f"study.payment.{amounts[-1]}", "At Prolific you pay by the hour.", remedy)
    if said["by"] == "prolific" and said["currency"] not in CURRENCIES:
        remedy = f'Write {" or ".join(CURRENCIES)}, or by = "us".'
        notes.toml("study.payment.currency", "Prolific does not pay in it.", remedy)
    return said
