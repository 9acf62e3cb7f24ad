"""Looks of a stop rule stored, once each, and the study closed where the rule says so."""

from __future__ import annotations

from typing import Any, TypedDict

from django.db import transaction
from django.utils import timezone

from listening.common.statements import rows_of
from listening.design.stop_rule import BUDGET, CLOSE, StopRule
from listening.models import Session, StopLook, Study
from listening.models.study_log import note
from listening.studies.findings import StudyError
from listening.studies.states import close_study
from listening.studies.stopped_systems import (
    StoppedSystem,
    separable_tasks,
    stop_systems,
    words_of_systems,
)

BY, LONGEST_PROBLEM = "stop rule", 300
ENDS = (StopLook.Decision.STOP, StopLook.Decision.END)


class LookRecord(TypedDict):
    """A look as it was computed; see `listening.models.StopLook`."""

    number: int
    planned: int
    sessions: int
    in_progress: int
    data_sha256: str
    rules: list[str]
    families: list[dict[str, Any]]
    decision: str
    why: str
    stopped: list[StoppedSystem]  # systems that no open comparison needs any more


def store_look(study_id: int, look: LookRecord, **_signal: Any) -> bool:
    """Receives `listening.common.signals.look_made`: whether the look is stored by this call.

    The row, its line in the log, the slots of systems that receive no more raters, and the end of
    the study are one transaction. Of two who computed
    the same look, and of looks that come after a later one, only the first is stored.
    """
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=study_id)  # raters may start
        rule = StopRule.from_dict(study.stop)
        if rule is None or study.state not in Study.RUNNING:
            return False
        if study.looks.filter(number__gte=look["number"]).exists():
            return False
        separable = separable_tasks(study) if rule.stops_systems else []
        systems = [system for system in look["stopped"] if system["task"] in separable]
        stopped: list[StoppedSystem] = []
        if rule.act == CLOSE:
            look["stopped"] = stopped = stop_systems(study, systems)
        else:
            look["stopped"] = [{**system, "is_proposed": True} for system in systems]
        StopLook.objects.create(study=study, act=rule.act, separable=separable, **look)
        note(
            study,
            "looked",
            BY,
            look=look["number"],
            sessions=f"{look['sessions']:,} of {look['planned']:,}",
            decision=StopLook.Decision(look["decision"]).label,
            why=look["why"],
            ratings_sha256=look["data_sha256"],
            **({"no_more_raters": words_of_systems(stopped)} if stopped else {}),
        )
        Study.objects.filter(pk=study_id).update(look_problem={})
        if look["decision"] in ENDS and rule.act == CLOSE:
            close_study(study, by=BY)
    return True


def stop_proposed(study: Study, *, by: str) -> list[StoppedSystem]:
    """Stop the systems that the last look proposes; StudyError where there is nothing to stop."""
    with transaction.atomic():
        row = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        look = row.looks.order_by("-number").first()
        systems = [system for system in look.stopped if "is_proposed" in system] if look else []
        if look is None or not systems or row.state not in Study.RUNNING:
            raise StudyError("No system can be stopped now. Reload the page.")
        for system in systems:
            system.pop("is_proposed")
        if not stop_systems(row, systems):
            raise StudyError("Some blocks hold only these systems, so they go on.")
        look.save(update_fields=["stopped"])
        note(row, "systems_stopped", by, look=look.number, no_more_raters=words_of_systems(systems))
    return systems


def note_failed_look(study_id: int, number: int, what: str, **_signal: Any) -> None:
    """Receives `listening.common.signals.look_failed`: the study's page names it until it is made.

    The log has a line for the first failure of a look, not for each time it is tried again.
    """
    now = timezone.now().isoformat()
    with transaction.atomic():
        study = Study.objects.select_for_update().get(pk=study_id)
        before = study.look_problem if study.look_problem.get("number") == number else {}
        study.look_problem = {
            "number": number,
            "what": what[:LONGEST_PROBLEM],
            "since": before.get("since", now),
            "last": now,
            "times": before.get("times", 0) + 1,
        }
        study.save(update_fields=["look_problem"])
        if not before:
            note(study, "look_failed", BY, look=number, said=what[:LONGEST_PROBLEM])


# A session of people that is finished costs what it holds; one that goes on, what it may still.
COSTS = """
SELECT count(*) FILTER (WHERE s.status = 'finished' OR s.status = 'rejected') AS finished,
    count(*) FILTER (WHERE s.status = 'started') AS in_progress,
    coalesce(sum(n.trials) FILTER (WHERE s.status = 'finished' OR s.status = 'rejected'), 0)::int
        AS clips,
    coalesce(sum(extract(epoch FROM s.finished_at - s.started_at)) FILTER (
        WHERE s.status = 'finished' OR s.status = 'rejected'), 0)::float8 / 3600 AS hours
FROM listening_session s JOIN listening_rater r ON r.id = s.rater_id
LEFT JOIN LATERAL (SELECT count(*) AS trials FROM listening_trial t
    WHERE t.session_id = s.id AND t.state = 'answered') n ON true
WHERE s.study_id = %(study)s AND NOT s.pilot AND NOT r.simulated
"""


def committed_pay(study: Study) -> tuple[float, float]:
    """What finished sessions and those in progress cost, and what one session costs on average.

    In the currency of [study.payment], for a study whose researcher pays. A session in progress is
    taken for an average one; before the first has finished there is no average, and it costs 0.
    """
    (costs,) = rows_of(COSTS, study=study.pk)
    payment = study.payment
    if "per_session" in payment:
        each = float(payment["per_session"])
        return each * (costs.finished + costs.in_progress), each
    unit = "per_clip" if "per_clip" in payment else "per_hour"
    amount = float(payment.get(unit, 0)) * (costs.clips if unit == "per_clip" else costs.hours)
    each = amount / costs.finished if costs.finished else 0.0
    return amount + each * costs.in_progress, each


def apply_budgets() -> int:
    """Stop the studies whose next session would cost more than their rule's budget; how many."""
    studies = Study.objects.filter(state__in=Study.RUNNING, stop__rule=BUDGET, looks=None)
    return sum(_apply_budget(study) for study in studies)


def _apply_budget(study: Study) -> bool:
    rule = StopRule.from_dict(study.stop)
    if rule is None or rule.amount is None:
        return False
    cost, each = committed_pay(study)
    if each == 0 or cost + each <= rule.amount + 1e-9:
        return False
    sessions = Session.objects.filter(study=study, pilot=False)
    finished = sessions.filter(status=Session.Status.FINISHED).count()
    going_on = sessions.filter(status=Session.Status.STARTED).count()
    currency = study.payment.get("currency", "")
    look = LookRecord(
        number=1,
        planned=max(finished, 1),
        sessions=finished,
        in_progress=going_on,
        data_sha256="",
        rules=[],
        families=[],
        decision=StopLook.Decision.STOP,
        why=(
            f"Finished sessions and those in progress cost {cost:,.2f} {currency}. Another of "
            f"{each:,.2f} would exceed the budget of {rule.amount:,.2f} {currency}."
        ),
        stopped=[],
    )
    return store_look(study.pk, look)
