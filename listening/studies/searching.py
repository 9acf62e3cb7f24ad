"""Studies searched and filtered, in the database."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import connection
from django.db.models import Q, QuerySet

from listening.models import Study

MOST_TAGS_OFFERED = 200
SORTS = {"newest": ("-created_at", "-pk"), "oldest": ("created_at", "pk"), "key": ("key",)}
FILTERS = ("q", "state", "tag", "project", "archived", "sort")


def filtered(studies: QuerySet[Study], asked: Mapping[str, str]) -> QuerySet[Study]:
    """Those that are asked for; what is no state, tag or order narrows nothing."""
    studies = studies.filter(archived_at__isnull=not asked.get("archived"))
    for word in asked.get("q", "").split():
        in_names = Q(key__icontains=word) | Q(title__icontains=word) | Q(name__icontains=word)
        studies = studies.filter(
            in_names | Q(tags__contains=[word.casefold()]) | Q(owner__username__iexact=word)
        )
    if asked.get("state") in Study.State.values:
        studies = studies.filter(state=asked["state"])
    if asked.get("tag"):
        studies = studies.filter(tags__contains=[asked["tag"]])
    if asked.get("project", "").isdecimal():
        studies = studies.filter(project=int(asked["project"][:9]))
    return studies.order_by(*SORTS.get(asked.get("sort", ""), SORTS["newest"]))


def tags_of(studies: QuerySet[Study]) -> list[str]:
    """All tags in use, in order."""
    query, values = studies.order_by().values("tags").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT DISTINCT unnest(tags) AS tag FROM ({query}) t ORDER BY tag LIMIT %s",
            [*values, MOST_TAGS_OFFERED],
        )
        return [row[0] for row in cursor]
