"""Signals between apps: who receives them connects in its `apps.py`."""

from django.dispatch import Signal

acted = Signal()  # study_id, by, what, details: for the study's log, see listening.models.study_log
withdrawn = Signal()  # study_id, study_key: answers were deleted because their rater withdrew
reasons_erased = Signal()  # study_id, study_key: what raters wrote as reasons was erased
closed = Signal()  # study_id, study_key: this study was closed, in the transaction that closes it
analysed = Signal()  # study_id, run, state ("done" or "failed"), ratings: an analysis has ended
code_hints = Signal()  # items, version: receivers return {item: codes}, for reviewers of codes
metrics_beside_raters = Signal()  # study_key: receivers return what an analysis says, or None
clip_hints = Signal()  # study_key, sha256: receivers return sentences about a clip, for reviewers
pair_fit_due = Signal()  # task_id: its strengths are to be fitted, by which its pairs are drawn
look_failed = Signal()  # study_id, number, what: a look that is due could not be computed
look_made = Signal()  # study_id, look: a look of a stop rule was computed; see studies.stopping
job_lost = (
    Signal()
)  # job, why: its message is gone or its worker died; see listening.models.requested_jobs
