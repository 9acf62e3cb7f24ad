"""Stimuli brought together by item, and the one that is the reference of its item."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from listening.methods.method import PROMPT, Options, PlannedTrial, StimulusRef, without_prompts

MOST_TOGETHER = 12  # clips on one screen (ITU-R BS.1534-3)
TOGETHER = "all conditions"  # the one column of a design whose screens hold them all
REFERENCE_ROLES = ("reference",)
PROMPT_ROLES = (PROMPT, "reference")  # the prompt of the item, where the task has prompts
ON_PAGE = {
    "reference": (
        "Choose the role Reference for a system that has every sentence.",
        "Keep the role Reference for one system only.",
    ),
    PROMPT: (
        "Choose the role Prompt for recordings that every sentence has.",
        "Keep the role Prompt for one recording of each sentence.",
    ),
}


class ItemsError(ValueError):
    """Some items do not fit the method; `items` names them as the stimuli do.

    `remedy` is for the study folder, `on_page` for the browser.
    """

    def __init__(
        self, message: str, items: Sequence[int], remedy: str = "", on_page: str = ""
    ) -> None:
        super().__init__(message)
        self.items, self.remedy, self.on_page = tuple(items), remedy, on_page


def by_item(stimuli: Sequence[StimulusRef]) -> dict[int, list[StimulusRef]]:
    """The stimuli of each item that are no prompts, items and conditions in order."""
    return _grouped(without_prompts(stimuli))


def _grouped(stimuli: Sequence[StimulusRef]) -> dict[int, list[StimulusRef]]:
    groups: dict[int, list[StimulusRef]] = {}
    for s in sorted(stimuli, key=lambda s: (s.item, s.condition)):
        groups.setdefault(s.item, []).append(s)
    return groups


def references(
    stimuli: Sequence[StimulusRef],
    options: Options,
    roles: Sequence[str] = REFERENCE_ROLES,
) -> dict[int, StimulusRef]:
    """The reference of each item: of the condition that `reference` names, else of a role.

    The role is the first of `roles` that any of the stimuli has.
    """
    named = options.get("reference", "")
    if named and named not in {s.condition for s in stimuli}:
        raise ValueError(f"reference names “{named}”, which is no condition of this task")
    groups = _grouped(stimuli)
    role = next((role for role in roles if any(s.role == role for s in stimuli)), roles[0])
    candidates = {
        item: [s for s in group if (s.condition == named if named else s.role == role)]
        for item, group in groups.items()
    }
    if lacking := [item for item, those in candidates.items() if not those]:
        raise ItemsError(
            f"{_count(lacking, groups)} no {role}",
            lacking,
            f'Every item needs a stimulus of a condition with role = "{role}".',
            ON_PAGE[role][0],
        )
    if several := [item for item, those in candidates.items() if len(those) > 1]:
        raise ItemsError(
            f"{_count(several, groups)} more than one {role}",
            several,
            'Name the condition to compare with: reference = "…".',
            ON_PAGE[role][1],
        )
    return {item: those[0] for item, those in candidates.items()}


def against_reference(
    stimuli: Sequence[StimulusRef],
    options: Options,
    roles: Sequence[str] = REFERENCE_ROLES,
) -> Iterator[PlannedTrial]:
    """Each condition against the reference of its item; with `null_pairs` the reference too.

    Of prompts, only the one that is the reference may be rated.
    """
    null_pairs = options.get("null_pairs", False)
    if not isinstance(null_pairs, bool):
        raise ValueError(f"null_pairs is true or false, not {null_pairs!r}")
    known = references(stimuli, options, roles)
    for item, group in _grouped(stimuli).items():
        for s in group:
            if null_pairs if s == known[item] else s.role != PROMPT:
                yield PlannedTrial(item, s.condition, (s.pk,), known[item].pk)


def check_numbers(stimuli: Sequence[StimulusRef]) -> None:
    """ItemsError when an item has too few or too many stimuli for one screen."""
    groups = by_item(stimuli)
    if few := [item for item, group in groups.items() if len(group) < 2]:
        raise ItemsError(f"{_count(few, groups)} a single clip, and a screen needs two", few)
    if many := [item for item, group in groups.items() if len(group) > MOST_TOGETHER]:
        what = f"{_count(many, groups)} more than {MOST_TOGETHER} clips"
        raise ItemsError(f"{what}, the most that a screen holds", many)


def check_fewest(stimuli: Sequence[StimulusRef], fewest: int) -> None:
    """ItemsError when an item has fewer stimuli than a screen needs."""
    groups = by_item(stimuli)
    if few := [item for item, group in groups.items() if len(group) < fewest]:
        what = f"{_count(few, groups)} fewer than {fewest} clips, and a screen needs as many"
        raise ItemsError(what, few)


def _count(items: Sequence[int], of: Mapping[int, Any]) -> str:
    return f"{len(items)} of {len(of)} items {'has' if len(items) == 1 else 'have'}"
