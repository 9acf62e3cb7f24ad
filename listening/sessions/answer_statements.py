"""The statements that run for every answer and every clip sent, prepared once per connection.

An answer needs the clips of its trial: which were sent to their last byte is noted here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Sequence
from functools import lru_cache
from typing import Any

from django.core.cache import cache
from msgspec import Raw, Struct
from msgspec.json import decode

from listening.audio import ClipRequest
from listening.common.statements import Statement, rows_of
from listening.design.traps import TRAINING, TrapPlan, judge_block, judge_blocks
from listening.models import Block, Session, Trial
from listening.sessions.leases import ANSWERED, FULL_LEASE_OF, PLANNED, SKIPPED, VOID
from listening.sessions.task_rules import task_rules

# `asked` in these parts of a statement: codes of a session and of one of its trials. `mine`: the
# session's trials, read before.

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
      FROM mine p WHERE p.session_id = t.session_id AND p.answered_at IS NOT NULL
      UNION ALL
      SELECT (SELECT p.answered_at FROM mine p
              WHERE p.session_id = t.session_id AND p.answered_at IS NOT NULL
              ORDER BY p.answered_at DESC, p.position DESC OFFSET %(ahead)s - 1 LIMIT 1), 0) d
"""
# A session, and what its page needs of its study and its rater.
SITTING = """
SELECT s.id AS pk, s.code, s.status, s.ready, s.checks::text, s.questionnaires::text, s.comment,
       s.prolific_session, t.title, coalesce(nullif(s.language, ''), t.language) AS language,
       t.texts::text, t.translations::text, t.checks::text AS study_checks,
       t.questionnaires::text AS questions,
       t.completion_codes::text, t.break_every, s.review, s.rejected_because,
       s.prolific_session <> '' OR r.prolific_id IS NOT NULL AS from_prolific,
       s.source, t.sources::text, s.external_session, s.external_project, t.source_secrets::text,
       r.external_id, t.owner_id, t.id AS study,
       t.wording, s.wording_last, t.link, r.code AS rater
FROM listening_session s JOIN listening_study t ON t.id = s.study_id
JOIN listening_rater r ON r.id = s.rater_id WHERE s.code = asked.session
"""
# A trial, and what stands around it.
TRIAL = f"""
SELECT t.id, t.code, t.state, t.position, t.task_id, t.block_id, t.slot_id, t.item_id,
       t.stimulus_id, t.versus_id, t.others, t.context,
       t.versus_first, t.trap, t.expected::text, r.simulated,
       plan.current, plan.left_in_block, plan.left, t.fetched,
       clips.sum_s, clips.start_s, least(
           listened.spare_s, extract(epoch FROM statement_timestamp() - t.fetched_at)) AS spare_s
FROM mine t JOIN listening_session s ON s.id = t.session_id
JOIN listening_rater r ON r.id = t.rater_id,
LATERAL (SELECT sum(duration_s) AS sum_s, sum(least(duration_s, %(start)s)) AS start_s
    FROM listening_stimulus
    WHERE id IN (t.stimulus_id, t.versus_id) OR id = ANY(t.others) OR id = ANY(t.context)) clips,
LATERAL (SELECT min(p.position) FILTER (WHERE p.{PLANNED}) AS current,
        count(*) FILTER (WHERE p.{PLANNED}) AS left,
        count(*) FILTER (WHERE p.{PLANNED} AND p.block_id = t.block_id) AS left_in_block,
        coalesce(min(p.fetched_at), s.started_at) AS first_fetch
    FROM mine p WHERE p.session_id = t.session_id) plan,
LATERAL ({SPARE}) listened
WHERE t.code = asked.code AND s.code = asked.session
"""

# The trials that come next, without the one that is answered just now, and their clips: as JSON.
UPCOMING = f"""
SELECT coalesce(json_agg(u), '[]') FROM (
    SELECT t.id AS pk, t.code, t.task_id, t.block_id, t.item_id, t.stimulus_id, t.versus_id,
           t.versus_first, t.others, t.context, t.trap,
           (SELECT json_agg(c) FROM (
                SELECT c.id, c.served, c.lines, c.trimmed_s, i.text, i.dimension,
                       c.attributes->>'caption' AS caption
                FROM listening_stimulus c JOIN listening_item i ON i.id = c.item_id
                WHERE c.id IN (t.stimulus_id, t.versus_id) OR c.id = ANY(t.others)
                    OR c.id = ANY(t.context)) c) AS clips
    FROM mine t JOIN listening_session s ON s.id = t.session_id
    WHERE s.code = asked.session AND t.{PLANNED} AND t.code <> asked.code
    ORDER BY t.position LIMIT %(ahead)s) u
"""
# All that is read for some answers, or states, in one go. Without a lock, so WRITE looks again; who
# wants what is read to hold until then locks the session first.
LOCK = "SELECT id FROM listening_session WHERE code = %(session)s FOR NO KEY UPDATE"
READ = " ".join(
    f"""
SELECT (
    WITH mine AS MATERIALIZED (
        SELECT p.id, p.session_id, p.rater_id, p.code, p.state, p.position, p.task_id, p.block_id,
               p.slot_id, p.item_id, p.stimulus_id, p.versus_id, p.others, p.context,
               p.versus_first, p.trap, p.expected, p.fetched, p.fetched_at, p.answered_at,
               p.needed_s
        FROM listening_trial p JOIN listening_session s ON s.id = p.session_id
        WHERE s.code = asked.session ORDER BY p.position)
    SELECT json_build_object(
        'sitting', (SELECT row_to_json(sitting) FROM ({SITTING}) sitting),
        'trial', (SELECT row_to_json(trial) FROM ({TRIAL}) trial),
        'upcoming', ({UPCOMING}),
        'answered', count(*) FILTER (WHERE p.{ANSWERED} OR p.{SKIPPED}),
        'left', count(*) FILTER (WHERE p.{PLANNED}), 'lost', count(*) FILTER (WHERE p.{VOID}),
        'tasks', coalesce(json_agg(p.task_id), '[]'))::text
    FROM mine p)
FROM unnest(%(sessions)s::text[], %(codes)s::text[]) WITH ORDINALITY AS asked(session, code, n)
ORDER BY n
""".split()
)  # one of up to 4,096 characters is parsed once by psycopg, not each time
# What some answers, or a skip, change: those of `given` whose session listens and holds the block
# and whose trial is planned. What was read before may be old: it is looked at again here, and
# nothing is stored where it is. Locked in the order of all who change them: session, block, trial.
# `|| ''`, `+ 0`: by the primary key; while its counts are old, PostgreSQL would walk through all.
HELD_OF = f"""
    SELECT given.* FROM given,
    LATERAL (SELECT id FROM listening_session WHERE id = given.session AND ready
        AND status || '' = '{Session.Status.STARTED}' FOR NO KEY UPDATE {{wait}}) s,
    LATERAL (SELECT id FROM listening_block WHERE id = given.block AND session_id = s.id
        AND state + 0 = {Block.State.LEASED} FOR NO KEY UPDATE {{wait}}) b,
    LATERAL (SELECT id FROM listening_trial WHERE id = given.trial AND block_id = b.id
        AND {PLANNED} FOR NO KEY UPDATE {{wait}}) t
"""
EXTENDED = f"""
    UPDATE listening_block b SET {FULL_LEASE_OF.format(lease_s="held.lease_s")}
    FROM held WHERE b.id = held.block
"""
# One statement, so that each answer is stored whole or not at all; it tells which are. What comes
# twice is stored once: whose trial it was the first time has all.
WRITE_OF = f"""
WITH given AS (
    SELECT * FROM json_to_recordset(%(answers)s::json) AS g(n int, session bigint, block bigint,
        lease_s float8, trial bigint, slot bigint, counts boolean, trap_passed boolean,
        needed_s float8, latency_ms int, plays int, heard float8, playback jsonb, ratings json,
        text text, keystrokes int, pasted_chars int, typing_ms int)
), held AS MATERIALIZED ({HELD_OF}), lease AS ({EXTENDED}), answered AS (
    UPDATE listening_trial t SET {ANSWERED}, answered_at = statement_timestamp(),
        latency_ms = held.latency_ms, plays = held.plays, heard_fraction = held.heard,
        playback = held.playback, trap_passed = held.trap_passed, needed_s = held.needed_s
    FROM held WHERE t.id = held.trial RETURNING t.id, held.*
), rated AS (
    INSERT INTO listening_rating
        (trial_id, slot_id, criterion_id, stimulus_id, label, score, counts, rated_at)
    SELECT answered.id, slot, r.criterion, r.stimulus, r.label, r.score, counts,
        statement_timestamp()
    FROM answered, json_to_recordset(ratings)
        AS r(criterion bigint, stimulus bigint, label text, score float8)
), reason AS (
    INSERT INTO listening_justification (trial_id, text, keystrokes, pasted_chars, typing_ms)
    SELECT id, text, keystrokes, pasted_chars, typing_ms FROM answered WHERE text <> ''
)
SELECT n FROM answered
"""
WRITE = WRITE_OF.format(wait="")
# Of many answers at once: whose rows are locked by somebody is left out, and keeps nobody waiting.
WRITE_FREE = WRITE_OF.format(wait="SKIP LOCKED")
# How the traps of a block went for its session.
OUTCOMES = f"""
SELECT trap, coalesce(trap_passed, false) AS passed FROM listening_trial
WHERE session_id = %(session)s AND block_id = %(block)s AND {ANSWERED}
    AND trap NOT IN ('', '{TRAINING}')
"""
# The same for all blocks of a task that the session has ended, and the blocks that it still has.
# Clips that are no traps are among them: a block whose traps were all skipped is judged, too.
SESSION_OUTCOMES = f"""
SELECT block_id, trap, coalesce(trap_passed, false) AS passed FROM listening_trial t
WHERE session_id = %(session)s AND task_id = %(task)s AND {ANSWERED}
    AND NOT EXISTS (SELECT FROM listening_trial o
        WHERE o.session_id = %(session)s AND o.block_id = t.block_id
        AND NOT (o.{ANSWERED} OR o.{SKIPPED}))
ORDER BY position
"""
ENDED_BLOCKS = f"""
SELECT id FROM listening_block
WHERE session_id = %(session)s AND task_id = %(task)s
    AND (id = %(block)s OR state = {Block.State.DONE})
ORDER BY id FOR NO KEY UPDATE
"""


def trap_steps(
    plan: TrapPlan, *, session: int, task: int, block: int
) -> Generator[Statement, Any, bool]:
    """Whether a session passed the traps of a block, or of all its blocks where one voids all."""
    facts = {"session": session, "task": task, "block": block}
    if plan.voids == "session":
        return judge_blocks(plan, (yield Statement(SESSION_OUTCOMES, facts))).valid
    return judge_block(plan, (yield Statement(OUTCOMES, facts))).valid


# A clip is on its way to a rater; the first time counts.
FETCHED = """
UPDATE listening_trial SET fetched = fetched | %(clip)s,
    fetched_at = coalesce(fetched_at, statement_timestamp())
WHERE id = %(trial)s AND (fetched & %(clip)s <> %(clip)s OR fetched_at IS NULL) RETURNING id
"""
# The same of many trials, each once, by bits of its clips. Tells of which it is not noted, since
# somebody has locked them: nobody is waited for.
FETCHED_FREE = """
WITH given AS (
    SELECT g.* FROM json_to_recordset(%(fetched)s::json) AS g(trial bigint, clips bigint),
    LATERAL (SELECT FROM listening_trial
        WHERE id = trial AND (fetched & clips <> clips OR fetched_at IS NULL)) t
), free AS MATERIALIZED (
    SELECT given.* FROM given,
    LATERAL (SELECT FROM listening_trial WHERE id = trial FOR NO KEY UPDATE SKIP LOCKED) t
), noted AS (
    UPDATE listening_trial t SET fetched = t.fetched | free.clips,
        fetched_at = coalesce(t.fetched_at, statement_timestamp())
    FROM free WHERE t.id = free.trial
)
SELECT trial FROM given WHERE trial NOT IN (SELECT trial FROM free)
"""
SKIP = f"""
WITH given AS (
    SELECT %(session)s::bigint AS session, %(block)s::bigint AS block, %(trial)s::bigint AS trial,
        %(lease_s)s::float8 AS lease_s
), held AS MATERIALIZED ({HELD_OF.format(wait="")}), lease AS ({EXTENDED})
UPDATE listening_trial t SET {SKIPPED}, answered_at = statement_timestamp(),
    playback = %(playback)s::jsonb
FROM held WHERE t.id = held.trial RETURNING t.id
"""
MOST_CLIPS = 62  # bits of the column that are told apart; clips from there on share the last one
FIRST_SECONDS_BYTES = 64 * 1024  # of a long clip of which a task asks for its first seconds
KEPT_S = 24 * 3600  # as long as browsers keep the parts that they have
Span = tuple[int, int]  # first byte, and the one after the last


# What is kept of trials for a crowd is nothing that Python's collector of garbage looks through: of
# 10,000 raters it took 0.4 s, in which nobody was answered.


class Clip(Struct, frozen=True, gc=False):
    """A clip as the page of its trial needs it."""

    id: int
    served: str
    lines: Raw
    trimmed_s: float
    text: str
    dimension: str
    caption: str | None


class Upcoming(Struct, frozen=True, eq=False, gc=False):
    """A trial that comes next; the same object for the same content: see `upcoming_of`."""

    pk: int
    code: str
    task_id: int
    block_id: int
    item_id: int
    stimulus_id: int
    versus_id: int | None
    versus_first: bool
    others: tuple[int, ...]
    context: tuple[int, ...]
    trap: str
    clips: tuple[Clip, ...]


@lru_cache(maxsize=32_768)  # each trial is read again at each of the answers before it
def upcoming_of(content: bytes) -> Upcoming:
    """Return a trial that comes next, of its JSON."""
    return decode(content, type=Upcoming)


class Sitting(Struct):
    """A session as READ finds it; what is JSON comes as text."""

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
    study_checks: str
    questions: str
    completion_codes: str
    break_every: int
    review: str
    rejected_because: str
    from_prolific: bool
    source: str
    sources: str
    external_session: str
    external_project: str
    source_secrets: str
    external_id: str | None
    owner_id: int
    study: int
    wording: int
    wording_last: int
    link: str
    rater: str  # the code


class LoadedTrial(Struct):
    """A trial as READ finds it, its clips' lengths, and where its session stands."""

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
    """What READ returns of each that is asked."""

    sitting: Sitting | None
    trial: LoadedTrial | None
    upcoming: list[Raw]
    answered: int
    left: int
    lost: int  # trials whose block went back
    tasks: list[int] = []


def all_of(clips: int) -> int:
    """The bits of a trial's clips, all of them."""
    return (1 << min(clips, MOST_CLIPS + 1)) - 1


def fetch_values(clip: ClipRequest, *, sent: bool = True) -> dict[str, int]:
    """Return what the statement FETCHED stores of a trial's clip: sent, or only begun."""
    return {"trial": clip.trial, "clip": 1 << min(clip.place, MOST_CLIPS) if sent else 0}


def record_fetch(clip: ClipRequest, *, sent: bool = True) -> None:
    """Store that a clip was sent, or that sending began; examples belong to no trial."""
    if clip.trial:
        rows_of(FETCHED, **fetch_values(clip, sent=sent))


def joined(spans: Sequence[Span], span: Span) -> list[Span]:
    """Return the spans with one more, sorted, and joined where they touch."""
    result: list[Span] = []
    for first, end in sorted([*spans, span]):
        if result and first <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((first, end))
    return result


def required_bytes(trial: int, size: int) -> int:
    """Return how many bytes of a long clip of this size a rater must get before an answer."""
    task: int | None = Trial.objects.values_list("task_id", flat=True).filter(pk=trial).first()
    share = task_rules(task).playback.share if task else 1
    return min(size, FIRST_SECONDS_BYTES) if share is None else max(1, round(share * size))


def sent_spans(token: str) -> list[Span]:
    """Return which bytes of a clip were sent in earlier parts."""
    return [(first, end) for first, end in cache.get(_key(token), ())]


def keep_span(token: str, span: Span) -> None:
    """Keep that one part of a clip was sent."""
    cache.set(_key(token), joined(sent_spans(token), span), KEPT_S)


def _key(token: str) -> str:
    return f"sent:{hashlib.sha256(token.encode()).hexdigest()}"
