"""A plan becomes a draft at Prolific; a draft is published, paused, enlarged, stopped.

Before each request that changes something there, what is about to happen is written down and
committed. Whoever comes back after a lost reply or a crash asks Prolific first (`find_out`).
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from listening.addresses import public_route
from listening.models import Connection, LedgerEntry, Recruitment, Study
from listening.models.codes import completion_code
from listening.prolific import NoReply, NotSent, Prolific, ProlificError, Refused, wire
from listening.recruitment import ledger
from listening.recruitment import plan as plans
from listening.recruitment.connecting import client_of
from listening.recruitment.errors import RecruitmentError
from listening.recruitment.plan import Plan

State = Recruitment.State
UNKNOWN_YET = "It is not known yet whether Prolific has done it. Earnest asks again."
KEEPS_GROUPS_OUT = ("participant_group_blocklist", "participant_group_exclusion")
NOBODY_KEPT_OUT = (
    "This workspace has no filter for groups: who took part in the studies that you ticked is not "
    "kept out. Choose Prolific's own filter for previous studies instead."
)
GONE_LIVE = ("ACTIVE", "PUBLISHING", "SCHEDULED", "PAUSED", "AWAITING REVIEW", "COMPLETED")


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


def expected_cost(prolific: Prolific, plan: Plan) -> Decimal:
    """Rewards of all places with Prolific's fees, in minor units."""
    return prolific.total_cost(plan.reward_minor, plan.places)


# --- The draft -----------------------------------------------------------------------------------


def send_draft(recruitment: Recruitment) -> list[str]:
    """Makes the draft; gives what had to be changed because the workspace does not allow it."""
    plan = plan_of(recruitment)
    if wrong := plans.problems(plan):
        raise RecruitmentError(" ".join(wrong.values()))
    if not _move(recruitment, (State.PLANNED,), State.SENDING):
        find_out(recruitment)
        if recruitment.state != State.PLANNED:
            return []
        if not _move(recruitment, (State.PLANNED,), State.SENDING):
            raise RecruitmentError(UNKNOWN_YET)
    changes: list[str] = []
    with client_of(recruitment.connection) as prolific:
        try:
            _make_group(prolific, recruitment)
            keep_out_by = _filter_of_groups(prolific, recruitment) if plan.keep_out else ""
            if plan.keep_out and not keep_out_by:
                plan = replace(plan, keep_out=())
                changes.append(NOBODY_KEPT_OUT)
            while True:
                recruitment.plan = plan.as_dict()  # as it is asked for, should the reply be lost
                recruitment.save(update_fields=["plan"])
                try:
                    made = prolific.create_study(_body(recruitment, plan, keep_out_by))
                    break
                except Refused as refused:
                    plan, change = _without_refused_feature(recruitment, plan, refused)
                    changes.append(change)
            cost = expected_cost(prolific, plan)
        except (Refused, NotSent) as error:
            _move(recruitment, (State.SENDING,), State.PLANNED, problem=f"Prolific: {error}")
            raise RecruitmentError(f"Prolific did not take the draft: {error}") from None
        except NoReply as error:
            _note(recruitment, f"{error} {UNKNOWN_YET}")
            raise RecruitmentError(f"{error} {UNKNOWN_YET}") from None
    recruitment.expected_minor = cost
    recruitment.save(update_fields=["expected_minor"])
    _adopt(recruitment, made)
    return changes


def _filter_of_groups(prolific: Prolific, recruitment: Recruitment) -> str:
    """Prolific's filter that keeps groups out, as it is called in this workspace; "" for none."""
    there = {str(f.get("filter_id")) for f in prolific.filters(recruitment.connection.workspace)}
    return next((name for name in KEEPS_GROUPS_OUT if name in there), "")


def _body(recruitment: Recruitment, plan: Plan, keep_out_by: str) -> wire.Json:
    return plans.body_of(
        plan,
        landing=public_route("landing", recruitment.study.link),
        internal_name=internal_name(recruitment),
        project=recruitment.connection.project,
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
            "This workspace has no fixed payment for who is screened out. They are asked to "
            "return their place instead, and you pay them a bonus afterwards."
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


def _adopt(recruitment: Recruitment, made: wire.Study) -> None:
    """The draft is there: what Prolific made of it is noted."""
    plan = plan_of(recruitment)
    Recruitment.objects.filter(pk=recruitment.pk).update(
        state=State.DRAFT,
        prolific_study=made.id,
        status=made.status,
        places=made.places,
        maximum_minutes=made.maximum_minutes,
        currency=made.currency or recruitment.currency,
        secure=plan.secure,
        ways=plans.ways_of(plan),
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
    _move(recruitment, (State.DRAFT,), State.DISCARDED)
    start_plan(recruitment.study, recruitment.connection, plan_of(recruitment))


# --- Published -----------------------------------------------------------------------------------


def publish(recruitment: Recruitment) -> None:
    """Prolific locks the money and sends raters. The study must be open, the budget must do."""
    study = Study.objects.get(pk=recruitment.study_id)
    if study.state != Study.State.OPEN:
        raise RecruitmentError(
            f"The study is {study.state}: raters would meet a closed door. Open it first."
        )
    ledger.keep_within_budget(recruitment, most_minor(recruitment))
    if not _move(recruitment, (State.DRAFT,), State.PUBLISHING):
        raise RecruitmentError("This is not a draft any more; reload the page.")
    with client_of(recruitment.connection) as prolific:
        try:
            prolific.transition(recruitment.prolific_study, "PUBLISH")
        except (Refused, NotSent) as error:
            _move(recruitment, (State.PUBLISHING,), State.DRAFT, problem=f"Prolific: {error}")
            raise RecruitmentError(f"Prolific did not publish it: {error}") from None
        except NoReply:
            _note(recruitment, UNKNOWN_YET)
    find_out(recruitment)


def most_minor(recruitment: Recruitment) -> Decimal:
    """What publishing may cost at most: all places, and as many fixed payments to screened out."""
    return (recruitment.expected_minor or Decimal(0)) + ledger.screened_out_most(recruitment)


def find_out(recruitment: Recruitment) -> None:
    """After a reply that was lost, or a crash: what does Prolific have? It changes nothing there.

    RecruitmentError where it cannot be asked.
    """
    try:
        with client_of(recruitment.connection) as prolific:
            if recruitment.state == State.SENDING:
                _find_draft(prolific, recruitment)
            elif recruitment.prolific_study:
                note_study(recruitment, prolific.study(recruitment.prolific_study))
    except ProlificError as error:
        _note(recruitment, f"{error} {UNKNOWN_YET}")
        raise RecruitmentError(f"{error} {UNKNOWN_YET}") from None
    recruitment.refresh_from_db()


def _find_draft(prolific: Prolific, recruitment: Recruitment) -> None:
    name = internal_name(recruitment)
    there = prolific.project_studies(recruitment.connection.project)
    drafts = [each for each in there if each.internal_name == name]
    if not drafts:
        _move(recruitment, (State.SENDING,), State.PLANNED, problem="")
        return
    if recruitment.expected_minor is None:
        recruitment.expected_minor = expected_cost(prolific, plan_of(recruitment))
        recruitment.save(update_fields=["expected_minor"])
    _adopt(recruitment, drafts[0])


def note_study(recruitment: Recruitment, there: wire.Study) -> None:
    """Prolific's own state of the study; a publication that was in doubt is settled by it."""
    known = {
        "status": there.status,
        "places": there.places,
        "maximum_minutes": there.maximum_minutes,
    }
    Recruitment.objects.filter(pk=recruitment.pk).update(**known)
    if there.status in GONE_LIVE:
        with transaction.atomic():
            row = Recruitment.objects.select_for_update().get(pk=recruitment.pk)
            _commit(row, there.places)
            if row.state != State.LIVE:
                row.state, row.problem = State.LIVE, ""
                row.published_at = row.published_at or timezone.now()
                row.save(update_fields=["state", "problem", "published_at"])
    elif recruitment.state == State.PUBLISHING and there.status == "UNPUBLISHED":
        _move(recruitment, (State.PUBLISHING,), State.DRAFT, problem="It was not published.")
    recruitment.refresh_from_db()


def _commit(recruitment: Recruitment, places: int) -> None:
    """What Prolific has locked for the places, once for each number of them."""
    committed = LedgerEntry.objects.filter(recruitment=recruitment, kind="committed")
    known = max((int(each.key.rpartition(":")[2]) for each in committed), default=0)
    if places <= known:
        return
    reward = Decimal(plan_of(recruitment).reward_minor) * (places - known)
    kind, note = LedgerEntry.Kind.COMMITTED, f"{places - known} places"
    ledger.write(recruitment, kind, f"{recruitment.code}:{places}", reward, note=note)


ACTIONS = {"pause": "PAUSE", "resume": "START", "stop": "STOP"}


def change_state(recruitment: Recruitment, action: str) -> None:
    """Pauses, goes on or stops at Prolific; who is in may finish."""
    if recruitment.state != State.LIVE:
        raise RecruitmentError("It is not published.")
    with client_of(recruitment.connection) as prolific:
        try:
            prolific.transition(recruitment.prolific_study, ACTIONS[action])
        except NoReply:
            pass  # what Prolific has is read below
        except ProlificError as error:
            raise RecruitmentError(f"Prolific said: {error}") from None
    find_out(recruitment)


def more_places(recruitment: Recruitment, places: int) -> None:
    """Raises the number of places; Prolific locks the money for them."""
    if recruitment.state != State.LIVE:
        raise RecruitmentError("It is not published.")
    if places <= recruitment.places:
        raise RecruitmentError(f"Places can only be added: there are {recruitment.places}.")
    reward = Decimal(plan_of(recruitment).reward_minor) * (places - recruitment.places)
    ledger.keep_within_budget(recruitment, ledger.with_fees(recruitment, reward))
    with client_of(recruitment.connection) as prolific:
        try:
            prolific.change_study(recruitment.prolific_study, {"total_available_places": places})
        except NoReply:
            pass
        except ProlificError as error:
            raise RecruitmentError(f"Prolific said: {error}") from None
    find_out(recruitment)


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
    recruitment: Recruitment, of: tuple[str, ...], to: str, *, problem: str | None = None
) -> bool:
    """Whether the state was moved by us: of two that try at once, one succeeds."""
    changes = {"state": to} | ({} if problem is None else {"problem": problem[:600]})
    moved = Recruitment.objects.filter(pk=recruitment.pk, state__in=of).update(**changes)
    recruitment.refresh_from_db()
    return bool(moved)


def _note(recruitment: Recruitment, problem: str) -> None:
    Recruitment.objects.filter(pk=recruitment.pk).update(problem=problem[:600])
    recruitment.problem = problem[:600]
