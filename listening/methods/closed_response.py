"""One clip and two to six alternatives of its own, such as rhyming words; one of them is right."""

from collections.abc import Mapping
from random import Random
from typing import Any

from listening.methods.estimand import Estimand
from listening.methods.method import (
    ALTERNATIVES,
    CORRECT_ANSWER,
    Method,
    Options,
    Scale,
    Step,
    alternatives_in,
    gettext_noop,
)

FEWEST, MOST = 2, 6
LONGEST_ALTERNATIVE = 120
ORDERS = ("shuffled", "fixed")


class ClosedResponse(Method):
    key = "closed_response"
    title = "Closed-response intelligibility"
    estimand = Estimand(
        key="closed_response",
        name="Words recognized",
        phrase="the share of right closed-set answers",
        axis="Share of right answers",
        ends=(0.0, 1.0),
        decimals=3,
        ceilings=False,
        scores=(0.0, 1.0),
    )
    standard = "ANSI S3.2: DRT (Voiers 1977) and MRT (House et al. 1965), share of right answers"
    default_question = gettext_noop("Which word did you hear?")
    default_criteria = (("recognition", default_question, {}),)
    offers_choices = True

    def scale(self, options: Options) -> Scale:
        order = options.get("order", ORDERS[0])
        if order not in ORDERS:
            raise ValueError(f'order is "shuffled" or "fixed", not {order!r}')
        return Scale(widget=ALTERNATIVES)

    def ordered_alternatives(self, scale: Scale, options: Options, rng: Random) -> tuple[Step, ...]:
        """Shuffled for each trial, or as in the row of the clip."""
        steps = list(scale.steps)
        if options.get("order", ORDERS[0]) == "shuffled":
            rng.shuffle(steps)
        return tuple(steps)

    def check_alternatives(self, attributes: Mapping[str, Any]) -> None:
        labels = alternatives_in(attributes)
        if not FEWEST <= len(labels) <= MOST:
            raise ValueError(f"a clip has {FEWEST} to {MOST} alternatives, not {len(labels)}")
        if twice := next((label for label in labels if labels.count(label) > 1), ""):
            raise ValueError(f"the alternative “{twice}” is there twice")
        if any(len(label) > LONGEST_ALTERNATIVE for label in labels):
            raise ValueError(f"an alternative has at most {LONGEST_ALTERNATIVE} characters")
        correct = str(attributes.get(CORRECT_ANSWER, "")).strip()
        if correct and correct not in labels:
            raise ValueError(f"the right answer “{correct}” is not among its alternatives")
