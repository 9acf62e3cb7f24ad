"""Invitation: one person of a panel, with a link that is theirs alone."""

from django.db import models

from listening.models.codes import link_code
from listening.models.sealed import SealedCharField
from listening.models.session import Session
from listening.models.study import Study


def invitation_code() -> str:
    return link_code() + link_code()


class Invitation(models.Model):
    """A link to a source of the kind "panel": whoever has it is this person, and begins once."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="invitations")
    source = models.CharField(max_length=40)
    own_id = SealedCharField(max_length=600)  # the researcher's own
    email = SealedCharField(max_length=600, blank=True)
    name = SealedCharField(max_length=600, blank=True, db_default="")
    code = models.CharField(max_length=32, unique=True, default=invitation_code, editable=False)
    session = models.ForeignKey(Session, models.SET_NULL, null=True, related_name="invitations")
    declined = models.BooleanField(default=False)
    begun_sending_at = models.DateTimeField(null=True)  # a mail: sent, or it is not known
    sent_at = models.DateTimeField(null=True)  # the last mail that the mail server took
    mails = models.PositiveSmallIntegerField(default=0)
    problem = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["study", "source", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "source", "own_id"], name="invited_once_per_source"
            )
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk}"
