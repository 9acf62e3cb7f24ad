"""How many clips, sentences and minutes a corpus has per category, pair of categories and length.

As Figures 8 and 9 of LFS-Bench: counts per language, type and other columns; texts counted in
words, or in characters in languages without spaces, without punctuation.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from statistics import fmean, median, stdev

from analysis.corpus.clips import ROLE, TRAP, Corpus, CorpusClip
from analysis.formatting import counted
from listening.common.spreadsheets import strict_number
from listening.methods.text_units import in_characters
from listening.methods.vocalisation_types import TYPES as VOCALISATIONS
from listening.methods.vocalisation_types import types_marked

CONDITION, LANGUAGE, MARKS = "condition", "language", "vocalisation"
NOT_CATEGORIES = frozenset(
    ("item", "text", "transcript", "caption", "file", "position", "paragraph", "run", TRAP, ROLE)
)
TYPES = ("type", "dimension", "challenge", "category", MARKS, "style", "emotion", "scenario")
MOST_VALUES = 30  # of a column of categories
MOST_CROSSED = 12  # values of a column in a cross table
MOST_PAIRS = 4
MOST_PANELS = 6
UNKNOWN = "(empty)"
UNEVEN = 1.5  # times as many clips in the largest category as in the smallest
STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class Cell:
    """One category, or one pair of them: clips, sentences, and minutes (None: not known)."""

    names: tuple[str, ...]
    clips: int
    sentences: int
    minutes: float | None


@dataclass(frozen=True)
class Lengths:
    """Lengths of one group: their number, mean, SD (0 of one), median and ends; and counts in bins.

    ``unit`` is words, characters or seconds; ``bins`` are (low, high, count), high excluded but in
    the last one.
    """

    group: str
    unit: str
    n: int
    mean: float
    sd: float
    median: float
    shortest: float
    longest: float
    bins: tuple[tuple[float, float, int], ...]


def values_of(clip: CorpusClip, column: str) -> tuple[str, ...]:
    """The categories of a clip in a column: one; of marks as many as its text has."""
    if column == MARKS:
        return tuple(name for name in types_marked(clip.text) if name in VOCALISATIONS) or ("none",)
    if column == LANGUAGE:
        return (clip.language or UNKNOWN,)
    if column == CONDITION:
        return (clip.condition or UNKNOWN,)
    return (clip.columns.get(column, "") or UNKNOWN,)


def category_columns(corpus: Corpus) -> list[str]:
    """The columns that hold categories: 2 to 30 values, each on average in two clips or more."""
    present = dict.fromkeys([CONDITION, LANGUAGE])
    present |= dict.fromkeys(name for clip in corpus.clips for name in clip.columns)
    if any(values_of(clip, MARKS) != ("none",) for clip in corpus.clips):
        present[MARKS] = None
    chosen = []
    for column in present:
        if column in NOT_CATEGORIES:
            continue
        counts = Counter(v for clip in corpus.clips for v in values_of(clip, column))
        named = sum(n for value, n in counts.items() if value != UNKNOWN)
        if 2 <= len(counts) <= MOST_VALUES and named >= 2 * (len(counts) - (UNKNOWN in counts)):
            chosen.append(column)
    return chosen


def counts(corpus: Corpus, columns: Sequence[str]) -> list[Cell]:
    """The cells of one column or of the cross of several; those without a clip are there, too."""
    every = [sorted({v for clip in corpus.clips for v in values_of(clip, c)}) for c in columns]
    clips: dict[tuple[str, ...], list[CorpusClip]] = defaultdict(list)
    for clip in corpus.clips:
        for names in product(*(values_of(clip, column) for column in columns)):
            clips[names].append(clip)
    return [_cell(names, clips.get(names, [])) for names in product(*every)]


def _cell(names: tuple[str, ...], clips: Sequence[CorpusClip]) -> Cell:
    known = [clip.duration_s for clip in clips if clip.duration_s is not None]
    minutes = sum(known) / 60 if known or not clips else None
    return Cell(names, len(clips), len({clip.sentence for clip in clips}), minutes)


def crossed_pairs(corpus: Corpus, columns: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs of columns that are crossed: of few values, and neither says the other.

    Language and types come before conditions; at most four pairs.
    """
    few = [
        column
        for column in columns
        if len({v for clip in corpus.clips for v in values_of(clip, column)}) <= MOST_CROSSED
    ]
    few = [column for column in few if not _is_numeric(corpus, column)]
    order = sorted(few, key=_precedence)
    pairs = [pair for pair in combinations(order, 2) if not _is_nested(corpus, *pair)]
    return pairs[:MOST_PAIRS]


def _precedence(column: str) -> tuple[int, int]:
    """Language, then types, then other columns, conditions last."""
    if column == LANGUAGE:
        return 0, 0
    if column == CONDITION:
        return 3, 0
    return (1, TYPES.index(column)) if column in TYPES else (2, 0)


def _is_numeric(corpus: Corpus, column: str) -> bool:
    values = {v for clip in corpus.clips for v in values_of(clip, column)} - {UNKNOWN}
    return all(strict_number(value) is not None for value in values)


def _is_nested(corpus: Corpus, first: str, second: str) -> bool:
    """Whether the category of one column always says that of the other."""
    seen: dict[tuple[int, str], set[str]] = defaultdict(set)
    for clip in corpus.clips:
        for a in values_of(clip, first):
            for b in values_of(clip, second):
                seen[0, a].add(b)
                seen[1, b].add(a)
    return any(
        all(len(others) == 1 for (side, _), others in seen.items() if side == which)
        for which in (0, 1)
    )


def text_lengths(corpus: Corpus, column: str = LANGUAGE) -> list[Lengths]:
    """Lengths of the texts per category; each text of a sentence counts once."""
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for clip in corpus.sentences():
        if clip.text:
            unit = "characters" if in_characters(clip.language) else "words"
            for value in values_of(clip, column):
                groups[value, unit].append(float(clip.length))
    return _lengths(groups)


def durations(corpus: Corpus, column: str) -> list[Lengths]:
    """Durations of the clips per category, in seconds."""
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for clip in corpus.clips:
        if clip.duration_s is not None:
            for value in values_of(clip, column):
                groups[value, "seconds"].append(clip.duration_s)
    return _lengths(groups)


def _lengths(groups: dict[tuple[str, str], list[float]]) -> list[Lengths]:
    every = [value for values in groups.values() for value in values]
    edges = bin_edges(every)
    rows = []
    for (group, unit), values in sorted(groups.items()):
        spread = stdev(values) if len(values) > 1 else 0.0
        rows.append(
            Lengths(
                group,
                unit,
                len(values),
                fmean(values),
                spread,
                median(values),
                min(values),
                max(values),
                _binned(values, edges),
            )
        )
    return rows


def bin_edges(values: Sequence[float]) -> list[float]:
    """Round edges of about twelve bins that hold all values, as whole steps of 1, 2, 2.5 or 5."""
    if not values:
        return []
    low, high = min(values), max(values)
    rough = max((high - low) / 12, 1e-3 if high < 1 else 0.1)
    power = 1e-3
    while power * 10 < rough:
        power *= 10
    step = next(power * f for f in STEPS if power * f >= rough * (1 - 1e-9))
    first = int(low // step)
    last = max(int(-(-high // step)), first + 1)
    return [round(n * step, 6) for n in range(first, last + 1)]


def _binned(
    values: Sequence[float], edges: Sequence[float]
) -> tuple[tuple[float, float, int], ...]:
    results = []
    for n, (low, high) in enumerate(pairwise(edges)):
        last = n == len(edges) - 2
        count = sum(low <= value < high or (last and value == high) for value in values)
        results.append((low, high, count))
    return tuple(results)


# --- In words -------------------------------------------------------------------------------------


def balance_sentence(column: str, cells: Sequence[Cell]) -> str:
    """The smallest and the largest category of a column, in words."""
    least = min(cells, key=lambda cell: (cell.clips, cell.minutes or 0.0))
    most = max(cells, key=lambda cell: (cell.clips, cell.minutes or 0.0))
    if least.clips == most.clips:
        each = "both" if len(cells) == 2 else f"all {len(cells)}"
        return f"{column}: {each} categories have {counted(least.clips, 'clip')}{_minutes(cells)}."
    ratio = most.clips / max(least.clips, 1)
    return (
        f"{column}: “{least.names[0]}” has the fewest clips ({_size(least)}), "
        f"“{most.names[0]}” the most ({_size(most)}), {_times(ratio)} times as many."
    )


def _times(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:,.0f}"


def _size(cell: Cell) -> str:
    return f"{cell.clips:,}" + (f", {cell.minutes:.1f} min" if cell.minutes is not None else "")


def _minutes(cells: Sequence[Cell]) -> str:
    known = [cell.minutes for cell in cells if cell.minutes is not None]
    if len(known) < len(cells) or not known:
        return ""
    low, high = f"{min(known):.1f}", f"{max(known):.1f}"
    return f", {low} min each" if low == high else f", {low} to {high} min each"


def is_uneven(cells: Sequence[Cell]) -> bool:
    """Whether the largest category has 1.5 times as many clips as the smallest, or more."""
    sizes = [cell.clips for cell in cells]
    return max(sizes) >= UNEVEN * max(min(sizes), 1)
