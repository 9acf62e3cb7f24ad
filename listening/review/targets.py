"""The reasons and the clips of a study that can be reviewed, and which of them a seed draws."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from math import ceil
from typing import TypedDict

from django.db.models import QuerySet

from listening.models import Condition, Justification, Session, Stimulus, Study
from listening.models.material import only_lines
from listening.review.kinds.kind import Target

GONE = (Session.Status.WITHDRAWN, Session.Status.REJECTED)
RUNS, TEXTS = "runs", "texts"  # what a group is: one text spoken several times, or several texts


def reasons_of(study: Study) -> QuerySet[Justification]:
    """Reasons beside rated clips: none of traps, tries, or sessions that left or were rejected."""
    return (
        Justification.objects.filter(
            trial__session__study=study, trial__session__pilot=False, trial__trap=""
        )
        .exclude(trial__session__status__in=GONE)
        .exclude(text__regex=r"^\s*$")
    )


def reason_targets(study: Study, share: float, seed: int) -> list[Target]:
    """Each reason is drawn by a hash of its own: what was drawn stays so when more come."""
    trials = reasons_of(study).order_by("trial").values_list("trial", flat=True)
    return [Target(trial=pk) for pk in trials if drawn(f"{seed} {pk}") < share]


def drawn(text: str) -> float:
    """A number from 0 to below 1 that is as good as random, and always the same for a text."""
    return int.from_bytes(blake2b(text.encode(), digest_size=7).digest()) / 2**56


class ClipName(TypedDict):
    """A clip as it was when it was drawn, so that its verdicts are told from those of another."""

    stimulus: str
    sha256: str


class ClipNames(ClipName):
    """The clip of an item, whose it is, and the clips beside it."""

    condition: str
    item: str
    dimension: str
    others: list[ClipName]


def clips_of(study: Study, *, references: bool) -> list[Stimulus]:
    """What raters hear and rate, without traps; every run of a synthesis."""
    roles = [Condition.Role.TEST, *([Condition.Role.REFERENCE] if references else [])]
    rows = study.stimuli.filter(trap="", condition__role__in=roles)
    parts = only_lines(study.key)
    clips = rows.select_related("condition", "item").order_by("key", "run")
    return [clip for clip in clips if clip.key not in parts]


def sampled(
    study: Study, share: float, seed: int, *, by_dimension: bool, references: bool
) -> list[Target]:
    """A share of the clips of each system, or of each system's in each dimension; at least one.

    A clip has its place in the draw by its name: one that is replaced is drawn again.
    """
    strata: dict[tuple[str, str], list[Stimulus]] = defaultdict(list)
    for clip in clips_of(study, references=references):
        if clip.run == 1:
            dimension = clip.item.dimension if by_dimension else ""
            strata[clip.condition.key, dimension].append(clip)
    return [
        target([clip])
        for clips in strata.values()
        for clip in _shuffled(clips, seed)[: _count_share(share, len(clips))]
    ]


def grouped(study: Study, share: float, size: int, seed: int, *, references: bool) -> list[Target]:
    """Groups of up to `size` clips of one system: of one text where it was synthesised several
    times, else of several texts. A system with a single clip has no group."""
    by_system: dict[str, list[Stimulus]] = defaultdict(list)
    for clip in clips_of(study, references=references):
        by_system[clip.condition.key].append(clip)
    groups: list[Target] = []
    for clips in by_system.values():
        runs = _runs(clips)
        if runs:
            runs.sort(key=lambda group: drawn(f"{seed} {group[0].key}"))
            groups += [
                target(group[:size], RUNS) for group in runs[: _count_share(share, len(runs))]
            ]
        else:
            order = _shuffled(clips, seed)
            chunks = [order[at : at + size] for at in range(0, len(order), size)]
            whole = [chunk for chunk in chunks if len(chunk) > 1]
            groups += [target(chunk, TEXTS) for chunk in whole[: _count_share(share, len(whole))]]
    return groups


def _runs(clips: Iterable[Stimulus]) -> list[list[Stimulus]]:
    """The clips of each text that was synthesised more than once."""
    by_text: dict[int, list[Stimulus]] = defaultdict(list)
    for clip in clips:
        by_text[clip.item_id].append(clip)
    return [group for group in by_text.values() if len(group) > 1]


def _shuffled(clips: Iterable[Stimulus], seed: int) -> list[Stimulus]:
    return sorted(clips, key=lambda clip: drawn(f"{seed} {clip.key}"))


def _count_share(share: float, count: int) -> int:
    return ceil(share * count - 1e-9)


def target(clips: Sequence[Stimulus], part: str = "") -> Target:
    first, *others = clips
    names = ClipNames(
        stimulus=first.key,
        sha256=first.sha256,
        condition=first.condition.key,
        item=first.item.key,
        dimension=first.item.dimension,
        others=[ClipName(stimulus=each.key, sha256=each.sha256) for each in others],
    )
    beside = tuple(each.pk for each in others)
    return Target(stimulus=first.pk, others=beside, part=part, clip=dict(names))
