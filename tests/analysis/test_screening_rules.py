"""Rules by sessions, justifications, references and raters, against known truth and by hand."""

import json

import numpy as np
import pytest

from analysis.ratings.table import from_rows
from analysis.statistics.screening.mushra_rules import HiddenReference, MidAnchor
from analysis.statistics.screening.offered import offered_rules
from analysis.statistics.screening.rater_rules import (
    Correlation,
    Disagreement,
    InconsistentRepeats,
    Variance,
    _scales,
)
from analysis.statistics.screening.rule import Rule
from analysis.statistics.screening.rule_text import rule_from, rule_text, versioned_text
from analysis.statistics.screening.screened import screen
from analysis.statistics.screening.session_rules import (
    AttentionTraps,
    FewRatings,
    GoldTraps,
    Headphones,
)
from analysis.statistics.screening.single_ratings import AnswerTime, NoJustification, Review
from tests.analysis.reference import BLANK, expected, mushra_s1, table_of

BAD_OF_MOS = {"m001", "m002", "m010", "m074", "m096"}  # mos_s1.truth.json: they answer at random


def row(**fields):
    given = BLANK | {"condition": "A", "score": 3.0, "label": "3", **fields}
    given["session"] = given["session"] or given["rater"]
    return given | {"stimulus": given["stimulus"] or f"{given['condition']}_{given['item']}"}


def out(rows, rule):
    """{rater: reason} of everything that the rule leaves out."""
    table = from_rows(rows) if isinstance(rows, list) else rows
    reasons = rule.reasons(table)
    assert reasons.shape == (len(table),)
    return dict(zip(table["rater"][reasons != ""], reasons[reasons != ""], strict=True))


@pytest.fixture(scope="module")
def mushra():
    return mushra_s1()


def test_post_screening_of_mushra_leaves_out_whom_r_left_out(mushra):
    rule = rule_from("hidden_reference:condition=ref")
    found = out(mushra, rule)
    assert sorted(found) == expected("mushra_s1")["post_screening"]["removed"]
    assert found["u16"] == "hidden reference below 90 on 92% of the items, more than 15%"
    kept = screen(mushra, [rule]).kept([rule])
    assert len(kept) == len(mushra) * 22 // 24
    assert "condition=ref" in HiddenReference().lacking(mushra)
    assert rule.lacking(mushra) == ""


def test_the_mid_anchor_is_held_against_those_who_take_it_for_the_reference(mushra):
    assert out(mushra, MidAnchor()) == {}
    table = mushra.copy()
    mine = (table["rater"] == "u05") & (table["condition"] == "anchor70")
    table.loc[mine, "score"] = [95.0] * 2 + [40.0] * 10  # 2 of 12 are more than 15 %
    assert set(out(table, MidAnchor())) == {"u05"}
    assert out(table, rule_from("mid_anchor:share=0.2")) == {}
    assert "conditions=" in rule_from("mid_anchor:conditions=low").lacking(mushra)


def test_raters_who_answer_at_random_do_not_go_with_the_others_and_all_others_do():
    table = table_of("mos_s1")
    assert set(out(table, Correlation())) == BAD_OF_MOS
    assert set(out(table, Disagreement())) == BAD_OF_MOS
    assert out(table, Variance()) == {}


def test_correlations_with_the_rest_are_those_of_r():
    table = table_of("mos_s1")
    (group,) = _scales(table[table["task"] == "isolation"])
    r, count = group.correlations()
    wanted = {x["rater"]: x for x in expected("mos_s1")["rater_loo_correlation_isolation"]}
    assert group.names == sorted(wanted)
    for name, value, n in zip(group.names, r, count, strict=True):
        assert value == pytest.approx(wanted[name]["pearson"], rel=1e-9)
        assert n == wanted[name]["n"]


def test_tasks_on_different_footings_do_not_make_a_rater_agree():
    """The task with high scores lifts everybody: pooled, a rater at random would correlate."""
    rng = np.random.default_rng(1)
    rows = []
    for task, level in (("low", 1.0), ("high", 5.0)):
        for i in range(20):
            quality = level + rng.normal(0, 0.5)
            for r in range(6):
                noise = rng.normal(0, 0.2 if r else 0.5)
                score = (level if r == 0 else quality) + noise
                rows.append(row(task=task, rater=f"r{r}", item=f"i{i}", score=score))
    assert set(out(rows, Correlation(minimum=0.5))) == {"r0"}


@pytest.mark.medium
def test_headphones_that_are_unknown_stay():
    known = {"no": False, "yes": True, "unknown": None}
    rows = [row(rater=name, item="i", headphones=worn) for name, worn in known.items()]
    assert set(out(rows, Headphones())) == {"no"}
    assert Headphones().lacking(from_rows(rows[2:]))
    assert not Headphones().lacking(from_rows(rows))
    table = table_of("mos_s1")
    rule = Headphones()
    kept = screen(table, [rule]).kept([rule])
    assert (len(kept), kept["rater"].nunique()) == (9860, 87)  # as R used the set


def traps(rater, passed, kind="instructed-tag", **fields):
    rows = [row(rater=rater, item=f"i{n}", position=n) for n in range(2)]
    for n, verdict in enumerate(passed):
        trap = {"trap": kind, "trap_passed": verdict, "item": f"t{n}", "position": 10 + n}
        rows.append(row(rater=rater, **(trap | fields)))
    return rows


@pytest.mark.medium
def test_attention_traps_are_judged_by_session_and_by_share():
    rows = [*traps("all", [True] * 2), *traps("half", [True, False]), *traps("none", [])]
    assert set(out(rows, AttentionTraps())) == {"half"}
    assert out(rows, AttentionTraps(minimum=0.5)) == {}
    assert out(rows, AttentionTraps(kinds=("gold",))) == {}
    assert out(rows, AttentionTraps())["half"] == (
        "its session passed 1 of 2 attention traps, 100% needed"
    )


@pytest.mark.medium
def test_a_trap_with_several_criteria_counts_once():
    rows = traps("r", [True, False])
    rows += [r | {"criterion": "effort"} for r in rows]
    assert out(rows, AttentionTraps(minimum=0.5)) == {}
    assert out(rows, AttentionTraps(minimum=0.6))["r"].startswith("its session passed 1 of 2")


@pytest.mark.medium
@pytest.mark.parametrize("kind", [AttentionTraps, GoldTraps])
def test_trap_trials_of_a_file_without_positions_each_count(kind):
    """One clip played twice as a trap is two trials; no order of texts chooses one of them."""
    name = {AttentionTraps: "instructed", GoldTraps: "gold"}[kind]
    for verdicts, right in (([True, False], 1), ([False, False], 0), ([True, True], 2)):
        rows = traps("r", verdicts, kind=name, item="t", position=None)
        both = [*rows, *(r | {"criterion": "effort"} for r in rows)]
        for given in (rows, rows[::-1], both):
            found = out(given, kind(minimum=1.0)).get("r", "its session passed 2 of 2")
            assert found.startswith(f"its session passed {right} of 2")


@pytest.mark.medium
def test_gold_clips_may_be_judged_again_with_another_tolerance():
    rows = [
        *traps("near", [False], kind="gold", score=4.0, stimulus="good"),
        *traps("far", [False], kind="gold", score=2.0, stimulus="good"),
    ]
    assert set(out(rows, GoldTraps())) == {"near", "far"}
    own = rule_from("gold_traps:answers=good/5+bad/1,tolerance=1")
    assert set(out(rows, own)) == {"far"}
    assert set(out(rows, rule_from("gold_traps:answers=good/5,tolerance=0"))) == {"near", "far"}


def test_answers_may_be_too_fast_or_too_late():
    times = {"fast": 500, "fine": 3000, "late": 90_000, "unknown": None}
    rows = [row(rater=name, item="i", latency_ms=time) for name, time in times.items()]
    assert set(out(rows, AnswerTime())) == {"fast"}
    found = out(rows, AnswerTime(maximum_ms=60_000))
    assert found["late"] == "answered after more than 60000 ms"
    assert set(found) == {"fast", "late"}


@pytest.mark.medium
def test_unfit_and_missing_justifications_are_left_out():
    rows = [
        row(rater="fit", item="i", justification="a long reason", review="fit"),
        row(rater="unfit", item="i", justification="a reason", review="unfit"),
        row(rater="silent", item="i", justification=" "),
        row(rater="short", item="i", justification="ok"),
        row(rater="unasked", item="i", task="other"),
    ]
    assert out(rows, Review()) == {"unfit": "its justification was judged unfit"}
    assert set(out(rows, NoJustification())) == {"silent"}
    assert set(out(rows, NoJustification(characters=5))) == {"silent", "short"}


def test_a_rater_with_few_ratings_goes_from_that_task_only():
    rows = [row(rater="a", item=f"i{n}") for n in range(3)]
    rows += [row(rater="b", item=f"i{n}") for n in range(2)]
    rows += [row(rater="b", item="i9", trap="gold", trap_passed=True)]
    assert out(rows, FewRatings(minimum=3)) == {"b": "only 2 of the 3 ratings needed"}


@pytest.mark.medium
def test_who_gives_one_score_everywhere_is_found_and_a_calm_panel_is_not():
    rows = [
        row(rater=f"r{r}", item=f"i{i}", score=3.0 if r == 0 else 1.0 + (i + r) % 5)
        for r in range(5)
        for i in range(12)
    ]
    found = out(rows, Variance())
    assert set(found) == {"r0"}
    assert found["r0"].startswith("nearly the same score everywhere: SD 0.00 over 12 ratings")
    assert out(rows, Variance(ratings=13)) == {}
    assert out([r | {"score": 3.0} for r in rows], Variance()) == {}


@pytest.mark.medium
def test_second_answers_far_from_the_first_are_found():
    def asked(rater, second):
        first = [row(rater=rater, item=f"i{n}", position=n, score=4.0) for n in range(3)]
        again = [
            row(rater=rater, item=f"i{n}", position=10 + n, score=score, counts=False)
            for n, score in enumerate(second)
        ]
        return first + again

    rows = [*asked("same", [4, 3, 5]), *asked("strays", [1, 2, 4]), *asked("once", [1])]
    assert out(rows, InconsistentRepeats()) == {
        "strays": "1 of 3 second answers near the first, 50% needed"
    }
    assert out(rows, InconsistentRepeats(repeats=1)).keys() == {"strays", "once"}
    timeless = [r | {"position": None, "study": ""} for r in rows]  # what counts came first
    assert out(timeless, InconsistentRepeats()).keys() == {"strays"}
    assert InconsistentRepeats().lacking(from_rows(asked("r", [])))


@pytest.mark.slow
@pytest.mark.parametrize("key", sorted(Rule.registry))
def test_every_rule_stands_an_empty_table_and_one_rating(key):
    rule = Rule.registry[key](*([(("t", (("gold", 1, 1),)),)] if key == "task_traps" else []))
    told = {"few_ratings": "only 1 of the 10 ratings needed"}
    told["task_traps"] = "its block is incomplete: 0 “gold” traps were answered"
    assert list(rule.reasons(from_rows([]))) == []
    one = from_rows([row(rater="r", item="i")])
    assert list(rule.reasons(one)) == [told.get(key, "")]
    assert isinstance(rule.lacking(one), str)
    assert rule.title


def test_text_carries_names_with_signs_and_a_version_that_must_be_right():
    rule = HiddenReference(condition="the ref, 50 % + more=all")
    assert rule_from(rule_text(rule)) == rule
    anchors = MidAnchor(conditions=("a+b", "锚"))
    assert rule_from(rule_text(anchors)) == anchors
    text = versioned_text(Correlation())
    assert text == "correlation@1:minimum=0.25,shared=10"
    assert rule_from(text) == rule_from("correlation:minimum=0.25,shared=10") == Correlation()
    with pytest.raises(ValueError, match="is at version 1 here, not '7'"):
        rule_from("correlation@7")


@pytest.mark.parametrize(
    "text",
    [
        "correlation:minimum=2",
        "correlation:shared=1",
        "correlation:minimum=nan",
        "variance:minimum=0",
        "answer_time:minimum_ms=2000,maximum_ms=1000",
        "attention_traps:minimum=0",
        "gold_traps:answers=good",
        "gold_traps:tolerance=-1",
        "mid_anchor:share=1",
        "disagreement:bias=0,noise=0",
        "few_ratings:minimum=0",
        "no_justification:characters=0",
        "inconsistent_repeats:minimum=0",
        "heard_fraction:minimum=95",
    ],
)
def test_parameters_that_make_no_sense_are_refused_with_a_remedy(text):
    with pytest.raises(ValueError, match=text.partition(":")[0]):
        rule_from(text)


def test_a_form_offers_what_the_study_can_have():
    every = [rule_from(text) for text, _ in offered_rules()]
    assert all(words for _, words in offered_rules())
    assert {rule.key for rule in every} <= set(Rule.registry)
    att = {rule_from(text).key for text, _ in offered_rules(["att"], ["flawed", "human"])}
    assert "correlation" in att
    assert att.isdisjoint({"hidden_reference", "mid_anchor", "gold_traps", "attention_traps"})
    own = {rule_from(text).key for text, _ in offered_rules(["mushra"], ["instructed-2"])}
    assert {"hidden_reference", "mid_anchor", "attention_traps"} <= own
    json.dumps(offered_rules())


def test_listeners_who_do_not_hear_the_object_are_left_out_by_the_one_sided_t_of_bs1116() -> None:
    """t of 5 grades is significant below -2.132, of 3 below -2.920 (Student's tables)."""
    grades = {
        "expert": [-1.0, -0.5, 0.0, -0.2, -0.3],  # t = -0.4 / (0.3808 / sqrt 5) = -2.349
        "guesses": [-1.0, 0.8, -0.5, 0.6, -0.2],  # t = -0.18
        "wrong way": [1.0, 0.5, 0.4, 0.2, 0.3],
        "few": [0.3, 0.4],
        "three": [-0.1, -0.1, -0.8],  # t = -1.429
        "same": [-0.5, -0.5, -0.5],
        "never": [0.0, 0.0, 0.0],
    }
    rows = [
        {**BLANK, "rater": rater, "item": f"i{n}", "condition": "codec", "score": score}
        | {"method": "bs1116", "estimand": "sdg", "stimulus": f"c{n}", "session": rater}
        for rater, scores in grades.items()
        for n, score in enumerate(scores)
    ]
    found = out(from_rows(rows), rule_from("expertise"))
    assert set(found) == {"guesses", "wrong way", "three", "never"}
    mild = out(from_rows(rows), rule_from("expertise:alpha=0.2"))
    assert set(mild) == {"guesses", "wrong way", "never"}
    other = from_rows([{**row, "method": "mos", "estimand": "mos", "score": 3} for row in rows])
    assert out(other, rule_from("expertise")) == {}
    assert "bs1116" in rule_from("expertise").lacking(other)
