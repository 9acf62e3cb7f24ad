"""One clip rated after an open recording of its item, which always comes first."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import ClassVar

from listening.methods.item_groups import REFERENCE_ROLES, against_reference
from listening.methods.method import (
    PROMPT,
    Method,
    Options,
    Part,
    PlannedTrial,
    StimulusRef,
    context_of,
    gettext_noop,
)


class AfterReference(Method):
    """A method that plays a recording, named as such, and then the clip that is rated."""

    part_names: ClassVar[tuple[str, str]] = (gettext_noop("Reference"), gettext_noop("Second"))
    # whose recording comes first: the first of these roles that the task's stimuli have
    reference_roles: ClassVar[tuple[str, ...]] = REFERENCE_ROLES

    def trials(self, stimuli: Sequence[StimulusRef], options: Options) -> Iterator[PlannedTrial]:
        return against_reference(stimuli, options, self.reference_roles)

    def parts(self, trial: PlannedTrial, *, versus_first: bool, rng: Random) -> list[Part]:
        if trial.versus is None:
            raise ValueError(f"a trial of {self.key} needs a recording to compare with")
        first, second = self.part_names
        return [
            *context_of(trial),
            Part(trial.versus, first, "reference"),
            Part(trial.rated[0], second),
        ]

    def presented_first(self, *, versus_first: bool) -> str:
        return "versus"


def plays_prompts(method: str | None) -> bool:
    """Whether a method plays a prompt before a clip."""
    known = Method.registry.get(method or "")
    return known is not None and PROMPT in getattr(known, "reference_roles", ())
