"""A study with a million ratings, written by the database itself: 20,000 sessions, 2,000 clips."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

CONDITIONS, ITEMS, BLOCK, BLOCKS_PER_SESSION, TRAPS = 20, 100, 10, 5, 2
PER_SESSION = BLOCK * BLOCKS_PER_SESSION
DAYS = 30
SPARE = 1.05  # so many times the ratings are planned: the study is still open
TRAP_PLAN = {
    "placement": "outside",
    "per": 25,
    "kinds": [{"kind": "flawed", "count": 1, "expected": ["1", "2"], "pass_at_least": 1}],
}
# One in fifty sessions is rejected, one in a hundred is simulated; one trap in ten is failed; a
# tenth of the ratings have a reason; ratings come over 30 days, with a pause in between.
WRITE = """
SET LOCAL session_replication_role = replica;
CREATE TEMP TABLE clip ON COMMIT DROP AS
    SELECT row_number() OVER (ORDER BY id) - 1 AS n, id, item_id, (row_number() OVER (ORDER BY id)
        - 1) / %(items)s AS c FROM listening_stimulus WHERE study_id = %(study)s AND trap = '';
CREATE TEMP TABLE flaw ON COMMIT DROP AS
    SELECT row_number() OVER (ORDER BY id) - 1 AS n, id, item_id
    FROM listening_stimulus WHERE study_id = %(study)s AND trap = 'flawed';
INSERT INTO listening_rater (code, simulated, created_at)
    SELECT 'r%(study)s-' || n, n %% 100 = 7, now() FROM generate_series(0, %(sessions)s - 1) n;
INSERT INTO listening_session (rater_id, study_id, code, status, prolific_study, prolific_session,
        source, external_session, consent_version, language, ready, checks, questionnaires, comment,
        device, short, review, rejected_because, paid, origin, browser_of, agent, started_at,
        finished_at, wording_first, wording_last, pilot)
    SELECT r.id, %(study)s, r.code, CASE WHEN n %% 50 = 3 THEN 'rejected' ELSE 'finished' END, '',
        '', '', '', '1', '', true, '{}', '{"end": {"answers": {"listening_device": "over_ear"}}}',
        '', (ARRAY['desktop', 'desktop', 'phone', 'tablet'])[n %% 4 + 1], false, '',
        CASE WHEN n %% 50 = 3 THEN 'traps failed' ELSE '' END, false, '', '', '', begun.at,
        begun.at + interval '12 minutes', 0, 0, false
    FROM listening_rater r, LATERAL (SELECT split_part(r.code, '-', 2)::bigint AS n) k,
    LATERAL (SELECT now() - interval '1 day' * %(days)s * (1 - n::float / %(sessions)s) AS at) begun
    WHERE r.code LIKE 'r%(study)s-%%';
CREATE TEMP TABLE sat ON COMMIT DROP AS
    SELECT split_part(code, '-', 2)::bigint AS n, id, rater_id, started_at
    FROM listening_session WHERE study_id = %(study)s;
CREATE UNIQUE INDEX ON sat (n);
INSERT INTO listening_block (task_id, replicate, ord, keys, state, session_id)
    SELECT %(task)s, b / (%(clips)s / 10), b, '{}', CASE WHEN s.id IS NULL THEN 0 ELSE 2 END, s.id
    FROM generate_series(0, %(planned)s / 10 - 1) b LEFT JOIN sat s ON s.n = b / 5 ORDER BY b;
CREATE TEMP TABLE held ON COMMIT DROP AS
    SELECT ord AS n, id FROM listening_block WHERE task_id = %(task)s;
CREATE UNIQUE INDEX ON held (n);
INSERT INTO listening_slot (block_id, task_id, position, stimulus_id, versus_first, others, context,
        replicate, ratings_per_stimulus)
    SELECT h.id, %(task)s, g.k %% 10, c.id, false, '{}', '{}', g.k / %(clips)s,
        %(ratings_per_stimulus)s
    FROM generate_series(0, %(planned)s - 1) g(k) JOIN held h ON h.n = g.k / 10
    JOIN clip c ON c.n = g.k %% %(clips)s ORDER BY g.k;
INSERT INTO listening_trial (session_id, rater_id, task_id, block_id, slot_id, code, position,
        stimulus_id, versus_first, others, context, item_id, trap, expected, state, answered_at,
        latency_ms, plays, heard_fraction, playback, fetched)
    SELECT s.id, s.rater_id, %(task)s, l.block_id, l.id, substr(md5(l.id::text), 1, 20),
        h.n %% 5 * 10 + l.position, l.stimulus_id, false, '{}', '{}', c.item_id, '', '[]',
        'answered', s.started_at + interval '12 seconds' * (h.n %% 5 * 10 + l.position),
        1500 + hashint8(l.id) %% 1000, 1 + abs(hashint8(l.id)) %% 3, 1,
        '{"stalls": 0, "hidden_ms": 0}', 1
    FROM listening_slot l JOIN held h ON h.id = l.block_id JOIN sat s ON s.n = h.n / 5
    JOIN clip c ON c.id = l.stimulus_id WHERE l.task_id = %(task)s ORDER BY l.id;
INSERT INTO listening_trial (session_id, rater_id, task_id, block_id, code, position,
        stimulus_id, versus_first, others, context, item_id, trap, expected, trap_passed, state,
        answered_at, latency_ms, plays, heard_fraction, playback, fetched)
    SELECT s.id, s.rater_id, %(task)s, h.id, 't%(task)s-' || s.n || '-' || k, 50 + k, f.id, false,
        '{}', '{}', f.item_id, 'flawed', '["1", "2"]', (s.n + k) %% 10 > 0, 'answered',
        s.started_at + interval '11 minutes', 2000, 1, 1, '{"stalls": 0, "hidden_ms": 0}', 1
    FROM sat s JOIN held h ON h.n = s.n * 5, generate_series(0, %(traps)s - 1) k
    JOIN flaw f ON f.n = k;
INSERT INTO listening_rating (trial_id, slot_id, criterion_id, stimulus_id, label, score, counts,
        rated_at)
    SELECT t.id, t.slot_id, %(criterion)s, t.stimulus_id, given.score::text, given.score,
        t.trap = '', t.answered_at
    FROM listening_trial t LEFT JOIN clip c ON c.id = t.stimulus_id, LATERAL (SELECT CASE
        WHEN t.trap <> '' THEN 2 - t.trap_passed::int ELSE least(5, greatest(1, round(2.2
        + c.c / 10.0 + (abs(hashint8(t.id)) %% 1000) / 500.0 - 0.7))) END AS score) given
    WHERE t.task_id = %(task)s ORDER BY t.answered_at, t.id;
INSERT INTO listening_justification (trial_id, text, keystrokes, pasted_chars, typing_ms)
    SELECT id, 'the pauses of clip ' || stimulus_id || ' are too even', 40, 0, 9000
    FROM listening_trial WHERE task_id = %(task)s AND slot_id %% 10 = 4;
INSERT INTO listening_studyevent (study_id, key, owner_id, by, what, details, at)
    SELECT %(study)s, 'k', %(owner)s, 'ada', (ARRAY['paused', 'opened', 'exported'])[n %% 3 + 1],
        '{"sessions": 3}', now() - interval '1 day' * %(days)s * (1 - n::float / %(events)s)
    FROM generate_series(0, %(events)s - 1) n;
"""


def rated_study(key: str, ratings: int, *, events: int = 30, **fields: Any) -> Any:
    """An open MOS study with so many ratings that count, a multiple of 2,000."""
    from django.db import connection, transaction

    from benchmarks.material import add_task, make_study

    clips = CONDITIONS * ITEMS
    planned = int(ratings * SPARE) // clips * clips or clips
    study = make_study(key, conditions=CONDITIONS, items=ITEMS, traps=TRAPS, **fields)
    study.opened_at = study.created_at - timedelta(days=DAYS)
    study.save(update_fields=["opened_at"])
    task = add_task(
        study, "mos", block_size=BLOCK, ratings_per_stimulus=planned // clips, traps=TRAP_PLAN
    )
    values = {
        "study": study.pk,
        "task": task.pk,
        "criterion": task.criteria.get().pk,
        "owner": study.owner_id,
        "clips": clips,
        "items": ITEMS,
        "sessions": ratings // PER_SESSION,
        "planned": planned,
        "ratings_per_stimulus": planned // clips,
        "traps": TRAPS,
        "days": DAYS,
        "events": events,
    }
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(WRITE % values)
    return study
