"""Tables 4 to 6 of the paper in one: judges and other scores beside raters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.formatting import counted, interval_text
from analysis.name_spans import family_prefix, family_span
from analysis.ratings.metric_scores import metrics_of
from analysis.report.content import Column, Content, Figure, Table, column, table_row
from analysis.report.part import FamilyInput, PartInput
from analysis.report.parts.against_people.ceiling_tables import ceilings_of
from analysis.report.parts.against_people.metric_data import Gathered, gathered
from analysis.report.parts.against_people.metric_tables import FEW, ordered, top_of
from analysis.report.parts.lfs.lfs_clips import PAPER, measure_of, rubric_of, settings_of
from analysis.statistics.agreement import coarse_steps, steps_of, versus_rest
from analysis.statistics.agreement.rating_units import step_names
from analysis.statistics.correlations import williams
from analysis.statistics.metric_agreement import STIMULUS
from analysis.statistics.metric_agreement.metric_correlations import AS_IS

MOST_RATERS = 30  # in the table; a crowd's other raters are in the part on raters
JUDGE = "judge_"  # how the keys of audio language models that judge begin
MEASURES = ("plcc", "srcc", "krcc", "qwk", "mae")
TOPPED = ("plcc", "srcc")  # of which halves of the raters say what could be reached
Row = dict[str, Any]  # who, kind, n, and of each measure that is known the value and its interval
_COLUMNS = [
    Column("who", "Score or rater"),
    Column("kind", "Kind"),
    Column("plcc", "PLCC", "number"),
    Column("plcc", "PLCC, interval", "interval"),
    Column("ceiling_plcc", "Ceiling of PLCC", "number"),
    Column("srcc", "SRCC", "number"),
    Column("srcc", "SRCC, interval", "interval"),
    Column("ceiling_srcc", "Ceiling of SRCC", "number"),
    Column("krcc", "KRCC", "number"),
    Column("qwk", "QWK", "number"),
    Column("mae", "MAE", "number"),
    Column("n", "Clips", "count"),
]
_HOW = (
    "Scores: against the mean human score of each clip. Raters: each against the mean of the other "
    "raters of the same clips, which is human agreement itself. Ceiling: what a perfect score "
    "could reach over the same clips, by halves of the raters; of KRCC and QWK there is none. "
    "PLCC, SRCC, KRCC: Pearson, Spearman, Kendall's tau-b. QWK: quadratic weighted kappa, both "
    "sides rounded half up to the steps of the scale ({}); MAE: mean absolute error, not rounded; "
    "both for scores on the raters' scale alone. Intervals of scores: bootstrap over raters and "
    "items; of raters: Fisher's."
)


@table_row
class WilliamsRow:
    """The best score against another one."""

    score: str = column("Score")
    versus: str = column("Against")
    difference: float = column("Difference of PLCC", "number", sign=True)
    t: float = column("t", "number", 2)
    df: float
    p: float = column("p", "p")
    n: int = column("Clips", "count")


def against_people(each: FamilyInput, suffix: str) -> Content:
    """Scores and raters in one table, and whether the best score is better."""
    title, inputs = each.title, each.inputs
    units = gathered(each.family, inputs) if metrics_of(inputs.scores) else None
    scores = [_score(units, name, inputs) for name in ordered(units)] if units is not None else []
    raters, left = _raters(each)
    rows = [*scores, *_mean_rater(raters), *raters]
    note = _HOW.format(", ".join(step_names(_steps(each))))
    note += f" The {MOST_RATERS} raters with most ratings; {left} more are left out." * (left > 0)
    heading = f"Automatic scores and raters against people{family_span(title, ' · {}')}"
    measure = measure_of(each.family.group["criterion"])
    if measure is not None and measure.alignment:
        heading = f"{measure.alignment} of {PAPER}: {heading}"
    tables = [Table(f"alignment{suffix}", heading, _COLUMNS, rows, note, title)]
    if units is None or not scores:
        return Content(tables=tables)
    return Content(
        [_sentence(scores, title, units)],
        [_figure(scores, raters, title, suffix, units)],
        [*tables, *_tests(units, [row["who"] for row in scores], title, suffix)],
        two_instruments(each, own_scores(units) or ()),
    )


def _score(units: Gathered, name: str, inputs: PartInput) -> Row:
    row: Row = {"who": name, "kind": "judge" if name.startswith(JUDGE) else "metric"}
    for measure in MEASURES:
        result = units.number(name, STIMULUS, measure, AS_IS)
        if result is not None:
            row |= _measured(measure, result)
            row["n"] = result.n
            if measure in TOPPED:
                top = top_of(ceilings_of(units, inputs).of(name), STIMULUS, measure)
                row |= {f"{key}_{measure}": value for key, value in top.items()}
    return row


def _measured(measure: str, result: Any) -> Row:
    return {measure: result.value, f"{measure}_low": result.low, f"{measure}_high": result.high}


def _raters(each: FamilyInput) -> tuple[list[Row], int]:
    """Table 6: each rater against the mean of the others, the busiest; how many are left out."""
    table = each.family.table
    counts = table["rater"].value_counts()
    busiest = sorted(counts.index, key=lambda name: (-counts[name], name))[:MOST_RATERS]
    shown = sorted(busiest, key=lambda name: (len(name), name))  # A2 before A10
    rows: dict[str, Row] = {name: {"who": name, "kind": "rater"} for name in shown}
    results = versus_rest(
        table["stimulus"].tolist(),
        table["rater"].tolist(),
        table["score"].to_numpy(dtype=np.float64),
        categories=_steps(each),
        level=each.level,
        replicates=0,
        seed=each.inputs.options.seed,
    )
    for result in results:
        if result.rater in rows:
            rows[result.rater]["n"] = result.n_units
            rows[result.rater] |= _measured(result.measure, result)
    return list(rows.values()), len(counts) - len(shown)


def _steps(each: FamilyInput) -> Sequence[float]:
    """The steps of the scale as raters used it: half steps where it has them."""
    score = each.family.table["score"].to_numpy(dtype=np.float64)
    return steps_of(score, each.family.estimand) or coarse_steps(score, each.family.estimand)


def _mean_rater(raters: Sequence[Row]) -> list[Row]:
    """The mean over the raters that are shown, which a score is best compared with."""
    if len(raters) < 2:
        return []
    row: Row = {"who": "One rater, on the mean", "kind": "raters"}
    for measure in MEASURES:
        known = [rater[measure] for rater in raters if rater.get(measure) is not None]
        row[measure] = float(np.mean(known)) if known else None
    return [row]


def two_instruments(each: FamilyInput, scores: Sequence[str]) -> list[str]:
    """That raters did not read what the judges of their aspect read, where the study says so."""
    judged_by = [rubric_of(name) for name in scores if name.startswith(JUDGE)]
    return each.inputs.two_instruments(each.family.group["task"], each.title, judged_by)


def own_scores(units: Gathered) -> list[str] | None:
    """The scores that the paper holds against raters on this criterion, best first.

    Empty where there are none; None for criteria that are not the paper's: all are compared then.
    """
    measure = measure_of(units.family.group["criterion"])
    if measure is None:
        return None
    return [name for name in ordered(units) if settings_of(name)[0] in measure.outputs]


def _sentence(scores: Sequence[Row], title: str, units: Gathered) -> str:
    """How closely the aspect's own score follows raters, or of several the one that does most."""
    own = own_scores(units)
    about = [row for row in scores if own is None or row["who"] in own]
    if not about:
        measure = measure_of(units.family.group["criterion"])
        name = measure.name.lower() if measure else "it"
        return (
            f"{family_prefix(title)}no clip that was rated here has a score of {name}, the "
            "paper's measure."
        )
    best = about[0]
    called, n = units.called(best["who"]), best.get("n", 0)
    if best.get("srcc") is None:
        return f"{family_prefix(title)}{called} has no defined rank correlation with human ratings."
    if n < FEW:
        return (
            f"{family_prefix(title)}{counted(n, 'clip')} with a score are too few to say how "
            f"closely {called} "
            f"correlates with human ratings ({FEW} or more are needed)."
        )
    ends = "no interval"
    if best["srcc_low"] is not None:
        ends = interval_text(best["srcc_low"], best["srcc_high"], None, 3)
    srcc = f"SRCC {best['srcc']:.3f} {ends} over {n} clips".replace("-", "−")
    most = max(row.get("n", 0) for row in about)
    few = f", of {most} that have others: not the same clips" * (n < most)
    if len(about) == 1:
        return f"{family_prefix(title)}{called} correlates with human ratings: {srcc}."
    what = "automatic scores" if own is None else "scores of this aspect"
    return (
        f"{family_prefix(title)}of {len(about)} {what}, {called} correlates most closely "
        f"with human ratings ({srcc}{few}). The "
        "best of several is flattered by being chosen from the same ratings."
    )


def _figure(
    scores: Sequence[Row], raters: Sequence[Row], title: str, suffix: str, units: Gathered
) -> Figure:
    rows = [
        {"name": units.called(row["who"]), "value": row["srcc"], "group": group}
        | {"low": row["srcc_low"], "high": row["srcc_high"]}
        for group, group_rows in (
            ("Automatic scores", scores),
            ("Raters against the others", raters),
        )
        for row in group_rows
        if row.get("srcc") is not None
    ]
    return Figure(
        f"alignment{suffix}",
        f"Rank correlation with human ratings{family_span(title, ' · {}')}",
        "intervals",
        rows,
        x="SRCC over clips",
        ends=(-1.0, 1.0),
        at=(0.0,),
        about=title,
    )


def _tests(units: Gathered, names: Sequence[str], title: str, suffix: str) -> list[Table]:
    """The best score against each other one, on the clips that both have."""
    rows = []
    human, best = units.units.human, names[0]
    for name in names[1:]:
        a, b = units.values[best], units.values[name]
        both = np.isfinite(a) & np.isfinite(b)
        test = williams(a[both], b[both], human[both]) if both.sum() > 3 else None
        if test is not None:
            n = int(both.sum())
            rows.append(WilliamsRow(best, name, test.difference, test.t, test.df, test.p, n))
    note = "Williams' test of two correlations with the same human means; not adjusted for several."
    key, heading = f"williams{suffix}", f"Is the best score better?{family_span(title, ' · {}')}"
    table = Table.of(WilliamsRow, key, heading, rows, note=note, about=title, folded=True)
    return [table] if rows else []
