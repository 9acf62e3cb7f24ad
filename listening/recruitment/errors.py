"""What a researcher is told when something cannot be done."""

from __future__ import annotations


class RecruitmentError(Exception):
    """It was not done; the message says why and what helps."""


class NotConfirmed(RecruitmentError):
    """The sum is another than the one that somebody confirmed: it is shown, and asked again."""
