"""A clip compared with its reference, unknown which is which (ITU-T P.800 annex E, CCR)."""

from collections.abc import Iterator, Sequence

from listening.methods.cmos import Cmos
from listening.methods.estimand import PREFERENCE, Estimand
from listening.methods.item_groups import against_reference
from listening.methods.method import Options, PlannedTrial, StimulusRef, gettext_noop


class Ccr(Cmos):
    key = "ccr"
    title = "Comparison category rating"
    estimand = Estimand(
        key="ccr",
        name="CCR",
        phrase="the comparison category rating (CCR)",
        axis="CCR: above 0 beats the reference",
        neutral=0.0,
        reach=3.0,
        comparison=PREFERENCE,
        equivalence=0.1,
    )
    standard = "ITU-T P.800 annex E, P.808 (CCR); above 0 the condition beats the reference"
    default_question = gettext_noop(
        "Compared with the quality of the first clip, how is the quality of the second one?"
    )
    default_criteria = (("quality", default_question, {}),)

    def columns(self, stimuli: Sequence[StimulusRef], options: Options) -> list[str]:
        return sorted({trial.column for trial in against_reference(stimuli, options)})

    def trials(self, stimuli: Sequence[StimulusRef], options: Options) -> Iterator[PlannedTrial]:
        return against_reference(stimuli, options)
