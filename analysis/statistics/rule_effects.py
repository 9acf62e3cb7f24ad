"""What the rules of a study take, and what one rule more (or less) would change: plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from analysis.ratings.breakdowns import families
from analysis.ratings.estimands import family_title
from analysis.statistics.options import Options
from analysis.statistics.robustness import under_rules
from analysis.statistics.screening.rule import Rule
from analysis.statistics.screening.rule_text import rule_text
from analysis.statistics.screening.screened import STRUCTURAL, Screened, screen
from analysis.statistics.sensitivity import Order, change, orders, sensitivity

if TYPE_CHECKING:
    import pandas as pd

MOST_EXCLUDED = 300
NOW, TRIED = "now", "tried"


class Taken(TypedDict):
    """What a rule leaves out; ``only_here``: no other rule in force does."""

    text: str
    rule: str
    version: str
    title: str
    what: str
    lacking: str
    ratings: int
    only_here: int
    raters: int
    sessions: int
    blocks: int


class Effects(TypedDict):
    """Everything that a page on validity shows of the ratings; see the functions below."""

    ratings: int
    kept: int
    raters: int
    raters_kept: int
    taken: list[Taken]
    overlap: list[dict[str, Any]]
    sessions: dict[str, list[str]]
    excluded: list[dict[str, Any]]
    excluded_more: int
    tried: dict[str, Any] | None


def rule_effects(
    table: pd.DataFrame, options: Options, tried: Sequence[Rule] | None = None
) -> Effects:
    """What the rules of the options take; with ``tried`` also what these in their place change."""
    every = [*options.rules, *(rule for rule in tried or () if rule not in options.rules)]
    screened = screen(table, every, options.spared)
    ratings = screened.kept(options.rules)
    rated = table[table["trap"] == ""]
    excluded = _excluded_raters(screened, options.rules)
    changes = None if tried is None else _changes(screened, options, tried)
    return {
        "ratings": len(rated),
        "kept": len(ratings),
        "raters": int(rated["rater"].nunique()),
        "raters_kept": int(ratings["rater"].nunique()),
        "taken": _effects_of_rules(screened, every, options.rules),
        "overlap": _overlap(screened, options.rules),
        "sessions": _sessions(table, ratings),
        "excluded": excluded[:MOST_EXCLUDED],
        "excluded_more": max(len(excluded) - MOST_EXCLUDED, 0),
        "tried": changes,
    }


def _effects_of_rules(
    screened: Screened, every: Sequence[Rule], in_force: Sequence[Rule]
) -> list[Taken]:
    table = screened.table
    hits = screened.hits([*STRUCTURAL, *every])
    touched = np.sum([hits[rule] for rule in (*STRUCTURAL, *in_force)], axis=0)
    rows: list[Taken] = []
    for rule, hit in hits.items():
        others = touched - (hit if rule in (*STRUCTURAL, *in_force) else 0)
        own = table[hit]
        rows.append(
            {
                "text": rule_text(rule),
                "rule": rule.key,
                "version": rule.version,
                "title": rule.title,
                "what": rule.describe(),
                "lacking": rule.lacking(table) if len(table) else "",
                "ratings": int(hit.sum()),
                "only_here": int((hit & (others == 0)).sum()),
                "raters": int(own["rater"].nunique()),
                "sessions": int(own["session"].nunique()),
                "blocks": len(own.drop_duplicates(["task", "session", "block"])),
            }
        )
    return rows


def _overlap(screened: Screened, rules: Sequence[Rule]) -> list[dict[str, Any]]:
    """Pairs of rules that take some of the same ratings."""
    hits = screened.hits([*STRUCTURAL, *rules])
    rows = []
    for (a, first), (b, second) in combinations(hits.items(), 2):
        both = int((first & second).sum())
        if both:
            rows.append({"first": rule_text(a), "second": rule_text(b), "ratings": both})
    return sorted(rows, key=lambda row: -row["ratings"])


def _sessions(table: pd.DataFrame, ratings: pd.DataFrame) -> dict[str, list[str]]:
    """By session: whether its ratings count for the plan, and whether analyses use them.

    Each is all, some or none of its rated clips; a session of traps alone is not in it.
    """
    rated = table[table["trap"] == ""]
    sizes = rated.groupby("session", sort=False).size()
    counted = rated["counts"].fillna(True).astype(bool)
    counts = counted.groupby(rated["session"]).sum().reindex(sizes.index, fill_value=0)
    used = ratings.groupby("session").size().reindex(sizes.index, fill_value=0)
    three = zip(sizes.index, sizes.tolist(), counts.tolist(), used.tolist(), strict=True)
    return {str(name): [_share(plan, n), _share(use, n)] for name, n, plan, use in three}


def _share(part: int, whole: int) -> str:
    return "none" if part == 0 else "all" if part == whole else "some"


def _excluded_raters(screened: Screened, rules: Sequence[Rule]) -> list[dict[str, Any]]:
    """Of each rule in force and rater: how many ratings, and the first reason."""
    rows = []
    for rule, hit in screened.hits(rules).items():
        own = screened.table.loc[hit, ["rater"]].assign(reason=screened.reasons[rule][hit])
        for rater, group in own.groupby("rater", sort=True):
            why = list(dict.fromkeys(group["reason"]))
            rows.append(
                {
                    "rule": rule.key,
                    "title": rule.title,
                    "rater": str(rater),
                    "ratings": len(group),
                    "reason": str(why[0]),
                    "more": len(why) - 1,
                }
            )
    return rows


def _changes(screened: Screened, options: Options, tried: Sequence[Rule]) -> dict[str, Any]:
    """Means, ranks and claims under the rules in force and under those that are tried."""
    both = (NOW, tuple(options.rules)), (TRIED, tuple(tried))
    orders_by_title = orders(sensitivity(screened, options, both))
    ratings = {name: screened.kept(rules) for name, rules in both}
    claims = {name: _claims(ratings[name], options) for name in ratings}
    rows, swapped = [], []
    for title, schemes in orders_by_title.items():
        if NOW in schemes and TRIED in schemes:
            rows += _means(title, schemes[NOW], schemes[TRIED])
            swapped += [
                {"about": title, "first": a[0], "second": b[0]}
                for a, b in change(schemes[NOW], schemes[TRIED]).swapped
            ]
    return {
        "kept": len(ratings[TRIED]),
        "raters_kept": int(ratings[TRIED]["rater"].nunique()),
        "means": rows,
        "swapped": swapped,
        "gained": _only(claims[TRIED], claims[NOW]),
        "lost": _only(claims[NOW], claims[TRIED]),
        "claims": sum(len(each) for each in claims[NOW].values()),
        "gone": _families_lost(ratings[NOW], ratings[TRIED]),
    }


def _means(title: str, now: Order, tried: Order) -> list[dict[str, Any]]:
    rows = []
    for place, row in sorted(now.rows.items(), key=lambda each: now.ranks[each[0]]):
        other = tried.rows.get(place)
        rows.append(
            {
                "about": title,
                "condition": " versus ".join(part for part in place if part),
                "now": row["value"],
                "now_low": row["low"],
                "now_high": row["high"],
                "tried": other and other["value"],
                "tried_low": other and other["low"],
                "tried_high": other and other["high"],
                "change": other and other["value"] - row["value"],
                "rank_now": now.ranks[place],
                "rank_tried": tried.ranks.get(place),
                "ratings_now": row["n_ratings"],
                "ratings_tried": other["n_ratings"] if other else 0,
            }
        )
    return rows


def _claims(ratings: pd.DataFrame, options: Options) -> Mapping[str, set[tuple[str, str]]]:
    """By family: what is claimed to be higher than what."""
    if not len(ratings):
        return {}
    by_title = under_rules([(("", ()), ratings)], "", options.reference, options.level)
    return {
        title: {
            (a, b) if one.value > 0 else (b, a)
            for variant in variants
            for (a, b), one in variant.differences.items()
            if one.claimed
        }
        for title, variants in by_title.items()
    }


def _only(
    here: Mapping[str, set[tuple[str, str]]], there: Mapping[str, set[tuple[str, str]]]
) -> list[dict[str, str]]:
    return [
        {"about": title, "first": a, "second": b}
        for title, pairs in here.items()
        for a, b in sorted(pairs - there.get(title, set()))
    ]


def _families_lost(now: pd.DataFrame, tried: pd.DataFrame) -> list[str]:
    """Families of which nothing would be left."""
    left = {family_title({"estimand": f.estimand, **f.group}) for f in families(tried)}
    return [title for f in families(now) if (title := f.title) not in left]
