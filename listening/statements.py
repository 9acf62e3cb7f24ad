"""The few statements that run for every answer: prepared once per connection, rows by name."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from msgspec import Raw, Struct
from msgspec.json import decode
from psycopg import Cursor
from psycopg.rows import namedtuple_row

from listening.design.traps import TRAINING
from listening.leases import ANSWERED, EXTENDED, PLANNED, SKIPPED, VOID
from listening.models import Session


def rows_of(statement: str, **values: Any) -> list[Any]:
    """The rows of a statement that the server plans once and keeps; JSON comes as text.

    Django's own cursors send every statement as text, to be parsed and planned again each time.
    """
    connection = connections[DEFAULT_DB_ALIAS]  # looked up once: it differs by thread
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    with connection.wrap_database_errors:
        connection.connection.prepare_threshold = 0
        cursor = Cursor(connection.connection, row_factory=namedtuple_row)
        return cursor.execute(statement, values, prepare=True).fetchall()


# `{trials}` in these parts of statements: all trials, or those of one session, read before.

# The time there was to hear the current trial, in the worst case over how far one looks back:
# since the page could first have played some earlier trial, which it has `ahead` trials before its
# turn, less what that trial and all later ones took to hear. So answers that a page kept while it
# had no network may come at once, and nobody gains time by holding trials ahead.
SPARE = """
SELECT min(extract(epoch FROM statement_timestamp() - coalesce(d.since, plan.first_fetch))
           - %(fastest)s * d.later_s)::float AS spare_s
FROM (SELECT lag(p.answered_at, %(ahead)s::int) OVER (ORDER BY p.answered_at, p.position) AS since,
             sum(coalesce(p.needed_s, 0)) OVER (ORDER BY p.answered_at DESC, p.position DESC)
                 AS later_s
      FROM {trials} p WHERE p.session_id = t.session_id AND p.answered_at IS NOT NULL
      UNION ALL
      SELECT (SELECT p.answered_at FROM {trials} p
              WHERE p.session_id = t.session_id AND p.answered_at IS NOT NULL
              ORDER BY p.answered_at DESC, p.position DESC OFFSET %(ahead)s - 1 LIMIT 1), 0) d
"""
# A session, and what its page needs of its study and its rater.
SITTING = """
SELECT s.id AS pk, s.code, s.status, s.ready, s.checks::text, s.questionnaires::text, s.comment,
       s.prolific_session, t.title, coalesce(nullif(s.language, ''), t.language) AS language,
       t.texts::text, t.translations::text, t.checks::text AS asked,
       t.questionnaires::text AS questions,
       t.completion_codes::text, t.break_every, s.review, s.rejected_because,
       s.prolific_session <> '' OR r.prolific_id IS NOT NULL AS from_prolific,
       s.source, t.sources::text, s.external_session, r.external_id, t.owner_id, t.id AS study,
       t.wording, s.wording_last
FROM listening_session s JOIN listening_study t ON t.id = s.study_id
JOIN listening_rater r ON r.id = s.rater_id WHERE s.code = %(session)s
"""
LOCK = f"{SITTING} FOR NO KEY UPDATE OF s"
# What stands around the trial, read after the session's row is locked.
LOAD_OF = f"""
SELECT t.id, t.code, t.state, t.position, t.task_id, t.block_id, t.slot_id, t.item_id,
       t.stimulus_id, t.versus_id, t.others, t.context,
       t.versus_first, t.trap, t.expected::text, r.simulated,
       plan.current, plan.left_in_block, plan.left, t.fetched,
       clips.sum_s, clips.start_s, least(
           listened.spare_s, extract(epoch FROM statement_timestamp() - t.fetched_at)) AS spare_s
FROM {{trials}} t JOIN listening_session s ON s.id = t.session_id
JOIN listening_rater r ON r.id = t.rater_id,
LATERAL (SELECT sum(duration_s) AS sum_s, sum(least(duration_s, %(start)s)) AS start_s
    FROM listening_stimulus
    WHERE id IN (t.stimulus_id, t.versus_id) OR id = ANY(t.others) OR id = ANY(t.context)) clips,
LATERAL (SELECT min(p.position) FILTER (WHERE p.{PLANNED}) AS current,
        count(*) FILTER (WHERE p.{PLANNED}) AS left,
        count(*) FILTER (WHERE p.{PLANNED} AND p.block_id = t.block_id) AS left_in_block,
        coalesce(min(p.fetched_at), s.started_at) AS first_fetch
    FROM {{trials}} p WHERE p.session_id = t.session_id) plan,
LATERAL ({SPARE}) listened
WHERE t.code = %(code)s AND s.code = %(session)s
"""
LOAD = LOAD_OF.format(trials="listening_trial")


# The trials that come next, without the one that is answered just now, and their clips: as JSON.
UPCOMING_OF = f"""
SELECT coalesce(json_agg(u), '[]')::text AS upcoming FROM (
    SELECT t.id AS pk, t.code, t.task_id, t.block_id, t.item_id, t.stimulus_id, t.versus_id,
           t.versus_first, t.others, t.context, t.trap,
           (SELECT json_agg(c) FROM (
                SELECT c.id, c.served, c.lines, c.trimmed_s,
                       (SELECT i.text FROM listening_item i WHERE i.id = c.item_id),
                       c.attributes->>'caption' AS caption
                FROM listening_stimulus c
                WHERE c.id IN (t.stimulus_id, t.versus_id) OR c.id = ANY(t.others)
                    OR c.id = ANY(t.context)) c) AS clips
    FROM {{trials}} t JOIN listening_session s ON s.id = t.session_id
    WHERE s.code = %(session)s AND t.{PLANNED} AND t.code <> %(code)s
    ORDER BY t.position LIMIT %(ahead)s) u
"""
UPCOMING = UPCOMING_OF.format(trials="listening_trial")
# All that is read for one answer, or for a state, in one go; without a lock, so WRITE looks again.
READ = " ".join(
    f"""
WITH mine AS MATERIALIZED (
    SELECT p.id, p.session_id, p.rater_id, p.code, p.state, p.position, p.task_id, p.block_id,
           p.slot_id, p.item_id, p.stimulus_id, p.versus_id, p.others, p.context, p.versus_first,
           p.trap, p.expected, p.fetched, p.fetched_at, p.answered_at, p.needed_s
    FROM listening_trial p JOIN listening_session s ON s.id = p.session_id
    WHERE s.code = %(session)s ORDER BY p.position)
SELECT json_build_object(
    'sitting', (SELECT row_to_json(sitting) FROM ({SITTING}) sitting),
    'trial', (SELECT row_to_json(trial) FROM ({LOAD_OF.format(trials="mine")}) trial),
    'upcoming', ({UPCOMING_OF.format(trials="mine")})::json,
    'answered', count(*) FILTER (WHERE p.{ANSWERED} OR p.{SKIPPED}),
    'left', count(*) FILTER (WHERE p.{PLANNED}), 'lost', count(*) FILTER (WHERE p.{VOID}),
    'tasks', coalesce(json_agg(p.task_id), '[]'))::text AS read
FROM mine p
""".split()
)  # one of up to 4,096 characters is parsed once by psycopg, not each time


class Clip(Struct):
    """A clip as the page of its trial needs it."""

    id: int
    served: str
    lines: list[dict[str, Any]]
    trimmed_s: float
    text: str
    caption: str | None


class Upcoming(Struct, frozen=True, eq=False):
    """A trial of UPCOMING; the same object for the same content: see `upcoming_of`."""

    pk: int
    code: str
    task_id: int
    block_id: int
    item_id: int
    stimulus_id: int
    versus_id: int | None
    versus_first: bool
    others: list[int]
    context: list[int]
    trap: str
    clips: list[Clip]


@lru_cache(maxsize=32_768)  # each trial is read again at each of the answers before it
def upcoming_of(content: bytes) -> Upcoming:
    """A trial of UPCOMING, of its JSON."""
    return decode(content, type=Upcoming)


class Sitting(Struct):
    """A row of SITTING; what is JSON comes as text."""

    pk: int
    code: str
    status: str
    ready: bool
    checks: str
    questionnaires: str
    comment: str
    prolific_session: str
    title: str
    language: str
    texts: str
    translations: str
    asked: str
    questions: str
    completion_codes: str
    break_every: int
    review: str
    rejected_because: str
    from_prolific: bool
    source: str
    sources: str
    external_session: str
    external_id: str | None
    owner_id: int
    study: int
    wording: int
    wording_last: int


class LoadedTrial(Struct):
    """A row of LOAD: the trial, its clips' lengths, and where its session stands."""

    id: int
    code: str
    state: str
    position: int
    task_id: int
    block_id: int
    slot_id: int | None
    item_id: int
    stimulus_id: int
    versus_id: int | None
    others: list[int]
    context: list[int]
    versus_first: bool
    trap: str
    expected: str  # JSON
    simulated: bool
    current: int | None  # the position that is to be answered next
    left_in_block: int  # this trial included, where it is still planned
    left: int
    fetched: int  # one bit per clip that was sent to this session
    sum_s: float
    start_s: float  # of the first seconds of each
    spare_s: float  # time there was to hear it, in seconds


class Read(Struct):
    """What READ returns."""

    sitting: Sitting | None
    trial: LoadedTrial | None
    upcoming: list[Raw]
    answered: int
    left: int
    lost: int  # trials whose block went back
    tasks: list[int] = []


# One statement, so that an answer is stored whole or not at all: no session that listens, no lease,
# no trial, no rating. They are locked in the order of all that changes them: session, block, trial.
# What was read before may be old: what has changed since is looked at again, and nothing is stored.
# `|| ''`: by the primary key; while its counts are old, PostgreSQL would walk all open sessions.
LISTENING = f"""
    SELECT id FROM listening_session
    WHERE id = %(session)s AND status || '' = '{Session.Status.STARTED}' AND ready FOR NO KEY UPDATE
"""
WRITE = f"""
WITH sitting AS ({LISTENING}), lease AS ({EXTENDED} AND EXISTS (SELECT FROM sitting) RETURNING id),
answered AS (
    UPDATE listening_trial t SET {ANSWERED}, answered_at = statement_timestamp(),
        latency_ms = %(latency_ms)s, plays = %(plays)s, heard_fraction = %(heard)s,
        playback = %(playback)s::jsonb, trap_passed = %(trap_passed)s, needed_s = %(needed_s)s
    FROM lease WHERE t.id = %(trial)s AND t.{PLANNED} RETURNING t.id
), rated AS (
    INSERT INTO listening_rating
        (trial_id, slot_id, criterion_id, stimulus_id, label, score, counts, rated_at)
    SELECT answered.id, %(slot)s, r.criterion, r.stimulus, r.label, r.score, %(counts)s,
        statement_timestamp()
    FROM answered, json_to_recordset(%(ratings)s::json)
        AS r(criterion bigint, stimulus bigint, label text, score float8) RETURNING 1
), reason AS (
    INSERT INTO listening_justification (trial_id, text, keystrokes, pasted_chars, typing_ms)
    SELECT answered.id, %(text)s, %(keystrokes)s, %(pasted_chars)s, %(typing_ms)s
    FROM answered WHERE %(text)s <> '' RETURNING 1
)
SELECT count(*) FROM rated
"""
# How the traps of a block went for its session.
OUTCOMES = f"""
SELECT trap, coalesce(trap_passed, false) AS passed FROM listening_trial
WHERE session_id = %(session)s AND block_id = %(block)s AND {ANSWERED}
    AND trap NOT IN ('', '{TRAINING}')
"""
# A clip is on its way to a rater; the first time counts.
FETCHED = """
UPDATE listening_trial SET fetched = fetched | %(clip)s,
    fetched_at = coalesce(fetched_at, statement_timestamp())
WHERE id = %(trial)s AND fetched & %(clip)s = 0 RETURNING id
"""
SKIP = f"""
WITH lease AS ({EXTENDED} RETURNING id)
UPDATE listening_trial t SET {SKIPPED}, answered_at = statement_timestamp(),
    playback = %(playback)s::jsonb
FROM lease WHERE t.id = %(trial)s AND t.{PLANNED} RETURNING t.id
"""
