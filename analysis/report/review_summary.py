"""Expert reviews in words: who judged how much, by which rule, and how well they agreed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from analysis.formatting import counted, enumerated, number
from analysis.report.content import interval_cells

if TYPE_CHECKING:
    from analysis.statistics.agreement.nominal import Measure
    from listening.selectors import ReasonReviewFacts, ReviewVerdict

FEW = 30  # items that two or more judged, of which a measure of agreement tells little


def count_judged(verdicts: Sequence[ReviewVerdict]) -> tuple[int, int]:
    """Count the reviewers and the items that they judged, first verdicts only."""
    first = [row for row in verdicts if not row["again"]]
    return len({row["reviewer"] for row in first}), len({row["item"] for row in first})


def verdict_agreement(verdicts: Sequence[ReviewVerdict]) -> Measure:
    """Return Krippendorff's nominal alpha of the first verdicts."""
    from analysis.statistics.agreement import nominal

    by_item = nominal.first_verdicts(verdicts)
    return nominal.alpha(
        by_item, sorted({each for item in by_item.values() for each in item.values()})
    )


def agreement_words(measure: Measure) -> str:
    """Return alpha with its interval as words, or why there is none."""
    if measure.value is None:
        return f"agreement cannot be computed: {measure.note}"
    words = f"Krippendorff’s nominal alpha {number(measure.value, decimals=2)}"
    if measure.low is None or measure.high is None:
        words += f" without an interval: {measure.note}"
    else:
        low, high = number(measure.low, decimals=2), number(measure.high, decimals=2)
        words += f", 95 % interval {low} to {high}"
    few = f", of {measure.items} only" if measure.items < FEW else f", of {measure.items:,}"
    return f"{words}{few}"


def review_sentence(review: ReasonReviewFacts) -> str:
    """Return a review of reasons as one sentence, with its rule's version."""
    people, items = count_judged(review["verdicts"])
    alpha = agreement_words(verdict_agreement(review["verdicts"]))
    not_blind = review["not_blind"]
    blind = f", {not_blind} of them with a role that sees results" if not_blind else ""
    came_to = enumerated(f"{n:,} {word}" for word, n in sorted(review["decided"].items()))
    drawn = f"{review['share'] * 100:g} % drawn, seed {review['seed']}"
    return (
        f"{counted(people, 'expert')}{blind}, shown neither system nor rater, judged whether "
        f"{items:,} of {review['items']:,} reasons fit their labels ({drawn}; "
        f"{review['per_item']} for each; {alpha}); rule “{review['rule'].lower()}”, version "
        f"{review['rule_version']}: {review['rule_words']}; it came to {came_to or 'nothing yet'}"
    )


def review_record(review: ReasonReviewFacts) -> dict[str, Any]:
    """Return a review of reasons as plain values, for the report card as JSON."""
    people, items = count_judged(review["verdicts"])
    measure = verdict_agreement(review["verdicts"])
    return {
        "title": review["title"],
        "experts": people,
        "judged": items,
        **{k: review[k] for k in ("items", "share", "seed", "per_item", "rule", "rule_version")},
        "decided": dict(review["decided"]),
        **interval_cells("alpha", measure),
        "alpha_items": measure.items,
    }
