"""Read-only links to leaderboards: made and ended by who may run every study on them."""

from __future__ import annotations

import logging
import secrets
from datetime import timedelta

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from analysis.models import LeaderboardLink
from analysis.web.boards import board_for, check_edit, shown_board
from analysis.web.sharing import (
    MOST_OPEN,
    TOKEN_BYTES,
    count_opening,
    days_of,
    hash_of,
    kept_by_nobody,
    over,
)
from listening.selectors import study_head_or_404

log = logging.getLogger(__name__)


@login_required
@require_POST
def share_board(request: HttpRequest, pk: int) -> HttpResponse:
    """Make a link; its address is on the answer to this and nowhere else."""
    board = board_for(request.user, pk)
    check_edit(request, board)
    days, problem = days_of(request.POST.get("days", ""))
    if sum(link.is_open for link in board.links.all()) >= MOST_OPEN:
        problem = f"This leaderboard has {MOST_OPEN} open links. End one before you make another."
    back = f"{reverse('leaderboard', args=[pk])}#sharing-title"
    context = {
        "what": board,
        "list": "Leaderboards",
        "list_url": reverse("leaderboards"),
        "crumb": board,
        "crumb_url": back,
        "back": back,
        "kind": "leaderboard",
        "problem": problem,
    }
    if problem:
        return render(request, "analysis/shared_made.html", context, status=400)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    context["link"] = LeaderboardLink.objects.create(
        board=board,
        made_by_id=request.user.pk,
        name=request.POST.get("name", "").strip()[:80],
        token_hash=hash_of(token),
        expires_at=timezone.now() + timedelta(days=days),
    )
    context["address"] = request.build_absolute_uri(reverse("shared-leaderboard", args=[token]))
    response = render(request, "analysis/shared_made.html", context)
    response["Cache-Control"] = "private, no-store"
    return response


@login_required
@require_POST
def unshare_board(request: HttpRequest, pk: int, link: int) -> HttpResponse:
    """End a link at once; it stays in the list."""
    board = board_for(request.user, pk)
    check_edit(request, board)
    found = get_object_or_404(LeaderboardLink, pk=link, board=board)
    ended = LeaderboardLink.objects.filter(pk=found.pk, revoked_at=None)
    ended.update(revoked_at=timezone.now())
    return redirect(f"{reverse('leaderboard', args=[pk])}#sharing-title")


@login_required
@require_POST
def unshare_board_of(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """End a link to a leaderboard that shows this study, whoever has the leaderboard."""
    study_head_or_404(key, request.user, "edit")
    found = LeaderboardLink.objects.filter(board__entries__study__key=key)
    link = get_object_or_404(found.distinct(), pk=pk)
    if LeaderboardLink.objects.filter(pk=link.pk, revoked_at=None).update(
        revoked_at=timezone.now()
    ):
        log.info("account %s ended leaderboard link %s by study %s", request.user.pk, pk, key)
    return redirect(f"{reverse('results', args=[key])}#sharing-title")


@require_safe
def shared_board(request: HttpRequest, token: str) -> HttpResponse:
    """The leaderboard as it was last made; nobody's opening of it makes it again."""
    links = LeaderboardLink.objects.filter(token_hash=hash_of(token)).select_related("board")
    link = links.first()
    if link is None or not link.is_open:
        return over(request, link)
    count_opening(request, link)
    context = {**shown_board(link.board, lambda name: ""), "link": link}
    return kept_by_nobody(render(request, "analysis/shared_leaderboard.html", context))
