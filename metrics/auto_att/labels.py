"""The three labels of the Audio Turing Test, their scores, and one label out of several."""

from __future__ import annotations

from collections.abc import Mapping

from listening.methods.att import SCORES

LABELS = tuple(SCORES)


def mean_score(counts: Mapping[str, int]) -> float:
    """The clip's human-likeness score in [0, 1]: the mean of 1, 0.5 and 0 over its labels.

    ``counts``: label -> how often it was given, one label at least.
    """
    total = sum(counts.values())
    return sum(SCORES[label] * count for label, count in counts.items()) / total


def final_label(counts: Mapping[str, int]) -> tuple[str, bool]:
    """The label given most often, and whether several shared that place.

    The paper leaves ties open. Here a tie goes to the label whose score is nearest to the mean
    score, and to Unclear where two are equally near: one Human, one Unclear and one Machine make
    Unclear, and so do two Human and two Unclear.
    """
    most = max(counts.values())
    leading = [label for label in LABELS if counts.get(label, 0) == most]
    if len(leading) == 1:
        return leading[0], False
    mean = mean_score(counts)
    near = min(LABELS, key=lambda label: (abs(SCORES[label] - mean), label != "Unclear"))
    return near, True
