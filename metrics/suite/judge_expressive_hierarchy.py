"""Expressive hierarchy of a whole clip as an audio language model judges it (LFS-Bench)."""

from __future__ import annotations

from dataclasses import dataclass

from metrics.judges.judge import RepeatedJudge, RepeatedParameters


@dataclass(frozen=True)
class ExpressiveHierarchyParameters(RepeatedParameters):
    """One question about the whole clip, as in the paper; more repeats can be asked for."""

    rubric: str = "expressive_hierarchy.v1"


class JudgeExpressiveHierarchy(RepeatedJudge):
    """How expression is built over the whole clip: course, dynamics, fit to its parts."""

    key = "judge_expressive_hierarchy"
    version = "1"
    description = "Expressive hierarchy, 1 to 5, by an audio language model that hears all of it"
    title = "Judge: expressive hierarchy"
    source = "LFS-Bench (2026), appendix C.7; rubric ours, or Figure 13"
    parameters_type = ExpressiveHierarchyParameters
    parameters: ExpressiveHierarchyParameters
