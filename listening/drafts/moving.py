"""A draft moved into a project, or out of it, with the study that was made of it."""

from __future__ import annotations

from django.db import transaction

from listening.access.projects import move_study
from listening.models import Draft, Project, Study


def move(draft: Draft, project: Project | None) -> None:
    """Its owner stays; a study that it was made into and that nobody was let into goes along."""
    with transaction.atomic():
        Draft.objects.filter(pk=draft.pk).update(project=project)
        draft.project = project
        keep_together(draft)


def keep_together(draft: Draft) -> None:
    """The study of a draft is where the draft is, until it is opened."""
    if draft.study is not None and draft.study.state == Study.State.DRAFT:
        move_study(draft.study, draft.project, by=draft.by)
