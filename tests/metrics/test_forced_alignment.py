"""Forced alignment: where a known path puts the turns, and a tiny network loaded as the real one.

The real weights (1.2 GB, fetched) are not here; a random network of the same class takes their
place through the same loading code.
"""

import copy

import pytest

from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import Turn
from metrics.networks import forced_alignment
from metrics.networks.forced_alignment import (
    AlignmentError,
    TurnAligner,
    aligned_spans,
    tokens_of,
    widen_spans,
)
from tests.metrics import reference

LETTERS = {label: i for i, label in enumerate("-aienoutsrmkldghybpwcvjzf'qx")}


def emission(path, n_letters=28, sure=0.9):
    """Log-probabilities of a network that is `sure` of each frame's letter."""
    table = torch.full((len(path), n_letters), (1 - sure) / (n_letters - 1))
    table[torch.arange(len(path)), torch.tensor(path)] = sure
    return table.log()


def test_turns_are_found_where_a_known_path_has_them():
    path = [0, 0, 1, 1, 2, 0, 0, 0, 3, 0, 3, 0, 0, 5, 5, 4, 0]
    assert aligned_spans(emission(path), [[1, 2], [3, 3], [5, 4]]) == [(2, 5), (8, 11), (13, 16)]


def test_a_doubled_letter_at_the_border_of_two_turns_is_two_letters():
    path = [1, 2, 0, 0, 2, 3, 0]
    assert aligned_spans(emission(path), [[1, 2], [2, 3]]) == [(0, 2), (4, 6)]


def test_an_uncertain_network_still_puts_turns_in_order():
    noise = torch.randn(300, 28, generator=torch.Generator().manual_seed(3)).log_softmax(-1)
    spans = aligned_spans(noise, [[1, 5, 9], [7] * 20, [2, 2]])
    assert [0 <= a < b <= 300 for a, b in spans] == [True] * 3
    assert [spans[0][1] <= spans[1][0], spans[1][1] <= spans[2][0]] == [True, True]


@pytest.mark.parametrize("turns", [[[1, 2, 3, 4]], [[1], [1, 1]]])
def test_more_letters_than_frames_are_refused(turns):
    with pytest.raises(AlignmentError, match="more letters"):
        aligned_spans(emission([0, 1, 2]), turns)


def test_spans_are_widened_into_pauses_only():
    spans = [(0.04, 1.0), (1.06, 2.0), (2.0, 3.0)]
    wide = widen_spans(spans, 4 * 16_000)
    assert wide == [
        (pytest.approx(0), pytest.approx(1.03)),
        (pytest.approx(1.03), 2.0),
        (2.0, pytest.approx(3.1)),
    ]


def test_texts_become_the_letters_of_the_network():
    assert tokens_of("L’Été – 3 a-b!", LETTERS) == [LETTERS[sign] for sign in "l'eteab"]
    with pytest.raises(AlignmentError, match="'12'"):
        tokens_of("12", LETTERS)


def test_other_scripts_are_romanised_or_say_what_they_need(monkeypatch):
    class Uroman:
        def romanize_string(self, text):
            return {"你好": "Nihao"}[text]

    monkeypatch.setattr(forced_alignment, "_uroman", Uroman)
    assert tokens_of("你好", LETTERS) == [LETTERS[sign] for sign in "nihao"]

    def missing():
        raise ImportError

    monkeypatch.setattr(forced_alignment, "_uroman", missing)
    with pytest.raises(AlignmentError, match="uroman"):
        tokens_of("你好", LETTERS)


@pytest.fixture
def aligner(tmp_path, monkeypatch):
    """A random network of few weights, loaded from the folder of models as the real one is."""
    import torchaudio

    bundle = copy.copy(torchaudio.pipelines.MMS_FA)
    bundle._params = {
        **bundle._params,
        "extractor_conv_layer_config": [
            (8, 10, 5),
            (8, 3, 2),
            (8, 3, 2),
            (8, 3, 2),
            (8, 3, 2),
            (8, 2, 2),
            (8, 2, 2),
        ],
        "encoder_embed_dim": 16,
        "encoder_pos_conv_kernel": 8,
        "encoder_pos_conv_groups": 2,
        "encoder_num_layers": 1,
        "encoder_num_heads": 2,
        "encoder_ff_interm_features": 16,
    }
    monkeypatch.setattr(torchaudio.pipelines, "MMS_FA", bundle)
    monkeypatch.setattr(weights._Place, "folder", tmp_path)
    monkeypatch.setattr(weights._Place, "offline", True)
    torch.manual_seed(5)
    random = torchaudio.models.wav2vec2_model(**{**bundle._params, "aux_num_out": 31}).state_dict()
    (tmp_path / "torchaudio").mkdir()
    random["aux.weight"] = torch.randn(31, 16)  # the published file has three letters more
    torch.save(random, tmp_path / forced_alignment.MODEL.name)
    return TurnAligner()


@pytest.fixture
def loaded(aligner):
    aligner.load()
    return aligner


def test_a_network_in_the_folder_of_models_aligns_turns(loaded):
    wave = reference.wave("long_dialog-human-flite_slt")[: 12 * 16_000]
    turns = (Turn("A", 0, 0, "And Mr. John Dashwood"), Turn("B", 0, 0, "had then leisure"))
    first, second = loaded.timed_turns(wave, turns)
    assert (first.speaker, first.text) == ("A", turns[0].text)
    assert 0 <= first.start_s < first.end_s <= second.start_s < second.end_s <= 12
    assert set(loaded.weights) == {"mms_fa.pt"}
    given = (Turn("A", 0, 1), Turn("B", 1, 2))
    assert loaded.timed_turns(wave, given) == given


@pytest.mark.medium
def test_a_long_wave_goes_through_in_parts_without_losing_frames(loaded, monkeypatch):
    wave = reference.wave("long_same-human")[: 12 * 16_000 + 123]
    monkeypatch.setattr(forced_alignment, "CHUNK", 100 * 320)
    monkeypatch.setattr(forced_alignment, "CONTEXT", 20 * 320)
    found = forced_alignment.emissions(wave, loaded.network)
    assert found.shape == ((len(wave) - 400) // 320 + 1, 28)
    assert found.exp().sum(1) == pytest.approx(torch.ones(len(found)), abs=1e-4)
    with pytest.raises(AlignmentError, match="too short"):
        forced_alignment.emissions(wave[:300], loaded.network)


def test_offline_the_missing_file_is_named_with_its_place(aligner, tmp_path):
    (tmp_path / forced_alignment.MODEL.name).unlink()
    with pytest.raises(weights.Unavailable, match=r"torchaudio/mms_fa\.pt.*offline"):
        aligner.load()
