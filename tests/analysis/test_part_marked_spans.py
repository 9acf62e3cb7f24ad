"""Spans that raters mark, from the answer over the report's tables to TextGrids."""

from __future__ import annotations

import io
import json
from random import Random
from statistics import fmean
from zipfile import ZipFile

import numpy as np
import pytest
from django.urls import reverse

from analysis.models import AnalysisRun
from analysis.ratings.table import from_csv, from_rows, to_csv
from analysis.report.build import report_of
from analysis.report.html.page import page_html
from analysis.report.parts.marking.spans import TimedClip, met_marks, shares_in_time
from analysis.report.writers.clip_files import mark_textgrids
from analysis.report.writers.marks_textgrid import textgrid
from analysis.statistics.agreement.krippendorff import krippendorff_alpha
from analysis.statistics.agreement.marked_words import agreement_of_marks
from analysis.statistics.clustered_variance import limits_of_means
from analysis.statistics.intervals import clustered
from analysis.statistics.options import Options
from analysis.web.jobs import run_analysis
from listening.audio import lead_in_s
from listening.methods.error_spans import ErrorSpan, read_spans, shifted_label
from listening.methods.marking import ERRORS_PER_MINUTE
from listening.methods.marks import NO_ERRORS
from listening.models import Item, Stimulus
from listening.selectors import method_facts, rating_rows
from listening.sessions import lifecycle
from listening.sessions.simulated_raters.opinions import KnownClip, Opinions, Truth
from tests import factories
from tests.analysis.simulation import bounds, sizes

PARTS = ("marking",)
pytestmark = pytest.mark.usefixtures("answer_alone")
SAID = (  # of four raters, in seconds of the upload
    "1.000-1.200:glitch",
    "1.100-1.300:glitch 2.000-2.500:noise",
    "1.150-1.250:stress",
    NO_ERRORS,
)
TRIMMED_S, DURATION_S, TEXT = 0.5, 3.0, "Glue the sheet to the wall."


def marked_study():
    study = factories.make_study(
        conditions=2,
        items=2,
        task={
            "method": "marking",
            "key": "errors",
            "options": {"mark": "waveform"},
            "block_size": 2,
            "ratings_per_stimulus": 2,
        },
    )
    Stimulus.objects.update(trimmed_s=TRIMMED_S, duration_s=DURATION_S)
    Item.objects.filter(pk=study.items.first().pk).update(text=TEXT)
    for number in range(4):
        session = factories.arrive(study)
        while (trial := factories.current(session)) is not None:
            later_s = lead_in_s(trial.stimulus.served, trial.pk, 0) - TRIMMED_S
            label = shifted_label(SAID[number], later_s)
            lifecycle.record_answer(session, factories.an_answer(trial, label))
    return study


def test_spans_are_counted_mapped_and_written_as_json_and_textgrids(db, tmp_path):
    study = marked_study()
    rows = list(rating_rows(study.key))
    table = from_rows(rows)
    path = tmp_path / "ratings.csv"
    to_csv(table, path)
    assert set(from_csv(path)["estimand"]) == {"errors_per_minute"}
    report = report_of(table, options=Options(replicates=100), facts=method_facts(study.key))
    (part,) = [each for each in report["parts"] if each["key"] == "marking"]
    assert not part["problem"]
    tables = {each["key"]: each["rows"] for each in part["tables"]}
    assert all("minute" in column["heading"] for column in part["tables"][0]["columns"][2:3])
    for row in tables["errors"]:
        if row["kind"] in ("All kinds", "Noise"):
            named = ":" if row["kind"] == "All kinds" else "noise"
            own = [r for r in rows if r["condition"] == row["condition"]]
            counted = [60 * r["label"].count(named) / DURATION_S for r in own]
            assert row["errors"] == pytest.approx(fmean(counted))
    means = {r["condition"]: r["value"] for r in report["estimates"]}
    all_kinds = [r for r in tables["errors"] if r["kind"] == "All kinds"]
    assert {r["condition"]: r["errors"] for r in all_kinds} == pytest.approx(means)
    item = study.items.first().key
    for row in tables["errors_words"]:  # of the item with a text alone
        own = [r for r in rows if (r["condition"], r["item"]) == (row["condition"], item)]
        if row["kind"] == "All kinds":
            counted = [100 * r["label"].count(":") / len(TEXT.split()) for r in own]
            assert row["errors"] == pytest.approx(fmean(counted))
    content = json.loads(part["files"]["marks.json"])
    assert {tuple(clip["heard_s"]) for clip in content["clips"]} == {(0.5, 3.5)}
    marks = [m for c in content["clips"] for a in c["answers"] for m in a["marks"]]
    assert len(marks) == sum(row["marks"] for row in all_kinds)
    places = tables["marked_places"]
    assert sum(row["marked"] for row in places) == len(marks)
    grids = mark_textgrids(report)
    assert len(grids) == len(content["clips"]) == 4
    assert "Share of raters who marked each moment" in page_html(report)


@pytest.mark.slow
def test_the_results_page_offers_textgrids(db, client):
    study = marked_study()
    client.force_login(study.owner)
    run = AnalysisRun.objects.create(
        study=study, estimator="mean_score", parameters=Options(replicates=100).parameters()
    )
    run_analysis(run.pk)
    page = client.get(reverse("results", args=[study.key])).content.decode()
    names = [study.key, "marking-textgrids.zip"]
    address = f"{reverse('results-file', args=names)}?run={run.pk}"
    assert f'href="{address}"' in page
    with ZipFile(io.BytesIO(client.get(address).content)) as archive:
        assert len(archive.namelist()) == 4
        assert all(name.endswith(".TextGrid") for name in archive.namelist())


CLIP = {
    "stimulus": "a1",
    "heard_s": [0.5, 3.5],
    "answers": [
        {
            "rater": 'R "one"',
            "marks": [
                {"start_s": 1.0, "end_s": 2.0, "kind": "noise"},
                {"start_s": 1.2, "end_s": 1.4, "kind": "glitch"},
                {"start_s": 2.0, "end_s": 2.5, "kind": "glitch"},
            ],
        },
        {"rater": "R2", "marks": [{"start_s": 1.3, "end_s": 3.5, "kind": "stress"}]},
        {"rater": "R3", "marks": []},
    ],
}


def test_praat_libraries_read_what_was_written(tmp_path):
    """Marks of one rater that overlap are on two tiers; the first counts raters."""
    path = tmp_path / "a1.TextGrid"
    path.write_text(textgrid(CLIP), encoding="utf-8")
    praatio = pytest.importorskip("praatio.textgrid")
    grid = praatio.openTextgrid(str(path), includeEmptyIntervals=False)
    assert (grid.minTimestamp, grid.maxTimestamp) == (0, 3.5)
    read = {tier.name: [tuple(entry) for entry in tier.entries] for tier in grid.tiers}
    assert read == {
        "raters": [(1.0, 1.3, "1/3"), (1.3, 2.5, "2/3"), (2.5, 3.5, "1/3")],
        'R "one"': [(1.0, 2.0, "noise"), (2.0, 2.5, "glitch")],
        'R "one" (2)': [(1.2, 1.4, "glitch")],
        "R2": [(1.3, 3.5, "stress")],
        "R3": [],
    }


def test_the_lines_of_a_textgrid_are_those_of_the_format():
    """Praat's manual, “TextGrid file formats”: names, times and texts line by line, no gaps."""
    lines = textgrid({**CLIP, "answers": CLIP["answers"][1:2]}).splitlines()
    assert lines[:2] == ['File type = "ooTextFile"', 'Object class = "TextGrid"']
    assert [line.strip() for line in lines[lines.index("    item [2]:") :]] == [
        "item [2]:",
        'class = "IntervalTier"',
        'name = "R2"',
        "xmin = 0",
        "xmax = 3.500",
        "intervals: size = 2",
        *("intervals [1]:", "xmin = 0.000", "xmax = 1.300", 'text = ""'),
        *("intervals [2]:", "xmin = 1.300", "xmax = 3.500", 'text = "stress"'),
    ]


def clip_of(**spans):
    named = {rater: [ErrorSpan(*span) for span in own] for rater, own in spans.items()}
    return TimedClip("a1", "a", "i1", "en", 0.5, 2.5, named)


def test_agreement_over_frames_is_krippendorffs_alpha_of_the_frames():
    clip = clip_of(
        r1=[(1.0, 1.5, "noise"), (1.2, 1.3, "glitch")],
        r2=[(1.1, 1.6, "noise")],
        r3=[(2.0, 2.1, "glitch")],
    )
    counts = clip.counts(["glitch", "noise"])
    assert counts.shape == (200, 3)
    frames = {  # of 10 ms from 0.5 s on, by hand: the category of each rater
        "r1": [2 if 50 <= k < 100 and not 70 <= k < 80 else int(70 <= k < 80) for k in range(200)],
        "r2": [2 * (60 <= k < 110) for k in range(200)],
        "r3": [int(150 <= k < 160) for k in range(200)],
    }
    by_hand = np.array(list(frames.values()))
    assert counts.T.tolist() == [(by_hand == c).sum(axis=0).tolist() for c in range(3)]
    rater, unit = np.indices(by_hand.shape)
    alpha = krippendorff_alpha(
        unit.ravel(), rater.ravel(), by_hand.ravel().astype(float), "nominal", replicates=2
    )
    found = agreement_of_marks(counts, np.zeros(200, dtype=np.int64), replicates=0)
    assert found.alpha == pytest.approx(alpha.value)
    # two marks of r1 meet r2 and not r3; that of r2 meets r1; that of r3 nobody
    assert met_marks([clip]) == pytest.approx((2 + 1 + 0) / (2 * 2 + 1 * 2 + 1 * 2))
    times = dict(shares_in_time(clip))
    assert len(times) == 40
    assert times[1.225] == pytest.approx(2 / 3, abs=1e-4)
    assert fmean(times.values()) == pytest.approx((by_hand > 0).mean(), abs=1e-4)


def rates_of(truth, raters, stimuli, duration_s=6.0):
    kinds = ("stress", "glitch")
    for number in raters:
        rater = Opinions(truth, number)
        for clip in stimuli(number):
            known = KnownClip("a", f"s{clip}", duration_s=duration_s, later_s=0.1)
            label = rater.spans(known, kinds, careless=False)
            yield number, clip, 60 * len(read_spans(label, kinds)) / duration_s


def test_simulated_raters_mark_as_many_spans_as_the_truth_says():
    truth = Truth(3, {"a": -0.2})
    found = fmean(y for _, _, y in rates_of(truth, range(2500), lambda _: [0]))
    assert found == pytest.approx(truth.errors_per_minute("a", "s0", 6.0), abs=0.6)
    many = fmean(y for _, _, y in rates_of(truth, range(400), lambda n: [n]))
    assert many == pytest.approx(truth.errors_per_minute("a"), abs=1.4)


@pytest.mark.slow
@sizes(60, 1000)
def test_intervals_of_errors_per_minute_hold_the_truth(runs):
    """40 new raters mark 12 of 60 new clips of 6 s each time; the truth is that of all of both."""
    held = 0
    for run in range(runs):
        truth = Truth(run, {"a": -0.4})
        drawn = [Random(f"{run}/{rater}").sample(range(60), 12) for rater in range(40)]
        rows = list(rates_of(truth, range(40), drawn.__getitem__))
        rater, item, score = (np.array(column) for column in zip(*rows, strict=True))
        codes = (np.unique(each, return_inverse=True)[1] for each in (rater, item))
        zero = np.zeros(len(score), dtype=np.int64)
        low, high = ERRORS_PER_MINUTE.scale_for(score.min(), score.max())
        means = clustered(score, zero, *codes, 1, ends=(low, high))
        low, high = (float(each[0]) for each in limits_of_means(means).bounds(0.05))
        held += low <= truth.errors_per_minute("a") <= high
    low, high = bounds(0.94, 0.96, of=1000, runs=runs)
    assert low <= held / runs <= high
