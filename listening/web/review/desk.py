"""The reviewer's desk: its page, what is given next, verdicts taken, clips; and one's own reviews.

What a reviewer is shown of an item is made by `listening.review.shown_items` alone.
"""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from listening import audio
from listening.access.rights import reviews_of
from listening.audio.links import flac_response
from listening.common.plain_json import is_storable
from listening.common.views import logged_in_page
from listening.models import ReviewAssignment, Reviewer, ReviewJob
from listening.review import ReviewError, Shut, give_next, kind_named, reviewer_at, store
from listening.review.claiming import own_progress
from listening.review.reviewers import MEMBER
from listening.review.shown_items import framed, served_copies
from listening.review.training import feedback_after, training_notice
from listening.web.rater.api import Malformed, json_body, replied

GONE = "This review link has expired, was revoked or is incomplete."
CLIPS_CACHE_S = 3600
UNKNOWN = {"error": "unknown_desk", "message": GONE}


@logged_in_page
def mine(request: HttpRequest) -> HttpResponse:
    """The reviews in which somebody may take part by their role."""
    jobs = ReviewJob.objects.filter(study__in=reviews_of(request.user)).exclude(
        state=ReviewJob.State.DRAFT
    )
    shut = Reviewer.objects.filter(user=request.user.pk, revoked_at__isnull=False)
    jobs = jobs.exclude(pk__in=shut.values("job"))
    rows = [
        {
            "job": job,
            "what": kind_named(job.kind).what,
            "desk": reverse("review-desk", args=[f"{MEMBER}{job.pk}"]),
            "progress": own_progress(reviewer) if reviewer else None,
        }
        for job in jobs
        for reviewer in [job.reviewers.filter(user=request.user.pk).first()]
    ]
    return render(request, "review/mine.html", {"rows": rows})


@never_cache
@require_GET
def desk(request: HttpRequest, token: str) -> HttpResponse:
    reviewer = reviewer_at(token, request.user)
    if reviewer is None:
        return render(request, "review/gone.html", {"words": GONE}, status=404)
    job = reviewer.job
    kind = kind_named(job.kind)
    question = kind.desk(kind.settings_from(job.settings))
    page_data = {
        "reviewer": str(reviewer),
        "kind": job.kind,
        "question": {**question, "hints": question.get("hints", False) or kind.suggests(job)},
        "open": job.state == ReviewJob.State.OPEN,
        "clips": reverse("review-clip", args=[token, "0" * 8 + "-0000" * 3 + "-" + "0" * 12, 0]),
    }
    context = {"job": job, "kind": kind, "told": page_data, "reviewer": reviewer, "token": token}
    return render(request, "review/desk.html", context)


@never_cache
@require_POST
def next_items(request: HttpRequest, token: str) -> HttpResponse:
    """Items to judge, as many as the page wants ahead."""
    reviewer = reviewer_at(token, request.user)
    if reviewer is None:
        return replied(UNKNOWN, 404)
    try:
        want = json_body(request).get("want")
    except Malformed as error:
        return _refused(error, error.status)
    assigned = give_next(reviewer, want if type(want) is int else 0)
    notice = {} if assigned else {"kept_back": training_notice(reviewer.job, reviewer)}
    return replied({"items": shown_items(reviewer, assigned), **notice, **_standing(reviewer)})


def shown_items(reviewer: Reviewer, assigned: list[ReviewAssignment]) -> list[dict[str, Any]]:
    kind = kind_named(reviewer.job.kind)
    return framed(assigned, kind.show_items(reviewer.job, assigned), kind.say)


@never_cache
@require_POST
def verdicts(request: HttpRequest, token: str) -> HttpResponse:
    reviewer = reviewer_at(token, request.user)
    if reviewer is None:
        return replied(UNKNOWN, 404)
    try:
        data = json_body(request).get("verdicts")
        if not isinstance(data, list) or not is_storable(data):
            raise Malformed
        stored = store(reviewer, data)
    except Shut as error:
        return replied({"error": "shut", "message": str(error)}, 409)
    except ReviewError as error:
        return _refused(error, 422)
    except Malformed as error:
        return _refused(error, error.status)
    body = {
        "stored": stored.keys,
        "refused": [{"key": key, "message": message} for key, message in stored.refused],
        **feedback_after(reviewer, stored.keys),
    }
    return replied({**body, **_standing(reviewer)}, 201)


def _refused(error: Exception, status: int) -> HttpResponse:
    return replied({"error": "malformed", "message": str(error)}, status)


def _standing(reviewer: Reviewer) -> dict[str, Any]:
    state = ReviewJob.objects.values_list("state", flat=True).get(pk=reviewer.job_id)
    return {"open": state == ReviewJob.State.OPEN, "progress": own_progress(reviewer)}


@require_GET
def clip(request: HttpRequest, token: str, item: str, place: int) -> HttpResponseBase:
    """A clip of an item assigned to this reviewer, where the job lets them hear it.

    As raters, they get an appearance of its own for each assignment, unless they mark times in it.
    """
    reviewer = reviewer_at(token, request.user)
    if reviewer is None:
        raise Http404
    rows = ReviewAssignment.objects.select_related("item__trial")
    assignment = get_object_or_404(rows, reviewer=reviewer, code=item)
    kind = kind_named(reviewer.job.kind)
    copies = served_copies(assignment) if kind.hears(reviewer.job) else []
    try:
        copy = audio.local_path(copies[place])
        shown = audio.ClipRequest(f"review {item} {place}", copy, assignment.pk, place, False)
        found = copy if kind.marks_times else audio.appearance_of(shown)
        response = flac_response(found, request.headers.get("Range", ""))
    except (IndexError, FileNotFoundError):
        raise Http404 from None
    response["Cache-Control"] = f"private, max-age={CLIPS_CACHE_S}"
    del response["Content-Disposition"]  # it would name the stored file
    return response
