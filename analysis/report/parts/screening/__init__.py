"""What was left out and why, and the main results under no rule, each rule alone and all rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.name_spans import family_prefix
from analysis.report.content import Content, Table
from analysis.report.part import Part, PartInput
from analysis.report.parts.screening.decided import (
    decided_sentences,
    decided_table,
    decided_warnings,
    spared_table,
)
from analysis.report.parts.screening.exclusion_tables import excluded_table, rules_table
from analysis.report.parts.screening.reviewed import reviews_used
from analysis.report.parts.screening.sensitivity_tables import (
    estimates_tables,
    figures,
    intervals_table,
    order_sentences,
    orders_table,
    silent,
    telling,
)
from analysis.statistics.screening import Review, Rule, Screened, versioned_text
from analysis.statistics.sensitivity import (
    NO_RULE,
    Order,
    Scheme,
    change,
    in_force,
    one_more,
    orders,
    sensitivity,
)

MOST_TRIED = 100_000  # ratings; with more, rules that are not in force are not tried
MUCH = 0.25  # of the ratings left out
COMPARING = (
    "leaves out raters whose answers differ from those of others, so agreement and intervals look "
    "better after it than they are. Fix such a rule, with its numbers, before the data come in."
)


@dataclass(frozen=True)
class Judged:
    """What the tables and sentences are made from: rows per rule, and orders per family."""

    inputs: PartInput
    counts: Sequence[Mapping[str, Any]]
    main: str  # the scheme in force
    families: Mapping[str, Mapping[str, Order]]
    tried: Sequence[str]  # schemes of `families` that are not in force


class ScreeningPart(Part):
    """Every exclusion with its reason, and what the results owe to it."""

    key = "screening"
    version = "2"
    title = "What was left out"
    order = 65
    always = True

    def applies(self, inputs: PartInput) -> bool:
        return len(inputs.table) > 0

    def make(self, inputs: PartInput) -> Content:
        """Sentences, tables of exclusions, and results under each rule; see the module."""
        tried, rows = _not_in_force(inputs)
        inputs.progress(0.8, self.title)
        main = in_force(inputs.options.rules)
        every = orders([*inputs.report["screening"], *rows])
        families = telling(every, main)
        judged = Judged(inputs, inputs.report["exclusions"], main, families, tried)
        return Content(
            sentences=[
                _left_out(judged),
                *decided_sentences(inputs),
                *reviews_used(inputs),
                *_order_words(judged),
            ],
            figures=list(figures(families, main, tried, inputs.report["scales"])),
            tables=[
                rules_table(inputs, judged.counts),
                *decided_table(inputs),
                *spared_table(inputs),
                *_results(judged, silent(every, families)),
                *excluded_table(inputs),
            ],
            warnings=[*_warnings(judged), *decided_warnings(inputs)],
            methods=[" ".join([_method(judged), *reviews_used(inputs)])],
        )


def _results(judged: Judged, same: Sequence[str]) -> Iterator[Table]:
    """The tables of results, where any scheme differs from another."""
    families, main, tried = judged.families, judged.main, judged.tried
    if any(len(each) > 1 for each in families.values()):
        yield orders_table(families, main, tried, same)
        yield from estimates_tables(families, main, tried)
        yield from intervals_table(families, main)


def one_rule_more(inputs: PartInput) -> tuple[Screened, list[Scheme]]:
    """`sensitivity.one_more` of the report, once for all its parts; of many ratings nothing."""
    if len(inputs.table) > MOST_TRIED:
        return inputs.screened, []
    if one_rule_more not in inputs.shared:
        inputs.shared[one_rule_more] = one_more(inputs.screened, inputs.options.rules)
    found: tuple[Screened, list[Scheme]] = inputs.shared[one_rule_more]
    return found


def _not_in_force(inputs: PartInput) -> tuple[list[str], list[dict[str, Any]]]:
    """Names and estimates of rules that could be added: those in force and one more."""
    screened, under = one_rule_more(inputs)
    return [name for name, _ in under], sensitivity(screened, inputs.options, under)


def _left_out(judged: Judged) -> str:
    data = judged.inputs.report["data"]
    gone = data["ratings"] - data["ratings_kept"]
    if not gone:
        return f"No rule leaves out any of the {data['ratings']} ratings."
    rows = [row for row in judged.counts if row["ratings_told"]]
    by = ", ".join(f"{row['ratings_told']} by {row['rule']}" for row in rows)
    share = gone / data["ratings"]
    raters = data["raters"] - data["raters_kept"]
    lost = f"; {raters} of {data['raters']} raters go with all they gave" if raters else ""
    return f"{gone} of {data['ratings']} ratings ({share * 100:.1f} %) are left out: {by}{lost}."


def _order_words(judged: Judged) -> list[str]:
    data = judged.inputs.report["data"]
    if data["ratings"] == data["ratings_kept"]:
        return []
    return order_sentences(judged.families, judged.main, judged.tried, judged.inputs.report)


def _warnings(judged: Judged) -> list[str]:
    rules: Sequence[Rule] = judged.inputs.options.rules
    warnings = [f"The rule {rule.key} {COMPARING}" for rule in rules if rule.compares_raters]
    for rule in rules:
        lacking = rule.lacking(judged.inputs.table)
        if lacking:
            warnings.append(f"The rule {rule.key} leaves out nothing: {lacking}.")
    warnings += _unused_verdicts(judged.inputs)
    data = judged.inputs.report["data"]
    gone = data["ratings"] - data["ratings_kept"]
    if gone > MUCH * data["ratings"]:
        warnings.append(
            f"The rules leave out {gone / data['ratings'] * 100:.0f} % of the ratings: who is left "
            "may not be like those who were asked. Look at the results under no rule too."
        )
    for title, each in judged.families.items():
        every, kept = each.get(NO_RULE), each.get(judged.main)
        places = list(every.rows) if every else []
        lost = sorted({place[0] for place in places if kept is None or place not in kept.rows})
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


def _method(judged: Judged) -> str:
    rules = judged.inputs.options.rules
    if not rules:
        return "No rating was left out but for missing scores, duplicates and repeats."
    data = judged.inputs.report["data"]
    gone = data["ratings"] - data["ratings_kept"]
    texts = "; ".join(f"{rule.describe()} ({versioned_text(rule)})" for rule in rules)
    same = [
        change(each[judged.main], each[NO_RULE]).swapped == []
        for each in judged.families.values()
        if judged.main in each and NO_RULE in each
    ]
    order = "the same" if all(same) else "not the same"
    after = f" The order of the conditions was {order} without any rule." if same else ""
    return (
        f"Ratings were left out by these rules: {texts}. That took {gone} of {data['ratings']} "
        f"ratings, and {data['raters'] - data['raters_kept']} of {data['raters']} raters "
        f"altogether.{after}"
    )
