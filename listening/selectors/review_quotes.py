"""Reasons to cite from a review of codes: their words with what reviewers marked, and by whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.db.models import Min
from django.http import Http404

from listening.models import ReviewAssignment, ReviewJob, Session, Verdict
from listening.review import codebook
from listening.review.codebook import NO_CODE
from listening.review.outcomes import Outcome, outcomes_of, used_reviews
from listening.review.shown_items import reasons_in
from listening.review.targets import reasons_of

FIRST = int(ReviewAssignment.Occasion.FIRST)
HELD, GIVEN = "held", "given"


@dataclass(frozen=True)
class QuotedCode:
    """A code of a reason: how many gave it, and whether it holds by the rule of the review."""

    key: str
    title: str
    gave: int
    of: int
    state: str  # "holds", "does not hold", "not decided"


@dataclass
class Quote:
    """One reason; ``system`` is "" while the review is blind, ``rater`` a number in the study."""

    item: int
    trial: int
    codes: list[QuotedCode]
    verdict: str  # of the reviews of reasons in use: fit, unfit or ""
    rater: int
    label: str
    dimension: str
    sentence: str
    system: str
    language: str = ""
    text: str = ""
    pieces: list[tuple[str, bool]] = field(default_factory=list)  # words, and whether marked


@dataclass(frozen=True)
class QuoteFilter:
    """What is wanted; "" is everything."""

    code: str = ""
    label: str = ""
    dimension: str = ""
    system: str = ""
    verdict: str = ""
    which: str = HELD  # codes that hold by the rule, or each that somebody gave

    def passes(self, quote: Quote) -> bool:
        return bool(quote.codes) and all(
            not wanted or wanted == value
            for wanted, value in (
                (self.label, quote.label),
                (self.dimension, quote.dimension),
                (self.system, quote.system),
                (self.verdict, quote.verdict),
            )
        )


@dataclass(frozen=True)
class Quotes:
    """Those that the filter leaves, without their words yet, and what can be chosen."""

    quotes: list[Quote]
    coded: int  # reasons that have a code
    codes: list[tuple[str, str]]
    labels: list[str]
    dimensions: list[str]
    systems: list[str]


ABOUT = """
SELECT t.id, coalesce(l.label, ''), i.dimension, i.key, s.rater_id,
    array_to_string(ARRAY(SELECT coalesce(nullif(c.system, ''), nullif(c.label, ''), c.key)
        FROM unnest(CASE WHEN t.versus_first THEN ARRAY[t.versus_id, t.stimulus_id]
            ELSE ARRAY[t.stimulus_id, t.versus_id] END) WITH ORDINALITY AS u (pk, place)
        JOIN listening_stimulus x ON x.id = u.pk JOIN listening_condition c ON c.id = x.condition_id
        ORDER BY u.place), ' / ')
FROM listening_trial t JOIN listening_session s ON s.id = t.session_id
JOIN listening_item i ON i.id = t.item_id
LEFT JOIN LATERAL (SELECT string_agg(q.label, ', ' ORDER BY q.id) AS label
    FROM listening_rating q WHERE q.trial_id = t.id) l ON true
WHERE t.id = ANY(%s)
"""


def review_quotes(study: str, pk: int, wanted: QuoteFilter) -> Quotes:
    """Training items, and reasons that were erased or withdrawn since, are not in it."""
    job = ReviewJob.objects.filter(study__key=study, pk=pk, kind="codes").first()
    if job is None:
        raise Http404("There is no such review of codes in this study.")
    quotes = _all(job)
    coded = [quote for quote in quotes if quote.codes]
    for quote in coded:
        quote.codes = [code for code in quote.codes if _wants(wanted, code)]
    return Quotes(
        quotes=[quote for quote in coded if wanted.passes(quote)],
        coded=len(coded),
        codes=list(_titles(job).items()),
        labels=sorted({quote.label for quote in coded} - {""}),
        dimensions=sorted({quote.dimension for quote in coded} - {""}),
        systems=sorted({quote.system for quote in coded} - {""}),
    )


def _wants(wanted: QuoteFilter, code: QuotedCode) -> bool:
    held = wanted.which == GIVEN or code.state == "holds"
    return held and wanted.code in ("", code.key)


def _titles(job: ReviewJob) -> dict[str, str]:
    codes = codebook.from_stored(job.settings["codebook"])
    return {code.key: code.title for code in codes}


def _all(job: ReviewJob) -> list[Quote]:
    there = set(reasons_of(job.study).values_list("trial", flat=True))
    outcomes = [
        o for o in outcomes_of(job) if o.gold is None and o.trial in there and o.verdicts.first
    ]
    with connection.cursor() as cursor:
        cursor.execute(ABOUT, [[o.trial or 0 for o in outcomes]])
        about = {row[0]: row[1:] for row in cursor.fetchall()}
    rows = Session.objects.filter(study=job.study, pilot=False).values_list("rater")
    numbers = {rater: n for n, (rater, _) in enumerate(_in_order(rows), start=1)}
    verdicts, titles = used_reviews(job.study), _titles(job)
    blind = job.unblinded_at is None
    all_quotes = []
    for each in outcomes:
        label, dimension, sentence, rater, system = about[each.trial or 0]
        all_quotes.append(
            Quote(
                item=each.item,
                trial=each.trial or 0,
                codes=_codes(each, titles),
                verdict=verdicts.get(each.trial or 0, ""),
                rater=numbers[rater],
                label=label,
                dimension=dimension,
                sentence=sentence,
                system="" if blind else system,
            )
        )
    return all_quotes


def _in_order(rows: Any) -> Iterable[tuple[int, int]]:
    """Raters by when they first began: whoever comes later changes no number."""
    ordered: Iterable[tuple[int, int]] = rows.annotate(first=Min("pk")).order_by("first")
    return ordered


def _codes(outcome: Outcome, titles: dict[str, str]) -> list[QuotedCode]:
    """What reviewers gave, and what somebody who decided gave, in the order of the codebook."""
    first = [each.split("|") for each in outcome.verdicts.first]
    held = set(outcome.category.split("|"))
    open_ = "does not hold" if outcome.complete else "not decided"
    chosen = held | {code for each in first for code in each}
    return [
        QuotedCode(
            key=key,
            title=title,
            gave=sum(key in each for each in first),
            of=len(first),
            state="holds" if key in held else open_,
        )
        for key, title in titles.items()
        if key in chosen and key != NO_CODE
    ]


def read_quotes(quotes: Sequence[Quote]) -> None:
    """Fills in words and marks: of the codes that each quote still has, by all reviewers."""
    reasons = reasons_in([quote.trial for quote in quotes])
    spans = _spans([quote.item for quote in quotes])
    for quote in quotes:
        quote.text = reasons[quote.trial]["reason"]
        quote.language = reasons[quote.trial]["language"]
        keys = {code.key for code in quote.codes}
        places = [(s["start"], s["end"]) for s in spans[quote.item] if s["code"] in keys]
        quote.pieces = pieces(quote.text, places)


def _spans(items: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
    """By item: the places in the newest verdict of one's own of each reviewer."""
    rows = (
        Verdict.objects.filter(assignment__item__in=items, phase=Verdict.Phase.OWN)
        .exclude(assignment__occasion=ReviewAssignment.Occasion.AGAIN)
        .order_by("assignment", "-pk")
        .distinct("assignment")
    )
    spans: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for item, answer in rows.values_list("assignment__item", "answer"):
        spans[item] += answer.get("spans", [])
    return spans


def pieces(text: str, places: Iterable[tuple[int, int]]) -> list[tuple[str, bool]]:
    """A text cut at its marks, which may overlap. Browsers count in units of UTF-16."""
    units = text.encode("utf-16-le")
    cuts: list[tuple[str, bool]] = []
    at, length = 0, len(units) // 2
    for start, end in sorted(places):
        start, end = max(start, at), min(end, length)
        if start < end:
            cuts += [(_cut(units, at, start), False)] if start > at else []
            joined = cuts and cuts[-1][1]
            words = _cut(units, start, end)
            cuts = [*cuts[:-1], (cuts[-1][0] + words, True)] if joined else [*cuts, (words, True)]
            at = end
    return [*cuts, (_cut(units, at, length), False)] if at < length else cuts


def _cut(units: bytes, start: int, end: int) -> str:
    return units[2 * start : 2 * end].decode("utf-16-le", "replace")
