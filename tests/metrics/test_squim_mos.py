"""SQUIM's MOS with random weights: the same number as torchaudio's network, and its recording."""

import pytest

from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import make_metric
from tests.metrics import reference, tiny_predictors

CLEAN = str(reference.path("human-0880-clean"))


@pytest.fixture
def make(tmp_path):
    path = str(tiny_predictors.squim_mos(tmp_path))

    def made(recording=CLEAN, **parameters):
        metric = make_metric("squim_mos", {"model": path, "reference": recording, **parameters})
        with tiny_predictors.squim_is_small():
            metric.load("cpu")
        return metric

    return made


@pytest.mark.medium
def test_a_whole_clip_scores_what_the_network_says_beside_the_recording(make):
    metric, wave = make(chunk_s=0), reference.wave("human-0920-clean")
    clean = reference.wave("human-0880-clean")  # shorter: torchaudio repeats it
    assert len(clean) < len(wave)
    with torch.inference_mode():
        told = float(metric.model(wave[None], clean[None]))
    (score,) = metric.measure([wave])
    assert score.value == pytest.approx(told, rel=1e-5)
    assert 1 <= told <= 5


@pytest.mark.medium
def test_another_recording_gives_another_number_and_other_provenance(make, tmp_path):
    wave, other = reference.wave("human-0920-clean"), str(reference.path("flite_rms-0920-clean"))
    metrics = [make(), make(other)]
    first, second = (metric.measure([wave])[0].value for metric in metrics)
    assert first != second
    assert metrics[0].weights != metrics[1].weights


def test_without_a_recording_it_says_what_to_do():
    with pytest.raises(weights.Unavailable, match="set the parameter reference"):
        make_metric("squim_mos").load("cpu")
