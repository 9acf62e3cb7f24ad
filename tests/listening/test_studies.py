"""A study comes into the database whole or not at all, and goes back to a folder, equal."""

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.storage import FileSystemStorage
from django.db import IntegrityError
from django.utils import timezone

from listening import audio, studies
from listening.design.studyfile import read_folder
from listening.models import Block, Connection, Rater, Recruitment, Session, Stimulus, Study
from listening.selectors import stimulus_rows
from listening.studies import StudyError, StudyProblems, create_study, creating, export_study
from listening.studies.prelaunch import check_study
from tests.factories import answer_all, arrive
from tests.listening.folders import CSV, TOML, make_folder, write_sound

pytestmark = pytest.mark.django_db
DEMO = Path(__file__).resolve().parents[2] / "demo"
LEVELLED = 'loudness_lufs = -30\nends = "as_is"\nseed ='  # cut ends change it by some tenths
CODES = '[study.completion_codes]\ncomplete = "C1"\nscreened_out = "S1"\npartial = "P1"\n'


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> Path:
    """A media store of this test's own."""
    folder = tmp_path / "media"
    settings.STORAGES = kept_in(folder)
    return folder


def kept_in(folder: Path) -> dict[str, Any]:
    """Django's STORAGES with the media store in this folder."""
    backend = {"BACKEND": "django.core.files.storage.FileSystemStorage"}
    options = {"OPTIONS": {"location": str(folder)}}
    return {**settings.STORAGES, "default": backend | options}


@pytest.fixture
def owner() -> User:
    return User.objects.create_user("researcher")


def stored_files(media: Path) -> list[Path]:
    return [path for path in media.rglob("*") if path.is_file()]


@pytest.mark.slow
def test_originals_are_kept_and_served_copies_are_the_same_sound(
    owner: User, tmp_path: Path
) -> None:
    study = create_study(demo_with(tmp_path, "sample_rate_hz = 32000", 'ends = "as_is"'), owner)
    for s in study.stimuli.all():
        assert audio.local_path(s.original).read_bytes() == (DEMO / s.file).read_bytes()
        served = audio.local_path(s.served)
        assert audio.sha256_of(served) == s.served_sha256
        (before, rate_hz), (after, _) = soundfile.read(DEMO / s.file), soundfile.read(served)
        assert len(before) == len(after)
        faded = (after - before) * np.hanning(len(before))  # the transform wraps around
        spectrum = np.fft.rfft(faded)
        below_hearing = np.fft.rfftfreq(len(before), 1 / rate_hz) < 65  # is taken out
        spectrum[below_hearing] = 0
        assert abs(np.fft.irfft(spectrum, len(before))).max() < 2 / 2**15
    rows = stimulus_rows("demo")
    assert all(Path(row["path"]).exists() for row in rows)


def demo_with(folder: Path, old: str, new: str) -> Path:
    """Part of the demo's folder with another line in study.toml."""
    part = part_of_the_demo(folder)
    toml = part / "study.toml"
    toml.write_text(toml.read_text("utf-8").replace(old, new, 1), "utf-8")
    return part


def part_of_the_demo(folder: Path) -> Path:
    """Two of its ten lines with their traps, and the files that these name."""
    part = folder / "demo"
    (part / "audio").mkdir(parents=True)
    toml = (DEMO / "study.toml").read_text("utf-8")
    (part / "study.toml").write_text(toml.replace("block_size = 5", "block_size = 2"), "utf-8")
    head, *rows = (DEMO / "stimuli.csv").read_text("utf-8").splitlines(keepends=True)
    kept = [row for row in rows if row.split(",")[2] in ("s0880", "s0890")]
    (part / "stimuli.csv").write_text(head + "".join(kept), "utf-8")
    for file in {row.split(",")[3] for row in kept}:
        shutil.copy(DEMO / file, part / file)
    return part


@pytest.mark.slow
def test_import_export_import_gives_an_equal_study(owner: User, tmp_path: Path) -> None:
    """First from a ZIP file, then from a folder."""
    part = part_of_the_demo(tmp_path)
    first = create_study(Path(shutil.make_archive(str(tmp_path / "part"), "zip", part)), owner)
    count = export_study(first, tmp_path / "out")
    assert count == 16
    exported = read_folder(tmp_path / "out").study
    assert exported == studies.study_as_file(first)
    for path in (tmp_path / "out" / "audio").iterdir():
        assert path.read_bytes() == (part / "audio" / path.name).read_bytes()
    second = create_study(tmp_path / "out", owner, replace=True)
    assert studies.study_as_file(second) == exported
    assert (tmp_path / "out" / "stimuli.csv").read_bytes() == (part / "stimuli.csv").read_bytes()


def test_audio_mistakes_are_listed_together_with_the_others(
    owner: User, tmp_path: Path, media: Path
) -> None:
    toml = TOML.replace("A small study", "").replace("block_size = 2", "block_size = 9")
    folder = make_folder(tmp_path / "study", toml, CSV.replace("audio/b2.wav", "audio/none.wav"))
    (folder / "audio" / "a1.wav").write_bytes(b"")
    (folder / "audio" / "a2.wav").write_text("no sound at all")
    with pytest.raises(StudyProblems) as caught:
        create_study(folder, owner)
    text = str(caught.value)
    for part in (
        "study.toml, study.title: The text is empty.",
        "study.toml, tasks[1].block_size: A block of 9 is larger",
        "stimuli.csv, row 5, file: There is no file “audio/none.wav”",
        "stimuli.csv, row 2, file: “audio/a1.wav”: The file is empty (0 bytes).",
        "stimuli.csv, row 3, file: “audio/a2.wav”: This is no sound file",
    ):
        assert part in text, text
    assert not Study.objects.exists()
    assert stored_files(media) == []


def test_nothing_is_half_imported_when_the_database_refuses(
    owner: User, tmp_path: Path, media: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise IntegrityError("the database is in a bad mood")

    monkeypatch.setattr(creating, "_write_task", refuse)
    with pytest.raises(IntegrityError):
        create_study(make_folder(tmp_path / "study"), owner)
    assert not Study.objects.exists()
    assert not Stimulus.objects.exists()
    assert stored_files(media) == []


def test_nothing_is_half_imported_when_the_disk_fills_up(
    owner: User, tmp_path: Path, media: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = FileSystemStorage.save, []

    def save(storage, name, content, max_length=None):
        calls.append(name)
        if len(calls) == 6:
            raise OSError(28, "No space left on device")
        return real(storage, name, content, max_length)

    monkeypatch.setattr(FileSystemStorage, "save", save)
    with pytest.raises(OSError, match="No space left"):
        create_study(make_folder(tmp_path / "study"), owner)
    assert len(calls) == 6
    assert not Study.objects.exists()
    assert stored_files(media) == []


@pytest.mark.medium
def test_a_key_that_exists_is_refused_and_nothing_is_left(
    owner: User, tmp_path: Path, media: Path
) -> None:
    folder = make_folder(tmp_path / "study")
    create_study(folder, owner)
    before = sorted(stored_files(media))
    with pytest.raises(StudyError, match="There is a study “small” already"):
        create_study(folder, owner)
    assert sorted(stored_files(media)) == before


@pytest.mark.medium
def test_a_draft_is_replaced_in_place_and_its_old_audio_goes(
    owner: User, tmp_path: Path, media: Path, django_capture_on_commit_callbacks
) -> None:
    folder = make_folder(tmp_path / "study", TOML + CODES)
    old = create_study(folder, owner)
    Session.objects.create(study=old, rater=Rater.objects.create(), status="withdrawn")
    recruitment = Recruitment.objects.create(
        study=old, connection=Connection.objects.create(owner=owner, token="t")
    )
    before = set(stored_files(media))
    with django_capture_on_commit_callbacks(execute=True):
        new = create_study(folder, User.objects.create_user("ben"), replace=True)
    assert list(Study.objects.all()) == [new]
    assert (new.pk, new.link, new.owner) == (old.pk, old.link, owner)
    assert recruitment in new.recruitments.all()
    assert set(stored_files(media)).isdisjoint(before)
    assert len(stored_files(media)) == 8


@pytest.mark.parametrize("state", ["open", "paused", "closed"])
@pytest.mark.medium
def test_only_a_draft_is_replaced_so_that_no_link_changes(
    owner: User, tmp_path: Path, state: str
) -> None:
    folder = make_folder(tmp_path / "study")
    study = create_study(folder, owner)
    Study.objects.update(state=state)
    with pytest.raises(StudyError, match=rf"is {state}, .* manage\.py copy_study small"):
        create_study(folder, owner, replace=True)
    assert Study.objects.get().link == study.link
    assert study.stimuli.count() == 4


@pytest.mark.medium
def test_a_study_without_ratings_is_deleted_with_its_plan(owner: User, tmp_path: Path) -> None:
    study = create_study(make_folder(tmp_path / "study"), owner)
    studies.open_study(study)
    arrive(study)
    studies.close_study(study)
    studies.delete_study(study, study.key)
    assert not Stimulus.objects.exists()
    assert not Block.objects.exists()


@pytest.mark.medium
def test_ratings_do_not_go_with_a_study_by_accident(owner: User, tmp_path: Path) -> None:
    study = create_study(make_folder(tmp_path / "study"), owner)
    studies.open_study(study)
    answer_all(arrive(study))
    with pytest.raises(IntegrityError, match="ratings are only added"):
        study.delete()


@pytest.mark.parametrize("name", ["nowhere", "notes.txt", "broken.zip"])
def test_a_source_that_is_no_study(owner: User, tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.txt").write_text("notes")
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04")
    with pytest.raises(ValueError, match=r"neither a folder nor a file|no zip archive"):
        create_study(tmp_path / name, owner)


@pytest.mark.medium
def test_a_folder_that_is_not_empty_is_not_written_to(owner: User, tmp_path: Path) -> None:
    study = create_study(make_folder(tmp_path / "study"), owner)
    with pytest.raises(StudyError, match="not empty"):
        export_study(study, tmp_path / "study")


@pytest.mark.medium
def test_an_original_that_changed_is_not_exported(owner: User, tmp_path: Path) -> None:
    study = create_study(make_folder(tmp_path / "study"), owner)
    stimulus = study.stimuli.get(key="b1")
    write_sound(audio.local_path(stimulus.original), seed=99)
    with pytest.raises(StudyError, match="“b1” has changed"):
        export_study(study, tmp_path / "out1")
    audio.forget([stimulus.original])
    with pytest.raises(StudyError, match="“b1” is missing"):
        export_study(study, tmp_path / "out2")


@pytest.mark.medium
def test_ids_in_chinese_come_back(owner: User, tmp_path: Path) -> None:
    toml = TOML.replace('"sys-a"', '"甲方案"')
    csv = CSV.replace("sys-a", "甲方案").replace("i1", "第一句").replace("audio/a1", "audio/第一句")
    folder = make_folder(tmp_path / "study", toml, csv)
    (folder / "audio" / "a1.wav").rename(folder / "audio" / "第一句.wav")
    study = create_study(folder, owner)
    export_study(study, tmp_path / "out")
    assert read_folder(tmp_path / "out").study == studies.study_as_file(study)
    assert "第一句" in (tmp_path / "out" / "stimuli.csv").read_text("utf-8")


@pytest.mark.medium
def test_opening_plans_every_presentation_once(owner: User, tmp_path: Path) -> None:
    study = create_study(make_folder(tmp_path / "study"), owner)
    assert studies.open_study(study) == 4 * 3
    assert (study.state, study.opened_at is not None) == ("open", True)
    studies.pause_study(study)
    assert studies.open_study(study) == 0  # planned already
    study.refresh_from_db()
    assert study.state == "open"


@pytest.mark.medium
def test_states_that_cannot_follow_each_other(owner: User, tmp_path: Path) -> None:
    study = create_study(make_folder(tmp_path / "study"), owner)
    with pytest.raises(StudyError, match="only an open one can be paused"):
        studies.pause_study(study)
    with pytest.raises(StudyError, match="never opened"):
        studies.close_study(study)
    studies.open_study(study)
    opened_at = study.opened_at
    studies.close_study(study)
    assert study.closed_at is not None
    assert study.closed_at - timezone.now() < timedelta(seconds=5)
    with pytest.raises(StudyError, match="cannot be opened again"):
        studies.open_study(study)
    study.refresh_from_db()
    assert (study.state, study.opened_at) == ("closed", opened_at)


@pytest.mark.medium
def test_a_study_whose_audio_is_gone_does_not_open(owner: User, tmp_path: Path) -> None:
    study = create_study(make_folder(tmp_path / "study"), owner)
    audio.forget([study.stimuli.get(key="a2").served])
    with pytest.raises(StudyError, match="The audio of “a2” cannot be read"):
        studies.open_study(study)
    study.refresh_from_db()
    assert study.state == "draft"
    assert not Block.objects.exists()
    assert studies.open_study(study, anyway=True) == 12


@pytest.mark.slow
def test_clips_are_brought_to_the_loudness_that_the_study_names(
    owner: User, tmp_path: Path
) -> None:
    study = create_study(demo_with(tmp_path, "seed =", LEVELLED), owner)
    assert studies.study_as_file(study).loudness_lufs == -30
    for stimulus in study.stimuli.all()[:5]:
        heard = audio.probed(audio.local_path(stimulus.served))
        assert stimulus.gain_db != 0
        assert heard.loudness_lufs == pytest.approx(-30, abs=0.1)
        assert stimulus.sha256 == audio.probed(audio.local_path(stimulus.original)).sha256


@pytest.mark.slow
def test_clips_are_brought_to_the_sampling_rate_that_the_study_names(
    owner: User, tmp_path: Path
) -> None:
    study = create_study(
        demo_with(tmp_path, "sample_rate_hz = 32000", "sample_rate_hz = 48000"), owner
    )
    assert {s.sample_rate_hz for s in study.stimuli.all()} == {16_000, 22_050, 32_000}
    heads = set()
    for stimulus in study.stimuli.all():
        heard = audio.probed(audio.local_path(stimulus.served))
        assert heard.duration_s == pytest.approx(stimulus.duration_s, abs=1e-4)
        heads.add((heard.sample_rate_hz, heard.channels))
    assert heads == {(48_000, 1)}
    assert not [f for f in check_study(study) if "sampling rate" in f.what]
