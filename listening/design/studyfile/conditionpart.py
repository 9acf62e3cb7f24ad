"""Conditions that only stimuli.csv names: taken as they are, unless they look misspelt."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from difflib import get_close_matches

from listening.design.studyfile.entries import ConditionEntry, StudyFile
from listening.design.studyfile.problems import quoted
from listening.methods.paired import BETWEEN

MISSPELT = 0.8  # a name so like a declared one is a mistake until it is declared, too


def with_undeclared(study: StudyFile) -> tuple[StudyFile, tuple[str, ...]]:
    """The study with a condition for each name of the table that study.toml lacks, and in words
    which these are. Whose rows are all traps is for traps only."""
    declared = {condition.key for condition in study.conditions}
    traps: dict[str, set[bool]] = defaultdict(set)
    for stimulus in study.stimuli:
        if stimulus.condition not in declared:
            traps[stimulus.condition].add(bool(stimulus.trap))
    made = [
        ConditionEntry(key, role="trap" if kinds == {True} else "test")
        for key, kinds in traps.items()
        if BETWEEN not in key and not get_close_matches(key, declared, n=1, cutoff=MISSPELT)
    ]
    if not made:
        return study, ()
    own = "Only stimuli.csv names the condition"
    remarks = []
    for role, what in (("test", "compared under"), ("trap", "for traps only, by its rows; called")):
        if keys := [c.key for c in made if c.role == role]:
            one = len(keys) == 1
            name = "this name" if one else "these names"
            remarks.append(f"{own}{'' if one else 's'} {quoted(keys)}: {what} {name}.")
    if not any(c.role == "reference" for c in study.conditions):
        remarks.append("No condition is declared to be a reference or an anchor.")
    return replace(study, conditions=(*study.conditions, *made)), tuple(remarks)
