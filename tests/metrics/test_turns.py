"""Turns: what a manifest may say of them, and each speaker's part of a wave."""

import json

import pytest

from listening.common.speaker_turns import turns_of
from metrics.core.lazy_torch import torch
from metrics.core.metric import Material, Turn
from metrics.signal.turns import have_times, known_turns, speaker_streams, speakers_of


@pytest.mark.parametrize(
    "text",
    [
        "A 0-2.5; Dr B 2.85-6.1",
        " A 0 - 2.5\nDr B 2.85 - 6.1;",
        '[{"speaker": "A", "start_s": 0, "end_s": 2.5}, '
        '{"speaker": "Dr B", "start_s": 2.85, "end_s": 6.1}]',
    ],
)
def test_turns_are_read_from_stretches_and_from_json(text):
    assert turns_of(text) == (Turn("A", 0, 2.5), Turn("Dr B", 2.85, 6.1))
    assert have_times(turns_of(text))


def test_texts_without_times_are_turns_too():
    turns = turns_of(json.dumps([{"speaker": "甲", "text": "你好。"}]))
    assert turns == (Turn("甲", 0, 0, "你好。"),)
    assert not have_times(turns)
    assert turns_of("  ") == ()
    assert not have_times(())


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("A 0-2.5; B", "'B'"),
        ("0-2.5", "SPEAKER"),
        ("A 3-2.5", "A 3-2.5 does not end"),
        ("[1]", "object with a speaker"),
        ('[{"speaker": "A"}]', "does not end"),
        ('[{"speaker": "A", "start": 1}]', "start is not one of"),
        ('[{"speaker": "A", "start_s": "x"}]', "no number"),
        ('[{"speaker": "A", "start_s": NaN, "end_s": 2}]', "NaN is no number"),
        ('[{"speaker": " ", "start_s": 1, "end_s": 2}]', "names no speaker"),
        ("[", "no JSON"),
    ],
)
def test_what_cannot_be_read_is_quoted(text, named):
    with pytest.raises(ValueError, match=named):
        turns_of(text)


def test_streams_by_hand():
    wave = torch.arange(100.0)
    turns = turns_of("B 1-2; A 2-4; B 5-6; A 9-12; C 11-12; B 5.5-6.5")
    streams = speaker_streams(wave, turns, rate_hz=10)
    assert list(streams) == ["B", "A"]  # nothing of C is inside
    assert streams["B"].tolist() == [*range(10, 20), *range(50, 65)]
    assert streams["A"].tolist() == [*range(20, 40), *range(90, 100)]
    assert speakers_of(turns) == ["B", "A", "C"]


def test_turns_that_tile_a_wave_lose_nothing():
    wave = torch.randn(1000, generator=torch.Generator().manual_seed(1))
    turns = turns_of("A 0-3; A 3-7.5; A 7.5-10")
    assert torch.equal(speaker_streams(wave, turns, rate_hz=100)["A"], wave)


def test_unreadable_turns_count_as_material_of_their_own():
    told = [
        Material(),
        Material(attributes={"turns": "he, she"}),
        Material(turns=turns_of("A 0-1")),
    ]
    assert len({material.fingerprint(["turns"]) for material in told}) == 3
    with pytest.raises(ValueError, match="'he, she'"):
        known_turns(told[1])
    assert known_turns(Material(attributes={"turns": "A 0-1"})) == known_turns(told[2])
