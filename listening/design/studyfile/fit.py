"""Whether tasks, conditions and stimuli fit each other: what only the whole study can tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from listening.design.studyfile.csvpart import Row
from listening.design.studyfile.entries import StimulusEntry, StudyFile, TaskEntry
from listening.design.studyfile.problems import Notebook, did_you_mean, quoted
from listening.design.traps import TrapPlan
from listening.methods import Method, PlannedTrial, Scale, StimulusRef, method_named

MAX_PLANNED = 20_000_000  # presentations of one task


def check_fit(study: StudyFile, rows: Sequence[Row], notes: Notebook) -> None:
    """`rows` are those of the study's stimuli, in the same order."""
    if not rows:
        return  # why there are none is said already
    _check_conditions(study, rows, notes)
    _check_traps_used(study, rows, notes)
    numbers = {s.key: row.number for s, row in zip(study.stimuli, rows, strict=True)}
    for n, task in enumerate(study.tasks, start=1):
        if task.method in Method.registry:
            TaskFit(study, task, f"tasks[{n}]", numbers, notes).check()


def _check_conditions(study: StudyFile, rows: Sequence[Row], notes: Notebook) -> None:
    known = {c.key: c for c in study.conditions}
    for s, row in zip(study.stimuli, rows, strict=True):
        condition = known.get(s.condition)
        if condition is None:
            what = f"“{s.condition}” is no condition of study.toml."
            notes.csv(row.number, "condition", what, did_you_mean(s.condition, known))
        elif condition.role == "trap" and not s.trap:
            what = f"The condition “{s.condition}” has the role trap, but this row names no trap."
            remedy = "Write the kind of trap in the column trap, or change the role."
            notes.csv(row.number, "trap", what, remedy)
    used = {s.condition for s in study.stimuli}
    for n, condition in enumerate(study.conditions, start=1):
        if condition.key not in used:
            what = f"No stimulus belongs to the condition “{condition.key}”."
            notes.toml(f"conditions[{n}].key", what, "Add its rows to stimuli.csv, or remove it.")


def _check_traps_used(study: StudyFile, rows: Sequence[Row], notes: Notebook) -> None:
    kinds = [kind["kind"] for task in study.tasks for kind in task.traps.get("kinds", [])]
    for s, row in zip(study.stimuli, rows, strict=True):
        if s.trap and s.trap not in kinds:
            remedy = did_you_mean(s.trap, kinds) or "Describe it in [[tasks.traps.kinds]]."
            notes.csv(row.number, "trap", f"No task has traps of the kind “{s.trap}”.", remedy)


class WatchedOptions(dict[str, Any]):
    """Options that remember what was asked of them, so that unused ones can be named."""

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        self.asked: dict[str, None] = {}

    def __getitem__(self, key: str) -> Any:
        self.asked[key] = None
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.asked[key] = None
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.asked[str(key)] = None
        return super().__contains__(key)


class TaskFit:
    """One task against the study's material."""

    def __init__(
        self,
        study: StudyFile,
        task: TaskEntry,
        where: str,
        numbers: dict[str, int],
        notes: Notebook,
    ) -> None:
        self.study, self.task, self.where, self.notes = study, task, where, notes
        self.numbers = numbers
        self.method = method_named(task.method)
        self.options = WatchedOptions(task.options)
        self.roles = {c.key: c.role for c in study.conditions}
        self.material = self._material()

    def check(self) -> None:
        self._check_limits()
        scale = self._scale()
        if scale:
            self._check_names(scale)
        trials = self._trials()
        self._check_unused_options()
        self._check_traps(scale)
        if trials is not None:
            self._check_cells(*trials)
            self._check_sizes(trials[1])

    def say(self, field: str, what: str, remedy: str = "") -> None:
        self.notes.toml(f"{self.where}.{field}", what, remedy)

    def _material(self) -> list[StimulusEntry]:
        dimension = {item.key: item.dimension for item in self.study.items}
        return [
            s
            for s in self.study.stimuli
            if not s.trap
            and s.condition in self.roles  # others are named already
            and (not self.task.conditions or s.condition in self.task.conditions)
            and (not self.task.dimensions or dimension[s.item] in self.task.dimensions)
        ]

    def _check_limits(self) -> None:
        conditions = [c.key for c in self.study.conditions]
        for key in self.task.conditions:
            if key not in conditions:
                self.say("conditions", f"“{key}” is no condition.", did_you_mean(key, conditions))
        dimensions = list(dict.fromkeys(i.dimension for i in self.study.items if i.dimension))
        for key in self.task.dimensions:
            if key not in dimensions:
                what = f"No item has the dimension “{key}”."
                self.say("dimensions", what, did_you_mean(key, dimensions))

    def _scale(self) -> Scale | None:
        try:
            return self.method.scale(self.options)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            what = f"The options do not fit the method “{self.task.method}”: {error}."
            self.say("options", what, "Correct or remove the option.")
            return None

    def _check_names(self, scale: Scale) -> None:
        names = self.task.options.get("names")
        for label in names if isinstance(names, dict) else ():
            if label not in scale.labels:
                what = f"The scale has no label “{label}”."
                self.say("options.names", what, did_you_mean(label, scale.labels))

    def _trials(self) -> tuple[list[str], list[PlannedTrial]] | None:
        """Columns and trials of one replicate; pk and item are places in lists here."""
        if not self.material:
            what = "The task has no stimulus to rate."
            self.say("conditions", what, "Name conditions and dimensions that have some.")
            return None
        places = {item.key: n for n, item in enumerate(self.study.items)}
        refs = [
            StimulusRef(n, places[s.item], s.condition, self.roles[s.condition])
            for n, s in enumerate(self.material)
        ]
        try:
            columns = self.method.columns(refs, self.options)
            return columns, list(self.method.trials(refs, self.options))
        except (ValueError, TypeError, KeyError, AttributeError, StopIteration) as error:
            what = f"The method “{self.task.method}” cannot plan trials with this: {error}."
            self.say("options", what, "Correct the options or the material.")
            return None

    def _check_unused_options(self) -> None:
        for key in self.task.options:
            if key not in self.options.asked:
                what = f"The method “{self.task.method}” does not use the option “{key}” here."
                self.say(f"options.{key}", what, did_you_mean(key, self.options.asked))

    def _check_cells(self, columns: list[str], trials: list[PlannedTrial]) -> None:
        """Every item in every column, unless the study says that some may be missing."""
        present: dict[int, set[str]] = {}
        for trial in trials:
            present.setdefault(trial.item, set()).add(trial.column)
        filled = set().union(*present.values()) if present else set()
        for column in columns:
            if column not in filled:
                what = f"No item makes a trial for “{column}”."
                self.say("options", what, "Check the conditions that it names.")
        if self.task.allow_missing:
            return
        first = {s.item: s for s in reversed(self.material)}
        for place, item in enumerate(self.study.items):
            if item.key in first and (lacks := filled - present.get(place, set())):
                self._say_missing(first[item.key], sorted(lacks))

    def _say_missing(self, example: StimulusEntry, lacks: list[str]) -> None:
        what = f"The item “{example.item}” lacks {quoted(lacks)} in task “{self.task.key}”."
        remedy = "Add the rows, or set allow_missing = true for the task."
        self.notes.csv(self.numbers[example.key], "item", what, remedy)

    def _check_sizes(self, trials: list[PlannedTrial]) -> None:
        task = self.task
        items = len({trial.item for trial in trials})
        room, noun = (len(trials), "trials") if task.repeat_items else (items, "items")
        if task.block_size > room:
            what = f"A block of {task.block_size} is larger than the number of {noun}, {room}."
            more = "" if task.repeat_items else ", or set repeat_items = true"
            self.say("block_size", what, f"Choose at most {room}{more}.")
        elif task.block_size * task.blocks_per_session > room:
            what = (
                f"{task.blocks_per_session} blocks of {task.block_size} need more than the {room} "
                f"{noun} that one rater may hear once."
            )
            self.say("blocks_per_session", what, "Choose fewer or smaller blocks.")
        if task.blocks_per_rater < task.blocks_per_session:
            what = f"A rater may take {task.blocks_per_rater}, but a session has more."
            self.say("blocks_per_rater", what, f"Choose at least {task.blocks_per_session}.")
        if len(trials) * task.ratings_per_stimulus > MAX_PLANNED:
            what = f"The task would plan {len(trials) * task.ratings_per_stimulus:,} trials."
            self.say("ratings_per_stimulus", what, f"At most {MAX_PLANNED:,} are possible.")

    def _check_traps(self, scale: Scale | None) -> None:
        if not self.task.traps:
            return
        plan = TrapPlan.from_dict(self.task.traps)
        available = [s.trap for s in self.study.stimuli]
        for n, kind in enumerate(plan.kinds, start=1):
            for place, what, remedy in _kind_problems(kind.kind, kind.count, available):
                self.say(f"traps.kinds[{n}].{place}", what, remedy)
            for label in kind.expected:
                if scale and label not in scale.labels:
                    what = f"“{label}” is not on the scale of this task."
                    self.say(f"traps.kinds[{n}].expected", what, did_you_mean(label, scale.labels))
        self._check_trap_sets(plan)

    def _check_trap_sets(self, plan: TrapPlan) -> None:
        rated, size = plan.rated_per_set, self.task.block_size
        if rated < 1:
            what = f"{plan.traps_per_set} traps leave no rated clip among {plan.per}."
            self.say("traps.per", what, 'Choose a larger number, or placement = "outside".')
        elif size and size % rated:
            fits = [n for n in (size // rated * rated, -(-size // rated) * rated) if n]
            what = f"A block of {size} rated clips is no whole number of sets of {rated}."
            self.say("block_size", what, f"Choose {' or '.join(map(str, fits))}.")


def _kind_problems(kind: str, count: int, available: list[str]) -> Iterator[tuple[str, str, str]]:
    there = available.count(kind)
    if not kind:
        return
    if not there:
        others = dict.fromkeys(name for name in available if name)
        what = f"No row of stimuli.csv has “{kind}” in the column trap."
        yield "kind", what, did_you_mean(kind, others) or "Add such rows."
    elif there < count:
        what = f"A set needs {count} traps of the kind “{kind}”, and there is only {there}."
        yield "count", what, "Add rows, or choose a smaller count."
