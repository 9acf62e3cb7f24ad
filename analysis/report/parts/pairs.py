"""Paired comparisons: who is preferred and by how much, order effects, strengths, ABX."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from analysis.arrays import Codes, Floats
from analysis.citations import cite, cite_author
from analysis.formatting import beware, counted, first_of, interval_text, listed, number
from analysis.name_spans import condition_span, family_prefix
from analysis.ratings.breakdowns import Family, items_of
from analysis.ratings.estimands import estimand_of, keys_where
from analysis.report.content import (
    INTERVAL_CELLS,
    Column,
    Content,
    Figure,
    Table,
    add_family_words,
    column,
    columns_of,
    pick_fields,
    table_row,
    together,
    warned_once,
)
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.report.strengths import (
    StrengthFit,
    fit_strengths,
    order_sentence,
    strength_figures,
    strength_tables,
)
from analysis.report.win_matrix import win_matrix
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.pairs.ability_fit import AbilityFit
from analysis.statistics.pairs.comparison_graph import (
    Connection,
    TriadsSummary,
    circular_triads,
    connection,
    parts,
    triads_summary,
    wins_of,
)
from analysis.statistics.pairs.means_of_pairs import (
    Measured,
    PairMean,
    order_effect,
    pair_means,
    share_right,
    shares_right,
    within_pairs,
)
from analysis.statistics.pairs.pair_ratings import PairRatings, pairs_of
from analysis.statistics.pairs.win_models import bradley_terry, cumulative, davidson, least_squares

if TYPE_CHECKING:
    import pandas as pd


MOST_PREFERENCES_DRAWN = 30
LOPSIDED = 0.1  # from one half: how often one of a pair was heard second
PREFERENCE_METHOD = (
    "Each pair's mean (and share of wins, a tie counting half) has a two-way clustered interval, "
    f"over raters and items {cite('cameron2011', 'korn1998')}. Intervals and p hold for all pairs "
    f"at once {cite('sidak1967')}: a preference is claimed where the interval excludes a draw."
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


def preference_content(ratings: PairRatings, each: FamilyInput, shares: bool = False) -> Content:
    """The pairs of one family; ``shares`` where answers have no grades (AB): shares, not means."""
    level, about = each.level, each.title
    digits = estimand_of(each.family.estimand).decimals
    pairs = pair_means(ratings, level)
    rows = [_preference_row(pair, shares) for pair in pairs]
    order, order_rows, warnings = _preference_order(ratings, pairs, level, shares)
    tables = [
        _means_table(f"pairs{each.suffix}", rows, level, shares),
        _naive_table(f"pairs_naive{each.suffix}", rows, level, shares),
        *_order_tables(rows, order_rows, each),
    ]
    return Content(
        sentences=[_answer(pairs, level, shares), *order],
        figures=[replace(figure, about=about) for figure in _figures(rows, each.suffix, shares)],
        tables=[_rounded(replace(table, about=about), digits) for table in tables],
        warnings=[*warnings, *_weak(pairs, level)],
        methods=[PREFERENCE_METHOD],
    )


def _rounded(table: Table, most: int) -> Table:
    """The table with at most so many decimals, as the answer has them."""
    columns = (replace(each, decimals=min(each.decimals, most)) for each in table.columns)
    return replace(table, columns=tuple(columns))


def _main(pair: PairMean, shares: bool) -> Measured:
    return pair.share if shares else pair.mean


def _preference_row(pair: PairMean, shares: bool) -> dict[str, Any]:
    main, n = _main(pair, shares), pair.n_ratings
    return pair.row() | {
        "name": f"{condition_span(pair.condition)} against {condition_span(pair.versus)}",
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
    if len(rows) > MOST_PREFERENCES_DRAWN:
        return []
    drawn = sorted(rows, key=lambda row: -row["value"])
    x = "share that prefers the first" if shares else "mean score of the first over the other"
    names = ("name", *INTERVAL_CELLS)
    intervals = Figure(
        f"pairs{suffix}", "Pairs", "intervals", pick_fields(drawn, names), x=x, at=(0.0,)
    )
    if shares:
        intervals = replace(intervals, ends=(0.0, 1.0), at=(0.5,))
    parts = [
        {"name": row["name"], "label": label, "value": row[key]}
        for row in drawn
        for key, label in LABELS.items()
    ]
    return [intervals, Figure(f"pair_shares{suffix}", "Wins, ties and losses", "shares", parts)]


def _preference_order(
    ratings: PairRatings, pairs: Sequence[PairMean], level: float, shares: bool
) -> tuple[list[str], list[OrderRow], list[str]]:
    """Sentences, rows and warnings of which clip was heard first."""
    try:
        raw = order_effect(ratings, level)
    except Undefined:
        unknown = "Which clip was heard first is unknown, so an order effect cannot be taken out"
        return [], [], [f"{unknown}: give the column presented_first (rated or versus)."]
    try:
        inside = within_pairs(ratings, level)
    except Undefined:
        fixed = "Every pair was heard in one order only"
        included = "so its mean includes the effect of that order"
        return [], [], [f"{fixed}, {included}. Plan both orders."]
    rows = [
        _order_row("second clip, over all ratings", raw),
        _order_row("second clip, each pair's mean taken out", inside),
    ]
    if inside.p is None:
        return [], rows, [f"The order effect has no interval: {inside.note}."]
    ends = interval_text(inside.low or 0.0, inside.high or 0.0, None, 2)
    if inside.p >= 1 - level:
        size = number(inside.value, True, 2)
        return [f"No clear effect of order (the second clip gains {size} {ends})."], rows, []
    size = f"{abs(inside.value):.2f} {'of the way from losing to winning' if shares else 'points'}"
    gains = "more" if inside.value > 0 else "less"
    effect = f"Order matters: a clip scores {size} {gains} when it is heard second {ends}"
    skewed = [_both(pair) for pair in pairs if _is_lopsided(ratings, pair)]
    if not skewed:
        return [], rows, [f"{effect}. Both orders were heard about equally often, so means hold."]
    unequal = f"and both orders were not heard equally often ({listed(skewed)})"
    remedy = "read the means of both orders in their table instead"
    return [], rows, [f"{effect}, {unequal}: {remedy}."]


def _order_row(name: str, effect: Measured) -> OrderRow:
    naive = effect.naive_low, effect.naive_high, effect.naive_p
    return OrderRow(name, effect.value, effect.low, effect.high, effect.p, *naive, effect.note)


def _is_lopsided(ratings: PairRatings, pair: PairMean) -> bool:
    a, b = ratings.names.index(pair.condition), ratings.names.index(pair.versus)
    one, other = (ratings.a == a) & (ratings.b == b), (ratings.a == b) & (ratings.b == a)
    seen = np.concatenate([ratings.order[one], -ratings.order[other]])
    seen = seen[seen != 0]
    return len(seen) > 0 and abs(float(np.mean(seen > 0)) - 0.5) > LOPSIDED


def _order_tables(
    rows: Sequence[Mapping[str, Any]], order: Sequence[OrderRow], each: FamilyInput
) -> list[Table]:
    tables = []
    if order:
        title = "Order effect: what a clip gains by being heard second"
        tables.append(each.table(OrderRow, "order_effect", title, order, folded=True))
    known = [row for row in rows if row["balanced"] is not None]
    if known:
        interval = f"{each.level * 100:g} % interval"
        columns = [
            Column("name", "Pair"),
            Column("balanced", "Mean of both orders", "number", sign=True),
            Column("balanced", interval, "interval"),
            Column("balanced_p", "p", "p"),
            Column("order", "Gain by coming second", "number", sign=True),
            Column("order", interval, "interval"),
        ]
        key, title = f"pairs_by_order{each.suffix}", "Pairs, both orders weighing the same"
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
    which = "pair has" if len(lost) == 1 else "pairs have"
    assumed = "only if ratings are taken as independent, which they are not"
    return [f"{len(lost)} {which} an adjusted p < {alpha:.2g} {assumed}: {listed(lost)}."]


REDUCED = f"with reduced bias {cite('firth1993')}"
BY_ANSWERS = (
    "The two systems of a comparison were drawn by the answers before it, so pairs that seemed "
    "close met more often. Read the strengths: means of single pairs lean away from a draw."
)


LEAST_OF_PAIR = 4  # comparisons, on average: with these the intervals were simulated
FEW_OF_PAIR = (
    "A pair has {:.1f} comparisons on average. Intervals of strengths after such a choice of pairs "
    f"were simulated with {LEAST_OF_PAIR} or more; with fewer they may be too narrow."
)


def _drawn_by_answers(use: pd.DataFrame) -> bool:
    """Whether pairs were drawn with probabilities that changed with the answers."""
    drawn = use[use["pair_probability"].notna()]
    of_item = drawn.groupby("item", observed=True)["pair_probability"]
    return len(drawn) > 0 and bool(((of_item.max() - of_item.min()) > 1e-9).any())


def _drawn_pairs(each: FamilyInput, use: pd.DataFrame) -> Content:
    """By which rule pairs were drawn, and what that changes."""
    tasks = each.inputs.facts["tasks"] if each.inputs.facts else ()
    rule = next((t.get("pairs_drawn") for t in tasks if t["task"] == each.family.group["task"]), "")
    chances = use["pair_probability"].dropna()
    words = f"Pairs: {rule}." if rule else "Pairs were drawn by the answers so far."
    spread = f"Probabilities of drawn pairs: {chances.min():.2g} to {chances.max():.2g}."
    systems = len(set(use["condition"]) | set(use["versus_condition"]))
    of_pair = len(use) / (systems * (systems - 1) / 2)
    few = [FEW_OF_PAIR.format(of_pair)] if of_pair < LEAST_OF_PAIR else []
    return Content(sentences=[f"{words} {spread}"], warnings=[BY_ANSWERS, *few])


FEWEST_RANKED = 3  # two conditions have one pair, whose mean says it all
MODELS: dict[str, Callable[..., AbilityFit]] = {
    "thurstone": partial(cumulative, link="probit", order=True),
    "davidson": partial(davidson, order=True),
    "bradley_terry": partial(bradley_terry, ties="half", order=True),
    "least_squares": partial(least_squares, order=True),
}
METHODS = {
    "thurstone": "Thurstone's case V for graded answers: cumulative probit, symmetric cut points "
    f"{cite('agresti1992')}",
    "davidson": f"{cite_author('davidson1970', possessive=True)} model of wins and ties",
    "bradley_terry": f"{cite_author('bradley1952', possessive=True)} model, ties as half a win to "
    "each",
    "least_squares": f"{cite_author('scheffe1952', possessive=True)} least squares on the scores",
}
ALL_TIES = (
    "Every answer is a tie: nobody is ahead. Strengths are equal; models that drop ties have no "
    "data left, and with Davidson's the chance of a tie is 1."
)


def strengths(ratings: PairRatings, each: FamilyInput, reduced: bool = False) -> Content:
    """Strengths with intervals where conditions have a common scale, and who beat whom.

    ``reduced``: every model that can is fitted with reduced bias.
    """
    if len(ratings.names) < FEWEST_RANKED:
        return Content()
    if not np.any(ratings.y):
        return Content(sentences=[ALL_TIES])
    graph, main = connection(ratings), main_model(ratings)
    fits = _fits(ratings, each.level, reduced)
    shown = [one for one in fits if one.key == main and one.fit is not None]
    order = _strength_order(ratings, shown, graph)
    return Content(
        sentences=[order_sentence(one) for one in shown],
        figures=[
            *strength_figures(shown, each),
            *win_matrix(ratings, order, f"win_matrix{each.suffix}", each.title),
        ],
        tables=strength_tables(fits, shown, each, METHODS),
        warnings=_strength_warnings(graph, fits, main, shown),
        methods=[_method(shown, main, reduced)] if shown else [],
    )


def main_model(ratings: PairRatings) -> str:
    """Graded answers: Thurstone's; wins, ties and losses: Davidson's; no ties: Bradley-Terry."""
    sizes = np.unique(np.abs(ratings.y))
    if np.sum(sizes > 0) > 1:
        return "thurstone"
    return "davidson" if np.any(ratings.y == 0) else "bradley_terry"


def _fits(ratings: PairRatings, level: float, reduced: bool) -> list[StrengthFit]:
    """Every model's fit of each group of conditions that comparisons tie together."""
    return [
        fit_strengths(key, _model_of(key, part, reduced), part.names, level)
        for part in parts(ratings)
        if len(part.names) > 1
        for key in MODELS
    ]


def _model_of(key: str, ratings: PairRatings, always: bool) -> Callable[[bool], AbilityFit]:
    """Fits a model, with reduced bias where asked or, but for least squares, ``always``."""
    always = always and key != "least_squares"
    return lambda reduced: (
        MODELS[key](ratings, bias_reduced=True) if reduced or always else MODELS[key](ratings)
    )


def _strength_order(
    ratings: PairRatings, shown: Sequence[StrengthFit], graph: Connection
) -> list[str]:
    """All conditions, the strongest first as far as there is an order."""
    ranked = [name for one in shown if one.fit is not None for name in one.fit.order()]
    if len(set(ranked)) == len(ratings.names):
        return ranked
    won = graph.wins.sum(axis=1) / np.maximum((graph.wins + graph.wins.T).sum(axis=1), 1)
    return [ratings.names[i] for i in np.argsort(-won, kind="stable")]


def _strength_warnings(
    graph: Connection, fits: Sequence[StrengthFit], main: str, shown: Sequence[StrengthFit]
) -> list[str]:
    lines = []
    if len(graph.components) > 1:
        groups = " | ".join(", ".join(map(condition_span, group)) for group in graph.components)
        lines.append(
            f"{len(graph.components)} groups were never compared with one another ({groups}): "
            "they have no common scale and no common ranking. Each is shown alone."
        )
    elif graph.words and shown:
        lines.append(
            f"{graph.describe(condition_span)}: by how much, the answers hardly say. The strengths "
            f"are finite by the model alone ({shown[0].rows[0].model})."
        )
    if not shown and not lines:
        why = next((one.why for one in fits if one.key == main and one.why), "")
        lines.append(f"No strengths: {why}.")
    return lines


def _method(shown: Sequence[StrengthFit], main: str, reduced: bool) -> str:
    order = any("order term" in one.fit.model for one in shown if one.fit is not None)
    term = ", with a term for the clip heard second" if order else ""
    return (
        f"Strengths by {METHODS[main]}{term}, {REDUCED if reduced else 'by maximum likelihood'}; "
        "standard errors two-way "
        "clustered over raters and items (sandwich), letters by Holm's p over all pairs."
    )


class Pairs(FamilyPart):
    """Every pair that met; the strengths behind all pairs; whether preferences go in circles."""

    key = "pairs"
    version = "2"
    title = "Paired comparisons"
    order = 22
    nothing = "no rated comparisons are left: see what the rules leave out"

    def applies(self, inputs: PartInput) -> bool:
        ratings = inputs.ratings
        named = ratings["versus_condition"] != ""
        return bool((ratings["estimand"].isin(keys_where("in_pairs")) & named).any())

    def families(self, inputs: PartInput) -> Iterable[Family]:
        return [family for family in super().families(inputs) if family.in_pairs]

    def of_family(self, each: FamilyInput) -> Content:
        content = warned_once(together(_contents(each)))
        return add_family_words(content, each.title) if each.n_families > 1 else content

    def of_all(self, contents: Sequence[Content], inputs: PartInput) -> Content:
        """Titles and words say already what they are about."""
        return warned_once(together(contents))


def _contents(each: FamilyInput) -> Iterator[Content]:
    table = each.family.table
    alone = table["versus_condition"] == ""
    same = table["condition"] == table["versus_condition"]
    use = table[~alone & ~same]
    estimand = estimand_of(each.family.estimand)
    if len(use) and estimand.discriminates:
        yield right(use, each)
    elif len(use):
        ratings = pairs_of(use)
        yield preference_content(ratings, each, shares=estimand.neutral != 0)
        by_answers = _drawn_by_answers(use)
        if by_answers:
            yield _drawn_pairs(each, use)
        for make in (partial(strengths, reduced=by_answers), rounds):
            try:
                yield make(ratings, each)
            except Undefined as why:
                yield Content(warnings=[f"{family_prefix(each.title)}{why}."])
    if alone.any():
        text = f"{int(alone.sum())} ratings name no other condition and are left out here."
        yield Content(warnings=[text])
    if same.any():
        text = f"{int(same.sum())} ratings compare a condition with itself: left out here."
        yield Content(warnings=[text])


CHANCE = 0.5
MOST_ABX_DRAWN = 30
ABX_METHOD = (
    "ABX: the share of right answers against 0.5 (guessing), with a two-way clustered interval "
    "(raters, items) and, as if ratings were independent, Clopper and Pearson's exact interval "
    f"and the exact one-sided binomial test. The pairs are adjusted together {cite('sidak1967')}."
)
ABX_NOTE = (
    "Exact: binomial, as if every answer were independent of the others; with several answers per "
    "rater the clustered interval is the one to quote."
)
NO_DIFFERENCE = "This does not show that there is no difference: see how far the interval reaches."


@table_row
class RightRow:
    """How often X was identified in the answers about a pair, or about all pairs."""

    name: str = column("Pair")
    value: float = column("Right", "number")
    low: float | None = column("{level} interval, all pairs at once", "interval", key="interval")
    high: float | None
    p: float | None = column("p against 0.5, adjusted", "p")
    alone_low: float | None
    alone_high: float | None
    p_alone: float | None
    right: int = column("Right answers", "count")
    n_ratings: int = column("Ratings", "count")
    n_raters: int = column("Raters", "count")
    n_items: int = column("Items", "count")
    naive_low: float = column("Exact interval", "interval", key="naive")
    naive_high: float
    exact_p: float = column("Exact p, more than guessed", "p")
    exact_p_two_sided: float
    made_by: str
    note: str


ABX_SHOWN = (
    *("name", "value", "low", "p", "naive_low", "exact_p"),
    *("right", "n_ratings", "n_raters", "n_items"),
)


def right(use: pd.DataFrame, each: FamilyInput) -> Content:
    """The pairs of an ABX test: how often X was identified; scores are 1 (right) and 0."""
    both = zip(use["condition"], use["versus_condition"], strict=True)
    pair = np.asarray([" and ".join(sorted(names)) for names in both], dtype=object)
    pairs, code = np.unique(pair, return_inverse=True)
    y, raters, items = _answers(use)
    shares = shares_right(y, code, raters, items, each.level)
    by_pair = [
        _abx_row(str(name), use[pair == name], share, each.level)
        for name, share in zip(pairs, shares, strict=True)
    ]
    rows = by_pair
    if len(by_pair) > 1:
        share = share_right(y, raters, items, each.level)
        rows = [*by_pair, _abx_row("all pairs", use, share, each.level)]
    key, title = f"abx{each.suffix}", "Right answers"
    figure = Figure(
        key,
        title,
        "intervals",
        pick_fields(rows, ("name", *INTERVAL_CELLS)),
        x="share right",
        ends=(0.0, 1.0),
        at=(CHANCE,),
        about=each.title,
    )
    note = f"{ABX_NOTE} {beware(row.note for row in rows)}".strip()
    columns = columns_of(RightRow, *ABX_SHOWN, level=each.level)
    return Content(
        sentences=[_abx_sentence(rows[-1], each.level)],
        figures=[figure] if len(rows) <= MOST_ABX_DRAWN else [],
        tables=[each.table(RightRow, "abx", title, rows, columns=columns, note=note)],
        warnings=_abx_warnings(by_pair, each.level),
        methods=[ABX_METHOD],
    )


def _answers(use: pd.DataFrame) -> tuple[Floats, Codes, Codes]:
    """Whether each answer is right (n,), and the codes of its rater and item (n,)."""
    y: Floats = use["score"].to_numpy(dtype=np.float64)
    item = items_of(use)
    rater, items = (
        np.unique(x.to_numpy(dtype=object), return_inverse=True)[1] for x in (use["rater"], item)
    )
    return y, rater, items


def _abx_row(name: str, use: pd.DataFrame, share: Measured, level: float) -> RightRow:
    y, rater, items = _answers(use)
    one_sided = stats.binomtest(int(y.sum()), len(y), CHANCE, "greater")
    two_sided = stats.binomtest(int(y.sum()), len(y), CHANCE)
    exact = two_sided.proportion_ci(level, "exact")
    return RightRow(
        name=name,
        value=share.value,
        low=share.low if share.low_all is None else share.low_all,
        high=share.high if share.high_all is None else share.high_all,
        p=share.p if share.p_adjusted is None else share.p_adjusted,
        alone_low=share.low,
        alone_high=share.high,
        p_alone=share.p,
        right=int(y.sum()),
        n_ratings=len(y),
        n_raters=len(np.unique(rater)),
        n_items=len(np.unique(items)),
        naive_low=float(exact.low),
        naive_high=float(exact.high),
        exact_p=float(one_sided.pvalue),
        exact_p_two_sided=float(two_sided.pvalue),
        made_by=share.interval,
        note=share.note,
    )


def _abx_sentence(row: RightRow, level: float) -> str:
    share = f"X was identified in {row.value * 100:.1f} % of {row.n_ratings} answers"
    if row.low is None or row.high is None:
        p = f"{row.exact_p:.3f}" if row.exact_p >= 0.001 else "below 0.001"
        share += f" (guessing: 50 %). No test for other listeners and items: {row.note}"
        return f"{share}; as if every answer were independent, exact p {p}."
    ends = interval_text(row.low * 100, row.high * 100, (0, 100), 1)
    if row.p is not None and row.p < 1 - level:
        which = "more" if row.value > CHANCE else "less"
        why = "" if which == "more" else " (are right and wrong mixed up?)"
        return f"{share} {ends}: {which} often than by guessing{why}."
    return f"{share} {ends}: not significantly different from guessing. {NO_DIFFERENCE}"


def _abx_warnings(rows: list[RightRow], level: float) -> list[str]:
    alpha = 1 - level
    weak = [
        row.name for row in rows if row.p is not None and row.exact_p_two_sided < alpha <= row.p
    ]
    why = "above guessing only if answers are taken as independent, which they are not"
    return [f"{', '.join(weak)}: {why}."] if weak else []


FEWEST_OF_TRIADS = 3
MOST_CONDITIONS = 60
MOST_NAMED = 5
COLUMNS = (
    Column("name", "Judged by"),
    Column("judges", "Judges", "count"),
    Column("triads", "Triads", "count"),
    Column("circular", "Circular", "count"),
    Column("share", "Circular share", "number"),
    Column("share_by_chance", "By coin tosses", "number", 2),
    Column("mean_consistence", "Consistency (1: none circular)", "number"),
    Column("judges_with_all_pairs", "Judges with all pairs", "count"),
)
NOTE = (
    "A triad counts where all three of its pairs are decided, the coefficient where a judge "
    "decided every pair."
)
TRIADS_METHOD = (
    "Circular triads (a over b, b over c, c over a) and the coefficient of consistence by "
    f"{cite_author('kendall1940')}; a triad of coin tosses is circular with a chance of 0.25."
)


def rounds(ratings: PairRatings, family: FamilyInput) -> Content:
    """How often preferences go in circles: nothing to say of fewer than three conditions."""
    if not FEWEST_OF_TRIADS <= len(ratings.names) <= MOST_CONDITIONS:
        return Content()
    majority = triads_summary(circular_triads(ratings, ()))
    each = triads_summary(circular_triads(ratings, ("rater",)))
    if not majority["triads"]:
        return Content()
    rows = [
        {"name": "majorities of all answers", **majority},
        {"name": "each rater by itself", **each},
    ]
    key, about = f"triads{family.suffix}", family.title
    table = Table(key, "Preferences that go round", COLUMNS, rows, NOTE, about, folded=True)
    return Content(
        sentences=[_sentence(ratings, majority)],
        tables=[table],
        warnings=_triads_warnings(each),
        methods=[TRIADS_METHOD],
    )


def going_round(ratings: PairRatings) -> list[str]:
    """The circular triads of majorities in words, such as ``a over b over c over a``."""
    wins, names = wins_of(ratings), ratings.names
    beats = wins > wins.T
    circles = []
    for i, j, k in combinations(range(len(names)), 3):
        for a, b, c in ((i, j, k), (i, k, j)):
            if beats[a, b] and beats[b, c] and beats[c, a]:
                circles.append(" over ".join(condition_span(names[code]) for code in (a, b, c, a)))
    return circles


def _sentence(ratings: PairRatings, majority: TriadsSummary) -> str:
    circular, triads = majority["circular"], majority["triads"]
    if not circular:
        return f"None of {counted(triads, 'triad')} of majority preferences is circular."
    circles = going_round(ratings)
    which = f": {first_of(circles, MOST_NAMED, '; ')}" if circles else ""
    return (
        f"{circular} of {counted(triads, 'triad')} of majority preferences "
        f"{'is' if circular == 1 else 'are'} circular{which}. "
        "No single order of the conditions fits all of these preferences."
    )


def _triads_warnings(each: TriadsSummary) -> list[str]:
    if each["share"] is None or each["triads"] < 10 or each["share"] < each["share_by_chance"]:
        return []
    share = f"{each['share'] * 100:.0f} %"
    round_ = f"Within raters {share} of the triads go round, no fewer than by coin tosses (25 %)"
    return [f"{round_}: raters were not consistent, or the conditions hardly differ."]
