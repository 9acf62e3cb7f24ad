"""The part `pairs`: R's numbers from a table end to end, ABX, and tables with no clear answer."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.ratings.table import from_rows
from analysis.report.content import Content
from analysis.report.part import PartInput
from analysis.report.parts.pairs import Pairs
from analysis.statistics.options import Options
from analysis.statistics.screening.screened import screen
from tests.analysis.part_of import part_of
from tests.analysis.reference import BLANK, DATA, expected
from tests.analysis.shown_by import in_keys

NO_RULES = Options(rules=(), replicates=100)


def compared(frame: pd.DataFrame, **fields) -> pd.DataFrame:
    """A ratings table of a frame of pairs (rater, system_a, system_b, text, score, first)."""
    kind = {"task": "pairs", "method": "cmos", "estimand": "cmos", "criterion": ""}
    return from_rows(
        BLANK
        | kind
        | {
            "rater": str(row["rater"]),
            "session": str(row["rater"]),
            "condition": row["system_a"],
            "versus_condition": row["system_b"],
            "item": str(row["text"]),
            "stimulus": f"{row['system_a']}_{row['text']}",
            "versus_stimulus": f"{row['system_b']}_{row['text']}",
            "presented_first": {"a": "rated", "b": "versus"}.get(row["first"], ""),
            "score": float(row["score"]),
        }
        | fields
        for row in frame.to_dict("records")
    )


def reference(name: str) -> pd.DataFrame:
    return compared(pd.read_csv(DATA / f"{name}.csv.gz"))


def edge(name: str) -> pd.DataFrame:
    return compared(pd.read_csv(DATA / "edge" / f"edge_{name}.csv"))


def shown(table: pd.DataFrame, options: Options = NO_RULES) -> Content:
    screened = screen(table, options.rules)
    return in_keys(Pairs().make(PartInput(screened.kept(options.rules), screened, options)))


def made(rows: int = 240, **fields) -> pd.DataFrame:
    """Comparisons of a with b, seeded: a wins more often."""
    rng = np.random.default_rng(1)
    n = np.arange(rows)
    frame = {
        "rater": [f"r{i % 12}" for i in n],
        "text": [f"t{i // 12}" for i in n],
        "system_a": "a",
        "system_b": "b",
        "first": np.where(n % 2, "a", "b"),
        "score": rng.choice([1.0, 1.0, 0.5, 0.0], rows),
    }
    return compared(pd.DataFrame(frame), **fields)


def rows_of(found: Content, key: str) -> list[dict]:
    (table,) = [table for table in found.tables if table.key == key]
    return list(table.rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cmos_s1", "cmos_s2"])
def test_the_part_holds_rs_means_tests_and_order_effect(name):
    part = part_of("pairs", reference(name), NO_RULES)
    tables = {table["key"]: table["rows"] for table in part["tables"]}
    ours = {(row["condition"], row["versus"]): row for row in tables["pairs"]}
    told = expected(name)
    assert len(ours) == len(told["pairs"])
    for row in told["pairs"]:
        sign = 1 if (row["a"], row["b"]) in ours else -1
        mine = ours[(row["a"], row["b"])[::sign]]
        assert mine["mean"] * sign == pytest.approx(row["cmos"], rel=1e-6)
        assert mine["mean_naive_p"] == pytest.approx(row["p"], rel=1e-6)
        assert mine["naive_p_adjusted"] == pytest.approx(row["p_holm"], rel=1e-6)
        assert mine["wilcoxon_p"] == pytest.approx(row["wilcoxon_p"], rel=1e-6)
        assert mine["sign_p"] == pytest.approx(row["sign_p"], rel=1e-6)
        shares = (mine["win_share"], mine["tie_share"], mine["loss_share"])[::sign]
        counts = (row["win"], row["tie"], row["loss"])
        assert shares == pytest.approx([count / row["n"] for count in counts])
        assert mine["low"] <= mine["alone_low"] < mine["naive_low"]
        assert mine["naive_high"] < mine["alone_high"] <= mine["high"]
    bias = told["order_bias"]
    raw = tables["order_effect"][0]
    got = (raw["value"], raw["naive_low"], raw["naive_high"], raw["naive_p"])
    close = (bias["mean_score_raw"], bias["lo"], bias["hi"], bias["p"])
    assert got == pytest.approx(close, rel=1e-6)
    matters = any("Order matters" in text for text in part["warnings"])
    within = tables["order_effect"][1]
    assert matters == (within["low"] > 0) == (name == "cmos_s1")  # of ten raters it is not clear


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("cumulative probit", "clm_symmetric_probit"),
        ("Davidson", "davidson_order"),
        ("least squares", "thurstone_lm"),
    ],
)
def test_the_strengths_of_a_table_are_rs(model, key):
    found = rows_of(shown(reference("cmos_s1")), "strengths_by_model")
    ours = {row["name"]: row["value"] for row in found if row["model"].startswith(model)}
    coefficients = expected("cmos_s1")[key]["coef"]
    for name in ("v1", "v2", "v3", "v4", "v5"):
        assert ours[name] - ours["base"] == pytest.approx(coefficients[name], rel=1e-4)


@pytest.mark.slow
def test_graded_answers_are_put_in_order_and_drawn():
    found = shown(reference("cmos_s1"))
    assert found.sentences[1].startswith("Order by strength: v3 > v1 > v2 > v5 > base > v4")
    drawings = {figure.key: figure for figure in found.figures}
    assert set(drawings) == {"pairs", "pair_shares", "strengths", "win_matrix"}
    best = drawings["strengths"].rows[0]
    assert best["name"] == "v3"
    assert best["low"] < best["naive_low"] < best["naive_high"] < best["high"]
    cells = {(row["row"], row["column"]): row["value"] for row in drawings["win_matrix"].rows}
    assert cells["v3", "v4"] + cells["v4", "v3"] == pytest.approx(1)
    assert cells["v3", "v3"] is None


@pytest.mark.medium
def test_an_unbeaten_condition_has_a_finite_strength_by_a_bias_reduced_model():
    found = shown(edge("bt_unbeaten"))
    assert any(text.startswith("A was never beaten") for text in found.warnings)
    strengths = rows_of(found, "strengths")
    assert strengths[0]["name"] == "A"
    assert {row["mark"] for row in strengths} == {"a"}
    assert "bias-reduced" in strengths[0]["model"]
    assert "0 of 3 pairs differ significantly" in found.sentences[0]
    told = {row["name"]: row for row in rows_of(found, "pairs")}
    assert told["A against B"]["mean_p"] >= 0.125  # 4 raters
    assert "all answers are equal" in told["A against B"]["note"]
    assert any("none differs significantly" in text for text in found.sentences)


@pytest.mark.medium
def test_groups_that_never_met_have_no_common_ranking():
    found = shown(edge("bt_disconnected"))
    assert any("A, B | C, D" in text and "no common ranking" in text for text in found.warnings)
    groups = {row["name"]: row["group"] for row in rows_of(found, "strengths")}
    assert groups == {"A": "A, B", "B": "A, B", "C": "C, D", "D": "C, D"}
    assert not any("A > " in text or "B > " in text for text in found.sentences)


@pytest.mark.medium
def test_a_cycle_has_equal_strengths_and_is_told():
    found = shown(edge("bt_cycle"))
    strengths = [row["value"] for row in rows_of(found, "strengths")]
    assert strengths == pytest.approx([0, 0, 0], abs=1e-6)
    assert any("A over B over C over A" in text for text in found.sentences)
    majorities = rows_of(found, "triads")[0]
    assert (majorities["circular"], majorities["mean_consistence"]) == (1, 0)


@pytest.mark.medium
def test_only_ties_have_no_winner_and_no_model():
    found = shown(edge("bt_all_ties"))
    assert any(text.startswith("Every answer is a tie") for text in found.sentences)
    assert not any(figure.key == "strengths" for figure in found.figures)
    assert all(row["tie_share"] == 1 for row in rows_of(found, "pairs"))


@pytest.mark.medium
def test_ab_is_told_as_a_share():
    table = made(method="ab", estimand="ab")
    found = shown(table)
    (row,) = rows_of(found, "pairs")
    assert row["value"] == pytest.approx(table["score"].mean())
    (figure,) = [figure for figure in found.figures if figure.key == "pairs"]
    assert (figure.at, figure.ends) == ((0.5,), (0.0, 1.0))
    decided = table["score"][table["score"] != 0.5]
    exact = stats.binomtest(int(decided.sum()), len(decided)).pvalue
    assert row["sign_p"] == pytest.approx(exact)
    assert "a is preferred" in found.sentences[0]


@pytest.mark.medium
def test_abx_is_held_against_guessing_exactly_and_clustered():
    table = made().assign(method="abx", estimand="abx")
    table["score"] = (table["score"] > 0).astype(float)
    found = shown(table)
    (row,) = rows_of(found, "abx")
    right = int(table["score"].sum())
    exact = stats.binomtest(right, len(table), 0.5, "greater")
    assert row["exact_p"] == pytest.approx(exact.pvalue)
    told = stats.binomtest(right, len(table), 0.5).proportion_ci(0.95, "exact")
    assert (row["naive_low"], row["naive_high"]) == pytest.approx((told.low, told.high))
    assert row["low"] < row["value"] < row["high"]
    assert "more often than by guessing" in found.sentences[0]


@pytest.mark.medium
def test_abx_by_guessing_claims_no_equality():
    table = made().assign(method="abx", estimand="abx")
    table["score"] = np.arange(len(table)) // 2 % 2 * 1.0
    assert "does not show that there is no difference" in shown(table).sentences[0]


@pytest.mark.medium
def test_a_first_clip_that_is_unknown_is_a_warning():
    found = shown(made(presented_first=""))
    assert any("give the column presented_first" in text for text in found.warnings)
    assert not any(table.key == "order_effect" for table in found.tables)


@pytest.mark.medium
def test_an_order_that_never_varied_within_a_pair_has_no_effect_of_its_own():
    table = made(600)
    table["presented_first"] = "rated"
    turned = table.assign(condition="b", versus_condition="c", presented_first="versus")
    found = shown(pd.concat([table, turned], ignore_index=True))
    assert any("so its mean includes the effect of that order" in text for text in found.warnings)
    assert not any(table.key == "order_effect" for table in found.tables)


@pytest.mark.medium
def test_orders_that_are_not_balanced_point_to_the_balanced_means():
    table = made(600)
    second = np.arange(len(table)) % 4 > 0
    table["presented_first"] = np.where(second, "versus", "rated")
    table["score"] = np.where(second, 1.0, -1.0) + np.arange(len(table)) % 3 - 1
    found = shown(table)
    assert any("not heard equally often (a and b)" in text for text in found.warnings)


@pytest.mark.medium
def test_a_clip_that_is_always_second_is_seen_whichever_way_the_pair_is_named():
    table = made(600)
    turned = np.arange(len(table)) % 2 > 0
    table.loc[turned, ["condition", "versus_condition"]] = ["b", "a"]
    second = np.arange(len(table)) % 10 > 0  # a comes second, nine times of ten
    table["presented_first"] = np.where(second == turned, "rated", "versus")
    table["score"] = np.where(turned, -1.0, 1.0) * np.where(second, 1.0, -1.0)
    table["score"] += np.arange(len(table)) % 3 - 1
    found = shown(table)
    assert any("not heard equally often (a and b)" in text for text in found.warnings)


@pytest.mark.medium
def test_wins_ties_and_losses_stand_under_their_headings():
    (table,) = [table for table in shown(made()).tables if table.key == "pairs"]
    headed = {column.heading: column.key for column in table.columns}
    keys = (headed["Wins"], headed["Ties"], headed["Losses"])
    assert keys == ("win_share", "tie_share", "loss_share")


@pytest.mark.medium
def test_two_criteria_are_kept_apart():
    one, other = made(criterion="quality"), made(criterion="rhythm")
    found = shown(pd.concat([one, other], ignore_index=True))
    assert {table.key for table in found.tables} >= {"pairs_1", "pairs_2"}
    assert all(text.startswith("CMOS · pairs · ") for text in found.sentences)


@pytest.mark.medium
def test_a_condition_against_itself_is_left_out_and_told():
    table = made()
    table.loc[:9, "versus_condition"] = "a"
    found = shown(table)
    assert rows_of(found, "pairs")[0]["n_ratings"] == len(table) - 10
    assert any("10 ratings compare a condition with itself" in text for text in found.warnings)


@pytest.mark.medium
def test_it_applies_to_comparisons_only():
    plain = made(versus_condition="", method="mos", estimand="mos")
    screened = screen(plain, ())
    assert not Pairs().applies(PartInput(plain, screened, NO_RULES))
    pairs = made()
    assert Pairs().applies(PartInput(pairs, screen(pairs, ()), NO_RULES))
