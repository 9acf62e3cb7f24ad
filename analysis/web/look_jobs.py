"""The job that makes the looks of stop rules: each once, when its number of sessions is there."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from celery import shared_task

from listening.common.signals import look_failed, look_made

if TYPE_CHECKING:
    from listening.selectors import DueLook

log = logging.getLogger(__name__)


@shared_task(name="analysis.jobs.make_looks")
def make_looks(study: str = "") -> list[str]:
    """Run by the beat: make the looks that are due; gives those that were stored, by study.

    A look is computed without holding anything, and stored with its decision in one transaction:
    whoever is second, or was killed before, stores nothing. A look that fails is noted at its study
    and tried again.
    """
    from listening.selectors import due_looks

    stored = []
    for due in due_looks(study):
        try:
            if make_look(due):
                stored.append(f"{due['study']} {due['number']}")
        except Exception as error:
            log.exception("Look %s of study %s failed", due["number"], due["study"])
            what = f"{type(error).__name__}: {error}"
            look_failed.send(
                sender=__name__, study_id=due["study_id"], number=due["number"], what=what
            )
    return stored


def make_look(due: DueLook) -> bool:
    """Compute a look and have it stored; whether this call stored it."""
    from analysis.ratings.table import table_hash
    from analysis.report.content import pick_cells
    from analysis.report.looks import counted_input, look_of
    from analysis.web.first_runs import default_options
    from analysis.web.study_tables import study_tables
    from listening.selectors import stop_facts
    from listening.selectors.progress import forget_progress

    stop, options = stop_facts(due["study"]), default_options(due["study"])
    if stop is None:
        return False
    table, _ = study_tables(due["study"], options)
    look = look_of(counted_input(table, options), stop, due["number"], last=due["last"])
    if look is None:
        return False
    answers = look_made.send(
        sender=__name__,
        study_id=due["study_id"],
        look={
            **pick_cells(due, "number", "planned", "in_progress"),
            **pick_cells(look, "sessions", "families", "decision", "why", "stopped"),
            "data_sha256": table_hash(table),
            "rules": [str(rule) for rule in options.parameters()["rules"]],
        },
    )
    forget_progress(due["study"])
    return any(stored for _, stored in answers)
