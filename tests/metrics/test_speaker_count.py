"""Speakers are counted in joined recordings of people, and another number than declared is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from metrics.core import decoding
from metrics.core.lazy_torch import torch
from metrics.core.metric import Material, ParameterError, Turn, make_metric
from metrics.suite.speaker_count import declared_speakers, speaker_labels

DEMO = Path(__file__).parents[2] / "demo" / "audio"
ONE = [f"human_{name}" for name in ("s0870", "s0880", "s0890", "s0920")]
OTHER = ["human_v01", "human_v03", "human_v09"]  # another reader
RATE_HZ, GAP_S = 16_000, 0.3


def joined(*names: str) -> torch.Tensor:
    """Recordings one after another, with a rest of faint noise after each."""
    rest = 1e-4 * torch.randn(round(GAP_S * RATE_HZ), generator=torch.Generator().manual_seed(1))
    parts = [torch.from_numpy(decoding.load_wave(DEMO / f"{n}.flac", RATE_HZ)) for n in names]
    return torch.cat([piece for part in parts for piece in (part, rest)])


@pytest.fixture(scope="module")
def metric():
    made = make_metric("speaker_count")
    made.load("cpu")
    return made


def two_turns(*speakers: str) -> Material:
    return Material(turns=tuple(Turn(name, 0, 0, "words") for name in speakers))


@pytest.mark.medium
def test_one_reader_is_one_speaker_and_two_are_two(metric):
    dialogue = [name for pair in zip(ONE, OTHER, strict=False) for name in pair]
    waves = [joined(*ONE), joined(*OTHER), joined(*dialogue), joined(*dialogue)[: 2 * RATE_HZ]]
    one, other, both, short = metric.measure(waves, [Material()] * 4)
    assert (one.value, other.value, both.value) == (1, 1, 2)
    assert (one.warnings, both.warnings) == ({}, {})
    assert "too little speech" in short.reason
    starts = np.array(both.details["window_starts_s"])
    labels = np.array(both.details["speakers"])
    lengths_s = np.array([len(joined(name)) / RATE_HZ for name in dialogue])
    ends_s = np.cumsum(lengths_s)
    inside = [  # windows that lie in one turn, of the reader who reads it
        np.unique(labels[(starts >= end - length) & (starts + 1.6 <= end) & (labels > 0)])
        for end, length in zip(ends_s, lengths_s, strict=True)
    ]
    assert {tuple(each) for each in inside[::2]} == {tuple(inside[0])}
    assert {tuple(each) for each in inside[1::2]} == {tuple(inside[1])}
    assert {len(each) for each in inside} == {1}
    assert inside[0] != inside[1]


@pytest.mark.medium
def test_another_number_than_declared_is_a_warning(metric):
    waves = [joined(*ONE)] * 3
    column = [Material(attributes={"speakers": number}) for number in ("1", "2", "several")]
    same, more, unclear = metric.measure(waves, column)
    assert (same.warnings, unclear.warnings) == ({}, {})
    assert more.warnings == {"speakers": "speakers: 1 found, 2 declared; listen to the clip"}
    assert (more.value, more.details["declared"]) == (1, 2)


def test_turns_declare_more_than_the_column():
    assert declared_speakers(two_turns("A", "B", "A")) == 2
    assert declared_speakers(Material(attributes={"turns": "A 0-2; A 2-4", "speakers": "2"})) == 1
    assert declared_speakers(Material(attributes={"turns": "nobody", "speakers": "3"})) == 3
    assert declared_speakers(Material()) is None


def test_clusters_are_joined_up_to_their_mean_distance_and_small_ones_do_not_count():
    angles = np.radians([0, 10, 5, 60, 65, 55, 62, 180])
    vectors = np.column_stack([np.cos(angles), np.sin(angles)])
    assert speaker_labels(vectors, 0.3, 0.08).tolist() == [2, 2, 2, 1, 1, 1, 1, 0]
    assert speaker_labels(vectors, 0.3, 0.4).tolist() == [0, 0, 0, 1, 1, 1, 1, 0]
    assert set(speaker_labels(vectors, 1.0, 0.08)) == {0, 1}  # 1 - cos 60° = 0.5


@pytest.mark.parametrize("wrong", [{"max_distance": 1.5}, {"least_share": -0.1}, {"hop_s": 0.0}])
def test_parameters_out_of_range_are_refused(wrong):
    with pytest.raises(ParameterError):
        make_metric("speaker_count", wrong)
