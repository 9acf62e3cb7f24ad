"""The tests by name, end to end through the part, are R's; and they say what they take as given."""

from functools import cache

import pytest

from analysis.ratings.table import from_csv
from analysis.report.parts.named_tests import OMNIBUS_TESTS, PAIR_TESTS, NamedTests
from analysis.statistics.options import Options
from tests.analysis.reference import (
    DATA,
    edge,
    expected,
    heard_on_headphones,
    mushra_s1,
    rows_of,
    table_of,
)
from tests.analysis.shown_by import given_of, in_keys, in_report, made, table_named
from tests.analysis.test_part_answer import rated

pytestmark = pytest.mark.usefixtures("answer_alone")

CLOSE = {"rel": 1e-6, "abs": 1e-12}
QUICK = Options(replicates=100, parts=("named_tests",))
HEADINGS = {(test, unit): heading for test, unit, heading in PAIR_TESTS}


def isolation():
    table = heard_on_headphones("mos_s1")
    return table[table["task"] == "isolation"]


def mushra():
    """mushra_s1 without the two raters whom R's post-screening left out."""
    table = mushra_s1("position")
    return table[~table["rater"].isin(expected("mushra_s1")["post_screening"]["removed"])]


SETS = {
    "mos_s1": (isolation, "pairs_isolation"),
    "att_s1": (lambda: table_of("att_s1"), "pairs_naive"),
}


@cache
def shown_of(name):
    make, _ = SETS[name]
    return made(NamedTests, make())


@pytest.fixture(scope="module", params=SETS)
def both(request):
    return shown_of(request.param), expected(request.param)[SETS[request.param][1]]


def results_of(shown, test, unit):
    """The rows of one test in full, by their pair."""
    table = table_named(shown, "named_tests-statistics")
    rows = [row for row in table.rows if row["name"] == HEADINGS[test, unit]]
    return {(row["condition"], row["versus"]): row for row in rows}


@pytest.mark.slow
@pytest.mark.parametrize("test", ["welch", "student"])
def test_t_tests_are_rs(both, test):
    shown, wanted = both
    mine = results_of(shown, test, "ratings")
    assert len(mine) == len(wanted)
    for row in wanted:
        found = mine[row["a"], row["b"]]
        told = [row["diff"], row[f"{test}_t"], row[f"{test}_df"], row[f"{test}_p"]]
        got = [found[k] for k in ("estimate", "statistic", "df", "p")]
        assert got == pytest.approx(told, **CLOSE)
        assert found["effect"] == pytest.approx(row["cohen_d_pooled"], **CLOSE)
        assert "ignores raters" in found["takes"]


@pytest.mark.slow
def test_mann_whitney_and_adjusted_p_are_rs(both):
    shown, wanted = both
    for test, p in (("mann_whitney", "mw_p"), ("welch", "welch_p")):
        mine = results_of(shown, test, "ratings")
        for row in wanted:
            found = mine[row["a"], row["b"]]
            told = [row[p], row[f"{p}_holm"], row[f"{p}_BH"]]
            assert [found[k] for k in ("p", "p_holm", "p_bh")] == pytest.approx(told, **CLOSE)
            if test == "mann_whitney":
                both_ = (row["mw_U"], row["cliffs_delta"], row["mw_p_cc"])
                got = (found["statistic"], found["effect"], found["p, continuity corrected"])
                assert got == pytest.approx(both_, **CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "key"), [("raters", "paired_rater"), ("items", "paired_text")])
def test_paired_tests_are_rs(both, unit, key):
    shown, wanted = both
    t, wilcoxon = (results_of(shown, test, unit) for test in ("paired_t", "wilcoxon"))
    for row in wanted:
        told, pair = row[key], (row["a"], row["b"])
        names = ("estimate", "statistic", "df", "p", "low", "high")
        got = [t[pair][k] for k in names]
        wanted_t = [told[k] for k in ("mean_diff", "t", "df", "p", "lo", "hi")]
        assert got == pytest.approx(wanted_t, **CLOSE)
        v = [wilcoxon[pair][k] for k in ("statistic", "p")]
        assert v == pytest.approx([told["wilcoxon_V"], told["wilcoxon_p"]], **CLOSE)


@pytest.mark.slow
def test_the_clustered_test_stands_beside_the_named_ones(both):
    shown, wanted = both
    rows = table_named(shown, "named_tests-pairs").rows
    assert len(rows) == len(wanted)
    assert all(row["clustered_p"] > row["welch_ratings_p"] for row in rows if row["clustered_p"])
    counts = table_named(shown, "named_tests-side-by-side").rows
    assert [row["test"] for row in counts] == ["Two-way clustered", *HEADINGS.values()]
    for row, key in zip(counts, ["clustered", *map("_".join, HEADINGS)], strict=True):
        assert row["differ"] == sum(each[f"{key}_p_holm"] < 0.05 for each in rows)
    assert "too narrow" in shown.warnings[0]


@pytest.mark.slow
def test_all_conditions_at_once_are_rs():
    rows = all_at_once(shown_of("mos_s1"))
    told = expected("mos_s1")
    assert len(rows) == len(OMNIBUS_TESTS)
    kruskal, friedman = rows["Kruskal-Wallis test", "ratings"], rows["Friedman test", "items"]
    assert kruskal["statistic"] == pytest.approx(told["kruskal_isolation"]["H"], **CLOSE)
    wanted = told["friedman_text_means_isolation"]
    got = [friedman["statistic"], friedman["df"], friedman["p"]]
    assert got == pytest.approx([wanted["chi2"], wanted["df"], wanted["p"]], rel=1e-6)
    anova, wanted = rows["one-way ANOVA", "ratings"], told["anova_oneway_isolation"]
    got = [anova["statistic"], anova["df"], anova["df2"]]
    assert got == pytest.approx([wanted["F"], wanted["df1"], wanted["df2"]], **CLOSE)


def all_at_once(shown):
    table = table_named(shown, "named_tests-all-at-once")
    return {(row["test"], row["unit"]): row for row in table.rows}


@pytest.mark.slow
def test_friedman_of_clips_over_raters_gives_kendalls_w_of_the_aligned_set():
    """Two hundred clips as conditions: too many to test in pairs, which is said."""
    clips, method = {"condition": "stimulus", "trap": "is_trap"}, {"method": "mos"}
    table = from_csv(DATA / "align_s1.csv.gz", clips, method)
    shown = in_keys(NamedTests().make(given_of(table, **report_rows(table))))
    mine = all_at_once(shown)["Friedman test", "raters"]
    told = expected("align_s1")["kendall_W_raters_over_clips"]
    got = [mine["statistic"], mine["df"], mine["effect"]]
    assert got == pytest.approx([told["chi2"], told["df"], told["W_tie_corrected"]], **CLOSE)
    assert "200 conditions make too many pairs" in shown.sentences[0]


def report_rows(table):
    """The overall means as a report has them, and no differences (they take long)."""
    from analysis.statistics.estimators.mean_score import MeanScore

    made = MeanScore(intervals=("two_way",), weightings=("ratings",)).fit(table)
    return {
        "estimates": [{"breakdown": "condition:", **each.row()} for each in made],
        "contrasts": [],
    }


@pytest.mark.slow
def test_repeated_measures_of_mushra_are_rs_and_friedmans_w():
    shown, told = made(NamedTests, mushra()), expected("mushra_s1")
    rows = {r["effect"]: r for r in table_named(shown, "named_tests-repeated-measures").rows}
    for mine, key in (("condition", "system"), ("item", "text"), ("condition:item", "interaction")):
        wanted = [told["rm_anova"][key][name] for name in ("F", "df1", "df2", "p")]
        got = [rows[mine][name] for name in ("f", "df", "df2", "p")]
        assert got == pytest.approx(wanted, rel=1e-6, abs=0)
    friedman, wanted = all_at_once(shown)["Friedman test", "raters"], told["friedman_rater_means"]
    got = [friedman["statistic"], friedman["p"], friedman["effect"]]
    assert got == pytest.approx([wanted["chi2"], wanted["p"], wanted["kendall_W"]], rel=1e-6)


@pytest.mark.medium
def test_settings_of_one_voice_are_compared_as_clark_et_al_do():
    table = heard_on_headphones("mos_s1")
    table = table[table["condition"] == "natural"].copy()
    table["condition"], table["task"] = table["task"], "t"
    mine = results_of(made(NamedTests, table), "welch", "ratings")
    for row in expected("mos_s1")["pairs_condition"]["natural"]:
        found = mine[row["a"], row["b"]]
        assert [found["statistic"], found["df"], found["p"]] == pytest.approx(
            [row["welch_t"], row["welch_df"], row["welch_p"]], **CLOSE
        )


@pytest.mark.slow
def test_it_is_made_when_asked_for_and_follows_kruskal_and_friedman_up():
    table = rated({"A": 4, "B": 3, "C": 2.9}, raters=5, items=4)
    shown, _ = in_report("named_tests", table, QUICK)
    rows = table_named(shown, "named_tests-post-hoc").rows
    assert {row["test"] for row in rows} == {"Dunn's test", "Nemenyi's test", "Conover's test"}
    assert "paired t" in shown.methods[0]
    assert not NamedTests.always


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "all_equal",
            "By the clustered t test 0 of 3 pairs differ (adjusted p < 0.05), by Welch's",
        ),
        ("one_rater", "The clustered t test cannot be made; by Welch's t test 0 of 1 pair"),
        ("separated", "By the clustered t test 0 of 3 pairs differ (adjusted p < 0.05)"),
        ("disjoint_raters", "0 of 1 pair differ (adjusted p < 0.05), by Welch's t test 1"),
        ("missing", "by Welch's t test 1: 1 of them only as it takes every rating"),
    ],
)
def test_edge_data_are_told_in_words(name, told):
    assert told in made(NamedTests, edge(name)).sentences[0]


@pytest.mark.slow
def test_undefined_tests_have_no_p_and_say_why():
    shown = made(NamedTests, edge("all_equal"))
    rows = table_named(shown, "named_tests-statistics").rows
    assert all(row["p"] is None and row["note"] for row in rows)
    alone = {("A", f"r{r}", "i"): r for r in range(4)} | {("B", f"r{r}", "i"): r for r in range(4)}
    told = all_at_once(made(NamedTests, rows_of(alone)))
    assert "fewer than two units" in told["Friedman test", "items"]["note"]
    assert not NamedTests().applies(given_of(edge("single_system")))
