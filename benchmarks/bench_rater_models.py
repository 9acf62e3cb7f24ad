"""Models of raters and rules against the truth of simulated studies: the table in estimators.md.

    .venv/bin/python -m benchmarks.bench_rater_models

60 raters, of whom a quarter is careless, rate some of 200 clips; labels Human, Unclear, Machine
and scores of 1 to 5. Careless raters guess labels evenly or give one and the same, and their scores
have three times the noise. Of ten studies each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from analysis.ratings.cells import COLUMNS
from analysis.ratings.table import from_rows
from analysis.statistics.rater_models import dawid_skene, severity
from analysis.statistics.screening.rule_text import rule_from
from analysis.statistics.screening.screened import screen

RATERS, CLIPS, CARELESS, STUDIES = 60, 200, 0.25, 10
RULES = ("correlation", "disagreement")


def main() -> None:
    """One line for each number of clips per rater."""
    for clips in (10, 20, 40):
        found = [study(clips, seed) for seed in range(STUDIES)]
        means = {name: float(np.mean([each[name] for each in found])) for name in found[0]}
        print(clips, {name: round(value, 2) for name, value in means.items()})


def study(clips: int, seed: int) -> dict[str, float]:
    """Areas under the ROC curve of each model, and whom each rule takes, in one study."""
    rng = np.random.default_rng(seed)
    careful = rng.random(RATERS) > CARELESS
    unit = np.concatenate([rng.choice(CLIPS, clips, replace=False) for _ in range(RATERS)])
    rater = np.repeat(np.arange(RATERS), clips)
    truth = rng.choice(3, CLIPS, p=[0.5, 0.2, 0.3])
    right = rng.random(len(unit)) < np.where(careful, 0.75, 0.0)[rater]
    same = rng.random(RATERS) < 0.5
    guess = np.where(same[rater] & ~careful[rater], (rater * 7) % 3, rng.integers(0, 3, len(unit)))
    label = np.where(right, truth[unit], guess)
    code = np.unique(unit, return_inverse=True)[1]
    noise = np.where(careful, 0.6, 1.8)
    latent = rng.normal(3, 0.8, CLIPS)[unit] + rng.normal(0, 0.4, RATERS)[rater]
    y = np.clip(np.rint(latent + noise[rater] * rng.normal(size=len(unit))), 1, 5)
    values = {
        "dawid_skene": dawid_skene(code, rater, label, 3, pseudo=0.5).informedness,
        "noise": -severity(code, rater, y).noise,
    }
    areas = {name: area(value, careful) for name, value in values.items()}
    return areas | taken(unit, rater, y, careful)


def area(value: np.ndarray, careful: np.ndarray) -> float:
    """How often a careful rater has the higher value than a careless one."""
    ranks, n = stats.rankdata(value), int(careful.sum())
    return float((ranks[careful].sum() - n * (n + 1) / 2) / (n * int((~careful).sum())))


def taken(
    unit: np.ndarray, rater: np.ndarray, y: np.ndarray, careful: np.ndarray
) -> dict[str, float]:
    """The share of careless and of careful raters that each rule takes, with its usual numbers."""
    blank: dict[str, Any] = dict.fromkeys(COLUMNS, "") | {
        **{"study": "s", "task": "t", "method": "mos", "criterion": "c", "estimand": "mos"},
        **{"condition": "a", "session_status": "finished", "paid": False, "position": None},
        **dict.fromkeys(("trap_passed", "latency_ms", "plays", "heard_fraction")),
    }
    rows = [
        blank
        | {"item": f"i{u}", "stimulus": f"x{u}", "rater": f"{r}", "session": f"{r}"}
        | {"score": float(score), "label": f"{score:g}"}
        for u, r, score in zip(unit, rater, y, strict=True)
    ]
    table = from_rows(rows)
    found = {}
    for key in RULES:
        rule = rule_from(key)
        gone = set(table["rater"][screen(table, [rule]).reasons[rule] != ""])
        hit = np.array([f"{code}" in gone for code in range(len(careful))])
        found |= {f"{key}_careless": hit[~careful].mean(), f"{key}_careful": hit[careful].mean()}
    return found


if __name__ == "__main__":
    main()
