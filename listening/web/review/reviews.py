"""The researcher's pages of reviews: jobs, invitations of reviewers, progress, training items."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from listening import review
from listening.access.rights import ANALYSE, EDIT, LOOK, REVIEW, study_for
from listening.common.spreadsheets import TableError, decoded
from listening.common.views import CSV, attachment, logged_in_get, logged_in_page, logged_in_post
from listening.models import Reviewer, ReviewJob, Study
from listening.review import BadVerdict, Kind, Plan, ReviewError, codebook, kind_named
from listening.review.claiming import ReviewerProgress, job_progress, reviewers_progress
from listening.review.clip_results import leave_out, take_in_again
from listening.review.items import FLAGS, SHOWS, SORTS, clips_of, rows_of, verdicts_by_item
from listening.review.kinds.kind import BadSettings, percent
from listening.review.reviewers import DAYS, MEMBER, inviter_may, let_on
from listening.review.rules import RULES
from listening.review.shown_items import reasons_in
from listening.review.training import missed, set_gold
from listening.web.posted_values import number_in
from listening.web.researcher.study_page import who


def _out(request: HttpRequest, job: ReviewJob) -> str:
    form = request.POST
    what, name = form.get("what", ""), form.get("name", "")
    leave_out(job.study, what, name, form.get("because", ""), by=who(request))
    return f"Analyses now exclude {name} (rule left_out) and report it."


def _in(request: HttpRequest, job: ReviewJob) -> str:
    form = request.POST
    what, name = form.get("what", ""), form.get("name", "")
    take_in_again(job.study, what, name, form.get("because", ""), by=who(request))
    return f"Analyses now include {name} again."


clip_actions: dict[str, Callable[[HttpRequest, ReviewJob], str]] = {
    "leave-out": _out,
    "take-in-again": _in,
}


ITEMS_PER_PAGE = 25
LARGEST_FILE = 200_000
RESOLVINGS = (
    ("none", "Leave undecided"),
    ("third", "An adjudicator decides without seeing the verdicts"),
    ("talk", "Reviewers see each other’s verdicts and judge again"),
)


@logged_in_get
def page(request: HttpRequest, key: str) -> HttpResponse:
    """All reviews of a study, and a form for another one."""
    study = study_for(request.user, key, LOOK)
    jobs = [
        {"job": job, "kind": kind_named(job.kind), "progress": job_progress(job)}
        for job in study.review_jobs.all()
    ]
    kinds = [kind_named(each) for each in Kind.registry]
    context = {
        "study": study,
        "draft": study.drafts.first(),
        "jobs": jobs,
        "resolvings": RESOLVINGS,
        "kinds": [
            {"kind": kind, "lacking": kind.lacking(study), "rules": [RULES[r] for r in kind.rules]}
            for kind in kinds
        ]
        if EDIT in study.may
        else [],
    }
    return render(request, "review/reviews.html", context)


@logged_in_page
def job_page(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    study = study_for(request.user, key, LOOK)
    job = _job(study, pk)
    kind = kind_named(job.kind)
    done, training = reviewers_progress(job), job.items.filter(gold__isnull=False).count()
    context = {
        "study": study,
        "job": job,
        "kind": kind,
        "rule": RULES[job.rule],
        "progress": job_progress(job),
        "reviewers": [
            (
                each,
                counts := done.get(each.pk),
                _misses(job, each, counts, training),
                bool(each.digest) and not inviter_may(each),
            )
            for each in job.reviewers.select_related("user", "job__study__project")
        ],
        "rules": [RULES[each] for each in kind.rules],
        "resolvings": RESOLVINGS,
        "days": DAYS,
        "judge": bool(settings.EARNEST_JUDGE_URL),
        **(kind.results_of(job) if job.unblinded_at else {}),
        "desk": reverse("review-desk", args=[f"{MEMBER}{job.pk}"]) if REVIEW in study.may else "",
    }
    return render(request, "review/job.html", context)


def _misses(
    job: ReviewJob, reviewer: Reviewer, done: ReviewerProgress | None, training: int
) -> bool:
    """Whether all training left them below the pass mark, and nobody let them go on."""
    if done is None or reviewer.let_on or done.gold < training:
        return False
    return missed(job, done.gold_right, done.gold)


@logged_in_page
def items_page(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """Every item of a review with its evidence and the verdicts on it."""
    study = study_for(request.user, key, ANALYSE)
    job = _job(study, pk)
    kind = kind_named(job.kind)
    asks = kind.desk(kind.settings_from(job.settings))
    query = {name: request.GET.get(name, "") for name in ("show", "sort", "flag")}
    rows, signs = rows_of(job, **query)
    page = Paginator(rows, ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    about = verdicts_by_item([row.outcome.item for row in page])
    texts = reasons_in([row.outcome.trial for row in page if row.outcome.trial])
    clips = clips_of([row.outcome.stimulus for row in page if row.outcome.stimulus])
    context = {
        "study": study,
        "job": job,
        "kind": kind,
        "page": page,
        "rows": [
            {
                "item": row.outcome.item,
                "outcome": kind.say(row.outcome.category) if row.outcome.category else "",
                "gold": row.outcome.gold,
                "because": row.outcome.because,
                "text": texts.get(row.outcome.trial or 0),
                "clip": clips.get(row.outcome.stimulus or 0),
                "flags": [(f, FLAGS[f]) for f in sorted(row.evidence.flags)],
                "evidence": row.evidence,
                "said": [
                    (each, kind.say(each.category)) for each in about.get(row.outcome.item, [])
                ],
            }
            for row in page
        ],
        "signs": signs,
        "asked": query,
        "shows": [(name, words) for name, (words, _) in SHOWS.items()],
        "sorts": [(name, words) for name, (words, _) in SORTS.items()],
        "flags": FLAGS,
        "choices": asks.get("choices", []),
        "codes": asks.get("codes", []),
        "trains": EDIT in study.may and bool(asks.get("choices") or asks.get("codes")),
        "query": urlencode({name: value for name, value in query.items() if value}),
    }
    return render(request, "review/items.html", context)


def _job(study: Study, pk: int) -> ReviewJob:
    job = study.review_jobs.filter(pk=pk).first()
    if job is None:
        raise Http404("This study has no such review.")
    job.study = study
    return job


@logged_in_get
def codebook_file(request: HttpRequest, key: str, pk: int, form: str) -> HttpResponse:
    """The codebook of a review of codes, to edit and to share."""
    job = _job(study_for(request.user, key, ANALYSE), pk)
    if job.kind != "codes":
        raise Http404("This review has no codebook.")
    codes = codebook.from_stored(job.settings["codebook"])
    if form == "csv":
        text, kind = codebook.as_csv(codes), CSV
    else:
        stored = {"version": job.settings["version"], "codes": codebook.as_stored(codes)}
        text, kind = json.dumps(stored, ensure_ascii=False, indent=2), "application/json"
    return attachment(text, f"{key}-codebook-{job.settings['version']}.{form}", kind)


# --- What can be done ----------------------------------------------------------------------------


@logged_in_post
def do(request: HttpRequest, key: str) -> HttpResponse:
    study = study_for(request.user, key, EDIT)
    name, pk = request.POST.get("action", ""), number_in(request, "job")
    try:
        if name == "make":
            job = _make(request, study)
            return redirect("review-job", key=key, pk=job.pk)
        if name not in ACTIONS:
            raise ReviewError("This action does not exist.")
        messages.success(request, ACTIONS[name](request, _job(study, pk)))
    except (ReviewError, BadSettings, BadVerdict) as error:
        messages.error(request, str(error))
    if name == "gold":
        back = request.POST.get("back", "")[:200].lstrip("?&")
        return redirect(f"{reverse('review-items', args=[key, pk])}?{back}")
    if study.review_jobs.filter(pk=pk).exists():
        anchor = "#reviewers" if name in ("invite", "revoke", "let-on") else ""
        return redirect(reverse("review-job", args=[key, pk]) + anchor)
    return redirect("reviews", key=key)


def _make(request: HttpRequest, study: Study) -> ReviewJob:
    form = request.POST
    if form.get("kind", "") not in Kind.registry:
        raise ReviewError("This kind of review does not exist.")
    kind = kind_named(form["kind"])
    if reason := kind.lacking(study):
        raise ReviewError(reason)
    plan = Plan(
        kind=kind.key,
        title=form.get("title", ""),
        instructions=form.get("instructions", "")[:5000],
        settings=kind.read(_fields(request)),
        per_item=number_in(request, "per_item"),
        repeated=percent(form, "repeated", 0.1),
        training_pass=percent(form, "training_pass", 0.0),
        resolving=form.get("resolving", "none"),
        rule=form.get("rule", kind.rules[0]),
    )
    return review.make_job(study, plan, by=who(request))


def _fields(request: HttpRequest) -> dict[str, str]:
    """The fields of a form, files read as text."""
    fields = {name: str(value) for name, value in request.POST.items()}
    for name, file in request.FILES.items():
        if isinstance(file, UploadedFile):
            if (file.size or 0) > LARGEST_FILE:
                raise ReviewError("The file is larger than 200 kB.")
            try:
                fields[name], _ = decoded(file.read())
            except TableError as error:
                raise ReviewError(f"The file cannot be read: {error}.") from None
    return fields


def _codebook(request: HttpRequest, job: ReviewJob) -> str:
    version = review.change_codebook(
        job, _fields(request).get("codebook_file", ""), by=who(request)
    )
    return f"The codebook is now version {version}."


def _state(state: str) -> Callable[[HttpRequest, ReviewJob], str]:
    def act(request: HttpRequest, job: ReviewJob) -> str:
        review.set_state(job, state, by=who(request))
        return f"The review is now {state}."

    return act


def _invite(request: HttpRequest, job: ReviewJob) -> str:
    link = review.invite(
        job,
        number_in(request, "days"),
        by=who(request),
        whom=request.POST.get("whom", ""),
        adjudicates=request.POST.get("adjudicates") == "on",
    )
    return f"Send this link to one person. It is shown only once: {link}"


def _revoke(request: HttpRequest, job: ReviewJob) -> str:
    revoked = review.revoke(job, number_in(request, "reviewer"), by=who(request))
    return "Access revoked. The verdicts are kept." if revoked else "Access was already revoked."


def _let_on(request: HttpRequest, job: ReviewJob) -> str:
    changed = let_on(job, number_in(request, "reviewer"), by=who(request))
    if changed:
        return "The reviewer can continue. The log records it."
    return "The reviewer can already continue."


def _take_in(request: HttpRequest, job: ReviewJob) -> str:
    new = review.take_in(job)
    what = kind_named(job.kind).what
    return f"{new:,} new {what} in the review." if new else f"There are no new {what}."


def _gold(request: HttpRequest, job: ReviewJob) -> str:
    name, value = request.POST.get("answer", "").partition(":")[::2]
    answer: dict[str, Any] | None = {name: value} if value else None
    if job.kind == "codes" and (codes := request.POST.getlist("codes")):
        answer = {"codes": codes}
    set_gold(job, number_in(request, "item"), answer, request.POST.get("because", ""))
    return "Marked for training." if answer else "Removed from training."


def _unblind(request: HttpRequest, job: ReviewJob) -> str:
    review.unblind(job, by=who(request))
    return "Results by system and label are now shown. The log records it."


def _change(request: HttpRequest, job: ReviewJob) -> str:
    form = request.POST
    changed = review.change_job(
        job,
        by=who(request),
        rule=form.get("rule", ""),
        resolving=form.get("resolving", ""),
        in_use=form.get("in_use") == "on",
    )
    return "Saved. The log records the change." if changed else "Nothing changed."


def _delete(request: HttpRequest, job: ReviewJob) -> str:
    review.delete_job(job, by=who(request))
    return "Review deleted."


ACTIONS: dict[str, Callable[[HttpRequest, ReviewJob], str]] = {
    "open": _state("open"),
    "close": _state("closed"),
    "invite": _invite,
    "revoke": _revoke,
    "let-on": _let_on,
    "take-in": _take_in,
    "gold": _gold,
    "unblind": _unblind,
    "change": _change,
    "codebook": _codebook,
    "delete": _delete,
    **clip_actions,
}
