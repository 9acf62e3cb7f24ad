"""Length, pauses, speed of speech, and the real-time factor."""

import json

import pytest

from metrics.core.lazy_torch import torch
from metrics.core.metric import Material, ParameterError, Score, make_metric
from tests.metrics import reference

TEXT = "He was not an ill-disposed young man,"


@pytest.fixture(scope="module")
def pauses():
    return make_loaded("pauses")


def seconds(*spans):
    return [(round(start * 16_000), round(end * 16_000)) for start, end in spans]


def test_the_detectors_weights_are_named(pauses):
    assert list(pauses.weights) == ["silero_vad.jit"]
    assert pauses.weights == make_loaded("reverb_consistency").weights
    voices = make_loaded("timbre_consistency", speech_only=True).weights
    name = "resemblyzer.safetensors"
    assert voices == pauses.weights | {name: voices[name]}


def make_loaded(key, **parameters):
    made = make_metric(key, parameters)
    made.load("cpu")
    return made


def test_pauses_by_hand():
    metric = make_metric("pauses")
    segments = seconds((1, 2), (2.04, 3), (3.44, 5), (6.44, 9))  # each widened by 0.03 s
    score = metric.summary(segments, Material(text="one two, three 4 – five!", language="en"))
    assert score.value == pytest.approx(2 / 8)  # the silence of 0.1 s is speech
    assert score.also == {
        "pauses_per_minute": pytest.approx(2 / 8 * 60),
        "pause_mean_s": pytest.approx(1.0),
        "speech_s": pytest.approx(6.0),
        "words_per_s": pytest.approx(5 / 6),
        "characters_per_s": pytest.approx(16 / 6),
    }
    starts_and_ends = [second for pause in score.details["pauses_s"] for second in pause]
    assert starts_and_ends == pytest.approx([2.97, 3.47, 4.97, 6.47])
    shorter = make_metric("pauses", {"min_pause_s": 0.09}).summary(segments, Material())
    assert shorter.value == pytest.approx(2.1 / 8)
    assert "words_per_s" not in shorter.also


def test_speech_without_a_pause_has_no_mean_length_of_pauses():
    score = make_metric("pauses").summary(seconds((1, 2)), Material())
    assert (score.value, score.also["pause_mean_s"]) == (0, None)
    by_output = make_metric("pauses").by_output(score)
    assert by_output["pause_mean_s"].reason
    assert by_output["speech_s"].value == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "language", "words", "characters"),
    [("我们走吧。", "zh", None, 4), ("two words", "", None, 8), ("…", "en", None, None)],
)
def test_words_are_counted_only_where_they_can_be(text, language, words, characters):
    metric = make_metric("pauses")
    also = metric.summary(seconds((0, 2)), Material(text=text, language=language)).also
    assert also["words_per_s"] == words
    assert also["characters_per_s"] == (characters and characters / 2)


@pytest.mark.slow
def test_pauses_of_real_speech(pauses):
    """The stored segments are those of the detector: see test_reverb_consistency."""
    clip = "long_pauses-human"
    parts = reference.segments()[clip]
    given = Material(text=TEXT, language="en")
    score = pauses.summary(parts, Material())
    (short,) = pauses.measure([reference.wave("human-0880-clean")], [given])
    assert score.value > 0.4  # rests of 2.5 to 7 s
    assert score.details["n_pauses"] == 3
    assert short.value < 0.2
    assert 2 < short.also["words_per_s"] < 5  # a calm reader
    json.dumps(dict(score.details), allow_nan=False)


def test_noise_has_no_speech(pauses):
    (score,) = pauses.measure([torch.randn(32_000, generator=torch.Generator()) * 1e-3])
    assert score.reason == "no speech"


def test_wrong_parameters_are_refused():
    with pytest.raises(ParameterError, match="min_pause_s"):
        make_metric("pauses", {"min_pause_s": -1})


def test_lengths_are_in_seconds():
    score, silent = make_metric("length_s").measure([torch.randn(24_000), torch.zeros(24_000)])
    assert score.value == 1.5
    assert silent.reason == "silent"


def test_the_real_time_factor_is_of_the_manifests_seconds():
    metric = make_metric("real_time_factor")
    told = [{"synthesis_s": " 3 ", "device": "H200"}, {}, {"synthesis_s": "fast"}]
    told += [{"synthesis_s": "0"}, {"synthesis_s": "nan"}]
    wave = torch.randn(24_000)
    scores = metric.measure([wave] * 5, [Material(attributes=each) for each in told])
    assert scores[0].value == 2
    assert scores[0].details == {"synthesis_s": 3, "length_s": 1.5, "device": "H200"}
    assert scores[1].reason == "no synthesis_s"
    assert [score.value for score in scores[2:]] == [None] * 3
    assert "'fast'" in scores[2].reason
    (silent,) = metric.measure([torch.zeros(16_000)], [Material(attributes=told[0])])
    assert silent.reason == "silent"


def test_the_factor_is_computed_anew_when_the_manifest_changes():
    metric = make_metric("real_time_factor")
    marks = {
        Material(attributes=each).fingerprint(metric.needs)
        for each in ({}, {"synthesis_s": "1"}, {"synthesis_s": "1", "device": "cpu"})
    }
    assert len(marks) == 3


def test_further_outputs_without_a_value_say_what_is_lacking():
    found = make_metric("pauses").by_output(Score(0.0, also={"speech_s": 1.0}))
    assert found["pause_mean_s"].reason == "no pause"
    assert found["characters_per_s"].reason == "no text"
    assert found["words_per_s"].reason.startswith("no text, no language")
    assert found["speech_s"].value == 1.0
