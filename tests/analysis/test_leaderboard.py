"""A leaderboard of several studies: what it links, marks, warns of, and keeps apart."""

import gzip
from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from analysis.ratings.metric_scores import scores_from_rows
from analysis.report.leaderboard.anchor_drift import Anchors, drift_of
from analysis.report.leaderboard.answers_file import answers_file
from analysis.report.leaderboard.board import leaderboard
from analysis.report.leaderboard.gathering import StudyInput, question_set, set_apart
from analysis.statistics.linking.heterogeneity import bounds
from analysis.statistics.linking.linked_strengths import link_pairs
from analysis.statistics.linking.linked_studies import Clip, same_systems
from analysis.statistics.pairs.pair_ratings import PairRatings
from analysis.statistics.pairs.win_models import cumulative
from tests.analysis.simulation import bounds as within
from tests.analysis.simulation import sizes


def study(
    key, systems, *, shift=0.0, question="How natural?", method="mos", seed=1, clips=5, raters=8
):
    """All raters on every clip; the audio of a system's clip is its name and number."""
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
            for rater in range(raters):
                score = np.clip(round(mean + shift + rng.normal(0, 0.7)), 1, 5)
                rows.append((name, system, f"{n}", f"{key}{rater}", float(score)))
    kept = pd.DataFrame(rows, columns=["stimulus", "condition", "item", "rater", "score"])
    kept = kept.assign(task="t", criterion="naturalness", estimand=method, trap="")
    kept = kept.assign(rated_at=f"2026-11-0{seed}T10:00:00+00:00")
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


def in_pairs(key, strengths, method="cmos", raters=12, items=8, each=24, seed=1, pairs=None):
    """A paired study with raters and items that differ, in the probit's standard deviations."""
    rng = np.random.default_rng(seed)
    board = study(key, strengths, method=method, clips=items, raters=0)
    names = list(strengths)
    of_raters = rng.normal(0, 0.3, (raters, len(names)))
    of_items = rng.normal(0, 0.3, (items, len(names)))
    value = np.array(list(strengths.values()))
    rows = []
    for rater in range(raters):
        for _ in range(each):
            a, b = rng.permutation(rng.choice(pairs) if pairs else rng.choice(len(names), 2, False))
            item = rng.integers(items)
            own = value + of_raters[rater] + of_items[item]
            latent = own[a] - own[b] + rng.normal()
            score = np.sign(latent) * np.digitize(abs(latent), [0.3, 1.0, 2.0])
            if method == "ab":
                score = float(latent > 0)
            sides = {
                "condition": names[a],
                "stimulus": f"{names[a]}_{item}",
                "versus_condition": names[b],
                "versus_stimulus": f"{names[b]}_{item}",
                "presented_first": rng.choice(["rated", "versus"]),
            }
            rows.append(sides | {"item": f"{item}", "rater": f"{key}{rater}", "score": score})
    kept = pd.DataFrame(rows).assign(task="t", criterion="naturalness", estimand=method, trap="")
    return replace(board, ratings=kept.assign(rated_at="2026-11-02T10:00:00+00:00"))


ONE, TWO = {"human": 1.0, "x": 0.3, "a": -0.3}, {"human": 1.0, "x": 0.3, "b": 0.6, "c": -0.8}


@pytest.mark.parametrize("method", ["cmos", "ab"])
def test_paired_studies_share_one_scale_through_shared_systems_and_no_other(method):
    apart = in_pairs("three", {"q": 0.0, "w": 0.5}, method)
    board = leaderboard([in_pairs("one", ONE, method), in_pairs("two", TWO, method, seed=2), apart])
    rows = rows_of(board, "leaderboard")
    assert [row["system"] for row in rows] == ["human", "b", "x", "a", "c", "w", "q"]
    assert {row["group"][:6] for row in rows[:5]} == {"Linked"}
    assert rows[5]["group"] == "three alone"
    assert sum(row["score"] for row in rows[:5]) == pytest.approx(0, abs=1e-9)
    compared = {(r["system"], r["versus"]): r["how"] for r in rows_of(board, "differences")}
    assert compared["a", "c"] == "through human and x"
    assert ("c", "w") not in compared
    assert "may not be compared" in board.warnings[0]
    wins = {(r["row"], r["column"]): r for r in rows_of(board, "wins")}
    assert wins["human", "c"]["value"] + wins["c", "human"]["value"] == pytest.approx(1)
    assert ("a", "c") not in wins  # they never met
    studies = rows_of(board, "studies")
    assert [(row["ratings"], row["raters"]) for row in studies] == [(288, 12)] * 3
    assert studies[0]["first"] == studies[0]["last"] == "2026-11-02"
    assert "Firth" in board.methods[0]


def test_systems_of_a_study_whose_pairs_never_meet_are_ranked_apart_and_joined_by_another_study():
    systems = {"a": 0.0, "b": 0.5, "c": 0.0, "d": 0.5}
    split = in_pairs("one", systems, pairs=[(0, 1), (2, 3)])
    board = leaderboard([split])
    groups = {row["system"]: row["group"] for row in rows_of(board, "leaderboard")}
    assert groups["a"] == groups["b"] != groups["c"] == groups["d"]
    assert "never compared with one another: a, b | c, d" in " ".join(board.warnings)
    bridge = in_pairs("two", {"b": 0.5, "c": 0.0}, seed=3)
    joined = {row["group"] for row in rows_of(leaderboard([split, bridge]), "leaderboard")}
    assert len(joined) == 1


def test_a_system_that_always_wins_has_a_finite_strength():
    board = leaderboard([in_pairs("one", {"human": 9.0, "x": 0.0, "y": 0.2}, "ab")])
    first = rows_of(board, "leaderboard")[0]
    assert first["system"] == "human"
    assert 2 < first["score"] < 8
    assert first["score_low"] < first["score"] < first["score_high"]


def test_rankings_get_strengths_on_one_scale_and_are_not_mixed_with_pairs():
    rng = np.random.default_rng(8)
    names, strength = ["human", "x", "y", "z"], np.array([1.5, 0.4, 0.0, -0.8])
    board = study("one", dict.fromkeys(names, 3.0), method="rank", clips=6, raters=0)
    rows = [
        {"condition": names[code], "stimulus": f"{names[code]}_{item}", "item": f"{item}"}
        | {"rater": f"one{rater}", "score": float(place)}
        for rater in range(12)
        for item in range(6)
        for place, code in enumerate(np.argsort(-strength - rng.gumbel(size=4)), start=1)
    ]
    kept = pd.DataFrame(rows).assign(task="t", criterion="naturalness", estimand="rank", trap="")
    ranked = replace(board, ratings=kept.assign(rated_at="2026-11-02T10:00:00+00:00"))
    found = leaderboard([ranked, in_pairs("two", {"human": 1.0, "x": 0.0})])
    rows = rows_of(found, "leaderboard_1")
    assert [row["system"] for row in rows] == names
    assert rows[0]["ratings"] == 72
    truth = strength - strength.mean()
    inside = [row["score_low"] < t < row["score_high"] for row, t in zip(rows, truth, strict=True)]
    assert sum(inside) >= 3
    assert "Plackett-Luce" in next(t.note for t in found.tables if t.key == "leaderboard_1")
    wins = {(r["row"], r["column"]): r["n"] for r in rows_of(found, "wins_1")}
    assert wins["human", "z"] == 72


@pytest.mark.medium
@sizes(25, 1000)
def test_differences_in_paired_studies_cover_the_truth_across_links(runs):
    """Of one study 95 %; across studies more, as one shared contrast hardly bounds the deviations.

    The probit of the sum of a comparison's noise and of raters and items has known strengths.
    """
    shrunk = (1 + 4 * 0.3**2) ** 0.5
    pairs = {("b", "c"): [], ("a", "c"): []}
    for seed in range(runs):
        first = in_pairs("one", ONE, raters=20, items=12, seed=2 * seed)
        both = [first, in_pairs("two", TWO, raters=20, items=12, seed=2 * seed + 1)]
        question = question_set(both).questions[0]
        (component,) = link_pairs(question.ratings, question.units).components
        for (a, b), hits in pairs.items():
            linked = component.difference(*(component.systems.index(name) for name in (a, b)))
            low, high = bounds(linked, component.heterogeneity, 0.95)
            truth = {**ONE, **TWO}
            hits.append(low <= (truth[a] - truth[b]) / shrunk <= high)
    low, high = within(0.93, 0.97, of=1000, runs=runs)
    assert low < np.mean(pairs["b", "c"]) < high
    assert np.mean(pairs["a", "c"]) > low


def test_more_systems_than_letters_compare_are_said_with_a_remedy():
    many = {f"s{n}": 3.0 for n in range(41)}
    board = leaderboard([study("one", many, clips=2)])
    table = next(table for table in board.tables if table.key == "leaderboard")
    assert "Letters" not in {column.heading for column in table.columns}
    assert "share a letter" not in table.note
    assert "one rank 41 systems: letters are for 40 at most." in " ".join(board.warnings)


def test_questions_that_prefer_no_system_are_left_out_by_name():
    board = leaderboard([study("one", {"x": 3, "y": 4}, method="abx")])
    assert not board.tables
    assert "prefer neither of two clips" in board.warnings[0]


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


def test_best_worst_choices_of_two_studies_share_one_scale():
    """Each study shows five systems by four; the strengths are those of maxdiff."""
    rng = np.random.default_rng(9)
    strength = {"human": 1.2, "w": 0.4, "x": 0.0, "y": -0.4, "z": -1.2}

    def made(key):
        board = study(key, dict.fromkeys(strength, 3.0), method="best_worst", clips=4, raters=0)
        rows = []
        for rater in range(15):
            for position in range(20):
                shown = [n for k, n in enumerate(strength) if k != position % 5]
                pairs = list(permutations(shown, 2))
                odds = np.exp([strength[best] - strength[worst] for best, worst in pairs])
                best, worst = pairs[rng.choice(len(pairs), p=odds / odds.sum())]
                item = position // 5
                rows += [
                    {"condition": name, "stimulus": f"{name}_{item}", "item": f"{item}"}
                    | {"rater": f"{key}{rater}", "session": f"{key}{rater}", "block": "b"}
                    | {"position": position, "score": float((name == best) - (name == worst))}
                    for name in shown
                ]
        kept = pd.DataFrame(rows).assign(task="t", criterion="naturalness", trap="")
        kept = kept.assign(estimand="best_worst", rated_at="2026-11-02T10:00:00+00:00")
        return replace(board, ratings=kept)

    found = leaderboard([made("one"), made("two")])
    rows = rows_of(found, "leaderboard")
    assert [row["system"] for row in rows] == list(strength)
    assert rows[0]["score"] == pytest.approx(1.2, abs=0.25)
    assert rows[0]["score_low"] < 1.2 < rows[0]["score_high"]
    assert "maxdiff" in next(t.note for t in found.tables if t.key == "leaderboard")
    wins = {(r["row"], r["column"]): r["value"] for r in rows_of(found, "wins")}
    assert wins["human", "z"] > 0.85


def test_boards_of_pairs_control_for_the_length_of_clips_where_it_is_known():
    """Of two equal systems the one with longer clips wins more often, until length is a term."""
    rng = np.random.default_rng(12)
    strength, longer = {"human": 0.8, "x": 0.0, "y": 0.0}, {"human": 0.0, "x": 0.0, "y": 1.0}
    clips = [(name, f"{name}_{n}") for name in strength for n in range(12)]
    length = {clip: longer[name] + float(rng.normal(4, 0.7)) for name, clip in clips}

    def chosen(row):
        gap = strength[row["condition"]] - strength[row["versus_condition"]]
        gap += 0.7 * (length[row["stimulus"]] - length[row["versus_stimulus"]])
        return float(rng.random() < 1 / (1 + np.exp(-gap)))

    board = in_pairs("one", strength, "ab", raters=24, items=12, each=40)
    assert all(table.key != "controlled" for table in leaderboard([board]).tables)
    rows = [{"stimulus": clip, "metric": "length_s", "value": v} for clip, v in length.items()]
    measured = scores_from_rows([{**row, "version": "1"} for row in rows])
    board = replace(board, scores=measured)
    board.ratings["score"] = [chosen(row) for _, row in board.ratings.iterrows()]
    found = leaderboard([board])
    both = {row["system"]: row for row in rows_of(found, "controlled")}
    leads = {row["system"]: row["score"] for row in rows_of(found, "leaderboard")}
    assert {name: row["without"] for name, row in both.items()} == pytest.approx(leads)
    assert leads["y"] - leads["x"] > 0.4
    assert both["y"]["adjusted"] - both["x"]["adjusted"] == pytest.approx(0, abs=0.3)
    side, effect = rows_of(found, "covariates")
    assert side["covariate"] == "Heard second"
    assert (effect["covariate"], effect["unit"]) == ("Length", "1 s")
    assert effect["points_low"] < 100 * (1 / (1 + np.exp(-0.7)) - 0.5) < effect["points_high"]


def test_boards_of_pairs_use_covariates_that_studies_declare():
    board = in_pairs("one", {"human": 0.8, "x": 0.0, "y": 0.0}, "ab", raters=24, each=40)
    clips = [clip["stimulus"] for clip in board.facts["clips"]]
    voices = {clip: ("anna", "ben")[n % 3 == 0] for n, clip in enumerate(clips)}
    systems = {clip: clip[0] for clip in clips}  # which strengths explain
    facts = board.facts | {"covariates": {"voice": voices, "system": systems}}
    _, effect = rows_of(leaderboard([replace(board, facts=facts)]), "covariates")
    assert (effect["covariate"], effect["unit"]) == ("voice: ben instead of anna", "this value")
    assert effect["points_low"] < 0 < effect["points_high"]


def in_two_periods(method="mos", moved=0.0, seed=1):
    """Two anchors before and after the day of a version; ``human`` moves by ``moved``."""
    parts = []
    for place, day in enumerate(("2026-11-02", "2026-11-20")):
        rng = np.random.default_rng(2 * seed + place)
        now = {"human": 1.0 + place * moved, "x": 0.3, "a": -0.3}
        if method != "mos":
            board = in_pairs("one", now, method, raters=20, seed=2 * seed + place)
        else:
            board = study("one", dict.fromkeys(now, 3.0), clips=10, raters=0)
            of_items = np.random.default_rng(seed).normal(0, 0.3, (3, 10))
            rows = [
                {"stimulus": f"{name}_{n}", "condition": name, "item": f"{n}", "rater": f"{rater}"}
                | {"score": 3 + now[name] + bias + of_items[code, n] + rng.normal(0, 0.7)}
                for rater, bias in enumerate(rng.normal(0, 0.4, 15))
                for code, name in enumerate(now)
                for n in rng.choice(10, 6, replace=False)
            ]
            told = {"task": "t", "criterion": "naturalness", "estimand": "mos", "trap": ""}
            board = replace(board, ratings=pd.DataFrame(rows).assign(**told))
        raters = board.ratings["rater"] + day
        parts.append(board.ratings.assign(rated_at=f"{day}T10:00", rater=raters))
    return replace(board, ratings=pd.concat(parts, ignore_index=True))


ANCHORS = Anchors(["human", "x"], ["2026-11-10"])


@pytest.mark.parametrize("method", ["mos", "ab"])
def test_anchors_that_moved_are_shown_by_period_and_warned_of(method):
    board = leaderboard([in_two_periods(method, moved=1.5)], anchors=ANCHORS)
    rows = rows_of(board, "anchors")
    assert [row["system"] for row in rows] == ["human", "human", "x", "x"]
    assert rows[1]["period"] == "one, 2026-11-20 to 2026-11-20"
    assert rows[1]["change_low"] > 0
    assert rows[0]["change"] is None
    assert "the anchors moved" in " ".join(board.warnings)
    still = leaderboard([in_two_periods(method)], anchors=ANCHORS)
    assert "anchors moved" not in " ".join(still.warnings)
    alone = leaderboard([in_two_periods("ab")], anchors=replace(ANCHORS, systems=["x"]))
    assert "mark two anchors or more" in " ".join(alone.warnings)


@pytest.mark.medium
@sizes(25, 400)
def test_anchors_that_stay_are_seldom_found_to_move_and_changes_are_covered(runs):
    found = [
        drift_of(question_set([in_two_periods(seed=seed)]).questions[0], ANCHORS)
        for seed in range(runs)
    ]
    low, high = within(0.93, 0.97, of=400, runs=runs)
    assert low < np.mean([drift.p >= 0.05 for drift in found])
    changes = [row for drift in found for row in drift.rows if row["change"] is not None]
    assert low < np.mean([row["change_low"] < 0 < row["change_high"] for row in changes]) <= high


def test_older_answers_are_set_apart_and_counted():
    board = in_two_periods(moved=1.5)
    ratings = board.ratings.assign(session=board.ratings["rater"], block="b")
    board = set_apart(replace(board, ratings=ratings), "2026-11-10")
    found = leaderboard([board])
    assert sum(row["ratings"] for row in rows_of(found, "leaderboard")) == 270
    (row,) = rows_of(found, "exclusions")
    assert (row["what"], row["ratings"]) == ("answers before 2026-11-10, which are set apart", 270)
    file = answers_file([board], {}, ["one"], lambda kind, name: f"{kind} {name}")
    lines = gzip.decompress(file.packed).decode().splitlines()
    assert sum(line.endswith(",set_apart") for line in lines) == 270
    assert file.facts["counted"] == 270


def test_graded_comparisons_take_covariates_too():
    """In standard deviations of one comparison, by Thurstone's model."""
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 2, 4000), np.zeros(4000, dtype=np.int64)
    a, b = np.where(a == 0, 0, 1), np.where(a == 0, 1, 0)
    gap, order = rng.normal(0, 1, 4000), rng.choice([-1.0, 1.0], 4000)
    latent = 0.5 * (a - b) + 0.3 * gap + 0.1 * order + rng.normal(0, 1, 4000)
    y = np.sign(latent) * np.digitize(abs(latent), [0.3, 1.0])
    n = np.arange(4000)
    ratings = PairRatings(("a", "b"), a, b, y, order, n % 40, n % 30)
    ratings = replace(ratings, covariates=gap[:, None], covariate_names=("gap",))
    fit = cumulative(ratings, bias_reduced=True)
    assert fit.term("gap").value == pytest.approx(0.3, abs=0.06)
    assert fit.term("second_advantage").value == pytest.approx(0.1, abs=0.06)
    assert fit.ability[1] - fit.ability[0] == pytest.approx(0.5, abs=0.08)
