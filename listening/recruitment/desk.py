"""Sessions and submissions of a recruitment beside each other: what is to be done, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils import timezone

from listening.common.ages import age_s
from listening.models import Bonus, Recruitment, Session, Submission
from listening.recruitment import proposals
from listening.recruitment.children import children_of
from listening.recruitment.deciding import (
    APPROVED_AFTER_DAYS,
    WARNED_AFTER_DAYS,
    is_plain_approval,
    place_of,
    suggested_part,
    waits_for_second,
)
from listening.recruitment.drafting import plan_of
from listening.recruitment.evidence import Evidence, evidence_of
from listening.recruitment.plan import pay_per_hour
from listening.recruitment.proposals import Mismatch, Proposal
from listening.recruitment.terms import terms_of


@dataclass
class Row:
    """One submission, or a session that names one which Prolific does not have."""

    submission: Submission | None
    known: Evidence | None
    proposal: Proposal | None = None
    mismatches: list[Mismatch] = field(default_factory=list)
    bonuses: list[Bonus] = field(default_factory=list)
    due: datetime | None = None  # when Prolific approves on its own

    @property
    def is_approvable(self) -> bool:
        """Whether it may be approved with all others: the work is here, nothing is undecided."""
        return self.is_undecided and is_plain_approval(self.proposal)

    @property
    def leave_out(self) -> bool:
        """Whether a mismatch is mended by leaving the answers out."""
        return any(proposals.LEAVE_OUT in each.remedies for each in self.mismatches)

    @property
    def choices(self) -> list[tuple[str, str]]:
        return (
            [(each, proposals.DECISIONS[each]) for each in self.proposal.allowed]
            if self.proposal
            else []
        )

    @property
    def is_plain(self) -> bool:
        """Whether what is proposed is one press of a button: nothing is to be written."""
        plain = (proposals.APPROVE, proposals.COMPLETE)
        return self.proposal is not None and self.proposal.decision in plain

    @property
    def may_have_bonus(self) -> bool:
        return self.submission is not None and self.submission.status not in ("ACTIVE", "RESERVED")

    @property
    def has_message(self) -> bool:
        """Whether one of the decisions tells the participant something."""
        told = (proposals.RETURN, proposals.PART, proposals.REJECT)
        return any(name in told for name, _ in self.choices)

    @property
    def part(self) -> str:
        """What a part would be, in major units; reckoned for the rows that a page shows."""
        if self.submission is None or self.proposal is None:
            return ""
        return f"{suggested_part(self.submission, self.known) / 100:.2f}"

    @property
    def is_due_soon(self) -> bool:
        """Whether Prolific approves it within a day, and nobody has decided."""
        left = timedelta(days=APPROVED_AFTER_DAYS - WARNED_AFTER_DAYS)
        return self.due is not None and not self.is_decided and self.due - timezone.now() <= left

    @property
    def is_waiting(self) -> bool:
        return self.submission is not None and waits_for_second(self.submission)

    @property
    def is_decided(self) -> bool:
        return self.submission is not None and bool(self.submission.decision)

    @property
    def is_undecided(self) -> bool:
        """Something is proposed, and nobody has decided."""
        return self.proposal is not None and not self.is_decided


def rows_of_desk(recruitment: Recruitment) -> list[Row]:
    """All of them, those with something to do first."""
    known = evidence_of(recruitment.study)
    submissions = list(recruitment.submissions.all())
    bonuses: dict[int, list[Bonus]] = {}
    for bonus in Bonus.objects.filter(submission__recruitment=recruitment):
        bonuses.setdefault(bonus.submission_id, []).append(bonus)
    rows = []
    for submission in submissions:
        submission.recruitment = recruitment
        evidence = known.get(submission.session_id) if submission.session_id else None
        place = place_of(submission)
        offered = proposals.propose(place, evidence)
        rows.append(
            Row(
                submission,
                evidence,
                proposal=offered,
                mismatches=proposals.mismatches_of(place, submission.participant, evidence),
                bonuses=bonuses.get(submission.pk, []),
                due=_due(submission),
            )
        )
    rows += _unknown(recruitment, known)
    return sorted(rows, key=_order)


def _order(row: Row) -> tuple[bool, bool]:
    return not row.mismatches, not row.is_undecided


def _due(submission: Submission) -> datetime | None:
    if submission.status != "AWAITING REVIEW" or submission.completed_at is None:
        return None
    return submission.completed_at + timedelta(days=APPROVED_AFTER_DAYS)


def _unknown(recruitment: Recruitment, known: dict[int, Evidence]) -> list[Row]:
    """Sessions that name a submission of this study which Prolific's list does not have."""
    if recruitment.synced_at is None:
        return []
    strangers = (
        Session.objects.filter(study=recruitment.study_id, started_at__lt=recruitment.synced_at)
        .exclude(prolific_session="")
        .exclude(submissions__isnull=False)
        .exclude(rater__simulated=True, prolific_study="")
        .exclude(status__in=(Session.Status.REJECTED, Session.Status.WITHDRAWN))
    )
    own = {recruitment.prolific_study, ""}
    others = set()
    for other in recruitment.study.recruitments.exclude(pk=recruitment.pk):
        others |= {other.prolific_study} | children_of(other)
    rows = []
    for session in strangers:
        if session.prolific_study in others - own:
            continue  # it belongs to another recruitment of this study
        evidence = known[session.pk]
        rows.append(Row(None, evidence, mismatches=[proposals.unknown_session(evidence)]))
    return rows


@dataclass(frozen=True)
class Pay:
    """What raters really get, on the median time of who finished."""

    finished: int
    median_hourly: float | None  # minor units
    floor: int
    per_clip: float | None

    @property
    def is_low(self) -> bool:
        return self.median_hourly is not None and self.median_hourly < self.floor


def pay_of(recruitment: Recruitment, rows: Sequence[Row]) -> Pay:
    """Per hour on the median, and per clip; by Prolific's times where it has them."""
    plan = plan_of(recruitment)
    reward = float(terms_of(recruitment).reward_minor)
    minutes, clips = [], []
    for row in rows:
        if row.known is None or row.known.outcome not in proposals.DONE_HERE:
            continue
        taken = _minutes(row.submission) or row.known.minutes
        if taken:
            minutes.append(taken)
        clips.append(row.known.answered)
    per_clip = reward * len(clips) / sum(clips) if sum(clips) else None
    return Pay(
        len(clips),
        pay_per_hour(reward, minutes),
        plan.hourly_floor,
        per_clip,
    )


def _minutes(submission: Submission | None) -> float | None:
    if submission is None or not (submission.started_at and submission.completed_at):
        return None
    return (submission.completed_at - submission.started_at).total_seconds() / 60


def counts_of(rows: Sequence[Row]) -> dict[str, int]:
    """Status at Prolific -> how many."""
    counts: dict[str, int] = {}
    for row in rows:
        if row.submission is not None:
            counts[row.submission.status] = counts.get(row.submission.status, 0) + 1
    return counts


def is_stale(recruitment: Recruitment) -> bool:
    """Whether Prolific has not been asked for a while, although the clock should have."""
    at = recruitment.synced_at
    return at is not None and age_s(at) > 20 * 60
