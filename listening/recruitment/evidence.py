"""What is known of a session when its pay is decided: facts with numbers, never a verdict."""

from __future__ import annotations

from dataclasses import dataclass, fields
from statistics import fmean, stdev

from listening.common.counted import counted
from listening.common.statements import rows_of
from listening.models import Study
from listening.models.sealed import unseal
from listening.sessions.outcomes import WITHOUT_FACTS, outcome_of, review_words
from listening.studies.length import session_length

# Traps that say what to answer. All others judge by ear: measures of quality, no ground to reject.
FAIR_CHECKS = ("attention", "instruction", "instructional")
COMPARED_WITH = 10  # sessions that finished: fewer say nothing of what is usual
TYPED_PER_S = 12.0  # keystrokes: 144 words a minute, sustained over a whole reason
TYPED_CHARACTERS = 20  # of a reason, below which its typing speed says little
# Two people do write "It sounds like a real person." From this width on (letters, ten or so words;
# a Chinese, Japanese or Korean character counts as three) they do not write the same.
SHARED_WIDTH = 60
WIDTH = r"""
    (length(trim({text}))
        + 2 * length(regexp_replace({text}, '[^\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]', '', 'g')))
"""
IS_OWN = f"{WIDTH.format(text='j.text')} >= %(shared_width)s"
SHORT_STUDY_MIN = 5.0  # below it one failed attention check is enough, from it on two

SHARED_BY_ANY = f"""
    SELECT lower(trim(j.text)) AS words FROM listening_justification j
    JOIN listening_trial t ON t.id = j.trial_id JOIN listening_session s ON s.id = t.session_id
    WHERE s.study_id = %(study)s AND {IS_OWN}
    GROUP BY 1 HAVING count(DISTINCT t.rater_id) > 1
"""
SHARED_BY_SOME = f"""
    SELECT DISTINCT lower(trim(j.text)) AS words FROM listening_trial t
    JOIN listening_justification j ON j.trial_id = t.id
    WHERE t.session_id = ANY(%(sessions)s) AND {IS_OWN} AND EXISTS (
        SELECT 1 FROM listening_justification o JOIN listening_trial ot ON ot.id = o.trial_id
        JOIN listening_session os ON os.id = ot.session_id
        WHERE md5(lower(trim(o.text))) = md5(lower(trim(j.text))) AND os.study_id = %(study)s
            AND ot.rater_id <> t.rater_id)
"""
FACTS = """
WITH shared AS ({shared}),
browsers AS (
    SELECT origin, count(DISTINCT rater_id) AS raters FROM listening_session
    WHERE study_id = %(study)s AND origin <> '' GROUP BY 1)
SELECT s.id, s.agent, s.code, s.status, s.review, s.rejected_because, r.code AS rater, r.simulated,
    r.prolific_id AS participant, extract(epoch FROM coalesce(s.finished_at, max(t.answered_at))
        - s.started_at)::float8 / 60 AS minutes,
    count(t.id) FILTER (WHERE t.state = 'answered') AS answered,
    count(t.id) FILTER (WHERE t.state IN ('answered', 'planned', 'skipped')) AS trials,
    count(t.id) FILTER (WHERE t.state = 'skipped') AS skipped,
    count(t.id) FILTER (WHERE t.state = 'answered' AND t.trap = ANY(%(fair)s)) AS fair,
    count(t.id) FILTER (WHERE t.state = 'answered' AND t.trap = ANY(%(fair)s)
        AND NOT t.trap_passed) AS fair_failed,
    count(t.id) FILTER (WHERE t.state = 'answered' AND t.trap <> '' AND t.trap <> 'training'
        AND t.trap <> ALL(%(fair)s)) AS traps,
    count(t.id) FILTER (WHERE t.state = 'answered' AND t.trap <> '' AND t.trap <> 'training'
        AND t.trap <> ALL(%(fair)s) AND NOT t.trap_passed) AS traps_failed,
    count(j.id) FILTER (WHERE j.text <> '') AS reasons,
    count(j.id) FILTER (WHERE j.pasted_chars > 0) AS pasted,
    count(j.id) FILTER (WHERE j.text <> '')
        - count(DISTINCT lower(trim(j.text))) FILTER (WHERE j.text <> '') AS repeated,
    count(t.id) FILTER (WHERE t.state = 'answered' AND t.playback ->> 'driven' = 'true') AS driven,
    count(t.id) FILTER (WHERE t.state = 'answered' AND t.playback ->> 'pointer_jumps' ~ '^[1-9]')
        AS jumped,
    count(t.id) FILTER (WHERE t.state = 'answered' AND t.playback ->> 'scripted_events' ~ '^[1-9]')
        AS scripted,
    count(t.id) FILTER (WHERE t.state = 'answered' AND {without_facts})
        AS without_facts,
    s.scripts_ran,
    s.browser_of,
    count(j.id) FILTER (WHERE coalesce(j.pasted_chars, 0) = 0 AND j.typing_ms > 0
        AND length(j.text) >= %(typed_characters)s
        AND least(length(j.text), j.keystrokes) * 1000.0 / j.typing_ms > %(typed_per_s)s)
        AS typed_fast,
    count(j.id) FILTER (WHERE lower(trim(j.text)) IN (SELECT words FROM shared)) AS shared,
    coalesce(b.raters, 1) - 1 AS same_browser
FROM listening_session s JOIN listening_rater r ON r.id = s.rater_id
LEFT JOIN browsers b ON b.origin = s.origin
LEFT JOIN listening_trial t ON t.session_id = s.id
LEFT JOIN listening_justification j ON j.trial_id = t.id
WHERE s.study_id = %(study)s AND (%(sessions)s::bigint[] IS NULL OR s.id = ANY(%(sessions)s))
GROUP BY s.id, r.id, b.raters
"""


@dataclass(frozen=True)
class Evidence:
    """Of one session: what was done, how long it took, which checks were failed.

    Most fields are the columns of `FACTS` under the same names.
    """

    session: int
    code: str
    rater: str
    participant: str  # the id that it came with; "" where it came with none
    outcome: str  # of `listening.sessions.outcomes`, "rejected", or "" while it goes on
    minutes: float | None
    answered: int
    trials: int
    skipped: int
    fair: int
    fair_failed: int
    traps: int
    traps_failed: int
    reasons: int
    pasted: int
    repeated: int
    same_browser: int
    agent: str
    driven: int  # clips answered in a browser that a program drives, by its own word
    jumped: int  # clips in which the mouse clicked where it had not moved
    scripted: int  # clips with clicks or keys that no device made
    without_facts: int  # clips answered without what the page tells of how they were played
    scripts_ran: bool | None  # those of the session's page
    browser_of: str  # another rater who began the study in this browser before; mostly ""
    typed_fast: int  # reasons, not pasted
    shared: int  # reasons that another rater gave in the same words
    review: tuple[str, ...]
    too_fast_below: float | None  # minutes: three SDs below the mean of who finished
    study_minutes: int = 0  # the length that everybody is told; 0 where no check was failed

    @property
    def shown(self) -> str:
        """The end of the session, or that it goes on, in words."""
        return self.outcome.replace("_", " ") or "not finished"

    @property
    def work(self) -> str:
        """How much of a finished session is answered, as a clause."""
        if self.answered == self.trials:
            return "All answers are here"
        return f"{self.answered} of {self.trials} clips are answered"

    @property
    def is_too_fast(self) -> bool:
        return (
            self.minutes is not None
            and self.too_fast_below is not None
            and self.minutes < self.too_fast_below
        )

    @property
    def fails_fair_checks(self) -> bool:
        """By Prolific's rule: one in a study under 5 minutes, two in a longer one.

        The length is the study's: how fast one rater was changes nothing.
        """
        needed = 1 if self.study_minutes < SHORT_STUDY_MIN else 2
        return self.fair_failed >= needed

    def sentences(self) -> list[str]:
        """Each with its numbers; nothing that was not seen."""
        lines = [f"{self.answered} of {self.trials} clips answered"]
        if self.minutes is not None:
            lines.append(f"{self.minutes:.1f} min")
        if self.is_too_fast and self.too_fast_below is not None:
            lines.append(f"three SDs below the mean is {self.too_fast_below:.1f} min")
        if self.skipped:
            lines.append(f"{self.skipped} passed over")
        if self.fair:
            lines.append(f"{self.fair_failed} of {self.fair} attention checks failed")
        if self.traps:
            lines.append(f"{self.traps_failed} of {self.traps} traps judged by ear failed")
        if self.pasted:
            lines.append(f"{self.pasted} of {self.reasons} reasons pasted")
        if self.repeated:
            lines.append(f"{self.repeated} of {self.reasons} reasons repeat an earlier one")
        if self.browser_of:
            lines.append(f"{self.browser_of} began in this very browser before, with another id")
        if self.same_browser:
            others = counted(self.same_browser, "other rater")
            lines.append(f"{others} with this address and browser")
        return [*lines, *self.signs, *self.review]

    @property
    def signs(self) -> list[str]:
        """Of a program instead of a person. None is a ground to reject, nor to leave out unless a
        rule that was named before opening says so."""
        lines = []
        if self.agent:
            lines.append(f"came as a program: {self.agent}")
        if self.scripts_ran is False and self.answered:
            lines.append("answered although the scripts of the page never ran")
        clips = {
            "answered without playback facts of the page": self.without_facts,
            "in a browser that a program drives": self.driven,
            "in which the mouse clicked where it had not moved": self.jumped,
            "with clicks or keys that no device made": self.scripted,
        }
        lines += [f"{counted(count, 'clip')} {words}" for words, count in clips.items() if count]
        if self.typed_fast:
            lines.append(
                f"{self.typed_fast} of {self.reasons} reasons typed faster than "
                f"{TYPED_PER_S:g} keystrokes a second"
            )
        if self.shared:
            lines.append(f"{self.shared} of {self.reasons} reasons are another rater's words")
        return lines


def evidence_of(study: Study, sessions: list[int] | None = None) -> dict[int, Evidence]:
    """Session -> what is known of it; of these sessions only, or of all.

    Of some sessions alone no usual time is known: `too_fast_below` is None.
    """
    limits = {
        "shared_width": SHARED_WIDTH,
        "typed_characters": TYPED_CHARACTERS,
        "typed_per_s": TYPED_PER_S,
    }
    facts = FACTS.format(
        shared=SHARED_BY_ANY if sessions is None else SHARED_BY_SOME,
        without_facts=WITHOUT_FACTS.format(playback="t.playback"),
    )
    rows = list(rows_of(facts, study=study.pk, fair=list(FAIR_CHECKS), sessions=sessions, **limits))
    finished = [r.minutes for r in rows if r.status == "finished" and r.minutes]
    below = too_fast_below(finished) if sessions is None else None
    failed = any(row.fair_failed for row in rows)
    length = session_length(study).minutes if failed else 0
    shown = {each.name for each in fields(Evidence)}
    by_session = {}
    for row in rows:
        columns = {name: value for name, value in row._asdict().items() if name in shown}
        columns["participant"] = unseal(row.participant or "")
        columns["review"] = tuple(review_words(row.review))
        rejected = row.status == "rejected"
        by_session[row.id] = Evidence(
            **columns,
            session=row.id,
            outcome="rejected" if rejected else outcome_of(row.status, row.review),
            too_fast_below=below,
            study_minutes=length,
        )
    return by_session


def too_fast_below(minutes: list[float]) -> float | None:
    """Three standard deviations below the mean; None where too few finished, or none can be."""
    if len(minutes) < COMPARED_WITH:
        return None
    below = fmean(minutes) - 3 * stdev(minutes)
    return below if below > 0 else None
