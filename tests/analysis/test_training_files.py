"""Files for training: pairs for reward models, lists of MOS, scores of VERSA and ESPnet."""

import csv
import json
from io import StringIO

import pytest
import soundfile
from django.core.management import call_command
from django.core.management.base import CommandError

from analysis.ratings.table import from_rows
from analysis.report.writers.training_files import (
    audio_name,
    score_files,
    splits,
    training_files,
    wave_names,
)
from listening.audio import local_path
from listening.models import Rater, Stimulus
from metrics.models import MetricScore
from tests.analysis.rated_study import score_stimuli
from tests.analysis.reference import BLANK
from tools.locks import ROOT

DEMO = sorted((ROOT / "demo" / "audio").glob("flite-*_s08*.flac"))


def pair_rows(answers):
    """CMOS of clips A and B of two texts; the rows of B are seen from the other side."""
    return from_rows(
        BLANK
        | {"method": "cmos", "estimand": "cmos", "task": "t", "criterion": "c"}
        | {"rater": f"r{r}", "session": f"r{r}", "item": item, "score": score}
        | {"condition": one, "versus_condition": other, "presented_first": "rated"}
        | {"stimulus": f"{one}/{item}", "versus_stimulus": f"{other}/{item}"}
        for r, (item, one, other, score) in enumerate(answers)
    )


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_the_preferred_clip_is_chosen_with_its_margin_and_ties_are_left_out():
    table = pair_rows(
        [
            ("x", "A", "B", 3.0),
            ("x", "A", "B", 2.0),
            ("x", "B", "A", 2.0),  # A loses: -2 seen from it
            ("y", "A", "B", -3.0),
            ("z", "A", "B", 1.0),
            ("z", "B", "A", 1.0),
        ]
    )
    clips = [{"stimulus": f"{s}/{i}", "text": f"Text {i}"} for s in "AB" for i in "xyz"]
    files = training_files("s", table, clips, [])
    first, second = lines(files.texts["preferences/t-c.jsonl"])
    assert (first["prompt"], first["chosen_stimulus"], first["rejected_stimulus"]) == (
        "Text x",
        "A/x",
        "B/x",
    )
    assert (first["mean"], first["margin"], first["n_raters"]) == (1.0, round(1 / 3, 6), 3)
    assert (second["chosen_condition"], second["rejected_condition"]) == ("B", "A")
    assert (second["mean"], second["margin"]) == (3.0, 1.0)
    assert files.heard[first["chosen"]] == "A/x"
    assert files.notes == ["preferences/t-c.jsonl: 1 pairs without a preferred clip are left out."]
    assert not any(name.startswith("mos/") for name in files.texts)


def mos_files(**of_item):
    rows = [
        BLANK
        | {"rater": f"r_{r}", "session": f"r{r}", "condition": system, "item": f"i{i}"}
        | {"stimulus": f"{system}-{i}", "score": float(1 + (r + i) % 5)}
        | of_item.get(f"i{i}", {})
        for system in ("flite-awb", "flite_awb")
        for i in range(20)
        for r in range(3)
    ]
    return training_files("my study", from_rows(rows), [], [])


def test_lists_of_mos_have_the_columns_of_their_readers_and_no_text_on_both_sides():
    files = mos_files()
    (folder,) = {name.split("/")[1] for name in files.texts if name.startswith("mos/")}
    sets = f"mos/{folder}/sets"
    means = {
        part: dict(line.split(",") for line in files.texts[f"{sets}/{part}_mos_list.txt"].split())
        for part in ("train", "val")
    }
    assert {part: len(found) for part, found in means.items()} == {"train": 36, "val": 4}
    for part, name in (("train", "TRAINSET"), ("val", "DEVSET")):
        # as UTMOS reads them: pandas' columns, the listener between the second and third `_`
        rows = list(csv.reader(StringIO(files.texts[f"{sets}/{name}"])))
        assert {len(row) for row in rows} == {5}
        assert {row[4].split("_")[2] for row in rows} == {"r-0", "r-1", "r-2"}
        by_clip = {}
        for _, clip, score, *_ in rows:
            assert clip.count("-") == 1
            by_clip.setdefault(clip, []).append(float(score))
        found = {clip: sum(scores) / len(scores) for clip, scores in by_clip.items()}
        assert found == {clip: pytest.approx(float(x), abs=1e-5) for clip, x in means[part].items()}
    nisqa = list(csv.DictReader(StringIO(files.texts[f"mos/{folder}/nisqa.csv"])))
    parts = {row["file"].rsplit("-")[-1]: row["db"].rsplit("_")[-1] for row in nisqa}
    assert sorted(parts.values()) == ["TRAIN"] * 18 + ["VAL"] * 2
    assert all(parts[row["file"].rsplit("-")[-1]] in row["db"] for row in nisqa)
    assert {row["votes"] for row in nisqa} == {"3"}
    assert {row["filepath_deg"] for row in nisqa} == set(files.heard)
    assert len(set(files.waves)) == 40  # names that differ in hyphens only are kept apart


def test_splits_of_the_study_are_taken_and_odd_names_get_a_mark():
    assert splits({"a": "train", "b": "Dev", "c": "test", "d": ""}) == {
        "a": "train",
        "b": "val",
        "c": "test",
        "d": "train",
    }
    assert splits({"a": ""}) == {"a": "train"}
    assert audio_name("a.b-1") == "audio/a.b-1.flac"
    assert audio_name("a b") != audio_name("a/b") != "audio/a_b.flac"
    assert wave_names([("s-1", "c")]) == {"c": "s_1-c.wav"}


@pytest.mark.medium
def test_a_rated_study_is_exported_and_its_scores_are_read_back(study, tmp_path, capsys):
    score_stimuli(study)
    for number, stimulus in enumerate(Stimulus.objects.filter(study=study)):
        path = local_path(stimulus.served)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(DEMO[number % len(DEMO)].read_bytes())
    folder = tmp_path / "out"
    call_command("export_training", study.key, str(folder), "--simulated")
    assert "clips" in capsys.readouterr().out
    (mos,) = (folder / "mos").iterdir()
    for line in (mos / "sets/train_mos_list.txt").read_text().splitlines():
        name, _ = line.split(",")
        info = soundfile.info(mos / "wav" / name)
        assert (info.samplerate, info.channels, info.subtype) == (16_000, 1, "PCM_16")
    for row in csv.DictReader(StringIO((mos / "nisqa.csv").read_text())):
        assert soundfile.info(folder / row["filepath_deg"]).format == "FLAC"
    own = {str(row.sha256): row.value for row in MetricScore.objects.all()}
    for file, prefix in (("utt_result.txt", "versa_"), ("utt2srmr", "espnet_")):
        call_command("import_scores", study.key, str(folder / "scores" / file), prefix=prefix)
        back = MetricScore.objects.filter(metric=f"{prefix}srmr")
        assert {row.sha256: row.value for row in back} == own
    with pytest.raises(CommandError, match="not empty"):
        call_command("export_training", study.key, str(folder))


@pytest.mark.medium
def test_simulated_raters_are_left_out_and_counted(study, tmp_path, capsys):
    Rater.objects.filter(pk=Rater.objects.first().pk).update(code="r-1")  # the others are simulated
    for name, options, said in (
        ("people", (), "ratings of simulated raters are left out."),
        ("all", ("--simulated",), "ratings are of simulated raters, no people."),
    ):
        call_command("export_training", study.key, str(tmp_path / name), "--no-audio", *options)
        assert said in capsys.readouterr().out
        assert said in (tmp_path / name / "README.md").read_text()
    people, every = (
        sum(len(path.read_text().splitlines()) for path in tmp_path.glob(f"{name}/mos/*/sets/*SET"))
        for name in ("people", "all")
    )
    assert 0 < people < every


def test_a_line_of_espnet_that_is_no_score_is_named(study, tmp_path):
    path = tmp_path / "utt2pmos"
    key = Stimulus.objects.filter(study=study).first().key
    path.write_text(f"{key} 3.5\n{key} 3.5 4\n")
    with pytest.raises(CommandError, match="row 2: must be a clip and its score"):
        call_command("import_scores", study.key, str(path))


def test_scores_without_a_value_are_in_no_file():
    rows = [
        {"stimulus": "a", "metric": "m", "value": None},
        {"stimulus": "b", "metric": "m", "value": 0.5},
    ]
    assert score_files(rows) == {
        "scores/utt2m": "b 0.5\n",
        "scores/utt_result.txt": '{"key": "b", "m": 0.5}\n',
    }
    assert score_files(rows[:1]) == {}
