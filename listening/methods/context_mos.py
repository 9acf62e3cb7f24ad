"""A clip rated as the continuation of what comes before it (Clark et al. 2019)."""

from listening.methods.estimand import Estimand
from listening.methods.method import gettext_noop
from listening.methods.mos import Mos


class ContextMos(Mos):
    key = "context_mos"
    title = "Mean opinion score in context"
    estimand = Estimand(
        key="context_mos",
        name="Context MOS",
        phrase="the mean opinion score in context",
        axis="Context MOS: mean opinion score as a continuation",
        ends=(1.0, 5.0),
        equivalence=0.1,
    )
    standard = "Clark et al. 2019 (context and stimulus); scale of ITU-T P.800 in half steps"
    default_question = gettext_noop(
        "How appropriate is the marked part as a continuation of what came before?"
    )
    default_criteria = (("appropriateness", default_question, {}),)
    default_step = 0.5
