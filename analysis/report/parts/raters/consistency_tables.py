"""Self-consistency: what raters answer when a clip is asked a second time."""

from __future__ import annotations

import numpy as np

from analysis.formatting import interval_text
from analysis.name_spans import family_prefix
from analysis.ratings.breakdowns import Family
from analysis.report.content import Column, Content, Table
from analysis.report.part import FamilyInput
from analysis.report.parts.raters.order_tables import before_rules, plain_row
from analysis.statistics.agreement import SelfConsistency, repeat_pairs, self_consistency, steps_of

COLUMNS = (
    Column("rater", "Rater"),
    Column("n_pairs", "Pairs", "count"),
    Column("agreement", "Same answer", "percent"),
    Column("agreement_percent", "Interval, %", "interval", 0),
    Column("correlation", "Correlation", "number"),
    Column("noise_sd", "Noise SD", "number"),
    Column("shift", "Second − first", "number", sign=True),
    Column("shift", "Interval", "interval"),
    Column("note", "Note"),
)
METHODS = (
    "Self-consistency on repeated clips: the share of second answers within one step of the first, "
    "and the SD of one answer, SD(second - first) / sqrt 2 (Bland and Altman 1996)."
)


def answers_to_repeats(each: FamilyInput) -> Content:
    """First and second answers of one family, from the table before any rule took repeats away.

    Sessions that the rules leave out altogether do not count.
    """
    family, title = each.family, each.title
    table = before_rules(each.inputs.table, family)
    pairs = repeat_pairs(table[table["session"].isin(family.table["session"].unique())])
    if not len(pairs):
        return Content()
    step = _step(family)
    by_rater = self_consistency(
        pairs["rater"].to_numpy(dtype=object),
        pairs["first"].to_numpy(dtype=np.float64),
        pairs["second"].to_numpy(dtype=np.float64),
        tolerance=step,
        level=each.level,
    )
    rows = [
        plain_row(one)
        | {
            "agreement_percent_low": one.agreement_low * 100,
            "agreement_percent_high": one.agreement_high * 100,
        }
        for one in by_rater
    ]
    note = (
        f"Same answer: within {step:g} of the first. Repeats enter no estimate. Intervals take "
        "pairs as independent. The correlation is of raters with themselves, so no "
        "ceiling stands beside it."
    )
    return Content(
        sentences=[_sentence(title, by_rater[0])],
        tables=[Table("repeats", "Clips asked twice", COLUMNS, rows, note, title, folded=True)],
        methods=[METHODS],
    )


def _step(family: Family) -> float:
    """One step of the scale; a twentieth of its range on a slider."""
    score = family.table["score"].to_numpy(dtype=np.float64)
    steps = steps_of(score, family.estimand)
    if len(steps) > 1:
        return float(steps[1] - steps[0])
    return float(np.ptp(score)) / 20


def _sentence(title: str, all_raters: SelfConsistency) -> str:
    same = (
        f"{family_prefix(title)}asked again, raters gave the same answer within "
        f"{all_raters.tolerance:g} in "
        f"{all_raters.agreement:.0%} of {all_raters.n_pairs} cases"
    )
    if all_raters.noise_sd is None:
        return f"{same}."
    noise = f"one answer has a noise of SD {all_raters.noise_sd:.2f}"
    if all_raters.noise_sd_low is not None and all_raters.noise_sd_high is not None:
        noise += f" {interval_text(all_raters.noise_sd_low, all_raters.noise_sd_high, None, 2)}"
    return f"{same}; {noise}."
