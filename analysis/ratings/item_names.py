"""The items of a file without a column of them: what names of stimuli say beside the condition."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from analysis.ratings.categorical import Categorical, distinct_pairs
from analysis.ratings.cells import trap_kind
from listening.common.condition_names import without_condition

SHARED = 0.5  # of the items that are guessed: more than these must be of several conditions
REMEDY = "--column item=NAME, or by a group (?P<item>...) of --condition-pattern"
_ENDING = re.compile(r"\.[a-z]\w{1,4}$", re.IGNORECASE)


def items_of_names(cells: Mapping[str, Categorical], pattern: str) -> tuple[Categorical, str]:
    """The column item of a table that has stimuli alone, and a note on how it was found.

    Where each stimulus has one condition, the item is the rest of its name if that gives items
    which conditions share; else, the stimulus. ``pattern`` finds the condition in a name; without
    one it is looked for as a word.
    """
    stimulus = cells["stimulus"]
    rated = ~cells["trap"].having(lambda value: bool(trap_kind(value)))
    pairs, _ = distinct_pairs(stimulus.taken(rated), cells["condition"].taken(rated))
    condition_of = {str(name): str(condition) for name, condition in pairs if name}
    if len(condition_of) < len(pairs) or len(set(condition_of.values())) < 2:
        return stimulus, ""  # conditions share stimuli, or there is nothing to pair
    items = {name: _rest(name, each, pattern) for name, each in condition_of.items()}
    cell_counts = Counter((items[name], each) for name, each in condition_of.items())
    n_conditions = Counter(item for item, _ in cell_counts)
    n_shared = sum(count > 1 for count in n_conditions.values())
    if (
        "" in n_conditions
        or max(cell_counts.values()) > 1
        or n_shared <= SHARED * len(n_conditions)
    ):
        if len(condition_of) == len(set(condition_of.values())):
            return stimulus, ""  # one clip a condition: there is nothing to pair
        return stimulus, (
            "No column item: every stimulus is taken for an item of its own, so conditions are "
            f"compared without pairing. If they share items, name them by {REMEDY}."
        )
    named = stimulus.renamed([items.get(str(name), str(name)) for name in stimulus.values])
    name, item = next(iter(items.items()))
    return named, (
        "No column item: the item is taken to be the name of the stimulus without its condition "
        f"({item} in {name}). If it is not, name items by {REMEDY}."
    )


def _rest(name: str, condition: str, pattern: str) -> str:
    """What the name of a file says beside its condition."""
    word = rf"(?<![^\W_])({re.escape(condition)})(?![^\W_])"
    match = re.search(pattern, name) if pattern else re.search(word, name, re.IGNORECASE)
    rest = without_condition(name, match) if match else name
    return _ENDING.sub("", re.split(r"[/\\]", rest)[-1]).strip("-_ .")
