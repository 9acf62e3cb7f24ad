"""Cloned and converted voices: the parts find the truth that ratings were drawn from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.ratings.breakdowns import families
from analysis.ratings.metric_scores import scores_from_rows
from analysis.ratings.table import from_rows
from analysis.report.parts.voice_cloning import VoiceCloning
from analysis.report.parts.voice_conversion import VoiceConversion, same_shares
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.options import Options
from tests.analysis.reference import BLANK
from tests.analysis.shown_by import given_of, in_keys, table_named

QUICK = Options(replicates=100)
SMOS = {"recording": 4.2, "clone-a": 3.7, "clone-b": 2.4}
CMOS = {"clone-a": -0.2, "clone-b": -1.4}
SAME = {"source": 0.05, "target": 0.95, "vc-a": 0.7, "vc-b": 0.3}
RATERS, ITEMS = 30, 24


def row(method: str, condition: str, rater: int, item: int, score: float, **more: Any) -> Any:
    return BLANK | {
        "task": method,
        "method": method,
        "estimand": method,
        "criterion": "c",
        "condition": condition,
        "role": "reference" if condition in ("recording", "source", "target") else "test",
        "rater": f"r{rater}",
        "session": f"r{rater}",
        "item": f"i{item}",
        "split": "seen" if item % 2 else "unseen",
        "stimulus": f"{condition}-i{item}",
        "score": score,
        **more,
    }


def cloning(seed: int = 1, *, backwards: bool = False) -> pd.DataFrame:
    """SMOS is half a point higher for seen speakers; CMOS says the same of both."""
    rng = np.random.default_rng(seed)
    rows = []
    lenient, easy = rng.normal(0, 0.2, RATERS), rng.normal(0, 0.15, ITEMS)
    for r in range(RATERS):
        for i in range(ITEMS):
            for name, mean in SMOS.items():
                score = mean + lenient[r] + easy[i] + rng.normal(0, 0.4) + (0.25, -0.25)[i % 2 == 0]
                prompt = {"versus_condition": "prompt", "versus_stimulus": f"prompt-i{i}"}
                rows.append(row("smos", name, r, i, float(np.clip(score, 1, 5)), **prompt))
            for name, mean in CMOS.items():
                score = float(np.clip(mean + rng.normal(0, 0.6), -3, 3))
                other = "recording"
                if backwards:
                    name, other, score = other, name, -score
                versus = {"versus_condition": other, "versus_stimulus": f"{other}-i{i}"}
                rows.append(row("cmos", name, r, i, score, presented_first="rated", **versus))
    return from_rows(rows)


def conversion(
    seed: int = 1, raters: int = RATERS, items: int = ITEMS, with_mos: bool = True
) -> pd.DataFrame:
    """Raters and items move the odds that a clip is called the same speaker."""
    rng = np.random.default_rng(seed)
    rows = []
    lenient, easy = rng.normal(0, 0.5, raters), rng.normal(0, 0.5, items)
    for r in range(raters):
        for i in range(items):
            for name, share in SAME.items():
                logit = np.log(share / (1 - share)) + lenient[r] + easy[i]
                same = rng.random() < 1 / (1 + np.exp(-logit))
                score = float(rng.choice((3, 4) if same else (1, 2)))
                prompt = {"versus_condition": "voice", "versus_stimulus": f"voice-i{i}"}
                rows.append(row("speaker_similarity", name, r, i, score, **prompt))
                natural = float(np.clip(round(3 + rng.normal(0, 0.7)), 1, 5))
                if with_mos:
                    rows.append(row("mos", name, r, i, natural))
    return from_rows(rows)


def shown(part: Any, table: pd.DataFrame, scores: pd.DataFrame | None = None) -> Any:
    given = replace(given_of(table, QUICK), scores=scores)
    assert part().applies(given)
    return in_keys(part().make(given))


@pytest.mark.medium
@pytest.mark.parametrize("backwards", [False, True])
def test_the_table_of_cloned_voices_holds_the_truth(backwards: bool) -> None:
    content = shown(VoiceCloning, cloning(backwards=backwards))
    rows = {each["condition"]: each for each in table_named(content, "systems").rows}
    for name, truth in CMOS.items():
        assert rows[name]["cmos_low"] <= truth <= rows[name]["cmos_high"]
    for name, truth in SMOS.items():
        assert rows[name]["smos_low"] <= truth <= rows[name]["smos_high"]
        assert rows[name]["smos_high"] - rows[name]["smos_low"] < 0.4
    assert (rows["recording"]["cmos"], rows["recording"]["cmos_low"]) == (0.0, None)
    assert "smos_mark" not in rows["recording"]
    assert rows["clone-a"]["smos_mark"] == "best"
    assert "clone-a has the highest SMOS of 2 systems" in content.sentences[0]
    (figure,) = content.figures
    points = {each["name"]: each for each in figure.rows}
    assert points["clone-b"]["x"] == rows["clone-b"]["cmos"]
    assert (points["clone-b"]["low"], points["clone-b"]["high"]) == (
        rows["clone-b"]["smos_low"],
        rows["clone-b"]["smos_high"],
    )


def test_seen_and_unseen_speakers_stand_apart() -> None:
    rows = table_named(shown(VoiceCloning, cloning()), "by_split").rows
    smos = {(each["split"], each["condition"]): each["smos"] for each in rows}
    for name in SMOS:
        assert smos["seen", name] - smos["unseen", name] == pytest.approx(0.5, abs=0.25)


def scored(table: pd.DataFrame) -> pd.DataFrame:
    """SIM goes with the mean SMOS of a clip, WER is the same for all."""
    means = table[table["estimand"] == "smos"].groupby("stimulus")["score"].mean()
    return scores_from_rows(
        {"stimulus": name, "metric": metric, "version": "1", "value": value}
        for name, mean in means.items()
        for metric, value in (("speaker_similarity", mean / 5), ("wer", 0.04))
    )


@pytest.mark.medium
def test_metrics_stand_beside_and_sim_is_held_against_its_ceiling() -> None:
    table = cloning()
    content = shown(VoiceCloning, table, scored(table))
    rows = {each["condition"]: each for each in table_named(content, "systems").rows}
    assert rows["clone-a"]["wer"] == pytest.approx(4.0)
    assert rows["clone-a"]["speaker_similarity"] == pytest.approx(rows["clone-a"]["smos"] / 5)
    clips, systems = table_named(content, "aligned").rows
    assert (clips["unit"], clips["n"], systems["n"]) == ("clips", 3 * ITEMS, 3)
    assert clips["srcc"] == pytest.approx(1.0)  # it is the raters' own mean
    assert 0.9 < clips["srcc_ceiling"] <= 1.0


def test_the_table_of_converted_voices_holds_the_shares() -> None:
    table = conversion()
    content = shown(VoiceConversion, table)
    rows = {each["condition"]: each for each in table_named(content, "conversion").rows}
    own = table[table["method"] == "speaker_similarity"]
    for name in SAME:
        said = 100 * (own.loc[own["condition"] == name, "score"] >= 3).mean()
        assert rows[name]["same_percent_speaker_similarity"] == pytest.approx(said)
    points = {each["condition"]: each for each in table_named(content, "points").rows}
    mean = own.loc[own["condition"] == "vc-a", "score"].mean()
    assert points["vc-a"]["mean_speaker_similarity"] == pytest.approx(mean)
    plane, answers = content.figures
    assert {each["name"]: each["group"] for each in plane.rows} == {
        "source": "recording",
        "target": "recording",
        "vc-a": "system",
        "vc-b": "system",
    }
    assert sum(each["value"] for each in answers.rows if each["name"] == "vc-a") == pytest.approx(1)


def test_a_share_of_same_has_the_interval_of_a_label_s_share() -> None:
    """With two answers alone, the share of one label is the share of “same”."""
    table = conversion(raters=12, items=8)
    table = table[table["method"] == "speaker_similarity"].copy()
    table["score"] = np.where(table["score"] >= 3, 4.0, 1.0)
    table["label"] = table["score"].map("{:g}".format)
    (family,) = families(table)
    shares = same_shares(family, 0.95)
    for each in MeanScore().shares(table):
        if each.estimand == "share of 4" and not each.interval.startswith("naive"):
            mine = shares[each.condition]
            assert (mine.value, mine.low, mine.high) == pytest.approx(
                (each.value, each.low, each.high)
            )


def covered(studies: int) -> float:
    """How often the interval of “same” holds the share over all raters and items."""
    rng = np.random.default_rng(0)
    spread = rng.normal(0, np.hypot(0.5, 0.5), 200_000)
    truth = {
        name: float(np.mean(1 / (1 + np.exp(-(np.log(s / (1 - s)) + spread)))))
        for name, s in SAME.items()
    }
    hits = []
    for seed in range(studies):
        (family,) = families(conversion(seed, raters=20, items=15, with_mos=False))
        for name, each in same_shares(family, 0.95).items():
            assert each.low is not None
            assert each.high is not None
            hits.append(each.low <= truth[name] <= each.high)
    return float(np.mean(hits))


@pytest.mark.slow
def test_the_interval_of_same_covers_roughly() -> None:
    assert covered(25) >= 0.88


@pytest.mark.soak
def test_the_interval_of_same_covers() -> None:
    assert 0.93 <= covered(400) <= 0.985
