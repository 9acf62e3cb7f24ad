"""A worker fetches the audio of its own clips, a portion ahead, and keeps what its limit allows."""

import io
import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
import soundfile
from django.core.files.storage import FileSystemStorage
from django.core.management import call_command

from listening import audio
from listening.audio import store
from listening.selectors import stimulus_rows
from metrics.core.metric import Material, make_metric
from metrics.scoring import study_scores
from metrics.scoring.inputs import parse_part, read_clips
from metrics.scoring.runner import Clip
from tests.factories import make_study


class Far(FileSystemStorage):
    """Stands for S3: it gives no paths, and notes what was fetched."""

    def path(self, name):
        raise NotImplementedError

    def open(self, name, mode="rb"):
        FETCHED.append(name)
        return Path(self.location, name).open(mode)


FETCHED: list[str] = []


@pytest.fixture
def far(settings, tmp_path):
    """A remote store with ten files of 100 bytes; their names."""
    settings.EARNEST_VAR = tmp_path / "var"
    options = {"location": str(tmp_path / "far")}
    backend = f"{__name__}.Far"
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": backend, "OPTIONS": options}}
    names = [f"originals/00/{n:032x}.wav" for n in range(10)]
    for name in names:
        (tmp_path / "far" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "far" / name).write_bytes(b"x" * 100)
    FETCHED.clear()
    return names


@pytest.mark.django_db
def test_reading_a_study_fetches_nothing(far):
    study = make_study(conditions=2, items=2)
    for stimulus, name in zip(study.stimuli.order_by("pk"), far, strict=False):
        stimulus.original = name
        stimulus.save()
    rows = stimulus_rows(study.key)
    assert FETCHED == []
    assert not any(Path(row["path"]).exists() for row in rows)
    assert audio.bring(row["path"] for row in rows[:2]) == 2
    assert sorted(FETCHED) == far[:2]
    assert [Path(row["path"]).exists() for row in rows] == [True, True, False, False]
    assert audio.bring(row["path"] for row in rows[:2]) == 0


def work(names):
    metric = (make_metric("length_s"),)
    last = str(store.stored_path(names[-1]))
    voice = Material(reference_path=last, reference_audio_path=last)
    clips = [Clip(str(store.stored_path(name)), name, name) for name in names[:-1]]
    return [(clip, metric) for clip in clips[:-1]] + [
        (Clip(clips[-1].path, "x", "x", voice), metric)
    ]


def test_one_portion_is_fetched_ahead_and_no_more(far, monkeypatch):
    monkeypatch.setattr(study_scores, "CLIPS", 3)
    brought: list[list[str]] = []
    seen = []
    for part in study_scores.portions(work(far), lambda p: brought.append(list(p)) or 0, True):
        seen.append(len(part))
        assert len(brought) >= len(seen)
        assert len(brought) <= len(seen) + 1
    assert seen == [3, 3, 3]
    assert [len(each) for each in brought] == [3, 3, 5]  # with what the last clip is compared with


def test_where_audio_is_at_hand_the_work_stays_whole(far):
    whole = work(far)
    assert list(study_scores.portions(whole, lambda paths: pytest.fail("fetched"), False)) == [
        whole
    ]


def test_the_cache_lets_go_of_what_was_wanted_longest_ago_but_not_of_what_is_in_use(far, settings):
    paths = [store.stored_path(name) for name in far]
    audio.bring(map(str, paths[:5]))
    for age, path in enumerate(paths[:5], 1):
        then = time.time() - 3600 * age
        os.utime(path, (then, then))
    audio.bring([str(paths[9])])  # just now
    assert store.shrink(300) == 300
    assert [path.exists() for path in paths[:5]] == [True, True, False, False, False]
    assert store.shrink(10) == 200
    assert paths[9].exists()  # though the limit is passed: somebody may be reading it
    assert store.shrink(0) == 0


def test_a_file_that_is_gone_stops_no_other(far):
    gone = str(store.folder() / "originals/00/ffffffffffffffffffffffffffffffff.wav")
    assert audio.bring([gone, str(store.stored_path(far[0]))]) == 2
    assert store.stored_path(far[0]).exists()
    assert not Path(gone).exists()


@pytest.fixture
def manifest(tmp_path):
    """Twelve names of three short files."""
    rng = np.random.default_rng(0)
    for n in range(3):
        soundfile.write(tmp_path / f"{n}.wav", 0.1 * rng.normal(size=4000), 16_000)
    lines = ["file,stimulus", *(f"{n % 3}.wav,clip-{n}" for n in range(12))]
    (tmp_path / "clips.csv").write_text("\n".join(lines))
    return tmp_path / "clips.csv"


def test_parts_of_a_manifest_are_scored_apart_and_are_all_of_it_together(manifest, tmp_path):
    out = tmp_path / "scores.jsonl"
    every = read_clips([manifest])
    parts = [parse_part(f"{n}/3").select(every) for n in (1, 2, 3)]
    assert sorted(c.stimulus for part in parts for c in part) == sorted(c.stimulus for c in every)
    assert all(parts)
    for n in (1, 2, 3):
        said = io.StringIO()
        options = {"metrics": "length_s", "out": str(out), "part": f"{n}/3"}
        call_command("score_files", str(manifest), **options, stdout=said, stderr=said)
        assert f"part {n}/3: {len(parts[n - 1])} of 12 clips" in said.getvalue()
    written = sorted(tmp_path.glob("scores.part-*"))
    assert [path.name for path in written] == [f"scores.part-{n}-of-3.jsonl" for n in (1, 2, 3)]
    known = {clip.stimulus for clip in every}
    for path in written:
        assert {json.loads(line)["stimulus"] for line in path.read_text().splitlines()} <= known


@pytest.mark.parametrize("wrong", ["0/3", "4/3", "2", "a/b", "1/0"])
def test_a_part_that_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match="from 1/8 to 8/8"):
        parse_part(wrong)
