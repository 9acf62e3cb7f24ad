"""How scores were joined to ratings is told and counted: by name, file, audio; and what is open."""

import hashlib
import json

import pytest

from analysis.ratings.metric_scores import named_scores, scores_from_file
from analysis.ratings.problems import RatingsError
from analysis.ratings.score_joining import audio_hashes, join_scores, unread_files


def scores(tmp_path, *files, **more):
    path = tmp_path / "s.jsonl"
    rows = [{"file": f, "metric": "srmr", "version": "1", "value": 1.0} for f in files]
    for name, values in more.items():
        rows = [{**row, name: value} for row, value in zip(rows, values, strict=True)]
    rows.append({"file": "bad.wav", "metric": None, "value": None, "failed": True, "reason": "x"})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_it_is_told_by_what_scores_were_joined_and_what_is_left_over(tmp_path):
    path = scores(tmp_path, "clips/a.wav", "clips/b.wav", "clips/z.wav")
    table, notes = join_scores(scores_from_file(path), ["a", "b", "c"])
    assert sorted(table["stimulus"]) == ["a", "b", "clips/z.wav"]
    assert notes == [
        "scores are joined by file names without folder or ending: 2 of 3 stimuli have some",
        "1 stimuli have no score: c",
        "1 stimuli have scores and no rating: clips/z.wav",
    ]
    assert unread_files(path) == ["1 files could not be read when they were scored: bad.wav"]


def test_scores_that_come_twice_are_counted(tmp_path):
    table, notes = named_scores(scores(tmp_path, "a", "a"))
    assert (len(table), notes) == (
        1,
        ["1 scores repeat another score of the same clip and metric."],
    )
    path = tmp_path / "twice.csv"
    path.write_text("stimulus,metric,value\na,m,1\nb,m,1\na,m,2\n")
    with pytest.raises(RatingsError, match=r"row 4: m of this clip is there twice with different"):
        named_scores(path)


def test_a_renamed_file_is_joined_by_its_audio_and_equal_audio_gives_both_its_scores(tmp_path):
    study = tmp_path / "study"
    study.mkdir()
    for name, text in (("a", "A"), ("b", "B"), ("c", "C"), ("d", "C")):
        (study / f"{name}.wav").write_text(text)
    rows = "".join(f"{name},{name}.wav\n" for name in "abcd")
    (study / "stimuli.csv").write_text(f"stimulus,file\n{rows}")
    given = [digest(text) for text in ("A", "other", "C")]
    path = scores(tmp_path, "a", "new/b.wav", "new/17.wav", sha256=given)
    table, notes = join_scores(named_scores(path)[0], "abcd", audio_hashes(study, "abcd"))
    assert sorted(table["stimulus"]) == ["a", "b", "c", "d"]
    assert list(table) == list(scores_from_file(path))  # what files are called goes no further
    assert notes == [
        "scores are joined by the names of stimuli: 1 of 4 stimuli have some",
        "scores are joined by file names without folder or ending: 1 of 4 stimuli have some",
        "scores are joined by their audio (SHA-256): 2 of 4 stimuli have some",
        "2 stimuli share audio, and with it its scores: c, d",
        "1 stimuli are joined by name, but other audio than theirs was scored: b",
    ]
    listed = tmp_path / "hashes.csv"
    listed.write_text(f"stimulus,sha256\na,{digest('A').upper()}\n")
    assert audio_hashes(listed, "abcd") == {"a": digest("A")}
    (study / "d.wav").unlink()
    with pytest.raises(RatingsError, match=r"there is no d\.wav"):
        audio_hashes(study, "abcd")


def test_two_files_that_are_called_alike_are_ambiguous_and_their_audio_decides(tmp_path):
    path = scores(tmp_path, "one/a.wav", "two/a.wav", "b.wav", sha256=[*map(digest, "AXB")])
    table, notes = join_scores(named_scores(path)[0], ["a", "b"])
    assert sorted(table["stimulus"]) == ["b", "one/a.wav", "two/a.wav"]
    (told,) = [note for note in notes if note.startswith("ambiguous")]
    assert "called like one stimulus: a (2 files); give the scores a column stimulus" in told
    table, notes = join_scores(named_scores(path)[0], ["a", "b"], {"a": digest("A")})
    assert sorted(table["stimulus"]) == ["a", "b", "two/a.wav"]
    assert "scores are joined by their audio (SHA-256): 1 of 2 stimuli have some" in notes
    with pytest.raises(RatingsError, match="2 files of the scores are called like the stimulus a"):
        join_scores(named_scores(path)[0][lambda t: t["stimulus"] != "b.wav"], ["a"])


def test_two_values_of_one_stimulus_are_refused_and_equal_ones_counted_once(tmp_path):
    given = [digest("A")] * 2
    path = scores(tmp_path, "a", "new/17.wav", sha256=given, value=[1.0, 1.0])
    table, notes = join_scores(named_scores(path)[0], ["a"], {"a": digest("A")})
    assert len(table) == 1
    assert "1 scores repeat another score of the same stimulus and metric" in notes
    path = scores(tmp_path, "a", "new/17.wav", sha256=given, value=[1.0, 2.0])
    with pytest.raises(RatingsError, match=r"a \(srmr\): several files of one stimulus have diff"):
        join_scores(named_scores(path)[0], ["a"], {"a": digest("A")})


def test_names_are_joined_whatever_their_unicode_form(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("stimulus,metric,value\ngru\u0308n,m,1\n", encoding="utf-8")
    table, _ = join_scores(named_scores(path)[0], ["gr\u00fcn"])
    assert table["stimulus"].tolist() == ["gr\u00fcn"]
