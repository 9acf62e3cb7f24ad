"""One clip rated on an absolute category scale, from 1 to 5 by default (ITU-T P.800 ACR)."""

from dataclasses import replace

from listening.methods.estimand import Estimand
from listening.methods.method import (
    Method,
    Options,
    Scale,
    Step,
    gettext_noop,
    names_in,
    number_scale,
    slider_scale,
)

P800_NAMES = {
    "1": gettext_noop("Bad"),
    "2": gettext_noop("Poor"),
    "3": gettext_noop("Fair"),
    "4": gettext_noop("Good"),
    "5": gettext_noop("Excellent"),
}
MOST_BUTTONS = 11  # a scale with more points is a slider
MOST_POINTS = 100


class Mos(Method):
    key = "mos"
    title = "Mean opinion score"
    estimand = Estimand(
        key="mos",
        name="MOS",
        phrase="the mean opinion score (MOS)",
        axis="MOS: mean opinion score",
        ends=(1.0, 5.0),
        absent=0.0,
        equivalence=0.1,
    )
    standard = "ITU-T P.800 annex B (ACR); half steps as in Clark et al. 2019"
    default_question = gettext_noop("How natural does this speech sound?")
    default_criteria = (("naturalness", default_question, {}),)
    default_step = 1.0

    def scale(self, options: Options) -> Scale:
        step = options.get("step", self.default_step)
        if step not in (0.5, 1):
            raise ValueError(f"MOS has steps of 1 or 0.5, not {step!r}")
        points = options.get("points", 5)
        if type(points) is not int or not 2 <= points <= MOST_POINTS:
            raise ValueError(f"points is a whole number from 2 to {MOST_POINTS}, not {points!r}")
        words = P800_NAMES if points == 5 else {}
        names = {**words, **names_in(options)}
        if points > MOST_BUTTONS:
            scale = slider_scale(1, points, step, names)
        else:
            scale = number_scale(1, points, step, names)
        absent = options.get("absent", "")
        if not isinstance(absent, str):
            raise ValueError(f"absent is the text of the answer 0, not {absent!r}")
        apart = (Step("0", 0.0, absent, "0", apart=True),) if absent else ()
        if apart and scale.span:
            raise ValueError(f"a scale of up to {MOST_BUTTONS} points has an answer “absent”")
        return replace(scale, steps=(*scale.steps, *apart))
