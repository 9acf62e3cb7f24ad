"""Odds of passing checks and traps by guessing: what a rater who does not listen gets past."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod

from listening.checks import check_named
from listening.checks.check import at_least
from listening.design.preview_trials import scales_of
from listening.design.studyfile import StudyFile, TaskEntry
from listening.design.traps import TrapKind, TrapPlan, passing_labels
from listening.methods.method import OPEN, Scale


def through_checks(study: StudyFile) -> float | None:
    """By guessing, past all checks that screen out; None where none does."""
    odds = []
    for entry in study.checks:
        check = check_named(entry["key"])
        settings = check.settings(entry, language=study.language)
        if settings.trials and settings.on_fail == "screen_out":
            odds.append(check.odds(settings))
    return prod(odds) if odds else None


def through_traps(study: StudyFile, task: TaskEntry) -> TrapOdds | None:
    """Past the traps of one block; None without traps, ValueError where it cannot be said."""
    plan = TrapPlan.from_dict(task.traps)
    if not plan.kinds:
        return None
    scales = dict(zip((c.key for c in task.criteria), scales_of(task), strict=True))
    own: dict[str, list[list[str]]] = {kind.kind: [] for kind in plan.kinds}
    for entry in study.stimuli:
        if entry.trap in own:
            words = entry.attributes.get("expected", "").split("|")
            own[entry.trap].append([word.strip() for word in words if word.strip()])
    return trap_odds(plan, scales, sets=plan.sets_for(task.block_size), own=own)


Scales = Scale | Mapping[str, Scale]  # of the only criterion, or of each in their order


@dataclass(frozen=True)
class TrapOdds:
    """How often three raters who hear nothing pass the traps of one block.

    `guessing` takes any label with the same chance; `knowing` takes only labels that some trap
    expects; `same` gives one answer all the time, the one that passes most.
    """

    guessing: float
    knowing: float
    same: float


Accepted = Mapping[TrapKind, Sequence[frozenset[str]]]  # per stimulus of the kind


def trap_odds(
    plan: TrapPlan,
    scales: Scales,
    *,
    sets: int = 1,
    own: Mapping[str, Sequence[Sequence[str]]] | None = None,
) -> TrapOdds:
    """The odds for a block of so many sets, judged as `traps.judge_block` judges it.

    `own` holds, per kind, the labels that each of its stimuli expects where these differ from the
    kind's. Labels are those that are stored: where the order of a pair is drawn, one button does
    not always mean one label, so `knowing` and `same` are then upper bounds. For raters of several
    blocks: `at_least(blocks to pass, blocks, odds)`.
    """
    accepted = {
        kind: _accepted(kind, scales, (own or {}).get(kind.kind, ())) for kind in plan.kinds
    }
    likely: dict[str, set[str]] = {}
    for kind, stimuli in accepted.items():
        likely.setdefault(kind.criterion, set()).update(*stimuli)

    def passing(choices: Mapping[TrapKind, float]) -> float:
        share = {k: sum(map(len, accepted[k])) / len(accepted[k]) for k in plan.kinds}
        return prod(
            at_least(k.pass_at_least * sets, k.count * sets, share[k] / choices[k])
            for k in plan.kinds
        )

    every = {kind: _choices(_scale_of(kind, scales)) for kind in plan.kinds}
    few = {k: inf if every[k] == inf else float(len(likely[k.criterion])) for k in plan.kinds}
    guessed = {k: stimuli for k, stimuli in accepted.items() if every[k] < inf}  # no text is
    return TrapOdds(
        guessing=passing(every),
        knowing=passing(few),
        same=float(all(_one_label_passes(guessed, accepted, name) for name in likely)),
    )


def _scale_of(kind: TrapKind, scales: Scales) -> Scale:
    if isinstance(scales, Scale):
        return scales
    first = next(iter(scales))
    return scales[kind.criterion or first]


def _accepted(kind: TrapKind, scales: Scales, own: Sequence[Sequence[str]]) -> list[frozenset[str]]:
    scale = _scale_of(kind, scales)
    stimuli = [labels or kind.expected for labels in own] or [kind.expected]
    if not all(stimuli):
        raise ValueError(f"The trap kind “{kind.kind}” has a stimulus that expects no label.")
    return [frozenset(passing_labels(scale, labels, kind.tolerance)) for labels in stimuli]


def _one_label_passes(guessed: Accepted, accepted: Accepted, criterion: str) -> bool:
    """Whether one label passes every trap of the criterion."""
    kinds = [k for k in accepted if k.criterion == criterion and k.pass_at_least > 0]
    if any(kind not in guessed for kind in kinds):
        return False
    sets = [labels for kind in kinds for labels in guessed[kind]]
    return not sets or bool(frozenset.intersection(*sets))


def _choices(scale: Scale) -> float:
    """How many different answers the scale takes."""
    if scale.widget in OPEN:
        return inf
    if scale.widget == "many":
        return 2.0 ** len(scale.labels) - 1
    if scale.span is not None:
        low, high, step = scale.span
        return float(round((high - low) / step) + 1)
    return float(len(scale.labels))
