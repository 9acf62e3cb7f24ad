"""What goes wrong with a study as a whole, in words for its researcher."""

from __future__ import annotations

from collections.abc import Sequence

from listening.studies.findings import Finding


class StudyError(ValueError):
    """What was asked cannot be done with this study; the message says why, and what to do."""


class ProblemsFound(StudyError):
    """The checks before launch found problems; the message has the remedies of a study folder."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(str(finding) for finding in findings))
