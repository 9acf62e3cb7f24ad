"""What raters mark, from the answer over the stored score to the report's tables and its file."""

from __future__ import annotations

import json
from random import Random
from statistics import fmean

import numpy as np
import pytest
from django.urls import reverse

from analysis.models import AnalysisRun
from analysis.ratings.metric_scores import scores_from_rows
from analysis.ratings.table import from_rows
from analysis.report.build import report_of
from analysis.report.html.page import page_html
from analysis.report.parts.marking.words import words_heard
from analysis.statistics.agreement.krippendorff import krippendorff_alpha
from analysis.statistics.agreement.marked_words import agreement_of_marks
from analysis.statistics.clustered_variance import limits_of_means
from analysis.statistics.intervals import clustered
from analysis.statistics.options import Options
from analysis.web.jobs import run_analysis
from listening.methods.marks import NO_ERRORS, read_marks
from listening.models import Item, Rating
from listening.selectors import method_facts, rating_rows
from listening.sessions import lifecycle
from listening.sessions.simulated_raters.opinions import KnownClip, Opinions, Spread, Truth
from listening.sessions.task_rules import Refused
from tests import factories
from tests.analysis.simulation import bounds, sizes

PARTS = ("marking",)
pytestmark = pytest.mark.usefixtures("answer_alone")
TEXTS = ["Glue the sheet to the dark-blue wall.", "It's easy to tell the depth of a well."]  # 7, 9


def marked_study(**options):
    study = factories.make_study(
        conditions=2,
        items=2,
        task={
            "method": "marking",
            "key": "errors",
            "options": options,
            "block_size": 2,
            "ratings_per_stimulus": 2,
        },
    )
    items = study.items.filter(stimuli__trap="").distinct().order_by("key")
    for item, text in zip(items, TEXTS, strict=True):
        Item.objects.filter(pk=item.pk).update(text=text)
    return study


def test_marks_are_stored_counted_mapped_and_written_to_a_file(db):
    study = marked_study()
    texts = dict(study.stimuli.values_list("pk", "item__text"))
    said = {  # by text: of raters 0 and 2, of raters 1 and 3
        TEXTS[0]: ("2:glitch 6-7:stress", "6:stress"),
        TEXTS[1]: ("9:missing", NO_ERRORS),
    }
    for number in range(4):
        session = factories.arrive(study)
        while (trial := factories.current(session)) is not None:
            label = said[texts[trial.stimulus_id]][number % 2]
            lifecycle.record_answer(session, factories.an_answer(trial, label))
    assert dict(Rating.objects.values_list("label", "score")) == pytest.approx(
        {"2:glitch 6-7:stress": 200 / 7, "6:stress": 100 / 7, "9:missing": 100 / 9, NO_ERRORS: 0}
    )
    rows = list(rating_rows(study.key))
    assert {row["estimand"] for row in rows} == {"errors_per_100_words"}
    clips = {row["stimulus"]: row["item"] for row in rows}
    by_text = dict(study.items.values_list("key", "text"))
    heard = [
        {
            **{"stimulus": stimulus, "metric": "wer", "version": "1", "value": 0.1},
            "hypothesis": by_text[item].replace("the sheet", "a sheet").replace(" well", ""),
        }
        for stimulus, item in clips.items()
    ]
    report = report_of(
        from_rows(rows),
        options=Options(replicates=100),
        facts=method_facts(study.key),
        scores=scores_from_rows(heard),
    )
    (part,) = [each for each in report["parts"] if each["key"] == "marking"]
    tables = {table["key"]: table["rows"] for table in part["tables"]}
    length = {item: len(text.split()) for item, text in by_text.items()}
    names = {"All kinds": ":", "Wrong stress": "stress", "Missing": "missing", "Noise": "noise"}
    for row in tables["errors"]:
        if row["kind"] in names:
            own = [r for r in rows if r["condition"] == row["condition"]]
            counted = [100 * r["label"].count(names[row["kind"]]) / length[r["item"]] for r in own]
            assert row["errors"] == pytest.approx(fmean(counted))
    means = {r["condition"]: r["value"] for r in report["estimates"]}
    all_kinds = [r for r in tables["errors"] if r["kind"] == "All kinds"]
    assert {r["condition"]: r["errors"] for r in all_kinds} == pytest.approx(means)
    words = {(r["condition"], r["word"]): r for r in tables["marked_words"]}
    first = all_kinds[0]["condition"]
    assert len(tables["marked_words"]) == 2 * (7 + 9)
    assert words[first, "dark-blue"]["share"] == 1.0
    assert words[first, "dark-blue"]["kind"] == "Wrong stress"
    assert words[first, "well."]["recogniser"] == "(left out)"
    assert words[first, "sheet"]["recogniser"] is None
    beside = tables["recogniser"][0]
    assert (beside["wrong"], beside["others"]) == (4, 28)  # “the” and “well.” in two systems
    content = json.loads(part["files"]["marks.json"])
    assert content["kinds"]["stress"] == "Wrong stress"
    assert sum(len(answer["marks"]) for c in content["clips"] for answer in c["answers"]) == sum(
        r["marks"] for r in all_kinds
    )
    assert "Share of raters who marked each word" in page_html(report)


@pytest.mark.slow
def test_the_results_page_offers_the_file_of_marks(db, client):
    study = marked_study()
    client.force_login(study.owner)
    for _ in range(4):
        session = factories.arrive(study)
        while (trial := factories.current(session)) is not None:
            lifecycle.record_answer(session, factories.an_answer(trial, "2:glitch"))
    run = AnalysisRun.objects.create(
        study=study, estimator="mean_score", parameters=Options(replicates=100).parameters()
    )
    run_analysis(run.pk)
    page = client.get(reverse("results", args=[study.key])).content.decode()
    address = f"{reverse('results-file', args=[study.key, 'marking-marks.json'])}?run={run.pk}"
    assert f'href="{address}"' in page
    content = json.loads(client.get(address).content)
    assert {tuple(clip["marked_by"][:2]) for clip in content["clips"]} == {(0, 2)}


def test_a_mark_behind_the_text_is_refused_and_pages_show_the_words(db, client):
    study = marked_study(kinds={"flat": "Flat melody"})
    session = factories.arrive(study)
    trial = factories.current(session)
    count = len(trial.stimulus.item.text.split())
    for label in (f"{count + 1}:flat", "1:glitch", ""):
        with pytest.raises(Refused):
            lifecycle.record_answer(session, factories.an_answer(trial, label))
    page = client.get(f"/s/{session.code}/").content.decode()
    assert "Flat melody" in page
    assert trial.stimulus.item.text.split()[-1] in page
    lifecycle.record_answer(session, factories.an_answer(trial, f"{count}:flat"))


def test_agreement_is_that_of_the_published_example_and_of_a_count_over_pairs():
    """Krippendorff (2011), Computing Krippendorff's Alpha-Reliability: nominal data with gaps."""
    gap = None
    observers = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, gap, gap, gap],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, gap, 3],
        [gap, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, gap],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, gap],
    ]
    counts = np.array(
        [[sum(row[u] == v for row in observers) for v in range(1, 6)] for u in range(12)], float
    )
    found = agreement_of_marks(counts, np.arange(12), replicates=200)
    assert found.alpha == pytest.approx(0.743, abs=0.0005)
    rng = np.random.default_rng(5)
    marks = rng.random((40, 6)) < rng.choice([0.05, 0.7], 40)[:, None]  # 40 words, 6 raters
    counts = np.column_stack([(~marks).sum(axis=1), marks.sum(axis=1)]).astype(float)
    found = agreement_of_marks(counts, np.repeat(np.arange(8), 5), replicates=500)
    unit, rater = np.indices(marks.shape)
    whole = krippendorff_alpha(
        unit.ravel(), rater.ravel(), marks.ravel().astype(float), "nominal", replicates=2
    )
    assert found.alpha == pytest.approx(whole.value)
    pairs = [
        (marks[w, a], marks[w, b]) for w in range(40) for a in range(6) for b in range(6) if a != b
    ]
    assert found.positive == pytest.approx(fmean(b for a, b in pairs if a))
    assert found.alpha_bounds
    assert found.alpha_bounds[0] < found.alpha < found.alpha_bounds[1]


@pytest.mark.slow
@sizes(60, 1000)
def test_intervals_of_agreement_hold_that_of_many_clips(runs):
    """8 raters, 15 clips of 12 words; a clip's share of wrong words is beta(1, 8)."""
    rng = np.random.default_rng(1)

    def drawn(clips):
        wrong = rng.random((clips, 12)) < rng.beta(1, 8, clips)[:, None]
        marked = rng.binomial(8, np.where(wrong, 0.8, 0.03))
        counts = np.stack([8 - marked, marked], axis=2).reshape(-1, 2).astype(float)
        return counts, np.repeat(np.arange(clips), 12)

    truth = agreement_of_marks(*drawn(100_000), replicates=0)
    held = [0, 0]
    for _ in range(runs):
        found = agreement_of_marks(*drawn(15), replicates=200)
        of_alpha, of_share = found.alpha_bounds, found.positive_bounds
        held[0] += bool(of_alpha) and of_alpha[0] <= truth.alpha <= of_alpha[1]
        held[1] += bool(of_share) and of_share[0] <= truth.positive <= of_share[1]
    low, high = bounds(0.92, 0.975, of=1000, runs=runs)
    assert low <= held[0] / runs <= high
    assert low <= held[1] / runs <= high


def test_what_a_recogniser_heard_stands_at_each_word_as_it_was_shown():
    shown = ["The", "dark-blue", "well,", "he", "said."]
    assert words_heard(shown, "a dark blue well he", "en") == ["a", None, None, None, ""]
    assert words_heard(shown, "the dark well he said", "en") == [None, "dark", None, None, None]
    assert words_heard(["天，", "气", "好。"], "天七好", "zh") == [None, "七", None]


def rates_of(truth, raters, stimuli, words=12):
    kinds = ("stress", "glitch")
    for number in raters:
        rater = Opinions(truth, number)
        for clip in stimuli(number):
            label = rater.marks(KnownClip("a", f"s{clip}"), words, kinds, careless=False)
            yield number, clip, 100 * len(read_marks(label, kinds)) / words


def test_simulated_raters_mark_as_many_errors_as_the_truth_says():
    truth = Truth(3, {"a": -0.2}, Spread(stimulus=0.0))
    found = fmean(y for _, _, y in rates_of(truth, range(2500), lambda _: [0]))
    assert found == pytest.approx(truth.errors_marked("a", "s0", 12), abs=0.5)
    one = len(truth.wrong_words("a", "s0", 12))
    assert one > 0
    many = fmean(y for _, _, y in rates_of(truth, range(400), lambda n: [n]))
    assert many == pytest.approx(truth.errors_marked("a"), abs=1.2)
    label = Opinions(truth, 1).marks(KnownClip("a", "s0"), 12, ("stress",), careless=True)
    assert read_marks(label, ("stress",)) is not None


@pytest.mark.slow
@sizes(60, 1000)
def test_intervals_of_marked_errors_hold_the_truth(runs):
    """40 new raters mark 12 of 60 new clips each time; the truth is that of all of both."""
    held = 0
    for run in range(runs):
        truth = Truth(run, {"a": -0.4})
        drawn = [Random(f"{run}/{rater}").sample(range(60), 12) for rater in range(40)]
        rows = list(rates_of(truth, range(40), drawn.__getitem__))
        rater, item, score = (np.array(column) for column in zip(*rows, strict=True))
        codes = (np.unique(each, return_inverse=True)[1] for each in (rater, item))
        zero = np.zeros(len(score), dtype=np.int64)
        means = clustered(score, zero, *codes, 1, ends=(0.0, 100.0))
        low, high = (float(each[0]) for each in limits_of_means(means).bounds(0.05))
        held += low <= truth.errors_marked("a") <= high
    low, high = bounds(0.94, 0.96, of=1000, runs=runs)
    assert low <= held / runs <= high
