"""The only reads that leave the room: ratings, sessions, answers, stimuli, progress, owners."""

from listening.audio.store import bring as bring_audio
from listening.audio.store import is_remote as audio_is_remote
from listening.models.clip_facts import LINE, TRAP, ClipFacts, clip_facts, only_lines
from listening.models.codes import RATER_CODE
from listening.selectors.analysis_rules import (
    DecidedFacts,
    Declared,
    HypothesisFacts,
    RuleFacts,
    SparedFacts,
    analysis_rules,
    declared_state,
    hypotheses,
    spared_raters,
)
from listening.selectors.boards import (
    BoardChoice,
    BoardClip,
    BoardFacts,
    BoardQuestion,
    board_choices,
    board_facts,
    board_projects,
)
from listening.selectors.clip_answers import SORTS as CLIP_SORTS
from listening.selectors.clip_answers import (
    AskedPlace,
    ClipAnswers,
    ClipPage,
    ClipQuery,
    asked_places,
    clip_answers,
)
from listening.selectors.clip_reviews import ClipReviewFacts, left_out_names
from listening.selectors.definitions import (
    EarlierVersion,
    VersionMatch,
    definition_files,
    earlier_with,
    is_earlier,
    version_match,
)
from listening.selectors.drafts import DraftPlan, draft_plans
from listening.selectors.interim import InterimQuestion, PlannedColumn, RaterMean, interim_questions
from listening.selectors.method_facts import StudyFacts, method_facts
from listening.selectors.pay_of_sessions import pay_of_sessions
from listening.selectors.plans import TaskPlan, task_plans
from listening.selectors.progress import (
    ConditionProgress,
    StudyProgress,
    TaskProgress,
    TrapProgress,
    study_progress,
)
from listening.selectors.publication import (
    HeardClip,
    StudyTerms,
    heard_clips,
    scripted_raters,
    study_terms,
)
from listening.selectors.questionnaire_rows import QuestionnaireRow, questionnaire_rows
from listening.selectors.rating_table import chosen_ratings
from listening.selectors.ratings import RatingRow, rating_rows
from listening.selectors.reason_reviews import ReasonReviewFacts
from listening.selectors.review_quotes import Quote, QuoteFilter, Quotes, read_quotes, review_quotes
from listening.selectors.reviewed_events import MarkedClip, MarkedEvents, marked_events
from listening.selectors.reviews import (
    CodesToSuggest,
    ReviewHead,
    ReviewOutcomes,
    ReviewVerdict,
    codes_to_suggest,
    has_review_in_use,
    review_aspects,
    review_head_or_404,
    review_hinted,
    review_outcomes,
    review_settled,
    review_verdicts,
)
from listening.selectors.served_clips import (
    ServedClip,
    questions_in_words,
    served_clip_response,
    served_clips,
)
from listening.selectors.session_rows import SessionRow, session_columns, session_rows
from listening.selectors.stimuli import StimulusRow, TurnRow, stimuli_mark, stimulus_rows
from listening.selectors.studies import (
    PlannedTrap,
    RatingsState,
    StudyHead,
    condition_labels,
    holds_right,
    names_in_order,
    no_study,
    ratings_state,
    still_open,
    study_head_or_404,
    task_titles,
    trap_plans,
)
from listening.selectors.unplayed_clips import UnplayedClip, unplayed_clips
from listening.studies.length import session_length

__all__ = [
    "CLIP_SORTS",
    "LINE",
    "RATER_CODE",
    "TRAP",
    "AskedPlace",
    "BoardChoice",
    "BoardClip",
    "BoardFacts",
    "BoardQuestion",
    "ClipAnswers",
    "ClipFacts",
    "ClipPage",
    "ClipQuery",
    "ClipReviewFacts",
    "CodesToSuggest",
    "ConditionProgress",
    "DecidedFacts",
    "Declared",
    "DraftPlan",
    "EarlierVersion",
    "HeardClip",
    "HypothesisFacts",
    "InterimQuestion",
    "MarkedClip",
    "MarkedEvents",
    "PlannedColumn",
    "PlannedTrap",
    "QuestionnaireRow",
    "Quote",
    "QuoteFilter",
    "Quotes",
    "RaterMean",
    "RatingRow",
    "RatingsState",
    "ReasonReviewFacts",
    "ReviewHead",
    "ReviewOutcomes",
    "ReviewVerdict",
    "RuleFacts",
    "ServedClip",
    "SessionRow",
    "SparedFacts",
    "StimulusRow",
    "StudyFacts",
    "StudyHead",
    "StudyProgress",
    "StudyTerms",
    "TaskPlan",
    "TaskProgress",
    "TrapProgress",
    "TurnRow",
    "UnplayedClip",
    "VersionMatch",
    "analysis_rules",
    "asked_places",
    "audio_is_remote",
    "board_choices",
    "board_facts",
    "board_projects",
    "bring_audio",
    "chosen_ratings",
    "clip_answers",
    "clip_facts",
    "codes_to_suggest",
    "condition_labels",
    "declared_state",
    "definition_files",
    "draft_plans",
    "earlier_with",
    "has_review_in_use",
    "heard_clips",
    "holds_right",
    "hypotheses",
    "interim_questions",
    "is_earlier",
    "left_out_names",
    "marked_events",
    "method_facts",
    "names_in_order",
    "no_study",
    "only_lines",
    "pay_of_sessions",
    "questionnaire_rows",
    "questions_in_words",
    "rating_rows",
    "ratings_state",
    "read_quotes",
    "review_aspects",
    "review_head_or_404",
    "review_hinted",
    "review_outcomes",
    "review_quotes",
    "review_settled",
    "review_verdicts",
    "scripted_raters",
    "served_clip_response",
    "served_clips",
    "session_columns",
    "session_length",
    "session_rows",
    "spared_raters",
    "still_open",
    "stimuli_mark",
    "stimulus_rows",
    "study_head_or_404",
    "study_progress",
    "study_terms",
    "task_plans",
    "task_titles",
    "trap_plans",
    "unplayed_clips",
    "version_match",
]
