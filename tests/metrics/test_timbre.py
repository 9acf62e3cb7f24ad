"""Timbre consistency and similarity: the reference's numbers, speakers apart, and why no value."""

import dataclasses
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from listening.common.speaker_turns import turns_of
from metrics.core import decoding, weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import Material, ParameterError, Take, Turn, make_metric
from metrics.networks import voices
from metrics.networks.forced_alignment import AlignmentError
from tests.metrics import reference
from tests.metrics.test_embeddings import tiny_wavlm  # noqa: F401

# Float32 networks: sums in another order move a cosine by 2e-7, a window one sample late by 1e-4.
ROUNDING = 1e-5
KNOWN = json.loads((reference.DATA / "timbre.json").read_text())
DIALOGUE = "long_dialog-human-flite_slt"
LONG = [clip for clip in KNOWN if clip.startswith("long_") or "rms" in clip]
TURNS = tuple(Turn(*turn) for turn in KNOWN[DIALOGUE]["turns"])
VOICE_PATH = reference.path("human-0920-clean")
VOICE = Material(reference_path=str(VOICE_PATH), reference_sha256=decoding.file_sha256(VOICE_PATH))


def made(key, **parameters):
    metric = make_metric(key, parameters)
    metric.load("cpu")
    return metric


@pytest.fixture(scope="module")
def consistency():
    return made("timbre_consistency")


@pytest.fixture(scope="module")
def similarity():
    return made("timbre_similarity")


@pytest.mark.slow
def test_long_clips_agree_with_the_reference(consistency):
    scores = consistency.measure([reference.wave(clip) for clip in LONG])
    for clip, score in zip(LONG, scores, strict=True):
        assert score.value == pytest.approx(KNOWN[clip]["timbre"], abs=ROUNDING)
        assert score.details["n_windows"] == KNOWN[clip]["n_windows"]
        assert np.mean(score.details["window_similarities"]) == pytest.approx(score.value)
        json.dumps(dict(score.details), allow_nan=False)


@pytest.mark.slow
def test_windows_with_speech_alone_agree_with_the_reference():
    metric = made("timbre_consistency", speech_only=True)
    (pauses,) = metric.measure([reference.wave("long_pauses-human")])
    assert pauses.value == pytest.approx(KNOWN["long_pauses-human"]["timbre_valid"], abs=ROUNDING)
    assert pauses.details["n_used"] < pauses.details["n_windows"] == 19
    assert "silero-vad" in metric.packages


@pytest.mark.slow
def test_speakers_of_a_dialogue_count_apart(consistency):
    wave = reference.wave(DIALOGUE)
    (apart,) = consistency.measure([wave], [Material(turns=TURNS)])
    assert apart.value == pytest.approx(KNOWN[DIALOGUE]["timbre_multi"], abs=ROUNDING)
    assert set(apart.details["speakers"]) == {"human", "flite_slt"}
    each = [part["value"] for part in apart.details["speakers"].values()]
    assert apart.value == pytest.approx(np.mean(each))
    together = made("timbre_consistency", per_speaker="never")
    (score,) = together.measure([wave], [Material(turns=TURNS)])
    assert score.value == pytest.approx(KNOWN[DIALOGUE]["timbre"], abs=ROUNDING)
    assert score.value < apart.value - 0.1


def test_turns_of_one_speaker_leave_the_clip_whole(consistency):
    wave = reference.wave("flite_rms-0920-clean")
    one = tuple(Turn("A", turn.start_s, turn.end_s) for turn in TURNS)
    (score,) = consistency.measure([wave], [Material(turns=one)])
    assert score.value == pytest.approx(KNOWN["flite_rms-0920-clean"]["timbre"], abs=ROUNDING)


@pytest.mark.medium
def test_a_speaker_with_too_little_is_named_and_left_out(consistency):
    wave = reference.wave(DIALOGUE)[: 20 * 16_000]
    (score,) = consistency.measure(
        [wave], [Material(turns=turns_of("A 0-5.3; B 5.65-10; A 11-18"))]
    )
    a, b = score.details["speakers"]["A"], score.details["speakers"]["B"]
    assert (score.value, score.details["n_speakers_used"]) == (a["value"], 1)
    assert (b["value"], b["reason"]) == (None, "too short: 4.35 s, two windows need 5.0 s")
    (none,) = consistency.measure([wave], [Material(turns=turns_of("A 0-3; B 5-8"))])
    assert none.reason == "no speaker has two windows that can be used"
    (behind,) = consistency.measure([wave], [Material(turns=turns_of("A 30-40; B 40-50"))])
    assert "behind the end" in behind.reason


@pytest.mark.medium
def test_turns_may_stand_in_the_manifest_and_are_not_ignored_when_unreadable(consistency):
    wave = reference.wave(DIALOGUE)
    told = "; ".join(f"{turn.speaker} {turn.start_s}-{turn.end_s}" for turn in TURNS)
    texts = {"turns": told}, {"turns": "human first, then flite"}
    score, broken = consistency.measure([wave] * 2, [Material(attributes=each) for each in texts])
    assert score.value == pytest.approx(KNOWN[DIALOGUE]["timbre_multi"], abs=ROUNDING)
    assert broken.reason.startswith("turns: 'human first, then flite' is not")


@pytest.mark.slow
def test_texts_without_times_are_not_guessed_but_aligned_on_request(consistency, monkeypatch):
    wave = reference.wave(DIALOGUE)
    untimed = tuple(Turn(turn.speaker, 0, 0, "Some words.") for turn in TURNS)
    (score,) = consistency.measure([wave], [Material(turns=untimed)])
    assert score.value is None
    assert "per_speaker to aligned" in score.reason
    metric = make_metric("timbre_consistency", {"per_speaker": "aligned"})
    monkeypatch.setattr(metric.aligner, "load", lambda device: None)
    metric.load("cpu")
    monkeypatch.setattr(metric.aligner, "timed_turns", lambda wave, turns: TURNS)
    (aligned,) = metric.measure([wave], [Material(turns=untimed)])
    assert aligned.value == pytest.approx(KNOWN[DIALOGUE]["timbre_multi"], abs=ROUNDING)

    def refuse(wave, turns):
        raise AlignmentError("too short to align")

    monkeypatch.setattr(metric.aligner, "timed_turns", refuse)
    whole, refused = metric.measure([wave, wave], [Material(), Material(turns=untimed)])
    assert refused.reason == "turns without times: too short to align"
    assert whole.value == pytest.approx(KNOWN[DIALOGUE]["timbre"], abs=ROUNDING)


@pytest.mark.slow
def test_clips_without_two_windows_have_a_reason(consistency):
    long = reference.wave("long_same-human")
    half_silent = torch.cat([long[: 3 * 16_000], torch.zeros(5 * 16_000)])
    short, silent, mute = consistency.measure(
        [long[: 5 * 16_000 - 1], torch.full((6 * 16_000,), 0.25), half_silent]
    )
    assert short.reason == "too short: 5.00 s, two windows need 5.0 s"
    assert silent.reason == "silent: every sample has the value 0.25"
    assert (mute.value is None, mute.details["n_silent"]) == (False, 1)
    speech_only = made("timbre_consistency", speech_only=True)
    (noise,) = speech_only.measure([torch.randn(6 * 16_000) * 1e-3])
    assert noise.reason == "too little speech: 0 of 2 windows can be used"


@pytest.mark.slow
def test_similarity_to_a_voice_agrees_with_the_reference(similarity):
    clips = [DIALOGUE, "flite_rms-0920-clean", "human-0930-rt08", "human-0880-clean"]
    scores = similarity.measure([reference.wave(clip) for clip in clips], [VOICE] * len(clips))
    for clip, score in zip(clips, scores, strict=True):
        if KNOWN[clip]["timbre_similarity"] is None:
            assert score.reason == "too short: 2.99 s, a window needs 3.0 s"
        else:
            assert score.value == pytest.approx(KNOWN[clip]["timbre_similarity"], abs=ROUNDING)


@pytest.mark.medium
def test_the_reference_voice_is_read_once_and_may_be_missing(similarity, tmp_path, monkeypatch):
    loads = []
    original = voices.Voices.embed_whole
    monkeypatch.setattr(
        voices.Voices, "embed_whole", lambda self, wave: loads.append(1) or original(self, wave)
    )
    wave = reference.wave("human-0930-rt08")
    metric = made("timbre_similarity")
    gone = Material(reference_path=str(tmp_path / "gone.wav"))
    dialogue = Material(reference_path=VOICE.reference_path, turns=TURNS)
    scores = metric.measure([wave] * 5, [VOICE, Material(), VOICE, gone, dialogue])
    assert loads == [1]
    assert scores[0].value == pytest.approx(scores[2].value, abs=ROUNDING)
    assert scores[1].reason == "no reference voice"
    assert "there is no such file" in scores[3].reason
    assert [score.failed for score in scores] == [False, False, False, True, False]
    assert scores[4].reason == "several speakers, one reference voice"


def test_a_reference_that_has_changed_fails_until_it_is_back(similarity, tmp_path):
    path, wave = tmp_path / "voice.wav", reference.wave("human-0930-rt08")
    given = Material(reference_path=str(path), reference_sha256="0" * 64)
    path.write_bytes(Path(VOICE.reference_path).read_bytes())
    (score,) = similarity.measure([wave], [given])
    assert (score.failed, "has changed" in score.reason) == (True, True)
    again = dataclasses.replace(given, reference_sha256=decoding.file_sha256(path))
    assert similarity.measure([wave], [again])[0].value is not None


@pytest.mark.medium
def test_another_voice_is_less_alike(similarity):
    clips = ["long_same-human", "long_drift-flite_slt"]
    human, slt = similarity.measure([reference.wave(c)[: 10 * 16_000] for c in clips], [VOICE] * 2)
    assert human.value > slt.value + 0.2


@pytest.mark.medium
def test_whole_clips_have_the_cosine_of_the_packages_vectors():
    known = np.load(reference.DATA / "embeddings.npz")
    human, rms = "human-0880-clean", "flite_rms-0920-clean"
    voice = Material(reference_path=str(reference.path(human)))
    metric = made("speaker_similarity", embedding="resemblyzer")
    (score,) = metric.measure([reference.wave(rms)], [voice])
    wanted = known[f"{human}/full"] @ known[f"{rms}/full"]
    assert score.value == pytest.approx(wanted, abs=ROUNDING)
    part = made("speaker_similarity", embedding="resemblyzer", longest_s=1)
    (cut,) = part.measure([reference.wave(rms)], [voice])
    assert cut.details == {"heard_s": 1.0}
    assert metric.measure([reference.wave(rms)])[0].reason == "no reference voice"
    with pytest.raises(ParameterError, match=r"longest_s is 0\.0"):
        make_metric("speaker_similarity", {"longest_s": 0})
    with pytest.raises(weights.Unavailable, match=r"wavlm_large_finetune\.pth"):
        made("speaker_similarity")


def test_the_mean_over_pairs_needs_no_table_of_pairs():
    vectors = np.random.default_rng(1).normal(size=(6, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    pairs = [a @ b for a, b in itertools.combinations(vectors, 2)]
    assert voices.mean_similarities(vectors).mean() == pytest.approx(np.mean(pairs))


def test_the_thresholds_of_the_paper_belong_to_its_embedding():
    assert make_metric("timbre_consistency").hints() == []
    wavlm = make_metric("timbre_consistency", {"embedding": "wavlm"})
    assert [hint.at for hint in wavlm.hints()] == [0.85, 0.90, 0.93]
    other = make_metric("timbre_consistency", {"embedding": "wavlm", "window_s": 5.0})
    assert other.hints() == []


@pytest.mark.slow
def test_wavlm_scores_through_the_metric(tiny_wavlm: Path):  # noqa: F811
    metric = made("timbre_consistency", embedding="wavlm", model=str(tiny_wavlm))
    waves = [reference.wave("long_same-human")[:n] for n in (80_000, 120_000)]
    together = metric.measure(waves)
    for wave, score in zip(waves, together, strict=True):
        (alone,) = metric.measure([wave])
        assert score.value == pytest.approx(alone.value, abs=ROUNDING)
    assert set(metric.weights) == {"model.safetensors"}
    assert "transformers" in metric.packages


@pytest.mark.slow
def test_wavlm_without_weights_says_where_they_belong(tmp_path, monkeypatch):
    monkeypatch.setattr(weights._Place, "folder", tmp_path)
    monkeypatch.setattr(weights._Place, "offline", True)
    with pytest.raises(weights.Unavailable, match="wavlm-base-plus-sv"):
        made("timbre_similarity", embedding="wavlm")


@pytest.mark.parametrize(
    ("key", "parameters", "named"),
    [
        ("timbre_consistency", {"embedding": "dvector"}, "resemblyzer"),
        ("timbre_consistency", {"model": "x"}, "one model"),
        ("timbre_consistency", {"window_s": 0.1}, "window_s"),
        ("timbre_consistency", {"hop_s": 0}, "hop_s"),
        ("timbre_consistency", {"per_speaker": "yes"}, "aligned"),
        ("timbre_consistency", {"max_non_speech": 2}, "max_non_speech"),
        ("timbre_similarity", {"reference_s": 0.5}, "reference_s"),
    ],
)
def test_wrong_parameters_are_refused_by_name(key, parameters, named):
    with pytest.raises(ParameterError, match=named):
        make_metric(key, parameters)


def test_a_take_without_material_is_whole(consistency):
    wave = reference.wave("flite_rms-0920-clean")
    (score,) = consistency.score_takes([Take(wave)])
    assert score.value == pytest.approx(KNOWN["flite_rms-0920-clean"]["timbre"], abs=ROUNDING)
