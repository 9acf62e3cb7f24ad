"""How many sessions came by each way into a study, and whether its quota is filled."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.db import connection, transaction

from listening.common.statements import rows_of
from listening.design.sources import Source, source_named, sources_of
from listening.models import Study
from listening.models.sealed import seal

# Who listens now counts while they hold places; who left, withdrew or was screened out does not.
COUNTS = """
SELECT s.source, count(*) AS entered,
    count(*) FILTER (WHERE s.status = 'finished') AS finished,
    count(*) FILTER (WHERE s.status = 'started' AND EXISTS (
        SELECT 1 FROM listening_block b WHERE b.session_id = s.id AND b.state = 1)) AS listening,
    count(*) FILTER (WHERE s.status = 'screened') AS screened
FROM listening_session s JOIN listening_rater r ON r.id = s.rater_id
WHERE s.study_id = %(study)s AND NOT s.pilot AND (%(source)s::text IS NULL OR s.source = %(source)s)
GROUP BY s.source
"""


@dataclass(frozen=True)
class SourceCounts:
    """Sessions of one way in; `quota` is 0 where there is none."""

    key: str  # "" for sessions that began when the study named no such source
    name: str
    quota: int = 0
    entered: int = 0
    finished: int = 0
    listening: int = 0
    screened: int = 0

    @property
    def is_full(self) -> bool:
        return 0 < self.quota <= self.finished + self.listening


def counts_of(study: Study) -> list[SourceCounts]:
    """Every source that the study names, in its order; then those that sessions have besides."""
    rows = {row.source: row for row in rows_of(COUNTS, study=study.pk, source=None)}
    named = {source.key: source for source in sources_of(study.sources)}
    return [_counts(key, named.get(key), rows.get(key)) for key in dict.fromkeys([*named, *rows])]


def _counts(key: str, source: Source | None, row: object) -> SourceCounts:
    numbers = {n: getattr(row, n, 0) for n in ("entered", "finished", "listening", "screened")}
    name = source.name if source else key or "Not named"
    return SourceCounts(key, name, source.quota if source else 0, **numbers)


def is_full(study: Study, source: Source | None) -> bool:
    """Whether as many sessions as its quota are finished or under way."""
    if source is None or not source.quota:
        return False
    rows = rows_of(COUNTS, study=study.pk, source=source.key)
    return _counts(source.key, source, rows[0] if rows else None).is_full


def is_finished(study: Study, source: Source | None) -> bool:
    """Whether as many sessions as its quota are finished: no place can become free any more."""
    if source is None or not source.quota:
        return False
    rows = rows_of(COUNTS, study=study.pk, source=source.key)
    return bool(rows) and rows[0].finished >= source.quota


def lock_quota(study: Study) -> None:
    """Until the end of this transaction nobody else begins a session that a quota counts."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [0x50_75_6F, study.pk])


def set_secret(study: Study, key: str, secret: str) -> Source | None:
    """The source whose secret this is from now on, sealed; None where there is no such source."""
    source = source_named(study.sources, key)
    if source is None or not source.secret_title:
        return None
    with transaction.atomic():
        locked = Study.objects.select_for_update().get(pk=study.pk)
        others = {name: each for name, each in locked.source_secrets.items() if name != key}
        locked.source_secrets = others | ({key: seal(secret)} if secret else {})
        locked.save(update_fields=["source_secrets"])
    return source


def change_quota(study: Study, key: str, quota: int) -> Source | None:
    """The source as it is from now on; None where the study has none of this key."""
    with transaction.atomic():
        locked = Study.objects.select_for_update().get(pk=study.pk)
        source = source_named(locked.sources, key)
        if source is None:
            return None
        changed = replace(source, quota=quota)
        locked.sources = [
            changed.as_dict() if each["key"] == key else each for each in locked.sources
        ]
        locked.save(update_fields=["sources"])
    return changed
