"""All that a reviewer is shown of an item: nothing else may reach their page.

Labels as raters read them, the reason, the text and the clip by the code of the assignment. Never a
system, a condition, a file, a truth, a trap, a rater, or what other reviewers said; what raters
wrote themselves is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypedDict

from listening.methods.text_units import units
from listening.methods.vocalisation_types import TYPES, canonical, marked
from listening.models import Justification, Rating, ReviewAssignment, Stimulus, Study


class Answered(TypedDict):
    """A question to the rater, and the label that they chose."""

    question: str
    label: str


class SeenReason(TypedDict):
    """A reason and the labels that it is about; ``clips``: at how many places one can be heard."""

    item: str
    answers: list[Answered]
    reason: str
    language: str
    clips: int


class Reason(TypedDict):
    """What a rater answered and wrote in a trial."""

    answers: list[Answered]
    reason: str
    language: str


def reasons_in(trials: Sequence[int]) -> dict[int, Reason]:
    """By trial; one whose reason was erased has an empty one."""
    reasons = {pk: Reason(answers=[], reason="", language="") for pk in trials}
    rows = Rating.objects.filter(trial__in=trials).order_by("criterion__order", "pk")
    for trial, question, label in rows.values_list("trial", "criterion__question", "label"):
        reasons[trial]["answers"].append(Answered(question=question, label=label))
    written = Justification.objects.filter(trial__in=trials).values_list(
        "trial", "text", "trial__session__language", "trial__session__study__language"
    )
    for trial, text, spoken, language in written:
        reasons[trial]["reason"], reasons[trial]["language"] = text, spoken or language
    return reasons


def show_reasons(
    assignments: Sequence[ReviewAssignment], *, with_clip: bool
) -> list[dict[str, Any]]:
    """In the order in which they were given."""
    reasons = reasons_in([each.item.trial_id or 0 for each in assignments])
    return [
        dict(SeenReason(item=str(a.code), clips=int(with_clip), **reasons[a.item.trial_id or 0]))
        for a in assignments
    ]


class Framed(TypedDict):
    """What goes with an item of any kind."""

    training: bool
    others: list[dict[str, str]]  # in a talk only: what the reviewers who differ said


def framed(
    assignments: Sequence[ReviewAssignment],
    items: Sequence[dict[str, Any]],
    say: Callable[[str], str],
) -> list[dict[str, Any]]:
    """Items with what goes around them; a second showing looks like a first."""
    talk = ReviewAssignment.Occasion.TALK
    spoken = _others([each for each in assignments if each.occasion == talk], say)
    return [
        {**item, **Framed(training=each.item.gold is not None, others=spoken.get(each.pk, []))}
        for each, item in zip(assignments, items, strict=True)
    ]


def _others(
    talks: Sequence[ReviewAssignment], say: Callable[[str], str]
) -> dict[int, list[dict[str, str]]]:
    """The first verdicts of all who judged the item, by neutral names, and their notes."""
    by_assignment: dict[int, list[dict[str, str]]] = {}
    for each in talks:
        rows = ReviewAssignment.objects.filter(
            item=each.item_id,
            occasion=ReviewAssignment.Occasion.FIRST,
            answered_at__isnull=False,
        ).select_related("reviewer")
        by_assignment[each.pk] = [
            {
                "who": "You" if row.reviewer_id == each.reviewer_id else str(row.reviewer),
                "says": say(row.category),
                "note": row.verdicts.order_by("-pk").values_list("note", flat=True).first() or "",
            }
            for row in rows.order_by("reviewer__number")
        ]
    return by_assignment


def served_copies(assignment: ReviewAssignment) -> list[str]:
    """The stored copies that raters heard, in the order of the places in a clip's address."""
    item = assignment.item
    if item.trial_id is not None:
        trial = item.trial
        assert trial is not None
        ids = [pk for pk in (trial.stimulus_id, trial.versus_id) if pk is not None]
    else:
        ids = [pk for pk in (item.stimulus_id, *item.others) if pk is not None]
    served = dict(Stimulus.objects.filter(pk__in=ids).values_list("pk", "served"))
    return [served[pk] for pk in ids if pk in served]


class SeenClips(TypedDict):
    """At how many places a clip can be heard, and the words of each of them."""

    item: str
    clips: int
    texts: list[str]
    language: str
    part: str


def show_clips(assignments: Sequence[ReviewAssignment], *, with_text: bool) -> list[dict[str, Any]]:
    """In the order in which they were given."""
    wanted = {pk for each in assignments for pk in (each.item.stimulus_id, *each.item.others)}
    rows = Stimulus.objects.filter(pk__in=[pk for pk in wanted if pk is not None])
    words = {
        pk: (transcript or text, language or study_language)
        for pk, text, transcript, language, study_language in rows.values_list(
            "pk", "item__text", "item__transcript", "item__language", "study__language"
        )
    }
    items: list[dict[str, Any]] = []
    for each in assignments:
        pks = [pk for pk in (each.item.stimulus_id, *each.item.others) if pk in words]
        seen = SeenClips(
            item=str(each.code),
            clips=len(pks),
            texts=[words[pk][0] if with_text else "" for pk in pks],
            language=words[pks[0]][1] if pks else "",
            part=each.item.part,
        )
        items.append(dict(seen))
    return items


class SeenEvents(TypedDict):
    """A clip, its words without any mark of what was asked for, and the types to choose from."""

    item: str
    clips: int
    texts: list[str]
    units: list[str]  # between which a vocalisation can be
    language: str
    part: str
    types: list[str]


def show_events(study: Study, assignments: Sequence[ReviewAssignment]) -> list[dict[str, Any]]:
    types = inventory_of(study)
    items: list[dict[str, Any]] = []
    for each in show_clips(assignments, with_text=True):
        language = each["language"]
        plain = [marked(text, language)[0] for text in each["texts"]]
        seen = SeenEvents(
            item=each["item"],
            clips=each["clips"],
            texts=["" for _ in plain],
            units=units(plain[0], language) if plain else [],
            language=language,
            part="",
            types=types,
        )
        items.append(dict(seen))
    return items


def inventory_of(study: Study) -> list[str]:
    """The types that the study's systems support (attribute nvv_types); else the whole taxonomy."""
    rows = study.conditions.values_list("attributes", flat=True)
    named = [name for row in rows for name in re.split(r"[;,]", str(row.get("nvv_types", "")))]
    own = {canonical(name) for name in named if name.strip()}
    return sorted(own) if own else list(TYPES)
