"""Traps: which a block gets, where they stand, what passes one, and which blocks are valid.

No rater can predict the place; a trial's expected labels are written when it is laid out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, TypeVar

from listening.methods.method import OPEN, Method, Scale

T = TypeVar("T")

TRAINING = "training"  # in the place of a trap's kind: a trial for practice, judged by nobody
RULE = "traps"
VERSION = "1"


@dataclass(frozen=True)
class TrapKind:
    """A kind of trap: how many a set holds, the labels that pass, and how many must pass."""

    kind: str
    count: int
    expected: tuple[str, ...]
    pass_at_least: int
    tolerance: float = 0.0  # a score this near to an expected one passes too
    criterion: str = ""  # which answer is judged; "" is the first criterion
    text: bool = False  # the item's text, which holds the instruction, is shown


@dataclass(frozen=True)
class TrapPlan:
    """The traps of a task: per set of `per` clips, beside them or among them."""

    kinds: tuple[TrapKind, ...] = ()
    placement: Literal["outside", "inside"] = "outside"
    per: int = 10
    voids: Literal["set", "session"] = "set"  # what a failed set makes invalid

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TrapPlan:
        kinds = tuple(
            TrapKind(**{**k, "expected": tuple(k.get("expected", ()))})
            for k in data.get("kinds", ())
        )
        return cls(
            kinds, data.get("placement", "outside"), data.get("per", 10), data.get("voids", "set")
        )

    @property
    def traps_per_set(self) -> int:
        return sum(k.count for k in self.kinds)

    @property
    def rated_per_set(self) -> int:
        """Rated clips of one set: all of `per`, or what the traps inside it leave."""
        return self.per if self.placement == "outside" else self.per - self.traps_per_set

    def sets_for(self, rated: int) -> int:
        """Sets that a block of `rated` clips makes; a block that came back short is one set."""
        return -(-rated // self.rated_per_set) if self.kinds else 0


def passing_labels(
    scale: Scale,
    expected: Sequence[str],
    tolerance: float = 0.0,
    stored: Callable[[float], float | None] = lambda score: score,
) -> list[str]:
    """The labels that a rater may choose: those whose stored score is near an expected one.

    `stored` turns the score of an answer as the trial's order asks; what is expected is said of
    the trap's own stimulus against the other.
    """
    if scale.span is not None:
        low, high, step = scale.span
        labels = [f"{low + k * step:g}" for k in range(round((high - low) / step) + 1)]
    else:
        labels = list(scale.labels)
    wanted = [scale.score(label) for label in expected]
    if scale.widget in ("many", *OPEN) or None in wanted:
        return list(expected)
    passing = []
    for label in labels:
        raw_score = scale.score(label)
        score = None if raw_score is None else stored(raw_score)
        if any(score is not None and abs(score - (w or 0.0)) <= tolerance + 1e-9 for w in wanted):
            passing.append(label)
    return passing


def labels_to_pass(
    method: Method,
    scale: Scale,
    expected: Sequence[str],
    tolerance: float,
    *,
    versus_first: bool,
    draws: str,
) -> list[str]:
    """The labels that pass in one trial, whose order and draws (a seed) turn the scores."""

    def stored(score: float) -> float | None:
        return method.stored_score(score, versus_first=versus_first, rng=Random(draws))

    return passing_labels(scale, expected, tolerance, stored)


def draw_traps(
    plan: TrapPlan,
    pool: Mapping[str, Sequence[int]],
    heard: set[int],
    sets: int,
    rng: Random,
    items: Mapping[int, int],
    met: Iterable[int],
) -> list[tuple[TrapKind, int]]:
    """Trap stimuli for so many sets: sounds that the rater has not heard come first.

    Of these, traps of other ``items`` than those ``met`` in the block come first: a sentence that
    is heard a second time tells of a trap.
    """
    drawn: list[tuple[TrapKind, int]] = []
    met = set(met)
    for kind in plan.kinds:
        candidates = list(pool.get(kind.kind, ()))
        if not candidates:
            raise ValueError(f"there is no stimulus for the trap kind “{kind.kind}”")
        rng.shuffle(candidates)
        uses = Counter[int]()
        for _ in range(kind.count * sets):
            chosen = min(candidates, key=lambda pk: (uses[pk], pk in heard, items[pk] in met))
            uses[chosen] += 1
            met.add(items[chosen])
            drawn.append((kind, chosen))
    return drawn


def weave(rated: Sequence[T], traps: Sequence[T], sets: int, rng: Random) -> list[T]:
    """Rated clips in their order with each set's traps at places drawn evenly from all places."""
    woven: list[T] = []
    order = list(traps)
    rng.shuffle(order)
    for k in range(max(sets, 1)):
        clips = list(rated[_share(len(rated), sets, k) : _share(len(rated), sets, k + 1)])
        own = order[_share(len(order), sets, k) : _share(len(order), sets, k + 1)]
        places = set(rng.sample(range(len(clips) + len(own)), len(own)))
        sources = {True: iter(own), False: iter(clips)}
        woven += [next(sources[p in places]) for p in range(len(clips) + len(own))]
    return woven


def _share(total: int, parts: int, k: int) -> int:
    return total * k // max(parts, 1)


def trap_passed(
    plan: TrapPlan,
    kind: str,
    expected: Sequence[str],
    labels: Mapping[str, Sequence[str]],
    passes: Callable[[str, str, Sequence[str]], bool] = lambda _, label, known: label in known,
) -> bool | None:
    """Whether an answer passes: its labels are expected ones, on the criterion that the kind names.

    `labels` are those of each criterion, by its key, in the task's order; without a named
    criterion the first is judged. `passes` says whether an answer to a criterion is an expected
    one. None: nothing is expected, as where training only shows a clip.
    """
    if not expected:
        return None
    named = next((k.criterion for k in plan.kinds if k.kind == kind), "")
    judged = named if named in labels else next(iter(labels))
    return all(passes(judged, label, expected) for label in labels[judged])


@dataclass(frozen=True)
class Verdict:
    """Whether a block may count, under which named and versioned rule, and why not."""

    valid: bool
    reason: str = ""
    rule: str = RULE
    version: str = VERSION


def judge_block(plan: TrapPlan, outcomes: Iterable[tuple[str, bool]]) -> Verdict:
    """A block is valid when each kind of trap was passed as often as the plan asks.

    `outcomes` are (kind, passed) of the block's answered traps. A block that holds several sets
    must pass for each of them; the Audio Turing Test's rule is flawed 1 of 1 and human 1 of 2.
    """
    seen = list(outcomes)
    passed = Counter(kind for kind, ok in seen if ok)
    shown = Counter(kind for kind, _ in seen)
    for kind in plan.kinds:
        sets = max(1, shown[kind.kind] // kind.count)
        needed = kind.pass_at_least * sets
        if passed[kind.kind] < needed:
            got, of = passed[kind.kind], shown[kind.kind]
            return Verdict(False, f"passed {got} of {of} “{kind.kind}” traps, {needed} needed")
    return Verdict(True)


def judge_blocks(plan: TrapPlan, outcomes: Iterable[tuple[int, str, bool]]) -> Verdict:
    """Several blocks are valid together when each of them is.

    `outcomes` are (block, kind, passed) of the answered traps.
    """
    of_blocks: dict[int, list[tuple[str, bool]]] = {}
    for block, kind, passed in outcomes:
        of_blocks.setdefault(block, []).append((kind, passed))
    verdicts = [judge_block(plan, seen) for seen in of_blocks.values()]
    return next((verdict for verdict in verdicts if not verdict.valid), Verdict(True))
