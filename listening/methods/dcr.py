"""A clip rated by how it is degraded against the reference before it (ITU-T P.800 annex D)."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from listening.methods.estimand import BESIDE_REFERENCE, Estimand
from listening.methods.item_groups import against_reference
from listening.methods.method import (
    Method,
    Part,
    PlannedTrial,
    Scale,
    StimulusRef,
    context_of,
    gettext_noop,
    names_in,
    number_scale,
)

NAMES = {
    "1": gettext_noop("Degradation is very annoying"),
    "2": gettext_noop("Degradation is annoying"),
    "3": gettext_noop("Degradation is slightly annoying"),
    "4": gettext_noop("Degradation is audible but not annoying"),
    "5": gettext_noop("Degradation is inaudible"),
}
QUESTION = gettext_noop("Compared with the reference, how degraded is the second clip?")


class Dcr(Method):
    key = "dcr"
    title = "Degradation category rating"
    estimand = Estimand(
        key="dmos",
        name="DMOS",
        phrase="the degradation mean opinion score (DMOS)",
        axis="DMOS: 5 where no degradation is heard",
        ends=(1.0, 5.0),
        comparison=BESIDE_REFERENCE,
        equivalence=0.1,
    )
    standard = "ITU-T P.800 annex D, P.808 (DCR): the reference first, always"
    default_question = QUESTION
    default_criteria = (("degradation", QUESTION, {}),)

    def scale(self, options: Mapping[str, Any]) -> Scale:
        return number_scale(1, 5, 1, {**NAMES, **names_in(options)})

    def columns(self, stimuli: Sequence[StimulusRef], options: Mapping[str, Any]) -> list[str]:
        return sorted({trial.column for trial in against_reference(stimuli, options)})

    def trials(
        self, stimuli: Sequence[StimulusRef], options: Mapping[str, Any]
    ) -> Iterator[PlannedTrial]:
        return against_reference(stimuli, options)

    def parts(self, trial: PlannedTrial, *, versus_first: bool, rng: Random) -> list[Part]:
        if trial.versus is None:
            raise ValueError("a degradation needs a reference")
        reference = Part(trial.versus, gettext_noop("Reference"), "reference")
        return [*context_of(trial), reference, Part(trial.rated[0], gettext_noop("Second"))]

    def presented_first(self, *, versus_first: bool) -> str:
        return "versus"
