"""Every metric of the registry keeps the contract; a new one needs one file only."""

import re
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest
import soundfile

from listening.common import plugins
from metrics import suite, testing
from metrics.core import metric as contract
from metrics.core.lazy_torch import torch
from metrics.core.metric import Metric, Score, make_metric, title_of
from metrics.judges.judge import Judge
from tests.metrics import reference, tiny_listener, tiny_models, tiny_predictors

ROOT = Path(__file__).parent.parent.parent
KEYS = sorted(Metric.registry)
NEEDS_A_FILE = (
    "timbre_similarity",
    "speaker_similarity",
)  # a reference voice: without one, a reason
PACKAGES = {"pesq": "pesq", "visqol": "ai_edge_litert"}  # not installed by default: earnest[paired]
CLIP_S = {
    **dict.fromkeys(("mcd", "f0_median_hz"), 1),  # WORLD takes half as long as a clip
    **dict.fromkeys(("reverb_consistency", "reverb_consistency_norm"), 8),  # two windows
    **dict.fromkeys(("reverb_consistency_speakers", "timbre_consistency", "snr_db"), 8),
    **dict.fromkeys(("wer", "cer"), 8),  # the end of a shorter clip is heard with near-ties
}


@pytest.fixture(scope="module", params=KEYS)
def metric(request, a_judge, tmp_path_factory):
    if request.param in PACKAGES:
        pytest.importorskip(PACKAGES[request.param])
    made = make_metric(request.param, at_hand(request.param, tmp_path_factory))
    with tiny_predictors.squim_is_small(), tiny_predictors.languages_are_told():
        made.load("cpu")
    yield made
    if isinstance(made, Judge) and made.client is not None:
        made.client.api.close()  # else its connection is open when the process ends


@pytest.fixture(scope="module")
def recording(metric, tmp_path_factory):
    """What clips are compared with: other words, so that no distance is 0; as long as the clip."""
    path = tmp_path_factory.mktemp("recording") / "other.wav"
    wave = reference.wave("long_pauses-human")[: clip_s(metric) * 16_000]
    soundfile.write(path, wave, 16_000)
    return str(path)


@pytest.fixture(scope="module")
def case(metric, recording):
    """The metric with speech that it is to give a value."""
    label = {"emotion": "angry" if metric.key == "emotion2vec" else "ang"}
    attributes = {**testing.MATERIAL.attributes, **label}
    given = replace(testing.MATERIAL, reference_audio_path=recording, attributes=attributes)
    return testing.Case(metric, metric_wave(metric), given)


SMALL = {  # what makes a metric's network in a folder, and parameters beside its name
    "clap": ("model", tiny_models.clap, {}),
    "squim_pesq": ("model", tiny_predictors.squim, {}),
    "squim_mos": (
        "model",
        tiny_predictors.squim_mos,
        {"reference": str(reference.path("human-0880-clean"))},
    ),
    "utmos": ("model", tiny_predictors.scripted, {}),
    "scoreq": ("model", tiny_predictors.onnx, {}),
    "sigmos": ("model", tiny_predictors.seven, {}),
    "emotion": ("model", tiny_models.listener, {}),
    "arousal": ("model", tiny_models.dimensions, {}),
    "spoof": ("model", tiny_models.listener, {}),
    "scoreq_ref": ("model", tiny_predictors.onnx, {}),
    "nisqa": ("model", tiny_predictors.nisqa, {}),
    "dnsmos_pro": ("model", tiny_predictors.opinions, {}),
    "audiobox_pq": ("model", tiny_predictors.audiobox, {}),
    "emotion2vec": ("model", tiny_predictors.emotion2vec, {}),
    "emotion_similarity": ("model", tiny_predictors.emotion2vec, {}),
    "speech_bert_score": ("model", tiny_models.wavlm, {"layer": 1}),
    "auto_att": ("checkpoint", tiny_listener.save_adapter, {}),
    "auto_att_baseline": ("checkpoint", tiny_listener.save_baseline, {}),
}


def at_hand(key, tmp_path_factory):
    """Parameters with which a metric loads without the network."""
    if key in ("wer", "cer"):
        return {"model": reference.tiny_whisper()}
    if key == "speaker_similarity":
        return {"embedding": "resemblyzer"}
    if key not in SMALL:
        return {}
    name, made, more = SMALL[key]
    return {name: str(made(tmp_path_factory.mktemp(key))), **more}


@pytest.fixture
def rms_level():
    """A metric as a newcomer would write it; it leaves the registry after the test."""

    class RmsLevel(Metric):
        key = "rms_level_dbfs"
        sample_rate_hz = 16_000

        def score(self, waves):
            return [float(20 * w.square().mean().sqrt().log10()) for w in waves]

    yield RmsLevel
    del contract.Metric.registry["rms_level_dbfs"]


@pytest.mark.slow
def test_a_metric_describes_itself(metric):
    assert plugins.problems_of(type(metric)) == []
    assert testing.heavy_imports(type(metric)) == []


LONG = (testing.compiled_networks_stay_near,)  # a compiler takes a minute
RULES = [pytest.param(r, marks=[pytest.mark.soak] if r in LONG else []) for r in testing.RULES]


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_metric_keeps_the_contract(case, rule):
    left_out = "no value for the clip" if case.metric.key in NEEDS_A_FILE else "nothing"
    assert [said for said in rule(case) if not said.startswith(left_out)] == []


def test_every_metric_is_documented_under_its_key():
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## `([a-z0-9_]+)`", text, flags=re.MULTILINE)
    assert sorted(headings) == KEYS, "each metric has one heading in docs/metrics.md"


def test_every_metric_says_how_its_clips_share_a_batch():
    own = [Metric.registry[key] for key in KEYS]
    said = {kind.sharing for kind in own if kind.__module__.startswith("metrics.")}
    assert Metric.sharing not in said, "say how its input shares a batch: sharing = Sharing(…)"
    assert all(how.why for how in said if how.input in ("equal", "alone"))


def test_every_file_of_the_suite_brings_a_metric():
    files = {path.stem for path in Path(suite.__path__[0]).glob("*.py")} - {"__init__"}
    assert files == {cls.__module__.rsplit(".", 1)[1] for cls in Metric.registry.values()}


def test_a_new_metric_registers_itself_and_may_return_plain_numbers(rms_level):
    metric = make_metric("rms_level_dbfs")
    half, silent = metric.measure([reference.square_wave(100), torch.zeros(100)])
    assert half == Score(pytest.approx(-6.0206, abs=1e-3))
    assert (silent.value, silent.reason) == (None, "silent")


def test_details_hold_no_number_that_cannot_be_stored():
    odd = {"cosines": [1.0, float("nan")], "spans": ((0.5, float("inf")),), "by": {"n": 2}}
    score = contract.as_score(contract.Score(float("nan"), details=odd))
    assert score.reason == "result is nan"
    assert score.details == {"cosines": [1, None], "spans": [[0.5, None]], "by": {"n": 2}}


def test_a_key_is_taken_once(rms_level):
    with pytest.raises(ValueError, match="rms_level_dbfs"):

        class Other(Metric):
            key = "rms_level_dbfs"


def test_the_example_of_the_guide_is_a_metric():
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    try:
        exec(compile(example, "docs/metrics.md", "exec"), {"__name__": "example"})
        half, silent = make_metric("rms_level_dbfs").measure(
            [reference.square_wave(100), torch.zeros(100)]
        )
    finally:
        contract.Metric.registry.pop("rms_level_dbfs", None)
    assert half.value == pytest.approx(-6.0206, abs=1e-3)
    assert (silent.value, silent.reason) == (None, "silent")


def test_an_unknown_metric_is_answered_with_the_known_ones():
    with pytest.raises(contract.ParameterError, match="reverb_consistency"):
        make_metric("srmrr")


WRONG = {bool: 1, int: 2.5, float: "3", str: 5}


def test_a_parameter_of_the_wrong_kind_is_named_by_every_metric():
    for key, kind in Metric.registry.items():
        for field in fields(kind.parameters_type):
            wrong = WRONG[type(field.default)]
            with pytest.raises(contract.ParameterError, match=f"^{key}: {field.name} is .+ must"):
                make_metric(key, {field.name: wrong})


@pytest.mark.parametrize("value", [True, float("nan"), float("inf"), None, [3.0]])
def test_what_only_looks_like_a_number_is_none(value):
    with pytest.raises(contract.ParameterError, match="must be a number"):
        make_metric("timbre_consistency", {"window_s": value})


def test_a_whole_number_does_for_any_number():
    assert make_metric("timbre_consistency", {"window_s": 4}).parameters.window_s == 4


@pytest.mark.slow
def test_pure_modules_bring_neither_django_nor_torch():
    pure = "signal.srmr signal.speech"
    pure += " core.decoding scoring.runner"
    code = (
        "import importlib, sys\n"
        f"[importlib.import_module('metrics.' + name) for name in {pure.split()}]\n"
        "from metrics.core.metric import Metric\n"
        "assert 'srmr' in Metric.registry  # its reader imports every metric\n"
        "print(sorted({'django', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def metric_wave(metric):
    rate_hz = metric.sample_rate_hz
    return reference.wave("long_same-human", rate_hz)[: clip_s(metric) * rate_hz]


def clip_s(metric):
    return CLIP_S.get(metric.key, 4)


def test_every_output_has_a_title_that_no_other_has_and_that_reads_in_a_list():
    titles = [each.title for metric in Metric.registry.values() for each in metric.outputs()]
    assert all(titles)
    assert sorted(set(titles)) == sorted(titles)
    assert not [title for title in titles if "," in title or "_" in title]


def test_a_title_says_the_parameters_that_are_not_the_usual_ones():
    plain, other = make_metric("srmr"), make_metric("srmr", {"variant": "fast"})
    assert title_of(plain, plain.outputs()[0]) == "SRMR"
    assert title_of(other, other.outputs()[0]) == "SRMR (variant fast)"
    there = make_metric("utmos", {"model": "/models/of/utmos22.pt"})
    assert title_of(there, there.outputs()[0]) == "UTMOS (model utmos22.pt)"
    assert title_of(plain, contract.Output("mine")) == "mine"
