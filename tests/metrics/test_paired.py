"""SI-SDR, STOI, PESQ and ViSQOL beside a reference, and how the two are brought together."""

import numpy as np
import pytest

from metrics.core import paired_metric
from metrics.core.lazy_torch import torch
from metrics.core.metric import Material, ParameterError, make_metric
from metrics.core.weights import Unavailable
from tests.metrics import paired


@pytest.mark.parametrize("snr_db", [20, -5])
@pytest.mark.medium
def test_si_sdr_and_stoi_are_those_of_torchmetrics(snr_db):
    from torchmetrics.functional import audio as independent

    clean = paired.human()
    noisy = 0.3 * paired.noisy(clean, snr_db)
    score = make_metric("si_sdr").compare(noisy, clean)
    tensors = torch.tensor(noisy), torch.tensor(clean)
    si_sdr = independent.scale_invariant_signal_distortion_ratio(*tensors)
    assert score.value == pytest.approx(float(si_sdr), abs=1e-9)
    snr = float(independent.signal_noise_ratio(*tensors))
    assert score.also["snr_ref"] == pytest.approx(snr, abs=1e-9)
    stoi = independent.short_time_objective_intelligibility(*tensors, paired.RATE_HZ)
    extended = independent.short_time_objective_intelligibility(*tensors, paired.RATE_HZ, True)
    score = make_metric("stoi").compare(noisy, clean)
    assert score.value == pytest.approx(float(stoi), abs=1e-6)
    assert score.also["estoi"] == pytest.approx(float(extended), abs=1e-6)


@pytest.mark.slow
def test_a_copy_has_no_distortion_that_could_be_measured():
    clean = paired.human()
    for copy in (clean, clean * 0.5):
        assert "no distortion" in make_metric("si_sdr").compare(copy, clean).reason
    assert make_metric("stoi").compare(clean, clean).value == pytest.approx(1)


@pytest.mark.parametrize("late", [731, -731])
@pytest.mark.medium
def test_a_late_copy_is_told_and_put_right_when_that_is_asked_for(late):
    clean = paired.human()
    noisy = np.roll(paired.noisy(clean, 20), late)
    as_published = make_metric("si_sdr").compare(noisy, clean)
    assert as_published.value < -10
    assert as_published.details["lag_s"] == pytest.approx(late / paired.RATE_HZ, abs=1e-6)
    shifted = make_metric("si_sdr", {"align": "lag"}).compare(noisy, clean)
    assert shifted.value == pytest.approx(20, abs=0.1)


def test_the_longer_one_is_cut_and_the_difference_is_told():
    clean = paired.human()
    score = make_metric("si_sdr").compare(paired.noisy(clean, 20)[:-8_000], clean)
    assert score.value == pytest.approx(20, abs=0.2)
    assert score.details["longer_s"] == -0.5


def test_of_equally_good_lags_the_smallest_is_taken():
    tone = np.tile([1.0, 0, 0, 0], 100)
    assert paired_metric.best_lag(tone, tone, 8) == 0
    assert paired_metric.best_lag(-tone, tone, 8) == 0  # turned over is no lag
    assert paired_metric.best_lag(np.ones(3), np.ones(2), 50) == 0


@pytest.mark.parametrize(
    ("material", "wave", "reason"),
    [
        (lambda folder: Material(), None, "no reference audio"),
        (lambda folder: Material(is_reference_audio=True), None, "is the reference audio itself"),
        (
            lambda folder: Material(attributes={"reference_audio": "gone.wav"}),
            None,
            "'gone.wav' is no stimulus or file of the study",
        ),
        (lambda folder: paired.beside(folder, np.zeros(9_000)), None, "reference audio is silent"),
        (lambda folder: paired.beside(folder, np.ones(90) / 2), None, "reference audio is too sho"),
        (lambda folder: paired.beside(folder, paired.human()), np.zeros(9_000), "silent"),
    ],
)
def test_what_cannot_be_compared_has_a_reason(material, wave, reason, tmp_path):
    clip = torch.tensor(paired.human() if wave is None else wave)
    (score,) = make_metric("si_sdr").measure([clip], [material(tmp_path)])
    assert score.value is None
    assert reason in score.reason
    assert not score.failed


def test_a_reference_that_changed_or_went_is_a_failure_of_that_clip_only(tmp_path):
    metric, wave = make_metric("si_sdr"), torch.tensor(paired.noisy(paired.human(), 10))
    good = paired.beside(tmp_path, paired.human())
    changed = Material(reference_audio_path=good.reference_audio_path, reference_audio_sha256="0")
    gone = Material(reference_audio_path=str(tmp_path / "gone.wav"))
    scores = metric.measure([wave] * 3, [changed, good, gone])
    assert [score.failed for score in scores] == [True, False, True]
    assert "the file has changed" in scores[0].reason
    assert scores[1].value == pytest.approx(10, abs=0.1)


def test_too_little_speech_is_no_intelligibility_of_nought():
    quiet = paired.human() * 1e-6
    quiet[:2_000] = paired.human()[20_000:22_000]
    score = make_metric("stoi").compare(quiet, quiet)
    assert (score.value, score.reason[:21]) == (None, "too little speech: un")


def test_wrong_parameters_are_named():
    with pytest.raises(ParameterError, match="choose none or lag"):
        make_metric("stoi", {"align": "dtw"})
    with pytest.raises(ParameterError, match="choose speech or audio"):
        make_metric("visqol", {"mode": "music"})
    with pytest.raises(ParameterError, match="choose lattice or polynomial"):
        make_metric("visqol", {"mapping": "svr"})


@pytest.mark.parametrize(("key", "package"), [("pesq", "pesq"), ("visqol", "visqol")])
def test_a_package_that_is_not_there_is_named_with_its_command(key, package, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Unavailable, match=f"{package} is not installed.+requirements-paired"):
        make_metric(key).load("cpu")


def test_pesq_gets_reference_first_and_both_bands(monkeypatch):
    calls = []

    class NoUtterances(Exception):
        pass

    def pesq(rate_hz, reference, wave, band):
        calls.append((rate_hz, len(reference), len(wave), band))
        if not wave.any():
            raise NoUtterances
        return {"wb": 2.5, "nb": 3.5}[band]

    stand_in = type("pesq", (), {"pesq": staticmethod(pesq), "NoUtterancesError": NoUtterances})
    monkeypatch.setitem(__import__("sys").modules, "pesq", stand_in)
    metric = make_metric("pesq")
    score = metric.compare(np.ones(20_000), np.ones(24_000))
    assert (score.value, score.also) == (2.5, {"pesq_nb": 3.5})
    assert calls == [(16_000, 24_000, 20_000, "wb"), (16_000, 24_000, 20_000, "nb")]
    assert "found no speech" in metric.compare(np.zeros(20_000), np.ones(20_000)).reason
    assert "too long: 31 s" in metric.compare(np.ones(496_000), np.ones(9_000)).reason


def test_pesq_is_that_of_torchmetrics():
    pytest.importorskip("pesq")
    from torchmetrics.functional.audio import perceptual_evaluation_speech_quality

    clean = paired.human()
    noisy = paired.noisy(clean, 15)
    score = paired.loaded("pesq").compare(noisy, clean)
    tensors = torch.tensor(noisy), torch.tensor(clean)
    for band, value in (("wb", score.value), ("nb", score.also["pesq_nb"])):
        other = float(perceptual_evaluation_speech_quality(*tensors, paired.RATE_HZ, band))
        assert value == pytest.approx(other, abs=1e-5)
    assert 1 < score.value < paired.loaded("pesq").compare(clean, clean).value <= 4.65


def test_visqol_falls_with_noise_and_is_five_for_a_copy():
    pytest.importorskip("visqol")
    metric, clean = paired.loaded("visqol", mapping="polynomial"), paired.human()
    copy, mild, harsh = (metric.compare(w, clean) for w in
                         (clean, paired.noisy(clean, 30), paired.noisy(clean, 5)))  # fmt: skip
    assert copy.value == pytest.approx(5)
    assert copy.value > mild.value > harsh.value >= 1
    assert copy.details["vnsim"] == pytest.approx(1)
