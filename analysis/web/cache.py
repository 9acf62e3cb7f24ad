"""Whether an analysis is stored already: the same ratings, scores, parameters and code."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from django.db.models import QuerySet

from analysis.models import AnalysisRun
from analysis.report.report_provenance import package_versions
from analysis.web.combining import combined_state

PACKAGE = Path(__file__).parents[1]


@cache
def code_mark() -> str:
    """Return a hash of all that makes a report of ratings: this source and the packages it uses."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(str(path.relative_to(PACKAGE)).encode() + b"\x1e" + path.read_bytes())
    for name, version in sorted(package_versions().items()):
        digest.update(f"{name} {version}".encode())
    return digest.hexdigest()


def marks(study_key: str, versions: Sequence[str] = ()) -> dict[str, str]:
    """Marks of a study's ratings, with these versions of it, and of its metric scores as they
    stand now; quick to ask."""
    from metrics.scoring.selectors import scores_mark

    ratings = combined_state(study_key, versions)["mark"]
    return {"ratings_mark": ratings, "scores_mark": scores_mark(study_key)}


def stored_run(study_id: int, parameters: dict[str, Any], **same: str) -> AnalysisRun | None:
    """The newest finished run with these parameters, this code, and the ``same`` fields.

    ``same`` says which ratings: their `marks` (to answer at once), or ``table_hash`` and
    ``scores_hash`` (exact, once they are read).
    """
    done = _alike(study_id, parameters).filter(state=AnalysisRun.State.DONE, code=code_mark())
    return done.filter(**same).first()


def waiting_run(study_id: int, parameters: dict[str, Any], **same: str) -> AnalysisRun | None:
    """A run that will give just this: it reads the ratings yet, or has read the ``same``."""
    alike = _alike(study_id, parameters)
    queued = alike.filter(state=AnalysisRun.State.QUEUED).first()
    return queued or alike.filter(state=AnalysisRun.State.RUNNING, **same).first()


def _alike(study_id: int, parameters: dict[str, Any]) -> QuerySet[AnalysisRun]:
    runs: QuerySet[AnalysisRun] = AnalysisRun.objects.filter(study_id=study_id)
    return runs.filter(parameters=parameters).defer("result", "brief")
