"""[study.ethics] and [study.payment] of study.toml read: what boards ask, what raters are paid."""

from __future__ import annotations

from typing import Any

from listening.design.consent import ETHICS
from listening.design.studyfile import shapes
from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.shapes import Field, read_table

CURRENCIES = ("GBP", "USD")
PAID_BY = ("prolific", "us", "nobody")
ETHICS_FIELDS = {name: Field(shapes.text, default="", longest=2000) for name in ETHICS}
PAYMENT = {
    "by": Field(shapes.choice, default="prolific", choices=PAID_BY),
    "per_hour": Field(shapes.number, low=0, high=1000),
    "currency": Field(shapes.choice, default="GBP", choices=CURRENCIES),
}


def read_ethics(table: Any, notes: Notebook) -> dict[str, str]:
    """What is said; the consent text is composed of it where its researcher asks for that."""
    fields = read_table(table, ETHICS_FIELDS, "study.ethics", notes)
    return {name: value for name, value in fields.items() if value}


def read_payment(table: Any, notes: Notebook) -> dict[str, Any]:
    """Who pays raters, how much an hour; empty where nothing is said."""
    if not table:
        return {}
    fields = read_table(table, PAYMENT, "study.payment", notes)
    return {name: value for name, value in fields.items() if value is not None}
