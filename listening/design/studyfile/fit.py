"""Whether tasks, conditions and stimuli fit each other: what only the whole study can tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from config.missing_packages import sentence
from listening.design.studyfile.covariates import check_covariates
from listening.design.studyfile.drawing import is_scattered, only_drawn, takes_of
from listening.design.studyfile.entries import ItemEntry, StimulusEntry, StudyFile, TaskEntry
from listening.design.studyfile.problems import Notebook, did_you_mean, quoted
from listening.design.studyfile.stimuli_csv import Row
from listening.design.studyfile.study_toml import OPTION
from listening.design.traps import TRAINING, TrapKind, TrapPlan
from listening.methods import Method, PlannedTrial, Scale, StimulusRef, method_named
from listening.methods.item_groups import ItemsError
from listening.methods.marks import NO_ERRORS, read_marks
from listening.methods.method import ALTERNATIVES, CORRECT_ANSWER, MARKS, QUESTION, SPANS
from listening.methods.paired import BETWEEN, DRAWN
from listening.methods.phonemes import LanguageError
from listening.methods.transcript_scores import SpokenText, keyword_places, spoken_units


class WatchedOptions(dict[str, Any]):
    """Options that remember what was asked of them, so that unused ones can be named."""

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        self.used: dict[str, None] = {}

    def __getitem__(self, key: str) -> Any:
        self.used[key] = None
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.used[key] = None
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.used[str(key)] = None
        return super().__contains__(key)


class Layered(dict[str, Any]):
    """A criterion's own options over those of its task; each notes what was asked of it."""

    def __init__(self, own: WatchedOptions, shared: WatchedOptions) -> None:
        super().__init__({**shared, **own})
        self.layers = (own, shared)

    def __getitem__(self, key: str) -> Any:
        return self.get(key) if key in self else super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        values = [layer.get(key) for layer in self.layers if key in layer]
        return values[0] if values else default

    def __contains__(self, key: object) -> bool:
        return any(layer.__contains__(key) for layer in self.layers)


MEANT = {"scale": "points", "range": "points", "steps": "step", "labels": "names"}  # other words
OTHER_DIALECT = "Correct the dialect or the language, or remove the dialect."
OTHER_UNIT = 'Correct the language, or remove unit = "phonemes" from the task\'s options.'
MAX_PLANNED = 20_000_000  # presentations of one task


def check_fit(study: StudyFile, rows: Sequence[Row], notes: Notebook) -> None:
    """`rows` are those of the study's stimuli, in the same order."""
    if not rows:
        return  # why there are none is said already
    _check_conditions(study, rows, notes)
    _check_traps_used(study, rows, notes)
    check_covariates(study, rows, notes)
    numbers = {s.key: row.number for s, row in zip(study.stimuli, rows, strict=True)}
    whole, settings_wrong = _with_settings(study, numbers, notes)
    own = {c.key for c in study.conditions}
    for n, task in enumerate(study.tasks, start=1):
        if settings_wrong and not own.issuperset(task.conditions):
            continue  # that its material is not there follows from what is said already
        if task.method in Method.registry:
            TaskFit(whole, task, f"tasks[{n}]", numbers, notes).check()


def _with_settings(
    study: StudyFile, numbers: dict[str, int], notes: Notebook
) -> tuple[StudyFile, bool]:
    """The study with what its settings make of its lines, and whether they are wrong.

    What is made has the row of the first line that it rates.
    """
    from listening.design.settings import derive  # which reads what this package writes

    derived = derive(study)
    for mistake in derived.mistakes:
        if mistake.stimulus:
            number = numbers[mistake.stimulus]
            notes.csv(number, mistake.place, mistake.what, mistake.remedy)
        else:
            notes.toml(mistake.place, mistake.what, mistake.remedy)
    for recipe in derived.stimuli:
        numbers[recipe.entry.key] = numbers[recipe.rated[0].stimulus]
    return derived.added_to(study), bool(derived.mistakes)


def _check_conditions(study: StudyFile, rows: Sequence[Row], notes: Notebook) -> None:
    known = {c.key: c for c in study.conditions}
    for s, row in zip(study.stimuli, rows, strict=True):
        condition = known.get(s.condition)
        if condition is None:
            what = f"“{s.condition}” is not declared as a condition."
            notes.csv(row.number, "condition", what, did_you_mean(s.condition, known))
        elif condition.role == "trap" and not s.trap:
            what = f"The condition “{s.condition}” has the role trap, but this row names no trap."
            remedy = "Write the kind of trap in the column trap, or change the role."
            notes.csv(row.number, "trap", what, remedy, "Choose the role of its system anew.")
    used = {s.condition for s in study.stimuli}
    for n, condition in enumerate(study.conditions, start=1):
        if condition.key not in used and not notes.follows_from_unread(condition.key):
            what = f"No stimulus belongs to the condition “{condition.key}”."
            remedy = "Add its rows to stimuli.csv, or remove it."
            notes.toml(f"conditions[{n}].key", what, remedy, "Upload its sounds.")


def _check_traps_used(study: StudyFile, rows: Sequence[Row], notes: Notebook) -> None:
    kinds = [kind["kind"] for task in study.tasks for kind in task.traps.get("kinds", [])]
    for s, row in zip(study.stimuli, rows, strict=True):
        if s.trap and s.trap not in kinds and s.trap != TRAINING:
            what, near = f"No task has traps of the kind “{s.trap}”.", did_you_mean(s.trap, kinds)
            remedy = near or "Describe it in [[tasks.traps.kinds]]."
            notes.csv(row.number, "trap", what, remedy, near or "Choose the role of it anew.")


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
        self.derived = {c.key for c in study.conditions if c.derived}
        self.material = self._material()

    def check(self) -> None:
        self._check_limits()
        scales = self._scales()
        self._check_playback()
        unknown = self._unknown_conditions()
        trials = None if unknown else self._trials()
        if not unknown:
            self.options.get(OPTION)  # read when the words of the task were
            self._say_unused(self.options, "options")
        self._check_alternatives(scales)
        self._check_traps(scales)
        self._check_training(scales)
        for n, entry in enumerate(self.task.examples, start=1):
            self._check_stimulus(entry["stimulus"], f"examples[{n}].stimulus")
        if self.method.needs_text(self.options):
            self._check_spoken()
        if self.method.marks_errors:
            self._check_places()
        if any(scale.widget == MARKS for scale in scales.values()):
            self._check_expected_marks()
        if trials is not None:
            self._check_cells(*trials)
            self._check_sizes(trials[1])

    def say(self, field: str, what: str, remedy: str = "", on_page: str = "") -> None:
        self.notes.toml(f"{self.where}.{field}", what, remedy, on_page)

    def _material(self) -> list[StimulusEntry]:
        """What the task names; without names, all that stands in stimuli.csv and is no trap."""
        dimension = {item.key: item.dimension for item in self.study.items}
        conditions = set(self.task.conditions) or self.roles.keys() - self.derived
        takes = takes_of(self.task, dimension)
        return [
            s
            for s in self.study.stimuli
            if s.condition in self.roles  # others are named already
            and s.condition in conditions
            and takes(s)
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

    def _scales(self) -> dict[str, Scale]:
        """The scale of each criterion, by its key; what does not fit is said."""
        scales: dict[str, Scale] = {}
        for n, criterion in enumerate(self.task.criteria, start=1):
            own = WatchedOptions(criterion.options)
            where = f"criteria[{n}].options" if own else "options"
            try:
                scales[criterion.key] = self.method.scale(Layered(own, self.options))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                what = f"The options do not fit the method “{self.task.method}”: {error}."
                self.say(where, what, "Correct or remove the option.")
                continue
            self._check_names(scales[criterion.key], own or self.options, where)
            self._say_unused(own, where)
        return scales

    def _check_alternatives(self, scales: dict[str, Scale]) -> None:
        """Of a method whose answers are choices: what each clip brings, and its right answer."""
        brings = any(scale.widget == ALTERNATIVES for scale in scales.values())
        if not self.method.offers_choices or not scales:
            return
        labels = [
            label for scale in scales.values() if scale.widget == "choice" for label in scale.labels
        ]
        for s in (*self.material, *self._traps_and_training()):
            correct = s.attributes.get(CORRECT_ANSWER, "")
            if brings:
                self._check_own_alternatives(s)
            elif correct and correct not in labels:
                what = f"“{correct}” is no choice of task “{self.task.key}”."
                remedy = did_you_mean(correct, labels) or "Write the label of a choice."
                self.notes.csv(self.numbers[s.key], CORRECT_ANSWER, what, remedy)

    def _traps_and_training(self) -> list[StimulusEntry]:
        traps = {kind.kind for kind in TrapPlan.from_dict(self.task.traps).kinds}
        trained = {entry["stimulus"] for entry in self.task.training}
        return [s for s in self.study.stimuli if s.trap in traps or s.key in trained]

    def _check_own_alternatives(self, s: StimulusEntry) -> None:
        asked = any("{question}" in each.question for each in self.task.criteria)
        if asked and not s.attributes.get(QUESTION, "").strip():
            what = f"The clip “{s.key}” has no question, and “{self.task.key}” asks {{question}}."
            self.notes.csv(self.numbers[s.key], QUESTION, what, "Write it in the column question.")
        try:
            self.method.check_alternatives(s.attributes)
        except ValueError as error:
            remedy = "Write them as “veal|feel” in the column alternatives."
            what = f"The clip “{s.key}” does not fit “{self.task.method}”: {error}."
            self.notes.csv(self.numbers[s.key], ALTERNATIVES, what, remedy)
            return
        if not s.trap and not s.attributes.get(CORRECT_ANSWER):
            what = f"The clip “{s.key}” has no right answer."
            remedy = "Write which of its alternatives is said in the column correct_answer."
            self.notes.csv(self.numbers[s.key], CORRECT_ANSWER, what, remedy)

    def _check_names(self, scale: Scale, options: dict[str, Any], where: str) -> None:
        names = options.get("names")
        for label in names if isinstance(names, dict) else ():
            if label not in scale.labels:
                what = f"The scale has no label “{label}”."
                self.say(f"{where}.names", what, did_you_mean(label, scale.labels))

    def _check_playback(self) -> None:
        try:
            self.method.playback(self.options)
        except ValueError as error:
            what = f"The options do not fit the method “{self.task.method}”: {error}."
            self.say("options", what, "Correct or remove the option.")

    def _unknown_conditions(self) -> bool:
        """Whether an option names what is no condition: all else would only follow from it."""
        named = self.task.options
        pairs = named.get("pairs")
        pairs = pairs if isinstance(pairs, list) else []
        references: list[tuple[str, Any]] = [
            (key, named[key]) for key in ("versus", "reference") if key in named
        ]
        references += [("pairs", key) for pair in pairs if isinstance(pair, list) for key in pair]
        unknown = {
            (at, k): None for at, k in references if isinstance(k, str) and k not in self.roles
        }
        for at, key in unknown:
            what = f"“{key}” is no condition."
            self.say(f"options.{at}", what, did_you_mean(key, self.roles))
        return bool(unknown)

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
            keys = {n: key for key, n in places.items()}
            planned = self.method.trials(refs, self.options)
            return columns, only_drawn(planned, self.task.draw, keys)
        except ItemsError as error:
            self._say_unplannable(error)
        except (ValueError, TypeError, KeyError, AttributeError, StopIteration) as error:
            what = f"The method “{self.task.method}” cannot plan trials with this: {error}."
            self.say("options", what, "Correct the options or the material.")
        return None

    def _say_unplannable(self, error: ItemsError) -> None:
        item = self.study.items[error.items[0]].key
        example = next(s for s in self.material if s.item == item)
        what = f"Task “{self.task.key}” ({self.task.method}): {error}. The first is “{item}”."
        remedy = error.remedy or "Add or correct its rows."
        on_page = error.on_page or "Upload the sounds that it lacks."
        self.notes.csv(self.numbers[example.key], "item", what, remedy, on_page)

    def _check_spoken(self) -> None:
        """Each clip has a text to score answers with, and nothing else shows it."""
        if self.task.show_text:
            typed = "Raters type the text of the clip, and show_text would show it."
            marked = "Raters mark words of the text, and show_text would show it a second time."
            what = typed if self.method.compares_text else marked
            self.say("show_text", what, "Remove show_text.", "Untick it.")
        items = {item.key: item for item in self.study.items}
        if not self._check_languages(items):
            return
        for entry in self.material:
            item, row = items[entry.item], self.numbers[entry.key]
            language = item.language or self.study.language
            words = spoken_units(item.transcript or item.text, language)
            if not words:
                what = f"The item “{entry.item}” has no text, and answers are scored with it."
                self.notes.csv(row, "text", what, "Write what the clip says.", "Write it.")
                continue
            if not self.method.compares_text:
                continue
            try:
                self.method.check_words(words, self.options)
            except ValueError as error:
                what = f"The item “{entry.item}”: {error}."
                self.notes.csv(row, "text", what, "Write them in the letters of the language.")
            try:
                keyword_places(words, entry.attributes.get("keywords", ""), language)
            except ValueError as error:
                what = f"The item “{entry.item}”: {error}."
                remedy = "Write words of the text, with a blank between them."
                self.notes.csv(row, "keywords", what, remedy)

    def _check_languages(self, items: dict[str, ItemEntry]) -> bool:
        """Whether texts in the languages of the clips can be scored; said once for each."""
        first: dict[str, StimulusEntry] = {}
        for entry in (*self.material, *self._traps_and_training()):
            first.setdefault(items[entry.item].language, entry)
        fits = True
        for language, entry in first.items():
            try:
                self.method.check_language(language or self.study.language, self.options)
            except ModuleNotFoundError as error:
                what = "The unit “phonemes” needs a package."
                self.say("options.unit", what, sentence(error.name or ""))
                return False
            except LanguageError as error:
                fits = False
                what = f"The task “{self.task.key}” cannot compare phonemes: {error}."
                if "dialect" in self.task.options:
                    self.say("options.dialect", what, OTHER_DIALECT)
                elif language:
                    self.notes.csv(self.numbers[entry.key], "language", what, OTHER_UNIT)
                else:
                    self.notes.toml("study.language", what, OTHER_UNIT)
            except ValueError:  # of wrong options, which are said already
                return False
        return fits

    def _check_places(self) -> None:
        """Where errors are marked: once for a task, and times in uploaded clips alone."""
        for n, criterion in enumerate(self.task.criteria, start=1):
            if "mark" in criterion.options:
                what = "Where errors are marked is the same for all questions of a task."
                self.say(f"criteria[{n}].options.mark", what, "Write it under [tasks.options].")
        named = set(self.task.conditions)
        joined = bool(self.study.settings) and (not named or bool(self.derived & named))
        if joined and self.method.marks_time(self.options):
            what = "Clips that settings join cannot be marked on the waveform."
            self.say("options.mark", what, 'Write mark = "words", or rate the lines themselves.')

    def _check_expected_marks(self) -> None:
        """Right answers of traps and of training mark words that their clips have."""
        by_key = {s.key: s for s in self.study.stimuli}
        kinds = {kind.kind: kind for kind in TrapPlan.from_dict(self.task.traps).kinds}
        expected = [
            (
                s,
                s.attributes.get("expected", "").split("|")
                if s.attributes.get("expected")
                else kinds[s.trap].expected,
            )
            for s in self.study.stimuli
            if s.trap in kinds
        ]
        expected += [
            (by_key[entry["stimulus"]], entry.get("expected", ()))
            for entry in self.task.training
            if entry["stimulus"] in by_key
        ]
        items = {item.key: item for item in self.study.items}
        for s, labels in expected:
            item = items[s.item]
            spoken = SpokenText(item.transcript or item.text, item.language or self.study.language)
            for label in labels:
                with suppress(ValueError):  # what is on no scale is said already
                    read_marks(label.strip())
                    self._check_marked(s, label.strip(), spoken)

    def _check_marked(self, s: StimulusEntry, label: str, spoken: SpokenText) -> None:
        try:
            scored = label == NO_ERRORS or self.method.text_score(label, spoken, self.options)
            what = "" if scored is not None else "it has no text"
        except ValueError as error:
            what = str(error)
        if what:
            remedy = "Correct the text, or the right answer."
            text = f"The right answer “{label}” does not fit the clip “{s.key}”: {what}."
            self.notes.csv(self.numbers[s.key], "text", text, remedy)

    def _say_unused(self, options: WatchedOptions, where: str) -> None:
        for key in options:
            if key not in options.used:
                what = f"The method “{self.task.method}” does not use the option “{key}” here."
                meant = MEANT.get(key)
                own = f"Did you mean “{meant}”?" if meant in options.used else ""
                remedy = own or did_you_mean(key, options.used)
                self.say(f"{where}.{key}", what, remedy, "Empty this field.")

    def _check_cells(self, columns: list[str], trials: list[PlannedTrial]) -> None:
        """Every item in every column, unless the study says that some may be missing."""
        present: dict[int, set[str]] = {}
        for trial in trials:
            present.setdefault(trial.item, set()).add(trial.column)
            if len(trial.rated) > 1:  # what one screen lacks, its column does not tell
                present[trial.item].update(self.material[pk].condition for pk in trial.rated)
        filled = set().union(*present.values()) if present else set()
        for column in columns:
            if column not in filled:
                what = f"No item makes a trial for “{column}”."
                self.say("options", what, "Check the conditions that it names.")
        if self.task.allow_missing or is_scattered(self.task.draw):
            return  # what was drawn of single clips or pairs lacks the others by design
        first = {s.item: s for s in reversed(self.material)}
        needed = {c for c in filled if self.derived.isdisjoint(c.split(BETWEEN))}
        for place, item in enumerate(self.study.items):
            if item.key not in first or self.notes.follows_from_unread(item.key):
                continue
            if lacks := needed - present.get(place, set()):
                lacking = quoted(sorted(lacks))
                what = f"The item “{item.key}” lacks {lacking} in task “{self.task.key}”."
                remedy = "Add the rows, or set allow_missing = true for the task."
                number = self.numbers[first[item.key].key]
                self.notes.csv(number, "item", what, remedy, "Upload the sounds that it lacks.")

    def _check_sizes(self, trials: list[PlannedTrial]) -> None:
        task = self.task
        items = len({trial.item for trial in trials})
        room, noun = (len(trials), "trials") if task.repeat_items else (items, "items")
        again = task.ratings_per_stimulus if task.repeat_items and self._draws_pairs(trials) else 1
        clips = task.block_size * task.blocks_per_session
        if clips and task.repeats > clips:
            what = f"A session has {clips} clips, and {task.repeats} cannot be asked again."
            self.say("repeats", what, f"Choose at most {clips}.")
        if not room:
            what = "No trial can be made of what the task names."
            self.say("conditions", what, "Name conditions whose stimuli belong together.")
        elif task.block_size > room:
            what = f"A block of {task.block_size} is larger than the number of {noun}, {room}."
            remedy = on_page = f"Choose at most {room}"
            if not task.repeat_items:
                remedy += ", or set repeat_items = true"
                on_page += ", or let a rater hear the same sentence from several systems"
            self.say("block_size", what, f"{remedy}.", f"{on_page}.")
        elif task.block_size * task.blocks_per_session > room * again:
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

    def _draws_pairs(self, trials: list[PlannedTrial]) -> bool:
        """Whether the pair of each trial is drawn later: a rater may hear an item once more."""
        return any(trial.column == DRAWN for trial in trials)

    def _check_traps(self, scales: dict[str, Scale]) -> None:
        if not self.task.traps:
            return
        if self.method.screen == "parallel":
            what = f"The method “{self.task.method}” rates several clips at once."
            self.say("traps", what, "Remove the traps: they are single clips or pairs.")
        plan = TrapPlan.from_dict(self.task.traps)
        if plan.voids == "session" and not self.task.reopen_invalid:
            what = "A failed set can make a session invalid only where its blocks go to others."
            self.say("traps.voids", what, "Set reopen_invalid = true in this task.")
        available = [s.trap for s in self.study.stimuli]
        for n, kind in enumerate(plan.kinds, start=1):
            for place, what, remedy in _kind_problems(kind.kind, kind.count, available):
                self.say(f"traps.kinds[{n}].{place}", what, remedy)
            if kind.criterion and kind.criterion not in [c.key for c in self.task.criteria]:
                what = f"“{kind.criterion}” is no criterion of this task."
                remedy = did_you_mean(kind.criterion, [c.key for c in self.task.criteria])
                self.say(f"traps.kinds[{n}].criterion", what, remedy)
            scale = scales.get(kind.criterion or next(iter(scales), ""))
            if scale is None or scale.widget != ALTERNATIVES:  # else each clip is looked at
                self._check_expected(kind.expected, scale, f"traps.kinds[{n}].expected")
            self._check_trap_rows(n, kind, scale)
        self._check_trap_sets(plan)

    def _check_expected(self, expected: Sequence[str], scale: Scale | None, where: str) -> None:
        for label in expected:
            if scale and not _is_on(scale, label):
                what = f"“{label}” is not on the scale of this task{_why_not(scale, label)}."
                self.say(where, what, _meant(scale, label))

    def _check_trap_rows(self, n: int, kind: TrapKind, scale: Scale | None) -> None:
        """Each trap has a known answer: that of its kind, or its row's own."""
        keys = {s.key for s in self.study.stimuli}
        texts = {item.key: item.text for item in self.study.items}
        for s in self.study.stimuli:
            if s.trap != kind.kind:
                continue
            row, own = self.numbers[s.key], s.attributes.get("expected", "")
            if kind.text and not texts.get(s.item):
                what = f"The instruction of the trap “{s.key}” is not written."
                remedy = "Write it in the column text, or remove text = true."
                self.notes.csv(row, "text", what, remedy, "Write it under Texts.")
            if not own and not kind.expected:
                what = f"The trap “{s.key}” has no expected answer."
                remedy = f"Write it in the column expected, or in {self.where}.traps.kinds[{n}]."
                on_page = "Write it under Raters: Traps, Right answers."
                self.notes.csv(row, "expected", what, remedy, on_page)
            for label in filter(None, (word.strip() for word in own.split("|"))):
                on = scale and scale.of_clip(s.attributes)
                if on and not _is_on(on, label):
                    why = _why_not(on, label)
                    what = f"“{label}” is not on the scale of task “{self.task.key}”{why}."
                    self.notes.csv(row, "expected", what, _meant(on, label))
            versus = s.attributes.get("versus", "")
            if versus and versus not in keys:
                what = f"“{versus}” is no stimulus."
                self.notes.csv(row, "versus", what, did_you_mean(versus, keys))

    def _check_training(self, scales: dict[str, Scale]) -> None:
        if self.task.training and self.method.screen == "parallel":
            what = f"The method “{self.task.method}” rates several clips at once."
            self.say("training", what, "Remove the training trials; examples are possible.")
        scale = next(iter(scales.values()), None)
        for n, entry in enumerate(self.task.training, start=1):
            where = f"training[{n}]"
            self._check_stimulus(entry["stimulus"], f"{where}.stimulus")
            own = next((s for s in self.study.stimuli if s.key == entry["stimulus"]), None)
            on = scale.of_clip(own.attributes) if scale and own else scale
            self._check_expected(entry.get("expected", ()), on, f"{where}.expected")

    def _check_stimulus(self, key: str, where: str) -> None:
        keys = [s.key for s in self.study.stimuli]
        if key not in keys:
            what = f"There is no stimulus “{key}”."
            self.say(where, what, did_you_mean(key, keys) or "Add its row.")

    def _check_trap_sets(self, plan: TrapPlan) -> None:
        rated, size = plan.rated_per_set, self.task.block_size
        if rated < 1:
            what = f"{plan.traps_per_set} traps leave no rated clip among {plan.per}."
            remedy = 'Choose a larger number, or placement = "outside".'
            on_page = "Choose a larger number, or add the traps to the clips of a set."
            self.say("traps.per", what, remedy, on_page)
        elif size and size % rated:
            fits = [n for n in (size // rated * rated, -(-size // rated) * rated) if n]
            what = f"A block of {size} rated clips is no whole number of sets of {rated}."
            self.say("block_size", what, f"Choose {' or '.join(map(str, fits))}.")


def _is_on(scale: Scale, label: str) -> bool:
    try:
        scale.score(label)
    except ValueError:
        return False
    return True


def _why_not(scale: Scale, label: str) -> str:
    """What is wrong with an answer that is no single step, such as marks; empty for others."""
    if scale.widget not in (MARKS, SPANS):
        return ""
    try:
        scale.score(label)
    except ValueError as error:
        return f": {error}"
    return ""


def _meant(scale: Scale, label: str) -> str:
    """Which answer was meant; of marks, what the reason asks for."""
    if scale.widget in (MARKS, SPANS):
        return "Write the marks as the page for raters stores them."
    return did_you_mean(label, scale.labels)


def _kind_problems(kind: str, count: int, available: list[str]) -> Iterator[tuple[str, str, str]]:
    there = available.count(kind)
    if not kind:
        return
    if not there:
        others = dict.fromkeys(name for name in available if name)
        what = f"No clip is a trap of the kind “{kind}”."
        yield "kind", what, did_you_mean(kind, others) or "Add such clips."
    elif there < count:
        what = f"A set needs {count} traps of the kind “{kind}”, and there is only {there}."
        yield "count", what, "Add some, or choose a smaller number."
