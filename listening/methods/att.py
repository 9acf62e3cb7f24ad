"""One clip called Human, Unclear or Machine, with a reason (Audio Turing Test)."""

from collections.abc import Mapping
from typing import Any

from listening.methods.base import Method, Scale, Step

LABELS = (("Human", 1.0, "1"), ("Unclear", 0.5, "2"), ("Machine", 0.0, "3"))


class AudioTuringTest(Method):
    key = "att"
    title = "Audio Turing Test"
    estimand = "hls"
    standard = "Audio Turing Test: Human 1, Unclear 0.5, Machine 0"
    default_question = "Is this voice a human or a machine?"
    justification_required = True

    def scale(self, options: Mapping[str, Any]) -> Scale:
        names = options.get("names", {})
        order = options.get("order", [label for label, _, _ in LABELS])
        if sorted(order) != sorted(label for label, _, _ in LABELS):
            raise ValueError(f"order must hold Human, Unclear and Machine once each, not {order!r}")
        scores = {label: score for label, score, _ in LABELS}
        steps = (
            Step(label, scores[label], names.get(label, label), str(place))
            for place, label in enumerate(order, start=1)
        )
        return Scale(tuple(steps), "choice")
