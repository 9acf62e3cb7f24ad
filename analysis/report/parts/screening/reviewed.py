"""Where the verdicts that the rule `review` takes come from."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.report.part import PartInput
from analysis.report.reviews_told import reasons_told
from analysis.statistics.screening import Review


def reviews_used(inputs: PartInput) -> Iterator[str]:
    """A sentence for each review of the study; of a file nothing is known beside its column."""
    if inputs.facts is None or not any(rule.key == Review.key for rule in inputs.options.rules):
        return
    reviews = inputs.facts.get("reason_reviews", [])
    for each in reviews:
        told = reasons_told(each)
        yield f"The rule {Review.key} takes the verdicts of “{each['title']}”: {told}."
    if len(reviews) > 1:
        yield "Where several reviews decide about a reason, the newest prevails."
