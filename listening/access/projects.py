"""Create projects, invite members by link, change their roles, move studies into a project."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from listening.access.rights import account_named, maker_owns
from listening.common.addresses import public_route
from listening.models import MemberInvitation, Membership, Project, Role, Study
from listening.models.study_log import note

LONGEST_NAME = 120
DAYS = (1, 7, 30)  # for which a link may work


class ProjectError(ValueError):
    """What was asked cannot be done; the message says why."""


def make_project(name: str, user: Any) -> Project:
    """A project of which the user is the first owner."""
    with transaction.atomic():
        project = Project.objects.create(name=_checked(name))
        Membership.objects.create(project=project, user_id=user.pk, role=Role.OWNER)
    return project


def rename_project(project: Project, name: str) -> None:
    project.name = _checked(name)
    project.save(update_fields=["name"])


def _checked(name: str) -> str:
    name = " ".join(name.split())
    if not 0 < len(name) <= LONGEST_NAME:
        raise ProjectError(f"A project has a name of 1 to {LONGEST_NAME} characters.")
    return name


# --- Invitations ---------------------------------------------------------------------------------


def invite(project: Project, role: str, days: int, *, by: str, whom: str = "") -> str:
    """The link into a project; nobody can be shown it again."""
    if role not in Role.values or days not in DAYS:
        raise ProjectError("Choose one of the roles and one of the times that are offered.")
    token = secrets.token_urlsafe(32)
    MemberInvitation.objects.create(
        project=project,
        role=role,
        digest=digest(token),
        whom=whom.strip()[:120],
        by=by,
        made_by=account_named(by),
        expires_at=timezone.now() + timedelta(days=days),
    )
    return public_route("join", token)


def digest(token: str) -> str:
    """What is stored of a link: it has 256 random bits, so that nothing slower is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


def open_invitation(token: str, *, lock: bool = False) -> MemberInvitation | None:
    """The invitation that a link is, while it works."""
    rows = MemberInvitation.objects.select_related("project", "made_by")
    if lock:
        rows = rows.select_for_update(of=("self",))
    invitation = rows.filter(
        digest=digest(token), used_at__isnull=True, expires_at__gt=timezone.now()
    ).first()
    # It ends with the right of who made it.
    return invitation if invitation is not None and maker_owns(invitation) else None


def join(token: str, user: Any) -> Membership:
    """Uses the link up; who is a member keeps the role they have."""
    with transaction.atomic():
        invitation = open_invitation(token, lock=True)
        if invitation is None:
            raise ProjectError("This invitation works no more. Ask for a new one.")
        member, created = Membership.objects.get_or_create(
            project=invitation.project, user_id=user.pk, defaults={"role": invitation.role}
        )
        if not created:
            raise ProjectError(f"You are in this project already, as {member.role}.")
        invitation.used_by, invitation.used_at = user.get_username(), timezone.now()
        invitation.save(update_fields=["used_by", "used_at"])
    return member


def revoke(project: Project, pk: int) -> bool:
    """Whether there was such a link that nobody had used."""
    rows = MemberInvitation.objects.filter(project=project, pk=pk, used_at__isnull=True)
    return bool(rows.delete()[0])


# --- Members -------------------------------------------------------------------------------------


def change_role(project: Project, pk: int, role: str) -> Membership:
    """`role` is one of the roles, or "" for out of the project; an owner always remains."""
    if role and role not in Role.values:
        raise ProjectError("There is no such role.")
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        member = Membership.objects.filter(project=project, pk=pk).select_related("user").first()
        if member is None:
            raise ProjectError("There is no such member.")
        owners = Membership.objects.filter(project=project, role=Role.OWNER)
        if role != Role.OWNER and not owners.exclude(pk=pk).exists():
            raise ProjectError("A project keeps an owner: make somebody else one first.")
        if role:
            member.role = role
            member.save(update_fields=["role"])
        else:
            member.delete()
    return member


# --- Studies -------------------------------------------------------------------------------------


def move_study(study: Study, project: Project | None, *, by: str) -> bool:
    """Into a project, or out of all; whether it moved. Its owner, link and raters stay."""
    with transaction.atomic():
        row = Study.objects.select_for_update(of=("self",)).select_related("project")
        locked = row.get(pk=study.pk)
        if locked.project == project:
            return False
        before, locked.project = locked.project, project
        locked.save(update_fields=["project"])
        names = [each.name if each else "its owner alone" for each in (before, project)]
        note(locked, "moved", by, project={"from": names[0], "to": names[1]})
    return True
