"""Which earlier versions of a study somebody may combine it with."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied

from analysis.ratings.estimands import estimand_of
from analysis.statistics.options import Options
from listening.selectors import earlier_with, task_plans

RIGHT = "analyse"
MARGIN = "margin:"  # what the name of a form's field begins with, before the estimand


def offered_versions(key: str, user: Any) -> dict[str, Any]:
    """For the results page: the earlier versions that may be analysed, the newest first."""
    found = earlier_with(key, user, RIGHT)
    keys = dict.fromkeys(plan["estimand"] for plan in task_plans(key)) if found else {}
    return {"earlier": found, "margins": [(MARGIN + each, estimand_of(each)) for each in keys]}


def check_versions(key: str, user: Any, options: Options) -> None:
    """PermissionDenied unless every version that the options name may be analysed, too."""
    known = [version["key"] for version in earlier_with(key, user, RIGHT)]
    missing = [name for name in options.versions if name not in known]
    if missing:
        raise PermissionDenied(
            f"Combining takes the role analyst in “{missing[0]}”, too, an earlier version of this "
            "study."
        )
