"""What a questionnaire asks, one kind of question a file; `QuestionKind.registry` finds them."""

from listening.design.questions.question_kind import (
    QuestionKind,
    Unfit,
    known_kind,
    part_key,
    question_kind,
)
