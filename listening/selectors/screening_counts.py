"""How raters fared at checks and questionnaires, and how easily a guess gets past traps."""

from __future__ import annotations

from typing import Any

from listening.common.statements import rows_of
from listening.design.odds import TrapOdds, trap_odds
from listening.design.traps import TRAINING, TrapPlan
from listening.methods import Scale
from listening.models import Stimulus, Task

CHECKED = """
SELECT c.key, count(*) FILTER (WHERE c.passed) AS passed,
    count(*) FILTER (WHERE c.done AND NOT c.passed AND NOT c.screened) AS failed,
    count(*) FILTER (WHERE c.screened) AS screened
FROM (SELECT e.key, coalesce(e.value->>'passed', '') = 'true' AS passed,
        coalesce(e.value->>'done', '') = 'true' AS done,
        s.status = 'screened' AND starts_with(s.rejected_because, 'check ' || e.key || ':')
            AS screened
    FROM listening_session s, jsonb_each(s.checks) AS e
    WHERE s.study_id = %(study)s AND NOT s.pilot) c
GROUP BY 1
"""
ASKED = """
SELECT e.key, count(DISTINCT s.id) AS answered, count(*) FILTER (WHERE s.status = 'screened'
        AND starts_with(s.rejected_because, 'questionnaire ' || e.key || ':')) AS screened
FROM listening_session s, jsonb_object_keys(s.questionnaires) AS k(kept),
    split_part(k.kept, '@', 1) AS e(key)
WHERE s.study_id = %(study)s AND NOT s.pilot GROUP BY 1
"""


def check_counts(study: int) -> dict[str, Any]:
    """Check -> sessions that passed, failed and went on, and were screened out."""
    return {row.key: row for row in rows_of(CHECKED, study=study)}


def questionnaire_counts(study: int) -> dict[str, Any]:
    """Questionnaire -> sessions that answered, and that its answers screened out."""
    return {row.key: row for row in rows_of(ASKED, study=study)}


def odds_of_traps(task: Task, plan: TrapPlan) -> tuple[TrapOdds | None, str]:
    """The odds for one set of the task's traps; else why there are none."""
    scales = {c.key: Scale.from_dict(c.scale) for c in task.criteria.order_by("order")}
    own: dict[str, list[list[str]]] = {kind.kind: [] for kind in plan.kinds}
    stimuli = Stimulus.objects.filter(study=task.study_id, trap__in=list(own))
    for kind, expected in stimuli.exclude(trap=TRAINING).values_list(
        "trap", "attributes__expected"
    ):
        words = str(expected or "").split("|")
        own[kind].append([word.strip() for word in words if word.strip()])
    try:
        return trap_odds(plan, scales, own=own), ""
    except (ValueError, KeyError) as error:
        return None, str(error)
