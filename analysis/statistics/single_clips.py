"""Scores of individual clips or texts: mean, recovered score and screened mean, with intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from analysis.arrays import Codes, Floats
from analysis.ratings.estimands import estimand_of
from analysis.statistics.agreement.rater_bias import Bt500, SubjectModel, bt500, subject_model
from analysis.statistics.agreement.rating_units import Words

if TYPE_CHECKING:
    import pandas as pd

    from analysis.ratings.breakdowns import Family

STIMULUS, ITEM = "stimulus", "item"
ALL_EQUAL = "all ratings are equal: no interval of the mean"
ONE_RATER = "one rater only: no interval of the mean"
_OF_CLIPS = ("stimulus", "versus_stimulus", "context", "item", "condition", "versus_condition")
_OF_ONE = ("system", "voice")  # of two clips that are compared, only one's is known
_OF_ITEMS = ("language", "dimension", "split", "paragraph")
_SIDES = (("stimulus", "versus_stimulus"), ("condition", "versus_condition"))


@dataclass(frozen=True)
class ClipScores:
    """The scores of one family: ``frame`` with a row per clip (or item).

    Its columns are `analysis.report.writers.clip_files.COLUMNS`; those before name the clip, as far
    as the ratings do. ``published`` and ``unbiased`` are the two subject models behind it,
    ``screened`` what BT.500 says of each rater; ``unnamed`` ratings name no clip and are left out.
    """

    frame: pd.DataFrame
    published: SubjectModel
    unbiased: SubjectModel
    screened: list[Bt500]
    unnamed: int = 0

    @property
    def rejected(self) -> list[str]:
        """The raters whom BT.500 rejects."""
        return [each.rater for each in self.screened if each.rejected]


def clip_scores(family: Family, by: str = STIMULUS, level: float = 0.95) -> ClipScores:
    """The scores of each stimulus, or ``by`` item (over its conditions), of one family of ratings.

    A stimulus after another context is another one; compared clips are pairs, each the same way
    round in all its ratings. Raters are taken as a sample of raters and the clip as given: the
    interval is for other raters of this very clip. Recovered scores are `agreement.subject_model`'s
    (of an item the mean of its clips'); who is rejected says `agreement.bt500`.
    """
    import pandas as pd

    table, y, compared = _one_way_round(family)
    named = (table[by] != "").to_numpy(dtype=bool)
    table, y = table[named], y[named]
    rater, names = pd.factorize(table["rater"], sort=True)
    clip, first = _units(table, ["stimulus", "versus_stimulus", "context"])
    ratings = _UnitRatings(clip, len(first), clip, len(first), rater.astype(np.int64), y, level)
    if by == ITEM:
        sides = ["condition", "versus_condition"] if compared else []
        unit, first = _units(table, [ITEM, *sides])
        ratings = replace(ratings, unit=unit, units=len(first))
    raters = np.asarray(names, dtype=object)[rater]
    published, unbiased = (
        subject_model(clip, raters, y, level=level, unbiased=step) for step in (False, True)
    )
    screened = bt500(clip, raters, y)
    out = np.isin(raters, [each.rater for each in screened if each.rejected])
    columns: dict[str, Any] = {**family.group, "estimand": family.estimand}
    columns |= _naming(table, ratings.unit, first, compared) | ratings.means()
    columns |= ratings.recovered(published, "recovered") | ratings.recovered(
        unbiased, "recovered_unbiased"
    )
    rest = ratings.without(out).means()
    columns["bt500_n"] = rest["n_ratings"]
    columns |= {f"bt500_{name}": rest[name] for name in ("mean", "sd", "low", "high")}
    alone = columns["n_raters"] < 2
    flat = np.where(np.isnan(columns["low"]), ALL_EQUAL, "")
    columns["note"] = np.where(alone, ONE_RATER, flat).astype(object)
    frame = pd.DataFrame(columns, index=range(ratings.units))
    return ClipScores(frame, published, unbiased, screened, int((~named).sum()))


@dataclass(frozen=True)
class _UnitRatings:
    """Ratings (n,) with the codes of their clip, and of the unit (clip or item) that is scored."""

    unit: Codes
    units: int
    clip: Codes
    clips: int
    rater: Codes
    y: Floats
    level: float

    def without(self, left_out: NDArray[np.bool_]) -> _UnitRatings:
        """The same without some ratings (n,)."""
        rows = ~left_out
        return replace(
            self,
            unit=self.unit[rows],
            clip=self.clip[rows],
            rater=self.rater[rows],
            y=self.y[rows],
        )

    def means(self) -> dict[str, Floats | Codes]:
        """Counts, mean, SD and the t interval clustered by rater, of each unit (U,)."""
        both = self.unit * (int(self.rater.max(initial=0)) + 1) + self.rater
        _, first, cell = np.unique(both, return_index=True, return_inverse=True)
        of_cell = self.unit[first]
        n, raters = self._sum(None), np.bincount(of_cell, minlength=self.units)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = self._sum(self.y) / n
            apart = _without_dust(self.y - mean[self.unit], self.y)
            within = np.bincount(cell, weights=apart) ** 2
            by_rater = np.bincount(of_cell, weights=within, minlength=self.units)
            se = np.sqrt(by_rater * raters / (raters - 1)) / n
            sd = np.sqrt(self._sum(apart**2) / (n - 1))
        half = special.stdtrit(np.maximum(raters - 1, 1), (1 + self.level) / 2) * se
        half = np.where((raters > 1) & (se > 0), half, np.nan)
        known = {"mean": mean, "sd": np.where(n > 1, sd, np.nan)}
        known |= {"se": np.where(raters > 1, se, np.nan), "low": mean - half, "high": mean + half}
        return {"n_ratings": n.astype(np.int64), "n_raters": raters, **known}

    def recovered(self, model: SubjectModel, name: str) -> dict[str, Floats]:
        """The scores and standard errors of a model of clips, for the units (U,): their means."""
        score, se = np.full(self.clips, np.nan), np.full(self.clips, np.nan)
        if model.raters:
            at = np.array(model.units, dtype=np.int64)
            score[at], se[at] = model.quality, model.quality_se
        both, first = np.unique(self.unit * self.clips + self.clip, return_index=True)
        unit_of_clip = self.unit[first]
        k = np.maximum(np.bincount(unit_of_clip, minlength=self.units), 1)
        mean = np.bincount(unit_of_clip, weights=score[both % self.clips], minlength=self.units) / k
        error = np.sqrt(
            np.bincount(unit_of_clip, weights=se[both % self.clips] ** 2, minlength=self.units)
        )
        half = float(special.ndtri((1 + self.level) / 2)) * error / k
        ends = {f"{name}_low": mean - half, f"{name}_high": mean + half}
        return {name: mean, f"{name}_se": error / k, **ends}

    def _sum(self, values: Floats | None) -> Floats:
        return np.bincount(self.unit, weights=values, minlength=self.units).astype(np.float64)


def _one_way_round(family: Family) -> tuple[pd.DataFrame, Floats, bool]:
    """The table with each pair of clips the same way round, its scores, and whether it has pairs.

    Scores are turned with their pair; those of ABX, which prefer neither side, are not.
    """
    table = family.table
    y = table["score"].to_numpy(dtype=np.float64)
    if not family.in_pairs:
        return table, y, False
    sides = ("condition", "versus_condition", "stimulus", "versus_stimulus")
    turned = _is_turned(*(table[name].to_numpy(dtype=object) for name in sides))
    swapped = {one: table[one].where(~turned, table[other]) for one, other in _SIDES}
    swapped |= {other: table[other].where(~turned, table[one]) for one, other in _SIDES}
    y = np.where(turned, estimand_of(family.estimand).mirrored(y), y)
    return table.assign(**swapped), y, True


def _units(table: pd.DataFrame, names: list[str]) -> tuple[Codes, Codes]:
    """The unit of each row (n,), by the values of some columns, and each unit's first row (U,)."""
    code: Codes = np.asarray(table.groupby(names, sort=True).ngroup(), dtype=np.int64)
    first: Codes = np.unique(code, return_index=True)[1].astype(np.int64)
    return code, first


def _naming(table: pd.DataFrame, unit: Codes, first: Codes, compared: bool) -> dict[str, Words]:
    """What each unit (U,) is: the value that all its rows have, empty where they differ."""
    columns: dict[str, Words] = {}
    for name in (*_OF_CLIPS, *(() if compared else _OF_ONE), *_OF_ITEMS):
        values = table[name].to_numpy(dtype=object)
        own = values[first]
        own[unit[values != own[unit]]] = ""
        if (own != "").any():
            columns[name] = own
    return columns


def _without_dust(apart: Floats, y: Floats) -> Floats:
    """Differences (n,) of equal numbers that rounding left a hair from zero, made zero again."""
    size = max(1.0, float(np.abs(y).max(initial=0.0)))
    return np.where(np.abs(apart) < 1e-12 * size, 0.0, apart)


def _is_turned(condition: Words, versus: Words, own: Words, other: Words) -> NDArray[np.bool_]:
    """Which ratings (n,) stand the other way round than most of their pair of conditions."""
    met: dict[tuple[str, str], int] = {}
    for pair in zip(condition, versus, strict=True):
        met[pair] = met.get(pair, 0) + 1
    turned = {
        (a, b): bool(b) and (met[a, b], b) < (met.get((b, a), 0), a) for a, b in met if a != b
    }
    same = (condition == versus) & (other < own)
    by_name = [turned.get(pair, False) for pair in zip(condition, versus, strict=True)]
    return np.asarray(np.asarray(by_name, dtype=bool) | same, dtype=np.bool_)
