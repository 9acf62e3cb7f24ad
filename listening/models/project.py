"""Project, Membership, MemberInvitation: a lab, who is in it, and as what."""

from django.conf import settings
from django.db import models


class Role(models.TextChoices):
    """Each may do what those before it may, but for reviewers, who see reviews alone.

    listening.access.rights says what.
    """

    REVIEWER = "reviewer"
    VIEWER = "viewer"
    ANALYST = "analyst"
    EDITOR = "editor"
    OWNER = "owner"


class Project(models.Model):
    """A lab: its members share its studies and its token for Prolific."""

    name = models.CharField(max_length=120)
    created_at = models.DateTimeField(auto_now_add=True)
    needs_two_factor = models.BooleanField(default=False)  # of every member, before anything else

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """Somebody in a project, as one of its roles."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=8, choices=Role)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["project", "user"], name="member_once_per_project")
        ]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.project_id}: {self.role}"


class MemberInvitation(models.Model):
    """A link into a project that works once, until a date. Only a hash of it is stored."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=8, choices=Role)
    digest = models.CharField(max_length=64, unique=True)
    whom = models.CharField(max_length=120, blank=True)  # a note for the owners
    by = models.CharField(max_length=150)  # the name that the maker had then
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_by = models.CharField(max_length=150, blank=True)
    used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"invitation {self.pk} into {self.project_id}"
