"""Metrics and people in a report: what it says, bad cases, and the files that scores come from."""

import importlib
import json

import numpy as np
import pandas as pd
import pytest
from django.core.management import CommandError, call_command

from analysis.ratings.breakdowns import families
from analysis.ratings.metric_scores import (
    directions,
    ranges,
    reasons,
    scores_from_file,
    scores_from_rows,
)
from analysis.ratings.problems import RatingsError, RatingsWarning
from analysis.ratings.score_joining import join_scores
from analysis.ratings.table import from_csv, from_rows, to_csv
from analysis.report.build import report_of, scores_hash
from analysis.report.condition_labels import label_report
from analysis.report.html.page import page_html
from analysis.report.part import Part, PartInput
from analysis.report.parts.against_people.metric_data import family_scores
from analysis.report.pipeline import plain_of
from analysis.report.writers.exports import scores_csv
from analysis.report.writers.markdown import report_markdown
from analysis.statistics.options import Options
from analysis.statistics.screening.screened import screen
from tests.analysis.reference import BLANK, DATA
from tests.analysis.shown_by import in_keys
from tests.analysis.test_against import compared, study

QUICK = Options(replicates=200)
PARTS = ("against_people", "clip_validation", "trap_detection", "lfs")
pytestmark = pytest.mark.usefixtures("without_models", "answer_alone")
ATT = {"task": "att", "method": "att", "estimand": "hls", "criterion": "human"}


def scores(metric, name="m", **more):
    given = {"metric": name, "version": "1", **more}
    return [{"stimulus": s, "value": v, **given} for s, v in metric.items()]


def given_of(table, given):
    return PartInput(table, screen(table, ()), QUICK, given)


def made(table, given=None, key="against_people"):
    """The part alone, as a report would hold it."""
    shown = Part.registry[key]().make(given_of(table, given))
    return json.loads(json.dumps(in_keys(plain_of(shown.plain())), allow_nan=False))


def part(report, key="against_people"):
    found = next(each for each in report["parts"] if each["key"] == key)
    json.dumps(found, allow_nan=False)
    return found


def rows(told, key):
    return next(each["rows"] for each in told["tables"] if each["key"] == key)


@pytest.fixture(scope="module")
def report(without_models, answer_alone):
    table, metric, _ = study(np.random.default_rng(1))
    worse = {name: 10 - value for name, value in metric.items()}
    net = {name: min(5.2, max(1.0, value)) for name, value in metric.items()}
    short = dict.fromkeys(list(metric)[:3]) | dict(list(metric.items())[3:])
    given = [
        *scores(net, "mos_net", higher_is_better=True, low=1.0, high=5.0),
        *scores(worse, "wrong_way", higher_is_better=True),
        *scores(short, "gaps", reason="too short, 0.2 s", title="A gappy one"),
        *scores(short, "gaps_too", reason="too short, 0.2 s"),
        *scores(dict.fromkeys(metric, 3.0), "judge_flat"),
        *scores(metric, "n_words"),
        *scores({"elsewhere": 1.0}, "other"),
    ]
    return report_of(table, scores_from_rows(given), QUICK)


@pytest.mark.slow
def test_the_report_says_who_goes_with_people_and_what_could_be_reached(report):
    told = part(report)
    assert not told["problem"]
    assert "of 5 metrics, " in told["sentences"][0]
    assert "; 3 others may as well: their intervals reach its own; with" in told["sentences"][0]
    assert "a perfect metric could reach about 0." in told["sentences"][0]
    assert "Over these 4 conditions it has SRCC" in told["sentences"][0]
    assert "for other conditions too [" in told["sentences"][0]
    assert "4 of 4 metrics have an SRCC per stimulus significantly" in told["sentences"][1]
    assert "not counted, judge_flat: the metric is constant" in told["sentences"][1]
    found = {(row["metric"], row["unit"]): row for row in rows(told, "correlations")}
    row = found["mos_net", "stimulus"]
    assert 0 < row["srcc_low"] < row["srcc"] < row["srcc_high"] < row["ceiling"] + 0.1
    assert row["sign"] == "+"
    assert row["p"] < row["p_holm"]
    assert found["gaps", "stimulus"]["n_missing"] == 3
    assert found["judge_flat", "stimulus"]["srcc"] is None
    assert "n_words" not in {metric for metric, _ in found}


@pytest.mark.slow
def test_bad_cases_are_in_words_and_never_nan(report):
    told = " ".join(part(report)["warnings"])
    assert "4 conditions only, so a correlation over them says little" in told
    why = "have no value for 3 of 48 stimuli (clips, too short: 3); they are left out"
    assert f"A gappy one and gaps_too {why}" in told
    assert "judge_flat: the metric is constant" in told
    assert "wrong_way goes against its direction" in told
    assert "other gave no value for any clip that was rated here" in told
    for text in (page_html(report), report_markdown(report)):
        assert "nan" not in text.lower().replace("chinan", "").split()
        assert "Metrics and human scores" in text or "Metrics against people" in text


@pytest.mark.slow
def test_a_ceiling_stands_beside_every_coefficient_and_is_over_the_clips_that_were_scored(report):
    found = {(row["metric"], row["unit"]): row for row in rows(part(report), "correlations")}
    every, some = (found[name, "stimulus"]["ceiling"] for name in ("mos_net", "gaps"))
    assert 0 < some < 1
    assert some != every
    assert found["gaps_too", "stimulus"]["ceiling"] == some
    tops = rows(part(report), "ceiling")
    assert {row["scored_by"] for row in tops} == {"", "A gappy one and gaps_too"}
    for row in rows(part(report), "numbers"):
        if row["statistic"] in ("SRCC", "PLCC", "KRCC"):
            assert (row["ceiling"] is None) == bool(row["ceiling_note"])
    assert "(ceiling 0." in part(report)["figures"][0]["note"]


@pytest.mark.slow
def test_readers_see_titles_and_data_have_keys(report):
    named = label_report(report)
    assert "A gappy one" in {row["metric"] for row in rows(part(named), "correlations")}
    kept = label_report(report, metrics=False)
    assert "gaps" in {row["metric"] for row in rows(part(kept), "correlations")}
    assert "| A gappy one |" in report_markdown(report)
    other = scores_from_rows(scores({"a": 1.0}, title="Other"))
    assert scores_hash(other) == scores_hash(scores_from_rows(scores({"a": 1.0})))


@pytest.mark.slow
def test_points_have_intervals_on_both_axes_and_stimuli_are_told(report):
    figures = {each["key"]: each for each in part(report)["figures"]}
    for row in figures["conditions_1"]["rows"]:
        assert row["x_low"] < row["x"] < row["x_high"]
        assert row["low"] < row["y"] < row["high"]
    assert len(figures["stimuli_1"]["rows"]) in (45, 48)  # of gaps, or of another
    assert figures["stimuli_1"]["rows"][0]["title"].startswith("c0_")
    assert figures["stimuli_1"]["rows"][0]["group"] == "c0"


@pytest.mark.slow
def test_errors_before_and_after_the_mapping(report):
    found = {(row["metric"], row["unit"]): row for row in rows(part(report), "mapped")}
    row = found["mos_net", "stimulus"]  # on the raters' scale by its range
    assert row["rmse_after"] < row["rmse_before"] * 1.1
    assert row["qwk_before"] is not None
    assert found["wrong_way", "stimulus"].get("rmse_before") is None
    assert "4 of the 8" in found["mos_net", "condition"]["note"]


@pytest.mark.medium
def test_the_range_says_which_metrics_are_on_the_raters_scale():
    table, metric, _ = study(np.random.default_rng(2), items=6)
    inside = {name: min(4.9, max(1.2, value)) for name, value in metric.items()}
    given = [
        *scores(inside, "opinion", low=1.0, high=5.0),
        *scores(inside, "unbounded", low=0.0),  # such as SRMR: in 1 to 5 by chance
        *scores(inside, "mos_of_100", low=0.0, high=100.0),
        *scores(inside, "annoyance", low=1.0, high=5.0, higher_is_better=False),
        *scores(inside, "nobody_says"),
        *scores({name: 9.0 + value for name, value in inside.items()}, "mos_above"),
    ]
    found = family_scores(next(families(table)), given_of(table, scores_from_rows(given)))
    assert found.same_scale == {"opinion", "nobody_says"}
    told = ranges(scores_from_rows(given))
    assert (told["unbounded"], told["nobody_says"]) == ((0.0, None), None)


@pytest.mark.slow
def test_parts_of_one_report_share_the_numbers(monkeypatch):
    table, metric, _ = study(np.random.default_rng(2), items=4)
    module = importlib.import_module("analysis.report.parts.against_people.metric_data")
    told, made = [], module.correlations
    monkeypatch.setattr(module, "correlations", lambda *a: told.append(1) or made(*a))
    options = Options(replicates=200, preset="lfs")
    report = report_of(table, scores_from_rows(scores(metric)), options)
    assert {"against_people", "lfs"} <= {each["key"] for each in report["parts"]}
    assert part(report, "lfs")["tables"]
    assert len(told) == 1


@pytest.mark.slow
def test_few_conditions_and_failed_metrics_are_said(report):
    told = part(report)
    note = next(each["note"] for each in told["tables"] if each["key"] == "correlations")
    assert "With 4 conditions an SRCC takes few values" in note
    assert "Holm's over the 4 metrics that have one" in note  # judge_flat has no p
    assert "within conditions: the metric is constant" in note
    found = {(row["metric"], row["unit"]): row for row in rows(told, "correlations")}
    assert 0 < found["mos_net", "within conditions"]["ceiling"] < 1


@pytest.mark.slow
def test_a_metric_that_failed_on_every_clip_says_why():
    table, metric, _ = study(np.random.default_rng(2), items=4)
    given = [
        *scores(metric),
        *scores(dict.fromkeys(metric), "dead", reason="no weights, see the log"),
    ]
    told = " ".join(made(table, scores_from_rows(given))["warnings"])
    assert "dead gave no value for any clip that was rated here (no weights: 16)" in told


@pytest.mark.slow
def test_no_score_for_what_was_rated_is_said_so():
    table, _, _ = study(np.random.default_rng(2))
    with pytest.raises(ValueError, match="No rated stimulus has a metric score"):
        made(table, scores_from_rows(scores({"x": 1.0})))


@pytest.mark.slow
def test_a_report_without_scores_has_neither_part():
    table, _, _ = study(np.random.default_rng(2), items=3)
    for key in ("against_people", "trap_detection"):
        assert not Part.registry[key]().applies(given_of(table, None))


@pytest.mark.slow
def test_preferences_of_pairs_stand_in_a_table():
    signs = {f"i{i}": [1.0 if i % 4 else -1.0, 2.0 if i % 4 else -2.0] for i in range(12)}
    metric = {f"a{i}": 1.0 for i in signs} | {f"b{i}": 0.0 for i in signs}
    metric["ai4"] = -1.0
    told = made(compared(signs), scores_from_rows(scores(metric)))
    (row,) = rows(told, "preferences")
    assert row["share"] == pytest.approx(10 / 12)
    assert "m prefers the clip that people prefer in 83 %" in " ".join(told["sentences"])
    assert rows(told, "correlations")[0]["unit"] == "pair"


def with_traps():
    traps = [
        {**BLANK, **ATT, "rater": f"r{r}", "session": f"r{r}", "condition": kind, "trap": kind}
        | {"stimulus": f"{kind}{n}", "item": f"{kind}{n}", "label": "Human", "score": 1.0}
        | {"trap_passed": True}
        for kind, many in (("human", 6), ("flawed", 4))
        for n in range(many)
        for r in range(2)
    ]
    rated = [
        {**BLANK, **ATT, "rater": f"r{r}", "session": f"r{r}", "condition": f"c{n % 3}"}
        | {"stimulus": f"s{n}", "item": f"s{n}", "label": "Human", "score": float((n + r) % 2)}
        for n in range(9)
        for r in range(2)
    ]
    return from_rows(traps + rated)


@pytest.mark.slow
def test_metrics_are_judged_on_the_trap_clips():
    human = {f"human{n}": 0.9 - 0.1 * n for n in range(6)}  # 0.4 and below 0.5 is missed
    flawed = {f"flawed{n}": 0.1 + 0.1 * n for n in range(4)}
    other = {name: 10 * value for name, value in (human | flawed).items()}
    given = scores_from_rows([*scores(human | flawed, "auto_att"), *scores(other, "srmr")])
    told = made(with_traps(), given, "trap_detection")
    found = {row["metric"]: row for row in rows(told, "detection")}
    assert found["auto_att"]["f1"] == pytest.approx(10 / 11)
    assert found["srmr"]["f1"] is None
    assert found["srmr"]["f1_best"] == found["auto_att"]["f1_best"]
    assert found["auto_att"]["auc"] == found["srmr"]["auc"] > 0.9
    assert [each["key"] for each in told["figures"]] == ["f1_curve", "f1_curve_of_1"]
    assert "6 human and 4 flawed trap clips are few" in told["warnings"][0]
    with pytest.raises(ValueError, match="score the study's trap clips too"):
        made(with_traps(), scores_from_rows(scores({"s1": 1.0})), "trap_detection")


def test_scores_are_read_from_csv_and_mistakes_are_named(tmp_path):
    path = tmp_path / "scores.csv"
    head = "sha256,stimulus,metric,version,value,higher_is_better,reason\n"
    path.write_text(head + "x,s1,m,1,2.5,false,\nx,s2,m,1,,false,too short\n")
    table = scores_from_file(path)
    assert table["value"].tolist()[0] == 2.5
    assert np.isnan(table["value"].tolist()[1])
    assert directions(table) == {"m": False}
    assert reasons(table, "m", ["s1", "s2", "s3"]) == {
        "not scored, or the run broke": 1,
        "too short": 1,
    }
    path.write_text(scores_csv(table.to_dict("records")))
    pd.testing.assert_frame_equal(scores_from_file(path), table)
    path.write_text("stimulus,metric,version,value\ns1,m,1,abc\n")
    with pytest.raises(RatingsError, match=r"scores.csv, row 2, column value: 'abc'"):
        scores_from_file(path)
    path.write_text("stimulus,value\ns1,1\n")
    with pytest.raises(RatingsError, match="no column metric"):
        scores_from_file(path)
    path.write_text("stimulus;metric;version;value;higher_is_better\ns1;m;1;2.5;true\n")
    with pytest.warns(RatingsWarning, match="separated by semicolons"):
        assert directions(scores_from_file(path)) == {"m": True}
    path.write_text("stimulus,metric,version,value,higher-is-better\ns1,m,1,2.5,true\n")
    with pytest.raises(RatingsError, match="higher-is-better looks like higher_is_better"):
        scores_from_file(path)
    with pytest.raises(RatingsError, match="no such file"):
        scores_from_file(tmp_path / "none.csv")


def test_json_lines_name_files_and_keep_sets_of_parameters_apart(tmp_path):
    path = tmp_path / "scores.jsonl"
    lines = [
        {"file": f"/clips/s{n}.wav", "metric": "srmr", "version": "1", "value": float(n)}
        | {"parameters": {"variant": variant}, "reason": ""}
        for n in range(3)
        for variant in ("slow", "fast")
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    table = scores_from_file(path)
    assert set(table["metric"]) == {"srmr[variant=slow]", "srmr[variant=fast]"}
    named, _ = join_scores(table, ["s0", "s1"])
    assert set(named["stimulus"]) == {"s0", "s1", "/clips/s2.wav"}
    with pytest.raises(RatingsError, match=r"ratings have a, b \(2 in all\), the scores /clips"):
        join_scores(table, ["b", "a"])
    path.write_text('{"metric": "m"}\n')
    with pytest.raises(RatingsError, match="line 1: names no clip; give metric, value"):
        scores_from_file(path)
    path.write_text('{"metric": "m", "file": "a", "value": 1}\nno json\n')
    with pytest.raises(RatingsError, match=r"scores\.jsonl, line 2: no JSON"):
        scores_from_file(path)


@pytest.mark.slow
def test_the_command_refuses_scores_of_other_clips(tmp_path):
    ratings = tmp_path / "ratings.csv"
    table, metric, _ = study(np.random.default_rng(3), items=3)
    to_csv(table, ratings)
    assert len(from_csv(ratings)) == len(table)
    path = tmp_path / "scores.csv"
    path.write_text(scores_csv(scores({f"x_{name}": v for name, v in metric.items()})))
    with pytest.raises(CommandError, match="no stimulus of the scores is among those"):
        call_command("analyse", str(ratings), "--scores", str(path))
    path.write_text(scores_csv(scores({f"clips/{name}.flac": v for name, v in metric.items()})))
    call_command("analyse", str(ratings), "--scores", str(path), "--out", str(tmp_path / "out"),
                 "--everything", "--figures", "none", "--replicates", "100")  # fmt: skip
    written = tmp_path / "out" / "tables" / "against-people-numbers.csv"
    assert "SRCC" in written.read_text()
    assert (DATA / "align_s1.scores.csv").exists()
