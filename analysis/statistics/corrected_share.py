"""A share that an imperfect judge counted, corrected for what it misses and what it imagines."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from scipy import special


@dataclass(frozen=True)
class Counted:
    """The share of clips in which a judge heard something, and how many clips (as if independent).

    ``clips`` may be infinite: the share is then taken as known.
    """

    share: float
    clips: float


@dataclass(frozen=True)
class CorrectedShare:
    """The share of clips that have the sound, 0 to 1, with its interval.

    ``fits`` is false where the whole interval lies beyond 0 or 1: then the judge errs otherwise in
    these clips than in those of which the truth is known.
    """

    value: float
    low: float
    high: float
    fits: bool = True


ALWAYS = Counted(1.0, inf)  # a judge that misses nothing


def rogan_gladen(
    heard: Counted, present: Counted, absent: Counted, level: float = 0.95
) -> CorrectedShare | None:
    """Return the share of clips with a sound from the share in which a judge heard it.

    ``heard``: of the clips in question; ``present``: of clips known to have the sound (the judge's
    sensitivity); ``absent``: of clips known to be without it (1 - specificity). The value is
    (heard - absent) / (present - absent) of Rogan and Gladen (1978), kept within 0 and 1; the
    interval is that of Lang and Reiczigel (2014), which allows for the error of all three shares.
    None where the judge hears the sound no more often in clips that have it.
    """
    if present.share <= absent.share:
        return None
    value = (heard.share - absent.share) / (present.share - absent.share)
    z = float(special.ndtri((1 + level) / 2))
    apparent = _moved(heard, z**2)
    sensitivity, imagined = _moved(present, 2.0), _moved(absent, 2.0)
    span = sensitivity.share - imagined.share
    if span <= 0:
        return CorrectedShare(_within(value), 0.0, 1.0)
    middle = (apparent.share - imagined.share) / span
    of_present, of_absent = middle * _variance(sensitivity), (1 - middle) * _variance(imagined)
    variance = _variance(apparent) + middle * of_present + (1 - middle) * of_absent
    centre = middle + 2 * z**2 * (of_present - of_absent)
    half = z * variance**0.5 / span
    fits = centre - half <= 1 and centre + half >= 0
    low, high = _within(centre - half), _within(centre + half)
    value = _within(value)
    return CorrectedShare(value, min(low, value), max(high, value), fits)


def _moved(counted: Counted, more: float) -> Counted:
    """The share with so many clips more, half of them heard (Agresti and Coull 1998)."""
    if counted.clips == inf:
        return counted
    clips = counted.clips + more
    return Counted((counted.share * counted.clips + more / 2) / clips, clips)


def _variance(counted: Counted) -> float:
    return counted.share * (1 - counted.share) / counted.clips


def _within(value: float) -> float:
    return min(1.0, max(0.0, value))
