"""A few trials of every task, drawn from a study's plain objects as one rater would meet them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from typing import Any

from listening.design.blocks import PlannedBlock, PlannedSlot, material_of, plan_blocks
from listening.design.pair_drawing import candidates_of, deal_into, drawing_rule
from listening.design.studyfile import StimulusEntry, StudyFile, TaskEntry
from listening.design.studyfile.drawing import is_scattered, only_drawn
from listening.design.traps import TRAINING, TrapKind, TrapPlan, labels_to_pass, weave
from listening.methods import Scale, method_named
from listening.methods.paired import ALL

FEW = 3  # rated trials of a task; its training and one trap of each kind come on top
ENOUGH = 20  # items to draw them from


@dataclass(frozen=True)
class ShownTrial:
    """A trial that is stored nowhere; stimuli and items are numbered by their place in the study.

    The names are those of a stored trial, so that the same function lays out the parts of both.
    """

    code: str
    task: int
    item_id: int
    stimulus_id: int
    versus_id: int | None = None
    versus_first: bool = False
    others: tuple[int, ...] = ()
    context: tuple[int, ...] = ()
    trap: str = ""
    expected: tuple[str, ...] = ()


def scales_of(task: TaskEntry) -> list[Scale]:
    """The scale of each criterion, in their order."""
    method = method_named(task.method)
    return [method.scale({**task.options, **c.options}) for c in task.criteria]


def trials_of(study: StudyFile, rng: Random) -> list[ShownTrial]:
    """Task after task, training first, traps among the rated; `study` holds what settings make."""
    return [
        trial for place in range(len(study.tasks)) for trial in _Table(study, place, rng).trials()
    ]


def rated_trials_of(study: StudyFile, rng: Random) -> list[ShownTrial]:
    """As `trials_of`, without traps and training."""
    places = range(len(study.tasks))
    return [trial for place in places for trial in _Table(study, place, rng).rated()]


class _Table:
    """One task of a study, and the drawing of its trials."""

    def __init__(self, study: StudyFile, place: int, rng: Random) -> None:
        self.study, self.place, self.rng = study, place, rng
        self.task = study.tasks[place]
        self.method = method_named(self.task.method)
        self.items = {item.key: n for n, item in enumerate(study.items)}
        self.by_key = {entry.key: n for n, entry in enumerate(study.stimuli)}

    def rated(self) -> list[ShownTrial]:
        return [self._rated(slot) for slot in self._slots()]

    def trials(self) -> list[ShownTrial]:
        rated = self.rated()
        if not rated:
            return []
        paired = any(trial.versus_id is not None for trial in rated)
        plan = TrapPlan.from_dict(self.task.traps)
        traps = [trap for kind in plan.kinds for trap in self._traps(kind, paired)]
        training = [self._training(entry, paired) for entry in self.task.training]
        return [*training, *weave(rated, traps, 1, self.rng)]

    def _slots(self) -> Sequence[PlannedSlot]:
        """A block like those of raters, from some of the items or, where those do not do, all."""
        material = material_of(self.study, self.task)
        items = sorted({ref.item for ref in material})
        some = set(self.rng.sample(items, min(ENOUGH, len(items))))
        keys = {n: item.key for n, item in enumerate(self.study.items)}
        for refs in ([ref for ref in material if ref.item in some], material):
            trials = self.method.trials(refs, self.task.options) if refs else ()
            planned = only_drawn(trials, self.task.draw, keys)
            if planned:
                blocks: Iterable[PlannedBlock] = plan_blocks(
                    planned,
                    block_size=min(FEW, self.task.block_size),
                    ratings_per_stimulus=1,
                    seed=self.rng.getrandbits(31),
                    repeat_items=self.task.repeat_items,
                    scattered=is_scattered(self.task.draw),
                )
                if drawing_rule(self.task) != ALL:
                    blocks = deal_into(blocks, candidates_of(self.task, material), self.rng)
                return max((block.slots for block in islice(blocks, ENOUGH)), key=len)
        return ()

    def _rated(self, slot: PlannedSlot) -> ShownTrial:
        planned = slot.trial
        return ShownTrial(
            self._code(),
            self.place,
            planned.item,
            planned.rated[0],
            planned.versus,
            slot.versus_first,
            planned.rated[1:],
            planned.context,
        )

    def _traps(self, kind: TrapKind, paired: bool) -> list[ShownTrial]:
        """One trap of this kind; a row's own `expected` overrides that of its kind."""
        pool = [entry for entry in self.study.stimuli if entry.trap == kind.kind]
        if not pool:
            return []
        entry = self.rng.choice(pool)
        own = entry.attributes.get("expected", "")
        expected = [word.strip() for word in own.split("|")] if own else kind.expected
        scales = dict(zip((c.key for c in self.task.criteria), scales_of(self.task), strict=True))
        scale = scales.get(kind.criterion) or next(iter(scales.values()))
        return [self._single(entry, kind.kind, expected, scale, kind.tolerance, paired)]

    def _training(self, entry: Mapping[str, Any], paired: bool) -> ShownTrial:
        stimulus = self.study.stimuli[self.by_key[entry["stimulus"]]]
        expected = list(entry.get("expected", ()))
        return self._single(stimulus, TRAINING, expected, scales_of(self.task)[0], 0.0, paired)

    def _single(
        self,
        entry: StimulusEntry,
        trap: str,
        expected: Sequence[str],
        scale: Scale,
        tolerance: float,
        paired: bool,
    ) -> ShownTrial:
        """A trial of one clip; where clips are compared, versus the one that its row names."""
        own = self.by_key[entry.key]
        trial = ShownTrial(self._code(), self.place, self.items[entry.item], own, trap=trap)
        if paired:
            versus = self.by_key.get(entry.attributes.get("versus", ""), own)
            trial = replace(trial, versus_id=versus, versus_first=self.rng.random() < 0.5)
        if not expected:
            return trial
        passing = labels_to_pass(
            self.method,
            scale.of_clip(entry.attributes),
            expected,
            tolerance,
            versus_first=trial.versus_first,
            draws=trial.code,
        )
        return replace(trial, expected=tuple(passing))

    def _code(self) -> str:
        return f"{self.rng.getrandbits(64):016x}"
