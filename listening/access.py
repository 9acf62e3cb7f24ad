"""Who may do what: the one place that decides it, for every page, file and action of a study."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404

from listening.models import Study

LOOK, ANALYSE, EDIT, OWN = "look", "analyse", "edit", "own"
EVERYTHING = frozenset((LOOK, ANALYSE, EDIT, OWN))


def visible_studies(user: Any) -> QuerySet[Study]:
    """Their own studies; all of them for a superuser."""
    if not user.is_authenticated or not user.is_active:
        return Study.objects.none()
    return Study.objects.all() if user.is_superuser else Study.objects.filter(owner=user.pk)


def rights_in(study: Study, user: Any) -> frozenset[str]:
    """What somebody may do with a study; nothing where they may not even know of it."""
    known = user.is_authenticated and user.is_active
    return EVERYTHING if known and (user.is_superuser or study.owner_id == user.pk) else frozenset()


def study_for(user: Any, key: str, wants: str) -> Study:
    """The study, where this user may do with it what they want, and with `may`: all that they may.

    Who may not look at it hears that there is none (404); who may look, that this is not theirs to
    do (403).
    """
    study = Study.objects.filter(key=key).select_related("owner").first()
    may = rights_in(study, user) if study is not None else frozenset()
    if study is None or LOOK not in may:
        raise Http404(f"There is no study “{key}” of yours.")
    if wants not in may:
        raise PermissionDenied(f"“{wants}” is not yours to do with the study “{key}”.")
    study.may = may
    return study
