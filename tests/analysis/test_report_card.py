"""The report card tells what is known, names what is not, and shows no single rater."""

import json
import re
from itertools import product

import pytest
from django.urls import reverse

from analysis.report.build import report_of
from analysis.report.report_card import report_card
from analysis.report.small_cells import LEAST, cells_shown
from analysis.report.writers.report_card import CARD, card_files
from analysis.statistics.options import Options
from tests.analysis.reference import rows_of
from tests.listening.recruited import make_plan


def words_of(card):
    return {e.label: " ".join(e.lines) for section in card.sections for e in section.entries}


def forms():
    ask = {"kind": "one", "show_if": {}, "screen_out": [], "required": True, "help": ""}
    options = [{"value": "w", "text": "Woman"}, {"value": "m", "text": "Man"}]
    question = {**ask, "key": "gender", "question": "What is your gender?", "options": options}
    words = {**question, "key": "job", "question": "Your work?", "kind": "text", "options": []}
    number = {**words, "key": "years", "question": "Years of practice?", "kind": "number"}
    form = {"key": "about", "title": "About you", "when": "before", "use": [], "text": ""}
    return [{**form, "questions": [question, words, number]}]


@pytest.fixture
def facts(study):
    from listening.models import Session, Task
    from listening.selectors import method_facts

    study.questionnaires = forms()
    study.checks = [{"key": "huggins"}, {"key": "volume"}]
    study.texts = {"welcome": "Hello {minutes}.\n\nListen & tell.", "payment": "9 pounds an hour"}
    study.save()
    Task.objects.filter(study=study).update(instructions="Judge the voice.\n\nNot 100 % the words.")
    answers = {"gender": "w", "job": "SECRET-TEXT", "years": 3}
    Session.objects.filter(study=study).update(questionnaires={"about": {"answers": answers}})
    return method_facts(study.key)


def test_small_cells_cannot_be_had_by_subtraction():
    for counts in product(range(8), repeat=3):
        made = cells_shown(dict(zip("abc", counts, strict=True)))
        assert all(count >= LEAST for count in made.counts.values())
        hidden = [n for name, n in zip("abc", counts, strict=True) if n and name not in made.counts]
        if hidden:
            assert made.hidden == -1 or (made.hidden == sum(hidden) and made.hidden >= LEAST)
            assert len(hidden) > 1 or not made.counts
        assert sum(made.counts.values()) + sum(hidden) == sum(counts)
    assert cells_shown({"man": 9, "woman": 7, "other": 1}).text == (
        "man 9; all other answers together 8"
    )


def test_the_card_of_a_study_tells_its_words_odds_places_and_pay(facts):
    told = words_of(report_card(None, facts))
    assert told["Instructions"] == "Judge the voice. Not 100 % the words."
    assert "Scale: one of: Human; Unclear; Machine" in told["Question and scale"]
    assert "Random guessing passes 18.5 % of the sets of traps." in told["Traps"]
    (check,) = (text for label, text in told.items() if "(huggins)" in label)
    assert "with a chance of 0.274 %" in check
    assert told["Pay, as raters read it"] == "9 pounds an hour"
    assert "frequencies below 50 Hz removed; originals kept" in told["Audio as played"]
    earlier = words_of(report_card(None, {**facts, "low_cut_hz": 20}))
    assert "frequencies below 20 Hz removed" in earlier["Audio as played"]
    (task,) = facts["tasks"]
    places = f"{task['filled']} of {task['planned']} places filled"
    assert places in told[f"Places: {task['title']}"]
    assert "Ratings left out" in report_card(None, facts).unknown


def test_nobody_can_be_found_in_a_card(facts, study):
    from listening.models import Rater, Session

    text = "".join(card_files(None, facts).values())
    assert "SECRET-TEXT" not in text
    assert "Woman" not in words_of(report_card(None, facts))["What is your gender?"]
    assert "not shown" in words_of(report_card(None, facts))["Years of practice?"]
    codes = [*Rater.objects.values_list("code", flat=True), study.link]
    codes += Session.objects.filter(study=study).values_list("code", flat=True)
    assert codes
    assert not [code for code in codes if code in text]
    many = {**facts["forms"][0]["questions"][0], "counts": {"Woman": 12, "Man": 8}}
    form = {**facts["forms"][0], "questions": [many]}
    told = words_of(report_card(None, {**facts, "forms": [form]}))
    assert told["What is your gender?"] == "Woman 12; Man 8"


def test_pay_at_prolific_is_told_by_the_median_session(facts):
    plan = make_plan()
    placed = {
        **{"places": 40, "minutes": 10, "hourly_minor": 900, "reward_minor": 150},
        **{"currency": plan.currency, "devices": [], "filters": ["Fluent in English"]},
        **{"published_on": "2026-05-01", "rewards": 38, "bonuses": 2, "bonuses_minor": 100.0},
    }
    work = {**facts["pay"], "timed": 38, "minutes": 12.0, "clips_each": 30.0}
    told = words_of(report_card(None, {**facts, "pay": work, "recruitments": [placed]}))
    assert "£1.50 a session, planned for 10 min (£9.00 an hour)" in told["Pay at Prolific"]
    assert "by the median session £7.50 an hour and £0.0500 a clip" in told["Pay at Prolific"]
    assert "bonuses to fewer than 5 raters" in told["Pay at Prolific"]
    assert told["Filters"] == "Fluent in English"
    few = {**work, "timed": 4}
    told = words_of(report_card(None, {**facts, "pay": few, "recruitments": [placed]}))
    assert "median" not in told["Pay at Prolific"]


@pytest.mark.slow
def test_rules_of_the_plan_stand_beside_those_of_the_analysis(facts):
    from analysis.statistics.screening.rule_text import rule_text
    from analysis.statistics.screening.screened import study_rules
    from analysis.statistics.screening.single_ratings import AnswerTime

    report = report_of(rows_of({("A", "r", "i"): 3.0}), options=Options(replicates=100))
    mine = [rule_text(rule) for rule in study_rules(facts["trap_plans"])]

    def used(rules):
        made = {**report, "provenance": {**report["provenance"], "rules": rules}}
        return words_of(report_card(made, facts))["Rules used"]

    assert used(mine) == "all of these, and no others"
    changed = used([*mine[1:], rule_text(AnswerTime())])
    assert "not used: ratings of sessions" in changed
    assert "added: ratings given in less than 1000 ms" in changed


@pytest.mark.medium
def test_of_a_file_of_ratings_what_is_not_known_is_named():
    report = report_of(rows_of({("A", "r", "i"): 3.0}), options=Options(replicates=100))
    files = card_files(report)
    plain = json.loads(files["report-card.json"])
    assert {"Pay", "Traps", "Instructions", "Devices", "Filters"} <= set(plain["not_known"])
    entries = [e for section in plain["sections"] for e in section["entries"]]
    assert all((e["value"] is None) is (not e["known"]) for e in entries)
    for e in entries:
        assert e["text"]
        assert e["label"].split(",")[0] in files["report-card.md"]
    assert "“flawed” traps" not in files["report-card.md"]  # no rule of traps where nobody met one


@pytest.mark.medium
def test_no_word_of_the_latex_card_is_wider_than_half_a_column(facts):
    report = report_of(rows_of({("A", "r", "i"): 3.0}), options=Options(replicates=100))
    tex = card_files(report, facts)["report-card.tex"]
    assert tex.count("{") - tex.count("\\{") == tex.count("}") - tex.count("\\}")
    rows = re.findall(r"^\\cardrow\{(.*?)\}\{(.*)\}$", tex, re.MULTILINE)
    assert len(rows) == tex.count("\n\\cardrow{")
    for label, text in rows:
        pieces = re.split(r"\s+|\\hspace\{0pt\}", f"{label} {text}")
        assert max(map(len, pieces)) <= 40
        assert len(text) < 1200
    assert "Listen \\& tell." in tex


@pytest.mark.slow
def test_the_page_and_its_files_are_its_owners_alone(client, study, facts, django_user_model):
    client.force_login(study.owner)
    shown = client.get(reverse("report-card", args=[study.key]))
    assert shown.status_code == 200
    assert "Random guessing passes 18.5 %" in shown.content.decode()
    for name in CARD:
        kind = name.rpartition(".")[2]
        reply = client.get(reverse("report-card-file", args=[study.key, kind]))
        assert reply.headers["Content-Disposition"].endswith(f'{study.key}-{name}"')
        assert reply.content.decode() == card_files(None, facts)[name]
    client.force_login(django_user_model.objects.create_user("other"))
    assert client.get(reverse("report-card", args=[study.key])).status_code == 404
