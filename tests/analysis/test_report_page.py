"""The page of a report: short at first sight, folds with their line, marks at the scale's ends."""

import csv
import io
import json
import re
from html import unescape

import numpy as np
import pytest

from analysis.formatting import interval_text
from analysis.ratings.metric_scores import scores_from_rows
from analysis.report.build import report_of
from analysis.report.html.page import page_html, sections
from analysis.report.writers.exports import report_json, table_csv
from analysis.statistics.options import Options
from tests.analysis.reference import rows_of

PARTS = ("against_people", "agreement", "comparisons", "robustness", "screening")
pytestmark = pytest.mark.usefixtures("without_models", "answer_alone")

QUICK = Options(replicates=200)
FOLD = re.compile(r"<details.*?</details>", re.DOTALL)
LINE = re.compile(r"<summary><span><strong>(.*?)</strong>(.*?)</span></summary>")


def near_the_top(**fields):
    """Few raters who give 5 to A and mostly 1 to B: intervals that run past both ends."""
    scores = {("A", f"r{r}", f"i{i}"): 5 if r or i else 3 for r in range(4) for i in range(3)}
    scores |= {("B", f"r{r}", f"i{i}"): 1 if r or i else 3 for r in range(4) for i in range(3)}
    scores |= {("festival-hts", f"r{r}", f"i{i}"): 1 + r for r in range(4) for i in range(3)}
    return rows_of(scores, **fields)


def scores_of(table):
    stimuli = sorted(set(table["stimulus"]))
    rows = [
        {"stimulus": s, "metric": metric, "version": "1", "value": float(n * (n + 3) % 7)}
        for metric in ("srmr", "level")
        for n, s in enumerate(stimuli)
    ]
    return scores_from_rows(rows)


@pytest.fixture(scope="module")
def report(without_models, answer_alone):
    table = near_the_top()
    return report_of(table, scores_of(table), options=QUICK)


def part(report, name):
    return next(s.html for s in sections(report) if s.id == name)


@pytest.mark.slow
def test_the_answer_and_the_differences_are_open_and_all_else_is_folded(report):
    every = sections(report)
    ids = [s.id for s in every]
    assert ids[:3] == ["answer-1", "differences-1", "in-full-1"]
    assert ids[-1] == "behind"
    assert {"section-metrics", "section-agreement", "section-screening"} < set(ids)
    assert [s.id for s in every if not s.folded] == ["answer-1", "differences-1"]
    first = FOLD.sub("", part(report, "in-full-1"))
    assert (first.count("<svg"), first.count("<table")) == (0, 1)  # the answer draws it
    metrics = FOLD.sub("", part(report, "section-metrics"))
    assert (metrics.count("<svg"), metrics.count("<table")) == (3, 1)


@pytest.mark.slow
def test_every_fold_says_in_one_line_what_is_in_it(report):
    every = sections(report)
    lines = {title: told for s in every for title, told in LINE.findall(s.html)}
    assert set(lines) >= {"Other intervals", "Labels given", "What a perfect metric could reach"}
    assert all(told.startswith(": ") and len(unescape(told)) < 120 for told in lines.values())
    by_id = {s.id: s.line for s in every if s.folded}
    assert all(0 < len(line) < 120 for line in by_id.values())
    two = "Exclusions and Sensitivity analysis"  # of several parts, their titles
    assert by_id["section-screening"] == two
    assert report["provenance"]["table_hash"][:12] in by_id["behind"]


@pytest.mark.slow
def test_differences_that_are_clear_are_counted():
    rng = np.random.default_rng(1)
    scores = {
        (c, f"r{r}", f"i{i}"): float(np.clip(round(mean + rng.normal(0, 0.5)), 1, 5))
        for c, mean in {"A": 4.5, "B": 3, "C": 2.9, "D": 2}.items()
        for r in range(8)
        for i in range(6)
    }
    report = report_of(rows_of(scores), options=QUICK)
    rows = [
        row
        for row in report["contrasts"]
        if (row["breakdown"], row["weighting"]) == ("condition:", "ratings")
        and row["interval"].startswith("two-way")
    ]
    clear = sum(row["claimed"] for row in rows)
    assert 0 < clear < len(rows) == 6
    told = dict(LINE.findall(part({**report, "parts": []}, "in-full-1")))
    assert told["Differences between conditions"].startswith(f": {clear} of {len(rows)} pairs")
    assert any(s.id == "section-screening" for s in sections(report))


@pytest.mark.slow
def test_the_short_table_has_each_metric_per_condition_and_per_stimulus(report):
    shown = FOLD.sub("", part(report, "section-metrics"))
    table = shown.rpartition("<table")[2]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in table.split("<tr>")[2:]]
    units = ("condition", "stimulus", "within conditions")
    assert sorted(row[:2] for row in rows) == [[m, u] for m in ("level", "srmr") for u in units]
    (told,) = [p for p in report["parts"] if p["key"] == "against_people"]
    found = {(row["metric"], row["unit"]): row for row in told["tables"][0]["rows"]}
    for metric, unit, n, spearman, interval, *_ in rows:
        row = found[metric, unit]
        assert spearman == f"{row['srcc']:+.3f}".replace("-", "−")
        if row["srcc_low"] is not None:
            assert interval == interval_text(row["srcc_low"], row["srcc_high"])
        assert n == str(row["n"])


@pytest.mark.slow
def test_no_interval_of_a_mean_leaves_the_scale(report):
    """The ratings are near the top and the bottom: other intervals run past both ends here."""
    two_way = [r for r in report["estimates"] if r["interval"].startswith("two-way")]
    assert min(r["low"] for r in two_way) >= 1
    assert 4.5 < max(r["high"] for r in two_way) <= 5
    rows = list(csv.DictReader(io.StringIO(table_csv(report, "estimates"))))
    written = {float(row["high"]) for row in rows if row["condition"] == "A" and row["high"]}
    assert {r["high"] for r in two_way if r["condition"] == "A"} <= written
    assert json.loads(report_json(report))["estimates"] == report["estimates"]


@pytest.mark.slow
def test_ratings_on_another_scale_are_not_cut():
    table = near_the_top()
    table.loc[0, "score"] = 7.0
    report = report_of(table, options=QUICK)
    assert report["scales"] == {}
    assert "▸" not in FOLD.sub("", page_html(report))


@pytest.mark.slow
def test_names_do_not_break_and_a_note_is_told_once(report):
    html = part(report, "in-full-1")
    assert '<th scope="row" class="nowrap">festival-hts</th>' in html
    assert html.count("All: only 3 raters or items: a rough interval.") == 1


@pytest.mark.slow
def test_a_note_about_a_whole_group_names_the_group():
    table = near_the_top()
    table["dimension"] = ["poetry" if item == "i0" else "prose" for item in table["item"]]
    html = part(report_of(table, options=QUICK), "in-full-1")
    assert "poetry: one item only: how items differ cannot be estimated." in html


@pytest.mark.slow
def test_a_report_of_an_earlier_version_can_still_be_shown(report):
    older = json.loads(report_json(report))
    older.pop("scales")
    for row in older["exclusions"]:
        row.pop("ratings_told")
    page = page_html(older)
    assert "Data and methods" in page
    assert "▸" not in FOLD.sub("", part(older, "in-full-1"))
