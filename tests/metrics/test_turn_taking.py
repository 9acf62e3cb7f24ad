"""Turn-taking recovers the gaps and overlaps that conversations were made with."""

from __future__ import annotations

import csv
import importlib
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from django.core.management import call_command

from listening.common.speaker_turns import turns_of, turns_text
from metrics.core.metric import Material, Take
from metrics.signal.turns import turns_of_channels
from metrics.suite.turn_taking import TurnTaking, floor_of

DEMO = Path(__file__).resolve().parents[2] / "demo"
PRESET = DEMO / "presets" / "dialogue" / "stimuli.csv"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(DEMO)
    return importlib.import_module("conversations")


def rows() -> list[dict[str, str]]:
    with PRESET.open(encoding="utf-8", newline="") as table:
        return list(csv.DictReader(table))


def test_changes_of_speaker_are_told_apart_as_heldner_and_edlund_do() -> None:
    """A gap, an overlap with a change, an overlap within A, a pause of A, a change without gap."""
    floor = floor_of(turns_of("A 0-2; B 2.5-4; A 3.7-8; B 5-5.5; A 8.5-9; B 9-10"))
    assert floor.offsets_s == pytest.approx((0.5, -0.3, 0.0))
    assert floor.overlapped_s == pytest.approx(0.3 + 0.5)
    assert floor.spoken_s == pytest.approx(10 - 0.5 - 0.5)
    assert floor.span_s == 10


def test_short_silences_within_a_speaker_end_no_turn() -> None:
    assert floor_of(turns_of("A 0-1; A 1.1-2; B 2.2-3")).offsets_s == pytest.approx((0.2,))


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["stimulus"])
def test_the_demo_has_the_timing_that_it_was_made_with(row: dict[str, str], made: Any) -> None:
    offsets = made.OFFSETS_S[row["condition"]][row["item"]]
    material = Material(turns=turns_of(row["turns"]))
    (score,) = TurnTaking().score_takes([Take(None, material)])  # type: ignore[arg-type]
    assert score.details["offsets_s"] == pytest.approx(offsets, abs=0.002)
    assert score.value == pytest.approx(median(offsets), abs=0.002)
    interruptions = sum(each <= -0.2 for each in offsets)
    minutes = (turns_of(row["turns"])[-1].end_s - 0.25) / 60
    assert score.also["interruptions_per_minute"] == pytest.approx(interruptions / minutes)
    overlapped = -sum(each for each in offsets if each < 0)
    assert (score.also["overlapped_speech"] or 0) > 0 or not overlapped


def test_a_turn_of_its_own_has_the_offset_that_its_row_says() -> None:
    material = Material(attributes={"floor_transfer_offset_s": "-0.300"})
    (score,) = TurnTaking().score_takes([Take(None, material)])  # type: ignore[arg-type]
    assert (score.value, score.also["turn_overlap_s"], score.also["turn_gap_s"]) == (
        -0.3,
        0.3,
        None,
    )


@pytest.mark.slow
def test_turns_are_found_in_the_channels(tmp_path: Path, made: Any) -> None:
    """Each offset of the demo to 0.15 s, by the speech detector alone."""
    for row in rows():
        turns = turns_of_channels(DEMO / row["file"], ("A", "B"), pause_s=0.6)
        offsets = made.OFFSETS_S[row["condition"]][row["item"]]
        assert floor_of(turns, 0.6).offsets_s == pytest.approx(offsets, abs=0.15), row["stimulus"]
    table = tmp_path / "stimuli.csv"
    (tmp_path / "audio").symlink_to(DEMO / "audio")
    table.write_text(f"stimulus,file\nx,{rows()[0]['file']}\n", "utf-8")
    call_command("find_turns", tmp_path, pause_s=0.6)
    with table.open(encoding="utf-8", newline="") as file:
        (found,) = csv.DictReader(file)
    assert found["turns"] == turns_text(turns_of(found["turns"]))
    assert [turn.speaker for turn in turns_of(found["turns"])] == ["A", "B", "A", "B"]
