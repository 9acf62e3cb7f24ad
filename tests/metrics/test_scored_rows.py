"""`earnest.score`: rows with sounds of any form in, rows with scores out."""

import datetime
import http.server
import itertools
import json
import pickle
import subprocess
import sys
import threading
from functools import partial
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import soundfile
from django.core.management import call_command

import earnest
from metrics.core.metric import Metric
from metrics.core.weights import Unavailable
from metrics.scoring import runner, scored_rows

DEMO = Path(__file__).parents[2] / "demo" / "audio"
METRICS = ["srmr_norm", "loudness_lufs"]


@pytest.fixture(scope="module")
def clip() -> Path:
    return sorted(DEMO.rglob("*.*"))[0]


def test_rows_have_the_scores_of_score_files(clip, tmp_path):
    paths = sorted(DEMO.rglob("*.*"))[:3]
    out = tmp_path / "scores.jsonl"
    names = ",".join(METRICS)
    call_command("score_files", *paths, metrics=names, out=str(out), stdout=StringIO())
    lines = map(json.loads, out.read_text().splitlines())
    theirs = {(each["file"], each["metric"]): each["value"] for each in lines}
    rows = list(earnest.score(({"audio": str(p), "n": n} for n, p in enumerate(paths)), METRICS))
    assert [row["n"] for row in rows] == [0, 1, 2]
    ours = {(row["audio"], key): value for row in rows for key, value in row["scores"].items()}
    assert ours == theirs


def test_every_form_of_a_sound_has_the_same_scores(clip):
    from datasets import Audio, Dataset

    wave, rate = soundfile.read(clip, dtype="float32")
    dataset = Dataset.from_dict({"audio": [str(clip)]}).cast_column("audio", Audio(decode=False))
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(clip.parent))
    handler.log_message = lambda *words: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sounds = [
            clip,
            clip.read_bytes(),
            (wave, rate),
            (wave.astype("float64"), rate),
            (np.round(wave * 32768).astype("int16"), rate),
            {"array": wave, "sampling_rate": rate},
            dataset[0]["audio"],
            f"http://127.0.0.1:{server.server_port}/{clip.name}",
        ]
        rows = list(earnest.score(({"audio": each} for each in sounds), METRICS))
        server.shutdown()
    first = rows[0]["scores"]
    assert first["srmr_norm"] > 0
    for row in rows:
        assert row["scores"] == pytest.approx(first, rel=1e-6)
        assert row["reasons"] == {}
    assert [type(row.get("audio")).__name__ for row in rows[:3]] == ["PosixPath", *["NoneType"] * 2]


def test_a_reference_may_be_of_another_form_than_the_clip(clip):
    wave, rate = soundfile.read(clip)
    noisy = wave + 0.1 * wave.std() * np.random.default_rng(1).standard_normal(wave.shape)
    row = {"audio": (noisy, rate), "reference_audio": clip.read_bytes(), "text": float("nan")}
    (scored,) = earnest.score([row], ["si_sdr"])
    assert scored["scores"]["si_sdr"] == pytest.approx(20, abs=0.3)  # dB: a tenth of the clip's SD


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({}, "the row has no audio"),
        ({"audio": b"no sound"}, "audio: no audio that can be read"),
        ({"audio": "missing.wav"}, "missing.wav: there is no such file"),
        ({"audio": 3}, "a sound is int"),
        ({"audio": (np.zeros(9), None)}, "samples need their rate"),
        ({"audio": (np.zeros(9), float("nan"))}, "samples need their rate"),
        ({"audio": (16_000, np.zeros(9))}, "give (samples, rate)"),
        ({"audio": (np.zeros((2, 0)), 16_000)}, "there are no samples"),
        ({"audio": (np.zeros((1, 2, 9)), 16_000)}, "the shape (1, 2, 9)"),
        ({"audio": (np.zeros((9, 99)), 16_000)}, "each clip of a batch a row of its own"),
        ({"audio": (np.zeros(9, "uint8"), 16_000)}, "samples are uint8"),
        ({"audio": "http://127.0.0.1:9/a.wav?key=secret"}, "http://127.0.0.1:9/a.wav: "),
        ({"audio": "ftp://host/a.wav"}, "ftp:// addresses are not fetched"),
    ],
)
def test_what_is_wrong_with_a_row_is_its_reason(row, reason):
    rows = [{"audio": (np.zeros(32_000, "float32"), 16_000)}, row]
    silent, broken = earnest.score(rows, ["srmr_norm"])
    assert silent["reasons"] == {"srmr_norm": "silent"}
    assert silent["failed"] == []
    assert reason in broken["reasons"]["srmr_norm"]
    assert "secret" not in str(broken["reasons"])
    assert broken["failed"] == ["srmr_norm"]


def test_what_is_wrong_with_the_call_is_raised_by_it():
    with pytest.raises(ValueError, match="no metric is called 'smrr'"):
        earnest.score([], ["smrr"])
    with pytest.raises(ValueError, match="no preset is called 'srmr'"):
        earnest.score([], "srmr")
    with pytest.raises(ValueError, match="metrics is empty"):
        earnest.score([], [])
    with pytest.raises(ValueError, match="is no metric; give a key"):
        earnest.score([], [{"name": "srmr"}])
    with pytest.raises(ValueError, match="threads is -1"):
        earnest.score([], METRICS, threads=-1)
    with pytest.raises(ValueError, match="a row is str"):
        list(earnest.score(["a.wav"], METRICS))
    with pytest.raises(ValueError, match="rows have scores already"):
        list(earnest.score([{"audio": "a.wav", "scores": {}}], METRICS))


def test_no_clip_and_no_column_costs_other_rows_their_scores(clip, monkeypatch, caplog):
    """Samples that overflow, columns of any type, torch's tensors, and a fault of the reader."""
    import torch

    wave, rate = soundfile.read(clip, dtype="float32")
    columns = {"n": np.int64(3), "day": datetime.date(2026, 1, 2), "v": np.zeros(3), "s": {1}}
    tensor = torch.from_numpy(wave).requires_grad_()
    sounds = [wave, wave * np.float32(1e20), tensor, tensor.bfloat16()]
    rows = list(earnest.score([{"audio": (s, rate), **columns} for s in sounds], METRICS))
    first = rows[0]["scores"]["loudness_lufs"]
    assert rows[0]["n"] is columns["n"]
    assert rows[2]["scores"]["loudness_lufs"] == first
    assert rows[3]["scores"]["loudness_lufs"] == pytest.approx(first, abs=0.05)
    assert [bool(row["reasons"]) for row in (rows[0], rows[2], rows[3])] == [False] * 3
    for name in ("decode", "duration_s"):
        reader = getattr(runner.decoding, name)

        def breaks(path, *more, reader=reader):
            if path.endswith("/1"):
                raise IndexError("of a decoder")
            return reader(path, *more)

        with monkeypatch.context() as patch:
            patch.setattr(runner.decoding, name, breaks)
            broken, whole = earnest.score([{"audio": (wave, rate)}] * 2, METRICS)
        assert broken["reasons"]["srmr_norm"] == "IndexError: of a decoder"
        assert whole["scores"]["loudness_lufs"] == first


def test_endless_rows_are_read_portion_by_portion(clip, monkeypatch, tmp_path):
    monkeypatch.setattr(scored_rows, "ROWS_AT_ONCE", 4)
    monkeypatch.setattr(scored_rows.tempfile, "tempdir", str(tmp_path))
    taken = itertools.count()
    rows = ({"audio": clip.read_bytes(), "n": n} for n in taken)
    scored = earnest.score(rows, ["length_s"], ordered=False)
    assert {row["n"] for row in itertools.islice(scored, 6)} > {0, 1, 2, 3}
    assert next(taken) == 8
    scored.close()
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_is_not_there_is_looked_for_once(clip, monkeypatch):
    class Absent(Metric):
        key = "test_absent"
        looked = 0

        def load(self, device="cpu"):
            Absent.looked += 1
            raise Unavailable("no weights: put them there")

    monkeypatch.setattr(scored_rows, "ROWS_AT_ONCE", 1)
    try:
        rows = list(earnest.score([{"audio": clip}] * 3, ["test_absent", "length_s"]))
    finally:
        runner.forget_models()
        del Metric.registry["test_absent"]
    assert [row["failed"] for row in rows] == [["test_absent"]] * 3
    assert all(row["scores"]["length_s"] > 0 for row in rows)
    assert Absent.looked == 1


def test_the_call_needs_no_django_and_can_be_pickled(clip, tmp_path):
    assert pickle.loads(pickle.dumps(earnest.score)) is earnest.score
    program = (
        "import sys, earnest\n"
        f"(row,) = earnest.score([{{'audio': {str(clip)!r}}}], ['length_s'])\n"
        "print(row['scores']['length_s'] > 0, 'django.db' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(DEMO.parents[1]), "PATH": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == ["True", "False"]
