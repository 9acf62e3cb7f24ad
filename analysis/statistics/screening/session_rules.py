"""Rules that judge a whole session: headphones, instructed and gold traps, too few ratings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.statistics.screening.rule import Reasons, Rule, need, no_reasons, where

if TYPE_CHECKING:
    import pandas as pd

_SHARE = "minimum is the share that must pass; give more than 0, at most 1"


@dataclass(frozen=True)
class Headphones(Rule):
    """Sessions without headphones are left out (column ``headphones``); unknown ones stay.

    Without means: a headphone check failed, or the rater said loudspeakers.
    """

    key = "headphones"
    title = "No headphones"

    def reasons(self, table: pd.DataFrame) -> Reasons:
        without = ~table["headphones"].fillna(True).astype(bool)
        return where(without, "a headphone check failed, or the rater said loudspeakers")

    def describe(self) -> str:
        return "sessions whose headphone check failed, or that were heard on loudspeakers"

    def lacking(self, table: pd.DataFrame) -> str:
        if table["headphones"].notna().any():
            return ""
        return "the column headphones is empty: the study neither checked nor asked"


@dataclass(frozen=True)
class AttentionTraps(Rule):
    """Sessions that passed too small a share of their attention traps are left out.

    Traps are those whose kind begins with one of ``kinds``. All of a session's tasks count
    together; a session that met no such trap stays.
    """

    key = "attention_traps"
    title = "Attention traps failed"
    kinds: tuple[str, ...] = ("attention", "instructed")
    minimum: float = 1.0

    def __post_init__(self) -> None:
        need(0 < self.minimum <= 1, self, _SHARE)

    def reasons(self, table: pd.DataFrame) -> Reasons:
        traps = table[table["trap"].str.startswith(self.kinds)]
        return _by_share(table, traps, traps["trap_passed"].fillna(False), self, "attention")

    def describe(self) -> str:
        return f"sessions that passed less than {self.minimum:.0%} of their attention traps"

    def lacking(self, table: pd.DataFrame) -> str:
        return _no_kind(table, self.kinds)


@dataclass(frozen=True)
class GoldTraps(Rule):
    """Sessions that answered too many gold clips wrongly are left out.

    Gold clips are traps whose kind begins with one of ``kinds``. By default an answer is right
    when the study said so (``trap_passed``, with the study's own tolerance). ``answers`` holds
    clips with their known scores (STIMULUS/SCORE): of those the score itself is judged, and right
    when it is within ``tolerance``, in every criterion asked.
    """

    key = "gold_traps"
    title = "Gold clips failed"
    kinds: tuple[str, ...] = ("gold",)
    minimum: float = 1.0
    tolerance: float = 1.0
    answers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        need(0 < self.minimum <= 1, self, _SHARE)
        need(self.tolerance >= 0, self, "tolerance is in points of the scale, from 0 up")
        self._known()

    def reasons(self, table: pd.DataFrame) -> Reasons:
        gold = table[table["trap"].str.startswith(self.kinds)]
        known = gold["stimulus"].map(self._known()).astype("float64")
        near = (gold["score"] - known).abs() <= self.tolerance + 1e-9
        right = near.where(known.notna(), gold["trap_passed"].fillna(False)).astype(bool)
        return _by_share(table, gold, right, self, "gold")

    def describe(self) -> str:
        tolerance = f", within {self.tolerance:g} of the known score" if self.answers else ""
        return (
            f"sessions that answered less than {self.minimum:.0%} of gold clips rightly{tolerance}"
        )

    def lacking(self, table: pd.DataFrame) -> str:
        return _no_kind(table, self.kinds)

    def _known(self) -> dict[str, float]:
        scores = {}
        for text in self.answers:
            stimulus, _, score = text.rpartition("/")
            try:
                scores[stimulus] = float(score)
            except ValueError:
                stimulus = ""
            need(bool(stimulus), self, f"answers are STIMULUS/SCORE, like good/5, not {text!r}")
        return scores


@dataclass(frozen=True)
class FewRatings(Rule):
    """Raters with too few ratings in a task are left out of it; traps and repeats count for none.

    A rater is counted in each criterion, and stays with the criteria where there are enough.
    """

    key = "few_ratings"
    title = "Too few ratings"
    minimum: int = 10

    def __post_init__(self) -> None:
        need(self.minimum >= 1, self, "minimum must be 1 or more")

    def reasons(self, table: pd.DataFrame) -> Reasons:
        rated = (table["trap"] == "") & table["counts"].fillna(True).astype(bool)
        keys = [table[name] for name in ("study", "task", "criterion", "rater")]
        numbers = rated.groupby(keys).transform("sum")
        reasons = where((table["trap"] == "") & (numbers < self.minimum), "")
        for count in numbers[numbers < self.minimum].unique():
            hit = ((numbers == count) & (table["trap"] == "")).to_numpy(dtype=bool)
            reasons[hit] = f"only {count:.0f} of the {self.minimum} ratings needed"
        return reasons

    def describe(self) -> str:
        return f"raters with fewer than {self.minimum} ratings in a task"


def _no_kind(table: pd.DataFrame, kinds: tuple[str, ...]) -> str:
    if table["trap"].str.startswith(kinds).any():
        return ""
    return f"no trap is of a kind that begins with {' or '.join(kinds)}; name it by kinds="


def _by_share(
    table: pd.DataFrame,
    traps: pd.DataFrame,
    right: pd.Series[bool],
    rule: AttentionTraps | GoldTraps,
    what: str,
) -> Reasons:
    """Why each row (n,) goes with its session, from which trap trials were answered rightly.

    A trial has a row for each criterion, and is right where all are. Without a position, the rows
    of one criterion about one clip are as many trials, and nothing says which belong together
    across criteria: a session's right ones are then those of its least right criterion.
    """
    reasons = no_reasons(table)
    if traps.empty:
        return reasons
    of_trial = ["study", "session", "task", "stimulus", "position"]
    rows = traps[[*of_trial, "criterion"]].assign(right=right.astype(bool))
    known = rows["position"].notna()
    trials = rows[known].groupby(of_trial, sort=False)["right"].agg("all").astype(int)
    bare = rows[~known].groupby([*of_trial[:4], "criterion"], sort=False)["right"]
    clips = bare.agg(["sum", "size"]).groupby(of_trial[:4], sort=False)
    counted = trials.groupby(of_trial[:2]).agg(["sum", "size"]).add(
        clips.agg({"sum": "min", "size": "max"}).groupby(of_trial[:2]).sum(), fill_value=0
    ).astype(int)  # fmt: skip
    failed = counted[counted["sum"] < rule.minimum * counted["size"] - 1e-9]
    failures = {
        place: f"its session passed {row['sum']} of {row['size']} {what} traps, "
        f"{rule.minimum:.0%} needed"
        for place, row in failed.iterrows()
    }
    if failures:
        places = zip(table["study"], table["session"], strict=True)
        reasons[:] = [failures.get(place, "") for place in places]
    return reasons
