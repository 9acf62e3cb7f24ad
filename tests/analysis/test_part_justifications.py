"""What reasons say: terms of any script, planted words and codes found, habits and chance not."""

import numpy as np
import pytest

from analysis.ratings.table import from_csv, from_rows, to_csv
from analysis.report.build import report_of
from analysis.report.html.page import page_html
from analysis.report.part import Part
from analysis.statistics.justifications import (
    TermTable,
    code_table,
    label_groups,
    term_log_odds,
    term_table,
    terms_of,
)
from analysis.statistics.options import Options
from listening.selectors import rating_rows
from tests.analysis.korn_graubard import korn_graubard
from tests.analysis.part_of import given_of, part_of, rows_of_table
from tests.analysis.rated_study import rated_study
from tests.analysis.reference import BLANK

PARTS = ("justifications", "example_reasons")
pytestmark = pytest.mark.usefixtures("answer_alone")

WORDS = {"Human": ["warm breath", "real laugh"], "Unclear": ["hard to say"],
         "Machine": ["robotic voice", "flat tone"]}  # fmt: skip
ZH = {"Human": ["有感情", "像真人"], "Unclear": ["说不清"], "Machine": ["很机械", "停顿不自然"]}
CODES = {"Human": "naturalness", "Unclear": "audio", "Machine": "prosody"}
SCORES = {"Human": 1.0, "Unclear": 0.5, "Machine": 0.0}


def reasoned(words=WORDS, raters=30, per_rater=20, filler="I think {}, that is it", seed=5):
    """Audio Turing Test ratings whose reasons hold words of their label, three times in four."""
    rng = np.random.default_rng(seed)
    labels = list(words)
    rows = []
    for r in range(raters):
        for k in range(per_rater):
            label = labels[rng.integers(3)]
            meant = label if rng.random() < 0.75 else labels[rng.integers(3)]
            said = words[meant][rng.integers(len(words[meant]))]
            condition = "AB"[int(rng.integers(2))]
            rows.append(
                BLANK
                | {"method": "att", "estimand": "hls", "criterion": "human", "task": "att"}
                | {"rater": f"r{r}", "session": f"s{r}", "position": k + 1, "counts": True}
                | {"item": f"i{k}", "condition": condition, "stimulus": f"{condition}{k}"}
                | {"label": label, "score": SCORES[label], "justification": filler.format(said)}
                | {"codes": CODES[meant] + "|audio" * (rng.random() < 0.1)}
            )
    return rows


@pytest.mark.parametrize(
    ("text", "holds", "lacks"),
    [
        (
            "It DOESN’T sound human-like; too robotic, 100 %",
            {"doesn't", "doesn't sound", "sound human-like", "too robotic"},
            {"100", "human-like too", "robotic 100", "'", ""},
        ),
        ("这个声音很机械。不自然", {"机械", "很机械", "不自然"}, {"械不", "械。"}),
        ("AI味", {"ai", "味"}, {"ai味"}),
        ("とても自然な声", {"自然", "自然な"}, set()),
        ("बहुत अच्छी आवाज़", {"बहुत", "अच्छी", "बहुत अच्छी"}, {"अच"}),
        ("Ｎａｔｕｒａｌ", {"natural"}, set()),
        ("", set(), {""}),
        ("?! 42 …", set(), {"42"}),
    ],
)
def test_terms_of_a_reason_in_any_script(text, holds, lacks):
    found = terms_of(text)
    assert holds <= found
    assert not lacks & found


def test_terms_that_always_stand_together_are_one_phrase():
    texts = [
        "hard to say",
        "well, hard to say",
        "so natural",
        "Natural!",
        "呼吸声真实",
        "有呼吸声真实",
    ]
    table = term_table(texts, np.arange(6), fewest_reasons=2, fewest_raters=2)
    assert table.terms == ("hard to say", "natural", "呼吸声真实")
    assert table.n_reasons.tolist() == [2, 2, 2]


def test_a_word_of_one_or_two_raters_alone_is_left_out():
    texts = ["my secret name"] * 50 + ["robotic"] * 6
    rater = np.array([0, 1] * 25 + [0, 1, 2] * 2)
    assert term_table(texts, rater).terms == ("robotic",)


def test_log_odds_and_their_variance_by_hand():
    """8 of 20 reasons against 2 of 30, a prior of 10; each reason has its own rater and item."""
    codes = ["x"] * 8 + ["y"] * 12 + ["x"] * 2 + ["y"] * 28
    table = code_table(codes, np.arange(50))
    label = np.repeat([0, 1], [20, 30])
    rows = term_log_odds(table, label, ["a", "b"], np.arange(50), np.arange(50), prior=10.0)
    row = next(row for row in rows if (row.label, row.term) == ("a", "x"))
    share = [(8 + 2) / 30, (2 + 2) / 40]
    odds = [each / (1 - each) for each in share]
    assert row.log_odds == pytest.approx(np.log(odds[0] / odds[1]))
    variance = 1 / 10 + 1 / 20 + 1 / 4 + 1 / 36
    assert row.z == pytest.approx(row.log_odds / variance**0.5)
    assert (row.share, row.other_share, row.n_raters) == (0.4, 2 / 30, 10)
    assert row.high - row.low == pytest.approx(2 * 1.959964 * variance**0.5, rel=1e-6)
    other = next(row for row in rows if (row.label, row.term) == ("b", "x"))
    assert other.log_odds == pytest.approx(-row.log_odds)


def test_a_raters_favourite_word_is_no_evidence_per_use():
    """Ten raters who always say x and always choose a: ten observations, not two hundred."""
    rater = np.repeat(np.arange(20), 20)
    label = (rater >= 10).astype(int)
    rng = np.random.default_rng(0)
    says = np.where(rater < 10, rater % 2 == 0, rater % 4 == 0)
    table = code_table(["x" if said else "y" for said in says], rater)
    item = rng.integers(0, 40, 400)
    alone = term_log_odds(table, label, ["a", "b"], np.arange(400), np.arange(400))
    together = term_log_odds(table, label, ["a", "b"], rater, item)
    assert alone[0].term == together[0].term == "x"
    assert alone[0].p < 1e-4
    assert together[0].p > 0.05


@pytest.mark.slow
def test_words_without_a_tie_to_labels_are_seldom_called_telling():
    """Raters with habits of words and of labels: 5 in 100 by chance, hardly any after adjusting."""
    p, wrong = [], 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rater, item = np.repeat(np.arange(80), 15), rng.integers(0, 40, 1200)
        leaning = 1 / (1 + np.exp(-rng.normal(0, 1.5, 80)))
        label = (rng.random(1200) < leaning[rater]).astype(int)
        habit = rng.uniform(-3.5, -1, 40) + rng.normal(0, 1.5, (80, 40))
        says = rng.random((1200, 40)) < 1 / (1 + np.exp(-habit[rater]))
        codes = ["|".join(f"c{v}" for v in np.flatnonzero(row)) for row in says]
        rows = term_log_odds(code_table(codes, rater), label, ["a", "b"], rater, item)
        rows = [row for row in rows if row.label == "a"]
        p += [row.p for row in rows]
        wrong += any(row.p_bh < 0.05 for row in rows)
    assert 0.02 < np.mean(np.array(p) < 0.05) < 0.09
    assert wrong <= 3


@pytest.mark.parametrize(
    ("words", "filler", "wanted"),
    [
        (WORDS, "I think {}, that is it", {"Human": {"warm breath", "real laugh"},
         "Unclear": {"hard to say"}, "Machine": {"robotic voice", "flat tone"}}),
        (ZH, "我觉得{}，就这样", {"Human": {"有感情", "像真人"}, "Unclear": {"说不清"},
         "Machine": {"很机械", "停顿不自然"}}),
    ],
)  # fmt: skip
@pytest.mark.medium
def test_planted_words_are_the_telling_ones_of_their_label(words, filler, wanted):
    shown = part_of("justifications", from_rows(reasoned(words, filler=filler)))
    told: dict[str, set[str]] = {}
    for row in rows_of_table(shown, "words"):
        told.setdefault(row["label"], set()).add(row["term"])
    for label, terms in wanted.items():
        for term in terms:
            assert any(term in found for found in told[label]), (label, term, told)
    shared = {"think", "i think", "that is it", "觉得", "就这样"}  # what all reasons say
    assert not shared & {term for terms in told.values() for term in terms}


@pytest.mark.medium
def test_codes_per_condition_are_shares_with_two_way_intervals():
    table = from_rows(reasoned())
    rows = {
        (row["code"], row["condition"]): row
        for row in rows_of_table(part_of("justifications", table), "codes")
    }
    assert len(rows) == 3 * 2
    mine = table[table["condition"] == "A"]
    y = mine["codes"].str.contains("prosody").to_numpy(dtype=float)
    rater, item = (np.unique(mine[name], return_inverse=True)[1] for name in ("rater", "item"))
    row = rows["prosody", "A"]
    low, high = korn_graubard(y, rater, item, (0, 1))  # both conditions vary alike, nearly
    assert row["share"] == pytest.approx(y.mean())
    assert (row["share_low"], row["share_high"]) == pytest.approx((low, high), abs=0.03)
    assert (row["n_with_code"], row["n_reasons"]) == (int(y.sum()), len(y))
    assert row["share_percent_low"] == pytest.approx(row["share_low"] * 100)


@pytest.mark.medium
def test_voices_of_a_system_share_a_column_of_codes():
    both = [row | {"system": "S"} for row in reasoned()]
    shown = part_of("justifications", from_rows(both))
    across = next(table for table in shown["tables"] if table["key"] == "codes-across")
    assert [column["heading"] for column in across["columns"]] == ["Code", "S"]
    long = {row["code"]: row for row in rows_of_table(shown, "codes")}
    assert {row["code"]: row["in S"] for row in across["rows"]} == {
        code: row["share"] for code, row in long.items()
    }
    assert f"Coded reasons: S {len(both)}" in across["note"]
    assert "by system: S" in " ".join(shown["sentences"])


@pytest.mark.medium
def test_codes_are_told_by_dimension_and_with_what_they_stand_together():
    rows = [row | {"dimension": f"d{n % 2}"} for n, row in enumerate(reasoned())]
    shown = part_of("justifications", from_rows(rows))
    coded = [set(row["codes"].split("|")) for row in rows]
    by = {
        (row["code"], row["condition"]): row for row in rows_of_table(shown, "codes-by-dimension")
    }
    mine = ["prosody" in codes for codes, row in zip(coded, rows, strict=True)
            if row["dimension"] == "d0"]  # fmt: skip
    assert by["prosody", "d0"]["share"] == pytest.approx(np.mean(mine))
    together = {(row["code"], row["other"]): row for row in rows_of_table(shown, "codes-together")}
    both = sum({"audio", "prosody"} <= codes for codes in coded)
    row = together["audio", "prosody"]
    assert row["n_both"] == both
    assert row["share_of_other"] == pytest.approx(both / sum("prosody" in c for c in coded))
    plain = part_of("justifications", from_rows(reasoned()))
    assert not any(table["key"] == "codes-by-dimension" for table in plain["tables"])


@pytest.mark.medium
def test_codes_go_with_the_labels_that_they_were_made_from():
    shown = part_of("justifications", from_rows(reasoned()))
    first = {}
    for row in rows_of_table(shown, "codes-by-label"):
        first.setdefault(row["label"], row["term"])
    assert first == CODES


@pytest.mark.medium
def test_without_codes_it_is_said_where_they_would_come_from():
    rows = [row | {"codes": ""} for row in reasoned()]
    shown = part_of("justifications", from_rows(rows))
    assert any("column codes" in text for text in shown["sentences"])
    assert not any(table["key"] == "codes" for table in shown["tables"])


@pytest.mark.medium
def test_codes_and_verdicts_come_back_from_a_csv(tmp_path):
    rows = [row | {"review": "fit" if k % 3 else "unfit"} for k, row in enumerate(reasoned())]
    table = from_rows(rows)
    to_csv(table, tmp_path / "r.csv")
    again = from_csv(tmp_path / "r.csv")
    assert again["codes"].equals(table["codes"])
    verdicts = rows_of_table(part_of("justifications", again, Options(rules=())), "verdicts")
    assert sum(row["n_reviewed"] for row in verdicts) == len(rows)
    assert verdicts[0]["share_fit"] + verdicts[0]["share_unfit"] == pytest.approx(1)


@pytest.mark.medium
def test_one_reason_for_several_clips_is_counted_for_none():
    rows = reasoned()
    for row in rows:
        row |= {"position": 1, "item": f"i{row['position']}"}
    shown = part_of("justifications", from_rows(rows))
    assert "stands for several clips" in shown["warnings"][0]
    assert {table["key"] for table in shown["tables"]} == {"reasons"}


def test_labels_are_put_together_where_there_are_many():
    rows = [
        BLANK | {"rater": f"r{k}", "item": "i", "score": y, "label": f"{y:g}", "counts": True}
        | {"stimulus": f"c{k}", "condition": "A"}
        for k, y in enumerate([1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5])
    ]  # fmt: skip
    table = from_rows(rows)
    groups = label_groups(table, "mos")
    assert groups.names == ("4.5 to 5", "3 to 4", "1 to 2.5")
    by_score = [groups.names[code] for code in groups.code[np.argsort(table["score"])]]
    assert by_score == sorted(by_score, key=groups.names.index, reverse=True)
    same = table.assign(score=3.0, label="3")
    assert label_groups(same, "mos").why_not == "all answers are alike"


def test_reasons_of_comparisons_are_told_by_the_clip_heard_as_better():
    rows = [
        BLANK | {"rater": f"r{k}", "item": f"i{k}", "stimulus": f"A{k}", "condition": "A"}
        | {"versus_stimulus": f"B{k}", "versus_condition": "B", "counts": True}
        | {"method": "cmos", "estimand": "cmos", "score": y, "presented_first": first}
        for k, (y, first) in enumerate([(2.0, "rated"), (2.0, "versus"), (0.0, "rated")])
    ]  # fmt: skip
    table = from_rows(rows)
    groups = label_groups(table, "cmos")
    told = dict(zip(table["rater"], [groups.names[code] for code in groups.code], strict=True))
    assert told == {
        "r0": "the first is better",
        "r1": "the second is better",
        "r2": "no difference",
    }
    unknown = label_groups(table.assign(presented_first=""), "cmos")
    assert "not known" in unknown.why_not


@pytest.mark.slow
def test_reasons_stand_word_for_word_by_label_and_system():
    rows = reasoned(filler="I think {}, says <b>Jane</b>")
    table = from_rows(rows)
    options = Options(intervals=("two_way",))
    report = report_of(table, options=options, made_at="now")
    page = page_html(report)
    assert "&lt;b&gt;Jane" in page
    assert "<b>Jane" not in page
    examples = part_of("example_reasons", table)
    found = rows_of_table(examples, "examples")
    assert {row["label"] for row in found} == set(WORDS)
    assert all(row["term"].split()[0] in row["reason"] for row in found)
    assert {row["condition"] for row in found} <= set(table["condition"])


def test_words_that_only_hold_a_sentence_together_are_no_terms():
    texts = ["it is the breath", "it is the breath", "the breath is in it", "it is warm"]
    found = set(term_table(texts, np.arange(4), fewest_reasons=2, fewest_raters=2).terms)
    assert "breath" in " ".join(found)
    assert not found & {"the", "is", "it", "it is", "is the"}


@pytest.mark.medium
def test_of_very_many_reasons_some_are_drawn_and_that_is_said(monkeypatch):
    monkeypatch.setattr("analysis.report.parts.justifications.MOST_REASONS", 200)
    table = from_rows(reasoned())
    shown = part_of("justifications", table)
    assert any("the words of 200 of 600 reasons, drawn by chance" in t for t in shown["sentences"])
    assert shown == part_of("justifications", table)


@pytest.mark.medium
def test_a_report_without_reasons_has_no_such_part():
    rows = [row | {"codes": "", "justification": ""} for row in reasoned()]
    assert not Part.registry["justifications"]().applies(given_of(from_rows(rows)))


def test_a_code_of_every_reason_tells_nothing():
    table = code_table(["x|y", "x", "x|y", "x"], np.arange(4))
    rows = term_log_odds(table, np.array([0, 0, 1, 1]), ["a", "b"], np.arange(4), np.arange(4))
    assert {row.term for row in rows} == {"y"}


def test_a_table_without_terms_gives_nothing():
    table = term_table(["a", "b"], np.arange(2))
    assert isinstance(table, TermTable)
    assert term_log_odds(table, np.array([0, 1]), ["x", "y"], np.arange(2), np.arange(2)) == []


@pytest.mark.medium
def test_codes_stand_once_per_task_and_words_by_each_criterion():
    rows = [
        {**row, "criterion": criterion}
        for row in reasoned(raters=12)
        for criterion in ("human", "warmth")
    ]
    shown = part_of("justifications", from_rows(rows))
    keys = [table["key"] for table in shown["tables"]]
    assert (keys.count("codes"), keys.count("words"), keys.count("reasons")) == (1, 2, 1)
    titles = [table["title"] for table in shown["tables"]]
    assert len(set(titles)) == len(titles)


@pytest.mark.slow
@pytest.mark.django_db
def test_reasons_of_a_study_reach_the_part_and_codes_wait_for_reviews():
    study = rated_study(raters=6)
    table = from_rows(rating_rows(study.key))
    assert set(table["codes"]) == {""}
    shown = part_of("justifications", table, Options(rules=()))
    assert "100% of" in shown["sentences"][0]
    assert any("column codes" in text for text in shown["sentences"])
