"""A clip rated by how it is degraded against the reference before it (ITU-T P.800 annex D)."""

from listening.methods.after_reference import AfterReference
from listening.methods.estimand import BESIDE_REFERENCE, Estimand
from listening.methods.method import Options, Scale, gettext_noop, names_in, number_scale

NAMES = {
    "1": gettext_noop("Degradation is very annoying"),
    "2": gettext_noop("Degradation is annoying"),
    "3": gettext_noop("Degradation is slightly annoying"),
    "4": gettext_noop("Degradation is audible but not annoying"),
    "5": gettext_noop("Degradation is inaudible"),
}


class Dcr(AfterReference):
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
    default_question = gettext_noop("Compared with the reference, how degraded is the second clip?")
    default_criteria = (("degradation", default_question, {}),)

    def scale(self, options: Options) -> Scale:
        return number_scale(1, 5, 1, {**NAMES, **names_in(options)})
