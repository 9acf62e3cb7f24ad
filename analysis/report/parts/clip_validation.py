"""Clips that experts validated: sample, agreement, share passed by system, and what was done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from analysis.formatting import counted, enumerated
from analysis.name_spans import condition_span
from analysis.report.content import Content, Table, column, row_from, table_row
from analysis.report.part import Part, PartInput
from analysis.report.review_summary import agreement_words, count_judged, verdict_agreement

if TYPE_CHECKING:
    from analysis.statistics.agreement.nominal import Measure
    from listening.selectors import ClipReviewFacts

_NOTE = (
    "Clips (or groups of clips) that are in the study now. What reviewers do not agree on, by the "
    "rule, or cannot say counts as not passed. Intervals: Wilson’s, 95 %, about the system."
)
MARKS = {"met": "met", "missed": "missed", "open": "still open"}
WHAT = {"clips": "synthesis success", "consistency": "consistency of each system"}


@table_row
class ValidatedRow:
    """A system in one review."""

    review: str
    condition: str = column("System")
    drawn: int = column("Drawn", "count")
    complete: int = column("Judged", "count")
    passed: int = column("Passed", "count")
    share: float | None = column("Share", "percent")
    share_low: float | None
    share_high: float | None
    interval: str = column("95 % interval")
    undecided: int = column("Undecided", "count")
    replaced: int = column("Replaced since", "count")
    mark: str = column("Pass mark")


@table_row
class AgreementRow:
    """A measure of agreement of one review."""

    review: str
    measure: str = column("Measure")
    value: float | None = column("Value", "number", 2)
    value_low: float | None = column("95 % interval", "interval", 2, key="value")
    value_high: float | None
    items: int = column("Judged by two or more", "count")
    note: str = column("Note")


@table_row
class LeftOutRow:
    """A system or a clip that analyses leave out."""

    what: str = column("What")
    name: str = column("Name")
    because: str = column("Why")
    on: str = column("Since")


class ClipValidation(Part):
    """What experts found of the clips themselves, before or beside the test."""

    key = "clip_validation"
    version = "2"
    title = "Clips validated by experts"
    order = 64
    sampled = True

    def applies(self, inputs: PartInput) -> bool:
        facts = inputs.facts
        return bool(facts and (facts.get("clip_reviews") or facts.get("left_out")))

    def make(self, inputs: PartInput) -> Content:
        """Sentences, systems against the pass mark, agreement, and what was left out."""
        if inputs.facts is None:
            raise ValueError("nothing is known of reviews of a file of ratings; analyse the study")
        reviews, left_out = inputs.facts["clip_reviews"], inputs.facts["left_out"]
        systems = [row for each in reviews for row in _systems(each, inputs)]
        every = [row for each in reviews for row in _agreement(each)]
        rows = [row_from(LeftOutRow, each, what=_called(each["what"])) for each in left_out]
        tables = (
            Table.from_rows(
                *(ValidatedRow, "clips_validated", "Clips that passed, by system", systems),
                note=_NOTE,
                group="review",
            ),
            Table.from_rows(
                *(AgreementRow, "validators_agree", "Agreement of the validators", every),
                note="Intervals by 2,000 resamples of clips; about these validators.",
                group="review",
            ),
            Table.from_rows(LeftOutRow, "material_left_out", "Left out by name", rows),
        )
        return Content(
            sentences=[
                *(words for each in reviews for words in _review_sentences(each)),
                *_out(left_out),
            ],
            tables=[table for table in tables if table.rows],
            warnings=[words for each in reviews for words in _warnings(each)],
            methods=[_method(each) for each in reviews],
        )


def _called(what: str) -> str:
    return {"condition": "system", "stimulus": "clip"}[what]


def _review_name(review: ClipReviewFacts) -> str:
    return f"{review['title']} (version {review['version']})"


def _systems(review: ClipReviewFacts, inputs: PartInput) -> Iterator[ValidatedRow]:
    by_name = {each["condition"]: each for each in review["systems"]}
    for name in inputs.ordered("condition", by_name):
        each = by_name[name]
        low, high = each["low"], each["high"]
        yield row_from(
            ValidatedRow,
            each,
            review=_review_name(review),
            share_low=low,
            share_high=high,
            interval=_interval(low, high),
            mark=MARKS[each["mark"]],
        )


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{100 * low:.0f} to {100 * high:.0f} %"


def _agreement(review: ClipReviewFacts) -> Iterator[AgreementRow]:
    from analysis.statistics.agreement import nominal
    from analysis.statistics.agreement.nominal import by_aspect

    verdicts = nominal.first_verdicts(review["verdicts"])
    if not any(len(each) > 1 for each in verdicts.values()):
        return
    for name, each in nominal.measures(verdicts, "validators"):
        yield _agreement_row(review, name, each, each.note)
    for aspect in by_aspect(review["aspects"]):
        marked = f"marked in {aspect.by_any:,}, by all in {aspect.by_all:,}"
        note = "; ".join(filter(None, (marked, aspect.note)))
        yield _agreement_row(review, f"Alpha about {aspect.aspect.lower()}", aspect.alpha, note)


def _agreement_row(review: ClipReviewFacts, measure: str, each: Measure, note: str) -> AgreementRow:
    ends = each.value, each.low, each.high
    return AgreementRow(_review_name(review), measure, *ends, each.items, note)


def _review_sentences(review: ClipReviewFacts) -> Iterator[str]:
    people, items = count_judged(review["verdicts"])
    what = WHAT[review["kind"]]
    yield (
        f"{_review_name(review)}: {counted(people, 'expert')} judged {what} of {items:,} "
        f"{review['what']}, {review['share'] * 100:g} % of each system’s, drawn at random."
    )
    if not review["unblinded"]:
        yield "Results by system appear once the review is unblinded."
        return
    missed = [each["condition"] for each in review["systems"] if each["mark"] == "missed"]
    pass_mark = f"the pass mark of {review['pass_mark'] * 100:g} %"
    if missed:
        yield f"Below {pass_mark}: {enumerated(missed)}."
    elif all(each["mark"] == "met" for each in review["systems"]):
        yield f"All systems meet {pass_mark}."
    else:
        yield f"No system with all its verdicts is below {pass_mark}; some are still open."
    if review["marked"]:
        listed = ", ".join(f"{name.lower()} {count}" for name, count in review["marked"])
        yield f"Marked, in how many {review['what']}: {listed}."
    if review["replaced"]:
        yield (
            f"{review['replaced']:,} of the {review['what']} that were judged are another sound "
            "now, or gone: their verdicts count for no system."
        )
    if review["hinted"]:
        yield (
            f"{counted(review['hinted'], 'verdict')} changed after programs’ hints were shown: "
            "counted apart, none of them is in the tables."
        )


def _out(left_out: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if left_out:
        named = [f"{_called(row['what'])} {row['name']} ({row['because']})" for row in left_out]
        yield f"Left out by name, under the rule left_out: {enumerated(named)}."


def _warnings(review: ClipReviewFacts) -> Iterator[str]:
    if not review["before"]:
        yield (
            f"{_review_name(review)} was opened after the study: what it led to was decided when "
            "ratings could be known."
        )
    for each in review["systems"]:
        if each["mark"] == "missed":
            yield (
                f"{condition_span(each['condition'])} is below the pass mark of its clips "
                f"({_review_name(review)})."
            )


def _method(review: ClipReviewFacts) -> str:
    people, items = count_judged(review["verdicts"])
    when = "Before the test, " if review["before"] else "After the test had begun, "
    return (
        f"{when}{counted(people, 'expert')}, blind to the system, judged {WHAT[review['kind']]} "
        f"of {items:,} {review['what']} ({review['share'] * 100:g} % of each system’s, "
        f"seed {review['seed']}), each by {review['per_item']} "
        f"({agreement_words(verdict_agreement(review['verdicts']))}); "
        f"rule: {review['rule'].lower()}, version {review['rule_version']}."
    )
