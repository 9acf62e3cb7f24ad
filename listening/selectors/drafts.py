"""What a draft plans, for what another room works out of it: shapes, and the ends of scales."""

from __future__ import annotations

from typing import Any, TypedDict

from listening.access.rights import LOOK, draft_for
from listening.design.amounts import amount_of, trials_of
from listening.design.preview_trials import scales_of
from listening.drafts.figures import reading_of, whole
from listening.methods import Scale, method_named


class DraftPlan(TypedDict):
    """A task of a draft in the numbers that its precision depends on."""

    title: str
    estimand: str
    conditions: int  # of comparisons: pairs of conditions
    items: int
    ratings_per_clip: int
    clips_per_rater: int
    low: float | None  # the ends of the scale of its first question, where it has numbers
    high: float | None
    answers: int  # how many there are


def draft_plans(code: str, user: Any) -> list[DraftPlan]:
    """One for each task; none while something is to mend. 404 where the draft is not theirs."""
    study = whole(reading_of(draft_for(user, code, LOOK)))
    plans: list[DraftPlan] = []
    if study is None:
        return plans
    for task in study.tasks:
        method = method_named(task.method)
        amount = amount_of(trials_of(study, task), task)
        low, high, answers = _ends(scales_of(task)[0])
        plans.append(
            DraftPlan(
                title=task.title or task.key,
                estimand=method.estimand.key,
                conditions=_compared(amount.columns, amount.clips_together),
                items=amount.items,
                ratings_per_clip=task.ratings_per_stimulus,
                clips_per_rater=round(amount.screens_each * amount.clips_together),
                low=low,
                high=high,
                answers=answers,
            )
        )
    return plans


def _compared(columns: int, together: float) -> int:
    """Where all systems stand on one screen, they are what is compared."""
    return columns if together <= 1 else round(together)


def _ends(scale: Scale) -> tuple[float | None, float | None, int]:
    if scale.span is not None:
        low, high, step = scale.span
        return low, high, round((high - low) / step) + 1
    scores = [step.score for step in scale.steps if step.score is not None and not step.apart]
    return (min(scores), max(scores), len(scores)) if scores else (None, None, 0)
