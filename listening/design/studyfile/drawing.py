"""A seeded draw of what a task rates: so many items, clips or pairs of each group, recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from math import ceil
from random import Random
from typing import Any, Protocol

from listening.common.counted import counted
from listening.design.studyfile.entries import StimulusEntry, StudyFile, TaskEntry
from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.reader import fields_of, read_table
from listening.methods import Method, PlannedTrial, StimulusRef, method_named
from listening.methods.method import Options
from listening.methods.paired import BETWEEN, Paired, rule_in_words

ITEMS, CLIPS, PAIRS = "items", "clips", "pairs"
OF_ITEMS = ("dimension", "language", "split", "speaker")
OF_CLIPS = ("condition", "system", "voice")
MOST_NAMED = 5


class Drawing(Protocol):
    """A task, of a file or stored."""

    @property
    def key(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def options(self) -> Mapping[str, Any]: ...
    @property
    def material(self) -> Mapping[str, Any]: ...


def with_draws(study: StudyFile, notes: Notebook) -> StudyFile:
    """The study with what its tasks draw; what is wrong with a rule is noted."""
    tasks = []
    for n, task in enumerate(study.tasks, start=1):
        draw: dict[str, Any] = {}
        if task.draw and (rule := _rule(task, study, f"tasks[{n}].draw", notes)):
            draw = draw_clips(study, task, rule)
        tasks.append(replace(task, draw=draw))
    return replace(study, tasks=tuple(tasks))


def _rule(task: TaskEntry, study: StudyFile, where: str, notes: Notebook) -> dict[str, Any]:
    """The rule with its seed; empty where it cannot be used."""
    before = len(notes)
    rule = read_table(task.draw, "tasks.draw", where, notes)
    if (rule["number"] is None) == (not rule["share"]):
        what = "A draw needs a number or a share, and not both."
        notes.toml(where, what, "Write number = 10, or share = 0.25.")
    known = OF_ITEMS if rule["of"] == ITEMS else (*OF_ITEMS, *OF_CLIPS)
    for name in rule["per"]:
        if name not in known:
            what = f"{rule['of'].capitalize()} cannot be drawn per “{name}”."
            more = ' Write of = "clips" to draw per condition.' if name in OF_CLIPS else ""
            notes.toml(f"{where}.per", what, f"Use {', '.join(known)}.{more}")
    if rule["of"] == PAIRS and not _compares(task):
        what = f"Pairs are drawn of comparisons of two clips, and “{task.method}” is none."
        notes.toml(f"{where}.of", what, 'Write of = "items" or of = "clips".')
    if rule["of"] == PAIRS and isinstance(task.options.get("pairs"), str):
        what = f"The option pairs = “{task.options['pairs']}” chooses the pairs of this task."
        notes.toml(f"{where}.of", what, 'Write of = "items", or remove the option.')
    if not set(task.conditions) <= {c.key for c in study.conditions}:
        what = "What settings make of lines cannot be drawn from."
        notes.toml(where, what, "Name conditions of stimuli.csv in this task, or remove the draw.")
    if len(notes) > before:
        return {}
    seed = study.seed if rule["seed"] is None else rule["seed"]
    return {**{k: v for k, v in rule.items() if v}, "per": list(rule["per"]), "seed": seed}


def draw_clips(study: StudyFile, task: TaskEntry, rule: Mapping[str, Any]) -> dict[str, Any]:
    """The rule with the keys ``drawn``, how many there were, and which groups were too small.

    Groups and keys are sorted before each draw, which has a seed of its own: what other groups
    hold, and the order of the files, change nothing. Of pairs a key is the item and the column.
    """
    groups: dict[tuple[str, ...], set[Any]] = {}
    for group, key in _members(study, replace(task, draw={}), rule):
        groups.setdefault(group, set()).add(key)
    drawn: list[Any] = []
    short: dict[str, int] = {}
    for name in sorted(groups):
        keys = sorted(groups[name])
        wanted = rule.get("number") or ceil(round(rule["share"] * len(keys), 9))
        if wanted > len(keys):
            short[" · ".join(name)] = len(keys)
        chance = Random(f"draw {rule['seed']} {task.key} {name}")
        drawn += sorted(chance.sample(keys, min(wanted, len(keys))))
    there = sum(map(len, groups.values()))
    drawn = [list(key) if isinstance(key, tuple) else key for key in drawn]  # as JSON has it
    return {**rule, "drawn": drawn, "there": there, "short": short}


def _members(
    study: StudyFile, task: TaskEntry, rule: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each key that there is, after the values of what it is drawn per.

    A pair has those of its rated clip, the first of the two that the column names.
    """
    items = {item.key: item for item in study.items}
    conditions = {c.key: c for c in study.conditions}
    takes = takes_of(task, {item.key: item.dimension for item in study.items})
    named = set(task.conditions) or {c.key for c in study.conditions if not c.derived}
    rated = [s for s in study.stimuli if s.condition in conditions and s.condition in named]
    rated = [s for s in rated if takes(s)]

    def group(s: StimulusEntry) -> tuple[str, ...]:
        facts = {name: getattr(items[s.item], name) for name in OF_ITEMS}
        facts |= {"condition": s.condition, "system": conditions[s.condition].system}
        facts["voice"] = conditions[s.condition].voice
        return tuple(facts[name] or "–" for name in rule["per"])

    if rule["of"] != PAIRS:
        yield from ((group(s), s.item if rule["of"] == ITEMS else s.key) for s in rated)
        return
    places = {key: n for n, key in enumerate(items)}
    for trial in _trials(task, rated, places, {c.key: c.role for c in study.conditions}):
        clip = rated[trial.rated[0]]
        yield group(clip), (clip.item, trial.column)


def _compares(task: TaskEntry) -> bool:
    """Whether a task compares two clips; a method that there is not is said elsewhere."""
    return task.method not in Method.registry or isinstance(method_named(task.method), Paired)


def _trials(
    task: TaskEntry,
    rated: Iterable[StimulusEntry],
    places: Mapping[str, int],
    roles: Mapping[str, str],
) -> list[PlannedTrial]:
    """What the method makes of these clips; nothing where it cannot, which `check_fit` says."""
    refs = [
        StimulusRef(n, places[s.item], s.condition, roles[s.condition]) for n, s in enumerate(rated)
    ]
    return trials_if_any(task.method, refs, task.options)


def trials_if_any(method: str, refs: list[StimulusRef], options: Options) -> list[PlannedTrial]:
    """What a method makes of clips; nothing where it cannot yet: reading the study says why."""
    try:
        return list(method_named(method).trials(refs, options))
    except (ValueError, TypeError, KeyError, AttributeError, StopIteration):
        return []


def takes_of(task: TaskEntry, dimension: Mapping[str, str]) -> Callable[[StimulusEntry], bool]:
    """Whether a task rates a clip of its conditions: no trap, no later run, none not drawn."""
    drawn = drawn_clips(task.draw)

    def takes(s: StimulusEntry) -> bool:
        if s.trap or s.run != 1 or not drawn(s.item, s.condition, s.key):
            return False
        return not task.dimensions or dimension[s.item] in task.dimensions

    return takes


def drawn_clips(draw: Mapping[str, Any]) -> Callable[[str, str, str], bool]:
    """Whether a clip (its item, its condition, its own key) is of what was drawn."""
    if not draw.get("drawn"):
        return lambda item, condition, key: True
    if draw["of"] == PAIRS:
        sides = {(item, side) for item, column in draw["drawn"] for side in column.split(BETWEEN)}
        return lambda item, condition, key: (item, condition) in sides
    keys, of_items = set(draw["drawn"]), draw["of"] == ITEMS
    return lambda item, condition, key: (item if of_items else key) in keys


def only_drawn(
    trials: Iterable[PlannedTrial], draw: Mapping[str, Any], items: Mapping[int, str]
) -> list[PlannedTrial]:
    """Of the trials that clips make those of the pairs that were drawn; ``items`` has their keys.

    Two clips may each be of a pair that was drawn, and not make one together.
    """
    if draw.get("of") != PAIRS:
        return list(trials)
    drawn = {(item, column) for item, column in draw["drawn"]}
    return [trial for trial in trials if (items[trial.item], trial.column) in drawn]


def is_scattered(draw: Mapping[str, Any]) -> bool:
    """Whether what was drawn is some cells of items and columns, and not whole items."""
    return draw.get("of") in (CLIPS, PAIRS)


def rule_of(draw: Mapping[str, Any]) -> dict[str, Any]:
    """Of a draw what a study folder says of it."""
    return {
        name: draw[name] for name in fields_of("tasks.draw") if draw.get(name) not in (None, [], ())
    }


def draw_sentence(task: str, draw: Mapping[str, Any]) -> str:
    """The draw in a sentence: what was drawn, by which rule and seed, and what was left out."""
    drawn, there, noun = len(draw["drawn"]), draw["there"], draw["of"]
    rule = f"{draw['number']:,}" if draw.get("number") else f"{draw['share'] * 100:g} %"
    rule += f" per {' and '.join(draw['per'])}" if draw["per"] else " of all"
    words = (
        f"Task “{task}” rates {drawn:,} of {there:,} {noun}, drawn at random: {rule}, "
        f"seed {draw['seed']}; {there - drawn:,} are left out."
    )
    if short := draw["short"]:
        named = [f"{name or 'all'} {n}" for name, n in short.items()][:MOST_NAMED]
        more = f" and {len(short) - MOST_NAMED} more" if len(short) > MOST_NAMED else ""
        words += f" Fewer than {draw['number']:,} there are of: {', '.join(named)}{more}."
    return words


def drawn_of(task: Drawing) -> str:
    """What a task draws, clips and pairs, in words; empty where it rates all that there is."""
    draw = task.material.get("draw")
    clips = draw_sentence(task.key, draw) if draw else ""
    return f"{clips} {_pairs_drawn(task)}".strip()


def _pairs_drawn(task: Drawing) -> str:
    if task.method not in Method.registry or not isinstance(method_named(task.method), Paired):
        return ""
    try:
        words = rule_in_words(task.options)
    except ValueError:  # said where the study is read
        return ""
    return f"Task “{task.key}”: {words}." if words else ""


def draws_of(tasks: Iterable[Drawing]) -> list[str]:
    """The same of each task that draws."""
    return [words for words in map(drawn_of, tasks) if words]


def remarks_of(study: StudyFile) -> list[str]:
    """What of stimuli.csv is not rated: what was not drawn, and later runs."""
    remarks = draws_of(study.tasks)
    runs = sorted({s.run for s in study.stimuli if s.run != 1})
    if runs:
        n = sum(s.run != 1 for s in study.stimuli)
        remarks.append(
            f"Measured by metrics and not rated: {counted(n, 'clip')} of run "
            f"{', '.join(map(str, runs))} of the synthesis. Raters get run 1."
        )
    return remarks
