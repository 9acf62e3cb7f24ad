"""A leaderboard of several studies: what it links, marks, warns of, and keeps apart."""

import numpy as np
import pandas as pd
import pytest

from analysis.ratings.metric_scores import scores_from_rows
from analysis.report.leaderboard.board import leaderboard
from analysis.report.leaderboard.gathering import StudyInput
from analysis.statistics.linking.linked_studies import Clip, same_systems


def study(key, systems, *, shift=0.0, question="How natural?", method="mos", seed=1, clips=5):
    """Eight raters on every clip; the audio of a system's clip is its name and number."""
    rng = np.random.default_rng(seed)
    shown, rows = [], []
    for system, mean in systems.items():
        for n in range(clips):
            name = f"{system}_{n}"
            shown.append(
                {
                    "stimulus": name,
                    "condition": system,
                    "label": system,
                    "role": "test",
                    "sha256": name,
                    "item": f"{n}",
                    "text": f"sentence {n}",
                    "language": "en",
                }
            )
            for rater in range(8):
                score = np.clip(round(mean + shift + rng.normal(0, 0.7)), 1, 5)
                rows.append((name, system, f"{n}", f"{key}{rater}", float(score)))
    kept = pd.DataFrame(rows, columns=["stimulus", "condition", "item", "rater", "score"])
    kept = kept.assign(task="t", criterion="naturalness", estimand=method, trap="")
    asked = {"task": "t", "title": "", "criterion": "naturalness", "method": method}
    scores = [
        {"stimulus": f"{s}_{n}", "metric": "wer", "version": "1", "value": 0.1 * m}
        | {"higher_is_better": False}
        for s, m in systems.items()
        for n in range(clips)
    ]
    facts = {
        "key": key,
        "title": key,
        "open": False,
        "loudness": "-23 LUFS",
        "questions": [{**asked, "question": question, "scale": "[[1, 2, 3, 4, 5], null]"}],
        "clips": shown,
    }
    return StudyInput(facts, kept, scores_from_rows(scores))


def rows_of(content, key):
    return next(table.rows for table in content.tables if table.key == key)


@pytest.mark.medium
def test_linked_studies_share_one_ranking_and_say_by_what_they_are_compared():
    first = study("one", {"human": 4.6, "x": 3.0, "a": 2.2})
    second = study("two", {"human": 4.6, "x": 3.0, "b": 3.6}, shift=-0.6, seed=2)
    board = leaderboard([first, second], reference="human")
    rows = rows_of(board, "leaderboard")
    assert [row["system"] for row in rows] == ["human", "b", "x", "a"]
    assert [row.get("score_mark") for row in rows[:3]] == ["best", "second", None]
    assert {row["system"]: row.get("metric wer_mark") for row in rows}["a"] == "best"
    b = rows[1]
    raw = second.ratings[second.ratings["condition"] == "b"]["score"].mean()
    assert b["score"] > raw + 0.2  # raised by what the shared systems lost in study two
    compared = {(r["system"], r["versus"]): r for r in rows_of(board, "differences")}
    assert compared["x", "a"]["how"] == "same study: one"
    assert compared["a", "human"]["how"] == "same study: one"
    assert compared["b", "x"]["how"] == "same study: two"
    (link,) = rows_of(board, "links")
    assert (link["may"], link["systems"], link["clips"]) == ("yes", "human and x", 10)
    assert -1.2 < link["shift"] < -0.1
    assert "1 contrast" in board.sentences[0]
    assert not board.warnings


@pytest.mark.medium
def test_what_no_shared_clip_links_is_said_to_be_not_comparable_and_marked_apart():
    board = leaderboard([study("one", {"x": 3, "y": 4}), study("two", {"z": 2, "w": 3})])
    rows = rows_of(board, "leaderboard")
    assert [row["group"] for row in rows] == ["one alone"] * 2 + ["two alone"] * 2
    assert [row.get("score_mark") for row in rows] == ["best", "second"] * 2
    assert rows_of(board, "links")[0]["may"] == "no: no clip in common"
    assert "may not be compared with one another: one; two" in board.warnings[0]


@pytest.mark.medium
def test_weak_links_and_what_differs_is_said():
    second = study("two", {"x": 3, "b": 4}, question="How real?", seed=3)
    board = leaderboard([study("one", {"x": 3, "a": 2}), second])
    said = " ".join(board.warnings)
    assert "cannot be tested" in said
    assert "“How natural?” in one; “How real?” in two" in said
    far = study("two", {"x": 1.2, "y": 4.6, "b": 4}, seed=3)
    board = leaderboard([study("one", {"x": 4.2, "y": 2, "a": 2}), far])
    assert any("do not stand alike" in text for text in board.warnings)


def test_questions_without_a_score_of_one_system_are_left_out_by_name():
    board = leaderboard([study("one", {"x": 3, "y": 4}, method="cmos")])
    assert not board.tables
    assert "two clips" in board.warnings[0]


def clip(study, condition, audio, text=""):
    return Clip(study, condition, condition, "i", text, audio)


@pytest.mark.parametrize(
    ("clips", "systems", "said"),
    [
        ([("s", "x", "1"), ("t", "x", "1")], {"x"}, ""),
        ([("s", "x", "1"), ("t", "y", "1")], {"x"}, "Taken for one system"),
        ([("s", "x", "1"), ("t", "x", "2")], {"x (s)", "x (t)"}, "kept apart"),
        (
            [("s", "x", "1"), ("s", "y", "1"), ("t", "x", "1")],
            {"x", "y"},
            "several conditions of one study",
        ),
    ],
)
def test_systems_are_the_same_where_their_audio_is(clips, systems, said):
    found = same_systems(clip(*each) for each in clips)
    assert set(found.systems.values()) == systems
    assert said in " ".join(found.notes)
    assert bool(said) == bool(found.notes)
