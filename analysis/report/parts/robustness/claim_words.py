"""In how many other analyses the claims stand, and which is nearest to falling, in words."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.formatting import interval_text, listed, number, percent
from analysis.name_spans import condition_span, family_prefix
from analysis.report.parts.robustness.claim_rows import Followed, Standing
from analysis.statistics.robustness import Outcome
from analysis.statistics.robustness.variants import ITEM, MORE, RATER, RULES, WAYS

OF_KIND = {
    RULES: "{} with another set of rules",
    MORE: "{} with one more rule",
    RATER: "{} without one rater",
    ITEM: "{} without one item",
    WAYS: "{} in other ways to analyse",
}
FEW = 0.05  # of the raters (or items), which alone carry a claim
NOTHING_CLAIMED = "No difference is claimed, so none can fall"


def sentences(standing: Standing) -> list[str]:
    """The answer in words; of a comparison without claims, where one would be claimed."""
    title = standing.ranking.title
    if not standing.claims:
        return [f"{family_prefix(title)}{_nothing(standing)}"]
    whole, every = standing.whole()
    what = "The claimed difference stands" if len(standing.claims) == 1 else (
        f"All {len(standing.claims)} claimed differences stand"
    )  # fmt: skip
    if whole == every:
        return [
            f"{family_prefix(title)}{what} in every one of {every:,} other analyses. "
            f"{_nearest(standing)}"
        ]
    parts = [f"{OF_KIND[kind].format(_of(*standing.whole(kind)))}" for kind in standing.kinds]
    share = percent(whole / every)
    text = (
        f"{family_prefix(title)}{what} in {whole:,} of {every:,} other analyses ({share}): "
        f"{', '.join(parts)}"
    )
    if len(standing.claims) > 1:
        what = f"All {len(standing.claims)} claimed differences stand together"
        text = (
            f"{family_prefix(title)}{_each(standing)}. {what} in {whole:,} of {every:,} ({share})"
        )
        text += f": {', '.join(parts)}"
    return [f"{text}. {_nearest(standing)}"]


def _each(standing: Standing) -> str:
    """In how many of the other analyses each claim stands by itself."""
    shares = sorted(each.share for each in standing.claims)
    every = f"of {len(standing.variants):,} other analyses"
    if shares[0] == shares[-1]:
        return f"Each claimed difference stands in {percent(shares[0])} {every}"
    middle = shares[len(shares) // 2]
    return (
        f"Each claimed difference stands in {percent(shares[0])} to {percent(shares[-1])} {every} "
        f"(median {percent(middle)})"
    )


def warnings(standing: Standing) -> Iterator[str]:
    """Claims that turn round somewhere, and those that a few raters or items carry."""
    title = standing.ranking.title
    for each in standing.claims:
        turned = [f.variant for f in each.fates if f.outcome == Outcome.TURNED]
        if turned:
            where = listed([_where(f.kind, f.name) for f in turned], 3)
            yield f"{family_prefix(title)}{_claim(each, standing)} turns round {where}."
    for what in ("raters", "items"):
        few = [each for each in standing.claims if _few(each, what)]
        if few:
            shown = listed([_carried(each, what, standing) for each in few], 3)
            yield (
                f"{family_prefix(title)}few {what} carry {shown}: look at them before you claim it."
            )


def _nothing(standing: Standing) -> str:
    some = [v for v in standing.variants if any(found.claimed for found in v.found.values())]
    if not some:
        return f"{NOTHING_CLAIMED}; none would be in any of {len(standing.variants):,} others."
    where = listed([_where(each.kind, each.name) for each in some], 3)
    return (
        f"{NOTHING_CLAIMED}. Some difference would be claimed in {len(some):,} of "
        f"{len(standing.variants):,} other analyses: {where}."
    )


def _nearest(standing: Standing) -> str:
    """The claim that is nearest to falling, with its interval, and how far it moves."""
    each, decimals = standing.claims[0], standing.ranking.decimals
    values = each.values()
    if not values:
        return f"Nearest to falling: {_claim(each, standing)}."
    if standing.ranking.low_is_best:
        values = [(0.0 - value, variant) for value, variant in values]
    low, high = min(values, key=lambda v: v[0]), max(values, key=lambda v: v[0])
    span = f"from {number(low[0], True, decimals)} ({_where(low[1].kind, low[1].name)})"
    span += f" to {number(high[0], True, decimals)} ({_where(high[1].kind, high[1].name)})"
    return f"Nearest to falling: {_claim(each, standing)}, elsewhere {span}."


def _claim(each: Followed, standing: Standing) -> str:
    """A claim with its interval, the better condition first: of ranks, that is the lower one."""
    claim, decimals = each.claim, standing.ranking.decimals
    low, high, value = claim.low, claim.high, claim.value
    if standing.ranking.low_is_best:
        low, high, value = 0.0 - high, 0.0 - low, 0.0 - value
    bounds = interval_text(low, high, None, decimals)
    return f"{_over(each, standing)} ({number(value, True, decimals)} {bounds})"


def _over(each: Followed, standing: Standing) -> str:
    best, other = condition_span(each.claim.condition), condition_span(each.claim.versus)
    return f"{other} over {best}" if standing.ranking.low_is_best else f"{best} over {other}"


def _few(each: Followed, what: str) -> bool:
    count, of = _to_turn(each, what)
    return count is not None and count <= max(1, FEW * of)


def _to_turn(each: Followed, what: str) -> tuple[int | None, int]:
    if what == "raters":
        return each.raters_to_turn, each.raters
    return each.items_to_turn, each.items


def _carried(each: Followed, what: str, standing: Standing) -> str:
    count, of = _to_turn(each, what)
    return f"{_over(each, standing)} (turned without {count} of {of} {what})"


def _where(kind: str, name: str) -> str:
    if kind in (RATER, ITEM):
        return f"without {'rater' if kind == RATER else 'item'} {name}"
    if kind == RULES:
        return f"under {name}" if name.endswith(("rule", "rules")) else f"under {name} alone"
    return name


def _of(stands: int, every: int) -> str:
    return f"{stands:,} of {every:,}"
