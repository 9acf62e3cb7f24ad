"""Ratings of several versions of a study taken together, where a comparison says they may be."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from django.core.exceptions import PermissionDenied

from analysis.ratings.estimands import estimand_of
from analysis.statistics.options import Options
from listening.common.counted import counted
from listening.selectors import earlier_with, task_plans

if TYPE_CHECKING:
    import pandas as pd

    from listening.selectors import RatingRow, RatingsState, VersionMatch


class NotCombined(ValueError):
    """Versions whose ratings are not of one kind; the message says why, and what to do."""


def combined_state(study: str, versions: Sequence[str] = ()) -> RatingsState:
    """How many ratings there are of a study and these versions of it, and a mark of them all."""
    from listening.selectors import RatingsState, ratings_state

    states = [ratings_state(key) for key in (study, *versions)]
    if len(states) == 1:
        return states[0]
    joint = "|".join(state["mark"] for state in states)
    mark = hashlib.sha256(joint.encode()).hexdigest()
    return RatingsState(ratings=sum(state["ratings"] for state in states), mark=mark)


def combined_rows(study: str, versions: Sequence[str] = ()) -> Iterator[RatingRow]:
    """The ratings of a study and of these versions of it, the study's own first.

    Tasks that not all of them ask are left out. A clip that is another sound than the study's own
    clip of that name is named after its version.
    """
    from listening.selectors import rating_rows

    if not versions:
        yield from rating_rows(study)
        return
    matches = {key: _match(key, study) for key in versions}
    shared_tasks = set.intersection(*(set(match["tasks"]) for match in matches.values()))
    name = " + ".join([*versions, study])
    for key in (study, *versions):
        changed = set(matches[key]["changed"]) if key in matches else set()
        for row in rating_rows(key):
            if row["task"] in shared_tasks:
                yield _rename_row(row, changed) | {"study": name}


def _rename_row(row: RatingRow, changed: set[str]) -> Any:
    clips = cast("dict[str, Any]", row)
    apart = {
        name: f"{clips[name]} (version {row['version']})"
        for name in ("stimulus", "versus_stimulus")
        if clips[name] in changed
    }
    return clips | apart


def combined_table(study: str, options: Options) -> pd.DataFrame:
    """The ratings table for an analysis with these options; NotCombined where it may not be."""
    from analysis.ratings.table import from_rows, from_study
    from analysis.report.parts.versions import refusals

    if not options.versions:
        return from_study(study)
    table = from_rows(combined_rows(study, options.versions), source=f"versions of {study}")
    if why_not := refusals(table, options):
        raise NotCombined(_refusal(study, why_not))
    return table


def notes_of(study: str, options: Options) -> list[str]:
    """What a reader of combined results must know beside the numbers, a sentence each."""
    notes = []
    for key in options.versions:
        match = _match(key, study)
        both = "versions {} and {}".format(*match["versions"])
        notes.append(f"Ratings of {both} (“{key}” and “{study}”) are combined.")
        if match["apart"]:
            notes.append(
                f"Excluded because only one of {both} asks it: {', '.join(match['apart'])}."
            )
        if match["changed"]:
            clips = counted(len(match["changed"]), "clip")
            notes.append(f"Analysed separately, as they differ in {both}: {clips} of one name.")
        if match["wording"]:
            notes.append(f"The wording of {both} differs: {', '.join(match['wording'][:6])}.")
    return notes


def _match(before: str, after: str) -> VersionMatch:
    from listening.selectors import is_earlier, version_match

    if not is_earlier(after, before):
        raise NotCombined(f"“{before}” is not an earlier version of “{after}”.")
    match = version_match(before, after)
    if match["refused"]:
        raise NotCombined(_refusal(after, match["refused"]))
    return match


def _refusal(study: str, reasons: Sequence[str]) -> str:
    lines = "\n".join(reasons)
    return f"The versions of “{study}” are not combined.\n{lines}\nEach has its own results."


RIGHT = "analyse"
MARGIN = "margin:"  # what the name of a form's field begins with, before the estimand


def offered_versions(key: str, user: Any) -> dict[str, Any]:
    """For the results page: the earlier versions that may be analysed, the newest first."""
    earlier = earlier_with(key, user, RIGHT)
    keys = dict.fromkeys(plan["estimand"] for plan in task_plans(key)) if earlier else {}
    return {"earlier": earlier, "margins": [(MARGIN + each, estimand_of(each)) for each in keys]}


def check_versions(key: str, user: Any, options: Options) -> None:
    """PermissionDenied unless every version that the options name may be analysed, too."""
    known = [version["key"] for version in earlier_with(key, user, RIGHT)]
    missing = [name for name in options.versions if name not in known]
    if missing:
        raise PermissionDenied(
            "To combine versions, you also need the role analyst in the earlier version "
            f"“{missing[0]}”."
        )
