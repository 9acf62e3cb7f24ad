"""Our record of a study's submissions brought up to what Prolific has, by a look or by its events.

Places are freed and money is noted. Events are believed by their signature, counted once, and lead
to a look. Safe to run twice and at the same time: rows have unique keys, and nothing is sent that
changes anything at Prolific but the pause and stop of a study that is closed here.
"""

from __future__ import annotations

import base64
import hmac
import time
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from listening.common.addresses import public_route
from listening.common.plain_json import read_json
from listening.models import Connection, HookEvent, LedgerEntry, Recruitment, Session, Submission
from listening.recruitment import ledger
from listening.recruitment.children import all_submissions, named_by
from listening.recruitment.closing import pause_closed, stop_closed
from listening.recruitment.connecting import client_of
from listening.recruitment.drafting import find_out, note_study
from listening.recruitment.errors import RecruitmentError
from listening.recruitment.paying import cancel_parts, settle_batches
from listening.recruitment.prolific import Prolific, ProlificError, wire
from listening.recruitment.terms import terms_of
from listening.sessions import leases

BEFORE_LIVE = (  # a draft may be published at Prolific itself
    Recruitment.State.SENDING,
    Recruitment.State.DRAFT,
    Recruitment.State.PUBLISHING,
)
REWARDS = {  # status -> what was paid by reaching it
    "APPROVED": LedgerEntry.Kind.REWARD,
    "SCREENED OUT": LedgerEntry.Kind.SCREENED_OUT,
}
DONE_BY = {  # decision -> statuses that show it carried out
    Submission.Decision.APPROVE: ("APPROVED",),
    Submission.Decision.COMPLETE: ("APPROVED",),
    Submission.Decision.REJECT: ("REJECTED",),
    Submission.Decision.ASK_TO_RETURN: ("RETURNED",),
    Submission.Decision.PART: ("RETURNED",),
}
OLDEST_S = 26 * 3600.0  # Prolific repeats an event for about a day, maybe with its first stamp
WANTED = ("submission.status.change", "study.status.change")


def sync(recruitment: Recruitment) -> None:
    """Asks Prolific for the study, its submissions and its costs; RecruitmentError without it.

    A study that is closed here is paused there, and later stopped.
    """
    if recruitment.study.erased_at is not None:  # Prolific's list would bring every id back
        raise RecruitmentError(
            "What names the raters of this study was erased, so Prolific is not asked about them "
            "any more. Payments stay in the ledger."
        )
    if recruitment.state in BEFORE_LIVE:
        find_out(recruitment)
    if recruitment.state != Recruitment.State.LIVE:
        return
    try:
        with client_of(recruitment.connection) as prolific:
            note_study(prolific, recruitment, prolific.study(recruitment.prolific_study))
            problem = pause_closed(prolific, recruitment)
            noted = _Noted(recruitment)
            listed: dict[str, wire.Submission] = {}
            for there, child in all_submissions(prolific, recruitment):
                listed[there.id] = there
                if not noted.holds(there, child):
                    note_submission(recruitment, there, child)
            settle_batches(prolific, recruitment, listed)
            problem = problem or stop_closed(prolific, recruitment)
            recruitment.costs = _costs(prolific, recruitment)
    except ProlificError as error:
        recruitment.problem = f"{error} The table shows the last known state."[:600]
        recruitment.save(update_fields=["problem"])
        raise RecruitmentError(recruitment.problem) from None
    recruitment.problem, recruitment.synced_at = problem[:600], timezone.now()
    recruitment.save(update_fields=["problem", "synced_at", "costs"])


def _costs(prolific: Prolific, recruitment: Recruitment) -> dict[str, object]:
    try:
        return dict(prolific.study_cost(recruitment.prolific_study))
    except ProlificError:
        return dict(recruitment.costs)  # the old account, which the page dates


class _Noted:
    """What is known before a look, read at once: most of thousands have not changed since."""

    def __init__(self, recruitment: Recruitment) -> None:
        self.rows = {row.prolific_id: row for row in recruitment.submissions.all()}
        entries = recruitment.ledger.filter(kind__in=REWARDS.values())
        self.rewarded = set(entries.values_list("submission_id", flat=True))
        unclaimed = recruitment.study.sessions.filter(submissions__isnull=True)
        self.unclaimed = set(unclaimed.values_list("prolific_session", flat=True))

    def holds(self, there: wire.Submission, child: str) -> bool:
        """Whether nothing is new, and all that follows from it was done."""
        row = self.rows.get(there.id)
        if row is None or any(getattr(row, k) != v for k, v in _values(row, there, child).items()):
            return False
        return not (
            (row.session_id is None and there.id in self.unclaimed and not row.withdrew)
            or (row.carried_out_at is None and _is_done(row))
            or (row.status in wire.PLACE_FREE and not row.place_freed)
            or (row.status in REWARDS and row.pk not in self.rewarded)
        )


def _values(row: Submission, there: wire.Submission, child: str) -> dict[str, Any]:
    """The fields of a row as Prolific has them now; what it does not say stays."""
    return {
        "status": there.status,
        "participant": there.participant,
        "code": there.code[:120],
        "started_at": there.started_at or row.started_at,
        "completed_at": there.completed_at,
        "return_requested_at": there.return_requested or row.return_requested_at,
        "bonuses": [float(each) for each in there.bonuses or ()] or row.bonuses,
        "child_study": child or row.child_study,
    }


def note_submission(
    recruitment: Recruitment, there: wire.Submission, child: str = ""
) -> Submission:
    """One submission as Prolific has it now, its session here, and what follows from both."""
    with transaction.atomic():
        row, _ = Submission.objects.select_for_update().get_or_create(
            prolific_id=there.id,
            defaults={
                "recruitment": recruitment,
                "participant": there.participant,
                "status": there.status,
            },
        )
        row.recruitment = recruitment  # it may have been known of a withdrawn rater only
        for name, value in _values(row, there, child).items():
            setattr(row, name, value)
        if row.session_id is None and not row.withdrew:
            row.session = Session.objects.filter(
                study=recruitment.study_id, prolific_session=there.id
            ).first()
        if row.carried_out_at is None and _is_done(row):
            row.carried_out_at, row.problem = timezone.now(), ""
        row.save()
    if there.status in wire.PLACE_FREE and not row.place_freed:
        _free_place(row)
    cancel_parts(row)
    _note_reward(recruitment, row)
    ledger.mark_paid(row)
    return row


def _is_done(row: Submission) -> bool:
    return row.status in DONE_BY.get(Submission.Decision(row.decision), ())


def _free_place(row: Submission) -> None:
    """Who gave the place back, or was too long away, holds no blocks: others get them now."""
    with transaction.atomic():
        locked = Submission.objects.select_for_update().get(pk=row.pk)
        session = locked.session
        if session is not None and session.status == Session.Status.STARTED:
            leases.give_back(leases.lock_blocks_of([session.pk]))
        locked.place_freed = True
        locked.save(update_fields=["place_freed"])
    row.place_freed = True


def _note_reward(recruitment: Recruitment, row: Submission) -> None:
    kind, terms = REWARDS.get(row.status), terms_of(recruitment)
    if kind is not None:
        paid = terms.reward_minor if kind == LedgerEntry.Kind.REWARD else terms.screened_out_minor
        ledger.write(recruitment, kind, str(row.pk), paid, submission=row)


def unfinished() -> list[Recruitment]:
    """Those that the clock asks Prolific about: drafts, what is in doubt, and live studies."""
    states = (*BEFORE_LIVE, Recruitment.State.LIVE)
    live = Recruitment.objects.filter(state__in=states, study__erased_at=None)
    live = live.select_related("connection", "study")
    return [each for each in live if each.connection.token]


class NotBelieved(Exception):
    """The event is not Prolific's, or too old."""


def signature(secret: str, timestamp: str, body: bytes) -> str:
    mac = hmac.digest(secret.encode(), timestamp.encode() + body, "sha256")
    return base64.b64encode(mac).decode()


def receive(connection: Connection, headers: Mapping[str, str], body: bytes) -> list[Recruitment]:
    """The recruitments that an event may be about, to be looked at; none where it came before.

    What the event says is not used: events come late, twice and out of order, so it only says
    where to look.
    """
    stamp = headers.get("X-Prolific-Request-Timestamp", "")
    sent = headers.get("X-Prolific-Request-Signature", "")
    own = signature(connection.hook_secret, stamp, body) if connection.hook_secret else ""
    if not own or not hmac.compare_digest(own.encode(), sent.encode()):
        raise NotBelieved("The signature does not fit.")
    if not stamp.isdecimal() or len(stamp) > 15 or abs(time.time() - int(stamp)) > OLDEST_S:
        raise NotBelieved("The event is too old.")
    try:
        event: Any = read_json(body)
    except ValueError:
        raise NotBelieved("The event cannot be read.") from None
    if not isinstance(event, dict):
        raise NotBelieved("The event cannot be read.")
    kind = str(event.get("event_type", ""))[:60]
    resource = str(event.get("resource_id", ""))[:80]
    name = headers.get("X-Event-ID", "")[:120] or signature("", stamp, body)
    _, fresh = HookEvent.objects.get_or_create(
        event=name, defaults={"kind": kind, "resource": resource}
    )
    return _recruitments_named(connection, resource) if fresh else []


def _recruitments_named(connection: Connection, resource: str) -> list[Recruitment]:
    """By the study or a child of it; by a submission that is known; else all that are live."""
    own = Recruitment.objects.filter(connection=connection)
    row = Submission.objects.filter(prolific_id=resource, recruitment__in=own).first()
    recruitments = [row.recruitment] if row else list(own.filter(named_by(resource)).distinct())
    return recruitments or list(own.filter(state=Recruitment.State.LIVE))


def subscribe(connection: Connection) -> None:
    """Has Prolific tell us of changes, instead of our asking every few minutes."""
    address = public_route("prolific-hook", connection.pk)
    if not address.startswith("https://"):
        raise RecruitmentError(
            "Prolific sends events to public https addresses only, and this server's is "
            f"{settings.EARNEST_PUBLIC_URL}. Earnest asks Prolific every few minutes instead."
        )
    try:
        with client_of(connection) as prolific:
            known = set(prolific.event_types())
            connection.hook_secret = prolific.create_hook_secret(connection.workspace)
            connection.hooks = {
                kind: prolific.subscribe(connection.workspace, kind, address)
                for kind in WANTED
                if kind in known
            }
    except ProlificError as error:
        raise RecruitmentError(
            f"Prolific does not send events: {error} Earnest asks every few minutes instead."
        ) from None
    connection.save(update_fields=["hook_secret", "hooks"])
