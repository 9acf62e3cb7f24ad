"""What a paper's study came to in its house, and what its report printed."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def facts_of(key: str, report: Path) -> list[object]:
    """Clips, raters, sessions, ratings that count; tables and figures of the paper's own part.

    The bench ends where the part could not be made: a report without it is no report.
    """
    from listening.models import Rating, Session, Study

    study = Study.objects.get(key=key)
    sessions = Session.objects.filter(study=study, pilot=False)
    ratings = Rating.objects.filter(trial__session__in=sessions)
    (part,) = [
        part
        for part in json.loads((report / "report.json").read_text("utf-8"))["parts"]
        if part["key"] == key
    ]
    if part["problem"] or not part["tables"]:
        sys.exit(f"The report of {key} has no tables of the paper: {part['problem']}")
    counts = [study.stimuli.count(), sessions.values("rater").distinct().count()]
    counts += [sessions.count(), ratings.filter(counts=True).count()]
    return [key, *counts, len(part["tables"]), len(part["figures"])]
