"""[study.ethics] and [study.payment] of study.toml read: what boards ask, what raters are paid."""

from __future__ import annotations

from typing import Any

from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.reader import read_table

CURRENCIES = ("GBP", "USD")  # of Prolific
AMOUNTS = ("per_hour", "per_session", "per_clip")


def read_ethics(table: Any, notes: Notebook) -> dict[str, str]:
    """What is said; the consent text is composed of it where its researcher asks for that."""
    fields = read_table(table, "study.ethics", "study.ethics", notes)
    return {name: value for name, value in fields.items() if value}


def read_payment(table: Any, notes: Notebook) -> dict[str, Any]:
    """Who pays raters, and how much for what; empty where nothing is said."""
    if not table:
        return {}
    fields = read_table(table, "study.payment", "study.payment", notes)
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
