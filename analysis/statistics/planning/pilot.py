"""The variance components of a pilot study, from its ratings table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analysis.ratings.estimands import bare_title, estimand_of
from analysis.statistics.planning.study_design import PlanningError
from analysis.statistics.planning.variance_components import Components, components_from_pilot
from listening.common.counted import counted

if TYPE_CHECKING:
    import pandas as pd

FEW_RATERS = 20


@dataclass(frozen=True)
class Pilot:
    """Components of one task and criterion, and the counts that they rest on.

    ``conditions`` counts pairs of conditions where those were ``compared`` (their scores are
    differences already). ``warning`` says where the components are rough; ``title`` what was rated.
    """

    title: str
    task: str
    criterion: str
    estimand: str
    components: Components
    ratings: int
    raters: int
    items: int
    conditions: int
    compared: bool = False
    warning: str = ""

    def row(self) -> dict[str, Any]:
        """The pilot as one flat row of plain values."""
        counts = ("ratings", "raters", "items", "conditions", "compared", "warning")
        names = ("title", "task", "criterion", "estimand")
        row = {name: getattr(self, name) for name in (*names, *counts)}
        return row | self.components.row()


def pilots(ratings: pd.DataFrame) -> list[Pilot]:
    """The components of every task and criterion of a ratings table, most ratings first.

    ``ratings`` holds the ratings after screening (see `statistics.screening.screen`). Those whose
    answers are no numbers, or too few to tell (fewer than two raters or three ratings), are left
    out; raises PlanningError when none is left.
    """
    scored = ratings[ratings["score"].notna()]
    known: list[Pilot] = []
    problem = "no rating has a number"
    for rows in _tasks(scored):
        try:
            known.append(_pilot(rows))
        except PlanningError as error:
            problem = str(error)
    if not known:
        raise PlanningError(f"nothing to plan from: {problem}")
    return sorted(known, key=lambda pilot: -pilot.ratings)


def chosen_pilot(known: list[Pilot], task: str = "", criterion: str = "") -> Pilot:
    """The pilot of a task and criterion, both optional; PlanningError names those there are."""
    for pilot in known:
        if task in ("", pilot.task) and criterion in ("", pilot.criterion):
            return pilot
    choices = "; ".join(f"task {p.task or '-'}, criterion {p.criterion or '-'}" for p in known)
    raise PlanningError(f"no ratings of task {task}, criterion {criterion}; there are: {choices}")


def _tasks(scored: pd.DataFrame) -> list[pd.DataFrame]:
    keys = ["estimand", "task", "criterion"]
    groups = scored.groupby(keys, sort=True, observed=True, dropna=False)
    return [rows for _, rows in groups if len(rows)]


def _pilot(rows: pd.DataFrame) -> Pilot:
    import pandas as pd

    first = rows.iloc[0]
    condition = rows["condition"].astype(str)
    versus = rows["versus_condition"].fillna("").astype(str)
    compared = estimand_of(str(first["estimand"])).in_pairs and bool((versus != "").any())
    if compared:
        condition = condition + " ~ " + versus
    codes = {
        "condition": pd.factorize(condition, sort=True)[0],
        "rater": pd.factorize(rows["rater"].astype(str), sort=True)[0],
        "item": pd.factorize(rows["item"].astype(str), sort=True)[0],
    }
    counts = {name: int(code.max()) + 1 for name, code in codes.items()}
    head = {"estimand": first["estimand"], "task": first["task"], "criterion": first["criterion"]}
    title = bare_title(head)
    source = f"pilot: {counted(len(rows), 'rating')} of {counted(counts['rater'], 'rater')}"
    scores = rows["score"].to_numpy(dtype="float64")
    components = components_from_pilot(
        scores, codes["condition"], codes["rater"], codes["item"], source
    )
    warning = ""
    if min(counts["rater"], counts["item"]) < FEW_RATERS:
        warning = (
            f"{counts['rater']} raters and {counts['item']} items are few to estimate these from: "
            "plan with more than comes out"
        )
    return Pilot(
        title,
        str(head["task"]),
        str(head["criterion"]),
        str(head["estimand"]),
        components,
        len(rows),
        counts["rater"],
        counts["item"],
        counts["condition"],
        compared,
        warning,
    )
