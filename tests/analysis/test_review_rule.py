"""What a review came to is used by default: the rule stands among those of the study."""

import pytest

from analysis.ratings.table import from_study
from analysis.statistics.screening import Review, rule_text, screen
from analysis.web.first_runs import default_options
from analysis.web.forms import form_of
from analysis.web.study_tables import study_rules
from listening import review, studies
from listening.models import Study, Verdict
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


def test_verdicts_go_with_a_study_that_is_deleted(reviewed):
    Study.objects.update(state="closed")
    gone = studies.delete_study(Study.objects.get(), "voices", by="ada")
    assert gone.verdicts == 2 * gone.reasons > 0
    assert not Verdict.objects.exists()
