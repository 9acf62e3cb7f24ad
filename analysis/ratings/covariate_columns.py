"""Covariates of clips as columns of ratings.csv: covariate_NAME, and versus_covariate_NAME."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from analysis.formatting import enumerated
from analysis.ratings.cells import unescape_cells
from analysis.ratings.problems import RatingsError

if TYPE_CHECKING:
    from analysis.ratings.categorical import Categorical

RATED, VERSUS = "covariate_", "versus_covariate_"  # of the column stimulus, of versus_stimulus
SIDES = {RATED: "stimulus", VERSUS: "versus_stimulus"}
Covariates = Mapping[str, Mapping[str, str]]  # values as text, by name and clip


def is_covariate(column: str) -> bool:
    """Whether a column of a file holds a covariate of clips."""
    return any(column.startswith(side) and column != side for side in SIDES)


def covariate_columns(names: Iterable[str]) -> tuple[str, ...]:
    """The columns of covariates with these names."""
    return tuple(f"{side}{name}" for name in names for side in SIDES)


def with_covariates(
    rows: Iterable[Mapping[str, Any]], covariates: Covariates
) -> Iterator[dict[str, Any]]:
    """Yield plain rows of ratings with the columns of covariates, empty where a clip has none."""
    for row in rows:
        values = {
            f"{side}{name}": own.get(row[clip] or "", "")
            for name, own in covariates.items()
            for side, clip in SIDES.items()
        }
        yield {**row, **values}


def read_covariates(
    columns: Mapping[str, Categorical],
    clips: Mapping[str, Categorical],
    file: str,
    ignore: Collection[str] = (),
) -> dict[str, dict[str, str]]:
    """The covariates that the columns of a file hold, by name and clip.

    ``clips`` has the columns of the table with the clips of the same rows. Raises RatingsError
    where a clip has two values.
    """
    covariates: dict[str, dict[str, str]] = {}
    for column in columns:
        if not is_covariate(column) or column in ignore:
            continue
        side = next(each for each in SIDES if column.startswith(each))
        name, clip, cells = column.removeprefix(side), clips[SIDES[side]], columns[column]
        texts = [text.strip() for text in unescape_cells(cells.values, column)]
        own = covariates.setdefault(name, {})
        for place, code in sorted(set(zip(clip.codes.tolist(), cells.codes.tolist(), strict=True))):
            stimulus, value = str(clip.values[place]), texts[code]
            if stimulus and value and own.setdefault(stimulus, value) != value:
                both = enumerated([own[stimulus], value])
                raise RatingsError(
                    [f"{file}, column {column}: the clip {stimulus} has {both}. Give it one value."]
                )
    return covariates
