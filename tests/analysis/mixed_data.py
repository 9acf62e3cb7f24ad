"""The reference sets as arrays for mixed models, and ratings simulated with known truth."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from tests.analysis.reference import DATA, expected


@dataclass(frozen=True)
class Set:
    """One reference set, screened as R had it: a frame and the codes of its columns."""

    frame: pd.DataFrame

    @property
    def y(self):
        return self.frame["score"].to_numpy(dtype=np.float64)

    def codes(self, *columns):
        joined = self.frame[list(columns)].astype(str).agg("|".join, axis=1)
        return pd.factorize(joined, sort=True)[0].astype(np.int64)

    def names(self, column="system"):
        return sorted(self.frame[column].unique())

    @property
    def label(self):
        order = {"Machine": 0, "Unclear": 1, "Human": 2}
        return self.frame["label"].map(order).to_numpy(dtype=np.int64)


@cache
def att(name: str) -> Set:
    frame = pd.read_csv(DATA / f"{name}.csv.gz")
    invalid = {(row["rater"], row["batch"]) for row in expected(name)["screening"]["invalid"]}
    kept = [key not in invalid for key in zip(frame["rater"], frame["batch"], strict=True)]
    return Set(frame[np.array(kept) & (frame["is_trap"] == 0)].reset_index(drop=True))


@cache
def mos(name: str, condition: str | None = "isolation") -> Set:
    frame = pd.read_csv(DATA / f"{name}.csv.gz")
    frame = frame[frame["headphones"] == 1]
    if condition is not None:
        frame = frame[frame["condition"] == condition]
    return Set(frame.reset_index(drop=True))


@cache
def posterior_reference(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / f"{name}.bayes.json").read_text("utf-8"))
    return found


def column(rows, key):
    """A column of R's table, null (an infinite df) as infinity."""
    return np.array([np.inf if row[key] is None else row[key] for row in rows], dtype=np.float64)


def values(mapping):
    return np.array(list(mapping.values()), dtype=np.float64)


def simulated(rng, *, raters, conditions, repeats, means, sd_rater, sd_both, sd):
    """Scores of a complete design: (y, rater, condition), each rater rates each one repeatedly."""
    rater, condition, _ = (
        x.reshape(-1) for x in np.indices((raters, conditions, repeats), dtype=np.int64)
    )
    y = np.asarray(means)[condition] + sd_rater * rng.standard_normal(raters)[rater]
    y = y + sd_both * rng.standard_normal((raters, conditions))[rater, condition]
    return y + sd * rng.standard_normal(len(y)), rater, condition
