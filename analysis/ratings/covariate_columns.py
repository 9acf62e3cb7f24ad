"""Covariates as columns of ratings.csv.

Those of clips are covariate_NAME and versus_covariate_NAME. Answers of raters have the name that
sessions.csv gives them, question_QUESTIONNAIRE_QUESTION.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from analysis.formatting import enumerated
from analysis.ratings.cells import unescape_cells
from analysis.ratings.problems import RatingsError

if TYPE_CHECKING:
    from analysis.ratings.categorical import Categorical

RATED, VERSUS = "covariate_", "versus_covariate_"  # of the column stimulus, of versus_stimulus
SIDES = {RATED: "stimulus", VERSUS: "versus_stimulus"}
ANSWER = "question_"  # begins the names of raters' answers
Covariates = Mapping[str, Mapping[str, str]]  # values as text, by name and clip, or by rater


def is_covariate(column: str) -> bool:
    """Whether a column of a file holds a covariate of clips, or an answer of raters."""
    return any(column.startswith(start) and column != start for start in (*SIDES, ANSWER))


def is_of_raters(name: str) -> bool:
    """Whether a covariate belongs to raters, not to clips."""
    return name.startswith(ANSWER)


def covariate_columns(names: Iterable[str]) -> tuple[str, ...]:
    """The columns of covariates with these names."""
    return tuple(
        f"{side}{name}" for name in names for side in (("",) if is_of_raters(name) else SIDES)
    )


def with_covariates(
    rows: Iterable[Mapping[str, Any]], covariates: Covariates
) -> Iterator[dict[str, Any]]:
    """Yield plain rows of ratings with the columns of covariates, empty where there is no value."""
    sources = [
        (f"{side}{name}", whose, own)
        for name, own in covariates.items()
        for side, whose in ({"": "rater"} if is_of_raters(name) else SIDES).items()
    ]
    for row in rows:
        yield {**row, **{name: own.get(row[whose] or "", "") for name, whose, own in sources}}


def read_covariates(
    columns: Mapping[str, Categorical],
    clips: Mapping[str, Categorical],
    file: str,
    ignore: Collection[str] = (),
) -> dict[str, dict[str, str]]:
    """The covariates that the columns of a file hold, by name and clip, or by name and rater.

    ``clips`` has the columns of the table with the clips and raters of the same rows. Raises
    RatingsError where a clip or a rater has two values.
    """
    covariates: dict[str, dict[str, str]] = {}
    for column in columns:
        if not is_covariate(column) or column in ignore:
            continue
        side = "" if is_of_raters(column) else next(s for s in SIDES if column.startswith(s))
        clip, whose = clips[SIDES.get(side, "rater")], "clip" if side else "rater"
        name, cells = column.removeprefix(side), columns[column]
        texts = [text.strip() for text in unescape_cells(cells.values, column)]
        own = covariates.setdefault(name, {})
        for place, code in sorted(set(zip(clip.codes.tolist(), cells.codes.tolist(), strict=True))):
            stimulus, value = str(clip.values[place]), texts[code]
            if stimulus and value and own.setdefault(stimulus, value) != value:
                both = enumerated([own[stimulus], value])
                who = f"{file}, column {column}: the {whose} {stimulus}"
                remedy = f"Give it one value, or say --ignore-column {shlex.quote(column)}."
                raise RatingsError([f"{who} has {both}. {remedy}"])
    return covariates
