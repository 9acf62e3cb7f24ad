"""Where a claim is weak, in plain words: few raters, ceilings, confounding, imbalance, peeking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.citations import citation
from analysis.formatting import counted, listed, short
from analysis.name_spans import condition_span, family_span
from analysis.ratings.breakdowns import Family
from analysis.ratings.estimands import estimand_of
from analysis.ratings.reference import ROLE, reference_of, roles_of
from analysis.report.ranking import Ranking
from analysis.statistics.screening.mushra_rules import HiddenReference, MidAnchor
from listening.common.condition_names import is_reference_name

CEILING = 0.6
FEW = 10
UNBALANCED = 2.0  # as many ratings for one condition as for another
FEW_SHARED = 0.5  # of the items of the condition with fewer
BUSY = 0.3  # of all ratings given by one rater
MANY_PAIRS = 10
MOST_LEFT = 0.5  # of the raters, after a post-screening that would leave out too many
RUNNING = "started"  # as listening calls a session that goes on


class Caveat(NamedTuple):
    """What makes a claim weak: the lower the rank, the worse. Names in the text are spans."""

    rank: int
    text: str


# From what may turn a claim round to what makes a number rough
(
    INTERIM,
    REVERSED,
    NO_REFERENCE,
    UNRATED,
    TOO_NARROW,
    POST_SCREENING,
    OTHER_RATERS,
    OTHER_ITEMS,
    FEW_PEOPLE,
    ONE_PERSON,
    CROWDED_ENDS,
    WEIGHTING,
    IMBALANCE,
    LOOSE_PAIRS,
    APART,
) = range(15)


def short_name(family: Family) -> str:
    """What a warning is about: task and criterion."""
    return ", ".join(filter(None, [family.group["task"], family.group["criterion"]]))


def merge_caveats(named_caveats: Iterable[tuple[str, Caveat]]) -> list[str]:
    """Caveats with what they are about, those with the same text as one."""
    names_of: dict[str, list[str]] = {}
    for name, caveat in named_caveats:
        names_of.setdefault(caveat.text, []).append(name)
    return [f"{_list_names(names)}: {text}" for text, names in names_of.items()]


def of_family(family: Family, reference: str = "") -> Iterator[Caveat]:
    """Few raters or items, floors and ceilings, and one rater who gave very much.

    A reference (`reference_of`, with the one asked for) may well have the highest score.
    """
    if min(family.n_raters, family.n_items) < FEW:
        few = f"{counted(family.n_raters, 'rater')} and {counted(family.n_items, 'item')}"
        rough = min(family.n_raters, family.n_items) > 1
        so = "the intervals are rough" if rough else "there is no interval"
        yield Caveat(FEW_PEOPLE, f"only {few}, so {so}.")
    yield from _post_screening(family)
    yield from _ceilings(family, reference)
    busiest = int(np.bincount(family.rater).max(initial=0)) / max(len(family.rater), 1)
    if family.n_raters >= 4 and busiest > max(BUSY, 2 / family.n_raters):
        text = f"one rater gave {busiest:.0%} of the ratings, so much hangs on one person."
        yield Caveat(ONE_PERSON, text)


def of_ranking(s: Ranking) -> Iterator[Caveat]:
    """What weakens differences: a reversed scale, raters or items not shared, imbalance, others."""
    if len(s.tested) > 1:
        yield from _reversed_scale(s)
        yield from _apart(s)
        yield from _unbalanced_design(s)
        yield from _busy_raters(s)
        yield from _many_pairs(s)


def of_all(
    table: pd.DataFrame, kept: pd.DataFrame, names: Sequence[tuple[str, str, str]]
) -> Iterator[Caveat]:
    """Conditions of which no rating is kept, sessions still running, scores of different tasks.

    ``names`` are (estimand, task, name). Criteria of one task are answered about the same clip,
    and are different questions anyway.
    """
    lost = sorted(_compared(table, table["trap"] == "") - _compared(kept, slice(None)))
    if lost:
        spans = [" against ".join(map(condition_span, filter(None, each))) for each in lost]
        yield Caveat(UNRATED, f"No rating is left of {listed(spans)}.")
    running = int(table.loc[table["session_status"] == RUNNING, "session"].nunique())
    if running:
        verb = "session is" if running == 1 else "sessions are"
        yield Caveat(
            INTERIM,
            f"{running} {verb} still running, so these numbers may change. Report the "
            "results when these sessions have ended.",
        )
    apart: dict[str, dict[str, list[str]]] = {}
    for estimand, task, name in names:
        apart.setdefault(estimand, {}).setdefault(task, []).append(name)
    for each in apart.values():
        if len(each) > 1:
            listing = _list_names([name for some in each.values() for name in some])
            yield Caveat(APART, f"Scores of {listing} are of different tasks: do not compare them.")


def _compared(table: pd.DataFrame, rows: pd.Series | slice) -> set[tuple[str, str]]:
    """The conditions, or pairs of them, that these rows are about."""
    pairs = table.loc[rows, ["condition", "versus_condition"]].drop_duplicates().astype(str)
    return {(a, b) for a, b in pairs.itertuples(index=False) if a}


def _list_names(names: Sequence[str]) -> str:
    if len(names) == 1:
        return family_span(names[0])
    return listed([family_span(name, "“{}”" if ", " in name else "{}") for name in names])


def _post_screening(family: Family) -> Iterator[Caveat]:
    """Where the post-screening of ITU-R BS.1534 would leave half of the MUSHRA raters or fewer."""
    table = family.table
    hidden = HiddenReference()
    if hidden.lacking(table):  # another tool's table: the reference by its name
        names = list(map(str, table["condition"].unique()))
        hidden = HiddenReference(condition=reference_of(names, "", roles_of(table)).name)
    failed = {
        rater
        for rule in (hidden, MidAnchor())
        if not rule.lacking(table)
        for rater in table["rater"][rule.reasons(table) != ""]
    }
    left = family.n_raters - len(failed)
    if failed and left <= family.n_raters * MOST_LEFT:
        yield Caveat(
            POST_SCREENING,
            f"the post-screening of {citation('itu_bs1534', '-3')} would leave {left} of "
            f"{counted(family.n_raters, 'rater')}: most did not tell the hidden reference, or the "
            "anchor, as that asks for. It was not applied; report this as a limitation.",
        )


def _ceilings(family: Family, reference: str) -> Iterator[Caveat]:
    scores, conditions = family.table["score"], family.table["condition"]
    ends = {"highest": scores.max(), "lowest": scores.min()}
    if ends["highest"] == ends["lowest"] or not estimand_of(family.estimand).ceilings:
        return  # the answer says that every rating is the same
    names, roles = [str(name) for name in conditions.unique()], roles_of(family.table)
    reference = reference_of(names, reference, roles).name
    scale = dict(zip(("lowest", "highest"), family.ends or (), strict=False))
    for end, value in ends.items():
        if value != scale.get(end, value):
            continue  # nobody used the end of the scale
        at_end = (scores == value).groupby(conditions).agg(["mean", "size"])
        often = at_end.index[(at_end["mean"] > CEILING) & (at_end["size"] >= FEW)]
        crowded = sorted(map(str, often))
        if end == "highest":
            crowded = [name for name in crowded if name != reference]
        if crowded:
            kind, place = {"highest": ("ceiling", "top"), "lowest": ("floor", "bottom")}[end]
            where = f"at the {place} of the scale" if scale else f"the {end} given"
            whose = listed([condition_span(name) for name in crowded])
            text = f"{kind} effect: over {CEILING:.0%} of the ratings of {whose} are {where}"
            yield Caveat(CROWDED_ENDS, f"{text} ({short(value)}).")


def _reversed_scale(s: Ranking) -> Iterator[Caveat]:
    """Where the reference of another tool's table is significantly worse than a system."""
    name, roles = s.reference.name, roles_of(s.family.table)
    called = is_reference_name(name) or roles.get(name) == ROLE
    if not called or name != s.tested[-1] or (s.family.table["study"] != "").any():
        return
    if any(s.differ(name, other) for other in s.tested[:-1]):
        ends = s.what.ends
        example = f" ({sum(ends):g} − score on {ends[0]:g} to {ends[1]:g})" if ends else ""
        yield Caveat(
            REVERSED,
            f"the reference, {condition_span(name)}, is the worst of all: perhaps the scale is "
            "reversed. If so, turn each score, in a spreadsheet, into the sum of the scale's ends "
            f"minus the score{example}.",
        )


def _apart(s: Ranking) -> Iterator[Caveat]:
    """Pairs without a rater in common, or with few items in common."""
    means, place = s.clustered, {name: i for i, name in enumerate(s.cell.names)}
    pairs = [(place[a], place[b]) for a, b in combinations(s.tested, 2)]
    apart = [pair for pair in pairs if not means.shared_raters[pair]]
    if apart:
        yield Caveat(
            OTHER_RATERS,
            f"{_pairs(s, apart, len(pairs))} no rater in common: the difference between them may "
            "be one between their raters.",
        )
    fewest = {(a, b): min(means.n_items[a], means.n_items[b]) for a, b in pairs}
    some = [pair for pair in pairs if means.shared_items[pair] < FEW_SHARED * fewest[pair]]
    if some:
        own = (s.family.table["item"] == s.family.table["stimulus"]).all()
        remedy = " If conditions share items, name them by --column item=NAME." if own else ""
        yield Caveat(
            OTHER_ITEMS,
            f"{_pairs(s, some, len(pairs))} less than half of their items in common: the "
            f"difference between them may be one between their items.{remedy}",
        )


def _pairs(s: Ranking, some: Sequence[tuple[int, int]], n_pairs: int) -> str:
    if len(some) == n_pairs > 1:
        return f"all {n_pairs} pairs have"
    names = [
        f"{condition_span(s.cell.names[a])} and {condition_span(s.cell.names[b])}" for a, b in some
    ]
    return f"{names[0]} have" if len(names) == 1 else f"{len(names)} of {n_pairs} pairs have"


def _unbalanced_design(s: Ranking) -> Iterator[Caveat]:
    tested = [s.by_name[name] for name in s.tested]
    most, least = (end(tested, key=lambda mean: mean.n_ratings) for end in (max, min))
    if most.n_ratings > UNBALANCED * least.n_ratings:
        yield Caveat(
            IMBALANCE,
            f"unbalanced: {condition_span(most.condition)} has {most.n_ratings} ratings and "
            f"{condition_span(least.condition)} {least.n_ratings}; who rated what may differ "
            "between conditions.",
        )


def _busy_raters(s: Ranking) -> Iterator[Caveat]:
    """Where the mean over raters is outside the middle half of the interval over ratings."""
    for mean in s.means:
        if mean.low is None or mean.high is None or mean.by_raters is None:
            continue
        if abs(mean.by_raters - mean.value) > (mean.high - mean.low) / 4 > 0:
            yield Caveat(
                WEIGHTING,
                "raters who gave many ratings rate otherwise than the rest: "
                f"{condition_span(mean.condition)} has {mean.value:.{s.decimals}f} over ratings "
                f"and {mean.by_raters:.{s.decimals}f} where every rater weighs the same. Say which "
                "one you quote.",
            )
            return


def _many_pairs(s: Ranking) -> Iterator[Caveat]:
    differences = [s.between(a, b) for a, b in combinations(s.tested, 2)]
    known = [d for d in differences if d.p is not None and d.p_adjusted is not None]
    if len(known) < MANY_PAIRS:
        return
    loose = sum((d.p or 0) < s.alpha and not d.claimed for d in known)
    if loose:
        chance = s.alpha * len(known)
        expected = f"{chance:.0f}" if chance >= 10 else f"{chance:.2g}"
        yield Caveat(
            LOOSE_PAIRS,
            f"{counted(loose, 'pair')} with p < {s.alpha:.2g} only before adjustment, not claimed: "
            f"of {len(known)} pairs, about {expected} would have that by chance if nothing "
            "differed.",
        )
