"""Reviews for other rooms: the verdicts of a job for agreement, and the heads of jobs."""

from __future__ import annotations

from typing import TypedDict

from django.db import connection
from django.http import Http404

from listening.models import ReviewAssignment, ReviewJob, Study
from listening.review import codebook
from listening.review.kinds import kind_named
from listening.review.outcomes import FIRST, jobs_in_use, outcomes_of, said_by_aspect
from listening.review.rules import RULES
from listening.review.shown_items import reasons_in
from listening.review.targets import reasons_of

AGAIN = ReviewAssignment.Occasion.AGAIN


class ReviewVerdict(TypedDict):
    """One newest verdict; ``system`` and ``label`` are "" while the job is blind."""

    item: int
    reviewer: int  # number in the job
    category: str
    again: bool  # the second time that the same reviewer was shown the item
    system: str
    label: str


class ReviewHead(TypedDict):
    """What a page of another room shows of a job."""

    pk: int
    title: str
    kind: str
    what: str
    rule: str
    rule_version: str
    open: bool
    unblinded: bool
    several: bool  # a verdict may hold several codes, "a|b"
    words: dict[str, str]  # categories


def review_head_or_404(study: str, pk: int) -> ReviewHead:
    job = _job(study, pk)
    kind = kind_named(job.kind)
    return ReviewHead(
        pk=job.pk,
        title=job.title,
        kind=job.kind,
        what=kind.what,
        rule=RULES[job.rule].title,
        rule_version=job.rule_version,
        open=job.state == ReviewJob.State.OPEN,
        unblinded=job.unblinded_at is not None,
        several=kind.several,
        words={each: kind.say(each) for each in _categories(job)},
    )


def _job(study: str, pk: int) -> ReviewJob:
    job = ReviewJob.objects.filter(study__key=study, pk=pk).first()
    if job is None:
        raise Http404("There is no such review in this study.")
    return job


def _categories(job: ReviewJob) -> list[str]:
    rows = ReviewAssignment.objects.filter(item__job=job, answered_at__isnull=False)
    return sorted(set(rows.values_list("category", flat=True)))


VERDICTS = f"""
SELECT i.id, r.number, a.category, a.occasion = {AGAIN:d},
    coalesce(nullif(c.system, ''), nullif(c.label, ''), c.key, ''), coalesce(l.label, '')
FROM listening_reviewassignment a JOIN listening_reviewitem i ON i.id = a.item_id
JOIN listening_reviewer r ON r.id = a.reviewer_id
LEFT JOIN listening_trial t ON t.id = i.trial_id
LEFT JOIN listening_stimulus x ON x.id = coalesce(i.stimulus_id, t.stimulus_id)
LEFT JOIN listening_condition c ON c.id = x.condition_id
LEFT JOIN LATERAL (SELECT string_agg(q.label, ', ' ORDER BY q.id) AS label
    FROM listening_rating q WHERE q.trial_id = t.id) l ON true
WHERE i.job_id = %s AND i.gold IS NULL AND a.answered_at IS NOT NULL
    AND a.occasion IN ({FIRST:d}, {AGAIN:d})
ORDER BY i.position, r.number, a.occasion
"""


def review_verdicts(study: str, pk: int) -> list[ReviewVerdict]:
    """The newest first and second verdicts of all reviewers, without training items."""
    job = _job(study, pk)
    with connection.cursor() as cursor:
        cursor.execute(VERDICTS, [job.pk])
        rows = cursor.fetchall()
    blind = job.unblinded_at is None
    return [
        ReviewVerdict(
            item=item,
            reviewer=number,
            category=category,
            again=again,
            system="" if blind else system,
            label="" if blind else label,
        )
        for item, number, category, again, system, label in rows
    ]


def review_aspects(study: str, pk: int) -> dict[str, dict[int, dict[int, bool]]]:
    """Words of each defect -> item -> reviewer -> whether they said so; {}: it asks for none."""
    job = _job(study, pk)
    words = kind_named(job.kind).words
    return {words[key]: said for key, said in said_by_aspect(job).items()} if words else {}


class Hinted(TypedDict):
    """What suggestions changed: verdicts of one's own, and those that were changed after."""

    own: int
    changed: int


HINTED = """
SELECT count(*), count(*) FILTER (WHERE h.category <> a.category)
FROM listening_reviewassignment a JOIN listening_reviewitem i ON i.id = a.item_id
LEFT JOIN LATERAL (SELECT v.category FROM listening_verdict v
    WHERE v.assignment_id = a.id AND v.phase = 'hinted' ORDER BY v.id DESC LIMIT 1) h ON true
WHERE i.job_id = %s AND a.answered_at IS NOT NULL
"""


def review_hinted(study: str, pk: int) -> Hinted:
    """Suggestions never change what agreement, outcomes and files take: they are one's own."""
    with connection.cursor() as cursor:
        cursor.execute(HINTED, [_job(study, pk).pk])
        own, changed = cursor.fetchone()
    return Hinted(own=own, changed=changed)


def has_review_in_use(study: str) -> bool:
    """Whether a review of reasons decides what analyses use."""
    return bool(jobs_in_use(Study.objects.get(key=study), "reasons"))


class ReviewOutcomes(TypedDict):
    """How the items of a job came out by its rule: training items are not in it."""

    items: int
    complete: int
    disputed: int
    decided: dict[str, int]  # category -> items


def review_outcomes(study: str, pk: int) -> ReviewOutcomes:
    found = [each for each in outcomes_of(_job(study, pk)) if each.gold is None]
    decided: dict[str, int] = {}
    for each in found:
        for category in filter(None, each.category.split("|")):
            decided[category] = decided.get(category, 0) + 1
    return ReviewOutcomes(
        items=len(found),
        complete=sum(each.complete for each in found),
        disputed=sum(each.disputed for each in found),
        decided=decided,
    )


def review_settled(study: str, pk: int) -> dict[int, str]:
    """What each item with all its verdicts came to by the rule; "" where it came to nothing."""
    found = outcomes_of(_job(study, pk))
    return {each.item: each.category for each in found if each.complete and each.gold is None}


class ReasonUnderReview(TypedDict):
    """What a judge model is sent of a reason, and the item to which its answer goes."""

    item: int
    text: str
    labels: str
    language: str


class CodesToSuggest(TypedDict):
    """A review of codes: its codebook, and the reasons in it that are still there."""

    study: int
    pk: int
    title: str
    version: int  # of the codebook
    codebook: dict[str, str]  # what each code means, by key
    reasons: list[ReasonUnderReview]


def codes_to_suggest(study: str, pk: int) -> CodesToSuggest:
    """Without training items: what is right in those, the researchers have said."""
    job = _job(study, pk)
    if job.kind != "codes":
        raise Http404("This review has no codebook.")
    there = set(reasons_of(job.study).values_list("trial", flat=True))
    rows = job.items.filter(gold__isnull=True).order_by("position").values_list("pk", "trial")
    items = {trial: item for item, trial in rows if trial in there}
    reasons = reasons_in(list(items))
    codes = codebook.from_stored(job.settings["codebook"])
    return CodesToSuggest(
        study=job.study_id,
        pk=job.pk,
        title=job.title,
        version=job.settings["version"],
        codebook={code.key: f"{code.title}. {code.words}".strip() for code in codes},
        reasons=[
            ReasonUnderReview(
                item=item,
                text=reasons[trial]["reason"].strip(),
                labels=", ".join(each["label"] for each in reasons[trial]["answers"]),
                language=reasons[trial]["language"],
            )
            for trial, item in items.items()
        ],
    )
