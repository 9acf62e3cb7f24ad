"""Sessions rejected or restored for a reason, with all that goes with it: log, counts, progress."""

from __future__ import annotations

from collections.abc import Sequence

from listening.models import Study
from listening.models.study_log import note
from listening.selectors.monitor import forget_progress
from listening.sessions import session_summaries
from listening.sessions.rejection import AT_ONCE, Judged, reject_sessions, restore_sessions
from listening.studies import StudyError

REJECTED, RESTORED = "rejected", "restored"
LONGEST_REASON = 300  # characters


def decide(study: Study, chosen: Sequence[int], to: str, reason: str, *, by: str) -> Judged:
    """What became of them. StudyError says why nothing was changed."""
    reason = reason.strip()[:LONGEST_REASON]
    if to not in (REJECTED, RESTORED):
        raise StudyError("Sessions can be rejected or restored.")
    if not reason:
        raise StudyError("A session is rejected or restored for a reason. Please write it down.")
    need_choice(chosen, "judged")
    chosen = sorted(chosen)
    judged = reject_sessions(chosen, reason) if to == REJECTED else restore_sessions(chosen)
    if judged.raters:
        details = {"sessions": len(judged.raters), "raters": list(judged.raters), "reason": reason}
        note(study, to, by, **details)
        forget_progress(study.key)
        session_summaries.count_sessions(chosen)
    return judged


def need_choice(chosen: Sequence[int], done: str) -> None:
    """Raises StudyError where no session is chosen, or too many are."""
    if not chosen:
        raise StudyError("Choose at least one session.")
    if len(chosen) > AT_ONCE:
        raise StudyError(
            f"{len(chosen):,} sessions are too many at once: {AT_ONCE:,} can be {done} in one go. "
            "Narrow the filters."
        )
