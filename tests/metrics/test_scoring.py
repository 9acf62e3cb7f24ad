"""A study's stimuli scored, stored, resumed, and read back as rows; the job and the commands."""

import csv
import json
import shutil
import statistics
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import soundfile
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.utils import timezone

from metrics.core import decoding
from metrics.core.metric import Score, make_metric
from metrics.models import MetricScore
from metrics.scoring import runner, selectors, study_scores
from metrics.scoring.runner import ScoredBatch, ScoredClip
from metrics.scoring.study_material import study_clips
from tests.metrics import reference

CLIPS = ("human-0880-clean", "human-0930-rt08", "flite_rms-0920-clean")


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Four stimuli, two of one file; the rows that listening would give."""
    rows = []
    for place, clip in enumerate([*CLIPS, CLIPS[0]]):
        path = tmp_path / f"{clip}.flac"
        shutil.copyfile(reference.path(clip), path)
        rows.append(
            {
                "stimulus": f"s{place}",
                "file": f"audio/s{place}.flac",
                "path": str(path),
                "sha256": decoding.file_sha256(path),
                "text": f"text {place}",
                "attributes": {"caption": "dry"},
            }
        )
    monkeypatch.setattr(
        "listening.selectors.stimulus_rows", lambda slug: rows if slug == "demo" else []
    )
    return rows


@pytest.fixture
def counted(monkeypatch):
    """The clips that are really scored, by metric."""
    seen = []
    original = runner.score_batch

    def spy(metric, clips, device):
        seen.extend((metric.key, clip.sha256) for clip, _ in clips)
        return original(metric, clips, device)

    monkeypatch.setattr(runner, "score_batch", spy)
    return seen


def score(study, keys, device, parameters=None):
    given = parameters or {}
    metrics = [make_metric(key, given.get(key)) for key in keys]
    work, stored = study_scores.missing(study_clips(study, metrics), metrics)
    return study_scores.score_and_store(work, stored, metrics, device)


def stored(metric, clip, value):
    batch = ScoredBatch(metric, [ScoredClip(clip, value)])
    study_scores.store(batch, "cpu")


@pytest.mark.slow
@pytest.mark.django_db
def test_a_study_is_scored_and_its_rows_carry_the_values(study):
    tallies = score("demo", ["srmr", "reverb_consistency"], "cpu")
    assert [(t.metric, t.scored, t.undefined, t.failed) for t in tallies] == [
        ("srmr", 3, 0, 0),
        ("reverb_consistency", 1, 2, 0),  # two clips are shorter than two windows
    ]
    rows = selectors.score_rows("demo", "srmr")
    assert [row["stimulus"] for row in rows] == ["s0", "s1", "s2", "s3"]
    assert list(rows[0]) == list(selectors.ScoreRow.__annotations__)
    assert rows[0]["higher_is_better"] is True
    for row, clip in zip(rows, [*CLIPS, CLIPS[0]], strict=True):
        wanted = float(reference.clip_row(clip)["srmr_slow"])
        assert row["value"] == pytest.approx(wanted, rel=5e-5)
    everything = selectors.score_rows("demo")
    assert len(everything) == 8
    assert [r["value"] is None for r in everything if r["metric"] == "reverb_consistency"] == [
        True,
        True,
        False,
        True,
    ]


@pytest.mark.django_db
@pytest.mark.medium
def test_a_second_run_scores_only_what_is_missing(study, counted):
    (first,) = score("demo", ["srmr"], "cpu")
    assert (first.scored, first.stored, len(counted)) == (3, 0, 3)  # the shared file once
    (second,) = score("demo", ["srmr"], "cpu")
    assert (second.scored, second.stored, len(counted)) == (0, 3, 3)
    MetricScore.objects.filter(sha256=study[1]["sha256"]).delete()
    (third,) = score("demo", ["srmr"], "cpu")
    assert (third.scored, third.stored) == (1, 2)
    assert counted[3:] == [("srmr", study[1]["sha256"])]


@pytest.mark.slow
@pytest.mark.django_db
def test_other_parameters_and_other_versions_are_scored_anew(study, counted, monkeypatch):
    score("demo", ["srmr"], "cpu")
    (other,) = score("demo", ["srmr"], "cpu", {"srmr": {"variant": "slow_norm30"}})
    assert other.scored == 3
    assert MetricScore.objects.count() == 6
    before = [row["value"] for row in selectors.score_rows("demo", "srmr")]
    assert before[0] == pytest.approx(
        float(reference.clip_row(CLIPS[0])["srmr_slow"]), rel=5e-5
    )  # rows give the default parameters
    monkeypatch.setattr("metrics.suite.srmr.Srmr.version", "2")
    assert selectors.score_rows("demo", "srmr") == []
    (new,) = score("demo", ["srmr"], "cpu")
    assert (new.scored, MetricScore.objects.count()) == (3, 9)


@pytest.mark.django_db
@pytest.mark.medium
def test_scores_stored_before_a_crash_are_kept(study, monkeypatch):
    monkeypatch.setitem(runner.BATCH_S, "cpu", 0.1)  # a batch per clip
    original, calls = runner.score_batch, []

    def killed(metric, clips, device):
        calls.append(clips)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(metric, clips, device)

    monkeypatch.setattr(runner, "score_batch", killed)
    with pytest.raises(KeyboardInterrupt):
        score("demo", ["srmr"], "cpu")
    assert MetricScore.objects.count() == 2
    (again,) = score("demo", ["srmr"], "cpu")
    assert (again.stored, again.scored) == (2, 1)


@pytest.mark.django_db
@pytest.mark.medium
def test_a_failed_clip_is_kept_with_its_reason_and_tried_again(study):
    broken = study[1]
    file = Path(broken["path"])
    good = file.read_bytes()
    file.write_bytes(b"not audio")
    (first,) = score("demo", ["srmr"], "cpu")
    assert (first.scored, first.failed) == (2, 1)
    stored = MetricScore.objects.get(sha256=broken["sha256"])
    assert stored.failed
    assert "human-0930-rt08.flac" in stored.reason
    assert len(selectors.score_rows("demo", "srmr")) == 3  # no row for the failed one
    file.write_bytes(good)
    (second,) = score("demo", ["srmr"], "cpu")
    assert (second.stored, second.scored, second.failed) == (2, 1, 0)
    stored.refresh_from_db()
    assert (stored.failed, stored.reason) == (False, "")
    assert stored.value > 0


@pytest.mark.django_db
@pytest.mark.medium
def test_a_score_says_how_it_was_made(study):
    score("demo", ["reverb_consistency"], "cpu")
    stored = MetricScore.objects.get(value__isnull=False)
    assert stored.parameters["variant"] == "slow"
    assert stored.parameters["window_s"] == 3.0
    assert stored.details["n_windows"] == 2
    assert set(stored.provenance["packages"]) >= {"torch", "silero-vad", "soundfile"}
    assert stored.provenance["device"].startswith("cpu")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "wrong",
    [
        {"value": None, "reason": ""},
        {"value": 1.0, "reason": "silent"},
        {"value": 1.0, "reason": "", "failed": True},
    ],
)
def test_the_table_refuses_a_score_that_is_neither_value_nor_reason(wrong):
    fields = {"sha256": "0" * 64, "metric": "srmr", "version": "1", "computed_at": timezone.now()}
    with pytest.raises(IntegrityError), transaction.atomic():
        MetricScore.objects.create(**fields, **wrong)


@pytest.mark.django_db
def test_one_score_per_audio_metric_version_and_parameters():
    metric = make_metric("srmr")
    clip = runner.Clip("a.wav", "0" * 64)
    stored(metric, clip, Score(1.0))
    stored(metric, clip, Score(2.0))
    assert MetricScore.objects.get().value == 2.0


@pytest.mark.django_db
@pytest.mark.medium
def test_score_study_reports_counts_and_reasons(study):
    out, err = StringIO(), StringIO()
    call_command(
        "score_study",
        "demo",
        "--metrics=reverb_consistency",
        "--device=cpu",
        stdout=out,
        stderr=err,
    )
    assert "reverb_consistency: 1 scored, 0 done before, 2 without a value, 0 failed" in (
        out.getvalue()
    )
    assert "reverb_consistency: s0, s3: too short: 2.99 s" in err.getvalue()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "There is no study “nowhere”"),
        (["demo", "--metrics=srmrr"], "srmrr"),
        (["demo", "--parameters=[]"], "JSON object"),
        (["demo", "--parameters={"], "JSON object"),
        (["demo", '--parameters={"srmr": {"variant": "loud"}}'], "slow_norm30"),
    ],
)
def test_score_study_refuses_what_it_does_not_know(study, arguments, said):
    with pytest.raises(CommandError, match=said):
        call_command("score_study", *arguments, "--device=cpu")


@pytest.mark.django_db
@pytest.mark.medium
def test_ablate_metric_has_a_row_per_setting_and_the_mean_of_each_condition(study, tmp_path):
    for place, row in enumerate(study):
        row["condition"] = "odd" if place % 2 else "even"
    out, file = StringIO(), tmp_path / "ablation.csv"
    settings = ["--setting=variant=slow", "--setting=variant=fast"]
    call_command("ablate_metric", "demo", "srmr", *settings, f"--out={file}", stdout=out)
    assert [line.split()[0] for line in out.getvalue().splitlines()] == ["variant", "slow", "fast"]
    rows = list(csv.DictReader(StringIO(file.read_text(encoding="utf-8"))))
    assert [(row["variant"], row["condition"], row["clips"]) for row in rows] == [
        *(("slow", "even", "2"), ("slow", "odd", "2"), ("fast", "even", "2"), ("fast", "odd", "2"))
    ]
    for row in rows:
        clips = CLIPS[::2] if row["condition"] == "even" else (CLIPS[1], CLIPS[0])
        known = [float(reference.clip_row(clip)[f"srmr_{row['variant']}"]) for clip in clips]
        assert float(row["mean"]) == pytest.approx(statistics.fmean(known), rel=1e-3)
        assert float(row["sd"]) == pytest.approx(statistics.stdev(known), rel=1e-2)
    wrongs = {"variant": "name=value", "loud=1": "loud", "variant=slow": "equal"}
    for wrong, said in wrongs.items():
        with pytest.raises(CommandError, match=said):
            call_command("ablate_metric", "demo", "srmr", settings[0], f"--setting={wrong}")


@pytest.mark.medium
def test_score_files_works_without_a_database():
    """pytest-django fails any test without its mark that touches the database."""
    out = StringIO()
    paths = [str(reference.path(clip)) for clip in CLIPS]
    call_command("score_files", *paths, "--metrics=srmr", "--jsonl", "--device=cpu", stdout=out)
    records = [json.loads(line) for line in out.getvalue().splitlines()]
    assert {record["file"] for record in records} == set(paths)
    for record in records:
        clip = record["file"].rsplit("/", 1)[1].removesuffix(".flac")
        wanted = reference.clip_row(clip)
        assert record["value"] == pytest.approx(float(wanted["srmr_slow"]), rel=5e-5)
        assert record["sha256"] == wanted["sha256"]
        assert record["parameters"] == {"precision": "float32", "variant": "slow"}
        assert record["provenance"]["packages"]["torch"]


@pytest.mark.medium
def test_score_files_names_the_files_that_failed_and_scores_the_rest(tmp_path):
    out, err = StringIO(), StringIO()
    text = tmp_path / "text.wav"
    text.write_text("hello")
    short = tmp_path / "short.wav"
    soundfile.write(short, np.tile([0.5, -0.5], 50), 16_000)
    paths = [str(text), str(tmp_path / "gone.wav"), str(short), str(reference.path(CLIPS[0]))]
    with pytest.raises(CommandError, match="2 files cannot be read"):
        call_command("score_files", *paths, "--metrics=srmr", stdout=out, stderr=err)
    scores, _, table = out.getvalue().partition("\n\n")
    lines = {line.split("  (")[0].rsplit("/", 1)[1]: line for line in scores.splitlines()}
    assert "srmr" in table
    assert "there is no such file" in lines["gone.wav"]
    assert "no audio" in lines["text.wav"]
    assert "too short" in lines["short.wav"]
    assert "2.2724" in lines["human-0880-clean.flac"]


def test_list_metrics_names_each_with_its_parameters():
    out = StringIO()
    call_command("list_metrics", stdout=out)
    assert "reverb_consistency (version 1, lower is better)" in out.getvalue()
    assert "window_s=3.0" in out.getvalue()


@pytest.mark.django_db
@pytest.mark.medium
def test_a_study_of_the_listening_room_is_scored_from_its_original_files():
    from listening.audio import keep_original
    from listening.models import Condition, Item, Study
    from tests.factories import make_stimulus, make_user

    study = Study.objects.create(owner=make_user(), key="real", title="Real", seed=1)
    condition = Condition.objects.create(study=study, key="c")
    for clip in CLIPS[:2]:
        item = Item.objects.create(study=study, key=clip)
        stimulus = make_stimulus(study, condition, item)
        stimulus.original = keep_original(reference.path(clip))
        stimulus.sha256 = reference.clip_row(clip)["sha256"]
        stimulus.save()
    (tally,) = score("real", ["srmr"], "cpu")
    assert (tally.scored, tally.failed) == (2, 0)
    assert [row["stimulus"] for row in selectors.score_rows("real", "srmr")] == [
        f"c_{clip}" for clip in CLIPS[:2]
    ]


@pytest.mark.django_db
@pytest.mark.medium
def test_warnings_and_facts_are_stored_exported_and_listed(study):
    from metrics.models import ClipFacts
    from metrics.scoring.clip_warnings import warned_clips
    from metrics.scoring.study_material import study_stimuli
    from metrics.web.score_tables import as_csv, export_rows

    for row in study:
        row.update(condition="c", item="i", role="", language="en", run="")
    clip = study[1]
    wave, rate_hz = soundfile.read(clip["path"])
    soundfile.write(clip["path"], wave + 0.4, rate_hz)
    clip["sha256"] = decoding.file_sha256(clip["path"])
    score("demo", ["length_s", "pauses"], "cpu")
    (kind,) = warned_clips(study_stimuli("demo"))
    (warned,) = kind.clips
    assert (kind.title, warned.stimulus, warned.scores) == ("Offset from zero", "s1", 2)
    rows = [row for row in export_rows("demo") if row["stimulus"] == "s1"]
    assert {tuple(row["warnings"]) for row in rows} == {("dc_offset",)}
    assert rows[0]["audio"]["dc"] == pytest.approx(0.4, abs=0.02)
    assert "dc_offset: its mean is" in as_csv(rows)
    assert ClipFacts.objects.count() == 3
