"""ApiToken: what a script shows in place of a log-in."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone


class ApiToken(models.Model):
    """Acts as its owner, as far as its scopes and its project go, until a day.

    The token itself is kept nowhere: its hash finds it again.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    project = models.ForeignKey(  # whose studies alone it reaches; NULL: all that are its owner's
        "listening.Project", models.CASCADE, null=True, related_name="api_tokens"
    )
    name = models.CharField(max_length=60)
    scopes = ArrayField(models.CharField(max_length=10))  # keys of rest.tokens.SCOPES
    digest = models.CharField(max_length=64, unique=True, editable=False)
    begins = models.CharField(max_length=16)  # the first characters, to tell tokens apart
    by_provider = models.BooleanField(default=False)  # sign-on had asked for a second factor
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"token {self.pk}"

    @property
    def works(self) -> bool:
        """Whether it still opens anything."""
        return self.revoked_at is None and timezone.now() < self.expires_at
