"""Read-only links to results: made, listed and ended by who may see them; opened by anybody."""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from django.db.models import F
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from analysis.models import AnalysisRun, ReadOnlyLink, ResultsLink
from analysis.web.results_links import MOST_LINK_DAYS, links_of
from analysis.web.views import ALL, asked_view, shown_run
from listening.common.views import logged_in_post
from listening.selectors import study_head_or_404

if TYPE_CHECKING:
    from analysis.report.html.section import Section
    from analysis.report.report_schema import Report
    from analysis.report.shared_report import Private

MOST_OPEN = 50  # links of one study; a list that nobody reads protects nobody
TOKEN_BYTES = 24
Answer = TypeVar("Answer", bound=HttpResponseBase)
log = logging.getLogger(__name__)


def hash_of(token: str) -> str:
    """What is kept of an address: 192 random bits need no salt."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


# --- By who may see the study --------------------------------------------------------------------


@logged_in_post
def share(request: HttpRequest, key: str) -> HttpResponse:
    """Make a link; its address is on the answer to this and nowhere else."""
    head = study_head_or_404(key, request.user, "edit")
    full = f"This study has {MOST_OPEN} active links. Revoke one before you create another."
    context = {
        "what": head["called"],
        "list": "Studies",
        "list_url": reverse("studies"),
        "crumb": key,
        "crumb_url": reverse("results", args=[key]),
        "back": f"{reverse('results', args=[key])}#sharing-title",
        "kind": "results",
        "problem": full if sum(link.is_open for link in links_of(key)) >= MOST_OPEN else "",
    }

    def make(**fields: Any) -> ResultsLink:
        shown = {part: request.POST.get(part) == "1" for part in ("audio", "reasons")}
        run_asked = request.POST.get("run", "")
        run = shown_run(key, run_asked) if run_asked else None
        link = ResultsLink.objects.create(study_id=head["pk"], run=run, **shown, **fields)
        log.info("account %s made results link %s of study %s", request.user.pk, link.pk, key)
        return link

    return made_link(request, context, make, "shared-results")


def made_link(
    request: HttpRequest, context: dict[str, Any], make: Callable[..., ReadOnlyLink], route: str
) -> HttpResponse:
    """Make a link and show its address, on this page and nowhere else; or show the problem."""
    days, wrong = days_of(request.POST.get("days", ""))
    context["problem"] = context["problem"] or wrong
    if context["problem"]:
        return render(request, "analysis/shared_made.html", context, status=400)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    context["link"] = make(
        made_by_id=request.user.pk,
        name=request.POST.get("name", "").strip()[:80],
        token_hash=hash_of(token),
        expires_at=timezone.now() + timedelta(days=days),
    )
    context["address"] = request.build_absolute_uri(reverse(route, args=[token]))
    response = render(request, "analysis/shared_made.html", context)
    response["Cache-Control"] = "private, no-store"
    return response


@logged_in_post
def unshare(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """End a link at once; it stays in the list."""
    study_head_or_404(key, request.user, "edit")
    link = get_object_or_404(ResultsLink, pk=pk, study__key=key)
    ended = ResultsLink.objects.filter(pk=link.pk, revoked_at=None)
    if ended.update(revoked_at=timezone.now()):
        log.info("account %s ended results link %s of study %s", request.user.pk, pk, key)
    return redirect(f"{reverse('results', args=[key])}#sharing-title")


def days_of(text: str) -> tuple[int, str]:
    """The days that a link lasts, or what is wrong with them."""
    days = int(text) if text.isascii() and text.isdecimal() and len(text) < 5 else 0
    if 1 <= days <= MOST_LINK_DAYS:
        return days, ""
    return 0, f"A link must be valid for 1 to {MOST_LINK_DAYS} days."


# --- By anybody who has the address --------------------------------------------------------------


@require_safe
def shared_results(request: HttpRequest, token: str) -> HttpResponse:
    """The results of one study, as far as the link shows them."""
    link = ResultsLink.objects.filter(token_hash=hash_of(token)).select_related("study").first()
    if link is None or not link.is_open:
        return over(request, link)
    if count_opening(request, link):
        log.info("results link %s of study %s was opened", link.pk, link.study_id)
    return kept_by_nobody(render(request, "analysis/shared.html", _page(request, link, token)))


@require_safe
def shared_clip(request: HttpRequest, token: str, stimulus: str) -> HttpResponseBase:
    """A rated clip of the study, where the link lets clips be heard."""
    from listening.selectors import served_clip_response

    link = ResultsLink.objects.filter(token_hash=hash_of(token)).select_related("study").first()
    if link is None or not link.is_open or not link.audio or "\0" in stimulus:
        raise Http404
    wanted = request.headers.get("Range", "")
    response = served_clip_response(link.study.key, stimulus, wanted)
    if response is None:
        raise Http404
    return kept_by_nobody(response)


def over(request: HttpRequest, link: ReadOnlyLink | None) -> HttpResponse:
    """What whoever opens a link reads that has ended, or that there never was."""
    context, status = ({}, 404) if link is None else ({"link": link}, 410)
    return kept_by_nobody(render(request, "analysis/shared_over.html", context, status=status))


def count_opening(request: HttpRequest, link: ReadOnlyLink) -> bool:
    """Counts a look at an open link; asking for its head is none."""
    if request.method != "GET":
        return False
    counted = type(link)._default_manager.filter(pk=link.pk)
    counted.update(opened=F("opened") + 1, last_opened_at=timezone.now())
    return True


def kept_by_nobody(response: Answer) -> Answer:
    """Kept by nothing, found by no search, and its address told to no other site."""
    response["Cache-Control"] = "private, no-store"
    response["Referrer-Policy"] = "no-referrer"
    response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    return response


def _page(request: HttpRequest, link: ResultsLink, token: str) -> dict[str, Any]:
    from analysis.report.shared_report import held_back, shared_report
    from listening.selectors import ratings_state

    run = _linked_run(link)
    context: dict[str, Any] = {"study": link.study, "link": link, "shown": run}
    if run is None:
        return context
    private = _private(link)
    whole = run.page_report()
    report = shared_report(whole, private)
    return {
        **context,
        **_choices(request, report),
        "sections": _sections(request, report, private),
        "held_back": held_back(whole, private),
        "in_words": private.words and bool(private.questions),
        "is_older": ratings_state(link.study.key)["mark"] != run.ratings_mark,
        "clips": _clips(link, token) if link.audio else [],
    }


def _linked_run(link: ResultsLink) -> AnalysisRun | None:
    """The analysis that the link names, else the newest finished one; none once it was deleted."""
    done = AnalysisRun.objects.filter(study_id=link.study_id, state=AnalysisRun.State.DONE)
    return done.filter(pk=link.run_id).first() if link.run_id else done.first()


def _private(link: ResultsLink) -> Private:
    from analysis.report.shared_report import Private
    from listening.selectors import RATER_CODE, questions_in_words

    return Private(RATER_CODE, not link.reasons, questions_in_words(link.study.key))


def _sections(request: HttpRequest, report: Report, private: Private) -> list[Section]:
    """The page's sections; a code that no rule foresaw is still taken out of them."""
    from dataclasses import replace

    from markupsafe import Markup

    from analysis.report.html.brief import MOST_ROWS
    from analysis.report.html.page import sections
    from analysis.report.shared_report import without_codes

    if not report["data"]["ratings"]:
        return []
    every = sections(report, asked_view(request, report), most=MOST_ROWS)
    return [
        replace(
            each,
            html=Markup(without_codes(str(each.html), private)),
            line=without_codes(each.line, private),
            headline=without_codes(each.headline, private),
        )
        for each in every
    ]


def _choices(request: HttpRequest, report: Report) -> dict[str, Any]:
    """What the page can be narrowed to, as links: it has no forms."""
    from analysis.report.condition_labels import family_labels
    from analysis.report.html.view import titles

    labels = family_labels(report)
    families = [(title, labels.get(title, title)) for title in titles(report)]
    return {"families": families, "view": asked_view(request, report), "all": ALL}


def _clips(link: ResultsLink, token: str) -> list[dict[str, Any]]:
    """Each item with its clips, and where these are heard."""
    from listening.selectors import served_clips

    items: dict[str, dict[str, Any]] = {}
    for clip in served_clips(link.study.key):
        name = clip["item"]
        item = items.setdefault(name, {"name": name, "text": clip["text"], "clips": []})
        address = reverse("shared-clip", args=[token, clip["stimulus"]])
        item["clips"].append({"label": clip["label"], "address": address})
    return list(items.values())
