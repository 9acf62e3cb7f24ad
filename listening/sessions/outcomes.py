"""How a session ends for its rater: its outcome, what makes it doubtful, its completion code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from listening.common.secret_seeds import secret_seed
from listening.common.statements import Statement, Steps
from listening.design.providers import Visit
from listening.design.sources import Source, source_named
from listening.design.studyfile.entries import OUTCOMES
from listening.models import Session
from listening.models.codes import ALPHABET

SKIPS_ALLOWED = 2  # of a session, however short it is
SKIPPED_SHARE_ALLOWED = 0.2  # of its trials
SKIPPED_BY_OTHERS = 2  # a clip that so many others could not play either is held against nobody
REVIEW = {  # key in Session.review -> what the researcher reads
    "skips": "skipped many clips that others could play",
    "pace": "answered in less time than the clips last",
    "facts": "sent answers without the playback facts of the page",
    "scripts": "answered although the scripts of the page never ran",
}

OUTCOME_OF = {
    Session.Status.FINISHED: "complete",
    Session.Status.WITHDRAWN: "withdrawn",
    Session.Status.REJECTED: "complete",  # the rater did the work; the verdict is not for this page
    Session.Status.EXPIRED: "partial",
    Session.Status.SCREENED: "screened_out",
}
# An answer of a client that plays nothing: each page of ours sends these facts with an answer.
WITHOUT_FACTS = "NOT coalesce({playback} ?& ARRAY['heard_s', 'duration_s', 'plays_each'], false)"
COURSE = f"""
WITH own AS (SELECT t.* FROM listening_trial t
    WHERE t.session_id = %(session)s AND t.state IN ('answered', 'skipped')),
others AS (SELECT o.stimulus_id, count(DISTINCT o.session_id) AS sessions FROM listening_trial o
    WHERE o.state = 'skipped' AND o.session_id <> %(session)s
      AND o.stimulus_id = ANY(ARRAY(SELECT stimulus_id FROM own WHERE state = 'skipped'))
    GROUP BY o.stimulus_id)
SELECT count(*) AS trials, coalesce(sum(own.needed_s), 0)::float AS needed_s,
    count(*) FILTER (WHERE own.state = 'skipped'
        AND coalesce(others.sessions, 0) < %(by_others)s) AS skips,
    extract(epoch FROM max(own.answered_at) - min(own.fetched_at))::float AS took_s,
    count(*) FILTER (WHERE own.state = 'answered'
        AND {WITHOUT_FACTS.format(playback="own.playback")}) AS without_facts,
    (SELECT scripts_ran FROM listening_session WHERE id = %(session)s) AS scripts_ran
FROM own LEFT JOIN others ON others.stimulus_id = own.stimulus_id
"""


# Its last trial is dealt with, and its row is locked.
FINISH = f"""
UPDATE listening_session SET review = %(review)s, finished_at = statement_timestamp(),
    status = CASE WHEN short THEN '{Session.Status.EXPIRED}' ELSE '{Session.Status.FINISHED}' END
WHERE id = %(session)s RETURNING status, review, finished_at
"""


def review_of(course: Sequence[Any], *, simulated: bool) -> str:
    """Why a person should look at a session before it is paid: keys of `REVIEW`, mostly none.

    ``course``: a row of COURSE.
    """
    trials, needed_s, skips, took_s, without_facts, scripts_ran = course
    reasons = []
    if skips > max(SKIPS_ALLOWED, SKIPPED_SHARE_ALLOWED * trials):
        reasons.append("skips")
    if took_s is not None and took_s < needed_s and not simulated:
        reasons.append("pace")
    if without_facts:
        reasons.append("facts")
    if scripts_ran is False:
        reasons.append("scripts")
    return " ".join(reasons)


def finish_steps(session: int, *, simulated: bool) -> Steps[Any]:
    """End a locked session that has nothing left to answer; the row that FINISH returns."""
    values = {"session": session, "by_others": SKIPPED_BY_OTHERS}
    (course,) = yield Statement(COURSE, values)
    review = review_of(course, simulated=simulated)
    (finished,) = yield Statement(FINISH, {"session": session, "review": review})
    return finished


def outcome_of(status: str, review: str) -> str:
    """One of `OUTCOMES`, "withdrawn", or "" before the end; a doubtful one "needs_review"."""
    outcome = OUTCOME_OF.get(Session.Status(status), "")
    return "needs_review" if outcome == "complete" and review else outcome


def review_words(review: str) -> list[str]:
    """What `Session.review` says, in words for the researcher."""
    return [REVIEW[key] for key in review.split()]


def completion_code_of(
    outcome: str,
    codes: Mapping[str, Any],
    *,
    session: str,
    from_prolific: bool,
    source: Source | None = None,
    visit: Visit | None = None,
    secret: str = "",
) -> str:
    """What the rater takes along: the study's code on Prolific, that of the source if it has one
    or signs one, elsewhere one of the session's own.

    A code that all raters share can be passed on; a session's own is worth something only once, and
    stands beside the session in the researcher's table and in sessions.csv. Studies made before
    doubtful sessions had a code of their own give the one for "complete".
    """
    if source is not None and not from_prolific and (own := source.code(outcome, visit, secret)):
        return own
    if outcome not in OUTCOMES or not codes:
        return ""
    if from_prolific:
        spare = codes.get("complete", "") if outcome == "needs_review" else ""
        return str(codes.get(outcome) or spare)
    number = int(secret_seed("completion", session, outcome), 16)
    letters = (number // len(ALPHABET) ** place % len(ALPHABET) for place in range(8))
    return "".join(ALPHABET[letter] for letter in letters).upper()


def code_at_end(session: Session) -> str:
    """The code that the rater of an ended session takes along; "" while it goes on."""
    study, source = session.study, source_named(session.study.sources, session.source)
    return completion_code_of(
        outcome_of(session.status, session.review),
        study.completion_codes,
        session=session.code,
        from_prolific=bool(session.prolific_session or session.rater.prolific_id),
        source=source,
        visit=visit_of(
            source,
            owner=study.owner_id,
            study=study.pk,
            identity=session.rater.external_id,
            submission=session.external_session,
            project=session.external_project,
        ),
        secret=study.source_secret(session.source),
    )


def visit_of(
    source: Source | None,
    *,
    owner: int,
    study: int,
    identity: str | None,
    submission: str,
    project: str,
) -> Visit:
    """The ids by which a session's rater came; empty for another source's, or none."""
    if source is None:
        return Visit()
    participant = source.participant_in(identity or "", owner=owner, study=study)
    return Visit(participant, submission, project)
