"""Reviews of reasons whose outcomes analyses use, for the report: rule, sample, verdicts."""

from __future__ import annotations

from typing import TypedDict

from listening.models import Study
from listening.review.outcomes import jobs_in_use
from listening.review.rules import RULES
from listening.selectors.reviews import ReviewVerdict, review_outcomes, review_verdicts


class ReasonReviewFacts(TypedDict):
    """One review in use; of several the newest that decides about a reason prevails."""

    title: str
    state: str
    opened_on: str
    seed: str
    share: float  # of the reasons that were there when it was drawn
    per_item: int
    rule: str
    rule_version: str
    rule_words: str
    where_they_differ: str
    not_blind: int  # reviewers whose role lets them see the study's results
    items: int  # without training
    complete: int  # have all their verdicts
    decided: dict[str, int]  # category -> reasons
    verdicts: list[ReviewVerdict]


def reason_reviews(study: Study) -> list[ReasonReviewFacts]:
    """The oldest first."""
    return [
        ReasonReviewFacts(
            title=job.title,
            state=job.state,
            opened_on=job.opened_at.strftime("%Y-%m-%d") if job.opened_at else "",
            seed=str(job.seed),
            share=float(job.settings["share"]),
            per_item=job.per_item,
            rule=RULES[job.rule].title,
            rule_version=job.rule_version,
            rule_words=RULES[job.rule].words,
            where_they_differ=job.resolving,
            not_blind=job.reviewers.filter(
                sees_results=True, number__in={each["reviewer"] for each in verdicts}
            ).count(),
            items=came_to["items"],
            complete=came_to["complete"],
            decided=came_to["decided"],
            verdicts=verdicts,
        )
        for job in jobs_in_use(study, "reasons")
        for came_to in [review_outcomes(study.key, job.pk)]
        for verdicts in [review_verdicts(study.key, job.pk)]
    ]
