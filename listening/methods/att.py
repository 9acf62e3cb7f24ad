"""One clip called Human, Unclear or Machine, with a reason (Audio Turing Test), and its HLS.

The human-likeness score (HLS) of a clip or a system is the mean of its labels' scores, Human 1,
Unclear 0.5, Machine 0 (Wang et al. 2025, section 3.4). A rating keeps the score of its label as the
scale here has it, and `analysis` estimates the mean as it does for every method.
"""

from listening.methods.estimand import Estimand
from listening.methods.method import Method, Options, Scale, Step, gettext_noop, names_in

SCORES = {gettext_noop("Human"): 1.0, gettext_noop("Unclear"): 0.5, gettext_noop("Machine"): 0.0}


class AudioTuringTest(Method):
    key = "att"
    title = "Audio Turing Test"
    estimand = Estimand(
        key="hls",
        name="HLS",
        phrase="the human-likeness score (HLS; the mean of Human 1, Unclear 0.5, Machine 0)",
        axis="HLS: taken for a human (1), unclear (0.5), machine (0)",
        ends=(0.0, 1.0),
        decimals=3,
        equivalence=0.02,
        scores=tuple(sorted(SCORES.values())),
    )
    standard = "Audio Turing Test: Human 1, Unclear 0.5, Machine 0"
    default_question = gettext_noop("Is this voice a human or a machine?")
    default_criteria = (("human_likeness", default_question, {}),)
    justification_required = True

    def scale(self, options: Options) -> Scale:
        names = names_in(options)
        order = options.get("order", list(SCORES))
        if not isinstance(order, list | tuple) or sorted(map(str, order)) != sorted(SCORES):
            raise ValueError(f"order must hold Human, Unclear and Machine once each, not {order!r}")
        return Scale(
            tuple(
                Step(label, SCORES[label], names.get(label, label), str(place))
                for place, label in enumerate(order, start=1)
            ),
            "choice",
        )
