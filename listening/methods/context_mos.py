"""A clip rated as the continuation of what comes before it (Clark et al. 2019)."""

from listening.methods.base import gettext_noop
from listening.methods.mos import Mos

QUESTION = gettext_noop("How appropriate is the marked part as a continuation of what came before?")


class ContextMos(Mos):
    key = "context_mos"
    title = "Mean opinion score in context"
    estimand = "context_mos"
    standard = "Clark et al. 2019 (context and stimulus); scale of ITU-T P.800 in half steps"
    default_question = QUESTION
    default_criteria = (("appropriateness", QUESTION, {}),)
    default_step = 0.5
