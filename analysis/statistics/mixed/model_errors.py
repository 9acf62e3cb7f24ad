"""What a mixed model says when it cannot be fitted, or must not be ranked: reason and remedy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """Why something is not shown, and what to do about it: a sentence each."""

    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.reason}; {self.remedy}"


class NotEstimable(ValueError):
    """A model that these ratings cannot determine; ``refusal`` holds the reason and the remedy."""

    def __init__(self, reason: str, remedy: str) -> None:
        self.refusal = Refusal(reason, remedy)
        super().__init__(str(self.refusal))
