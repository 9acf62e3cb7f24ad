"""Which earlier versions of a study somebody may combine it with."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied

from analysis.statistics.options import Options
from listening.selectors import earlier_with

RIGHT = "analyse"


def offered_versions(key: str, user: Any) -> dict[str, Any]:
    """For the results page: the earlier versions that may be analysed, the newest first."""
    return {"earlier": earlier_with(key, user, RIGHT)}


def check_versions(key: str, user: Any, options: Options) -> None:
    """PermissionDenied unless every version that the options name may be analysed, too."""
    known = [version["key"] for version in earlier_with(key, user, RIGHT)]
    missing = [name for name in options.versions if name not in known]
    if missing:
        raise PermissionDenied(
            f"Combining takes the role analyst in “{missing[0]}”, too, an earlier version of this "
            "study."
        )
