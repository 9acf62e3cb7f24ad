"""Every stored rating of a study, as a plain pseudonymous row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

from django.core.exceptions import EmptyResultSet
from django.db import connection, transaction
from django.db.models import QuerySet

from listening.methods import method_named
from listening.models import Rating, Study
from listening.review.outcomes import used_codes, used_reviews


class RatingRow(TypedDict):
    """One rating as it leaves the room: pseudonymous, one row each, traps included."""

    study: str
    task: str
    method: str
    criterion: str
    estimand: str
    session: str
    rater: str
    block: str
    position: int
    item: str
    dimension: str
    paragraph: str
    language: str
    split: str
    condition: str
    role: str  # of the condition: test, reference or anchor; empty for conditions of traps
    system: str
    voice: str
    stimulus: str
    versus_condition: str
    versus_stimulus: str
    presented_first: str
    context: str
    label: str
    score: float | None  # None: the answer has no number, as text has none
    trap: str
    trap_passed: bool | None
    justification: str
    review: str  # fit or unfit, from reviews that are in use; "" where nothing is decided
    latency_ms: int | None
    plays: int | None
    heard_fraction: float | None
    rated_at: str
    session_status: str
    paid: bool
    counts: bool  # does it fill a place of the plan? never for traps
    headphones: bool | None  # what checks and the answer of this session say; None: not asked
    codes: str  # of the justification, "a|b", from reviews that are in use
    version: str  # of the study: "1" unless it is a later one


# False if any headphone check failed or the rater said "loudspeaker"; per session, not per rating.
HEARING = """
WITH hearing AS MATERIALIZED (
    SELECT s.id, CASE
        WHEN jsonb_path_exists(s.checks,
            '$.keyvalue() ? (@.key == "huggins" || @.key == "antiphase" || @.key == "stereo")
                .value.passed ? (@ == false)')
            OR jsonb_path_exists(s.questionnaires,
                '$.*.answers.listening_device ? (@ == "loudspeaker")') THEN false
        WHEN jsonb_path_exists(s.checks,
            '$.keyvalue() ? (@.key == "huggins" || @.key == "antiphase" || @.key == "stereo")
                .value.passed ? (@ == true)')
            OR jsonb_path_exists(s.questionnaires,
                '$.*.answers.listening_device ? (@ == "in_ear" || @ == "over_ear")') THEN true
        END AS headphones
    FROM listening_session s JOIN listening_study st ON st.id = s.study_id
    WHERE st.key = %s AND NOT s.pilot)
"""
RATINGS = """
SELECT st.key, k.key, k.method, c.key, 's' || t.session_id, r.code, 'b' || t.block_id, t.position,
    i.key, i.dimension, i.paragraph, coalesce(nullif(i.language, ''), st.language), i.split,
    co.key, replace(co.role, 'trap', ''), co.system, co.voice, x.key,
    coalesce(vc.key, ''), coalesce(v.key, ''),
    CASE WHEN v.id IS NOT NULL THEN t.versus_first END,
    concat_ws(' ', (SELECT string_agg(y.key, ' ' ORDER BY o.place) FROM unnest(t.context)
        WITH ORDINALITY AS o(id, place) JOIN listening_stimulus y ON y.id = o.id),
        (SELECT string_agg(coalesce(nullif(l.line->>'stimulus', ''),
            'text:' || replace(l.line->>'item', ' ', '_')), ' ' ORDER BY l.place)
        FROM jsonb_array_elements(x.lines) WITH ORDINALITY AS l(line, place)
        WHERE l.line->>'role' = 'context')),
    q.label, q.score, t.trap, t.trap_passed, coalesce(j.text, ''), t.latency_ms, t.plays,
    t.heard_fraction, to_char(q.rated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    s.status, s.paid, q.counts, w.headphones, st.version::text, t.id
FROM {ratings} q
JOIN listening_trial t ON t.id = q.trial_id
JOIN listening_session s ON s.id = t.session_id
JOIN hearing w ON w.id = s.id
JOIN listening_rater r ON r.id = s.rater_id
JOIN listening_task k ON k.id = t.task_id
JOIN listening_study st ON st.id = s.study_id
JOIN listening_criterion c ON c.id = q.criterion_id
JOIN listening_stimulus x ON x.id = q.stimulus_id
JOIN listening_condition co ON co.id = x.condition_id
JOIN listening_item i ON i.id = x.item_id
LEFT JOIN listening_stimulus v ON v.id = t.versus_id
LEFT JOIN listening_condition vc ON vc.id = v.condition_id
LEFT JOIN listening_justification j ON j.trial_id = t.id
WHERE st.key = %s ORDER BY q.id
"""
FIRST = 20  # the column of the query that becomes `presented_first`
BEFORE_REVIEW = 27  # columns of the query that stand before `review`


def rating_rows(study: str, chosen: QuerySet[Rating] | None = None) -> Iterator[RatingRow]:
    """The stored ratings of a study in the order of storing, read in pieces, never all at once.

    Every one, or those that are chosen.
    """
    keys = tuple(RatingRow.__annotations__)
    ratings, values = "listening_rating", ()
    if chosen is not None:
        try:
            picked, values = chosen.query.sql_with_params()
        except EmptyResultSet:  # no database has to be asked
            return
        ratings = f"({picked} OFFSET 0)"  # picked first, and joined then
    row_of = Study.objects.get(key=study)
    reviews, codes = used_reviews(row_of), used_codes(row_of)
    with transaction.atomic():
        raw = connection.connection
        if chosen is not None:  # a few: all of them soon, not the first tenth of all soon
            raw.execute("SET LOCAL cursor_tuple_fraction = 1")
        with raw.cursor(name="rating_rows") as cursor:
            cursor.itersize = 5000
            cursor.execute(HEARING + RATINGS.format(ratings=ratings), [study, *values, study])
            for row in cursor:
                method = method_named(row[2])
                order = row[FIRST]  # None where nothing was compared
                first = "" if order is None else method.presented_first(versus_first=order)
                head = (*row[:4], method.estimand.key, *row[4:FIRST], first)
                *rest, version, trial = row[BEFORE_REVIEW:]
                said, coded = reviews.get(trial, ""), codes.get(trial, "")
                tail = (*row[FIRST + 1 : BEFORE_REVIEW], said, *rest, coded, version)
                yield dict(zip(keys, (*head, *tail), strict=True))  # type: ignore[misc]  # keys are RatingRow's
