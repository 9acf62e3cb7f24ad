"""Networks in other numbers than float32: within what is declared, asked for, never mixed."""

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from metrics import testing
from metrics.core import precision
from metrics.core.lazy_torch import torch
from metrics.core.metric import Material, Metric, ParameterError, make_metric
from metrics.core.precision import Arithmetic, PrecisionError, Precisions
from metrics.networks.predictors import onnx
from metrics.networks.predictors.predictor import exact_inference
from metrics.networks.recognisers.faster_whisper import FasterWhisper
from metrics.networks.recognisers.recogniser import Options
from metrics.scoring import records, runner
from metrics.scoring.arithmetic import plan_arithmetic
from metrics.scoring.presets import Choice, make_metrics
from tests.metrics import paired, reference, tiny_predictors

ROOT = Path(__file__).parent.parent.parent
BF16 = Arithmetic("bf16")


@pytest.fixture(scope="module", autouse=True)
def weigher():
    """Known to the registry while these tests run, not when they are collected."""

    class Weigher(Metric):
        """A network of one matrix, of what is asked of it."""

        key = "weigher"
        description = "A product of the wave's first samples with a matrix"
        source = "made up for these tests"
        precisions = Precisions(1e-3, 1e-2, 1e-5, "this matrix")

        def load(self, device="cpu"):
            super().load(device)
            draw = torch.Generator().manual_seed(1)
            self.network = torch.nn.Linear(64, 64)
            for part in self.network.parameters():
                part.data = torch.randn(part.shape, generator=draw)
            self.seen = []

        def compilable(self):
            return [(self, "network")]

        def score(self, waves):
            with exact_inference():
                self.seen.append(torch.backends.cuda.matmul.allow_tf32)
                self.seen.append(torch.backends.cudnn.allow_tf32)
                heard = self.network(torch.stack([wave[:64] for wave in waves]))
                return [float(value) for value in heard.square().mean(dim=1).sqrt()]

    yield Weigher
    del Metric.registry["weigher"]


@pytest.fixture(autouse=True)
def traced(monkeypatch):
    """Networks are traced, not built: a C++ compiler would take longer than all of these tests."""
    monkeypatch.setattr(precision, "backend", lambda device: "aot_eager")


@pytest.fixture
def with_bfloat16(monkeypatch):
    """A device that has it: these tests are of one matrix, which any processor multiplies in it."""
    monkeypatch.setattr(precision, "without_bfloat16", lambda device: "")


def told(*arguments):
    """What score_files says beside its scores."""
    out, err = StringIO(), StringIO()
    call_command("score_files", *arguments, "--device=cpu", stdout=out, stderr=err)
    return err.getvalue()


def wave():
    return reference.wave("human-0880-clean")[8_000:40_000]


def measured(**parameters):
    return paired.loaded("weigher", **parameters).measure([wave()])[0].value


def test_float32_is_what_is_not_asked_for():
    metric = make_metric("weigher")
    assert metric.parameters_dict() == {}
    assert make_metric("weigher", {"precision": "float32"}).parameters_dict() == {}
    assert "precision" not in runner.provenance(metric, "cpu")


@pytest.mark.usefixtures("with_bfloat16")
@pytest.mark.slow
def test_other_numbers_move_a_value_within_what_is_declared_and_are_kept_apart():
    plain, rounded = measured(), measured(precision="bf16")
    assert 1e-6 < abs(rounded - plain) / max(1, plain) < 1e-2
    both = make_metric("weigher", {"precision": "bf16", "compile": True})
    assert both.parameters_dict() == {"precision": "bf16", "compile": True}
    made = runner.provenance(both, "cpu")
    assert (made["precision"], made["compiled_by"]) == ("bf16", "aot_eager")
    clip = runner.Clip("a.wav", "00", Material())
    assert records.metric_keys(both, clip) != records.metric_keys(make_metric("weigher"), clip)


@pytest.mark.slow
def test_a_network_is_compiled_once():
    metric = paired.loaded("weigher", compile=True)
    values = [metric.measure([wave()])[0].value for _ in range(2)]
    assert type(metric.network).__name__ == "OptimizedModule"
    assert isinstance(metric.network._orig_mod, torch.nn.Linear)  # not wrapped twice
    assert values == pytest.approx([measured()] * 2, rel=1e-5)


def test_tf32_is_switched_on_for_networks_alone(monkeypatch):
    monkeypatch.setattr(precision, "unsupported_reason", lambda asked, device: "")
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    for asked, wanted in (({}, False), ({"precision": "tf32"}, True)):
        metric = paired.loaded("weigher", **asked)
        metric.measure([wave()])
        assert metric.seen == [wanted, wanted]
        now = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
        assert now == before


@pytest.mark.parametrize("asked", ["tf32", "bf16"])
def test_a_precision_that_the_device_lacks_is_computed_in_float32_and_provenance_says_so(
    asked, monkeypatch
):
    monkeypatch.setattr(precision, "without_bfloat16", lambda device: "no bfloat16 here")
    metric = paired.loaded("weigher", precision=asked)
    assert runner.load_all({1: metric}, "cpu") == ({1: metric}, [])
    assert metric.measure([wave()])[0].value == measured()
    made = runner.provenance(metric, "cpu")
    assert (made["precision"], made["precision_asked"]) == ("float32", asked)
    assert made["precision_note"] == precision.unsupported_reason(metric.arithmetic, "cpu") != ""
    metrics, notes = plan_arithmetic([metric], precision.FLOAT32, "cpu")
    assert metrics[0].parameters_dict() == {}
    assert notes == [f"weigher: {made['precision_note']}; it runs in float32"]


def test_a_gpu_is_asked_for_its_capability(monkeypatch):
    for capability, fits in (((7, 5), False), ((8, 0), True), ((9, 0), True)):
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device, c=capability: c)
        assert (precision.unsupported_reason(Arithmetic("tf32"), "cuda:1") == "") == fits


OLDER = """
import json, sys
from metrics.scoring import runner
from metrics.core.metric import make_metric
clip = runner.clip_from_file(sys.argv[1])
for asked in ({}, {"precision": "bf16"}):
    metric = make_metric("timbre_consistency", asked)
    (scored,) = runner.score_clips(metric, [clip], "cpu")
    print(json.dumps([scored.score.value, runner.provenance(metric, "cpu")]))
"""


@pytest.mark.soak
@pytest.mark.parametrize(
    ("onednn", "aten"),
    [("AVX2", "avx2"), ("SSE41", "default")],
)
def test_an_older_processor_runs_recurrent_networks_in_float32(onednn, aten):
    """oneDNN has no LSTM in bfloat16 without AVX-512: this process plays such a processor."""
    done = subprocess.run(
        [sys.executable, "-c", OLDER, str(reference.path("long_same-human"))],
        env={**os.environ, "ONEDNN_MAX_CPU_ISA": onednn, "ATEN_CPU_CAPABILITY": aten},
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    plain, rounded = map(json.loads, done.stdout.splitlines())
    assert rounded[0] == plain[0] > 0.5
    assert (rounded[1]["precision"], rounded[1]["precision_asked"]) == ("float32", "bf16")
    assert "bfloat16" in rounded[1]["precision_note"]


def test_layers_that_fail_in_bfloat16_are_found_by_a_trial(monkeypatch):
    if precision.without_bfloat16("cpu"):
        pytest.skip("this processor has no bfloat16 arithmetic")

    def fails(device):
        raise RuntimeError("could not create a primitive descriptor\nmore")

    monkeypatch.setattr(precision, "_try_bfloat16", fails)
    said = precision.without_bfloat16.__wrapped__("cpu")
    assert said.endswith("for all layers (could not create a primitive descriptor)")


def test_a_whisper_in_numbers_that_the_device_lacks_is_heard_in_float32(monkeypatch):
    ctranslate2 = pytest.importorskip("ctranslate2")
    known = {"float32", "int8"}
    monkeypatch.setattr(ctranslate2, "get_supported_compute_types", lambda device, index: known)
    for asked, used in (("bfloat16", "float32"), ("int8", "int8"), ("float32", "float32")):
        heard = FasterWhisper(Options("tiny.en", precision=asked))
        assert heard.compute_type() == used
        assert heard.device_notes.get("precision_asked") == (None if used == asked else asked)


def test_an_onnx_file_that_no_gpu_runs_says_so():
    class Session:
        def __init__(self, provider):
            self.get_providers = lambda: [provider]

    assert onnx.provider_notes(Session(onnx.CPU), "cpu") == {}
    assert onnx.provider_notes(Session(onnx.CUDA), "cuda:1") == {}
    assert onnx.provider_notes(Session(onnx.CPU), "cuda:1")["onnx_provider"] == onnx.CPU


@pytest.mark.parametrize(
    ("key", "parameters", "said"),
    [
        ("length_s", {"precision": "bf16"}, "length_s runs not in bf16: it declares float32"),
        ("utmos", {"precision": "bf16"}, "a scripted or exported network stays as it was made"),
        ("nisqa", {"compile": True}, "nisqa runs not compiled: clips of every length would be"),
        ("distillmos", {"precision": "fp16"}, "choose one of float32, tf32, bf16"),
        ("distillmos", {"compile": "yes"}, "it must be true or false"),
    ],
)  # fmt: skip
def test_what_a_metric_does_not_allow_is_refused_with_a_sentence(key, parameters, said):
    with pytest.raises(ParameterError, match=said):
        make_metric(key, parameters)


def test_a_metric_with_a_parameter_of_that_name_keeps_it():
    assert make_metric("srmr", {"precision": "float64"}).arithmetic == precision.FLOAT32
    assert (
        make_metric("wer", {"precision": "bfloat16"}).parameters_dict()["precision"] == "bfloat16"
    )


@pytest.mark.usefixtures("with_bfloat16")
def test_a_run_settles_what_each_metric_computes_in_and_says_what_is_not_to_be_had():
    def those():
        own = make_metric("distillmos", {"precision": "float32"})
        return [make_metric("weigher"), own, make_metric("length_s"), make_metric("utmos")]

    metrics, notes = plan_arithmetic(those(), Arithmetic("bf16", compile=True), "cpu")
    told = {metric.key: metric.parameters_dict() for metric in metrics[:3]}
    assert told == {
        "weigher": {"precision": "bf16", "compile": True}, "distillmos": {}, "length_s": {},
    }  # fmt: skip
    assert any("aot_eager" in note for note in notes)
    assert any(note.startswith("length_s: ") and "bf16" in note for note in notes)
    assert any(note.startswith("utmos: ") and "exported" in note for note in notes)
    metrics, notes = plan_arithmetic(those(), Arithmetic("tf32"), "cpu")
    assert metrics[0].parameters_dict() == {}
    assert len(notes) == 1
    assert notes[0].endswith("everything runs in float32")
    assert plan_arithmetic(those()[:1], Arithmetic("tf32"))[0][0].arithmetic.precision == "tf32"
    assert plan_arithmetic(those(), Arithmetic())[1] == []


@pytest.mark.usefixtures("with_bfloat16")
def test_a_list_of_ones_own_may_hold_a_metric_in_two_precisions():
    both = [Choice("distillmos"), Choice("distillmos", {"precision": "bf16"})]
    assert [m.arithmetic.precision for m in make_metrics(both)] == ["float32", "bf16"]
    metrics, _ = plan_arithmetic(make_metrics(both), BF16, "cpu")
    assert [m.parameters_dict() for m in metrics] == [{"precision": "bf16"}]


def test_every_metric_with_networks_says_what_they_compute_in():
    groups = {}
    for kind in Metric.registry.values():
        if kind.__module__.startswith("metrics."):
            groups.setdefault(kind.precisions, []).append(kind)
    for kind in groups.pop(Precisions()):  # those that say nothing have none
        assert not {"transformers", "torchaudio", "onnxruntime"} & set(kind.packages), kind.key
    assert all(said.weights for said in groups if said.bf16 or said.tf32 or said.compile)


def test_declarations_add_up():
    declared = Precisions(0.001, 0.02, 0.0005, "real weights")
    assert declared.within(Arithmetic("bf16", compile=True)) == pytest.approx(0.0205)
    assert declared.within(Arithmetic(compile=True)) == 0.0005
    assert declared.words().startswith("float32; tf32 within 0.001; bf16 within 0.02; compile")
    with pytest.raises(PrecisionError, match="it declares float32 only"):
        Precisions().within(BF16)


def test_the_compiler_that_is_here_is_taken(monkeypatch, tmp_path):
    """Inductor builds with a C++ compiler, Triton its driver with one of C: images have none."""
    monkeypatch.undo()
    chosen = precision.backend.__wrapped__
    there = set()
    (tmp_path / "Python.h").touch()
    monkeypatch.setattr(precision.shutil, "which", lambda name: name if name in there else None)
    monkeypatch.setattr(precision.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(precision.sysconfig, "get_path", lambda name: str(tmp_path))
    assert chosen("cpu") == "aot_eager"
    assert chosen("cuda:1") == "aot_eager"
    there.add("clang++")
    monkeypatch.setattr(precision, "_compiles", lambda device: False)
    assert chosen("cpu") == "aot_eager"
    monkeypatch.setattr(precision, "_compiles", lambda device: True)
    assert chosen("cpu") == "inductor"
    assert chosen("cuda:1") == "aot_eager"
    there.add("gcc")
    assert chosen("cuda:1") == "inductor"
    monkeypatch.setattr(precision.importlib.util, "find_spec", lambda name: None)
    assert chosen("cuda:1") == "aot_eager"


def test_without_python_s_headers_nothing_is_built(monkeypatch, tmp_path):
    monkeypatch.undo()
    monkeypatch.setattr(precision.shutil, "which", lambda name: name)
    monkeypatch.setattr(precision.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(precision.sysconfig, "get_path", lambda name: str(tmp_path))
    chosen = precision.backend.__wrapped__
    assert {chosen("cpu"), chosen("cuda:0")} == {"aot_eager"}


@pytest.mark.usefixtures("with_bfloat16")
@pytest.mark.slow
def test_files_are_scored_in_what_is_asked_for(tmp_path):
    out = tmp_path / "scores.jsonl"
    clip = str(reference.path("human-0880-clean"))
    weights = str(tiny_predictors.audiobox(tmp_path))
    own = json.dumps({"audiobox_pq": {"model": weights}})
    common = (clip, "--metrics=audiobox_pq,length_s", f"--parameters={own}", f"--out={out}")
    assert "float32" not in told(*common)
    said = told(*common, "--precision=bf16")
    assert "length_s: not in bf16: it declares float32 only" in said
    assert "1 of 2 scores (one per clip and metric) are there already" in said
    found = [json.loads(line) for line in out.read_text().splitlines()]
    pq = [line for line in found if line["metric"] == "audiobox_pq"]
    assert [line["parameters"].get("precision") for line in pq] == [None, "bf16"]
    assert pq[1]["title"].endswith("precision bf16)")
    values = [line["value"] for line in pq]
    assert values[0] != values[1]
    within = Metric.registry["audiobox_pq"].precisions.bf16
    assert testing.relative_change(*values) <= within
    assert len([line for line in found if line["metric"] == "length_s"]) == 1
