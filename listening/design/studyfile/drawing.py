"""A seeded draw of what a task rates: so many items or clips of each group, and a record of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import ceil
from random import Random
from typing import Any

from listening.design.studyfile import shapes
from listening.design.studyfile.entries import StimulusEntry, StudyFile, TaskEntry
from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.shapes import Field, read_table

ITEMS, CLIPS = "items", "clips"
OF_ITEMS = ("dimension", "language", "split", "speaker")
OF_CLIPS = ("condition", "system", "voice")
RULE = {
    "number": Field(shapes.whole, low=1, high=200_000),
    "share": Field(shapes.number, low=0, high=1),
    "of": Field(shapes.choice, default=ITEMS, choices=(ITEMS, CLIPS)),
    "per": Field(shapes.texts, default=(), longest=20),
    "seed": Field(shapes.whole),
}
WRITTEN = tuple(RULE)  # of a draw: what a study folder says; the rest is what came of it
MOST_NAMED = 5


def with_draws(study: StudyFile, notes: Notebook) -> StudyFile:
    """The study with what its tasks draw; what is wrong with a rule is noted."""
    tasks = []
    for n, task in enumerate(study.tasks, start=1):
        draw: dict[str, Any] = {}
        if task.draw and (rule := _rule(task, study, f"tasks[{n}].draw", notes)):
            draw = made(study, task, rule)
        tasks.append(replace(task, draw=draw))
    return replace(study, tasks=tuple(tasks))


def _rule(task: TaskEntry, study: StudyFile, where: str, notes: Notebook) -> dict[str, Any]:
    """The rule with its seed; empty where it cannot be used."""
    before = len(notes)
    rule = read_table(task.draw, RULE, where, notes)
    if (rule["number"] is None) == (not rule["share"]):
        what = "A draw needs a number or a share, and not both."
        notes.toml(where, what, "Write number = 10, or share = 0.25.")
    known = OF_ITEMS if rule["of"] == ITEMS else (*OF_ITEMS, *OF_CLIPS)
    for name in rule["per"]:
        if name not in known:
            what = f"{rule['of'].capitalize()} cannot be drawn per “{name}”."
            more = ' Write of = "clips" to draw per condition.' if name in OF_CLIPS else ""
            notes.toml(f"{where}.per", what, f"Use {', '.join(known)}.{more}")
    if not set(task.conditions) <= {c.key for c in study.conditions}:
        what = "What settings make of lines cannot be drawn from."
        notes.toml(where, what, "Name conditions of stimuli.csv in this task, or remove the draw.")
    if len(notes) > before:
        return {}
    seed = study.seed if rule["seed"] is None else rule["seed"]
    return {**{k: v for k, v in rule.items() if v}, "per": list(rule["per"]), "seed": seed}


def made(study: StudyFile, task: TaskEntry, rule: Mapping[str, Any]) -> dict[str, Any]:
    """The rule with the keys ``drawn``, how many there were, and which groups were too small.

    Groups and keys are sorted before each draw, which has a seed of its own: what other groups
    hold, and the order of the files, change nothing.
    """
    groups = _groups(study, replace(task, draw={}), rule)
    drawn: list[str] = []
    short: dict[str, int] = {}
    for name in sorted(groups):
        keys = sorted(groups[name])
        wanted = rule.get("number") or ceil(round(rule["share"] * len(keys), 9))
        if wanted > len(keys):
            short[" · ".join(name)] = len(keys)
        chance = Random(f"draw {rule['seed']} {task.key} {name}")
        drawn += sorted(chance.sample(keys, min(wanted, len(keys))))
    there = sum(map(len, groups.values()))
    return {**rule, "drawn": drawn, "there": there, "short": short}


def _groups(
    study: StudyFile, task: TaskEntry, rule: Mapping[str, Any]
) -> dict[tuple[str, ...], set[str]]:
    """The keys that there are, by the values of what they are drawn per."""
    items = {item.key: item for item in study.items}
    conditions = {c.key: c for c in study.conditions}
    takes = takes_of(task, {item.key: item.dimension for item in study.items})
    named = set(task.conditions) or {c.key for c in study.conditions if not c.derived}
    groups: dict[tuple[str, ...], set[str]] = {}
    for s in study.stimuli:
        if s.condition not in named or s.condition not in conditions or not takes(s):
            continue
        facts = {name: getattr(items[s.item], name) for name in OF_ITEMS}
        facts |= {"condition": s.condition, "system": conditions[s.condition].system}
        facts["voice"] = conditions[s.condition].voice
        group = tuple(facts[name] or "–" for name in rule["per"])
        groups.setdefault(group, set()).add(s.item if rule["of"] == ITEMS else s.key)
    return groups


def takes_of(task: TaskEntry, dimension: Mapping[str, str]) -> Callable[[StimulusEntry], bool]:
    """Whether a task rates a clip of its conditions: no trap, no later run, none not drawn."""
    drawn, of_items = set(task.draw.get("drawn", ())), task.draw.get("of") == ITEMS

    def takes(s: StimulusEntry) -> bool:
        if s.trap or s.run != 1 or (drawn and (s.item if of_items else s.key) not in drawn):
            return False
        return not task.dimensions or dimension[s.item] in task.dimensions

    return takes


def rule_of(draw: Mapping[str, Any]) -> dict[str, Any]:
    """Of a draw what a study folder says of it."""
    return {name: draw[name] for name in WRITTEN if draw.get(name) not in (None, [], ())}


def said(task: str, draw: Mapping[str, Any]) -> str:
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


def remarks_of(study: StudyFile) -> list[str]:
    """What of stimuli.csv is not rated: what was not drawn, and later runs."""
    told = [said(task.key, task.draw) for task in study.tasks if task.draw]
    runs = sorted({s.run for s in study.stimuli if s.run != 1})
    if runs:
        n = sum(s.run != 1 for s in study.stimuli)
        told.append(
            f"{n:,} clips of run {', '.join(map(str, runs))} of the synthesis are measured by "
            "metrics and not rated: raters get run 1."
        )
    return told
