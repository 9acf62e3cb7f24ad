"""The baseline: ridge by hand, known weights recovered, penalty by voice, files, its metric."""

import csv
import json

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from metrics.auto_att import baseline, run
from metrics.auto_att.baseline import Ridge
from metrics.auto_att.dataset import DatasetError, LabelledClip
from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import make_metric
from tests.metrics.tiny_listener import save_voice


def clips(n, score, voices=4):
    made = []
    for i in range(n):
        names = f"c{i}", "", f"sha{i}", "s", f"v{i % voices}", f"i{i // voices}", "d", "train"
        made.append(LabelledClip(*names, "", {}, "Unclear", float(score[i])))
    return made


def test_ridge_of_one_feature_by_hand():
    table, true = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.1, 0.3, 0.5, 0.7])
    plain = baseline.fit_ridge(table, true, ["g:x"], penalty=0.0)
    assert plain.predict(table) == pytest.approx(true)
    # Standardised x has variance 1, so a penalty of 1 per clip halves the slope.
    halved = baseline.fit_ridge(table, true, ["g:x"], penalty=1.0)
    assert halved.predict(table) == pytest.approx(0.4 + (true - 0.4) / 2)


def test_ridge_agrees_with_the_normal_equations():
    rng = np.random.default_rng(0)
    table, true = rng.normal(size=(20, 3)), rng.uniform(size=20)
    names = ["a:1", "a:2", "b:1"]
    model = baseline.fit_ridge(table, true, names, 0.3)
    x = (table - table.mean(0)) / (table.std(0) * np.sqrt([2, 2, 1]))
    w = np.linalg.solve(x.T @ x + 0.3 * 20 * np.eye(3), x.T @ (true - true.mean()))
    assert model.predict(table) == pytest.approx(np.clip(x @ w + true.mean(), 0, 1))


def test_predictions_stay_in_range_and_missing_features_count_as_the_mean():
    table = np.array([[0.0, 1.0], [1.0, np.nan], [2.0, 1.0], [3.0, 1.0]])
    model = baseline.fit_ridge(table, np.array([0.0, 0.2, 0.8, 1.0]), ["g:x", "h:constant"], 1e-6)
    assert np.isinf(model.scale[1])  # a constant says nothing
    found = model.predict(np.array([[9.0, 0], [-9.0, 0], [1.5, 0], [np.nan, 0]]))
    assert found == pytest.approx([1, 0, 0.5, 0.5], abs=1e-3)


def test_the_penalty_is_chosen_on_voices_that_were_left_out():
    rng = np.random.default_rng(1)
    voice = np.repeat(np.arange(8), 6)
    useful = rng.normal(size=8)[voice]
    own_mark = np.eye(8)[voice] + 0.01 * rng.normal(size=(48, 8))  # tells voices, says no more
    true = np.clip(0.5 + 0.15 * useful + 0.02 * rng.normal(size=48), 0, 1)
    table = np.column_stack([useful, own_mark])
    names = ["a:useful", *(f"b:{k}" for k in range(8))]
    by_voice, errors = baseline.chosen_penalty(table, true, names, voice.tolist())
    assert min(errors.values()) == pytest.approx(errors[f"{by_voice:g}"])
    noise = rng.normal(size=(48, 9))
    by_noise, _ = baseline.chosen_penalty(noise, true, names, voice.tolist())
    assert by_noise > by_voice  # features that do not carry over are shrunk more


@pytest.mark.medium
def test_what_is_left_out_is_not_trained_on_and_traps_never_are():
    rng = np.random.default_rng(2)
    score = rng.uniform(size=16)
    known = clips(16, score)
    known += [LabelledClip("t", "", "sha0", "x", "x", "i9", "", "trap", "human")]
    table = np.column_stack([[*score, 0.5], rng.normal(size=17)])
    for by in ("voice", "item"):
        found = baseline.left_out_in_turn(known, table, ["a:1", "b:1"], by)
        assert {clip.clip for clip, _, _ in found} == {clip.clip for clip in known}
        for clip, _, trained_on in found:
            assert clip.sha256 not in trained_on["sha256"]
            if by == "voice":
                assert clip.speaker not in trained_on["voices"]
    with pytest.raises(DatasetError, match="voice or item"):
        baseline.left_out_in_turn(known, table, ["a:1", "b:1"], "rater")
    with pytest.raises(DatasetError, match="3 clips"):
        baseline.train(known[:3], table[:3], ["a:1", "b:1"])


def test_a_baseline_comes_back_from_its_file(tmp_path):
    table = np.random.default_rng(3).normal(size=(12, 2))
    model = baseline.train(clips(12, np.linspace(0, 1, 12)), np.c_[table, np.ones(12)],
                           ["a:1", "a:2", "b:1"])  # fmt: skip
    baseline.write(model, tmp_path)
    back = baseline.read(tmp_path)
    rows = np.c_[table, np.ones(12)]
    assert back.predict(rows) == pytest.approx(model.predict(rows))
    assert baseline.feature_keys(back) == ["a", "b"]
    with pytest.raises(weights.Unavailable, match="auto_att baseline"):
        baseline.read(tmp_path / "nowhere")


class Loudness:
    """Features that cost nothing: the level, and whether there is any."""

    weights = {}

    def table(self, waves):
        rows = [[float(w.std()) if len(w) > 10 else np.nan] for w in waves]
        return np.array(rows), ["loud:std"]


def test_a_clip_without_any_feature_has_no_score():
    model = Ridge(["loud:std"], np.zeros(1), np.ones(1), np.ones(1), 0.1, 0.0)
    fine, short = baseline.score_waves(model, Loudness(), [torch.ones(20) * 0.0, torch.ones(5)])
    assert fine.value == pytest.approx(0.1)
    assert short.value is None
    other = Ridge(["else:x"], np.zeros(1), np.ones(1), np.ones(1), 0.1, 0.0)
    with pytest.raises(DatasetError, match="other names"):
        baseline.score_waves(other, Loudness(), [torch.ones(20)])


@pytest.fixture
def study(tmp_path):
    """Ratings and clips as files: three voices of one system and one of another, four items."""
    (tmp_path / "audio").mkdir()
    lines, manifest = [], ["stimulus,file,system,voice,item,dimension,trap"]
    for voice, label in enumerate(["Machine", "Unclear", "Unclear", "Human"]):
        for item in range(4):
            name = f"v{voice}i{item}"
            save_voice(tmp_path / "audio" / f"{name}.flac", voice, item)
            system = "a" if voice < 3 else "b"
            manifest.append(f"{name},audio/{name}.flac,{system},v{voice},i{item},d{item % 2},")
            lines += [[name, f"r{k}", label] for k in range(3)]
    for trap, voice in (("human", 3), ("flawed", 0)):
        save_voice(tmp_path / "audio" / f"{trap}.flac", voice, 7)
        manifest.append(f"{trap},audio/{trap}.flac,{trap},{trap},i9,d0,{trap}")
    (tmp_path / "clips.csv").write_text("\n".join(manifest))
    with (tmp_path / "ratings.csv").open("w", newline="") as out:
        csv.writer(out).writerows([["stimulus", "rater", "label"], *lines])
    return tmp_path


@pytest.mark.slow
def test_the_commands_lead_from_ratings_to_an_evaluation(study, capsys):
    def att(*words):
        call_command("auto_att", *map(str, words))
        return capsys.readouterr().out

    told = att("dataset", study / "ratings.csv", "--manifest", study / "clips.csv", "--out",
               study / "set", "--held-out", "a/v1")  # fmt: skip
    assert "clips: 4 test, 12 train, 2 trap; 48 labels, 0 ties" in told
    told = att("baseline", study / "set", "--out", study / "base", "--features", "resemblyzer",
               "--leave-out", "item")  # fmt: skip
    assert "256 features" in told
    told = att("predict", study / "set", "--checkpoint", study / "base", "--out",
               study / "p.jsonl")  # fmt: skip
    assert "18 of 18 clips have a score" in told
    told = att("evaluate", study / "set", study / "p.jsonl", study / "base/without-own-item.jsonl",
               "--out", study / "e.json")  # fmt: skip
    assert "traps: F1" in told
    assert "clips left out: 12 (the same audio was trained on)" in told
    found = json.loads((study / "e.json").read_text())
    crossed = found[str(study / "base/without-own-item.jsonl")]
    (ranking,) = [
        r for r in crossed["rankings"] if (r["voices_are"], r["dimension"]) == ("all", "")
    ]
    assert ranking["voices"] == 4
    assert ranking["distance"] < 0.2  # four pitches, three levels: easily told apart
    metric = make_metric("auto_att_baseline", {"checkpoint": str(study / "base")})
    metric.load("cpu")
    assert metric.weights["baseline.json"].startswith(metric.parameters.file_sha256)
    assert len(metric.parameters.file_sha256) == 12
    loud, silent = metric.measure([torch.randn(16_000) * 0.1, torch.zeros(16_000)])
    assert 0 <= loud.value <= 1
    assert (silent.value, silent.reason) == (None, "silent")
    with pytest.raises(CommandError, match="needs --manifest"):
        att("dataset", study / "ratings.csv", "--out", study / "other")
    with pytest.raises(CommandError, match="cannot be read; make it with"):
        att("evaluate", study / "nowhere", study / "p.jsonl")


def test_without_features_named_those_that_are_here_are_taken():
    assert not run.available("no_such_feature", "cpu")
    with pytest.raises(ValueError, match="no_such_feature"):
        run.loaded_features(["no_such_feature"], "cpu")
    with pytest.raises(weights.Unavailable, match="auto_att baseline"):
        make_metric("auto_att_baseline").load("cpu")
