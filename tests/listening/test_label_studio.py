"""A review goes to Label Studio blind, and its annotations come back as verdicts, once."""

import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from listening import review
from listening.models import Reviewer, Verdict
from listening.review import label_studio
from listening.review.jobs import Plan
from listening.review.label_studio import take_back, tasks_of
from tests.factories import answer_all, arrive, make_study
from tests.shared_rows import shared_rows

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(scope="module")
def made(django_db_setup, django_db_blocker):
    """Eight reasons of two raters."""
    asks = {"justification": {"required": True}, "block_size": 4}
    with shared_rows(django_db_blocker):
        study = make_study(key="secret-study", items=4, conditions=2, task=asks)
        for _ in range(2):
            answer_all(arrive(study))
        yield study


@pytest.fixture
def study(made, db):
    return type(made).objects.get(pk=made.pk)


def job_of(study, kind="reasons", **settings):
    plan = Plan(kind, "A review", settings=settings, repeated=0, rule="all_agree")
    job = review.make_job(study, plan, by="ada")
    review.set_state(job, "open", by="ada")
    return job


def annotated(task, *result, who=1, at="2026-01-01", **more):
    each = {
        "id": 7,
        "completed_by": who,
        "lead_time": 4.5,
        "updated_at": at,
        "result": list(result),
    }
    return {"id": 1, "data": task["data"], "annotations": [{**each, **more}]}


def chose(name, *choices):
    return {
        "from_name": name,
        "to_name": "x",
        "type": "choices",
        "value": {"choices": list(choices)},
    }


def test_reasons_go_out_blind_and_come_back_once(study, tmp_path: Path):
    job = job_of(study)
    out = io.StringIO()
    call_command("export_label_studio", study.key, str(job.pk), out=tmp_path / "ls", stdout=out)
    assert "8 tasks and 0 sounds" in out.getvalue()
    text = (tmp_path / "ls" / "tasks.json").read_text()
    tasks = json.loads(text)
    assert tasks[0]["data"].keys() == {"answers", "reason", "review", "item"}
    secrets = {c.key for c in study.conditions.all()} | {s.key for s in study.stimuli.all()}
    assert not any(f'"{secret}"' in text for secret in secrets)
    config = ET.parse(tmp_path / "ls" / "labeling.xml").getroot()
    assert [c.get("alias") for c in config.iter("Choice")] == ["fit", "unfit", "unsure"]
    note = {"from_name": "note", "type": "textarea", "value": {"text": ["mumbled"]}}
    exported = [
        annotated(tasks[0], chose("verdict", "Fits"), note),
        annotated(tasks[1], chose("verdict", "unfit"), who={"id": 2, "email": "b@x.org"}),
        annotated(tasks[2], was_cancelled=True),
        annotated(tasks[3], chose("verdict", "Perhaps")),
        {"data": {"review": 0, "item": 1}},
    ]
    (tmp_path / "back.json").write_text(json.dumps(exported))
    for _ in range(2):
        out = io.StringIO()
        call_command(
            "import_label_studio", study.key, "A review", tmp_path / "back.json", stdout=out
        )
    assert "Reviewer 1: 1 verdicts are stored, 0 of them new." in out.getvalue()
    assert "Not taken over: 1 annotations skipped" in out.getvalue()
    assert "1 annotations: A verdict must be fit, unfit or unsure" in out.getvalue()
    assert "1 tasks that do not belong to this review" in out.getvalue()
    kept = Verdict.objects.order_by("pk").values_list("category", "note", "seconds")
    assert list(kept) == [("fit", "mumbled", 4.5), ("unfit", "", 4.5)]
    whom = set(Reviewer.objects.values_list("whom", flat=True))
    assert whom == {"Label Studio: 1", "Label Studio: b@x.org"}


def test_the_newest_annotation_of_an_item_holds(study):
    job = job_of(study)
    (task, *_) = tasks_of(job, "").tasks
    later = annotated(task, chose("verdict", "Does not fit"), at="2026-02-01")
    take_back(job, [later, annotated(task, chose("verdict", "Fits"))], by="ada")
    (given,) = Reviewer.objects.get().assignments.all()
    assert given.category == "unfit"


def test_codes_and_clips_have_their_counterparts(study):
    codes = job_of(study, "codes")
    (task, *_) = tasks_of(codes, "").tasks
    titles = {c["label"]: c["value"] for c in review.kind_named("codes").desk(
        review.kind_named("codes").settings_from(codes.settings))["codes"]}  # fmt: skip
    (first, second, *_) = titles
    take_back(codes, [annotated(task, chose("codes", first, second))], by="ada")
    assert set(Verdict.objects.get().answer["codes"]) == {titles[first], titles[second]}
    clips = job_of(study, "clips", share=1.0)
    made = tasks_of(clips, "at/")
    (task, *_) = made.tasks
    assert task["data"]["audio"].removeprefix("at/") in made.copies
    region = {"from_name": "regions", "value": {"start": 0.1, "end": 0.4, "labels": ["audio"]}}
    take_back(clips, [annotated(task, chose("verdict", "Defective"), region)], by="ada")
    verdict = Verdict.objects.latest("pk")
    assert verdict.answer["defects"] == [{"what": "audio", "seconds": [0.1, 0.4]}]
    assert verdict.category == "flawed"


def test_what_is_no_annotation_hinders_no_other(study):
    job = job_of(study)
    (task, *_) = tasks_of(job, "").tasks
    half = {"from_name": "note", "value": {"text": ["\ud800"]}}
    odd = [5, None, {"result": 5}, {"result": [5, {"from_name": "verdict", "value": 5}]}]
    good = annotated(task, chose("verdict", "Fits"))
    good["annotations"] += odd
    others = [{"data": task["data"], "annotations": 7}, {"data": 5}, {}]
    back = take_back(
        job, [good, *others, annotated(task, chose("verdict", "Fits"), half, id=8)], by="a"
    )
    assert dict(back.stored) == dict(back.new) == {"Reviewer 1": 1, "Reviewer 2": 0}
    assert back.skipped["annotations: The phase or the note is not valid."] == 1
    assert Verdict.objects.get().category == "fit"


def test_an_import_that_breaks_stores_nothing(study, monkeypatch):
    job = job_of(study)
    tasks = tasks_of(job, "").tasks
    first = annotated(tasks[0], chose("verdict", "Fits"))
    second = annotated(tasks[1], chose("verdict", "Fits"), who=2)
    keep, told = label_studio.store, []

    def broken(reviewer, sent):
        told.append(reviewer)
        if len(told) == 2:
            raise OSError("gone")
        return keep(reviewer, sent)

    monkeypatch.setattr(label_studio, "store", broken)
    with pytest.raises(OSError, match="gone"):
        take_back(job, [first, second], by="ada")
    assert (Verdict.objects.count(), Reviewer.objects.count()) == (0, 0)


def test_what_cannot_be_taken_is_refused(study):
    job = job_of(study)
    with pytest.raises(review.ReviewError, match="not a list of tasks"):
        take_back(job, {"tasks": []}, by="ada")
    review.set_state(job, "closed", by="ada")
    with pytest.raises(review.ReviewError, match="not open"):
        take_back(job, [], by="ada")
    with pytest.raises(CommandError, match=r"no review “x”\. By number: \d+ “A review”"):
        call_command("import_label_studio", study.key, "x", "none.json")
