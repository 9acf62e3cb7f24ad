"""Table 3 of the Audio Turing Test and Tables 4 and 5 of LFS-Bench, from data that have them.

Their raw data are not public. The labels and scores here were sought (for LFS-Bench by simulated
annealing over `lfs_judges.csv`) until their statistics were the published ones; nothing else about
them is the papers'.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from analysis.ratings.breakdowns import families
from analysis.ratings.metric_scores import scores_from_rows
from analysis.ratings.table import from_rows
from analysis.report.content import Table
from analysis.report.part import PartInput
from analysis.report.parts.att import Labels, systems
from analysis.report.parts.lfs import Lfs
from analysis.statistics.options import Options
from analysis.statistics.screening.screened import screen
from tests.analysis.reference import BLANK, DATA
from tests.analysis.shown_by import in_keys

PUBLISHED = DATA / "published"
# Of each system: its labels, and the middle of the raters' chances to call it human.
SOUGHT = {
    "Seed-TTS": (2900, 0.4056),
    "MiniMax-Speech": (2900, 0.3592),
    "Step-Audio": (2900, 0.2445),
    "CosyVoice": (4500, 0.1681),
    "GPT-4o": (2900, 0.0309),
}
RATERS, LENIENT, BY_SYSTEM = 857, 0.3227, 0.0915  # how many; the SDs of their chances
TABLES = {
    "richness": "lfs_table4_expressive_richness_alignment.csv",
    "hierarchy": "lfs_table5_expressive_hierarchy_alignment.csv",
}


def published(name: str) -> list[dict[str, str]]:
    with (PUBLISHED / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def standard(x: Any) -> Any:
    return (x - x.mean(axis=0)) / x.std(axis=0)


def labels() -> Iterator[dict[str, Any]]:
    """Human, Unclear or Machine, of 857 raters with a chance of their own for each system."""
    rng = np.random.default_rng(3)
    lenient = standard(rng.normal(size=RATERS))
    own = standard(rng.normal(size=(RATERS, len(SOUGHT))))
    draws = [rng.random(count) for count, _ in SOUGHT.values()]
    for place, (name, (count, middle)) in enumerate(SOUGHT.items()):
        chances = np.clip(middle + LENIENT * lenient + BY_SYSTEM * own[:, place], 0, 1)
        for n in range(count):
            chance, rater = chances[n % RATERS], f"r{n % RATERS}"
            unclear = 0.1 * min(chance, 1 - chance)  # on either side of the chance
            label, score = "Machine", 0.0
            if draws[place][n] < chance + unclear:
                label, score = "Unclear", 0.5
            if draws[place][n] < chance - unclear:
                label, score = "Human", 1.0
            yield BLANK | {
                "method": "att", "estimand": "hls", "criterion": "human", "task": "att",
                "system": name, "condition": name, "item": f"i{n % 200}",
                "stimulus": f"{name}{n % 200}", "rater": rater, "session": rater,
                "label": label, "score": score,
            }  # fmt: skip


@pytest.mark.slow
def test_table_3_of_the_turing_test_comes_out() -> None:
    """Means and SDs digit by digit; the paper's intervals are 3.6 to 4 of its SDs wide."""
    table = from_rows(labels())
    (family,) = families(table)
    inputs = PartInput(table, screen(table), Options(seed=1))
    made, _, spreads = systems(Labels(family, "system", inputs, "HLS", ""))
    printed = published("att_table3_glmm.csv")
    assert [row["system"] for row in made.rows] == [row["system"] for row in printed]
    for row, paper in zip(made.rows, printed, strict=True):
        mean, sd = float(paper["posterior_mean"]), float(paper["posterior_sd"])
        assert row["posterior_text"] == f"{mean:.3f} ({sd:.3f})"
        assert row["posterior_low"] == pytest.approx(float(paper["hdi95_low"]), abs=0.004)
        assert row["posterior_high"] == pytest.approx(float(paper["hdi95_high"]), abs=0.004)
    told = {row["what"]: row for row in spreads.rows}
    for name, sd, low, high in (
        ("Raters (how lenient)", "0.234", 0.222, 0.246),
        ("Raters by system", "0.108", 0.100, 0.116),
    ):
        assert f"{told[name]['sd']:.3f}" == sd
        assert told[name]["low"] == pytest.approx(low, abs=0.003)
        assert told[name]["high"] == pytest.approx(high, abs=0.003)


PREDICTORS = {
    "UTMOS": "utmos",
    "UTMOSv2": "utmosv2",
    "SQUIM-MOS": "squim_mos",
    "DNS-MOS": "dns_mos",
}


def label_of(aspect: str, judge: str) -> str:
    """The suite's judge of this aspect with this model; of a predictor of MOS its own name."""
    return PREDICTORS.get(judge) or f"judge_expressive_{aspect}[model={judge}]"


def alignment(aspect: str) -> tuple[Table, str]:
    """Ten raters in half steps of 200 clips, whose means are sought, and the judges' scores."""
    clips = published("lfs_judges.csv")
    rows, scores = [], []
    for n, clip in enumerate(clips):
        whole, more = divmod(round(20 * float(clip[f"human_{aspect}"])), 10)  # half points in all
        for rater in range(10):
            score = (whole + (rater < more)) / 2
            rows.append(
                BLANK
                | {
                    "criterion": f"expressive_{aspect}",
                    "condition": "all",
                    "item": f"i{n}",
                    "stimulus": f"c{n}",
                }
                | {"rater": f"A{rater + 1}", "session": f"A{rater + 1}", "score": score}
                | {"label": f"{score:g}"}
            )
        for name, value in clip.items():
            kind, _, judge = name.partition(" ")
            if kind == aspect:
                own = {"stimulus": f"c{n}", "metric": label_of(aspect, judge), "version": "1"}
                scores.append(own | {"value": float(value)})
    table = from_rows(rows)
    options = Options(seed=1, replicates=100)
    shown = in_keys(Lfs().make(PartInput(table, screen(table), options, scores_from_rows(scores))))
    (found,) = [table for table in shown.tables if table.key == "alignment"]
    return found, " ".join(shown.sentences)


@pytest.mark.parametrize("aspect", TABLES)
@pytest.mark.medium
def test_the_judges_of_lfs_bench_stand_as_printed(aspect: str) -> None:
    printed = published(TABLES[aspect])
    shown, sentence = alignment(aspect)
    scores = {r["who"]: r for r in shown.rows if r["kind"] in ("judge", "metric")}
    assert scores.keys() == {label_of(aspect, row["judge"]) for row in printed}
    for row in printed:
        mine = scores[label_of(aspect, row["judge"])]
        for measure in ("plcc", "srcc", "qwk", "mae"):
            digits = len(row[measure].partition(".")[2])
            assert f"{mine[measure]:.{digits}f}" == row[measure], (row["judge"], measure)
    best = max(printed, key=lambda row: float(row["srcc"]))
    own = label_of(aspect, best["judge"])
    assert next(iter(scores)) == own
    judges = sum(row["judge"] not in PREDICTORS for row in printed)
    assert f"of {judges} scores of this aspect, {own} correlates most closely" in sentence
    assert shown.title.startswith(f"Tables {4 if aspect == 'richness' else 5} and 6 of LFS-Bench")
