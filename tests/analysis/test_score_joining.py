"""How scores were joined to ratings is told and counted."""

import json

from analysis.ratings.metric_scores import scores_from_file
from analysis.ratings.score_joining import joined, unread_files


def scores(tmp_path, *files):
    path = tmp_path / "s.jsonl"
    rows = [{"file": f, "metric": "srmr", "version": "1", "value": 1.0} for f in files]
    rows.append({"file": "bad.wav", "metric": None, "value": None, "failed": True, "reason": "x"})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_it_is_told_by_what_scores_were_joined_and_what_is_left_over(tmp_path):
    path = scores(tmp_path, "clips/a.wav", "clips/b.wav", "clips/z.wav")
    table, notes = joined(scores_from_file(path), ["a", "b", "c"])
    assert sorted(table["stimulus"]) == ["a", "b", "z"]
    assert notes == [
        "scores are joined by file names without folder or ending: 2 of 3 stimuli have some",
        "1 stimuli have no score: c",
        "1 stimuli have scores and no rating: z",
    ]
    assert unread_files(path) == ["1 files could not be read when they were scored: bad.wav"]


def test_scores_that_come_twice_are_counted(tmp_path):
    _, notes = joined(scores_from_file(scores(tmp_path, "a", "a")), ["a"])
    assert notes == [
        "scores are joined by the names of stimuli: 1 of 1 stimuli have some",
        "1 scores are of a stimulus and metric that has a score already",
    ]
