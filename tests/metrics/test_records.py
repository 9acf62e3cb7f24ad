"""Scores in a file of JSON lines, resumed after a kill; summed up per condition; the commands."""

import json
import tracemalloc
from io import StringIO

import numpy as np
import pytest
import soundfile
from django.core.management import CommandError, call_command

from metrics.core import metric as contract
from metrics.core.metric import Material, Metric, Output, Score, make_metric
from metrics.scoring import records, runner
from metrics.scoring.records import RecordFile, RecordsError
from metrics.scoring.runner import Clip, ScoredBatch, ScoredClip
from metrics.web import summary


@pytest.fixture
def words():
    """A metric of two outputs that depends on the text."""

    class Words(Metric):
        key = "test_words"
        sample_rate_hz = 8_000
        needs = ("text",)
        more_outputs = (Output("test_letters"),)

        def score_takes(self, takes):
            return [
                Score(float(len(t.material.text.split())), also={"test_letters": 7.0})
                for t in takes
            ]

        def pooled(self, details):
            return {"clips": float(len(details))}

    yield Words
    runner.forget_models()
    del contract.Metric.registry["test_words"]


def clip(text="one two", sha="a" * 64):
    return Clip("a.wav", sha, material=Material(text=text))


def kept(path, metric, clips, score=None):
    scored = [ScoredClip(c, score or Score(2.0, also={"test_letters": 7.0})) for c in clips]
    with RecordFile(path) as file:
        file.add(records.batch_records(ScoredBatch(metric, scored), "cpu"))


def missing(path, clips, metrics):
    """How many metrics each clip misses."""
    with RecordFile(path) as file:
        return [len(wanted) for _, wanted in file.missing(clips, metrics)[0]]


def test_a_clip_is_done_when_every_output_is_there_with_the_same_material(tmp_path, words):
    path, metric = tmp_path / "out.jsonl", words()
    kept(path, metric, [clip()])
    assert missing(path, [clip()], [metric]) == [0]
    assert missing(path, [clip("other text")], [metric]) == [1]
    lines = path.read_text().splitlines(keepends=True)
    assert [json.loads(line)["metric"] for line in lines] == ["test_words", "test_letters"]
    path.write_text(lines[0])
    assert missing(path, [clip()], [metric]) == [1]


def test_a_number_may_be_written_with_or_without_its_decimals(tmp_path):
    path, timbre = tmp_path / "out.jsonl", "timbre_consistency"
    kept(path, make_metric(timbre, {"window_s": 3}), [clip()], Score(0.9))
    assert missing(path, [clip()], [make_metric(timbre)]) == [0]  # its 3.0
    assert missing(path, [clip()], [make_metric(timbre, {"window_s": 3.5})]) == [1]


def test_a_failed_score_is_tried_again_and_the_newest_counts(tmp_path, words):
    path, metric = tmp_path / "out.jsonl", words()
    kept(path, metric, [clip()], Score(None, "out of memory", failed=True))
    assert missing(path, [clip()], [metric]) == [1]
    kept(path, metric, [clip()])
    assert missing(path, [clip()], [metric]) == [0]


@pytest.mark.medium
def test_long_records_are_read_again_and_not_held_in_memory(tmp_path, words):
    path, count = tmp_path / "out.jsonl", 100
    clips = [clip(text=f"é {n}") for n in range(count)]
    for n, each in enumerate(clips):
        heard = {"heard": "ü" * 10_000, "n": n}
        kept(path, words(), [each], Score(1.0, details=heard, also={"test_letters": 7.0}))
    kept(path, words(), clips[:1], Score(None, "broke", failed=True))
    kept(path, words(), clips[:1], Score(3.0, details={"n": -1}, also={"test_letters": 7.0}))
    tracemalloc.start()
    with RecordFile(path) as file:
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        keys = [records.metric_keys(words(), each)[0] for each in clips]
        numbers = [file.record(key)["details"]["n"] for key in keys]
        assert file.record(keys[0])["value"] == 3.0
        assert len(file.record(keys[1])["details"]["heard"]) == 10_000
    assert numbers == [-1, *range(1, count)]
    assert held < count * 2_000  # bytes; each has 20,000 of them in the file


def test_equal_clips_are_scored_once(tmp_path, words):
    wanted = missing(tmp_path / "out.jsonl", [clip(), clip(), clip("more")], [words()])
    assert wanted == [1, 0, 1]


@pytest.mark.parametrize("left", [1, 40, -1])
def test_a_last_line_that_was_cut_is_dropped(tmp_path, words, left):
    path = tmp_path / "out.jsonl"
    kept(path, words(), [clip()])
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    path.write_bytes(whole[:first] + whole[first:][:left])
    with RecordFile(path) as file:
        assert len(file.done) == 1
    assert path.read_bytes() == whole[:first]
    kept(path, words(), [clip()])
    with RecordFile(path) as file:
        assert len(file.done) == 2


def test_another_file_is_not_written_into(tmp_path):
    path = tmp_path / "notes.jsonl"
    path.write_text('{"key": "a", "utmos": 3}\n')
    with pytest.raises(RecordsError, match="line 1: no record of scores"):
        RecordFile(path)
    assert path.read_text() == '{"key": "a", "utmos": 3}\n'


def test_a_summary_has_counts_mean_deviation_interval_and_reasons(words):
    values = [Score(v) for v in (1.0, 2.0, 3.0, 6.0)]
    bad = [Score(None, "too short"), Score(None, "out of memory", failed=True)]
    rows = [("b", s) for s in [*values, *bad]] + [("a", Score(5.0))]
    a, b = summary.summarise(rows, words())
    assert (b.n, b.n_undefined, b.n_failed, b.mean) == (4, 1, 1, 3.0)
    assert b.sd == pytest.approx(2.160247)
    assert (b.low, b.high) == (pytest.approx(-0.437435), pytest.approx(6.437435))  # t(3) = 3.182446
    assert b.reasons == {"too short": 1, "out of memory": 1}
    assert b.pooled == {"clips": 4.0}
    assert (a.mean, a.sd, a.low) == (5.0, None, None)
    assert "-0.4374 to 6.437" in "\n".join(summary.summary_lines("test_words", [a, b]))


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((None, None), "-0.4374 to 6.437"),
        ((0.0, None), "◂0 to 6.437"),
        ((1.0, 5.0), "◂1 to 5▸"),
        ((-0.4374 - 1e-12, 6.437), "-0.4374 to 6.437"),
    ],
)
def test_no_interval_is_told_beyond_what_a_metric_can_be(ends, said):
    each = summary.Summary("a", 4, 0, 0, 3.0, 2.16, -0.4374, 6.437)
    output = Output("m", low=ends[0], high=ends[1])
    assert summary.format_interval(each, output) == said
    assert said in "\n".join(summary.summary_lines("m", [each], output))
    assert summary.runs_past(said) == ("◂" in said)


def test_runs_of_a_synthesis_count_once_each_however_many_clips_they_have():
    rows = [("a", "1", 1.0), ("a", "1", 3.0), ("a", "2", 6.0), ("b", "1", 5.0), ("b", "2", None)]
    made = summary.summarise((condition, Score(v, "" if v else "x")) for condition, _, v in rows)
    a, b = summary.with_runs(made, rows)
    assert (a.mean, a.over_runs.mean, a.over_runs.runs) == (pytest.approx(10 / 3), 4.0, 2)
    assert a.over_runs.sd == pytest.approx(8**0.5)
    assert b.over_runs is None
    assert "2 runs: 4 ± 2.8" in "\n".join(summary.summary_lines("m", [a, b]))


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(6):
        path = tmp_path / "clips" / f"c{number % 2}" / f"{number}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, rng.normal(0, 0.1, 16_000 + 800 * number), 16_000)
    return tmp_path / "clips"


def score_files(*arguments):
    out, err = StringIO(), StringIO()
    call_command("score_files", *map(str, arguments), "--device=cpu", stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@pytest.mark.slow
def test_score_files_resumes_a_file_and_sums_up_per_condition(folder, tmp_path):
    path = tmp_path / "out.jsonl"
    out, err = score_files(folder, "--metrics=srmr", "--out", path)
    assert len(path.read_text().splitlines()) == 6
    assert "c0 " in out
    assert "95 % interval" in out
    assert "already" not in err
    again, err = score_files(folder, "--metrics=srmr,srmr_norm", "--out", path)
    assert len(path.read_text().splitlines()) == 12
    assert "6 of 12 scores (one per clip and metric) are there already" in err
    assert out.splitlines()[1:4] == again.splitlines()[1:4]


def test_lines_say_of_a_clip_what_its_manifest_does(folder, tmp_path):
    path, table = tmp_path / "out.jsonl", folder / "m.csv"
    table.write_text("file,condition,run,challenge\nc0/0.wav,x,1,noise\nc0/2.wav,x,2,\n")
    out, _ = score_files(table, "--metrics=length_s", "--out", path)
    first, second = map(json.loads, path.read_text().splitlines())
    assert (first["run"], first["challenge"], first["title"]) == ("1", "noise", "Length")
    assert (second["run"], "challenge" in second) == ("2", False)
    assert "2 runs: 1.05 ± 0.071" in out


def test_score_files_says_what_is_wrong_with_a_manifest(folder):
    table = folder / "m.csv"
    table.write_text("file\nc0/0.wav\nc0/gone.wav\n")
    with pytest.raises(CommandError, match=r"m\.csv, row 3: there is no file c0/gone\.wav"):
        score_files(table, "--metrics=srmr")


def test_metrics_and_presets_describe_themselves():
    out = StringIO()
    call_command("describe_metric", "srmr", stdout=out)
    assert "variant = 'slow'" in out.getvalue()
    assert "higher is better" in out.getvalue()
    with pytest.raises(CommandError, match="no metric is called 'srmrr'"):
        call_command("describe_metric", "srmrr", stdout=out)
    call_command("list_presets", stdout=out)
    assert "fast: Fast on a CPU" in out.getvalue()


class Killed(BaseException):
    """Ends a run as nothing that it catches would."""


@pytest.mark.slow
def test_a_killed_run_loses_at_most_the_batch_in_flight(folder, tmp_path, monkeypatch):
    """What the file holds in the third batch of one clip each is what kill -9 would leave of it."""
    path, left = tmp_path / "out.jsonl", []
    monkeypatch.setitem(runner.BATCH_S, "cpu", 1.0)
    plain, calls = runner.measure_clips, []

    def measured(*given):
        calls.append(given)
        if len(calls) == 3:
            left.append(path.read_bytes())
            raise Killed
        return plain(*given)

    with monkeypatch.context() as patched:
        patched.setattr(runner, "measure_clips", measured)
        with pytest.raises(Killed):
            score_files(folder, "--metrics=srmr", "--out", path)
    assert left[0].count(b"\n") == 2
    path.write_bytes(left[0])
    _, err = score_files(folder, "--metrics=srmr", "--out", path)
    assert "2 of 6 scores (one per clip and metric) are there already" in err
    found = [json.loads(line)["sha256"] for line in path.read_text().splitlines()]
    assert len(found) == len(set(found)) == 6
