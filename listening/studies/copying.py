"""A copy of a study, as a draft: on its own, or as the next version of what is copied."""

from __future__ import annotations

import re
from typing import Any, TypeVar

from django.contrib.auth.models import AbstractUser
from django.db import models, transaction

from listening.design.studyfile.entries import OUTCOMES
from listening.models import (
    AnalysisRule,
    Condition,
    Criterion,
    Hypothesis,
    Item,
    Stimulus,
    Study,
)
from listening.models.codes import completion_code, link_code
from listening.models.study import next_version
from listening.models.study_log import COMMAND_LINE, note
from listening.studies.findings import StudyError

KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")
Row = TypeVar("Row", bound=models.Model)


@transaction.atomic
def copy_study(
    study: Study,
    owner: AbstractUser,
    *,
    key: str = "",
    as_version: bool = False,
    keep_out: bool = True,
    by: str = COMMAND_LINE,
) -> Study:
    """Everything that was asked and played, without raters, answers, recruiting and invitations.

    The copies share their stored audio. Completion codes are new, so that nobody who has an old
    one is paid by it. `keep_out` is for versions: who took part in an earlier one cannot begin.
    """
    source = Study.objects.select_for_update().get(pk=study.pk)
    key = key.strip() or free_key(source, as_version)
    if not KEY.fullmatch(key):
        raise StudyError(
            f"“{key}” is no key. A key has up to 80 characters: a to z, 0 to 9, “-” and “_”."
        )
    if Study.objects.filter(key=key).exists():
        raise StudyError(f"There is a study “{key}” already. Choose another key.")
    copy = _fresh(source)
    copy.key, copy.owner_id, copy.link = key, owner.pk, link_code()
    copy.state, copy.opened_at, copy.closed_at, copy.erased_at = Study.State.DRAFT, None, None, None
    copy.archived_at, copy.wording = None, 0
    copy.completion_codes = {outcome: completion_code() for outcome in OUTCOMES}
    copy.version_of = source if as_version else None
    copy.version = next_version(source) if as_version else 1
    copy.keeps_out_earlier = as_version and keep_out
    copy.name = source.name if as_version else f"{source.called[:110]}, copy"
    copy.save()
    _copy_material(source, copy)
    for task in source.tasks.order_by("order"):
        task_copy = _fresh(task)
        task_copy.study = copy
        task_copy.save()
        _copied(Criterion.objects.filter(task=task), task=task_copy)
    _copy_decided(source, copy)
    note(source, "copied", by, to=key, version=copy.version)
    note(copy, "made_as_copy", by, of=source.key, version=copy.version)
    return copy


def free_key(study: Study, as_version: bool) -> str:
    """The first key that no study has, of those that a copy would be given."""
    stem = re.sub(r"-v\d+$", "", study.key)[:70] if as_version else f"{study.key[:70]}-copy"
    number = next_version(study) if as_version else 1
    while True:
        key = f"{stem}-v{number}" if as_version else f"{stem}-{number}" if number > 1 else stem
        if not Study.objects.filter(key=key).exists():
            return key
        number += 1


def _fresh(row: Row) -> Row:
    """The same values in a row that is not stored yet."""
    fields = {f.attname: getattr(row, f.attname) for f in row._meta.concrete_fields}
    del fields["id"]
    return type(row)(**fields)


def _copied(rows: models.QuerySet[Row], **changed: Any) -> dict[int, Row]:
    """The rows stored once more, with other values; the new ones by the ids of the old."""
    old = list(rows.order_by("pk"))
    new = []
    for row in old:
        copy = _fresh(row)
        for name, value in changed.items():
            setattr(copy, name, value)
        new.append(copy)
    copies = rows.model._default_manager.bulk_create(new, batch_size=1000)
    return {before.pk: after for before, after in zip(old, copies, strict=True)}


def _copy_material(source: Study, copy: Study) -> None:
    conditions = _copied(Condition.objects.filter(study=source), study=copy)
    items = _copied(Item.objects.filter(study=source), study=copy)
    stimuli = []
    for row in source.stimuli.order_by("pk"):
        stimulus = _fresh(row)
        stimulus.study = copy
        stimulus.condition = conditions[row.condition_id]
        stimulus.item = items[row.item_id]
        stimuli.append(stimulus)
    Stimulus.objects.bulk_create(stimuli, batch_size=1000)


def _copy_decided(source: Study, copy: Study) -> None:
    """Rules and hypotheses in force, declared beforehand of what is copied: it was not opened."""
    for model in (AnalysisRule, Hypothesis):
        _copied(
            model._default_manager.filter(study=source, ended_at=None),
            study=copy,
            declared=True,
            ratings=0,
        )
