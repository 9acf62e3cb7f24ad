"""Create, draw, open and close review jobs."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from listening.models import ReviewAssignment, ReviewItem, ReviewJob, Study, Verdict
from listening.models.study_log import note
from listening.review import codebook
from listening.review.claiming import job_progress
from listening.review.codebook import NO_CODE
from listening.review.kinds import kind_named
from listening.review.kinds.kind import BadSettings, Kind
from listening.review.rules import RULES

MOST_PER_ITEM = 9


class ReviewError(ValueError):
    """What was asked cannot be done; the message says why, and what to do."""


@dataclass(frozen=True)
class Plan:
    """What a researcher asks for."""

    kind: str
    title: str
    instructions: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    per_item: int = 2
    repeated: float = 0.1
    training_pass: float = 0.0
    resolving: str = ReviewJob.Resolving.NONE
    rule: str = "all_agree"
    seed: int | None = None


def make_job(study: Study, plan: Plan, *, by: str) -> ReviewJob:
    """A job with all its items drawn; ReviewError where there is nothing to review."""
    kind, settings = checked(plan)
    seed = secrets.randbits(62) if plan.seed is None else plan.seed
    with transaction.atomic():
        job = ReviewJob.objects.create(
            study=study,
            kind=plan.kind,
            title=" ".join(plan.title.split())[:120] or kind.title,
            instructions=plan.instructions.strip(),
            settings=asdict(settings),
            seed=seed,
            per_item=plan.per_item,
            repeated=plan.repeated,
            training_pass=plan.training_pass,
            resolving=plan.resolving,
            rule=plan.rule,
            rule_version=RULES[plan.rule].version,
            by=by,
        )
        items = take_in(job)
        if not items:
            raise ReviewError(f"This study has no {kind.what} to review yet.")
        note(study, "review_made", by, review=job.title, items=items, seed=str(seed))
    return job


def checked(plan: Plan) -> tuple[Kind, Any]:
    if plan.kind not in Kind.registry:
        raise ReviewError("This kind of review does not exist.")
    kind = kind_named(plan.kind)
    if plan.rule not in kind.rules or plan.resolving not in ReviewJob.Resolving.values:
        raise ReviewError("Choose one of the listed rules.")
    if not 1 <= plan.per_item <= MOST_PER_ITEM:
        raise ReviewError(f"The number of reviewers per item must be 1 to {MOST_PER_ITEM}.")
    if not 0 <= plan.repeated <= 1:
        raise ReviewError("The share of repeated items must be 0 to 100%.")
    if not 0 <= plan.training_pass <= 1:
        raise ReviewError("The training pass mark must be 0 to 100%.")
    try:
        return kind, kind.settings_from(plan.settings)
    except (BadSettings, TypeError) as error:
        raise ReviewError(str(error)) from None


def take_in(job: ReviewJob) -> int:
    """Draws what is not in the job yet, at random places behind what is; how many that were."""
    kind = kind_named(job.kind)
    with transaction.atomic():
        ReviewJob.objects.select_for_update().get(pk=job.pk)
        known = set(job.items.values_list("trial", "stimulus", "part"))
        drawn = kind.targets(job.study, kind.settings_from(job.settings), job.seed)
        new = [t for t in drawn if (t.trial, t.stimulus, t.part) not in known]
        last = job.items.aggregate(last=Max("position"))["last"]
        start = 0 if last is None else last + 1
        Random(f"review {job.seed} {start}").shuffle(new)
        ReviewItem.objects.bulk_create(
            (
                ReviewItem(
                    job=job,
                    trial_id=target.trial,
                    stimulus_id=target.stimulus,
                    clip=dict(target.clip or {}),
                    others=list(target.others),
                    part=target.part,
                    position=start + place,
                    wanted=job.per_item,
                )
                for place, target in enumerate(new)
            ),
            batch_size=2000,
        )
    return len(new)


def set_state(job: ReviewJob, state: str, *, by: str) -> None:
    """Opened, or closed, or opened again; verdicts are taken while it is open."""
    if state not in (ReviewJob.State.OPEN, ReviewJob.State.CLOSED):
        raise ReviewError("A review can only be opened or closed.")
    with transaction.atomic():
        row = ReviewJob.objects.select_for_update().get(pk=job.pk)
        if row.state == state:
            return
        row.state = job.state = state
        if state == ReviewJob.State.OPEN:
            row.opened_at, row.closed_at = row.opened_at or timezone.now(), None
        else:
            row.closed_at = timezone.now()
        row.save(update_fields=["state", "opened_at", "closed_at"])
        note(row.study, f"review_{state if state == 'closed' else 'opened'}", by, review=row.title)


def unblind(job: ReviewJob, *, by: str) -> None:
    """Shows results by system and label from now on; the log says so, and it stays said."""
    with transaction.atomic():
        row = ReviewJob.objects.select_for_update().get(pk=job.pk)
        if row.unblinded_at is None:
            row.unblinded_at = timezone.now()
            row.save(update_fields=["unblinded_at"])
            verdicts = job_progress(row).verdicts
            note(row.study, "review_unblinded", by, review=row.title, verdicts=verdicts)


def change(job: ReviewJob, *, by: str, rule: str, resolving: str, in_use: bool) -> bool:
    """Another rule, way to resolve, or use; whether anything changed. Verdicts stay as they are."""
    if rule not in kind_named(job.kind).rules or resolving not in ReviewJob.Resolving.values:
        raise ReviewError("Choose one of the listed rules.")
    with transaction.atomic():
        row = ReviewJob.objects.select_for_update().get(pk=job.pk)
        before = {"rule": row.rule, "where_they_differ": row.resolving, "in_use": row.in_use}
        after = {"rule": rule, "where_they_differ": resolving, "in_use": in_use}
        changed = {k: {"from": before[k], "to": after[k]} for k in after if before[k] != after[k]}
        if not changed:
            return False
        row.rule, row.rule_version = rule, RULES[rule].version
        row.resolving, row.in_use = resolving, in_use
        row.save(update_fields=["rule", "rule_version", "resolving", "in_use"])
        verdicts = job_progress(row).verdicts
        note(row.study, "review_changed", by, review=row.title, **changed, verdicts=verdicts)
    return True


def change_codebook(job: ReviewJob, text: str, *, by: str) -> int:
    """Another version of it; codes that somebody gave stay in it. The number of the version."""
    if job.kind != "codes":
        raise ReviewError("This review has no codebook.")
    try:
        codes = codebook.from_text(text)
    except codebook.BadCodebook as error:
        raise ReviewError(str(error)) from None
    with transaction.atomic():
        row = ReviewJob.objects.select_for_update().get(pk=job.pk)
        categories = ReviewAssignment.objects.filter(item__job=row).values_list(
            "category", flat=True
        )
        used = {code for each in categories.distinct() for code in each.split("|")} - {"", NO_CODE}
        if lost := sorted(used - {code.key for code in codes}):
            raise ReviewError(
                f"Reviewers used {', '.join(lost)}. Keep these codes or create a new review."
            )
        version = row.settings["version"] + 1
        row.settings |= {"codebook": codebook.as_stored(codes), "version": version}
        row.save(update_fields=["settings"])
        note(row.study, "review_changed", by, review=row.title, codebook=version, codes=len(codes))
    return int(version)


def delete_job(job: ReviewJob, *, by: str) -> None:
    """A job that nobody has judged anything of."""
    with transaction.atomic():
        row = ReviewJob.objects.select_for_update().get(pk=job.pk)
        if Verdict.objects.filter(assignment__item__job=row).exists():
            raise ReviewError(
                "Verdicts cannot be deleted. Close the review and stop using its outcomes."
            )
        note(row.study, "review_deleted", by, review=row.title)
        row.delete()
