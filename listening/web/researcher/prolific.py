"""The connection to Prolific: the token, what it allows, and the events that Prolific sends."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from kombu.exceptions import OperationalError

from listening.access.rights import OWN, project_for
from listening.common.views import logged_in_get, logged_in_post
from listening.jobs import sync_recruitment
from listening.models import Connection, Project
from listening.recruitment import connecting, syncing
from listening.recruitment.errors import RecruitmentError
from listening.recruitment.plan import money
from listening.recruitment.prolific import ProlificError


@logged_in_get
def connection_page(request: HttpRequest, project: int | None = None) -> HttpResponse:
    """One's own, or that of a project, which its owners see."""
    holder = _holder(request, project)
    connection = connecting.connection_of(holder)
    context: dict[str, Any] = {
        "connection": None,
        "play": connecting.is_play(),
        "project": holder if isinstance(holder, Project) else None,
        "do": _address("prolific-do", project),
    }
    if connection is not None and connection.token:
        context |= {
            "connection": connection,
            "features": [
                (words, connection.features.get(name))
                for name, words in connecting.FEATURES.items()
            ],
            **_places_at_prolific(connection),
        }
    return render(request, "researcher/prolific.html", context)


def _places_at_prolific(connection: Connection) -> dict[str, Any]:
    try:
        with connecting.client_of(connection) as prolific:
            workspaces = prolific.workspaces()
            projects = prolific.projects(connection.workspace)
            balance = prolific.balance(connection.workspace)
    except ProlificError as error:
        return {"away": str(error)}
    return {
        "workspaces": workspaces,
        "projects": projects,
        "balance": money(balance.minor, balance.currency),
    }


def _holder(request: HttpRequest, project: int | None) -> User | Project:
    assert isinstance(request.user, User)
    return project_for(request.user, project, OWN)[0] if project is not None else request.user


def _address(name: str, project: int | None) -> str:
    return reverse(f"project-{name}", args=[project]) if project is not None else reverse(name)


@logged_in_post
def connection_do(request: HttpRequest, project: int | None = None) -> HttpResponse:
    """Connects, chooses, has events sent, or forgets the token."""
    holder = _holder(request, project)
    action = request.POST.get("action", "")
    stored = connecting.connection_of(holder)
    connection = stored if stored is not None and stored.token else None
    try:
        if action == "connect":
            connected = connecting.connect(holder, request.POST.get("token", ""))
            messages.success(request, f"Connected as {connected.account}.")
        elif connection is None:
            raise RecruitmentError("Connect Prolific first.")
        elif action == "choose":
            workspace = request.POST.get("workspace", "") or connection.workspace
            there = request.POST.get("project", "")
            moved = workspace != connection.workspace
            connecting.choose_workspace(connection, workspace, "" if moved else there)
            messages.success(request, "New drafts use this workspace and project.")
        elif action == "events":
            syncing.subscribe(connection)
            messages.success(request, "Immediate updates are enabled.")
        elif action == "disconnect":
            connecting.disconnect(connection)
            messages.success(request, "Disconnected. Delete the token on Prolific, too.")
    except RecruitmentError as error:
        messages.error(request, str(error))
    except ProlificError as error:
        messages.error(request, f"Prolific: {error}")
    return redirect(_address("prolific", project))


@csrf_exempt
@require_POST
def hook(request: HttpRequest, pk: int) -> HttpResponse:
    """An event of Prolific's: believed by its signature, answered at once, worked off later."""
    connection = get_object_or_404(Connection, pk=pk)
    try:
        looked_at = syncing.receive(connection, request.headers, request.body)
    except syncing.NotBelieved as problem:
        return HttpResponse(str(problem), status=401, content_type="text/plain")
    for recruitment in looked_at:
        with suppress(OperationalError):  # the clock looks too
            sync_recruitment.delay(recruitment.pk)
    return HttpResponse(status=204)
