"""What the metrics page says first: agreement with raters, never beyond theirs; clips to hear."""

import pytest

from analysis.statistics.ceiling_gap import Bounded, gap
from analysis.web.human_correlations import families
from metrics.web import human_correlations
from metrics.web.human_correlations import far_off

CEILING = {"unit": "stimulus", "statistic": "SRCC", "ceiling": 0.9, "ceiling_low": 0.86}
CEILING |= {"ceiling_high": 0.93}


def row(metric, srcc, low, high, unit="stimulus", sign=""):
    ends = {"srcc": srcc, "srcc_low": low, "srcc_high": high}
    return {"metric": metric, "unit": unit, "sign": sign, "n": 24, **ends}


def part(*rows, ceiling=CEILING, points=()):
    """The part of a report, as far as it is read."""
    table = {"about": "MOS", "note": ""}
    return {
        "tables": [
            {**table, "key": "correlations", "rows": list(rows)},
            {**table, "key": "ceiling", "rows": [ceiling] if ceiling else []},
        ],
        "figures": [
            {"key": "stimuli_1", "about": "MOS", "note": "", "x": "a", "rows": list(points)}
        ],
    }


def first(*rows, values=None, **more):
    (family,) = families(part(*rows, **more))
    return human_correlations.page_family(family, lambda metric: values or {})


def test_the_gap_is_that_of_the_sizes_with_an_interval_by_zou_and_donner():
    behind = gap(Bounded(0.6, 0.5, 0.7), Bounded(0.9, 0.86, 0.93))
    assert behind.value == pytest.approx(0.3)
    assert behind.low == pytest.approx(0.3 - (0.04**2 + 0.1**2) ** 0.5)
    assert behind.high == pytest.approx(0.3 + (0.03**2 + 0.1**2) ** 0.5)
    turned = gap(Bounded(-0.6, -0.7, -0.5), Bounded(0.9, 0.86, 0.93))
    assert turned == behind


def test_the_best_metric_is_said_with_what_it_stays_behind_raters():
    told = first(row("utmos", 0.6, 0.5, 0.7), row("srmr", 0.1, -0.2, 0.4))
    assert told["sentence"] == (
        "utmos correlates best with raters: SRCC 0.60 [0.50, 0.70] over 24 stimuli. The human "
        "noise ceiling is 0.90 [0.86, 0.93]. The metric is below it by 0.30 [0.19, 0.40]."
    )
    assert told["rivals"] == []


def test_what_only_describes_a_clip_is_not_said_to_agree_best():
    level, far = row("peak_dbfs", 0.7, 0.6, 0.8), row("srmr", 0.5, 0.4, 0.6, sign="+")
    told = first(level, far)
    assert told["sentence"].startswith("srmr: SRCC 0.50")
    assert [each["metric"] for each in told["metrics"]] == ["srmr", "peak_dbfs"]
    assert told["described"]
    assert first(level)["sentence"].startswith("peak_dbfs: SRCC 0.70")


def test_a_metric_is_never_said_to_agree_better_than_raters_do():
    told = first(row("utmos", 0.95, 0.9, 0.99))
    assert "The metric is not significantly below it (gap −0.05 [" in told["sentence"]
    assert "by −" not in told["sentence"]


def test_metrics_whose_intervals_meet_are_not_ranked():
    told = first(row("a", -0.7, -0.8, -0.5), row("b", 0.6, 0.4, 0.75), row("c", 0.2, 0.0, 0.3))
    assert told["rivals"] == ["b"]
    assert told["sentence"].startswith("a has the largest correlation with raters: SRCC −0.7")


def test_a_metric_without_an_interval_may_be_as_good_as_the_first():
    told = first(row("a", 0.7, 0.6, 0.8), row("b", 0.2, None, None))
    assert told["rivals"] == ["b"]
    assert told["sentence"].startswith("a has the largest correlation with raters: SRCC 0.70")
    told = first(row("a", 0.7, None, None), row("b", 0.2, 0.1, 0.3))
    assert told["rivals"] == ["b"]
    assert told["sentence"].startswith("a has the largest correlation with raters: SRCC 0.70")


def test_what_has_no_direction_stands_after_all_that_have_one():
    told = first(
        row("dnsmos", 0.3, 0.2, 0.4, sign="+"),
        row("peak_dbfs", 0.8, 0.7, 0.9),
        row("srmr", -0.6, -0.7, -0.5, sign="+"),
    )
    assert [each["metric"] for each in told["metrics"]] == ["dnsmos", "srmr", "peak_dbfs"]


def test_nothing_is_minus_zero():
    assert human_correlations.format_estimate(0.5, -0.001, 0.9) == "0.50 [0.00, 0.90]"
    assert human_correlations.format_estimate(-0.5, -0.9, None) == "−0.50"


def test_what_is_not_known_is_said():
    assert "No metric has a defined correlation" in first(row("a", None, None, None))["sentence"]
    assert "too few raters" in first(row("a", 0.5, 0.2, 0.7), ceiling=None)["sentence"]
    assert "no confidence interval" in first(row("a", 0.5, None, None))["sentence"]


def test_a_metric_that_goes_against_its_direction_agrees_with_nobody():
    wrong = row("a", -0.5, -0.7, -0.2, sign="+")
    told = first(wrong, row("b", -0.3, -0.5, -0.1, sign="−"))
    assert told["sentence"].startswith("b: SRCC −0.30")
    assert [(each["metric"], bool(each["gap"])) for each in told["metrics"]] == [
        ("b", True),
        ("a", False),
    ]
    points = [{"title": f"clip-{n}", "x": -float(n), "y": float(n)} for n in range(20)]
    own = {f"clip-{n}": -float(n) for n in range(20)} | {"clip-4": -40.0, "clip-5": None}
    told = first(wrong, row("b", -0.3, -0.5, -0.1, sign="−"), points=points, values=own)
    assert told["clips"][0][1][0]["stimulus"] == "clip-4"  # though the analysis draws the other
    assert "No metric correlates with raters" in first(wrong)["sentence"]
    maybe = first(wrong, row("c", -0.1, -0.4, 0.2, sign="+"), row("d", -0.2, None, None, sign="+"))
    told = {each["metric"]: (each["against"], each["told_against"]) for each in maybe["metrics"]}
    assert told == {"a": (True, True), "c": (True, False), "d": (True, False)}
    assert "not significantly different from 0" in first(row("c", 0.1, -0.2, 0.4))["sentence"]


def test_clips_are_those_of_which_the_ranks_differ_most_by_either_side():
    points = [{"title": f"clip-{n}", "x": float(n), "y": float(n)} for n in range(20)]
    points[3]["x"], points[17]["x"] = 30.0, -1.0
    up, down = first(row("a", 0.8, 0.5, 0.9), points=points)["clips"]
    assert up[1][0]["stimulus"] == "clip-3"
    assert down[1][0]["stimulus"] == "clip-17"
    turned = [{**point, "x": -point["x"]} for point in points]
    again, _ = first(row("a", -0.8, -0.9, -0.5), points=turned)["clips"]
    assert again[1][0]["stimulus"] == "clip-3"


def test_a_length_unlike_all_others_is_found_and_equal_ones_are_not():
    lengths = {f"clip-{n}": 3.0 + 0.1 * (n % 3) for n in range(20)}
    assert far_off(lengths) == []
    assert far_off(lengths | {"cut": 0.4, "long": 60.0}) == [("long", 60.0), ("cut", 0.4)]
    assert far_off({"a": 1.0, "b": 100.0}) == []


def test_tasks_and_metrics_are_called_by_their_titles_and_a_ceiling_is_over_what_was_scored():
    own = {"ceiling": 0.7, "ceiling_low": 0.6, "ceiling_high": 0.8}
    told = part({**row("srmr", 0.6, 0.5, 0.65), **own}, row("my_net", 0.1, -0.2, 0.4))
    (family,) = families(told, {"MOS": "MOS · How good?"}, {"srmr": "SRMR"})
    family = human_correlations.with_titles(family, {"my_net": "Mine", "srmr": "another"})
    shown = human_correlations.page_family(family, lambda metric: {})
    assert (shown["title"], shown["best"]) == ("MOS · How good?", "SRMR")
    assert [each["title"] for each in shown["metrics"]] == ["SRMR", "Mine"]
    assert "0.70 [0.60, 0.80]. The metric is not significantly below" in shown["sentence"]
    assert [each["said"]["ceiling"][:4] for each in shown["metrics"]] == ["0.70", "0.90"]
    assert shown["no_clips"].endswith("at least 8 clips have a score and ratings.")
    alone = first(row("c", 0.1, -0.2, 0.4))
    assert alone["sentence"].endswith("The human noise ceiling is 0.90 [0.86, 0.93].")


def test_of_few_clips_no_metric_is_said_to_agree():
    few = {**row("utmos", 0.94, 0.9, 0.99), "n": 6}
    assert first(few, row("srmr", 0.1, -0.2, 0.4))["sentence"] == (
        "6 stimuli are too few to compare metrics with raters. At least 10 are needed."
    )
