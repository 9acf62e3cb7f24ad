"""Which ratings the rules of a report leave out, and the column that says so in ratings.csv.

The report holds it by rule, so that a study's ratings can be streamed with it without judging them
again. `analysis.statistics.screening.single_ratings.Recorded` reads the column back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from analysis.ratings.cells import COLUMNS, LEFT_OUT_BY, TRAP_ROW, csv_lines
from analysis.ratings.covariate_columns import Covariates, covariate_columns, with_covariates
from analysis.report.report_schema import Report

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from analysis.statistics.screening.rule import Rule
    from analysis.statistics.screening.screened import Screened

# A place is as much of this as is needed: a whole session, a whole block, or one rating (the last
# is which of several ratings that agree in all the rest).
SESSION = ("study", "session")
BLOCK = (*SESSION, "task", "block")
RATING = (*BLOCK, "position", "criterion", "stimulus")
Places = dict[str, list[list[Any]]]


def exclusions_of(table: pd.DataFrame, screened: Screened, rules: Sequence[Rule]) -> Places:
    """Return the places that each rule leaves out, by the rule's text; traps are in none.

    ``table`` holds the ratings as they were read, row for row those of ``screened``.
    """
    import numpy as np

    from analysis.statistics.screening.rule_text import rule_text
    from analysis.statistics.screening.screened import STRUCTURAL

    rated = (table["trap"] == "").to_numpy(dtype=bool)
    hits = {rule: hit[rated] for rule, hit in screened.hits((*STRUCTURAL, *rules)).items()}
    touched = np.logical_or.reduce([np.zeros(int(rated.sum()), dtype=bool), *hits.values()])
    sessions = table.loc[rated, "session"]
    near = sessions.isin(sessions[touched].unique()).to_numpy(dtype=bool)  # whole sessions
    rows = table.loc[rated, list(RATING)][near].reset_index(drop=True)
    rows["position"] = rows["position"].astype(object).where(rows["position"].notna(), None)
    nth = rows.groupby(list(RATING), sort=False, dropna=False).cumcount()
    places_of: Places = {}
    for rule, every in hits.items():
        hit = every[near]
        if not hit.any():
            continue
        places: list[list[Any]] = []
        left = hit.copy()
        for columns in (SESSION, BLOCK):
            groups = rows.groupby(list(columns), sort=False).ngroup().to_numpy()
            whole = _all_of(groups, hit)[groups] & left
            places += rows.loc[whole, list(columns)].drop_duplicates().to_numpy(object).tolist()
            left &= ~whole
        single = rows[left].assign(nth=nth[left])
        places += single.to_numpy(dtype=object).tolist()
        places_of[rule_text(rule)] = places
    return places_of


def _all_of(groups: Any, hit: Any) -> Any:
    """Return for each group (g,) whether all of its rows (n,) are hit."""
    import numpy as np

    return np.bincount(groups, weights=~hit) == 0


def with_left_out(rows: Iterable[Mapping[str, Any]], report: Report) -> Iterator[dict[str, Any]]:
    """Yield plain rows of ratings with the column ``left_out_by``.

    It is empty for a rating that is in the estimates, ``trap`` for an answer to a trap or to a
    practice trial, and else the rules that leave the rating out, as text, in their order, with
    blanks between.
    """
    by_place: dict[tuple[Any, ...], list[int]] = {}
    texts = list(report.get("left_out", ()))
    for nth, text in enumerate(texts):
        for place in report["left_out"][text]:
            by_place.setdefault(tuple(place), []).append(nth)
    seen: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        if row["trap"]:
            yield {**row, LEFT_OUT_BY: TRAP_ROW}
            continue
        rules: list[int] = []
        if by_place:
            rating = tuple(row[name] for name in RATING)
            places = (rating[: len(SESSION)], rating[: len(BLOCK)], (*rating, seen[rating]))
            rules = [rule for place in places for rule in by_place.get(place, ())]
            seen[rating] += 1
        yield {**row, LEFT_OUT_BY: " ".join(texts[nth] for nth in sorted(rules))}


def judged_csv(
    rows: Iterable[Mapping[str, Any]],
    report: Report | None,
    covariates: Covariates | None = None,
) -> Iterator[str]:
    """Yield ratings.csv line by line: with ``left_out_by`` where the report says what that is.

    ``report`` is that of these very ratings; None where there is none. Reports that earlier
    versions stored do not say it. ``covariates`` of clips become columns of their own.
    """
    columns = COLUMNS
    if report is not None and "left_out" in report:
        rows, columns = with_left_out(rows, report), (*columns, LEFT_OUT_BY)
    if covariates:
        rows = with_covariates(rows, covariates)
        columns = (*columns, *covariate_columns(covariates))
    yield from csv_lines(rows, columns)
