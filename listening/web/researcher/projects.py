"""The pages of projects: who is in one and as what, links into it; and the page of such a link."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from allauth.account.utils import perform_login
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from listening.access import projects
from listening.access.projects import DAYS, ProjectError
from listening.access.rights import LOOK, OWN, WORDS, maker_owns, project_for, projects_of
from listening.accounts.required_login import has_second_factor, who_have_one
from listening.common.views import logged_in_get, logged_in_post
from listening.models import Project, Role
from listening.web.posted_values import number_in
from listening.web.researcher.study_page import who


@login_required
@require_http_methods(["GET", "POST"])
def project_list(request: HttpRequest) -> HttpResponse:
    """All projects that one is in; who makes one is its first owner."""
    if request.method == "POST":
        try:
            created = projects.make_project(request.POST.get("name", ""), request.user)
        except ProjectError as error:
            messages.error(request, str(error))
            return redirect("projects")
        return redirect("project", pk=created.pk)
    rows = [
        {
            "project": project,
            "members": project.memberships.count(),
            "studies": project.studies.count(),
            "mine": project.memberships.filter(user=request.user.pk).first(),
        }
        for project in projects_of(request.user)
    ]
    return render(request, "researcher/projects.html", {"rows": rows})


@logged_in_get
def project_page(request: HttpRequest, pk: int) -> HttpResponse:
    project, may = project_for(request.user, pk, LOOK)
    owns = OWN in may
    members = list(project.memberships.select_related("user"))
    context = {
        "project": project,
        "owns": owns,
        "members": members,
        "with_two": who_have_one(each.user_id for each in members) if owns else (),
        "invitations": [
            (each, maker_owns(each))
            for each in project.invitations.select_related("made_by").filter(
                used_at__isnull=True, expires_at__gt=timezone.now()
            )
        ]
        if owns
        else (),
        "roles": [(role.value, role.label, WORDS[role]) for role in Role],
        "days": DAYS,
        "studies": project.studies.filter(archived_at__isnull=True).count(),
    }
    return render(request, "researcher/project.html", context)


# --- What can be done ----------------------------------------------------------------------------


@logged_in_post
def project_do(request: HttpRequest, pk: int) -> HttpResponse:
    name = request.POST.get("action", "")
    project, _ = project_for(request.user, pk, LOOK if name == "leave" else OWN)
    try:
        if name not in ACTIONS:
            raise ProjectError("Unknown action.")
        words = ACTIONS[name](request, project)
    except ProjectError as error:
        messages.error(request, str(error))
        words = ""
    if words:
        messages.success(request, words)
    still_in = projects_of(request.user).filter(pk=pk).exists()
    return redirect("project", pk=pk) if still_in else redirect("projects")


def _rename(request: HttpRequest, project: Project) -> str:
    projects.rename_project(project, request.POST.get("name", ""))
    return "Saved."


def _two_factor(request: HttpRequest, project: Project) -> str:
    needed = request.POST.get("needed") == "on"
    if needed and not has_second_factor(request.user):
        raise ProjectError("Add a second factor to your own account first.")
    project.needs_two_factor = needed
    project.save(update_fields=["needs_two_factor"])
    if needed:
        return "Members now need a second factor. Those without one are asked to add it."
    return "Members need no second factor for this project."


def _invite(request: HttpRequest, project: Project) -> str:
    link = projects.invite(
        project,
        request.POST.get("role", ""),
        number_in(request, "days"),
        by=who(request),
        whom=request.POST.get("whom", ""),
    )
    return f"Send this link to one person. It works once, and is not shown again: {link}"


def _revoke(request: HttpRequest, project: Project) -> str:
    revoked = projects.revoke(project, number_in(request, "invitation"))
    return "The link no longer works." if revoked else "The link had already stopped working."


def _role(request: HttpRequest, project: Project) -> str:
    role = request.POST.get("role", "")
    member = projects.change_role(project, number_in(request, "member"), role)
    name = member.user.get_username()
    return f"{name} is {role} now." if role else f"{name} was removed from the project."


def _leave(request: HttpRequest, project: Project) -> str:
    mine = project.memberships.filter(user=request.user.pk).first()
    if mine is None:
        raise ProjectError("You are not a member of this project.")
    projects.change_role(project, mine.pk, "")
    return f"You have left {project}."


ACTIONS: dict[str, Callable[[HttpRequest, Project], str]] = {
    "rename": _rename,
    "two-factor": _two_factor,
    "invite": _invite,
    "revoke": _revoke,
    "role": _role,
    "leave": _leave,
}


# --- Into a project ------------------------------------------------------------------------------


if TYPE_CHECKING:
    AccountForm = UserCreationForm[User]
else:
    AccountForm = UserCreationForm


class NewAccount(AccountForm):
    """An ordinary account, which an invitation allows."""

    email = forms.EmailField(required=False, max_length=254)

    class Meta:
        model = User
        fields = ("username", "email")


@never_cache
@require_http_methods(["GET", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """A link into a project: with the account that is logged in, or with a new one."""
    invitation = projects.open_invitation(token)
    known = request.user.is_authenticated
    form = NewAccount(request.POST if request.method == "POST" and not known else None)
    context: dict[str, object] = {"invitation": invitation, "form": form, "words": ""}
    context["providers"] = settings.EARNEST_SIGN_ONS
    if invitation is None:
        return render(request, "registration/join.html", context, status=404)
    context["words"] = WORDS[Role(invitation.role)]
    if request.method != "POST" or not (known or form.is_valid()):
        return render(request, "registration/join.html", context)
    user = request.user if isinstance(request.user, User) else form.save()
    try:
        member = projects.join(token, user)
    except ProjectError as error:
        messages.error(request, str(error))
        return redirect("projects")
    messages.success(request, f"You joined the project {member.project}, as {member.role}.")
    onward = reverse("project", args=[member.project_id])
    if known:
        return redirect(onward)
    first: HttpResponse = perform_login(request, user, redirect_url=onward)
    return first
