"""Decisions about submissions: proposed, written down with who and why, carried out at Prolific.

Sessions and submissions stand in one row each, with what may be done and where Earnest and Prolific
disagree. Pay is apart from use: nothing here touches whether ratings count, and nothing that leaves
ratings out touches pay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil
from typing import TypeGuard

from django.db import transaction
from django.utils import timezone

from listening.common.ages import age_s
from listening.models import Bonus, Recruitment, Session, Submission
from listening.recruitment import ledger
from listening.recruitment.children import children_of
from listening.recruitment.connecting import client_of
from listening.recruitment.drafting import plan_of, require_confirmed
from listening.recruitment.errors import RecruitmentError
from listening.recruitment.evidence import Evidence, evidence_of
from listening.recruitment.paying import decide_bonus
from listening.recruitment.plan import Plan, pay_per_hour
from listening.recruitment.prolific import NoReply, Prolific, ProlificError, Refused
from listening.recruitment.prolific.client import REASON_CHARS
from listening.recruitment.prolific.wire import SUBMISSION_OVER
from listening.recruitment.terms import terms_of

APPROVE, COMPLETE, RETURN, PART, REJECT = "approve", "complete", "return", "part", "reject"
DECISIONS = {
    APPROVE: "Approve and pay",
    COMPLETE: "Mark as complete, approve and pay",
    RETURN: "Ask to return",
    PART: "Ask to return, then pay in part",
    REJECT: "Reject without payment",
}
DONE_HERE = ("complete", "needs_review", "rejected")  # an end, whether its answers are used or not
FULL_PAY = "Completed work is paid, whether or not it is used."
REJECTION_RULES = {
    "TOO_QUICKLY": "Prolific: three standard deviations below the mean time is exceptionally fast.",
    "FAILED_CHECK": "Prolific: failed fair attention checks (one under 5 minutes, else two).",
    "NO_DATA": "Prolific: none of the task was done.",
}
NEVER = ("screened_out", "no_consent")  # ends that are nobody's fault
LEAVE_OUT = "leave_out"
PAID = ("APPROVED", "PARTIALLY APPROVED", "SCREENED OUT")
ENDED_WITH_PAY = ("AWAITING REVIEW", *PAID)  # paid, or to be decided
CARRIED_OUT_AFTER = timedelta(minutes=15)
APPROVED_AFTER_DAYS = 21  # Prolific approves on its own what nobody has looked at
WARNED_AFTER_DAYS = 20
LOOK_AGAIN = "The next look at Prolific shows whether it was done."
DONE = {
    APPROVE: "Approved.",
    COMPLETE: "Completed with our own code, and approved.",
    RETURN: "Asked to return. The participant decides.",
    PART: "Asked to return. The partial payment is due after the return.",
    REJECT: "Rejected.",
}


@dataclass(frozen=True)
class SubmissionFacts:
    """A submission as Prolific has it, for the rules."""

    status: str
    code: str = ""
    withdrew: bool = False
    is_decided: bool = False
    codes: Mapping[str, str] = field(default_factory=dict)  # outcome -> code

    @property
    def entered(self) -> str:
        """The outcome that the code stands for; "" for none or a strange one."""
        return next((each for each, code in self.codes.items() if code == self.code), "")


@dataclass(frozen=True)
class Proposal:
    """What we would do, why, by which rule; and what else the rules leave open."""

    decision: str
    because: str
    rule: str
    allowed: tuple[str, ...]
    category: str = ""  # of a rejection
    message: str = ""  # to the participant
    doubtful: bool = False  # a person should look before it is approved with all others

    @property
    def words(self) -> str:
        return DECISIONS[self.decision]

    @property
    def short(self) -> str:
        """For a button beside which `words` stand."""
        return self.decision.capitalize()


def rejection_ground(facts: SubmissionFacts, evidence: Evidence | None) -> str:
    """The category that allows a rejection; "" where no rule does."""
    if facts.status != "AWAITING REVIEW" or facts.withdrew or facts.entered in NEVER:
        return ""
    if evidence is None or evidence.answered == 0:
        screened = evidence is not None and evidence.outcome == "screened_out"
        return "" if screened else "NO_DATA"
    if evidence.is_too_fast:
        return "TOO_QUICKLY"
    if evidence.fails_fair_checks:
        return "FAILED_CHECK"
    return ""


def has_work(evidence: Evidence | None) -> TypeGuard[Evidence]:
    """Whether a session is finished and holds answers: all of its clips can be skipped, too."""
    return evidence is not None and evidence.outcome in DONE_HERE and evidence.answered > 0


def propose(facts: SubmissionFacts, evidence: Evidence | None) -> Proposal | None:
    """None where nothing is to be decided: it is over, or still going on."""
    if facts.status in SUBMISSION_OVER or facts.status == "RESERVED":
        return None
    if facts.status in ("ACTIVE", "TIMED-OUT"):
        if not has_work(evidence):
            return None
        return Proposal(
            COMPLETE,
            f"{evidence.work}. They never went back with their code.",
            FULL_PAY,
            (COMPLETE,),
        )
    ground = rejection_ground(facts, evidence)
    rejectable = (REJECT,) if ground else ()
    if facts.withdrew:
        return Proposal(
            RETURN,
            "They withdrew, and all their answers are deleted.",
            "Withdrawn consent is never rejected: ask for the place back; a part may be paid.",
            (RETURN, PART, APPROVE),
            message="You withdrew from the study and your answers are deleted. Please return "
            "your place. Thank you for your time.",
        )
    if evidence is None or evidence.answered == 0:
        return _without_work(facts, evidence, ground, rejectable)
    if has_work(evidence):
        return _with_work(facts, evidence, ground, rejectable)
    message = (
        f"You answered {evidence.answered} of {evidence.trials} clips. If something went wrong, "
        "please tell us; else please return your place. We pay the part that you did."
    )
    return Proposal(
        PART,
        f"{evidence.answered} of {evidence.trials} clips are answered.",
        "Work that was begun is paid in part: the place is returned first, then a bonus follows.",
        (PART, RETURN, APPROVE),
        message=message,
    )


def _with_work(
    facts: SubmissionFacts, evidence: Evidence, ground: str, rejectable: tuple[str, ...]
) -> Proposal:
    because = f"{evidence.work}."
    if not facts.entered:
        because = f"{evidence.work}; the code is “{facts.code or 'none'}”, which proves nothing."
    if evidence.review or ground:
        because = f"{evidence.work}; look at them first: " + "; ".join(evidence.sentences()[1:])
    rule = REJECTION_RULES[ground] + " You may still approve." if ground else FULL_PAY
    return Proposal(
        APPROVE,
        because,
        rule,
        (APPROVE, *rejectable),
        category=ground,
        message=rejection_message(ground, evidence) if ground else "",
        doubtful=bool(ground or evidence.review),
    )


def _without_work(
    facts: SubmissionFacts, evidence: Evidence | None, ground: str, rejectable: tuple[str, ...]
) -> Proposal:
    if (evidence is not None and evidence.outcome == "screened_out") or facts.entered in NEVER:
        return Proposal(
            PART,
            "They were screened out." if facts.entered != "no_consent" else "They declined.",
            "It is never rejected: the place comes back, and the way there may be paid.",
            (PART, RETURN, APPROVE),
            message="Thank you for your time. This study needs other listeners or other "
            "equipment. Please return your place; after that we pay you for the time you spent.",
        )
    because = (
        "No session came with this submission." if evidence is None else "No clip was answered."
    )
    return Proposal(
        RETURN,
        because,
        "Prolific: ask for a return first, and give several days.",
        (RETURN, APPROVE, *rejectable),
        category=ground,
        message="We have no answers of yours. If something went wrong, please tell us what you "
        "saw; else please return your place, so that it is not counted against you.",
    )


def rejection_message(category: str, evidence: Evidence | None) -> str:
    """For the participant, with the numbers; long enough for Prolific."""
    if category == "TOO_QUICKLY" and evidence is not None:
        text = (
            f"You finished in {evidence.minutes or 0:.1f} minutes. That is more than three "
            "standard deviations below the mean of all who took part, and less than the clips need "
            "to be heard. If something went wrong, please write to us and we will look at it again."
        )
    elif category == "FAILED_CHECK" and evidence is not None:
        text = (
            f"You failed {evidence.fair_failed} of {evidence.fair} questions that say which "
            "answer to choose. If something went wrong with the sound or the page, please write "
            "to us and we will look at it again."
        )
    else:
        text = (
            "We found no answers of yours to any clip of the study. If you did take part, please "
            "write to us what you saw and when, and we will look for them again."
        )
    assert len(text) >= REASON_CHARS
    return text


# --- Where we and Prolific disagree --------------------------------------------------------------


@dataclass(frozen=True)
class Mismatch:
    """A sentence, and the remedies that are a button each."""

    kind: str
    sentence: str
    remedies: tuple[str, ...] = ()


def find_mismatches(
    facts: SubmissionFacts, participant: str, evidence: Evidence | None
) -> list[Mismatch]:
    """What does not fit between one submission and its session."""
    mismatches: list[Mismatch] = []
    status, outcome = facts.status, evidence.outcome if evidence else ""
    if (
        evidence is not None
        and evidence.participant
        and evidence.participant != participant.lower()
    ):
        mismatches.append(
            Mismatch(
                "forged",
                "The session came with another participant's id than this submission has.",
                (LEAVE_OUT,) if outcome in ("complete", "needs_review", "") else (),
            )
        )
    declined = facts.entered == "no_consent"  # who declines never has a session
    if evidence is None and not (facts.withdrew or declined) and status in ENDED_WITH_PAY:
        mismatches.append(_without_session(facts))
    if evidence is None:
        return mismatches
    if has_work(evidence) and status == "AWAITING REVIEW" and not facts.entered:
        word = facts.code or "no code"
        mismatches.append(
            Mismatch("wrong_code", f"Finished here; at Prolific with “{word}”.", (APPROVE,))
        )
    elif (
        (status == "AWAITING REVIEW" or (status in PAID and not facts.is_decided))
        and facts.entered
        and facts.entered != ("complete" if outcome == "rejected" else outcome)
    ):
        here = outcome.replace("_", " ") or "not finished"
        remedies: tuple[str, ...] = (APPROVE,) if has_work(evidence) else (RETURN,)
        if status in PAID:
            remedies = ()
        mismatches.append(
            Mismatch(
                "other_code",
                f"The code says “{facts.entered.replace('_', ' ')}”; here it is {here}.",
                remedies,
            )
        )
    if has_work(evidence) and status in ("ACTIVE", "TIMED-OUT"):
        late = "never came back with the code" if status == "ACTIVE" else "timed out at Prolific"
        mismatches.append(Mismatch("not_handed_in", f"Finished here; {late}.", (COMPLETE,)))
    if outcome in ("complete", "needs_review") and status in ("RETURNED", "REJECTED"):
        mismatches.append(
            Mismatch(
                "place_given_twice",
                f"{status.capitalize()} at Prolific, which recruits somebody else; the answers "
                "still fill the places here.",
                (LEAVE_OUT,),
            )
        )
    if outcome == "" and evidence.answered and status == "AWAITING REVIEW":
        mismatches.append(
            Mismatch(
                "unfinished",
                f"Handed in after {evidence.answered} of {evidence.trials} clips.",
                (PART, RETURN),
            )
        )
    return mismatches


def _without_session(facts: SubmissionFacts) -> Mismatch:
    """Somebody ended at Prolific who never came here, maybe with a code that was passed on."""
    sentence = "Handed in at Prolific, and no session here."
    if facts.entered:
        code = facts.entered.replace("_", " ")
        sentence = f"Used the code for “{code}” without a session here: the code was passed on."
    if facts.status in PAID:
        return Mismatch("no_session", f"{sentence} Prolific has paid it ({facts.status.lower()}).")
    return Mismatch("no_session", sentence, (RETURN,))


def unknown_session(evidence: Evidence) -> Mismatch:
    """A session with a submission's id that Prolific does not have."""
    return Mismatch(
        "unknown_submission",
        "The session names a submission that Prolific does not have in this study: its address "
        "was made up, or is of a test.",
        (LEAVE_OUT,) if evidence.outcome in ("complete", "needs_review", "") else (),
    )


def facts_of(row: Submission) -> SubmissionFacts:
    return SubmissionFacts(
        status=row.status,
        code=row.code,
        withdrew=row.withdrew,
        is_decided=bool(row.decision),
        codes={k: v for k, v in row.recruitment.codes.items() if k != "server"},
    )


def proposal_for(row: Submission, evidence: Evidence | None) -> Proposal | None:
    return propose(facts_of(row), evidence)


def is_plain_approval(offered: Proposal | None) -> bool:
    """Whether nothing stands against approval: no ground to reject, nothing to look at first."""
    return offered is not None and offered.decision == APPROVE and not offered.doubtful


def decide(
    row: Submission,
    decision: str,
    *,
    by: str,
    message: str = "",
    part_minor: int = 0,
    evidence: Evidence | None = None,
) -> str:
    """Writes one decision down and carries it out; gives what happened, in a sentence.

    RecruitmentError where a rule forbids it. A rejection that needs a second person waits.
    """
    if evidence is None and row.session_id is not None:
        evidence = evidence_of(row.recruitment.study).get(row.session_id)
    offered = proposal_for(row, evidence)
    if offered is None:
        raise RecruitmentError(f"Nothing is to be decided: Prolific says {row.status}.")
    if (sent := _pending_decision(row)) and decision != row.decision:
        raise RecruitmentError(sent)
    if decision not in offered.allowed:
        words = DECISIONS.get(decision, decision)
        allowed = ", ".join(DECISIONS[each].lower() for each in offered.allowed)
        raise RecruitmentError(f"“{words}” is not open here. {offered.rule} Possible: {allowed}.")
    text = (message or offered.message).strip()
    if decision == REJECT and len(text) < REASON_CHARS:
        raise RecruitmentError(
            f"A rejection needs a reason of at least {REASON_CHARS} characters; "
            f"this one has {len(text)}."
        )
    if decision in (RETURN, PART) and not text:
        raise RecruitmentError("Say to the participant why the place should be returned.")
    if decision == PART:
        purpose = "screened_out" if evidence and evidence.outcome == "screened_out" else "part"
        decide_bonus(row, purpose, part_minor or suggested_part(row, evidence), by)
    with transaction.atomic():
        if decision in (APPROVE, COMPLETE):
            _keep_within_budget(row.recruitment, [row.pk])
        _write_down(row, decision, text, offered, by)
    if waits_for_second(row):
        return "Written down. A second person has to agree before it is sent."
    with client_of(row.recruitment.connection) as prolific:
        return carry_out(prolific, row)


def waits_for_second(row: Submission) -> bool:
    """A rejection that was written down, and that nobody else has agreed to yet."""
    undone = row.decision == REJECT and row.carried_out_at is None
    return undone and row.recruitment.two_people and not row.second_by


def _pending_decision(row: Submission) -> str:
    """Why another decision has to wait: one was sent that Prolific may be carrying out."""
    final = (APPROVE, COMPLETE, REJECT)
    waits = waits_for_second(row)
    was_refused = bool(row.problem) and not row.problem.endswith(LOOK_AGAIN)
    if row.decision not in final or was_refused or waits or row.decided_at is None:
        return ""
    looked = row.recruitment.synced_at
    if looked and looked > row.decided_at + CARRIED_OUT_AFTER:
        return ""  # long ago, and Prolific shows nothing of it
    words = DECISIONS[row.decision].lower()
    return f"“{words}” was sent already. Look at Prolific again before you decide otherwise."


def suggested_part(row: Submission, evidence: Evidence | None) -> int:
    """The share of the reward that was worked for, and never below the fixed sum of the plan."""
    terms, plan = terms_of(row.recruitment), Plan.from_dict(row.recruitment.plan)
    share = (
        Decimal(evidence.answered) / evidence.trials if evidence and evidence.trials else Decimal(0)
    )
    fixed = terms.screened_out_minor or plan.screened_out_minor
    return max(ceil(terms.reward_minor * share), ceil(fixed), 1)


def _write_down(row: Submission, decision: str, text: str, offered: Proposal, by: str) -> None:
    with transaction.atomic():
        locked = Submission.objects.select_for_update().get(pk=row.pk)
        if locked.decision and locked.carried_out_at is None and locked.decision != decision:
            locked.second_by = ""
        locked.decision, locked.reason = decision, text[:1000]
        locked.category = offered.category if decision == REJECT else ""
        rule = REJECTION_RULES.get(locked.category, offered.rule)
        locked.rule, locked.decided_by, locked.decided_at = rule[:300], by, timezone.now()
        locked.carried_out_at, locked.problem = None, ""
        locked.save()
    row.refresh_from_db()


def agree(row: Submission, by: str) -> str:
    """The second person of a rejection, who is not the first."""
    if row.decision != REJECT or row.carried_out_at:
        raise RecruitmentError("No rejection waits for a second person here.")
    if row.decided_by == by:
        raise RecruitmentError("The second person must be somebody else.")
    row.second_by = by
    row.save(update_fields=["second_by"])
    with client_of(row.recruitment.connection) as prolific:
        return carry_out(prolific, row)


def carry_out(prolific: Prolific, row: Submission) -> str:
    """Sends what was decided. Prolific passes over a decision that is the same twice; requests to
    return are sent once, and looked for before they are sent again."""
    try:
        if row.decision == APPROVE:
            prolific.approve(row.prolific_id)
        elif row.decision == COMPLETE:
            prolific.complete(row.prolific_id, row.recruitment.codes["server"])
        elif row.decision == REJECT:
            prolific.reject(row.prolific_id, category=row.category, message=row.reason)
        elif row.return_requested_at is None:
            prolific.ask_to_return(row.prolific_id, row.reason)
            row.return_requested_at = timezone.now()
    except NoReply as error:
        row.problem = f"{str(error)[:300]} {LOOK_AGAIN}"
        row.save(update_fields=["problem"])
        return row.problem
    except ProlificError as error:
        row.problem = f"Prolific said: {error}"[:400]
        row.save(update_fields=["problem"])
        raise RecruitmentError(row.problem) from None
    row.problem = ""
    row.save(update_fields=["problem", "return_requested_at"])
    return DONE[row.decision]


def cost_of_approvals(recruitment: Recruitment, count: int) -> Decimal:
    """The rewards of so many people, with fees."""
    return ledger.with_fees(recruitment, terms_of(recruitment).reward_minor * count)


def approve_many(recruitment: Recruitment, by: str, seen_minor: int | None = None) -> int:
    """All that are plain and undecided; Prolific works them off within minutes.

    `seen_minor` is the sum that was confirmed, in whole minor units; None where nobody was asked.
    """
    known = evidence_of(recruitment.study)
    waiting = recruitment.submissions.filter(status="AWAITING REVIEW", decision="")
    plain = []
    for row in waiting:
        row.recruitment = recruitment
        if is_plain_approval(proposal_for(row, known.get(row.session_id or 0))):
            plain.append(row.pk)
    cost = cost_of_approvals(recruitment, len(plain))
    require_confirmed(cost, seen_minor, recruitment.currency)
    with transaction.atomic():
        _keep_within_budget(recruitment, plain)
        chosen = _write_approvals(plain, by)
    if chosen:
        _send_approvals(recruitment, chosen)
    return len(chosen)


def _keep_within_budget(recruitment: Recruitment, approved: Sequence[int]) -> None:
    """RecruitmentError where these approvals, with those that were sent and that Prolific does not
    show yet, exceed the limit. Others that are written down at once wait for this transaction."""
    Recruitment.objects.select_for_update().get(pk=recruitment.pk)
    sent = recruitment.submissions.filter(decision__in=(APPROVE, COMPLETE), carried_out_at=None)
    under_way = sum(bool(_pending_decision(row)) for row in sent.exclude(pk__in=approved))
    rewards = terms_of(recruitment).reward_minor * (len(approved) + under_way)
    ledger.keep_approvals_within_budget(recruitment, rewards)


def _write_approvals(plain: Sequence[int], by: str) -> list[Submission]:
    """Written down at once, but for those that somebody has decided meanwhile."""
    chosen = list(Submission.objects.select_for_update().filter(pk__in=plain, decision=""))
    Submission.objects.filter(pk__in=[each.pk for each in chosen]).update(
        **{"decision": APPROVE, "rule": FULL_PAY, "reason": ""},
        **{"decided_by": by, "decided_at": timezone.now()},
        **{"carried_out_at": None, "problem": ""},
    )
    return chosen


def _send_approvals(recruitment: Recruitment, chosen: Sequence[Submission]) -> None:
    rows = Submission.objects.filter(pk__in=[each.pk for each in chosen])
    with client_of(recruitment.connection) as prolific:
        try:
            prolific.approve_all([each.prolific_id for each in chosen])
        except NoReply as error:
            rows.update(problem=f"{str(error)[:300]} {LOOK_AGAIN}")
            raise RecruitmentError(
                f"{error} The decisions are kept; Earnest looks again what was approved."
            ) from None
        except ProlificError as error:
            rows.update(decision="", rule="", decided_by="", decided_at=None)
            word = "refused" if isinstance(error, Refused) else "did not get"
            raise RecruitmentError(
                f"Prolific {word} the approvals: {error} Nothing was approved."
            ) from None


@dataclass
class Row:
    """One submission, or a session that names one which Prolific does not have."""

    submission: Submission | None
    evidence: Evidence | None
    proposal: Proposal | None = None
    mismatches: list[Mismatch] = field(default_factory=list)
    bonuses: list[Bonus] = field(default_factory=list)
    approved_at: datetime | None = None  # when Prolific approves on its own

    @property
    def is_approvable(self) -> bool:
        """Whether it may be approved with all others: the work is here, nothing is undecided."""
        return self.is_undecided and is_plain_approval(self.proposal)

    @property
    def leave_out(self) -> bool:
        """Whether a mismatch is mended by leaving the answers out."""
        return any(LEAVE_OUT in each.remedies for each in self.mismatches)

    @property
    def choices(self) -> list[tuple[str, str]]:
        return [(each, DECISIONS[each]) for each in self.proposal.allowed] if self.proposal else []

    @property
    def is_plain(self) -> bool:
        """Whether what is proposed is one press of a button: nothing is to be written."""
        plain = (APPROVE, COMPLETE)
        return self.proposal is not None and self.proposal.decision in plain

    @property
    def may_have_bonus(self) -> bool:
        return self.submission is not None and self.submission.status not in ("ACTIVE", "RESERVED")

    @property
    def has_message(self) -> bool:
        """Whether one of the decisions tells the participant something."""
        with_message = (RETURN, PART, REJECT)
        return any(name in with_message for name, _ in self.choices)

    @property
    def part(self) -> str:
        """What a part would be, in major units; reckoned for the rows that a page shows."""
        if self.submission is None or self.proposal is None:
            return ""
        return f"{suggested_part(self.submission, self.evidence) / 100:.2f}"

    @property
    def is_due_soon(self) -> bool:
        """Whether Prolific approves it within a day, and nobody has decided."""
        left = timedelta(days=APPROVED_AFTER_DAYS - WARNED_AFTER_DAYS)
        return (
            self.approved_at is not None
            and not self.is_decided
            and self.approved_at - timezone.now() <= left
        )

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


def desk_rows(recruitment: Recruitment) -> list[Row]:
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
        place = facts_of(submission)
        offered = propose(place, evidence)
        rows.append(
            Row(
                submission,
                evidence,
                proposal=offered,
                mismatches=find_mismatches(place, submission.participant, evidence),
                bonuses=bonuses.get(submission.pk, []),
                approved_at=_approval_deadline(submission),
            )
        )
    rows += _unknown(recruitment, known)
    return sorted(rows, key=_order)


def _order(row: Row) -> tuple[bool, bool]:
    return not row.mismatches, not row.is_undecided


def _approval_deadline(submission: Submission) -> datetime | None:
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
        rows.append(Row(None, evidence, mismatches=[unknown_session(evidence)]))
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
        if not has_work(row.evidence):
            continue
        taken = _minutes(row.submission) or row.evidence.minutes
        if taken:
            minutes.append(taken)
        clips.append(row.evidence.answered)
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
    statuses = (row.submission.status for row in rows if row.submission is not None)
    return dict(Counter(statuses))  # templates ask a Counter for the key “items”


def is_stale(recruitment: Recruitment) -> bool:
    """Whether Prolific has not been asked for a while, although the clock should have."""
    at = recruitment.synced_at
    return at is not None and age_s(at) > 20 * 60
