"""Two clips of one item: which is preferred, and how clearly, on a scale from -2 to 2."""

from listening.methods.cmos import Cmos
from listening.methods.estimand import PREFERENCE, Estimand
from listening.methods.method import gettext_noop

PREFERENCES = {
    "-3": gettext_noop("I strongly prefer the first"),
    "-2": gettext_noop("I clearly prefer the first"),
    "-1": gettext_noop("I slightly prefer the first"),
    "0": gettext_noop("No preference"),
    "1": gettext_noop("I slightly prefer the second"),
    "2": gettext_noop("I clearly prefer the second"),
    "3": gettext_noop("I strongly prefer the second"),
}


class Preference(Cmos):
    key = "preference"
    title = "Preference"
    estimand = Estimand(
        key="preference",
        name="Preference",
        phrase="the mean preference",
        axis="Preference: above 0 is preferred",
        neutral=0.0,
        reach=2.0,
        comparison=PREFERENCE,
        equivalence=0.1,
    )
    standard = "LFS-Bench: pairs on -2 to 2; above 0 the condition is preferred to the other one"
    default_question = gettext_noop("Which clip do you prefer?")
    default_criteria = (("preference", default_question, {}),)
    default_reach = 2
    default_names = PREFERENCES
