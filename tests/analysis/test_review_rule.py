"""What a review came to is used by default: the rule stands among those of the study."""

from dataclasses import replace

import pytest

from analysis.ratings.table import from_study
from analysis.report.part import PartInput
from analysis.report.parts.screening import reviews_used
from analysis.report.report_card import report_card
from analysis.statistics.screening.rule_text import rule_text
from analysis.statistics.screening.screened import screen
from analysis.statistics.screening.single_ratings import Review
from analysis.web.first_runs import default_options
from analysis.web.forms import form_of
from analysis.web.study_tables import study_rules
from listening import review, studies
from listening.models import Study, Verdict
from listening.selectors import method_facts
from tests.factories import answer_all, arrive, make_study
from tests.listening.test_reviews import job_of, judge_all, reviewer

pytestmark = pytest.mark.django_db


@pytest.fixture
def reviewed():
    """The review of ten reasons, of which two reviewers find every third unfit."""
    task = {"justification": {"required": True}, "block_size": 10, "ratings_per_stimulus": 1}
    study = make_study(key="voices", items=5, conditions=2, task=task)
    answer_all(arrive(study))
    job = job_of(study, repeated=0)
    for _ in range(2):
        judge_all(reviewer(job), lambda each: "fit" if each.item.position % 3 else "unfit")
    return job


@pytest.mark.medium
def test_a_review_in_use_is_a_rule_of_the_study_and_takes_what_is_unfit(reviewed):
    job = reviewed
    rules = study_rules("voices")
    (told,) = (
        each for each in screen(from_study("voices"), rules).counts() if each["rule"] == "review"
    )
    unfit = sum(position % 3 == 0 for position in job.items.values_list("position", flat=True))
    assert told["ratings_only_here"] == unfit > 0
    assert Review() in default_options("voices").rules
    offered = [
        text for text, *_ in form_of("voices", default_options("voices").parameters())["rules"]
    ]
    assert rule_text(Review()) not in offered
    review.change_job(job, by="ada", rule="all_agree", resolving="none", in_use=False)
    assert Review() not in study_rules("voices")


@pytest.mark.medium
def test_verdicts_go_with_a_study_that_is_deleted(reviewed):
    Study.objects.update(state="closed")
    gone = studies.delete_study(Study.objects.get(), "voices", by="ada")
    assert gone.verdicts == 2 * gone.reasons > 0
    assert not Verdict.objects.exists()


@pytest.mark.medium
def test_the_report_names_the_rule_its_version_and_how_well_the_experts_agreed(reviewed):
    facts = method_facts("voices")
    options = default_options("voices")
    screened = screen(from_study("voices"), options.rules)
    inputs = PartInput(screened.kept(options.rules), screened, options, facts=facts)
    (told,) = reviews_used(inputs)
    (card,) = (
        entry
        for section in report_card(None, facts).sections
        for entry in section.entries
        if entry.label.startswith("Reasons judged")
    )
    assert card.value["rule_version"] == "1"
    assert card.value["alpha"] == 1.0
    for words in ("2 experts", "“unanimous”, version 1", "alpha 1.00", "of 5 only", "2 unfit"):
        assert words in told, words
        assert words in card.lines[0], words
    none = replace(options, rules=())
    assert list(reviews_used(PartInput(inputs.table, screened, none, facts=facts))) == []
