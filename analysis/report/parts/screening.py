"""What was left out and why, and the main results under no rule, each rule alone and all rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analysis.formatting import counted, listed, number
from analysis.name_spans import condition_span, family_prefix, family_span
from analysis.ratings.estimands import bare_title
from analysis.report.content import (
    Column,
    Content,
    Figure,
    Table,
    column,
    columns_of,
    row_from,
    table_row,
)
from analysis.report.part import Part, PartInput
from analysis.report.review_summary import review_sentence
from analysis.statistics.screening.rule import Rule
from analysis.statistics.screening.rule_text import (
    as_it_is_here,
    other_version,
    rule_text,
    versioned_text,
)
from analysis.statistics.screening.screened import Screened
from analysis.statistics.screening.single_ratings import Review
from analysis.statistics.sensitivity import (
    ALL_RULES,
    NO_RULE,
    Order,
    Place,
    Scheme,
    change,
    in_force,
    one_more,
    orders,
    sensitivity,
)

if TYPE_CHECKING:
    from listening.selectors import RuleFacts


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
DIRECT = (
    "Means of comparisons are of each pair’s own ratings. Indirect comparisons, over a third "
    "condition, are in the strengths of “Paired comparisons” only, under the rules in force."
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


@dataclass(frozen=True)
class ScreeningResults:
    """What the tables and sentences are made from: rows per rule, and orders per family."""

    inputs: PartInput
    main: str  # the scheme in force
    families: Families
    tried: Sequence[str]  # schemes of `families` that are not in force


def orders_table(judged: ScreeningResults, silent: Sequence[str]) -> Table:
    """One row per family and scheme: ratings kept, distance of the order, the biggest change."""
    families, main = judged.families, judged.main
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
    notes = [NOT_IN_FORCE] * bool(set(judged.tried) - set(silent)) + [DISTANCE]
    every = (order for schemes in judged.families.values() for order in schemes.values())
    notes += [DIRECT] * any(len({versus for _, versus in order.rows}) > 1 for order in every)
    if silent:
        notes.append(f"Not shown, because another row is the same: {', '.join(silent)}.")
    return Table.from_rows(
        ChangeRow,
        "screening_orders",
        "The results under each rule against those under the rules in force",
        rows,
        columns=columns if len(families) > 1 else columns[1:],
        note=" ".join(notes),
    )


def estimates_tables(judged: ScreeningResults) -> Iterator[Table]:
    """One table per family: each condition's mean and rank under each scheme, side by side."""
    families, main = judged.families, judged.main
    for nth, (title, schemes) in enumerate(families.items(), start=1):
        shown = [name for name in schemes if name not in judged.tried]
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
        yield Table.from_rows(EstimateRow, key, title, rows, folded=True)


def figures(judged: ScreeningResults) -> Iterator[Figure]:
    """Per family whose means change: each condition's interval under each scheme."""
    drawn, main, scales = 0, judged.main, judged.inputs.report["scales"]
    for nth, (title, schemes) in enumerate(judged.families.items(), start=1):
        names = [name for name in schemes if name not in judged.tried]
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


def order_sentences(judged: ScreeningResults) -> list[str]:
    """Whether the order of conditions holds under every rule, and which pairs change places."""
    report = judged.inputs.report
    if report["data"]["ratings"] == report["data"]["ratings_kept"]:
        return []
    families, main, tried = judged.families, judged.main, judged.tried
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
        opening = f"{family_prefix(title)}under " if len(families) > 1 else "Under "
        sentences += [f"{opening}{listed(names)}, {swapped}." for swapped, names in seen.items()]
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
    distinct = set(prints.values())
    return {
        title: {name: order for name, order in schemes.items() if name in distinct}
        for title, schemes in families.items()
    }


def silent(every: Families, shown: Families) -> list[str]:
    """The schemes that `telling` left out."""
    names = dict.fromkeys(name for schemes in every.values() for name in schemes)
    held = {name for schemes in shown.values() for name in schemes}
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
    row, main_order = schemes[name].rows[place], schemes.get(main)
    base = main_order.rows.get(place) if main_order else None
    return row_from(
        EstimateRow,
        row,
        about=title,
        condition=_place(place),
        under=words_of(name, main),
        scheme=name,
        rank=schemes[name].ranks[place],
        change=None if base is None or name == main else row["value"] - base["value"],
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


MOST_TRIED = 100_000  # ratings; with more, rules that are not in force are not tried
MUCH = 0.25  # of the ratings left out
COMPARING = (
    "leaves out raters whose answers differ from those of others, so agreement and intervals look "
    "better after it than they are. Fix such a rule, with its numbers, before the data come in."
)


class ScreeningPart(Part):
    """Every exclusion with its reason, and what the results owe to it."""

    key = "screening"
    version = "2"
    title = "Exclusions"
    order = 65

    def applies(self, inputs: PartInput) -> bool:
        return len(inputs.table) > 0

    def make(self, inputs: PartInput) -> Content:
        """Sentences, tables of exclusions, and results under each rule; see the module."""
        screened, not_in_force = one_rule_more(inputs)
        tried = [name for name, _ in not_in_force]
        rows = sensitivity(screened, inputs.options, not_in_force)
        inputs.progress(0.8, self.title)
        main = in_force(inputs.options.rules)
        every = orders([*inputs.report["screening"], *rows])
        families = telling(every, main)
        judged = ScreeningResults(inputs, main, families, tried)
        return Content(
            sentences=[
                _left_out(judged),
                *decided_sentences(inputs),
                *reviews_used(inputs),
                *order_sentences(judged),
            ],
            figures=list(figures(judged)),
            tables=[
                rules_table(inputs),
                *decided_table(inputs),
                *spared_table(inputs),
                *_results(judged, silent(every, families)),
                *excluded_table(inputs),
            ],
            warnings=[*_warnings(judged), *decided_warnings(inputs)],
            methods=[" ".join([_method(judged), *reviews_used(inputs)])],
        )


def _results(judged: ScreeningResults, same: Sequence[str]) -> Iterator[Table]:
    """The tables of results, where any scheme differs from another."""
    if any(len(each) > 1 for each in judged.families.values()):
        yield orders_table(judged, same)
        yield from estimates_tables(judged)
        yield from intervals_table(judged.families, judged.main)


def one_rule_more(inputs: PartInput) -> tuple[Screened, list[Scheme]]:
    """`sensitivity.one_more` of the report, once for all its parts; of many ratings nothing."""
    if len(inputs.table) > MOST_TRIED:
        return inputs.screened, []
    return inputs.once(one_rule_more, lambda: one_more(inputs.screened, inputs.options.rules))


def _left_out(judged: ScreeningResults) -> str:
    data = judged.inputs.report["data"]
    excluded = data["ratings"] - data["ratings_kept"]
    if not excluded:
        return f"No rule leaves out any of the {data['ratings']} ratings."
    rows = [row for row in judged.inputs.report["exclusions"] if row["ratings_told"]]
    by = ", ".join(f"{row['ratings_told']} by {row['rule']}" for row in rows)
    share = excluded / data["ratings"]
    raters = data["raters"] - data["raters_kept"]
    lost = f"; {raters} of {data['raters']} raters go with all they gave" if raters else ""
    return (
        f"{excluded} of {data['ratings']} ratings ({share * 100:.1f} %) are left out: {by}{lost}."
    )


def _warnings(judged: ScreeningResults) -> list[str]:
    rules: Sequence[Rule] = judged.inputs.options.rules
    warnings = [f"The rule {rule.key} {COMPARING}" for rule in rules if rule.compares_raters]
    for rule in rules:
        lacking = rule.lacking(judged.inputs.table)
        if lacking:
            warnings.append(f"The rule {rule.key} leaves out nothing: {lacking}.")
    warnings += _unused_verdicts(judged.inputs)
    data = judged.inputs.report["data"]
    excluded = data["ratings"] - data["ratings_kept"]
    if excluded > MUCH * data["ratings"]:
        warnings.append(
            f"The rules exclude {excluded / data['ratings'] * 100:.0f} % of the ratings: the "
            "remaining raters may not represent the whole sample. Look at the results under no "
            "rule too."
        )
    for title, each in judged.families.items():
        every, under_main = each.get(NO_RULE), each.get(judged.main)
        places = list(every.rows) if every else []
        lost = sorted(
            {place[0] for place in places if under_main is None or place not in under_main.rows}
        )
        if lost:
            warnings.append(
                f"{family_prefix(title)}the rules leave no rating of {', '.join(lost)}."
            )
    return warnings


def _unused_verdicts(inputs: PartInput) -> Iterator[str]:
    """Where experts judged reasons and the analysis was asked for without that rule."""
    if any(rule.key == Review.key for rule in inputs.options.rules):
        return
    excluded = Review().reasons(inputs.table) != ""
    unfit = int((excluded & (inputs.table["trap"] == "").to_numpy(dtype=bool)).sum())
    if unfit:
        what = "justification of 1 rating" if unfit == 1 else f"justifications of {unfit} ratings"
        yield (
            f"Experts judged the {what} unfit, which is in all the same: the rule {Review.key} "
            f"was not asked for; --rule {Review.key} leaves that out."
        )


def _method(judged: ScreeningResults) -> str:
    rules = judged.inputs.options.rules
    if not rules:
        return "No rating was excluded except missing scores, duplicates and repeats."
    data = judged.inputs.report["data"]
    excluded = data["ratings"] - data["ratings_kept"]
    texts = "; ".join(f"{rule.describe()} ({versioned_text(rule)})" for rule in rules)
    same = [
        change(each[judged.main], each[NO_RULE]).swapped == []
        for each in judged.families.values()
        if judged.main in each and NO_RULE in each
    ]
    order = "the same" if all(same) else "not the same"
    after = f" The order of the conditions was {order} without any rule." if same else ""
    return (
        f"Exclusion rules, declared or by default: {texts}. They exclude {excluded} of "
        f"{counted(data['ratings'], 'rating')} and all ratings of "
        f"{data['raters'] - data['raters_kept']} of {counted(data['raters'], 'rater')}.{after}"
    )


MOST_REASONS = 5_000
COUNTED = (
    Column("what", "Rule"),
    Column("ratings", "Ratings", "count"),
    Column("share", "Share", "percent"),
    Column("ratings_told", "Not by a rule above", "count"),
    Column("ratings_only_here", "By this rule alone", "count"),
    Column("raters", "Raters", "count"),
    Column("blocks", "Blocks", "count"),
    Column("text", "As text, with its version"),
)
_BY = ["rater", "session", "reason"]


@table_row
class ExcludedRow:
    """What a rule leaves out of a session, and why."""

    rule: str = column("Rule")
    rater: str = column("Rater")
    session: str = column("Session")
    reason: str = column("Reason")
    ratings: int = column("Ratings", "count")


def rules_table(inputs: PartInput) -> Table:
    """One row per rule: what it leaves out, how much, and how much it alone."""
    ratings = inputs.report["data"]["ratings"]
    rows = []
    for row, rule in zip(inputs.report["exclusions"], inputs.screened.reasons, strict=True):
        share = row["ratings"] / ratings if ratings else None
        rows.append({**row, "share": share, "text": versioned_text(rule)})
    traps = inputs.report["data"]["trap_ratings"]
    note = "Each rule is judged alone, so one rating may be excluded by several."
    if traps:
        note += f" {counted(traps, 'answer')} to traps never enter an estimate."
    return Table("screening_rules", "What each rule leaves out", COUNTED, rows, note)


def excluded_table(inputs: PartInput) -> Iterator[Table]:
    """Every rater and session that something of is left out, with the rule and the reason."""
    rows = list(_reasons(inputs))
    if not rows:
        return
    cut = len(rows) - MOST_REASONS
    note = "A rating may be left out for several reasons, and then stands in several rows."
    if cut > 0:
        note += f" {cut} more rows are not kept; the rules make them again from the ratings."
    shown, title = rows[:MOST_REASONS], "Every exclusion with its reason"
    yield Table.from_rows(ExcludedRow, "screening_excluded", title, shown, note=note, folded=True)


def _reasons(inputs: PartInput) -> Iterator[ExcludedRow]:
    table = inputs.table
    rated = (table["trap"] == "").to_numpy(dtype=bool)
    for rule, reasons in inputs.screened.reasons.items():
        hit = rated & (reasons != "")
        if not hit.any():
            continue
        excluded = table.loc[hit, ["rater", "session"]].assign(reason=reasons[hit])
        for (rater, session, reason), count in excluded.groupby(_BY, sort=True).size().items():
            own = "" if session == rater else str(session)
            yield ExcludedRow(rule.name, str(rater), own, str(reason), int(count))


BEFORE = "before opening"


@table_row
class DecidedRow:
    """A rule of the study's own."""

    rule: str = column("Rule")
    decided: str = column("Decided")
    on: str = column("When (UTC)")
    by: str = column("By")
    why: str = column("Why")


@table_row
class SparedRow:
    """A rater of whom somebody undid a rule's exclusion."""

    rule: str = column("Rule")
    rater: str = column("Rater")
    ratings: int = column("Ratings that came back", "count")
    because: str = column("Why")
    by: str = column("By")
    on: str = column("When (UTC)")


def decided_table(inputs: PartInput) -> Iterator[Table]:
    """The study's own rules in force, and when each was decided; of a file nothing is known."""
    rows = [
        row_from(
            DecidedRow,
            each,
            decided=BEFORE if each["declared"] else f"after {each['ratings']:,} ratings",
        )
        for each in _facts(inputs).values()
    ]
    if rows:
        title = "The study's own rules, and when they were decided"
        yield Table.from_rows(DecidedRow, "screening_decided", title, rows)


def decided_sentences(inputs: PartInput) -> list[str]:
    """Which of the study's own rules were declared before it opened, and which were added."""
    known = _facts(inputs)
    held = [known[text] for rule in inputs.options.rules if (text := rule_text(rule)) in known]
    before = [each["rule"] for each in held if each["declared"]]
    sentences = []
    if before:
        were = "was" if len(before) == 1 else "were"
        frozen = inputs.facts["definition_sha256"] if inputs.facts else ""
        mark = f" (definition {frozen[:12]}…)" if frozen else ""
        sentences.append(f"{listed(before)} {were} declared before the study opened{mark}.")
    sentences += [
        f"{each['rule']} was added on {each['on']} UTC, after {each['ratings']:,} ratings were "
        f"stored: {each['why']}"
        for each in held
        if not each["declared"]
    ]
    return sentences


def decided_warnings(inputs: PartInput) -> Iterator[str]:
    """Rules that were decided with ratings at hand, declared ones left away, other versions."""
    known, used = _facts(inputs), {rule_text(rule) for rule in inputs.options.rules}
    late = [e["rule"] for text, e in known.items() if text in used and not e["declared"]]
    if late:
        one = len(late) == 1
        yield (
            f"The rule{'' if one else 's'} {listed(late)} {'was' if one else 'were'} decided after "
            "ratings had come in: look at the results without, too."
        )
    for each in inputs.facts.get("rules", []) if inputs.facts else []:
        if each["declared"] and each["ended_on"]:
            yield (
                f"The rule {each['rule']} was declared before the study opened and ended on "
                f"{each['ended_on']} UTC, after {each['ended_ratings']:,} ratings: "
                f"{each['ended_because']}"
            )
    left = [e["rule"] for text, e in known.items() if e["declared"] and text not in used]
    if left:
        yield f"Declared before the study opened and not used here: {listed(left)}."
    for each in known.values():
        if version := other_version(each["rule"]):
            yield f"{each['rule']} was declared at version {version}; here it has another one."


def spared_table(inputs: PartInput) -> Iterator[Table]:
    """The exclusions that were undone, with who and why."""
    undone = inputs.facts.get("spared", []) if inputs.facts else []
    facts_of = {(each["rule"], each["rater"]): each for each in undone}
    rows = []
    for (rule, rater), count in inputs.screened.spared.items():
        facts = facts_of.get((rule, rater))
        why = (facts["because"], facts["by"], facts["on"]) if facts else ("", "", "")
        rows.append(SparedRow(rule, rater, count, *why))
    if rows:
        title = f"Exclusions that were undone ({counted(len(rows), 'rater')})"
        note = "These rules leave out nothing of these raters."
        yield Table.from_rows(SparedRow, "screening_spared", title, rows, note=note)


def _facts(inputs: PartInput) -> dict[str, RuleFacts]:
    """The study's rules in force, by their texts."""
    if inputs.facts is None:
        return {}
    held = [each for each in inputs.facts.get("rules", []) if not each["ended_on"]]
    return {rule_text(as_it_is_here(each["rule"])): each for each in held}


def reviews_used(inputs: PartInput) -> Iterator[str]:
    """A sentence for each review of the study; of a file nothing is known beside its column."""
    if inputs.facts is None or not any(rule.key == Review.key for rule in inputs.options.rules):
        return
    reviews = inputs.facts.get("reason_reviews", [])
    for each in reviews:
        reasons = review_sentence(each)
        yield f"The rule {Review.key} takes the verdicts of “{each['title']}”: {reasons}."
    if len(reviews) > 1:
        yield "Where several reviews decide about a reason, the newest prevails."
