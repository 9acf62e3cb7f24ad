"""DNSMOS gives speechmos' numbers, shares what hops share, and keeps its contract."""

import numpy as np
import pytest

from metrics.core import metric as contract
from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import ParameterError, make_metric
from metrics.networks.predictors import onnx
from metrics.suite import dnsmos
from tests.metrics import reference

OUTPUTS = {"dnsmos": "ovrl", "dnsmos_sig": "sig", "dnsmos_bak": "bak", "dnsmos_p808": "p808"}
# Float32 networks: sums in another order, on another processor, move a value by 8e-6. One sample
# off moves it by 4e-3 and more.
ROUNDING = 1e-4
SHORT = ("human-0880-clean", "human-0930-rt08", "flite_slt-0930-pink10", "espeak_en-gb-0880-clean")


@pytest.fixture(scope="module")
def published():
    return loaded()


@pytest.fixture(scope="module")
def short(published):
    """Outputs of the short clips, measured in one batch."""
    scores = published.measure([reference.wave(clip) for clip in SHORT])
    return [values(published, score) for score in scores]


def loaded(**parameters):
    metric = make_metric("dnsmos", parameters)
    metric.load("cpu")
    return metric


def expected(clip, prefix):
    rows = {row["clip"]: row for row in reference.rows("predictors.csv")}
    return {key: float(rows[clip][prefix + name]) for key, name in OUTPUTS.items()}


def values(metric, score):
    return {key: each.value for key, each in metric.by_output(score).items()}


@pytest.mark.slow
def test_short_clips_have_the_values_of_speechmos(short):
    for clip, found in zip(SHORT, short, strict=True):
        assert found == pytest.approx(expected(clip, "dnsmos_"), abs=ROUNDING)


@pytest.mark.soak
def test_a_long_clip_has_the_values_of_either_rule(published):
    clip = "long_pauses-human"
    for metric, prefix in ((published, "dnsmos_"), (loaded(rule="all_hops"), "dnsmos_allhops_")):
        (score,) = metric.measure([reference.wave(clip)])
        assert values(metric, score) == pytest.approx(expected(clip, prefix), abs=ROUNDING)
        assert score.details["hops_total"] == 31
        assert score.details["hops_used"] == (14 if metric is published else 31)


def test_a_long_clip_has_the_mean_over_the_hops_of_its_rule(published, monkeypatch):
    def starts(networks, waves, wanted):
        assert [wave for wave, _ in wanted] == [0] * len(wanted)
        return np.array([[float(start)] * 4 for _, start in wanted])

    monkeypatch.setattr(dnsmos.Networks, "predict", starts)
    every = loaded(rule="all_hops")
    for metric, kept in ((published, [*range(7), *range(24, 31)]), (every, range(31))):
        (score,) = metric.measure([reference.wave("long_pauses-human")])
        assert score.also["dnsmos_p808"] == pytest.approx(np.mean(kept))
        assert score.details == {"hops_used": len(kept), "hops_total": 31}


@pytest.mark.slow
def test_two_hops_have_the_mean_of_what_onnxruntime_says_of_each(published):
    import onnxruntime

    wave = reference.wave("long_same-human")[: 11 * 16_000]
    path = weights.bundled_file("sig_bak_ovr.onnx")
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    hops = [wave[start:][: dnsmos.SAMPLES][None].numpy() for start in (0, 16_000)]
    raw = [session.run(None, {"input_1": hop})[0][0] for hop in hops]
    curves = [  # as speechmos 0.0.1.1 has them
        np.poly1d([-0.08397278, 1.22083953, 0.0052439]),
        np.poly1d([-0.13166888, 1.60915514, -0.39604546]),
        np.poly1d([-0.06766283, 1.11546468, 0.04602535]),
    ]
    wanted = np.mean([[c(x) for c, x in zip(curves, hop, strict=True)] for hop in raw], axis=0)
    (score,) = published.measure([wave])
    found = values(published, score)
    found = [found[key] for key in ("dnsmos_sig", "dnsmos_bak", "dnsmos")]
    assert found == pytest.approx(wanted, abs=ROUNDING)
    backwards = published.networks.predict([wave], [(0, 1), (0, 0)])
    assert backwards[:, :3] == pytest.approx(np.array(raw[::-1]), abs=ROUNDING)


@pytest.mark.parametrize("seconds", [3.2, 9.0, 9.02, 9.99, 10, 16.5, 20, 30, 60, 131.3])
def test_the_published_rule_is_the_loop_of_speechmos(seconds):
    samples = round(seconds * 16_000)
    while samples < int(9.01 * 16_000):
        samples *= 2
    kept = []
    count = int(samples // 16_000 - 9.01) + 1
    for i in range(count):
        length = min(int((i + 9.01) * 16_000), samples) - int(i * 16_000)
        if length >= int(9.01 * 16_000):
            kept.append(i)
    assert dnsmos.hops(samples, "speechmos") == (kept, count)
    assert dnsmos.hops(samples, "all_hops") == (list(range(count)), count)


@pytest.mark.slow
def test_a_batch_equals_one_by_one_and_any_float_type_will_do(published, short):
    (alone,) = published.measure([reference.wave(SHORT[1]).double()])
    assert values(published, alone) == pytest.approx(short[1], abs=ROUNDING)


@pytest.mark.slow
def test_noise_and_reverberation_lower_the_scores_that_they_should(short):
    clean, rt08, pink10, espeak = short
    assert clean["dnsmos_bak"] - pink10["dnsmos_bak"] > 1.5
    assert clean["dnsmos"] - rt08["dnsmos"] > 1
    assert espeak["dnsmos"] > pink10["dnsmos"]


def test_clips_without_a_value_say_why(published):
    scores = published.measure([torch.ones(1_000) / 2, torch.zeros(16_000)])
    assert [score.reason for score in scores] == ["too short: 0.06 s, 0.1 s are needed", "silent"]
    assert [score.value for score in scores] == [None, None]


def test_weights_are_named_and_unknown_rules_are_refused(published):
    assert set(published.weights) == {"sig_bak_ovr.onnx", "model_v8.onnx"}
    with pytest.raises(ParameterError, match="speechmos or all_hops"):
        make_metric("dnsmos", {"rule": "half"})
    assert {"dnsmos", *OUTPUTS} <= set(contract.outputs())


def test_a_file_that_is_no_onnx_is_refused(tmp_path):
    (tmp_path / "x.onnx").write_bytes(b"\xff\xff\xff\xff")
    with pytest.raises(ValueError, match="no ONNX file"):
        onnx.read(tmp_path / "x.onnx")


@pytest.mark.gpu
def test_gpu_equals_cpu(published):
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    gpu = make_metric("dnsmos")
    gpu.load("cuda")
    wave = reference.wave("long_pauses-human")
    (here,), (there,) = published.measure([wave]), gpu.measure([wave.cuda()])
    assert values(gpu, there) == pytest.approx(values(published, here), abs=ROUNDING)
