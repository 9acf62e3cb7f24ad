"""A plan becomes a draft at Prolific; a draft is published, paused, enlarged, stopped.

Before each request that changes something there, what is about to happen is written down and
committed. Whoever comes back after a lost reply or a crash asks Prolific first (`find_out`).
No sum is computed from what was sent: the study is read back before each request that costs money.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from listening.common.addresses import public_route
from listening.models import Connection, LedgerEntry, Recruitment, Study
from listening.models.codes import completion_code
from listening.models.study_log import note
from listening.recruitment import ledger
from listening.recruitment import plan as plans
from listening.recruitment.connecting import client_of
from listening.recruitment.errors import NotConfirmed, RecruitmentError
from listening.recruitment.places import with_length_of
from listening.recruitment.plan import Plan, money, whole_minor
from listening.recruitment.prolific import NoReply, NotSent, Prolific, ProlificError, Refused, wire
from listening.recruitment.prolific.client import TRIES
from listening.recruitment.terms import Change, Terms, changes_between, seal_of, terms_of
from listening.studies.length import session_length

State = Recruitment.State
UNKNOWN_YET = "It is not known yet whether Prolific has done it. Earnest asks again."
UNDER_WAY = (State.SENDING, State.PUBLISHING)
SETTLED_AFTER = timedelta(minutes=5)  # what Prolific does not show by then was not done
KEEPS_GROUPS_OUT = ("participant_group_blocklist", "participant_group_exclusion")
NOBODY_KEPT_OUT = (
    "This workspace has no filter for groups: who took part in the studies that you ticked is not "
    "kept out. Choose Prolific's own filter for previous studies instead."
)
ON_THE_WAY = ("PUBLISHING", "SCHEDULED")
PUBLISHED = ("ACTIVE", "PAUSED", "AWAITING REVIEW", "COMPLETED")  # all follow from ACTIVE


def plan_of(recruitment: Recruitment) -> Plan:
    return Plan.from_dict(recruitment.plan)


def start_plan(study: Study, connection: Connection, plan: Plan) -> Recruitment:
    """A new recruitment, here only; its codes are those that the study's raters are shown."""
    return Recruitment.objects.create(
        study=study,
        connection=connection,
        plan=plan.as_dict(),
        currency=plan.currency,
        codes={**study.completion_codes, "server": completion_code()},
    )


def change_plan(recruitment: Recruitment, plan: Plan, *, budget_minor: int | None) -> None:
    """Only before it is sent: what was sent must be what is shown."""
    changed = Recruitment.objects.filter(pk=recruitment.pk, state=State.PLANNED).update(
        plan=plan.as_dict(), currency=plan.currency, budget_minor=budget_minor, problem=""
    )
    if not changed:
        raise RecruitmentError(
            "The draft is at Prolific already. Discard it there first, then change the plan."
        )
    recruitment.refresh_from_db()


# --- The draft -----------------------------------------------------------------------------------


def send_draft(recruitment: Recruitment) -> list[str]:
    """Makes the draft; gives what had to be changed because the workspace does not allow it.

    What was asked for before is looked up first, and nothing is sent again before it is settled.
    """
    plan = plan_of(recruitment)
    if wrong := plans.problems(plan):
        raise RecruitmentError(" ".join(wrong.values()))
    if recruitment.state == State.SENDING or recruitment.asked_at is not None:
        find_out(recruitment)
        if recruitment.state == State.SENDING:
            raise RecruitmentError(UNKNOWN_YET)
    if recruitment.state != State.PLANNED:
        return []
    project = recruitment.connection.project
    if not _move(recruitment, (State.PLANNED,), State.SENDING, is_request=True, project=project):
        raise RecruitmentError(UNKNOWN_YET)
    with client_of(recruitment.connection) as prolific:
        try:
            draft, changes = _create(prolific, recruitment, plan)
        except (Refused, NotSent) as error:
            _move(recruitment, (State.SENDING,), State.PLANNED, problem=f"Prolific: {error}")
            raise RecruitmentError(f"Prolific did not take the draft: {error}") from None
        except NoReply as error:
            _note(recruitment, f"{error} {UNKNOWN_YET}")
            raise RecruitmentError(f"{error} {UNKNOWN_YET}") from None
    _adopt(recruitment, draft)
    find_out(recruitment)
    return changes


def _create(
    prolific: Prolific, recruitment: Recruitment, plan: Plan
) -> tuple[wire.Study, list[str]]:
    """The draft as Prolific made it, and what the workspace does not allow, in words."""
    changes: list[str] = []
    _make_group(prolific, recruitment)
    keep_out_by = _filter_of_groups(prolific, recruitment) if plan.keep_out else ""
    if plan.keep_out and not keep_out_by:
        plan = replace(plan, keep_out=())
        changes.append(NOBODY_KEPT_OUT)
    while True:
        recruitment.plan = plan.as_dict()  # as it is asked for, should the reply be lost
        recruitment.save(update_fields=["plan"])
        try:
            return prolific.create_study(_body(recruitment, plan, keep_out_by)), changes
        except Refused as refused:
            plan, change = _without_refused_feature(recruitment, plan, refused)
            changes.append(change)


def _filter_of_groups(prolific: Prolific, recruitment: Recruitment) -> str:
    """Prolific's filter that keeps groups out, as it is called in this workspace; "" for none."""
    there = {str(f.get("filter_id")) for f in prolific.filters(recruitment.connection.workspace)}
    return next((name for name in KEEPS_GROUPS_OUT if name in there), "")


def _body(recruitment: Recruitment, plan: Plan, keep_out_by: str) -> wire.Json:
    return plans.body_of(
        plan,
        landing=public_route("landing", recruitment.study.link),
        internal_name=internal_name(recruitment),
        project=recruitment.project,
        codes=recruitment.codes,
        group=recruitment.group,
        keep_out_by=keep_out_by,
    )


def internal_name(recruitment: Recruitment) -> str:
    """Under which the draft is found again when the reply to its making was lost."""
    return f"earnest {recruitment.study.key} {recruitment.code}"


def _make_group(prolific: Prolific, recruitment: Recruitment) -> None:
    """Of everybody who takes part, so that a later study can keep them out; not essential."""
    if recruitment.group:
        return
    try:
        workspace = recruitment.connection.workspace
        recruitment.group = prolific.create_group(internal_name(recruitment), workspace)
    except ProlificError:
        return
    recruitment.save(update_fields=["group"])


def _without_refused_feature(
    recruitment: Recruitment, plan: Plan, refused: Refused
) -> tuple[Plan, str]:
    """The plan without what the workspace does not allow, and the change in words."""
    features = recruitment.connection.features
    if plan.screened_out == plans.FIXED and refused.names(
        "fixed_screen_out", "completion_codes", "screen"
    ):
        features["fixed_screen_out"] = False
        plan = replace(plan, screened_out=plans.RETURN)
        change = (
            "This workspace has no fixed payment for people who are screened out. They are "
            "asked to return their place instead, and you pay them a bonus afterwards."
        )
    elif plan.secure and refused.names("is_external_study_url_secure", "secure"):
        features["secure_links"] = False
        plan = replace(plan, secure=False)
        change = (
            "This workspace has no signed links: who arrives is known by the submission's id, "
            "which Earnest compares with Prolific's list."
        )
    elif recruitment.group and refused.names("participant_group", "participant group"):
        recruitment.group = ""
        change = "This workspace has no participant groups: later studies cannot keep raters out."
    else:
        raise refused
    recruitment.connection.save(update_fields=["features"])
    return plan, change


def _adopt(recruitment: Recruitment, draft: wire.Study) -> None:
    """The draft is there: what Prolific made of it is noted."""
    plan = plan_of(recruitment)
    Recruitment.objects.filter(pk=recruitment.pk).update(
        state=State.DRAFT,
        prolific_study=draft.id,
        status=draft.status,
        places=draft.places,
        maximum_minutes=draft.maximum_minutes,
        currency=draft.currency or recruitment.currency,
        secure=plan.secure,
        ways=plans.ways_of(plan),
        drafted_terms=Terms.of_study(draft).as_dict(),
        problem="",
    )
    recruitment.refresh_from_db()


def discard_draft(recruitment: Recruitment) -> None:
    """Deletes the draft at Prolific; the plan can be changed and sent again as a new one."""
    if recruitment.state != State.DRAFT:
        raise RecruitmentError("Only a draft can be discarded. Stop a published study instead.")
    with client_of(recruitment.connection) as prolific:
        try:
            prolific.delete_draft(recruitment.prolific_study)
        except Refused as refused:
            if refused.status != 404:
                raise RecruitmentError(f"Prolific said: {refused}") from None
        except ProlificError as error:
            raise RecruitmentError(f"{error} {UNKNOWN_YET}") from None
    if _move(recruitment, (State.DRAFT,), State.DISCARDED):
        plan = with_length_of(plan_of(recruitment), recruitment.study)
        fresh = start_plan(recruitment.study, recruitment.connection, plan)
        fresh.budget_minor, fresh.two_people = recruitment.budget_minor, recruitment.two_people
        fresh.save(update_fields=["budget_minor", "two_people"])


# --- Published -----------------------------------------------------------------------------------


def publish(recruitment: Recruitment, seen: str | None = None) -> None:
    """Prolific locks the money and sends raters. The study must be open, the limit must allow it.

    `seen` is the seal of the terms that somebody confirmed (of those read last where it is None):
    the study is read again, and not published where anything differs.
    """
    study = Study.objects.get(pk=recruitment.study_id)
    if study.state != Study.State.OPEN:
        raise RecruitmentError(
            f"The study is {study.state}: raters would meet a closed door. Open it first."
        )
    if recruitment.state != State.DRAFT:
        raise RecruitmentError("This is not a draft any more; reload the page.")
    confirmed = seal_of(recruitment) if seen is None else seen
    find_out(recruitment)
    if recruitment.state != State.DRAFT:
        return  # it was published at Prolific
    if seal_of(recruitment) != confirmed:
        sums = money(ledger.locked_by_publishing(recruitment), recruitment.currency)
        listed = "; ".join(str(each) for each in changes_of(recruitment))
        raise NotConfirmed(
            "The study was changed at Prolific, so it was not published. "
            f"{f'Changed since it was drafted: {listed}. ' if listed else ''}"
            f"It now costs {sums}. Look at it below, and confirm it again."
        )
    require_minimum_pay(recruitment)
    ledger.keep_within_budget(recruitment, ledger.locked_by_publishing(recruitment))
    if not _move(recruitment, (State.DRAFT,), State.PUBLISHING, is_request=True):
        raise RecruitmentError("This is not a draft any more; reload the page.")
    refused = ""
    with client_of(recruitment.connection) as prolific:
        try:
            prolific.transition(recruitment.prolific_study, "PUBLISH")
        except (Refused, NotSent) as error:
            _move(recruitment, (State.PUBLISHING,), State.DRAFT, problem=f"Prolific: {error}")
            refused = f"Prolific did not publish it: {error}"
        except NoReply:
            _note(recruitment, UNKNOWN_YET)
    find_out(recruitment)
    if refused and recruitment.state == State.DRAFT:
        raise RecruitmentError(refused)


def changes_of(recruitment: Recruitment) -> list[Change]:
    """What Prolific has otherwise than when the draft was made."""
    if not recruitment.drafted_terms or not recruitment.terms:
        return []
    before = Terms.from_dict(recruitment.drafted_terms)
    return changes_between(before, terms_of(recruitment), recruitment.currency)


def require_minimum_pay(recruitment: Recruitment) -> None:
    """RecruitmentError where the reward is below the minimum for the time a session takes."""
    terms, length = terms_of(recruitment), session_length(recruitment.study)
    minutes = length.measured_minutes or length.estimated_minutes
    hourly, floor = terms.hourly_minor(minutes), plan_of(recruitment).hourly_floor
    if minutes and hourly < floor - 0.01:
        currency = recruitment.currency
        raise RecruitmentError(
            f"A session takes about {minutes:.3g} min, so {money(terms.reward_minor, currency)} is "
            f"{money(hourly, currency)} per hour, below Prolific's minimum of "
            f"{money(floor, currency)}. Nothing was sent. Make a new draft: its reward follows the "
            "length of the study."
        )


def find_out(recruitment: Recruitment, *, tries: int = TRIES) -> None:
    """What does Prolific have? After a lost reply, a crash, or an edit there. It changes nothing
    there. RecruitmentError where it cannot be asked.
    """
    try:
        with client_of(recruitment.connection, tries=tries) as prolific:
            if recruitment.state == State.SENDING or not recruitment.prolific_study:
                _find_draft(prolific, recruitment)
            if recruitment.prolific_study:
                note_study(prolific, recruitment, prolific.study(recruitment.prolific_study))
    except ProlificError as error:
        problem = f"{error} {UNKNOWN_YET}" if recruitment.state in UNDER_WAY else f"{error}"
        if isinstance(error, Refused) and error.status == 404:
            problem = "Prolific has no such study: it was deleted, or this token does not see it."
        if recruitment.state != State.LIVE:
            _note(recruitment, problem)
        raise RecruitmentError(problem) from None
    recruitment.refresh_from_db()


def _find_draft(prolific: Prolific, recruitment: Recruitment) -> None:
    """By its internal name or our note in it, in the project where it was made."""
    name = internal_name(recruitment)
    there = prolific.project_studies(recruitment.project or recruitment.connection.project)
    drafts = [each for each in there if name in (each.internal_name, each.metadata)]
    if drafts:
        _adopt(recruitment, drafts[0])
    elif recruitment.state == State.SENDING and is_past_settling(recruitment):
        _move(recruitment, (State.SENDING,), State.PLANNED, problem="")


def is_past_settling(recruitment: Recruitment) -> bool:
    """Whether what was asked for would show by now."""
    asked_at = recruitment.asked_at
    return asked_at is None or timezone.now() - asked_at > SETTLED_AFTER


def note_study(prolific: Prolific, recruitment: Recruitment, there: wire.Study) -> None:
    """Prolific's own state of the study; a publication that was in doubt is settled by it.

    It counts as published once ACTIVE, or a state that follows from it, was read.
    """
    terms = Terms.of_study(there)
    was_on_the_way = recruitment.status in ON_THE_WAY
    known: dict[str, object] = {
        "status": there.status,
        "places": there.places,
        "maximum_minutes": there.maximum_minutes,
        "terms": terms.as_dict(),
        "secure": there.is_secure,
    }
    priced = terms_of(recruitment) if recruitment.terms else None
    base = (terms.reward_minor, terms.places)
    if recruitment.fee_share is None or not priced or base != (priced.reward_minor, priced.places):
        known |= _cost(prolific, terms)
    Recruitment.objects.filter(pk=recruitment.pk).update(**known)
    if there.status in PUBLISHED:
        with transaction.atomic():
            row = Recruitment.objects.select_for_update().get(pk=recruitment.pk)
            _commit(row)
            if row.state != State.LIVE:
                row.state, row.problem = State.LIVE, ""
                row.published_at = row.published_at or timezone.now()
                row.save(update_fields=["state", "problem", "published_at"])
    elif there.status in ON_THE_WAY:
        _move(recruitment, (State.DRAFT, State.PUBLISHING), State.PUBLISHING, problem="")
    elif there.status == "UNPUBLISHED" and recruitment.state == State.PUBLISHING:
        _note_not_published(recruitment, was_on_the_way=was_on_the_way)
    recruitment.refresh_from_db()


def _cost(prolific: Prolific, terms: Terms) -> dict[str, object]:
    """All places with Prolific's fees, and the fees as a share of the rewards."""
    rewards = terms.rewards_minor
    if rewards <= 0:
        return {"expected_minor": Decimal(0), "fee_share": Decimal(0)}
    whole = whole_minor(terms.reward_minor)
    cost = prolific.total_cost(whole, terms.places)
    share = cost / (Decimal(whole) * terms.places) - 1
    return {"expected_minor": rewards * (1 + share), "fee_share": round(share, 10)}


def _note_not_published(recruitment: Recruitment, *, was_on_the_way: bool) -> None:
    """A publication that Prolific began and dropped, or that it never shows, is reported."""
    if was_on_the_way:
        problem = (
            "Prolific began to publish this study and stopped: it is a draft again, and nothing is "
            "locked. Check the balance at Prolific, then publish again."
        )
    elif is_past_settling(recruitment):
        problem = "Prolific did not publish it: it is still a draft. You can publish again."
    else:
        return
    if _move(recruitment, (State.PUBLISHING,), State.DRAFT, problem=problem):
        note(recruitment.study, "recruiting", "Prolific", said=problem)


def _commit(recruitment: Recruitment) -> None:
    """What Prolific has locked for places and for screen-outs, once for each number of them."""
    terms = terms_of(recruitment)
    for name, number, each_minor in (
        ("", terms.places, terms.reward_minor),
        ("screen-outs:", terms.slots, terms.screened_out_minor),
    ):
        prefix = f"committed:{recruitment.code}:{name}"
        keys = LedgerEntry.objects.filter(key__startswith=prefix).values_list("key", flat=True)
        counted = [key.removeprefix(prefix) for key in keys]
        known = max((int(each) for each in counted if each.isdecimal()), default=0)
        if number > known:
            what = "screen-outs" if name else "places"
            ledger.write(
                recruitment,
                LedgerEntry.Kind.COMMITTED,
                f"{recruitment.code}:{name}{number}",
                each_minor * (number - known),
                note=f"{number - known} {what}",
            )


ACTIONS = {"pause": "PAUSE", "resume": "START", "stop": "STOP"}


def change_state(recruitment: Recruitment, action: str) -> None:
    """Pauses, goes on or stops at Prolific; who is in may finish."""
    if recruitment.state != State.LIVE:
        raise RecruitmentError("It is not published.")
    if action == "resume":
        _refuse_if_closed(recruitment)
    with client_of(recruitment.connection) as prolific:
        try:
            prolific.transition(recruitment.prolific_study, ACTIONS[action])
        except NoReply:
            pass  # what Prolific has is read below
        except ProlificError as error:
            raise RecruitmentError(f"Prolific said: {error}") from None
    find_out(recruitment)


def is_closed(recruitment: Recruitment) -> bool:
    """Whether its study here is closed, as the database has it now."""
    return Study.objects.filter(pk=recruitment.study_id, state=Study.State.CLOSED).exists()


def _refuse_if_closed(recruitment: Recruitment) -> None:
    """RecruitmentError where nobody whom Prolific sends could take part."""
    if is_closed(recruitment):
        raise RecruitmentError(
            "The study is closed, so no rater can start. Copy the study to recruit again."
        )


def cost_of_raise(
    recruitment: Recruitment, *, places: int | None = None, slots: int | None = None
) -> Decimal:
    """What Prolific locks when there are so many places, or paid screen-outs, in all.

    With fees, by what was read at Prolific; what is None stays as it is.
    """
    terms = terms_of(recruitment)
    more_minor = Decimal(0)
    if places is not None:
        more_minor += terms.reward_minor * (places - terms.places)
    if slots is not None:
        more_minor += terms.screened_out_minor * (slots - terms.slots)
    return ledger.with_fees(recruitment, more_minor)


def more_places(recruitment: Recruitment, places: int, seen_minor: int | None = None) -> None:
    """Raises the number of places; Prolific locks the money for them.

    `seen_minor` is the sum that was confirmed, in whole minor units; None where nobody was asked.
    """
    if recruitment.state != State.LIVE:
        raise RecruitmentError("It is not published.")
    _refuse_if_closed(recruitment)
    find_out(recruitment)
    if places <= recruitment.places:
        raise RecruitmentError(f"Places can only be added: there are {recruitment.places}.")
    cost = cost_of_raise(recruitment, places=places)
    require_confirmed(cost, seen_minor, recruitment.currency)
    require_minimum_pay(recruitment)
    ledger.keep_within_budget(recruitment, cost)
    _change_live(recruitment, {"total_available_places": places})
    if recruitment.places < places:
        raise RecruitmentError(UNKNOWN_YET)


def more_slots(recruitment: Recruitment, slots: int, seen_minor: int | None = None) -> None:
    """Raises how many screen-outs are paid, and resumes a study that paused for lack of them."""
    if recruitment.state != State.LIVE:
        raise RecruitmentError("It is not published.")
    _refuse_if_closed(recruitment)
    find_out(recruitment)
    terms = terms_of(recruitment)
    if not terms.screened_out_minor:
        raise RecruitmentError("This study pays no fixed amount to people who are screened out.")
    if slots <= terms.slots:
        raise RecruitmentError(f"Paid screen-outs can only be added: there are {terms.slots}.")
    cost = cost_of_raise(recruitment, slots=slots)
    require_confirmed(cost, seen_minor, recruitment.currency)
    ledger.keep_within_budget(recruitment, cost)
    _change_live(recruitment, {"completion_codes": _with_slots(terms, slots)})
    if terms_of(recruitment).slots < slots:
        raise RecruitmentError(UNKNOWN_YET)
    if recruitment.status == "PAUSED":
        change_state(recruitment, "resume")


def _with_slots(terms: Terms, slots: int) -> list[wire.Json]:
    """The completion codes as Prolific has them, with more slots."""
    return [
        {
            **code,
            "actions": [
                {**action, "slots": slots}
                if action.get("action") == plans.PAYS_SCREEN_OUT
                else action
                for action in code["actions"]
            ],
        }
        for code in terms.codes
    ]


def require_confirmed(cost: Decimal, seen_minor: int | None, currency: str) -> None:
    """NotConfirmed where the sum is another than the one that somebody confirmed."""
    if seen_minor is not None and abs(whole_minor(cost) - seen_minor) > 1:
        raise NotConfirmed(
            f"This costs {money(cost, currency)}, which is not the sum that was confirmed. Nothing "
            "was sent. Check the sum on the button, and press it again."
        )


def _change_live(recruitment: Recruitment, changes: wire.Json) -> None:
    with client_of(recruitment.connection) as prolific:
        try:
            prolific.change_study(recruitment.prolific_study, changes)
        except NoReply:
            pass  # what Prolific has is read below
        except ProlificError as error:
            raise RecruitmentError(f"Prolific said: {error}") from None
    find_out(recruitment)
    if recruitment.drafted_terms:  # what was added here is no edit at Prolific
        read = {name: recruitment.terms[name] for name in ("places", "codes")}
        recruitment.drafted_terms |= read
        recruitment.save(update_fields=["drafted_terms"])


def change_limit(recruitment: Recruitment, budget_minor: int | None) -> None:
    """The limit is ours: it can be changed at any time, and takes nothing back."""
    Recruitment.objects.filter(pk=recruitment.pk).update(budget_minor=budget_minor)
    recruitment.refresh_from_db()


def try_it(recruitment: Recruitment, email: str) -> str:
    """A test participant's own copy of the draft, which costs nothing; gives its address."""
    with client_of(recruitment.connection) as prolific:
        try:
            if email:
                prolific.test_participant(email)
            return prolific.test_study(recruitment.prolific_study)
        except ProlificError as error:
            raise RecruitmentError(f"Prolific said: {error}") from None


# --- States --------------------------------------------------------------------------------------


def _move(
    recruitment: Recruitment,
    of: tuple[str, ...],
    to: str,
    *,
    problem: str | None = None,
    is_request: bool = False,
    **more: object,
) -> bool:
    """Whether the state was moved by us: of two that try at once, one succeeds."""
    changes: dict[str, object] = {"state": to, **more}
    if problem is not None:
        changes["problem"] = problem[:600]
    if is_request:
        changes["asked_at"] = timezone.now()
    moved = Recruitment.objects.filter(pk=recruitment.pk, state__in=of).update(**changes)
    recruitment.refresh_from_db()
    return bool(moved)


def _note(recruitment: Recruitment, problem: str) -> None:
    Recruitment.objects.filter(pk=recruitment.pk).update(problem=problem[:600])
    recruitment.problem = problem[:600]
