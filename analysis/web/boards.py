"""The pages of leaderboards: the list, one of them, its files, and what can be changed."""

from __future__ import annotations

import gzip
import io
import logging
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.text import slugify
from django.views.decorators.http import (
    require_http_methods,
    require_safe,
)

from analysis.models import Leaderboard, LeaderboardEntry, LeaderboardLink
from analysis.name_spans import resolve
from analysis.report.content import Table
from analysis.web.board_jobs import ask_for_version, content_of, make_when_due
from analysis.web.board_versions import changes, ever_entered, next_version, systems_of
from analysis.web.results_links import LINK_DAYS, MOST_LINK_DAYS
from analysis.web.sharing import (
    MOST_OPEN,
    count_opening,
    hash_of,
    kept_by_nobody,
    made_link,
    over,
)
from listening.common.signals import acted
from listening.common.views import CSV, attachment, logged_in_get, logged_in_page, logged_in_post
from listening.selectors import board_choices, board_projects, study_head_or_404

MOST_STUDIES = 20
BIBTEX = "references.bib"
PIECE = 65_536
VERSION, ANSWERS = "version-{}.json", "version-{}-answers.csv"
VERSION_FILE = re.compile(r"version-(?P<number>[0-9]{1,9})(?P<part>\.json|-answers\.csv)")
LONGEST_NAME = 120
REFRESH_S = 2
NO_SUCH = "You have no such leaderboard."


class BoardError(ValueError):
    """What was asked for cannot be done; the message says why, and what to do."""


@login_required
@require_http_methods(["GET", "POST"])
def boards(request: HttpRequest) -> HttpResponse:
    """All leaderboards that one may see, and a form for a new one."""
    if request.method == "POST":
        try:
            board = _save_board(request, Leaderboard(owner_id=int(request.user.pk or 0)))
        except BoardError as error:
            messages.error(request, str(error))
            return redirect("leaderboards")
        return redirect("leaderboard", pk=board.pk)
    shown = [(board, board.keys) for board in visible_boards(request.user)]
    return render(request, "analysis/leaderboards.html", {"boards": shown, **_form(request)})


@logged_in_page
def board_page(request: HttpRequest, pk: int) -> HttpResponse:
    """One leaderboard; it is made again where something has changed."""
    board = board_for(request.user, pk)
    make_when_due(board)
    link_to = _file_link(pk)
    context = {**shown_board(board, link_to), **_form(request, board)}
    context["anchor_choices"] = sorted({*context.get("systems", ()), *board.anchors})
    context["links"] = board.links.select_related("made_by") if may_edit(request, board) else None
    context["may_edit"] = may_edit(request, board)
    context |= versions_of(board, link_to)
    if context["may_edit"] and (content := content_of(board)):
        context["next_version"] = next_version(board, content)
    return render(request, "analysis/leaderboard.html", context)


@logged_in_get
def board_file(request: HttpRequest, pk: int, name: str) -> HttpResponseBase:
    """One of its tables as CSV or LaTeX, a version or its answers, or what its methods cite."""
    from analysis.citations import works_in

    board = board_for(request.user, pk)
    stem, _, kind = name.rpartition(".")
    content = content_of(board)
    for table in content.tables if content else ():
        if table.key == stem and kind in ("csv", "tex"):
            text, of_kind = _table_file(board, table, kind)
            return attachment(text, _name_of(board, table, kind), of_kind)
    if content and name == BIBTEX and content.methods:
        works = "\n".join(work.bibtex for work in works_in(content.methods))
        return attachment(works, name, "text/plain; charset=utf-8")
    if file := VERSION_FILE.fullmatch(name):
        return _version_file(request, board, int(file["number"]), file["part"])
    raise Http404(f"There is no file {name}.")


@logged_in_post
def board_do(request: HttpRequest, pk: int) -> HttpResponse:
    """Change it, or delete it."""
    board = board_for(request.user, pk)
    check_edit(request, board)
    if request.POST.get("do") == "version":
        ask_for_version(board, _note_in(request) or "by hand")
        messages.success(request, "The version is being made. It appears under “Versions”.")
        return redirect(f"{reverse('leaderboard', args=[pk])}#versions-title")
    if request.POST.get("do") == "delete":
        board.delete()
        messages.success(request, f"“{board.title}” was deleted. Its studies are not affected.")
        return redirect("leaderboards")
    try:
        _save_board(request, board)
    except BoardError as error:
        messages.error(request, str(error))
    return redirect("leaderboard", pk=pk)


def _note_in(request: HttpRequest) -> str:
    """What somebody says of the next version."""
    return " ".join(request.POST.get("note", "").split())[:200]


def _name_of(board: Leaderboard, table: Table, kind: str) -> str:
    """As a file is called: the leaderboard, the table, and what it is about."""
    named = (board.title, table.key.partition("_")[0], table.about)
    stem = "-".join(part for part in map(slugify, named) if part)
    return f"{stem[:LONGEST_NAME]}.{kind}"


# --- Who may -------------------------------------------------------------------------------------


def visible_boards(user: Any) -> list[Leaderboard]:
    """One's own and those of one's projects, where one may analyse every study on them."""
    allowed = {choice["key"] for choice in board_choices(user)}
    projects = [project.pk for project in board_projects(user)]
    candidates = Leaderboard.objects.filter(
        Q(project=None, owner=user.pk) | Q(project__in=projects)
    ).select_related("owner", "project")
    return [board for board in candidates if set(board.keys) <= allowed]


def board_for(user: Any, pk: int) -> Leaderboard:
    """The leaderboard, for who may analyse each of its studies; else there is none (404)."""
    for board in visible_boards(user):
        if board.pk == pk:
            return board
    raise Http404(NO_SUCH)


def may_edit(request: HttpRequest, board: Leaderboard) -> bool:
    """Whether they may run every study on it: then they may change and share it, too."""
    try:
        check_edit(request, board)
    except PermissionDenied:
        return False
    return True


def check_edit(request: HttpRequest, board: Leaderboard) -> None:
    """PermissionDenied unless they may run every study on it."""
    for key in board.keys:
        study_head_or_404(key, request.user, "edit")


# --- What is shown -------------------------------------------------------------------------------


def shown_board(board: Leaderboard, link: Any) -> dict[str, Any]:
    """What the page and the read-only page show."""
    from markupsafe import Markup

    from analysis.report.html.environment import join
    from analysis.report.html.part_html import figure_html, no_link, table_html

    content = content_of(board)
    waits = board.state == Leaderboard.State.WAITING
    shown: dict[str, Any] = {"board": board, "refresh_s": REFRESH_S if waits else 0, "parts": []}
    if content is None:
        return shown
    for title in dict.fromkeys(table.about for table in content.tables):
        drawn = [each for each in content.figures if each.about == title]
        tables = [each for each in content.tables if each.about == title]
        html = table_html(tables[0], tables[0].key, link)
        figures = join(figure_html(each, each.key, no_link) for each in drawn)
        html += Markup('<div class="plots">{}</div>').format(figures)
        html += join(table_html(each, each.key, link) for each in tables[1:])
        files = [(f"{each.key}.tex", link(f"{each.key}.tex")) for each in tables]
        shown["parts"].append({"title": title, "html": html, "tex": [f for f in files if f[1]]})
    return shown | {
        "sentences": content.sentences,
        "warnings": content.warnings,
        "methods": [resolve(text) for text in content.methods],
        "bibtex": link(BIBTEX) if content.methods else "",
        "systems": systems_of(content),
    }


def versions_of(board: Leaderboard, link: Callable[[str], str]) -> dict[str, Any]:
    """Its versions with links to their files, and every system that was ever on it."""
    every = changes(board)
    numbers = [each.version.number for each in every]
    return {
        "versions": [
            (each, link(VERSION.format(number)), link(ANSWERS.format(number)))
            for each, number in zip(every, numbers, strict=True)
        ],
        "unpublished": every[0].version.answers_facts.get("left_out", {}) if every else {},
        "ever": ever_entered(every),
    }


def _version_file(
    request: HttpRequest, board: Leaderboard, number: int, part: str
) -> HttpResponseBase:
    """A file of a version, byte by byte as its digest was taken of it; streamed if large."""
    version = get_object_or_404(board.versions.exclude(text=""), number=number)
    name = f"{slugify(board.title)[:LONGEST_NAME] or 'leaderboard'}-version-{number}{part}"
    if part == ".json":
        return attachment(version.text, name, "application/json; charset=utf-8")
    if version.answers is None:
        raise Http404("No answers of this version may be published.")
    response: HttpResponseBase
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        response = HttpResponse(version.answers, content_type=CSV)
        response["Content-Encoding"] = "gzip"
    else:
        unpacked = gzip.GzipFile(fileobj=io.BytesIO(version.answers))
        response = StreamingHttpResponse(iter(lambda: unpacked.read(PIECE), b""), content_type=CSV)
    response["Vary"] = "Accept-Encoding"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _file_link(pk: int) -> Any:
    def link(name: str) -> str:
        if not name.endswith((".csv", ".tex", ".bib", ".json")):
            return ""
        return reverse("leaderboard-file", args=[pk, name])

    return link


def _table_file(board: Leaderboard, table: Table, kind: str) -> tuple[str, str]:
    from analysis.report.writers.exports import bare_table_csv
    from analysis.report.writers.latex import latex_table
    from analysis.report.writers.paper_tables import NamedTable

    if kind == "tex":
        return latex_table(NamedTable(table.key, table)), "application/x-tex; charset=utf-8"
    made_at = board.made_at.isoformat(timespec="seconds") if board.made_at else ""
    last = {"leaderboard": board.title, "made_at": made_at, "mark": board.mark}
    return bare_table_csv(table, last), CSV


# --- What is saved -------------------------------------------------------------------------------


def _form(request: HttpRequest, board: Leaderboard | None = None) -> dict[str, Any]:
    chosen = board.keys if board else []
    place = {key: number for number, key in enumerate(chosen)}
    choices = board_choices(request.user)
    choices.sort(key=lambda choice: place.get(choice["key"], len(place)))
    return {
        "choices": choices,
        "chosen": chosen,
        "first": chosen[0] if chosen else "",
        "projects": board_projects(request.user),
        "most": MOST_STUDIES,
        "link_days": LINK_DAYS,
        "most_link_days": MOST_LINK_DAYS,
    }


def _save_board(request: HttpRequest, board: Leaderboard) -> Leaderboard:
    """The leaderboard as the form says; each study's log tells of it."""
    title = " ".join(request.POST.get("title", "").split())
    if not 1 <= len(title) <= 120:
        raise BoardError("Enter a name of 1 to 120 characters.")
    keys = _in_order(request.POST.getlist("study"), request.POST.get("first", ""))
    if not 1 <= len(keys) <= MOST_STUDIES:
        raise BoardError(f"Choose 1 to {MOST_STUDIES} studies; {len(keys)} are selected.")
    heads = [study_head_or_404(key, request.user, "analyse") for key in keys]
    project = request.POST.get("project", "")
    known = {str(each.pk): each.pk for each in board_projects(request.user)}
    if project and project not in known:
        raise BoardError("You are not a member of this project.")
    board.title, board.project_id = title, known.get(project)
    board.reference = request.POST.get("reference", "").strip()[:120]
    board.anchors = sorted({name[:120] for name in request.POST.getlist("anchor")})
    try:
        board.first_day = parse_date(request.POST.get("first_day", ""))
    except ValueError:
        raise BoardError("There is no such day. Enter one as YYYY-MM-DD.") from None
    board.version_note = _note_in(request) or board.version_note
    by, details = request.user.get_username(), {"options": f"leaderboard “{title}”"}
    with transaction.atomic():
        before = board.keys if board.pk else []
        board.save()
        board.entries.all().delete()  # which empties it: it is made again
        LeaderboardEntry.objects.bulk_create(
            LeaderboardEntry(board=board, study_id=head["pk"], place=place)
            for place, head in enumerate(heads)
        )
        for head in heads:
            if head["key"] not in before:
                acted.send(__name__, study_id=head["pk"], by=by, what="analysed", details=details)
    return board


def _in_order(keys: Sequence[str], first: str) -> list[str]:
    """Without repeats; the one on whose scale scores are comes first."""
    once = list(dict.fromkeys(keys))
    return sorted(once, key=lambda key: key != first)


log = logging.getLogger(__name__)


@logged_in_post
def share_board(request: HttpRequest, pk: int) -> HttpResponse:
    """Make a link; its address is on the answer to this and nowhere else."""
    board = board_for(request.user, pk)
    check_edit(request, board)
    full = f"This leaderboard has {MOST_OPEN} active links. Revoke one before you create another."
    back = f"{reverse('leaderboard', args=[pk])}#sharing-title"
    context = {
        "what": board,
        "list": "Leaderboards",
        "list_url": reverse("leaderboards"),
        "crumb": board,
        "crumb_url": back,
        "back": back,
        "kind": "leaderboard",
        "problem": full if sum(link.is_open for link in board.links.all()) >= MOST_OPEN else "",
    }
    make = partial(LeaderboardLink.objects.create, board=board)
    return made_link(request, context, make, "shared-leaderboard")


@logged_in_post
def unshare_board(request: HttpRequest, pk: int, link: int) -> HttpResponse:
    """End a link at once; it stays in the list."""
    board = board_for(request.user, pk)
    check_edit(request, board)
    board_link = get_object_or_404(LeaderboardLink, pk=link, board=board)
    ended = LeaderboardLink.objects.filter(pk=board_link.pk, revoked_at=None)
    ended.update(revoked_at=timezone.now())
    return redirect(f"{reverse('leaderboard', args=[pk])}#sharing-title")


@logged_in_post
def unshare_board_of(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """End a link to a leaderboard that shows this study, whoever has the leaderboard."""
    study_head_or_404(key, request.user, "edit")
    links = LeaderboardLink.objects.filter(board__entries__study__key=key)
    link = get_object_or_404(links.distinct(), pk=pk)
    if LeaderboardLink.objects.filter(pk=link.pk, revoked_at=None).update(
        revoked_at=timezone.now()
    ):
        log.info("account %s ended leaderboard link %s by study %s", request.user.pk, pk, key)
    return redirect(f"{reverse('results', args=[key])}#sharing-title")


@require_safe
def shared_board(request: HttpRequest, token: str) -> HttpResponse:
    """The leaderboard as it was last made; nobody's opening of it makes it again."""
    link = _link_at(token)
    if link is None or not link.is_open:
        return over(request, link)
    count_opening(request, link)
    context = {**shown_board(link.board, lambda name: ""), "link": link}
    context |= versions_of(
        link.board, lambda name: reverse("shared-leaderboard-file", args=[token, name])
    )
    return kept_by_nobody(render(request, "analysis/shared_leaderboard.html", context))


@require_safe
def shared_file(request: HttpRequest, token: str, name: str) -> HttpResponseBase:
    """A version or its answers, for who has a link to the leaderboard."""
    link = _link_at(token)
    if link is None or not link.is_open:
        return over(request, link)
    file = VERSION_FILE.fullmatch(name)
    if file is None:
        raise Http404(f"There is no file {name}.")
    return kept_by_nobody(_version_file(request, link.board, int(file["number"]), file["part"]))


def _link_at(token: str) -> LeaderboardLink | None:
    links = LeaderboardLink.objects.filter(token_hash=hash_of(token))
    return links.select_related("board").first()
