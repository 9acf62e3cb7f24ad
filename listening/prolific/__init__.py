"""Prolific's researcher API, typed: what is asked, what comes back, what goes wrong."""

from listening.prolific.client import Prolific
from listening.prolific.errors import NoReply, NotSent, ProlificError, Refused
from listening.prolific.wire import BonusBatch, Money, Submission, Workspace
from listening.prolific.wire import Study as ProlificStudy

__all__ = [
    "BonusBatch",
    "Money",
    "NoReply",
    "NotSent",
    "Prolific",
    "ProlificError",
    "ProlificStudy",
    "Refused",
    "Submission",
    "Workspace",
]
