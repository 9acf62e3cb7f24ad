"""Bonuses: decided, written down at Prolific, paid once.

Prolific pays again for every request to pay, so that request is sent once for each batch, whatever
becomes of its reply: `paying` is committed before it, and whoever finds a batch in that state only
looks. What Prolific shows as paid is paid. Where it shows nothing for `SETTLED_AFTER`, a person may
say that the bonuses go into a new batch (`pay_again`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from math import inf

from django.conf import settings
from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from listening.models import Bonus, BonusBatch, LedgerEntry, Recruitment, Submission
from listening.models.study_log import note
from listening.recruitment import ledger
from listening.recruitment.connecting import client_of
from listening.recruitment.errors import RecruitmentError
from listening.recruitment.plan import money
from listening.recruitment.prolific import NoReply, Prolific, ProlificError, Refused, wire

State = BonusBatch.State
PART_PURPOSES = ("part", "screened_out")  # in place of the reward, for a place that came back
MOST_IN_BATCH = 200
READ_ALONE = 3  # submissions of a batch: more are read in one list
READ_PER_LOOK = 25  # submissions of a batch, where lists show no bonuses: all 200 in 40 minutes
LARGEST_MINOR = 100_00  # one bonus: more is taken for a slip of the pen


def settling_time() -> timedelta:
    """Prolific pays within minutes; what it does not show after this was not paid."""
    return timedelta(seconds=settings.EARNEST_PROLIFIC_SETTLED_S)


# --- Decided -------------------------------------------------------------------------------------


def decide_bonus(submission: Submission, purpose: str, minor: int, by: str) -> Bonus:
    """Owed from now on; the same purpose twice is one bonus, and cannot change its amount."""
    if not 0 < minor <= LARGEST_MINOR:
        most = money(LARGEST_MINOR, submission.recruitment.currency)
        raise RecruitmentError(f"A bonus is more than nothing and at most {most}.")
    bonus, created = Bonus.objects.get_or_create(
        submission=submission, purpose=purpose, defaults={"minor": minor, "by": by}
    )
    if not created and bonus.minor != minor:
        raise RecruitmentError(
            f"This bonus is decided already: {money(bonus.minor, submission.recruitment.currency)}."
        )
    return bonus


def take_back(bonus: Bonus) -> None:
    """Owed no more; only as long as it is in no batch."""
    with transaction.atomic():
        _lock(bonus.submission.recruitment_id)  # else it could be in a batch that is being filled
        deleted, _ = Bonus.objects.filter(pk=bonus.pk, batch__isnull=True).delete()
    if not deleted:
        raise RecruitmentError(
            "This bonus stands in a batch. If that is not paid yet, undo it below first."
        )


def _lock(recruitment: int) -> None:
    """Whoever fills a batch, or takes a bonus back, waits for the other."""
    Recruitment.objects.select_for_update().get(pk=recruitment)


def owed(recruitment: Recruitment) -> list[Bonus]:
    """Decided and in no batch. One for a returned place waits until it is returned, and one of a
    submission that is being paid another waits for that: what Prolific shows must tell them apart.
    """
    unpaid = Bonus.objects.filter(submission__recruitment=recruitment, paid_at__isnull=True)
    being_paid = unpaid.filter(batch__isnull=False).values("submission")
    waiting = unpaid.filter(batch__isnull=True).exclude(submission__in=being_paid)
    return [each for each in waiting.select_related("submission") if is_due(each)]


def is_due(bonus: Bonus) -> bool:
    """A part is paid once the place was returned, and never beside a reward; other bonuses once the
    participant has ended."""
    status = bonus.submission.status
    if bonus.purpose in PART_PURPOSES:
        return status == "RETURNED"
    return status not in ("RESERVED", "ACTIVE")


def cancel_parts(submission: Submission) -> None:
    """Whoever was paid the whole reward, or the fixed amount, is owed no part of it any more.

    A part that stands in a list at Prolific waits until that list is undone.
    """
    if submission.status not in ("APPROVED", "PARTIALLY APPROVED", "SCREENED OUT"):
        return
    parts = submission.own_bonuses.filter(
        purpose__in=PART_PURPOSES, paid_at__isnull=True, batch__isnull=True
    )
    if not parts.exists():
        return
    with transaction.atomic():
        _lock(submission.recruitment_id)
        cancelled = list(parts)
        Bonus.objects.filter(pk__in=[each.pk for each in cancelled]).delete()
        for bonus in cancelled:
            amount = money(bonus.minor, submission.recruitment.currency)
            text = f"A part of {amount} was cancelled: Prolific shows {submission.status.lower()}."
            note(submission.recruitment.study, "recruiting", "Prolific", said=text)


# --- Written down --------------------------------------------------------------------------------


def write_batch(recruitment: Recruitment) -> BonusBatch | None:
    """Writes what is owed down at Prolific, which pays nothing yet; None where nothing is owed."""
    with transaction.atomic():
        _lock(recruitment.pk)
        bonuses = _first_study_only(_one_each(owed(recruitment)))[:MOST_IN_BATCH]
        if not bonuses:
            return None
        more = Decimal(sum(each.minor for each in bonuses))
        ledger.keep_within_budget(recruitment, ledger.with_fees(recruitment, more))
        batch = BonusBatch.objects.create(recruitment=recruitment)
        Bonus.objects.filter(pk__in=[each.pk for each in bonuses]).update(batch=batch)
    with client_of(recruitment.connection) as prolific:
        try:
            draft_batch = _create_bonuses(prolific, recruitment, bonuses)
        except ProlificError as error:
            _drop(batch, f"Prolific: {error}")
            raise RecruitmentError(
                f"The bonuses could not be written down: {error} Nothing was paid."
            ) from None
    BonusBatch.objects.filter(pk=batch.pk, state=State.WRITING).update(
        state=State.WRITTEN, prolific_id=draft_batch.id, total_minor=draft_batch.total
    )
    batch.refresh_from_db()
    return batch


def _one_each(bonuses: Iterable[Bonus]) -> list[Bonus]:
    """A batch has one line for each submission: a second bonus of one goes into the next batch."""
    first: dict[int, Bonus] = {}
    for bonus in bonuses:
        first.setdefault(bonus.submission_id, bonus)
    return list(first.values())


def _first_study_only(bonuses: list[Bonus]) -> list[Bonus]:
    """A batch is of one study at Prolific: those of another child go into the next batch."""
    child = bonuses[0].submission.child_study if bonuses else ""
    return [each for each in bonuses if each.submission.child_study == child]


def _create_bonuses(
    prolific: Prolific, recruitment: Recruitment, bonuses: list[Bonus]
) -> wire.BonusBatch:
    """Whether a child's participants count as the parent's is not documented: a list that is
    refused for the child is written down for the parent. It costs nothing before it is paid."""
    amounts = {each.submission.prolific_id: each.minor for each in bonuses}
    if child := bonuses[0].submission.child_study:
        with suppress(Refused):
            return prolific.create_bonuses(child, amounts)
    return prolific.create_bonuses(recruitment.prolific_study, amounts)


def _drop(batch: BonusBatch, problem: str) -> bool:
    """A batch that was never asked to be paid: what it held is owed again."""
    with transaction.atomic():
        dropped = BonusBatch.objects.filter(
            pk=batch.pk, state__in=(State.WRITING, State.WRITTEN)
        ).update(state=State.DROPPED, problem=problem[:400])
        if dropped:
            Bonus.objects.filter(batch=batch, paid_at__isnull=True).update(batch=None)
    return bool(dropped)


def undo_batch(batch: BonusBatch) -> None:
    """A list that was written down is not paid: what it held is owed again, and may be taken back.

    The list stays at Prolific, which pays nothing for it; nobody can ask to pay it any more.
    """
    if batch.state != State.WRITTEN or not _drop(batch, "It was undone before it was paid."):
        raise RecruitmentError("Only a batch that is written down and not paid can be undone.")


# --- Paid ----------------------------------------------------------------------------------------


def pay(batch: BonusBatch) -> None:
    """Asks Prolific to pay, once. A lost reply is no error: the next look shows what was paid."""
    if batch.state != State.WRITTEN:
        raise RecruitmentError("This batch is being paid already, or was dropped.")
    with client_of(batch.recruitment.connection) as prolific:
        try:
            there = _submissions_of(prolific, batch)
        except ProlificError as error:
            raise RecruitmentError(f"{error} Nothing was paid; try again.") from None
        _require_due(batch, there)
        _require_total_within_budget(batch)
        before = _shown_bonuses(there)
        mine = BonusBatch.objects.filter(pk=batch.pk, state=State.WRITTEN).update(
            state=State.PAYING, paying_at=timezone.now(), before=before
        )  # committed before the request: from here on nobody sends it again
        batch.refresh_from_db()
        if not mine:
            raise RecruitmentError("This batch is being paid already.")
        try:
            prolific.pay_bonuses(batch.prolific_id)
        except Refused as refused:
            BonusBatch.objects.filter(pk=batch.pk, state=State.PAYING).update(state=State.WRITTEN)
            _drop(batch, f"Prolific refused to pay: {refused}")
            raise RecruitmentError(f"Prolific refused to pay: {refused}") from None
        except NoReply:
            return
        except ProlificError as error:  # it was never sent
            BonusBatch.objects.filter(pk=batch.pk, state=State.PAYING).update(state=State.WRITTEN)
            raise RecruitmentError(f"{error} Nothing was paid; try again.") from None
        BonusBatch.objects.filter(pk=batch.pk).update(accepted=True)
        batch.refresh_from_db()


def _require_due(batch: BonusBatch, there: dict[int, wire.Submission]) -> None:
    """RecruitmentError where a part would be paid beside a reward, by what Prolific shows now."""
    not_due = 0
    for bonus in batch.own_bonuses.select_related("submission"):
        bonus.submission.status = there[bonus.submission_id].status
        not_due += not is_due(bonus)
    if not_due:
        raise RecruitmentError(
            f"{not_due} of these bonuses {'is' if not_due == 1 else 'are'} not due: a part is paid "
            "only once the place was returned. Nothing was paid. Undo the list, and look again."
        )


def _require_total_within_budget(batch: BonusBatch) -> None:
    """Prolific's own fees count, where they are higher than expected."""
    amounts = Decimal(batch.own_bonuses.aggregate(sum=Sum("minor"))["sum"] or 0)
    expected = ledger.with_fees(batch.recruitment, amounts)
    more = max((batch.total_minor or expected) - expected, Decimal(0))
    ledger.keep_within_budget(batch.recruitment, more)


def _submissions_of(prolific: Prolific, batch: BonusBatch) -> dict[int, wire.Submission]:
    """All submissions of a batch as Prolific has them now; many are read in one list."""
    bonuses = list(batch.own_bonuses.select_related("submission"))
    listed = _listed(prolific, batch, bonuses) if len(bonuses) > READ_ALONE else {}
    return _read_submissions(prolific, bonuses, listed)


def _read_submissions(
    prolific: Prolific,
    bonuses: Iterable[Bonus],
    listed: Mapping[str, wire.Submission],
    most: float = inf,
) -> dict[int, wire.Submission]:
    """Submission (ours) -> as Prolific has it now: from the list, where that shows its bonuses.

    At most `most` of the others are read one by one; those that come after are left out.
    """
    by_row = {}
    for row in (each.submission for each in bonuses):
        there = listed.get(row.prolific_id)
        if there is None or there.bonuses is None:
            if not most:
                continue
            most -= 1
            there = prolific.submission(row.prolific_id)
            Submission.objects.filter(pk=row.pk).update(seen_at=timezone.now())
        by_row[row.pk] = there
    return by_row


def _listed(
    prolific: Prolific, batch: BonusBatch, bonuses: Sequence[Bonus]
) -> dict[str, wire.Submission]:
    """A batch is of one study at Prolific; a child's may stand in the parent's list alone."""
    study = bonuses[0].submission.child_study or batch.recruitment.prolific_study
    with suppress(Refused):
        return {each.id: each for each in prolific.submissions(study)}
    return {}


def _shown_bonuses(there: Mapping[int, wire.Submission]) -> dict[str, list[float]]:
    """Submission (ours) -> bonuses that Prolific shows for it, in minor units."""
    return {str(pk): [float(each) for each in one.bonuses or ()] for pk, one in there.items()}


def settle_batches(
    prolific: Prolific, recruitment: Recruitment, listed: Mapping[str, wire.Submission]
) -> None:
    """Looks what Prolific shows of every batch whose payment was asked for; sends nothing.

    `listed` are the submissions that were read just now.
    """
    for batch in recruitment.bonus_batches.filter(state=State.PAYING):
        unpaid = batch.own_bonuses.filter(paid_at__isnull=True).select_related("submission")
        first = unpaid.order_by("submission__seen_at", "pk")  # the next looks read the others
        _settle(batch, _shown_bonuses(_read_submissions(prolific, first, listed, READ_PER_LOOK)))
    old = timezone.now() - timedelta(minutes=10)  # a crash: nothing was asked to be paid
    for batch in recruitment.bonus_batches.filter(state=State.WRITING, created_at__lt=old):
        _drop(batch, "It was not finished.")


def _settle(batch: BonusBatch, shown: dict[str, list[float]]) -> None:
    with transaction.atomic():
        locked = BonusBatch.objects.select_for_update().get(pk=batch.pk)
        if locked.state != State.PAYING:
            return
        open_ones = 0
        for bonus in locked.own_bonuses.select_related("submission"):
            if bonus.paid_at is None and _is_paid_there(locked, bonus, shown):
                _note_paid(locked.recruitment, bonus, shown[str(bonus.submission_id)])
            open_ones += bonus.paid_at is None
        if not open_ones:
            locked.state, locked.paid_at, locked.problem = State.PAID, timezone.now(), ""
            locked.save(update_fields=["state", "paid_at", "problem"])


def _is_paid_there(batch: BonusBatch, bonus: Bonus, shown: dict[str, list[float]]) -> bool:
    """Whether a payment of this amount is there that was not there before."""
    name = str(bonus.submission_id)
    new = Counter(shown.get(name, [])) - Counter(batch.before.get(name, []))
    return new[float(bonus.minor)] > 0


def _note_paid(recruitment: Recruitment, bonus: Bonus, shown: list[float]) -> None:
    bonus.paid_at = timezone.now()
    bonus.save(update_fields=["paid_at"])
    Submission.objects.filter(pk=bonus.submission_id).update(bonuses=shown)
    ledger.write(
        recruitment,
        LedgerEntry.Kind.BONUS,
        str(bonus.pk),
        Decimal(bonus.minor),
        submission=bonus.submission,
        note=bonus.purpose,
    )
    ledger.mark_paid(bonus.submission)


def in_doubt(batch: BonusBatch) -> bool:
    """Asked to be paid long ago, and Prolific does not show all of it."""
    return (
        batch.state == State.PAYING
        and batch.paying_at is not None
        and timezone.now() - batch.paying_at > settling_time()
    )


def pay_again(batch: BonusBatch) -> int:
    """A person says so: what Prolific does not show as paid, long after, is owed again.

    Looks once more before it believes that. Gives how many bonuses are owed again.
    """
    if not in_doubt(batch):
        raise RecruitmentError("Prolific may still be paying this batch. Wait until it is settled.")
    with client_of(batch.recruitment.connection) as prolific:
        try:
            shown = _shown_bonuses(_submissions_of(prolific, batch))
        except ProlificError as error:
            raise RecruitmentError(f"{error} Nothing was changed.") from None
    _settle(batch, shown)
    with transaction.atomic():
        locked = BonusBatch.objects.select_for_update().get(pk=batch.pk)
        if locked.state != State.PAYING:
            return 0
        freed = locked.own_bonuses.filter(paid_at__isnull=True).update(batch=None)
        locked.state = State.DROPPED
        locked.problem = "Prolific did not pay all of it; the rest went into another batch."
        locked.save(update_fields=["state", "problem"])
    return freed
