"""Several judges rating the clips of an item side by side; and the stability of repeats."""

import collections
import csv
import dataclasses
import io
import json

import numpy as np
import pytest
import soundfile
from django.core.management import CommandError, call_command

from metrics.judges import panel
from metrics.judges.client import Client, Endpoint, Reply, configure_endpoint, current_endpoint
from metrics.judges.panel import Candidate, Plan, sheets
from metrics.judges.question import MalformedAnswer, check_table, sound_of
from metrics.judges.rubric import rubric
from metrics.judges.stability import stability
from tests.metrics.judge_server import answer, text_of, waves_of

KNOWN = {"language": "en", "line": "well [laugh] I never", "target": "[laugh]"}
TAGS = rubric("nvv_tags.v1")


def candidates(n_items=12, conditions=("one", "two", "three")):
    return [
        Candidate(f"{condition}-{i:02d}", f"item{i:02d}", condition, f"{condition}.wav", KNOWN)
        for i in range(n_items)
        for condition in conditions
    ]


@pytest.fixture
def server(judge_server, tmp_path):
    judge_server.reset()
    before = current_endpoint()
    configure_endpoint(Endpoint(judge_server.url, "tester", cache=tmp_path / "judges", retries=1))
    yield judge_server
    configure_endpoint(before)
    judge_server.reset()


@pytest.mark.medium
def test_items_are_spread_evenly_over_folds_and_raters():
    planned = sheets(candidates(), Plan())
    folds = {sheet.item: sheet.fold for sheet in planned}
    assert collections.Counter(folds.values()) == {1: 4, 2: 4, 3: 4}
    assert [sheet.fold for sheet in planned] == sorted(sheet.fold for sheet in planned)
    assert collections.Counter(sheet.rater for sheet in planned) == {1: 6, 2: 6, 3: 6, 4: 6}
    by_item = collections.Counter(sheet.item for sheet in planned)
    assert set(by_item.values()) == {2}


@pytest.mark.parametrize("n_items", [1, 5, 100])
@pytest.mark.parametrize("raters_per_item", [1, 3, 4])
def test_every_clip_is_rated_by_as_many_raters_as_wanted(n_items, raters_per_item):
    planned = sheets(candidates(n_items), Plan(raters_per_item=raters_per_item, together=2))
    seen = collections.Counter(clip.stimulus for sheet in planned for _, clip in sheet.letters)
    assert set(seen.values()) == {raters_per_item}
    assert len(seen) == 3 * n_items
    for sheet in planned:
        assert [letter for letter, _ in sheet.letters] == list("AB")[: len(sheet.letters)]


def test_letters_are_shuffled_anew_and_by_the_seed():
    planned = sheets(candidates(60), Plan())
    first = collections.Counter(sheet.letters[0][1].condition for sheet in planned)
    assert all(20 <= count <= 60 for count in first.values())  # 40 expected of 120
    assert sheets(candidates(60), Plan()) == planned
    assert sheets(candidates(60)[::-1], Plan()) == planned
    assert sheets(candidates(60), Plan(seed=1)) != planned


def test_clips_of_one_item_render_the_same():
    odd = dataclasses.replace(candidates(1)[0], known={**KNOWN, "line": "another"})
    with pytest.raises(ValueError, match="item item00"):
        sheets([*candidates(1)[1:], odd], Plan())


@pytest.mark.parametrize("wrong", [{"raters_per_item": 0}, {"raters_per_item": 5}, {"folds": 0}])
def test_a_plan_that_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match=r"at least one|1 fold"):
        Plan(**wrong)


def test_more_teams_of_raters_than_can_be_listed_are_refused():
    with pytest.raises(ValueError, match="fewer raters"):
        Plan(raters=100, raters_per_item=50)


@pytest.mark.medium
def test_a_question_names_no_system_and_plays_the_clips_in_the_order_of_letters(server):
    tones = {"one": 0.01, "two": 0.03, "three": 0.1}
    load = lambda path: sound_of(np.full(8_000, tones[path.removesuffix(".wav")]))  # noqa: E731
    plan = Plan(models=("a", "b"), seed=7)
    planned = sheets(candidates(2), plan)
    found = list(panel.ask_panel(planned, TAGS, plan, Client(current_endpoint()), load))
    assert all(len(ratings) == 15 for _, _, ratings in found)
    for request in server.requests:
        said = json.dumps([text_of(request), request["messages"][0]])
        assert not any(name in said for name in ("one-0", "two-0", "three-0", "item0", ".wav"))
        assert request["temperature"] == 0.2
        assert request["seed"] in range(7, 11)
        assert request["model"] == "ab"[(request["seed"] - 7) % 2]
    for sheet, _, ratings in found:
        levels = {c.stimulus: tones[c.condition] for _, c in sheet.letters}
        ranked = sorted((r for r in ratings if r.criterion == "quality"), key=lambda r: r.score)
        assert [levels[r.stimulus] for r in ranked] == sorted(levels.values())
    heard = [round(float(np.max(wave)), 3) for wave in waves_of(server.requests[0])]
    assert sorted(heard) == pytest.approx(sorted(tones.values()), abs=1e-3)


def test_artefacts_cap_the_scores_of_their_criteria():
    (sheet,) = sheets(candidates(1, ("one",)), Plan(raters_per_item=1))
    row = {c.name: 5.0 for c in panel.criteria(TAGS)} | {"artefacts": ["metallic", "clipping"]}
    found = panel.ratings(sheet, Reply({"A": row}), TAGS)
    assert {r.criterion: r.score for r in found} == {
        "naturalness": 3.0,
        "quality": 2.0,
        "nvv_effect": 5.0,
        "nvv_accuracy": 5.0,
        "expression": 5.0,
    }
    assert {r.given for r in found} == {5.0}
    low = panel.ratings(sheet, Reply({"A": {**row, "quality": 1.0}}), TAGS)
    assert next(r for r in low if r.criterion == "quality").score == 1.0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"letter": "C"}, "wrong letters"),
        ({"letter": "A"}, "wrong letters"),
        ({"quality": 0}, "score out of range"),
        ({"quality": 2.5}, "score out of range"),
        ({"artefacts": ["hiss"]}, "unknown choice"),
        ({"artefacts": "noise"}, "wrong type"),
        ({"mood": 1}, "wrong fields"),
    ],
)
def test_an_answer_must_rate_every_letter_once_on_the_scale(change, reason):
    row = {c.name: 3 for c in panel.criteria(TAGS)} | {"artefacts": ["noise"]}
    good = [row | {"letter": "A"}, row | {"letter": "B", "nvv_effect": 0}]
    assert check_table({"ratings": good[::-1]}, ["A", "B"], TAGS.fields)["B"]["nvv_effect"] == 0
    with pytest.raises(MalformedAnswer, match=reason):
        check_table({"ratings": [good[0], good[1] | change]}, ["A", "B"], TAGS.fields)


def test_means_count_each_clip_once_and_are_told_by_fold():
    def rating(stimulus, fold, rater, score):
        return panel.PanelRating(stimulus, stimulus, "one", fold, rater, "A", "quality", 5, score)

    (row,) = panel.summary([rating("a", 1, 1, 2.0), rating("a", 1, 2, 4.0), rating("b", 2, 1, 5.0)])
    assert (row["mean"], row["n_clips"], row["n_ratings"]) == (4.0, 2, 3)
    assert row["folds"] == {1: 3.0, 2: 5.0}


def test_intraclass_correlations_are_those_of_shrout_and_fleiss():
    table = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    found = stability({str(i): row for i, row in enumerate(table)})
    assert found.icc == pytest.approx(0.17, abs=0.005)
    assert found.icc_mean == pytest.approx(0.44, abs=0.005)
    assert (found.n_clips, found.equal, found.k) == (6, 0.0, 4.0)


def test_stability_of_few_or_constant_scores_is_told_without_nan():
    assert stability({}).icc is None
    one = stability({"a": [3.0, 4.0], "b": [5.0], "c": []})
    assert (one.n_clips, one.icc, len(one.clips)) == (1, None, 2)
    assert one.sd_within == pytest.approx(0.5**0.5)
    same = stability({"a": [3.0, 3.0], "b": [3.0, 3.0]})
    assert (same.equal, same.sd_within, same.icc) == (1.0, 0.0, None)
    apart = stability({"a": [1.0, 1.0], "b": [5.0, 5.0, 5.0]})
    assert (apart.icc, apart.icc_mean, apart.sd_within) == (1.0, 1.0, 0.0)
    noise = stability({"a": [1.0, 5.0], "b": [5.0, 1.0]})
    assert (noise.icc, noise.sd_between) == (0.0, 0.0)


@pytest.fixture
def manifest(tmp_path):
    """Two systems by three items, one louder than the other; one silent clip."""
    rows = [["file", "stimulus", "condition", "item", "text", "language", "nvv_target"]]
    for condition, level in (("soft", 0.01), ("loud", 0.1)):
        for i in range(3):
            name = f"{condition}{i}"
            samples = (level + i / 1000) * (-1.0) ** np.arange(16_000)
            soundfile.write(tmp_path / f"{name}.wav", samples, 16_000)
            rows.append([f"{name}.wav", name, condition, f"i{i}", "well I never", "en", "laugh@2"])
    soundfile.write(tmp_path / "none.wav", np.zeros(16_000), 16_000)
    rows.append(["none.wav", "none0", "none", "i0", "well I never", "en", "laugh@2"])
    path = tmp_path / "clips.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.mark.medium
def test_the_command_rates_a_manifest_and_writes_what_can_be_imported(server, manifest):
    out, said = manifest.with_name("panel"), (io.StringIO(), io.StringIO())
    server.faults = ["refusal"]
    call_command("judge_study", manifest, task="tags", out=str(out), stdout=said[0], stderr=said[1])
    assert said[1].getvalue() == "none0: silent\n"
    assert "6 questions, 0 from the cache, 1 failed (refused: 1)" in said[0].getvalue()
    with open(f"{out}.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    quality = {r["stimulus"]: float(r["value"]) for r in rows if r["metric"].endswith("quality")}
    assert set(quality) == {f"{c}{i}" for c in ("soft", "loud") for i in range(3)}
    assert all(quality[f"soft{i}"] < quality[f"loud{i}"] for i in range(3))
    assert {row["metric"] for row in rows} == {
        f"judge_panel_{c.name}" for c in panel.criteria(TAGS)
    }
    head, *lines = [
        json.loads(line) for line in manifest.with_name("panel.jsonl").read_text().splitlines()
    ]
    assert head["rubric"] == "nvv_tags.v2"
    assert [line["failed"] for line in lines].count("refused") == 1
    assert len(lines) == 6
    again = io.StringIO()  # asks only what failed
    call_command("judge_study", manifest, task="tags", out=str(out), stdout=again, stderr=said[1])
    assert "6 questions, 5 from the cache, 0 failed" in again.getvalue()
    assert len(server.requests) == 7


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"task": "captions"}, "no clip is left"),
        ({"task": "tags", "raters_per_item": 9}, "9 of 4 raters"),
        ({"task": "tags", "out": "no/such/x"}, "no folder no/such"),
        ({"task": "tags", "conditions": "loud,quiet"}, "no clip has the condition quiet"),
    ],
)
def test_what_cannot_be_rated_is_said(server, manifest, options, reason):
    options = {"out": "x", "stdout": io.StringIO(), "stderr": io.StringIO(), **options}
    with pytest.raises(CommandError, match=reason):
        call_command("judge_study", manifest, **options)


@pytest.mark.medium
def test_the_stability_command_tells_how_much_of_the_variance_is_the_clips(server, manifest):
    server.answer = lambda body: (
        answer(body) | {"score": answer(body)["score"] - 0.5 * (body["seed"] % 2)}
    )
    said = io.StringIO()
    parameters = '{"judge_expressive_richness": {"temperature": 1.0}}'
    call_command(
        "judge_stability",
        manifest,
        metric="judge_expressive_richness",
        repeats=2,
        parameters=parameters,
        stdout=said,
        stderr=io.StringIO(),
    )
    lines = said.getvalue().splitlines()
    assert lines[1].split() == ["soft0", "2", "2.750", "0.354", "0.500"]
    assert "sd inside clips                  0.354" in lines
    assert "12 questions, 0 from the cache, 0 failed" in said.getvalue()
    assert "temperature is 0" not in said.getvalue()
