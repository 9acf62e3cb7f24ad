"""Clips validated before the test: what is drawn, what a validator sees, what it comes to."""

from __future__ import annotations

import json
import re
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from listening import review
from listening.models import Item, Stimulus, Study
from listening.review import Plan, ReviewError
from listening.review.claiming import reviewers_progress
from listening.review.clip_results import clip_results, current_exclusions, leave_out, take_in_again
from listening.review.kinds import Mark
from listening.review.shares import Share
from listening.review.training import set_gold
from listening.review.verdicts import relink
from listening.studies.deleting import empty
from metrics.models import MetricScore
from tests.factories import answer_all, arrive, make_material, make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    """A draft of two systems with twelve clips each, and traps."""
    study = Study.objects.create(owner=make_user(), key="secret-study", title="A study", seed=1)
    make_material(study, 2, 12, {"flawed": 3})
    for n, item in enumerate(Item.objects.order_by("pk")):
        item.text, item.dimension = f"Sentence number {n}.", f"d{n % 3}"
        item.save()
    return study


def job_of(study, kind="clips", rule="all_agree", per_item=2, resolving="none", **settings):
    plan = Plan(
        kind,
        "Clips",
        settings=settings,
        seed=7,
        repeated=0,
        rule=rule,
        per_item=per_item,
        resolving=resolving,
    )
    job = review.make_job(study, plan, by="ada")
    review.set_state(job, "open", by="ada")
    return job


def reviewer(job, **fields):
    token = (
        review.invite(job, 30, by=job.study.owner.username, **fields).rstrip("/").rpartition("/")[2]
    )
    return review.reviewer_at(token, None)


OK = {"verdict": "ok", "defects": []}


def flawed(what="cut", *seconds):
    return {"verdict": "flawed", "defects": [{"what": what, "seconds": list(seconds) or None}]}


def judge(who, answer_of, phase="own"):
    """Everything there is; the refusals."""
    refused = []
    while given := review.give_next(who, 20):
        sent = [
            {
                "key": str(uuid4()),
                "item": str(each.code),
                "answer": answer_of(each.item.clip),
                "phase": phase,
            }
            for each in given
        ]
        refused += review.store(who, sent).refused
        if refused:
            break
    return refused


@pytest.mark.medium
def test_a_share_of_each_system_is_drawn_and_of_each_dimension_where_wanted(study):
    def drawn(**settings):
        rows = job_of(study, **settings).items.values_list("clip", flat=True)
        return [(row["condition"], row["dimension"], row["stimulus"]) for row in rows]

    quarter = drawn()
    assert sorted(condition for condition, _, _ in quarter) == ["cond-0"] * 3 + ["cond-1"] * 3
    assert sorted(drawn()) == sorted(quarter)
    strata = sorted((c, d) for c, d, _ in drawn(by_dimension=True))
    assert strata == [(f"cond-{c}", f"d{d}") for c in range(2) for d in range(3)]
    assert len(drawn(share=1.0)) == 24
    with pytest.raises(ReviewError, match="more than 0"):
        drawn(share=0.0)
    with pytest.raises(ReviewError, match="pass mark"):
        drawn(pass_mark=1.5)


ANSWERS = {
    "clips": flawed("audio", 0.5, 1.0),
    "consistency": {"timbre": "same", "language": "same", "prosody": "same", "odd": []},
    "events": {"events": [{"type": "sigh", "position": 1, "seconds": None}], "unsure": False},
}


@pytest.mark.slow
def test_a_validator_sees_words_and_nothing_that_tells_the_system(study):
    Item.objects.update(transcript="A [chuckle] sentence of five words.")
    clip = study.stimuli.first()
    MetricScore.objects.create(
        sha256=clip.sha256, metric="wer", version="1", value=0.5, computed_at=timezone.now()
    )
    secret = {"Grace", "secret-study", "ada", "cond-0", "cond-1", "flawed-0"}
    fields = ("key", "file", "original", "served", "item__key", "sha256", "item__dimension")
    for row in Stimulus.objects.values_list(*fields):
        secret |= set(row)
    client = Client()
    for kind, answer in ANSWERS.items():
        rule = "majority"
        link = review.invite(
            job_of(study, kind, rule, share=1.0), 30, by=study.owner.username, whom="Grace"
        )
        desk = "/" + link.split("/", 3)[3]
        given = ask(client, f"{desk}next/", want=40)
        items = given.json()["items"]
        sent = [{"key": str(uuid4()), "item": each["item"], "answer": answer} for each in items]
        told = ask(client, f"{desk}verdicts/", verdicts=sent)
        assert len(told.json()["stored"]) == len(items) > 0
        text = "".join(f"{dict(a.headers)}{a.content.decode()}" for a in (client.get(desk), given))
        text += told.content.decode()
        assert [word for word in secret if re.search(rf"\b{re.escape(word)}\b", text)] == [], kind
        assert "misread" not in given.content.decode()
        assert ("word error rate 50%" in told.content.decode()) is (kind == "clips")


def ask(client, url, **body):
    return client.post(url, json.dumps(body), content_type="application/json")


@pytest.mark.medium
def test_what_is_no_verdict_is_refused(study):
    who = reviewer(job_of(study))
    wrong = (
        {"verdict": "ok", "defects": [{"what": "cut"}]},
        flawed("nonsense"),
        flawed("cut", 2.0, 1.0),
        flawed("cut", 1.0),
        flawed("cut", float("nan"), 2.0),
        {"verdict": "flawed", "defects": [7]},
        {"verdict": "fine"},
    )
    for answer in wrong:
        assert judge(who, lambda _, answer=answer: answer), answer


@pytest.mark.medium
def test_systems_are_held_against_the_pass_mark_that_was_declared(study):
    job = job_of(study, share=0.5, pass_mark=0.9)

    def said(clip):
        return flawed("timbre", 1.0, 2.5) if clip["condition"] == "cond-1" else OK

    judge(reviewer(job), said)
    assert {each.mark for each in clip_results(job, "ok").systems} == {"open"}
    judge(reviewer(job), said)
    results = clip_results(job, "ok")
    rows = {
        each.condition: (each.clips, each.drawn, each.passed, each.failed, each.mark)
        for each in results.systems
    }
    assert rows == {"cond-0": (12, 6, 6, 0, "met"), "cond-1": (12, 6, 0, 6, "missed")}
    assert {each.condition for each in results.failing} == {"cond-1"}
    assert results.kinds == [("Mixed voices", 6)]
    assert results.failing[0].marks[0] == Mark("Mixed voices", (1.0, 2.5))


def test_what_is_not_decided_counts_as_not_passed(study):
    job = job_of(study, share=0.5, pass_mark=0.5)
    judge(reviewer(job), lambda _: OK)
    judge(reviewer(job), lambda _: flawed())
    rows = clip_results(job, "ok").systems
    assert {(each.undecided, each.share.value, each.mark) for each in rows} == {(6, 0.0, "missed")}


@pytest.mark.medium
def test_verdicts_outlive_a_replaced_draft_and_only_the_same_sound_keeps_them(study):
    job = job_of(study, share=0.5)
    for _ in range(2):
        judge(reviewer(job), lambda clip: flawed() if clip["condition"] == "cond-1" else OK)
    bad = clip_results(job, "ok").failing[0]
    kept = list(Stimulus.objects.filter(study=study))
    empty(study, reviews=False)
    make_material(study, 2, 12, {"flawed": 3})
    for old in kept:  # the same sounds, but for one clip that failed
        if old.key != bad.stimulus:
            Stimulus.objects.filter(key=old.key).update(sha256=old.sha256)
    assert relink(study) == 11
    results = clip_results(job, "ok")
    assert [each.stimulus for each in results.replaced] == [bad.stimulus]
    rows = {each.condition: (each.drawn, each.failed, each.replaced) for each in results.systems}
    assert rows == {"cond-0": (6, 0, 0), "cond-1": (5, 5, 1)}
    assert review.take_in(job) == 1
    again = reviewer(job)
    assert [each.item.clip["stimulus"] for each in review.give_next(again, 9)] == [bad.stimulus]


@pytest.mark.medium
def test_consistency_compares_runs_of_one_text_and_else_several_texts_of_a_system(study):
    first = study.stimuli.filter(condition__key="cond-1", trap="").order_by("key")
    for clip in list(first[:4]):
        clip.pk, clip.run, clip.key, clip.sha256 = None, 2, f"{clip.key}_2", uuid4().hex
        clip.save()
    job = job_of(study, "consistency", share=1.0, size=3)
    groups = {}
    for item in job.items.all():
        names = [item.clip["stimulus"], *(each["stimulus"] for each in item.clip["others"])]
        groups.setdefault((item.clip["condition"], item.part), []).append(len(names))
    assert groups == {("cond-0", "texts"): [3] * 4, ("cond-1", "runs"): [2] * 4}
    same = {"timbre": "same", "language": "same", "prosody": "same", "odd": []}
    odd = {**same, "timbre": "differs", "odd": [1]}
    for _ in range(2):
        judge(reviewer(job), lambda clip: odd if clip["condition"] == "cond-1" else same)
    rows = {each.condition: each.share.value for each in clip_results(job, "same").systems}
    assert rows == {"cond-0": 1.0, "cond-1": 0.0}
    worst = clip_results(job, "same").failing[0]
    assert worst.marks == (Mark("Voice", places=(1,)),) * 2
    assert [clip.stands_out for clip in worst.clips] == [False, True]
    assert judge(reviewer(job_of(study, "consistency")), lambda _: {**same, "odd": [9]})


@pytest.mark.slow
def test_a_system_is_left_out_with_a_reason_and_taken_in_again(client):
    study = make_study(conditions=2, items=10)
    job = job_of(study, share=0.2, per_item=1)
    judge(reviewer(job), lambda _: flawed("timbre", 0.5, 1.0))
    client.force_login(study.owner)
    page = f"/studies/{study.key}/reviews/{job.pk}/"
    blind = client.get(page).content.decode()
    assert "cond-1" not in blind
    review.unblind(job, by="ada")
    shown = client.get(page).content.decode()
    worst = clip_results(job, "ok").failing[0].stimulus
    clip = f"/preview/studies/{study.key}/clips/{worst}"
    for words in ("Mixed voices 0.5 to 1.0 s", "missed", "2 of 10", "next version", clip):
        assert words in shown, words
    form = {"job": job.pk, "what": "stimulus", "name": "cond-1_item-0", "because": "Cut."}
    client.post(f"/studies/{study.key}/reviews/do/", {**form, "action": "leave-out"})
    assert set(current_exclusions(study)) == {("stimulus", "cond-1_item-0")}
    client.post(f"/studies/{study.key}/reviews/do/", {**form, "action": "take-in-again"})
    with pytest.raises(ReviewError, match="Enter a reason"):
        leave_out(study, "condition", "cond-1", " ", by="ada")
    with pytest.raises(ReviewError, match="no condition"):
        leave_out(study, "condition", "cond-9", "It mumbles.", by="ada")
    leave_out(study, "condition", "cond-1", "Two voices in most clips.", by="ada")
    assert {key: row.because for key, row in current_exclusions(study).items()} == {
        ("condition", "cond-1"): "Two voices in most clips."
    }
    take_in_again(study, "condition", "cond-1", "Judged anew.", by="ada")
    assert current_exclusions(study) == {}
    assert study.left_out.count() == 4


def test_wilsons_interval_is_that_of_the_textbooks():
    assert Share(3, 10).bounds == pytest.approx((0.1077913, 0.6032219), abs=1e-6)
    assert Share(0, 7).bounds == pytest.approx((0.0, 0.3543304), abs=1e-6)
    assert Share(0, 0).bounds is None


@pytest.mark.slow
def test_the_report_tells_what_was_found_and_leaves_out_what_was_named():
    from analysis.report.part import PartInput
    from analysis.report.parts.clip_validation import ClipValidation
    from analysis.statistics.options import Options
    from analysis.statistics.screening.screened import screen
    from analysis.web.study_tables import study_rules, study_tables, told_of

    study = make_study(conditions=2, items=10, opened_at=timezone.now())
    answer_all(arrive(study), stop_after=8)
    job = job_of(study, share=0.5, pass_mark=0.9)
    for _ in range(2):
        judge(reviewer(job), lambda clip: flawed() if clip["condition"] == "cond-1" else OK)

    def part():
        rules = study_rules(study.key)
        screened = screen(study_tables(study.key, Options(rules=rules))[0], rules)
        kept = screened.kept(rules)
        inputs = PartInput(kept, screened, Options(rules=rules), **told_of(study.key))
        assert ClipValidation().applies(inputs)
        return ClipValidation().make(inputs), kept

    blind, kept = part()
    assert "cond-1" not in json.dumps(blind.plain())
    assert {"cond-0", "cond-1"} == set(kept["condition"])
    review.unblind(job, by="ada")
    leave_out(study, "condition", "cond-1", "Its clips are cut.", by="ada")
    told, kept = part()
    rows = {row["condition"]: (row["passed"], row["mark"]) for row in told.tables[0].rows}
    assert rows == {"cond-0": (5, "met"), "cond-1": (0, "missed")}
    assert "Its clips are cut." in " ".join(told.sentences)
    assert {"cond-0"} == set(kept["condition"])
    assert "opened after the study" in " ".join(told.warnings)
    assert "version 1" in told.methods[0]
    about = {row["measure"]: row for row in told.tables[1].rows}
    assert about["Alpha about too short or cut"]["value"] == 1.0
    assert "marked in 5, by all in 5" in about["Alpha about too short or cut"]["note"]
    assert "nobody marked it" in about["Alpha about mixed voices"]["note"]


@pytest.mark.medium
def test_training_is_right_by_the_verdict_and_not_mark_by_mark(study):
    job = job_of(study)
    review.set_state(job, "closed", by="ada")
    first, second = job.items.order_by("position")[:2]
    set_gold(job, first.pk, flawed("cut", 0.5, 1.0))
    set_gold(job, second.pk, OK)
    review.set_state(job, "open", by="ada")
    who = reviewer(job)
    marked = {first.clip["stimulus"]: flawed("audio"), second.clip["stimulus"]: flawed()}
    assert judge(who, lambda clip: marked.get(clip["stimulus"], OK)) == []
    told = reviewers_progress(job)[who.pk]
    assert (told.gold_right, told.gold) == (1, 2)
