"""Versions of a study compared, and combined only where that says they may be."""

import csv
import io
import random
import re
import zipfile
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from scipy import stats

from analysis.models import AnalysisRun
from analysis.ratings.cells import COLUMNS
from analysis.ratings.table import from_rows
from analysis.statistics.options import Options
from analysis.statistics.version_effect import ALPHA, version_effects
from analysis.web.combining import NotCombined, combined_table, notes_of
from analysis.web.jobs import run_analysis
from analysis.web.planning_jobs import estimate_pilot
from listening import studies
from listening.models import Condition, Membership, Project, Stimulus, Study, Task
from listening.selectors import version_match
from listening.sessions import lifecycle
from tests.analysis.rated_study import LABELS, rate, rated_study
from tests.analysis.simulation import sizes
from tests.factories import make_study, make_user
from tests.listening.test_researcher_pages import messages_of, page_of, words_of
from tests.own_cache import empty_cache

PARTS = ("versions",)
pytestmark = pytest.mark.usefixtures("without_models", "answer_alone")
RATERS, ITEMS, CONDITIONS = 24, 8, 3
MARGIN = 0.2


def ratings(version: int, rng: np.random.Generator, shift: float = 0.0, raters: int = RATERS):
    """Rows of one version: raters of its own, the same clips, and a shift of all scores."""
    texts = np.random.default_rng(7).normal(0, 0.3, ITEMS)
    rows = []
    for rater in range(raters):
        own = rng.normal(0, 0.3)
        for item in range(ITEMS):
            for condition in range(CONDITIONS):
                score = 3 + shift + own + texts[item] + condition / 2 + rng.normal(0, 0.5)
                cells = {
                    "study": "s",
                    "task": "t",
                    "method": "mos",
                    "criterion": "naturalness",
                    "estimand": "mos",
                    "session": f"s{version}-{rater}",
                    "rater": f"r{version}-{rater}",
                    "item": f"i{item}",
                    "condition": f"c{condition}",
                    "stimulus": f"c{condition}_i{item}",
                    "label": "3",
                    "score": score,
                    "paid": False,
                    "counts": True,
                    "version": str(version),
                }
                rows.append(dict.fromkeys(COLUMNS, "") | cells)
    return rows


def effect_of(*rows, margin=MARGIN):
    (effect,) = version_effects(from_rows([row for part in rows for row in part]), {"mos": margin})
    return effect


# --- The comparison ------------------------------------------------------------------------------


@pytest.mark.medium
def test_the_effect_of_balanced_versions_is_the_difference_of_means_between_raters():
    """Items are shared and cancel, so a Welch test of raters' own means is independent of it."""
    rng = np.random.default_rng(1)
    old, new = ratings(1, rng), ratings(2, rng, shift=0.1, raters=2 * RATERS)
    effect = effect_of(old, new)
    means = [pd.DataFrame(rows).groupby("rater")["score"].mean() for rows in (new, old)]
    welch = stats.ttest_ind(*means, equal_var=False).confidence_interval(1 - 2 * ALPHA)
    assert effect.value == pytest.approx(means[0].mean() - means[1].mean())
    assert (effect.low, effect.high) == pytest.approx((welch.low, welch.high), abs=0.03)
    assert (effect.ratings, effect.raters) == ((576, 1152), (24, 48))
    assert (effect.clips, effect.raters_in_both, len(effect.shifts)) == (24, 0, 3)


@sizes(10, 1000)
@pytest.mark.medium
def test_versions_that_differ_by_the_margin_are_rarely_taken_for_equal(runs):
    """Two one-sided tests at 5 %: at the margin itself they pass once in twenty."""
    rng = np.random.default_rng(2)
    equal = [effect_of(ratings(1, rng), ratings(2, rng, MARGIN)).equal for _ in range(runs)]
    assert sum(equal) <= stats.binom.ppf(0.999, runs, 0.06)
    same = [effect_of(ratings(1, rng), ratings(2, rng), margin=0.4).equal for _ in range(runs // 4)]
    assert sum(same) >= 0.8 * len(same)


@pytest.mark.medium
def test_only_clips_that_both_rated_are_compared_each_with_the_same_weight():
    rng = np.random.default_rng(3)
    old, new = ratings(1, rng), ratings(2, rng)
    others = [row | {"stimulus": "new", "item": "new", "score": 5.0} for row in new[:50]]
    often = [row | {"rater": f"x{n}", "score": row["score"]} for n, row in enumerate(old[:3] * 30)]
    plain, more = effect_of(old, new), effect_of([*old, *often], [*new, *others])
    assert more.clips == plain.clips
    assert more.value == pytest.approx(plain.value, abs=0.02)


@pytest.mark.medium
def test_what_tells_nothing_is_not_equal():
    rng = np.random.default_rng(4)
    old, new = ratings(1, rng), ratings(2, rng)
    none = effect_of(old, [row | {"stimulus": row["stimulus"] + "x"} for row in new])
    assert (none.equal, none.note) == (False, "no clip was rated in both versions")
    alone = effect_of(old, new[: ITEMS * CONDITIONS])
    assert (alone.equal, alone.low) == (False, None)
    assert "two raters" in alone.note


# --- Studies -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shared_versions(django_db_setup, django_db_blocker):
    """Made once; what a test changes is rolled back."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield two_versions()
        transaction.set_rollback(True)


@pytest.fixture
def versions(shared_versions, db):
    for study in shared_versions:
        study.refresh_from_db()
    return shared_versions


def two_versions():
    """Both rated: raters agree on each clip but for one answer in ten, so margins can hold."""
    rng = random.Random(2)

    def label_of(trial):
        number = int(trial.item.key.rpartition("-")[2])
        return rng.choice(LABELS) if rng.random() < 0.1 else LABELS[number % 3]

    first = rated_study("first", raters=0)
    for _ in range(4):
        rate(first, label_of)
    second = studies.copy_study(first, first.owner, key="second", as_version=True, keep_out=False)
    Task.objects.filter(study=second).update(ratings_per_stimulus=3)  # of the plan: may differ
    studies.open_study(second, anyway=True)
    for _ in range(3):
        rate(second, label_of)
    return first, second


def wanted(margin=1.0, earlier="first"):
    margins = (("hls", margin),)
    return Options(rules=(), versions=(earlier,), margins=margins, replicates=200)


@pytest.mark.medium
def test_combined_ratings_keep_their_version(versions):
    table = combined_table("second", wanted())
    assert sorted(set(table["version"])) == ["1", "2"]
    assert set(table["study"]) == {"first + second"}
    (note,) = notes_of("second", wanted())
    assert note == "Ratings of versions 1 and 2 (“first” and “second”) are combined."


@pytest.mark.medium
def test_versions_further_apart_than_the_margin_are_refused_with_the_numbers(versions):
    with pytest.raises(NotCombined, match=r"% interval .* not within the margin of ±0.001"):
        combined_table("second", wanted(0.001))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda s: Task.objects.filter(study=s).update(show_text=True), "show text” differs"),
        (lambda s: Stimulus.objects.filter(study=s).update(sha256="0", served_sha256="0"), "no cl"),
        (
            lambda s: Stimulus.objects.filter(study=s, condition__key="cond-1").update(
                sha256="0", served_sha256="0"
            ),
            "“cond-1” is in both and has no clip in common",
        ),
        (
            lambda s: Condition.objects.filter(study=s, key="cond-1").update(role="anchor"),
            "is test in the earlier version and anchor",
        ),
        (lambda s: Task.objects.filter(study=s).update(key="other"), "no task in common"),
    ],
)
@pytest.mark.medium
def test_what_was_measured_in_another_way_is_refused_with_the_reason(db, change, reason):
    older = make_study(key="older", conditions=2, items=4)
    newer = studies.copy_study(older, older.owner, key="newer", as_version=True)
    assert version_match("older", "newer")["refused"] == []
    change(newer)
    with pytest.raises(NotCombined, match=reason):
        combined_table("newer", wanted(earlier="older"))


@pytest.mark.medium
def test_a_clip_that_was_mended_stands_apart(versions):
    table = combined_table("second", wanted())
    rated = table.loc[table["trap"] == "", ["version", "stimulus"]].drop_duplicates()
    name = rated["stimulus"].value_counts().index[0]  # one that was rated in both
    clip = Stimulus.objects.get(study=versions[1], key=name)
    Stimulus.objects.filter(pk=clip.pk).update(sha256="0", served_sha256="0")
    names = set(combined_table("second", wanted())["stimulus"])
    assert {name, f"{name} (version 1)"} <= names
    assert "1 clip of one name" in notes_of("second", wanted())[1]


@pytest.mark.medium
def test_no_study_is_combined_with_one_that_is_no_version_of_it(versions):
    with pytest.raises(NotCombined, match="not an earlier version"):
        combined_table("first", Options(versions=("second",)))


@pytest.mark.slow
def test_the_page_compares_and_combines_and_a_withdrawal_reaches_it(client, versions):
    first, second = versions
    client.force_login(second.owner)
    AnalysisRun.objects.create(study=second, estimator="mean_score", state="cancelled")
    assert "Version 1, first" in words_of(page_of(client, "/studies/second/results/"))
    client.post("/studies/second/results/combine/", {"version": "first", "margin:hls": "0,9"})
    run = AnalysisRun.objects.filter(study=second).first()
    assert run is not None
    assert run.asked_for.startswith("95 %, with version “first”")
    run_analysis(run.pk)
    run.refresh_from_db()
    assert run.error == ""
    report = run.report()
    assert {row.get("version") for row in report["estimates"]} == {None, "1", "2"}
    shown = words_of(page_of(client, "/studies/second/results/"))
    assert "Ratings of versions 1 and 2 (“first” and “second”) are combined." in shown
    assert "within the margin of ±0.9: they may be combined" in shown
    with zipfile.ZipFile(io.BytesIO(client.get("/studies/second/results/paper.zip").content)) as z:
        rows = list(csv.DictReader(io.StringIO(z.read("ratings.csv").decode())))
    assert {row["version"] for row in rows} == {"1", "2"}
    lifecycle.withdraw(first.sessions.first())
    run.refresh_from_db()
    assert (run.state, run.result) == ("stale", "")


@pytest.mark.slow
def test_the_page_says_why_not(client, versions):
    second = versions[1]
    client.force_login(second.owner)
    Task.objects.filter(study=second).update(show_text=True)
    client.post("/studies/second/results/combine/", {"version": "first"})
    run = AnalysisRun.objects.get(study=second)
    run_analysis(run.pk)
    shown = words_of(page_of(client, "/studies/second/results/"))
    assert "“tasks › turing › show text” differs: False in the earlier version, True" in shown
    said = client.post("/studies/second/results/combine/", {"version": "first", "margin:hls": "-1"})
    assert "the margin of hls is -1" in messages_of(client.get(said.url))[0]


@pytest.mark.medium
def test_combining_takes_the_right_to_analyse_both(client, versions):
    lab = Project.objects.create(name="Lab")
    analyst = make_user("analyst")
    Membership.objects.create(project=lab, user=analyst, role="analyst")
    Study.objects.filter(key="second").update(project=lab)
    client.force_login(analyst)
    answer = client.post("/studies/second/results/combine/", {"version": "first"})
    assert answer.status_code == 403
    assert not AnalysisRun.objects.exists()
    assert "Combine with" not in page_of(client, "/studies/second/results/")


@pytest.mark.medium
def test_the_command_combines_or_says_why_not(versions, tmp_path):
    quick = ("--replicates", "200", "--no-screening", "--combine-with", "first", "--quiet")
    call_command("export_study", "second", "--out", tmp_path, *quick, "--margin", "hls=0.9")
    with (tmp_path / "ratings.csv").open() as file:
        assert {row["version"] for row in csv.DictReader(file)} == {"1", "2"}
    with pytest.raises(CommandError, match="not within the margin"):
        call_command("export_study", "second", "--out", tmp_path, *quick, "--margin", "hls=0.001")
    with pytest.raises(CommandError, match="Analyse each by itself"):
        call_command("analyse", tmp_path / "ratings.csv", "--no-screening", "--margin", "hls=0.001")


@pytest.mark.slow
def test_version_two_is_planned_from_the_ratings_of_version_one(client, versions):
    second = versions[1]
    third = studies.copy_study(second, second.owner, as_version=True)
    empty_cache()
    client.force_login(second.owner)
    url = f"/studies/{third.key}/planning/"
    assert "Variances are being estimated from version 2" in words_of(page_of(client, url))
    estimate_pilot("planning/pilot/second", "second")
    page = words_of(page_of(client, url))
    assert "The plan uses variances from these ratings" in page
    assert "The form starts with the design and variances of version 2" in page
    query = dict(re.findall(r'name="(\w+)"[^>]* value="([^"]*)"', page_of(client, url)))
    asked = {"source": "pilot:v2:0", "size": "0.4", "goal": "half_width", "of": "mean"}
    made = words_of(page_of(client, f"{url}?{urlencode(query | asked)}"))
    assert "raters" in made.partition("The plan")[2]
    assert "pilot: " in made
