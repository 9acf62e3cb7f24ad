"""What keeps a metric from any clip is said once by score_files, not once per clip."""

from io import StringIO

import numpy as np
import pytest
import soundfile
from django.core.management import CommandError, call_command

from metrics.core import weights
from metrics.suite.length_s import Length


def test_weights_that_are_missing_are_said_once_with_a_count(tmp_path, monkeypatch):
    def load(self, device):
        raise weights.Unavailable("no weights: put them somewhere")

    monkeypatch.setattr("metrics.scoring.runner._LOADED", {})
    monkeypatch.setattr(Length, "load", load)
    for name in "abc":
        soundfile.write(tmp_path / f"{name}.wav", np.zeros(1600) + float(ord(name)) / 1e3, 16000)
    out, err = StringIO(), StringIO()
    with pytest.raises(CommandError, match="3 scores failed"):
        call_command("score_files", tmp_path, metrics="length_s", stdout=out, stderr=err)
    told = out.getvalue() + err.getvalue()
    assert told.count("put them somewhere") == 2  # at once, and with the count
    assert "3 clips in all" in told


def test_a_reason_of_all_outputs_of_a_metric_is_said_once(tmp_path):
    for name in "ab":
        soundfile.write(tmp_path / f"{name}.wav", np.zeros(16000 + ord(name)), 16000)
    out, err = StringIO(), StringIO()
    given = {"metrics": "loudness_lufs", "out": str(tmp_path / "o.jsonl")}
    call_command("score_files", tmp_path, **given, stdout=out, stderr=err)
    said = [line for line in err.getvalue().splitlines() if ": silent" in line]
    assert len(said) == 2  # the first clip, and the count of both
    assert all(line.startswith("loudness_lufs: ") for line in said)
