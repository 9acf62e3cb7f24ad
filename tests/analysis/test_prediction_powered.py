"""Means helped by a metric: an independent implementation's numbers, invariance, coverage."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

import earnest
from analysis.ratings.breakdowns import families
from analysis.ratings.metric_scores import scores_from_rows
from analysis.ratings.table import from_rows
from analysis.report.parts.prediction_powered import PredictionPowered
from analysis.statistics.prediction_powered import prediction_powered
from tests.analysis.reference import BLANK, DATA
from tests.analysis.shown_by import given_of
from tests.analysis.simulation import bounds, sizes

SETS = json.loads((DATA / "prediction_powered.ref.json").read_text())


def ratings(y, rater):
    """Two systems (2, n clips, k ratings) as a table of ratings."""
    rows = [
        BLANK
        | {
            "condition": "AB"[s],
            "stimulus": f"{'AB'[s]}{i}",
            "item": f"i{i}",
            "rater": f"r{rater[s][i][j]}",
            "session": f"r{rater[s][i][j]}",
            "score": float(score),
        }
        for s in range(2)
        for i, scores in enumerate(y[s])
        for j, score in enumerate(scores)
    ]
    return from_rows(rows)


def assisted(table, rated, others):
    (family,) = families(table)
    values = {f"{'AB'[s]}{i}": x for s in range(2) for i, x in enumerate(rated[s])}
    found = prediction_powered(family, values, dict(zip("AB", map(np.array, others), strict=True)))
    return {(each.condition, each.versus): each for each in found}


@pytest.mark.parametrize("place", range(len(SETS)))
def test_estimates_are_those_of_an_independent_implementation(place):
    """Half widths are near, not equal: ours are also at least those of pooled components."""
    data = SETS[place]
    found = assisted(ratings(data["y"], data["rater"]), data["rated"], data["others"])
    for key, name in ((("A", ""), "0"), (("B", ""), "1"), (("A", "B"), "diff")):
        one = found[key]
        value, half = data["reference"][name]["plugin"]
        plain, _ = data["reference"][name]["zero"]
        assert one.classical == pytest.approx(plain, abs=1e-9)
        if all(one.weight):
            assert one.value == pytest.approx(value, abs=1e-9)
            assert (one.high - one.low) / 2 == pytest.approx(half, rel=0.15)
        assert one.high - one.low <= one.classical_high - one.classical_low
    assert (found["A", ""].saved > 0.1) == (place == 0)


def test_the_client_gives_the_same_from_plain_rows():
    data = SETS[0]
    table = ratings(data["y"], data["rater"])
    scores = [
        {"condition": "AB"[s], "stimulus": f"{'AB'[s]}{n}", "value": x}
        for s in range(2)
        for n, x in enumerate([*data["rated"][s], *data["others"][s]])
    ]
    rows = table[["condition", "stimulus", "item", "rater", "score"]].to_dict("records")
    ours = {(one.condition, one.versus): one for one in earnest.ppi(rows, scores)}
    for key, one in assisted(table, data["rated"], data["others"]).items():
        assert ours[key].value == pytest.approx(one.value, abs=1e-12)
        assert ours[key].saved == one.saved
    value, _ = data["reference"]["0"]["plugin"]
    assert ours["A", ""].value == pytest.approx(value, abs=1e-9)
    with pytest.raises(ValueError, match=r"scores: no column value\. Give"):
        earnest.ppi(rows, [{"condition": "A", "stimulus": "A0"}])
    with pytest.raises(ValueError, match="the clip A0 is there twice"):
        earnest.ppi(rows, scores + scores[:1])


def plain_rows():
    heard = [
        {"condition": c, "stimulus": f"{n + 100 * (c == 'B')}", "rater": r}
        | {"score": 1 + n % 4, "estimand": "mos"}
        for c in "AB"
        for n in range(12)
        for r in "xyz"
    ]
    scores = [
        {"condition": c, "stimulus": f"{n + 100 * (c == 'B')}", "value": n % 4 + n / 90}
        for c in "AB"
        for n in range(40)
    ]
    return heard, scores


def changed(rows, place=None, **cells):
    return [row | cells if place in (None, n) else row for n, row in enumerate(rows)]


@pytest.mark.parametrize(
    ("heard", "predicted", "words"),
    [
        ({}, {"place": 3, "condition": "B"}, "the clip 3 is of condition A in ratings and B in"),
        ({"place": 4, "condition": "B"}, {}, "ratings: the clip 1 has two conditions"),
        ({"place": 4, "condition": None}, {}, "ratings, row 5: no condition"),
        ({"place": 4, "score": float("inf")}, {}, "ratings, row 5: the score inf is not a finite"),
        ({"place": 4, "score": "good"}, {}, "ratings, row 5: the score good is not a finite"),
        ({"place": 4, "score": None}, {}, "ratings, row 5: no score"),
        ({}, {"place": 2, "value": "bad"}, "scores, row 3: the value bad is not a finite number"),
        ({}, {"place": 0, "stimulus": "0.0"}, "1 of 24 rated clips are not in scores.*example 0"),
        ({"place": 4, "estimand": "hls"}, {}, "more than one estimand: mos, hls"),
        ({"estimand": "nonsense"}, {}, "no estimand nonsense"),
    ],
)
def test_the_client_refuses_tables_that_contradict(heard, predicted, words):
    rows, scores = plain_rows()
    with pytest.raises(ValueError, match=words):
        earnest.ppi(changed(rows, **heard), changed(scores, **predicted))


def test_the_client_compares_clips_as_text_and_warns_of_conditions_without_a_metric():
    rows, scores = plain_rows()
    as_number = [row | {"stimulus": float(row["stimulus"])} for row in scores]
    with pytest.raises(ValueError, match=r"24 of 24 .* example 0\. scores has clips like 0\.0\."):
        earnest.ppi(rows, as_number)
    with pytest.warns(UserWarning, match="no clip of B: 12 of 24 rated clips, for example 100"):
        found = earnest.ppi(rows, scores[:40])
    assert [bool(one.saved) for one in found[:2]] == [True, False]
    for level in (0, 1, 95, float("nan")):
        with pytest.raises(ValueError, match="is not between 0 and 1"):
            earnest.ppi(rows, scores, level=level)


def test_the_scale_of_the_metric_does_not_matter_and_a_constant_gives_the_classical_interval():
    data = SETS[0]
    table, rated, others = (
        ratings(data["y"], data["rater"]),
        *map(np.array, (data["rated"], data["others"])),
    )
    plain = assisted(table, rated, others)
    scaled = assisted(table, 7 - 3 * rated, 7 - 3 * others)
    constant = assisted(table, 0 * rated, 0 * others)
    for key, one in plain.items():
        same = scaled[key]
        assert (same.value, same.low, same.high) == pytest.approx((one.value, one.low, one.high))
        none = constant[key]
        assert (none.value, none.low, none.high) == (
            none.classical,
            none.classical_low,
            none.classical_high,
        )
    few = assisted(table, rated, others[:, :1])
    assert {each.saved for each in few.values()} == {0.0}


def test_a_metric_that_knows_each_clips_quality_leaves_raters_and_noise_only():
    rng = np.random.default_rng(4)
    quality = rng.normal(0, 1, (2, 200))
    y = quality[:, :20, None] + rng.normal(0, 0.01, (2, 20, 6)) + 3
    rater = np.broadcast_to(np.arange(6), (2, 20, 6))
    one = assisted(ratings(y, rater), quality[:, :20], quality[:, 20:])["A", ""]
    assert one.value == pytest.approx(3 + quality[0].mean(), abs=0.01)
    assert one.saved > 0.8  # 1 - 20 / 200, less what the slope costs


@sizes(15, 1000)
def test_means_and_differences_cover_the_truth_with_a_bent_and_biased_metric(runs):
    """Raters .45, rater x system .25, texts .20, clips .25, rest .70; whole scores 1 to 5."""
    rng = np.random.default_rng(11)
    n, every, k, raters = 24, 300, 4, 24
    sd = np.sqrt(0.45**2 + 0.25**2 + 0.2**2 + 0.25**2 + 0.7**2)
    mu = np.array([3.4, 3.1])
    truth = 1 + (1 - ndtr((np.array([1.5, 2.5, 3.5, 4.5]) - mu[:, None]) / sd)).sum(axis=1)
    hits, saved = [], []
    for _ in range(runs):
        clip = rng.normal(0, 0.2, every) + rng.normal(0, 0.25, (2, every))
        x = np.tanh(clip / 0.32 + rng.normal(0, 0.5, (2, every))) - np.array([[0.0], [0.9]])
        of_rater = rng.normal(0, 0.45, raters) + rng.normal(0, 0.25, (2, raters))
        who = np.stack([rng.permuted(np.tile(np.arange(raters), (n, 1)), axis=1)[:, :k]] * 2)
        own = np.stack([of_rater[s][who[s]] for s in range(2)])
        latent = mu[:, None, None] + clip[:, :n, None] + own + rng.normal(0, 0.7, (2, n, k))
        found = assisted(ratings(np.clip(np.round(latent), 1, 5), who), x[:, :n], x[:, n:])
        of = {("A", ""): truth[0], ("A", "B"): truth[0] - truth[1]}
        hits += [found[key].low <= value <= found[key].high for key, value in of.items()]
        saved.append(found["A", ""].saved)
    low, high = bounds(0.935, 0.98, of=2000, runs=2 * runs)
    assert low < np.mean(hits) < high
    assert 0.05 < np.mean(saved) < 0.25


def test_the_report_shows_both_intervals_where_a_metric_scored_clips_that_nobody_rated():
    data = SETS[0]
    rows = [
        {"stimulus": f"{'AB'[s]}{i}", "metric": "utmos", "version": "1", "value": x}
        | {"condition": "AB"[s]}
        for s in range(2)
        for i, x in enumerate([*data["rated"][s], *data["others"][s]])
    ]
    table, part = ratings(data["y"], data["rater"]), PredictionPowered()
    given = replace(given_of(table), scores=scores_from_rows(rows))
    assert part.applies(given)
    content = part.make(given)
    shown = {row["name"]: row for row in content.tables[0].rows}
    assert set(shown) == {"A", "B", "A − B"}
    assert (shown["A"]["rated"], shown["A"]["others"]) == (24, 376)
    assert max(row["saved"] for row in shown.values()) > 0.1
    assert "utmos" in content.sentences[0]
    without = scores_from_rows([row for row in rows if int(row["stimulus"][1:]) < 24])
    assert not part.applies(replace(given, scores=without, shared={}))
