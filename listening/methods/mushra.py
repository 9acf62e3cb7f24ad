"""Several clips of one item, against an open reference (ITU-R BS.1534) or without one."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from string import ascii_uppercase
from typing import Any

from listening.methods.estimand import BESIDE_REFERENCE, Estimand
from listening.methods.item_groups import TOGETHER, by_item, check_numbers, references
from listening.methods.method import (
    Method,
    Options,
    Part,
    PlannedTrial,
    Playback,
    Scale,
    Step,
    StimulusRef,
    context_of,
    gettext_noop,
    hides_reference,
    names_in,
    opens_reference,
    with_reference,
)

BANDS = {  # the middle of each fifth of the scale
    "10": gettext_noop("Bad"),
    "30": gettext_noop("Poor"),
    "50": gettext_noop("Fair"),
    "70": gettext_noop("Good"),
    "90": gettext_noop("Excellent"),
}
QUESTION = gettext_noop("How good is each clip, compared with the reference?")
WITHOUT_REFERENCE = gettext_noop("How good is each clip?")


class Mushra(Method):
    key = "mushra"
    title = "MUSHRA"
    estimand = Estimand(
        key="mushra",
        name="MUSHRA",
        phrase="the MUSHRA score",
        axis="MUSHRA: 0 bad to 100 excellent",
        ends=(0.0, 100.0),
        comparison=BESIDE_REFERENCE,
        decimals=1,
        equivalence=2.0,
        continuous=True,
    )
    standard = "ITU-R BS.1534-3 (MUSHRA): hidden reference and anchors among the rated"
    default_question = QUESTION
    default_criteria = (("quality", QUESTION, {}),)
    heard_out = False
    screen = "parallel"

    def question_for(self, options: Options) -> str:
        return WITHOUT_REFERENCE if options.get("open_reference") is False else QUESTION

    def criteria_for(self, options: Options) -> tuple[tuple[str, str, Mapping[str, Any]], ...]:
        return (("quality", self.question_for(options), {}),)

    def scale(self, options: Options) -> Scale:
        words = {**BANDS, **names_in(options)}
        steps = tuple(Step(label, float(label), words[label]) for label in BANDS)
        return Scale(steps, "sliders", (0.0, 100.0, 1.0))

    def playback(self, options: Options) -> Playback:
        return with_reference(options)

    def columns(self, stimuli: Sequence[StimulusRef], options: Options) -> list[str]:
        return [TOGETHER]

    def trials(self, stimuli: Sequence[StimulusRef], options: Options) -> Iterator[PlannedTrial]:
        """One screen for each item.

        Without an open reference, conditions of that role are clips like any other.
        """
        known = references(stimuli, options) if opens_reference(options) else {}
        hidden = hides_reference(options)
        rated = [s for s in stimuli if hidden or not _is_reference(s, known)]
        check_numbers(rated)
        for item, group in by_item(rated).items():
            versus = known[item].pk if known else None
            yield PlannedTrial(item, TOGETHER, tuple(s.pk for s in group), versus)

    def parts(self, trial: PlannedTrial, *, versus_first: bool, rng: Random) -> list[Part]:
        """The open reference, then the rated ones under letters in an order of their own."""
        reference = []
        if trial.versus is not None:
            reference = [Part(trial.versus, gettext_noop("Reference"), "reference")]
        return [*context_of(trial), *reference, *lettered(trial.rated, rng)]

    def presented_first(self, *, versus_first: bool) -> str:
        return ""


def _is_reference(stimulus: StimulusRef, known: Mapping[int, StimulusRef]) -> bool:
    """Whether it is the open reference of its item, or, where none is open, of that role."""
    return stimulus == known[stimulus.item] if known else stimulus.role == "reference"


def lettered(rated: Sequence[int], rng: Random) -> list[Part]:
    """Clips under letters, in an order drawn for this trial."""
    shuffled = rng.sample(list(rated), len(rated))
    return [Part(pk, letter) for pk, letter in zip(shuffled, ascii_uppercase, strict=False)]
