"""The only reads that leave the room: ratings, sessions, stimuli, progress, whose a study is."""

from listening.selectors.progress import (
    ConditionProgress,
    StudyProgress,
    TaskProgress,
    TrapProgress,
    study_progress,
)
from listening.selectors.ratings import RatingRow, rating_rows
from listening.selectors.sessions import SessionRow, session_columns, session_rows
from listening.selectors.stimuli import StimulusRow, stimulus_rows
from listening.selectors.studies import PlannedTrap, StudyHead, study_head, trap_plans

__all__ = [
    "ConditionProgress",
    "PlannedTrap",
    "RatingRow",
    "SessionRow",
    "StimulusRow",
    "StudyHead",
    "StudyProgress",
    "TaskProgress",
    "TrapProgress",
    "rating_rows",
    "session_columns",
    "session_rows",
    "stimulus_rows",
    "study_head",
    "study_progress",
    "trap_plans",
]
