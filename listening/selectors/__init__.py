"""The only reads that leave the room: ratings, sessions, answers, stimuli, progress, owners."""

from listening.selectors.clip_answers import (
    AskedPlace,
    ClipAnswers,
    ClipQuery,
    asked_places,
    clip_answers,
)
from listening.selectors.interim import InterimQuestion, PlannedColumn, RaterMean, interim_questions
from listening.selectors.method_facts import StudyFacts, method_facts
from listening.selectors.plans import TaskPlan, task_plans
from listening.selectors.progress import (
    ConditionProgress,
    StudyProgress,
    TaskProgress,
    TrapProgress,
    study_progress,
)
from listening.selectors.questionnaire_rows import QuestionnaireRow, questionnaire_rows
from listening.selectors.ratings import RatingRow, rating_rows
from listening.selectors.session_rows import SessionRow, session_columns, session_rows
from listening.selectors.stimuli import StimulusRow, TurnRow, stimuli_mark, stimulus_rows
from listening.selectors.studies import (
    PlannedTrap,
    RatingsState,
    StudyHead,
    condition_labels,
    ratings_state,
    still_open,
    study_head_or_404,
    task_titles,
    trap_plans,
)
from listening.selectors.unplayed import UnplayedClip, unplayed_clips
from listening.studies.length import session_length

__all__ = [
    "AskedPlace",
    "ClipAnswers",
    "ClipQuery",
    "ConditionProgress",
    "InterimQuestion",
    "PlannedColumn",
    "PlannedTrap",
    "QuestionnaireRow",
    "RaterMean",
    "RatingRow",
    "RatingsState",
    "SessionRow",
    "StimulusRow",
    "StudyFacts",
    "StudyHead",
    "StudyProgress",
    "TaskPlan",
    "TaskProgress",
    "TrapProgress",
    "TurnRow",
    "UnplayedClip",
    "asked_places",
    "clip_answers",
    "condition_labels",
    "interim_questions",
    "method_facts",
    "questionnaire_rows",
    "rating_rows",
    "ratings_state",
    "session_columns",
    "session_length",
    "session_rows",
    "still_open",
    "stimuli_mark",
    "stimulus_rows",
    "study_head_or_404",
    "study_progress",
    "task_plans",
    "task_titles",
    "trap_plans",
    "unplayed_clips",
]
