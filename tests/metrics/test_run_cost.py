"""What a run costs is said before it starts, by what each metric declares."""

import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from metrics.core.metric import Metric, make_metric
from metrics.scoring import presets, run_cost
from tests.metrics import paired

DOCS = Path(__file__).resolve().parents[2] / "docs/metrics.md"


@pytest.fixture
def half_as_fast(monkeypatch):
    """A core of half the speed at which costs are tabled."""
    monkeypatch.setattr(run_cost, "core_rate", lambda: run_cost.TABLED_RATE / 2)


@pytest.mark.usefixtures("half_as_fast")
def test_hours_of_audio_and_of_a_core_are_said_with_the_longest_metric_and_what_is_unknown():
    metrics = [make_metric(key) for key in ("mcd", "f0_median_hz", "spoof")]
    lines = run_cost.cost_lines([(10.0, metrics)] * 180, 4.0)  # 2 hours: 7200 * (0.5 + 0.2) * 2
    assert lines == [
        "Scoring 2.0 hours of audio takes about 2.8 hours on one CPU core of this machine. mcd "
        "takes 71% of it.",
        "Not included, because their cost is not known: spoof.",
        "Use a machine with a GPU, or several (docs/metrics.md, Several machines).",
    ]
    assert run_cost.cost_lines([(10.0, metrics)]) == []  # under a minute


def test_whole_clips_cost_squim_more_and_error_rates_share_a_transcript():
    whole, cut = make_metric("squim_pesq", {"chunk_s": 0}), make_metric("squim_pesq")
    assert whole.expected_cpu_s(10) == cut.expected_cpu_s(10)
    assert cut.expected_cpu_s(60) == pytest.approx(6 * cut.expected_cpu_s(10))
    assert whole.expected_cpu_s(60) > 2 * cut.expected_cpu_s(60)
    lfs = presets.make_metrics(presets.preset("lfs").choices())
    by_metric, _ = run_cost.cpu_s_by_metric([(61.0, lfs)])
    assert by_metric["wer"] == 3 * make_metric("wer").expected_cpu_s(5)
    assert "cer" not in by_metric


@pytest.mark.usefixtures("half_as_fast")
@pytest.mark.slow
def test_the_command_says_it_before_the_first_score(monkeypatch):
    monkeypatch.setattr(run_cost, "SILENT_BELOW_S", 0.0)
    both = StringIO()
    call_command("score_files", paired.HUMAN, metrics="srmr_norm", stdout=both, stderr=both)
    first, *scores = both.getvalue().splitlines()
    assert re.fullmatch(r"Scoring a minute of audio takes about a minute on .* 100% of it\.", first)
    assert any(line.startswith("srmr_norm") for line in scores)


def test_the_documentation_has_the_costs_that_metrics_declare():
    row = re.compile(r"^\| \[`(\w+)`\].*\| ([\d.]+) \|$", re.MULTILINE)
    said = {key: float(cost) for key, cost in row.findall(DOCS.read_text(encoding="utf-8"))}
    assert len(said) >= 30
    for key, cost in said.items():
        declared = Metric.registry[key]().expected_cpu_s(10.0)
        assert declared is not None, f"{key} declares no cost"
        assert cost == pytest.approx(declared / 10, rel=0.06, abs=5e-4), key
