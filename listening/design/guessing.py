"""How likely who does not listen gets through what a study asks: checks, then traps."""

from __future__ import annotations

from math import prod

from listening.checks import check_named
from listening.design.odds import TrapOdds, trap_odds
from listening.design.preview_trials import scales_of
from listening.design.studyfile import StudyFile, TaskEntry
from listening.design.traps import TrapPlan


def through_checks(study: StudyFile) -> float | None:
    """By guessing, past all checks that screen out; None where none does."""
    odds = []
    for asked in study.checks:
        check = check_named(asked["key"])
        settings = check.settings(asked, language=study.language)
        if settings.trials and settings.on_fail == "screen_out":
            odds.append(check.odds(settings))
    return prod(odds) if odds else None


def through_traps(study: StudyFile, task: TaskEntry) -> TrapOdds | None:
    """Past the traps of one block; None without traps, ValueError where it cannot be said."""
    plan = TrapPlan.from_dict(task.traps)
    if not plan.kinds:
        return None
    scales = dict(zip((c.key for c in task.criteria), scales_of(task), strict=True))
    own: dict[str, list[list[str]]] = {kind.kind: [] for kind in plan.kinds}
    for entry in study.stimuli:
        if entry.trap in own:
            words = entry.attributes.get("expected", "").split("|")
            own[entry.trap].append([word.strip() for word in words if word.strip()])
    return trap_odds(plan, scales, sets=plan.sets_for(task.block_size), own=own)
