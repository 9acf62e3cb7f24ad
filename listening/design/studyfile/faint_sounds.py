"""Studies that ask about faint sounds, such as breaths: there the ends of clips are not trimmed.

Trimming cuts what is more than 40 dB below the peak. A breath or a laugh that fades may be that
faint, and raters would be asked about a sound that they never got.
"""

from __future__ import annotations

from collections.abc import Iterable

from listening.design.studyfile.entries import ConditionEntry, StudyFile, TaskEntry

ALIKE, AS_IS = "alike", "as_is"
VOCALISATIONS = "nvv"  # begins criteria and attributes that are about them


def asks_for_faint_sounds(tasks: Iterable[TaskEntry], conditions: Iterable[ConditionEntry]) -> str:
    """Why a study is taken to ask for faint sounds, for a sentence; empty where it is not."""
    for task in tasks:
        for criterion in task.criteria:
            if criterion.options.get("absent"):
                return f"the question “{criterion.key}” asks whether a sound is there"
            if criterion.key.startswith(VOCALISATIONS):
                return f"the question “{criterion.key}” is about nonverbal vocalisations"
    for condition in conditions:
        if any(name.startswith(VOCALISATIONS) for name in condition.attributes):
            return f"the condition “{condition.key}” is asked for nonverbal vocalisations"
    return ""


def usual_ends(study: StudyFile) -> str:
    """What `ends` is where study.toml does not say."""
    return AS_IS if asks_for_faint_sounds(study.tasks, study.conditions) else ALIKE
