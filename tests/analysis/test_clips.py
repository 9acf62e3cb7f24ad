"""Scores of individual clips: by hand, against simulated truth, as files, of awkward ratings."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from django.core.management import call_command
from scipy import stats

from analysis.ratings.breakdowns import families
from analysis.ratings.grouping import Breakdown
from analysis.ratings.table import from_rows, to_csv
from analysis.report.build import report_of
from analysis.report.pipeline import chosen_parts
from analysis.report.writers.bundle import BundleChoice, bundle
from analysis.report.writers.clip_files import COLUMNS, clip_files
from analysis.statistics.agreement.rater_bias import bt500, subject_model
from analysis.statistics.options import Options, OptionsError, breakdown_from, command_line
from analysis.statistics.single_clips import ALL_EQUAL, ITEM, ONE_RATER, clip_scores
from tests.analysis.part_of import part_of, rows_of_table
from tests.analysis.reference import BLANK, rows_of
from tests.analysis.simulation import bounds, sizes

PARTS = ("clip_scores",)
pytestmark = pytest.mark.usefixtures("without_models", "answer_alone")

STIMULUS = Options(breakdowns=(Breakdown("stimulus"),), rules=(), replicates=100)


def scores_of(table, by="stimulus", level=0.95):
    (family,) = families(table)
    return clip_scores(family, by, level)


def by_name(found, name="stimulus"):
    return {row[name]: row for row in found.frame.to_dict("records")}


def simulated(rng, clips=40, raters=20, each=8):
    """Whole scores of 1 to 5: quality SD 0.7, bias 0.4, noise 0.4 to 1.1; and the qualities."""
    quality, bias = rng.normal(3.2, 0.7, clips), rng.normal(0, 0.4, raters)
    noise = rng.uniform(0.4, 1.1, raters)
    rows = [
        BLANK
        | {"rater": f"r{r}", "session": f"r{r}", "condition": f"c{k % 4}", "voice": f"v{k % 2}"}
        | {"item": f"i{k // 4:02}", "stimulus": f"s{k:03}"}
        | {"score": float(np.clip(round(quality[k] + bias[r] + noise[r] * rng.normal()), 1, 5))}
        for k in range(clips)
        for r in rng.choice(raters, each, replace=False)
    ]
    return from_rows(rows), quality


def test_the_mean_of_a_clip_has_the_t_interval_of_its_ratings():
    scores = {("A", f"r{r}", "x"): y for r, y in enumerate([3.0, 4.0, 4.0, 5.0, 2.0])}
    found = by_name(scores_of(rows_of(scores | {("A", "r0", "y"): 1.0}), level=0.9))
    row, y = found["A_x"], np.array([3.0, 4.0, 4.0, 5.0, 2.0])
    low, high = stats.t.interval(0.9, 4, y.mean(), stats.sem(y))
    assert (row["n_ratings"], row["n_raters"], row["mean"]) == (5, 5, pytest.approx(3.6))
    assert (row["sd"], row["se"]) == pytest.approx((y.std(ddof=1), stats.sem(y)))
    assert (row["low"], row["high"]) == pytest.approx((low, high))
    assert (row["note"], found["A_y"]["note"]) == ("", ONE_RATER)
    assert np.isnan(found["A_y"]["low"])
    assert np.isnan(found["A_y"]["sd"])


def test_ratings_that_are_all_equal_have_no_interval_and_say_so():
    found = scores_of(rows_of({("A", f"r{r}", i): 4.1 for r in range(3) for i in "xy"}))
    assert list(found.frame["note"]) == [ALL_EQUAL] * 2
    assert list(found.frame["sd"]) == [0, 0]
    assert found.frame["low"].isna().all()


def test_a_rater_who_rated_an_item_often_counts_as_one():
    """Of an item over its conditions: clustered by rater, with R / (R - 1)."""
    scores = {
        (c, f"r{r}", "x"): float(1 + (2 * r + k) % 5) for r in range(4) for k, c in enumerate("AB")
    }
    row = by_name(scores_of(rows_of(scores), ITEM), ITEM)["x"]
    y = np.array(list(scores.values())).reshape(4, 2)
    means = y.mean(axis=1)
    assert (row["n_ratings"], row["n_raters"], row["mean"]) == (8, 4, pytest.approx(y.mean()))
    assert row["se"] == pytest.approx(stats.sem(means))
    half = stats.t.ppf(0.975, 3) * stats.sem(means)
    assert row["high"] - row["mean"] == pytest.approx(half)
    assert "stimulus" not in row
    assert "condition" not in row


@pytest.mark.medium
def test_recovered_scores_are_the_subject_models_and_an_items_are_their_mean():
    table, _ = simulated(np.random.default_rng(1))
    found = scores_of(table)
    model = subject_model(table["stimulus"], table["rater"], table["score"])
    rows = by_name(found)
    for name, quality, se in zip(model.units, model.quality, model.quality_se, strict=True):
        assert rows[name]["recovered"] == pytest.approx(quality, abs=1e-8)
        assert rows[name]["recovered_se"] == pytest.approx(se, abs=1e-8)
        assert rows[name]["recovered_high"] == pytest.approx(quality + 1.959964 * se, abs=1e-5)
    frame, item = found.frame, by_name(scores_of(table, ITEM), ITEM)["i00"]
    own = frame[frame["item"] == "i00"]
    assert len(own) == 4
    assert item["recovered"] == pytest.approx(own["recovered"].mean())
    assert item["recovered_se"] == pytest.approx(np.sqrt((own["recovered_se"] ** 2).sum()) / 4)
    assert (frame["recovered_unbiased_se"] > frame["recovered_se"]).mean() > 0.9


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.medium
def test_recovered_scores_are_nearer_the_truth_than_means(seed):
    table, quality = simulated(np.random.default_rng(seed), clips=200, raters=30)
    found = scores_of(table)
    frame = found.frame

    def off(name):
        centred = frame[name] - frame[name].mean() - quality + quality.mean()
        return float(np.sqrt((centred**2).mean()))

    assert off("recovered_unbiased") < 0.95 * off("mean")
    lone = "stands at the floor of inconsistency" in found.published.note  # seed 0: all weight
    assert lone == (seed == 0)
    assert (off("recovered") > off("mean")) == lone


def reference_bt500(table):
    """ITU-R BT.500-13, annex 2, 2.3.1, step by step."""
    above, below = {}, {}
    for _, own in table.groupby("stimulus"):
        y = own["score"].to_numpy()
        m2, m4 = (np.mean((y - y.mean()) ** k) for k in (2, 4))
        if m2 == 0:
            continue
        far = (2 if 2 <= m4 / m2**2 <= 4 else np.sqrt(20)) * y.std(ddof=1)
        for rater, score in zip(own["rater"], y, strict=True):
            above[rater] = above.get(rater, 0) + (score >= y.mean() + far)
            below[rater] = below.get(rater, 0) + (score <= y.mean() - far)
    n = table["rater"].value_counts()
    return {
        rater
        for rater in above
        if (above[rater] + below[rater]) / n[rater] > 0.05
        and abs(above[rater] - below[rater]) / (above[rater] + below[rater]) < 0.3
    }


def erratic(rng, clips=60, raters=18):
    """One of 18 raters answers at random, one is always a step higher."""
    quality = rng.normal(3.0, 0.3, clips)
    y = np.clip(np.round(quality[:, None] + rng.normal(0, 0.5, (clips, raters))), 1, 5)
    y[:, 0], y[:, 1] = rng.choice([1.0, 5.0], clips), np.minimum(y[:, 1] + 1, 5)
    return rows_of(
        {("A", f"r{r:02}", f"i{k:02}"): y[k, r] for k in range(clips) for r in range(raters)}
    )


@pytest.mark.medium
def test_bt500_rejects_who_is_off_to_both_sides_and_the_means_go_without():
    table = erratic(np.random.default_rng(3))
    found = scores_of(table)
    assert set(found.rejected) == reference_bt500(table) == {"r00"}
    judged = {each.rater: each for each in found.screened}
    assert judged["r00"].above > 3
    assert judged["r00"].row()["below"] > 3
    left = table[table["rater"] != "r00"].groupby("stimulus")["score"]
    assert found.frame["bt500_mean"].to_numpy() == pytest.approx(left.mean().to_numpy())
    assert found.frame["bt500_sd"].to_numpy() == pytest.approx(left.std().to_numpy())
    assert set(found.frame["bt500_n"]) == {17}
    assert set(found.frame["n_ratings"]) == {18}


def test_bt500_leaves_equal_ratings_and_few_of_them_alone():
    assert not any(each.above or each.below for each in bt500(list("aabb"), [1, 2] * 2, [3.0] * 4))
    five = bt500(["a"] * 5, range(5), [1.0, 1.0, 1.0, 1.0, 5.0])
    assert not any(each.above for each in five)
    wide = [1.0, 5.0] + [2.0, 4.0] * 2 + [3.0] * 10  # kurtosis 4, SD 0.894
    far = bt500(["a"] * 16, [f"{n:02}" for n in range(16)], wide)
    assert [(each.below, each.above) for each in far[:3]] == [(1, 0), (0, 1), (0, 0)]
    assert far[0].rejected is False  # to one side


@pytest.mark.medium
def test_pairs_stand_one_way_round_with_their_scores():
    kind = {"method": "cmos", "estimand": "cmos", "criterion": "", "item": "x"}
    rows = [
        BLANK | kind | {"rater": f"r{n}", "session": f"r{n}", "score": score}
        | {"condition": a, "versus_condition": b, "stimulus": f"{a}_x", "versus_stimulus": f"{b}_x"}
        | {"system": a}
        for n, (a, b, score) in enumerate(
            [("A", "B", 2.0), ("B", "A", -1.0), ("A", "B", 0.0), ("A", "C", 1.0), ("A", "C", 2.0)]
        )
    ]  # fmt: skip
    found = scores_of(from_rows(rows))
    assert "system" not in found.frame
    first = found.frame.iloc[0].to_dict()
    assert [first[name] for name in ("stimulus", "versus_stimulus")] == ["A_x", "B_x"]
    assert (first["n_ratings"], first["mean"]) == (3, 1.0)
    assert len(found.frame) == 2
    assert len(scores_of(from_rows(rows), ITEM).frame) == 2  # an item of each pair of conditions


def test_a_clip_after_another_context_is_another_clip():
    rows = [
        BLANK | {"method": "context_mos", "estimand": "context_mos", "rater": f"r{n}"}
        | {"session": f"r{n}", "condition": "A", "item": "x", "stimulus": "A_x"}
        | {"context": f"k{n % 2}", "score": float(3 + n % 2)}
        for n in range(6)
    ]  # fmt: skip
    frame = scores_of(from_rows(rows)).frame
    assert list(frame["context"]) == ["k0", "k1"]
    assert list(frame["mean"]) == [3.0, 4.0]


@pytest.mark.medium
def test_ratings_that_name_no_clip_are_left_out_and_counted():
    named = rows_of({("A", f"r{r}", "x"): 1.0 + r for r in range(3)})
    bare = rows_of({("A", f"r{r}", "y"): 1.0 + r for r in range(2)}).assign(stimulus="")
    found = scores_of(pd.concat([named, bare], ignore_index=True))
    assert (len(found.frame), found.unnamed) == (1, 2)
    shown = part_of("clip_scores", pd.concat([named, bare], ignore_index=True), STIMULUS)
    assert any("2 ratings name no clip" in text for text in shown["warnings"])
    with pytest.raises(ValueError, match="name the clips in the column stimulus"):
        part_of("clip_scores", bare, STIMULUS)


@pytest.mark.medium
def test_where_a_rater_has_all_weight_the_part_says_so():
    table, _ = simulated(np.random.default_rng(0), clips=200, raters=30, each=5)
    told = " ".join(part_of("clip_scores", table, STIMULUS)["warnings"])
    assert "P.910, as published: 2 raters stand at the floor of inconsistency" in told
    assert "do not rest on its scores" in told
    assert "P.910, unbiased" not in told
    assert "fewer than 6 ratings a clip: BT.500 can reject nobody" in told


@pytest.mark.medium
def test_the_part_shows_a_head_and_names_the_files():
    table, _ = simulated(np.random.default_rng(2))
    shown = part_of("clip_scores", table, STIMULUS)
    assert "40 clips with 8 ratings each; half of the means are known to ±" in shown["sentences"][0]
    rows = rows_of_table(shown, "clips")
    assert len(rows) == 10
    assert rows[0]["mean_low"] < rows[0]["mean"] < rows[0]["mean_high"]
    (head,) = shown["tables"]
    assert "all are in clips.csv and clips.json" in head["note"]
    assert len(list(csv.reader(io.StringIO(shown["files"]["clips.csv"])))) == 41


@pytest.mark.medium
def test_several_criteria_share_one_file_with_their_names():
    table, _ = simulated(np.random.default_rng(2), clips=12)
    both = [table.assign(criterion=name) for name in ("=cmd()", "quality")]
    shown = part_of("clip_scores", pd.concat(both, ignore_index=True), STIMULUS)
    rows = list(csv.DictReader(io.StringIO(shown["files"]["clips.csv"])))
    assert [row["criterion"] for row in rows] == ["'=cmd()"] * 12 + ["quality"] * 12
    assert {row["voice"] for row in rows} == {"v0", "v1"}
    assert "system" not in rows[0]
    origin = {"level": 0.95, "table_hash": "h", "code": "c"}
    files = clip_files({"provenance": origin}, shown)
    told = json.loads(files["clips.json"])
    assert told["columns"] == COLUMNS
    assert told["provenance"]["table_hash"] == "h"
    assert told["rows"][0]["criterion"] == "=cmd()"
    (first, *_) = csv.DictReader(io.StringIO(files["clips.csv"]))
    for name, value in told["rows"][0].items():
        assert first[name] == (str(value) if name != "criterion" else "'=cmd()")
    assert (first["level"], first["table_hash"], first["code"]) == ("0.95", "h", "c")


def test_asking_for_clips_adds_their_part_and_leaves_the_tables():
    assert breakdown_from("stimulus") == Breakdown("stimulus")
    assert breakdown_from("item:") == Breakdown("item")
    assert "clip_scores" not in {part.key for part in chosen_parts(Options())}
    for options in (STIMULUS, Options(parts=("clip_scores",))):
        assert "clip_scores" in {part.key for part in chosen_parts(options)}
    assert STIMULUS.compared == []
    assert "--by stimulus:" in command_line(STIMULUS)
    with pytest.raises(OptionsError, match="write --by stimulus"):
        breakdown_from("stimulus:voice")
    with pytest.raises(OptionsError, match="choose voice"):
        breakdown_from("clip")


@pytest.mark.slow
def test_a_bundle_holds_the_clips_beside_the_report(tmp_path):
    table, _ = simulated(np.random.default_rng(4), clips=12)
    both = (Breakdown("stimulus"), Breakdown("item"), Breakdown(by=("voice",)))
    options = Options(breakdowns=both, rules=(), replicates=100)
    report = report_of(table, options=options, made_at="now")
    assert report["provenance"]["breakdowns"] == ["condition:", "condition:voice"]
    bundle(report, table, None, tmp_path, BundleChoice(figures=False))
    clips = pd.read_csv(tmp_path / "clips.csv")
    assert len(clips) == 12
    assert set(clips["table_hash"]) == {report["provenance"]["table_hash"]}
    told = json.loads((tmp_path / "clips.json").read_text("utf-8"))["rows"]
    assert [row["mean"] for row in told] == list(clips["mean"])
    assert len(json.loads((tmp_path / "items.json").read_text("utf-8"))["rows"]) == 3
    assert not (tmp_path / "more").exists()
    assert "clips.csv" in (tmp_path / "README.txt").read_text("utf-8")


@pytest.mark.slow
def test_the_command_writes_the_clips_or_says_how(tmp_path, capsys):
    table, _ = simulated(np.random.default_rng(4), clips=12)
    to_csv(table, tmp_path / "mine.csv")
    call_command("analyse", str(tmp_path / "mine.csv"), "--by", "stimulus")
    said = capsys.readouterr().out
    assert "12 clips with 8 ratings each" in said
    assert "--out DIR writes the scores of each into clips.csv." in said


@pytest.mark.slow
@pytest.mark.no_cover
@sizes(6, 60)
def test_the_interval_of_a_clips_mean_holds(runs):
    """For other raters: the mean of the score over the biases and noises that raters may have."""
    held = []
    for seed in range(runs):
        table, quality = simulated(np.random.default_rng(seed))
        frame = scores_of(table).frame
        truth = expected(quality)
        known = frame["low"].notna()
        held += list(((frame["low"] <= truth) & (truth <= frame["high"]))[known])
    low, high = bounds(0.92, 0.97, of=2400, runs=len(held))
    assert low <= np.mean(held) <= high


def expected(quality):
    """The mean whole score of clips (n,) over new raters."""
    noise = np.linspace(0.4, 1.1, 30)
    cuts = np.array([1.5, 2.5, 3.5, 4.5])
    z = (cuts - np.asarray(quality)[:, None, None]) / np.hypot(noise, 0.4)[:, None]
    return 1 + stats.norm.sf(z).sum(axis=2).mean(axis=1)
