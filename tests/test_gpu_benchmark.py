"""The GPU benchmark, at tiny sizes on a processor: no step has rotted, whatever the machine has."""

import json
import time
from collections import Counter

import pytest

HOURS = 10 * 3600.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(["srmr"], id="srmr"),
        pytest.param(
            ["networks", "presets", "srmr", "whisper", "auto_att"],
            id="every",
            marks=pytest.mark.soak,
        ),
    ],
)
def test_every_step_measures_something_without_a_card(tmp_path, monkeypatch, wanted):
    """In one process, so that packages are imported once; the real one has a process per step."""
    from benchmarks.gpu import __main__ as benchmark
    from benchmarks.gpu.steps import STEPS
    from metrics.core import weights

    monkeypatch.setattr(weights._Place, "folder", weights._Place.folder)
    monkeypatch.setattr(weights._Place, "offline", weights._Place.offline)

    def here(given, step, place, seconds):
        words = benchmark.words_of(given, step, place, HOURS)[3:]
        return {"failed": "exit code"} if benchmark.main(words) else {}

    monkeypatch.setattr(benchmark, "child", here)
    monkeypatch.setattr(benchmark, "making_networks", lambda given, place: Made())
    if len(wanted) > 2:  # the suite itself runs the tests
        assert wanted == [step.key for step in STEPS if step.key != "tests"]
    words = ["--out", str(tmp_path), "--device=cpu", "--minutes=600", f"--steps={','.join(wanted)}"]
    assert benchmark.main(words) == 0
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [line for line in lines if "failed" in line or "failures" in line] == []
    measured = Counter(line["step"] for line in lines if "not_run" not in line)
    assert set(wanted) <= set(measured)
    assert "networks" not in wanted or measured["networks"] >= 7
    page = (tmp_path / "summary.md").read_text()
    assert all(step.title in page for step in STEPS if step.key in wanted)


class Made:
    """Networks are made by the steps that ask for them first."""

    def wait(self):
        return 0


@pytest.mark.medium
def test_a_step_that_fails_or_lacks_a_package_is_a_row_and_the_next_one_runs(tmp_path):
    from benchmarks.gpu.journal import Journal
    from benchmarks.gpu.steps import Setting, row

    setting = Setting("cpu", tmp_path, Journal(tmp_path), time.monotonic() + 60, True)
    with row(setting, "networks", "one"):
        import no_such_package  # noqa: F401
    with row(setting, "networks", "other") as figures:
        figures["speed"] = 1
        raise RuntimeError("broken")
    one, other = setting.journal.lines()
    assert one["not_run"] == "package no_such_package is not installed"
    assert (other["failed"], other["speed"]) == ("RuntimeError: broken", 1)
    setting.journal.summarise({"networks": "Networks"})
    assert "RuntimeError: broken" in (tmp_path / "summary.md").read_text()
