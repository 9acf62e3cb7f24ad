"""Parts models and ordinal: R's numbers, the reference posteriors, ranks, refusals, edge cases."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from analysis.ratings.grouping import Breakdown
from analysis.report.build import report_of
from analysis.report.html.page import page_html
from analysis.report.part import PartInput
from analysis.report.parts import models
from analysis.report.parts.answer import Answer
from analysis.report.parts.models import Models
from analysis.report.parts.ordinal import Ordinal
from analysis.report.pipeline import plain_of
from analysis.statistics.mixed.family_model import family_posterior, modelled
from analysis.statistics.options import Options
from analysis.statistics.screening.screened import DEFAULT, screen
from tests.analysis.mixed_data import posterior_reference
from tests.analysis.reference import edge, expected, heard_on_headphones, rows_of, table_of
from tests.analysis.shown_by import in_keys

PARTS = ("models",)


def given(table, **options):
    screened = screen(table, DEFAULT)
    return PartInput(screened.kept(DEFAULT), screened, Options(**options))


@cache
def shown(kind, name):
    table = heard_on_headphones(name) if name.startswith("mos") else without_texts(name)
    return in_keys({"models": Models, "ordinal": Ordinal}[kind]().make(given(table)))


@cache
def shown_of_edge(part, name):
    return in_keys(part().make(given(edge(name))))


def without_texts(name):
    """As `table_of`, but no two ratings are of one text: the effects are those of raters alone."""
    own = [str(row) for row in range(len(table_of(name)))]
    return table_of(name).assign(item=own, stimulus=own)


def table(made, key):
    (found,) = [each for each in made.tables if each.key == key]
    return {next(iter(row.values())): row for row in found.rows}


@pytest.mark.slow
def test_means_and_contrasts_are_rs():
    made, r = shown("models", "mos_s2"), expected("mos_s2")["lmm_isolation"]
    rows = table(made, "models-1-means")
    for line in r["emmeans"]:
        row = rows[line["system"]]
        assert row["mean"] == pytest.approx(line["emmean"], rel=1e-6)
        assert (row["se"], row["df"]) == pytest.approx((line["SE"], line["df"]), rel=1e-4)
        assert row["mean_high"] == pytest.approx(line["upper.CL"], rel=1e-5)
    (contrasts,) = [each for each in made.tables if each.key == "models-1-contrasts"]
    found = {f"{row['condition']} - {row['versus']}": row for row in contrasts.rows}
    for plain, holm in zip(r["pairs_none"], r["pairs_holm"], strict=True):
        row = found[plain["contrast"]]  # A to E fall, so that no pair is turned
        assert row["difference"] == pytest.approx(plain["estimate"], rel=1e-5)
        assert row["p"] == pytest.approx(plain["p.value"], rel=1e-4, abs=1e-12)
        assert row["p_holm"] == pytest.approx(holm["p.value"], rel=1e-4, abs=1e-12)


@pytest.mark.slow
def test_the_posterior_of_the_turing_test_is_the_reference():
    made, reference = shown("models", "att_s1"), posterior_reference("att_s1")["gaussian"]
    rows = table(made, "models-1-means")
    (each,) = modelled(without_texts("att_s1"))
    ranks = family_posterior(each, Options(rules=())).comparison(rope=0.02)
    for i, (name, known) in enumerate(reference["system"].items()):
        assert each.names[i] == name
        assert rows[name]["bayes"] == pytest.approx(known["mean"], abs=4 * known["sd"] / 50)
        assert ranks.p_best[i] == pytest.approx(reference["p_best"][name], abs=0.01)
        assert ranks.expected_rank[i] == pytest.approx(reference["mean_rank"][name], abs=0.02)
        assert ranks.rank_probability[i] == pytest.approx(reference["rank_prob"][name], abs=0.01)
    varies = table(made, "models-1-variation")
    assert varies["rater × condition"]["bayes"] == pytest.approx(
        reference["sd"]["sd_rs"]["mean"], abs=0.001
    )
    assert made.sentences[0].startswith("HLS · att · human: Seed-TTS is the best with a prob")


@pytest.mark.slow
def test_the_higher_condition_of_a_pair_comes_first_with_its_own_probability():
    made, reference = shown("models", "att_s1"), posterior_reference("att_s1")["gaussian"]
    (contrasts,) = [each for each in made.tables if each.key == "models-1-contrasts"]
    assert all(row["difference"] > 0 for row in contrasts.rows)
    row = next(row for row in contrasts.rows if row["versus"] == "MiniMax-Speech")
    known = reference["pairs"]["MiniMax-Speech - Seed-TTS"]
    assert row["condition"] == "Seed-TTS"
    assert row["bayes"] == pytest.approx(-known["mean"], abs=0.001)
    assert row["p_superior"] == pytest.approx(1 - known["p_gt_0"], abs=0.01)
    assert row["p_equivalent"] == pytest.approx(known["p_in_rope"], abs=0.03)


@pytest.mark.medium
def test_cells_by_dimension_are_rs_and_average_with_equal_weights():
    made, r = shown("models", "att_s1"), expected("att_s1")["lmm_dimension"]
    (cells,) = [each for each in made.tables if each.key == "models-1-by-dimension"]
    found = {f"sysdim{row['condition']}|{row['dimension']}": row for row in cells.rows}
    for name, value in r["fixef"].items():
        assert found[name]["mean"] == pytest.approx(value, rel=1e-6)
    average = found["sysdimGPT-4o|all, weighing the same"]
    own = [value for name, value in r["fixef"].items() if name.startswith("sysdimGPT-4o|")]
    assert average["mean"] == pytest.approx(np.mean(own), rel=1e-6)
    assert average["se"] < found["sysdimGPT-4o|classical"]["se"]


@pytest.mark.slow
def test_crossings_are_modelled_when_asked_for_and_no_others():
    tables = heard_on_headphones("mos_s2")
    split = tables.assign(voice=np.where(tables["item"] < "p03", "x", "y"))
    made = in_keys(Models().make(given(split, breakdowns=(Breakdown(by=("voice",)),))))
    assert [t.key for t in made.tables if "-by-" in t.key] == ["models-1-by-voice"]
    assert not [t for t in shown("models", "mos_s2").tables if "-by-" in t.key]


@pytest.mark.slow
def test_the_ranking_knows_that_texts_and_clips_vary():
    """Draws and REML of the same model: differences are as uncertain, clips have an SD."""
    made = shown("models", "mos_s2")
    assert made.warnings == []
    (contrasts,) = [each for each in made.tables if each.key == "models-1-contrasts"]
    for row in contrasts.rows:
        assert row["bayes"] == pytest.approx(row["difference"], abs=0.2 * row["se"])
        assert row["bayes_sd"] == pytest.approx(row["se"], rel=0.1)
    varies = table(made, "models-1-variation")
    for words in ("item (text)", "stimulus (clip)"):
        assert varies[words]["bayes_low"] < varies[words]["sd"] < varies[words]["bayes_high"]
    (told,) = [text for text in made.methods if "posterior" in text]
    assert "item (text) and stimulus (clip)" in told
    assert "interpolated between 41 exact values" in told


@pytest.fixture
def hasty(monkeypatch):
    """Nothing is quick enough."""
    monkeypatch.setattr(models, "QUICK", 0.0)


@pytest.mark.usefixtures("hasty")
@pytest.mark.medium
def test_without_its_texts_a_large_design_has_no_posterior_and_the_answer_says_so():
    table = heard_on_headphones("mos_s2")
    made = in_keys(Models().make(given(table)))
    assert "A is the best with a probability of" in made.sentences[0], "by the answer's variances"
    assert made.sentences[1].startswith("MOS · isolation, of the variance")
    assert any(
        "no posterior: this design is too large for effects of texts" in text
        for text in made.warnings
    )
    assert any("ask for it by name: --part models" in text for text in made.warnings)
    assert any("its intervals are too narrow" in text for text in made.warnings)
    (answered,) = [
        text for text in in_keys(Answer().make(given(table))).warnings if "mixed model" in text
    ]
    assert "isolation" in answered
    assert "its intervals are too narrow, and its tests find too much" in answered


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
def test_asked_for_by_name_a_larger_design_has_its_texts():
    table = heard_on_headphones("mos_s2")
    asked = given(table, parts=("models",))
    assert "A is the best" in in_keys(Models().make(asked)).sentences[0]
    assert not [text for text in in_keys(Answer().make(asked)).warnings if "mixed model" in text]
    alone = rows_of(
        {(c, f"r{r}", f"{c}{r}{i}"): (r + i) % 3 for c in "AB" for r in range(9) for i in range(3)}
    )
    assert not [
        text for text in in_keys(Answer().make(given(alone))).warnings if "mixed model" in text
    ]


@pytest.mark.slow
def test_draws_that_disagree_are_not_shown(monkeypatch):
    def stuck(*of):
        good = family_posterior(*of)
        bad = replace(good.diagnostics, r_hat={**good.diagnostics.r_hat, "condition[0]": 1.3})
        return replace(good, diagnostics=bad)

    monkeypatch.setattr(models, "family_posterior", stuck)
    made = in_keys(Models().make(given(heard_on_headphones("mos_s2"))))
    (told,) = [text for text in made.warnings if "no posterior is shown" in text]
    assert "because the chains disagree" in told
    assert "NUTS" in told
    assert "bayes" not in table(made, "models-1-means")["A"]
    assert not any("posterior" in text for text in made.methods)
    (told,) = [each for each in made.tables if each.key == "models-1-diagnostics"]
    assert not told.folded


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said", "part"),
    [
        pytest.param(name, said, part, marks=[] if in_short else pytest.mark.soak)
        for name, said, parts in (
            ("one_rater", "there is one rater", (Models, Ordinal)),
            ("all_equal", "all", (Models, Ordinal)),
            ("disjoint_raters", "", (Models, Ordinal)),
            ("separated", "", ()),
            ("single_system", "", ()),
            ("missing", "D has one rating", (Models,)),
            ("unicode", "", ()),
        )
        for part in (Models, Ordinal)
        for in_short in [part in parts]
    ],
)
def test_edge_cases_are_said_in_words(part, name, said):
    made = shown_of_edge(part, name)
    json.dumps(plain_of(made.plain()), allow_nan=False)
    if part is Models:
        assert any(said in text for text in made.warnings) or not said
    text = " ".join([*made.warnings, *made.sentences, *made.methods])
    assert "condition 0" not in text
    assert "nan" not in text.lower().split()


@pytest.mark.medium
@pytest.mark.parametrize("part", [Models, Ordinal])
def test_a_single_rating_is_refused(part):
    with pytest.raises(ValueError, match="there is nothing to model"):
        in_keys(part().make(given(edge("one_rating"))))
    assert not part().applies(given(edge("empty")))


@pytest.mark.medium
def test_pairs_and_ranks_have_no_model_of_conditions():
    scores = {(c, f"r{r}", f"i{i}"): float(r > 2) for c in "AB" for r in range(4) for i in range(3)}
    pairs = rows_of(scores, method="cmos", estimand="cmos", versus_condition="C")
    ranks = rows_of(scores, method="rank", estimand="rank")
    assert not Models().applies(given(pairs))
    assert not Ordinal().applies(given(ranks))
    assert list(modelled(pairs)) == []


@pytest.mark.soak
def test_the_ordinal_model_is_the_reference():
    made, reference = shown("ordinal", "att_s1"), posterior_reference("att_s1")["ordinal"]
    rows = table(made, "ordinal-1-means")
    for name, known in reference["hls_population"].items():
        assert rows[name]["score"] == pytest.approx(known["mean"], abs=0.0015)
        assert abs(rows[name]["apart"]) < 0.004  # M1 and M4 tell the same story
    exact = posterior_reference("att_s1")["aghq_mle"]
    assert rows["GPT-4o"]["ml"] == pytest.approx(exact["beta"]["GPT-4o"], abs=1e-3)
    cuts = table(made, "ordinal-1-thresholds")
    assert cuts["0 and 0.5"]["cut"] == pytest.approx(reference["cut"][0]["mean"], abs=0.002)
    varies = table(made, "ordinal-1-variation")
    assert varies["rater"]["ml"] == pytest.approx(exact["sd_rater"], rel=1e-3)


@pytest.mark.slow
def test_predicted_label_shares_hold_the_observed_ones():
    made = shown("ordinal", "mos_s2")  # made by an ordinal model
    (shares,) = [each for each in made.tables if each.key == "ordinal-1-shares"]
    outside = [row for row in shares.rows if row["told"]]
    assert len(outside) <= 0.1 * len(shares.rows)
    for name in "ABCDE":
        mine = [row for row in shares.rows if row["condition"] == name]
        assert sum(row["predicted"] for row in mine) == pytest.approx(1)
        assert sum(row["observed"] for row in mine) == pytest.approx(1)


@pytest.mark.slow
def test_ratings_that_no_ordinal_model_makes_are_warned_of():
    rng = np.random.default_rng(3)
    scores = {}
    for r in range(16):
        for i in range(8):
            scores["A", f"r{r}", f"i{i}"] = float(rng.choice([1, 5]))  # the ends alone
            scores["B", f"r{r}", f"i{i}"] = float(rng.choice([2, 3, 4]))  # the middle alone
    made = in_keys(Ordinal().make(given(rows_of(scores))))
    assert any("fits these ratings badly" in text for text in made.warnings)


@pytest.mark.slow
@pytest.mark.parametrize("part", [Models, pytest.param(Ordinal, marks=pytest.mark.soak)])
def test_the_same_ratings_show_the_same_to_the_last_digit(part):
    once = shown_of_edge(part, "disjoint_raters")
    again = in_keys(part().make(given(edge("disjoint_raters"))))
    assert json.dumps(plain_of(once.plain())) == json.dumps(plain_of(again.plain()))


@pytest.mark.slow
def test_another_seed_draws_others():
    one = shown_of_edge(Models, "disjoint_raters")
    other = in_keys(Models().make(given(edge("disjoint_raters"), seed=7)))
    assert (
        table(one, "models-1-means")["A"]["bayes"] != table(other, "models-1-means")["A"]["bayes"]
    )


@pytest.mark.slow
@pytest.mark.usefixtures("answer_alone")
def test_a_report_holds_the_part_beside_the_clustered_means():
    ratings = heard_on_headphones("mos_s2")
    report = report_of(ratings, None, Options(replicates=100), made_at="x")
    (found,) = [part for part in report["parts"] if part["key"] == "models"]
    assert found["problem"] == ""
    means = table_from(found, "models-1-means")
    plain = [e for e in report["estimates"] if e["condition"] == "B" and e["breakdown"] == OVERALL]
    assert means["B"]["plain"] == plain[0]["value"]
    assert means["B"]["plain_low"] == plain[0]["low"]
    page = page_html(report)
    assert "Models and ranking" in page
    assert "A is the best with a probability of" in page
    (row,) = [row for row in table_from(found, "models-1-ranks").values() if row["p_best"] > 0.5]
    answer = next(part for part in report["parts"] if part["key"] == "answer")
    assert "not significantly different" in answer["sentences"][0]
    assert row["p_best"] < 0.975


OVERALL = "condition:"


def table_from(part, key):
    (found,) = [each for each in part["tables"] if each["key"] == key]
    return {row["condition"]: row for row in found["rows"]}
