"""A made-up Audio Turing Test of the paper's size, of which everything is known.

857 raters, 24 clips each in two sets of twelve with three traps beside each. Voices are as human as
the paper's Table 6 says. Some raters are careless: they mostly say Human, whatever they hear,
answer fast, fail traps more often, and mostly write a reason that does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit

from benchmarks.material import ATT_TRAPS, REASON, add_task, make_study, write_clips
from benchmarks.paper_folders import published

KEY, RATERS, TEXTS, SET, SETS = "att", 857, 60, 12, 2
TRAPS = (("flawed", "Machine"), ("human", "Human"), ("human", "Human"))
CARELESS = 0.15
UNFIT = {False: 0.03, True: 0.70}  # of the reasons, by whether the rater is careless
PASS = {False: (0.97, 0.93), True: (0.35, 0.85)}  # the flawed trap, each human one
MEDIAN_MS, SPREAD = {False: 4000, True: 1100}, 0.45
LOUDSPEAKER = {False: 0.04, True: 0.25}
UNCLEAR = {False: 0.15, True: 0.10}
HUMAN_IF_CARELESS = 0.8  # of what they do not call Unclear
CLIP_SD, RATER_SD = 0.4, 0.5  # of the logit
SCORES = {"Human": 1.0, "Unclear": 0.5, "Machine": 0.0}


@dataclass(frozen=True)
class World:
    """The study, what is true of each reason, and each voice's mean if all raters were careful."""

    study: Any
    reasons: dict[int, str]
    means: dict[str, float]
    careless: frozenset[str]  # codes of raters


@dataclass(frozen=True)
class _Session:
    """One rater: the person, their seat, and how they are."""

    rater: Any
    session: Any
    careless: bool
    offset: float


def att_world(raters: int = RATERS, seed: int = 1) -> World:
    """Everything written; its raters' labels are drawn by the seed."""
    from django.db import connection, transaction

    rng = np.random.default_rng(seed)
    with transaction.atomic():
        study, task = _plan(raters)
        clips = list(study.stimuli.filter(trap="").select_related("condition", "item"))
        base = {(r["voice"], r["dimension"]): float(r["hls"]) for r in _cells()}
        human = np.array([base[c.condition.key, c.item.dimension] for c in clips])
        height = logit(np.clip(human, 0.01, 0.99)) + CLIP_SD * rng.normal(size=len(clips))
        people = _people(study, raters, rng)
        reasons = _Writer(study, task, clips, height, rng).write(people)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    slack = frozenset(each.rater.code for each in people if each.careless)
    return World(study, reasons, _means(clips, height), slack)


def _cells() -> list[dict[str, str]]:
    return published("att_table6_hls_by_voice.csv")


def _plan(raters: int) -> tuple[Any, Any]:
    """The study with its voices and texts, and its task."""
    from django.conf import settings

    voices = list(dict.fromkeys((r["system"], r["voice"]) for r in _cells()))
    dimensions = list(dict.fromkeys(r["dimension"] for r in _cells()))
    clips = write_clips(Path(settings.MEDIA_ROOT), 1)
    study = make_study(KEY, conditions=len(voices), items=TEXTS, traps=20, clips=clips)
    for condition, (system, voice) in zip(study.conditions.order_by("pk"), voices, strict=False):
        condition.key = condition.voice = voice
        condition.system, condition.label = system, f"{system}, {voice}"
        condition.save()
    for n, item in enumerate(study.items.order_by("pk")[:TEXTS]):
        item.dimension = dimensions[n % len(dimensions)]
        item.split = "black-box" if n // len(dimensions) % 2 else "white-box"
        item.save()
    plan = {**ATT_TRAPS, "per": SET}
    often = -(-raters * SETS * SET // (len(voices) * TEXTS))
    task = add_task(
        study,
        "att",
        traps=plan,
        justification=REASON,
        block_size=SET,
        blocks_per_session=SETS,
        ratings_per_stimulus=often,
    )
    return study, task


def _people(study: Any, count: int, rng: np.random.Generator) -> list[_Session]:
    from django.utils import timezone

    from listening.models import Rater, Session

    careless = rng.random(count) < CARELESS
    raters = Rater.objects.bulk_create([Rater(code=f"r-{n}") for n in range(count)])
    made = []
    for rater, slack in zip(raters, careless, strict=True):
        loud = rng.random() < LOUDSPEAKER[bool(slack)]
        answers = {"listening_device": "loudspeaker" if loud else "over_ear"}
        session = Session(study=study, rater=rater, status="finished", consent_version="1")
        session.questionnaires, session.finished_at = {"end": {"answers": answers}}, timezone.now()
        session.device = "desktop"
        made.append(session)
    sessions = Session.objects.bulk_create(made)
    offsets = RATER_SD * rng.normal(size=count)
    four = zip(raters, sessions, careless.tolist(), offsets.tolist(), strict=True)
    return [_Session(*each) for each in four]


class _Writer:
    """Blocks, slots, trials, ratings and reasons of every rater."""

    def __init__(
        self,
        study: Any,
        task: Any,
        clips: Sequence[Any],
        height: np.ndarray,
        rng: np.random.Generator,
    ) -> None:
        self.task, self.criterion = task, task.criteria.get()
        self.clips, self.height, self.rng = clips, height, rng
        traps = study.stimuli.exclude(trap="")
        self.traps = {kind: list(traps.filter(trap=kind)) for kind in ("flawed", "human")}

    def write(self, people: Sequence[_Session]) -> dict[int, str]:
        from listening.models import Block, Justification, Rating, Slot, Trial

        blocks, slots, trials, labels, fits = [], [], [], [], []
        for place, (copy, part) in enumerate(self._sets(len(people) * SETS)):
            person = people[place // SETS]
            block = Block(task=self.task, replicate=copy, ord=place, keys=[], state=2)
            block.session = person.session
            traps = self._traps(person, block, place % SETS)
            blocks.append(block)
            for k, clip in enumerate(part):
                slot = Slot(block=block, task=self.task, position=k, replicate=copy)
                slot.stimulus = self.clips[clip]
                slot.ratings_per_stimulus = self.task.ratings_per_stimulus
                trial = self._trial(person, block, self.clips[clip], place % SETS * 15 + k)
                trial.slot = slot
                slots.append(slot)
                trials.append(trial)
                labels.append((self._label(person, clip), True))
                fits.append("unfit" if self.rng.random() < UNFIT[person.careless] else "fit")
            trials += traps
            labels += [(_trap_label(each), False) for each in traps]
            fits += [""] * len(traps)
        Block.objects.bulk_create(blocks, batch_size=2000)
        Slot.objects.bulk_create(slots, batch_size=5000)
        Trial.objects.bulk_create(trials, batch_size=5000)
        three = list(zip(trials, labels, fits, strict=True))
        Rating.objects.bulk_create(
            [self._rating(trial, *label) for trial, label, _ in three], batch_size=5000
        )
        reasons = [self._reason(t, label[0], fit) for t, label, fit in three if fit]
        Justification.objects.bulk_create(reasons, batch_size=5000)
        return {trial.pk: fit for trial, _, fit in three if fit}

    def _sets(self, count: int) -> list[tuple[int, np.ndarray]]:
        """(replicate, clips) of so many sets: each replicate has every clip once, mixed."""
        per = len(self.clips) // SET
        mixed = [self.rng.permutation(len(self.clips)) for _ in range(-(-count // per))]
        found = [(n // per, mixed[n // per][n % per * SET :][:SET]) for n in range(count)]
        return found

    def _traps(self, person: _Session, block: Any, which: int) -> list[Any]:
        flawed, human = PASS[person.careless]
        made = []
        for k, (kind, label) in enumerate(TRAPS):
            clip = self.traps[kind][self.rng.integers(len(self.traps[kind]))]
            trial = self._trial(person, block, clip, which * 15 + SET + k)
            trial.trap, trial.expected = kind, [label]
            trial.trap_passed = bool(self.rng.random() < (flawed if kind == "flawed" else human))
            made.append(trial)
        return made

    def _trial(self, person: _Session, block: Any, clip: Any, position: int) -> Any:
        from django.utils import timezone

        from listening.models import Trial

        took = MEDIAN_MS[person.careless] * np.exp(SPREAD * self.rng.normal())
        trial = Trial(session=person.session, rater=person.rater, task=self.task, block=block)
        trial.stimulus, trial.item, trial.position = clip, clip.item, position
        trial.state, trial.answered_at, trial.latency_ms = "answered", timezone.now(), int(took)
        trial.plays, trial.heard_fraction = 1, 1.0
        return trial

    def _label(self, person: _Session, clip: int) -> str:
        human = HUMAN_IF_CARELESS if person.careless else expit(self.height[clip] + person.offset)
        if self.rng.random() < UNCLEAR[person.careless]:
            return "Unclear"
        return "Human" if self.rng.random() < human else "Machine"

    def _rating(self, trial: Any, label: str, counts: bool) -> Any:
        from listening.models import Rating

        rating = Rating(trial=trial, slot=trial.slot, criterion=self.criterion, label=label)
        rating.stimulus, rating.score, rating.counts = trial.stimulus, SCORES[label], counts
        return rating

    def _reason(self, trial: Any, label: str, fit: str) -> Any:
        """A text of its own for each, so that a scripted expert knows it again."""
        from listening.models import Justification

        word = {"Human": "breathes and hesitates", "Machine": "has even pauses"}.get(
            label, "varies"
        )
        text = f"In number {trial.pk} the voice {word} where the sentence turns"
        if fit == "unfit":
            text = f"I liked number {trial.pk}, a fine day to all of you"
        return Justification(trial=trial, text=text, keystrokes=len(text), typing_ms=9000)


def _trap_label(trial: Any) -> str:
    (expected,) = trial.expected
    wrong = "Machine" if expected == "Human" else "Human"
    return expected if trial.trap_passed else wrong


def _means(clips: Sequence[Any], height: np.ndarray) -> dict[str, float]:
    """By voice: the mean of these clips over all careful raters there could be."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    human = expit(height[:, None] + RATER_SD * nodes) @ (weights / weights.sum())
    score = 0.5 * UNCLEAR[False] + (1 - UNCLEAR[False]) * human
    voice = np.array([clip.condition.key for clip in clips])
    return {name: float(score[voice == name].mean()) for name in dict.fromkeys(voice.tolist())}
