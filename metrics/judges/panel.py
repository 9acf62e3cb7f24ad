"""Several judges rate the clips of one item together, as people do: letters, folds, caps."""

from __future__ import annotations

import itertools
import math
import random
import statistics
import string
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from metrics.judges.client import Client, Reply, ask_all
from metrics.judges.question import Field, Question, Sound, check_table, table_schema
from metrics.judges.rubric import Rubric

ARTEFACTS = "artefacts"  # the field of a rubric that lists what was heard
MOST_TEAMS = 200_000  # all of them are listed
BATCH = 32  # sheets whose audio is in memory at once


@dataclass(frozen=True)
class Candidate:
    """A clip that is rated beside the others of its item."""

    stimulus: str
    item: str
    condition: str
    path: str
    known: Mapping[str, str] = field(default_factory=dict)  # blanks of the rubric; of the item


@dataclass(frozen=True)
class Plan:
    """How many judges there are and how many see an item."""

    raters: int = 4
    raters_per_item: int = 2  # at least one
    folds: int = 3
    together: int = 6  # clips in one question at most; more are split into groups
    seed: int = 0
    temperature: float = 0.2
    max_tokens: int = 8000
    models: tuple[str, ...] = ()  # in turn over the raters

    def __post_init__(self) -> None:
        if not 1 <= self.raters_per_item <= self.raters <= 100:
            raise ValueError(
                f"{self.raters_per_item} of {self.raters} raters per item cannot be; "
                "give at least one, and no more than there are"
            )
        if math.comb(self.raters, self.raters_per_item) > MOST_TEAMS:
            raise ValueError(
                f"{self.raters_per_item} of {self.raters} raters per item make more than "
                f"{MOST_TEAMS} teams; give fewer raters, or one or two per item"
            )
        if self.folds < 1 or not 1 <= self.together <= 26:
            raise ValueError("there must be 1 fold or more, and 1 to 26 clips together")
        if not 0 <= self.temperature <= 2:
            raise ValueError(f"temperature is {self.temperature}, but it must be from 0 to 2")


@dataclass(frozen=True)
class Sheet:
    """One question: a rater gets clips of one item, each under a letter."""

    item: str
    fold: int  # 1, 2 …
    rater: int  # 1, 2 …
    letters: tuple[tuple[str, Candidate], ...]


@dataclass(frozen=True)
class PanelRating:
    """What one rater gave one clip on one criterion."""

    stimulus: str
    item: str
    condition: str
    fold: int
    rater: int
    letter: str
    criterion: str
    given: float  # as the judge said
    score: float  # at most what the artefacts allow
    artefacts: tuple[str, ...] = ()


def sheets(candidates: Iterable[Candidate], plan: Plan) -> list[Sheet]:
    """Who rates what, in the order of folds; the same for the same candidates and seed.

    Items are dealt at random into folds of equal size. Every set of ``raters_per_item`` raters is
    used equally often, to one item. The order of the letters is drawn anew for each item and rater.
    Raises ValueError when clips of one item were to render different things.
    """
    by_item: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in sorted(candidates, key=lambda c: (c.item, c.condition, c.stimulus)):
        by_item[candidate.item].append(candidate)
    for item, clips in by_item.items():
        if any(clip.known != clips[0].known for clip in clips):
            raise ValueError(
                f"item {item}: its clips differ in text, target or caption; clips that are rated "
                "together must render the same, so give them items of their own"
            )
    rng = random.Random(f"panel {plan.seed}")
    items = sorted(by_item)
    rng.shuffle(items)
    teams = list(itertools.combinations(range(1, plan.raters + 1), plan.raters_per_item))
    rng.shuffle(teams)
    folded = [(fold + 1, item) for fold in range(plan.folds) for item in items[fold :: plan.folds]]
    return [
        Sheet(item, fold, rater, letters)
        for place, (fold, item) in enumerate(folded)
        for rater in teams[place % len(teams)]
        for letters in assign_letters(by_item[item], plan, item, rater)
    ]


def assign_letters(
    candidates: Sequence[Candidate], plan: Plan, item: str, rater: int
) -> Iterator[tuple[tuple[str, Candidate], ...]]:
    """The item's clips shuffled for one rater, in groups of almost equal size, under letters."""
    order = list(candidates)
    random.Random(f"letters {plan.seed} {rater} {item}").shuffle(order)
    n_groups = -(-len(order) // plan.together)
    for number in range(n_groups):
        yield tuple(zip(string.ascii_uppercase, order[number::n_groups], strict=False))


def question(sheet: Sheet, sounds: Mapping[str, Sound], rubric: Rubric, plan: Plan) -> Question:
    """The sheet as a question; ``sounds``: stimulus -> its audio. No name of a system is in it."""
    letters = [letter for letter, _ in sheet.letters]
    known = sheet.letters[0][1].known
    return Question(
        model=plan.models[(sheet.rater - 1) % len(plan.models)],
        system=rubric.system,
        user=rubric.prompt(**known, letters=", ".join(letters), n_clips=str(len(letters))),
        sounds=tuple(Sound(sounds[c.stimulus].wav, letter) for letter, c in sheet.letters),
        schema=table_schema(letters, rubric.fields),
        check=lambda answer: check_table(answer, letters, rubric.fields),
        rubric=rubric.name,
        temperature=plan.temperature,
        seed=plan.seed + sheet.rater - 1,
        repeat=sheet.rater - 1,
        max_tokens=plan.max_tokens,
    )


def ask_panel(
    planned: Sequence[Sheet],
    rubric: Rubric,
    plan: Plan,
    client: Client,
    load: Callable[[str], Sound],
) -> Iterator[tuple[Sheet, Reply, list[PanelRating]]]:
    """Each sheet with its reply and ratings (none of a failed one), as they come.

    ``load``: path -> Sound. Raises weights.Unavailable as the client does.
    """
    for start in range(0, len(planned), BATCH):
        batch = planned[start : start + BATCH]
        heard = {c.stimulus: c.path for sheet in batch for _, c in sheet.letters}
        sounds = {stimulus: load(path) for stimulus, path in heard.items()}
        questions = [question(sheet, sounds, rubric, plan) for sheet in batch]
        for sheet, reply in zip(batch, ask_all(questions, client), strict=True):
            yield sheet, reply, ratings(sheet, reply, rubric)


def ratings(sheet: Sheet, reply: Reply, rubric: Rubric) -> list[PanelRating]:
    """An answer's scores per clip and criterion, with the rubric's caps applied."""
    if reply.answer is None:
        return []
    panel_ratings = []
    for letter, candidate in sheet.letters:
        row = reply.answer[letter]
        artefacts = tuple(row.get(ARTEFACTS, ()))
        for criterion in criteria(rubric):
            score = row[criterion.name]
            panel_ratings.append(
                PanelRating(
                    candidate.stimulus,
                    sheet.item,
                    candidate.condition,
                    sheet.fold,
                    sheet.rater,
                    letter,
                    criterion.name,
                    score,
                    cap_score(score, criterion.name, artefacts, rubric),
                    artefacts,
                )
            )
    return panel_ratings


def criteria(rubric: Rubric) -> list[Field]:
    """The rubric's fields that are scores."""
    return [part for part in rubric.fields if part.kind == "score"]


def cap_score(score: float, criterion: str, artefacts: Sequence[str], rubric: Rubric) -> float:
    """The score, or the least of the caps that the artefacts put on this criterion."""
    limits = [
        cap.most for cap in rubric.caps if cap.criterion == criterion and cap.artefact in artefacts
    ]
    return min([score, *limits])


def scores_by_stimulus(ratings: Iterable[PanelRating]) -> dict[tuple[str, str], list[float]]:
    """(stimulus, criterion) -> the raters' scores."""
    grouped: dict[tuple[str, str], list[float]] = defaultdict(list)
    for rating in ratings:
        grouped[rating.stimulus, rating.criterion].append(rating.score)
    return dict(grouped)


def summary(ratings: Iterable[PanelRating]) -> list[dict[str, Any]]:
    """Per condition and criterion: the mean over clips, overall and in each fold, and counts.

    A clip counts once, by the mean of its raters.
    """
    grouped: dict[tuple[str, str], dict[tuple[int, str], list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for rating in ratings:
        clip = (rating.fold, rating.stimulus)
        grouped[rating.condition, rating.criterion][clip].append(rating.score)
    rows = []
    for (condition, criterion), clips in sorted(grouped.items()):
        means = {clip: statistics.fmean(scores) for clip, scores in clips.items()}
        folds = {
            fold: statistics.fmean(
                mean for (clip_fold, _), mean in means.items() if clip_fold == fold
            )
            for fold in sorted({fold for fold, _ in means})
        }
        rows.append(
            {
                "condition": condition,
                "criterion": criterion,
                "mean": statistics.fmean(means.values()),
                "n_clips": len(means),
                "n_ratings": sum(map(len, clips.values())),
                "folds": folds,
            }
        )
    return rows
