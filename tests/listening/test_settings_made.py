"""Clips that settings made of the demo's real lines, sample by sample; planned, rated, exported.

One import for all of them; each test has a copy of its audio.
"""

from __future__ import annotations

import shutil
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import soundfile
from django.db import transaction
from django.test import override_settings

from listening import audio, studies
from listening.design.studyfile import StudyFile, read_folder
from listening.models import Slot, Study
from listening.selectors import rating_rows, stimulus_rows
from listening.studies import create_study, export_study, open_study
from listening.studies.prelaunch import check_study
from tests.factories import answer_all, arrive, make_user
from tests.listening.long_form import CELLS, IN_CONTEXT, cell, make_folder, served, source
from tests.listening.test_studies import kept_in, stored_files

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def imported(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """Where the audio of the imported study lies; its rows are gone after this module."""
    media = tmp_path_factory.mktemp("imported") / "media"
    folder = make_folder(tmp_path_factory.mktemp("given") / "study")
    with django_db_blocker.unblock():
        block = transaction.atomic()
        block.__enter__()
        try:
            with override_settings(STORAGES=kept_in(media)):
                create_study(folder, make_user("ada"))
            yield media
        finally:
            transaction.set_rollback(True)
            block.__exit__(None, None, None)


@pytest.fixture
def media(imported: Path, settings: Any, tmp_path: Path) -> Path:
    own = tmp_path / "media"
    shutil.copytree(imported, own)
    settings.STORAGES = kept_in(own)
    return own


@pytest.fixture
def study(media: Path, db: None) -> Study:
    return Study.objects.get(key="long")


@pytest.mark.slow
def test_every_cell_is_made_and_nothing_else(study: Study) -> None:
    derived = study.stimuli.filter(derived=True)
    assert Counter(derived.values_list("condition__key", flat=True)) == CELLS
    assert set(study.conditions.filter(derived=True).values_list("key", flat=True)) == set(CELLS)
    items = set(study.items.filter(derived=True).values_list("key", flat=True))
    lines = {"p1.1", "p1.2", "p1.3", "p2.1", "p2.2"}
    assert items == lines | {"p1.1-3", "p2.1-2", "p1.2-3"}
    assert study.stimuli.filter(derived=False).count() == 15
    assert all(s.lines == [] for s in study.stimuli.filter(derived=False))


@pytest.mark.slow
def test_a_joined_clip_holds_the_samples_of_its_lines_and_silence_between(study: Study) -> None:
    stimulus = cell(study, "R1T1 (flite-slt)", "p1.2")
    (context, rate), (rated, _) = (
        served(study.stimuli.get(key=key)) for key in ("human-s0870", "flite-slt-s0880")
    )
    samples, heard_rate = served(stimulus)
    assert (heard_rate, stimulus.sample_rate_hz, stimulus.channels) == (rate, 16_000, 1)
    gap = round(0.5 * rate)
    assert len(samples) == len(context) + gap + len(rated)
    fade = 100  # samples at each side of a joint, at most, for that it does not click
    assert (samples[: len(context) - fade] == context[:-fade]).all()
    assert not samples[len(context) : len(context) + gap].any()
    assert (samples[-len(rated) + fade :] == rated[fade:]).all()
    first, second = stimulus.lines
    assert (first["stimulus"], first["role"]) == ("human-s0870", "context")
    assert (second["stimulus"], second["role"]) == ("flite-slt-s0880", "rated")
    assert first["start_s"] == 0
    assert first["end_s"] == pytest.approx(len(context) / rate, abs=1e-6)
    assert second["start_s"] == pytest.approx((len(context) + gap) / rate, abs=1e-6)
    assert second["end_s"] == pytest.approx(len(samples) / rate, abs=1e-6)
    assert stimulus.duration_s == pytest.approx(len(samples) / rate)
    assert second["text"] == "He was not an ill-disposed young man,"


@pytest.mark.slow
def test_lines_of_different_rates_are_joined_at_the_higher_one(study: Study) -> None:
    stimulus = cell(study, "R1T1 (espeak-ng)", "p1.2")
    (context, low), (rated, high) = (
        served(study.stimuli.get(key=key)) for key in ("human-s0870", "espeak-ng-s0880")
    )
    samples, rate = served(stimulus)
    assert (low, high, rate, stimulus.sample_rate_hz) == (16_000, 22_050, 22_050, 22_050)
    assert (samples[-len(rated) + 150 :] == rated[150:]).all()
    start = round(stimulus.lines[1]["start_s"] * rate)
    assert start == len(samples) - len(rated)
    assert len(samples) - len(rated) == pytest.approx(len(context) * high / low + 0.5 * rate, abs=2)


TIMELINES = [
    ("Ri", "p1.2", ["rated human-s0880"]),
    ("Tp (espeak-ng)", "p2.1-2", ["rated espeak-ng-s0920", "rated espeak-ng-s0930"]),
    ("Rp", "p1.1-3", ["rated human-s0870", "rated human-s0880", "rated human-s0890"]),
    ("R1R1", "p1.3", ["context human-s0880", "rated human-s0890"]),
    ("T1T1 (flite-slt)", "p2.2", ["context flite-slt-s0920", "rated flite-slt-s0930"]),
    ("Text1T1 (flite-slt)", "p2.2", ["context ", "rated flite-slt-s0930"]),
    (
        "T2T1 (espeak-ng)",
        "p1.3",
        ["context espeak-ng-s0870", "context espeak-ng-s0880", "rated espeak-ng-s0890"],
    ),
    (
        "T1T2 (flite-slt)",
        "p1.2-3",
        ["context flite-slt-s0870", "rated flite-slt-s0880", "rated flite-slt-s0890"],
    ),
]


@pytest.mark.slow
def test_each_line_sounds_where_the_timeline_says(study: Study) -> None:
    for condition, item, expected in TIMELINES:
        sounds_as_told(study, condition, item, expected)


def sounds_as_told(study: Study, condition: str, item: str, expected: list[str]) -> None:
    stimulus = cell(study, condition, item)
    assert [f"{line['role']} {line['stimulus']}" for line in stimulus.lines] == expected
    samples, rate = served(stimulus)
    covered = 0
    for line in stimulus.lines:
        if not line["stimulus"]:
            assert (line["start_s"], line["end_s"]) == (0.0, 0.0)
            assert line["text"]
            continue
        own = study.stimuli.get(key=line["stimulus"])
        wave, _ = served(own)
        start, stop = round(line["start_s"] * rate), round(line["end_s"] * rate)
        assert stop - start == len(wave)
        assert (samples[start:stop][150:-150] == wave[150:-150]).all()
        covered += len(wave)
    gaps = 0.5 * (" ".join(expected).count("context") and condition[:4] != "Text")
    gaps += 0.25 * (max(0, sum(e.startswith("rated") for e in expected) - 1))
    gaps += 0.25 * (max(0, sum(e.startswith("context") for e in expected) - 1))
    assert len(samples) - covered == pytest.approx(gaps * rate, abs=2)


@pytest.mark.slow
def test_metrics_get_the_rated_part_alone(study: Study) -> None:
    rows = {row["stimulus"]: row for row in stimulus_rows("long")}
    one = rows["R1T1_(flite-slt):p1.2"]
    line = rows["flite-slt-s0880"]
    assert (one["path"], one["sha256"]) == (line["path"], line["sha256"])
    assert one["duration_s"] == pytest.approx(line["duration_s"], abs=1e-5)
    assert one["reference_path"] == rows["human-s0880"]["path"]
    assert (one["system"], one["role"], one["speaker"]) == ("", "test", "narrator")
    assert one["attributes"]["context_speaker"] == "same"
    two = rows["T1T2_(flite-slt):p1.2-3"]
    samples, rate = soundfile.read(two["path"])
    parts = [source("flite-slt", line)[0] for line in ("s0880", "s0890")]
    assert len(samples) == sum(map(len, parts)) + round(0.25 * rate)
    assert two["duration_s"] == pytest.approx(len(samples) / rate, abs=1e-5)
    assert (samples[:-1][: len(parts[0]) - 100] == parts[0][:-100]).all()
    assert audio.sha256_of(Path(two["path"])) == two["sha256"]
    assert two["text"].startswith("He was not an ill-disposed young man, unless to be")
    assert two["reference_sha256"] == ""
    assert one["reference_sha256"] == rows["human-s0880"]["sha256"]


@pytest.mark.slow
def test_the_turns_of_a_row_are_where_they_sound_in_the_rated_part(study: Study) -> None:
    rows = {row["stimulus"]: row for row in stimulus_rows("long")}
    assert rows["flite-slt-s0880"]["turns"] == []  # imported as it is
    two = rows["T1T2_(flite-slt):p1.2-3"]
    assert [(turn["speaker"], turn["text"][:6]) for turn in two["turns"]] == [
        ("narrator", "He was"),
        ("narrator", "unless"),
    ]
    samples, rate = soundfile.read(two["path"])
    for turn, line in zip(two["turns"], ("s0880", "s0890"), strict=True):
        start, stop = round(turn["start_s"] * rate), round(turn["end_s"] * rate)
        wave = source("flite-slt", line)[0]
        assert stop - start == len(wave)
        assert (samples[start:stop][150:-150] == wave[150:-150]).all()
    assert two["turns"][-1]["end_s"] == pytest.approx(two["duration_s"], abs=1e-5)


@pytest.mark.slow
def test_served_copies_are_each_a_file_of_their_own(study: Study, media: Path) -> None:
    names = list(study.stimuli.values_list("served", flat=True))
    assert len(set(names)) == len(names)
    originals = set(study.stimuli.values_list("original", flat=True))
    assert len(stored_files(media)) == len(names) + len(originals)
    for stimulus in study.stimuli.all():
        assert audio.sha256_of(audio.local_path(stimulus.served)) == stimulus.served_sha256


@pytest.mark.slow
def test_a_study_in_context_is_planned_and_rated_to_the_end(study: Study) -> None:
    assert [f for f in check_study(study) if f.level == "problem"] == []
    planned = open_study(study)
    assert planned == 4 * 3 * 2
    counts = Counter(Slot.objects.values_list("stimulus__condition__key", flat=True))
    assert counts == dict.fromkeys(IN_CONTEXT, 6)
    for _ in range(8):
        answer_all(arrive(study))
    rows = list(rating_rows("long"))
    assert len(rows) == planned
    contexts = {(row["condition"], row["item"]): row["context"] for row in rows}
    assert contexts["R1R1", "p1.3"] == "human-s0880"
    assert contexts["R1T1 (flite-slt)", "p2.2"] == "human-s0920"
    assert contexts["T1T1 (flite-slt)", "p1.2"] == "flite-slt-s0870"
    assert contexts["Text1T1 (flite-slt)", "p1.2"] == "text:s0870"
    assert {row["paragraph"] for row in rows} == {"p1", "p2"}


@pytest.mark.slow
def test_export_leaves_out_what_is_made_and_its_import_makes_it_again(
    tmp_path: Path, study: Study
) -> None:
    before = list(study.stimuli.values_list("key", "lines", "sha256").order_by("key"))
    assert export_study(study, tmp_path / "out") == 15
    again: StudyFile | None = read_folder(tmp_path / "out").study
    assert again == studies.study_as_file(study)
    table = (tmp_path / "out" / "stimuli.csv").read_text("utf-8")
    assert len(table.splitlines()) == 16
    toml = tomllib.loads((tmp_path / "out" / "study.toml").read_text("utf-8"))
    assert len(toml["settings"]) == 1
    assert [c["key"] for c in toml["conditions"]] == ["human", "flite-slt", "espeak-ng"]
    new = create_study(tmp_path / "out", study.owner, replace=True)
    assert list(new.stimuli.values_list("key", "lines", "sha256").order_by("key")) == before


@pytest.mark.slow
def test_prelaunch_finds_a_changed_joined_clip_and_says_nothing_twice(study: Study) -> None:
    said = [str(f) for f in check_study(study)]
    assert not any("The same file stands behind" in line for line in said)
    assert not any("R1T1" in line for line in said)
    path = audio.local_path(cell(study, "Rp", "p1.1-3").served)
    path.write_bytes(path.read_bytes()[:-1])
    changed = [f for f in check_study(study) if f.level == "problem"]
    assert ["Rp:p1.1-3" in f.what for f in changed] == [True]
