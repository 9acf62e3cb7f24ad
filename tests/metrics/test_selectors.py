"""Which stored scores a study's rows give: present material, parameters by name, direction."""

import pytest

from metrics.core import metric as contract
from metrics.core.metric import Metric, Output, Score, make_metric
from metrics.models import MetricScore
from metrics.scoring import runner, selectors, study_scores
from metrics.scoring.runner import Clip, ScoredBatch, ScoredClip
from metrics.scoring.study_material import material_of
from metrics.web import score_tables

pytestmark = pytest.mark.django_db


@pytest.fixture
def rows(monkeypatch):
    """One stimulus, whose text a test may change."""
    row = {"stimulus": "s", "file": "s.wav", "path": "s.wav", "sha256": "a" * 64, "text": "one"}
    row["attributes"] = {}
    monkeypatch.setattr("listening.selectors.stimulus_rows", lambda slug: [row])
    return [row]


@pytest.fixture
def errors():
    """A metric of two outputs that depends on the text."""

    class Errors(Metric):
        key = "test_errors"
        needs = ("text",)
        higher_is_better = False
        more_outputs = (Output("test_insertions"),)

    yield Errors()
    runner.forget_models()
    del contract.Metric.registry["test_errors"]


def keep(metric, row, value, more=None, failed=False):
    clip = Clip(row["path"], row["sha256"], material=material_of(row))
    also = {"test_insertions": more} if more is not None else {}
    score = Score(value, "" if value is not None else "broke", failed=failed, also=also)
    study_scores.store(ScoredBatch(metric, [ScoredClip(clip, score)]), "cpu")
    return clip


def found():
    return {row["metric"]: row["value"] for row in selectors.score_rows("demo")}


def test_scores_whose_parameters_are_written_in_two_ways_are_of_one_series(rows):
    rows.append({**rows[0], "stimulus": "t", "sha256": "b" * 64})
    for row, written in zip(rows, ({"window_s": 3}, {}), strict=True):  # and the usual 3.0
        keep(make_metric("timbre_consistency", written), row, 0.9)
    (series,) = selectors.stored_series("demo", [row["sha256"] for row in rows])
    assert len(series.scores) == 2


def test_a_text_that_changed_hides_the_scores_that_depend_on_it(rows, errors):
    clip = keep(errors, rows[0], 0.5, 2.0)
    keep(make_metric("srmr"), rows[0], 7.0)
    assert found() == {"test_errors": 0.5, "test_insertions": 2.0, "srmr": 7.0}
    assert study_scores.missing([clip], [errors])[0] == []
    mark = selectors.scores_mark("demo")
    rows[0]["text"] = "two"
    assert found() == {"srmr": 7.0}
    assert selectors.scores_mark("demo") != mark
    changed = Clip("s.wav", rows[0]["sha256"], material=material_of(rows[0]))
    assert [metrics for _, metrics in study_scores.missing([changed], [errors])[0]] == [(errors,)]


def test_other_parameters_have_a_name_of_their_own(rows):
    keep(make_metric("srmr"), rows[0], 7.0)
    keep(make_metric("srmr", {"variant": "slow_norm128"}), rows[0], 3.0)
    assert found() == {"srmr": 7.0, "srmr[variant=slow_norm128]": 3.0}
    (row,) = selectors.score_rows("demo", "srmr[variant=slow_norm128]")
    assert (row["higher_is_better"], row["low"], row["high"]) == (True, 0.0, None)
    rows[0].update(condition="", item="", role="", run=1, language="")
    exported = list(score_tables.export_rows("demo"))
    assert [(each["low"], each["high"]) for each in exported] == [(0.0, None)] * 2
    assert "higher_is_better,low,high" in score_tables.as_csv(exported)
    assert (row["value"], row["higher_is_better"]) == (3.0, True)


def test_an_output_without_a_value_has_a_row_and_a_failed_one_has_none(rows, errors):
    keep(errors, rows[0], 0.5)
    assert found() == {"test_errors": 0.5, "test_insertions": None}
    MetricScore.objects.all().delete()
    clip = keep(errors, rows[0], None, failed=True)
    assert found() == {}
    assert len(study_scores.missing([clip], [errors])[0]) == 1


def test_a_metric_is_done_only_with_every_output(rows, errors):
    clip = keep(errors, rows[0], 0.5, 2.0)
    MetricScore.objects.filter(metric="test_insertions").delete()
    assert len(study_scores.missing([clip], [errors])[0]) == 1


def test_the_mark_changes_when_a_score_is_made_again_or_goes(rows):
    marks = {selectors.scores_mark("demo")}
    for value in (1.0, 2.0):
        keep(make_metric("srmr"), rows[0], value)
        marks.add(selectors.scores_mark("demo"))
    assert len(marks) == 3


def test_a_recording_is_no_reference_of_its_own_voice():
    human = {"sha256": "a" * 64, "reference_sha256": "a" * 64, "reference_path": "human.wav"}
    other = {**human, "sha256": "b" * 64}
    assert material_of(human).reference_path == ""
    assert material_of(other).reference_path == "human.wav"
    needs = ("reference_path",)
    assert material_of(human).fingerprint(needs) != material_of(other).fingerprint(needs)


def test_the_prompt_is_the_reference_voice_before_the_reference() -> None:
    prompt = {"prompt_sha256": "c" * 64, "prompt_path": "prompt.wav"}
    human = {"sha256": "a" * 64, "reference_sha256": "a" * 64, "reference_path": "human.wav"}
    assert material_of({**human, **prompt}).reference_path == "prompt.wav"
    itself = {**human, **prompt, "sha256": "c" * 64}
    assert material_of(itself).reference_path == ""
    assert material_of({**itself, "sha256": "d" * 64}).reference_audio_path == "human.wav"


def test_a_clip_is_compared_with_the_recording_that_it_names_or_its_items_reference():
    human = {"sha256": "a" * 64, "file": "human/1.wav", "path": "h.wav", "stimulus": "h1"}
    voice = {"sha256": "b" * 64, "reference_sha256": "a" * 64, "reference_path": "h.wav"}
    other = {"sha256": "c" * 64, "path": "o.wav"}
    named = {"human/1.wav": human, "h1": human, "other": other}

    def compared(row, **attributes):
        return material_of({**row, "attributes": attributes}, named).reference_audio_path

    assert compared(voice) == "h.wav"
    assert compared(voice, reference_audio="other") == "o.wav"
    assert compared({"sha256": "d"}, reference_audio="human/1.wav") == "h.wav"
    assert compared(human, reference_audio="h1") == ""  # itself
    assert compared(voice, reference_audio="gone") == ""  # never another one than was named


def test_metrics_compare_with_what_is_spoken_whatever_raters_see():
    """A caption that raters see is no transcript: perfect speech had a word error rate of 1."""
    shown = "A man reads a calm line."
    row = {"text": "Good morning", "shown_text": shown, "attributes": {"caption": shown}}
    score = make_metric("wer").of_texts(material_of(row).text, "good morning", "en")
    assert score.value == 0.0
    assert material_of(row).attribute("caption") == shown
    assert material_of(row).attribute("nvv_target") == ""
    tagged = material_of({"text": "Good morning", "shown_text": "Good [laugh] morning"})
    assert (tagged.text, tagged.attribute("nvv_target")) == ("Good morning", "Good [laugh] morning")


def test_what_a_recogniser_heard_stands_with_the_study_and_leaves_with_its_text(rows, monkeypatch):
    from analysis.ratings.study_scores import study_scores as rows_of_study

    monkeypatch.setattr("listening.selectors.clip_facts", lambda slug: {})
    rows[0] |= {"text": "Good morning, all.", "language": "en"}
    metric = make_metric("wer")
    score = metric.of_texts(rows[0]["text"], "good evening all", "en")
    clip = Clip(rows[0]["path"], rows[0]["sha256"], material=material_of(rows[0]))
    study_scores.store(ScoredBatch(metric, [ScoredClip(clip, score)]), "cpu")
    assert selectors.recognised_texts("demo") == {("s", "wer"): "good evening all"}
    heard = {row["metric"]: row["hypothesis"] for row in rows_of_study("demo")}
    assert heard["wer"] == "good evening all"
    rows[0]["text"] = "Good evening, all."
    assert selectors.recognised_texts("demo") == {}
