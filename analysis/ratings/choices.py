"""What was chosen in each answer: the words that shares are counted of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from analysis.ratings.breakdowns import Cell
from analysis.ratings.estimands import estimand_of

MOST_LABELS = 11
LONGEST_LABEL = 80  # longer answers are text
JOINT = "|"  # between the labels of an answer that holds several


def countable(answers: Iterable[str]) -> bool:
    """Whether there are few and short enough different choices to count their shares."""
    labels = {label for answer in set(answers) for label in answer.split(JOINT)}
    return len(labels) <= MOST_LABELS and all(len(label) <= LONGEST_LABEL for label in labels)


def labels_in_order(cell: Cell, estimand: str) -> list[tuple[str, list[bool]]]:
    """(label, whether each answer of the cell holds it), the highest score or most chosen first.

    For comparisons the labels are the scores: raters label the second clip against the first, and
    which condition came second differs from trial to trial. None where there are too many.
    """
    if cell.scoreless:
        return _chosen(cell.labels)
    answers = cell.labels
    if not any(answers) and "versus_condition" not in cell.group:
        return []  # scores alone were kept, as of sliders
    if "versus_condition" in cell.group:
        words = estimand_of(estimand).answers
        answers = [words.get(y, f"{y + 0.0:g}") for y in cell.y.tolist()]  # no label says -0
    steps = sorted(set(zip(answers, cell.y.tolist(), strict=True)), key=lambda step: -step[1])
    labels = list(dict.fromkeys(label for label, _ in steps))
    if len(labels) > MOST_LABELS:
        return []
    return [(label, [answer == label for answer in answers]) for label in labels]


def _chosen(answers: list[str]) -> list[tuple[str, list[bool]]]:
    if not countable(answers):
        return []
    sets = [frozenset(answer.split(JOINT)) for answer in answers]
    counts = Counter(label for chosen in sets for label in chosen)
    labels = sorted(counts, key=lambda label: (-counts[label], label))
    return [(label, [label in chosen for chosen in sets]) for label in labels]
