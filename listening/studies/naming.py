"""What colleagues call a study: its name, tags and archive, and studies found by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from listening.models import Study
from listening.models.study_log import COMMAND_LINE, note
from listening.studies.findings import StudyError

LONGEST_NAME = 120
LONGEST_TAG = 40
MOST_TAGS = 12
MOST_TAGS_OFFERED = 200
SORTS = {"newest": ("-created_at", "-pk"), "oldest": ("created_at", "pk"), "key": ("key",)}
FILTERS = ("q", "state", "tag", "project", "archived", "sort")


def rename_study(study: Study, name: str, *, by: str = COMMAND_LINE) -> bool:
    """The name for colleagues, beside the title that raters see; "" is none. Whether it changed."""
    name = " ".join(name.split())
    if len(name) > LONGEST_NAME:
        raise StudyError(f"A name has at most {LONGEST_NAME} characters; this has {len(name)}.")
    return _change(study, "name", name, "renamed", by)


def tags_in(text: str) -> list[str]:
    """Tags as they are typed, between commas: in lower case, each once, in their order."""
    words = (" ".join(word.split()).casefold() for word in text.split(","))
    return list(dict.fromkeys(word for word in words if word))


def tag_study(study: Study, tags: Iterable[str], *, by: str = COMMAND_LINE) -> bool:
    """All the tags that the study has from now on; whether they changed."""
    tags = list(tags)
    for tag in tags:
        if len(tag) > LONGEST_TAG:
            raise StudyError(f"A tag has at most {LONGEST_TAG} characters: “{tag[:50]}” has more.")
    if len(tags) > MOST_TAGS:
        raise StudyError(f"A study has at most {MOST_TAGS} tags; these are {len(tags)}.")
    return _change(study, "tags", tags, "tagged", by)


def _change(study: Study, field: str, value: Any, event: str, by: str) -> bool:
    """Store a field and log it; whether it changed."""
    with transaction.atomic():
        row = Study.objects.select_for_update().get(pk=study.pk)
        old = getattr(row, field)
        if old == value:
            return False
        setattr(row, field, value)
        row.save(update_fields=[field])
        note(row, event, by, **{field: {"from": old, "to": value}})
    setattr(study, field, value)
    return True


def archive_study(study: Study, *, archived: bool = True, by: str = COMMAND_LINE) -> None:
    """Puts a study out of the list, or back into it. One that raters can enter stays in sight."""
    with transaction.atomic():
        row = Study.objects.select_for_update().get(pk=study.pk)
        if archived and row.state == Study.State.OPEN:
            raise StudyError(
                f"The study “{row.key}” is open. Pause or close it before it is archived."
            )
        if archived == (row.archived_at is not None):
            return
        row.archived_at = timezone.now() if archived else None
        row.save(update_fields=["archived_at"])
        note(row, "archived" if archived else "unarchived", by)
    study.archived_at = row.archived_at


def filtered(studies: QuerySet[Study], query: Mapping[str, str]) -> QuerySet[Study]:
    """Those that are asked for; what is no state, tag or order narrows nothing."""
    studies = studies.filter(archived_at__isnull=not query.get("archived"))
    for word in query.get("q", "").split():
        in_names = Q(key__icontains=word) | Q(title__icontains=word) | Q(name__icontains=word)
        studies = studies.filter(
            in_names | Q(tags__contains=[word.casefold()]) | Q(owner__username__iexact=word)
        )
    if query.get("state") in Study.State.values:
        studies = studies.filter(state=query["state"])
    if query.get("tag"):
        studies = studies.filter(tags__contains=[query["tag"]])
    if query.get("project", "").isdecimal():
        studies = studies.filter(project=int(query["project"][:9]))
    return studies.order_by(*SORTS.get(query.get("sort", ""), SORTS["newest"]))


def tags_of(studies: QuerySet[Study]) -> list[str]:
    """All tags in use, in order."""
    query, values = studies.order_by().values("tags").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT DISTINCT unnest(tags) AS tag FROM ({query}) t ORDER BY tag LIMIT %s",
            [*values, MOST_TAGS_OFFERED],
        )
        return [row[0] for row in cursor]
