"""Whether the covariates that a study declares are there for each of its clips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from listening.common.covariate_levels import MOST_LEVELS, levels_of
from listening.design.studyfile.problems import Notebook, did_you_mean, quoted
from listening.methods import method_named
from listening.methods.paired import Paired

if TYPE_CHECKING:
    from listening.design.studyfile.entries import StudyFile
    from listening.design.studyfile.stimuli_csv import Row

SIDE, VOICE = "side", "voice"
MEASURED = ("length_s", "loudness_lufs")  # by metrics of these names


def check_covariates(study: StudyFile, rows: Sequence[Row], notes: Notebook) -> None:
    """Say which covariates are not known, lack values or have too many words."""
    if not study.covariates:
        return
    if not any(isinstance(method_named(task.method), Paired) for task in study.tasks):
        what = "No task compares two clips, so covariates would be used nowhere."
        notes.toml("study.covariates", what, "Remove it, or add a task such as cmos or ab.")
        return
    rated = [(s, row) for s, row in zip(study.stimuli, rows, strict=True) if not s.trap]
    columns = {name for s, _ in rated for name in s.attributes}
    known = [SIDE, *MEASURED, VOICE, *sorted(columns - {VOICE})]
    voices = {condition.key: condition.voice for condition in study.conditions}
    for n, name in enumerate(study.covariates, start=1):
        place = f"study.covariates[{n}]"
        if name not in known:
            remedy = did_you_mean(name, known) or f"There are: {quoted(known)}."
            on_page = "Remove it, or correct its spelling."
            notes.toml(place, f"“{name}” is no covariate of these clips.", remedy, on_page)
        if name in (SIDE, *MEASURED) or name not in known:
            continue
        values = [
            s.attributes.get(name) or (name == VOICE and voices[s.condition]) or ""
            for s, _ in rated
        ]
        for value, (_, row) in zip(values, rated, strict=True):
            if not value:
                what = f"This clip has no {name}, which study.toml declares as a covariate."
                notes.csv(row.number, name, what, "Enter a value, or remove the covariate.")
                break
        if len(levels_of(values)) > MOST_LEVELS:
            what = f"“{name}” has more than {MOST_LEVELS} different words."
            notes.toml(place, what, "Use a column with numbers or with fewer groups.")
