"""What the checks before launch find, and that they keep silent about a clean study."""

import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile
from django.contrib.auth.models import User

from listening import audio
from listening.models import Slot, Study
from listening.studies import (
    Finding,
    check_study,
    create_study,
    open_study,
    prelaunch,
    study_as_file,
)
from listening.studies.design_findings import task_findings
from listening.studies.sound_findings import MeasuredClip, sound_findings
from tests.factories import ATT_TRAPS, make_study
from tests.listening.folders import HEADER, ROWS, STUDY, TOML, csv_with, make_folder
from tests.listening.test_studies import media  # noqa: F401

pytestmark = pytest.mark.django_db
RATE = 16_000
CALM = TOML.replace(
    STUDY, STUDY + '[study.texts]\nconsent = "I agree."\ncontact = "me@example.org"\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "study", CALM)


def noise(seconds: float = 1.0, level: float = 0.2, seed: int = 0, rate: int = RATE) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-level, level, round(seconds * rate))


def found(folder: Path) -> list[Finding]:
    return heard(create_study(folder, User.objects.create_user("researcher")))


def heard(study: Study) -> list[Finding]:
    """What is said of clips and texts; designs as small as these have their own tests."""
    design = task_findings(study_as_file(study))
    return [finding for finding in check_study(study) if finding not in design]


def the_warning(folder: Path) -> str:
    (finding,) = found(folder)
    assert finding.level == "warning"
    assert finding.remedy
    return finding.what


def replace(folder: Path, clip: str, samples: np.ndarray, rate: int = RATE) -> None:
    soundfile.write(folder / "audio" / f"{clip}.wav", samples, rate)


@pytest.mark.medium
def test_nothing_is_said_about_a_clean_study(folder: Path) -> None:
    assert found(folder) == []


@pytest.mark.medium
def test_a_study_without_consent_or_contact(tmp_path: Path) -> None:
    said = [finding.what for finding in found(make_folder(tmp_path / "study"))]
    assert said == ["There is no consent text.", "There is no contact for raters."]


@pytest.mark.medium
def test_conditions_of_different_loudness(folder: Path) -> None:
    for seed, clip in enumerate(("b1", "b2"), start=7):
        replace(folder, clip, noise(level=0.05, seed=seed))
    assert re.search(r"“sys-a” is 1[12]\.\d LU louder than “sys-b”", the_warning(folder))


@pytest.mark.medium
def test_a_difference_of_five_units_is_let_pass(folder: Path) -> None:
    for seed, clip in enumerate(("b1", "b2"), start=7):
        replace(folder, clip, noise(level=0.2 / 10 ** (5 / 20), seed=seed))
    assert found(folder) == []


@pytest.mark.medium
def test_sampling_rates_that_differ_by_condition(folder: Path) -> None:
    for seed, clip in enumerate(("b1", "b2"), start=7):
        replace(folder, clip, noise(seed=seed, rate=24_000, level=0.24), 24_000)
    said = the_warning(folder)
    assert "sampling rate differs between conditions" in said
    assert "sys-a 16000 Hz; sys-b 24000 Hz" in said


@pytest.mark.medium
def test_rates_that_are_mixed_alike_in_all_conditions_betray_nothing(folder: Path) -> None:
    for seed, clip in enumerate(("a1", "b1"), start=7):
        replace(folder, clip, noise(seed=seed, rate=24_000, level=0.24), 24_000)
    assert found(folder) == []


@pytest.mark.medium
def test_channels_that_differ_by_condition(folder: Path) -> None:
    for seed, clip in enumerate(("b1", "b2"), start=7):
        replace(folder, clip, np.stack([noise(seed=seed, level=0.14)] * 2, axis=1))
    assert "number of channels differs" in the_warning(folder)


@pytest.mark.medium
def test_clipping_leading_silence_and_very_short_clips(folder: Path) -> None:
    replace(folder, "a1", np.clip(noise(level=0.2) * 10, -1, 1) * 1.0)
    replace(folder, "a2", np.concatenate([np.zeros(2 * RATE), noise(1)]))
    replace(folder, "b1", noise(0.1))
    said = " ".join(finding.what for finding in found(folder))
    assert "Clipped (full scale reached): “a1”" in said
    assert "More than 1 s of silence at the start: “a2”" in said
    assert "Shorter than 0.2 s: “b1”" in said


@pytest.mark.medium
def test_dead_channels_and_channels_in_antiphase_are_named(folder: Path) -> None:
    left, right = noise(seed=7), noise(seed=8)
    rumble = 0.3 * np.sin(np.arange(RATE) * 0.01)  # what both channels share
    for clip, channels in (
        ("a1", (0 * left, left)),
        ("a2", (left, 0.005 * right + 0.1)),  # an offset is no sound
        ("b1", (left, -left + 0.01 * right)),
        ("b2", (left + rumble, right + rumble)),
    ):
        replace(folder, clip, np.stack(channels, axis=1))
    said = [finding.what for finding in found(folder)]
    assert [words for words in said if "channel" in words] == [
        "The left channel is silent, so that this ear hears nothing: “a1”.",
        "The right channel is silent, so that this ear hears nothing: “a2”.",
        "The two channels are in antiphase and cancel each other on a loudspeaker: “b1”.",
    ]


@pytest.mark.medium
def test_lengths_that_headers_do_not_state_are_told(folder: Path) -> None:
    path = folder / "audio" / "a1.wav"
    whole = bytearray(path.read_bytes())
    whole[4:8] = whole[40:44] = bytes(4)  # as of a pipe
    path.write_bytes(whole)
    assert "“a1”: The header states no length" in the_warning(folder)
    assert "read to its end (0.50 s)" in audio.probed(path).length_note


@pytest.mark.medium
def test_clips_that_one_loudness_does_not_reach_are_told(folder: Path) -> None:
    toml = folder / "study.toml"
    toml.write_text(toml.read_text().replace("[study]", "[study]\nloudness_lufs = -20", 1))
    peaked = noise(level=0.02, seed=9)
    peaked[99] = 0.9
    replace(folder, "a1", peaked)
    barely = np.zeros(RATE)
    barely[99] = 2**-15
    replace(folder, "b2", barely)
    said = " ".join(finding.what for finding in found(folder))
    assert re.search(r"Up to \d\d\.\d LU softer than -20 LUFS, .* clip their peaks: “a1”\.", said)
    assert "Too quiet to measure, so that their level stays: “b2”." in said


@pytest.mark.parametrize(("gain_db", "is_told"), [(0.0, True), (-3.0, False)])
def test_floats_over_full_scale_are_clipped_unless_a_gain_brings_them_back(
    folder: Path, gain_db: float, is_told: bool
) -> None:
    loud = noise(level=1.3, seed=9)
    soundfile.write(folder / "audio" / "a1.wav", loud, RATE, subtype="FLOAT")
    facts = audio.probed(folder / "audio" / "a1.wav")
    said = [each.what for each in sound_findings([MeasuredClip("a1", facts, gain_db)])]
    assert ("Clipped (full scale reached): “a1”." in said) == is_told


@pytest.mark.medium
def test_digital_silence_stops_the_launch(folder: Path) -> None:
    replace(folder, "a1", np.zeros(RATE))
    first = found(folder)[0]
    assert (first.level, "Digital silence: “a1”" in first.what) == ("problem", True)


@pytest.mark.medium
def test_the_same_file_behind_two_stimuli(folder: Path) -> None:
    (folder / "audio" / "a2.wav").write_bytes((folder / "audio" / "b1.wav").read_bytes())
    assert "The same file stands behind “a2”, “b1”" in the_warning(folder)


@pytest.mark.medium
def test_a_condition_that_speaks_much_longer(folder: Path) -> None:
    for seed, clip in enumerate(("b1", "b2"), start=7):
        replace(folder, clip, noise(6, seed=seed))
    said = [finding.what for finding in found(folder)]
    assert any("of “sys-b”" in words or "of “sys-a”" in words for words in said), said


@pytest.mark.parametrize(
    ("samples", "rate", "told_by"),
    [
        (noise(3.0, seed=9), RATE, "length"),
        (noise(1.0, level=0.9, seed=9), RATE, "loudness"),
        (noise(1.0, seed=9, rate=24_000, level=0.24), 24_000, "sampling rate"),
        (noise(3.0, level=0.01, seed=9), RATE, "length and loudness"),
        (noise(1.2, level=0.25, seed=9), RATE, ""),
    ],
)
@pytest.mark.medium
def test_traps_that_can_be_told_without_listening(
    folder: Path, samples: np.ndarray, rate: int, told_by: str
) -> None:
    for seed, clip in enumerate(("a1", "a2", "b1", "b2"), start=7):
        replace(folder, clip, noise(seed=seed))
    replace(folder, "trap", samples, rate)
    with (folder / "study.toml").open("a") as file:
        file.write(
            '[tasks.traps]\nper = 2\n[[tasks.traps.kinds]]\nkind = "gold"\nexpected = ["1"]\n'
        )
    rows = [f"{row}," for row in ROWS] + ["t1,sys-a,i1,audio/trap.wav,gold"]
    rows.append("t2,sys-a,i1,audio/trap.wav,training")  # announced, so it may differ
    (folder / "stimuli.csv").write_text(csv_with(*rows, header=f"{HEADER},trap"))
    if told_by:
        assert (
            f"“gold” can be distinguished from all other clips by their {told_by}."
            in the_warning(folder)
        )
    else:
        assert found(folder) == []


@pytest.mark.medium
def test_stored_audio_that_changed_is_a_problem(folder: Path) -> None:
    study = create_study(folder, User.objects.create_user("researcher"))
    stimulus = study.stimuli.get(key="b1")
    audio.local_path(stimulus.served).write_bytes(
        audio.local_path(study.stimuli.get(key="b2").served).read_bytes()
    )
    (finding,) = heard(study)
    assert finding.level == "problem"
    assert "“b1” has changed" in finding.what


@pytest.mark.medium
def test_problems_come_before_warnings(folder: Path) -> None:
    replace(folder, "b2", np.zeros(RATE))
    replace(folder, "a2", np.concatenate([np.zeros(2 * RATE), noise(1)]))
    levels = [finding.level for finding in found(folder)]
    assert levels == sorted(levels)
    assert set(levels) == {"problem", "warning"}


@pytest.mark.parametrize(
    ("items", "size", "said"),
    [(5, 5, []), (5, 4, ["blocks of 3 instead of 4"]), (9, 10, [])],  # 9 beside 9: one in ten less
)
@pytest.mark.medium
def test_blocks_that_cannot_hold_whole_sets_of_traps(
    items: int, size: int, said: list[str]
) -> None:
    task = {"method": "att", "traps": ATT_TRAPS, "block_size": size, "repeat_items": True}
    study = make_study(items=items, traps={"flawed": 1, "human": 2}, task=task)
    told = [finding.what for finding in check_study(study) if "instead of" in finding.what]
    assert [words in what for words, what in zip(said, told, strict=True)] == [True] * len(said)


@pytest.mark.medium
def test_lines_that_a_condition_lacks_are_named(tmp_path: Path) -> None:
    rows = [*ROWS[:3], *(f"{s}{n},sys-{s},i{n},audio/{s}{n}.wav" for n in (3, 4) for s in "ac")]
    toml = CALM.replace('key = "sys-b"\n', 'key = "sys-b"\n[[conditions]]\nkey = "sys-c"\n')
    folder = make_folder(tmp_path / "study", toml + "allow_missing = true\n", csv_with(*rows))
    for seed, clip in enumerate(("a3", "a4", "c3", "c4"), start=20):
        replace(folder, clip, noise(0.5, seed=seed))
    b, c = (finding.what for finding in found(folder))
    assert b == (
        "In the task “mos”, the condition “sys-b” is missing for 3 of 4 items: “i2”, “i3”, “i4”."
    )
    assert c.endswith("“sys-c” is missing for 2 of 4 items: “i1”, “i2”.")
    study = Study.objects.get()
    open_study(study)
    heard = Counter(Slot.objects.values_list("stimulus__key", flat=True))
    assert heard == {row.split(",")[0]: 3 for row in rows}  # ratings_per_stimulus, gaps or not


@pytest.mark.parametrize("low_cut_hz", [20, 50])
@pytest.mark.slow
def test_noise_that_nobody_hears_names_recordings_where_a_study_keeps_it(
    tmp_path: Path, low_cut_hz: int
) -> None:
    """From 15 to 50 Hz, at -60 dB, in the clips of one system of two."""
    rows = [f"{s}{n},sys-{s},i{n},audio/{s}{n}.wav" for s in "ab" for n in range(8)]
    toml = CALM.replace(STUDY, f"{STUDY}low_cut_hz = {low_cut_hz}\n")
    folder = make_folder(tmp_path / "study", toml, csv_with(*rows))
    rng = np.random.default_rng(9)
    t = np.arange(RATE) / RATE
    for n in range(8):
        for system, level in (("a", 1.4e-3), ("b", 0.0)):
            voice = 0.2 * np.sin(2 * np.pi * rng.uniform(100, 180) * t) * np.hanning(RATE)
            hum = sum(np.sin(2 * np.pi * hz * t + rng.uniform(0, 6)) for hz in range(17, 44, 3))
            replace(
                folder, f"{system}{n}", voice + 1e-3 * rng.standard_normal(RATE) + hum * level / 3
            )
    told = " ".join(finding.what for finding in found(folder))
    assert ("“sys-a”: the level from 15 to 45 Hz" in told) == (low_cut_hz == 20)


@pytest.mark.medium
def test_traps_that_raters_know_beforehand() -> None:
    traps = {**ATT_TRAPS, "kinds": [{**ATT_TRAPS["kinds"][0], "text": True}]}
    study = make_study(items=5, traps={"flawed": 1}, task={"method": "att", "traps": traps})
    task = study.tasks.get()
    task.examples = [{"stimulus": "trap_flawed-0"}, {"stimulus": "cond-0_item-0"}]
    task.save()
    told = " ".join(finding.what for finding in check_study(study))
    assert "only traps of the kind “flawed” show a text" in told
    assert "“trap_flawed-0” is an example or practice of the task “att” and a trap too" in told
    task.show_text, task.examples = True, []
    task.save()
    told = " ".join(finding.what for finding in check_study(study))
    assert "show a text" not in told
    assert "a trap too" not in told


@pytest.mark.parametrize(
    ("named", "remedy"),
    [
        ({}, "Name loudness_lufs and the lowest sample_rate_hz in [study], unless"),
        ({"loudness_lufs": -23.0}, "Name the lowest sample_rate_hz in [study], unless"),
        ({"loudness_lufs": -23.0, "sample_rate_hz": 16_000}, "Make sure that you study these"),
    ],
)
def test_the_remedy_of_systems_that_sound_apart_names_what_is_missing(named, remedy, monkeypatch):
    told = SimpleNamespace(is_of_sound=True)
    monkeypatch.setattr(prelaunch, "study_leaks", lambda study: [told])
    (finding,) = prelaunch._check_leaks(Study(**named))
    assert finding.remedy.startswith(remedy)
