"""The results under each rule side by side: ranks, swapped pairs, intervals, and the figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.formatting import listed, number
from analysis.ratings.scales import family_title
from analysis.report.content import Column, Figure, Table
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


def orders_table(
    families: Families, main: str, tried: Sequence[str], silent: Sequence[str]
) -> Table:
    """One row per family and scheme: ratings kept, distance of the order, the biggest change."""
    rows: list[dict[str, Any]] = []
    for title, each in families.items():
        for name, order in each.items():
            rows.append({"about": title, "under": words_of(name, main), "scheme": name})
            rows[-1]["n_ratings"] = order.n_ratings
            if name == main or main not in each:
                continue
            found = change(each[main], order)
            rows[-1] |= {
                "distance": found.distance,
                "swapped": _pairs(found.swapped),
                "biggest": found.biggest,
                "where": _place(found.where) if found.where else "",
            }
    columns = [
        Column("under", "Results under"),
        Column("n_ratings", "Ratings kept", "count"),
        Column("distance", "Distance of the order", "number", 2),
        Column("swapped", "Changed places"),
        Column("biggest", "Biggest change of a mean", "number", 3, sign=True),
        Column("where", "Of"),
    ]
    if len(families) > 1:
        columns.insert(0, Column("about", "Of what"))
    return Table(
        key="screening_orders",
        title="The results under each rule against those under the rules in force",
        columns=columns,
        rows=rows,
        note=" ".join(
            [NOT_IN_FORCE] * bool(set(tried) - set(silent))
            + [DISTANCE]
            + [f"Not shown, because another row is the same: {', '.join(silent)}."] * bool(silent)
        ),
    )


def estimates_tables(families: Families, main: str, tried: Sequence[str]) -> Iterator[Table]:
    """One table per family: each condition's mean and rank under each scheme, side by side."""
    for nth, (title, each) in enumerate(families.items(), start=1):
        shown = [name for name in each if name not in tried]
        places = _best_first(each, main, shown)
        decimals = 1 if _largest(each) > MANY_POINTS else 3
        rows = []
        for place in places:
            row: dict[str, Any] = {"condition": _place(place)}
            for column, name in enumerate(shown):
                held = each[name].rows.get(place)
                if held is not None:
                    rank = each[name].ranks[place]
                    row |= {f"mean_{column}": held["value"], f"rank_{column}": rank}
                    row[f"shown_{column}"] = f"{_number(held['value'], decimals)} ({rank})"
            rows.append(row)
        yield Table(
            key=f"screening_means_{nth}",
            title=f"Means, and ranks in brackets, under each rule: {title}",
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
        _line(title, each, name, place, main)
        for title, each in families.items()
        for name, order in each.items()
        for place in order.rows
    ]
    if rows:
        yield Table(
            key="screening_intervals",
            title="The same with intervals",
            columns=[
                Column("about", "Of what"),
                Column("condition", "Condition"),
                Column("under", "Results under"),
                Column("value", "Mean", "number"),
                Column("interval", "Interval", "interval"),
                Column("rank", "Rank", "count"),
                Column("change", "Change", "number", 3, sign=True),
                Column("n_ratings", "Ratings", "count"),
                Column("n_raters", "Raters", "count"),
            ],
            rows=rows,
            folded=True,
        )


def figures(
    families: Families, main: str, tried: Sequence[str], scales: Mapping[str, Sequence[float]]
) -> Iterator[Figure]:
    """Per family whose means change: each condition's interval under each scheme."""
    drawn = 0
    for nth, (title, each) in enumerate(families.items(), start=1):
        names = [name for name in each if name not in tried]
        moving = [name for name in names if name != main and _moves(each, name, main)]
        if not moving or drawn == MOST_FIGURES:
            continue
        places = list(each[main].rows)
        use = [main, *moving]
        if len(places) * len(use) > MOST_DRAWN:
            use = [main, NO_RULE] if NO_RULE in moving else use[:2]
        if len(places) * len(use) > MOST_DRAWN:
            continue
        drawn += 1
        rows = [
            {
                "group": _place(place),
                "name": words_of(name, main),
                "value": each[name].rows[place]["value"],
                "low": each[name].rows[place]["low"],
                "high": each[name].rows[place]["high"],
            }
            for place in _best_first(each, main, [main])
            for name in use
            if place in each[name].rows
        ]
        yield Figure(
            key=f"screening_{nth}",
            title=f"Estimates under each rule: {title}",
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
    judged, told = 0, []
    for title, each in families.items():
        if main not in each:
            continue
        seen: dict[str, list[str]] = {}
        for name, order in each.items():
            found = change(each[main], order)
            judged += found.distance is not None
            if name not in tried and found.swapped:
                swapped = _swap_words(found.swapped, title, report)
                seen.setdefault(swapped, []).append(words_of(name, main))
        about = f"{title}: under " if len(families) > 1 else "Under "
        told += [f"{about}{listed(names)}, {swapped}." for swapped, names in seen.items()]
    if not judged:
        return []
    if not told:
        where = "" if len(families) == 1 else " of every kind of score"
        after = _tried_words(families, main, tried)
        return [
            f"The order of the conditions{where} is the same with and without the rules.{after}"
        ]
    more = len(told) - MOST_SENTENCES
    return told[:MOST_SENTENCES] + [f"And {more} more such changes, in the table."] * (more > 0)


def _tried_words(families: Families, main: str, tried: Sequence[str]) -> str:
    turning = [
        name.removeprefix("with ")
        for name in tried
        if any(
            name in each and main in each and change(each[main], each[name]).swapped
            for each in families.values()
        )
    ]
    return f" Among rules not in force, {listed(turning)} would change it." if turning else ""


def telling(families: Families, main: str) -> dict[str, dict[str, Order]]:
    """The families without those schemes that repeat another one everywhere.

    A rule that leaves out nothing repeats no rule; one that does all the work, all rules.
    """
    names = list(dict.fromkeys(name for each in families.values() for name in each))
    prints: dict[tuple[Any, ...], str] = {}
    for name in sorted(names, key=lambda name: (name != main, name != NO_RULE)):
        prints.setdefault(_print(families, name), name)
    kept = set(prints.values())
    return {
        title: {name: order for name, order in each.items() if name in kept}
        for title, each in families.items()
    }


def silent(every: Families, kept: Families) -> list[str]:
    """The schemes that `telling` left out."""
    names = dict.fromkeys(name for each in every.values() for name in each)
    held = {name for each in kept.values() for name in each}
    return [words_of(name, "") for name in names if name not in held and name != ALL_RULES]


def _print(families: Families, name: str) -> tuple[Any, ...]:
    """What tells a scheme from others: every mean and count under it."""
    return tuple(
        (title, place, row["value"], row["n_ratings"])
        for title, each in families.items()
        if name in each
        for place, row in each[name].rows.items()
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
            and family_title({**row, "versus_condition": ""}) == title
        ):
            return row["claimed"] is False
    return False


def _line(
    title: str, each: Mapping[str, Order], name: str, place: Place, main: str
) -> dict[str, Any]:
    row, kept = each[name].rows[place], each.get(main)
    base = kept.rows.get(place) if kept else None
    return {
        "about": title,
        "condition": _place(place),
        "under": words_of(name, main),
        "scheme": name,
        "value": row["value"],
        "low": row["low"],
        "high": row["high"],
        "rank": each[name].ranks[place],
        "change": None if base is None or name == main else row["value"] - base["value"],
        "n_ratings": row["n_ratings"],
        "n_raters": row["n_raters"],
    }


def _moves(each: Mapping[str, Order], name: str, main: str) -> bool:
    if main not in each:
        return False
    same = each[name].rows.keys() == each[main].rows.keys()
    return not same or bool(change(each[main], each[name]).biggest)


def _pairs(swapped: Sequence[tuple[Place, Place]]) -> str:
    return ", ".join(f"{_place(a)} and {_place(b)}" for a, b in swapped)


def _place(place: Place) -> str:
    return " versus ".join(part for part in place if part)


def _best_first(each: Mapping[str, Order], main: str, names: Sequence[str]) -> list[Place]:
    """All places, in the order of the ranks in force; what is not ranked there stands last."""
    places = dict.fromkeys(place for name in names for place in each[name].rows)
    ranks = each[main].ranks if main in each else {}
    return sorted(places, key=lambda place: (place[1], ranks.get(place, len(places) + 1)))


def _largest(each: Mapping[str, Order]) -> float:
    values = [abs(row["value"]) for order in each.values() for row in order.rows.values()]
    return max(values, default=0.0)


def _number(value: float, decimals: int) -> str:
    return number(value, False, decimals)
