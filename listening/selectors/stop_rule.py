"""The stop rules of studies: which looks are due, and what is known of those that were made."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import ceil
from typing import Any, TypedDict

from django.db.models import Max
from django.utils import timezone

from listening.design.blocks import sessions_of
from listening.design.stop_rule import BUDGET, StopRule
from listening.models import Session, StopLook, Study
from listening.selectors.studies import still_open

LONGEST_PAUSE = timedelta(hours=1)  # between two tries of a look that fails
IN_TIME = timedelta(minutes=10)  # from the last session that finished to the look


class DueLook(TypedDict):
    """A look that is due; ``last`` where nobody is to come after it."""

    study_id: int
    study: str
    number: int
    planned: int
    in_progress: int
    last: bool


class LookFacts(TypedDict):
    """A look as it was made; ``families`` hold the verdicts of each task and criterion."""

    number: int
    on: str  # day and time, in UTC
    planned: int
    sessions: int
    in_progress: int
    share: float
    data_sha256: str
    rules: list[str]
    families: list[dict[str, Any]]
    decision: str  # go_on, stop or end
    decision_in_words: str
    why: str
    separable: list[str]  # tasks in which a system may stop alone
    stopped: list[dict[str, str]]  # by this look: task, condition and, of a pair, versus
    proposed: list[dict[str, str]]  # the same, for a person to stop


class StopFacts(TypedDict):
    """A study's stop rule, the looks that were made, and whether the study is over."""

    rule: str
    act: str
    looks: list[float]  # shares of the planned sessions
    sizes: list[int]  # sessions at each look; []: not planned yet
    planned: int
    difference: float | None
    futility: bool
    compare: str
    criteria: list[str]
    target: float | None
    amount: float | None
    currency: str
    made: list[LookFacts]
    state: str
    by_rule: bool  # it was closed by its rule
    stops_systems: bool  # one that is decided receives no more raters, where the design allows it


def planned_sessions(study: Study) -> int:
    """How many sessions fill the plan, were none dropped; 0 before blocks are planned."""
    needs = [
        ceil(task.blocks.count() / max(task.blocks_per_session, 1))
        for task in study.tasks.order_by("order")
    ]
    return int(sessions_of(needs, study.task_plan)) if any(needs) else 0


def due_look(study: Study) -> DueLook | None:
    """The look that is due and was not made; None where there is none.

    Of several that came due since the last, only the latest is made: the error of the others stays
    unspent. The last is due, too, when every place is filled.
    """
    rule = StopRule.from_dict(study.stop)
    if rule is None or rule.rule == BUDGET or study.state not in Study.RUNNING:
        return None
    planned = planned_sessions(study)
    sessions = Session.objects.filter(study=study, pilot=False)
    finished = sessions.filter(status=Session.Status.FINISHED).count()
    last = bool(planned) and not still_open(study.key)
    number = len(rule.looks) if last else rule.due(finished, planned)
    made = study.looks.order_by("-number").values_list("number", flat=True).first() or 0
    if number <= made:
        return None
    return DueLook(
        study_id=study.pk,
        study=study.key,
        number=number,
        planned=planned,
        in_progress=sessions.filter(status=Session.Status.STARTED).count(),
        last=last or number == len(rule.looks),
    )


def due_looks(key: str = "") -> list[DueLook]:
    """Those of all running studies with a stop rule, or of one.

    Of all, a look that failed is left out until it is time to try it again: after 1 minute, 2, 4
    and so on, at most an hour.
    """
    studies = Study.objects.filter(state__in=Study.RUNNING).exclude(stop={}).order_by("pk")
    chosen = studies.filter(key=key) if key else [s for s in studies if not _is_waiting(s)]
    return [look for look in map(due_look, chosen) if look is not None]


def _is_waiting(study: Study) -> bool:
    if not study.look_problem:
        return False
    last, times = datetime.fromisoformat(study.look_problem["last"]), study.look_problem["times"]
    pause = min(timedelta(minutes=2 ** min(times - 1, 10)), LONGEST_PAUSE)
    return timezone.now() < last + pause


class OverdueLook(TypedDict):
    """A look that is due and has failed, or was not made in time."""

    number: int
    since: datetime
    what: str  # went wrong; "": nothing is known


def overdue_look(study: Study) -> OverdueLook | None:
    """The look that is due but missing, with what is known of why; None where all is well."""
    due = due_look(study)
    if due is None:
        return None
    problem = study.look_problem
    if problem.get("number") == due["number"]:
        since = datetime.fromisoformat(problem["since"])
        return OverdueLook(number=due["number"], since=since, what=problem["what"])
    finished = Session.objects.filter(study=study, pilot=False, status=Session.Status.FINISHED)
    last = finished.aggregate(last=Max("finished_at"))["last"]
    if last is None or timezone.now() < last + IN_TIME:
        return None
    return OverdueLook(number=due["number"], since=last, what="")


def look_problems(key: str = "") -> list[str]:
    """What went wrong with looks that are still due, a sentence for each study, or of one."""
    studies = Study.objects.filter(state__in=Study.RUNNING).exclude(look_problem={}).order_by("pk")
    return [
        f"Look {study.look_problem['number']} of “{study.key}” failed: {study.look_problem['what']}"
        for study in (studies.filter(key=key) if key else studies)
    ]


def stop_facts(study: str) -> StopFacts | None:
    """The stop rule of a study and its looks; None where it has no rule."""
    return stop_facts_of(Study.objects.get(key=study))


def stop_facts_of(row: Study) -> StopFacts | None:
    """The same of a study that was read; asks the database for nothing where it has no rule."""
    rule = StopRule.from_dict(row.stop)
    if rule is None:
        return None
    planned = planned_sessions(row)
    made = [look_facts(look) for look in row.looks.order_by("number")]
    ended = bool(made) and made[-1]["decision"] != StopLook.Decision.GO_ON
    return StopFacts(
        rule=rule.rule,
        act=rule.act,
        looks=list(rule.looks),
        sizes=rule.sizes(planned) if planned else [],
        planned=planned,
        difference=rule.difference,
        futility=rule.futility,
        compare=rule.compare,
        criteria=list(rule.criteria),
        target=rule.target,
        amount=rule.amount,
        currency=row.payment.get("currency", ""),
        made=made,
        state=row.state,
        by_rule=row.state == Study.State.CLOSED and ended,
        stops_systems=rule.stops_systems,
    )


def look_facts(look: StopLook) -> LookFacts:
    """One look as plain values."""
    return LookFacts(
        number=look.number,
        on=look.at.strftime("%Y-%m-%d %H:%M"),
        planned=look.planned,
        sessions=look.sessions,
        in_progress=look.in_progress,
        share=look.share,
        data_sha256=look.data_sha256,
        rules=list(look.rules),
        families=list(look.families),
        decision=look.decision,
        decision_in_words=StopLook.Decision(look.decision).label,
        why=look.why,
        separable=list(look.separable),
        stopped=[system for system in look.stopped if "is_proposed" not in system],
        proposed=[system for system in look.stopped if "is_proposed" in system],
    )
