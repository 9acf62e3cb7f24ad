"""Speaker similarity of a clip to a prompt before it, from 1 to 5: SMOS of zero-shot TTS."""

from typing import ClassVar

from listening.methods.after_reference import AfterReference
from listening.methods.estimand import BESIDE_REFERENCE, Estimand
from listening.methods.item_groups import PROMPT_ROLES
from listening.methods.method import Options, Scale, gettext_noop, names_in, number_scale

NAMES = {
    "1": gettext_noop("Not at all similar"),
    "2": gettext_noop("Slightly similar"),
    "3": gettext_noop("Moderately similar"),
    "4": gettext_noop("Very similar"),
    "5": gettext_noop("Extremely similar"),
}


class Smos(AfterReference):
    key = "smos"
    title = "Similarity mean opinion score"
    estimand = Estimand(
        key="smos",
        name="SMOS",
        phrase="the similarity mean opinion score (SMOS)",
        axis="SMOS: 5 where the speakers are extremely similar",
        ends=(1.0, 5.0),
        comparison=BESIDE_REFERENCE,
        equivalence=0.1,
    )
    standard = (
        "SMOS of zero-shot TTS (Jia et al. 2018 and later): the prompt first, always; "
        "whole or half steps"
    )
    default_question = gettext_noop(
        "How similar is the speaker of the clip to the speaker of the prompt?"
    )
    default_criteria = (("similarity", default_question, {}),)
    part_names = (gettext_noop("Prompt"), gettext_noop("Clip"))
    reference_roles = PROMPT_ROLES
    default_step: ClassVar[float] = 1.0

    def scale(self, options: Options) -> Scale:
        step = options.get("step", self.default_step)
        if step not in (0.5, 1):
            raise ValueError(f"SMOS has steps of 1 or 0.5, not {step!r}")
        return number_scale(1, 5, step, {**NAMES, **names_in(options)})
