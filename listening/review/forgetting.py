"""Notes of reviewers, which may quote what raters wrote, erased with the reasons."""

from __future__ import annotations

from django.db import connection

from listening.models import Study, Verdict


def forget_notes(study: Study) -> int:
    """Inside a transaction: the database allows it while something is being deleted."""
    rows = Verdict.objects.filter(assignment__item__job__study=study).exclude(note="")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL earnest.deleting = 'on'")
        count = rows.update(note="")
        cursor.execute("SET LOCAL earnest.deleting = 'off'")
    return count
