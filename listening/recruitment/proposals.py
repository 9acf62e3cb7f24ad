"""What may be done about a submission, what is proposed, and where ours and Prolific's disagree.

Pure. The rules are Prolific's own (its help centre, 2025): a rejection rests on exceptional speed,
on failed fair attention checks, or on work that is not there; never on being screened out, on
comprehension checks, on disagreement with others, on traps that are judged by ear, or on our own
signs of machine-made answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from listening.recruitment.evidence import Evidence
from listening.recruitment.prolific.client import REASON_CHARS
from listening.recruitment.prolific.wire import SUBMISSION_OVER

APPROVE, COMPLETE, RETURN, PART, REJECT = "approve", "complete", "return", "part", "reject"
DECISIONS = {
    APPROVE: "Approve and pay",
    COMPLETE: "Complete for them, approve and pay",
    RETURN: "Ask to return the place",
    PART: "Ask to return, then pay a part",
    REJECT: "Reject without pay",
}
DONE_HERE = ("complete", "needs_review", "rejected")  # the work is here, whether it is used or not


@dataclass(frozen=True)
class Place:
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


FULL_PAY = "Who did the work is paid, whether we use it or not."
REJECTION_RULES = {
    "TOO_QUICKLY": "Prolific: three standard deviations below the mean time is exceptionally fast.",
    "FAILED_CHECK": "Prolific: failed fair attention checks (one under 5 minutes, else two).",
    "NO_DATA": "Prolific: nothing of the task was done.",
}


def rejection_ground(place: Place, known: Evidence | None) -> str:
    """The category that allows a rejection; "" where no rule does."""
    if place.status != "AWAITING REVIEW" or place.withdrew or place.entered in NEVER:
        return ""
    if known is None or known.answered == 0:
        screened = known is not None and known.outcome == "screened_out"
        return "" if screened else "NO_DATA"
    if known.is_too_fast:
        return "TOO_QUICKLY"
    if known.fails_fair_checks:
        return "FAILED_CHECK"
    return ""


NEVER = ("screened_out", "no_consent")  # ends that are nobody's fault


def propose(place: Place, known: Evidence | None) -> Proposal | None:
    """None where nothing is to be decided: it is over, or still going on."""
    if place.status in SUBMISSION_OVER or place.status == "RESERVED":
        return None
    if place.status in ("ACTIVE", "TIMED-OUT"):
        if known is None or known.outcome not in DONE_HERE:
            return None
        return Proposal(
            COMPLETE,
            "All answers are here, but they never went back with their code.",
            FULL_PAY,
            (COMPLETE,),
        )
    ground = rejection_ground(place, known)
    rejectable = (REJECT,) if ground else ()
    if place.withdrew:
        return Proposal(
            RETURN,
            "They withdrew, and all their answers are deleted.",
            "Withdrawn consent is never rejected: ask for the place back; a part may be paid.",
            (RETURN, PART, APPROVE),
            message="You withdrew from the study and your answers are deleted. Please return "
            "your place. Thank you for your time.",
        )
    if known is None or known.answered == 0:
        return _without_work(place, known, ground, rejectable)
    if known.outcome in DONE_HERE:
        return _with_work(place, known, ground, rejectable)
    message = (
        f"You answered {known.answered} of {known.trials} clips. If something went wrong, please "
        "tell us; else please return your place. We pay the part that you did."
    )
    return Proposal(
        PART,
        f"{known.answered} of {known.trials} clips are answered.",
        "Work that was begun is paid in part: the place is returned first, then a bonus follows.",
        (PART, RETURN, APPROVE),
        message=message,
    )


def _with_work(place: Place, known: Evidence, ground: str, rejectable: tuple[str, ...]) -> Proposal:
    because = "All answers are here."
    if not place.entered:
        because = (
            f"All answers are here; the code is “{place.code or 'none'}”, which proves nothing."
        )
    if known.review or ground:
        because = "All answers are here; look at them first: " + "; ".join(known.sentences()[1:])
    rule = REJECTION_RULES[ground] + " You may still approve." if ground else FULL_PAY
    return Proposal(
        APPROVE,
        because,
        rule,
        (APPROVE, *rejectable),
        category=ground,
        message=rejection_message(ground, known) if ground else "",
        doubtful=bool(ground or known.review),
    )


def _without_work(
    place: Place, known: Evidence | None, ground: str, rejectable: tuple[str, ...]
) -> Proposal:
    if (known is not None and known.outcome == "screened_out") or place.entered in NEVER:
        return Proposal(
            PART,
            "They were screened out." if place.entered != "no_consent" else "They declined.",
            "It is never rejected: the place comes back, and the way there may be paid.",
            (PART, RETURN, APPROVE),
            message="Thank you for your time. This study needs other listeners or other "
            "equipment. Please return your place; after that we pay you for the time you spent.",
        )
    because = "No session came with this submission." if known is None else "No clip was answered."
    return Proposal(
        RETURN,
        because,
        "Prolific: ask for a return first, and give several days.",
        (RETURN, APPROVE, *rejectable),
        category=ground,
        message="We have no answers of yours. If something went wrong, please tell us what you "
        "saw; else please return your place, so that it is not counted against you.",
    )


def rejection_message(category: str, known: Evidence | None) -> str:
    """For the participant, with the numbers; long enough for Prolific."""
    if category == "TOO_QUICKLY" and known is not None:
        text = (
            f"You finished in {known.minutes or 0:.1f} minutes. That is more than three standard "
            "deviations below the mean of all who took part, and less than the clips need to be "
            "heard. If something went wrong, please write to us and we will look at it again."
        )
    elif category == "FAILED_CHECK" and known is not None:
        text = (
            f"You failed {known.fair_failed} of {known.fair} questions that say which answer to "
            "choose. If something went wrong with the sound or the page, please write to us and "
            "we will look at it again."
        )
    else:
        text = (
            "We found no answers of yours to any clip of the study. If you did take part, please "
            "write to us what you saw and when, and we will look for them again."
        )
    assert len(text) >= REASON_CHARS
    return text


# --- Where we and Prolific disagree --------------------------------------------------------------

LEAVE_OUT = "leave_out"


@dataclass(frozen=True)
class Mismatch:
    """A sentence, and the remedies that are a button each."""

    kind: str
    sentence: str
    remedies: tuple[str, ...] = ()


def mismatches_of(place: Place, participant: str, known: Evidence | None) -> list[Mismatch]:
    """What does not fit between one submission and its session."""
    found: list[Mismatch] = []
    status, outcome = place.status, known.outcome if known else ""
    if known is not None and known.participant and known.participant != participant.lower():
        found.append(
            Mismatch(
                "forged",
                "The session came with another participant's id than this submission has.",
                (LEAVE_OUT,) if outcome in ("complete", "needs_review", "") else (),
            )
        )
    declined = place.entered == "no_consent"  # who declines never has a session
    if known is None and not (place.withdrew or declined) and status in ENDED_WITH_PAY:
        found.append(_without_session(place))
    if known is None:
        return found
    if outcome in DONE_HERE and status == "AWAITING REVIEW" and not place.entered:
        word = place.code or "no code"
        found.append(
            Mismatch("wrong_code", f"Finished here; at Prolific with “{word}”.", (APPROVE,))
        )
    elif (
        (status == "AWAITING REVIEW" or (status in PAID and not place.is_decided))
        and place.entered
        and place.entered != ("complete" if outcome == "rejected" else outcome)
    ):
        here = outcome.replace("_", " ") or "not finished"
        remedies: tuple[str, ...] = (APPROVE,) if outcome in DONE_HERE else (RETURN,)
        if status in PAID:
            remedies = ()
        found.append(
            Mismatch(
                "other_code",
                f"The code says “{place.entered.replace('_', ' ')}”; here it is {here}.",
                remedies,
            )
        )
    if outcome in DONE_HERE and status in ("ACTIVE", "TIMED-OUT"):
        late = "never came back with the code" if status == "ACTIVE" else "timed out at Prolific"
        found.append(Mismatch("not_handed_in", f"Finished here; {late}.", (COMPLETE,)))
    if outcome in ("complete", "needs_review") and status in ("RETURNED", "REJECTED"):
        found.append(
            Mismatch(
                "place_given_twice",
                f"{status.capitalize()} at Prolific, which recruits somebody else; the answers "
                "still fill the places here.",
                (LEAVE_OUT,),
            )
        )
    if outcome == "" and known.answered and status == "AWAITING REVIEW":
        found.append(
            Mismatch(
                "unfinished",
                f"Handed in after {known.answered} of {known.trials} clips.",
                (PART, RETURN),
            )
        )
    return found


PAID = ("APPROVED", "PARTIALLY APPROVED", "SCREENED OUT")
ENDED_WITH_PAY = ("AWAITING REVIEW", *PAID)  # paid, or to be decided


def _without_session(place: Place) -> Mismatch:
    """Somebody ended at Prolific who never came here, maybe with a code that was passed on."""
    sentence = "Handed in at Prolific, and no session here."
    if place.entered:
        code = place.entered.replace("_", " ")
        sentence = f"Used the code for “{code}” without a session here: the code was passed on."
    if place.status in PAID:
        return Mismatch("no_session", f"{sentence} Prolific has paid it ({place.status.lower()}).")
    return Mismatch("no_session", sentence, (RETURN,))


def unknown_session(known: Evidence) -> Mismatch:
    """A session with a submission's id that Prolific does not have."""
    return Mismatch(
        "unknown_submission",
        "The session names a submission that Prolific does not have in this study: its address "
        "was made up, or is of a test.",
        (LEAVE_OUT,) if known.outcome in ("complete", "needs_review", "") else (),
    )
