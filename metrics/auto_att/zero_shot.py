"""The plain model as a fair opponent: freed of what it prefers whatever it hears."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metrics.auto_att.labels import LABELS
from metrics.auto_att.model import Listener

if TYPE_CHECKING:
    pass

SECONDS = (1.0, 4.0, 10.0)  # of sounds in which there is nothing to judge
LEVEL = 10 ** (-50 / 20)  # of full scale


def calibrate(listener: Listener) -> dict[str, float]:
    """Have the listener's probabilities divided by those it gives to sounds without content.

    A model that was never trained for this prefers some label whatever it hears; in a ranking by
    P(Human) + 0.5 P(Unclear) that leaning counts. Contextual calibration (Zhao et al. 2021,
    "Calibrate before use"): p / prior, scaled to a sum of 1; the prior is the mean over quiet
    white noise of 1, 4 and 10 s, which is the same each time. Returns the prior by label.
    """
    import torch

    seeded = torch.Generator().manual_seed(0)
    noises = [
        LEVEL * torch.randn(int(seconds * listener.rate_hz), generator=seeded)
        for seconds in SECONDS
    ]
    listener.prior = None
    with torch.inference_mode():
        prior = torch.stack([listener.probabilities([noise])[0] for noise in noises]).mean(0)
    listener.prior = prior
    return dict(zip(LABELS, prior.tolist(), strict=True))
