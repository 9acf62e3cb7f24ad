"""The answer: order, tiers and words agree with R's groups; what is weak or unknown is said."""

import json
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from analysis.name_spans import resolve
from analysis.ratings.reference import reference_of
from analysis.ratings.table import from_csv
from analysis.report.parts.answer import Answer
from analysis.report.parts.answer.narrative import ranking_sentences
from analysis.report.ranking import rankings
from analysis.statistics.options import Options
from tests.analysis.korn_graubard import korn_graubard
from tests.analysis.reference import DATA, edge, expected, heard_on_headphones, rows_of, table_of
from tests.analysis.shown_by import given_of, in_report, made

pytestmark = pytest.mark.usefixtures("answer_alone")
QUICK = Options(replicates=100)


@pytest.fixture(scope="module")
def isolation():
    table = heard_on_headphones("mos_s1")
    return table[table["task"] == "isolation"]


def rated(means, raters=20, items=12, spread=0.6, seed=1, **fields):
    """Everybody rates everything; conditions differ by their means alone."""
    rng = np.random.default_rng(seed)
    bias = rng.normal(0, 0.3, raters)
    scores = {
        (name, f"r{r}", f"i{i}"): float(mean + bias[r] + rng.normal(0, spread))
        for name, mean in means.items()
        for r in range(raters)
        for i in range(items)
    }
    return rows_of(scores, **{"estimand": "choice", **fields})


def sentence(table, options=None):
    (text,) = made(Answer, table, options).sentences
    return text


def warned(table, options=None):
    return " ".join(made(Answer, table, options).warnings)


@pytest.mark.medium
def test_letters_and_tiers_of_the_turing_test_are_rs():
    shown = made(Answer, table_of("att_s1"))
    told = expected("att_s1")["groups"]["lmm_att"]
    (table,), (figure,) = shown.tables, shown.figures
    assert [row["condition"] for row in table.rows] == told["order"]
    # R's are by Holm's steps, which have no intervals; in one step the first two do not differ
    letters = dict(zip(told["order"], "aabcd", strict=True))
    assert told["letters"] == dict(zip(told["order"], "abcde", strict=True))
    assert {row["condition"]: row["letters"] for row in table.rows} == letters
    assert [row["tier"] for row in table.rows] == [1, 1, 2, 3, 4]
    assert [(row["name"], row["mark"]) for row in figure.rows] == list(letters.items())
    assert figure.ends == (0, 1)
    assert (
        "Seed-TTS and MiniMax-Speech score highest (HLS 0.409 and 0.379) and are not significantly "
        "different. Both score significantly higher than" in shown.sentences[0]
    )


@pytest.mark.medium
def test_genuine_recordings_among_the_traps_say_how_near_to_human_that_is():
    table = table_of("att_s1")
    traps = table[table["trap"] == "human"]
    told = f"got {traps['score'].mean():.3f} before any rule ({len(traps):,} ratings)"
    assert told in sentence(table)


@pytest.mark.medium
def test_what_cannot_be_told_apart_is_named_together_and_the_reference_apart(isolation):
    text = sentence(isolation)
    assert text.startswith(
        "sysB, sysA, sysC and sysD score highest of the systems (MOS 3.98, 3.94, 3.93 and 3.76) "
        "and are not significantly different. All 4 score significantly higher than sysH, sysI, "
        "sysJ and sysK, and sysB scores significantly higher than sysG, sysE and sysF too ("
    )
    assert (
        "Relative to natural (MOS 4.34), taken as the reference by its name: all 11 score "
        "significantly lower, nearest sysB" in text
    )
    assert "nearest sysB (−0.35 [−0.54, −0.16])" in text


@pytest.mark.slow
def test_the_numbers_are_those_of_the_report():
    table = rated({"A": 4, "B": 2, "C": 2.1}, raters=5, items=4)
    shown, report = in_report("answer", table, QUICK)
    rows = {
        row["condition"]: row
        for row in report["estimates"]
        if row["interval"].startswith("two-way") and row["weighting"] == "ratings"
    }
    for mine in shown.tables[0].rows:
        theirs = rows[mine["condition"]]
        assert [mine[k] for k in ("mean", "low", "high")] == [
            theirs[k] for k in ("value", "low", "high")
        ]
        assert mine["naive_low"] is not None
    assert json.loads(json.dumps(report, allow_nan=False))["parts"]
    alone = made(Answer, table)
    assert alone.sentences == shown.sentences


@pytest.mark.medium
def test_the_interval_that_claims_rest_on_is_there_whatever_others_are_asked_for(isolation):
    (s,) = rankings(given_of(isolation))
    bootstrap = Options(intervals=("bootstrap",), replicates=100)
    assert bootstrap.intervals == ("two_way", "bootstrap")
    (other,) = rankings(given_of(isolation, bootstrap))
    assert other.tiers == s.tiers


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("all_equal", "Every rating is 3: these ratings do not tell the conditions apart."),
        ("one_rater", "one rater only: how raters differ cannot be estimated"),
        ("one_rating", "A has an MOS of 0.50 (one rating only: no interval)"),
        ("separated", "from A (MOS 1.00) to B (0.00), a difference of +1.00 ["),
        ("missing", "D (4.00) is excluded from the comparisons (one rating only: no interval)."),
        (
            "disjoint_raters",
            "B (MOS 4.31) and A (3.67) are not significantly different: the difference is +0.65",
        ),
        ("unicode", '系统甲 (MOS 0.50) and “Sys "B", v2” (0.33) are not significantly different'),
    ],
)
def test_edge_data_are_answered_honestly(name, told):
    assert told in sentence(edge(name))


@pytest.mark.medium
def test_a_system_alone_has_korn_and_graubards_interval():
    table = edge("single_system")
    codes = [pd.factorize(table[name])[0] for name in ("rater", "item")]
    low, high = korn_graubard(table["score"].to_numpy(), *codes, (1, 5))
    told = f"A has an MOS of 2.67 [{low:.2f}, {high:.2f}]; there is no other condition"
    assert told in sentence(table)


def test_where_nothing_is_rated_there_is_no_answer():
    assert not Answer().applies(given_of(edge("empty")))


def ordered(differ, reference=""):
    """The sentence where only the pairs named differ, such as AC for A and C."""
    (s,) = rankings(given_of(rated({"A": 5, "B": 4, "C": 3, "D": 2}, raters=4, items=3)))
    pairs = {frozenset(pair) for pair in differ.split()}
    changed = {}
    for pair, found in s.differences.items():
        claimed = frozenset(pair) in pairs
        p = 0.01 if claimed else 0.9
        changed[pair] = replace(found, claimed=claimed, p_adjusted=p)
    told = replace(s, differences=changed, wanted_reference=reference)
    text = resolve(ranking_sentences(told, told.reference))
    return re.sub(r" \([^()]*\d[^()]*\)", "", text)  # without numbers


@pytest.mark.slow
@pytest.mark.parametrize(
    ("differ", "told"),
    [
        ("AC AD BC BD CD", "A and B score highest and are not significantly different. Both score"),
        ("AC AD BD", "higher than D, and A scores significantly higher than C too."),
        ("AC AD", "than C and D; B does not score significantly higher than all of these."),
        (
            "BC AD BD CD",
            "A scores highest but is not significantly different from B and C, some of",
        ),
        ("BC", "A scores highest but is not significantly different from any other system. Some"),
        (
            "AB AC AD",
            "A scores highest. It scores significantly higher than all 3 others. Next is B",
        ),
        ("", "None of the 4 systems is significantly different from another. The means run"),
    ],
)
def test_every_shape_of_an_order_has_its_words(differ, told):
    assert told in ordered(differ)


@pytest.mark.medium
def test_what_equals_and_what_beats_the_reference_is_told():
    text = ordered("AC AD", "C")
    assert "C, the chosen reference: A scores significantly higher; B" in text
    assert "are not significantly different, which does not show that they are equal" in text


@pytest.mark.medium
def test_two_and_none_that_differ_are_put_in_words():
    assert "scores significantly higher than B (" in sentence(rated({"A": 4, "B": 2}))
    alike = sentence(rated({"A": 3, "B": 3, "C": 3}, raters=8))
    assert alike.startswith("None of the 3 systems is significantly different from another")
    assert alike.endswith("This does not show that they are equal.")


@pytest.mark.medium
def test_the_lowest_rank_is_the_first():
    text = sentence(rated({"good": 1, "fair": 2, "poor": 3}, spread=0.3, estimand="rank"))
    assert text.startswith("good (Rank 0.9") or text.startswith("good (Rank 1.0")
    assert "is ranked first, followed by fair" in text


@pytest.mark.medium
def test_a_reference_is_asked_for_or_called_so():
    assert reference_of(["A", "Ground_Truth"]).name == "Ground_Truth"
    assert not reference_of(["NaturalSpeech 3", "A"])
    both = reference_of(["human", "natural"])
    assert not both
    assert "name one" in both.why
    assert reference_of(["human", "natural"], "natural").name == "natural"
    table = rated({"A": 4, "B": 2})
    assert "X was asked for as the reference but was not rated" in warned(
        table, Options(reference="X")
    )
    assert "Relative to A (Choice 3.94), the chosen reference: B (−1.91" in sentence(
        table, Options(reference="A")
    )


@pytest.mark.medium
def test_scores_of_two_tasks_are_answered_apart_and_not_compared():
    both = pd.concat([rated({"A": 4, "B": 2}), rated({"A": 4, "B": 2}, task="u")])
    shown = made(Answer, both.reset_index(drop=True))
    assert [text.partition(":")[0] for text in shown.sentences] == [
        "Choice · t · naturalness",
        "Choice · u · naturalness",
    ]
    assert "are of different tasks: do not compare them" in shown.warnings[-1]
    assert len({table.key for table in shown.tables}) == 2


@pytest.mark.parametrize(("finders", "told"), [(1, "would leave 1 of 20 raters"), (15, "")])
@pytest.mark.medium
def test_a_post_screening_that_leaves_few_raters_is_a_limitation(finders, told):
    """Whoever does not find the hidden reference rates it as the system beside it."""
    scores = {
        (name, f"r{r:02}", f"i{i}"): float(95 + (r + i) % 5 if found else 40 + (7 * r + i) % 30)
        for r in range(20)
        for i in range(10)
        for name in ("ref", "sys")
        for found in [name == "ref" and r < finders]
    }
    table = rows_of(scores, method="mushra", estimand="mushra")
    table.loc[table["condition"] == "ref", "role"] = "reference"
    table.loc[table["condition"] == "sys", "role"] = "test"
    found = warned(table)
    assert told in found
    assert ("post-screening of ITU-R BS.1534-3" in found) is bool(told)
    assert warned(table.assign(role="")) == found  # another tool's table names it alone


@pytest.mark.slow
def test_weak_claims_are_warned_of():
    assert "B and A have no rater in common" in warned(edge("disjoint_raters"))
    assert "only 8 raters and 6 items" in warned(edge("disjoint_raters"))
    assert "unbalanced: B has 25 ratings and C 7" in warned(edge("missing"))
    running = rated({"A": 4, "B": 2})
    assert warned(running) == ""
    running.loc[running["rater"] == "r1", "session_status"] = "started"
    assert "1 session is still running, so these numbers may change" in warned(running)
    apart = rated({"A": 4, "B": 2})
    apart.loc[apart["condition"] == "A", "item"] += "x"
    assert "A and B have less than half of their items in common" in warned(apart)
    assert "--column item=NAME" not in warned(apart)
    assert "--column item=NAME" in warned(apart.assign(item=apart["stimulus"]))
    many = rated({f"c{n}": 3 + n / 25 for n in range(8)}, raters=10)
    assert "only before adjustment, not claimed: of 28 pairs, about 1.4" in warned(many)
    alone = warned(running[running["rater"] == "r2"].reset_index(drop=True))
    assert "only 1 rater and 12 items, so there is no interval" in alone


@pytest.mark.medium
def test_a_reference_that_is_the_worst_of_all_puts_the_scale_in_doubt():
    grades = rated({"Human": 2, "A": 3, "B": 4}, spread=0.3, estimand="mos", method="mos", study="")
    found = warned(grades)
    assert "the reference, Human, is the worst of all: perhaps the scale is reversed" in found
    assert "(6 − score on 1 to 5)" in found
    assert "reversed" not in warned(grades.assign(score=6 - grades["score"]))
    assert "reversed" not in warned(grades.assign(study="of Earnest"))
    baseline = grades.replace({"condition": {"Human": "baseline"}})
    assert "reversed" not in warned(baseline, Options(reference="baseline"))
    places = rated({"human": 3, "A": 2, "B": 1}, spread=0.1, estimand="rank", study="")
    assert "minus the score." in warned(places)


@pytest.mark.medium
def test_systems_without_a_score_are_named():
    table = rated({"A": 4, "B": 2, "C": 3}, spread=0.1, estimand="mos", method="mos")
    table.loc[table["condition"] == "C", "score"] = np.nan
    assert warned(table) == "No rating is left of C."
    pairs = versus({(c, "r0", "i0"): y for c, y in {"A": 1.0, "C": np.nan}.items()}, "cmos")
    assert "No rating is left of C against V." in warned(pairs)


@pytest.mark.slow
def test_busy_raters_floors_and_one_who_gave_most_are_warned_of():
    table = rated({"A": 3, "B": 3}, raters=12)
    keen = table[table["rater"] == "r0"]
    more = pd.concat([table, *[keen.assign(item=keen["item"] + f"-{n}") for n in range(9)]])
    assert "one rater gave 48% of the ratings" in warned(more.reset_index(drop=True))
    top = rated({"ref": 5, "A": 5, "B": 2}, spread=0.0, estimand="mos")
    top["score"] = top["score"].clip(1, 5).round()
    assert (
        "ceiling effect: over 60% of the ratings of A are at the top of the scale (5)."
        in warned(top)
    )
    top["score"] = top["score"].clip(1, 4)
    assert "effect" not in warned(top), "4 is no end of the scale"
    few = pd.concat([top, top.head(1).assign(condition="once", score=5.0)], ignore_index=True)
    assert "effect" not in warned(few), "one rating is no crowd"
    floor = warned(table_of("att_s1"))
    assert "where every rater weighs the same" in floor
    assert "of CosyVoice, GPT-4o and Step-Audio are at the bottom of the scale (0)" in floor


def versus(scores, estimand, other="V"):
    rows = rows_of(scores, estimand=estimand, method=estimand)
    rows["versus_condition"] = other
    return rows


@pytest.mark.medium
def test_comparisons_against_one_side_say_who_won():
    rng = np.random.default_rng(2)
    scores = {
        (name, f"r{r}", f"i{i}"): float(np.clip(round(mean + rng.normal(0, 0.8)), -3, 3))
        for (name, mean), r, i in product({"A": 1, "B": 0, "C": -1}.items(), range(12), range(12))
    }
    shown = made(Answer, versus(scores, "cmos"))
    (text,), (figure,) = shown.sentences, shown.figures
    assert text.startswith("Against V: A (+")
    assert "is preferred (p < 0.05, adjusted for 3 pairs); B (" in text
    assert "is not significantly different; C (−" in text
    assert figure.at == (0,) or list(figure.at) == [0]
    assert [row["mark"] for row in figure.rows] == ["*", "", "*"]


@pytest.mark.slow
def test_a_round_of_comparisons_is_decided_as_the_part_on_pairs_decides_it():
    from analysis.statistics.pairs.means_of_pairs import pair_means
    from analysis.statistics.pairs.pair_ratings import pairs_of

    table = table_of("cmos_s1")
    found = pair_means(pairs_of(table))
    clear = sum(pair.mean.claimed(0.95) for pair in found)
    shown = made(Answer, table)
    (told,) = shown.sentences
    assert told.startswith(f"{clear} of {len(found)} pairs differ significantly")
    assert ". v3 won 5 of 5; v4 lost 5 of 5. The largest difference is v3 over" in told
    (best,) = [pair.mean for pair in found if {pair.condition, pair.versus} == {"v3", "v4"}]
    ends = sorted((abs(best.low_all), abs(best.high_all)))
    assert f"v3 over v4 (+1.35 [{ends[0]:.2f}, {ends[1]:.2f}])" in told
    (figure,) = shown.figures
    assert [row["value"] >= 0 for row in figure.rows] == [True] * 15
    assert "v3 versus base" in [row["name"] for row in figure.rows]


@pytest.mark.medium
def test_abx_is_about_guessing_whichever_was_named_first():
    rng = np.random.default_rng(3)
    scores = {
        (a, f"r{r}", f"i{i}"): float(rng.random() < share)
        for (a, share), r, i in product({"A": 0.9, "B": 0.5}.items(), range(15), range(10))
    }
    text = sentence(versus(scores, "abx"))
    assert text.startswith("The difference is heard in A versus V (")
    assert "not significantly better than guessing in B versus V (" in text


@pytest.mark.medium
def test_labels_without_scores_are_counted():
    scores = {(c, f"r{r}", f"i{i}"): 0 for c, r, i in product("AB", range(6), range(5))}
    table = rows_of(scores, method="free_choice", estimand="choice")
    table["score"] = np.nan
    table["label"] = np.where(table["condition"] == "A", "happy", "sad")
    table.loc[table["rater"] == "r0", "label"] = "angry"
    shown, _ = in_report("answer", table, QUICK)
    assert "happy for A (83 %" in shown.sentences[0]
    assert "sad for B (83 %" in shown.sentences[0]
    (figure,) = shown.figures
    assert figure.drawing == "shares"


@pytest.mark.medium
def test_a_csv_of_turing_ratings_is_answered_without_a_report():
    table = from_csv(
        DATA / "edge" / "edge_one_rater.csv",
        columns={"condition": "system", "item": "text", "method": "task", "trap": "is_trap"},
        ignore=["condition"],
    )
    assert made(Answer, table).tables[0].rows[0]["low"] is None
