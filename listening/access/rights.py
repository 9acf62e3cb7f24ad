"""Who may do what: the one place that decides it, for every page, file and action.

A study belongs to its owner alone, or to a project, whose members may do what their roles say.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404

from listening.models import (
    Draft,
    MemberInvitation,
    Membership,
    Project,
    Reviewer,
    Role,
    Study,
)
from listening.models.study_log import COMMAND_LINE

REVIEW, LOOK, ANALYSE, EDIT, OWN = "review", "look", "analyse", "edit", "own"
RIGHTS = {
    Role.REVIEWER: frozenset((REVIEW,)),
    Role.VIEWER: frozenset((LOOK,)),
    Role.ANALYST: frozenset((REVIEW, LOOK, ANALYSE)),
    Role.EDITOR: frozenset((REVIEW, LOOK, ANALYSE, EDIT)),
    Role.OWNER: frozenset((REVIEW, LOOK, ANALYSE, EDIT, OWN)),
}
SEES = tuple(role for role, rights in RIGHTS.items() if LOOK in rights)
WORDS = {  # for pages
    Role.REVIEWER: "judges justifications and clips in reviews; sees no studies or raters",
    Role.VIEWER: "can view progress, previews, results, plans and the log",
    Role.ANALYST: "can also download ratings and files, and run analyses and metrics",
    Role.EDITOR: "can also run studies: open, recruit, pay, reject, copy; sees Prolific IDs",
    Role.OWNER: "full access: members, Prolific token, moving and deleting",
}
NONE: frozenset[str] = frozenset()


def visible_studies(user: Any) -> QuerySet[Study]:
    """Their own studies and those of their projects; all of them for a superuser."""
    if not user.is_authenticated or not user.is_active:
        return Study.objects.none()
    return Study.objects.all() if user.is_superuser else Study.objects.filter(_theirs(user))


def visible_drafts(user: Any) -> QuerySet[Draft]:
    """Drafts that are theirs or their projects', as with studies."""
    return Draft.objects.all() if user.is_superuser else Draft.objects.filter(_theirs(user))


def _theirs(user: Any) -> Q:
    projects = Membership.objects.filter(user=user.pk, role__in=SEES).values("project")
    return Q(project=None, owner=user.pk) | Q(project__in=projects)


def role_in(project: int, user: Any) -> Role | None:
    """As what somebody is in a project; None who is not."""
    found = Membership.objects.filter(project=project, user=user.pk).first()
    return Role(found.role) if found is not None else None


def _own_role(study: Study | Draft, user: Any) -> Role | None:
    if study.project_id is not None:
        return role_in(study.project_id, user)
    return Role.OWNER if study.owner_id == user.pk else None


def is_of(study: Study, user: Any) -> bool:
    """Whether it is somebody's own, or of a project they see: superusers see others', too."""
    return _own_role(study, user) in SEES


def rights_in(study: Study | Draft, user: Any) -> frozenset[str]:
    """What somebody may do with a study or a draft; nothing where they may not even know of it."""
    if not user.is_authenticated or not user.is_active:
        return NONE
    role = Role.OWNER if user.is_superuser else _own_role(study, user)
    return RIGHTS[role] if role is not None else NONE


def account_named(name: str) -> Any:
    """The account that has this name now; None for the command line."""
    return get_user_model().objects.filter(username=name).first()


def maker_may(reviewer: Reviewer, study: Study, wants: str) -> bool:
    """Whether the account that made a link may still do so: the link ends with that right.

    It is known by its id: a new name ends nothing, and who takes the old name revives nothing.
    What was made on the command line was made by who runs the server.
    """
    if reviewer.made_by is None:
        return reviewer.by == COMMAND_LINE
    return wants in rights_in(study, reviewer.made_by)


def maker_owns(invitation: MemberInvitation) -> bool:
    """The same of what an owner of a project made."""
    user = invitation.made_by
    if user is None or not user.is_active:
        return False
    return user.is_superuser or role_in(invitation.project_id, user) == Role.OWNER


def may_see_ids(study: Study, user: Any) -> bool:
    """Whether they are shown raters' ids at Prolific: superusers are not, for being that."""
    role = _own_role(study, user)
    return role is not None and EDIT in RIGHTS[role]


def study_for(user: Any, key: str, wants: str) -> Study:
    """The study, where this user may do with it what they want, and with `may`: all that they may.

    Who may not look at it hears that there is none (404); who may look, that this is not theirs to
    do (403).
    """
    study = Study.objects.filter(key=key).select_related("owner", "project").first()
    may = rights_in(study, user) if study is not None else NONE
    if study is None or LOOK not in may:
        raise Http404(f"There is no study “{key}” of yours.")
    _check(wants, may)
    study.may = may
    return study


def reviews_of(user: Any) -> QuerySet[Study]:
    """The studies whose reviews somebody may take part in, by their role."""
    roles = [role for role, rights in RIGHTS.items() if REVIEW in rights]
    projects = Membership.objects.filter(user=user.pk, role__in=roles).values("project")
    return Study.objects.filter(Q(project=None, owner=user.pk) | Q(project__in=projects))


def draft_for(user: Any, code: str, wants: str) -> Draft:
    """The draft, as `study_for`; it knows who asks."""
    draft = Draft.objects.filter(code=code).select_related("owner", "project").first()
    may = rights_in(draft, user) if draft is not None else NONE
    if draft is None or LOOK not in may:
        raise Http404("There is no such draft or upload of yours.")
    _check(wants, may)
    draft.may, draft.by = may, user.get_username()
    return draft


def projects_of(user: Any, wants: str = LOOK) -> QuerySet[Project]:
    """The projects in which somebody may do what they want with studies."""
    if user.is_superuser:
        return Project.objects.all()
    roles = [role for role, rights in RIGHTS.items() if wants in rights]
    return Project.objects.filter(memberships__user=user.pk, memberships__role__in=roles)


def project_for(user: Any, pk: int, wants: str) -> tuple[Project, frozenset[str]]:
    """The project and all that this user may do in it; refused as `study_for` refuses."""
    project = Project.objects.filter(pk=pk).first()
    role = Role.OWNER if user.is_superuser else role_in(pk, user)
    if project is None or role not in SEES:
        raise Http404("There is no such project of yours.")
    _check(wants, RIGHTS[role])
    return project, RIGHTS[role]


def _check(wants: str, may: frozenset[str]) -> None:
    if wants not in may:
        needed = next(role for role, rights in RIGHTS.items() if wants in rights)
        raise PermissionDenied(f"This takes the role {needed} in the project, or more.")
