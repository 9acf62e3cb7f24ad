"""The rules of analysis of a study: in force and ended, declared when, and whom they spare."""

from __future__ import annotations

from typing import TypedDict

from listening.models import AnalysisRule, Hypothesis, SparedRater, Study
from listening.studies.analysis_rules import is_before


class DecidedFacts(TypedDict):
    """What was decided of the analysis; ``ratings`` were stored then. Times are UTC."""

    pk: int
    why: str
    declared: bool  # before the first opening, so part of the frozen definition
    ratings: int
    by: str
    on: str
    ended_on: str  # "": in force
    ended_by: str
    ended_because: str
    ended_ratings: int | None


class RuleFacts(DecidedFacts):
    """A rule as text."""

    rule: str


class HypothesisFacts(DecidedFacts):
    """What is expected, as a sentence."""

    text: str


class SparedFacts(TypedDict):
    """A rater of whom a rule leaves out nothing."""

    pk: int
    rule: str  # its key
    rater: str
    because: str
    by: str
    on: str


class Declared(TypedDict):
    """Whether rules are still declared beforehand, and the definition that was frozen."""

    before: bool
    sha256: str
    on: str


def analysis_rules(study: str) -> list[RuleFacts]:
    """Every rule in the order in which it was decided."""
    rows = AnalysisRule.objects.filter(study__key=study).order_by("pk")
    return [{**_decided(row), "rule": row.text} for row in rows]


def hypotheses(study: str) -> list[HypothesisFacts]:
    """Every hypothesis in the order in which it was written down."""
    rows = Hypothesis.objects.filter(study__key=study).order_by("pk")
    return [{**_decided(row), "text": row.text} for row in rows]


def spared_raters(study: str) -> list[SparedFacts]:
    rows = SparedRater.objects.filter(study__key=study).select_related("rater").order_by("pk")
    return [
        SparedFacts(
            pk=row.pk,
            rule=row.rule,
            rater=row.rater.code,
            because=row.because,
            by=row.by,
            on=row.at.strftime("%Y-%m-%d %H:%M"),
        )
        for row in rows
    ]


def declared_state(study: str) -> Declared:
    row = Study.objects.get(key=study)
    frozen = row.definitions.defer("toml", "clips").order_by("revision").first()
    return Declared(
        before=is_before(row),
        sha256=frozen.sha256 if frozen else "",
        on=frozen.at.strftime("%Y-%m-%d %H:%M") if frozen else "",
    )


def _decided(row: AnalysisRule | Hypothesis) -> DecidedFacts:
    return DecidedFacts(
        pk=row.pk,
        why=row.why,
        declared=row.declared,
        ratings=row.ratings,
        by=row.by,
        on=row.at.strftime("%Y-%m-%d %H:%M"),
        ended_on=row.ended_at.strftime("%Y-%m-%d %H:%M") if row.ended_at else "",
        ended_by=row.ended_by,
        ended_because=row.ended_because,
        ended_ratings=row.ended_ratings,
    )
