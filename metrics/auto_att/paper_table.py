"""Kendall distances beside Table 4 of the paper: ours in its rows, its numbers next to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metrics.auto_att.evaluate import Evaluation, Ranking

SOURCE = "Wang et al. (2025), Table 4: 20 voices of 5 systems, Chinese, 857 raters"
ALL = "All"
# dimension as the paper spells it: distance and p of Auto-ATT, then of the plain Qwen2-Audio
PAPER: Mapping[str, tuple[float, float, float, float]] = {
    ALL: (0.3316, 0.0398, 0.3474, 0.0638),
    "Special Characters and Numerals": (0.2737, 0.0047, 0.3105, 0.0198),
    "Chinese–English Code-switching": (0.3368, 0.0468, 0.3737, 0.1284),
    "Paralinguistic Features and Emotions": (0.2789, 0.0059, 0.2789, 0.0059),
    "Classical Chinese Poetry/Prose": (0.3421, 0.0548, 0.3526, 0.0740),
    "Polyphonic Characters": (0.3316, 0.0398, 0.3474, 0.0638),
}
# F1 on the trap clips at 0.5, section 4.2.1
TRAP_F1: Mapping[str, float] = {"Auto-ATT": 0.92, "UTMOSv2": 0.14, "DNSMOS Pro": 0.0}
ABSENT = "–"


def table4(results: Mapping[str, Evaluation], voices_are: str = "new") -> list[list[str]]:
    """Rows of text: the dimensions of any file, ours per file as distance (p), then the paper's.

    ``voices_are``: "new", not trained on, or "all". Dimensions are matched to the paper's by their
    names without regard to case, dashes and what stands between words.
    """
    own = {name: by_dimension(result.rankings, voices_are) for name, result in results.items()}
    dimensions = list(dict.fromkeys(d for rankings in own.values() for d in rankings))
    rows = [["dimension", *own, "paper: Auto-ATT", "paper: Qwen2-Audio"]]
    for dimension in dimensions:
        cells = [cell(rankings.get(dimension)) for rankings in own.values()]
        rows.append([dimension, *cells, *of_paper(dimension)])
    return rows


def by_dimension(rankings: Sequence[Ranking], voices_are: str) -> dict[str, Ranking]:
    """The rankings by dimension, all of them together first."""
    return {each.dimension or ALL: each for each in rankings if each.voices_are == voices_are}


def cell(ranking: Ranking | None) -> str:
    """Distance and p, or why there are none."""
    if ranking is None:
        return ABSENT
    if ranking.distance is None:
        return f"{ABSENT} ({ranking.reason})"
    p = ranking.reason if ranking.p is None else f"{ranking.p:.4f}"
    return f"{ranking.distance:.4f} ({p})"


def of_paper(dimension: str) -> tuple[str, str]:
    """The paper's two cells for a dimension; dashes for one that it does not have."""
    known = {plain(name): numbers for name, numbers in PAPER.items()}
    numbers = known.get(plain(dimension))
    if numbers is None:
        return ABSENT, ABSENT
    return f"{numbers[0]:.4f} ({numbers[1]:.4f})", f"{numbers[2]:.4f} ({numbers[3]:.4f})"


def plain(name: str) -> str:
    """A name by its letters alone."""
    return "".join(character for character in name.casefold() if character.isalnum())
