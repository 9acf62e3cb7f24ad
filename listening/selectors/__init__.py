"""The only reads that leave the room: ratings, sessions, answers, stimuli, progress, owners."""

from listening.audio.store import bring as bring_audio
from listening.audio.store import is_remote as audio_is_remote
from listening.models.codes import RATER_CODE
from listening.models.material import clip_facts, covariate_values, declared_covariates, only_lines
from listening.selectors.analysis_rules import (
    DecidedFacts,
    Declared,
    HypothesisFacts,
    RuleFacts,
    analysis_rules,
    declared_state,
    hypotheses,
    spared_raters,
)
from listening.selectors.boards import (
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
    clip_answers,
    criterion_places,
)
from listening.selectors.definitions import (
    EarlierVersion,
    VersionMatch,
    definition_files,
    earlier_with,
    is_earlier,
    version_match,
)
from listening.selectors.drafts import draft_folder, draft_head_or_404, draft_mark
from listening.selectors.interim import InterimQuestion, PlannedColumn, RaterMean, interim_questions
from listening.selectors.method_facts import (
    MarkingFacts,
    StudyFacts,
    TranscriptionFacts,
    method_facts,
)
from listening.selectors.pay_of_sessions import pay_of_sessions
from listening.selectors.plans import DraftPlan, DraftStop, TaskPlan, draft_plans, task_plans
from listening.selectors.progress import study_progress
from listening.selectors.publication import (
    StudyTerms,
    questions_in_words,
    scripted_raters,
    served_clip_response,
    served_clips,
    study_clips,
    study_terms,
)
from listening.selectors.ratings import RatingRow, chosen_ratings, rating_rows
from listening.selectors.review_quotes import Quote, QuoteFilter, read_quotes, review_quotes
from listening.selectors.reviews import (
    ClipReviewFacts,
    CodesToSuggest,
    MarkedEvents,
    ReasonReviewFacts,
    ReviewHead,
    ReviewVerdict,
    codes_to_suggest,
    excluded_names,
    has_review_in_use,
    marked_events,
    review_aspects,
    review_decisions,
    review_head_or_404,
    review_hinted,
    review_outcomes,
    review_verdicts,
)
from listening.selectors.session_rows import (
    QuestionnaireRow,
    SessionRow,
    questionnaire_rows,
    rater_answers,
    session_columns,
    session_rows,
)
from listening.selectors.stimuli import StimulusRow, stimuli_mark, stimulus_rows, unplayed_clips
from listening.selectors.stop_rule import (
    DueLook,
    LookFacts,
    StopFacts,
    due_looks,
    look_problems,
    stop_facts,
)
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
from listening.studies.length import session_length
