"""Metrics of other packages: listed, described, run; a broken one is named and breaks nothing."""

import io
import sys
import tomllib
from pathlib import Path

import pytest
from django.core.management import call_command

from listening.common import plugins
from metrics import testing
from metrics.core.lazy_torch import torch
from metrics.core.metric import Metric, ParameterError, make_metric
from metrics.scoring import provenance
from tests.metrics.reference import square_wave
from tests.plugged import METRIC

ROOT = Path(__file__).parent.parent.parent


def errors() -> dict[str, str]:
    plugins.load(Metric.registry)
    return {plugin.target: plugin.error for plugin in plugins.broken_plugins(Metric.registry)}


def said_by(command: str, *args: str) -> str:
    out = io.StringIO()
    call_command(command, *args, stdout=out, stderr=out)
    return " ".join(out.getvalue().split())


def test_a_metric_of_a_package_is_made_listed_and_described_with_its_origin(lab):
    lab("lab_peak", METRIC.format(name="Peak", key="lab_peak"))
    assert errors() == {}
    (score,) = make_metric("lab_peak").measure([torch.tensor([0.5, -0.5])])
    assert score.value == 0.5
    assert "from: lab_peak 1.5" in said_by("describe_metric", "lab_peak")
    assert "from: lab_peak 1.5" in said_by("list_metrics")


def test_its_scores_tell_package_version_and_code(lab):
    lab("lab_peak", METRIC.format(name="Peak", key="lab_peak"))
    plugins.load(Metric.registry)
    told = provenance.provenance(make_metric("lab_peak"), "cpu")
    assert told["plugin"] == "lab_peak 1.5"
    assert told["packages"]["lab_peak"] == "1.5"
    assert len(told["plugin_code"]) == 16
    assert "plugin" not in provenance.provenance(make_metric("length_s"), "cpu")


def test_a_module_of_the_setting_brings_metrics_too(lab):
    lab("loose_peak", METRIC.format(name="Peak", key="loose_peak"), entry=False)
    assert errors() == {}
    assert plugins.plugin_of(type(make_metric("loose_peak"))).origin == (
        "loose_peak of EARNEST_METRIC_MODULES"
    )


@pytest.mark.medium
@pytest.mark.parametrize(
    ("code", "said"),
    [
        (METRIC.format(name="Lengths", key="length_s"), "gives length_s already"),
        (METRIC.format(name="Length", key="length_s"), "there is a metric length_s already"),
        (
            METRIC.format(name="Peak", key="lab_peak") + "    needs = ('lyrics',)\n",
            "needs lyrics: use",
        ),
        (METRIC.format(name="Peak", key="lab_peak") + "\nraise OSError('half')", "OSError: half"),
    ],
)
def test_a_broken_plug_in_is_named_with_its_error_and_leaves_the_house_as_it_was(lab, code, said):
    house = dict(Metric.registry)
    lab("lab_broken", code)
    lab("lab_peak2", METRIC.format(name="Peak2", key="lab_peak2"))
    assert said in errors()["lab_broken"]
    assert dict(Metric.registry) == {
        **house,
        "lab_peak2": Metric.registry.declared["lab_peak2"],
    }
    assert f"left out: lab_broken 1.5: {errors()['lab_broken']}" in said_by("list_metrics")
    with pytest.raises(ParameterError, match=r"lab_broken 1\.5 is left out"):
        make_metric("lab_peak")


@pytest.fixture
def metric_of(lab):
    def declared(body: str, key: str = "lab_odd") -> type[Metric]:
        lab("lab_odd", METRIC.format(name="Odd", key=key) + body)
        assert errors() == {}
        return Metric.registry["lab_odd"]

    return declared


@pytest.mark.medium
def test_the_contract_is_one_call_and_silent_for_a_good_metric(metric_of):
    testing.check(metric_of(""))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import torch", "imports torch at the top of its file"),
        (
            "    def score(self, waves): return [float(waves[0].abs().mean()) for w in waves]",
            "the second of two waves scores",
        ),
        (
            "    def score(self, waves): return [2 * float(w.abs().max()) + 1 for w in waves]",
            "but says 0 to 1",
        ),
        ("    def score(self, waves): return [float('nan') for w in waves]", "no value for the"),
    ],
)
@pytest.mark.medium
def test_what_breaks_the_contract_is_said(metric_of, body, said):
    with pytest.raises(testing.ContractBroken, match="Odd: ") as raised:
        testing.check(metric_of(body))
    assert said in str(raised.value)


@pytest.mark.medium
def test_all_of_it_is_listed_at_once(metric_of):
    bad = metric_of("    def score(self, waves): return [9.0 + i for i, w in enumerate(waves)]")
    with pytest.raises(testing.ContractBroken) as raised:
        testing.check(bad)
    assert str(raised.value).count("- ") == 2


@pytest.mark.medium
def test_the_example_of_the_docs_keeps_the_contract(lab, monkeypatch):
    example = ROOT / "examples" / "plugins" / "earnest-level"
    entry = tomllib.loads((example / "pyproject.toml").read_text())["project"]["entry-points"]
    assert entry["earnest.metrics"] == {"level": "earnest_level"}
    monkeypatch.syspath_prepend(example)
    monkeypatch.delitem(sys.modules, "earnest_level", raising=False)
    plugins.configure("earnest.metrics", "EARNEST_METRIC_MODULES", ["earnest_level"])
    assert errors() == {}
    testing.check(type(make_metric("active_level_dbfs")))
    half = make_metric("active_level_dbfs").measure([square_wave(16_000)])[0]
    assert half.value == pytest.approx(-6.0206, abs=1e-3)
