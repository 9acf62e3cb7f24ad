"""Rules that look at all answers of a rater: their spread, their fit to others, to themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Codes, Floats
from analysis.ratings.estimands import estimand_of
from analysis.statistics.screening.rule import Reasons, Rule, need, no_reasons
from analysis.statistics.screening.single_ratings import asked_again

if TYPE_CHECKING:
    import pandas as pd

    from analysis.statistics.agreement.agreement_result import CodedRatings

MAD_TO_SD = 1.4826
_SAME_SCALE = ["study", "method", "criterion", "estimand"]
_QUESTION = ["session", "task", "stimulus", "versus_stimulus", "item", "context"]
_IN_ORDER = ["position", "rated_at", "counts"]  # what counts came first where nothing else says


@dataclass(frozen=True)
class Variance(Rule):
    """Raters who give nearly the same score everywhere are left out (straight-lining).

    Judged per criterion and kind of score, over tasks together: the SD of a rater's scores about
    their own mean in each task, against the median of all raters' SDs. Raters with fewer than
    ``ratings`` ratings are not judged, and nobody where the median is 0.
    """

    key = "variance"
    title = "Almost no variation"
    compares_raters = True
    minimum: float = 0.25
    ratings: int = 10

    def __post_init__(self) -> None:
        need(0 < self.minimum < 1, self, "minimum is a share of the usual SD, between 0 and 1")
        need(self.ratings >= 3, self, "ratings must be 3 or more")

    def reasons(self, table: pd.DataFrame) -> Reasons:
        reasons = no_reasons(table)
        for group in _scales(table):
            count = np.bincount(group.rater, minlength=group.raters)
            rest = group.within_task(group.y)
            square = np.bincount(group.rater, weights=rest**2, minlength=group.raters)
            sd = np.sqrt(square / np.maximum(count - 1, 1))
            judged = count >= self.ratings
            usual = float(np.median(sd[judged])) if judged.any() else 0.0
            for code in np.flatnonzero(judged & (sd < self.minimum * usual)).tolist():
                spread = f"SD {sd[code]:.2f} over {count[code]} ratings, usual is {usual:.2f}"
                group.tell(reasons, code, f"nearly the same score everywhere: {spread}")
        return reasons

    def describe(self) -> str:
        condition = f"whose scores have an SD below {self.minimum:g} of the usual one"
        return f"raters {condition}, given at least {self.ratings} ratings"


@dataclass(frozen=True)
class Correlation(Rule):
    """Raters whose scores do not go with those of the others are left out.

    Judged per criterion and kind of score, over tasks together: Pearson's r, within tasks,
    between a rater's scores and the mean of all others' of the same stimulus (versus the same,
    after the same context). Raters who share fewer than ``shared`` stimuli with others, or gave
    one score throughout, are not judged. Others include those whom any rule leaves out.
    """

    key = "correlation"
    title = "Low correlation with other raters"
    compares_raters = True
    minimum: float = 0.25
    shared: int = 10

    def __post_init__(self) -> None:
        need(-1 < self.minimum < 1, self, "minimum is a correlation between -1 and 1")
        need(self.shared >= 3, self, "shared must be 3 or more")

    def reasons(self, table: pd.DataFrame) -> Reasons:
        reasons = no_reasons(table)
        for group in _scales(table):
            r, count = group.correlations()
            low = (count >= self.shared) & (r < self.minimum)  # NaN: not judged
            for code in np.flatnonzero(low).tolist():
                fit = f"r = {r[code]:.2f} with the others over {count[code]} shared stimuli"
                group.tell(reasons, code, f"{fit}, {self.minimum:g} needed")
        return reasons

    def describe(self) -> str:
        condition = f"correlate below {self.minimum:g} with the mean of the others"
        return f"raters whose scores {condition}, given at least {self.shared} shared stimuli"


@dataclass(frozen=True)
class Disagreement(Rule):
    """Raters far off the panel, or far noisier than it, are left out (ITU-T P.910, Annex E).

    The subject model (with the unbiased step) gives each rater a bias and an inconsistency; each
    is turned into a robust z over the panel: (value - median) / (1.4826 MAD). A rater goes with a
    bias beyond ``bias`` either way, or an inconsistency beyond ``noise`` above. 0 switches one off.
    """

    key = "disagreement"
    title = "Biased or inconsistent raters"
    compares_raters = True
    bias: float = 3.0
    noise: float = 3.0
    shared: int = 10

    def __post_init__(self) -> None:
        need(min(self.bias, self.noise) >= 0, self, "bias and noise are z values from 0 up")
        need(self.bias + self.noise > 0, self, "one of bias and noise must be above 0")
        need(self.shared >= 3, self, "shared must be 3 or more")

    def reasons(self, table: pd.DataFrame) -> Reasons:
        from analysis.statistics.agreement.rater_bias import subject_model

        reasons = no_reasons(table)
        for group in _scales(table):
            model = subject_model(*group.named(), unbiased=True)
            estimates = {each.rater: each for each in model.raters}
            raters = [estimates.get(name) for name in group.names]
            judged = [r if r and r.n_ratings >= self.shared else None for r in raters]
            bias = _robust_z([r.bias if r else None for r in judged])
            noise = _robust_z([r.inconsistency if r else None for r in judged])
            for code in range(group.raters):
                why = self._why(bias[code], noise[code])
                if why:
                    group.tell(reasons, code, why)
        return reasons

    def describe(self) -> str:
        off = [f"a bias beyond {self.bias:g}"] if self.bias else []
        off += [f"an inconsistency above {self.noise:g}"] if self.noise else []
        return (
            f"raters with {' or '.join(off)} robust SDs of the panel's (P.910), given at least "
            f"{self.shared} shared stimuli"
        )

    def _why(self, bias: float, noise: float) -> str:
        if self.bias and abs(bias) > self.bias:
            return f"bias z = {bias:+.1f} against the panel, {self.bias:g} allowed"
        if self.noise and noise > self.noise:
            return f"inconsistency z = {noise:+.1f} against the panel, {self.noise:g} allowed"
        return ""


@dataclass(frozen=True)
class InconsistentRepeats(Rule):
    """Raters whose second answers stray too far from their first are left out.

    ``tolerance`` is a share of the scale (of the scores given where it has no known ends): a
    second answer within it is the same. A rater goes, per criterion and kind of score, when fewer
    than ``minimum`` of at least ``repeats`` second answers are.
    """

    key = "inconsistent_repeats"
    title = "Inconsistent repeated trials"
    tolerance: float = 0.25
    minimum: float = 0.5
    repeats: int = 2

    def __post_init__(self) -> None:
        need(0 <= self.tolerance < 1, self, "tolerance is a share of the scale, from 0 to below 1")
        need(0 < self.minimum <= 1, self, "minimum is the share that must be near; 0 to 1")
        need(self.repeats >= 1, self, "repeats must be 1 or more")

    def reasons(self, table: pd.DataFrame) -> Reasons:
        reasons = no_reasons(table)
        twice = asked_again(table)
        if not twice.any():
            return reasons
        for group in _scales(table, repeats=True):
            again = twice.to_numpy(dtype=bool)[group.rows]
            first = group.first_answers()
            low, high = estimand_of(group.estimand).ends or (group.y.min(), group.y.max())
            near = np.abs(group.y - first) <= self.tolerance * (high - low) + 1e-9
            count = np.bincount(group.rater[again], minlength=group.raters)
            same = np.bincount(group.rater[again & near], minlength=group.raters)
            stray = (count >= self.repeats) & (same < self.minimum * count)
            for code in np.flatnonzero(stray).tolist():
                share = f"{same[code]} of {count[code]} second answers near the first"
                group.tell(reasons, code, f"{share}, {self.minimum:.0%} needed")
        return reasons

    def describe(self) -> str:
        near = f"within {self.tolerance:.0%} of the scale of their first answer"
        return f"raters with fewer than {self.minimum:.0%} of repeated trials {near}"

    def lacking(self, table: pd.DataFrame) -> str:
        return "" if asked_again(table).any() else "there are no repeated trials"


@dataclass(frozen=True)
class _Scale:
    """The scores of one criterion and kind of score, over its tasks: arrays of n ratings.

    ``rows`` are places in the table, ``members`` those of everything that a rater's verdict
    touches, with the ``owner`` (rater code, -1 for raters without a score) of each.
    """

    table: pd.DataFrame
    estimand: str
    rows: Codes
    y: Floats
    rater: Codes
    names: list[str]
    members: Codes
    owner: Codes

    @property
    def raters(self) -> int:
        return len(self.names)

    def tell(self, reasons: Reasons, code: int, why: str) -> None:
        """Write the reason on everything of that rater here."""
        reasons[self.members[self.owner == code]] = why

    def within_task(self, values: Floats, use: NDArray[np.bool_] | None = None) -> Floats:
        """Values (n,) less the rater's own mean in the task, over what is used."""
        use = np.ones(len(values), dtype=bool) if use is None else use
        tasks = self.table["task"].iloc[self.rows].factorize()[0]
        cell = np.unique(tasks * self.raters + self.rater, return_inverse=True)[1]
        total = np.bincount(cell[use], weights=values[use], minlength=int(cell.max()) + 1)
        count = np.bincount(cell[use], minlength=len(total))
        return np.asarray(values - (total / np.maximum(count, 1))[cell], dtype=np.float64)

    def correlations(self) -> tuple[Floats, Codes]:
        """Each rater's r with the rest within tasks (NaN: undefined) and its units (R,), (R,)."""
        from analysis.statistics.agreement.versus_rest import rest_means

        rest = rest_means(self.coded())
        use = ~np.isnan(rest)
        x = self.within_task(self.y, use)[use]
        y = self.within_task(np.where(use, rest, 0.0), use)[use]
        who = self.rater[use]
        xx, yy, xy = (
            np.bincount(who, weights=v, minlength=self.raters) for v in (x * x, y * y, x * y)
        )
        count = np.bincount(who, minlength=self.raters)
        size = np.sqrt(xx * yy)
        flat = (xx <= 1e-12 * np.maximum(count, 1)) | (yy <= 1e-12 * np.maximum(count, 1))
        r = np.divide(xy, size, out=np.full(self.raters, np.nan), where=~flat)
        return r, count.astype(np.int64)

    def coded(self) -> CodedRatings:
        """The ratings as `analysis.statistics.agreement` takes them."""
        from analysis.statistics.agreement.agreement_result import CodedRatings

        unit, units = self._units()
        return CodedRatings(
            self.y, unit, self.rater, tuple(map(str, range(units))), tuple(self.names)
        )

    def named(self) -> tuple[Codes, NDArray[np.object_], Floats]:
        """Unit, rater and score (n,) of each rating."""
        return self._units()[0], np.asarray(self.names, dtype=object)[self.rater], self.y

    def first_answers(self) -> Floats:
        """For each rating (n,), the answer that the session gave first to the same question."""
        use = self.table[[*_QUESTION, *_IN_ORDER, "score"]].iloc[self.rows]
        ordered = use.sort_values(_IN_ORDER, kind="stable", ascending=[True, True, False])
        first = ordered.groupby(_QUESTION, sort=False)["score"].transform("first")
        return np.asarray(first.reindex(use.index).to_numpy(dtype=np.float64))

    def _units(self) -> tuple[Codes, int]:
        names = ["task", "stimulus", "versus_stimulus", "item", "context"]
        unit = self.table.iloc[self.rows].groupby(names, sort=False).ngroup()
        codes: Codes = np.asarray(unit.to_numpy(), dtype=np.int64)
        return codes, int(codes.max()) + 1


def _scales(table: pd.DataFrame, *, repeats: bool = False) -> Iterator[_Scale]:
    """The table's criteria and kinds of score; traps, empty scores and (most often) repeats out."""
    rated = (table["trap"] == "").to_numpy(dtype=bool)
    scored = rated & table["score"].notna().to_numpy(dtype=bool)
    if not repeats:
        scored &= ~asked_again(table).to_numpy(dtype=bool)
    places = table.groupby(_SAME_SCALE, sort=True).indices
    for place in places.values():
        group = np.asarray(place, dtype=np.int64)
        rows = group[scored[group]]
        if len(rows):
            members = group[rated[group]]
            rater, names = table["rater"].iloc[members].factorize(sort=True)
            owner = np.asarray(rater, dtype=np.int64)
            yield _Scale(
                table=table,
                estimand=str(table["estimand"].iloc[group[0]]),
                rows=rows,
                y=table["score"].to_numpy(dtype=np.float64)[rows],
                rater=owner[scored[members]],
                names=[str(name) for name in names],
                members=members,
                owner=owner,
            )


def _robust_z(values: list[float | None]) -> Floats:
    """(value - median) / (1.4826 MAD); 0 for None and where the panel does not differ."""
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    if not len(known):
        return np.zeros(len(values))
    middle = float(np.median(known))
    spread = MAD_TO_SD * float(np.median(np.abs(known - middle)))
    if spread <= 1e-12:
        return np.zeros(len(values))
    return np.array([0.0 if v is None else (v - middle) / spread for v in values])
