"""The results under each rule side by side: ranks, swapped pairs, intervals, and the figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.formatting import listed, number
from analysis.name_spans import condition_span, family_prefix, family_span
from analysis.ratings.estimands import bare_title
from analysis.report.content import Column, Figure, Table, column, columns_of, table_row
from analysis.statistics.sensitivity import ALL_RULES, NO_RULE, Order, Place, change

Families = Mapping[str, Mapping[str, Order]]
MOST_DRAWN = 40  # intervals in one figure
MOST_FIGURES = 4
MOST_OPEN = 2  # families whose estimates stand open
MOST_SWAPS = 3  # named in one sentence
MOST_SENTENCES = 6
MANY_POINTS = 10  # means above it are written with one decimal
NOT_IN_FORCE = (
    "Rules named “with …” are not in force: they stand here to show what one more rule would "
    "change, not to choose the result from."
)
DISTANCE = (
    "Distance: Kendall's, the share of pairs of conditions in another order than under the rules "
    "in force."
)


@table_row
class SchemeRow:
    """What one scheme of rules keeps of a family."""

    about: str = column("Of what")
    under: str = column("Results under")
    scheme: str
    n_ratings: int = column("Ratings kept", "count")


@table_row
class ChangeRow(SchemeRow):
    """How the results differ from those under the rules in force."""

    distance: float | None = column("Distance of the order", "number", 2)
    swapped: str = column("Changed places")
    biggest: float | None = column("Biggest change of a mean", "number", 3, sign=True)
    where: str = column("Of")


@table_row
class EstimateRow:
    """One condition's mean under one scheme, and its change against the rules in force."""

    about: str = column("Of what")
    condition: str = column("Condition")
    under: str = column("Results under")
    scheme: str
    value: float = column("Mean", "number")
    low: float | None = column("Interval", "interval", key="interval")
    high: float | None
    rank: int = column("Rank", "count")
    change: float | None = column("Change", "number", 3, sign=True)
    n_ratings: int = column("Ratings", "count")
    n_raters: int = column("Raters", "count")


def orders_table(
    families: Families, main: str, tried: Sequence[str], silent: Sequence[str]
) -> Table:
    """One row per family and scheme: ratings kept, distance of the order, the biggest change."""
    rows: list[SchemeRow] = []
    for title, schemes in families.items():
        for name, order in schemes.items():
            row = SchemeRow(title, words_of(name, main), name, order.n_ratings)
            if name != main and main in schemes:
                differs = change(schemes[main], order)
                row = ChangeRow(
                    **vars(row),
                    distance=differs.distance,
                    swapped=_pairs(differs.swapped),
                    biggest=differs.biggest,
                    where=_place(differs.where) if differs.where else "",
                )
            rows.append(row)
    columns = columns_of(ChangeRow)
    notes = [NOT_IN_FORCE] * bool(set(tried) - set(silent)) + [DISTANCE]
    if silent:
        notes.append(f"Not shown, because another row is the same: {', '.join(silent)}.")
    return Table.of(
        ChangeRow,
        "screening_orders",
        "The results under each rule against those under the rules in force",
        rows,
        columns=columns if len(families) > 1 else columns[1:],
        note=" ".join(notes),
    )


def estimates_tables(families: Families, main: str, tried: Sequence[str]) -> Iterator[Table]:
    """One table per family: each condition's mean and rank under each scheme, side by side."""
    for nth, (title, schemes) in enumerate(families.items(), start=1):
        shown = [name for name in schemes if name not in tried]
        places = _best_first(schemes, main, shown)
        decimals = 1 if _largest(schemes) > MANY_POINTS else 3
        rows = []
        for place in places:
            row: dict[str, Any] = {"condition": _place(place)}
            for n, name in enumerate(shown):
                held = schemes[name].rows.get(place)
                if held is not None:
                    rank = schemes[name].ranks[place]
                    row |= {f"mean_{n}": held["value"], f"rank_{n}": rank}
                    mean = number(held["value"], False, decimals)
                    row[f"shown_{n}"] = f"{mean} ({rank})"
            rows.append(row)
        yield Table(
            key=f"screening_means_{nth}",
            title=f"Means, and ranks in brackets, under each rule: {family_span(title)}",
            columns=[
                Column("condition", "Condition"),
                *(Column(f"shown_{n}", words_of(name, main)) for n, name in enumerate(shown)),
            ],
            rows=rows,
            about=title,
            folded=len(families) > MOST_OPEN,
        )


def intervals_table(families: Families, main: str) -> Iterator[Table]:
    """Every estimate under every scheme with its interval, rank and change; folded."""
    rows = [
        _estimate(title, schemes, name, place, main)
        for title, schemes in families.items()
        for name, order in schemes.items()
        for place in order.rows
    ]
    if rows:
        key, title = "screening_intervals", "The same with intervals"
        yield Table.of(EstimateRow, key, title, rows, folded=True)


def figures(
    families: Families, main: str, tried: Sequence[str], scales: Mapping[str, Sequence[float]]
) -> Iterator[Figure]:
    """Per family whose means change: each condition's interval under each scheme."""
    drawn = 0
    for nth, (title, schemes) in enumerate(families.items(), start=1):
        names = [name for name in schemes if name not in tried]
        moving = [name for name in names if name != main and _moves(schemes, name, main)]
        if not moving or drawn == MOST_FIGURES:
            continue
        places = list(schemes[main].rows)
        use = [main, *moving]
        if len(places) * len(use) > MOST_DRAWN:
            use = [main, NO_RULE] if NO_RULE in moving else use[:2]
        if len(places) * len(use) > MOST_DRAWN:
            continue
        drawn += 1
        rows = [
            {"group": _place(place), "name": words_of(name, main)}
            | {end: row[end] for end in ("value", "low", "high")}
            for place in _best_first(schemes, main, [main])
            for name in use
            if (row := schemes[name].rows.get(place))
        ]
        yield Figure(
            key=f"screening_{nth}",
            title=f"Estimates under each rule: {family_span(title)}",
            drawing="intervals",
            rows=rows,
            x="Mean",
            ends=(scales[title][0], scales[title][1]) if title in scales else None,
            note="Rules that change nothing are not drawn.",
            about=title,
        )


def order_sentences(
    families: Families, main: str, tried: Sequence[str], report: Mapping[str, Any]
) -> list[str]:
    """Whether the order of conditions holds under every rule, and which pairs change places."""
    compared, sentences = 0, []
    for title, schemes in families.items():
        if main not in schemes:
            continue
        seen: dict[str, list[str]] = {}
        for name, order in schemes.items():
            differs = change(schemes[main], order)
            compared += differs.distance is not None
            if name not in tried and differs.swapped:
                swapped = _swap_words(differs.swapped, title, report)
                seen.setdefault(swapped, []).append(words_of(name, main))
        about = f"{family_prefix(title)}under " if len(families) > 1 else "Under "
        sentences += [f"{about}{listed(names)}, {swapped}." for swapped, names in seen.items()]
    if not compared:
        return []
    if not sentences:
        where = "" if len(families) == 1 else " of every kind of score"
        after = _tried_words(families, main, tried)
        return [
            f"The order of the conditions{where} is the same with and without the rules.{after}"
        ]
    more = len(sentences) - MOST_SENTENCES
    rest = [f"And {more} more such changes, in the table."] * (more > 0)
    return sentences[:MOST_SENTENCES] + rest


def _tried_words(families: Families, main: str, tried: Sequence[str]) -> str:
    turning = [
        name.removeprefix("with ")
        for name in tried
        if any(
            name in schemes and main in schemes and change(schemes[main], schemes[name]).swapped
            for schemes in families.values()
        )
    ]
    return f" Among rules not in force, {listed(turning)} would change it." if turning else ""


def telling(families: Families, main: str) -> dict[str, dict[str, Order]]:
    """The families without those schemes that repeat another one everywhere.

    A rule that leaves out nothing repeats no rule; one that does all the work, all rules.
    """
    names = list(dict.fromkeys(name for schemes in families.values() for name in schemes))
    prints: dict[tuple[Any, ...], str] = {}
    for name in sorted(names, key=lambda name: (name != main, name != NO_RULE)):
        prints.setdefault(_print(families, name), name)
    kept = set(prints.values())
    return {
        title: {name: order for name, order in schemes.items() if name in kept}
        for title, schemes in families.items()
    }


def silent(every: Families, kept: Families) -> list[str]:
    """The schemes that `telling` left out."""
    names = dict.fromkeys(name for schemes in every.values() for name in schemes)
    held = {name for schemes in kept.values() for name in schemes}
    return [words_of(name, "") for name in names if name not in held and name != ALL_RULES]


def _print(families: Families, name: str) -> tuple[Any, ...]:
    """What tells a scheme from others: every mean and count under it."""
    return tuple(
        (title, place, row["value"], row["n_ratings"])
        for title, schemes in families.items()
        if name in schemes
        for place, row in schemes[name].rows.items()
    )


def words_of(name: str, main: str) -> str:
    """A scheme's name for people: what is in force, or one rule alone."""
    if name == main:
        return f"{name} (in force)"
    return name if name in (NO_RULE, ALL_RULES) or name.startswith("with ") else f"{name} alone"


def _swap_words(
    swapped: Sequence[tuple[Place, Place]], title: str, report: Mapping[str, Any]
) -> str:
    if len(swapped) > MOST_SWAPS:
        first = _pairs(swapped[:MOST_SWAPS])
        return f"{len(swapped)} pairs of conditions change places, {first} among them"
    verb = "changes places" if len(swapped) == 1 else "change places"
    pair = "the pair" if len(swapped) == 1 else "the pairs"
    unclear = all(_unclear(pair, title, report) for pair in swapped)
    doubt = " (whose difference is not clear under the rules in force either)" if unclear else ""
    return f"{pair} {_pairs(swapped)} {verb}{doubt}"


def _unclear(pair: tuple[Place, Place], title: str, report: Mapping[str, Any]) -> bool:
    """Is the difference of the two known, and not claimed, in the report's contrasts?"""
    (first, versus), (second, _) = pair
    for row in report["contrasts"]:
        if (
            row["breakdown"] == "condition:"
            and row["weighting"] == "ratings"
            and not row["interval"].startswith("naive")
            and {row["condition"], row["versus"]} == {first, second}
            and row.get("versus_condition", "") == versus
            and bare_title(row) == title
        ):
            return row["claimed"] is False
    return False


def _estimate(
    title: str, schemes: Mapping[str, Order], name: str, place: Place, main: str
) -> EstimateRow:
    row, kept = schemes[name].rows[place], schemes.get(main)
    base = kept.rows.get(place) if kept else None
    return EstimateRow(
        about=title,
        condition=_place(place),
        under=words_of(name, main),
        scheme=name,
        value=row["value"],
        low=row["low"],
        high=row["high"],
        rank=schemes[name].ranks[place],
        change=None if base is None or name == main else row["value"] - base["value"],
        n_ratings=row["n_ratings"],
        n_raters=row["n_raters"],
    )


def _moves(schemes: Mapping[str, Order], name: str, main: str) -> bool:
    if main not in schemes:
        return False
    same = schemes[name].rows.keys() == schemes[main].rows.keys()
    return not same or bool(change(schemes[main], schemes[name]).biggest)


def _pairs(swapped: Sequence[tuple[Place, Place]]) -> str:
    return ", ".join(f"{_place_span(a)} and {_place_span(b)}" for a, b in swapped)


def _place(place: Place) -> str:
    return " versus ".join(part for part in place if part)


def _place_span(place: Place) -> str:
    return " versus ".join(condition_span(part) for part in place if part)


def _best_first(schemes: Mapping[str, Order], main: str, names: Sequence[str]) -> list[Place]:
    """All places, in the order of the ranks in force; what is not ranked there stands last."""
    places = dict.fromkeys(place for name in names for place in schemes[name].rows)
    ranks = schemes[main].ranks if main in schemes else {}
    return sorted(places, key=lambda place: (place[1], ranks.get(place, len(places) + 1)))


def _largest(schemes: Mapping[str, Order]) -> float:
    values = [abs(row["value"]) for order in schemes.values() for row in order.rows.values()]
    return max(values, default=0.0)
