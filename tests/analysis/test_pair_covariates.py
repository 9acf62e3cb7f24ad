"""Covariates of pairs: statsmodels' logit, what confounds, missing values, coverage, the report."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from analysis.ratings.metric_scores import scores_from_rows
from analysis.ratings.problems import RatingsError
from analysis.ratings.table import from_rows, read_csv, table_hash, to_rows
from analysis.report.exclusions import judged_csv
from analysis.report.parts.pair_covariates import PairCovariates
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.options import Options, command_line, options_from
from analysis.statistics.pairs.covariates import SIDE, fit_covariates
from analysis.statistics.pairs.pair_ratings import PairRatings, pairs_of
from analysis.statistics.pairs.win_models import bradley_terry
from listening.common.covariate_levels import coded_values
from tests.analysis.part_of import given_of
from tests.analysis.reference import BLANK, DATA
from tests.analysis.simulation import bounds


def stored():
    known = json.loads((DATA / "choice_models.ref.json").read_text())["covariates"]
    n = np.arange(len(known["a"]))
    ratings = PairRatings(
        ("s0", "s1", "s2", "s3"),
        np.array(known["a"]),
        np.array(known["b"]),
        np.where(np.array(known["win"]) == 1, 1.0, -1.0),
        np.array(known["order"], dtype=np.float64),
        np.array(known["rater"]),
        n % 7,
    )
    columns = {name: np.array(known[name]) for name in ("duration", "loudness")}
    return known, ratings, columns


def test_effects_and_strengths_are_those_of_statsmodels_logit_on_differences():
    known, ratings, columns = stored()
    model = fit_covariates(ratings, columns)
    assert model.adjusted.ability == pytest.approx(known["strengths"], abs=1e-6)
    assert model.adjusted.log_likelihood == pytest.approx(known["llf"], abs=1e-6)
    ours = {one.name: one for one in model.effects}
    assert list(ours) == [SIDE, "duration", "loudness"]
    names = {SIDE: "second_advantage", "duration": "duration", "loudness": "loudness"}
    for name, theirs in names.items():
        one = ours[name]
        assert one.value == pytest.approx(known["terms"][theirs], abs=1e-6)
        assert one.points == pytest.approx(100 * (expit(one.value) - 0.5))
        assert one.points_low < one.points < one.points_high
    by_order = bradley_terry(ratings, order=True)
    assert by_order.ability == pytest.approx(known["without"], abs=1e-6)
    by_rater = replace(ratings, item=ratings.rater)  # one way of clustering
    table = np.column_stack([*columns.values()])
    plain = replace(by_rater, covariates=table, covariate_names=tuple(columns))
    sandwich = bradley_terry(plain, order=True)
    for one in fit_covariates(by_rater, columns).effects:
        theirs = known["se_by_rater"][names[one.name]]
        assert sandwich.term(names[one.name]).se_clustered == pytest.approx(theirs, rel=1e-5)
        assert theirs < one.se < 1.25 * theirs  # the jackknife of 20 raters


def test_standard_errors_are_those_of_fits_without_each_rater():
    """The jackknife in one step, compared with 20 whole fits."""
    _, ratings, columns = stored()
    by_rater = replace(ratings, item=ratings.rater)
    whole = fit_covariates(by_rater, columns)
    changes = []
    for rater in range(20):
        rest = ratings.rater != rater
        fewer = {name: column[rest] for name, column in columns.items()}
        fit = fit_covariates(by_rater.subset(rest), fewer)
        changes.append([e.value - w.value for e, w in zip(fit.effects, whole.effects, strict=True)])
    errors = np.sqrt(np.sum(np.square(changes), axis=0))
    assert [one.se for one in whole.effects] == pytest.approx(errors, rel=0.03)


def test_effects_are_per_unit_whatever_the_unit():
    _, ratings, columns = stored()
    in_ms = {"duration": 1000 * columns["duration"], "loudness": columns["loudness"]}
    one, other = (fit_covariates(ratings, each).effects[1] for each in (columns, in_ms))
    assert 1000 * other.value == pytest.approx(one.value, abs=1e-9)
    assert 1000 * other.se == pytest.approx(one.se)
    assert other.p == pytest.approx(one.p)


def test_what_strengths_explain_and_what_is_missing_is_said():
    _, ratings, columns = stored()
    of_system = np.array([0.0, 2.0, 1.0, 5.0])
    fixed = of_system[ratings.a] - of_system[ratings.b]
    gaps = np.where(np.arange(len(ratings.y)) < 30, np.nan, columns["duration"])
    model = fit_covariates(ratings, {"fixed": fixed, "duration": gaps})
    assert model.confounded == ("fixed",)
    assert model.n_left_out == 30
    assert model.adjusted.n_ratings == model.without.n_ratings == len(ratings.y) - 30
    unordered = replace(ratings, order=np.zeros_like(ratings.order))
    assert [one.name for one in fit_covariates(unordered, columns).effects] == [*columns]
    with pytest.raises(Undefined, match="no covariate differs"):
        fit_covariates(ratings, {"fixed": fixed}, side=False)
    with pytest.raises(Undefined, match="no rating has values"):
        fit_covariates(ratings, {"none": np.full(len(ratings.y), np.nan)})


def simulated(rng):
    """B and C are equal and C's clips are longer; longer clips and the second one are preferred."""
    names, value = ("A", "B", "C"), np.array([0.6, 0.0, 0.0])
    length = rng.normal([[0.0], [0.0], [1.0]], 0.7, (3, 24))
    luck, lean = rng.normal(0, 0.4, (3, 24)), rng.normal(0, 0.4, (24, 3))
    columns = [
        (a, b, item, rater)
        for item in range(24)
        for a, b in ((0, 1), (0, 2), (1, 2))
        for rater in rng.choice(24, 6, replace=False)
    ]
    a, b, item, rater = np.array(columns).T
    order = rng.choice([-1.0, 1.0], len(a))
    longer = length[a, item] - length[b, item]
    eta = value[a] - value[b] + luck[a, item] - luck[b, item] + lean[rater, a] - lean[rater, b]
    eta += 0.2 * order + 0.5 * longer
    y = np.where(rng.random(len(a)) < expit(eta), 1.0, -1.0)
    return PairRatings(names, a, b, y, order, rater, item), longer


@pytest.mark.parametrize("runs", [pytest.param(1000, marks=pytest.mark.soak), 40])
@pytest.mark.medium
def test_clustered_intervals_of_adjusted_strengths_and_of_no_effect_cover(runs):
    """Equal strengths beside a covariate that favours one, and the effect of random numbers."""
    rng = np.random.default_rng(24)
    hits = {"strength": 0, "no effect": 0, "unadjusted": 0}
    for _ in range(runs):
        ratings, longer = simulated(rng)
        noise = rng.normal(0, 1, (3, 24))
        unrelated = noise[ratings.a, ratings.item] - noise[ratings.b, ratings.item]
        model = fit_covariates(ratings, {"length": longer, "noise": unrelated})
        (gap,) = model.adjusted.contrasts([(1, 2)])
        hits["strength"] += gap.low <= 0 <= gap.high
        (raw,) = model.without.contrasts([(1, 2)])
        hits["unadjusted"] += raw.low <= 0 <= raw.high
        effect = model.effects[-1]
        hits["no effect"] += effect.low <= 0 <= effect.high
    shares = {name: count / runs for name, count in hits.items()}
    low, high = bounds(0.93, 0.975, of=1000, runs=runs)
    assert low < shares["strength"] < high, shares
    assert low < shares["no effect"] < high, shares
    assert shares["unadjusted"] < 0.7, shares


def compared(rows=400, seed=3):
    """Preferences of three systems; longer clips win, whoever made them."""
    rng = np.random.default_rng(seed)
    names, value = ("a", "b", "c"), np.array([0.8, 0.0, 0.0])
    length = {f"{name}-{item}": float(rng.normal(4, 1)) for name in names for item in range(20)}
    table = []
    for n in range(rows):
        one, other = rng.choice(3, 2, replace=False)
        item, rater, first = n % 20, (n * 7) % 20, str(rng.choice(["rated", "versus"]))
        clips = f"{names[one]}-{item}", f"{names[other]}-{item}"
        eta = value[one] - value[other] + 0.8 * (length[clips[0]] - length[clips[1]])
        table.append(
            BLANK
            | {"method": "ab", "estimand": "ab", "rater": f"r{rater}", "item": f"i{item}"}
            | {"condition": names[one], "versus_condition": names[other]}
            | {"stimulus": clips[0], "versus_stimulus": clips[1], "presented_first": first}
            | {"score": float(rng.random() < expit(eta))}
        )
    scores = [
        {"stimulus": clip, "metric": "length_s", "version": "1", "value": each}
        for clip, each in length.items()
    ]
    return from_rows(table), scores_from_rows(scores)


def shown(table, scores, *covariates):
    options = Options(rules=(), covariates=covariates)
    given = replace(given_of(table, options), scores=scores)
    return PairCovariates().make(given)


@pytest.mark.medium
def test_a_report_shows_strengths_with_and_without_covariates_only_if_asked():
    table, scores = compared()
    found = shown(table, scores, "side", "length_s")
    tables = {each.key: list(each.rows) for each in found.tables}
    side, length = tables["covariate_effects"]
    assert (side["name"], side["unit"]) == ("Heard second", "second place")
    assert length["unit"] == "1 s"
    assert length["low"] < 0.8 < length["high"]
    assert length["points"] == pytest.approx(100 * (expit(length["value"]) - 0.5))
    strengths = {row["name"]: row for row in tables["adjusted_strengths"]}
    assert strengths["a"]["change"] == pytest.approx(
        strengths["a"]["value"] - strengths["a"]["without"]
    )
    assert "length_s" in found.sentences[0]
    blind = shown(table.assign(presented_first=""), scores, "side", "length_s")
    assert "side is in no fit" in blind.warnings[0]
    assert not PairCovariates.asked_by(Options())
    assert PairCovariates.asked_by(Options(covariates=("side",)))
    with pytest.raises(ValueError, match="no covariate pitch; there are side and length_s"):
        shown(table, scores, "pitch")


@pytest.mark.medium
def test_words_such_as_voices_get_an_effect_for_each_against_the_most_frequent():
    table, scores = compared()
    stimuli = sorted({*table["stimulus"], *table["versus_stimulus"]})
    voices = {
        clip: ("anna", "ben", "anna", "cleo", "anna")[n % 7 % 5] for n, clip in enumerate(stimuli)
    }
    options = Options(rules=(), covariates=("side", "voice", "noise"))
    noise = {clip: f"{n % 11}" for n, clip in enumerate(stimuli)}
    unrated = {f"unrated {n}": "ben" for n in range(50)}
    covariates = {"voice": voices | unrated, "noise": noise}
    given = replace(given_of(table, options), scores=scores, covariates=covariates)
    found = PairCovariates().make(given)
    _, ben, cleo, number = found.tables[0].rows
    assert [row["name"] for row in (ben, cleo)] == [
        "voice: ben instead of anna",
        "voice: cleo instead of anna",
    ]
    assert {ben["unit"], cleo["unit"]} == {"this value"}
    assert (number["name"], number["unit"]) == ("noise", "1")
    sides = [table[side].map(voices) for side in ("stimulus", "versus_stimulus")]
    terms = {
        name: ((sides[0] == name) * 1.0 - (sides[1] == name)).to_numpy() for name in ("ben", "cleo")
    }
    sides = [table[side].map(noise).astype(float) for side in ("stimulus", "versus_stimulus")]
    terms["noise"] = (sides[0] - sides[1]).to_numpy()
    model = fit_covariates(pairs_of(table), terms)
    assert [one.value for one in model.effects[1:]] == pytest.approx(
        [row["value"] for row in (ben, cleo, number)]
    )
    with pytest.raises(ValueError, match="the covariate noise has 40 different words"):
        coded_values("noise", {f"{n}": f"word {n}" for n in range(40)})
    by_system = replace(given, covariates={"voice": dict.fromkeys(stimuli, "anna")})
    told = PairCovariates().make(
        replace(by_system, options=replace(options, covariates=("voice",)))
    )
    assert (
        "cannot be told from strengths" in told.warnings[0]
        or "no covariate differs" in told.warnings[0]
    )


def test_a_declared_metric_that_is_not_scored_yet_is_named_and_the_rest_is_shown():
    table, _ = compared()
    options = Options(rules=(), covariates=("side", "length_s"))
    given = replace(given_of(table, options), facts={})
    found = PairCovariates().make(given)
    assert [row["name"] for row in found.tables[0].rows] == ["Heard second"]
    assert "Without length_s: score the clips with these metrics." in found.warnings


def test_a_covariate_that_cannot_be_used_is_named_and_the_rest_is_shown():
    table, scores = compared()
    clips = sorted({*table["stimulus"], *table["versus_stimulus"]})
    covariates = {
        "only": dict.fromkeys(clips, "nan"),
        "many": {clip: f"word {n}" for n, clip in enumerate(clips)},
        "elsewhere": {clips[0]: "3", "clip of another task": "4"},
    }
    options = Options(rules=(), covariates=("side", "length_s", "gone", *covariates))
    given = replace(given_of(table, options), scores=scores, covariates=covariates)
    found = PairCovariates().make(given)
    assert [row["name"] for row in found.tables[0].rows] == ["Heard second", "length_s"]
    said = " ".join(found.warnings)
    assert "only: no variation beyond systems" in said
    assert "The covariate many has 60 different words" in said
    assert "No covariate gone; there are side, length_s, only and elsewhere." in said
    assert "columns like covariate_gone and versus_covariate_gone." in said
    assert "No pair has values of elsewhere. It is in no fit." in said


def test_a_file_of_ratings_holds_covariates_of_both_clips(tmp_path):
    table, _ = compared()
    clips = sorted({*table["stimulus"], *table["versus_stimulus"]})
    covariates = {
        "key words": {clip: f"=w{n % 3}" for n, clip in enumerate(clips) if n % 7},
        "noise": {clip: f"{n / 8}" for n, clip in enumerate(clips)},
    }
    path = tmp_path / "ratings.csv"
    path.write_text("".join(judged_csv(to_rows(table), None, covariates)))
    reading = read_csv(path)
    assert reading.covariates == covariates
    assert table_hash(reading.table) == table_hash(table)
    assert reading.columns_not_used == ()
    ignored = read_csv(path, ignore=["covariate_noise", "versus_covariate_noise"])
    assert list(ignored.covariates) == ["key words"]
    cells = pd.read_csv(path, dtype="str", keep_default_na=False)
    cells.loc[5, "covariate_noise"] = "other"
    cells.to_csv(path, index=False)
    with pytest.raises(RatingsError, match=f"the clip {cells['stimulus'][5]} has .*other"):
        read_csv(path)


def test_covariates_are_an_option_of_the_command_that_makes_the_numbers_again():
    options = Options(covariates=("side", "length_s"))
    assert options_from(options.parameters()) == options
    assert "--covariate side --covariate length_s" in command_line(options)
