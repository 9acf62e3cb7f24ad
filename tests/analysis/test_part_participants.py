"""Who took part and what they were paid: the paper's counts come out, small ones do not."""

from itertools import product

import pytest

from analysis.report.part import PartInput
from analysis.report.parts.participants import NO_ANSWER, Participants, question_rows
from analysis.report.small_cells import LEAST
from analysis.statistics.options import Options
from analysis.statistics.screening.screened import screen
from analysis.web.study_tables import told_of
from tests.analysis.reference import rows_of
from tests.analysis.shown_by import in_keys

NOBODY = {"timed": 0, "minutes": None, "clips_each": None, "hours": None, "sessions": 0, "clips": 0}
NO_RATE = {"by": "", "currency": "", "per_clip": None, "per_session": None, "per_hour": None}
NO_PAY = {**NO_RATE, **NOBODY}
TEXT = "in words, which are not shown"


def asked(key, counts, kind="one", numbers=()):
    answered = sum(counts.values()) or len(numbers)
    told = {"counts": counts, "numbers": list(numbers), "answered": answered}
    return {"key": key, "question": f"{key}?", "kind": kind, **told}


def facts_of(raters, *questions, pay=NO_PAY, scripted=0, recruitments=()):
    who = {
        "raters": raters,
        "scripted": scripted,
        "devices": {"phone": raters},
        "headphones": {"not asked": raters},
        "languages": {"Chinese": raters},
        "sources": {},
    }
    form = {"title": "About you", "questions": list(questions)}
    rest = {"sources": [], "recruitments": list(recruitments), "pay": pay}
    return {"people": who, "forms": [form], **rest}


def shown(facts):
    table = rows_of({(c, f"r{r}", f"i{i}"): 3 for c in "AB" for r in range(3) for i in range(2)})
    made = in_keys(Participants().make(PartInput(table, screen(table), Options(), facts=facts)))
    return made, {t.key: list(t.rows) for t in made.tables}


def counts_of(rows, name):
    return {row["answer"]: row["raters"] for row in rows if row["characteristic"] == name}


def test_the_counts_and_the_pay_of_the_turing_test_come_out():
    """202 men, 247 women, 408 who would rather not say; 0.8 RMB a clip at a minute each."""
    gender = asked("gender", {"Woman": 247, "Man": 202, "I prefer not to say": 408})
    work = {"sessions": 857, "clips": 20_568, "timed": 857, "minutes": 24.0, "clips_each": 24.0}
    pay = {**NO_PAY, **work, "hours": 342.8, "by": "us", "currency": "CNY", "per_clip": 0.8}
    made, tables = shown(facts_of(857, gender, pay=pay))
    assert counts_of(tables["participants"], "Gender") == gender["counts"]
    (row,) = tables["pay"]
    assert (row["per_clip"], row["per_hour"]) == pytest.approx((0.8, 48.0))
    assert row["per_session"] == pytest.approx(19.2)
    assert (row["total"], row["paid_for"]) == (pytest.approx(16_454.4), "20,568 clips")
    assert "857 raters took part (gender: Woman 247, Man 202" in made.methods[0]
    assert made.methods[1] == (
        "Raters were paid 0.80 CNY a clip (as study.toml says; for the median session 19.20 CNY a "
        "session and 48.00 CNY an hour)."
    )
    lacking = next(text for text in made.sentences if text.startswith("Not asked"))
    assert "age" in lacking
    assert "headphones" in lacking
    assert "gender" not in lacking


def test_small_cells_are_not_told_nor_betrayed_by_the_total_of_raters():
    for woman, man, silent in product((0, 1, 4, 5, 9), repeat=3):
        raters = woman + man + silent
        if not raters:
            continue
        gender = asked("gender", {n: c for n, c in (("Woman", woman), ("Man", man)) if c})
        told = {row.answer: row.raters for row in question_rows(gender, raters)}
        assert all(count is None or count >= LEAST for count in told.values())
        truth = {"Woman": woman, "Man": man, NO_ANSWER: silent}
        hidden = [count for name, count in truth.items() if count and name not in told]
        assert all(told[name] == truth[name] for name in truth if name in told)
        # what the total leaves is the sum of several cells, of at least five raters; or is all
        alone = not set(truth) & set(told)
        assert not hidden or alone or (len(hidden) > 1 and sum(hidden) >= LEAST)


def test_words_stay_untold_and_numbers_are_told_of_many_alone():
    words = asked("first_language", {}, "text") | {"answered": 8}
    few = asked("years", {}, "number", range(19))
    many = asked("age", {}, "number", range(20, 41))
    _, tables = shown(facts_of(21, few, many, words))
    rows = tables["participants"]
    assert list(counts_of(rows, "Age")) == ["median 30, quartiles 24.5 and 35.5"]
    assert "fewer than 20" not in " ".join(counts_of(rows, "years?"))  # hidden with two silent ones
    assert counts_of(rows, "First language") == {NO_ANSWER: 13, TEXT: 8}
    order = list(dict.fromkeys(row["characteristic"] for row in rows))
    assert order[:3] == ["Age", "First language", "years?"]


@pytest.mark.medium
def test_pay_by_session_few_sessions_and_none_at_all():
    placed = {"reward_minor": 150, "currency": "GBP", "rewards": 40}
    placed |= {"bonuses": 3, "bonuses_minor": 300.0}
    work = {"timed": 4, "minutes": 10.0, "clips_each": 20.0, "sessions": 5, "clips": 90}
    pay = {**NO_PAY, **work, "currency": "EUR", "per_session": 2.5}
    made, tables = shown(facts_of(9, pay=pay, scripted=2, recruitments=[placed]))
    own, prolific = tables["pay"]
    assert (own["per_session"], own["per_clip"], own["per_hour"]) == (2.5, None, None)
    assert (own["total"], own["paid_for"]) == (10.0, "4 finished sessions")
    assert (prolific["total"], prolific["bonuses"]) == (60.0, None)
    assert "2 of these raters are simulated" in made.warnings[0]
    assert made.methods[0] == "Raters were paid 2.50 EUR a session (as study.toml says)."
    made, tables = shown(facts_of(9))
    assert "pay" not in tables
    assert any("[study.payment]" in text for text in made.sentences)
    by_hour = {**NO_PAY, **work, "timed": 5, "hours": 0.9, "currency": "EUR", "per_hour": 12.0}
    (row,) = shown(facts_of(9, pay=by_hour))[1]["pay"]
    assert (row["per_session"], row["per_clip"]) == pytest.approx((2.0, 0.1))
    assert (row["total"], row["paid_for"]) == (pytest.approx(10.8), "0.9 hours")


@pytest.mark.medium
def test_a_study_tells_its_report_who_took_part(study):
    study.payment = {"by": "us", "currency": "CNY", "per_clip": 0.8}
    study.save()
    told = told_of(study.key)
    conditions = study.conditions.order_by("pk").values_list("key", flat=True)
    assert told["order"]["condition"] == list(conditions)
    made, tables = shown(told["facts"])
    assert f"{told['facts']['people']['raters']} raters gave" in made.sentences[0]
    assert tables["pay"][0]["per_clip"] == 0.8
    assert tables["pay"][0]["total"] == pytest.approx(0.8 * told["facts"]["pay"]["clips"])
    table = rows_of({("A", "r", "i"): 3})
    assert not Participants().applies(PartInput(table, screen(table), Options()))
