"""Typed client of Prolific's researcher API: requests, responses and errors."""

from listening.recruitment.prolific.client import Prolific
from listening.recruitment.prolific.wire import (
    BonusBatch,
    Money,
    NoReply,
    NotSent,
    ProlificError,
    Refused,
    Submission,
    Workspace,
)
from listening.recruitment.prolific.wire import Study as ProlificStudy

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
