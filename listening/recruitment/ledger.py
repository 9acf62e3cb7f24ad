"""The money of a study: planned, committed, paid, fees; ours beside Prolific's account."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Sum

from listening.common.spreadsheets import safe_cell
from listening.models import Bonus, LedgerEntry, Recruitment, Session, Submission
from listening.recruitment.errors import RecruitmentError
from listening.recruitment.plan import Plan, money
from listening.recruitment.prolific.wire import Malformed, amount
from listening.recruitment.terms import terms_of

Kind = LedgerEntry.Kind
PAID = (Kind.REWARD, Kind.SCREENED_OUT, Kind.BONUS)
NONE = Decimal(0)


@dataclass(frozen=True)
class Money:
    """Sums in minor units; fees with the tax on them."""

    currency: str
    planned_minor: Decimal  # expected when the draft was made, fees included
    committed_minor: Decimal  # locked by publishing, fees included
    rewards_minor: Decimal
    screened_out_minor: Decimal
    bonuses_minor: Decimal
    fees_minor: Decimal  # of what is paid
    owed_minor: Decimal  # bonuses decided and not yet seen to be paid, without fees

    @property
    def paid_minor(self) -> Decimal:
        return self.rewards_minor + self.screened_out_minor + self.bonuses_minor

    @property
    def total_minor(self) -> Decimal:
        return self.paid_minor + self.fees_minor

    def rows(self) -> list[tuple[str, Decimal]]:
        return [
            ("Planned, incl. fees", self.planned_minor),
            ("Committed on Prolific, incl. fees", self.committed_minor),
            ("Rewards paid", self.rewards_minor),
            ("Screen-out payments", self.screened_out_minor),
            ("Bonuses paid", self.bonuses_minor),
            ("Fees and tax on payments", self.fees_minor),
            ("Total paid, incl. fees", self.total_minor),
            ("Bonuses due, excl. fees", self.owed_minor),
        ]


def money_of(recruitment: Recruitment) -> Money:
    sums: dict[tuple[str, str], Decimal] = {}
    rows = LedgerEntry.objects.filter(recruitment=recruitment).order_by().values_list("kind")
    for kind, paid, fees in rows.annotate(m=Sum("minor"), f=Sum("fees_minor")):
        sums[kind, "m"], sums[kind, "f"] = paid, fees

    def of(kind: str, which: str = "m") -> Decimal:
        return sums.get((kind, which), NONE)

    owed = Bonus.objects.filter(submission__recruitment=recruitment, paid_at__isnull=True)
    return Money(
        currency=recruitment.currency,
        planned_minor=recruitment.expected_minor or NONE,
        committed_minor=of(Kind.COMMITTED) + of(Kind.COMMITTED, "f"),
        rewards_minor=of(Kind.REWARD),
        screened_out_minor=of(Kind.SCREENED_OUT),
        bonuses_minor=of(Kind.BONUS),
        fees_minor=sum((of(kind, "f") for kind in PAID), NONE),
        owed_minor=Decimal(owed.aggregate(sum=Sum("minor"))["sum"] or 0),
    )


def fee_share(recruitment: Recruitment) -> Decimal:
    """Fees and tax as a share of a payment, from what Prolific said the places would cost."""
    if recruitment.fee_share is not None:
        return Decimal(recruitment.fee_share)
    plan = Plan.from_dict(recruitment.plan)  # of a recruitment whose terms were never read
    rewards = Decimal(plan.reward_minor * plan.places)
    if not rewards or recruitment.expected_minor is None:
        return NONE
    return recruitment.expected_minor / rewards - 1


def with_fees(recruitment: Recruitment, minor: Decimal) -> Decimal:
    return minor * (1 + fee_share(recruitment))


def locked_by_publishing(recruitment: Recruitment) -> Decimal:
    """All places and all screen-outs that are paid, with fees, by the terms as read last."""
    return with_fees(recruitment, terms_of(recruitment).locked_minor)


def keep_within_budget(recruitment: Recruitment, more: Decimal) -> None:
    """RecruitmentError where `more`, with fees, would go beyond the limit of the study.

    Counted against it: what is committed for places and screen-outs, and bonuses being paid.
    """
    _require_within(recruitment, _bound(recruitment) + more)


def left_of_budget(recruitment: Recruitment) -> int | None:
    """Whole minor units that may still be committed; None where there is no limit."""
    if recruitment.budget_minor is None:
        return None
    return max(int(recruitment.budget_minor - _bound(recruitment)), 0)


def _bound(recruitment: Recruitment) -> Decimal:
    """What counts against the limit, with fees."""
    being_paid = Bonus.objects.filter(submission__recruitment=recruitment, batch__isnull=False)
    bonuses = Decimal(being_paid.aggregate(sum=Sum("minor"))["sum"] or 0)
    return money_of(recruitment).committed_minor + with_fees(recruitment, bonuses)


def keep_approvals_within_budget(recruitment: Recruitment, rewards: Decimal) -> None:
    """RecruitmentError where all that is paid, with these rewards, would exceed the limit.

    It can where a study was enlarged or published at Prolific. `rewards` are without fees.
    """
    if recruitment.budget_minor is not None:
        paid = money_of(recruitment).total_minor
        _require_within(recruitment, paid + with_fees(recruitment, rewards))


def _require_within(recruitment: Recruitment, sum_minor: Decimal) -> None:
    limit = recruitment.budget_minor
    if limit is not None and sum_minor > limit:
        raise RecruitmentError(
            f"This would bring the study to {money(sum_minor, recruitment.currency)}, and its "
            f"limit is {money(limit, recruitment.currency)}. Nothing was sent. Raise the limit, or "
            "ask for less."
        )


def mark_paid(submission: Submission) -> None:
    """Its session is paid as soon as anything was: reward, fixed sum or bonus. It stays so."""
    if submission.session_id and submission.ledger.filter(kind__in=PAID).exists():
        Session.objects.filter(pk=submission.session_id, paid=False).update(paid=True)


def write(
    recruitment: Recruitment,
    kind: str,
    key: str,
    minor: Decimal,
    *,
    submission: Any = None,
    note: str = "",
) -> None:
    """Notes a payment once: what has the same key is the same payment."""
    LedgerEntry.objects.get_or_create(
        key=f"{kind}:{key}",
        defaults={
            "recruitment": recruitment,
            "submission": submission,
            "kind": kind,
            "minor": minor,
            "fees_minor": (minor * fee_share(recruitment)).quantize(Decimal("0.0001")),
            "note": note,
        },
    )


@dataclass(frozen=True)
class Difference:
    """One sum as we and as Prolific have it, in minor units."""

    name: str
    ours: Decimal
    theirs: Decimal

    @property
    def agrees(self) -> bool:
        """To the penny: fees are fractions that each side rounds on its own."""
        return abs(self.ours - self.theirs) < 1


def reconciled(recruitment: Recruitment) -> list[Difference]:
    """Our sums beside Prolific's account as last read; empty where it was not read yet."""
    costs = recruitment.costs
    if not isinstance(costs, dict) or not costs:
        return []
    ours = money_of(recruitment)
    rewards, bonuses = costs.get("rewards", {}), costs.get("bonuses", {})
    fees = sum((_leaf(part, name) for part in (rewards, bonuses) for name in ("fees", "tax")), NONE)
    return [
        Difference("Rewards", ours.rewards_minor, _leaf(rewards, "rewards")),
        Difference(
            "Bonuses, and payments for people who are screened out",
            ours.bonuses_minor + ours.screened_out_minor,
            _leaf(bonuses, "rewards"),
        ),
        Difference("Fees and tax", ours.fees_minor, fees),
    ]


def _leaf(part: Any, name: str) -> Decimal:
    leaf = part.get(name) if isinstance(part, dict) else None
    value = leaf.get("amount") if isinstance(leaf, dict) else leaf
    with suppress(Malformed):
        return amount(value or 0)
    return NONE  # which stands beside ours as a difference


COLUMNS = (
    "time_utc",
    "study",
    "recruitment",
    "kind",
    "amount",
    "fees",
    "currency",
    "rater",
    "note",
)


def as_csv(recruitments: Iterable[Recruitment]) -> str:
    """Every entry of the ledger, for accounting; raters by their code here, never by Prolific's."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    entries = LedgerEntry.objects.filter(recruitment__in=list(recruitments)).select_related(
        "recruitment__study", "submission__session__rater"
    )
    for entry in entries:
        session = entry.submission.session if entry.submission else None
        writer.writerow(
            (
                entry.at.strftime("%Y-%m-%d %H:%M:%S"),
                entry.recruitment.study.key,
                entry.recruitment.code,
                entry.kind,
                f"{entry.minor / 100:.4f}",
                f"{entry.fees_minor / 100:.4f}",
                entry.recruitment.currency,
                session.rater.code if session else "",
                safe_cell(entry.note),
            )
        )
    return out.getvalue()
