"""Who reviews in a job: members by their account, others by a link of their own."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Max, Q
from django.utils import timezone

from listening.access.projects import digest
from listening.access.rights import EDIT, LOOK, REVIEW, account_named, maker_may, rights_in
from listening.common.addresses import public_route
from listening.models import Reviewer, ReviewJob
from listening.models.study_log import note
from listening.review.jobs import ReviewError

DAYS = (7, 30, 90)  # for which a link may work
MEMBER = "me-"  # what the address of a member's desk begins with; the rest is the job's number


def invite(job: ReviewJob, days: int, *, by: str, whom: str = "", adjudicates: bool = False) -> str:
    """A link to this job's desk, for one person; nobody can be shown it again."""
    if days not in DAYS:
        raise ReviewError("Choose one of the listed durations.")
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        reviewer = _add(
            job,
            by=by,
            whom=" ".join(whom.split())[:120],
            adjudicates=adjudicates,
            digest=digest(token),
            made_by=account_named(by),
            expires_at=timezone.now() + timedelta(days=days),
        )
        note(job.study, "reviewer_invited", by, review=job.title, reviewer=str(reviewer))
    return public_route("review-desk", token)


def member_of(job: ReviewJob, user: Any) -> Reviewer:
    """Somebody whose role lets them review, as a reviewer of this job."""
    reviewer = job.reviewers.filter(user=user.pk).first()
    if reviewer is None:
        sees = LOOK in rights_in(job.study, user)
        with transaction.atomic():
            reviewer = _add(job, by=user.get_username(), user=user, sees_results=sees)
    return reviewer


def from_elsewhere(job: ReviewJob, whom: str, *, by: str) -> Reviewer:
    """Somebody who judges in another tool: no desk is theirs. The same name is the same person."""
    with transaction.atomic():
        reviewer = job.reviewers.filter(user=None, digest="", whom=whom).first()
        if reviewer is None:
            reviewer = _add(job, by=by, whom=whom)
            note(
                job.study, "reviewer_invited", by, review=job.title, reviewer=f"{reviewer} ({whom})"
            )
    return reviewer


def _add(job: ReviewJob, **fields: Any) -> Reviewer:
    ReviewJob.objects.select_for_update().get(pk=job.pk)
    last = job.reviewers.aggregate(last=Max("number"))["last"] or 0
    return Reviewer.objects.create(job=job, number=last + 1, **fields)


def let_on(job: ReviewJob, pk: int, *, by: str) -> bool:
    """Who missed the pass mark of the training goes on; whether that changed anything."""
    with transaction.atomic():
        row = job.reviewers.filter(pk=pk, let_on=False).first()
        if row is None:
            return False
        row.let_on = True
        row.save(update_fields=["let_on"])
        note(job.study, "review_changed", by, review=job.title, goes_on=str(row))
    return True


def revoke(job: ReviewJob, pk: int, *, by: str) -> bool:
    """Shuts their desk; what they said stays. Whether it was open."""
    with transaction.atomic():
        rows = job.reviewers.filter(pk=pk, revoked_at__isnull=True)
        reviewer = rows.first()
        if reviewer is None:
            return False
        rows.update(revoked_at=timezone.now())
        note(job.study, "reviewer_revoked", by, review=job.title, reviewer=str(reviewer))
    return True


def reviewer_at(token: str, user: Any) -> Reviewer | None:
    """Whose desk an address is, while it is theirs to use."""
    rows = Reviewer.objects.select_related("job__study__project", "made_by").filter(
        revoked_at__isnull=True
    )
    if token.startswith(MEMBER):
        return _member_at(token.removeprefix(MEMBER), user)
    in_time = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    reviewer = rows.filter(in_time, digest=digest(token), user=None).first()
    return reviewer if reviewer is not None and inviter_may(reviewer) else None


def inviter_may(reviewer: Reviewer) -> bool:
    """Whether who made this link could make it still: it ends with their right."""
    return maker_may(reviewer, reviewer.job.study, EDIT)


def _member_at(number: str, user: Any) -> Reviewer | None:
    if not number.isdecimal() or len(number) > 9 or not user.is_authenticated:
        return None
    job = ReviewJob.objects.select_related("study__project").filter(pk=int(number)).first()
    if job is None or job.state == ReviewJob.State.DRAFT:
        return None
    if REVIEW not in rights_in(job.study, user):
        return None
    reviewer = member_of(job, user)
    return None if reviewer.revoked_at else reviewer
