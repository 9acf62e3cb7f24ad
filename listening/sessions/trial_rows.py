"""Trials stored many at once: what costs most of a session's start in Django's own INSERT."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.json import encode

from listening.common.statements import rows_of
from listening.models import Trial

STORED = [f for f in Trial._meta.concrete_fields if not f.primary_key and not f.generated]
ATTRIBUTES = [(f.column, f.attname) for f in STORED]
COLUMNS = ", ".join(f'"{column}"' for column, _ in ATTRIBUTES)
INSERT = f"""
INSERT INTO listening_trial ({COLUMNS})
SELECT {COLUMNS} FROM json_populate_recordset(NULL::listening_trial, %(trials)s::json) RETURNING id
"""


def store_trials(trials: Iterable[Trial]) -> None:
    """In one statement, as JSON; the trials do not learn their numbers."""
    rows = [{column: getattr(trial, name) for column, name in ATTRIBUTES} for trial in trials]
    rows_of(INSERT, trials=encode(rows).decode())
