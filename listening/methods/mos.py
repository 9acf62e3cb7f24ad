"""One clip rated on an absolute category scale from 1 to 5 (ITU-T P.800 ACR)."""

from collections.abc import Mapping
from typing import Any

from listening.methods.base import Method, Scale, number_scale

P800_NAMES = {"1": "Bad", "2": "Poor", "3": "Fair", "4": "Good", "5": "Excellent"}


class Mos(Method):
    key = "mos"
    title = "Mean opinion score"
    estimand = "mos"
    standard = "ITU-T P.800 (ACR); half steps as in Clark et al. 2019"
    default_question = "How natural does this speech sound?"

    def scale(self, options: Mapping[str, Any]) -> Scale:
        step = options.get("step", 1)
        if step not in (0.5, 1):
            raise ValueError(f"MOS has steps of 1 or 0.5, not {step!r}")
        return number_scale(1, 5, step, {**P800_NAMES, **options.get("names", {})})
