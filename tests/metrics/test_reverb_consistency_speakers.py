"""Reverb consistency per speaker: each speaker's own stream, and the mean over speakers."""

import json

import numpy as np
import pytest

from metrics.core.lazy_torch import torch
from metrics.core.metric import Material, Turn, make_metric
from metrics.networks.forced_alignment import AlignmentError
from metrics.signal import srmr
from tests.metrics import reference

DIALOGUE = "long_dialog-human-flite_slt"
STRETCHES = [  # (speaker, start, end) in samples, as the clip was made
    ("human", 0, 84_800),
    ("slt", 90_400, 175_280),
    ("human", 180_880, 294_480),
    ("slt", 300_080, 346_640),
    ("human", 352_240, 449_040),
    ("slt", 454_640, 525_840),
    ("human", 531_440, 579_280),
    ("slt", 584_880, 683_760),
]
FEW = STRETCHES[:4]
# Float32: sums in another order move a value by 3e-8. A sample more or less of a turn: by 1e-3.
ROUNDING = 1e-5


def beginning():
    """The dialogue up to the end of the fourth turn."""
    return reference.wave(DIALOGUE)[: FEW[-1][2]]


def turns_of(stretches):
    return tuple(Turn(who, start / 16_000, end / 16_000) for who, start, end in stretches)


def made(**parameters):
    metric = make_metric("reverb_consistency_speakers", parameters)
    metric.load("cpu")
    return metric


def by_hand(speaker, variant):
    """Deviation of one speaker's windows, cut out with numpy; all of them hold speech."""
    wave = beginning().numpy()
    stream = np.concatenate([wave[start:end] for who, start, end in FEW if who == speaker])
    starts = range(0, len(stream) - 48_000 + 1, 32_000)
    cut = torch.from_numpy(np.stack([stream[start : start + 48_000] for start in starts]))
    return float(np.std([found.value for found in srmr.srmr(cut, variant)])), len(starts)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["slow_norm30", "fast"])
def test_each_speaker_is_measured_alone_and_the_mean_is_over_speakers(variant):
    (score,) = made(variant=variant).measure([beginning()], [Material(turns=turns_of(FEW))])
    wanted = {speaker: by_hand(speaker, variant) for speaker in ("human", "slt")}
    assert (wanted["human"][1], wanted["slt"][1]) == (5, 3)
    for speaker, (value, n_windows) in wanted.items():
        found = score.details["per_speaker"][speaker]
        assert found["value"] == pytest.approx(value, rel=ROUNDING)
        assert (found["n_windows"], found["n_valid"]) == (n_windows, n_windows)
    assert score.value == pytest.approx((wanted["human"][0] + wanted["slt"][0]) / 2, rel=ROUNDING)
    json.dumps(dict(score.details), allow_nan=False)


@pytest.mark.slow
def test_the_voices_of_a_dialogue_no_longer_count_as_rooms():
    wave = reference.wave(DIALOGUE)
    (apart,) = made().measure([wave], [Material(turns=turns_of(STRETCHES))])
    whole = float(reference.clip_row(DIALOGUE)["reverb_std_slow"])
    assert apart.value < whole / 3


@pytest.mark.slow
def test_one_speaker_without_gaps_is_plain_reverb_consistency():
    wave = reference.wave("long_same-human")[: 9 * 16_000]
    plain = make_metric("reverb_consistency", {"variant": "fast"})
    plain.load("cpu")
    (wanted,) = plain.measure([wave])
    (score,) = made(variant="fast").measure([wave], [Material(turns=(Turn("A", 0.0, 9.0),))])
    assert score.value == pytest.approx(wanted.value, rel=ROUNDING)


@pytest.mark.slow
def test_clips_without_turns_or_speech_have_a_reason_and_disturb_no_other():
    wave = reference.wave(DIALOGUE)[: 11 * 16_000]
    stretches = (Turn("A", 0.0, 5.3), Turn("B", 5.6, 6.6))
    scores = made(variant="fast").measure(
        [wave, wave, wave, wave[:16_000]],
        [
            Material(),
            Material(turns=(Turn("A", 0.0, 0.0, "Untimed."),)),
            Material(turns=stretches),
            Material(turns=stretches),
        ],
    )
    assert [score.value is None for score in scores] == [True, True, False, True]
    assert scores[0].reason.startswith("no turns")
    assert scores[1].reason == "no turns with times"
    assert scores[2].value == scores[2].details["per_speaker"]["A"]["value"]
    assert scores[2].details["per_speaker"]["B"]["reason"].startswith("too short")
    assert (scores[2].details["n_speakers"], scores[2].details["n_speakers_measured"]) == (2, 1)
    assert scores[3].reason == "no speaker has two windows with enough speech"


@pytest.mark.slow
def test_missing_times_are_aligned_on_request(monkeypatch):
    metric = make_metric(
        "reverb_consistency_speakers", {"turn_times": "aligned", "variant": "fast"}
    )
    monkeypatch.setattr(metric.aligner, "load", lambda device: None)
    metric.load("cpu")
    untimed = tuple(Turn(who, 0, 0, "Some words.") for who, _, _ in FEW)

    def aligned(wave, turns):
        if len(wave) < 100_000:
            raise AlignmentError("too short to align")
        return turns_of(FEW)

    monkeypatch.setattr(metric.aligner, "timed_turns", aligned)
    waves = [beginning(), beginning()[:48_000]]
    found, short = metric.measure(waves, [Material(turns=untimed)] * 2)
    (given,) = made(variant="fast").measure(waves[:1], [Material(turns=turns_of(FEW))])
    assert found.value == pytest.approx(given.value, rel=ROUNDING)
    assert short.reason == "turns without times: too short to align"
    assert "torchaudio" in metric.packages


def test_unreadable_turns_of_a_manifest_are_quoted():
    material = Material(attributes={"turns": "first he, then she"})
    (score,) = made().measure([reference.wave(DIALOGUE)], [material])
    assert score.reason.startswith("turns: 'first he, then she' is not")
