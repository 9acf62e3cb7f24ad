"""The page Validity: rules declared before opening or marked after, tried first, and undone."""

import pytest
from django.urls import reverse

from analysis.report.preregistration import GAP, gaps, preregistration_text
from analysis.report.report_card import report_card
from analysis.statistics.options import Options, options_from
from analysis.statistics.rule_effects import rule_effects
from analysis.statistics.screening.rule_text import rule_from
from analysis.statistics.screening.screened import screen
from analysis.statistics.screening.session_rules import FewRatings, Headphones
from analysis.web.first_runs import default_options
from analysis.web.study_tables import study_rules
from analysis.web.validity_jobs import count_rules
from listening import studies
from listening.models import AnalysisRule, Rater, Rating, Study, StudyEvent
from listening.review.clip_results import leave_out
from listening.selectors import analysis_rules, declared_state, method_facts, task_plans
from listening.studies import StudyError
from listening.studies.analysis_rules import (
    add_hypothesis,
    add_rule,
    end_hypothesis,
    end_rule,
    spare_rater,
)
from listening.studies.states import freeze_when_opened
from tests.analysis.rated_study import rated_study
from tests.analysis.test_part_robustness import rated
from tests.own_cache import empty_cache

pytestmark = pytest.mark.django_db
FEW = "few_ratings@1:minimum=9"


@pytest.mark.medium
def test_before_the_opening_a_rule_is_part_of_the_frozen_definition():
    study = rated_study(raters=0)
    Study.objects.update(state="draft", opened_at=None)
    study.refresh_from_db()
    assert add_rule(study, "few_ratings:minimum=9", by="ada").text == FEW
    with pytest.raises(StudyError, match="in force already"):
        add_rule(study, FEW)
    with pytest.raises(StudyError, match="no rule 'nonsense'"):
        add_rule(study, "nonsense")
    studies.open_study(study, anyway=True)
    frozen = study.definitions.get()
    assert f'rule = "{FEW}"' in frozen.toml
    later = add_rule(study, "headphones", "many wore none", by="ada")
    assert not later.declared
    assert [FewRatings(minimum=9), Headphones()] == list(study_rules(study.key))[-2:]
    with pytest.raises(StudyError, match="needs a reason"):
        end_rule(study, AnalysisRule.objects.get(text=FEW).pk, "")
    end_rule(study, AnalysisRule.objects.get(text=FEW).pk, "nobody gave few", by="ada")
    assert studies.study_as_file(study).analysis_rules == ({"rule": FEW},)
    assert [each["ended_because"] for each in analysis_rules(study.key)] == ["nobody gave few", ""]
    said = [e.details.get("decided") for e in StudyEvent.objects.filter(what="rule_added")]
    assert sorted(said) == ["after 0 ratings were stored", "before opening"]


@pytest.mark.medium
def test_a_rule_added_later_says_after_how_many_ratings_and_enters_the_default_analysis():
    study = rated_study()
    with pytest.raises(StudyError, match="needs a reason"):
        add_rule(study, FEW)
    made = add_rule(study, FEW, "a whole set", by="ada")
    assert made.ratings == Rating.objects.count() > 0
    assert FewRatings(minimum=9) in default_options(study.key).rules
    ratings = list(Rating.objects.values_list("pk", "counts"))
    end_rule(study, made.pk, "not needed", by="ada")
    assert list(Rating.objects.values_list("pk", "counts")) == ratings


def test_an_exclusion_that_is_undone_comes_back_into_the_analysis_and_its_command():
    table = rated({"a": 0.5, "b": 0.0}, raters=3, items=2)
    rules = (FewRatings(minimum=5),)
    assert screen(table, rules).kept(rules).empty
    spared = screen(table, rules, [("few_ratings", "r1")])
    assert set(spared.kept(rules)["rater"]) == {"r1"}
    assert spared.spared == {("few_ratings", "r1"): 4}
    options = Options(rules=rules, spared=(("few_ratings", "r1"),))
    assert options_from(options.parameters()) == options


@pytest.mark.medium
def test_whoever_is_spared_took_part_and_somebody_said_why():
    study = rated_study()
    rater = Rater.objects.first().code
    for rule, code, because, words in (
        ("session_status", rater, "a mistake", "Restore the session"),
        ("few_ratings", "nobody", "a mistake", "took part"),
        ("few_ratings", rater, "", "needs a reason"),
        ("nonsense", rater, "a mistake", "no rule"),
    ):
        with pytest.raises(StudyError, match=words):
            spare_rater(study, rule, code, because)
    spare_rater(study, "few_ratings", rater, "the page froze", by="ada")
    assert default_options(study.key).spared == (("few_ratings", rater),)


@pytest.mark.medium
def test_effects_count_what_a_rule_takes_and_what_it_would_change():
    table = rated({"a": 0.5, "b": 0.0}, raters=5, items=6)
    short = table["rater"].eq("r0") & ~table["item"].isin(["i0"])
    table = table[~short].reset_index(drop=True)
    rule = rule_from("few_ratings:minimum=5")
    found = rule_effects(table, Options(rules=()), [rule])
    (row,) = [each for each in found["taken"] if each["rule"] == "few_ratings"]
    assert (row["ratings"], row["raters"], row["only_here"]) == (2, 1, 2)
    tried = found["tried"]
    assert (found["kept"], tried["kept"], tried["raters_kept"]) == (50, 48, 4)
    means = {each["condition"]: each for each in tried["means"]}
    rest = table[table["rater"] != "r0"].groupby("condition")["score"].mean()
    assert {name: each["tried"] for name, each in means.items()} == pytest.approx(rest.to_dict())
    assert found["sessions"]["r0"] == ["all", "all"]
    used = rule_effects(table, Options(rules=(rule,)))
    assert used["sessions"]["r0"] == ["all", "none"]
    assert [each["rater"] for each in used["excluded"]] == ["r0"]


@pytest.mark.slow
def test_a_rule_is_tried_on_the_page_before_it_is_added(client, monkeypatch):
    empty_cache()
    study = rated_study()
    client.force_login(study.owner)
    queued = []
    monkeypatch.setattr(count_rules, "delay", lambda *given: queued.append(given))
    monkeypatch.setattr("django.db.transaction.on_commit", lambda job: job())
    url = reverse("validity", args=[study.key])
    assert "being computed" in client.get(f"{url}?rule=few_ratings:minimum%3D11").content.decode()
    for given in queued:
        count_rules(*given)
    page = client.get(f"{url}?rule=few_ratings:minimum%3D11").content.decode()
    assert "data-waits" not in page
    assert "Add this rule" in page
    assert "Used: " in page
    bad = client.get(f"{url}?rule=few_ratings:minimum%3Dx")
    assert bad.status_code == 400
    assert "takes minimum=" in bad.content.decode()
    do = reverse("validity-do", args=[study.key])
    form = {"action": "add", "rule": "few_ratings:minimum=11", "why": "too little to go by"}
    answer = client.post(do, form, follow=True).content.decode()
    assert "added after" in answer
    assert AnalysisRule.objects.get().by == study.owner.username


@pytest.mark.medium
def test_the_preregistration_says_what_the_study_knows_and_names_what_it_does_not():
    study = rated_study(raters=0)
    Study.objects.update(state="draft")
    add_rule(study, FEW, "a whole set", by="ada")
    facts, plans = method_facts(study.key), task_plans(study.key)
    text = preregistration_text(facts, plans, declared_state(study.key), ["cond-0"])
    assert "**Not frozen yet**" in text
    assert f"`{FEW}`" in text
    assert "Human" in text and "2 ratings of every clip" in text  # noqa: PT018
    assert gaps(text) == text.count(GAP.strip()) > 3
    assert "### Hypotheses\n\n**Gap" in text


@pytest.mark.medium
def test_hypotheses_are_frozen_and_what_comes_later_is_no_part_of_the_registration():
    study = rated_study()
    Study.objects.update(state="draft", opened_at=None)
    study.refresh_from_db()
    add_hypothesis(study, "cond-0 is  ahead of cond-1.", by="ada")
    for text, words in (
        (" ", "in a sentence"),
        ("x" * 1001, "at most 1,000"),
        ("cond-0 is ahead of cond-1.", "already"),
    ):
        with pytest.raises(StudyError, match=words):
            add_hypothesis(study, text)
    freeze_when_opened(study, "ada")
    Study.objects.update(state="open")
    study.refresh_from_db()
    assert 'hypotheses = [\n    "cond-0 is ahead of cond-1.",\n]' in study.definitions.get().toml
    with pytest.raises(StudyError, match="needs a reason"):
        add_hypothesis(study, "cond-1 is the worst.")
    add_hypothesis(study, "cond-1 is the worst.", "seen in the means", by="ada")
    with pytest.raises(StudyError, match="needs a reason"):
        end_hypothesis(study, study.hypotheses.first().pk)
    end_hypothesis(study, study.hypotheses.first().pk, "not what we ask", by="ada")
    assert studies.study_as_file(study).hypotheses == ("cond-0 is ahead of cond-1.",)
    leave_out(study, "condition", "cond-1", "Its clips are cut.", by="ada")
    text = preregistration_text(
        method_facts(study.key), task_plans(study.key), declared_state(study.key), ["cond-0"]
    )
    first, _, later = text.partition("### Hypotheses")[2].partition("**not preregistered**")
    count = Rating.objects.count()
    assert "1. cond-0 is ahead of cond-1." in first
    assert f"after {count:,} ratings: cond-1 is the worst. Why: seen in the means" in later
    assert f"after {count:,} ratings: cond-0 is ahead of cond-1. (not what we ask)" in later
    out = later.partition("### Data exclusion")[2].partition("**not preregistered**")[2]
    assert "system “cond-1” (Its clips are cut.)" in out
    (entry,) = (
        each
        for section in report_card(None, method_facts(study.key)).sections
        for each in section.entries
        if each.label == "Hypotheses"
    )
    assert "taken back" in entry.lines[0]
    assert f"written down after {count:,} ratings" in entry.lines[1]


@pytest.mark.medium
def test_the_next_version_declares_what_is_in_force_and_not_what_was_ended():
    study = rated_study(raters=0)
    add_rule(study, FEW, "a whole set", by="ada")
    ended = add_rule(study, "headphones", "many wore none", by="ada")
    end_rule(study, ended.pk, "nobody wore any", by="ada")
    add_hypothesis(study, "cond-0 is ahead.", "by the pilot", by="ada")
    copy = studies.copy_study(study, study.owner, as_version=True, by="ada")
    file = studies.study_as_file(copy)
    assert file.analysis_rules == ({"rule": FEW, "why": "a whole set"},)
    assert file.hypotheses == ("cond-0 is ahead.",)
