"""What several studies asked alike: their ratings under common names, and what differs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from analysis.formatting import enumerated
from analysis.ratings.cells import LEFT_OUT_BY
from analysis.ratings.estimands import Estimand, estimand_of, estimand_of_method
from analysis.ratings.table import rated
from analysis.statistics.linking.linked_strengths import (
    LinkedStrengths,
    link_choices,
    link_pairs,
    link_rankings,
)
from analysis.statistics.linking.linked_studies import Clip, Same, same_systems
from analysis.statistics.pairs.pair_ratings import HEARD_SECOND
from analysis.statistics.pairs.screens import screen_names
from analysis.statistics.screening.screened import Exclusions

if TYPE_CHECKING:
    from listening.selectors import BoardFacts, BoardQuestion

SET_APART = "set_apart"  # stands in left_out_by of answers before the first day that is used
PROBABILITY = "pair_probability"


@dataclass(frozen=True)
class StudyInput:
    """A study: its facts, its ratings after screening, its metric scores; programs among raters.

    ``exclusions`` are what each rule of screening left out, ``excluded`` the ratings themselves
    with the rules in ``left_out_by``, and ``withheld`` counts ratings that are never published.
    """

    facts: BoardFacts
    ratings: pd.DataFrame
    scores: pd.DataFrame
    scripted: frozenset[str] = frozenset()  # their codes
    exclusions: Sequence[Exclusions] = ()
    excluded: pd.DataFrame | None = None
    withheld: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """What was asked alike: the method, criterion and answers; ratings of all studies together.

    ``ratings`` are what `components_of` takes, or `link_pairs` where answers compare two clips.
    ``clips`` are the systems and clips that were rated. A unit is a study, or a task of a study
    that asks the same in several. ``excluded`` are ratings that count nowhere.
    """

    method: str
    criterion: str
    estimand: Estimand
    ends: tuple[float, float] | None
    units: Sequence[str]
    ratings: pd.DataFrame
    clips: pd.DataFrame
    notes: Sequence[str] = ()
    excluded: pd.DataFrame | None = None

    @property
    def title(self) -> str:
        """What it is about, for headings."""
        return f"{self.estimand.name}, {self.criterion}"


@dataclass(frozen=True)
class QuestionSet:
    """All questions of a leaderboard; ``notes`` are warnings about its studies as wholes."""

    questions: Sequence[Question]
    same: Same
    notes: Sequence[str]
    left_out: Sequence[str] = field(default_factory=tuple)


def question_set(studies: Sequence[StudyInput]) -> QuestionSet:
    """The questions that a leaderboard can show, in the order in which studies ask them."""
    same = same_systems(
        Clip(
            study.facts["key"],
            clip["condition"],
            clip["label"],
            clip["item"],
            clip["text"] and f"{clip['language']}: {clip['text']}",
            clip["sha256"],
        )
        for study in studies
        for clip in study.facts["clips"]
    )
    places_of: dict[tuple[str, str, str], list[tuple[StudyInput, BoardQuestion]]] = {}
    left_out: dict[str, None] = {}
    for study in studies:
        for question in study.facts["questions"]:
            why = _why_not(study, question)
            if why:
                left_out[why] = None
                continue
            key = (question["method"], question["criterion"], question["scale"])
            places_of.setdefault(key, []).append((study, question))
    questions = [
        shared_question
        for key, places in places_of.items()
        if (shared_question := _question(key, places, same)) is not None
    ]
    notes = [*_about_studies(studies), *_of_scales(places_of)]
    return QuestionSet(questions, same, notes, tuple(left_out))


def _why_not(study: StudyInput, question: BoardQuestion) -> str:
    """Why a question is on no leaderboard; empty where it may be."""
    estimand = estimand_of_method(question["method"])
    where = f"{study.facts['key']}, {question['task']}, {question['criterion']}"
    if estimand.in_pairs and not estimand.prefers:
        return f"{where} ({estimand.name}): answers prefer neither of two clips."
    if estimand.lowest_is_best and not estimand.in_places:
        return f"{where} ({estimand.name}): low is good, and a leaderboard ranks high scores first."
    if estimand.maybe_without_score:
        return f"{where} ({estimand.name}): answers have no score."
    return ""


def _question(
    key: tuple[str, str, str], places: list[tuple[StudyInput, BoardQuestion]], same: Same
) -> Question | None:
    method, criterion, scale = key
    parts: dict[str, pd.DataFrame] = {}
    excluded: list[pd.DataFrame] = []
    per_study = pd.Series([study.facts["key"] for study, _ in places]).value_counts()
    for study, question in places:
        name = study.facts["key"]
        unit = name if per_study[name] == 1 else f"{name} · {question['task']}"
        rows = _ratings(study, study.ratings, question, unit, same)
        if len(rows):
            parts[unit] = rows
        if study.excluded is not None:
            excluded.append(_ratings(study, study.excluded, question, unit, same))
    if not parts:
        return None
    estimand = estimand_of(next(iter(parts.values()))["estimand"].iloc[0])
    together = pd.concat(list(parts.values()), ignore_index=True)
    ends = estimand.ends_for(together["score"].min(), together["score"].max())
    return Question(
        method=method,
        criterion=criterion,
        estimand=estimand,
        ends=ends or _ends(scale),
        units=list(parts),
        ratings=together,
        clips=_rated_clips(together),
        notes=list(_wording(places)),
        excluded=pd.concat(excluded, ignore_index=True) if excluded else None,
    )


def _ratings(
    study: StudyInput, ratings: pd.DataFrame, question: BoardQuestion, unit: str, same: Same
) -> pd.DataFrame:
    """Those of the study's ratings that are of one question, under names that all studies share."""
    key = study.facts["key"]
    mine = (ratings["task"] == question["task"]) & (ratings["criterion"] == question["criterion"])
    rows = rated(ratings[mine])
    clips = {clip["stimulus"]: clip for clip in study.facts["clips"]}
    estimand = estimand_of_method(question["method"])
    sides = ["stimulus", *["versus_stimulus"] * estimand.in_pairs]
    rows = rows[rows[sides].isin(list(clips)).all(axis=1)]

    def of_side(side: str, system: str, audio: str) -> dict[str, list[str]]:
        shown = [clips[name] for name in rows[side]]
        return {
            system: [same.systems[key, clip["condition"]] for clip in shown],
            audio: [clip["sha256"] for clip in shown],
        }

    columns: dict[str, Any] = {
        "study": key,
        "unit": unit,
        **of_side("stimulus", "system", "clip"),
        "item": [same.items[key, clips[name]["item"]] for name in rows["stimulus"]],
        "rater": rows["rater"].astype(str).to_list(),
        "simulated": rows["rater"].isin(list(study.scripted)).to_list(),
        "score": rows["score"].to_numpy(dtype="float64"),
        "estimand": rows["estimand"].astype(str).to_list(),
        "day": rows["rated_at"].astype(str).str[:10].to_list(),
    }
    if estimand.best_and_worst:
        columns["screen"] = screen_names(rows)
    if estimand.in_pairs:
        columns |= of_side("versus_stimulus", "versus", "versus_clip")
        columns["score"] = estimand.centred(columns["score"])
        columns["order"] = [HEARD_SECOND.get(first, 0.0) for first in rows["presented_first"]]
        if PROBABILITY in rows:
            columns[PROBABILITY] = rows[PROBABILITY].to_list()
    if LEFT_OUT_BY in rows:
        columns[LEFT_OUT_BY] = rows[LEFT_OUT_BY].to_list()
    return pd.DataFrame(columns)


def linked_strengths(
    question: Question, ratings: pd.DataFrame, units: Sequence[str]
) -> LinkedStrengths:
    """The strengths behind a question's comparisons, rankings or choices, unit by unit."""
    if question.estimand.in_pairs:
        return link_pairs(ratings, units)
    link = link_choices if question.estimand.best_and_worst else link_rankings
    return link(ratings, units)


def set_apart(study: StudyInput, first_day: str) -> StudyInput:
    """The study without its answers before a day (ISO date), which count as excluded."""
    older = study.ratings["rated_at"].astype(str).str[:10] < first_day
    if not older.any():
        return study
    rows = study.ratings[older]
    excluded = rows.assign(**{LEFT_OUT_BY: SET_APART})
    counted = Exclusions(
        rule=SET_APART,
        version="1",
        what=f"answers before {first_day}, which are set apart",
        ratings=len(rows),
        ratings_told=len(rows),
        ratings_only_here=len(rows),
        raters=int(rows["rater"].nunique()),
        blocks=len(rows[["task", "session", "block"]].drop_duplicates()),
    )
    every = excluded if study.excluded is None else pd.concat([study.excluded, excluded])
    return replace(
        study,
        ratings=study.ratings[~older],
        excluded=every,
        exclusions=[*study.exclusions, counted],
    )


def _rated_clips(ratings: pd.DataFrame) -> pd.DataFrame:
    """The different systems and clips that were rated, on both sides of pairs."""
    sides = [ratings[["system", "clip"]]]
    if "versus" in ratings:
        other = ratings[["versus", "versus_clip"]]
        sides.append(other.set_axis(["system", "clip"], axis=1))
    return pd.concat(sides, ignore_index=True).drop_duplicates(ignore_index=True)


def _ends(scale: str) -> tuple[float, float] | None:
    """The ends of the answers, as their mark tells."""
    scores, span = json.loads(scale)
    if span:
        return float(span[0]), float(span[1])
    known = [float(score) for score in scores if score is not None]
    return (min(known), max(known)) if known else None


# --- What differs --------------------------------------------------------------------------------


def _wording(places: Iterable[tuple[StudyInput, BoardQuestion]]) -> Iterator[str]:
    words: dict[str, list[str]] = {}
    for study, question in places:
        words.setdefault(question["question"].strip(), []).append(study.facts["key"])
    if len(words) > 1:
        listing = "; ".join(f"“{text}” in {enumerated(keys)}" for text, keys in words.items())
        yield f"The question is worded differently: {listing}."


def _about_studies(studies: Sequence[StudyInput]) -> Iterator[str]:
    levels: dict[str, list[str]] = {}
    for study in studies:
        levels.setdefault(study.facts["loudness"], []).append(study.facts["key"])
        if study.facts["open"]:
            yield f"The study {study.facts['key']} is still open: its numbers will move."
        if study.scripted:
            yield f"{len(study.scripted)} raters of the study {study.facts['key']} are programs."
    if len(levels) > 1:
        listing = "; ".join(f"{level} in {enumerated(keys)}" for level, keys in levels.items())
        yield f"Clips were heard at different loudness: {listing}."


def _of_scales(keys: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    scales: dict[tuple[str, str], int] = {}
    for method, criterion, _ in keys:
        scales[method, criterion] = scales.get((method, criterion), 0) + 1
    for (method, criterion), count in scales.items():
        if count > 1:
            yield (
                f"{criterion} ({method}) was asked with {count} different sets of answers: they "
                "are kept apart."
            )
