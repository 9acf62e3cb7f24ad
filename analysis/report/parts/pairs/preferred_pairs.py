"""Each pair's mean or share with its clustered interval, wins and ties, and the order effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from analysis.citations import cite
from analysis.formatting import beware, counted, interval_text, listed, number
from analysis.name_spans import condition_span
from analysis.report.content import Column, Content, Figure, Table, column, picked, table_row
from analysis.report.part import FamilyInput
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.pairs.means_of_pairs import (
    Measured,
    PairMean,
    order_effect,
    pair_means,
    within_pairs,
)
from analysis.statistics.pairs.pair_ratings import PairRatings

MOST_DRAWN = 30
LOPSIDED = 0.1  # from one half: how often one of a pair was heard second
METHOD = (
    "Each pair's mean (and share of wins, a tie counting half) has a two-way clustered interval, "
    f"over raters and items {cite('cameron2011', 'korn1998')}. "
    f"Intervals and p hold for all pairs at once {cite('sidak1967')}: a preference is claimed "
    "where the interval leaves a draw out."
)
LABELS = {"win_share": "first preferred", "tie_share": "tie", "loss_share": "other preferred"}
NAIVE = (
    "As in papers that take every rating as independent: too narrow an interval and too small a p "
    "where raters, or items, differ. The sign test and the signed rank test do the same."
)


@table_row
class OrderRow:
    """What a clip gains by being heard second."""

    name: str = column("Gain of the")
    value: float = column("Points", "number", sign=True)
    low: float | None = column("{level} interval", "interval", key="interval")
    high: float | None
    p: float | None = column("p", "p")
    naive_low: float | None = column("Naive interval", "interval", key="naive")
    naive_high: float | None
    naive_p: float | None
    note: str


def preferred(ratings: PairRatings, each: FamilyInput, shares: bool = False) -> Content:
    """The pairs of one family; ``shares`` where answers have no grades (AB): shares, not means."""
    level, about = each.level, each.title
    pairs = pair_means(ratings, level)
    rows = [_row(pair, shares) for pair in pairs]
    order, order_rows, warnings = _order(ratings, pairs, level, shares)
    tables = [
        _means_table(f"pairs{each.suffix}", rows, level, shares),
        _naive_table(f"pairs_naive{each.suffix}", rows, level, shares),
        *_order_tables(rows, order_rows, each.suffix, level),
    ]
    return Content(
        sentences=[_answer(pairs, level, shares), *order],
        figures=[replace(figure, about=about) for figure in _figures(rows, each.suffix, shares)],
        tables=[replace(table, about=about) for table in tables],
        warnings=[*warnings, *_weak(pairs, level)],
        methods=[METHOD],
    )


def _main(pair: PairMean, shares: bool) -> Measured:
    return pair.share if shares else pair.mean


def _row(pair: PairMean, shares: bool) -> dict[str, Any]:
    main, n = _main(pair, shares), pair.n_ratings
    return pair.row() | {
        "name": f"{pair.condition} against {pair.versus}",
        "value": main.value,
        "low": main.low_all,
        "high": main.high_all,
        "p": main.p_adjusted,
        "alone_low": main.low,
        "alone_high": main.high,
        "p_alone": main.p,
        "naive_low": main.naive_low,
        "naive_high": main.naive_high,
        "win_share": pair.wins / n,
        "tie_share": pair.ties / n,
        "loss_share": pair.losses / n,
        "note": main.note,
    }


def _means_table(key: str, rows: Sequence[Mapping[str, Any]], level: float, shares: bool) -> Table:
    what = "share" if shares else "mean"
    columns = [
        Column("name", "Pair"),
        Column(what, "Preferred (ties half)" if shares else "Mean", "number", sign=not shares),
        Column("interval", f"{level * 100:g} % interval, all pairs at once", "interval"),
        Column("p", "p, adjusted", "p"),
        Column("win_share", "Wins", "percent"),
        Column("tie_share", "Ties", "percent"),
        Column("loss_share", "Losses", "percent"),
        Column("n_ratings", "Ratings", "count"),
        Column("n_raters", "Raters", "count"),
        Column("n_items", "Items", "count"),
    ]
    above = "above 0.5" if shares else "above 0"
    note = f"Values {above}: the condition named first is preferred."
    note = f"{note} {beware((row['note'] for row in rows), most=3)}".strip()
    return Table(key, "Pairs", columns, rows, note)


def _naive_table(key: str, rows: Sequence[Mapping[str, Any]], level: float, shares: bool) -> Table:
    what = "share" if shares else "mean"
    columns = [
        Column("name", "Pair"),
        Column(what, "Share" if shares else "Mean", "number", sign=not shares),
        Column("alone", f"{level * 100:g} % interval, this pair alone", "interval"),
        Column("p_alone", "p, this pair alone", "p"),
        Column(f"{what}_naive", f"Naive {level * 100:g} % interval", "interval"),
        Column("mean_naive_p", "t test, p", "p"),
        Column("naive_p_adjusted", "t test, p (Holm)", "p"),
        Column("sign_p", "Sign test (exact), p", "p"),
        Column("wilcoxon_v", "Wilcoxon V", "number", 1),
        Column("wilcoxon_p", "Wilcoxon, p", "p"),
    ]
    return Table(key, "Pairs, tested as in papers", columns, rows, NAIVE, folded=True)


def _figures(rows: Sequence[Mapping[str, Any]], suffix: str, shares: bool) -> list[Figure]:
    if len(rows) > MOST_DRAWN:
        return []
    drawn = sorted(rows, key=lambda row: -row["value"])
    x = "share that prefers the first" if shares else "mean score of the first over the other"
    names = ("name", "value", "low", "high", "naive_low", "naive_high")
    intervals = Figure(f"pairs{suffix}", "Pairs", "intervals", picked(drawn, names), x=x, at=(0.0,))
    if shares:
        intervals = replace(intervals, ends=(0.0, 1.0), at=(0.5,))
    parts = [
        {"name": row["name"], "label": label, "value": row[key]}
        for row in drawn
        for key, label in LABELS.items()
    ]
    return [intervals, Figure(f"pair_shares{suffix}", "Wins, ties and losses", "shares", parts)]


def _order(
    ratings: PairRatings, pairs: Sequence[PairMean], level: float, shares: bool
) -> tuple[list[str], list[OrderRow], list[str]]:
    """Sentences, rows and warnings of which clip was heard first."""
    try:
        raw = order_effect(ratings, level)
    except Undefined:
        unknown = "Which clip was heard first is unknown, so an order effect cannot be taken out"
        return [], [], [f"{unknown}: give the column presented_first (rated or versus)."]
    rows = [_order_row("second clip, over all ratings", raw)]
    try:
        inside = within_pairs(ratings, level)
    except Undefined:
        fixed = "Every pair was heard in one order only: its mean holds whatever coming second does"
        return [], rows, [f"{fixed}. Plan both orders."]
    rows.append(_order_row("second clip, each pair's mean taken out", inside))
    if inside.p is None:
        return [], rows, [f"The order effect has no interval: {inside.note}."]
    ends = interval_text(inside.low or 0.0, inside.high or 0.0, None, 2)
    if inside.p >= 1 - level:
        size = number(inside.value, True, 2)
        return [f"No clear effect of order (the second clip gains {size} {ends})."], rows, []
    size = f"{abs(inside.value):.2f} {'of the way from losing to winning' if shares else 'points'}"
    gains = "more" if inside.value > 0 else "less"
    effect = f"Order matters: a clip scores {size} {gains} when it is heard second {ends}"
    skewed = [_both(pair) for pair in pairs if _lopsided(ratings, pair)]
    if not skewed:
        return [], rows, [f"{effect}. Both orders were heard about equally often, so means hold."]
    unequal = f"and both orders were not heard equally often ({listed(skewed)})"
    remedy = "read the means of both orders in their table instead"
    return [], rows, [f"{effect}, {unequal}: {remedy}."]


def _order_row(name: str, effect: Measured) -> OrderRow:
    naive = effect.naive_low, effect.naive_high, effect.naive_p
    return OrderRow(name, effect.value, effect.low, effect.high, effect.p, *naive, effect.note)


def _lopsided(ratings: PairRatings, pair: PairMean) -> bool:
    a, b = ratings.names.index(pair.condition), ratings.names.index(pair.versus)
    one, other = (ratings.a == a) & (ratings.b == b), (ratings.a == b) & (ratings.b == a)
    seen = np.concatenate([ratings.order[one], -ratings.order[other]])
    seen = seen[seen != 0]
    return len(seen) > 0 and abs(float(np.mean(seen > 0)) - 0.5) > LOPSIDED


def _order_tables(
    rows: Sequence[Mapping[str, Any]], order: Sequence[OrderRow], suffix: str, level: float
) -> list[Table]:
    tables = []
    if order:
        key, title = (
            f"order_effect{suffix}",
            "Order effect: what a clip gains by being heard second",
        )
        tables.append(Table.of(OrderRow, key, title, order, level=level, folded=True))
    known = [row for row in rows if row["balanced"] is not None]
    if known:
        interval = f"{level * 100:g} % interval"
        columns = [
            Column("name", "Pair"),
            Column("balanced", "Mean of both orders", "number", sign=True),
            Column("balanced", interval, "interval"),
            Column("balanced_p", "p", "p"),
            Column("order", "Gain by coming second", "number", sign=True),
            Column("order", interval, "interval"),
        ]
        key, title = f"pairs_by_order{suffix}", "Pairs, both orders weighing the same"
        tables.append(Table(key, title, columns, known, folded=True))
    return tables


def _answer(pairs: Sequence[PairMean], level: float, shares: bool) -> str:
    alpha = 1 - level
    if len(pairs) == 1:
        return _one_pair(pairs[0], alpha, shares)
    tested = [pair for pair in pairs if _main(pair, shares).p_adjusted is not None]
    clear = [pair for pair in tested if _main(pair, shares).claimed(level)]
    clear.sort(key=lambda pair: -abs(pair.mean.value))
    if not tested:
        return f"No pair can be tested: {'; '.join(dict.fromkeys(p.mean.note for p in pairs))}."
    named = listed([f"{winner} over {loser}" for winner, loser in map(_sides, clear)])
    verb = "differs" if len(clear) == 1 else "differ"
    text = f"{len(clear)} of {counted(len(tested), 'pair')} {verb} significantly"
    text += f" (adjusted p < {alpha:.2g})"
    text += f": {named}." if clear else "."
    bare = [_both(pair) for pair in pairs if pair not in tested]
    return f"{text} No test for {listed(bare)}; notes say why." if bare else text


def _one_pair(pair: PairMean, alpha: float, shares: bool) -> str:
    n, main = pair.n_ratings, _main(pair, shares)
    counts = ", ".join(
        f"{count / n * 100:.0f} % {what}"
        for count, what in ((pair.wins, "wins"), (pair.ties, "ties"), (pair.losses, "losses"))
    )
    against = f"{condition_span(pair.condition)} against {condition_span(pair.versus)}: {counts}"
    size = f"{main.value:.2f} preferred" if shares else f"mean {number(main.value, True, 2)}"
    if main.low is None or main.high is None or main.p is None:
        return f"{against}; {size}, no interval ({main.note})."
    ends = interval_text(main.low, main.high, None, 2)
    winner, _ = _sides(pair)
    verdict = f"{winner} is preferred" if main.p < alpha else "no clear preference"
    return f"{against}; {size} {ends}: {verdict}."


def _sides(pair: PairMean) -> tuple[str, str]:
    """Winner and loser by the mean, as sentences name them."""
    one, other = condition_span(pair.condition), condition_span(pair.versus)
    return (one, other) if pair.mean.value > 0 else (other, one)


def _both(pair: PairMean) -> str:
    return f"{condition_span(pair.condition)} and {condition_span(pair.versus)}"


def _weak(pairs: Sequence[PairMean], level: float) -> list[str]:
    """Pairs that differ only where ratings are taken as independent."""
    alpha = 1 - level
    lost = [
        _both(pair)
        for pair in pairs
        if pair.mean.p_adjusted is not None
        and pair.naive_p_adjusted is not None
        and pair.naive_p_adjusted < alpha <= pair.mean.p_adjusted
    ]
    if not lost:
        return []
    which = "pair differs" if len(lost) == 1 else "pairs differ"
    assumed = "only if ratings are taken as independent, which they are not"
    return [f"{len(lost)} {which} {assumed}: {listed(lost)}."]
