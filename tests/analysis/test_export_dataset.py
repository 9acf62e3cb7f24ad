"""export_dataset: what leaves, what stays, and that others can load it."""

import csv
import json
import os
import re
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
import yaml
from django.core.management import call_command
from django.core.management.base import CommandError

from listening.audio import local_path
from listening.models import Justification, Rater, Session, Stimulus
from listening.selectors import RATER_CODE

ALLOWED = {"ratings_licence": "CC-BY-4.0", "consent_covers_ratings": True}
FLAC = b"fLaC of "


@pytest.fixture
def allowed(study):
    """The study may be published, and its clips are in the store."""
    Rater.objects.update(simulated=False)
    for stimulus in Stimulus.objects.filter(study=study):
        path = local_path(stimulus.served)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(FLAC + stimulus.key.encode())
    study.publication = dict(ALLOWED)
    study.save()
    return study


def export(study, folder, capsys, *options):
    call_command("export_dataset", study.key, str(folder), *options)
    return capsys.readouterr().out


def head_of(card):
    return yaml.safe_load(card.read_text("utf-8").split("---\n")[1])


def test_without_licence_or_consent_nothing_leaves(study, tmp_path):
    for said, words in (
        ({}, "ratings_licence ="),
        ({"ratings_licence": "CC0-1.0"}, "consent_covers_ratings = true"),
    ):
        study.publication = said
        study.save()
        with pytest.raises(CommandError, match=words):
            call_command("export_dataset", study.key, str(tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(CommandError, match="no study"):
        call_command("export_dataset", "nothing", str(tmp_path / "out"))


@pytest.mark.medium
def test_ratings_leave_under_new_codes_without_times_words_or_audio(allowed, tmp_path, capsys):
    codes = set(Rater.objects.filter(sessions__study=allowed).values_list("code", flat=True))
    words = set(Justification.objects.values_list("text", flat=True))
    told = export(allowed, tmp_path / "out", capsys)
    table = pq.read_table(tmp_path / "out" / "huggingface" / "ratings" / "train.parquet")
    rows = table.to_pylist()
    assert len(rows) == 39
    assert {row["rater"] for row in rows} == {"rater-001", "rater-002", "rater-003"}
    assert not {"rated_at", "paid", "justification", "codes"} & set(table.column_names)
    assert {str(table.schema.field(name).type) for name in ("score", "counts", "plays")} == {
        "double",
        "bool",
        "int64",
    }
    clips = pq.read_table(tmp_path / "out" / "huggingface" / "stimuli" / "train.parquet")
    assert not {"audio", "text"} & set(clips.column_names)
    assert {row["stimulus"] for row in rows} <= set(clips.column("stimulus").to_pylist())
    for file in (tmp_path / "out").rglob("*"):
        content = file.read_bytes().decode("utf-8", "replace") if file.is_file() else ""
        assert not RATER_CODE.search(content), file
        assert not any(word in content for word in (*codes, *words, "2026-", FLAC.decode())), file
    assert "no consent covers them" in told
    assert "Audio and texts are not included" in told


def test_audio_and_words_leave_where_they_may(allowed, tmp_path, capsys):
    options = ("--audio-licence", "CC0-1.0", "--consent-covers", "words")
    told = export(allowed, tmp_path / "out", capsys, "--format", "huggingface", *options)
    folder = tmp_path / "out"
    head = head_of(folder / "README.md")
    assert (head["license"], head["license_name"]) == (
        "other",
        "ratings CC-BY-4.0, audio CC0-1.0",
    )
    assert head["language"] == ["en"]
    assert [each["config_name"] for each in head["configs"]] == ["ratings", "stimuli"]
    for each in head["dataset_info"]:
        (path,) = (folder / each["config_name"]).glob("*.parquet")
        table = pq.read_table(path)
        assert [feature["name"] for feature in each["features"]] == table.column_names
    assert table.column("audio").to_pylist()[0]["bytes"].startswith(FLAC)
    note = json.loads(table.schema.metadata[b"huggingface"])
    assert note["info"]["features"]["audio"] == {"_type": "Audio"}
    ratings = pq.read_table(folder / "ratings" / "train.parquet")
    assert any("汉" in text for text in ratings.column("justification").to_pylist())
    assert "was said at the export" in told


def test_psych_ds_names_every_column_of_every_file(allowed, tmp_path, capsys):
    options = ("--format", "psych-ds", "--audio-licence", "CC-BY-4.0")
    export(allowed, tmp_path / "out", capsys, *options)
    folder = tmp_path / "out"
    described = json.loads((folder / "dataset_description.json").read_text("utf-8"))
    assert {"name", "description", "variableMeasured"} <= set(described)
    assert (described["@type"], described["@context"]) == ("Dataset", "https://schema.org/")
    named = {each["name"] for each in described["variableMeasured"]}
    files = sorted((folder / "data").iterdir())
    assert len(files) == 2
    for path in files:
        assert re.fullmatch(r"[a-z]+-[a-zA-Z0-9]+(_[a-z]+-[a-zA-Z0-9]+)*_data\.csv", path.name)
        header, *lines = csv.reader(path.read_text("utf-8").splitlines())
        assert set(header) <= named
        assert {len(line) for line in lines} == {len(header)}
    heard = {row["file"] for row in csv.DictReader(files[1].read_text("utf-8").splitlines())}
    assert heard == {f"materials/{path.name}" for path in (folder / "materials").iterdir()}


@pytest.mark.medium
def test_rejected_and_scripted_raters_stay_and_are_counted(allowed, tmp_path, capsys):
    sessions = Session.objects.filter(study=allowed).order_by("pk")
    Session.objects.filter(pk=sessions[0].pk).update(status="rejected")
    Rater.objects.filter(pk=sessions[1].rater_id).update(simulated=True)
    told = export(allowed, tmp_path / "people", capsys)
    assert "people: 13 ratings" in told
    assert "13 ratings stayed: of sessions that were rejected." in told
    assert "13 ratings stayed: of simulated raters." in told
    told = export(allowed, tmp_path / "all", capsys, "--simulated")
    assert "all: 26 ratings" in told
    assert "13 ratings are of simulated raters, no people" in told
    Rater.objects.update(simulated=True)
    with pytest.raises(CommandError, match=r"No rating may leave .*--simulated takes"):
        call_command("export_dataset", allowed.key, str(tmp_path / "none"))


def test_a_clip_that_is_missing_leaves_no_half_dataset(allowed, tmp_path):
    gone = Stimulus.objects.filter(study=allowed).last()
    local_path(gone.served).unlink()
    with pytest.raises(CommandError, match="was not written"):
        call_command(
            "export_dataset", allowed.key, str(tmp_path / "out"), "--audio-licence", "CC0-1.0"
        )
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine.txt").touch()
    with pytest.raises(CommandError, match="not empty"):
        call_command("export_dataset", allowed.key, str(tmp_path))


LOAD = """
import json, sys
from datasets import Audio, load_dataset
ratings = load_dataset(sys.argv[1], "ratings", split="train")
clips = load_dataset(sys.argv[1], "stimuli", split="train")
assert isinstance(clips.features["audio"], Audio)
first = clips.cast_column("audio", Audio(decode=False))[0]["audio"]["bytes"]
print(json.dumps({"rows": ratings.num_rows, "clips": clips.num_rows, "begins": first.decode(),
                  "score": ratings.features["score"].dtype}))
"""


@pytest.mark.slow
def test_the_library_datasets_loads_the_folder_by_its_card(allowed, tmp_path, capsys):
    options = ("--audio-licence", "CC0-1.0", "--format", "huggingface")
    export(allowed, tmp_path / "out", capsys, *options)
    words = [sys.executable, "-c", LOAD, str(tmp_path / "out")]
    env = {**os.environ, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1"}
    found = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    loaded = json.loads(found.stdout)
    first = Stimulus.objects.filter(study=allowed).order_by("key").first()
    assert loaded == {
        "rows": 39,
        "clips": Stimulus.objects.filter(study=allowed).count(),
        "begins": f"{FLAC.decode()}{first.key}",
        "score": "float64",
    }
