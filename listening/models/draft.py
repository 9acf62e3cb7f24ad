"""Draft: a study folder that is being made in the browser, and whose it is."""

from django.conf import settings
from django.db import models

from listening.models.codes import random_code
from listening.models.project import Project
from listening.models.study import Study


def draft_code() -> str:
    return random_code(12)


class Draft(models.Model):
    """The folder itself lies under EARNEST_VAR, by the code; this row orders who writes to it."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="drafts")
    project = models.ForeignKey(  # whose members may see it; NULL: its owner alone
        Project, models.SET_NULL, null=True, related_name="drafts"
    )
    code = models.CharField(max_length=24, unique=True, default=draft_code, editable=False)
    title = models.CharField(max_length=200)  # as study.toml had it at the last change
    pattern = models.CharField(max_length=200, blank=True)  # how its files are named, if asked
    # task -> screens per rater that were asked for; none: an uploaded study, fitted to nothing
    wishes = models.JSONField(null=True)
    revision = models.PositiveIntegerField(default=1)  # counts changes: who is late is told
    # field, or place in study.toml -> [revision, user name] of its last change
    changes = models.JSONField(default=dict)
    made_revision = models.PositiveIntegerField(null=True)  # that `study` was made of
    study = models.ForeignKey(Study, models.SET_NULL, null=True, related_name="drafts")
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)
    may: frozenset[str] = frozenset()  # what who asks may do: see listening.access.rights.draft_for
    by = ""  # who asks

    class Meta:
        ordering = ["-changed_at"]

    def __str__(self) -> str:
        return self.code
