"""Several studies side by side on a leaderboard: which clips and questions they have in common."""

from __future__ import annotations

import json
from typing import Any, NotRequired, TypedDict

from listening.access.rights import ANALYSE, projects_of, visible_studies
from listening.models import Criterion, Project, Stimulus, Study
from listening.models.material import covariate_values
from listening.selectors.studies import still_open


class BoardChoice(TypedDict):
    """A study that somebody may put on a leaderboard."""

    key: str
    title: str
    project: str  # empty: its owner's alone


class BoardQuestion(TypedDict):
    """What a task asks of a clip: the words, and the answers that there are."""

    task: str
    title: str
    criterion: str
    method: str
    question: str
    scale: str  # a mark: equal marks are equal answers


class BoardClip(TypedDict):
    """A rated clip, known again in other studies by its audio."""

    stimulus: str
    condition: str
    label: str
    role: str
    sha256: str
    item: str
    text: str
    language: str


class BoardFacts(TypedDict):
    """What a leaderboard needs of a study beside its ratings."""

    key: str
    title: str
    open: bool
    loudness: str  # to what its clips were brought, in words
    questions: list[BoardQuestion]
    clips: list[BoardClip]
    covariates: NotRequired[dict[str, dict[str, str]]]  # declared ones by name and clip


def board_facts(study: str) -> BoardFacts:
    """The questions and rated clips of a study; without traps and training."""
    row = Study.objects.get(key=study)
    level = row.loudness_lufs
    return BoardFacts(
        key=row.key,
        title=row.called,
        open=still_open(study),
        loudness="as they came" if level is None else f"{level:g} LUFS",
        questions=_questions(row),
        clips=_clips(row),
        covariates=covariate_values(study),
    )


def board_choices(user: Any) -> list[BoardChoice]:
    """The studies of which somebody may take analyses, the newest first, archived ones last."""
    studies = visible_studies(user).select_related("project").order_by("-pk")
    allowed = set(projects_of(user, ANALYSE).values_list("pk", flat=True))
    return [
        BoardChoice(
            key=each.key, title=each.called, project=each.project.name if each.project else ""
        )
        for each in sorted(studies, key=lambda study: study.archived_at is not None)
        if each.project_id is None or each.project_id in allowed
    ]


def board_projects(user: Any) -> list[Project]:
    """The projects in which somebody may make a leaderboard."""
    return list(projects_of(user, ANALYSE))


def _questions(study: Study) -> list[BoardQuestion]:
    criteria = Criterion.objects.filter(task__study=study).select_related("task")
    return [
        BoardQuestion(
            task=each.task.key,
            title=each.task.title,
            criterion=each.key,
            method=each.task.method,
            question=each.question,
            scale=_answers(each.scale),
        )
        for each in criteria.order_by("task__order", "order")
    ]


def _answers(scale: dict[str, Any]) -> str:
    """The answers without their words: translations of one scale are the same scale."""
    scores = [step["score"] for step in scale.get("steps", ())]
    return json.dumps([scores, scale.get("span")])


def _clips(study: Study) -> list[BoardClip]:
    fields = ("key", "condition__key", "condition__label", "condition__role", "sha256")
    more = ("item__key", "item__text", "item__language")
    rated = Stimulus.objects.filter(study=study, trap="").order_by("pk")
    return [
        BoardClip(
            stimulus=key,
            condition=condition,
            label=label or condition,
            role=role,
            sha256=sha256,
            item=item,
            text=text,
            language=language or study.language,
        )
        for key, condition, label, role, sha256, item, text, language in rated.values_list(
            *fields, *more
        )
    ]
