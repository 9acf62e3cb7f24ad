"""A study with each method, from the first answer to the report: the numbers are what was said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.ratings.reference import roles_of
from analysis.ratings.table import from_csv, from_study, table_hash, to_csv
from analysis.report.build import report_of
from analysis.report.html.page import page_html, sections
from analysis.statistics.options import Options
from listening.methods import Method, method_named
from listening.models import Condition, Criterion, Study
from listening.sessions import allocation, lifecycle
from listening.sessions.task_rules import Refused, parts_of
from tests import factories

pytestmark = pytest.mark.usefixtures("answer_alone")

QUICK = Options(replicates=100)
LEVEL = {"cond-0": 1, "cond-1": 3, "cond-2": 5}  # what every rater thinks; cond-2 is the reference
CHOICES = {"choices": ["buzz", "hiss", "clean"], "many": True}
OPTIONS: dict[str, dict[str, Any]] = {"free_choice": CHOICES, "ab": {"tie": True}}
LIKE_OTHERS = (  # are answered like mos, ccr, cmos and ab
    *("context_mos", "p835", "dcr", "preference", "abx", "smos"),
)
MEANS: dict[str, dict[str, float]] = {
    "mos": {"cond-0": 1, "cond-1": 3, "cond-2": 5},
    "context_mos": {"cond-0": 1, "cond-1": 3, "cond-2": 5},
    "att": {"cond-0": 0, "cond-1": 0.5, "cond-2": 1},
    "cmos": {"cond-0 cond-1": -2, "cond-0 cond-2": -3, "cond-1 cond-2": -2},
    "preference": {"cond-0 cond-1": -2, "cond-0 cond-2": -2, "cond-1 cond-2": -2},
    "ccr": {"cond-0 cond-2": -3, "cond-1 cond-2": -2},
    "dcr": {"cond-0": 1, "cond-1": 3},
    "smos": {"cond-0": 1, "cond-1": 3},
    "speaker_similarity": {"cond-0": 1, "cond-1": 3},
    "ab": {"cond-0 cond-1": 0, "cond-0 cond-2": 0, "cond-1 cond-2": 0},
    "abx": {"cond-0 cond-1": 1, "cond-0 cond-2": 1, "cond-1 cond-2": 1},
    "mushra": {"cond-0": 20, "cond-1": 60, "cond-2": 100},
    "bs1116": {"cond-0": -4, "cond-1": -2},
    "rank": {"cond-0": 3, "cond-1": 2, "cond-2": 1},
    "best_worst": {"cond-0": -1, "cond-1": 0, "cond-2": 1},
    "p835": {"cond-0": 1, "cond-1": 3, "cond-2": 5},
    "transcription": {"cond-0": 0.2, "cond-1": 0.6, "cond-2": 1.0},
    "free_choice": {},
    "marking": {"cond-0": 20, "cond-1": 60, "cond-2": 100},
    "closed_response": {"cond-0": 0, "cond-1": 1, "cond-2": 1},
}
WORDS = ["glue", "the", "sheet", "to", "wood"]  # that raters type: as many as their level


def a_study(method: str, raters: int = 2) -> Study:
    study = Study.objects.create(
        owner=factories.make_user(), key=f"by-{method}", title="A study", state="open", seed=1
    )
    factories.make_material(study, 3, 4, {})
    study.items.update(text=" ".join(WORDS))
    Condition.objects.filter(study=study, key="cond-2").update(role="reference")
    brought = {"alternatives": "veal|feel", "correct_answer": "veal"}
    study.stimuli.update(attributes=brought if method == "closed_response" else {})
    options = OPTIONS.get(method, {})
    fields: dict[str, Any] = {"block_size": 4, "ratings_per_stimulus": raters, "options": options}
    task = factories.add_task(study, method=method, blocks_per_rater=9, **fields)
    default = method_named(method).default_criteria
    task.criteria.all().delete()
    for order, (key, question, own) in enumerate(default or (("naturalness", "How?", {}),)):
        scale = method_named(method).scale({**options, **own}).as_dict()
        Criterion.objects.create(task=task, key=key, order=order, question=question, scale=scale)
    allocation.plan_study(study)
    return study


def rate(study: Study) -> None:
    """Raters come until nothing is left; all of them think the same."""
    clips = study.stimuli.values_list("pk", "condition__key")
    levels = {clip: LEVEL[condition] for clip, condition in clips if condition in LEVEL}
    count = Criterion.objects.filter(task__study=study).count()
    while any(b.state == 0 for task in study.tasks.all() for b in task.blocks.all()):
        session = factories.arrive(study)
        while (trial := factories.current(session)) is not None:
            answer = replace(factories.an_answer(trial, "-"), labels=said(trial, levels, count))
            lifecycle.record_answer(session, answer)


def said(trial: Any, of_clips: dict[int, int], criteria: int) -> dict[str, str]:
    """What somebody answers who hears the clips as the page plays them."""
    method = method_named(trial.task.method)
    parts = parts_of(method, trial)
    levels = [of_clips[part.stimulus] for part in parts]
    rated = [k for k, part in enumerate(parts) if part.role == "rated"]
    labels = {k: label_of(method.key, levels, k, parts) for k in rated}
    several = len(rated) > 1
    return {
        f"{n}.{k}" if several else f"{n}": label
        for n in range(criteria)
        for k, label in labels.items()
    }


def label_of(key: str, levels: list[int], place: int, parts: Any) -> str:
    level = levels[place]
    if key in ("cmos", "ccr", "preference"):
        reach = 2 if key == "preference" else 3
        return f"{max(-reach, min(reach, levels[1] - levels[0]))}"
    if key == "att":
        return {1: "Machine", 3: "Unclear", 5: "Human"}[level]
    if key == "ab":
        return "A" if levels[0] > levels[1] else "B"
    if key == "abx":
        return "A" if parts[2].stimulus == parts[0].stimulus else "B"
    if key == "mushra":
        return f"{20 * level}"
    if key == "marking":
        return " ".join(f"{place}:glitch" for place in range(1, level + 1))
    if key == "transcription":
        return " ".join(WORDS[:level])
    if key == "rank":
        return f"{1 + sum(1 for k in range(3) if levels[k] > level)}"
    if key == "best_worst":
        return {1: "worst", 3: "neither", 5: "best"}[level]
    if key == "closed_response":
        return "feel" if level == 1 else "veal"
    if key == "free_choice":
        return {1: "buzz|hiss", 3: "hiss", 5: "clean"}[level]
    return f"{level}"


def place(row: dict[str, Any]) -> str:
    return " ".join(p for p in (row["condition"], row.get("versus_condition", "")) if p)


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize(
    "key",
    [
        pytest.param(key, marks=pytest.mark.soak if key in LIKE_OTHERS else [])
        for key in sorted(Method.registry)
    ],
)
def test_the_results_of_a_method_are_what_raters_said(key: str, tmp_path: Any) -> None:
    """With the answer alone: whole reports are read in test_places_agree.py."""
    assert key in MEANS, "add its answers to label_of and its means to MEANS"
    study = a_study(key)
    rate(study)
    table = from_study(study.key)
    assert table["counts"].all()
    roles = {name: "reference" if name == "cond-2" else "test" for name in table["condition"]}
    assert roles_of(table) == roles
    report = report_of(table, options=QUICK)
    means = [row for row in report["estimates"] if row["breakdown"] == "condition:"]
    assert {place(row) for row in means} == set(MEANS[key])
    for row in means:
        assert row["value"] == pytest.approx(MEANS[key][place(row)])
    assert "nan" not in page_html(report).lower()
    to_csv(table, tmp_path / "ratings.csv")
    assert table_hash(from_csv(tmp_path / "ratings.csv")) == table_hash(table)


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("key", "firsts"),
    [
        ("cmos", {"rated": 12, "versus": 12}),
        ("dcr", {"versus": 16}),
        ("mushra", {"": 24}),
        ("bs1116", {"rated": 8, "versus": 8}),
    ],
)
def test_rows_say_which_of_two_clips_came_first(key: str, firsts: dict[str, int]) -> None:
    study = a_study(key)
    rate(study)
    table = from_study(study.key)
    assert table["presented_first"].value_counts().to_dict() == firsts


@pytest.mark.django_db
@pytest.mark.medium
def test_the_hidden_reference_is_rated_under_its_own_condition() -> None:
    study = a_study("mushra")
    rate(study)
    table = from_study(study.key)
    hidden = table[table["stimulus"] == table["versus_stimulus"]]
    assert set(hidden["condition"]) == {"cond-2"}
    assert set(table["versus_condition"]) == {"cond-2"}
    assert table.groupby(["session", "position"]).size().eq(3).all()


@pytest.mark.django_db
@pytest.mark.medium
def test_grades_of_bs1116_without_a_5_are_refused_in_words_that_help() -> None:
    session = factories.arrive(a_study("bs1116"))
    trial = factories.current(session)
    for labels, words in (({"0.1": "4", "0.2": "3.5"}, "Give it 5.0"), ({"0.1": "5"}, "no answer")):
        answer = replace(factories.an_answer(trial, "-"), labels=labels)
        with pytest.raises(Refused, match=words):
            lifecycle.record_answer(session, answer)
    whole = replace(factories.an_answer(trial, "-"), labels={"0.1": "4.5", "0.2": "5"})
    lifecycle.record_answer(session, whole)
    (rating,) = trial.ratings.all()
    own_first = not trial.versus_first  # A is the object
    assert (rating.label, rating.score) == (("4.5|5", -0.5) if own_first else ("5|4.5", 0.5))


@pytest.mark.slow
@pytest.mark.django_db
def test_choices_without_scores_are_counted_and_make_no_mean() -> None:
    study = a_study("free_choice")
    rate(study)
    report = report_of(from_study(study.key), options=QUICK)
    shares = {(row["condition"], row["estimand"]): row["value"] for row in report["shares"]}
    assert shares["cond-0", "share of buzz"] == shares["cond-0", "share of hiss"] == 1.0
    assert shares["cond-1", "share of hiss"] == shares["cond-2", "share of clean"] == 1.0
    assert shares["cond-2", "share of hiss"] == 0.0
    assert report["exclusions"][0]["ratings"] == 0
    (section,) = [s for s in sections(report) if s.id.startswith("in-full")]
    assert "100.0 %" in section.html
